"""Traces of Langfuse: observations, one per row, or in the lists that its API and page export.

    {"id", "traceId", "parentObservationId", "type": "GENERATION" | "TOOL" | "AGENT" | "SPAN" | …, "input", "output", "startTime", …}
    {"data": [observation, …], "meta"}                          a response of the API
    {"trace": {"id", "sessionId"}, "observations": […]}         a trace, as the page saves it
    {"id", "sessionId", "observations": […]}                    a trace, as the API returns it

Keys may be in snake case. A generation is a request to a model; an observation of type TOOL, or one with `gen_ai.tool.name` in its
metadata, is a call. The observations of one session, or of one trace, are joined (`traces/conversations.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.shapes import read_call
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.format import Format, check_utf8
from callmark.formats.joining import Join, Piece, Refused
from callmark.formats.json_fields import read_value
from callmark.formats.traces.payloads import decoded, read_reply, read_request, tools_of
from callmark.formats.traces.records import Record, objects, record_conversations, text_of
from callmark.formats.traces.span import Span, nanoseconds
from callmark.formats.traces.steps import AgentStep, ModelStep, Step, ToolStep

_TYPES = frozenset(["SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"])
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for observations, and for traces and lists with them."""
    if ("traceId" in fields or "trace_id" in fields) and ("parentObservationId" in fields or "parent_observation_id" in fields):
        return 0.95
    for key in ("observations", "data"):
        if key in fields and (b'"parentObservationId"' in bytes(fields[key]) or b'"parent_observation_id"' in bytes(fields[key])):
            return 0.95
    return 0.0


def _pieces(row: bytes) -> Iterator[Piece]:
    check_utf8(row)
    for record in _observations(read_value(row)):
        trace, session = text_of(record, "traceId", "trace_id"), text_of(record, "sessionId", "session_id")
        if not trace or not text_of(record, "id"):
            raise BadInput("an observation without id or traceId")
        yield Piece((f"trace {trace}", *([f"session {session}"] if session else ())), _encode(record))


def _observations(value: Any) -> Iterator[Record]:
    if not isinstance(value, dict):
        raise BadInput("expected an observation, or an object with observations")
    if isinstance(value.get("messages"), list):  # a file that is one list
        for item in objects(value["messages"], "the list"):
            yield from _observations(item)
        return
    if "observations" not in value:
        if "data" in value and "id" not in value:
            for item in objects(value["data"], "data"):
                yield from _observations(item)
            return
        yield value
        return
    trace = value.get("trace") if isinstance(value.get("trace"), dict) else value
    session = text_of(trace, "sessionId", "session_id")
    for record in objects(value["observations"], "observations"):
        known = {"traceId": text_of(trace, "id"), **({"sessionId": session} if session else {})}
        yield {**known, **{key: item for key, item in record.items() if item is not None}}


def _span(record: Record) -> Span:
    session = text_of(record, "sessionId", "session_id")
    return Span(
        text_of(record, "id"),
        text_of(record, "parentObservationId", "parent_observation_id"),
        text_of(record, "traceId", "trace_id"),
        text_of(record, "name"),
        nanoseconds(record.get("startTime", record.get("start_time"))),
        nanoseconds(record.get("endTime", record.get("end_time"))),
        {"session.id": session} if session else {},
    )


def _read_step(record: Record, **common: Any) -> Step | None:
    kind = text_of(record, "type").upper()
    if kind and kind not in _TYPES:
        raise BadInput(f"type: unknown type of observation {kind[:40]!r}")
    attributes = _attributes(record)
    failed = text_of(record, "statusMessage", "status_message") if record.get("level") == "ERROR" else ""
    if kind == "TOOL" or (kind == "SPAN" and "gen_ai.tool.name" in attributes):
        return _tool_step(record, attributes, failed, common)
    given, returned = record.get("input"), record.get("output")
    if kind == "GENERATION":
        if given is None:
            return ModelStep(**common, failed=bool(failed))
        request = read_request(given, "input")
        tools = request.tools or tools_of(decoded(given), "tools") or _attribute_tools(attributes)
        output = None if returned is None else read_reply(returned, "output")
        return ModelStep(**common, input=request.messages, output=output, tools=tools, failed=bool(failed))
    return AgentStep(**common) if kind == "AGENT" else None


def _attributes(record: Record) -> dict[str, Any]:
    """Return the attributes of the OpenTelemetry span that an observation was made from."""
    metadata = record.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = parse(metadata)
        except NotStrict:
            metadata = None
    found = metadata.get("attributes") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _attribute_tools(attributes: Mapping[str, Any]) -> bytes:
    text = attributes.get("gen_ai.tool.definitions")
    try:
        value = parse(text) if isinstance(text, str) else text
    except NotStrict:
        return b""
    return tools_of({"tools": value}, "tools")


def _tool_step(record: Record, attributes: Mapping[str, Any], failed: str, common: dict[str, Any]) -> ToolStep:
    name = str(attributes.get("gen_ai.tool.name") or text_of(record, "name").removeprefix("execute_tool "))
    call_id = str(attributes.get("gen_ai.tool.call.id") or "")
    given, result = record.get("input"), record.get("output")
    if isinstance(given, str):
        try:
            given = parse(given)
        except NotStrict:
            given = None
    call = read_call({"name": name, "arguments": given, **({"id": call_id} if call_id else {})}) if isinstance(given, dict) else None
    text = result if isinstance(result, str) or result is None else dump(result)
    return ToolStep(**common, name=name, call_id=call_id, call=call, result=failed or None if text is None else text, failed=bool(failed))


def _conversations(pieces: Sequence[bytes], count: Callable[[str], None]) -> Iterable[bytes | Refused]:
    return record_conversations(pieces, _span, _read_step, count)


FORMAT = Format("langfuse", "Langfuse observations", detect, openai.read, join=Join(_pieces, _conversations))
