"""A run folder: everything of one run, so that it can be viewed, compared and graded again without a model.

    run.json                  what was run, on which dataset, how it was graded, the counts; never a key or a header
    predictions.jsonl         what came back, a line each
    grades.jsonl              derived: `callmark grade RUN` writes it anew
    summary.json              derived likewise: the summary of the grades, so that nobody has to read all of them for it
    evaluation_results.json   evaluation_metrics.json      the layouts of the LOB evaluation, where the cases are scenarios

For a model that is run, `run.json` is written first, with its `status`, and `predictions.jsonl` grows; for a file of predictions it is
written last. A folder without one is not a run.
"""

import os
import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput, StorageError
from callmark.formats import write_lines
from callmark.formats.evaluation_results import METRICS, RESULTS
from callmark.runs.manifest import Manifest, decode_manifest, encode_manifest

RUN, PREDICTIONS, GRADES, SUMMARY = "run.json", "predictions.jsonl", "grades.jsonl", "summary.json"
CASES, TOOLS = "cases.jsonl", "tools.json"  # copies of what came through a pipe or from memory

GRADING_PREFIX = ".grading-"  # of the folder that grades are written into, before they take their place
_FILES = (RUN, PREDICTIONS, GRADES, SUMMARY, CASES, TOOLS, RESULTS, METRICS)
_MAX_NAME = 80  # characters of a generated folder name
_UNSAFE = re.compile(r"[^\w.-]+")


class RunFolder:
    """The files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return scrub(str(self.path))

    def file(self, name: str) -> str:
        """Return the path of one of its files."""
        return str(self.path / name)

    def files(self) -> list[str]:
        """Return the paths of all files that a run may have, whether they exist or not."""
        return [self.file(name) for name in _FILES]

    def relative_path(self, path: str) -> str:
        """Return a path as seen from the folder, so that both can be moved together."""
        found = os.path.relpath(os.path.realpath(path), os.path.realpath(self.path))
        if scrub(found) != found:
            raise BadInput(
                f"{scrub(path)} has a name that is not UTF-8: a run could not say where its cases stand", "Give it another name."
            )
        return found

    def resolve_path(self, path: str) -> str:
        """Return where a path that is relative to the folder leads from the current one."""
        return os.path.relpath(os.path.join(os.path.realpath(self.path), path))

    def replace_files(self, other: "RunFolder", *, keep: Collection[str]) -> None:
        """Move the files of another folder here, `run.json` last; files that the other does not have are removed, except for `keep`."""
        for name in [name for name in _FILES if name != RUN and name not in keep] + [RUN]:
            if (other.path / name).exists():
                os.replace(other.path / name, self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        """Remove what a process that was killed had begun to write."""
        for left in self.path.glob(f"{GRADING_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        for name in _FILES:
            for left in self.path.glob(f"{name}.partial-*"):
                left.unlink(missing_ok=True)

    def write(self, manifest: Manifest) -> None:
        """Write `run.json`, whole or not at all."""
        write_lines(self.file(RUN), [encode_manifest(manifest)])

    def read(self) -> Manifest:
        """Return `run.json`. A folder without one, or with one that cannot be read or has an unknown version, raises `BadInput`."""
        try:
            return decode_manifest((self.path / RUN).read_bytes())
        except FileNotFoundError:
            raise BadInput(f"{self} is no run: there is no {RUN} in it", _runs_in(self.path)) from None
        except OSError as error:
            raise BadInput(f"{self}/{RUN} cannot be read: {error.strerror}") from None
        except BadInput as error:
            raise BadInput(f"{self}/{RUN} cannot be read: {error}", error.hint) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"{self}/{RUN} cannot be read: {error}") from None


def is_run(path: str) -> bool:
    """Return whether a path is a folder that holds a run."""
    return path != "-" and os.path.isfile(os.path.join(path, RUN))


def create_run_folder(parent: str, name: str | None, *, default: str) -> RunFolder:
    """Return a new folder for a run: `name`, or one like `default`. A name that is taken or cannot be a folder's raises `BadInput`."""
    if name is not None and (not name or name in (".", "..") or set(name) & set("/\\\0")):
        raise BadInput(f"{name!r} cannot be the name of a run: it is the name of one folder", "-o names the folder that it goes into.")
    chosen = name or folder_name(default)
    path = Path(parent, chosen)
    number = 1
    while True:
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not os.path.lexists(path):  # the folder around it is a file
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
            raise StorageError(f"{scrub(str(path))} cannot be made: {error.strerror}") from None
        else:
            return RunFolder(path)


def folder_name(text: str) -> str:
    """Return a text as the name of a folder: unsafe characters replaced, shortened; `run` where nothing is left."""
    return _UNSAFE.sub("-", text)[-_MAX_NAME:].strip("-.") or "run"


def discard_run(folder: RunFolder) -> None:
    """Remove a new folder whose run came to nothing, with the files of the run that are in it."""
    for name in _FILES:
        (folder.path / name).unlink(missing_ok=True)
    with suppress(OSError):  # with other files in it, the folder stays
        folder.path.rmdir()


def _runs_in(path: Path) -> str:
    try:
        names = sorted(file.parent.name for file in path.glob(f"*/{RUN}"))[:5]
    except OSError:
        return ""
    return f"It holds the runs {', '.join(names)}." if names else ""
