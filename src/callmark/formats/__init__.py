"""Read and write datasets: one file per format, detected by the first row."""

from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from typing import Any, Literal

import msgspec

from callmark.calls.strict import scrub
from callmark.calls.toolsets import ToolListCache
from callmark.errors import BadInput
from callmark.formats.dataset import BadRow, Dataset
from callmark.formats.detect import detect_format, find_format
from callmark.formats.format import Format, ReadContext
from callmark.formats.items import item_row
from callmark.formats.output import Output, write_lines
from callmark.formats.problems import explain
from callmark.formats.rows import Rows, is_json
from callmark.formats.surrogates import escape_surrogates
from callmark.types import Conversation, Place

__all__ = ["BadRow", "Dataset", "Format", "Output", "ReadContext", "load", "load_tools", "write", "write_lines"]


def load(
    source: str | PathLike[str] | Dataset | Iterable[Any],
    *,
    format_name: str | None = None,
    tools: str | PathLike[str] | None = None,
    skip_bad: bool = False,
) -> Dataset:
    """Return the dataset in a file or a list; a dataset is returned as it is.

    A file is JSONL or a JSON array, plain, gzip or zstd, in any format; `-` is standard input. A list holds dicts, which are detected and
    read like rows of a file, conversations or cases. `tools` is a file with tools for rows that have none. Without `skip_bad` a row that
    cannot be read raises `BadInput`; with it such rows are skipped and counted in `dataset.bad_rows`.
    """
    if isinstance(source, Dataset):
        return source
    context = load_tools(fspath(tools)) if tools is not None else None
    path_or_items = fspath(source) if isinstance(source, str | PathLike) else source
    return Dataset(path_or_items, format_name=format_name, context=context, on_bad=(lambda bad: None) if skip_bad else None)


def write(rows: Iterable[Any], path: str | PathLike[str], *, format_name: str = "openai", wrap: Literal["item"] | None = None) -> int:
    """Write conversations, cases or dicts, one per line, and return how many. The file is complete, or it is not there.

    Dicts are detected and read like rows of a file. `wrap="item"` nests each record under `item`. No rows give an empty file. A format that
    is only read raises `BadInput`.
    """
    target = find_format(format_name)
    write_row = target.write
    if write_row is None:
        raise BadInput(f"{target.title} ({target.name}) can be read, but not written")

    def line(row: Conversation) -> bytes:
        try:
            return write_row(row) if wrap is None else b'{"%b":%b}' % (wrap.encode(), write_row(row))
        except UnicodeEncodeError:
            raise BadInput(f"{scrub(row.id)} cannot be written: there is a lone surrogate in an id, a role or a name") from None

    return write_lines(fspath(path), map(line, _read_items(rows)))


def load_tools(path: str) -> ReadContext:
    """Return the context for reading rows whose tools are in a file of their own: a JSON list, or one tool per line."""
    text = Rows(path).read_all()
    try:
        raw, tools = ToolListCache().read(text if is_json(text) else b"[" + b",".join(text.split(b"\n")) + b"]")
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    if not tools:
        raise BadInput(f"{path} holds no tools, a JSON list of tools was expected")
    return ReadContext(raw_tools=msgspec.json.format(raw, indent=-1), tools=tools)  # they are written on one line


def _read_items(rows: Iterable[Any]) -> Iterator[Conversation]:
    """Yield conversations and cases as they are, and dicts as the conversations that they stand for."""
    context = ReadContext()
    found: Format | None = None
    for number, item in enumerate(rows, 1):
        if isinstance(item, Conversation):
            yield item
            continue
        text = item_row(item, number)
        assert isinstance(text, bytes)
        place = Place("", number, "item")
        try:
            text = escape_surrogates(text)
            found = found or detect_format(text)
            yield found.read(text, place, context)
        except (ValueError, RecursionError, BadInput) as error:
            raise BadInput(f"{place}: {explain(text, error)}", error.hint if isinstance(error, BadInput) else "") from None
