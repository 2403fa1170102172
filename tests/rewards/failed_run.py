"""A graded run with two trials on the hotel's decision points, in which some calls are wrong, missing or malformed."""

import json
from pathlib import Path
from random import Random
from typing import Any

import callmark
from callmark import Run
from callmark.formats import write_lines
from tests.rewards.corpus import cases, read_arguments

TRIALS = 2


def hotel_cases(start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """Return the decision points of some conversations, by the order of the conversations."""
    rows = cases()
    conversations = list(dict.fromkeys(row["source"]["conversation"] for row in rows))[start:stop]
    return [row for row in rows if row["source"]["conversation"] in conversations]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    write_lines(str(path), [json.dumps(row, ensure_ascii=False).encode() for row in rows])
    return path


def failed_run(folder: Path, rows: list[dict[str, Any]], *, seed: int = 1, name: str = "base") -> Run:
    """Grade predictions for these cases, whose file is `cases.jsonl` in the folder."""
    path = write_rows(folder / "cases.jsonl", rows)
    random = Random(seed)
    predictions = [_prediction(row, trial, random) for trial in range(TRIALS) for row in rows]
    return callmark.grade(path, predictions=predictions, out=folder / "runs", name=name)


def _prediction(row: dict[str, Any], trial: int, random: Random) -> dict[str, Any]:
    calls = json.loads(json.dumps(row["expected_output"]["tool_calls"]))
    kind, text = random.random(), ""
    for call in calls:
        function = call["function"]
        if kind < 0.3:
            key = next(iter(read_arguments(function["arguments"])), None)
            function["arguments"] = json.dumps({**read_arguments(function["arguments"]), **({key: "wrong"} if key else {})})
        elif kind < 0.4:
            function["name"] = "get_guest"
        elif kind < 0.5:
            function["arguments"] = '{"guest_id": '
        elif kind > 0.9:
            text = "Let me see."
    if 0.5 <= kind < 0.6:
        calls, text = [], "Which one do you mean?"
    if not calls and not text and kind < 0.9:
        text = "You are welcome."
    return {"id": row["id"], "trial": trial, "tool_calls": calls, "text": text}
