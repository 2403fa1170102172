"""What a model said, out of whatever it came back in: calls, a message, a chat completion, a Responses body, parts, text.

Every shape is recognised by its keys, so one reader serves a row, the body of a response and a message alike. Only what is needed is
decoded. A call that is none is kept as a malformed one; a number where calls or text belong raises `BadInput` that names the field.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.messages import NOTHING, field_problem
from callmark.calls.shapes import named_call, read_call_text
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.formats.surrogates import reject_surrogates, escape_surrogates
from callmark.types import Call

Fields = Mapping[str, Raw]

CALLS = ("calls", "tool_calls", "output_tools", "function_calls")
TEXTS = (
    "text",
    "output_text",
    "output",
    "completion",
    "response",
    "prediction",
    "generated_text",
    "content",
    "answer",
    "message",
    "refusal",
)
_WRAPPINGS = ("choices", "message", "output", "content")
_MORE_WRAPPINGS = (*_WRAPPINGS, "response", "completion", "prediction", "generated_text", "answer", "text")  # where no list of calls stands
_THOUGHTS = ("thinking", "reasoning_content", "reasoning")
_TEXT_PARTS = frozenset({"text", "output_text", "input_text", "refusal"})
_CALL_PARTS = frozenset({"function_call", "custom_tool_call", "tool_use", "function"})
_SPEAKERS = frozenset({"assistant", "model"})
_OTHERS = frozenset({"user", "system", "developer", "tool", "function"})
_ERRORS = frozenset({"error", "errored"})
_ENDED = frozenset({"failed", "cancelled"})
_NO_CHOICES = "the response has no choices"
_LEVELS = 5  # that an answer may be wrapped in: a row, its response, the body, the choice, the message
_LONGEST_ERROR = 500
_KINDS = {"{": "an object", "[": "a list", '"': "text", "n": "null", "t": "true or false", "f": "true or false"}


class Said(Struct, frozen=True, gc=False):
    """What came back. `calls` is None where it was text and nothing else, in which calls may stand."""

    calls: tuple[Call, ...] | None = None
    text: str = ""
    thinking: str = ""
    error: str = ""


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: str


class UsualCall(Struct, gc=False, forbid_unknown_fields=True):
    """A call as nearly every API writes it, or as callmark does; any other shape goes the longer way."""

    function: _Function | None = None
    name: str | None = None
    arguments: Raw = NOTHING
    id: str | None = None
    type: str | None = None
    index: int | None = None
    malformed: str = ""
    text: str = ""


decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_messages = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_calls = msgspec.json.Decoder(list[Raw] | dict[str, Raw] | None).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_usual = msgspec.json.Decoder(list[UsualCall]).decode
_decode_usual_call = msgspec.json.Decoder(UsualCall).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode = msgspec.json.Decoder().decode


def said_in(fields: Fields, levels: int = _LEVELS) -> Said | None:
    """What the fields of an object say; None when there is no answer in it, not even an error.

    The first list of calls that is not empty counts, then what stands inside (`choices`, `message`, `output`, …), then the text; parts
    of a content are read beside calls too. A null in the place of the text is no answer but an error.
    """
    calls = _calls_in(fields)
    if "role" in fields:
        role = text_in(fields, "role")
        if role in _OTHERS:
            raise BadInput(f"the message has the role {role!r}, an assistant's was expected")
        if role in _SPEAKERS:
            calls = calls or ()
    error = error_in(fields)
    thinking = _first_text(fields, _THOUGHTS)
    for key in _MORE_WRAPPINGS if calls is None else ("content",) if calls else _WRAPPINGS:
        if key in fields and kind(fields[key]) in "[{":
            said = _inside(fields[key], key, levels)
            if said is not None:
                both = said.calls if calls is None else (*calls, *(said.calls or ()))
                return Said(both, said.text, thinking or said.thinking, error or said.error)
    text = _first_text(fields, TEXTS)
    if calls is None and not text:
        if not error:
            return _no_answer(fields)
        calls = ()
    return Said(calls, text, thinking, error)


def _no_answer(fields: Fields) -> Said | None:
    """What an object says that has neither calls nor any text: an empty text is an answer, a null is an error."""
    given = [key for key in ("choices", *TEXTS) if key in fields]
    if any(kind(fields[key]) == '"' for key in given):
        return Said()
    for key in given:
        if kind(fields[key]) == "{":
            raise BadInput(f"{key} holds no answer: its keys are {shown_keys(decode_fields(fields[key]))}")
        if kind(fields[key]) != "n":
            raise expected_instead(fields[key], key, "a list" if key == "choices" else "text")
    if not given:
        return None
    return Said((), error=_NO_CHOICES if given[0] == "choices" else f"nothing came back: {given[0]} is null")


def said_in_messages(text: Raw) -> Said:
    """A whole conversation: every call of every assistant message in order, and the last text of the assistant."""
    try:
        messages = _decode_messages(text)
    except msgspec.ValidationError as error:
        raise BadInput(field_problem(str(error), "messages")) from None
    found: list[Said] = []
    for index, fields in enumerate(messages):
        role = text_in(fields, "role")
        if not role:
            raise BadInput(f"messages[{index}] has no role")
        if role in _SPEAKERS and (said := said_in(fields)) is not None:
            found.append(said)
    return _together(found, [said.text for said in found if said.text][-1:])


def call_list(raw: Raw | bytes, field: str) -> tuple[Call, ...]:
    """The calls of a list in any shape: null is none, a single object is a list of one, a JSON string of either is read through."""
    own = field == "calls"
    try:
        calls = [usual_call(wire, own=own) for wire in _decode_usual(raw)]
        if None not in calls:
            return tuple(cast("list[Call]", calls))
    except msgspec.MsgspecError:
        pass
    match kind(raw):
        case "[":
            return tuple([_any_call(bytes(text), own=own) for text in _decode_list(raw)])
        case "{":
            return (_any_call(bytes(raw), own=own),)
        case "n":
            return ()
        case '"':
            inner = read_text(raw).strip().encode() or b"null"
            mended = escape_surrogates(inner)
            try:
                _decode_calls(mended)
            except (ValueError, RecursionError):
                raise BadInput(f"{field} is text that is no JSON list, a list of calls was expected") from None
            found = call_list(mended, field)
            return found if mended == inner else tuple(map(reject_surrogates, found))
    raise expected_instead(raw, field, "a list of calls")


def error_in(fields: Fields) -> str:
    """What `error`, `error_message` or a `status` of "error" says, as one line; empty where nothing is said.

    A status of "fail" is the grade of an answer. Only a Responses body that is "failed" or "cancelled" is none.
    """
    for key in ("error", "error_message"):
        if key in fields and (said := error_text(read_value(fields[key]))):
            return said
    if "status" not in fields:
        return ""
    status = text_in(fields, "status")
    ended = status in _ERRORS or (status in _ENDED and text_in(fields, "object") == "response")
    return f"the status is {status!r}" if ended else ""


def error_text(value: Any, *, coded: bool = True) -> str:
    """An error as one line of at most some 500 characters: its text, or its `code: message`; empty where nothing is said."""
    code = ""
    while isinstance(value, dict):
        if not any(value.values()):
            return ""
        code = next((str(value[key]) for key in ("code", "type") if isinstance(value.get(key), str | int) and value[key]), code)
        value = next((value[key] for key in ("message", "error", "detail") if value.get(key)), None if code else dump(value))
    if value is None or value is False or value in ("", 0) or value == []:
        return code
    line = " ".join(scrub(value if isinstance(value, str) else dump(value)).split())
    line = f"{code}: {line}" if coded and code and code != "error" and line else line
    return line if len(line) <= _LONGEST_ERROR else f"{line[:_LONGEST_ERROR]}…"


def text_in(fields: Fields, key: str) -> str:
    """The text under a key; empty where there is none, or something else."""
    return read_text(fields[key]) if key in fields and kind(fields[key]) == '"' else ""


def read_text(raw: Raw | bytes) -> str:
    """The text of a JSON string."""
    return _decode_text(raw)


def read_value(raw: Raw | bytes) -> Any:
    """A JSON value, those too that are outside double range."""
    try:
        return _decode(raw)
    except msgspec.MsgspecError:
        return json.loads(bytes(raw))


def kind(raw: Raw | bytes) -> str:
    """The first character of a JSON value, which tells what it is."""
    return chr(memoryview(raw)[0])


def expected_instead(raw: Raw | bytes, field: str, expected: str) -> BadInput:
    """The error for a field in which something else stands than was expected."""
    return BadInput(f"{field} is {_KINDS.get(kind(raw), 'a number')}, {expected} was expected")


def shown_keys(fields: Fields) -> str:
    """The first keys of an object, for a message."""
    return ", ".join(scrub(key[:40]) for key in list(fields)[:8]) or "none"


def _calls_in(fields: Fields) -> tuple[Call, ...] | None:
    """The first list that is not empty, and the older `function_call`; None where the object does not speak of calls."""
    found: tuple[Call, ...] | None = None
    for key in CALLS:
        if key in fields and (found := call_list(fields[key], key)):
            break
    if "function_call" in fields:
        found = (*(found or ()), *call_list(fields["function_call"], "function_call"))
    return found


def usual_call(wire: UsualCall, *, own: bool) -> Call | None:
    """The call; None where it is in another shape after all. Only callmark's own rows say what is malformed."""
    if wire.function is not None:
        if wire.name is not None or wire.arguments is not NOTHING:
            return None
        return named_call(wire.function.name, wire.function.arguments, wire.id)
    if wire.name is None:
        return None
    if wire.malformed:
        return Call(wire.name, {}, wire.id, wire.malformed, wire.text) if own else None
    if wire.arguments is NOTHING or kind(wire.arguments) != "{":
        return None
    return named_call(wire.name, bytes(wire.arguments).decode(), wire.id)


def _any_call(text: bytes, *, own: bool) -> Call:
    if own and b'"malformed"' in text:
        try:
            return usual_call(_decode_usual_call(text), own=own) or read_call_text(text)
        except msgspec.MsgspecError:
            pass
    return read_call_text(text)


def _first_text(fields: Fields, keys: Sequence[str]) -> str:
    """The first text that is not empty; what is something else is passed over."""
    for key in keys:
        if key in fields and (text := text_in(fields, key)):
            return text
    return ""


def _inside(raw: Raw, key: str, levels: int) -> Said | None:
    if not levels:
        raise BadInput(f"{key} holds an answer in too many wrappings to be read")
    if key == "choices" and kind(raw) == "[":
        choices = _decode_list(raw)
        if not choices:
            return Said((), error=_NO_CHOICES)
        if kind(choices[0]) != "{":
            raise expected_instead(choices[0], "choices[0]", "an object")
        fields = decode_fields(choices[0])
        if (said := said_in(fields, levels - 1)) is None:
            raise BadInput(f"choices[0] holds no answer: its keys are {shown_keys(fields)}")
        return said
    if kind(raw) == "[":
        return _said_in_items(_decode_list(raw), levels)
    return said_in(decode_fields(raw), levels - 1)


def _said_in_items(items: Sequence[Raw], levels: int) -> Said:
    """Messages, parts of one, the items of a Responses body, or calls; what is none of these and has a type of its own is passed over."""
    found: list[Said] = []
    for raw in items:
        if kind(raw) != "{":
            found.append(Said((), read_text(raw)) if kind(raw) == '"' else Said((read_call_text(bytes(raw)),)))
            continue
        fields = decode_fields(raw)
        type_, role = text_in(fields, "type"), text_in(fields, "role")
        if role or type_ == "message":
            if not role or role in _SPEAKERS:
                found.append(said_in({"role": Raw(b'"assistant"'), **fields}, levels - 1) or Said(()))
        elif type_ in _TEXT_PARTS:
            found.append(Said((), _first_text(fields, ("text", "refusal", "content"))))
        elif type_ == "thinking":
            found.append(Said((), thinking=text_in(fields, "thinking")))
        elif type_ == "reasoning":
            found.append(Said((), thinking=_reasoning(fields)))
        elif not type_ or type_ in _CALL_PARTS or "name" in fields:
            call = read_call_text(bytes(raw))
            found.append(Said((structs.replace(call, id=text_in(fields, "call_id")) if "call_id" in fields else call,)))
    return _together(found, [said.text for said in found if said.text])


def _reasoning(fields: Fields) -> str:
    parts = [part for key in ("summary", "content") if key in fields and kind(fields[key]) == "[" for part in _decode_list(fields[key])]
    return "\n".join(text_in(decode_fields(part), "text") for part in parts if kind(part) == "{")


def _together(found: Sequence[Said], texts: Sequence[str]) -> Said:
    return Said(
        tuple([call for said in found for call in said.calls or ()]),
        "\n".join(texts),
        "\n".join(said.thinking for said in found if said.thinking),
        next((said.error for said in found if said.error), ""),
    )
