"""`callmark grade`: predictions against what was expected."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast, get_args

import click

from callmark.calls.parsing import Dialect
from callmark.cli.reading import PATIENCE, ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, say
from callmark.errors import BadInput

if TYPE_CHECKING:
    from callmark.grading.evaluator import Settings

OUT = "runs"  # the folder that runs go into
WITH_ERRORS = 3  # exit status


@click.command(name="grade", short_help="Grade predictions, call by call: numbers, faults, the weakest tools.")
@click.argument("cases", metavar="EVAL|RUN")
@click.option(
    "-p", "--predictions", multiple=True, metavar="FILE", help="What the model answered, a row a case, by id or in order. May be repeated."
)
@click.option(
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="NAME",
    help="call, schema, process; of conversations state, policy, effort, recorded; or your own as module:name. May be repeated.",
)
@click.option("--policy", metavar="FILE", help="Rules for the evaluator policy, in YAML.")
@click.option("--parse", type=click.Choice(get_args(Dialect)), help="How calls are written in raw text; auto where a row has nothing else.")
@click.option("-o", "--out", metavar="DIR", help="The folder that the run goes into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the file's name and the time if not given.")
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to grade with.")
@click.option("--details", is_flag=True, help="By tool, position, prompt length; confusion; functions, arguments; what to check first.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines: counts, metrics with intervals, faults, tools.")
@reading_options()
def command(
    cases: str,
    predictions: tuple[str, ...],
    evaluators: tuple[str, ...],
    policy: str | None,
    parse: str | None,
    out: str | None,
    name: str | None,
    jobs: int,
    details: bool,
    config: str | None,
    as_json: bool,
    reading: ReadingOptions,
) -> int:
    """Grade what a model answered against what was expected, by three evaluators, with every fault explained; the run goes into a folder.
    EVAL: decision points as `expand` makes them, conversations (cut into decision points on the way), or scenarios; simulations that were
    recorded need no predictions. RUN: the folder of a run, which is graded again. Exit status 3: finished, but cases without an answer
    were left out.

    \b
    callmark grade eval.jsonl --predictions base.jsonl
    callmark grade eval.jsonl -p outputs.jsonl --parse hermes --evaluator call --name base
    callmark grade runs/base
    """
    from msgspec import structs

    from callmark.analysis.summary import SHOWN
    from callmark.config import read_policy, read_settings
    from callmark.grading.evaluator import OWN
    from callmark.runs.grade_run import GradeOptions, grade_again, grade_file
    from callmark.runs.store import RunFolder, is_run

    refuse_rejects_alone(reading)
    settings = read_settings(config)
    if evaluators:
        settings = structs.replace(settings, evaluators=evaluators)
    if policy:
        settings = structs.replace(settings, policy=read_policy(policy))
    with reading.reader() as reader, _bar() as on_block:
        how = GradeOptions(jobs, reader.on_bad, on_block, None if as_json else SHOWN, details or as_json)
        if is_run(cases) or (not predictions and os.path.isdir(cases)):
            given = {
                "predictions": predictions or None,
                "parse": parse,
                "out": out,
                "name": name,
                "from": reading.dialect,
                "tools": reading.tools,
            }
            folder = RunFolder(cases)
            before = folder.read()
            _refuse_with_run(cases, given)
            for file in (folder.to_here(before.dataset.path), *folder.files()) if reading.rejects else ():
                refuse_same_file(file=file, rejects=reading.rejects)
            if settings.evaluators == OWN and before.dataset.what == "scenarios":  # nobody said to leave out those of conversations
                settings = structs.replace(settings, evaluators=before.settings.evaluators)
            if not settings.policy:
                settings = structs.replace(settings, policy=before.settings.policy)
            _say_what_changed(settings, before.settings)
            if before.dataset.what == "scenarios":  # what their trials give is seen at first sight
                how = structs.replace(how, detailed=True)
            run = grade_again(folder, settings, how=how)
        else:
            refuse_same_file(file=cases, rejects=reading.rejects)
            for file in predictions:
                refuse_same_file(file=file, rejects=reading.rejects)
            run = grade_file(
                cases,
                predictions,
                settings,
                dialect=reading.dialect,
                tools=reading.tools,
                parse=cast("Dialect | None", parse),
                out=out or OUT,
                name=name,
                how=how,
            )
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"run": str(run.folder), "info": run.info, "summary": run.summary}))
    else:
        from callmark.reporting.grade_view import show_run
        from callmark.reporting.terminal import console

        show_run(console(), str(run.folder), run.info, run.summary, details=details)
    return WITH_ERRORS if run.summary.errors else 0


def _refuse_with_run(run: str, given: Mapping[str, object]) -> None:
    """Refuse what a run has settled already."""
    for name, value in given.items():
        if value is not None:
            raise BadInput(
                f"{run} is a run, which is graded again as it stands: --{name} cannot be given with it",
                "To grade a file of predictions, name the file of the cases instead.",
            )


def _say_what_changed(settings: "Settings", before: "Settings") -> None:
    changed = [field for field in settings.__struct_fields__ if getattr(settings, field) != getattr(before, field)]
    if changed:
        say(f"callmark: graded by other settings than before: {', '.join(changed)}.")


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, once it takes longer than a second and someone is looking."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    began = time.monotonic()
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task("grading")

    def on_block(done: int, total: int) -> None:
        if time.monotonic() - began > PATIENCE:
            progress.start()
            progress.update(task, completed=done, total=total)

    try:
        yield on_block
    finally:
        progress.stop()
