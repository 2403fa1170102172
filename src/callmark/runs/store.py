"""A run folder: everything needed to view, compare and grade a run again, without a model.

    run.json                  the model, the dataset, the grading settings and the counts; never a key or a header
    predictions.jsonl         one prediction per line
    grades.jsonl              derived: one grade per line; `callmark grade RUN` writes it again
    summary.json              derived: the summary of the grades, so that not all of them have to be read
    patch.jsonl               the corrections to expected calls that it was graded with, if any
    evaluation_results.json   evaluation_metrics.json      the file layouts of the LOB evaluation, if the cases are scenarios

A run folder may come from someone else. Its files are opened with `RunFolder.open`: regular files only, and no link that leads out of it.

When a model runs, `run.json` is written first, with its `status`, and `predictions.jsonl` grows. For a predictions file, it is written
last. A folder without `run.json` is not a run.
"""

import errno
import io
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
from callmark.formats.file_sets import is_file_set
from callmark.formats.hugging_face import PREFIX
from callmark.formats.problems import explain
from callmark.formats.regular_files import open_regular, path_inside, refuse_irregular
from callmark.runs.manifest import Manifest, decode_manifest, encode_manifest
from callmark.runs.patch import PATCH

RUN, PREDICTIONS, GRADES, SUMMARY = "run.json", "predictions.jsonl", "grades.jsonl", "summary.json"
CASES, TOOLS = "cases.jsonl", "tools.json"  # copies of data from a pipe or from memory

GRADING_PREFIX = ".grading-"  # of the temporary folder for new grades
_FILES = (RUN, PREDICTIONS, GRADES, SUMMARY, CASES, TOOLS, RESULTS, METRICS, PATCH)
_PARENT = "runs"  # the default folder for runs
_MAX_NAMES = 5  # of runs that a message lists
_MAX_NAME = 80  # characters of a generated folder name
_MAX_MANIFEST = 1 << 22  # bytes of run.json: settings and counts, and the prompts of a simulation
_READ_AGAIN = 3  # times that a run.json is read which changes while it is read
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
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
        """Return the paths of all files that a run can have, whether they exist or not."""
        return [self.file(name) for name in _FILES]

    def open(self, name: str) -> io.BufferedReader:
        """Open one of its files for reading. Anything but a regular file in the folder raises `BadInput`, and so does a missing file."""
        try:
            return open_regular(self.inside(name), f"{self}/{name}")
        except OSError as error:
            raise BadInput(f"{self}/{name}: cannot be read: {error.strerror}") from None

    def inside(self, name: str) -> str:
        """Return the path of one of its files, links resolved. A link that leads out of the folder raises `BadInput`."""
        return path_inside(self.file(name), str(self.path), f"{self}/{name}")

    def has(self, name: str) -> bool:
        """Return whether there is anything with this name in the folder. It may not be readable."""
        return os.path.lexists(self.file(name))

    def relative_path(self, path: str) -> str:
        """Return a path relative to the folder, so that both can be moved together."""
        if path.startswith(PREFIX):
            return PREFIX + self.relative_path(path.removeprefix(PREFIX))
        found = os.path.relpath(os.path.realpath(path), os.path.realpath(self.path))
        if scrub(found) != found:
            raise BadInput(f"{scrub(path)}: the file name is not valid UTF-8, so a run cannot refer to it", "Rename the file.")
        return found

    def resolve_path(self, path: str) -> str:
        """Return a path that is relative to the folder as one relative to the current directory."""
        if path.startswith(PREFIX):
            return PREFIX + self.resolve_path(path.removeprefix(PREFIX))
        return os.path.relpath(os.path.join(os.path.realpath(self.path), path))

    def input_path(self, path: str, what: str) -> str:
        """Return the path of an input that `run.json` names under `what`. A pipe, a device or a folder raises `BadInput`."""
        if "\0" in path:
            raise BadInput(f"{self}/{RUN}: {what}: expected a path, got {path[:80]!r}")
        found = self.resolve_path(path)
        refuse_irregular(found, f"{self}/{RUN}: {what}: {scrub(found)}")
        return found

    def cases_path(self, path: str) -> str:
        """Return the path of the cases that `run.json` names. A pipe, a device and a search through all folders raise `BadInput`.

        The files of a folder are checked when they are opened.
        """
        found = self.resolve_path(path) if "\0" not in path else path
        if "\0" not in path and is_file_set(found):
            if "**" in path:
                raise BadInput(f"{self}/{RUN}: dataset.path: expected a file, a folder or a simple glob, got {scrub(path)[:80]!r}")
            return found
        return self.input_path(path, "dataset.path")

    def replace_files(self, other: "RunFolder", *, keep: Collection[str]) -> None:
        """Move the files of another folder here, `run.json` last. Files missing there are removed here, except for `keep`."""
        for name in [name for name in _FILES if name != RUN and name not in keep] + [RUN]:
            try:
                if (other.path / name).exists():
                    os.replace(other.path / name, self.path / name)
                else:
                    (self.path / name).unlink(missing_ok=True)
            except OSError as error:  # a folder with that name, or a read-only folder
                raise StorageError(f"{self}/{name}: cannot be written: {error.strerror}") from None

    def remove_leftovers(self) -> None:
        """Remove partial files of a process that was killed."""
        for left in self.path.glob(f"{GRADING_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        for name in _FILES:
            for left in self.path.glob(f"{name}.partial-*"):
                with suppress(OSError):
                    left.unlink(missing_ok=True)

    def write(self, manifest: Manifest) -> None:
        """Write `run.json`, completely or not at all."""
        write_lines(self.file(RUN), [encode_manifest(manifest)], replace=True)

    def read(self) -> Manifest:
        """Read `run.json`. If it is missing, not valid, or has an unknown version, `BadInput` is raised."""
        text = b""
        try:
            text = self._read_manifest()
            return decode_manifest(text)
        except FileNotFoundError:
            problem = f"not a run folder: {RUN} is missing" if self.path.is_dir() else f"no such run{suggest_run(str(self.path))}"
            raise BadInput(f"{self}: {problem}", _runs_in(self.path)) from None
        except NotADirectoryError:
            raise BadInput(f"{self}: expected a run folder, got a file") from None
        except OSError as error:
            raise BadInput(f"{self}/{RUN}: cannot be read: {error.strerror}") from None
        except BadInput as error:
            where = f"{self}/{RUN}: "
            raise BadInput(str(error) if str(error).startswith(where) else f"{where}{error}", error.hint) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"{self}/{RUN}: {explain(text, error, unit='file')}") from None

    def _read_manifest(self) -> bytes:
        """Return the text of `run.json`. It is replaced as a whole when it is written, so one that changes is not written by callmark."""
        for _ in range(_READ_AGAIN):
            with open_regular(self.inside(RUN), f"{self}/{RUN}") as file:
                before = os.fstat(file.fileno())
                text = file.read(_MAX_MANIFEST + 1)
                after = os.fstat(file.fileno())
            if len(text) > _MAX_MANIFEST:
                raise BadInput(f"expected at most {_MAX_MANIFEST >> 20} MiB, got {max(after.st_size, len(text)):,} bytes")
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(text) == after.st_size:
                return text
        raise BadInput("it changed while it was being read", "Wait until it is complete, then try again.")


def is_run(path: str) -> bool:
    """Return whether a path is a run folder."""
    return path != "-" and os.path.isfile(os.path.join(path, RUN))


def suggest_run(name: str) -> str:
    """Return `. Did you mean runs/base?` for the name of a run in the folder `runs`; empty if there is none."""
    path = os.path.join(_PARENT, name)
    return f". Did you mean {scrub(path)}?" if name and not os.path.isabs(name) and is_run(path) else ""


def create_run_folder(parent: str, name: str | None, *, default: str) -> RunFolder:
    """Create the folder of a new run: `name`, or one based on `default`. A name that exists or is not valid raises `BadInput`."""
    if name is not None and (_CONTROL.search(name) or name in ("", ".", "..") or set(name) & set("/\\")):
        raise BadInput(f"--name: expected the name of a single folder, got {name!r}", "Pass the parent folder with -o.")
    chosen = name or folder_name(default)
    path = Path(parent, chosen)
    number = 1
    while True:
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not os.path.lexists(path):  # the parent is a file
                raise BadInput(f"{scrub(parent)}: expected a folder, got a file") from None
            if name is not None:
                if path.is_dir() and not any(path.iterdir()):
                    return RunFolder(path)
                regrade = f" To grade the existing run again: callmark grade {scrub(str(path))}" if is_run(str(path)) else ""
                raise BadInput(f"{scrub(str(path))}: already exists", f"Choose another --name.{regrade}") from None
            number += 1
            path = Path(parent, f"{chosen}-{number}")
        except OSError as error:
            problem = "the name is too long" if error.errno == errno.ENAMETOOLONG else error.strerror
            raise StorageError(f"{scrub(str(path))}: cannot be created: {problem}") from None
        else:
            return RunFolder(path)


def folder_name(text: str) -> str:
    """Return a text as a folder name: unsafe characters replaced and shortened; `run` if nothing remains."""
    return _UNSAFE.sub("-", text)[-_MAX_NAME:].strip("-.") or "run"


def discard_run(folder: RunFolder) -> None:
    """Remove the folder of a failed new run, with the files of the run."""
    for name in _FILES:
        (folder.path / name).unlink(missing_ok=True)
    with suppress(OSError):  # a folder with other files is kept
        folder.path.rmdir()


def _runs_in(path: Path) -> str:
    try:
        names = sorted(file.parent.name for file in path.glob(f"*/{RUN}"))
    except OSError:
        return ""
    more = f" … and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return f"Runs in this folder: {', '.join(names[:_MAX_NAMES])}{more}." if names else ""
