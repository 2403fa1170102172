"""A folder of runs, as the viewer shows it. What is asked for is looked up among the runs that are there: no path is made of a request.

Left out: what is no run, what cannot be read, and what a link leads to outside the folder. A folder that is itself a run shows that one.
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
from callmark.runs.compare import compared
from callmark.runs.run import Run, headline_of
from callmark.runs.store import GRADES, PREDICTIONS, RUN, SUMMARY, RunFolder, RunInfo, is_run
from callmark.viewer.opened_run import OpenedRun
from callmark.viewer.page_data import comparison_data, listed
from callmark.viewer.priority_gate import PriorityGate
from callmark.viewer.run_in_progress import RunInProgress

Stamp = tuple[tuple[int, int], ...]
_PLAIN = re.compile(r"(?!\.+$)[\w .-]{1,200}")  # names that lead nowhere else
_MAY_BE_LINKS = (RUN, GRADES, SUMMARY, PREDICTIONS)
_MOST_OPEN = 6  # runs, and as many comparisons
_PATIENCE = 0.4  # seconds that somebody waits for the list
_SMALL = 5_000_000  # bytes of grades that are read while they wait


class NotThere(BadInput):
    """There is no run, or no case, of that name."""


class WayOut(NotThere):
    """A name that would lead out of the folder, if a path were made of it."""


class FolderOfRuns:
    """The runs in a folder. A folder that is not there raises `BadInput`."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise BadInput(f"there is no folder {scrub(path)}", "callmark view DIR shows the runs in DIR; callmark run makes some.")
        self._real = os.path.realpath(path)
        self._lock = Lock()
        self.precedence = PriorityGate()
        self._open: dict[str, tuple[Stamp, OpenedRun | RunInProgress]] = {}
        self._summaries: dict[str, tuple[Stamp, Summary | None]] = {}
        self._compared: dict[tuple[tuple[str, Stamp], ...], dict[str, Any]] = {}
        self._counting: Thread | None = None

    def runs(self) -> dict[str, Path]:
        """The run folders, by name."""
        return {name: path for name, path in self._folders() if self._is_shown(path)}

    def _folders(self) -> list[tuple[str, Path]]:
        """What may be a run, with its name."""
        if is_run(str(self.path)):
            return [(scrub(os.path.basename(self._real)), self.path)]
        with os.scandir(self.path) as entries:
            return [(scrub(entry.name), Path(entry.path)) for entry in sorted(entries, key=lambda entry: entry.name) if entry.is_dir()]

    def list_data(self) -> dict[str, Any]:
        """All runs, the newest first."""
        until = time.monotonic() + _PATIENCE
        found: list[dict[str, Any]] = []
        waiting: list[tuple[str, Path]] = []
        for name, path in self.runs().items():
            try:
                info = RunFolder(path).read()
            except BadInput:
                continue
            summary = None
            if not _in_progress(path, info):
                summary, more = self._summary(name, path, until)
                if more:
                    waiting.append((name, path))
            headline = summary.metrics.get(headline_of(info)) if summary else None
            scored, errors = (summary.scored, summary.errors) if summary else (None, None)
            answers = _answers(path, info)
            found.append(listed(name, info, headline, scored=scored, errors=errors, answers=answers))
        if waiting and (self._counting is None or not self._counting.is_alive()):
            self._counting = Thread(target=self._count, args=(waiting,), name="counting", daemon=True)
            self._counting.start()
        return {"runs": sorted(found, key=lambda run: (run["made"], run["name"]), reverse=True), "ready": not waiting}

    def opened(self, name: str) -> OpenedRun | RunInProgress:
        """A run, read once for as long as its files stay as they are. A name that is none of them raises `NotThere`."""
        (path,) = self._paths([name])
        with self._lock:
            stamp = _stamp(path)
            known = self._open.pop(name, None)
            if known is not None and known[0] != stamp:
                known[1].close()
                known = None
            if known is None:
                progress = _in_progress(path, RunFolder(path).read())
                known = stamp, RunInProgress(name, str(path)) if progress else OpenedRun(name, str(path), self.precedence)
            self._open[name] = known  # the one that was asked for last is the last to go
            while len(self._open) > _MOST_OPEN:
                self._open.pop(next(iter(self._open)))[1].close()
            return known[1]

    def comparison_data(self, names: Sequence[str]) -> dict[str, Any]:
        """Runs against the first. One that is not finished raises `BadInput`."""
        paths = self._paths(names)
        for name, path in zip(names, paths, strict=True):
            if _in_progress(path, RunFolder(path).read()):
                raise BadInput(f"{name} is not finished: it can be compared when it is")
        key = tuple((name, _stamp(path)) for name, path in zip(names, paths, strict=True))
        found = self._compared.get(key)
        if found is None:
            against = compared([Run(path) for path in paths], common=True, called=names)
            found = self._compared[key] = comparison_data(names, against)
            while len(self._compared) > _MOST_OPEN:
                self._compared.pop(next(iter(self._compared)))
        return found

    def _paths(self, names: Sequence[str]) -> list[Path]:
        there = [(name, path) for name, path in self._folders() if name in names]
        shown = {name: path for name, path in there if self._is_shown(path)}
        for name in names:
            if name not in shown:
                raise (NotThere if _PLAIN.fullmatch(name) and not os.path.lexists(self.path / name) else WayOut)("there is no such run")
        return [shown[name] for name in names]

    def _is_shown(self, path: Path) -> bool:
        """Whether it is a run, and it and its files are in the folder, wherever links lead."""
        if not is_run(str(path)):
            return False
        real = os.path.realpath(path)
        links = [name for name in _MAY_BE_LINKS if os.path.islink(os.path.join(real, name))]
        return all(os.path.commonpath([self._real, os.path.realpath(os.path.join(real, name))]) == self._real for name in ("", *links))

    def _summary(self, name: str, path: Path, until: float) -> tuple[Summary | None, bool]:
        """What is known of a run by now, and whether more will be."""
        stamp, summary = self._summaries.get(name, ((), None))
        if stamp == _stamp(path):
            return summary, False
        if time.monotonic() >= until:
            return None, True
        if _size(path / GRADES) < _SMALL:
            return self._counted(name, path), False
        known = self._known(name, path)
        return known, known is None

    def _count(self, waiting: Sequence[tuple[str, Path]]) -> None:
        """Go through the runs that the list waits for."""
        for name, path in waiting:
            if self._known(name, path) is None:
                self._counted(name, path, give_way=True)

    def _known(self, name: str, path: Path) -> Summary | None:
        """What was kept when the run was graded, if the number that the list shows is in it with its interval."""
        stamp = _stamp(path)
        with suppress(BadInput):  # whoever opens the run is told why
            run = Run(path)
            summary = run.known_summary()
            headline = summary.metrics.get(run.headline) if summary else None
            if headline is not None and headline.low is not None:
                self._summaries[name] = (stamp, summary)
                return summary
        return None

    def _counted(self, name: str, path: Path, *, give_way: bool = False) -> Summary | None:
        stamp = _stamp(path)
        summary: Summary | None = None
        with suppress(BadInput):
            run = Run(path)
            tally = run.tally(detailed=False)
            for grade in self.precedence.beside(run.grades()) if give_way else run.grades():
                tally.add(grade)
            summary = tally.summary(intervals={run.headline})
        self._summaries[name] = (stamp, summary)
        return summary


def _in_progress(path: Path, info: RunInfo) -> bool:
    return info.status == "running" or not (path / GRADES).is_file()


def _answers(path: Path, info: RunInfo) -> int:
    if not _in_progress(path, info):
        return info.asked.answers if info.asked else info.cases
    try:
        with (path / PREDICTIONS).open("rb") as lines:
            return sum(1 for _ in lines)
    except OSError:
        return 0


def _stamp(path: Path) -> Stamp:
    """What tells the files of a run from what they were; predictions only grow, and whoever follows them reads on."""
    return tuple(_stat(path / name) for name in (RUN, GRADES))


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _size(path: Path) -> int:
    return _stat(path)[1]
