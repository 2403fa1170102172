"""Datasets: describe, check, filter, split, cut into decision points, convert.

Wherever a dataset is expected, a path, a `Dataset` or a list of conversations, cases or dicts is accepted. A row that cannot be read raises
`BadInput` with its file, line and reason, unless the dataset skips such rows (`load(path, skip_bad=True)`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from typing import Any, Literal, cast

from msgspec import Struct

from callmark.api.rejects import RejectsFile
from callmark.data import expand as expanding
from callmark.data import filter as filter_rules
from callmark.data import split as splitting
from callmark.data import stats as statistics
from callmark.data.expand import Parallel
from callmark.data.filter import FilterCounts
from callmark.data.lint import Linter, LintReport
from callmark.data.split import Split
from callmark.data.stats import Stats
from callmark.errors import BadInput, BrokenRow
from callmark.formats import BadRow, Dataset, Output, load, openai, scenarios
from callmark.formats import write as write_rows
from callmark.formats.conversion import Conversion
from callmark.formats.detect import find_format
from callmark.formats.format import Format
from callmark.formats.rows import Rows
from callmark.types import Case, Conversation
from callmark.wording import end_sentence

DatasetSource = str | PathLike[str] | Dataset | Iterable[Conversation] | Iterable[Mapping[str, Any]]
TRAIN, VALID = "train.jsonl", "valid.jsonl"  # the files of a split


class FilterResult(Struct, frozen=True):
    """The rows that every rule keeps (none where they went to a file), and how many rows each rule keeps."""

    kept: list[Conversation]
    counts: FilterCounts


class ConversionResult(Struct, frozen=True):
    """What a conversion wrote, dropped and could not write. `notes` says in words what a reader of the new file should know."""

    to: str
    title: str
    rows: int
    written: int
    unwritten: int
    counts: dict[str, Any]
    notes: list[str]


def open_dataset(source: DatasetSource) -> Dataset:
    """Return the dataset at a path, a dataset as it is, or the rows of a list as a dataset."""
    return load(source)


def write(rows: DatasetSource, path: str | PathLike[str], *, to: str = "openai", wrap: Literal["item"] | None = None) -> int:
    """Write conversations or cases, one per line, and return how many. The file is complete, or it is not there; `-` is standard output.

    `wrap="item"` nests each record under `item`. No rows give an empty file.
    """
    return write_rows(load(rows) if isinstance(rows, str | PathLike) else rows, path, format_name=to, wrap=wrap)


def stats(dataset: DatasetSource) -> Stats:
    """Describe a dataset: lengths, roles, tools, sequences, arguments. A file without rows raises `BadInput`."""
    return statistics.stats(open_dataset(dataset))


def lint(dataset: DatasetSource | Sequence[DatasetSource], *, valid: DatasetSource | Sequence[DatasetSource] = ()) -> LintReport:
    """Check every row, then all rows together. With `valid`, `dataset` is for training, and what leaks into `valid` is an error.

    Either may be several datasets. Rows that a dataset skips because they cannot be read (`skip_bad`) are findings too.
    """
    linter = Linter()
    for sources, held_out in ((dataset, False), (valid, True)):
        for source in _each(sources):
            for row in _rows(source, linter):
                linter.add(row, held_out=held_out)
    return linter.report()


def filter(  # noqa: A001 - the public name
    dataset: DatasetSource,
    *,
    require: Sequence[str] = (),
    forbid: Sequence[str] = (),
    consistent: Sequence[str] = (),
    grounded: bool = False,
    clean: bool = False,
    min_calls: int | None = None,
    max_calls: int | None = None,
    min_turns: int | None = None,
    max_turns: int | None = None,
    tools: Sequence[str] = (),
    no_tools: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    rejects: str | PathLike[str] | RejectsFile | None = None,
) -> FilterResult:
    """Keep the rows that every rule keeps; no rule at all raises `BadInput`.

    `require` and `forbid` are sequence patterns (`find_* > get_user(user_id=$result)`), `consistent` are arguments that have one value in a
    conversation, `grounded` rejects hallucinated values, `clean` rejects rows with a lint error, `tools` and `no_tools` are name patterns.
    With `out`, kept rows are written there unchanged instead of being returned; `rejects` gets the others, each with its reasons.
    """
    rules = [
        *map(filter_rules.require, require),
        *map(filter_rules.forbid, forbid),
        *map(filter_rules.consistent, consistent),
        *([filter_rules.grounded()] if grounded else []),
        *([filter_rules.clean()] if clean else []),
        *filter_rules.calls_between(min_calls, max_calls),
        *filter_rules.turns_between(min_turns, max_turns),
        *map(filter_rules.uses_tool, tools),
        *map(filter_rules.avoids_tool, no_tools),
    ]
    if not rules:
        raise BadInput("no rule was given, so every row would be kept", "callmark filter --help lists the rules.")
    kept: list[Conversation] = []
    counts = FilterCounts(0, {}, 0)
    with ExitStack() as stack:
        rejected = rejects if isinstance(rejects, RejectsFile) else stack.enter_context(RejectsFile(rejects))
        rows = stack.enter_context(open_dataset(dataset))
        output = stack.enter_context(Output(fspath(out))) if out is not None else None
        for row, failed, counts in filter_rules.apply_rules(rows, rules):  # noqa: B007 - the last counts are returned
            if failed:
                rejected.add_row(row, failed)
            elif output is not None:
                output.line(unchanged_line(row))
            else:
                kept.append(row)
    return FilterResult(kept, counts)


def split(dataset: DatasetSource, *, valid: float = 0.2, seed: int = 7, out: str | PathLike[str] | None = None) -> Split:
    """Divide a dataset into `train` and `valid` by conversation; near-duplicates stay on one side. `valid` is the share held out.

    With `out`, a folder, rows are written unchanged to `train.jsonl` and `valid.jsonl` there; a pipe cannot be split into files.
    """
    rows = open_dataset(dataset)
    if out is not None and rows.path:
        refuse_pipe(rows.path)
    with rows:
        parts = splitting.split(rows, valid=valid, seed=seed)
    if out is not None:
        in_train, in_valid = {*parts.train}, {*parts.valid}
        with Output(os.path.join(out, TRAIN)) as train_rows, Output(os.path.join(out, VALID)) as valid_rows:
            for index, line in _unchanged_lines(rows, parts):
                if index in in_valid:
                    valid_rows.line(line)
                elif index in in_train:
                    train_rows.line(line)
    return parts


def expand(dataset: DatasetSource, *, parallel: Parallel = "apart", abstain: bool = False) -> Iterator[Case]:
    """Cut conversations into decision points: given the conversation so far, which call comes next?

    Several calls in one message give a case each (`parallel="apart"`), or one that expects them all (`"together"`). `abstain` adds a case
    for each assistant turn that makes no call. Conversations without calls give none; rows that are cases already raise `BadInput`.
    """
    return expanding.expand(open_dataset(dataset), parallel=parallel, abstain=abstain)


def convert(
    dataset: DatasetSource,
    *,
    to: str,
    out: str | PathLike[str],
    rewrite: bool = False,
    skip_bad: bool = False,
    rejects: str | PathLike[str] | RejectsFile | None = None,
) -> ConversionResult:
    """Write a dataset in another format. No call, id or result is lost; rows that are in that format already stay unchanged.

    `rewrite` writes those anew too (with tools of a side file, say). A row that the format has no place for raises `BrokenRow`; with
    `skip_bad` it is counted as unwritten and goes to `rejects`.
    """
    target = check_target_format(to)
    conversion = Conversion(target, rewrite=rewrite)
    rows = unwritten = 0
    with ExitStack() as stack:
        rejected = rejects if isinstance(rejects, RejectsFile) else stack.enter_context(RejectsFile(rejects))
        opened = stack.enter_context(open_dataset(dataset))
        output = stack.enter_context(Output(fspath(out)))
        for row in opened:
            rows += 1
            try:
                line = conversion.line(row, opened.format)
            except BadInput as error:
                if not skip_bad:
                    raise BrokenRow(end_sentence(f"{row.place}: {error}"), error.hint) from None
                unwritten += 1
                rejected.add_row(row, [str(error)])
                continue
            if line is not None:
                output.line(line)
    return ConversionResult(target.name, target.title, rows, output.lines, unwritten, conversion.counts(), conversion.notes())


def refuse_pipe(path: str) -> None:
    """Raise `BadInput` for standard input or a pipe, where a file has to be read twice."""
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
        raise BadInput("a split reads its file twice, and a pipe can be read once", "Save it as a file first.")


def check_target_format(name: str) -> Format:
    """Return the format that `convert` writes under a name; an unknown name, and a format that is only read, raise `BadInput`."""
    found = find_format(name)
    if found.write is None:
        raise BadInput(f"{name} is read and not written: it is what another program records", "--to scenarios writes what is asked in it.")
    return found


def unchanged_line(row: Conversation) -> bytes:
    """Return a row as it was read; one that was made in memory is written as a scenario, or in OpenAI's format."""
    if line := row.original.row.rstrip():
        return line
    return scenarios.write(row) if isinstance(row, Case) and row.is_scenario else openai.write(row)


def _unchanged_lines(dataset: Dataset, parts: Split) -> Iterator[tuple[int, bytes]]:
    """Yield the index of each row that was split, and the row as it was read."""
    if not dataset.path:
        yield from enumerate(map(unchanged_line, dataset))
        return
    indexes = {number: index for index, number in enumerate(parts.numbers)}
    for number, line in Rows(dataset.path):
        if number in indexes:
            yield indexes[number], line.rstrip()


def _each(sources: DatasetSource | Sequence[DatasetSource]) -> Sequence[DatasetSource]:
    """Return the datasets of a list of them; anything else is one dataset. An empty list is none."""
    if isinstance(sources, list | tuple) and all(isinstance(source, str | PathLike | Dataset) for source in sources):
        return sources
    return [cast("DatasetSource", sources)]


def _rows(source: DatasetSource, linter: Linter) -> Iterator[Conversation]:
    """Yield the rows of a dataset; rows that it skips because they cannot be read go to the linter as well."""
    dataset = open_dataset(source)
    on_bad = dataset.on_bad
    if on_bad is None:
        yield from dataset
        return

    def report(bad: BadRow) -> None:
        on_bad(bad)
        linter.add_broken(bad.place, bad.reason)

    dataset.on_bad = report
    try:
        yield from dataset
    finally:
        dataset.on_bad = on_bad
