"""Files that only grow, to which several processes write at once: labels and corrections beside the runs.

A line is on disk when `append_line` returns. Writers wait for each other. What a writer that was killed left of a line is removed by the
next one: nobody was told that it is saved. A whole line that only lacks its line break, as an editor may leave it, is kept. Only regular
files are opened, and no link is followed.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput, StorageError
from callmark.formats.regular_files import open_regular_descriptor, refuse_irregular
from callmark.runs.journal import last_line_start

MAX_BYTES = 64 << 20  # of a file; it is read as a whole
_LOCK_TIMEOUT = 10.0  # seconds that a writer waits for the others
_LOCK_STEP = 0.01


def append_line(path: str, line: bytes) -> None:
    """Append a line without its line break. `StorageError` if it cannot be written: then the file is as it was."""
    name = scrub(path)
    file = -1
    try:
        refuse_irregular(path, name)
        file = open_regular_descriptor(path, name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        _lock(file, name)
        _remove_incomplete(file)
        size = os.fstat(file).st_size
        if size + len(line) >= MAX_BYTES:
            raise StorageError(f"{name} is {size:,} bytes, and callmark reads at most {MAX_BYTES:,}", "Move it away to start a new one.")
        try:
            rest = memoryview(line + b"\n")
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(file, size)
            raise
    except OSError as error:
        raise StorageError(f"{name}: cannot be written: {error.strerror}") from None
    finally:
        if file >= 0:
            os.close(file)  # which releases the lock


def read_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, the last one perhaps incomplete; nothing if there is no such file.

    A file that is too large, or no regular file, raises `BadInput`.
    """
    name = scrub(path)
    try:
        file = open_regular_descriptor(path, name, os.O_RDONLY)
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror}") from None
    with os.fdopen(file, "rb") as lines:
        if os.fstat(lines.fileno()).st_size > MAX_BYTES:
            raise BadInput(f"{name}: expected at most {MAX_BYTES >> 20} MiB, got more")
        for number, line in enumerate(lines, 1):
            if not line.isspace():
                yield number, line


def _lock(file: int, name: str) -> None:
    """Lock a file for this process, once those that hold it have released it."""
    import fcntl

    deadline = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StorageError(f"{name}: another process has been writing to it for {_LOCK_TIMEOUT:g} seconds", "Try again.") from None
            time.sleep(_LOCK_STEP)
        except OSError:
            raise StorageError(f"{name}: cannot be locked on this file system, so two writers could lose each other's lines") from None
        else:
            return


def _remove_incomplete(file: int) -> None:
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        begin = last_line_start(file, size)
        try:
            msgspec.json.decode(os.pread(file, size - begin, begin))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            os.ftruncate(file, begin)
        else:
            os.write(file, b"\n")
