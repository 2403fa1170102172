"""Store inputs that can only be read once: data from a pipe or from memory is copied to the run folder.

When a run is resumed, its copy is not overwritten. The input must be the same as before; otherwise `BadInput` is raised.
"""

import filecmp
import os
from collections.abc import Sequence

from callmark.errors import BadInput
from callmark.formats import Output
from callmark.formats.rows import Rows
from callmark.runs.store import RunFolder, is_run

STANDARD_INPUT = "standard input"


def is_stored(path: str) -> bool:
    """Return whether a path can be read again: not standard input, a pipe or a device. A missing file is reported later."""
    return path != "-" and (os.path.isfile(path) or not os.path.exists(path) or os.path.isdir(path))


def store_input(path: str, folders: Sequence[RunFolder], name: str) -> str:
    """Return a path that can be read again: the path itself, or the copy that is stored under `name` in each folder."""
    if is_stored(path):
        return path
    first, *others = folders
    copy = first.file(name)
    if _has_copy(first, name):
        incoming = f"{copy}.partial-again"
        _copy(path, incoming)
        try:
            _refuse_changed(incoming, copy, first)
        finally:
            os.unlink(incoming)
    else:
        _copy(path, copy)
    for folder in others:
        if _has_copy(folder, name):
            _refuse_changed(copy, folder.file(name), folder)
        else:
            _copy(copy, folder.file(name))
    return copy


def store_content(content: bytes, folders: Sequence[RunFolder], name: str, *, what: str) -> str:
    """Store a copy of the content in each folder, and return the path of the first. `what` names the content in messages."""
    for folder in folders:
        if not _has_copy(folder, name):
            with Output(folder.file(name), replace=True) as output:
                output.piece(content)
        else:
            with folder.open(name) as file:
                if file.read(len(content) + 1) != content:
                    raise input_changed(what, folder)
    return folders[0].file(name)


def _copy(path: str, target: str) -> None:
    """Write the decompressed content of a file to another, piece by piece."""
    rows = Rows(path)
    with Output(target, replace=True) as output:
        for piece in rows.pieces():
            output.piece(piece)


def _has_copy(folder: RunFolder, name: str) -> bool:
    return is_run(str(folder.path)) and folder.has(name)


def _refuse_changed(incoming: str, copy: str, folder: RunFolder) -> None:
    if not filecmp.cmp(incoming, folder.inside(os.path.basename(copy)), shallow=False):  # False for anything but regular files
        raise input_changed(STANDARD_INPUT, folder)


def input_changed(what: str, folder: RunFolder) -> BadInput:
    """Return the error for an input that is not the same as when the run was started."""
    return BadInput(f"{what} changed since {folder} was started, so the run cannot be resumed", "Start a new run with another --name.")
