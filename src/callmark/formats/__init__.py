"""Read and write datasets: one module per format; the format is detected from the first row."""

from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from typing import Any, Literal

import msgspec

from callmark.calls.strict import scrub
from callmark.calls.toolsets import ToolListCache
from callmark.errors import BadInput
from callmark.formats.bare_lists import wrap_list
from callmark.formats.by_reference import ReferenceWriter
from callmark.formats.conversion import read_only_format
from callmark.formats.dataset import BadRow, Dataset
from callmark.formats.detect import detect_format, find_format
from callmark.formats.format import Format, ReadContext
from callmark.formats.items import item_row
from callmark.formats.output import Output, write_lines
from callmark.formats.parquet_output import PARQUET
from callmark.formats.problems import explain
from callmark.formats.reference_tables import ReferenceTables
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
    cases: bool = False,
) -> Dataset:
    """Open a dataset.

        dataset = callmark.load("valid.jsonl")
        for conversation in dataset:
            print(conversation.id, *conversation.calls)

    Rows are read on demand: iterate over the dataset as often as needed. Duplicate ids are kept; `lint` reports them.

    Args:
        source: Path of a file: JSONL or a JSON array, plain, gzip or zstd; `-` is standard input. Or a list of dicts (read like the rows of
            a file), conversations or cases. A `Dataset` is returned unchanged.
        format_name: Format of the rows, such as `openai` or `sharegpt`. By default it is detected from the first valid row.
        tools: File with the tools for rows that have none: a JSON list, or one tool per line.
        skip_bad: Skip rows that cannot be read, and count them in `dataset.bad_rows`.
        cases: Read the case of rows that are both a conversation and a case, such as recorded simulations and preference pairs.

    Returns:
        The dataset, an iterable of `Conversation` or `Case`.

    Raises:
        BadInput: The file is missing, empty or in an unknown format. While iterating: a row cannot be read (the subclass `BrokenRow`,
            unless `skip_bad` is set), or no row can be read. A malformed tool call does not make a row invalid.
    """
    if isinstance(source, Dataset):
        return source
    context = load_tools(fspath(tools)) if tools is not None else None
    path_or_items = fspath(source) if isinstance(source, str | PathLike) else source
    return Dataset(path_or_items, format_name=format_name, context=context, on_bad=(lambda bad: None) if skip_bad else None, cases=cases)


def write(
    rows: Iterable[Any],
    path: str | PathLike[str],
    *,
    format_name: str = "openai",
    wrap: Literal["item"] | None = None,
    by_reference: bool = False,
) -> int:
    """Write conversations, cases or dicts, one per line, and return the number of rows. The file is written completely or not at all.

    Dicts are detected and read like the rows of a file. `wrap="item"` nests each row under `item`. `by_reference` writes decision points
    that point into their conversations, each of which is written once; in Parquet, to a folder of three files. Without rows, the file is
    empty. A format that cannot be written raises `BadInput`.
    """
    target = find_format(format_name)
    write_row = target.write
    if write_row is None:
        raise read_only_format(target)
    if by_reference and wrap:
        raise BadInput("decision points by reference cannot be nested under item: only callmark reads them")
    references = ReferenceWriter() if by_reference else None
    count = 0
    with _open_output(fspath(path), by_reference=by_reference) as output:
        for row in _read_items(rows):
            try:
                if references is not None:
                    for line in references.lines(row):
                        output.line(line)
                else:
                    output.line(write_row(row) if wrap is None else b'{"%b":%b}' % (wrap.encode(), write_row(row)))
            except UnicodeEncodeError:
                raise BadInput(f"{scrub(row.id)}: cannot be written: an ID, a role or a name contains a lone surrogate") from None
            count += 1
    return count


def _open_output(path: str, *, by_reference: bool) -> Output | ReferenceTables:
    return ReferenceTables(path) if by_reference and path.rstrip("/").endswith(PARQUET) else Output(path)


def load_tools(path: str, *, regular: bool = False) -> ReadContext:
    """Return the context for reading rows whose tools are in a separate file: a JSON list, or one tool per line.

    With `regular`, anything but a regular file raises `BadInput`.
    """
    text = Rows(path, regular=regular).read_all()
    try:
        raw, tools = ToolListCache().read(text if is_json(text) else b"[" + b",".join(text.split(b"\n")) + b"]")
    except BadInput as error:
        raise BadInput(f"{path}: {str(error).removeprefix('tools: ')}") from None
    if not tools:
        raise BadInput(f"{path}: expected a JSON list of tools, found no tools")
    return ReadContext(raw_tools=msgspec.json.format(raw, indent=-1), tools=tools)  # minified, as each row is written on one line


def _read_items(rows: Iterable[Any]) -> Iterator[Conversation]:
    """Yield conversations and cases unchanged, and parse dicts into conversations."""
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
            text = wrap_list(escape_surrogates(text))
            found = found or detect_format(text)
            if found.define is None or not found.define(text, place, context):
                yield found.read(text, place, context)
        except (ValueError, RecursionError, BadInput) as error:
            raise BadInput(f"{place}: {explain(text, error)}", error.hint if isinstance(error, BadInput) else "") from None
