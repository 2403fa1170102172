"""Items of reinforcement fine-tuning and of evaluations: messages, and the calls that a grader expects.

    {"messages" | "prompt" | "input", "tools", "expected_tool_calls" | "reference_tool_calls" | "ground_truth" | "reference_answer"}

The input is a list of messages or a text. The expected calls are a list, one call, an object with `tool_calls`, or the JSON of any of them;
an empty list expects no call. They are ground truth that people write, so values may be matchers. Rows may be nested under `item`. A
reference that is not a call (a text, a number, the possible answers of a benchmark) raises `BadInput`; so do two references that differ.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.expected import read_expected_call
from callmark.calls.messages import read_messages
from callmark.calls.shapes import CALL_LEVELS, type_name
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.errors import BadInput
from callmark.formats.exchanges import message_texts_of
from callmark.formats.format import Format, ReadContext, check_utf8, row_id
from callmark.formats.json_fields import read_value
from callmark.types import Call, Case, Place, SourceRow

REFERENCE_KEYS = ("expected_tool_calls", "reference_tool_calls", "ground_truth", "reference_answer")
_INPUT_KEYS = ("messages", "prompt", "input")
_NOT_CALLS = "Read the file with --from openai to ignore it, or write the expected calls into expected_output.tool_calls."

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with an input and a reference that looks like calls."""
    item = _unwrapped(fields)
    if "expected_output" in item or not any(key in item for key in _INPUT_KEYS):
        return 0.0
    return 0.85 if any(key in item and _looks_like_calls(item[key]) for key in REFERENCE_KEYS) else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case in a row."""
    check_utf8(row)
    outer = _decode_fields(row)
    fields = _unwrapped(outer)
    key = next((key for key in _INPUT_KEYS if key in fields and bytes(fields[key]) != b"null"), None)
    if key is None:
        raise BadInput(f"messages is missing: expected an input ({', '.join(_INPUT_KEYS)})")
    texts = message_texts_of(fields[key], key, "user")
    messages = read_messages(b"[" + b",".join(map(bytes, texts)) + b"]", key)
    raw_tools, tools = context.read_tools(bytes(fields.get("tools", outer.get("tools", b""))))
    expected = _read_references(fields)
    original = SourceRow(messages, tools, row, b"", texts, raw_tools, expected=expected)
    name = row_id(read_value(fields["id"]) if "id" in fields else read_value(outer["id"]) if "id" in outer else None, place)
    group = read_value(fields["group"]) if "group" in fields else None
    return Case(name, messages, tools, place, original, expected=expected, group=group if isinstance(group, str) else None)


def _unwrapped(fields: Mapping[str, Raw]) -> Mapping[str, Raw]:
    """Return the fields of the item that a row is nested under; the fields themselves if it is not."""
    item = bytes(fields.get("item", b""))
    if not item.startswith(b"{") or any(key in fields for key in _INPUT_KEYS):
        return fields
    try:
        return _decode_fields(item)
    except (msgspec.MsgspecError, RecursionError):
        return fields


def _looks_like_calls(text: Raw) -> bool:
    try:
        return _as_calls(_decoded(read_value(text))) is not None
    except (ValueError, RecursionError):
        return False


def _read_references(fields: Mapping[str, Raw]) -> tuple[Call, ...]:
    """Return the expected calls. A reference that is not a list of calls counts only if there is no other, and raises `BadInput`."""
    found: dict[str, tuple[Call, ...]] = {}
    others: list[str] = []
    for key in REFERENCE_KEYS:
        if key not in fields or bytes(fields[key]) == b"null":
            continue
        value = _decoded(read_value(fields[key]))
        calls = _as_calls(value)
        if calls is None:
            others.append(f"{key}: expected calls, got {_describe(value)}")
            continue
        try:
            found[key] = tuple([read_expected_call(call) for call in calls])
        except BadInput as error:
            raise BadInput(f"{key}: {error}", error.hint) from None
    if not found:
        raise BadInput(others[0] if others else f"no expected calls: expected one of {', '.join(REFERENCE_KEYS)}", _NOT_CALLS)
    (first, expected), *rest = found.items()
    for key, other in rest:
        if [(call.name, call.arguments) for call in other] != [(call.name, call.arguments) for call in expected]:
            raise BadInput(f"{first} and {key}: expected the same calls, got different ones")
    return expected


def _decoded(value: Any) -> Any:
    """Return the value of a JSON string, or the value itself."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value, deepest=DEEPEST + CALL_LEVELS + 1)
    except NotStrict:
        return value


def _as_calls(value: Any) -> list[Any] | None:
    """Return the call objects of a reference; None if it is not a list of calls."""
    if isinstance(value, dict):
        if isinstance(value.get("tool_calls"), list):
            return _as_calls(value["tool_calls"])
        value = [value]
    if not isinstance(value, list):
        return None
    items = [_decoded(item) for item in value]
    return items if all(isinstance(item, dict) and _has_name(item) for item in items) else None


def _has_name(call: Mapping[str, Any]) -> bool:
    inner = call.get("function", call.get("tool"))
    body = inner if isinstance(inner, dict) else call
    names = ("name", "functionName", "function_name", "tool_name", "toolName", "function", "tool", "action")
    return any(isinstance(body.get(key), str) for key in names)


def _describe(value: Any) -> str:
    if isinstance(value, list):
        return "a list of something else"
    return "an object that is not a call" if isinstance(value, dict) else type_name(value)


FORMAT = Format("reference-answers", "items with reference answers", detect, read)
