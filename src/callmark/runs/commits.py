"""Count predictions as done once they are on disk, without making requests wait for the disk.

Predictions that arrive while one `sync` runs share the next one. A disk that cannot be written raises `StorageError` with the next
prediction, or at the end.
"""

import asyncio
from collections.abc import Callable

from callmark.errors import StorageError
from callmark.runs.journal import Journal
from callmark.types import Case, Prediction


class Commits:
    """The predictions of one run on their way to the disk. `done` is called with each of them, in order, when it is there."""

    def __init__(self, journal: Journal, done: Callable[[Case, Prediction], None]) -> None:
        self._journal = journal
        self._done = done
        self._waiting: list[tuple[Case, Prediction]] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, case: Case, prediction: Prediction) -> None:
        """Write a prediction, and commit it soon."""
        if self._task is not None and self._task.done():
            self._task.result()  # raises if the disk cannot be written
            self._task = None
        self._journal.add(prediction)
        self._waiting.append((case, prediction))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._commit())

    async def finish(self) -> None:
        """Return when every prediction has been committed."""
        if self._task is not None:
            await self._task

    def abort(self) -> None:
        """Commit what was written before an error or an interruption. A disk that cannot be written leaves it uncommitted."""
        if self._task is not None and not self._task.cancel() and not self._task.cancelled():
            self._task.exception()  # it is being reported
        try:
            self._journal.sync()
        except StorageError:
            return
        self._report(len(self._waiting))

    async def _commit(self) -> None:
        while self._waiting:
            written = len(self._waiting)
            await asyncio.to_thread(self._journal.sync)
            self._report(written)

    def _report(self, count: int) -> None:
        committed, self._waiting = self._waiting[:count], self._waiting[count:]
        for case, prediction in committed:
            self._done(case, prediction)
