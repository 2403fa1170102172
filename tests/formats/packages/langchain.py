"""LangChain messages in four forms, and LangSmith runs. Run in an environment with langchain-core, langchain-openai and langsmith.

python langchain.py SAMPLES FOLDER
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langchain_core.load import dumpd  # type: ignore[import-not-found, unused-ignore]
from langchain_core.messages import (  # type: ignore[import-not-found, unused-ignore]
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from langchain_core.tools import StructuredTool  # type: ignore[import-not-found, unused-ignore]
from langchain_core.tracers.base import BaseTracer  # type: ignore[import-not-found, unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found, unused-ignore]
from langsmith.schemas import Run  # type: ignore[import-not-found, unused-ignore]
from stand_in import (  # type: ignore[import-not-found, unused-ignore]
    openai_tools,
    result_of,
    segments,
    stand_in,
    system,
    write_rows,
)


class Recorder(BaseTracer):  # type: ignore[misc, unused-ignore]
    """Keeps the runs, as a tracer sends them to LangSmith."""

    def __init__(self) -> None:
        super().__init__(_schema_format="original+chat")
        self.runs: list[Any] = []

    def _persist_run(self, run: Any) -> None:
        self.runs.append(run)


def converse(sample: Any, address: str, recorder: Recorder) -> list[BaseMessage]:
    model = ChatOpenAI(model="stand-in", base_url=f"{address}/v1", api_key="none").bind_tools(openai_tools(sample))
    config = {"callbacks": [recorder], "metadata": {"thread_id": sample["id"]}}
    messages: list[Any] = [SystemMessage(system(sample))] if system(sample) else []
    for text in segments(sample):
        messages.append(HumanMessage(text))
        while True:
            message = model.invoke(messages, config=config)
            messages.append(message)
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                messages.append(ToolMessage(result_of(sample, call["id"]), tool_call_id=call["id"], name=call["name"]))
                run_tool(sample, call, config)
    return messages


def run_tool(sample: Any, call: Any, config: Any) -> None:
    """Run a tool for its trace; its result is the recorded one."""
    schema = next(tool["parameters"] for tool in sample["tools"] if tool["name"] == call["name"])
    tool = StructuredTool(name=call["name"], description="A tool.", args_schema=schema, func=lambda **_: str(result_of(sample, call["id"])))
    tool.invoke({**call, "type": "tool_call"}, config=config)


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    rows: dict[str, list[Any]] = {name: [] for name in ("flat", "dict", "lc", "langsmith_llm", "langsmith_chain", "langsmith_runs")}
    for sample in samples:
        recorder = Recorder()
        with stand_in(sample) as address:
            messages = converse(sample, address, recorder)
        row = {"id": sample["id"], "tools": openai_tools(sample)}
        rows["flat"].append({**row, "messages": [message.model_dump(mode="json") for message in messages]})
        rows["dict"].append({**row, "messages": messages_to_dict(messages)})
        rows["lc"].append({**row, "messages": dumpd(messages)})
        last = [run for run in recorder.runs if run.run_type == "chat_model"][
            -1
        ]  # the last request has the whole conversation as its input
        rows["langsmith_runs"] += [_exported(run) for run in recorder.runs]
        rows["langsmith_llm"].append(_run(sample["id"], last))
        inputs = {"messages": [message.model_dump(mode="json") for message in messages[:-1]]}
        outputs = {"messages": [message.model_dump(mode="json") for message in messages]}
        rows["langsmith_chain"].append({"id": sample["id"], "inputs": inputs, "outputs": outputs})
    for name, found in rows.items():
        write_rows(folder / f"{name if name.startswith('langsmith') else f'langchain_{name}'}.jsonl", found)


def _exported(run: Any) -> Any:
    """Return a run as the client of LangSmith returns it."""
    names = Run.model_fields.keys() - {"child_runs", "attachments"}
    fields = {name: getattr(run, name) for name in names if getattr(run, name, None) is not None}
    fields["run_type"] = "llm" if fields["run_type"] == "chat_model" else fields["run_type"]  # as its own tracer does
    fields = json.loads(json.dumps(fields, default=lambda value: value.isoformat() if hasattr(value, "isoformat") else _plain(value)))
    return json.loads(Run.model_validate(fields).model_dump_json())


def _plain(value: Any) -> Any:
    return dumpd(value) if isinstance(value, BaseMessage) else str(value)


def _run(sample_id: str, run: Any) -> Any:
    """Return a run as JSON, without what differs from run to run."""
    fields = json.loads(json.dumps({key: getattr(run, key) for key in ("name", "run_type", "inputs", "outputs", "extra")}, default=str))
    return {"id": sample_id, **fields}


main()
