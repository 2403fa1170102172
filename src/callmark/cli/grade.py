"""`callmark grade`: predictions against what was expected."""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callmark.cli.reading import PATIENCE, Reader, ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, say
from callmark.errors import BadInput

if TYPE_CHECKING:
    from callmark.analysis.summary import Summary
    from callmark.grading.suites import Settings
    from callmark.running.folder import RunFolder, RunInfo

PARSERS = ("auto", "hermes", "mistral", "llama3", "pythonic", "json")
OUT = "runs"  # the folder that runs go into
WITH_ERRORS = 3  # exit status
_SHOWN = ("call.score", "call.pass", "process.reliability")  # metrics whose interval stands in the terminal


@click.command(name="grade", short_help="Grade predictions, call by call: numbers, faults, the weakest tools.")
@click.argument("cases", metavar="EVAL|RUN")
@click.option("-p", "--predictions", metavar="FILE", help="What the model answered, a row a case, by id or in order.")
@click.option(
    "--suite", "suites", multiple=True, metavar="NAME", help="call, schema, process, or your own as module:name. May be repeated."
)
@click.option("--parse", type=click.Choice(PARSERS), help="How calls are written in raw text; auto where a row has nothing else.")
@click.option("-o", "--out", metavar="DIR", help="The folder that the run goes into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the file's name and the time if not given.")
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to grade with.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines: counts, metrics with intervals, faults, tools.")
@reading_options()
def command(
    cases: str,
    predictions: str | None,
    suites: tuple[str, ...],
    parse: str | None,
    out: str | None,
    name: str | None,
    jobs: int,
    config: str | None,
    as_json: bool,
    reading: ReadingOptions,
) -> int:
    """Grade what a model answered against what was expected, by three suites, with every fault explained; the run goes into a folder.
    EVAL: decision points as `expand` makes them, conversations (cut into decision points on the way), or scenarios. RUN: the folder of
    a run, which is graded again. Exit status 3: finished, but cases without an answer were left out.

    \b
    callmark grade eval.jsonl --predictions base.jsonl
    callmark grade eval.jsonl -p outputs.jsonl --parse hermes --suite call --name base
    callmark grade runs/base
    """
    from msgspec import structs

    from callmark.config import read_settings
    from callmark.running.folder import is_run

    refuse_rejects_alone(reading)
    sys.path.insert(0, os.getcwd())  # where --suite module:name is looked for
    settings = read_settings(config)
    if suites:
        settings = structs.replace(settings, suites=suites)
    intervals = None if as_json else _SHOWN
    with reading.reader() as reader:
        if is_run(cases):
            given = {"predictions": predictions, "parse": parse, "out": out, "name": name, "from": reading.dialect, "tools": reading.tools}
            _refuse_with_run(cases, given)
            folder, info, summary = _again(cases, settings, reading, reader, jobs, intervals)
        else:
            folder, info, summary = _anew(cases, predictions, settings, parse, out or OUT, name, reading, reader, jobs, intervals)
    (_print_json if as_json else _show)(folder, info, summary)
    return WITH_ERRORS if summary.errors else 0


def _anew(
    cases: str,
    predictions: str | None,
    settings: "Settings",
    parse: str | None,
    out: str,
    name: str | None,
    reading: ReadingOptions,
    reader: Reader,
    jobs: int,
    intervals: Collection[str] | None,
) -> "tuple[RunFolder, RunInfo, Summary]":
    """Grade a file of predictions into a folder of its own."""
    from msgspec import structs

    from callmark.formats.predictions import Predictions
    from callmark.running.answers import answers
    from callmark.running.folder import CASES, DatasetInfo, discard, new_folder
    from callmark.running.graded_run import grade_into
    from callmark.running.grading import Work, first_row
    from callmark.types import Case

    if predictions is None:
        raise BadInput(f"--predictions FILE is missing: what should {cases} be graded against?", "callmark grade --help has examples.")
    if cases == "-" and predictions == "-":
        raise BadInput("standard input can be read once, it stands there twice")
    refuse_same_file(file=cases, rejects=reading.rejects)
    refuse_same_file(file=predictions, rejects=reading.rejects)
    made = time.strftime("%Y-%m-%dT%H-%M")
    source = "standard-input" if predictions == "-" else Path(predictions).name.partition(".")[0]
    folder = new_folder(out, name, default=f"{source}-{made}")
    try:
        kept = _kept(cases, folder.file(CASES))
        work = Work(kept, settings, {}, False, reading.dialect, reading.tools, reading.skip_bad)
        first = first_row(work)
        whole = isinstance(first, Case) and first.is_scenario
        found = answers(Predictions(predictions, parse=parse, whole=whole, on_bad=reader.on_bad))  # type: ignore[arg-type]
        dataset = DatasetInfo(
            "standard input" if cases == "-" else cases,
            folder.from_here(kept),
            tools=folder.from_here(reading.tools) if reading.tools else None,
        )
        work = structs.replace(work, answers=found.by_case, in_order=found.in_order)
        with _bar(sum(map(len, found.by_case.values()))) as on_block:
            info, summary = grade_into(
                folder,
                work,
                found,
                made=made,
                dataset=dataset,
                jobs=jobs,
                intervals=intervals,
                on_bad=reader.on_bad or _never,
                on_block=on_block,
            )
    except BaseException:
        discard(folder)
        raise
    return folder, info, summary


def _refuse_with_run(run: str, given: Mapping[str, str | None]) -> None:
    """Refuse what a run has settled already."""
    for name, value in given.items():
        if value is not None:
            raise BadInput(
                f"{run} is a run, which is graded again as it stands: --{name} cannot be given with it",
                "To grade a file of predictions, name the file of the cases instead.",
            )


def _again(
    path: str, settings: "Settings", reading: ReadingOptions, reader: Reader, jobs: int, intervals: Collection[str] | None
) -> "tuple[RunFolder, RunInfo, Summary]":
    """Grade the predictions of a run again."""
    from callmark.formats.predictions import Predictions
    from callmark.running.answers import answers
    from callmark.running.folder import PREDICTIONS, RunFolder
    from callmark.running.graded_run import grade_into
    from callmark.running.grading import Work

    folder = RunFolder(path)
    info = folder.read()
    changed = [field for field in settings.__struct_fields__ if getattr(settings, field) != getattr(info.settings, field)]
    if changed:
        say(f"callmark: graded by other settings than before: {', '.join(changed)}.")
    file = folder.to_here(info.dataset.path)
    if not os.path.isfile(file):
        raise BadInput(
            f"{folder}: its cases are gone, they stood in {file}", "Grade its predictions.jsonl against the file where it is now."
        )
    found = answers(Predictions(folder.file(PREDICTIONS)))
    tools = folder.to_here(info.dataset.tools) if info.dataset.tools else None
    work = Work(file, settings, found.by_case, found.in_order, info.dataset.dialect, tools, reading.skip_bad)
    with _bar(info.cases) as on_block:
        graded, summary = grade_into(
            folder,
            work,
            found,
            made=info.made,
            dataset=info.dataset,
            before=info,
            jobs=jobs,
            intervals=intervals,
            on_bad=reader.on_bad or _never,
            on_block=on_block,
        )
    return folder, graded, summary


def _kept(cases: str, copy: str) -> str:
    """Where the cases can be read more than once: the file itself, or a copy in the run folder of what came through a pipe."""
    from callmark.formats.rows import Rows

    if cases != "-" and (os.path.isfile(cases) or not os.path.exists(cases) or os.path.isdir(cases)):
        return cases
    Path(copy).write_bytes(Rows(cases).whole() + b"\n")
    return copy


def _never(row: object) -> None:
    """A row that cannot be read has stopped the command long before."""


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, once it takes longer than a second and someone is looking."""
    if not sys.stderr.isatty():
        yield lambda cases: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    began = time.monotonic()
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task("grading", total=total)

    def on_block(cases: int) -> None:
        if time.monotonic() - began > PATIENCE:
            progress.start()
            progress.update(task, completed=cases)

    try:
        yield on_block
    finally:
        progress.stop()


def _print_json(folder: "RunFolder", info: "RunInfo", summary: "Summary") -> None:
    import msgspec

    told = {"run": str(folder), "info": info, "summary": summary}
    click.echo(msgspec.json.encode(told))


def _show(folder: "RunFolder", info: "RunInfo", summary: "Summary") -> None:
    from callmark.reporting.grade_view import show_run
    from callmark.reporting.terminal import console

    show_run(console(), str(folder), info, summary)
