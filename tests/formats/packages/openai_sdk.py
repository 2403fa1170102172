"""Rows of chat completions and Responses, from the objects of the OpenAI SDK. Run in an environment with openai.

python openai_sdk.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from openai import OpenAI  # type: ignore[import-not-found, unused-ignore]
from stand_in import openai_tools, result_of, segments, stand_in, system, write_rows  # type: ignore[import-not-found, unused-ignore]


def chat(sample: Any, address: str) -> Any:
    client = OpenAI(base_url=f"{address}/v1", api_key="none")
    messages: list[Any] = [{"role": "system", "content": system(sample)}] if system(sample) else []
    for text in segments(sample):
        messages.append({"role": "user", "content": text})
        while True:
            message = client.chat.completions.create(model="stand-in", messages=messages, tools=openai_tools(sample)).choices[0].message
            messages.append(message.to_dict())
            if not message.tool_calls:
                break
            messages += [{"role": "tool", "tool_call_id": call.id, "content": result_of(sample, call.id)} for call in message.tool_calls]
    return {"id": sample["id"], "messages": messages, "tools": openai_tools(sample)}


def chat_dump(sample: Any, address: str) -> Any:
    """The same with `model_dump()`, which writes every field that the SDK knows, null where it is not set."""
    row = chat(sample, address)
    from openai.types.chat import ChatCompletionMessage  # type: ignore[import-not-found, unused-ignore]

    messages = [
        ChatCompletionMessage.model_validate(message).model_dump() if message["role"] == "assistant" else message
        for message in row["messages"]
    ]
    return {**row, "messages": messages}


def responses(sample: Any, address: str) -> Any:
    client = OpenAI(base_url=f"{address}/v1", api_key="none")
    tools: list[Any] = [{"type": "function", "strict": False, **tool} for tool in sample["tools"]]
    instructions = system(sample) or None
    items: list[Any] = []
    for text in segments(sample):
        items.append({"role": "user", "content": text})
        while True:
            response = client.responses.create(model="stand-in", input=items, tools=tools, instructions=instructions)
            items += [item.to_dict() for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                break
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": result_of(sample, call.call_id)} for call in calls
            ]
    return {"id": sample["id"], "instructions": instructions, "input": items, "tools": tools}


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    for name, converse in {"openai_chat": chat, "openai_chat_dump": chat_dump, "openai_responses": responses}.items():
        rows = []
        for sample in samples:
            with stand_in(sample) as address:
                rows.append(converse(sample, address))
        write_rows(folder / f"{name}.jsonl", rows)


main()
