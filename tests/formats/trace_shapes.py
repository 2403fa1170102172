"""Shapes of traces: the requests to a model and the calls of tools of each conversation, as spans."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.formats.samples import Sample, SampleMessage, arguments_text, openai_tools
from tests.formats.shapes import Shape


def _requests(sample: Sample) -> Iterator[tuple[int, Sequence[SampleMessage], SampleMessage]]:
    """Yield the index, the history and the response of each request."""
    for index, message in enumerate(sample.messages):
        if message.role == "assistant":
            yield index, sample.messages[:index], message


def _result_of(sample: Sample, call_id: str | None) -> str:
    return next(message.text for message in sample.messages if message.call_id == call_id)


def _parts_message(message: SampleMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": message.call_id, "response": message.text}]}
    parts: list[Any] = [{"type": "text", "content": message.text}] if message.text else []
    parts += [{"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls]
    return {"role": message.role, "parts": parts}


def _chat_message(message: SampleMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    fields: dict[str, Any] = {"role": message.role, "content": message.text or None}
    if message.calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}
            for call in message.calls
        ]
    return fields


def _openinference_message(message: SampleMessage) -> dict[str, Any]:
    fields: dict[str, Any] = {"message.role": message.role, **({"message.content": message.text} if message.text else {})}
    if message.role == "tool":
        fields["message.tool_call_id"] = message.call_id
    if message.calls:
        fields["message.tool_calls"] = [
            {"tool_call.id": call.id, "tool_call.function.name": call.name, "tool_call.function.arguments": arguments_text(call)}
            for call in message.calls
        ]
    return fields


def _sdk_span(sample: Sample, own: str, at: int, attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": own,
        "context": {"trace_id": f"trace-{sample.id}", "span_id": f"{sample.id}-{own}"},
        "parent_id": None,
        "start_time": f"2026-01-01T00:00:{at:02}Z",
        "end_time": f"2026-01-01T00:00:{at:02}Z",
        "attributes": {"session.id": sample.id, **attributes},
        "events": [],
    }


def _otel_attributes(sample: Sample) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, history, reply in _requests(sample):
        tools = [{"type": "function", **tool} for tool in sample.tools]
        yield (
            index,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.conversation.id": sample.id,
                "gen_ai.input.messages": [_parts_message(message) for message in history],
                "gen_ai.output.messages": [_parts_message(reply)],
                "gen_ai.tool.definitions": tools,
            },
        )
        for call in reply.calls:
            yield (
                index,
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.call.id": call.id,
                    "gen_ai.tool.call.result": _result_of(sample, call.id),
                },
            )


def otel_spans(samples: Sequence[Sample]) -> list[Any]:
    return [
        _sdk_span(sample, f"span-{number}", at, attributes)
        for sample in samples
        for number, (at, attributes) in enumerate(_otel_attributes(sample))
    ]


def otlp(samples: Sequence[Sample]) -> list[Any]:
    """One request for all spans, the values of attributes as JSON text."""
    spans: list[Any] = []
    for sample in samples:
        for number, (at, attributes) in enumerate(_otel_attributes(sample)):
            texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
            spans.append(
                {
                    "traceId": f"trace-{sample.id}",
                    "spanId": f"{sample.id}-{number}",
                    "name": "span",
                    "startTimeUnixNano": str(at * 10**9),
                    "endTimeUnixNano": str(at * 10**9),
                    "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()],
                }
            )
    return [{"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "agent"}, "spans": spans}]}]}]


def openinference(samples: Sequence[Sample]) -> list[Any]:
    rows: list[Any] = []
    for sample in samples:
        for index, history, reply in _requests(sample):
            attributes = {
                "openinference.span.kind": "LLM",
                "llm.input_messages": [_openinference_message(message) for message in history],
                "llm.output_messages": [_openinference_message(reply)],
                "llm.tools": [{"tool.json_schema": json.dumps(tool)} for tool in openai_tools(sample)],
            }
            rows.append(_sdk_span(sample, f"llm-{index}", index, _flattened(attributes)))
            for call in reply.calls:
                values = {"tool.name": call.name, "input.value": arguments_text(call), "output.value": _result_of(sample, call.id)}
                rows.append(_sdk_span(sample, call.id or "", index, {"openinference.span.kind": "TOOL", **values}))
    return rows


def phoenix(samples: Sequence[Sample]) -> list[Any]:
    """A page of Phoenix's API, whose attributes are nested lists."""
    spans: list[Any] = []
    for row in openinference(samples):
        attributes = {key: value for key, value in row["attributes"].items() if not key.startswith("llm.")}
        kind = attributes.pop("openinference.span.kind")
        nested: dict[str, Any] = {}
        for key, value in row["attributes"].items():
            if key.startswith("llm."):
                _put(nested, key.split("."), value)
        spans.append({**row, "span_kind": kind, "attributes": {**attributes, **_as_lists(nested)}})
    return [{"data": spans, "next_cursor": None}]


def _flattened(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {found: inner for key, item in value.items() for found, inner in _flattened(item, f"{prefix}{key}.").items()}
    if isinstance(value, list):
        return {found: inner for index, item in enumerate(value) for found, inner in _flattened(item, f"{prefix}{index}.").items()}
    return {prefix[:-1]: value}


def _put(holder: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for word in path[:-1]:
        holder = holder.setdefault(word, {})
    holder[path[-1]] = value


def _as_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() for key in value):
        return [_as_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _as_lists(item) for key, item in value.items()}


def langfuse(samples: Sequence[Sample]) -> list[Any]:
    rows: list[Any] = []
    for sample in samples:
        for index, history, reply in _requests(sample):
            request = {"messages": [_chat_message(message) for message in history], "tools": openai_tools(sample)}
            rows.append(_observation(sample, f"r{index}", "GENERATION", index, "chat", request, _chat_message(reply)))
            for call in reply.calls:
                result = _result_of(sample, call.id)
                rows.append(_observation(sample, call.id or "", "TOOL", index, call.name, {**call.arguments}, result))
    return rows


def _observation(sample: Sample, own: str, kind: str, at: int, name: str, given: Any, returned: Any) -> dict[str, Any]:
    return {
        "id": f"{sample.id}-{own}",
        "traceId": sample.id,
        "parentObservationId": None,
        "type": kind,
        "name": name,
        "startTime": f"2026-01-01T00:00:{at:02}.000Z",
        "input": given,
        "output": returned,
    }


def langsmith(samples: Sequence[Sample]) -> list[Any]:
    rows: list[Any] = []
    for sample in samples:
        for index, history, reply in _requests(sample):
            inputs = {"messages": [_chat_message(message) for message in history], "tools": openai_tools(sample)}
            outputs = {"choices": [{"index": 0, "message": _chat_message(reply)}]}
            rows.append(_run(sample, f"r{index}", "llm", index, inputs, outputs))
            for call in reply.calls:
                output = {"tool_call_id": call.id, "content": _result_of(sample, call.id), "type": "tool"}
                rows.append({**_run(sample, call.id or "", "tool", index, {**call.arguments}, {"output": output}), "name": call.name})
    return rows


def _run(sample: Sample, own: str, kind: str, at: int, inputs: Any, outputs: Any) -> dict[str, Any]:
    return {
        "id": f"{sample.id}-{own}",
        "trace_id": sample.id,
        "name": kind,
        "run_type": kind,
        "start_time": f"2026-01-01T00:00:{at:02}",
        "inputs": inputs,
        "outputs": outputs,
        "extra": {"metadata": {"thread_id": sample.id}},
    }


def agents_traces(samples: Sequence[Sample]) -> list[Any]:
    rows: list[Any] = []
    for sample in samples:
        rows.append({"object": "trace", "id": f"trace-{sample.id}", "workflow_name": "agent", "group_id": sample.id})
        for index, history, reply in _requests(sample):
            data = {"type": "generation", "input": [_chat_message(message) for message in history], "output": [_chat_message(reply)]}
            rows.append(_agents_span(sample, f"r{index}", index, data))
            for call in reply.calls:
                data = {"type": "function", "name": call.name, "input": arguments_text(call), "output": _result_of(sample, call.id)}
                rows.append(_agents_span(sample, call.id or "", index, data))
    return rows


def _agents_span(sample: Sample, own: str, at: int, data: Any) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": f"{sample.id}-{own}",
        "trace_id": f"trace-{sample.id}",
        "parent_id": None,
        "started_at": f"2026-01-01T00:00:{at:02}+00:00",
        "ended_at": f"2026-01-01T00:00:{at:02}+00:00",
        "span_data": data,
        "error": None,
    }


def atif(samples: Sequence[Sample]) -> list[Any]:
    rows: list[Any] = []
    for sample in samples:
        steps: list[Any] = []
        for message in sample.messages:
            if message.role == "tool":
                continue
            step: dict[str, Any] = {"step_id": len(steps) + 1, "message": message.text}
            step["source"] = "agent" if message.role == "assistant" else message.role
            if message.calls:
                step["tool_calls"] = [
                    {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments} for call in message.calls
                ]
                step["observation"] = {
                    "results": [{"source_call_id": call.id, "content": _result_of(sample, call.id)} for call in message.calls]
                }
            steps.append(step)
        agent = {"name": "agent", "version": "1", "tool_definitions": openai_tools(sample)}
        rows.append({"schema_version": "ATIF-v1.8", "session_id": sample.id, "agent": agent, "steps": steps})
    return rows


TRACE_SHAPES = (
    Shape("otlp", "otlp", otlp, in_text=True, role=""),
    Shape("opentelemetry spans", "otel-spans", otel_spans, call_part="tool_call"),
    Shape("openinference spans", "otel-spans", openinference, arguments_key=""),
    Shape("phoenix page", "otel-spans", phoenix, arguments_key="arguments", call_part="tool_calls"),
    Shape("langfuse observations", "langfuse", langfuse, call_part="tool_calls"),
    Shape("langsmith runs", "langsmith", langsmith, call_part="tool_calls"),
    Shape("agents sdk traces", "agents-traces", agents_traces, call_part="tool_calls"),
    Shape("atif", "atif", atif, role="agent", call_part="tool_calls"),
)
