"""gzip and zstd: read by a file's first bytes, written by the end of its name.

A packed file may unpack to anything: what is held in memory at a time is bounded, by `window_log_max` here and by whoever asks for a line.
"""

import gzip
import io
import sys
import zlib
from types import ModuleType
from typing import IO, Any, Literal, cast

Packing = Literal["gzip", "zstd"]
BUFFER = 1 << 18

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f: a frame without content, which may come before the others
_LARGEST_WINDOW = 27  # as a power of two: 128 MiB, the most that the zstd program takes without being told to


class _Pieces(io.RawIOBase):
    """A packed file, read a piece at a time, so that what comes before a damaged one is there."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def packing_of(head: bytes) -> Packing | None:
    """How a file is packed that begins with these bytes; None where it is not."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return None


def unpacked(file: IO[bytes], packing: Packing) -> io.BufferedReader:
    """What is in a packed file, all its members or frames. Reading on may raise what `broken` lists."""
    stream: Any
    if packing == "gzip":
        stream = gzip.GzipFile(fileobj=file)
    else:
        zstd = _zstd()
        stream = zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW})
    return io.BufferedReader(_Pieces(stream), BUFFER)


def packed(file: IO[bytes], name: str) -> IO[bytes]:
    """Where to write what goes into the file, packed as its name says; the same content, the same bytes."""
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0))
    return cast("IO[bytes]", _zstd().ZstdFile(file, "wb")) if name.endswith(".zst") else file


def broken() -> tuple[type[Exception], ...]:
    """What reading a packed file raises that is cut off, damaged, or asks for too much memory."""
    return EOFError, zlib.error, gzip.BadGzipFile, _zstd().ZstdError


def _zstd() -> ModuleType:
    """Python's own from 3.14 on. Imported when it is needed, so that starting stays fast."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
