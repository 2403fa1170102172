"""OpenTelemetry spans, one per row, as the Python SDK writes them (`span.to_json()`), and spans exported from Phoenix.

    {"name", "context": {"trace_id", "span_id"}, "parent_id", "start_time", "end_time", "status", "attributes": {…}, "events": […]}
    {"data": [span, …], "next_cursor"}       a response of Phoenix's API; {"traceId", "spans": [span, …]}, a trace of its command line
    {"context.span_id", "context.trace_id", "parent_id", "attributes.llm.input_messages": […], …}     rows of its dataframe

Attributes are by the conventions of OpenTelemetry or OpenInference. The spans of one conversation are joined (`traces/spans.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.format import Format, check_utf8
from callmark.formats.joining import Join, Piece, Refused
from callmark.formats.json_fields import read_value
from callmark.formats.traces.span import Event, Span, nanoseconds
from callmark.formats.traces.spans import conversation_of, span_conversations

_KIND = "openinference.span.kind"
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for spans with a context and attributes, and for lists of them."""
    if "context.span_id" in fields:
        return 0.95
    if "context" in fields and "attributes" in fields and b"span_id" in bytes(fields["context"]):
        return 0.95
    for key in ("data", "spans"):
        if key in fields and b'"span_id"' in bytes(fields[key]) and b'"attributes"' in bytes(fields[key]):
            return 0.9
    return 0.0


def _pieces(row: bytes) -> Iterator[Piece]:
    check_utf8(row)
    value = read_value(row)
    for item in _items(value):
        span = read_span(item)
        conversation = conversation_of(span)
        yield Piece((f"trace {span.trace}", *([f"conversation {conversation}"] if conversation else ())), _encode(item))


def _items(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and "messages" in value and isinstance(value["messages"], list):
        value = value["messages"]  # a row that was a list
    if isinstance(value, dict):
        inner = next((value[key] for key in ("data", "spans") if isinstance(value.get(key), list)), None)
        value = [value] if inner is None else inner
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            raise BadInput("expected a span, an object with context and attributes")
        if "spans" in item and "context" not in item:
            yield from _items(item)
        else:
            yield item


def read_span(item: Mapping[str, Any]) -> Span:
    """Return a span in any of these forms. A span without ids raises `BadInput`."""
    if "context.span_id" in item:
        prefix = "attributes."
        attributes = {key[len(prefix) :]: value for key, value in item.items() if key.startswith(prefix) and value is not None}
        own, trace = item["context.span_id"], item.get("context.trace_id")
    else:
        context = item.get("context")
        context = context if isinstance(context, dict) else item
        own, trace = context.get("span_id"), context.get("trace_id")
        given = item.get("attributes")
        attributes = dict(given) if isinstance(given, dict) else {}
    if not isinstance(own, str) or not own or not isinstance(trace, str):
        raise BadInput("context: expected trace_id and span_id")
    if item.get("span_kind") is not None:
        attributes.setdefault(_KIND, item["span_kind"])
    parent = item.get("parent_id") or item.get("parent_span_id")
    return Span(
        own,
        parent if isinstance(parent, str) else "",
        trace,
        str(item.get("name") or ""),
        nanoseconds(item.get("start_time")),
        nanoseconds(item.get("end_time")),
        attributes,
        tuple(_events(item.get("events"))),
        _failure(item),
    )


def _events(given: Any) -> Iterator[Event]:
    for event in given if isinstance(given, list) else ():
        if isinstance(event, dict):
            attributes = event.get("attributes")
            yield Event(
                str(event.get("name") or ""), attributes if isinstance(attributes, dict) else {}, None, nanoseconds(event.get("timestamp"))
            )


def _failure(item: Mapping[str, Any]) -> str:
    status = item.get("status")
    code = status.get("status_code") if isinstance(status, dict) else item.get("status_code")
    if code != "ERROR":
        return ""
    message = status.get("description") if isinstance(status, dict) else item.get("status_message")
    return str(message or "the span failed")


def _conversations(pieces: Sequence[bytes], count: Callable[[str], None]) -> Iterable[bytes | Refused]:
    return span_conversations(pieces, lambda piece: (read_span(msgspec.json.decode(piece)),), count)


FORMAT = Format("otel-spans", "OpenTelemetry spans", detect, openai.read, join=Join(_pieces, _conversations))
