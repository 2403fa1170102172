"""Grade a dataset of any size part by part, by any number of processes.

    plan.json              the parts, and the fingerprint of inputs and settings
    predictions/           an index of the predictions by case
    grades/*.parquet       the grades of each part (`callmark.arrow` says what the columns are)
    statistics/*.msgpack   what the summary needs of each part
    summary.json           the summary, written last

The work is given to an executor: `run_here` does it in this process, and an engine spreads it over machines. What is done is not done
again: a folder is resumed if its plan has the same fingerprint, and refused otherwise. The summary is the same to the bit as that of
`callmark grade` in one process, whatever the parts, and in whatever order they are graded.

Cases and predictions are matched by id. Scenarios, recordings, traces and files that cannot be divided raise `BadInput`; so do the inputs
that `callmark grade` refuses: duplicate case ids, no expected call, predictions that match no case.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from callmark.analysis.summary import Summary, Tally
from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow, StorageError
from callmark.formats import BadRow, write_lines
from callmark.formats.dataset import file_digest, no_calls_error
from callmark.formats.file_sets import files_of, is_file_set
from callmark.formats.matching import PredictionsInfo, TextCounts
from callmark.formats.partitions import PARTITION_BYTES, FileScan, Partition, Scan, plan, scan_file
from callmark.formats.reference_tables import is_reference_folder
from callmark.formats.tables import load_pyarrow
from callmark.grading.evaluate import undeclared_metric
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings
from callmark.runs.git_state import read_git_state
from callmark.runs.grade import GradeOptions, unmatched_error
from callmark.runs.manifest import DatasetInfo, Manifest
from callmark.runs.partition import PREDICTIONS, PartitionJob, PartitionResult, PartToGrade, grade_part, grades_path, read_result
from callmark.runs.prediction_index import IndexInfo, PartToIndex, PredictionIndex, bad_predictions, index_part, merge_index
from callmark.runs.selection import CaseSelection
from callmark.runs.source import CaseSource
from callmark.runs.store import is_run
from callmark.trust import import_actions, remember
from callmark.wording import end_sentence

VERSION = 1  # of plan.json and summary.json
PLAN, SUMMARY = "plan.json", "summary.json"

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs a function for each task, in any order and on any machine, and yields the results as they come.

    The function and the tasks can be pickled. A task whose process dies is run again; an exception of the function is raised.
    """

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]: ...


def run_here(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """Run the tasks in this process, in order."""
    return map(function, tasks)


class PartitionedRun(Struct, frozen=True):
    """A dataset that was graded in parts.

    Attributes:
        folder: The folder with the grades.
        info: The dataset, the predictions, the settings and the counts, as `run.json` has them for a run.
        summary: The summary, without details.
        parts: Number of parts.
        graded_before: Number of parts that were graded before.
    """

    folder: str
    info: Manifest
    summary: Summary
    parts: int
    graded_before: int


class _Plan(Struct, frozen=True):
    version: int
    fingerprint: str
    cases: list[Partition] = []
    predictions: list[Partition] = []


class _SummaryFile(Struct, frozen=True):
    version: int
    info: Manifest
    summary: Summary


def grade_partitions(
    cases: CaseSelection,
    predictions: Sequence[str],
    settings: GradingSettings,
    out: str,
    *,
    parse: str | None = None,
    executor: Executor = run_here,
    options: GradeOptions | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> PartitionedRun:
    """Grade prediction files against cases into the folder `out`, or go on with what is there.

    Of the options, `on_bad` gets each bad row at the end, in the order of the files; `on_block` is called after each part.
    """
    options = options or GradeOptions()
    load_pyarrow("grades are written in parts")
    grader = Grader(settings)
    case_files = _files(cases.path)
    prediction_files = [file for path in predictions for file in _files(path)]
    if not prediction_files:
        raise BadInput(f"no predictions given for {scrub(cases.path)}", "Pass --predictions FILE. callmark grade --help has examples.")
    source = _open_source(cases, skip_bad=options.on_bad is not None)
    tools = cases.tools and file_digest(cases.tools)
    fingerprint = _fingerprint(case_files, prediction_files, settings, source.format.name, tools, parse, partition_bytes)
    folder = Path(out)
    parts = _read_plan(folder, fingerprint, [*case_files, *prediction_files])
    if parts is None:
        by_reference = source.format.define is not None
        scans = [Scan(file, by_reference, partition_bytes) for file in case_files]
        scans += [Scan(file, partition_bytes=partition_bytes) for file in prediction_files]
        parts = _write_plan(folder, fingerprint, scans, len(case_files), executor)
    job = PartitionJob(
        os.path.realpath(out), fingerprint, settings, source.format.name, source.expanded,
        os.path.realpath(cases.tools) if cases.tools else None, parse, options.on_bad is not None,
    )  # fmt: skip
    index_folder = os.path.join(job.out, PREDICTIONS)
    rows = sum(executor(index_part, [PartToIndex(part, index_folder, job.skip_bad) for part in parts.predictions]))
    if not rows:
        raise BadInput(f"{' and '.join(map(scrub, predictions))}: no valid rows")
    index = merge_index(index_folder, len(parts.predictions))
    todo = [part for part in parts.cases if read_result(job, part.number) is None]
    done = 0
    for report in executor(grade_part, [PartToGrade(job, part) for part in todo]):
        done += report.cases
        options.on_block(done, rows)
    merged = _merge(job, parts, grader, options)
    name = " and ".join(map(scrub, predictions))
    with PredictionIndex(index_folder) as opened:
        info = _predictions_info(name, parse, index, opened.unmatched(merged.cases), merged.texts)
    if not merged.has_calls and not options.allow_no_calls:
        raise no_calls_error(scrub(cases.path), merged.rows, source.row_kind, source.format.title)
    if info.unmatched == index.rows - index.repeated:
        raise unmatched_error(info, merged.first_case, in_order_hint="")
    summary = merged.tally.summary()
    manifest = Manifest(
        name=scrub(folder.resolve().name),
        callmark=version("callmark"),
        created=time.strftime("%Y-%m-%dT%H-%M"),
        dataset=DatasetInfo(
            scrub(cases.path), cases.path, format=source.format.name, kind=source.case_kind, expanded=source.expanded,
            repaired_rows=merged.repaired_rows, unknown_parts=dict(merged.unknown_parts),
        ),
        predictions=info,
        grading=settings,
        metrics={metric: grader.metrics.get(metric) or undeclared_metric(metric) for metric in summary.metrics} or grader.metrics,
        cases=summary.cases,
        match_counts={pattern: merged.match_counts[pattern] for pattern in grader.matched},
        unused_rules=merged.unused_rules,
        unchecked_replies=merged.unchecked_replies,
        git=read_git_state(),
    )  # fmt: skip
    _remove_leftovers(folder)
    content = msgspec.json.encode(_SummaryFile(VERSION, manifest, summary))
    write_lines(str(folder / SUMMARY), [content], replace=True)
    remember(import_actions(settings.evaluators, source=str(folder)))
    return PartitionedRun(scrub(out), manifest, summary, len(parts.cases), len(parts.cases) - len(todo))


def _files(path: str) -> list[str]:
    """Return the paths of the files of a dataset, in order. Standard input raises `BadInput`, and so does a missing file."""
    if path == "-" or (os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path)):
        raise BadInput("standard input and pipes cannot be divided into partitions", "Pass files.")
    if is_reference_folder(path):
        raise BadInput(
            f"{scrub(path)}: tables by reference cannot be divided into partitions",
            "Write decision points by reference as JSONL: callmark expand --by-reference -o FILE.jsonl",
        )
    if is_file_set(path):
        return list(files_of(path, scrub(path)))
    if not os.path.isfile(path):
        raise BadInput(f"{scrub(path)}: no such file")
    return [path]


def _open_source(cases: CaseSelection, *, skip_bad: bool) -> CaseSource:
    """Return the cases, of which only the first row is read. Those that cannot be read in parts raise `BadInput`."""
    with CaseSource(cases.path, format_name=cases.format_name, tools=cases.tools, skip_bad=skip_bad) as source:
        found = source.format
        if source.row_kind == "scenarios":
            problem = "scenarios cannot be graded in partitions"
        elif found.recorded:
            problem = f"recordings ({found.title}) cannot be graded in partitions"
        elif found.join is not None:
            problem = f"the parts of a conversation may be anywhere in the file ({found.title}), so it cannot be divided into partitions"
        else:
            return source
    raise BadInput(f"{source.name}: {problem}", "Grade without --engine, or cut decision points first: callmark expand")


def _fingerprint(case_files: Sequence[str], prediction_files: Sequence[str], *others: object) -> str:
    """Return a digest of the files, by path, size and time, and of everything else that the grades depend on."""
    import xxhash

    def states(files: Iterable[str]) -> list[tuple[str, int, int]]:
        found = ((os.path.realpath(file), os.stat(file)) for file in files)
        return [(scrub(path), state.st_size, state.st_mtime_ns) for path, state in found]

    content = (VERSION, version("callmark"), states(case_files), states(prediction_files), others)
    return f"xxh3:{xxhash.xxh3_128_hexdigest(msgspec.json.encode(content))}"


def _read_plan(folder: Path, fingerprint: str, files: Iterable[str]) -> _Plan | None:
    """Return the plan of a folder; None for a new one. A folder with anything else in it raises `BadInput`, and so does a plan that names
    other files than these.
    """
    name = scrub(str(folder))
    if is_run(str(folder)) or (folder.exists() and not folder.is_dir()):
        raise BadInput(f"{name}: already exists", "Choose another folder with -o.")
    try:
        found = msgspec.json.decode((folder / PLAN).read_bytes(), type=_Plan)
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise BadInput(f"{name}: already exists, and has no {PLAN}", "Choose another folder with -o.") from None
        return None
    except OSError as error:
        raise BadInput(f"{name}/{PLAN}: cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadInput(f"{name}/{PLAN}: {error}", "Choose another folder with -o.") from None
    known = {os.path.realpath(file) for file in files}
    parts = [*found.cases, *found.predictions]
    named = {part.path for part in parts} | {definition.file for part in parts for definition in part.definitions}
    if found.version != VERSION or found.fingerprint != fingerprint or not named <= known:
        raise BadInput(
            f"{name}: was started with other cases, predictions or settings, or by another version of callmark, so it cannot be resumed",
            "Choose another folder with -o.",
        )
    return found


def _write_plan(folder: Path, fingerprint: str, scans: Sequence[Scan], case_files: int, executor: Executor) -> _Plan:
    found = dict(executor(_scan_numbered, list(enumerate(scans))))
    in_order = [found[number] for number in range(len(scans))]
    parts = _Plan(VERSION, fingerprint, plan(in_order[:case_files]), plan(in_order[case_files:]))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{scrub(str(folder))}: cannot be created: {error.strerror}") from None
    write_lines(str(folder / PLAN), [msgspec.json.encode(parts)], replace=True)
    return parts


def _scan_numbered(task: tuple[int, Scan]) -> tuple[int, FileScan]:
    number, scan = task
    return number, scan_file(scan)


class _Merged:
    """The results of all parts, added in order."""

    def __init__(self, grader: Grader, settings: GradingSettings) -> None:
        self.tally = Tally(grader.metrics, process_ignore=settings.process_ignore(scenarios=False))
        self.texts = TextCounts()
        self.rows = self.repaired_rows = self.unchecked_replies = 0
        self.unknown_parts: Counter[str] = Counter()
        self.match_counts: Counter[str] = Counter()
        self.has_calls = False
        self.first_case = ""
        self.unused_rules: dict[str, str] = {}
        self.cases: Any = None  # the hashes of all cases
        self._results = 0

    def add(self, result: PartitionResult) -> None:
        self.tally.extend(result.statistics)
        self.texts += result.texts
        self.rows += result.read.rows
        self.repaired_rows += result.read.repaired_rows
        self.unknown_parts.update(result.read.unknown_parts)
        self.match_counts.update(result.match_counts)
        self.unchecked_replies += result.unchecked_replies
        self.has_calls = self.has_calls or result.read.has_calls
        self.first_case = self.first_case or result.first_case
        if not self._results:
            self.unused_rules = result.unused_rules
        else:
            self.unused_rules = {rule: tools for rule, tools in self.unused_rules.items() if rule in result.unused_rules}
        self._results += 1


def _merge(job: PartitionJob, parts: _Plan, grader: Grader, options: GradeOptions) -> _Merged:
    """Add up the results of all parts, and report the rows that could not be read, those of the cases first."""
    arrow = load_pyarrow("grades are written in parts")
    merged = _Merged(grader, job.settings)
    hashes = []
    for part in parts.cases:
        result = read_result(job, part.number)
        if result is None:
            raise BadInput(f"{scrub(job.out)}: the results of part {part.number:,} have been removed", "Run the same command again.")
        merged.add(result)
        hashes.append(arrow.Array.from_buffers(arrow.uint64(), len(result.cases) // 8, [None, arrow.py_buffer(result.cases)]))
        _report(result.bad, options)
    _report(bad_predictions(os.path.join(job.out, PREDICTIONS), len(parts.predictions)), options)
    merged.cases = arrow.chunked_array(hashes, arrow.uint64())
    _refuse_repeated(job, parts.cases, hashes, merged.cases)
    return merged


def _report(rows: Iterable[BadRow], options: GradeOptions) -> None:
    """Report rows that were skipped. If rows are not to be skipped now, the first one raises `BrokenRow`."""
    for bad in rows:
        if options.on_bad is None:
            raise BrokenRow(end_sentence(f"{bad.place}: {bad.reason}"))
        options.on_bad(bad)


def _refuse_repeated(job: PartitionJob, parts: Sequence[Partition], hashes: Sequence[Any], cases: Any) -> None:
    """Raise `BadInput` for a case id that is in two parts. Equal hashes may be of different ids."""
    from pyarrow import compute

    in_order = cases.combine_chunks().take(compute.sort_indices(cases))
    repeated = in_order[1:].filter(compute.equal(in_order[1:], in_order[:-1]))
    if not len(repeated):
        return
    from pyarrow import parquet

    seen: dict[str, Partition] = {}
    for part, own in zip(parts, hashes, strict=True):
        if not compute.any(compute.is_in(own, value_set=repeated)).as_py():
            continue
        names = parquet.read_table(grades_path(job.out, part.number), columns=["case"]).column("case").unique().to_pylist()
        for name in names:
            first = seen.setdefault(name, part)
            if first is not part:
                raise BadInput(
                    f"{part.name}: duplicate case ID {name[:80]!r}, first used in {first.name}",
                    "Give each conversation a unique ID." if job.expanded else
                    "Give each case a unique ID, so that predictions can be matched to cases.",
                )  # fmt: skip


def _remove_leftovers(folder: Path) -> None:
    """Remove partial files of processes that were killed."""
    for left in folder.glob("*/*.partial-*"):
        with suppress(OSError):
            left.unlink(missing_ok=True)


def _predictions_info(name: str, parse: str | None, index: IndexInfo, unmatched: tuple[int, str], texts: TextCounts) -> PredictionsInfo:
    number, first = unmatched
    return PredictionsInfo(
        name=name, rows=index.rows, unmatched=number, repeated=index.repeated, first_unmatched=first, parse=parse, texts=texts
    )
