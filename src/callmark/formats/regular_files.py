"""Open regular files only, where a path comes from data and not from the user: a run folder, a path in its `run.json`, `callmark.toml` and
`.env` in the current folder.

A named pipe would block forever, a device may act when it is opened, and a link could lead to any file of the user. All of these raise
`BadInput` that says what was found. Reading a regular file does not block, except on a file system that does not respond.
"""

import io
import os
import stat
from typing import IO

from callmark.errors import BadInput
from callmark.formats.compression import BUFFER

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link"),
)
_HINT = "Someone else may have prepared this folder. Replace it with a regular file, or copy it again from the original folder."


def open_regular(path: str, name: str, *, buffering: int = BUFFER) -> io.BufferedReader:
    """Open a regular file for reading. What cannot be opened raises `OSError`, and anything but a regular file `BadInput`."""
    refuse_irregular(path, name)
    return io.BufferedReader(io.FileIO(open_regular_descriptor(path, name, os.O_RDONLY)), buffering)


def read_regular(path: str, name: str, *, most: int) -> bytes:
    """Return the content of a regular file, links followed. One with more than `most` bytes raises `BadInput` as any other kind does."""
    with open_regular(os.path.realpath(path), name) as file:
        return read_at_most(file, name, most=most)


def read_at_most(file: IO[bytes], name: str, *, most: int) -> bytes:
    """Return the rest of an open file; `BadInput` if it has more than `most` bytes."""
    data = file.read(most + 1)
    if len(data) > most:
        raise BadInput(f"{name}: expected at most {most:,} bytes, got more")
    return data


def open_regular_descriptor(path: str, name: str, flags: int, mode: int = 0o666) -> int:
    """Open a regular file as `os.open` does, without waiting for the other end of a pipe, and without following a link."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC, mode)
    try:
        _refuse_mode(os.fstat(descriptor).st_mode, name)  # what was there before it was opened may have been replaced
    except BadInput:
        os.close(descriptor)
        raise
    return descriptor


def refuse_irregular(path: str, name: str) -> None:
    """Raise `BadInput` for anything but a regular file; nothing happens if there is no such file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return
    _refuse_mode(found.st_mode, name)


def path_inside(path: str, folder: str, name: str) -> str:
    """Return the path of a file in a folder with its links resolved. A link that leads out of the folder raises `BadInput`."""
    real_folder, real_path = os.path.realpath(folder), os.path.realpath(path)
    if os.path.commonpath((real_folder, real_path)) != real_folder:
        raise BadInput(f"{name}: expected a regular file, got a link that points outside the folder", _HINT)
    return real_path


def _refuse_mode(mode: int, name: str) -> None:
    if not stat.S_ISREG(mode):
        kind = next((word for matches, word in _KINDS if matches(mode)), "something else")
        raise BadInput(f"{name}: expected a regular file, got {kind}", _HINT)
