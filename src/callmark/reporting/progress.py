"""How asking goes, while it goes: for each model a bar, the rate, the time left, errors and the score so far. On standard error, and only
where someone is looking.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from callmark.reporting.grade_view import share
from callmark.reporting.safety import one_line
from callmark.types import Prediction

_NAME = 30


class Bars:
    """A bar for each model."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._scores: dict[str, tuple[int, float]] = {}
        self._errors: dict[str, int] = {}

    def begin(self, label: str, *, done: int, total: int) -> None:
        """A model is asked from now on; `done` answers were there before."""
        self._tasks[label] = self._progress.add_task(one_line(label, _NAME), total=total, completed=done, said="")

    def came(self, label: str, prediction: Prediction, score: float | None) -> None:
        """Something came back; without a score it is an error."""
        if score is None:
            self._errors[label] = self._errors.get(label, 0) + 1
        else:
            count, total = self._scores.get(label, (0, 0.0))
            self._scores[label] = (count + 1, total + score)
        self._progress.update(self._tasks[label], advance=1, said=self._said(label))

    def _said(self, label: str) -> str:
        count, total = self._scores.get(label, (0, 0.0))
        errors = self._errors.get(label, 0)
        parts = [f"score {share(total / count)}"] if count else []
        return " · ".join([*parts, *([f"{errors:,} errors"] if errors else [])])


class _Rate(TextColumn):
    """Answers a second since the asking began."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: "object") -> Text:
        speed = getattr(task, "speed", None)
        return Text(f"{speed:,.0f}/s" if speed and speed >= 10 else f"{speed:.1f}/s" if speed else "", style="dim")


@contextmanager
def watching() -> Iterator[Bars | None]:
    """Bars to be told of what comes; None where nobody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[said]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bars(progress)
