"""Spans of OpenInference's instrumentation of the OpenAI Agents SDK, which talks to a stand-in server.

python openinference_agents.py SAMPLES FOLDER

Run in an environment with openai-agents, openinference-instrumentation-openai-agents and opentelemetry-sdk.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, SQLiteSession, set_trace_processors  # type: ignore[import-not-found, unused-ignore]
from google.protobuf.json_format import MessageToDict  # type: ignore[import-not-found, unused-ignore]
from openai import AsyncOpenAI  # type: ignore[import-not-found, unused-ignore]
from openinference.instrumentation import using_session  # type: ignore[import-not-found, unused-ignore]
from openinference.instrumentation.openai import OpenAIInstrumentor  # type: ignore[import-not-found, unused-ignore]
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk.trace import TracerProvider  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # type: ignore[import-not-found, unused-ignore]
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, segments, stand_in, system, write_rows  # type: ignore[import-not-found, unused-ignore]


async def converse(sample: Any, address: str) -> None:
    def function_tool(tool: Any) -> FunctionTool:
        async def invoke(context: Any, _: str) -> str:
            return str(result_of(sample, context.tool_call_id))

        return FunctionTool(tool["name"], tool["description"], tool["parameters"], invoke, strict_json_schema=False)

    model = OpenAIChatCompletionsModel(model="stand-in", openai_client=AsyncOpenAI(base_url=f"{address}/v1", api_key="none"))
    agent = Agent(name="agent", instructions=system(sample) or None, model=model, tools=[function_tool(tool) for tool in sample["tools"]])
    session = SQLiteSession(sample["id"])
    with using_session(sample["id"]):
        for text in segments(sample):
            await Runner.run(agent, text, session=session)


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    set_trace_processors([])
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    OpenAIInstrumentor().instrument(tracer_provider=provider)  # the same requests again, with the tools
    for sample in samples:
        with stand_in(sample) as address:
            asyncio.run(converse(sample, address))
    spans = exporter.get_finished_spans()
    request = MessageToDict(encode_spans(spans))
    write_rows(folder / "openinference_otlp.jsonl", [_with_hex_ids(request)])
    write_rows(folder / "openinference_spans.jsonl", [json.loads(span.to_json()) for span in reversed(spans)])


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {key: base64.b64decode(item).hex() if key in ids else _with_hex_ids(item) for key, item in value.items()}
    return [_with_hex_ids(item) for item in value] if isinstance(value, list) else value


main()
