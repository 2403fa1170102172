"""Build small graded runs to show."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from callmark.grading.settings import GradingSettings
from callmark.runs.grade import grade_predictions
from callmark.runs.run import Run
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows


def write_conversations(path: Path, number: int = 3) -> Path:
    """Write conversations of three calls each: one alone, and two in one message."""
    return write_rows(
        path,
        *(
            row(
                user(f"How is Bonn{n}, and then Ulm?"),
                assistant(call("get_weather", {"city": f"Bonn{n}"}, "1")),
                result("sunny", "1"),
                assistant(call("get_weather", {"city": "Ulm"}, "2"), call("get_weather", {"city": "Ulm", "days": 2}, "3"), text="And Ulm."),
                result("rain", "2"),
                result("more rain", "3"),
                assistant(text="Bonn is sunny, Ulm is not."),
                tools=[WEATHER],
                id=f"t{n}",
            )
            for n in range(number)
        ),
    )


def case(name: str, expected: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    """Return the row of a decision point."""
    return {
        **row(user("How is Bonn?"), tools=[WEATHER], id=name),
        "expected_output": {"role": "assistant", "tool_calls": list(expected)},
        **more,
    }


def predicted(name: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"case": name, "calls": [{"name": one["function"]["name"], "arguments": one["function"]["arguments"]} for one in calls], **more}


def grade_run(folder: Path, cases: Path | Sequence[dict[str, Any]], rows: Sequence[Any], name: str = "base") -> Run:
    """Grade these predictions into a run in `folder/runs`."""
    file = cases if isinstance(cases, Path) else write_rows(folder / f"{name}-cases.jsonl", *cases)
    predictions = write_rows(folder / f"{name}-predictions.jsonl", *rows)
    found = grade_predictions(str(file), [str(predictions)], GradingSettings(), out=str(folder / "runs"), name=name)
    return Run(found.folder.path)


def edit_manifest(run: Run, **more: Any) -> None:
    """Replace keys of `run.json`."""
    path = Path(run.folder.file("run.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
