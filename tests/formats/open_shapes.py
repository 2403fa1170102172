"""The shapes of open datasets whose rows are whole conversations."""

import json
from collections.abc import Callable
from typing import Any

from callmark.types import Call
from tests.formats.chat_shapes import openai
from tests.formats.samples import Sample, SampleMessage, arguments_text
from tests.formats.shapes import Shape

Row = dict[str, Any]


def _each(row: Callable[[Sample], Any]) -> Callable[[Any], list[Any]]:
    return lambda conversations: [row(sample) for sample in conversations]


def _json_call(call: Call) -> str:
    return f'{{"name": {json.dumps(call.name)}, "arguments": {arguments_text(call)}}}'


def _tagged(message: SampleMessage) -> str:
    blocks = [f"<tool_call>\n{_json_call(call)}\n</tool_call>" for call in message.calls]
    return "\n".join([message.text, *blocks] if message.text else blocks)


def _response(message: SampleMessage) -> str:
    return f"<tool_response>\n{json.dumps({'name': message.name, 'content': message.text})}\n</tool_response>"


def _text(message: SampleMessage) -> str:
    return _response(message) if message.role == "tool" else _tagged(message) if message.role == "assistant" else message.text


def sharegpt(sample: Sample) -> Row:
    speakers = {"user": "human", "assistant": "gpt", "tool": "tool", "system": "system"}
    turns = [{"from": speakers[message.role], "value": _text(message)} for message in sample.messages]
    return {"id": sample.id, "conversations": turns, "tools": json.dumps(list(sample.tools))}


def hermes(sample: Sample) -> Row:
    """Messages with tags, and the tools in the system prompt only."""
    prompt = f"You are a function calling AI model. <tools> {json.dumps(list(sample.tools))} </tools>"
    system = {"role": "system", "content": prompt}
    return {"id": sample.id, "messages": [system, *({"role": message.role, "content": _text(message)} for message in sample.turns)]}


def hermes_tools(sample: Sample) -> Row:
    messages = [{"role": message.role, "content": _text(message)} for message in sample.messages]
    return {"id": sample.id, "messages": messages, "tools": list(sample.tools)}


def apigen_mt(sample: Sample) -> Row:
    """Turns of their own for calls and results; several calls are a list."""
    turns: list[Row] = []
    for message in sample.turns:
        if message.text and message.role == "assistant":
            turns.append({"from": "gpt", "value": message.text})
        if message.calls:
            calls = [_json_call(call) for call in message.calls]
            turns.append({"from": "function_call", "value": calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]"})
        elif message.role != "assistant":
            turns.append({"from": "observation" if message.role == "tool" else "human", "value": message.text})
    return {"id": sample.id, "conversations": turns, "system": sample.system, "tools": json.dumps(list(sample.tools))}


def toolace(sample: Sample) -> Row:
    functions = json.dumps(list(sample.tools))
    system = f"Here is a list of functions in JSON format that you can invoke:\n{functions}.\nFormat: [func1(params_name=params_value)]"
    turns: list[Row] = []
    for message in sample.turns:
        if message.role == "tool":
            result = {"name": message.name, "results": message.text}
            if turns[-1]["from"] == "tool":
                turns[-1]["value"] = json.dumps([*json.loads(turns[-1]["value"]), result])
            else:
                turns.append({"from": "tool", "value": json.dumps([result])})
        elif message.calls:
            if message.text:
                turns.append({"from": "assistant", "value": message.text})
            turns.append({"from": "assistant", "value": f"[{', '.join(map(_code, message.calls))}]"})
        else:
            turns.append({"from": message.role, "value": message.text})
    return {"id": sample.id, "system": system, "conversations": turns}


def _code(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def glaive(sample: Sample) -> Row:
    functions = "\n\n".join(json.dumps(tool, indent=4) for tool in sample.tools)
    system = f"SYSTEM: You are a helpful assistant with access to the following functions. Use them if required -\n{functions}\n"
    return {"id": sample.id, "system": system, "chat": "\n\n\n".join(_glaive_turn(message) for message in sample.turns) + "\n\n\n"}


def _glaive_turn(message: SampleMessage) -> str:
    if message.role != "assistant":
        return f"{'USER' if message.role == 'user' else 'FUNCTION RESPONSE'}: {message.text}"
    calls = [f'<functioncall> {{"name": "{call.name}", "arguments": \'{arguments_text(call)}\'}}' for call in message.calls]
    return f"ASSISTANT: {' '.join([message.text, *calls] if message.text else calls)} <|endoftext|>"


def tau_bench(sample: Sample) -> Row:
    actions = [{"name": call.name, "kwargs": call.arguments} for call in sample.calls]
    task = {"instruction": "You want to fly.", "actions": actions}
    return {"task_id": sample.id, "trial": 0, "reward": 1.0, "info": {"task": task}, "traj": openai(sample)["messages"]}


OPEN_SHAPES: tuple[Shape, ...] = (
    Shape("ShareGPT", "sharegpt", _each(sharegpt), role="gpt", keeps_ids=False, in_text=True),
    Shape("Hermes in messages", "hermes", _each(hermes), keeps_ids=False, in_text=True, own_system=True),
    Shape("Hermes in messages with tools", "hermes", _each(hermes_tools), keeps_ids=False, in_text=True),
    Shape("APIGen-MT", "sharegpt", _each(apigen_mt), role="function_call", keeps_ids=False, in_text=True, splits_messages=True),
    Shape("ToolACE", "toolace", _each(toolace), arguments_key="", keeps_ids=False, own_system=True, splits_messages=True),
    Shape("Glaive v2", "glaive", _each(glaive), role="", keeps_ids=False, in_text=True, own_system=True),
    Shape("tau-bench", "tau-bench", _each(tau_bench), call_part="tool_calls"),
)
