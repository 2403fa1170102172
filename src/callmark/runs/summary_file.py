"""`summary.json`: the summary of a run's grades, so that nobody has to read a hundred thousand of them for it.

It is valid only for the grades it was written for, if it was written by this version of callmark and not changed since.
"""

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Raw, Struct, structs

from callmark.analysis.summary import Estimate, Summary, headline_metrics
from callmark.formats import write_lines
from callmark.runs.manifest import Manifest
from callmark.runs.store import GRADES, SUMMARY, RunFolder

VERSION = 1
_BUFFER = 1 << 18
_MAX_SIZE = 5_000_000  # bytes: the names and the texts of errors that a summary holds are unlimited


class _SummaryFile(Struct):
    version: int
    stamp: str
    summary: Raw


def store_summary(folder: RunFolder, manifest: Manifest, summary: Summary) -> None:
    """Write the summary of a run's grades, the same whatever intervals and details were computed with it. A summary that JSON cannot hold,
    or that is very large, is not stored.
    """
    headlines = headline_metrics(summary.metrics, manifest.metrics)
    plain = {name: each if name in headlines else Estimate(each.n, each.mean) for name, each in summary.metrics.items()}
    with suppress(OverflowError, ValueError, RecursionError):
        text = Raw(msgspec.json.encode(structs.replace(summary, metrics=plain, details=None)))
        content = msgspec.json.encode(_SummaryFile(VERSION, _stamp(folder, manifest, text), text))
        if len(content) < _MAX_SIZE:
            write_lines(folder.file(SUMMARY), [content])


def load_summary(folder: RunFolder, manifest: Manifest) -> Summary | None:
    """Return the stored summary, without details and with the intervals of the terminal only; None where it is missing or not valid."""
    try:
        file = Path(folder.file(SUMMARY))
        if not file.is_file() or file.stat().st_size > _MAX_SIZE:
            return None
        content = msgspec.json.decode(file.read_bytes(), type=_SummaryFile)
        if content.version != VERSION or content.stamp != _stamp(folder, manifest, content.summary):
            return None
        return msgspec.json.decode(content.summary, type=Summary)
    except (OSError, ValueError, RecursionError):
        return None


def _stamp(folder: RunFolder, manifest: Manifest, summary: Raw) -> str:
    """Return what tells this summary from one that was changed, or is of other grades, other evaluators or another version."""
    import xxhash

    grading = (version("callmark"), manifest.dataset.kind, manifest.grading.evaluators, manifest.grading.ignore)
    digest = xxhash.xxh3_128(msgspec.json.encode(grading))
    digest.update(summary)
    with Path(folder.file(GRADES)).open("rb") as grades:
        while piece := grades.read(_BUFFER):
            digest.update(piece)
    return f"xxh3:{digest.hexdigest()}"
