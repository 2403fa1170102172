"""Trajectories in the Agent Trajectory Interchange Format, made with Harbor's own models. Run in an environment with harbor.

python harbor_atif.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from harbor.models.trajectories import (  # type: ignore[import-not-found, unused-ignore]
    Agent,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)
from stand_in import openai_tools, write_rows  # type: ignore[import-not-found, unused-ignore]


def trajectory(sample: Any) -> Trajectory:
    results = {message["call_id"]: message["text"] for message in sample["messages"] if message["role"] == "tool"}
    steps: list[Step] = []
    for message in sample["messages"]:
        if message["role"] == "tool":
            continue
        calls = message["calls"]
        observed = [ObservationResult(source_call_id=call["id"], content=results[call["id"]]) for call in calls]
        steps.append(
            Step(
                step_id=len(steps) + 1,
                timestamp="2026-01-01T00:00:00Z",
                source="agent" if message["role"] == "assistant" else message["role"],
                message=message["text"],
                tool_calls=[ToolCall(tool_call_id=call["id"], function_name=call["name"], arguments=call["arguments"]) for call in calls]
                or None,
                observation=Observation(results=observed) if observed else None,
            )
        )
    agent = Agent(name="agent", version="1", model_name="stand-in", tool_definitions=openai_tools(sample))
    return Trajectory(session_id=sample["id"], agent=agent, steps=steps)


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    write_rows(folder / "harbor_atif.jsonl", [trajectory(sample).to_json_dict() for sample in samples])
    write_rows(folder / "harbor_atif_nulls.jsonl", [trajectory(sample).to_json_dict(exclude_none=False) for sample in samples])


main()
