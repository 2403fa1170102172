"""A file that is opened once and read from its beginning as often as needed, by several readers at a time, in forked processes too."""

import io
import os
import weakref
from typing import Any

from callmark.formats.compression import BUFFER
from callmark.formats.rows import open_file


class SharedFile:
    """A regular file. Each stream has a position of its own, and closing a stream leaves the file open.

    A file that cannot be opened raises `BadInput`.
    """

    def __init__(self, path: str, name: str) -> None:
        with open_file(path, name) as file:
            self._descriptor = os.dup(file.fileno())
        self._finalizer = weakref.finalize(self, os.close, self._descriptor)  # a file that nobody closes is closed with its object

    def stream(self) -> io.BufferedReader:
        """Return the file as a stream that begins at its beginning."""
        return io.BufferedReader(_Stream(self._descriptor), BUFFER)

    def close(self) -> None:
        """Close the file; a second time changes nothing."""
        self._finalizer()


class _Stream(io.RawIOBase):
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += os.fstat(self._descriptor).st_size
        self._position = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        piece = os.pread(self._descriptor, len(buffer), self._position)
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)
