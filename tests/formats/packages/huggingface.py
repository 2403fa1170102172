"""Rows of a table, from `datasets`: rows become columns, whose structs are padded with nulls. Run in an environment with datasets.

python huggingface.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset  # type: ignore[import-not-found, unused-ignore]
from stand_in import openai_tools, write_rows  # type: ignore[import-not-found, unused-ignore]


def messages(sample: Any, *, objects: bool) -> list[Any]:
    found: list[Any] = []
    for message in sample["messages"]:
        fields: dict[str, Any] = {"role": message["role"], "content": message["text"]}
        if message["role"] == "tool":
            fields |= {"tool_call_id": message["call_id"], "name": message["name"]}
        if message["calls"]:
            fields["tool_calls"] = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": _arguments(call, objects)}}
                for call in message["calls"]
            ]
        found.append(fields)
    return found


def _arguments(call: Any, objects: bool) -> Any:
    return call["arguments"] if objects else json.dumps(call["arguments"], ensure_ascii=False)


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    for name, objects in {"datasets_rows": False, "datasets_rows_objects": True}.items():
        rows = [{"id": sample["id"], "messages": messages(sample, objects=objects), "tools": openai_tools(sample)} for sample in samples]
        write_rows(folder / f"{name}.jsonl", list(Dataset.from_list(rows)))


main()
