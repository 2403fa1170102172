"""A file that is opened once and read as often as needed, by several readers at a time and in forked processes."""

import io
import os
import weakref
from typing import Any

from callmark.formats.compression import BUFFER
from callmark.formats.rows import open_file


class SharedFile:
    """A regular file. Each stream has its own position, and closing a stream leaves the file open.

    A file that cannot be opened raises `BadInput`; with `regular`, so does anything but a regular file, without waiting for a pipe.
    """

    def __init__(self, path: str, name: str, *, regular: bool = False) -> None:
        with open_file(path, name, regular=regular) as file:
            self._descriptor = os.dup(file.fileno())
        self._finalizer = weakref.finalize(self, os.close, self._descriptor)  # closes the file if the caller does not

    def stream(self) -> io.BufferedReader:
        """Return a new stream, positioned at the start of the file."""
        return io.BufferedReader(_Stream(self._descriptor), BUFFER)

    def close(self) -> None:
        """Close the file. Closing it again does nothing."""
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
        count = os.preadv(self._descriptor, [buffer], self._position)
        self._position += count
        return count
