"""The runs of a folder, for the viewer. A request names a run, which is looked up among them: no path is built from a request.

Folders that are not runs, unreadable runs and links that lead out of the folder are skipped. A folder that is itself a run shows that run.
"""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from callmark.analysis.summary import Summary
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.compare import compare_runs
from callmark.runs.run import Run
from callmark.runs.store import GRADES, PREDICTIONS, RUN, SUMMARY, RunFolder, is_run, suggest_run
from callmark.viewer.opened_run import OpenedRun
from callmark.viewer.page_data import comparison_data
from callmark.viewer.priority_gate import PriorityGate
from callmark.viewer.run_in_progress import RunInProgress
from callmark.viewer.run_list import RunList, Stamp, is_in_progress, run_stamp
from callmark.viewer.triage import CorrectionRequest, LabelRequest, Triage

_PLAIN_NAME = re.compile(r"(?!\.+$)[\w .-]{1,200}")  # a name without path separators
_MAY_BE_LINKS = (RUN, GRADES, SUMMARY, PREDICTIONS)
_MAX_OPEN = 6  # runs, and as many comparisons


class NotFound(BadInput):
    """There is no run or case with that name."""


class PathTraversal(NotFound):
    """A name that would lead out of the folder if a path were built from it."""


class RunCollection:
    """The runs in a folder. A folder that does not exist raises `BadInput`."""

    def __init__(self, path: str, *, author: str = "", read_only: bool = False) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise BadInput(f"{scrub(path)}: no such folder{suggest_run(path)}", "Pass a folder with runs: callmark view DIR.")
        self._real_path = os.path.realpath(path)
        self._lock = Lock()
        self.priority = PriorityGate()
        self._open_runs: dict[str, tuple[Stamp, OpenedRun | RunInProgress]] = {}
        self._comparisons: dict[tuple[tuple[str, Stamp], ...], dict[str, Any]] = {}
        self._opening: dict[str, Lock] = {}
        self._list = RunList(self.priority, self._partial_summary)
        self._triage = Triage(path, author=author, read_only=read_only)

    def runs(self) -> dict[str, Path]:
        """Return the run folders, by name."""
        return {name: path for name, path in self._folders() if self._is_shown(path)}

    def _folders(self, names: Collection[str] | None = None) -> list[tuple[str, Path]]:
        """Return the names and paths of the folders that may be runs: all of them, or those with these names."""
        if is_run(str(self.path)):
            return [(scrub(os.path.basename(self._real_path)), self.path)]
        with os.scandir(self.path) as entries:
            wanted = [entry for entry in entries if names is None or scrub(entry.name) in names]
        return [(scrub(entry.name), Path(entry.path)) for entry in sorted(wanted, key=lambda entry: entry.name) if entry.is_dir()]

    def list_data(self) -> dict[str, Any]:
        """Return all runs, newest first, and whether all of them and their metrics are known."""
        return self._list.data(self.runs())

    def list_json(self, arrived: float) -> bytes:
        """Return the same as JSON, for a request that arrived at that time on the monotonic clock."""
        return self._list.json(self.runs, arrived)

    def history_data(self) -> dict[str, Any]:
        """Return the history of all runs."""
        return self._list.history(self.runs())

    def _partial_summary(self, name: str) -> Summary | None:
        """Return the summary of a run in progress so far; None if nothing is scored."""
        opened = self.open_run(name)
        return opened.summary() if isinstance(opened, RunInProgress) else None

    def open_run(self, name: str) -> OpenedRun | RunInProgress:
        """Return a run, which is read again only when its files change. An unknown name raises `NotFound`."""
        (path,) = self._paths([name])
        with self._lock:
            opening = self._opening.setdefault(name, Lock())
        with opening:  # opening one run does not make the others wait
            stamp = run_stamp(path)
            with self._lock:
                opened = self._open_runs.pop(name, None)
            if opened is not None and opened[0] != stamp:
                opened[1].close()
                opened = None
            if opened is None:
                folder = RunFolder(path)
                in_progress = is_in_progress(folder, folder.read())
                opened = stamp, RunInProgress(name, str(path)) if in_progress else OpenedRun(name, str(path), self.priority)
            with self._lock:
                self._open_runs[name] = opened  # the most recently requested run is closed last
                while len(self._open_runs) > _MAX_OPEN:
                    self._open_runs.pop(next(iter(self._open_runs)))[1].close()
            return opened[1]

    def labels_data(self, name: str) -> dict[str, Any]:
        """Return the labels of the cases of a run's dataset."""
        opened = self.open_run(name)
        return self._triage.labels(opened.digest, opened.folder)

    def add_label(self, request: LabelRequest) -> dict[str, Any]:
        """Write a label, and return all labels of the dataset. An unknown run or case raises `NotFound`."""
        opened = self.open_run(request.run)
        case = opened.case_id(request.case, request.trial)
        if case is None:
            raise NotFound("No such case in this run")
        return self._triage.add_label(request, opened.digest, case, opened.folder)

    def add_correction(self, request: CorrectionRequest) -> dict[str, Any]:
        """Write the corrected expectation of a case. An unknown run or case raises `NotFound`."""
        opened = self.open_run(request.run)
        case = opened.original_case(request.case, request.trial)
        if case is None:
            raise NotFound(
                "This case cannot be corrected", "The dataset must be unchanged and in the same place, and the run must be graded."
            )
        return self._triage.add_correction(request, opened.digest, case, opened.folder)

    def comparison_data(self, names: Sequence[str]) -> dict[str, Any]:
        """Return runs compared with the first. An unfinished run raises `BadInput`."""
        paths = self._paths(names)
        for name, path in zip(names, paths, strict=True):
            folder = RunFolder(path)
            if is_in_progress(folder, folder.read()):
                raise BadInput(f"{name} is not finished", "Wait until it is finished, or resume it; then compare.")
        key = tuple((name, run_stamp(path)) for name, path in zip(names, paths, strict=True))
        found = self._comparisons.get(key)
        if found is None:
            runs = [Run(path) for path in paths]
            definitions = {metric: definition for run in runs for metric, definition in run.info.metrics.items()}
            found = self._comparisons[key] = comparison_data(names, compare_runs(runs, common=True, labels=names), definitions)
            while len(self._comparisons) > _MAX_OPEN:
                self._comparisons.pop(next(iter(self._comparisons)))
        return found

    def _paths(self, names: Sequence[str]) -> list[Path]:
        candidates = [(name, path) for name, path in self._folders(names) if name in names]
        shown = {name: path for name, path in candidates if self._is_shown(path)}
        for name in names:
            if name not in shown:
                is_unused = _PLAIN_NAME.fullmatch(name) and not os.path.lexists(self.path / name)
                raise (NotFound if is_unused else PathTraversal)(
                    "No such run in this folder", "Click “callmark” at the top for the list of runs."
                )
        return [shown[name] for name in names]

    def _is_shown(self, path: Path) -> bool:
        """Return whether a path is a run in the folder, and its files in the run, once links are resolved."""
        if not is_run(str(path)):
            return False
        in_folder = os.path.join(self._real_path, path.name)
        real = os.path.realpath(path) if path == self.path or os.path.islink(in_folder) else in_folder
        links = [name for name in _MAY_BE_LINKS if os.path.islink(os.path.join(real, name))]
        return _is_inside(real, self._real_path) and all(_is_inside(os.path.realpath(os.path.join(real, name)), real) for name in links)


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([folder, path]) == folder
