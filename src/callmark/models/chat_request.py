"""Chat completion requests.

Messages and tools are sent byte for byte as in the file, unknown keys included; they are joined, not parsed and serialized again. Only
calls that are not in OpenAI's format, or have no id, are rewritten, because servers reject them.

For models without tool calling, see `tools_in_prompt`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from callmark.calls.messages import RESULT_ROLES, call_text, message_text, message_texts, replace_calls
from callmark.calls.results import match_results
from callmark.calls.strict import decode, dump, is_strict, scrub
from callmark.calls.toolsets import tools_json, tools_text
from callmark.errors import BadInput
from callmark.models.model import ModelSettings
from callmark.models.tools_in_prompt import messages_as_text, required_tool, tools_prompt
from callmark.types import Call, Case, Message, Text

_TOOL_PARAMETERS = ("tool_choice", "parallel_tool_calls")  # servers reject them in requests without tools
_RESERVED = {
    "model": "Use --model.",
    "messages": "The messages come from the case.",
    "tools": "The tools come from the case.",
    "stream": "Responses are never streamed.",
    "n": "For several predictions per case, use --trials.",
}
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|auth|authorization|authentication|bearer|secret|password|credentials?|(?:access|auth|api)_?token)(?:$|_)|^(?:key|token)$"
)
_MAX_PARTS = 5_000  # parts of the parameters that are searched for secrets
_SECRET_VALUE = re.compile(r"\s*(?:bearer\s|sk-\S{16})", re.IGNORECASE)


class _Function(Struct, gc=False):
    name: str
    arguments: str


class _StandardCall(Struct, gc=False):
    id: str
    type: Literal["function"]
    function: _Function


class _StandardMessage(Struct, gc=False):
    """A message whose calls every server accepts."""

    tool_calls: list[_StandardCall]


_decode_standard = msgspec.json.Decoder(_StandardMessage).decode


def request_body(case: Case, name: str, settings: ModelSettings) -> bytes:
    """Return the JSON body of a request to the model `name` for the next step of a case.

    Without tools, the body has neither `tools` nor `tool_choice`. Raises `BadInput` for a case without messages (such as a scenario), for a
    case made in Python that cannot be written as JSON, and for a parameter that `check_params` rejects.
    """
    if not case.messages:
        raise BadInput(f"case {scrub(case.id)} has no messages to send")
    count = len(case.messages) - count_dropped_messages(case, settings)
    if settings.tools_in_prompt in ("free", "constrained"):
        return _body_in_prompt(case, name, settings, count)
    tools = tools_text(case) if case.tools else b""
    if b'"readOnlyHint"' in tools:  # servers reject what is not part of OpenAI's form
        tools = tools_json(case.tools)
    is_new = case.original.messages is not case.messages or case.original.tools is not case.tools
    try:
        body = b'{"model":%b,"messages":[%b]%b%b}' % (
            dump(scrub(name)).encode(),
            b",".join(_standard_texts(case)[:count]),
            b',"tools":' + tools if tools else b"",
            _parameters(settings, {}, tools=bool(tools)),
        )
        if is_new:
            decode(body)
    except (ValueError, RecursionError):
        raise BadInput(f"case {scrub(case.id)} contains a value that cannot be written as JSON") from None
    return body


def count_dropped_messages(case: Case, settings: ModelSettings) -> int:
    """Return how many trailing assistant messages are not sent: many servers reject a prompt that ends in one, or continue it.

    0 if no message would be left.
    """
    if settings.trailing_assistant == "keep":
        return 0
    return next((count for count, message in enumerate(reversed(case.messages)) if message.role != "assistant"), 0)


def check_params(params: dict[str, Any]) -> None:
    """Raise `BadInput` for a parameter that callmark sets itself, that cannot be written as JSON, or that looks like a key."""
    for name in params:
        if name in _RESERVED:
            raise BadInput(f"the parameter {name} cannot be set", _RESERVED[name])
    if secret := _find_secret(params):
        raise BadInput(
            f"the parameter {scrub(secret)} looks like a key, and parameters are stored with the run",
            "Set api_key_env to the name of the variable that holds the key.",
        )
    try:
        msgspec.json.encode(params)
        writable = is_strict(params)
    except (TypeError, ValueError, RecursionError):
        writable = False
    if not writable:
        raise BadInput("a parameter contains a value that cannot be written as JSON, such as NaN")


# Parameters


def _parameters(settings: ModelSettings, fields: dict[str, Any], *, tools: bool) -> bytes:
    """Return `,"temperature":0,…`: `fields` and the settings. A parameter overrides the setting of the same name."""
    if tools and settings.tool_choice is not None:
        fields["tool_choice"] = settings.tool_choice
    if settings.temperature is not None:
        if not isfinite(settings.temperature):
            raise BadInput(f"temperature: expected a finite number, got {settings.temperature}")
        fields["temperature"] = settings.temperature
    if settings.params:
        check_params(settings.params)
        fields.update(settings.params)
        if not tools:
            for key in _TOOL_PARAMETERS:
                fields.pop(key, None)
    return b"," + dump(fields)[1:-1].encode() if fields else b""


def _find_secret(value: Any) -> str:
    """Return the first parameter, at any depth, whose name or value looks like a secret; empty if none does."""
    rest: list[tuple[str, Any]] = [("", value)]
    for name, item in rest:  # grows during the loop
        if len(rest) > _MAX_PARTS:
            break
        if isinstance(item, dict):
            rest.extend((str(key), inner) for key, inner in item.items())
        elif isinstance(item, list):
            rest.extend((name, inner) for inner in item)
        if name and (_is_secret_name(name) or (item.__class__ is str and _SECRET_VALUE.match(item))):
            return name
    return ""


@lru_cache(maxsize=256)
def _is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name.lower().replace("-", "_")) is not None


# Messages


def _standard_texts(case: Case) -> Sequence[Text]:
    """Return the JSON of each message: unchanged if all calls have OpenAI's format and an id, else with all calls rewritten."""
    texts = message_texts(case)
    messages = case.messages
    for index, message in enumerate(messages):
        if message.calls:
            try:
                if len(_decode_standard(texts[index]).tool_calls) == len(message.calls):
                    continue
            except (ValueError, RecursionError):
                pass
            return _rewritten_texts(messages, texts)
        if message.tool_call_id is None and message.role in RESULT_ROLES:
            return _rewritten_texts(messages, texts)
    return texts


def _rewritten_texts(messages: Sequence[Message], texts: Sequence[Text]) -> Sequence[Text]:
    results = match_results(messages).by_call
    call_of_result = {result: call for call, result in results.items()}
    rewritten = list(texts)
    for index, message in enumerate(messages):
        if message.calls:
            calls = [structs.replace(call, id=_call_id(call, index, place)) for place, call in enumerate(message.calls)]
            rewritten[index] = replace_calls(texts[index], [call_text(call) for call in calls])
        elif index in call_of_result:
            calling, place = call_of_result[index]
            call_id = _call_id(messages[calling].calls[place], calling, place)
            rewritten[index] = message_text(Message("tool", message.text, (), call_id, message.name))
    return rewritten


def _call_id(call: Call, index: int, place: int) -> str:
    return call.id or f"call_{index}_{place}"


def _body_in_prompt(case: Case, name: str, settings: ModelSettings, count: int) -> bytes:
    constrained = settings.tools_in_prompt == "constrained"
    choice = settings.params.get("tool_choice", settings.tool_choice)
    prompt = tools_prompt(tools_text(case), required_tool(choice), constrained) if case.tools and choice != "none" else None
    messages = messages_as_text(case.messages[:count], prompt.instructions if prompt else "", constrained=constrained)
    fields: dict[str, Any] = {}
    if prompt and prompt.response_format:
        fields["response_format"] = prompt.response_format
    return b'{"model":%b,"messages":%b%b}' % (
        dump(scrub(name)).encode(),
        dump(messages).encode(),
        _parameters(settings, fields, tools=False),
    )
