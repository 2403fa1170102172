"""Evaluator `effort`: how many calls and user turns were used, compared with how many are needed.

    effort.calls   expected calls / actual calls, at most 1, without ignored functions
    effort.turns   user turns that the scenario needs / actual user turns, at most 1

If nothing was used, the value is 1 if nothing is needed, else 0. `turns` is not applicable without `data.turns` in the scenario (a number
above 0), and without a transcript. Whether the goal was reached is up to other evaluators.
"""

from typing import ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS, read_ignore, without_ignored


class EffortEvaluator(Struct, frozen=True):
    """Needed calls and turns, divided by those used. `ignore` are globs of functions to ignore."""

    ignore: tuple[str, ...] = IGNORED_FUNCTIONS

    name: ClassVar[str] = "effort"
    metrics: ClassVar[tuple[Metric, ...]] = (Metric("calls", "call efficiency"), Metric("turns", "turn efficiency"))

    def __post_init__(self) -> None:
        force_setattr(self, "ignore", read_ignore(self.ignore))

    def evaluate(self, attempt: Attempt) -> Result:
        expected, actual = (without_ignored(calls, self.ignore) for calls in (attempt.expected, attempt.actual))
        needed, used = _needed_turns(attempt), _user_turns(attempt)
        turns = None if needed is None or used is None else _share(needed, used)
        return Result({"calls": _share(len(expected), len(actual)), "turns": turns})


def _needed_turns(attempt: Attempt) -> float | None:
    turns = attempt.case.data.get("turns") if attempt.case is not None else None
    return turns if isinstance(turns, int | float) and not isinstance(turns, bool) and 0 < turns < float("inf") else None


def _user_turns(attempt: Attempt) -> int | None:
    transcript = attempt.prediction.transcript if attempt.prediction is not None else ()
    return sum(message.role == "user" and bool(message.text.strip()) for message in transcript) if transcript else None


def _share(needed: float, used: int) -> float:
    if not used:
        return float(not needed)
    return min(needed / used, 1.0)
