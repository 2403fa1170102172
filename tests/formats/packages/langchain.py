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
from langchain_core.tracers.base import BaseTracer  # type: ignore[import-not-found, unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found, unused-ignore]
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
    messages: list[Any] = [SystemMessage(system(sample))] if system(sample) else []
    for text in segments(sample):
        messages.append(HumanMessage(text))
        while True:
            message = model.invoke(messages, config={"callbacks": [recorder]})
            messages.append(message)
            if not message.tool_calls:
                break
            messages += [
                ToolMessage(result_of(sample, call["id"]), tool_call_id=call["id"], name=call["name"]) for call in message.tool_calls
            ]
    return messages


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    rows: dict[str, list[Any]] = {name: [] for name in ("flat", "dict", "lc", "langsmith_llm", "langsmith_chain")}
    for sample in samples:
        recorder = Recorder()
        with stand_in(sample) as address:
            messages = converse(sample, address, recorder)
        row = {"id": sample["id"], "tools": openai_tools(sample)}
        rows["flat"].append({**row, "messages": [message.model_dump(mode="json") for message in messages]})
        rows["dict"].append({**row, "messages": messages_to_dict(messages)})
        rows["lc"].append({**row, "messages": dumpd(messages)})
        last = recorder.runs[-1]  # the last request has the whole conversation as its input
        rows["langsmith_llm"].append(_run(sample["id"], last))
        inputs = {"messages": [message.model_dump(mode="json") for message in messages[:-1]]}
        outputs = {"messages": [message.model_dump(mode="json") for message in messages]}
        rows["langsmith_chain"].append({"id": sample["id"], "inputs": inputs, "outputs": outputs})
    for name, found in rows.items():
        write_rows(folder / f"{name if name.startswith('langsmith') else f'langchain_{name}'}.jsonl", found)


def _run(sample_id: str, run: Any) -> Any:
    """Return a run as JSON, without what differs from run to run."""
    fields = json.loads(json.dumps({key: getattr(run, key) for key in ("name", "run_type", "inputs", "outputs", "extra")}, default=str))
    return {"id": sample_id, **fields}


main()
