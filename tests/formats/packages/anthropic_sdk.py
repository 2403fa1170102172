"""Rows of Anthropic messages, from the objects of the Anthropic SDK. Run in an environment with anthropic.

python anthropic_sdk.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from anthropic import Anthropic  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, segments, stand_in, system, write_rows  # type: ignore[import-not-found, unused-ignore]


def converse(sample: Any, address: str, *, complete: bool) -> Any:
    client = Anthropic(base_url=address, api_key="none")
    tools = [{"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]} for tool in sample["tools"]]
    request: dict[str, Any] = {"tools": tools} | ({"system": system(sample)} if system(sample) else {})
    messages: list[Any] = []
    for text in segments(sample):
        messages.append({"role": "user", "content": text})
        while True:
            message = client.messages.create(model="stand-in", max_tokens=99, messages=messages, **request)
            content = [block.model_dump() if complete else block.to_dict() for block in message.content]
            messages.append({"role": message.role, "content": content})
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": result_of(sample, call.id)} for call in calls]
            messages.append({"role": "user", "content": results})
    return {"id": sample["id"], "messages": messages, **request}


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    for name, complete in {"anthropic_messages": False, "anthropic_messages_dump": True}.items():
        rows = []
        for sample in samples:
            with stand_in(sample) as address:
                rows.append(converse(sample, address, complete=complete))
        write_rows(folder / f"{name}.jsonl", rows)


main()
