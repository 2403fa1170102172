"""Predictions count as done when they are on disk, and not before."""

import asyncio
import errno
from pathlib import Path
from threading import Event

import pytest

from callmark.errors import StorageError
from callmark.runs import journal as journals
from callmark.runs.commits import Commits
from callmark.runs.journal import Journal
from callmark.types import Case, Prediction


class Disk:
    """Records each sync: the number of lines that it makes safe. While `blocked`, a sync waits."""

    def __init__(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = file
        self.safe = 0
        self.syncs = 0
        self.full = False
        self.free = Event()
        self.free.set()
        monkeypatch.setattr(journals, "_sync", self.sync)

    def sync(self, descriptor: int) -> None:
        written = self.file.read_bytes().count(b"\n")
        assert self.free.wait(5)
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.safe, self.syncs = written, self.syncs + 1


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path / "p.jsonl", monkeypatch)


def predict(commits: Commits, *names: str) -> None:
    for name in names:
        commits.add(Case(name), Prediction(name))


def test_every_prediction_is_on_disk_when_it_counts(disk: Disk) -> None:
    done: list[str] = []

    def count(case: Case, prediction: Prediction) -> None:
        done.append(case.id)
        assert len(done) <= disk.safe

    async def run() -> None:
        with Journal(str(disk.file)) as journal:
            commits = Commits(journal, count)
            for number in range(20):
                predict(commits, *(f"{number}.{each}" for each in range(number % 4)))
                await asyncio.sleep(0)
            await commits.finish()

    asyncio.run(run())
    assert done == [f"{number}.{each}" for number in range(20) for each in range(number % 4)]


def test_predictions_that_arrive_during_a_sync_share_the_next_one(disk: Disk) -> None:
    done: list[str] = []

    async def run() -> None:
        with Journal(str(disk.file)) as journal:
            commits = Commits(journal, lambda case, prediction: done.append(case.id))
            disk.free.clear()
            predict(commits, "a")
            await asyncio.sleep(0.05)
            for name in "bcdefgh":
                predict(commits, name)
                await asyncio.sleep(0)
            assert done == []
            disk.free.set()
            await commits.finish()
        assert done == list("abcdefgh")

    asyncio.run(run())
    assert disk.syncs == 2


def test_a_full_disk_is_reported_with_the_next_prediction_or_at_the_end(disk: Disk) -> None:
    done: list[str] = []

    async def run(*, then_add: bool) -> None:
        with Journal(str(disk.file)) as journal:
            commits = Commits(journal, lambda case, prediction: done.append(case.id))
            predict(commits, "a")
            if then_add:
                await asyncio.sleep(0.1)
                predict(commits, "b")
            await commits.finish()

    disk.full = True
    for then_add in (True, False):
        with pytest.raises(StorageError, match="p.jsonl: cannot be written: No space left on device"):
            asyncio.run(run(then_add=then_add))
    assert done == []


@pytest.mark.parametrize("full", [False, True])
def test_an_interruption_commits_what_can_be_committed(disk: Disk, full: bool) -> None:
    done: list[str] = []

    async def run() -> None:
        with Journal(str(disk.file)) as journal:
            commits = Commits(journal, lambda case, prediction: done.append(case.id))
            predict(commits, "a", "b")
            await asyncio.sleep(0)
            predict(commits, "c")
            disk.full = full
            commits.abort()

    asyncio.run(run())
    assert done == ([] if full else ["a", "b", "c"])
