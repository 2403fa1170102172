"""Evaluation sets of google-adk, written by its own manager. Run in an environment with google-adk.

python google_adk.py SAMPLES FOLDER
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from google.adk.evaluation.app_details import AgentDetails, AppDetails  # type: ignore[import-not-found, unused-ignore]
from google.adk.evaluation.eval_case import (  # type: ignore[import-not-found, unused-ignore]
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
)
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager  # type: ignore[import-not-found, unused-ignore]
from google.genai import types  # type: ignore[import-not-found, unused-ignore]


def text(role: str, said: str) -> Any:
    return types.Content(role=role, parts=[types.Part(text=said)])


def call_of(call: Any) -> Any:
    return types.FunctionCall(id=call["id"], name=call["name"], args=call["arguments"])


def result_of(message: Any) -> Any:
    return types.FunctionResponse(id=message["call_id"], name=message["name"], response={"result": message["text"]})


def details(sample: Any) -> Any:
    declarations = [
        types.FunctionDeclaration(name=tool["name"], description=tool["description"], parameters_json_schema=tool["parameters"])
        for tool in sample["tools"]
    ]
    system = next((message["text"] for message in sample["messages"] if message["role"] == "system"), "")
    agent = AgentDetails(name="root", instructions=system, tool_declarations=[types.Tool(function_declarations=declarations)])
    return AppDetails(agent_details={"root": agent})


def invocations(sample: Any, *, events: bool) -> list[Any]:
    """Return one invocation for each message of the user, with the steps as events or as lists of calls and results."""
    turns: list[list[Any]] = []
    for message in sample["messages"]:
        if message["role"] == "user":
            turns.append([message])
        elif message["role"] != "system":
            turns[-1].append(message)
    return [invocation(sample, turn, events=events) for turn in turns]


def invocation(sample: Any, turn: list[Any], *, events: bool) -> Any:
    user, *steps = turn
    final = steps.pop()
    if events:
        data = InvocationEvents(invocation_events=[InvocationEvent(author="root", content=content(step)) for step in steps])
    else:
        calls = [call_of(call) for step in steps for call in step["calls"]]
        data = IntermediateData(
            tool_uses=calls,
            tool_responses=[result_of(step) for step in steps if step["role"] == "tool"],
            intermediate_responses=[("root", [types.Part(text=step["text"])]) for step in steps if step["role"] != "tool" and step["text"]],
        )
    return Invocation(
        user_content=text("user", user["text"]),
        final_response=text("model", final["text"]),
        intermediate_data=data,
        app_details=details(sample),
    )


def content(step: Any) -> Any:
    if step["role"] == "tool":
        return types.Content(role="user", parts=[types.Part(function_response=result_of(step))])
    said = [types.Part(text=step["text"])] if step["text"] else []
    return types.Content(role="model", parts=[*said, *(types.Part(function_call=call_of(call)) for call in step["calls"])])


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as agents:
        manager = LocalEvalSetsManager(agents_dir=agents)
        (Path(agents) / "app").mkdir()
        for name, events in (("adk_lists", False), ("adk_events", True)):
            manager.create_eval_set("app", name)
            for sample in samples:
                case = EvalCase(eval_id=sample["id"], conversation=invocations(sample, events=events), creation_timestamp=1.0)
                manager.add_eval_case("app", name, case)
            written = next(Path(agents, "app").glob(f"{name}*.json"))
            shutil.copy(written, folder / f"{name}.evalset.json")


main()
