"""Files in, files out: one dialect a file, a sniffer picks."""

from collections.abc import Iterable
from os import PathLike, fspath

import msgspec

from callmark.calls.strict import scrub
from callmark.calls.toolsets import Toolsets
from callmark.errors import BadInput
from callmark.formats.dataset import BadRow, Dataset
from callmark.formats.detect import DIALECTS, dialect_called
from callmark.formats.format import Reading
from callmark.formats.output import Output, write_lines
from callmark.formats.rows import Rows, is_json
from callmark.types import Conversation

__all__ = ["DIALECTS", "BadRow", "Dataset", "Output", "load", "side_tools", "write", "write_lines"]


def load(
    path: str | PathLike[str], *, dialect: str | None = None, tools: str | PathLike[str] | None = None, skip_bad: bool = False
) -> Dataset:
    """The dataset in a file: JSONL or a JSON array, plain, gzip or zstd, in any dialect; `-` is standard input.

    `tools` is a side file for rows that have none. Without `skip_bad` a row that cannot be read raises `BadInput`; with it such
    rows are passed over and counted in `dataset.bad_rows`.
    """
    reading = side_tools(fspath(tools)) if tools is not None else None
    return Dataset(fspath(path), dialect=dialect, reading=reading, on_bad=(lambda bad: None) if skip_bad else None)


def write(rows: Iterable[Conversation], path: str | PathLike[str], *, dialect: str = "openai") -> int:
    """Write conversations or cases, one a line, and give back how many. The file is complete or it is not there."""
    to_line = dialect_called(dialect).write

    def line(row: Conversation) -> bytes:
        try:
            return to_line(row)
        except UnicodeEncodeError:
            raise BadInput(f"{scrub(row.id)} cannot be written: there is a lone surrogate in an id, a role or a name") from None

    return write_lines(fspath(path), map(line, rows))


def side_tools(path: str) -> Reading:
    """What reading needs when the tools stand once, in a file of their own: a JSON list, or a tool a line."""
    text = Rows(path).whole()
    try:
        raw, tools = Toolsets().read(text if is_json(text) else b"[" + b",".join(text.split(b"\n")) + b"]")
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    if not tools:
        raise BadInput(f"{path} holds no tools, a JSON list of tools was expected")
    return Reading(raw_tools=msgspec.json.format(raw, indent=-1), tools=tools)  # what is written is a line
