"""Evaluator `process`: was the business process carried out? (docs/reference/metrics.md, section 8)

The case of names is ignored, arguments are compared by `similar`, and ignored functions are dropped from both sides. Nothing expected and
no call: all 1. No pair otherwise: all 0. No arguments on a side: 1. Values are not rounded. Precision and recall are also pooled over a
run: all pairs / all actual calls, and all pairs / all expected calls.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from callmark.calls.pairing import ArgumentComparison
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Dependency, FaultRule, Metric, Result
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS, read_ignore, without_ignored

_NAMES = ("precision", "recall", "args_precision", "args_recall", "reliability")


class ProcessEvaluator(Struct, frozen=True):
    """Precision and recall of calls and of their arguments. `reliability` is 1 if all four are 1.

    `averaging`: pool the argument metrics over all pairs (`micro`), or average them over the pairs (`macro`). `ignore` are globs of
    functions to ignore.
    """

    ignore: tuple[str, ...] = IGNORED_FUNCTIONS
    averaging: Literal["micro", "macro"] = "micro"

    name: ClassVar[str] = "process"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("precision", "precision"),
        Metric("recall", "recall"),
        Metric("args_precision", "argument precision"),
        Metric("args_recall", "argument recall"),
        Metric("reliability", "reliability", kind="rate", headline=True),
    )
    depends_on: ClassVar[tuple[Dependency, ...]] = ("agreement",)
    counts_faults: ClassVar[FaultRule] = "similar"

    def __post_init__(self) -> None:
        force_setattr(self, "ignore", read_ignore(self.ignore))
        if self.averaging not in ("micro", "macro"):
            raise BadInput(f"averaging: expected micro or macro, got {self.averaging!r}")

    def evaluate(self, attempt: Attempt) -> Result:
        if attempt.pair().perfect:  # it is also perfect without the ignored functions and by the more lenient rule
            calls = len(without_ignored(attempt.expected, self.ignore))
            return Result(dict.fromkeys(_NAMES, 1.0), pooled=_pooled(calls, calls, calls))
        pairing = attempt.pair("similar", self.ignore)
        pairs = [pair.arguments for pair in pairing.pairs]
        expected, actual = len(pairs) + len(pairing.unpaired_expected), len(pairs) + len(pairing.unpaired_actual)
        pooled = _pooled(len(pairs), expected, actual)
        if not expected and not actual:
            return Result(dict.fromkeys(_NAMES, 1.0), pooled=pooled)
        if not pairs:
            return Result(dict.fromkeys(_NAMES, 0.0), pooled=pooled)
        if self.averaging == "micro":
            args_precision = _share(sum(pair.agree for pair in pairs), sum(pair.actual for pair in pairs))
            args_recall = _share(sum(pair.agree for pair in pairs), sum(pair.expected for pair in pairs))
        else:
            args_precision, args_recall = _mean(pairs, "actual"), _mean(pairs, "expected")
        values = (len(pairs) / actual, len(pairs) / expected, args_precision, args_recall)
        return Result(dict(zip(_NAMES, (*values, float(all(value == 1 for value in values))), strict=True)), pooled=pooled)


def _pooled(pairs: int, expected: int, actual: int) -> dict[str, tuple[float, float]]:
    return {"precision": (float(pairs), float(actual)), "recall": (float(pairs), float(expected))}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _mean(pairs: Sequence[ArgumentComparison], side: Literal["actual", "expected"]) -> float:
    return sum(_share(pair.agree, getattr(pair, side)) for pair in pairs) / len(pairs)
