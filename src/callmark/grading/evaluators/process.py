"""Evaluator `process`: was the business process carried out? (docs/metrics.md, section 8)

Names in any case, arguments by `similar`, functions on the ignore list dropped from both sides. Nothing expected and nothing made:
all 1. No pair otherwise: all 0. No arguments on a side: 1. Never rounded.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Literal

from msgspec import Struct

from callmark.calls.globs import fits_glob
from callmark.calls.pairing import Comparison, pair
from callmark.grading.attempt import Attempt
from callmark.types import Call, Metrics

IGNORED = ("CommonPlugin-*", "*ask_clarification")


class ProcessEvaluator(Struct, frozen=True):
    """`averaging`: the argument metrics pooled over all pairs (`micro`), or their mean over the pairs (`macro`)."""

    name: ClassVar[str] = "process"
    metrics: ClassVar[tuple[str, ...]] = ("precision", "recall", "args_precision", "args_recall", "reliability")
    ignore: tuple[str, ...] = IGNORED
    averaging: Literal["micro", "macro"] = "micro"

    def __call__(self, attempt: Attempt) -> Metrics:
        if attempt.pairing.perfect:  # then so is what is left of it without the ignored ones, by the laxer rule too
            return dict.fromkeys(self.metrics, 1.0)
        expected, actual = self.counted(attempt.expected), self.counted(attempt.actual)
        if not expected and not actual:
            return dict.fromkeys(self.metrics, 1.0)
        compared = self._compared(expected, actual, attempt)
        if not compared:
            return dict.fromkeys(self.metrics, 0.0)
        if self.averaging == "micro":
            args_precision = _share(sum(one.agree for one in compared), sum(one.made for one in compared))
            args_recall = _share(sum(one.agree for one in compared), sum(one.expected for one in compared))
        else:
            args_precision, args_recall = _mean(compared, "made"), _mean(compared, "expected")
        values = {
            "precision": len(compared) / len(actual),
            "recall": len(compared) / len(expected),
            "args_precision": args_precision,
            "args_recall": args_recall,
        }
        return {**values, "reliability": float(all(value == 1 for value in values.values()))}

    @staticmethod
    def _compared(expected: Sequence[Call], actual: Sequence[Call], attempt: Attempt) -> list[Comparison]:
        if len(expected) == len(actual) == 1 and attempt.one_by_similar is not None:
            return [attempt.one_by_similar]
        return [one.arguments for one in pair(expected, actual, rule="similar", any_case=True, parameters=attempt.parameters).pairs]

    def counted(self, calls: Sequence[Call]) -> list[Call]:
        """The calls less those on the ignore list."""
        return [call for call in calls if not self.ignores(call.name)]

    def ignores(self, name: str) -> bool:
        return _ignores(self.ignore, name)


@lru_cache(maxsize=4096)
def _ignores(ignore: tuple[str, ...], name: str) -> bool:
    return any(fits_glob(glob.casefold(), name.casefold()) for glob in ignore)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _mean(compared: Sequence[Comparison], side: Literal["made", "expected"]) -> float:
    return sum(_share(one.agree, getattr(one, side)) for one in compared) / len(compared)
