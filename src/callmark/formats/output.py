"""Write lines to a file, completely or not at all.

Lines are written to a temporary file next to the target, which replaces the target when everything is written. If anything fails, it is
removed and the target is unchanged. `-` is standard output; files named `.gz` or `.zst` are compressed. Devices and pipes are written to
directly.
"""

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from errno import ENOTDIR
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from callmark.errors import BadInput, StorageError
from callmark.formats.compression import compress

_BATCH = 1 << 17  # bytes written at once


class Output:
    """Context manager that writes lines to a file. With `path` None, lines are only counted."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.lines = 0
        self._batch: list[bytes] = []
        self._size = 0
        self._stream: IO[bytes] | None = None
        self._opened: IO[bytes] | None = None
        self._partial: Path | None = None
        self._target = Path()

    def __enter__(self) -> Self:
        if self.path == "-":
            self._stream = sys.stdout.buffer
        elif self.path is not None:
            if not self.path:
                raise BadInput("the name of the output file is empty")
            try:
                target = Path(os.path.realpath(self.path))  # a symbolic link is kept
                if target.is_dir():
                    raise BadInput(f"{self.path}: expected a file to write, got a directory")
                make_folder(target.parent)
                if not target.exists() or target.is_file():
                    self._partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
                self._opened = (self._partial or target).open("wb")
                if self._partial is not None and target.exists():
                    self._partial.chmod(stat.S_IMODE(target.stat().st_mode))
                self._target = target
                self._stream = compress(self._opened, self.path)
            except (OSError, ValueError) as error:
                raise self._refused(error) from None
        return self

    def line(self, line: bytes) -> None:
        """Write one line and a line break."""
        self.lines += 1
        self._batch += (line, b"\n")
        self._size += len(line)
        if self._size >= _BATCH:
            self._write()

    def piece(self, data: bytes) -> None:
        """Write bytes as they are; they do not count as lines."""
        self._batch.append(data)
        self._size += len(data)
        if self._size >= _BATCH:
            self._write()

    def lines_of(self, lines: Sequence[bytes]) -> None:
        """Write several lines, each with a line break."""
        if lines:
            self.line(b"\n".join(lines))
            self.lines += len(lines) - 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._write()
        except BaseException:
            kind = BadInput
            raise
        finally:
            self._close(complete=kind is None)

    def _write(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        if self._stream is None or not batch:
            return
        try:
            rest = memoryview(b"".join(batch))
            while rest:
                rest = rest[self._stream.write(rest) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._refused(error) from None

    def _close(self, *, complete: bool) -> None:
        if self.path == "-" and self._stream is not None:
            self._stream.flush()
        elif self._stream is not None and self._opened is not None:
            try:
                with closing(self._opened):
                    self._stream.close()
                if self._partial is not None and complete:
                    self._partial.replace(self._target)
            except BrokenPipeError:
                raise
            except OSError as error:
                if complete:  # compressed data may only be written now; an earlier error takes precedence
                    complete = False
                    raise self._refused(error) from None
            finally:
                if self._partial is not None and not complete:
                    self._partial.unlink(missing_ok=True)

    def _refused(self, error: OSError | ValueError) -> StorageError:
        name = "standard output" if self.path == "-" else self.path
        return StorageError(f"{name}: cannot be written: {getattr(error, 'strerror', None) or error}")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents if they are missing. A file in its place raises `NotADirectoryError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, f"{folder.name} is a file, not a folder") from None


def write_lines(path: str, lines: Iterable[bytes]) -> int:
    """Write the lines, and return their number."""
    with Output(path) as output:
        for line in lines:
            output.line(line)
    return output.lines
