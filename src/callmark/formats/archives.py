"""Archives of rows: a zip file with one JSON file per row under `samples/`, as inspect-ai writes its .eval logs.

Members may be compressed with zstd. They are read one by one, in the order of epoch and sample: memory is bounded by the largest one.
"""

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import IO, Any

from callmark.errors import BadInput
from callmark.formats.compression import BUFFER

ZIP = b"PK\x03\x04"
_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d+)\.json")


def archive_rows(file: IO[bytes], name: str, *, limit: int) -> Iterator[bytes]:
    """Yield the rows of an archive. A damaged archive, one without samples, and a row of more than `limit` bytes raise `BadInput`."""
    if not file.seekable():
        raise BadInput(f"{name}: a log in the .eval format cannot be read from a pipe", "Pass the path of the file.")
    zipfile = _zipfile()
    try:
        with zipfile.ZipFile(file) as archive:
            members = sorted((found for found in map(_sample_order, archive.namelist()) if found is not None), key=lambda found: found[0])
            if not members:
                raise BadInput(f"{name}: expected an inspect-ai log, got an archive without samples")
            for _, member in members:
                yield _read_member(archive, member, name, limit)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{name}: the archive is truncated or damaged ({error})") from None


def _sample_order(member: str) -> tuple[Any, str] | None:
    """Return the sort key of a sample and its member; None for another member. Numbers come before names."""
    found = _SAMPLE.fullmatch(member)
    if found is None:
        return None
    sample, epoch = found.groups()
    is_number = sample.isascii() and sample.isdigit() and len(sample) < 20
    return (int(epoch[:18]), not is_number, int(sample) if is_number else 0, sample), member


def _read_member(archive: Any, member: str, name: str, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    with archive.open(member) as stream:
        while piece := stream.read(BUFFER):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise BadInput(f"{name}, {member}: the archive expands to a row of more than {limit >> 20:,} MiB")
    return b"".join(pieces)


def _zipfile() -> ModuleType:
    """Return a zipfile module that knows zstd: the standard library's from Python 3.14 on."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile
    return zipfile
