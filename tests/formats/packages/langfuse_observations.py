"""Observations of Langfuse as its API returns them, made with the models of its SDK. Run in an environment with langfuse.

python langfuse_observations.py SAMPLES FOLDER
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langfuse.api.commons.types.observation_v2 import ObservationV2  # type: ignore[import-not-found, unused-ignore]
from stand_in import openai_messages, openai_tools, result_of, write_rows  # type: ignore[import-not-found, unused-ignore]

START = datetime(2026, 1, 1, tzinfo=UTC)


def observations(sample: Any) -> Iterator[Any]:
    """Yield the root of the trace, a generation for each message of the assistant, and a tool observation for each of its calls."""
    messages = openai_messages(sample, objects=False)
    yield _observation(sample, "root", None, "AGENT", 0, messages[0]["content"], None)
    for index, message in enumerate(sample["messages"]):
        if message["role"] != "assistant":
            continue
        request = {"messages": messages[:index], "tools": openai_tools(sample)}
        yield _observation(sample, f"request-{index}", "root", "GENERATION", index, request, messages[index])
        for call in message["calls"]:
            yield _observation(sample, call["id"], "root", "TOOL", index, call["arguments"], result_of(sample, call["id"]), call["name"])


def _observation(sample: Any, own: str, parent: str | None, kind: str, at: int, given: Any, returned: Any, name: str = "step") -> Any:
    start = START + timedelta(seconds=2 * at + (kind == "TOOL"))
    made = ObservationV2(
        id=f"{sample['id']}-{own}",
        trace_id=f"trace-{sample['id']}",
        project_id="project",
        parent_observation_id=f"{sample['id']}-{parent}" if parent else None,
        type=kind,
        name=name,
        session_id=sample["id"],
        start_time=start,
        end_time=start + timedelta(seconds=1),
        input=given,
        output=returned,
    )
    return json.loads(made.json())


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    found = [one for sample in samples for one in observations(sample)]
    write_rows(folder / "langfuse_observations.jsonl", list(reversed(found)))  # the API returns the newest first
    write_rows(folder / "langfuse_page.jsonl", [{"data": found, "meta": {}}])


main()
