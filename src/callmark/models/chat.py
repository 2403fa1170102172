"""Models that are asked over HTTP, in OpenAI's chat protocol: one POST to `/chat/completions`, one whole answer.

What comes back is a reply, or there is none and the sentence says why: who was asked, what they said, what may help. A key is sent to
the address and goes nowhere else; redirects are not followed, as they would take it along.
"""

import re
from collections.abc import Callable, Container, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Raw

from callmark.calls.parsing import parse_calls
from callmark.errors import BadInput
from callmark.formats.responses import Fields, Said, decode_fields, error_text, kind, read_value, said_in, shown_keys, text_in
from callmark.formats.surrogates import with_surrogate, written_out
from callmark.models.in_prompt import read_constrained
from callmark.models.keys import EntraToken, Keys, masked
from callmark.models.model import ModelError, ModelSettings, Question, Reply
from callmark.models.posting import Post
from callmark.models.prompts import request_body
from callmark.models.specs import HTTP, Spec, endpoint

_LONGEST_SAID, _LONGEST_BEGINNING, _LONGEST_WORD = 300, 100, 60
_MOST_DIGITS = 12
_FILTERED = "content_filter"
_OK, _NOT_OK, _REFUSED = 200, 300, 400
_NOT_ALLOWED, _UNKNOWN = (401, 403), 404
_AGAIN = frozenset({408, 409, 425, 429})  # and from 500 on
_CROWDED = frozenset({429, 503, 529})
_HOPELESS = frozenset({401, 402, 403, 404})
_MEANT = (  # the status that the code or the type of an error stands for; the first that is found counts
    ("insufficient_quota", 402),
    ("billing", 402),
    ("rate_limit", 429),
    ("too_many_requests", 429),
    ("quota", 429),
    ("exhausted", 429),
    ("overloaded", 529),
    ("unavailable", 503),
    ("api_key", 401),
    ("authentication", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid", 400),
    ("context_length", 400),
    ("content_filter", 400),
)
_SPENT = ("insufficient_quota", "billing_hard_limit")  # with a 429, though no waiting helps
_OWN_WORDS = {529: "Overloaded"}
_SECONDS = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{0,9})?)\s*")
_PAGE = re.compile(rb"\s*<(?:!doctype|html|head|body|!--)", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,300})", re.IGNORECASE)

Hints = Callable[[int], str]

_decode_choices = msgspec.json.Decoder(list[dict[str, Raw]]).decode


class ChatModel:
    """A model behind an address. Raises `BadInput` where it cannot be asked at all: a key is missing, an address is none."""

    def __init__(self, spec: Spec, settings: ModelSettings, keys: Keys) -> None:
        self._spec = spec
        self._settings = settings
        self._keys = keys
        self._endpoint = endpoint(spec, settings, keys)
        self._entra = EntraToken(keys) if self._endpoint.entra else None
        self._post: Post | None = None
        self._reads_text = _reads_text(settings)

    @property
    def label(self) -> str:
        """The spec; of a server of one's own only the model's name."""
        return self._keys.hide(self._spec.name) if self._spec.provider in ("vllm", "http") else self._spec.shown

    @property
    def concurrency(self) -> int:
        return HTTP[self._spec.provider].concurrency

    def fingerprint(self, question: Question) -> bytes | None:
        """The address without its secrets, how the answer is read, and the body; None where there is no such body.

        A query that may not be told is in it as a digest, as it may shape the answer.
        """
        try:
            body = request_body(question.case, self._spec.name, self._settings)
        except BadInput:
            return None
        place = self._endpoint.shown
        if not place.endswith(self._endpoint.query):
            from hashlib import blake2b

            place += f" {blake2b(self._endpoint.query.encode(), digest_size=16).hexdigest()}"
        return f"{place}\n{self._settings.parse} {self._settings.tools_in_prompt}\n".encode() + body

    async def ask(self, question: Question) -> Reply:
        """Its reply; raises `ModelError`, and nothing else. It is asked once: whether to ask again is for others to say."""
        try:
            assert self._post is not None, "a model is entered before it is asked"
            token = {"Authorization": f"Bearer {await self._entra.current()}"} if self._entra else None
            status, headers, body = await self._post(request_body(question.case, self._spec.name, self._settings), headers=token)
            names = frozenset(tool.name for tool in question.case.tools) if self._reads_text else ()
            return read_body(
                self._keys.hide_bytes(body), status, headers, self._settings, address=self._endpoint.shown, names=names, hints=self._hints
            )
        except BadInput as problem:
            raise ModelError(self._keys.hide(str(problem))) from None
        except ModelError as problem:
            said = self._keys.hide(str(problem))
            raise ModelError(said, again=problem.again, wait=problem.wait, crowded=problem.crowded, hopeless=problem.hopeless) from None

    async def __aenter__(self) -> Self:
        self._post = Post(self._endpoint.address, self._endpoint.shown, self._endpoint.headers, timeout=self._settings.timeout)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        post, self._post = self._post, None
        if post is not None:
            await post.close()
        if self._entra is not None:
            await self._entra.close()

    def _hints(self, status: int) -> str:
        """What to look at first when this is the answer."""
        if status in _NOT_ALLOWED:
            variables = HTTP[self._spec.provider].key_variables
            none = f"no key, as {variables[0]} is not set" if variables else "no key; api_key_env can name one"
            return f"it was sent {self._endpoint.credential or none}"
        return f"the model {self._spec.name} or the address is not known there" if status == _UNKNOWN else ""


def read_body(
    body: bytes,
    status: int,
    headers: Mapping[str, str],
    settings: ModelSettings,
    *,
    address: str = "the server",
    names: Container[str] = (),
    hints: Hints = lambda status: "",
) -> Reply:
    """What an answer says. Anything that is not the model's doing raises `ModelError`: a refusal, an error, no JSON, no choices.

    Calls that cannot be read, no call and a filtered answer are replies. Text is searched for calls where the tools stood in the prompt or
    `settings.parse` says how, and the server found none. `names` are the tools, for that search; `hints` tells what to add for a status.
    """
    if not _OK <= status < _NOT_OK:
        raise refusal(status, body, headers, address=address, hints=hints)
    mended = written_out(body)
    finish = ""
    try:
        fields = decode_fields(mended)
        finish = _finish(fields)
        said = said_in(fields) or Said()
        error = read_value(fields["error"]) if "error" in fields else None
    except BadInput as problem:
        if finish != _FILTERED:
            raise ModelError(f"{address} gave an answer that cannot be read: {problem}", again=True) from None
        said, error = Said(), None
    except (ValueError, RecursionError):
        raise ModelError(f"{address} answered with {_instead(body)}, a JSON object was expected", again=True) from None
    if message := error_text(error):
        raise _refusal(_meant(error), _cut(message), headers, f"{address} answered with an error", hints)
    if "choices" not in fields:
        raise ModelError(f"{address} gave an answer without choices: its keys are {shown_keys(fields)}", again=True)
    if said.error and finish != _FILTERED:
        raise ModelError(f"{address} gave no answer: {_cut(said.error)}", again=True)
    calls, text, thinking = said.calls or (), said.text, said.thinking
    if not calls and text and _reads_text(settings):
        constrained = settings.tools_in_prompt == "constrained" and settings.parse is None
        found = read_constrained(text, names) if constrained else parse_calls(text, settings.parse or "auto", names=names)
        calls, text = found.calls, found.text
        thinking = "\n".join(part for part in (thinking, found.thinking) if part)
    if mended != body:
        calls = tuple(map(with_surrogate, calls))
    return Reply(calls, text, thinking, finish, *_tokens(fields))


def refusal(status: int, body: bytes, headers: Mapping[str, str], *, address: str, hints: Hints = lambda status: "") -> ModelError:
    """Why there is no reply where the status is no good one."""
    return _refusal(status, _message(body), headers, f"{address} answered {_status(status)}", hints)


def _reads_text(settings: ModelSettings) -> bool:
    return settings.parse is not None or settings.tools_in_prompt in ("free", "constrained")


def _finish(fields: Fields) -> str:
    """Why the model stopped, in its own word; empty where it does not say."""
    try:
        choices = _decode_choices(fields["choices"])
    except (KeyError, ValueError):
        return ""
    return text_in(choices[0], "finish_reason")[:_LONGEST_WORD] if choices else ""


def _tokens(fields: Fields) -> tuple[int, int]:
    """The tokens that went in and came out; 0 for what is not a whole number."""
    if "usage" not in fields or kind(fields["usage"]) != "{":
        return 0, 0
    try:
        usage = decode_fields(fields["usage"])
    except (ValueError, RecursionError):  # a key in it that is not UTF-8: what stood around it was only skipped
        return 0, 0
    digits = [bytes(usage.get(key, b"0")) for key in ("prompt_tokens", "completion_tokens")]
    sent, received = (int(each) if each.isdigit() and len(each) < _MOST_DIGITS else 0 for each in digits)
    return sent, received


def _refusal(status: int, message: str, headers: Mapping[str, str], sentence: str, hints: Hints) -> ModelError:
    """Why there is no reply, by the status, or by the one that was meant."""
    given = {name.lower(): value for name, value in headers.items()}
    if status < _REFUSED:
        to = masked(given.get("location", ""), Keys()) or "nowhere"
        return ModelError(f"{sentence} and sends on to {to}, which is not followed; give the address itself", hopeless=True)
    if message.startswith(_SPENT):
        status = 402
    hint = hints(status)
    again = status in _AGAIN or status >= 500
    return ModelError(
        f"{sentence}{': ' if message else ''}{message}{'; ' if hint else ''}{hint}",
        again=again,
        wait=_wait(given) if again else None,
        crowded=status in _CROWDED,
        hopeless=status in _HOPELESS,
    )


def _meant(error: Any) -> int:
    """The status that an error stands for which came with a good one: 500 where it does not tell."""
    told = [str(error[key]) for key in ("code", "status", "type") if error.get(key)] if isinstance(error, dict) else []
    for word in told:
        if word.isdecimal() and len(word) == 3 and int(word) >= _REFUSED:
            return int(word)
    words = " ".join(told).lower().replace(" ", "_").replace("-", "_")
    return next((status for word, status in _MEANT if word in words), 500)


def _wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that the other side wants to be left alone for; None where it does not say, or not so that it can be read."""
    if found := _SECONDS.fullmatch(headers.get("retry-after-ms", "")):
        return float(found[1]) / 1000
    after = headers.get("retry-after", "")
    if found := _SECONDS.fullmatch(after):
        return float(found[1])
    until = _moment(after)
    if until is None:
        return None
    now = _moment(headers.get("date", ""))  # by its own clock, where it has one
    return max(0.0, until - (time() if now is None else now))


def _moment(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _status(status: int) -> str:
    try:
        return f"{status} {_OWN_WORDS.get(status) or HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _message(body: bytes) -> str:
    """What a server says to its refusal, in one line: the message of its error, the title of its page, or how its text begins."""
    try:
        return _cut(error_text(read_value(written_out(body))))
    except (ValueError, RecursionError):
        return _instead(body) if _PAGE.match(body) else _line(body, _LONGEST_SAID)


def _instead(body: bytes) -> str:
    """What stands where JSON should."""
    if not body.strip():
        return "nothing at all"
    if not _PAGE.match(body):
        return f"a text that begins with {_line(body, _LONGEST_BEGINNING)!r}"
    title = _TITLE.search(body)
    return f"an HTML page, {_line(title[1], _LONGEST_BEGINNING)!r}" if title else "an HTML page"


def _line(text: bytes, longest: int) -> str:
    return " ".join(text[: longest * 4].decode("utf-8", "replace").split())[:longest]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SAID else f"{text[:_LONGEST_SAID]}…"
