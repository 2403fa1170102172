"""OTLP files and spans of OpenTelemetry, with content on spans or in events. Run with opentelemetry-sdk and opentelemetry-util-genai.

python opentelemetry_sdk.py SAMPLES FOLDER
"""

import base64
import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"] = "true"

from google.protobuf.json_format import MessageToDict  # type: ignore[import-not-found, unused-ignore]
from opentelemetry import trace  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk._logs import LoggerProvider  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk._logs.export import (  # type: ignore[import-not-found, unused-ignore]
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import TracerProvider  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.util.genai import types as parts  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.util.genai.handler import TelemetryHandler  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, system, write_rows  # type: ignore[import-not-found, unused-ignore]

BATCH = 3  # spans of one request


class Recorder:
    """Runs samples as an agent would, with spans for the agent, each request to the model and each tool."""

    def __init__(self, capture: str) -> None:
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = capture
        self.spans: Any = InMemorySpanExporter()
        self.logs: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call, unused-ignore]
        provider, logger_provider = TracerProvider(), LoggerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self._handler = TelemetryHandler(tracer_provider=provider, logger_provider=logger_provider)
        self._tracer = provider.get_tracer("mcp")

    def run(self, sample: Any) -> None:
        turns: list[list[Any]] = []  # each begins with a message of the user
        for message in sample["messages"]:
            if message["role"] == "user":
                turns.append([])
            if turns:
                turns[-1].append(message)
        history: list[Any] = []
        for turn in turns:
            with self._handler.invoke_local_agent(agent_name="agent", conversation_id=sample["id"]) as agent:
                agent.input_messages = [_message(turn[0])]
                for message in turn:
                    if message["role"] == "assistant":
                        self._request(sample, history, message)
                        for call in message["calls"]:
                            self._tool(sample, call)
                        agent.output_messages = [_output(message)]
                    history.append(_message(message))

    def _request(self, sample: Any, history: Sequence[Any], reply: Any) -> None:
        with self._handler.inference("stand-in", request_model="stand-in") as inference:
            inference.input_messages = list(history)
            if system(sample):
                inference.system_instruction = [parts.TextPart(system(sample))]
            inference.tool_definitions = [
                parts.FunctionToolDefinition(tool["name"], tool["description"], tool["parameters"]) for tool in sample["tools"]
            ]
            inference.output_messages = [_output(reply)]

    def _tool(self, sample: Any, call: Any) -> None:
        with self._handler.tool(call["name"], tool_type="function") as tool:
            tool.tool_call_id = call["id"]
            tool.arguments = json.dumps(call["arguments"], ensure_ascii=False)
            with self._tracer.start_as_current_span(f"tools/call {call['name']}", kind=trace.SpanKind.CLIENT) as span:
                span.set_attributes({"mcp.method.name": "tools/call", "gen_ai.tool.name": call["name"]})
                tool.tool_result = result_of(sample, call["id"])


def _output(message: Any) -> Any:
    inner = _message(message)
    return parts.OutputMessage(role=inner.role, parts=inner.parts, finish_reason="tool_call" if message["calls"] else "stop")


def _message(message: Any) -> Any:
    if message["role"] == "tool":
        return parts.InputMessage(role="tool", parts=[parts.ToolCallResponsePart(message["text"], message["call_id"])])
    found: list[Any] = [parts.TextPart(message["text"])] if message["text"] else []
    found += [parts.ToolCallRequestPart(call["arguments"], call["name"], call["id"]) for call in message["calls"]]
    return parts.InputMessage(role=message["role"], parts=found)


def requests(spans: Sequence[Any]) -> Iterator[Any]:
    """Yield the requests that an exporter sends, as the collector's file exporter writes them: ids in hexadecimal."""
    for start in range(0, len(spans), BATCH):
        yield with_hex_ids(MessageToDict(encode_spans(spans[start : start + BATCH])))


def log_requests(logs: Sequence[Any]) -> Iterator[Any]:
    for start in range(0, len(logs), BATCH):
        yield with_hex_ids(MessageToDict(encode_logs(logs[start : start + BATCH])))


def with_hex_ids(value: Any) -> Any:
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {key: base64.b64decode(item).hex() if key in ids else with_hex_ids(item) for key, item in value.items()}
    return [with_hex_ids(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    on_spans = Recorder("SPAN_ONLY")
    if len(samples) > BATCH:  # many conversations
        for sample in samples:
            on_spans.run(sample)
        text = "".join(json.dumps(request) + "\n" for request in requests(on_spans.spans.get_finished_spans()))
        (folder / "otlp_conversations.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        return
    for sample in samples:
        on_spans.run(sample)
    in_events = Recorder("EVENT_ONLY")
    for sample in samples:
        in_events.run(sample)
    spans = on_spans.spans.get_finished_spans()
    write_rows(folder / "otlp_spans.jsonl", list(requests(spans)))
    write_rows(folder / "otel_sdk_spans.jsonl", [json.loads(span.to_json()) for span in spans])
    events = [*log_requests(in_events.logs.get_finished_logs()), *requests(in_events.spans.get_finished_spans())]
    write_rows(folder / "otlp_events.jsonl", events)


main()
