"""`predictions.jsonl` of a run in progress: each line is complete and on disk before its prediction counts as done.

If the process is killed, only requests in flight are lost; if the power fails, those whose `sync` has not returned. A truncated last line
is removed when the file is opened again. A second process on the same file raises `BadInput`, as does an invalid line in the middle, and
anything but a regular file. A full disk raises `StorageError`: what was written of the line is removed again.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from types import TracebackType
from typing import Self

from msgspec import structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow, StorageError
from callmark.formats.output import sync_folder
from callmark.formats.prediction_lines import encode_prediction
from callmark.formats.predictions import Predictions, read_prediction
from callmark.formats.regular_files import open_regular_descriptor, path_inside, refuse_irregular
from callmark.types import Prediction

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync
_PIECE = 1 << 16  # bytes read at a time to find the start of the last line


class Journal:
    """A file of predictions that one process at a time appends to. `redact` removes keys from every prediction.

    `repaired` is True if a truncated line was removed.
    """

    def __init__(self, path: str, *, redact: Callable[[Prediction], Prediction] = lambda prediction: prediction) -> None:
        self.path = path
        self._redact = redact
        self.repaired = False
        self._syncing = Lock()
        try:
            self._file = _open(path, os.O_CREAT | os.O_APPEND)
            sync_folder(os.path.dirname(path))
        except OSError as error:
            raise StorageError(f"{scrub(path)}: cannot be written: {error.strerror}") from None
        try:
            _lock(self._file, path)
            self._repair()
        except OSError as error:
            self.close()
            raise StorageError(f"{scrub(path)}: cannot be written: {error.strerror}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close and unlock the file. Closing it again does nothing."""
        with self._syncing:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Prediction]:
        """Yield the predictions recorded so far, in order."""
        if os.fstat(self._file).st_size:
            try:
                for _, row in Predictions(self.path, regular=True):
                    yield row.prediction
            except BrokenRow as error:
                raise BrokenRow(str(error), repair_hint(scrub(self.path))) from None

    def add(self, prediction: Prediction) -> None:
        """Write a prediction. It is safe from a crash of this process; `sync` makes it safe from one of the machine."""
        line = encode_prediction(structs.replace(self._redact(prediction), case=prediction.case))
        rest = memoryview(line + b"\n")
        begin = os.fstat(self._file).st_size
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            with suppress(OSError):  # else it is removed when the file is opened again
                os.ftruncate(self._file, begin)
            raise self._refused(error) from None

    def sync(self) -> None:
        """Return when everything that was added is on disk. May be called in another thread. Does nothing if the file is closed."""
        with self._syncing:
            if self._file >= 0:
                try:
                    _sync(self._file)
                except OSError as error:
                    raise self._refused(error) from None

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(f"{scrub(self.path)}: cannot be written: {error.strerror}", "Earlier predictions are saved.")

    def _repair(self) -> None:
        """Remove a truncated last line. If only its line break is missing, add it."""
        size = os.fstat(self._file).st_size
        if not size or os.pread(self._file, 1, size - 1) == b"\n":
            return
        begin = last_line_start(self._file, size)
        try:
            read_prediction(os.pread(self._file, size - begin, begin))
        except BadInput:
            self.repaired = True
            os.ftruncate(self._file, begin)
        else:
            os.write(self._file, b"\n")


def repair_hint(name: str, *, resumable: bool = True) -> str:
    """Return what to do about a line of a run's predictions that cannot be read."""
    return f"Delete this line from {name}, then {'resume the run to request it again' if resumable else 'grade the run again'}."


def is_open(path: str) -> bool:
    """Return whether another process is writing this file."""
    if not os.path.exists(path):
        return False
    try:
        file = _open(path)
    except OSError:
        return False
    try:
        _lock(file, path)
    except BadInput:
        return True
    finally:
        os.close(file)
    return False


def _open(path: str, flags: int = 0) -> int:
    """Open a file of predictions. Anything but a regular file in its own folder raises `BadInput`."""
    name = scrub(path)
    real = path_inside(path, os.path.dirname(path), name)
    refuse_irregular(real, name)
    return open_regular_descriptor(real, name, os.O_RDWR | flags)


def _lock(file: int, path: str) -> None:
    """Lock the file for this process. The lock is released when the process ends, even if it is killed."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.exists(path) or not os.path.samestat(os.fstat(file), os.stat(path)):
            raise BlockingIOError  # the process that held the lock has just removed the file
    except BlockingIOError:
        raise BadInput(
            f"{scrub(os.path.dirname(path))}: in use by another process", "Wait until it ends, or start a separate run with another --name."
        ) from None
    except OSError:  # the file system does not support locks
        pass


def last_line_start(file: int, size: int) -> int:
    """Return the offset of the last line of an open file of this size."""
    end = size
    while end:
        begin = max(end - _PIECE, 0)
        at = os.pread(file, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0
