"""Grading into a run folder: everything is read, graded and written, and only then does the folder say that it is complete.

When anything goes wrong the folder is as it was. Two cases of one id raise `BadInput`: which of them would a prediction be for? So do
predictions of which not one is for any of the cases. A dataset that has changed since the run raises it when the run is graded again.
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from importlib.metadata import version

from msgspec import structs

from callmark.analysis.summary import Summary, Tally
from callmark.errors import BadInput
from callmark.formats import BadRow, Output, write_lines
from callmark.formats.evaluation_results import METRICS, RESULTS, SCORES, metrics_json, result_lines
from callmark.grading.grader import Grader
from callmark.grading.suites import OWN
from callmark.running.answers import Answers
from callmark.running.folder import GRADES, PREDICTIONS, DatasetInfo, RunFolder, RunInfo
from callmark.running.grading import Block, Ended, Work, first_row, graded
from callmark.types import Case, Place

_ROWS = "evaluation_results.rows"  # the rows of that file, until the means that stand before them are known


def grade_into(
    folder: RunFolder,
    work: Work,
    answers: Answers,
    *,
    made: str,
    dataset: DatasetInfo,
    before: RunInfo | None = None,
    jobs: int = 1,
    intervals: Collection[str] | None = None,
    on_bad: Callable[[BadRow], None] = lambda row: None,
    on_block: Callable[[int], None] = lambda cases: None,
) -> tuple[RunInfo, Summary]:
    """Grade and write the folder. `before` is what it said of a run that is graded again, whose predictions stay as they are.
    `on_block` is told how many cases are done; `intervals` names the metrics that get one. Gives what `run.json` says, and what the
    grades come to.
    """
    metrics = Grader(work.settings).metrics  # a suite that does not exist is refused before anything is read
    seen: dict[str, Place | None] = {}
    ended: Ended | None = None
    rows = folder.path / _ROWS
    try:
        with ExitStack() as files:
            predictions, grades, results = (
                files.enter_context(Output(folder.file(name) if name else None))
                for name in (None if before else PREDICTIONS, GRADES, _ROWS)
            )
            tally = Tally(counted=_counted(work))
            for said in graded(work, jobs=jobs):
                if isinstance(said, Ended):
                    ended = said
                    continue
                for bad in said.bad:
                    on_bad(bad)
                _remember(said, seen)
                predictions.lines_of(said.prediction_lines)
                grades.lines_of(said.grade_lines)
                results.lines_of(said.result_lines)
                for grade in said.grades:
                    tally.add(grade)
                on_block(len(seen))
            assert ended is not None
            _refuse_changed(dataset, ended.digest)
            answers.unused(map(str, range(len(seen))) if work.in_order else seen)
            _refuse_strangers(answers, seen)
        summary = tally.summary(intervals=intervals)
        means = {name: summary.metrics[name].mean if name in summary.metrics else None for name in metrics}
        if ended.what == "scenarios" and set(SCORES) <= set(metrics):
            means = {name: means[name] for name in SCORES}
            with rows.open("rb") as lines:
                write_lines(folder.file(RESULTS), result_lines(means, lines))
            write_lines(folder.file(METRICS), [metrics_json(means)])
    finally:
        rows.unlink(missing_ok=True)
    read = structs.replace(
        dataset,
        digest=ended.digest,
        dialect=ended.dialect,
        what="scenarios" if ended.what == "scenarios" else "decision points",
        cut=ended.cut,
    )
    predicted = before.predictions if before else answers.info
    info = RunInfo(folder.path.name, version("callmark"), made, read, predicted, work.settings, metrics, len(seen), ended.touched)
    folder.write(info)
    return info, summary


def _counted(work: Work) -> frozenset[str]:
    """The suites whose faults are told: those that are graded by, and of scenarios the one that is made for them."""
    first = first_row(work)
    scenarios = isinstance(first, Case) and first.is_scenario
    return frozenset({"process"} if scenarios and "process" in work.settings.suites else work.settings.suites) & frozenset(OWN)


def _remember(block: Block, seen: dict[str, Place | None]) -> None:
    for case, place in block.cases:
        if case in seen:
            raise BadInput(
                f"{place}: the id {case!r} stands for two cases, the first is in {seen[case]}",
                "Give each case an id of its own, so that a prediction is for one of them.",
            )
        seen[case] = place


def _refuse_changed(dataset: DatasetInfo, digest: str) -> None:
    if dataset.digest and dataset.digest != digest:
        raise BadInput(
            f"{dataset.name} has changed since the run: what was asked then is not what stands there now",
            "Grade the predictions against the new file: callmark grade FILE --predictions RUN/predictions.jsonl",
        )


def _refuse_strangers(answers: Answers, cases: dict[str, Place | None]) -> None:
    if answers.by_case and answers.info.unused == sum(map(len, answers.by_case.values())):
        raise BadInput(
            f"not one prediction of {answers.info.name} is for a case: its first is for {answers.info.first_unused!r}, "
            f"the first case is {next(iter(cases), '(none)')!r}",
            "Its rows are matched by id (case, case_id, custom_id, id, or the id of their item); rows without any are taken in order.",
        )
