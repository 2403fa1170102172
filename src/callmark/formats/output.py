"""Write lines to a file, completely or not at all.

Lines are written to a temporary file next to the target, which replaces the target when everything is written. If anything fails, it is
removed and the target is unchanged. `-` is standard output; files named `.gz` or `.zst` are compressed, and those
named `.parquet` are tables. A link is followed, and devices and
pipes are written to directly, because the user named them; with `replace`, the file takes the place of whatever had its name. Then it is
also on disk before it is in place, so that no crash leaves an empty file.
"""

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from errno import ENOTDIR
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from callmark.errors import BadInput, StorageError
from callmark.formats.compression import compress
from callmark.formats.parquet_output import PARQUET, ParquetStream
from callmark.formats.tables import load_pyarrow

_BATCH = 1 << 17  # bytes written at once


class Output:
    """Context manager that writes lines to a file. With `path` None, lines are only counted.

    `replace` is for files in a folder that someone else may have prepared, such as a run: its links and pipes are not written to.
    """

    def __init__(self, path: str | None, *, replace: bool = False) -> None:
        self.path = path
        self._replace = replace
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
            if self.path.endswith(PARQUET):
                load_pyarrow(f"{self.path}: Parquet is written")
            try:
                target = Path(self.path if self._replace else os.path.realpath(self.path))  # a symbolic link is kept
                if target.is_dir() and not (self._replace and target.is_symlink()):
                    raise BadInput(f"{self.path}: expected a file to write, got a directory")
                make_folder(target.parent)
                if self._replace or not target.exists() or target.is_file():
                    self._partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
                    self._partial.unlink(missing_ok=True)  # left by a process that was killed, or a link that was prepared
                self._opened = target.open("wb") if self._partial is None else self._partial.open("xb")
                if self._partial is not None and target.is_file() and not (self._replace and target.is_symlink()):
                    self._partial.chmod(stat.S_IMODE(target.stat().st_mode))
                self._target = target
                self._stream = self._encoded(self._opened)
            except (OSError, ValueError) as error:
                raise self._refused(error) from None
        return self

    def _encoded(self, file: IO[bytes]) -> IO[bytes]:
        """Return the stream that writes to a file what its name says: compressed, a table, or the lines as they are."""
        assert self.path is not None
        return cast("IO[bytes]", ParquetStream(file, self.path)) if self.path.endswith(PARQUET) else compress(file, self.path)

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
                    if not complete and isinstance(self._stream, ParquetStream):
                        self._stream.discard()
                    elif self._stream is not self._opened:
                        self._stream.close()
                    if self._replace and complete:
                        self._opened.flush()
                        os.fsync(self._opened.fileno())
                if self._partial is not None and complete:
                    self._partial.replace(self._target)
                    if self._replace:
                        sync_folder(str(self._target.parent))
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


def sync_folder(path: str) -> None:
    """Make sure that the names of new and replaced files in a folder are on disk. File systems that cannot do this are left alone."""
    with suppress(OSError):
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_file(path: str) -> None:
    """Make sure that the content of a file is on disk."""
    with Path(path).open("rb") as file:
        os.fsync(file.fileno())


def make_folder(folder: Path) -> None:
    """Create a folder and its parents if they are missing. A file in its place raises `NotADirectoryError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, f"{folder.name} is a file, not a folder") from None


def write_lines(path: str, lines: Iterable[bytes], *, replace: bool = False) -> int:
    """Write the lines, and return their number. `replace` is that of `Output`."""
    with Output(path, replace=replace) as output:
        for line in lines:
            output.line(line)
    return output.lines
