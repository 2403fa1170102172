"""A complete agent over HTTP, which executes its tool calls itself and reports them: `chatbot:URL`, or `[agents.NAME]` with settings.

By default it is sent `{"conversation_id", "case_id", "trial", "message", "messages"}`: the last user message, and the conversation so far.
It returns its reply (`message`, `reply`, `response`, `answer`, `text` or `content`; or any shape of a prediction) and the calls it has made
since the last request (`function_calls`, `tool_calls` or `calls`), in any shape. With settings (`endpoint.py`), the request has another
shape, the reply and the calls are elsewhere in the response, and the reply may be streamed, or polled for. An HTTP status of 400 or above,
an `error`, and anything that is not a prediction are errors. The conversation id is unique to a run; a retry has the same id.
"""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from msgspec import Struct, structs

from callmark.calls.shapes import read_calls
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats.prediction_text import parse_prediction
from callmark.models.agent_output import read_output
from callmark.models.endpoint import BODY, DONE, EndpointSettings, PollRequest, as_text, fill, fill_url, read_events, resolve, variables
from callmark.models.http_response import HttpResponse, describe_body, response_error
from callmark.models.keys import ENV_FILE, Keys, Url, read_url
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
_MAX_KEYS_SHOWN = 10
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # not allowed in a header


class _Conversation(Struct):
    """The agent's id for a conversation, and what the last poll returned; None if there is none yet."""

    session: Any = None
    watermark: Any = None


class ChatbotModel:
    """A chatbot at an address. Raises `BadInput` for an invalid address, and for a variable that is not set."""

    capabilities = _CAPABILITIES

    def __init__(self, spec: Spec, settings: ModelSettings, keys: Keys) -> None:
        self.label = spec.shown
        self._keys = keys
        self._url = _read_url(spec.url, keys)
        self._endpoint = settings.endpoint or EndpointSettings()
        self._timeout = settings.timeout
        self._run_id = uuid4().hex[:8]
        self._conversations: dict[tuple[str, int], _Conversation] = {}
        self._variables = {name: _secret(name, spec, keys) for name in _sent_variables(settings)}
        self._authorization = f"Basic {self._url.user}" if self._url.user else ""
        if settings.api_key_env:
            self._authorization = f"Bearer {self._variables[settings.api_key_env]}"
        self._client: HttpClient | None = None

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: the chatbot executes its calls and may keep state, so responses cannot be cached."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the chatbot's reply and the calls it reports."""
        messages = [{"role": message.role, "content": message.text} for message in case.messages if message.role in ("user", "assistant")]
        said = [message["content"] for message in messages if message["role"] == "user"]
        values = {"case_id": case.id, "trial": trial, "message": said[-1] if said else "", "messages": messages}
        try:
            conversation = self._conversations.get((case.id, trial))
            if conversation is None or len(said) < 2:
                conversation = self._conversations[case.id, trial] = await self._start(values)
            results = await self._exchange(conversation, values)
            prediction = read_results([found for each in results for found in resolve(each, self._endpoint.result)], self._endpoint)
        except BadInput as error:
            raise ModelError(f"{self._shown} returned an invalid response: {error}") from None
        return structs.replace(prediction, case=case.id, trial=trial)

    async def __aenter__(self) -> Self:
        from callmark.models.http_client import HttpClient  # aiohttp is slow to import

        headers = {"Authorization": self._authorization} if self._authorization else {}
        self._client = HttpClient(self._url.address, self._shown, headers, timeout=self._timeout)
        self._conversations.clear()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @property
    def _shown(self) -> str:
        return self._keys.hide(self._url.shown)

    async def _start(self, values: Mapping[str, Any]) -> _Conversation:
        """Return a new conversation: with the id that the server returns, or will return, or with our own."""
        start = self._endpoint.start
        if start is None:
            return _Conversation(None if self._endpoint.session else f"{self._run_id}/{values['case_id']}/{values['trial']}")
        found = resolve(_parse(await self._send(start.method, start.url, start.body, values)), start.session)
        if not found:
            raise ModelError(f"{self._shown}: the response that starts a conversation has no value at {start.session} (start.session)")
        return _Conversation(found[0])

    async def _exchange(self, conversation: _Conversation, values: Mapping[str, Any]) -> list[Any]:
        """Send the message, and return the response, its events, or the messages that are polled."""
        endpoint = self._endpoint
        body = BODY if endpoint.body is None and endpoint.method != "GET" else endpoint.body
        values = {**values, **structs.asdict(conversation)}
        response = await self._send(endpoint.method, self._url.address, body, values)
        if endpoint.poll is not None:
            return await self._poll(endpoint.poll, conversation, values)
        results = self._results(response)
        if endpoint.session:
            found = (found for each in reversed(results) for found in resolve(each, endpoint.session))
            conversation.session = next(found, conversation.session)  # a server may send it in the first response only
        return results

    async def _send(self, method: str, url: str, body: Any, values: Mapping[str, Any]) -> HttpResponse:
        """Return a successful response, without keys."""
        assert self._client is not None, "open the model with `async with` before it predicts"
        content = None if body is None else dump(fill(body, values, self._variables.__getitem__)).encode()
        headers = {name: as_text(fill(text, values, self._variables.__getitem__)) for name, text in self._endpoint.headers.items()}
        for name, text in headers.items():
            if _CONTROL.search(text):
                raise ModelError(f"{self._shown}: the header {name} would contain a line break or another control character")
        until = DONE if self._endpoint.stream else None
        shown = self._shown if url == self._url.address else self._keys.hide(_read_url(url, self._keys).shown)
        response = await self._client.request(method, fill_url(url, values), content, headers=headers, until=until, shown_address=shown)
        response = self._keys.redact(response)
        if not response.is_success:
            raise response_error(response, address=shown)
        return response

    def _results(self, response: HttpResponse) -> list[Any]:
        """Return the body, or the data of each event that counts."""
        if not self._endpoint.stream:
            return [_parse(response)]
        wanted = self._endpoint.events
        events = [data for kind, data in read_events(response.body) if not wanted or kind in wanted]
        for data in events:
            _refuse_error(data)
        if not events:
            raise BadInput(
                f"expected {'an event ' + ' or '.join(wanted) if wanted else 'server-sent events'}, got {describe_body(response.body)}"
            )
        return events

    async def _poll(self, poll: PollRequest, conversation: _Conversation, values: Mapping[str, Any]) -> list[Any]:
        """Return the agent's new messages: polls until there is one, and then until a poll brings no more."""
        found: list[Any] = []
        url = _read_url(poll.url, self._keys).address
        try:
            async with asyncio.timeout(self._timeout):
                while True:
                    await asyncio.sleep(poll.interval)
                    body = _parse(await self._send("GET", url, None, {**values, "watermark": conversation.watermark}))
                    _refuse_error(body)
                    items = [item for items in resolve(body, poll.items) for item in (items if isinstance(items, list) else [items])]
                    new = [item for item in items if all(value in resolve(item, pointer) for pointer, value in poll.where.items())]
                    if not poll.watermark:  # every response has all messages
                        seen = conversation.watermark or 0
                        conversation.watermark, new = len(new), new[seen:]
                    else:
                        conversation.watermark = next(iter(resolve(body, poll.watermark)), conversation.watermark)
                    if found and not new:
                        return found
                    found += new
        except TimeoutError:
            if found:
                return found
            raise ModelError(f"{self._shown} did not reply within {self._timeout:g} s") from None


def read_results(results: list[Any], endpoint: EndpointSettings) -> Prediction:
    """Return the prediction in the parts of a response. Raise `ModelError` if one is an error, `BadInput` if it is not a prediction.

    Texts of events are concatenated; those of several messages are on lines of their own.
    """
    if not results:
        raise BadInput(f"no value at {endpoint.result} (result)")
    separator = "" if endpoint.stream else "\n"
    if endpoint.reply is None and endpoint.calls is None:
        return _join([read_chatbot_response(dump(result).encode()) for result in results], separator)
    texts, calls = list[str](), list[Any]()
    for result in results:
        _refuse_error(result)
        texts += _texts(result, endpoint.reply)
        calls += _calls(result, endpoint.calls)
    if not texts and not calls:
        keys = [key for result in results if isinstance(result, dict) for key in result]
        shown = ", ".join(dict.fromkeys(keys[:_MAX_KEYS_SHOWN])) or "no keys"
        raise BadInput(f"no value at {endpoint.reply} (reply) or {endpoint.calls} (calls); got {shown}")
    return _parsed(Prediction("", 0, read_calls(calls), separator.join(texts)), has_calls=bool(calls))


def read_chatbot_response(body: bytes) -> Prediction:
    """Return the prediction in a chatbot's response. Raise `ModelError` if it is an error, `BadInput` if it is not a prediction."""
    try:
        fields: Any = parse(body)
    except NotStrict:
        fields = None
    if not isinstance(fields, dict):
        raise BadInput(f"expected a JSON object, got {describe_body(body)}")
    text = next(iter(_texts(fields, None)), None)
    if text is None or fields.get("error"):
        return read_output(body)
    calls = _calls(fields, None)
    return _parsed(Prediction("", 0, read_calls(calls), text), has_calls=bool(calls))


def _texts(result: Any, pointer: str | None) -> list[str]:
    if pointer is not None:
        return [found for found in resolve(result, pointer) if isinstance(found, str)]
    return [result[key] for key in _TEXT_KEYS if isinstance(result.get(key), str)][:1] if isinstance(result, dict) else []


def _calls(result: Any, pointer: str | None) -> list[Any]:
    """Return the calls in a part of a response; a single call is a list of one."""
    if pointer is not None:
        found = resolve(result, pointer)
    else:
        found = [result[key] for key in _CALL_KEYS if result.get(key)][:1] if isinstance(result, dict) else []
    return [call for each in found for call in (each if isinstance(each, list) else [each])]


def _parsed(prediction: Prediction, *, has_calls: bool) -> Prediction:
    found = parse_prediction(prediction, "read" if has_calls else "response", parse=None, tools=())
    if found.error:
        raise ModelError(found.error)
    return found


def _join(predictions: list[Prediction], separator: str) -> Prediction:
    calls = tuple(call for prediction in predictions for call in prediction.calls)
    text = separator.join(prediction.text for prediction in predictions if prediction.text)
    return structs.replace(predictions[-1], calls=calls, text=text)


def _parse(response: HttpResponse) -> Any:
    try:
        return parse(response.body)
    except NotStrict:
        raise BadInput(f"expected a JSON object, got {describe_body(response.body)}") from None


def _refuse_error(result: Any) -> None:
    if isinstance(result, dict) and result.get("error"):
        read_output(dump(result).encode())


def _sent_variables(settings: ModelSettings) -> list[str]:
    named = [settings.api_key_env] if settings.api_key_env else []
    return list(dict.fromkeys([*named, *(variables(settings.endpoint) if settings.endpoint else ())]))


def _read_url(text: str, keys: Keys) -> Url:
    return read_url(text, keys, where="the chatbot URL", example=_EXAMPLE)


def _secret(name: str, spec: Spec, keys: Keys) -> str:
    """Return the value of a variable that is sent, and hide it from now on."""
    value = keys.get(name)
    if not value:
        raise BadInput(f"{spec.shown}: {name} is not set", f"Set {name} in the environment, or add it to {ENV_FILE}: {name}=…")
    if not value.isascii() or not value.isprintable():
        raise BadInput(f"{spec.shown}: {name} contains control characters or non-ASCII characters", "Copy the key again.")
    keys.add(value)
    return value


class ChatbotProvider(Provider, frozen=True, kw_only=True):
    """A chatbot, given by its address."""

    def read(self, text: str, keys: Keys) -> Spec:
        name = self.name_in(text)
        url = _read_url(name, keys)
        return Spec(self, name, name, keys.hide(f"{self.name}:{url.shown}"), url.secret)

    def actions(self, spec: Spec, settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        """Yield every variable that is sent, or that requests are sent, to each address."""
        endpoint = settings.endpoint or EndpointSettings()
        others = [request.url for request in (endpoint.start, endpoint.poll) if request is not None]
        urls: list[Url] = [_read_url(text, keys) for text in (spec.url, *others)]
        for url in dict.fromkeys(urls):
            for sent in _sent_variables(settings) or ["requests"]:
                yield Action("send", f"{sent} to {keys.show(url.shown)}", exact=f"{sent} to {url.address}")

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return ChatbotModel(spec, settings, keys)


PROVIDER = ChatbotProvider(name="chatbot", example=_EXAMPLE, capabilities=_CAPABILITIES, settings=("api_key_env",))
