"""The numbers of a run by file, for scenarios from a folder. The numbers of all files add up to those of the run."""

from msgspec import Struct

from callmark.analysis.breakdowns import bounded
from callmark.grading.record import GradeRecord


class FileSummary(Struct, frozen=True):
    """One file: its cases, its predictions (those scored, errors, and those with only evaluator errors), and the mean of each metric."""

    name: str
    cases: int
    graded: int
    scored: int
    errors: int
    means: dict[str, float]


class FileTally:
    """Counts grades one by one. Grades without a file are not counted; the trials of a case are consecutive."""

    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {}
        self._sums: dict[str, dict[str, tuple[int, float]]] = {}
        self._last_case = ""

    def add(self, grade: GradeRecord, *, is_scored: bool) -> None:
        """Count one grade."""
        if not grade.file:
            return
        name = bounded(self._counts, grade.file)
        counts = self._counts.setdefault(name, _Counts())
        counts.cases += grade.case != self._last_case
        counts.graded += 1
        counts.scored += is_scored
        counts.errors += bool(grade.error)
        self._last_case = grade.case
        if is_scored:
            sums = self._sums.setdefault(name, {})
            for metric, value in grade.metrics.items():
                n, total = sums.get(metric, (0, 0.0))
                sums[metric] = n + 1, total + value

    def files(self) -> list[FileSummary]:
        """Return the files so far, by name."""
        return [self._summary(name, counts) for name, counts in sorted(self._counts.items())]

    def _summary(self, name: str, counts: "_Counts") -> FileSummary:
        means = {metric: total / n for metric, (n, total) in self._sums.get(name, {}).items()}
        return FileSummary(name, counts.cases, counts.graded, counts.scored, counts.errors, means)


class _Counts(Struct):
    cases: int = 0
    graded: int = 0
    scored: int = 0
    errors: int = 0
