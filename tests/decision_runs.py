"""Two runs with the evaluators `process` and `decision`: cases that expect a call, no call, and a behavior of the reply."""

from pathlib import Path
from typing import Any

import callmark
from callmark.runs.run import Run
from tests.rows import WEATHER, assistant, call, row, user, write_rows

BONN = call("get_weather", {"city": "Bonn"})
ROME = call("get_weather", {"city": "Rome"})


def _case(name: str, expected: dict[str, Any]) -> dict[str, Any]:
    return row(user("How is Bonn?"), tools=[WEATHER], id=name, expected_output=expected)


def decision_runs(folder: Path) -> tuple[Run, Run]:
    """Grade `base` and `tuned` on 30 cases: 10 expect a call, 10 expect two calls, and 10 expect no call and a question.

    `base` makes no call in 2 of the 10 with one call, half of the calls in the 10 with two, and a call with a hallucinated city in 3 of
    the 10 without one; where it makes none, it answers instead of asking. `tuned` makes no such mistake.
    """
    one = [_case(f"one{n}", assistant(BONN)) for n in range(10)]
    two = [_case(f"two{n}", assistant(BONN, {**BONN, "id": "c2"})) for n in range(10)]
    none = [_case(f"none{n}", {"role": "assistant", "content": "Which day?", "behavior": "ask"}) for n in range(10)]
    file = write_rows(folder / "eval.jsonl", *one, *two, *none)
    base = [
        *({"id": f"one{n}", **(assistant(text="Sunny.") if n < 2 else assistant(BONN))} for n in range(10)),
        *({"id": f"two{n}", **assistant(BONN)} for n in range(10)),
        *({"id": f"none{n}", **(assistant(ROME) if n < 3 else assistant(text="Sunny."))} for n in range(10)),
    ]
    tuned = [
        *({"id": f"one{n}", **assistant(BONN)} for n in range(10)),
        *({"id": f"two{n}", **assistant(BONN, {**BONN, "id": "c2"})} for n in range(10)),
        *({"id": f"none{n}", **assistant(text="Which day?")} for n in range(10)),
    ]
    first, second = (
        callmark.grade(
            str(file),
            predictions=str(write_rows(folder / f"{name}.jsonl", *predictions)),
            evaluators=["call", "process", "decision"],
            out=str(folder / "runs"),
            name=name,
        )
        for name, predictions in (("base", base), ("tuned", tuned))
    )
    return first, second
