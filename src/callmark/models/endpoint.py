"""How to talk to an agent at an address: `[agents.NAME]` of `callmark.toml`.

The body, the URLs and the headers are templates. `{message}` is the last user message, `{messages}` the conversation so far, `{session}`
the id of the conversation, `{case_id}` and `{trial}` the scenario and the trial, `{watermark}` what the last poll returned. A text that is
only a placeholder becomes its value, such as a list or null; in a URL, values are percent-encoded. `${NAME}` in a header or in the body is
an environment variable.

A pointer is a JSON Pointer (`/choices/0/text`), in which `*` stands for every element of a list. The empty pointer is the whole value.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct, structs

from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.models.redaction import HIDDEN
from callmark.wording import did_you_mean

PLACEHOLDERS = ("message", "messages", "session", "case_id", "trial", "watermark")
BODY = {name if name != "session" else "conversation_id": f"{{{name}}}" for name in ("session", "case_id", "trial", "message", "messages")}
DONE = b"data: [DONE]"  # after the last event

_PLACEHOLDER = re.compile(r"\$?\{([^{}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_WORDS = ("authorization", "cookie", "key", "token", "secret", "password", "credential")
_PUBLIC_HEADER = re.compile(r"accept(-.*)?|content-type|user-agent|.*-(version|beta)", re.IGNORECASE)  # never a secret
_LINE = re.compile(rb"\r\n|\r|\n")

Method = Literal["POST", "PUT", "PATCH", "GET"]
Values = Mapping[str, Any]


class StartRequest(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The request that starts a conversation.

    Attributes:
        url: Template of the URL.
        session: Pointer to the id of the conversation in the response.
        method: HTTP method.
        body: Template of the body; None for no body.
    """

    url: str
    session: str
    method: Method = "POST"
    body: Any = None


class PollRequest(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The GET requests that wait for the reply.

    Attributes:
        url: Template of the URL.
        items: Pointer to the list of messages in the response.
        where: The messages that are the agent's: values by pointer.
        watermark: Pointer to the value of `{watermark}` for the next request; empty if there is none.
        interval: Seconds between two requests.
    """

    url: str
    items: str = ""
    where: dict[str, Any] = {}
    watermark: str = ""
    interval: float = 0.5


class EndpointSettings(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to talk to an agent at an address. The default is the protocol of `chatbot:URL`.

    Attributes:
        method: HTTP method.
        headers: Templates of headers by name.
        body: Template of the body; None for the default.
        result: Pointer to the part of the response, or of a polled message, that has the reply and the calls.
        reply: Pointer to the text in `result`; several texts are joined. None: the usual keys, or any shape of a prediction.
        calls: Pointer to the calls in `result`, in any shape. None: the usual keys.
        session: Pointer to the id of the conversation in the response, for `{session}` of the next request. Without it, and without
            `start`, callmark chooses the id.
        stream: The response is a stream of server-sent events.
        events: The types of the events that count; all by default.
        start: The request that starts a conversation.
        poll: The requests that wait for the reply, if the response to a message does not have it.
    """

    method: Method = "POST"
    headers: dict[str, str] = {}
    body: Any = None
    result: str = ""
    reply: str | None = None
    calls: str | None = None
    session: str = ""
    stream: bool = False
    events: tuple[str, ...] = ()
    start: StartRequest | None = None
    poll: PollRequest | None = None


def check_endpoint(url: str, settings: EndpointSettings) -> None:
    """Raise `BadInput` for an invalid placeholder or pointer, and for a secret in place of its variable, with the name of the setting."""
    start, poll = settings.start, settings.poll
    templates: list[tuple[str, Any]] = [("url", url), ("headers", settings.headers), ("body", settings.body)]
    pointers = {name: getattr(settings, name) for name in ("result", "reply", "calls", "session")}
    if start is not None:
        templates += [("start.url", start.url), ("start.body", start.body)]
        pointers["start.session"] = start.session
    if poll is not None:
        templates.append(("poll.url", poll.url))
        pointers |= {"poll.items": poll.items, "poll.watermark": poll.watermark, **{f"poll.where {key}": key for key in poll.where}}
        if not 0 < poll.interval < float("inf"):
            raise BadInput(f"poll.interval: expected a number above 0, got {poll.interval:g}")
    for name, template in templates:
        for text in _texts(template):
            _check_placeholders(name, text, in_url=name.endswith("url"))
    for name, pointer in pointers.items():
        if pointer and not pointer.startswith("/"):
            example = "/".join(("", *re.findall(r"[^$.\[\]/]+", pointer)))
            raise BadInput(f"{name}: expected a JSON Pointer, which starts with /, got {pointer!r}", f"For example: {example or '/reply'}")
    if settings.events and not settings.stream:
        raise BadInput("events has no effect without stream = true")
    for name, template in templates:
        _refuse_secrets(name, template)


def hide_headers(settings: EndpointSettings) -> EndpointSettings:
    """Return the settings with `…` in place of each header that is written out and may be a secret."""
    headers = {
        name: text if _PUBLIC_HEADER.fullmatch(name) or not _PLACEHOLDER.sub("", text) or "${" in text else HIDDEN
        for name, text in settings.headers.items()
    }
    return structs.replace(settings, headers=headers)


def variables(settings: EndpointSettings) -> list[str]:
    """Return the names of the environment variables in headers and bodies."""
    templates = (settings.headers, settings.body, settings.start and settings.start.body)
    return list(dict.fromkeys(found[1] for part in templates for text in _texts(part) for found in _names(text) if found[0][0] == "$"))


def fill(template: Any, values: Values, variable: Callable[[str], str]) -> Any:
    """Return a template with its placeholders and variables replaced. None becomes an empty text inside a longer one."""
    if isinstance(template, dict):
        return {key: fill(item, values, variable) for key, item in template.items()}
    if isinstance(template, list):
        return [fill(item, values, variable) for item in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[0][0] != "$":
        return values.get(whole[1])
    return _PLACEHOLDER.sub(lambda found: variable(found[1]) if found[0][0] == "$" else as_text(values.get(found[1])), template)


def fill_url(template: str, values: Values) -> str:
    """Return a URL with its placeholders replaced by percent-encoded values."""
    return _PLACEHOLDER.sub(lambda found: quote(as_text(values.get(found[1])), safe=""), template)


def as_text(value: Any) -> str:
    """Return a value as text: a string as it is, null as an empty text, anything else as JSON."""
    return "" if value is None else value if isinstance(value, str) else dump(value)


def resolve(value: Any, pointer: str) -> list[Any]:
    """Return the values that a pointer finds, in order; none if a step is missing. Null counts as missing."""
    found = [value]
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = [inner for outer in found for inner in _inside(outer, key)]
    return [each for each in found if each is not None]


def read_events(body: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the type and the data of each server-sent event; data that is not JSON is a text. The type may also be a field of the data.

    Comments, events without data and `[DONE]` are skipped.
    """
    kind, lines = "", list[bytes]()
    for line in [*_LINE.split(body.removeprefix(BOM_UTF8)), b""]:
        name, _, content = line.partition(b":")
        content = content.removeprefix(b" ")
        if name == b"event":
            kind = content.decode("utf-8", "replace")
        elif name == b"data":
            lines.append(content)
        elif not line:
            text = b"\n".join(lines)
            if text and text != DONE.removeprefix(b"data: "):
                data = _parse(text)
                yield kind or (str(data.get("type", "")) if isinstance(data, dict) else ""), data
            kind, lines = "", []


def _parse(text: bytes) -> Any:
    try:
        return parse(text)
    except NotStrict:
        return text.decode("utf-8", "replace")


def _inside(value: Any, key: str) -> list[Any]:
    if isinstance(value, list):
        if key == "*":
            return value
        return [value[int(key)]] if key.isdecimal() and int(key) < len(value) else []
    return [value[key]] if isinstance(value, dict) and key in value else []


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict | list):
        for item in template.values() if isinstance(template, dict) else template:
            yield from _texts(item)


def _names(text: str) -> list[re.Match[str]]:
    return list(_PLACEHOLDER.finditer(text))


def _check_placeholders(name: str, text: str, *, in_url: bool) -> None:
    for found in _names(text):
        if found[0][0] == "$":
            if in_url:
                raise BadInput(f"{name}: a URL cannot contain a variable, got {found[0]}", "Send keys in headers.")
            if not _VARIABLE.fullmatch(found[1]):
                raise BadInput(f"{name}: expected the name of an environment variable in {found[0]}", "For example: ${MY_TOKEN}")
        elif found[1] not in PLACEHOLDERS:
            known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            raise BadInput(
                f"{name}: unknown placeholder {found[0]}{did_you_mean(found[1], PLACEHOLDERS)}", f"Known: {known}, ${{VARIABLE}}."
            )
    host = re.split(r"[/?#]", text.partition("://")[2], maxsplit=1)[0] if in_url else ""
    if placeholder := _PLACEHOLDER.search(host):
        raise BadInput(
            f"{name}: the host cannot contain a placeholder, got {placeholder[0]}",
            "Write the host literally, so that no message can choose where requests are sent.",
        )


def _refuse_secrets(name: str, template: Any, key: str = "") -> None:
    """Raise `BadInput` for a text under a key such as Authorization that contains no placeholder: it may be a key."""
    if isinstance(template, list):
        for item in template:
            _refuse_secrets(name, item, key)
    elif isinstance(template, dict):
        for inner, item in template.items():
            _refuse_secrets(name, item, inner)
    elif isinstance(template, str) and template and not _names(template) and any(word in key.lower() for word in _SECRET_WORDS):
        hint = 'Set api_key_env = "NAME", or write ${NAME}, with the name of the environment variable that holds the key.'
        raise BadInput(f"{name} {key}: API keys do not belong in this file", hint)
