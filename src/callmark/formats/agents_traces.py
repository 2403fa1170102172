"""Traces of the OpenAI Agents SDK: `trace` and `trace.span` objects as its processors get them from `export()`, one per row.

    {"object": "trace", "id", "workflow_name", "group_id", "metadata"}
    {"object": "trace.span", "id", "trace_id", "parent_id", "started_at", "ended_at", "span_data": {"type", …}, "error"}

Also a list of them, alone or under `data`. Spans of type `generation` are requests to a model, those of type `function` calls. A span of
type `response` has only the id of a response unless the processor added `input` and `output` (or `response`) to its data. The spans of one
group, or of one trace, are joined (`traces/conversations.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.shapes import read_call
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.format import Format, check_utf8
from callmark.formats.joining import Join, Piece, Refused
from callmark.formats.json_fields import read_value
from callmark.formats.traces.payloads import read_reply, read_request
from callmark.formats.traces.records import Record, objects, record_conversations, text_of
from callmark.formats.traces.span import Span, nanoseconds
from callmark.formats.traces.steps import AgentStep, ModelStep, Step, ToolStep

_encode = msgspec.json.Encoder().encode
_CUT_OFF = "... [truncated]"  # what the SDK puts at the end of a text that is too long for the service


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for traces and spans, and for lists of them."""
    if bytes(fields.get("object", b"")) in (b'"trace"', b'"trace.span"'):
        return 0.95
    return 0.95 if any(b'"trace.span"' in bytes(fields.get(key, b"")) for key in ("data", "messages")) else 0.0


def _pieces(row: bytes) -> Iterator[Piece]:
    check_utf8(row)
    value = read_value(row)
    listed = next((value[key] for key in ("data", "messages") if key in value), None) if isinstance(value, dict) else value
    for record in objects([value] if listed is None else listed, "data"):
        if record.get("object") == "trace":
            trace, group = text_of(record, "id"), text_of(record, "group_id")
            yield Piece((f"trace {trace}", *([f"group {group}"] if group else ())), _encode({"trace": trace, "session": group}))
        elif record.get("object") == "trace.span" and text_of(record, "id") and text_of(record, "trace_id"):
            yield Piece((f"trace {text_of(record, 'trace_id')}",), _encode(record))
        else:
            raise BadInput("object: expected trace or trace.span, with its IDs")


def _span(record: Record) -> Span | None:
    if "session" in record:
        return None
    return Span(
        text_of(record, "id"),
        text_of(record, "parent_id"),
        text_of(record, "trace_id"),
        "",
        nanoseconds(record.get("started_at")),
        nanoseconds(record.get("ended_at")),
    )


def _read_step(record: Record, **common: Any) -> Step | None:
    data, error = record.get("span_data"), record.get("error")
    if not isinstance(data, dict):
        raise BadInput("span_data: expected an object")
    failed = (text_of(error, "message") or "the span failed") if error else ""
    _refuse_cut_off(data)
    match text_of(data, "type"):
        case "generation" | "response":
            given, returned = data.get("input"), data.get("output", data.get("response"))
            if given is None:
                return ModelStep(**common, failed=bool(failed))
            request = read_request(given, "span_data.input")
            output = None if returned is None else read_reply(returned, "span_data.output")
            tools = data.get("tools")
            return ModelStep(
                **common,
                input=(*_instructions(data), *request.messages),
                output=output,
                tools=dump(tools).encode() if isinstance(tools, list) else request.tools,
                failed=bool(failed),
            )
        case "function":
            return _tool_step(data, failed, common)
        case "agent":
            return AgentStep(**common)
    return None


def _instructions(data: Mapping[str, Any]) -> tuple[bytes, ...]:
    response = data.get("response")
    text = response.get("instructions") if isinstance(response, dict) else None
    return (_encode({"role": "system", "content": text}),) if isinstance(text, str) and text else ()


def _tool_step(data: Mapping[str, Any], failed: str, common: dict[str, Any]) -> ToolStep:
    name, given, result = text_of(data, "name"), data.get("input"), data.get("output")
    call = None if given is None else read_call({"name": name, "arguments": given})
    text = result if isinstance(result, str) or result is None else dump(result)
    return ToolStep(**common, name=name, call=call, result=failed or None if text is None else text, failed=bool(failed))


def _refuse_cut_off(data: Mapping[str, Any]) -> None:
    """Raise `BadInput` for data that the SDK has shortened before it was sent."""
    for key in ("input", "output"):
        value = data.get(key)
        cut = isinstance(value, str) and value.endswith(_CUT_OFF)
        if cut or (isinstance(value, dict) and value.get("truncated") is True and "preview" in value):
            raise BadInput(
                f"span_data.{key}: the text was cut off by the SDK",
                "Save traces with your own trace processor instead of using those sent to the service.",
            )


def _conversations(pieces: Sequence[bytes], count: Callable[[str], None]) -> Iterable[bytes | Refused]:
    return record_conversations(pieces, _span, _read_step, count)


FORMAT = Format("agents-traces", "OpenAI Agents SDK traces", detect, openai.read, join=Join(_pieces, _conversations))
