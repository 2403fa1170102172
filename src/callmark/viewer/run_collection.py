"""The runs of a folder, for the viewer. A request names a run, which is looked up among them: no path is built from a request.

Folders that are not runs, unreadable runs and links that lead out of the folder are skipped. A folder that is itself a run shows that run.
"""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from callmark.analysis.summary import Summary
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.compare import compare_runs
from callmark.runs.manifest import Manifest
from callmark.runs.run import Run, headline_metric
from callmark.runs.store import GRADES, PREDICTIONS, RUN, SUMMARY, RunFolder, is_run
from callmark.viewer.opened_run import OpenedRun
from callmark.viewer.page_data import comparison_data, run_list_entry
from callmark.viewer.priority_gate import PriorityGate
from callmark.viewer.run_in_progress import RunInProgress

Stamp = tuple[tuple[int, int], ...]
_PLAIN_NAME = re.compile(r"(?!\.+$)[\w .-]{1,200}")  # a name without path separators
_MAY_BE_LINKS = (RUN, GRADES, SUMMARY, PREDICTIONS)
_MAX_OPEN = 6  # runs, and as many comparisons
_LIST_TIME = 0.4  # seconds that a request for the list waits for metrics
_SMALL_GRADES = 5_000_000  # bytes of grades that are read while a request waits


class NotFound(BadInput):
    """There is no run or case with that name."""


class PathTraversal(NotFound):
    """A name that would lead out of the folder if a path were built from it."""


class RunCollection:
    """The runs in a folder. A folder that does not exist raises `BadInput`."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise BadInput(f"{scrub(path)}: no such folder", "Pass a folder with runs: callmark view DIR.")
        self._real_path = os.path.realpath(path)
        self._lock = Lock()
        self.priority = PriorityGate()
        self._open_runs: dict[str, tuple[Stamp, OpenedRun | RunInProgress]] = {}
        self._summaries: dict[str, tuple[Stamp, Summary | None]] = {}
        self._comparisons: dict[tuple[tuple[str, Stamp], ...], dict[str, Any]] = {}
        self._counting: Thread | None = None

    def runs(self) -> dict[str, Path]:
        """Return the run folders, by name."""
        return {name: path for name, path in self._folders() if self._is_shown(path)}

    def _folders(self) -> list[tuple[str, Path]]:
        """Return the names and paths of the folders that may be runs."""
        if is_run(str(self.path)):
            return [(scrub(os.path.basename(self._real_path)), self.path)]
        with os.scandir(self.path) as entries:
            return [(scrub(entry.name), Path(entry.path)) for entry in sorted(entries, key=lambda entry: entry.name) if entry.is_dir()]

    def list_data(self) -> dict[str, Any]:
        """Return all runs, newest first, and whether all their metrics are known."""
        deadline = time.monotonic() + _LIST_TIME
        entries: list[dict[str, Any]] = []
        uncounted: list[tuple[str, Path]] = []
        for name, path in self.runs().items():
            try:
                info = RunFolder(path).read()
            except BadInput:
                continue
            summary = None
            if not _is_in_progress(path, info):
                summary, more = self._summary(name, path, deadline)
                if more:
                    uncounted.append((name, path))
            headline = summary.metrics.get(headline_metric(info)) if summary else None
            scored, errors = (summary.scored, summary.errors) if summary else (None, None)
            predictions = _count_predictions(path, info)
            entries.append(run_list_entry(name, info, headline, scored=scored, errors=errors, predictions=predictions))
        if uncounted and (self._counting is None or not self._counting.is_alive()):
            self._counting = Thread(target=self._count_all, args=(uncounted,), name="counting", daemon=True)
            self._counting.start()
        return {"runs": sorted(entries, key=lambda run: (run["created"], run["name"]), reverse=True), "ready": not uncounted}

    def open_run(self, name: str) -> OpenedRun | RunInProgress:
        """Return a run, which is read again only when its files change. An unknown name raises `NotFound`."""
        (path,) = self._paths([name])
        with self._lock:
            stamp = _stamp(path)
            opened = self._open_runs.pop(name, None)
            if opened is not None and opened[0] != stamp:
                opened[1].close()
                opened = None
            if opened is None:
                in_progress = _is_in_progress(path, RunFolder(path).read())
                opened = stamp, RunInProgress(name, str(path)) if in_progress else OpenedRun(name, str(path), self.priority)
            self._open_runs[name] = opened  # the most recently requested run is closed last
            while len(self._open_runs) > _MAX_OPEN:
                self._open_runs.pop(next(iter(self._open_runs)))[1].close()
            return opened[1]

    def comparison_data(self, names: Sequence[str]) -> dict[str, Any]:
        """Return runs compared with the first. An unfinished run raises `BadInput`."""
        paths = self._paths(names)
        for name, path in zip(names, paths, strict=True):
            if _is_in_progress(path, RunFolder(path).read()):
                raise BadInput(f"{name} is not finished", "Wait until it is, or resume it, then compare.")
        key = tuple((name, _stamp(path)) for name, path in zip(names, paths, strict=True))
        found = self._comparisons.get(key)
        if found is None:
            runs = [Run(path) for path in paths]
            definitions = {metric: definition for run in runs for metric, definition in run.info.metrics.items()}
            found = self._comparisons[key] = comparison_data(names, compare_runs(runs, common=True, labels=names), definitions)
            while len(self._comparisons) > _MAX_OPEN:
                self._comparisons.pop(next(iter(self._comparisons)))
        return found

    def _paths(self, names: Sequence[str]) -> list[Path]:
        candidates = [(name, path) for name, path in self._folders() if name in names]
        shown = {name: path for name, path in candidates if self._is_shown(path)}
        for name in names:
            if name not in shown:
                is_unused = _PLAIN_NAME.fullmatch(name) and not os.path.lexists(self.path / name)
                raise (NotFound if is_unused else PathTraversal)(
                    "No such run in this folder", "Click “callmark” at the top for the list of runs."
                )
        return [shown[name] for name in names]

    def _is_shown(self, path: Path) -> bool:
        """Return whether a path is a run whose files are in the folder once links are resolved."""
        if not is_run(str(path)):
            return False
        real = os.path.realpath(path)
        links = [name for name in _MAY_BE_LINKS if os.path.islink(os.path.join(real, name))]
        inside = self._real_path
        return all(os.path.commonpath([inside, os.path.realpath(os.path.join(real, name))]) == inside for name in ("", *links))

    def _summary(self, name: str, path: Path, deadline: float) -> tuple[Summary | None, bool]:
        """Return the summary of a run, None if it is not known, and whether it has to be counted."""
        stamp, summary = self._summaries.get(name, ((), None))
        if stamp == _stamp(path):
            return summary, False
        if time.monotonic() >= deadline:
            return None, True
        if _size(path / GRADES) < _SMALL_GRADES:
            return self._count(name, path), False
        stored = self._stored_summary(name, path)
        return stored, stored is None

    def _count_all(self, uncounted: Sequence[tuple[str, Path]]) -> None:
        """Count the runs whose metrics are missing from the list."""
        for name, path in uncounted:
            if self._stored_summary(name, path) is None:
                self._count(name, path, in_background=True)

    def _stored_summary(self, name: str, path: Path) -> Summary | None:
        """Return the summary that grading stored, if it has the headline metric with its interval."""
        stamp = _stamp(path)
        with suppress(BadInput):  # opening the run raises it again
            run = Run(path)
            summary = run.stored_summary()
            headline = summary.metrics.get(run.headline) if summary else None
            if headline is not None and headline.low is not None:
                self._summaries[name] = (stamp, summary)
                return summary
        return None

    def _count(self, name: str, path: Path, *, in_background: bool = False) -> Summary | None:
        stamp = _stamp(path)
        summary: Summary | None = None
        with suppress(BadInput):
            run = Run(path)
            tally = run.tally(detailed=False)
            for grade in self.priority.in_background(run.grades()) if in_background else run.grades():
                tally.add(grade)
            summary = tally.summary(intervals="headline")
        self._summaries[name] = (stamp, summary)
        return summary


def _is_in_progress(path: Path, info: Manifest) -> bool:
    return info.status == "running" or not (path / GRADES).is_file()


def _count_predictions(path: Path, info: Manifest) -> int:
    if not _is_in_progress(path, info):
        return info.model_run.predictions if info.model_run else info.cases
    try:
        with (path / PREDICTIONS).open("rb") as lines:
            return sum(1 for _ in lines)
    except OSError:
        return 0


def _stamp(path: Path) -> Stamp:
    """Return times and sizes that change when a run is written, except of predictions: they only grow, and a run in progress reads on."""
    return tuple(_stat(path / name) for name in (RUN, GRADES))


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _size(path: Path) -> int:
    return _stat(path)[1]
