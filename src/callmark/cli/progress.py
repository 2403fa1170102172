"""Progress bars on standard error: shown once a command takes longer than a second, and only on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from callmark.formats import Dataset
from callmark.types import Conversation

PATIENCE = 1.0  # seconds before a progress bar shows
_ROWS_PER_UPDATE = 256


class TrackedDataset(Dataset):
    """A dataset that shows a progress bar while it is read."""

    def __iter__(self) -> Iterator[Conversation]:
        rows = super().__iter__()
        if not sys.stderr.isatty():
            yield from rows
            return
        started = time.monotonic()
        for count, row in enumerate(rows, 1):
            yield row
            if count % _ROWS_PER_UPDATE == 0 and time.monotonic() - started > PATIENCE:
                break
        else:
            return
        yield from self._with_bar(rows)

    def _with_bar(self, rows: Iterator[Conversation]) -> Iterator[Conversation]:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        from callmark.reporting.terminal import make_progress

        file = self.rows
        total = file.size if file and file.size else None
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]:,} rows"), TimeRemainingColumn())
        with make_progress(*columns) as progress:
            progress.start()
            task = progress.add_task("reading", total=total, count=0)
            for count, row in enumerate(rows, 1):
                yield row
                if count % _ROWS_PER_UPDATE == 0 and file:
                    progress.update(task, completed=file.position, count=count)


@contextmanager
def grading_bar() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback for the number of graded cases and of all cases."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    from callmark.reporting.terminal import make_progress

    started = time.monotonic()
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with make_progress(*columns) as progress:
        task = progress.add_task("grading")

        def update(done: int, total: int) -> None:
            if time.monotonic() - started > PATIENCE:
                progress.start()
                progress.update(task, completed=done, total=total)

        yield update
