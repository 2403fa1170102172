"""Read a prediction out of whatever a model's response comes in: calls, a message, a chat completion, a Responses body, parts, text.

Every shape is recognized by its keys, so one reader serves a row, the body of a response and a message alike. Only what is needed is
decoded. What stands in the place of a call and is none is a malformed call; a number in the place of calls or text raises `BadInput`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import read_call_text
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

CALL_LIST_KEYS = (OWN_KEY, "tool_calls", "output_tools", "function_calls")
TEXT_KEYS = (
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
_CONTAINER_KEYS = ("choices", "message", "output", "content")
_MORE_CONTAINER_KEYS = (
    *_CONTAINER_KEYS,
    "response",
    "completion",
    "prediction",
    "generated_text",
    "answer",
    "text",
)  # without calls beside
_THINKING_KEYS = ("thinking", "reasoning_content", "reasoning")
_TEXT_PARTS = frozenset({"text", "output_text", "input_text", "refusal"})
_CALL_PARTS = frozenset({"function_call", "custom_tool_call", "tool_use", "function"})
_ASSISTANT_ROLES = frozenset({"assistant", "model"})
_OTHER_ROLES = frozenset({"user", "system", "developer", "tool", "function"})
_ERROR_STATUSES = frozenset({"error", "errored"})
_UNFINISHED_STATUSES = frozenset({"failed", "cancelled"})
_NO_CHOICES = "the response has no choices"
_MAX_LEVELS = 5  # of containers around a prediction: a row, its response, the body, the choice, the message
_MAX_ERROR = 500  # characters

_decode_messages = msgspec.json.Decoder(list[dict[str, Raw]]).decode


class Response(Struct, frozen=True, gc=False):
    """A prediction without its case. `structured` is False where the response is text and nothing else, which may hold calls."""

    prediction: Prediction
    structured: bool = True


def read_response(fields: Fields, levels: int = _MAX_LEVELS) -> Response | None:
    """Return what the fields of an object hold; None when there is neither a prediction in it nor an error.

    The first list of calls that is not empty counts, then what a container (`choices`, `message`, `output`, …) holds, then the text; parts
    of a content are read beside calls too. A null in the place of the text is an error.
    """
    calls = _read_calls(fields)
    if "role" in fields:
        role = text_field(fields, "role")
        if role in _OTHER_ROLES:
            raise BadInput(f"the message has the role {role!r}, an assistant's was expected")
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
    """Return a whole conversation as one prediction: every call of every assistant message in order, and the assistant's last text."""
    try:
        messages = _decode_messages(text)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "messages")) from None
    found: list[Prediction] = []
    for index, fields in enumerate(messages):
        role = text_field(fields, "role")
        if not role:
            raise BadInput(f"messages[{index}] has no role")
        if role in _ASSISTANT_ROLES and (response := read_response(fields)) is not None:
            found.append(response.prediction)
    return _join(found, [prediction.text for prediction in found if prediction.text][-1:])


def error_response(error: str = "") -> Response:
    """Return a response without calls and text, with this error."""
    return Response(Prediction("", error=error))


def read_error(fields: Fields) -> str:
    """Return what `error`, `error_message` or a `status` of "error" says, as one line; empty where there is none.

    A status of "fail" is the grade of a prediction. Only a Responses body that is "failed" or "cancelled" is an error.
    """
    for key in ("error", "error_message"):
        if key in fields and (message := error_text(read_value(fields[key]))):
            return message
    if "status" not in fields:
        return ""
    status = text_field(fields, "status")
    is_error = status in _ERROR_STATUSES or (status in _UNFINISHED_STATUSES and text_field(fields, "object") == "response")
    return f"the status is {status!r}" if is_error else ""


def error_text(value: Any, *, with_code: bool = True) -> str:
    """Return an error as one line of about 500 characters at most: its text, or its `code: message`; empty where there is none."""
    code = ""
    while isinstance(value, dict):
        if not any(value.values()):
            return ""
        code = next((str(value[key]) for key in ("code", "type") if isinstance(value.get(key), str | int) and value[key]), code)
        value = next((value[key] for key in ("message", "error", "detail") if value.get(key)), None if code else dump(value))
    if value is None or value is False or value in ("", 0) or value == []:
        return code
    line = " ".join(scrub(value if isinstance(value, str) else dump(value)).split())
    line = f"{code}: {line}" if with_code and code and code != "error" and line else line
    return line if len(line) <= _MAX_ERROR else f"{line[:_MAX_ERROR]}…"


def _read_calls(fields: Fields) -> tuple[Call, ...] | None:
    """Return the first list that is not empty, and the older `function_call`; None where the object has no key for calls."""
    found: tuple[Call, ...] | None = None
    for key in CALL_LIST_KEYS:
        if key in fields and (found := read_call_list(fields[key], key)):
            break
    if "function_call" in fields:
        found = (*(found or ()), *read_call_list(fields["function_call"], "function_call"))
    return found


def _read_empty(fields: Fields) -> Response | None:
    """Return what an object with neither calls nor any text holds: an empty text is a prediction, a null is an error."""
    given = [key for key in ("choices", *TEXT_KEYS) if key in fields]
    if any(json_kind(fields[key]) == '"' for key in given):
        return Response(Prediction(""), structured=False)
    for key in given:
        if json_kind(fields[key]) == "{":
            raise BadInput(f"{key} holds no answer: its keys are {describe_keys(decode_fields(fields[key]))}")
        if json_kind(fields[key]) != "n":
            raise wrong_type(fields[key], key, "a list" if key == "choices" else "text")
    if not given:
        return None
    return error_response(_NO_CHOICES if given[0] == "choices" else f"nothing came back: {given[0]} is null")


def _read_container(raw: Raw, key: str, levels: int) -> Response | None:
    if not levels:
        raise BadInput(f"{key} holds an answer in too many wrappings to be read")
    if key == "choices" and json_kind(raw) == "[":
        choices = decode_list(raw)
        if not choices:
            return error_response(_NO_CHOICES)
        if json_kind(choices[0]) != "{":
            raise wrong_type(choices[0], "choices[0]", "an object")
        fields = decode_fields(choices[0])
        if (response := read_response(fields, levels - 1)) is None:
            raise BadInput(f"choices[0] holds no answer: its keys are {describe_keys(fields)}")
        return response
    if json_kind(raw) == "[":
        return _read_items(decode_list(raw), levels)
    return read_response(decode_fields(raw), levels - 1)


def _read_items(items: Sequence[Raw], levels: int) -> Response:
    """Return messages, parts of one, items of a Responses body, or calls, as one; other items with a type of their own are skipped."""
    found: list[Prediction] = []
    for raw in items:
        if json_kind(raw) != "{":
            is_text = json_kind(raw) == '"'
            found.append(Prediction("", text=read_text(raw)) if is_text else Prediction("", 0, (read_call_text(bytes(raw)),)))
            continue
        fields = decode_fields(raw)
        item_type, role = text_field(fields, "type"), text_field(fields, "role")
        if role or item_type == "message":
            if not role or role in _ASSISTANT_ROLES:
                response = read_response({"role": Raw(b'"assistant"'), **fields}, levels - 1)
                found.append(response.prediction if response is not None else Prediction(""))
        elif item_type in _TEXT_PARTS:
            found.append(Prediction("", text=first_text(fields, ("text", "refusal", "content"))))
        elif item_type == "thinking":
            found.append(Prediction("", thinking=text_field(fields, "thinking")))
        elif item_type == "reasoning":
            found.append(Prediction("", thinking=_read_reasoning(fields)))
        elif not item_type or item_type in _CALL_PARTS or "name" in fields:
            call = read_call_text(bytes(raw))
            call = structs.replace(call, id=text_field(fields, "call_id")) if "call_id" in fields else call
            found.append(Prediction("", 0, (call,)))
    return _join(found, [prediction.text for prediction in found if prediction.text])


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
