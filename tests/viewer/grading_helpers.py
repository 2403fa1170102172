"""Runs to show: a few cases of every kind, graded for real."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from callmark.grading.settings import GradingSettings
from callmark.runs.grade import grade_predictions
from callmark.runs.run import Run
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows


def talks(path: Path, number: int = 3) -> Path:
    """Conversations, each of three calls: two alone, and the second of two made at once is the third."""
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
    """A decision point."""
    return {
        **row(user("How is Bonn?"), tools=[WEATHER], id=name),
        "expected_output": {"role": "assistant", "tool_calls": list(expected)},
        **more,
    }


def answer(name: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"case": name, "calls": [{"name": one["function"]["name"], "arguments": one["function"]["arguments"]} for one in calls], **more}


def graded(folder: Path, cases: Path | Sequence[dict[str, Any]], answers: Sequence[Any], name: str = "base") -> Run:
    """The run of these answers, in `folder/runs`."""
    file = cases if isinstance(cases, Path) else write_rows(folder / f"{name}-cases.jsonl", *cases)
    predictions = write_rows(folder / f"{name}-answers.jsonl", *answers)
    found = grade_predictions(str(file), [str(predictions)], GradingSettings(), out=str(folder / "runs"), name=name)
    return Run(found.folder.path)


def changed(run: Run, **more: Any) -> None:
    """Change what `run.json` says."""
    path = Path(run.folder.file("run.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
