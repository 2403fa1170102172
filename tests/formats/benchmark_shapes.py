"""The shapes of benchmarks: simulations of tau2-bench, evaluation sets of google-adk, and the Berkeley leaderboard."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from callmark.types import Call
from tests.formats.samples import Sample, SampleMessage
from tests.formats.shapes import PredictionShape, Shape

Row = dict[str, Any]


def _each(row: Callable[[Sample], Any]) -> Callable[[Sequence[Sample]], list[Any]]:
    return lambda conversations: [row(sample) for sample in conversations]


def tau2_message(message: SampleMessage) -> Row:
    if message.role == "tool":
        return {"id": message.call_id, "role": "tool", "content": message.text, "requestor": "assistant", "error": False}
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments, "requestor": "assistant"} for call in message.calls]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls or None}


def tau2(sample: Sample) -> Row:
    messages = [tau2_message(message) for message in sample.messages]
    ended = {"termination_reason": "user_stop", "reward_info": {"reward": 1.0}}
    return {"id": f"run-{sample.id}", "task_id": sample.id, "trial": 0, "messages": messages, **ended}


def tau2_results(conversations: Sequence[Sample]) -> list[Any]:
    return [{"info": {"num_trials": 1}, "tasks": [], "simulations": [tau2(sample) for sample in conversations]}]


def _content(message: SampleMessage) -> Row:
    if message.role == "tool":
        response = {"id": message.call_id, "name": message.name, "response": {"result": message.text}}
        return {"role": "user", "parts": [{"function_response": response}]}
    calls = [{"function_call": {"id": call.id, "name": call.name, "args": call.arguments}} for call in message.calls]
    return {"role": "model", "parts": [*([{"text": message.text}] if message.text else []), *calls]}


def adk(sample: Sample) -> Row:
    """One invocation for each message of the user; the last message of each is the final response."""
    declarations = [{"function_declarations": [{"name": tool["name"], "description": tool["description"],
                     "parameters_json_schema": tool["parameters"]} for tool in sample.tools]}]  # fmt: skip
    details = {"agent_details": {"root": {"name": "root", "instructions": sample.system, "tool_declarations": declarations}}}
    turns: list[list[SampleMessage]] = []
    for message in sample.turns:
        if message.role == "user":
            turns.append([message])
        else:
            turns[-1].append(message)
    return {
        "eval_id": sample.id,
        "conversation": [
            {
                "user_content": {"role": "user", "parts": [{"text": user.text}]},
                "intermediate_data": {"invocation_events": [{"author": "root", "content": _content(step)} for step in steps]},
                "final_response": {"role": "model", "parts": [{"text": final.text}]},
                "app_details": details,
            }
            for user, *steps, final in turns
        ],
    }


def adk_set(conversations: Sequence[Sample]) -> list[Any]:
    return [{"eval_set_id": "set", "eval_cases": [adk(sample) for sample in conversations]}]


def bfcl_tools(calls: Sequence[Call]) -> Row:
    return {"id": "simple_python_0", "result": [{call.name: json.dumps(call.arguments)} for call in calls], "latency": 0.5}


def bfcl_code(calls: Sequence[Call]) -> Row:
    code = [f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})" for call in calls]
    return {"id": "simple_python_0", "result": f"[{', '.join(code)}]", "input_token_count": 3}


BENCHMARK_SHAPES = (
    Shape("tau2-bench simulations", "tau2-simulations", _each(tau2), call_part="tool_calls"),
    Shape("tau2-bench results", "tau2-simulations", tau2_results, call_part="tool_calls"),
    Shape("google-adk cases", "adk-evalsets", _each(adk), arguments_key="args", role="model", call_part="function_call"),
    Shape("google-adk evaluation set", "adk-evalsets", adk_set, arguments_key="args", role="model", call_part="function_call"),
)
BENCHMARK_PREDICTIONS = (
    PredictionShape("BFCL result", bfcl_tools, arguments_key=""),
    PredictionShape("BFCL result as text", bfcl_code, arguments_key=""),
)
