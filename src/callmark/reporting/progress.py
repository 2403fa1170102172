"""Progress bars of a run: for each model the rate, the time left, errors and the mean score so far. Printed to standard error, and only
where that is a terminal.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from callmark.analysis.numbers import format_score
from callmark.reporting.safety import short_name
from callmark.reporting.terminal import make_progress
from callmark.types import Prediction
from callmark.wording import pluralize

_MAX_NAME = 30


class ProgressBars:
    """One progress bar for each model."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._scores: dict[str, tuple[int, float]] = {}
        self._errors: dict[str, int] = {}

    def start(self, label: str, *, done: int, total: int) -> None:
        """Show the bar of a model; `done` predictions exist already. Nothing is shown before, so that questions can be asked."""
        self._progress.start()
        self._tasks[label] = self._progress.add_task(short_name(label, _MAX_NAME), total=total, completed=done, status="")

    def advance(self, label: str, prediction: Prediction, score: float | None) -> None:
        """Count a prediction; without a score it is an error."""
        if score is None:
            self._errors[label] = self._errors.get(label, 0) + 1
        else:
            count, total = self._scores.get(label, (0, 0.0))
            self._scores[label] = (count + 1, total + score)
        self._progress.update(self._tasks[label], advance=1, status=self._status(label))

    def _status(self, label: str) -> str:
        count, total = self._scores.get(label, (0, 0.0))
        errors = self._errors.get(label, 0)
        parts = [f"score {format_score(total / count)}"] if count else []
        return " · ".join([*parts, *([pluralize(errors, "error")] if errors else [])])


class _Rate(TextColumn):
    """Predictions per second since the start."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: "object") -> Text:
        speed = getattr(task, "speed", None)
        return Text(f"{speed:,.0f}/s" if speed and speed >= 10 else f"{speed:.1f}/s" if speed else "", style="dim")


@contextmanager
def progress_bars() -> Iterator[ProgressBars | None]:
    """Open progress bars; None where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}", markup=False),
    )
    with make_progress(*columns) as progress:
        yield ProgressBars(progress)
