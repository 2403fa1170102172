"""gzip and zstd: detected by a file's first bytes, written by the end of its name.

A compressed file may expand to anything: memory is bounded by `window_log_max` here, and by the reader of each line.
"""

import gzip
import io
import sys
import zlib
from types import ModuleType
from typing import IO, Any, Literal, cast

Compression = Literal["gzip", "zstd"]
BUFFER = 1 << 18

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f: a frame without content, which may come before the others
_LARGEST_WINDOW = 27  # as a power of two: 128 MiB, the most that the zstd program takes without an option


class _PieceReader(io.RawIOBase):
    """A decompressed stream, read a piece at a time, so that everything before a damaged piece is returned."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def detect_compression(head: bytes) -> Compression | None:
    """Return how a file that begins with these bytes is compressed; None where it is not."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return None


def decompress(file: IO[bytes], compression: Compression) -> io.BufferedReader:
    """Return a reader of a compressed file, all its members or frames. Reading may raise what `decompression_errors` lists."""
    stream: Any
    if compression == "gzip":
        stream = gzip.GzipFile(fileobj=file)
    else:
        zstd = _zstd()
        stream = zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW})
    return io.BufferedReader(_PieceReader(stream), BUFFER)


def compress(file: IO[bytes], name: str) -> IO[bytes]:
    """Return a writer to the file that compresses as its name says; the same content gives the same bytes."""
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0))
    return cast("IO[bytes]", _zstd().ZstdFile(file, "wb")) if name.endswith(".zst") else file


def decompression_errors() -> tuple[type[Exception], ...]:
    """Return what reading raises for a compressed file that is cut off, damaged, or asks for too much memory."""
    return EOFError, zlib.error, gzip.BadGzipFile, _zstd().ZstdError


def _zstd() -> ModuleType:
    """Return Python's own module from 3.14 on. It is imported when it is needed, so that start-up stays fast."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
