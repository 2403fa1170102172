"""A run folder: everything of one run, so that it can be looked at, compared and graded again without a model.

    run.json                  what was run, on which dataset, how it was graded, the counts; never a key or a header
    predictions.jsonl         what came back, a line each
    grades.jsonl              derived: `callmark grade RUN` makes it anew
    summary.json              derived likewise: what the grades come to, for whoever would have to read all of them to know
    evaluation_results.json   evaluation_metrics.json      document 004's layouts, where the cases are scenarios

Of a model that is asked, `run.json` is written first and says so (`status`), and `predictions.jsonl` grows; of predictions that came in a
file it is written last. A folder without one is no run.
"""

import os
import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.formats.evaluation_results import METRICS, RESULTS
from callmark.grading.evaluator import Settings
from callmark.models.model import ModelSettings

RUN, PREDICTIONS, GRADES, SUMMARY = "run.json", "predictions.jsonl", "grades.jsonl", "summary.json"
CASES, TOOLS = "cases.jsonl", "tools.json"  # what came through a pipe, and would be gone

GRADING = ".grading-"  # begins the name of the folder that grades are made in, before they take their place
_FILES = (RUN, PREDICTIONS, GRADES, SUMMARY, CASES, TOOLS, RESULTS, METRICS)
_LONGEST_NAME = 80  # of a folder whose name was made up
_ODD = re.compile(r"[^\w.-]+")


Status = Literal["complete", "running", "interrupted", "stopped"]


class DatasetInfo(Struct, omit_defaults=True):
    """Which cases: where they stand as seen from the run folder, and what tells the file from a later version of it."""

    name: str
    path: str
    digest: str = ""
    dialect: str = ""
    what: Literal["decision points", "scenarios"] = "decision points"
    cut: bool = False
    tools: str | None = None
    tools_digest: str = ""
    mended: int = 0  # rows in which lone surrogates were written out
    limit: int | None = None  # the first so many cases only


class PredictionsInfo(Struct, omit_defaults=True):
    """What a file of predictions came to: `unused` are for no case, `repeated` for one that had its answer, `parsed` read out of text;
    `unparsed` are answers without calls whose text looks as if there were some in it.
    """

    name: str = ""
    rows: int = 0
    unused: int = 0
    repeated: int = 0
    parsed: int = 0
    unparsed: int = 0
    first_unused: str = ""


class SimulatedInfo(Struct, frozen=True, omit_defaults=True):
    """How conversations were simulated: who played the users and judged (without anything secret), the tools, the system prompt, limits."""

    user: ModelSettings = ModelSettings()
    judge: ModelSettings | None = None
    tools: tuple[str, ...] = ()
    system: str = ""
    max_turns: int = 0
    max_steps: int = 0
    seed: int = 0


class AskedInfo(Struct, omit_defaults=True):
    """Who was asked, how, and what came of it. `model` has the spec without anything secret in it; `secret` says that something was taken
    out. `trailing` prompts were asked without the assistant's last words. `stopped` says why not everything was asked.
    """

    label: str
    model: ModelSettings
    trials: int = 1
    secret: bool = False
    questions: int = 0
    answers: int = 0
    errors: int = 0
    remembered: int = 0
    trailing: int = 0
    stopped: str = ""
    simulated: SimulatedInfo | None = None


class RunInfo(Struct, omit_defaults=True):
    """`run.json`."""

    name: str
    callmark: str
    made: str
    dataset: DatasetInfo
    predictions: PredictionsInfo
    settings: Settings
    metrics: tuple[str, ...] = ()
    cases: int = 0
    match: dict[str, int] = {}
    status: Status = "complete"
    asked: AskedInfo | None = None


def command_of(info: RunInfo) -> str:
    """The command that goes on with a run."""
    return "callmark simulate" if info.asked and info.asked.simulated else "callmark run"


class RunFolder:
    """The paths in a run folder, and its `run.json`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return scrub(str(self.path))

    def file(self, name: str) -> str:
        return str(self.path / name)

    def files(self) -> list[str]:
        """Every file that a run may have."""
        return [self.file(name) for name in _FILES]

    def from_here(self, path: str) -> str:
        """A path as seen from the folder, so that both can be moved together."""
        found = os.path.relpath(os.path.realpath(path), os.path.realpath(self.path))
        if scrub(found) != found:
            raise BadInput(
                f"{scrub(path)} has a name that is not UTF-8: a run could not say where its cases stand", "Give it another name."
            )
        return found

    def to_here(self, path: str) -> str:
        """The other way round: where such a path leads from the current folder."""
        return os.path.relpath(os.path.join(os.path.realpath(self.path), path))

    def take(self, other: "RunFolder", *, keep: Collection[str]) -> None:
        """Take the files of another folder for its own, `run.json` last; those that the other does not have are gone, but for `keep`."""
        for name in [name for name in _FILES if name != RUN and name not in keep] + [RUN]:
            if (other.path / name).exists():
                os.replace(other.path / name, self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove what a process that was killed had begun to write."""
        for left in self.path.glob(f"{GRADING}*"):
            shutil.rmtree(left, ignore_errors=True)
        for name in _FILES:
            for left in self.path.glob(f"{name}.partial-*"):
                left.unlink(missing_ok=True)

    def write(self, info: RunInfo) -> None:
        write_lines(self.file(RUN), [msgspec.json.format(msgspec.json.encode(info), indent=2)])

    def read(self) -> RunInfo:
        """What `run.json` says. A folder without one, or with one that is something else, raises `BadInput`."""
        file = self.path / RUN
        try:
            return msgspec.json.decode(file.read_bytes(), type=RunInfo)
        except FileNotFoundError:
            raise BadInput(f"{self} is no run: there is no {RUN} in it", _runs_in(self.path)) from None
        except OSError as error:
            raise BadInput(f"{self}/{RUN} cannot be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"{self}/{RUN} cannot be read: {error}") from None


def is_run(path: str) -> bool:
    """Whether a path is a folder that holds a run."""
    return path != "-" and os.path.isfile(os.path.join(path, RUN))


def new_folder(parent: str, name: str | None, *, default: str) -> RunFolder:
    """A folder of its own for a run. A given name that is taken, or is none for a folder, raises `BadInput`."""
    if name is not None and (not name or name in (".", "..") or set(name) & set("/\\\0")):
        raise BadInput(f"{name!r} cannot be the name of a run: it is the name of one folder", "-o names the folder that it goes into.")
    chosen = name or folder_name(default)
    path = Path(parent, chosen)
    number = 1
    while True:
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not os.path.lexists(path):  # it is the folder around it that is something else
                raise BadInput(f"{scrub(parent)} is no folder, and none can be made of that name") from None
            if name is not None:
                if path.is_dir() and not any(path.iterdir()):
                    return RunFolder(path)
                raise BadInput(
                    f"there is a run in {scrub(str(path))} already",
                    f"Choose another --name; callmark grade {scrub(str(path))} grades that one again.",
                ) from None
            number += 1
            path = Path(parent, f"{chosen}-{number}")
        except OSError as error:
            raise BadInput(f"{scrub(str(path))} cannot be made: {error.strerror}") from None
        else:
            return RunFolder(path)


def folder_name(text: str) -> str:
    """A text as the name of a folder."""
    return _ODD.sub("-", text)[-_LONGEST_NAME:].strip("-.") or "run"


def discard(folder: RunFolder) -> None:
    """Remove a new folder whose run came to nothing, and what of it was written already."""
    for name in _FILES:
        (folder.path / name).unlink(missing_ok=True)
    with suppress(OSError):  # something else is in it, then it stays
        folder.path.rmdir()


def _runs_in(path: Path) -> str:
    try:
        found = sorted(file.parent.name for file in path.glob(f"*/{RUN}"))[:5]
    except OSError:
        return ""
    return f"It holds the runs {', '.join(found)}." if found else ""
