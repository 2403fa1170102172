"""Evaluator `effort`: what it took to get there, against what is needed. It says nothing of whether it got there.

    effort.calls   calls expected / calls made, at most 1; functions on the ignore list of `process` dropped from both
    effort.turns   user turns that the scenario says are needed / times that the user said something, at most 1

Nothing used is 1 where nothing is needed, else 0. No number for turns where the scenario does not say (`data.turns`, a number above 0), or
there is no transcript to count them in.
"""

from typing import ClassVar

from msgspec import Struct

from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.process import IGNORED, ProcessEvaluator
from callmark.types import Metrics


class EffortEvaluator(Struct, frozen=True):
    """`ignore`: globs of functions that are not counted."""

    name: ClassVar[str] = "effort"
    metrics: ClassVar[tuple[str, ...]] = ("calls", "turns")
    ignore: tuple[str, ...] = IGNORED

    def __call__(self, attempt: Attempt) -> Metrics:
        process = ProcessEvaluator(self.ignore)
        numbers = {"calls": _share(len(process.counted(attempt.expected)), len(process.counted(attempt.actual)))}
        needed, used = _needed_turns(attempt), _turns(attempt)
        return numbers if needed is None or used is None else {**numbers, "turns": _share(needed, used)}


def _needed_turns(attempt: Attempt) -> float | None:
    given = attempt.case.data.get("turns") if attempt.case is not None else None
    return given if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < float("inf") else None


def _turns(attempt: Attempt) -> int | None:
    """How often the user said something; None where nobody wrote it down."""
    transcript = attempt.prediction.transcript if attempt.prediction is not None else ()
    return sum(message.role == "user" and bool(message.text.strip()) for message in transcript) if transcript else None


def _share(needed: float, used: int) -> float:
    if not used:
        return float(not needed)
    return min(needed / used, 1.0)
