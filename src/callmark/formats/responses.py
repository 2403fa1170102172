"""Read a prediction from a model response of any shape: calls, a message, a chat completion, a Responses body, parts, text.

Every shape is recognized by its keys, so one reader handles rows, response bodies and messages. Only what is needed is decoded. A list item
that is not a call becomes a malformed call; a number in place of calls or text raises `BadInput`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.call_containers import OTHER_CALL_KEYS, refuse_row_containers
from callmark.calls.content_parts import CALL_WORD
from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import CALL_KEYS as _CALL_KEYS
from callmark.calls.shapes import read_call_text, unwrap
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.formats.call_lists import OWN_KEY, read_call_list
from callmark.formats.json_fields import (
    Fields,
    decode_fields,
    decode_list,
    describe_keys,
    first_text,
    json_kind,
    read_text,
    read_value,
    text_field,
    wrong_type,
)
from callmark.types import Call, Prediction

_FIRST_KEYS = (OWN_KEY, "tool_calls", "output_tools", "function_calls")
CALL_LIST_KEYS = (*_FIRST_KEYS, *(key for key in OTHER_CALL_KEYS if key not in _FIRST_KEYS))
TEXT_KEYS = (
    "text",
    "output_text",
    "output",
    "outputs",
    "completion",
    "response",
    "prediction",
    "generated_text",
    "content",
    "answer",
    "message",
    "refusal",
)
_CONTAINER_KEYS = ("choices", "candidates", "message", "output", "outputs", "content", "parts")
_MORE_CONTAINER_KEYS = (
    *_CONTAINER_KEYS,
    "response",
    "completion",
    "prediction",
    "generated_text",
    "answer",
    "text",
)  # for objects without a key for calls
_THINKING_KEYS = ("thinking", "reasoning_content", "reasoning")
_TEXT_PARTS = frozenset({"text", "output_text", "input_text", "refusal"})
_CALL_PARTS = frozenset({"function_call", "custom_tool_call", "tool_use", "function", "tool-call", "tool_call", "custom"})
_SKIPPED_PARTS = frozenset(
    [
        "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "computer_call", "mcp_list_tools",
        "mcp_approval_request", "server_tool_use", "function_call_output", "custom_tool_call_output", "computer_call_output",
        "tool_result", "tool-result", "web_search_tool_result", "tool-return",
    ]
)  # fmt: skip
"""Parts of tools that the provider executes, and of results: they are not calls of the case's tools."""
_EXPECTED_KEYS = frozenset(
    ["expected_tool_calls", "reference_tool_calls", "expected_function_calls", "expected_calls", "ground_truth_calls"]
)  # of the case, in rows that repeat it
_ASSISTANT_ROLES = frozenset({"assistant", "model"})
_OTHER_ROLES = frozenset({"user", "system", "developer", "tool", "function"})
_KNOWN_CONTAINERS = frozenset({*CALL_LIST_KEYS, *_EXPECTED_KEYS, "function_call"})
_ERROR_STATUSES = frozenset({"error", "errored"})
_UNFINISHED_STATUSES = frozenset({"failed", "cancelled"})
_NO_CHOICES = "the response has no choices"
_MAX_LEVELS = 5  # nested containers around a prediction: row, response, body, choice, message
_MAX_ERROR = 500  # characters of an error

_decode_messages = msgspec.json.Decoder(list[dict[str, Raw]]).decode


class Response(Struct, frozen=True, gc=False):
    """A prediction without its case. `structured` is False if the response is only text, which may contain calls."""

    prediction: Prediction
    structured: bool = True


def read_response(fields: Fields, levels: int = _MAX_LEVELS) -> Response | None:
    """Return the response in the fields of an object; None if it contains neither a prediction nor an error.

    The first non-empty list of calls is used, then the content of a container (`choices`, `message`, `output`, …), then the text. Parts of
    `content` are read in addition to calls. Null in place of the text is an error.
    """
    if "lc" in fields and json_kind(fields.get("kwargs", Raw(b"null"))) == "{":  # a LangChain dump
        return read_response(decode_fields(fields["kwargs"]), levels)
    calls = _read_calls(fields)
    if not calls:
        refuse_row_containers(fields, _KNOWN_CONTAINERS)
    if "role" in fields:
        role = text_field(fields, "role")
        if role and role not in _ASSISTANT_ROLES:
            raise BadInput(f"role: expected 'assistant', got {role!r}")
        if role in _ASSISTANT_ROLES:
            calls = calls or ()
    error = read_error(fields)
    thinking = first_text(fields, _THINKING_KEYS)
    for key in _MORE_CONTAINER_KEYS if calls is None else ("content",) if calls else _CONTAINER_KEYS:
        if key in fields and json_kind(fields[key]) in "[{":
            inner = _read_container(fields[key], key, levels)
            if inner is not None:
                found = inner.prediction
                all_calls = found.calls if calls is None else (*calls, *found.calls)
                structured = inner.structured or calls is not None
                return Response(
                    Prediction("", 0, all_calls, found.text, thinking or found.thinking, error or found.error), structured=structured
                )
    text = first_text(fields, TEXT_KEYS)
    if calls is None and not text:
        if not error:
            return _read_empty(fields)
        calls = ()
    return Response(Prediction("", 0, calls or (), text, thinking, error), structured=calls is not None)


def read_messages_response(text: Raw) -> Response:
    """Return a whole conversation as one prediction: the calls of all assistant messages in order, and the last assistant text."""
    try:
        messages = _decode_messages(text)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "messages")) from None
    found: list[Prediction] = []
    for index, fields in enumerate(messages):
        role = text_field(fields, "role")
        if not role:
            raise BadInput(f"messages[{index}]: missing key 'role'")
        if role in _ASSISTANT_ROLES and (response := read_response(fields)) is not None:
            found.append(response.prediction)
    return _join(found, [prediction.text for prediction in found if prediction.text][-1:])


def error_response(error: str = "") -> Response:
    """Return a response that consists of an error."""
    return Response(Prediction("", error=error))


def read_error(fields: Fields) -> str:
    """Return the error in `error`, `error_message` or `status`, as one line; empty if there is none.

    The status "fail" is a grade, not an error. "failed" and "cancelled" are errors only in a Responses body.
    """
    for key in ("error", "error_message"):
        if key in fields and (message := error_text(read_value(fields[key]))):
            return message
    if "status" not in fields:
        return ""
    status = text_field(fields, "status")
    is_error = status in _ERROR_STATUSES or (status in _UNFINISHED_STATUSES and text_field(fields, "object") == "response")
    return f"status {status!r}" if is_error else ""


def error_text(value: Any, *, with_code: bool = True) -> str:
    """Return an error as one line of at most about 500 characters: its text, or `code: message`; empty if there is none."""
    code = ""
    while isinstance(value, dict):
        if not any(value.values()):
            return ""
        code = next((str(value[key]) for key in ("code", "type") if isinstance(value.get(key), str | int) and value[key]), code)
        value = next((value[key] for key in ("message", "error", "detail") if value.get(key)), None if code else dump(value))
    if value is None or value is False or value in ("", 0) or value == []:
        return code
    shown = value if isinstance(value, str) else dump(value)
    line = " ".join(scrub(f"error {shown}" if isinstance(value, int | float) and not code else shown).split())
    line = f"{code}: {line}" if with_code and code and code != "error" and line else line
    return line if len(line) <= _MAX_ERROR else f"{line[:_MAX_ERROR]}…"


def _read_calls(fields: Fields) -> tuple[Call, ...] | None:
    """Return the first non-empty list of calls, and the legacy `function_call`; None if the object has no key for calls."""
    found: tuple[Call, ...] | None = None
    for key in CALL_LIST_KEYS:
        if key in fields and (found := read_call_list(fields[key], key)):
            break
    if "function_call" in fields:
        found = (*(found or ()), *read_call_list(fields["function_call"], "function_call"))
    return found


def _read_empty(fields: Fields) -> Response | None:
    """Return the response of an object without calls and text: an empty string is a prediction, null is an error."""
    given = [key for key in ("choices", *TEXT_KEYS) if key in fields]
    if any(json_kind(fields[key]) == '"' for key in given):
        return Response(Prediction(""), structured=False)
    for key in given:
        if json_kind(fields[key]) == "{":
            raise BadInput(f"{key}: no prediction found, got {describe_keys(decode_fields(fields[key]))}")
        if json_kind(fields[key]) != "n":
            raise wrong_type(fields[key], key, "a list" if key == "choices" else "a string")
    if not given:
        return None
    return error_response(_NO_CHOICES if given[0] == "choices" else f"empty response: {given[0]} is null")


def _read_container(raw: Raw, key: str, levels: int) -> Response | None:
    if not levels:
        raise BadInput(f"{key}: the prediction is nested too deeply to read (the limit is {_MAX_LEVELS} levels)")
    if key in ("choices", "candidates") and json_kind(raw) == "[":
        choices = decode_list(raw)
        if not choices:
            return error_response(_NO_CHOICES)
        if json_kind(choices[0]) != "{":
            raise wrong_type(choices[0], f"{key}[0]", "an object")
        fields = decode_fields(choices[0])
        if (response := read_response(fields, levels - 1)) is None:
            raise BadInput(f"{key}[0]: no prediction found, got {describe_keys(fields)}")
        return response
    if json_kind(raw) == "[":
        return _read_items(decode_list(raw), levels)
    return read_response(decode_fields(raw), levels - 1)


def _read_items(items: Sequence[Raw], levels: int) -> Response:
    """Join messages, content parts, items of a Responses body, or calls into one response.

    Results, and parts of tools that the provider executes, are skipped, and so are parts of other types without calls. A part that is not
    known and has `tool`, `function` or `call` in its type or keys raises `BadInput`.
    """
    found: list[Prediction] = []
    for index, raw in enumerate(items):
        if json_kind(raw) != "{":
            is_text = json_kind(raw) == '"'
            found.append(Prediction("", text=read_text(raw)) if is_text else _call_item(raw))
            continue
        fields = decode_fields(raw)
        item_type = text_field(fields, "type") or text_field(fields, "part_kind")
        role = text_field(fields, "role")
        if role or item_type == "message":
            if not role or role in _ASSISTANT_ROLES:
                response = read_response({"role": Raw(b'"assistant"'), **fields}, levels - 1)
                found.append(response.prediction if response is not None else Prediction(""))
            elif role not in _OTHER_ROLES:
                raise BadInput(f"[{index}].role: unknown role {scrub(role)[:60]!r}, expected assistant")
        elif item_type in _TEXT_PARTS or (not item_type and "text" in fields and _CALL_KEYS.isdisjoint(fields)):
            text = first_text(fields, ("text", "refusal", "content"))
            is_thought = bytes(fields.get("thought", b"")) == b"true"
            found.append(Prediction("", thinking=text) if is_thought else Prediction("", text=text))
        elif item_type == "thinking":
            found.append(Prediction("", thinking=first_text(fields, ("thinking", "content"))))
        elif item_type == "reasoning":
            found.append(Prediction("", thinking=_read_reasoning(fields) or text_field(fields, "text")))
        elif "reasoningContent" in fields or item_type in _SKIPPED_PARTS:
            continue
        elif not item_type or item_type in _CALL_PARTS:
            found.append(_call_item(raw))
        elif CALL_WORD.search(item_type) or any(map(CALL_WORD.search, fields)):
            raise BadInput(f"[{index}]: unknown content part of type {scrub(item_type)[:60]!r}, which may hold a tool call")
        elif "name" in fields:
            found.append(_call_item(raw))
    return _join(found, [prediction.text for prediction in found if prediction.text])


def _call_item(raw: Raw) -> Prediction:
    return Prediction("", 0, unwrap((read_call_text(bytes(raw)),)))


def _read_reasoning(fields: Fields) -> str:
    keys = [key for key in ("summary", "content") if key in fields and json_kind(fields[key]) == "["]
    parts = [part for key in keys for part in decode_list(fields[key])]
    return "\n".join(text_field(decode_fields(part), "text") for part in parts if json_kind(part) == "{")


def _join(found: Sequence[Prediction], texts: Sequence[str]) -> Response:
    return Response(
        Prediction(
            "",
            0,
            tuple([call for prediction in found for call in prediction.calls]),
            "\n".join(texts),
            "\n".join(prediction.thinking for prediction in found if prediction.thinking),
            next((prediction.error for prediction in found if prediction.error), ""),
        )
    )
