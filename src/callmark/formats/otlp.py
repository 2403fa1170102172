"""OpenTelemetry traces as OTLP JSON: each row is a request of spans (`resourceSpans`) or log records (`resourceLogs`).

This is what the collector's file exporter writes, one request per line, and what the JSON exporters of the SDKs send. The spans of one
conversation are joined, whatever row they are in (`traces/spans.py`). Log records with a span id are events of that span.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, structs

from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.format import Format, check_utf8
from callmark.formats.joining import Join, Piece, Refused
from callmark.formats.json_fields import read_value
from callmark.formats.traces.gen_ai import CONVERSATION
from callmark.formats.traces.span import Event, Span, any_value, key_values, nanoseconds
from callmark.formats.traces.spans import conversation_of, span_conversations

_CONTAINERS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_INNER = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_ITEMS = ("spans", "logRecords", "log_records")
_FAILED = (2, "STATUS_CODE_ERROR")
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `resourceSpans` or `resourceLogs`."""
    return 0.95 if any(key in fields for key in _CONTAINERS) else 0.0


def _pieces(row: bytes) -> Iterator[Piece]:
    """Yield each span and log record, with the trace and the conversation that it belongs to."""
    check_utf8(row)
    request = read_value(row)
    if not isinstance(request, dict) or not any(key in request for key in _CONTAINERS):
        raise BadInput("expected an object with resourceSpans, as OTLP exporters write it")
    for container in _CONTAINERS:
        for resource in _objects(request.get(container), container):
            for scope in (scope for key in _INNER for scope in _objects(resource.get(key), key)):
                for item in (item for key in _ITEMS for item in _objects(scope.get(key), key)):
                    yield Piece(tuple(_keys(item)), _encode(item))


def _keys(item: Mapping[str, Any]) -> Iterator[str]:
    if trace := _text(item, "traceId", "trace_id"):
        yield f"trace {trace}"
    given = item.get("attributes")
    named = [pair for pair in given if isinstance(pair, dict) and pair.get("key") in CONVERSATION] if isinstance(given, list) else []
    if named and (conversation := conversation_of(Span("", attributes=key_values(named)))):
        yield f"conversation {conversation}"


def read_span(item: Mapping[str, Any]) -> Span:
    """Return a span, or a log record as a span without a name that has it as its event."""
    trace, own = _text(item, "traceId", "trace_id"), _text(item, "spanId", "span_id")
    attributes = key_values(item.get("attributes"))
    if "body" in item or "timeUnixNano" in item or "severityNumber" in item:
        name = _text(item, "eventName", "event_name") or str(attributes.get("event.name", ""))
        time = nanoseconds(item.get("timeUnixNano", item.get("time_unix_nano")))
        event = Event(name, attributes, any_value(item.get("body")), time)
        return Span(own, "", trace, "", time, time, {}, (event,))
    if not own:
        raise BadInput("a span without spanId")
    status = item.get("status") if isinstance(item.get("status"), dict) else {}
    assert isinstance(status, dict)
    failed = str(status.get("message") or "the span failed") if status.get("code") in _FAILED else ""
    events = tuple(
        Event(_text(event, "name"), key_values(event.get("attributes")), None, nanoseconds(event.get("timeUnixNano")))
        for event in _objects(item.get("events"), "events")
    )
    lost = sum(_number(item.get(key)) for key in ("droppedAttributesCount", "droppedEventsCount"))
    return Span(
        own,
        _text(item, "parentSpanId", "parent_span_id"),
        trace,
        _text(item, "name"),
        nanoseconds(item.get("startTimeUnixNano", item.get("start_time_unix_nano"))),
        nanoseconds(item.get("endTimeUnixNano", item.get("end_time_unix_nano"))),
        attributes,
        events,
        failed,
        lost,
    )


def _conversations(pieces: Sequence[bytes], count: Callable[[str], None]) -> Iterable[bytes | Refused]:
    records: dict[str, list[Event]] = {}
    spans: list[bytes] = []
    for piece in pieces:
        item = msgspec.json.decode(piece)
        span = read_span(item)
        if span.name or "startTimeUnixNano" in item or not span.events:
            spans.append(piece)
        else:
            records.setdefault(span.id, []).append(span.events[0])

    def read(piece: bytes) -> Iterator[Span]:
        span = read_span(msgspec.json.decode(piece))
        own = sorted(records.get(span.id, ()), key=lambda event: event.time)
        yield structs.replace(span, events=(*span.events, *own)) if own else span

    return span_conversations(spans, read, count)


def _objects(value: Any, where: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadInput(f"{where}: expected a list of objects")
    return value


def _text(item: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        found = item.get(key)
        if found is not None:
            if not isinstance(found, str):
                raise BadInput(f"{key}: expected a string")
            return found
    return ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 100_000 else 0


FORMAT = Format("otlp", "OpenTelemetry traces (OTLP JSON)", detect, openai.read, join=Join(_pieces, _conversations))
