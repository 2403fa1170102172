"""Messages of agent runs, from pydantic-ai. Run in an environment with pydantic-ai-slim[openai].

python pydantic_ai_runs.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, RunContext, Tool  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.messages import ModelMessagesTypeAdapter  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.models.openai import OpenAIChatModel  # type: ignore[import-not-found, unused-ignore]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, segments, stand_in, system, write_rows  # type: ignore[import-not-found, unused-ignore]


def tool_of(sample: Any, tool: Any) -> Tool:
    def invoke(context: RunContext[None], **_: Any) -> str:
        return str(result_of(sample, str(context.tool_call_id)))

    return Tool.from_schema(invoke, tool["name"], tool["description"], tool["parameters"], takes_ctx=True)


def converse(sample: Any, address: str, *, instructions: bool) -> Any:
    model = OpenAIChatModel("stand-in", provider=OpenAIProvider(base_url=f"{address}/v1", api_key="none"))
    prompt = {"instructions" if instructions else "system_prompt": system(sample)} if system(sample) else {}
    agent = Agent(model, tools=[tool_of(sample, tool) for tool in sample["tools"]], **prompt)
    history: list[Any] = []
    for text in segments(sample):
        history = agent.run_sync(text, message_history=history).all_messages()
    return ModelMessagesTypeAdapter.dump_python(history, mode="json")


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    for name, instructions in {"pydantic_ai_messages": False, "pydantic_ai_instructions": True}.items():
        rows = []
        for sample in samples:
            with stand_in(sample) as address:
                rows.append(converse(sample, address, instructions=instructions))
        write_rows(folder / f"{name}.jsonl", rows)


main()
