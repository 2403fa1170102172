"""What a model is asked: the body of a chat completion request.

Messages and tools go out as they stood, unknown keys and all; they are joined, not read and written again. Only calls that are not in
OpenAI's form, or have no id, are written anew, because servers refuse them.

For a model without tool calling (`tools_in_prompt`) see `in_prompt`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from callmark.calls.messages import RESULT_ROLES, call_text, keep_calls, message_text, message_texts
from callmark.calls.results import match_results
from callmark.calls.strict import decode, dump, is_strict, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.models.in_prompt import demanded, offer, told
from callmark.models.model import ModelSettings
from callmark.types import Call, Case, Message, Text

_ABOUT_TOOLS = ("tool_choice", "parallel_tool_calls")  # servers refuse them where there are no tools
_TAKEN = {
    "model": "name it with --model",
    "messages": "they are the case's own",
    "tools": "they are the case's own",
    "stream": "an answer is always read whole",
    "n": "--trials asks several times",
}
_SECRET = re.compile(
    r"(?:^|_)(?:api_?key|auth|authorization|authentication|bearer|secret|password|credentials?|(?:access|auth|api)_?token)(?:$|_)|^(?:key|token)$"
)
_MOST_LOOKED_AT = 5_000  # parts of parameters
_LOOKS_SECRET = re.compile(r"\s*(?:bearer\s|sk-\S{16})", re.IGNORECASE)


class _Function(Struct, gc=False):
    name: str
    arguments: str


class _AskableCall(Struct, gc=False):
    id: str
    type: Literal["function"]
    function: _Function


class _Askable(Struct, gc=False):
    """A message with calls that every server takes."""

    tool_calls: list[_AskableCall]


_decode_askable = msgspec.json.Decoder(_Askable).decode


def request_body(case: Case, name: str, settings: ModelSettings) -> bytes:
    """The JSON of the request that asks the model `name` for the next step of a case.

    Without tools there is neither `tools` nor `tool_choice` in it. A case without messages (a scenario has none) raises `BadInput`, and so
    does one that was made in Python and cannot be written as JSON, or a parameter that `check_params` refuses.
    """
    if not case.messages:
        raise BadInput(f"{scrub(case.id)} has no messages, so there is nothing to ask")
    count = len(case.messages) - dropped_trailing(case, settings)
    if settings.tools_in_prompt in ("free", "constrained"):
        return _body_in_prompt(case, name, settings, count)
    tools = tools_text(case) if case.tools else b""
    made = case.original.messages is not case.messages or case.original.tools is not case.tools
    try:
        body = b'{"model":%b,"messages":[%b]%b%b}' % (
            dump(scrub(name)).encode(),
            b",".join(_askable_texts(case)[:count]),
            b',"tools":' + tools if tools else b"",
            _parameters(settings, {}, tools=bool(tools)),
        )
        if made:
            decode(body)
    except (ValueError, RecursionError):
        raise BadInput(f"{scrub(case.id)} holds something that JSON has no word for, so no model can be asked") from None
    return body


def dropped_trailing(case: Case, settings: ModelSettings) -> int:
    """How many assistant messages at the very end are not sent: many servers refuse a prompt that ends in one, or go on writing it.

    None is dropped where nothing would be left.
    """
    if settings.trailing_assistant == "keep":
        return 0
    return next((after for after, message in enumerate(reversed(case.messages)) if message.role != "assistant"), 0)


def check_params(params: dict[str, Any]) -> None:
    """Raises `BadInput` for a parameter that is callmark's own to set, holds what JSON has no word for, or looks like a key."""
    for name in params:
        if name in _TAKEN:
            raise BadInput(f"the parameter {name} cannot be set", _TAKEN[name])
    if secret := _secret(params):
        raise BadInput(
            f"the parameter {scrub(secret)} looks like a key, and parameters are recorded", "name the variable that holds it: api_key_env"
        )
    try:
        msgspec.json.encode(params)
        writable = is_strict(params)
    except (TypeError, ValueError, RecursionError):
        writable = False
    if not writable:
        raise BadInput("a parameter holds something that JSON has no word for, such as NaN")


# Parameters


def _parameters(settings: ModelSettings, fields: dict[str, Any], *, tools: bool) -> bytes:
    """`,"temperature":0,…`: what the settings say and then `fields`; a parameter goes before the setting of the same name."""
    if tools and settings.tool_choice is not None:
        fields["tool_choice"] = settings.tool_choice
    if settings.temperature is not None:
        if not isfinite(settings.temperature):
            raise BadInput(f"the temperature is {settings.temperature}, a finite number was expected")
        fields["temperature"] = settings.temperature
    if settings.params:
        check_params(settings.params)
        fields.update(settings.params)
        if not tools:
            for key in _ABOUT_TOOLS:
                fields.pop(key, None)
    return b"," + dump(fields)[1:-1].encode() if fields else b""


def _secret(value: Any) -> str:
    """The first key, at any depth, that by its name or its value holds a secret; empty where none does."""
    rest: list[tuple[str, Any]] = [("", value)]
    for name, item in rest:  # grows while it is gone over
        if len(rest) > _MOST_LOOKED_AT:
            break
        if isinstance(item, dict):
            rest.extend((str(key), inner) for key, inner in item.items())
        elif isinstance(item, list):
            rest.extend((name, inner) for inner in item)
        if name and (_names_a_secret(name) or (item.__class__ is str and _LOOKS_SECRET.match(item))):
            return name
    return ""


@lru_cache(maxsize=256)
def _names_a_secret(name: str) -> bool:
    return _SECRET.search(name.lower().replace("-", "_")) is not None


# Messages as they stood


def _askable_texts(case: Case) -> Sequence[Text]:
    """The JSON of each message: as it stood, or with every call in OpenAI's form and with an id, where one was not."""
    texts = message_texts(case)
    messages = case.messages
    for index, message in enumerate(messages):
        if message.calls:
            try:
                if len(_decode_askable(texts[index]).tool_calls) == len(message.calls):
                    continue
            except (ValueError, RecursionError):
                pass
            return _mended_texts(messages, texts)
        if message.tool_call_id is None and message.role in RESULT_ROLES:
            return _mended_texts(messages, texts)
    return texts


def _mended_texts(messages: Sequence[Message], texts: Sequence[Text]) -> Sequence[Text]:
    results = match_results(messages).of
    answers = {answer: at for at, answer in results.items()}
    mended = list(texts)
    for index, message in enumerate(messages):
        if message.calls:
            calls = [structs.replace(call, id=_call_id(call, index, place)) for place, call in enumerate(message.calls)]
            mended[index] = keep_calls(texts[index], [call_text(call) for call in calls])
        elif index in answers:
            asked, place = answers[index]
            call_id = _call_id(messages[asked].calls[place], asked, place)
            mended[index] = message_text(Message("tool", message.text, (), call_id, message.name))
    return mended


def _call_id(call: Call, index: int, place: int) -> str:
    return call.id or f"call_{index}_{place}"


def _body_in_prompt(case: Case, name: str, settings: ModelSettings, count: int) -> bytes:
    bare = settings.tools_in_prompt == "constrained"
    choice = settings.params.get("tool_choice", settings.tool_choice)
    offered = offer(tools_text(case), demanded(choice), bare) if case.tools and choice != "none" else None
    messages = told(case.messages[:count], offered.instructions if offered else "", bare=bare)
    fields: dict[str, Any] = {}
    if offered and offered.schema:
        fields["response_format"] = offered.schema
    return b'{"model":%b,"messages":%b%b}' % (
        dump(scrub(name)).encode(),
        dump(messages).encode(),
        _parameters(settings, fields, tools=False),
    )
