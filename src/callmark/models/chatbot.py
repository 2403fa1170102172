"""A complete chatbot over HTTP: `chatbot:URL`. It executes its tool calls itself and reports them.

It is sent `{"conversation_id", "case_id", "trial", "message", "messages"}`: the last user message, and the conversation so far. It returns
its reply (`message`, `reply`, `response`, `answer`, `text` or `content`; or any shape of a prediction) and the calls it has made since the
last request (`function_calls`, `tool_calls` or `calls`), in any shape. An HTTP status of 400 or above, an `error`, and anything that is not
a prediction are errors. The conversation id is unique to a run; a retry has the same id.
"""

from collections.abc import Collection, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from msgspec import structs

from callmark.calls.shapes import read_calls
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats.prediction_text import parse_prediction
from callmark.models.agent_output import read_output
from callmark.models.http_response import describe_body, response_error
from callmark.models.keys import Keys, read_url
from callmark.models.model import Capabilities, Model, ModelError, ModelSettings
from callmark.models.provider import Provider, Spec
from callmark.trust import Action
from callmark.types import Case, Prediction

if TYPE_CHECKING:
    from callmark.models.http_client import HttpClient

_TEXT_KEYS = ("message", "reply", "response", "answer", "text", "content")
_CALL_KEYS = ("function_calls", "tool_calls", "calls")
_CAPABILITIES = Capabilities(10, calls_tools=False, reports_calls=True)
_EXAMPLE = "chatbot:http://localhost:8000/chat"


class ChatbotModel:
    """A chatbot at an address. Raises `BadInput` for an invalid address."""

    capabilities = _CAPABILITIES

    def __init__(self, spec: Spec, settings: ModelSettings, keys: Keys) -> None:
        self.label = spec.shown
        self._keys = keys
        self._url = read_url(spec.url, keys, where="the chatbot URL", example=_EXAMPLE)
        self._timeout = settings.timeout
        self._run_id = uuid4().hex[:8]
        self._client: HttpClient | None = None

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: the chatbot executes its calls and may keep state, so responses cannot be cached."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the chatbot's reply and the calls it reports."""
        assert self._client is not None, "enter the model before it predicts"
        messages = [{"role": message.role, "content": message.text} for message in case.messages if message.role in ("user", "assistant")]
        body = {
            "conversation_id": f"{self._run_id}/{case.id}/{trial}",
            "case_id": case.id,
            "trial": trial,
            "message": next((message["content"] for message in reversed(messages) if message["role"] == "user"), ""),
            "messages": messages,
        }
        address = self._keys.hide(self._url.shown)
        response = await self._client.post(dump(body).encode())
        response = self._keys.redact(response)
        if not response.is_success:
            raise response_error(response, address=address)
        try:
            return structs.replace(read_chatbot_response(response.body), case=case.id, trial=trial)
        except BadInput as error:
            raise ModelError(f"{address} returned an invalid response: {error}") from None

    async def __aenter__(self) -> Self:
        from callmark.models.http_client import HttpClient  # aiohttp is slow to import

        headers = {"Authorization": f"Basic {self._url.user}"} if self._url.user else {}
        self._client = HttpClient(self._url.address, self._keys.hide(self._url.shown), headers, timeout=self._timeout)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def read_chatbot_response(body: bytes) -> Prediction:
    """Return the prediction in a chatbot's response. Raise `ModelError` if it is an error, `BadInput` if it is not a prediction."""
    try:
        fields: Any = parse(body)
    except NotStrict:
        fields = None
    if not isinstance(fields, dict):
        raise BadInput(f"expected a JSON object, got {describe_body(body)}")
    text = next((fields[key] for key in _TEXT_KEYS if isinstance(fields.get(key), str)), None)
    if text is None or fields.get("error"):
        return read_output(body)
    calls: Any = next((fields[key] for key in _CALL_KEYS if fields.get(key)), [])
    prediction = parse_prediction(Prediction("", 0, read_calls(calls), text), "read" if calls else "response", parse=None, tools=())
    if prediction.error:
        raise ModelError(prediction.error)
    return prediction


class ChatbotProvider(Provider, frozen=True, kw_only=True):
    """A chatbot, given by its address."""

    def read(self, text: str, keys: Keys) -> Spec:
        name = self.name_in(text)
        url = read_url(name, keys, where="the chatbot URL", example=self.example)
        return Spec(self, name, name, keys.hide(f"{self.name}:{url.shown}"), url.secret)

    def actions(self, spec: Spec, settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        url = read_url(spec.url, keys, where="the chatbot URL", example=self.example)
        return (Action("send", f"requests to {keys.show(url.shown)}", exact=f"requests to {url.address}"),)

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return ChatbotModel(spec, settings, keys)


PROVIDER = ChatbotProvider(name="chatbot", example=_EXAMPLE, capabilities=_CAPABILITIES)
