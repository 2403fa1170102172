"""gzip and zstd: detected from the first bytes of a file when reading, from its extension when writing.

A small compressed file can expand to any size. Memory is bounded by `window_log_max` here, and by line and file limits in `rows.py`.
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
_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f: a frame without content, which may precede the others
_LARGEST_WINDOW = 27  # as a power of two: 128 MiB, the default limit of the zstd program


class _PieceReader(io.RawIOBase):
    """A decompressed stream that is read piece by piece, so that everything before a damaged piece is returned."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def detect_compression(head: bytes) -> Compression | None:
    """Return the compression of a file that starts with these bytes; None if it is not compressed."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return None


def decompress(file: IO[bytes], compression: Compression) -> io.BufferedReader:
    """Return a reader for all members or frames of a compressed file. Reading may raise the errors in `decompression_errors`."""
    stream: Any
    if compression == "gzip":
        stream = gzip.GzipFile(fileobj=file)
    else:
        zstd = _zstd()
        stream = zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW})
    return io.BufferedReader(_PieceReader(stream), BUFFER)


def compress(file: IO[bytes], name: str) -> IO[bytes]:
    """Return a writer that compresses according to the file name. The output is deterministic."""
    if name.endswith(".gz"):
        return cast("IO[bytes]", gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0))
    return cast("IO[bytes]", _zstd().ZstdFile(file, "wb")) if name.endswith(".zst") else file


def decompression_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions for a compressed file that is truncated, damaged, or requires too much memory."""
    return EOFError, zlib.error, gzip.BadGzipFile, _zstd().ZstdError


def _zstd() -> ModuleType:
    """Return the zstd module: the standard library's from Python 3.14 on. Imported on demand to keep start-up fast."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
