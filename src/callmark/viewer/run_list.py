"""The list of the runs in a folder: each with its headline metric. It is returned within about a second, however many runs there are.

An entry is kept until the files of its run change. What takes too long (many new runs, large files) is left out at first and read in the
background: `ready` says whether anything is missing. Runs that cannot be read are not listed.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Literal

from msgspec import Struct

from callmark.analysis.summary import Summary
from callmark.errors import BadInput
from callmark.runs.manifest import Manifest
from callmark.runs.run import Run, headline_metric
from callmark.runs.store import GRADES, PREDICTIONS, RUN, RunFolder
from callmark.viewer.history import PassRates, history_entry
from callmark.viewer.page_data import run_list_entry
from callmark.viewer.page_json import MAX_ID, page_json, truncate
from callmark.viewer.priority_gate import PriorityGate

Stamp = tuple[tuple[int, int], ...]
EntryState = Literal["final", "uncounted", "in progress"]
_METRICS_TIME = 0.3  # seconds that a request for the list waits for metrics
_HISTORY_TIME = 0.6  # seconds that a request for the history does
_PASS_RATES_TIME = 0.1  # seconds that a request for the history reads trials
_MANIFESTS_TIME = 0.4  # seconds that it waits for runs that were not read before
_SMALL_GRADES = 5_000_000  # bytes of grades that are read while a request waits
_PIECE = 1 << 20  # bytes of predictions read at a time
_SMALL_MANIFEST = 100_000  # bytes of a run.json that is kept


class _Entry(Struct, frozen=True):
    """A run in the list, as data and as JSON; None if it cannot be read.

    A `final` entry changes only when its stamp does. An `uncounted` one lacks its metrics, and that of a run `in progress` grows: until
    they are final, a small manifest is kept, so that it is not read again.
    """

    stamp: Stamp
    data: dict[str, Any] | None = None
    text: bytes = b""
    state: EntryState = "final"
    info: Manifest | None = None
    history: dict[str, Any] = {}


class RunList:
    """The entries of the runs, and the summaries they show. One request at a time reads files; those that wait for it share its result."""

    def __init__(self, priority: PriorityGate, partial: Callable[[str], Summary | None] = lambda name: None) -> None:
        self._priority = priority
        self._partial = partial  # the summary of a run in progress so far
        self._partials: dict[str, Summary] = {}
        self._pass_rates = PassRates()
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}
        self._summaries: dict[str, tuple[Stamp, Summary | None]] = {}
        self._predictions: dict[str, tuple[int, int]] = {}  # bytes and lines read
        self._counting: Thread | None = None
        self._listed: tuple[float, bytes] = (0.0, b"")  # when reading began, and the list as JSON

    def data(self, runs: Mapping[str, Path]) -> dict[str, Any]:
        """Return all runs, newest first, and whether all of them and their metrics are known."""
        with self._lock:
            entries, ready = self._read(runs)
        return {"runs": [entry.data for entry in entries], "ready": ready}

    def json(self, find_runs: Callable[[], Mapping[str, Path]], arrived: float) -> bytes:
        """Return the same as JSON, for a request that arrived at that time. It is read only if no reading has begun since then."""
        with self._lock:
            if self._listed[0] < arrived:
                began = time.monotonic()
                entries, ready = self._read(find_runs())
                text = b'{"runs":[%b],"ready":%b}' % (b",".join(entry.text for entry in entries), b"true" if ready else b"false")
                self._listed = (began, text)
            return self._listed[1]

    def history(self, runs: Mapping[str, Path]) -> dict[str, Any]:
        """Return the history of all runs, newest first, and whether all numbers are known."""
        with self._lock:
            entries, ready = self._read(runs, _HISTORY_TIME)
            history = [dict(entry.history) for entry in entries]
            complete = self._pass_rates.add(history, runs, run_stamp, _PASS_RATES_TIME)
        return {"runs": history, "ready": ready and complete}

    def _read(self, runs: Mapping[str, Path], metrics_time: float = _METRICS_TIME) -> tuple[list[_Entry], bool]:
        with self._priority:  # each file that is opened would otherwise wait for the thread that counts
            return self._read_now(runs, metrics_time)

    def _read_now(self, runs: Mapping[str, Path], metrics_time: float) -> tuple[list[_Entry], bool]:
        began = time.monotonic()
        unread = [name for name, path in runs.items() if not self._read_entry(name, path, began + _MANIFESTS_TIME)]
        for name in self._entries.keys() - runs.keys():
            del self._entries[name]
            self._summaries.pop(name, None)
            self._predictions.pop(name, None)
            self._partials.pop(name, None)
        uncounted = [name for name in runs if name in self._entries and not self._count_soon(name, runs[name], began + metrics_time)]
        missing = [(name, runs[name]) for name in (*unread, *uncounted)]
        if missing and (self._counting is None or not self._counting.is_alive()):
            self._counting = Thread(target=self._count_all, args=(missing,), name="counting", daemon=True)
            self._counting.start()
        found = [entry for entry in self._entries.values() if entry.data is not None]
        found.sort(key=lambda entry: (entry.data["created"], entry.data["name"]) if entry.data else ("", ""), reverse=True)
        return found, not missing

    def _read_entry(self, name: str, path: Path, deadline: float) -> bool:
        """Read the entry of a run, if it has changed and there is time; return whether it is up to date, except for its metrics."""
        stamp = run_stamp(path)
        before = self._entries.get(name)
        is_current = before is not None and before.stamp == stamp
        if before is not None and is_current and before.state == "final":
            return True
        info = before.info if before is not None and is_current else None
        if info is None and time.monotonic() > deadline:
            return False
        folder = RunFolder(path)
        try:
            info = info or folder.read()
        except BadInput:
            self._entries[name] = _Entry(stamp)
            return True
        if is_in_progress(folder, info):
            predictions = self._count_predictions(name, folder, deadline)
            if time.monotonic() < deadline or name not in self._partials:
                with suppress(BadInput, OSError):  # opening the run raises it again
                    if summary := self._partial(name):
                        self._partials[name] = summary
            self._entries[name] = _new_entry(name, info, stamp, self._partials.get(name), predictions, state="in progress")
            return True
        counted, summary = self._summaries.get(name, ((), None))
        if counted == stamp:
            self._entries[name] = _new_entry(name, info, stamp, summary, _graded_predictions(info), state="final")
        elif not is_current:
            self._entries[name] = _new_entry(name, info, stamp, summary, _graded_predictions(info), state="uncounted")
        return True

    def _count_soon(self, name: str, path: Path, deadline: float) -> bool:
        """Count the metrics of a finished run if they are missing and there is time; return whether they are known."""
        entry = self._entries[name]
        if entry.state != "uncounted":
            return True
        if time.monotonic() >= deadline:
            return False
        if self._stored_summary(name, path) is None:
            if entry.stamp[1][1] >= _SMALL_GRADES:
                return False
            self._count(name, path)
        return self._read_entry(name, path, deadline)

    def _count_all(self, missing: Sequence[tuple[str, Path]]) -> None:
        """Count the runs whose metrics are missing from the list."""
        for name, path in missing:
            self._priority.wait_until_idle()
            if self._stored_summary(name, path) is None:
                self._count(name, path, in_background=True)

    def _stored_summary(self, name: str, path: Path) -> Summary | None:
        """Return the summary that grading stored, if it has the headline metric."""
        stamp = run_stamp(path)
        with suppress(BadInput, OSError):  # opening the run raises it again
            run = Run(path)
            summary = run.stored_summary()
            headline = summary.metrics.get(run.headline) if summary else None
            if headline is not None:
                self._summaries[name] = (stamp, summary)
                return summary
        return None

    def _count(self, name: str, path: Path, *, in_background: bool = False) -> Summary | None:
        stamp = run_stamp(path)
        summary: Summary | None = None
        with suppress(BadInput, OSError):
            run = Run(path)
            tally = run.tally(detailed=False)
            for grade in self._priority.in_background(run.grades()) if in_background else run.grades():
                tally.add(grade)
            summary = tally.summary()
        self._summaries[name] = (stamp, summary)
        return summary

    def _count_predictions(self, name: str, folder: RunFolder, deadline: float) -> int:
        """Return the number of predictions so far. Only what was written since the last time is read, as far as there is time."""
        size, count = self._predictions.get(name, (0, 0))
        with suppress(BadInput, OSError), folder.open(PREDICTIONS) as file:
            if os.fstat(file.fileno()).st_size < size:  # another run took its place
                size = count = 0
            file.seek(size)
            while time.monotonic() < deadline and (piece := file.read(_PIECE)):
                size, count = size + len(piece), count + piece.count(b"\n")
            self._predictions[name] = (size, count)
        return count


def is_in_progress(folder: RunFolder, info: Manifest) -> bool:
    """Return whether a run is not finished or not graded."""
    return info.status == "running" or not folder.has(GRADES)


def run_stamp(path: Path) -> Stamp:
    """Return times and sizes that change when a run is written, except of predictions: they only grow, and a run in progress reads on."""
    return tuple(_stat(f"{path}/{name}") for name in (RUN, GRADES))


def _stat(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _graded_predictions(info: Manifest) -> int:
    return info.model_run.predictions if info.model_run else info.cases


def _new_entry(name: str, info: Manifest, stamp: Stamp, summary: Summary | None, predictions: int, *, state: EntryState) -> _Entry:
    headline = summary.metrics.get(headline_metric(info)) if summary else None
    scored, errors = (summary.scored, summary.errors) if summary else (None, None)
    data = run_list_entry(name, info, headline, scored=scored, errors=errors, predictions=predictions)
    data = {key: truncate(value, MAX_ID) if isinstance(value, str) else value for key, value in data.items()}
    keeps_manifest = state != "final" and stamp[0][1] <= _SMALL_MANIFEST
    return _Entry(stamp, data, page_json(data), state, info if keeps_manifest else None, history_entry(name, info, summary))
