"""Copies of inputs that can be read only once: what comes through a pipe, or from memory, is stored in the run folder.

The copy that a run has is not overwritten when the run is resumed: the input has to be the same again, else `BadInput` is raised.
"""

import filecmp
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.formats.rows import Rows
from callmark.runs.store import RunFolder, is_run

STANDARD_INPUT = "standard input"


def is_stored(path: str) -> bool:
    """Return whether a path can be read again; False for standard input, a pipe and a device. A missing file can: it is refused later."""
    return path != "-" and (os.path.isfile(path) or not os.path.exists(path) or os.path.isdir(path))


def store_input(path: str, folders: Sequence[RunFolder], name: str) -> str:
    """Return a path that can be read again: the path itself, or the copy under `name` that each of the folders gets."""
    if is_stored(path):
        return path
    first, *others = folders
    copy = first.file(name)
    if _has_copy(first, name):
        incoming = f"{copy}.partial-again"
        write_lines(incoming, [Rows(path).read_all()])
        try:
            _refuse_changed(incoming, copy, first)
        finally:
            os.unlink(incoming)
    else:
        write_lines(copy, [Rows(path).read_all()])
    for folder in others:
        if _has_copy(folder, name):
            _refuse_changed(copy, folder.file(name), folder)
        else:
            shutil.copyfile(copy, folder.file(name))
    return copy


def store_content(content: bytes, folders: Sequence[RunFolder], name: str, *, what: str) -> str:
    """Return the path of the first copy of some content, of which each folder gets one. `what` names it in messages."""
    for folder in folders:
        path = Path(folder.file(name))
        if not _has_copy(folder, name):
            path.write_bytes(content)
        elif path.read_bytes() != content:
            raise BadInput(f"{what} changed since {folder} was begun: the answers would not belong together", "Choose another --name.")
    return folders[0].file(name)


def _has_copy(folder: RunFolder, name: str) -> bool:
    return is_run(str(folder.path)) and os.path.exists(folder.file(name))


def _refuse_changed(incoming: str, copy: str, folder: RunFolder) -> None:
    if not filecmp.cmp(incoming, copy, shallow=False):
        raise BadInput(
            f"standard input has changed since {folder} was begun: the answers would not belong together", "Choose another --name."
        )
