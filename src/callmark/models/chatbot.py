"""A whole chatbot over HTTP: `chatbot:URL`. It carries out its calls itself, and reports them: document 004's evaluation target.

It is sent `{"conversation_id", "case_id", "trial", "message", "messages"}`: what the user said last, and all that was said so far. It
answers with what it says (`message`, `reply`, `response`, `answer`, `text` or `content`; or any shape that predictions have) and the calls
that it made since (`function_calls`, `tool_calls` or `calls`), in any shape. A status from 400 on, `error`, and what is no answer are no
reply. The conversation's id is its own in every run; a retry has the same.
"""

from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from callmark.calls.shapes import read_calls
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.models.chat import refusal
from callmark.models.keys import Keys, read_url
from callmark.models.model import ModelError, ModelSettings, Question, Reply
from callmark.models.posting import Post
from callmark.models.replies import read_reply
from callmark.models.specs import Spec

_SAID = ("message", "reply", "response", "answer", "text", "content")
_CALLED = ("function_calls", "tool_calls", "calls")
_OK, _NOT_OK = 200, 300


class ChatbotModel:
    """Raises `BadInput` for an address that is none."""

    concurrency = 10

    def __init__(self, spec: Spec, settings: ModelSettings, keys: Keys) -> None:
        self.label = spec.shown
        self._keys = keys
        self._url = read_url(spec.url, keys, where="the address of the chatbot", example="chatbot:http://localhost:8000/chat")
        self._timeout = settings.timeout
        self._run = uuid4().hex[:8]
        self._post: Post | None = None

    def fingerprint(self, question: Question) -> bytes | None:
        """None: it has done its calls when it answers, and may know more than it is sent."""
        return None

    async def ask(self, question: Question) -> Reply:
        """What it says, and what it says that it called."""
        assert self._post is not None, "a model is entered before it is asked"
        case = question.case
        said = [{"role": message.role, "content": message.text} for message in case.messages if message.role in ("user", "assistant")]
        body = {
            "conversation_id": f"{self._run}/{case.id}/{question.trial}",
            "case_id": case.id,
            "trial": question.trial,
            "message": next((message["content"] for message in reversed(said) if message["role"] == "user"), ""),
            "messages": said,
        }
        shown = self._keys.hide(self._url.shown)
        status, headers, answer = await self._post(dump(body).encode())
        answer = self._keys.hide_bytes(answer)
        if not _OK <= status < _NOT_OK:
            raise refusal(status, answer, headers, address=shown)
        try:
            return read_chatbot(answer)
        except BadInput as error:
            raise ModelError(f"{shown} gave no answer that can be read: {error}") from None

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Basic {self._url.user}"} if self._url.user else {}
        self._post = Post(self._url.address, self._keys.hide(self._url.shown), headers, timeout=self._timeout)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        post, self._post = self._post, None
        if post is not None:
            await post.close()


def read_chatbot(body: bytes) -> Reply:
    """The reply in what a chatbot answered. Raises `ModelError` where it is an error, `BadInput` where it is no answer."""
    try:
        fields: Any = parse(body)
    except NotStrict:
        fields = None
    if not isinstance(fields, dict):
        raise BadInput("it is no JSON object")
    said = next((fields[key] for key in _SAID if isinstance(fields.get(key), str)), None)
    if said is None or fields.get("error"):
        return read_reply(body)
    called: Any = next((fields[key] for key in _CALLED if fields.get(key)), [])
    return Reply(read_calls(called), said)
