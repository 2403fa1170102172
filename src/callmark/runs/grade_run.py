"""Grading into a run folder: everything is read, graded and written, and only then does the folder say that it is complete.

When anything goes wrong the folder is as it was, and a new one is gone. Two cases of one id raise `BadInput`: which of them would a
prediction be for? So do predictions of which not one is for any of the cases. A dataset that has changed since the run, or is gone,
raises it when the run is graded again.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from callmark.analysis.summary import Summary, Tally
from callmark.calls.parsing import Dialect
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset, Output, write_lines
from callmark.formats.dataset import digest_of
from callmark.formats.evaluation_results import METRICS, RESULTS, SCORES, metrics_json, result_lines
from callmark.formats.predictions import Predictions
from callmark.formats.rows import Rows
from callmark.grading.grader import Grader
from callmark.grading.evaluator import OWN, RECORDED, Settings, fault_evaluators
from callmark.runs.prediction_file import Answers, answers
from callmark.runs.store import CASES, GRADES, GRADING, PREDICTIONS, TOOLS, DatasetInfo, RunFolder, RunInfo, discard, new_folder
from callmark.runs.grading import Block, Ended, GradingJob, first_row, graded, refuse_repeated
from callmark.runs.journal import is_open
from callmark.runs.run import keep_summary
from callmark.types import Case, Place

_ROWS = "evaluation_results.rows"  # the rows of that file, until the means that stand before them are known


class GradeOptions(Struct, frozen=True):
    """How to go about grading: by how many processes, what becomes of rows that cannot be read (without `on_bad` they raise), who is told
    how many of how many cases are done, which metrics get an interval (all, if not given: they take their time), and whether the details
    are asked for.
    """

    jobs: int = 1
    on_bad: Callable[[BadRow], None] | None = None
    on_block: Callable[[int, int], None] = lambda done, total: None
    intervals: Collection[str] | None = None
    detailed: bool = False


class GradedRun(Struct, frozen=True):
    """A folder, what its `run.json` says, and what its grades come to."""

    folder: RunFolder
    info: RunInfo
    summary: Summary


def grade_file(
    cases: str,
    predictions: Sequence[str],
    settings: Settings,
    *,
    dialect: str | None = None,
    tools: str | None = None,
    parse: Dialect | None = None,
    out: str = "runs",
    name: str | None = None,
    how: GradeOptions | None = None,
) -> GradedRun:
    """Grade files of predictions against a file of cases, into a folder of its own: `name`, or the first file's name and the time. A file
    of recorded simulations carries its predictions; of any other kind, no predictions raise `BadInput`.
    """
    how = how or GradeOptions()
    if (cases, *predictions, tools).count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    made = time.strftime("%Y-%m-%dT%H-%M")
    first = predictions[0] if predictions else cases
    source = "standard-input" if first == "-" else Path(first).name.partition(".")[0]
    folder = new_folder(out, name, default=f"{source}-{made}")
    try:
        file = kept(cases, folder.file(CASES))
        tools = kept(tools, folder.file(TOOLS)) if tools else None
        if not predictions:
            _refuse_without_predictions(file, dialect, "standard input" if file != cases else None)
            settings = structs.replace(settings, evaluators=RECORDED) if settings.evaluators == OWN else settings
        work = GradingJob(file, settings, {}, False, dialect, tools, how.on_bad is not None, "standard input" if file != cases else None)
        whole = _are_scenarios(work)
        on_bad = how.on_bad if predictions else _ignored if how.on_bad else None  # a row that is both is told of once
        found = answers(*(Predictions(one, parse=parse, whole=whole, on_bad=on_bad) for one in predictions or (file,)))
        if not predictions:
            found.info.name = "standard input" if cases == "-" else scrub(cases)
        dataset = DatasetInfo(
            "standard input" if cases == "-" else scrub(cases),
            folder.from_here(file),
            tools=folder.from_here(tools) if tools else None,
            tools_digest=digest_of(tools) if tools else "",
        )
        return _grade_into(folder, work, found, made=made, dataset=dataset, how=how)
    except BaseException:
        discard(folder)
        raise


def grade_again(folder: RunFolder, settings: Settings, *, how: GradeOptions | None = None) -> GradedRun:
    """Grade the predictions of a run again. They stay as they are, and what `run.json` says of them."""
    how = how or GradeOptions()
    before = folder.read()
    if is_open(folder.file(PREDICTIONS)):
        raise BadInput(f"{folder} is being run by another process: what it has so far is graded when it ends")
    file = folder.to_here(before.dataset.path)
    if not os.path.isfile(file):
        raise BadInput(
            f"{folder}: its cases are gone, they stood in {file}", "Grade its predictions.jsonl against the file where it is now."
        )
    found = answers(Predictions(folder.file(PREDICTIONS)))
    tools = folder.to_here(before.dataset.tools) if before.dataset.tools else None
    if tools and digest_of(tools) != before.dataset.tools_digest:
        raise BadInput(f"{tools} has changed since the run: the tools of its cases are others now")
    work = GradingJob(file, settings, {}, False, before.dataset.dialect, tools, how.on_bad is not None, limit=before.dataset.limit)
    return _grade_into(folder, work, found, made=before.made, dataset=before.dataset, how=how, before=before)


def kept(path: str, copy: str) -> str:
    """Where a file can be read more than once: the file itself, or a copy in the run folder of what came through a pipe."""
    if path != "-" and (os.path.isfile(path) or not os.path.exists(path) or os.path.isdir(path)):
        return path
    write_lines(copy, [Rows(path).whole()])
    return copy


def _refuse_without_predictions(file: str, dialect: str | None, name: str | None) -> None:
    """Refuse a file that does not carry what came back."""
    with Dataset(file, dialect=dialect, on_bad=_ignored, name=name) as dataset:
        if not dataset.dialect.recorded:
            raise BadInput(
                f"--predictions FILE is missing: what should {dataset.name} be graded against?", "callmark grade --help has examples."
            )


def _ignored(row: BadRow) -> None:
    """Somebody else is told of it."""


def _are_scenarios(work: GradingJob) -> bool:
    first = first_row(work)
    return isinstance(first, Case) and first.is_scenario


def _grade_into(
    folder: RunFolder, work: GradingJob, found: Answers, *, made: str, dataset: DatasetInfo, how: GradeOptions, before: RunInfo | None = None
) -> GradedRun:
    metrics = Grader(work.settings).metrics  # an evaluator that does not exist is refused before anything is read
    work = structs.replace(work, answers=found.by_case, in_order=found.in_order)
    seen: dict[str, Place | None] = {}
    asked: set[str] = set()
    ended: Ended | None = None
    counted = fault_evaluators(work.settings.evaluators, scenarios=_are_scenarios(work))
    tally = Tally(counted=counted, detailed=how.detailed, ignore=work.settings.ignore)
    with TemporaryDirectory(prefix=GRADING, dir=folder.path) as made_in:
        new = RunFolder(made_in)
        with (
            Output(None if before else new.file(PREDICTIONS)) as predictions,
            Output(new.file(GRADES)) as grades,
            Output(new.file(_ROWS)) as results,
        ):
            for said in graded(work, jobs=how.jobs):
                if isinstance(said, Ended):
                    ended = said
                    continue
                for bad in said.bad:
                    if how.on_bad is not None:
                        how.on_bad(bad)
                _remember(said, seen, asked)
                predictions.lines_of(said.prediction_lines)
                grades.lines_of(said.grade_lines)
                results.lines_of(said.result_lines)
                for grade in said.grades:
                    tally.add(grade)
                how.on_block(len(seen), len(found.by_case))
            assert ended is not None
            _refuse_changed(dataset, ended.digest)
            found.unused(asked)
            _refuse_strangers(found, seen)
        summary = tally.summary(intervals=how.intervals)
        if ended.scenarios and set(SCORES) <= set(metrics):
            means = {name: summary.metrics[name].mean if name in summary.metrics else None for name in SCORES}
            with Path(new.file(_ROWS)).open("rb") as lines:
                write_lines(new.file(RESULTS), result_lines(means, lines))
            write_lines(new.file(METRICS), [metrics_json(means)])
        read = structs.replace(
            dataset,
            digest=ended.digest,
            dialect=ended.dialect,
            what="scenarios" if ended.scenarios else "decision points",
            cut=ended.cut,
            mended=ended.mended,
        )
        predicted = before.predictions if before else found.info
        name = scrub(folder.path.resolve().name)
        measured = tuple(one for one in metrics if one in summary.metrics) or metrics  # some evaluators have nothing to say of any case
        info = RunInfo(name, version("callmark"), made, read, predicted, work.settings, measured, len(seen), ended.touched)
        if before:
            info = structs.replace(info, status=before.status, asked=before.asked)
        keep_summary(new, info, summary)
        new.write(info)
        folder.take(new, keep=(PREDICTIONS, CASES, TOOLS) if before else (CASES, TOOLS))
    return GradedRun(folder, info, summary)


def _remember(block: Block, seen: dict[str, Place | None], asked: set[str]) -> None:
    for case, place, key in block.cases:
        refuse_repeated(case, place, seen)
        seen[case] = place
        asked.add(key)


def _refuse_changed(dataset: DatasetInfo, digest: str) -> None:
    if dataset.digest and dataset.digest != digest:
        raise BadInput(
            f"{dataset.name} has changed since the run: what was asked then is not what stands there now",
            "Grade the predictions against the new file: callmark grade FILE --predictions RUN/predictions.jsonl",
        )


def _refuse_strangers(answers: Answers, cases: dict[str, Place | None]) -> None:
    if answers.by_case and answers.info.unused == sum(map(len, answers.by_case.values())):
        raise BadInput(
            f"not one prediction of {answers.info.name} is for a case: its first is for {answers.info.first_unused[:80]!r}, "
            f"the first case is {next(iter(cases), '(none)')[:80]!r}",
            "Its rows are matched by id (case, case_id, custom_id, id, or the id of their item); rows without any are taken in order.",
        )
