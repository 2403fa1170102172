"""Datasets: describe, lint, filter, split, convert, and cut into decision points.

Every dataset argument can be a path, a `Dataset`, or a list of conversations, cases or dicts. A row that cannot be read raises `BrokenRow`
with its file, line and reason, unless the dataset skips bad rows (`load(path, skip_bad=True)`).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from typing import Any, Literal, cast

from msgspec import Struct

from callmark import registry
from callmark.api.drafting import Drafting
from callmark.api.expanding import PatchedPoints, refuse_inlining
from callmark.api.rejects import RejectsFile
from callmark.api.unchanged import RowsFile
from callmark.config import read_grading_settings
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
from callmark.formats import BadRow, Dataset, Output, load
from callmark.formats import write as write_rows
from callmark.formats.conversion import Conversion, read_only_format
from callmark.formats.detect import find_format
from callmark.formats.format import Format
from callmark.formats.row_source import open_rows
from callmark.types import Case, Conversation
from callmark.wording import did_you_mean, end_sentence

DatasetSource = str | PathLike[str] | Dataset | Iterable[Conversation] | Iterable[Mapping[str, Any]]
TRAIN, VALID = "train.jsonl", "valid.jsonl"  # file names of a split


class FilterResult(Struct, frozen=True):
    """The result of `filter`.

    Attributes:
        kept: The rows that pass every rule; empty if they were written to a file.
        counts: Number of rows read, kept by each rule on its own, and kept by all rules.
    """

    kept: list[Conversation]
    counts: FilterCounts


class ConversionResult(Struct, frozen=True):
    """The result of `convert`.

    Attributes:
        to: Name of the target format.
        title: Title of the target format.
        rows: Number of rows read.
        written: Number of rows written.
        unwritten: Number of rows that the format cannot represent.
        counts: Number of calls, results, generated ids, replaced ids, and dropped keys.
        notes: The same changes in words.
    """

    to: str
    title: str
    rows: int
    written: int
    unwritten: int
    counts: dict[str, Any]
    notes: list[str]


def open_dataset(source: DatasetSource) -> Dataset:
    """Open a path or a list as a dataset; return a dataset unchanged."""
    return load(source)


def write(
    rows: DatasetSource,
    path: str | PathLike[str],
    *,
    to: str = "openai",
    wrap: Literal["item"] | None = None,
    by_reference: bool = False,
) -> int:
    """Write conversations or cases as JSONL.

        callmark.write(callmark.expand("valid.jsonl"), "eval.jsonl")

    The file is written completely or not at all. Without rows, it is empty; duplicate rows are written as they are.

    Args:
        rows: A dataset, or any iterable of conversations, cases or dicts.
        path: Output file; `-` is standard output. `.gz` and `.zst` are compressed.
        to: Format to write.
        wrap: `"item"` nests each row under `item`, as hosted evaluations expect.
        by_reference: Write each conversation once, and decision points that point into it. They must come from `expand`, or from such a
            file.

    Returns:
        The number of rows written; by reference, the number of decision points.

    Raises:
        BadInput: The format is unknown or cannot be written, a row cannot be read, or the format cannot represent it.
        StorageError: The file cannot be written.
    """
    source = load(rows) if isinstance(rows, str | PathLike) else rows
    return write_rows(source, path, format_name=to, wrap=wrap, by_reference=by_reference)


def stats(dataset: DatasetSource) -> Stats:
    """Describe a dataset: conversation lengths, roles, tools, call sequences and arguments.

        callmark.stats("train.jsonl").tools    # {"get_order": 412, "find_user": 398, ...}

    For cases, the expected calls are counted. Malformed calls are counted as calls, and also separately in `malformed_calls`. Duplicate
    rows are counted each time.

    Returns:
        The statistics. They display as a table in a notebook.

    Raises:
        BadInput: The dataset is empty, or a row cannot be read.
    """
    return statistics.stats(open_dataset(dataset))


def lint(
    dataset: DatasetSource | Sequence[DatasetSource], *, valid: DatasetSource | Sequence[DatasetSource] = (), config: str | None = None
) -> LintReport:
    """Find problems in a dataset: malformed calls, hallucinated values, duplicates, leaks from training to validation data, and more.

        report = callmark.lint("train.jsonl", valid="valid.jsonl")
        for finding in report.findings:
            print(finding.file, finding.line, finding.severity, finding.sentence)

    Each row is checked on its own first, then all rows together.

    Args:
        dataset: One dataset, or a list of paths or `Dataset` objects.
        valid: Validation data. `dataset` is then training data, and near-duplicates between the two are errors.
        config: Path of the configuration file; `callmark.toml` by default. `[grounding] ignore` lists arguments that need no source.

    Returns:
        All findings, their number by code, and the number of rows. Rows that a dataset skips (`skip_bad=True`) are findings too.

    Raises:
        BadInput: A dataset is empty, a row cannot be read and the dataset does not skip such rows, or the configuration is invalid.
    """
    linter = Linter(ignore=read_grading_settings(config).ungrounded)
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
    min_messages: int | None = None,
    max_messages: int | None = None,
    tools: Sequence[str] = (),
    no_tools: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    rejects: str | PathLike[str] | RejectsFile | None = None,
    config: str | None = None,
) -> FilterResult:
    """Keep the rows of a dataset that pass every rule.

        result = callmark.filter("train.jsonl", grounded=True, min_calls=1, out="good.jsonl")
        print(result.counts.kept, "of", result.counts.rows)

    Rows are written and returned unchanged, including duplicates.

    Args:
        dataset: The dataset.
        require: Sequence patterns that must match, such as `find_* > get_user(user_id=$result)`.
        forbid: Sequence patterns that must not match.
        consistent: Arguments that must have the same value in every call of a conversation.
        grounded: Reject rows with hallucinated values: values that do not appear earlier in the conversation.
        clean: Reject rows with a lint error.
        min_calls: Least number of calls.
        max_calls: Greatest number of calls.
        min_messages: Least number of messages.
        max_messages: Greatest number of messages.
        tools: Name patterns; each must match a called tool.
        no_tools: Name patterns; none may match a called tool.
        out: File for the rows that are kept. Without it, they are returned.
        rejects: File for the other rows, each with the rules it failed.
        config: Path of the configuration file; `callmark.toml` by default. `grounded` checks no argument that `[grounding] ignore` lists;
            the other rules do not read the file.

    Returns:
        The rows that are kept (if `out` is not given) and the counts by rule.

    Raises:
        BadInput: No rule is given, a pattern or the configuration is invalid, the dataset is empty, or a row cannot be read.
        StorageError: A file cannot be written.
    """
    rules = [
        *map(filter_rules.require, require),
        *map(filter_rules.forbid, forbid),
        *map(filter_rules.consistent, consistent),
        *([filter_rules.grounded(read_grading_settings(config).ungrounded)] if grounded else []),
        *([filter_rules.clean()] if clean else []),
        *filter_rules.calls_between(min_calls, max_calls),
        *filter_rules.messages_between(min_messages, max_messages),
        *map(filter_rules.uses_tool, tools),
        *map(filter_rules.avoids_tool, no_tools),
    ]
    if not rules:
        raise BadInput("no filter rule given", "callmark filter --help lists the rules.")
    kept: list[Conversation] = []
    counts = FilterCounts(0, {}, 0)
    with ExitStack() as stack:
        rejected = rejects if isinstance(rejects, RejectsFile) else stack.enter_context(RejectsFile(rejects))
        rows = stack.enter_context(open_dataset(dataset))
        output = stack.enter_context(RowsFile(fspath(out))) if out is not None else None
        for row, failed, counts in filter_rules.apply_rules(rows, rules):  # noqa: B007 - the last counts are returned
            if failed:
                rejected.add_row(row, failed)
            elif output is not None:
                output.add(row)
            else:
                kept.append(row)
    return FilterResult(kept, counts)


def split(dataset: DatasetSource, *, valid: float = 0.2, seed: int = 7, out: str | PathLike[str] | None = None) -> Split:
    """Split a dataset into training and validation data, stratified by the tools that are called.

        parts = callmark.split("all.jsonl", valid=0.2, out="data")

    Conversations are not divided, and duplicates and near-duplicates stay on the same side. The result depends only on the rows and the
    seed.

    Args:
        dataset: The dataset.
        valid: Share of conversations for validation, from 0 to 1.
        seed: Seed of the random choice.
        out: Folder for `train.jsonl` and `valid.jsonl`, whose rows are written unchanged. Without it, nothing is written.

    Returns:
        The row indexes of both sides, their sizes, the groups that were kept together, and tools that are on one side only.

    Raises:
        BadInput: The share is not between 0 and 1, the dataset is empty, a row cannot be read, or `out` is given and the dataset is a pipe,
            which cannot be read twice.
        StorageError: A file cannot be written.
    """
    rows = open_dataset(dataset)
    if out is not None and rows.path:
        refuse_pipe(rows.path)
    with rows:
        parts = splitting.split(rows, valid=valid, seed=seed)
    if out is not None:
        in_train, in_valid = {*parts.train}, {*parts.valid}
        with RowsFile(os.path.join(out, TRAIN)) as train_rows, RowsFile(os.path.join(out, VALID)) as valid_rows:
            for index, row in _unchanged_rows(rows, parts):
                if index in in_valid:
                    valid_rows.add(row)
                elif index in in_train:
                    train_rows.add(row)
    return parts


def expand(
    dataset: DatasetSource, *, parallel: Parallel = "separate", abstain: bool = False, patch: str | PathLike[str] | None = None
) -> Iterator[Case]:
    """Cut conversations into decision points: one case for each tool call, with the conversation up to the call as input.

        cases = list(callmark.expand("valid.jsonl"))

    Cases are generated on demand. Conversations without calls yield none. Duplicate conversation ids get a suffix (`~2`, `~3`, …), so that
    case ids are unique.

    Args:
        dataset: A dataset of conversations.
        parallel: For several calls in one message: `"separate"` yields a case for each, `"together"` one case that expects all of them.
        abstain: Also yield a case for each assistant turn without a call, where no call is expected.
        patch: File with corrections to expected calls, as `view` writes it. If none of them applies, that is an error.

    Yields:
        The decision points, in order. `write` saves them to a file.

    Raises:
        BadInput: A row is already a case, a row cannot be read, or the dataset is empty.
    """
    cases = expanding.expand(open_dataset(dataset), parallel=parallel, abstain=abstain)
    return cases if patch is None else PatchedPoints(fspath(patch)).apply((case, _as_it_is) for case in cases)


def _as_it_is(case: Case) -> Case:
    return case


def convert(
    dataset: DatasetSource,
    *,
    to: str,
    out: str | PathLike[str],
    rewrite: bool = False,
    skip_bad: bool = False,
    rejects: str | PathLike[str] | RejectsFile | None = None,
    config: str | None = None,
) -> ConversionResult:
    """Convert a dataset to another format.

        result = callmark.convert("sharegpt.jsonl", to="openai", out="openai.jsonl")
        print(result.written, result.notes)

    No call, id or result is lost. Rows already in the target format are written unchanged. To `scenarios`, conversations become drafts:
    the messages of the user, and the calls that change something as expected calls.

    Args:
        dataset: The dataset.
        to: Target format: `openai`, `anthropic`, `sharegpt`, `deepfabric`, `scenarios`, or one from an installed package.
        out: Output file; `-` is standard output.
        rewrite: Rewrite rows already in the target format, for example to add tools from a separate file.
        skip_bad: Skip rows that the target format cannot represent, and count them as `unwritten`.
        rejects: File for these rows, each with the reason.
        config: Path of the configuration file; `callmark.toml` by default. For drafts, `[tools] read_only` lists tools that change nothing.

    Returns:
        The counts and notes about generated ids, replaced ids and dropped keys.

    Raises:
        BrokenRow: A row cannot be read, or the target format cannot represent it and `skip_bad` is not set.
        BadInput: The format is unknown or cannot be written, or the dataset is empty.
        StorageError: A file cannot be written.
    """
    target = check_target_format(to)
    conversion = Conversion(target, rewrite=rewrite)
    drafting = Drafting(read_grading_settings(config).read_only) if target.drafts_cases else None
    rows = unwritten = 0
    with ExitStack() as stack:
        rejected = rejects if isinstance(rejects, RejectsFile) else stack.enter_context(RejectsFile(rejects))
        opened = stack.enter_context(open_dataset(dataset))
        if opened.format.define is not None:
            refuse_inlining(opened)
        stack.callback(setattr, opened, "cases", opened.cases)  # it may be a dataset of the caller
        opened.cases = opened.cases or target.writes_cases
        output = stack.enter_context(Output(fspath(out)))
        for row in opened:
            rows += 1
            try:
                source = drafting.draft(row) if drafting is not None and not isinstance(row, Case) else row
                line = conversion.line(source, opened.format)
            except BadInput as error:
                if not skip_bad:
                    raise BrokenRow(end_sentence(f"{row.place}: {error}"), error.hint) from None
                unwritten += 1
                rejected.add_row(row, [str(error)])
                continue
            if line is not None:
                output.line(line)
    return ConversionResult(
        target.name,
        target.title,
        rows,
        output.lines,
        unwritten,
        conversion.counts(),
        [*conversion.notes(), *(drafting.notes() if drafting is not None else ())],
    )


def refuse_pipe(path: str) -> None:
    """Raise `BadInput` for standard input and pipes, where a file has to be read twice."""
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
        name = "standard input" if path == "-" else path
        raise BadInput(f"{name}: a split reads the file twice, but a pipe can only be read once", "Save the data to a file first.")


def check_target_format(name: str) -> Format:
    """Return the target format with this name. An unknown format, and one that can only be read, raise `BadInput`."""
    if not registry.is_known("formats", name):
        writable = [each for each in registry.names("formats") if find_format(each).write is not None]
        raise BadInput(f"unknown format {name!r}{did_you_mean(name, writable)}", f"Available: {', '.join(writable)}.")
    found = find_format(name)
    if found.write is None:
        raise read_only_format(found)
    return found


def _unchanged_rows(dataset: Dataset, parts: Split) -> Iterator[tuple[int, Conversation | bytes]]:
    """Yield the index and the row, or its text, of each row of a split."""
    if not dataset.path:
        yield from enumerate(dataset)
        return
    indexes = {number: index for index, number in enumerate(parts.numbers)}
    if dataset.format.is_row_wise:
        yield from ((indexes[number], line) for number, line in open_rows(dataset.path, split=dataset.split) if number in indexes)
        return
    on_bad, dataset.on_bad = dataset.on_bad, lambda bad: None  # bad rows were reported when the dataset was split
    try:
        yield from ((indexes[row.place.number], row) for row in dataset if row.place and row.place.number in indexes)
    finally:
        dataset.on_bad = on_bad


def _each(sources: DatasetSource | Sequence[DatasetSource]) -> Sequence[DatasetSource]:
    """Return a list of datasets unchanged, and anything else as one dataset."""
    if isinstance(sources, list | tuple) and all(isinstance(source, str | PathLike | Dataset) for source in sources):
        return sources
    return [cast("DatasetSource", sources)]


def _rows(source: DatasetSource, linter: Linter) -> Iterator[Conversation]:
    """Yield the rows of a dataset, and pass the bad rows it skips to the linter."""
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
