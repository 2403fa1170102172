"""`summary.json`: the summary of a run's grades, so that not all of them have to be read to show it.

It is only valid for the grades it was written for, if it was written by this version of callmark and has not been modified.
"""

from contextlib import suppress
from functools import cache
from importlib.metadata import version

import msgspec
from msgspec import Raw, Struct, structs

from callmark.analysis.summary import Summary
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.runs.manifest import Manifest
from callmark.runs.store import GRADES, SUMMARY, RunFolder

VERSION = 2
_BUFFER = 1 << 18
_MAX_SIZE = 5_000_000  # bytes: the names and error texts in a summary can be of any length


class _SummaryFile(Struct):
    version: int
    stamp: str
    summary: Raw


def store_summary(folder: RunFolder, manifest: Manifest, summary: Summary) -> None:
    """Write the summary of a run's grades, without details. A summary that is very large, or that JSON cannot represent, is not stored."""
    with suppress(OverflowError, ValueError, RecursionError):
        text = Raw(msgspec.json.encode(structs.replace(summary, details=None)))
        content = msgspec.json.encode(_SummaryFile(VERSION, _stamp(folder, manifest, text), text))
        if len(content) < _MAX_SIZE:
            write_lines(folder.file(SUMMARY), [content], replace=True)


def load_summary(folder: RunFolder, manifest: Manifest) -> Summary | None:
    """Return the stored summary, without details; None if it is missing or not valid."""
    try:
        with folder.open(SUMMARY) as file:
            text = file.read(_MAX_SIZE + 1)
        if len(text) > _MAX_SIZE:
            return None
        content = msgspec.json.decode(text, type=_SummaryFile)
        if content.version != VERSION or content.stamp != _stamp(folder, manifest, content.summary):
            return None
        return msgspec.json.decode(content.summary, type=Summary)
    except (OSError, ValueError, RecursionError, BadInput):
        return None


@cache
def _version() -> str:
    """Return the version of callmark, which takes longer to look up than a summary takes to read."""
    return version("callmark")


def _stamp(folder: RunFolder, manifest: Manifest, summary: Raw) -> str:
    """Return a digest of the summary, the grades, the evaluators and the version, to detect outdated or modified files."""
    import xxhash

    grading = (_version(), manifest.dataset.kind, manifest.grading.evaluators, manifest.grading.ignore)
    digest = xxhash.xxh3_128(msgspec.json.encode(grading))
    digest.update(summary)
    with folder.open(GRADES) as grades:
        while piece := grades.read(_BUFFER):
            digest.update(piece)
    return f"xxh3:{digest.hexdigest()}"
