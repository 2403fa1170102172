"""Items and traces of agent runs, from the OpenAI Agents SDK. Run in an environment with openai-agents.

python openai_agents.py SAMPLES FOLDER
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import (  # type: ignore[import-not-found, unused-ignore]
    Agent,
    FunctionTool,
    OpenAIChatCompletionsModel,
    Runner,
    SQLiteSession,
    set_trace_processors,
    trace,
)
from agents.tracing import TracingProcessor  # type: ignore[import-not-found, unused-ignore]
from openai import AsyncOpenAI  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, segments, stand_in, system, write_rows  # type: ignore[import-not-found, unused-ignore]


class Recorder(TracingProcessor):  # type: ignore[misc, unused-ignore]
    """Keeps traces and spans, as a processor exports them."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def on_trace_start(self, trace: Any) -> None:
        self.rows.append(trace.export())

    def on_span_end(self, span: Any) -> None:
        self.rows.append(span.export())

    def on_trace_end(self, trace: Any) -> None:
        pass

    def on_span_start(self, span: Any) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


def function_tool(sample: Any, tool: Any) -> FunctionTool:
    async def invoke(context: Any, _: str) -> str:
        return str(result_of(sample, context.tool_call_id))

    return FunctionTool(
        name=tool["name"],
        description=tool["description"],
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


async def converse(sample: Any, address: str) -> tuple[Any, Any]:
    client = AsyncOpenAI(base_url=f"{address}/v1", api_key="none")
    tools = [function_tool(sample, tool) for tool in sample["tools"]]
    model = OpenAIChatCompletionsModel(model="stand-in", openai_client=client)
    agent = Agent(name="agent", instructions=system(sample) or None, model=model, tools=tools)
    session = SQLiteSession(sample["id"])
    items: list[Any] = []
    for text in segments(sample):
        with trace("conversation", group_id=sample["id"]):
            result = await Runner.run(agent, text, session=session)
        items = result.to_input_list()
    return items, await session.get_items()


def main() -> None:
    recorder = Recorder()
    set_trace_processors([recorder])
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    rows, sessions = [], []
    for sample in samples:
        with stand_in(sample) as address:
            items, session = asyncio.run(converse(sample, address))
        rows.append(items)
        sessions.append({"id": sample["id"], "items": session, "instructions": system(sample) or None})
    write_rows(folder / "openai_agents_input_list.jsonl", rows)
    write_rows(folder / "openai_agents_session.jsonl", sessions)
    write_rows(folder / "openai_agents_traces.jsonl", recorder.rows)


main()
