"""Grade predictions into a run folder. The folder is marked as complete only after everything is read, graded and written.

If anything fails, an existing folder is unchanged, and a new one is removed. Duplicate case ids raise `BadInput`, because it would be
unclear which case a prediction belongs to; so do predictions that match none of the cases. Grading a run again raises `BadInput` if its
dataset is missing or has changed.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from callmark.analysis.summary import Summary, Tally
from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow, StorageError
from callmark.formats import BadRow, Output, write_lines
from callmark.formats.dataset import file_digest
from callmark.formats.evaluation_results import METRICS, RESULTS, SCORES, metrics_json, result_lines
from callmark.formats.file_sets import is_file_set
from callmark.formats.matching import MatchedPredictions, PredictionsInfo, match_predictions
from callmark.formats.predictions import Predictions
from callmark.grading.evaluate import undeclared_metric
from callmark.grading.grader import Grader
from callmark.grading.settings import CONVERSATION_EVALUATORS, DEFAULT_EVALUATORS, RECORDING_EVALUATORS, GradingSettings
from callmark.runs.git_state import read_git_state
from callmark.runs.grading_job import GradedBlock, GradingJob, GradingTotals, grade_blocks
from callmark.runs.journal import is_open, repair_hint
from callmark.runs.manifest import DatasetInfo, Manifest
from callmark.runs.patch import PATCH, Patch, left_over, read_patch
from callmark.runs.run import ComputedSummary, Run
from callmark.runs.selection import CaseSelection, open_cases
from callmark.runs.source import CaseSource, refuse_repeated
from callmark.runs.store import CASES, GRADES, GRADING_PREFIX, PREDICTIONS, RUN, TOOLS, RunFolder, create_run_folder, discard_run
from callmark.runs.summary_file import store_summary
from callmark.trust import import_actions, remember
from callmark.types import Place

_RESULT_ROWS = "evaluation_results.rows"  # temporary: the rows of that file, whose means come first


class GradeOptions(Struct, frozen=True):
    """Options for grading a run.

    Attributes:
        jobs: Number of processes.
        on_bad: Called with each row that cannot be read, which is then skipped. Without it, such a row raises `BrokenRow`.
        on_block: Called with the number of cases done and the total, for progress.
        detailed: Whether to compute the detailed breakdowns with the summary.
        allow_no_calls: Whether cases are accepted if none of them has a call. Otherwise that raises `BadInput`, unless they say so.
        patch: File with corrections to expected calls. A run that is graded again keeps those it has, unless this is given.
        warn: Called with a sentence about corrections that do not apply.
    """

    jobs: int = 1
    on_bad: Callable[[BadRow], None] | None = None
    on_block: Callable[[int, int], None] = lambda done, total: None
    detailed: bool = False
    allow_no_calls: bool = False
    patch: str = ""
    warn: Callable[[str], None] = lambda sentence: None


def grade_predictions(
    cases: str | CaseSelection,
    predictions: Sequence[str],
    settings: GradingSettings,
    *,
    parse: str | None = None,
    in_order: bool = False,
    out: str = "runs",
    name: str | None = None,
    options: GradeOptions | None = None,
    predictions_name: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Run:
    """Grade prediction files against cases, into a new run folder: `name`, or the name of the first file and the time.

    A file of recorded simulations includes its predictions; for any other file, `BadInput` is raised if there are no predictions. `parse`
    is the text format of calls in raw text. `in_order` matches predictions by order, whatever ids they have. `predictions_name` is the name
    of the predictions in `run.json` and in messages; their path by default.
    """
    options = options or GradeOptions()
    selection = CaseSelection(cases) if isinstance(cases, str) else cases
    if (selection.path, *predictions, selection.tools).count("-") > 1:
        raise BadInput("standard input (-) is given twice, but it can only be read once")
    created = time.strftime("%Y-%m-%dT%H-%M")
    first = predictions[0] if predictions else selection.path
    default = "standard-input" if first == "-" else Path(first).name.partition(".")[0]
    folder = create_run_folder(out, name, default=f"{default}-{created}")
    try:
        opened = open_cases(selection, [folder], skip_bad=options.on_bad is not None)
        with opened.source as source:
            _apply_patch(source, options)
            if not predictions:
                _refuse_without_predictions(source)
            whole = source.row_kind == "scenarios"
            if source.case_kind == "scenarios" and settings.evaluators == DEFAULT_EVALUATORS:
                settings = structs.replace(settings, evaluators=CONVERSATION_EVALUATORS if predictions else RECORDING_EVALUATORS)
            # A row that is both case and prediction is reported once.
            on_bad = options.on_bad if predictions else _ignore if options.on_bad else None
            matched = match_predictions(
                *(
                    Predictions(file, parse=parse, whole=whole, on_bad=on_bad, name=predictions_name)
                    for file in predictions or (source.path,)
                ),
                in_order=in_order or None,
            )
            if not predictions:
                matched.info.name = opened.dataset.name
            job = GradingJob(source, matched, settings, detailed=options.detailed)
            return _grade_into(folder, job, opened.dataset, created, options, tags=tags)
    except BaseException:
        discard_run(folder)
        raise


def regrade(
    folder: RunFolder,
    settings: GradingSettings,
    *,
    options: GradeOptions | None = None,
    source: CaseSource | None = None,
    tags: Mapping[str, str] | None = None,
) -> Run:
    """Grade the predictions of a run again, leaving them and their entry in `run.json` unchanged. `source` has its cases, if they are
    already open. `tags` are added to those of the run.
    """
    options = structs.replace(options or GradeOptions(), allow_no_calls=True)  # the run was accepted
    before = folder.read()
    before = structs.replace(before, tags={**before.tags, **(tags or {})})
    if is_open(folder.file(PREDICTIONS)):
        raise BadInput(f"{folder}: in use by another process, which will grade the run when it finishes")
    if source is not None:
        return _regrade(folder, before, source, settings, options)
    with reopen_cases(folder, before, skip_bad=options.on_bad is not None) as opened:
        return _regrade(folder, before, opened, settings, options)


def reopen_cases(folder: RunFolder, manifest: Manifest, *, skip_bad: bool = True) -> CaseSource:
    """Return the cases of a run. Missing cases, and tools that have changed since the run, raise `BadInput`."""
    dataset = manifest.dataset
    patch = stored_patch(folder, manifest)
    if not dataset.digest:  # otherwise a run could show any file that it names
        raise BadInput(f"{folder}/{RUN}: the digest of its cases is missing, so callmark cannot check that they are unchanged")
    path = folder.cases_path(dataset.path)
    if not os.path.isfile(path) and not is_file_set(path):
        raise BadInput(
            f"{folder}: cannot find its cases at {path}",
            f"If the file was moved, run: callmark grade FILE --predictions {folder}/{PREDICTIONS}",
        )
    tools = folder.input_path(dataset.tools, "dataset.tools") if dataset.tools else None
    if tools and file_digest(tools, regular=True) != dataset.tools_digest:
        raise BadInput(f"{tools}: the tools have changed since {folder} was run")
    return CaseSource(
        path,
        format_name=dataset.format,
        tools=tools,
        skip_bad=skip_bad,
        limit=dataset.limit,
        regular=True,
        sample=dataset.sample,
        skipped=dataset.skipped,
        patch=patch,
    )


def stored_patch(folder: RunFolder, manifest: Manifest) -> Patch | None:
    """Return the corrections that a run was graded with; None without. Corrections that have changed since raise `BadInput`."""
    digest = manifest.dataset.patch
    if not digest:
        return None
    patch = read_patch(folder.inside(PATCH))
    if patch.digest != digest:
        raise BadInput(f"{folder}/{PATCH}: the corrections have changed since the run was graded", "Pass the patch again: --patch FILE")
    return patch


def _apply_patch(source: CaseSource, options: GradeOptions) -> None:
    """Give a source the corrections that apply to its cases."""
    if options.patch:
        source.patch = None
        cases = (placed.case for placed in source.read())
        source.patch, unused = read_patch(options.patch).only(cases, options.patch)
        if sentence := left_over(unused, options.patch):
            options.warn(f"{sentence}.")


def _regrade(folder: RunFolder, before: Manifest, source: CaseSource, settings: GradingSettings, options: GradeOptions) -> Run:
    name = f"{folder}/{PREDICTIONS}"
    _apply_patch(source, options)
    try:
        matched = match_predictions(Predictions(folder.inside(PREDICTIONS), name=name, regular=True))
    except BrokenRow as error:
        raise BrokenRow(str(error), repair_hint(name, resumable=before.model_run is not None)) from None
    job = GradingJob(source, matched, settings, write_predictions=False, detailed=options.detailed)
    return _grade_into(folder, job, before.dataset, before.created, options, before=before)


def _refuse_without_predictions(source: CaseSource) -> None:
    """Raise `BadInput` for a file that does not include predictions."""
    if not source.format.recorded:
        raise BadInput(f"no predictions given for {source.name}", "Pass --predictions FILE. callmark grade --help has examples.")


def _ignore(row: BadRow) -> None:
    """Skip a row that is reported elsewhere."""


def _grade_into(
    folder: RunFolder,
    job: GradingJob,
    dataset: DatasetInfo,
    created: str,
    options: GradeOptions,
    *,
    before: Manifest | None = None,
    tags: Mapping[str, str] | None = None,
) -> Run:
    """Grade into a temporary folder inside the run folder, then move the files into place.

    `before` is the manifest of an existing run, `tags` are those of a new one.
    """
    grader = Grader(job.settings)  # an unknown evaluator raises before anything is read
    metrics = grader.metrics
    scenarios = job.source.row_kind == "scenarios"
    tally = Tally(metrics, detailed=options.detailed, process_ignore=job.settings.process_ignore(scenarios=scenarios))
    with _temporary_folder(folder) as path, _named_after(folder, RunFolder(path), has_predictions=before is not None):
        new = RunFolder(path)
        totals, case_count = _write_grades(new, job, dataset, tally, options)
        patch = job.source.patch
        if patch is not None:
            write_lines(new.file(PATCH), [line.rstrip() for line in patch.lines()])
        summary = tally.summary()
        if scenarios and set(SCORES) <= set(metrics):
            _write_evaluation_results(new, summary)
        # Some evaluators apply to none of the cases, and plain functions declare no metrics.
        measured = {name: metrics.get(name) or undeclared_metric(name) for name in summary.metrics} or metrics
        manifest = Manifest(
            name=scrub(folder.path.resolve().name),
            callmark=version("callmark"),
            created=created,
            dataset=structs.replace(
                dataset,
                digest=totals.read.digest,
                format=job.source.format.name,
                kind=job.source.case_kind,
                expanded=job.source.expanded,
                repaired_rows=totals.read.repaired_rows,
                unknown_parts=dict(totals.read.unknown_parts),
                patch=patch.digest if patch else "",
            ),
            predictions=before.predictions if before else job.predictions.info,
            grading=job.settings,
            metrics=measured,
            cases=case_count,
            match_counts=totals.match_counts,
            unused_rules=totals.unused_rules,
            unchecked_replies=totals.unchecked_replies,
            tags=before.tags if before else dict(tags or {}),
            git=before.git if before else read_git_state(),
        )
        if before:
            manifest = structs.replace(manifest, status=before.status, model_run=before.model_run)
        store_summary(new, manifest, summary)
        new.write(manifest)
        folder.replace_files(new, keep=(PREDICTIONS, CASES, TOOLS) if before else (CASES, TOOLS))
    remember(import_actions(job.settings.evaluators, source=str(folder.path)))  # the user allowed them, so grading again needs no question
    return Run.from_folder(folder, manifest, ComputedSummary(summary, detailed=options.detailed))


def _temporary_folder(folder: RunFolder) -> "TemporaryDirectory[str]":
    try:
        return TemporaryDirectory(prefix=GRADING_PREFIX, dir=folder.path)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror}") from None


@contextmanager
def _named_after(folder: RunFolder, temporary: RunFolder, *, has_predictions: bool) -> Iterator[None]:
    """Name the run in the error of a file that cannot be written, instead of the temporary folder, and say what is saved."""
    try:
        yield
    except StorageError as error:
        hint = f"The predictions are saved. To grade them: callmark grade {folder}" if has_predictions else error.hint
        raise StorageError(str(error).replace(str(temporary), str(folder)), hint) from None


def _write_grades(new: RunFolder, job: GradingJob, dataset: DatasetInfo, tally: Tally, options: GradeOptions) -> tuple[GradingTotals, int]:
    """Grade all cases into the files of a folder, and return the totals and the number of cases."""
    places: dict[str, Place | None] = {}
    keys: set[str] = set()
    totals: GradingTotals | None = None
    with (
        Output(new.file(PREDICTIONS) if job.write_predictions else None) as predictions,
        Output(new.file(GRADES)) as grades,
        Output(new.file(_RESULT_ROWS)) as results,
    ):
        for block in grade_blocks(job, jobs=options.jobs):
            if isinstance(block, GradingTotals):
                totals = block
                continue
            for bad in block.bad:
                if options.on_bad is not None:
                    options.on_bad(bad)
            _add_cases(block, places, keys)
            if block.texts is not None:
                job.predictions.info.texts += block.texts
            predictions.lines_of(block.prediction_lines)
            grades.lines_of(block.grade_lines)
            results.lines_of(block.result_lines)
            if block.statistics is not None:
                tally.extend(block.statistics)
            for grade in block.grades:
                tally.add(grade)
            options.on_block(len(places), len(job.predictions.by_case))
        assert totals is not None
        _refuse_changed(dataset, totals.read.digest)
        if not options.allow_no_calls:
            job.source.refuse_without_calls(totals.read)
        job.predictions.count_unmatched(keys)
        _refuse_all_unmatched(job.predictions, places)
    return totals, len(places)


def _write_evaluation_results(new: RunFolder, summary: Summary) -> None:
    means = {name: summary.metrics[name].mean if name in summary.metrics else None for name in SCORES}
    with Path(new.file(_RESULT_ROWS)).open("rb") as lines:
        write_lines(new.file(RESULTS), result_lines(means, lines))
    write_lines(new.file(METRICS), [metrics_json(means)])


def _add_cases(block: GradedBlock, places: dict[str, Place | None], keys: set[str]) -> None:
    for case, place, key in block.cases:
        refuse_repeated(case, place, places)
        places[case] = place
        keys.add(key)


def _refuse_changed(dataset: DatasetInfo, digest: str) -> None:
    if dataset.digest and dataset.digest != digest:
        raise BadInput(
            f"{dataset.name}: the cases have changed since the run",
            f"To grade the predictions against the new file: callmark grade FILE --predictions RUN/{PREDICTIONS}",
        )


def _refuse_all_unmatched(predictions: MatchedPredictions, cases: dict[str, Place | None]) -> None:
    fits = not predictions.in_order and predictions.info.rows == len(cases)
    if predictions.by_case and predictions.info.unmatched == sum(map(len, predictions.by_case.values())):
        hint = f" There are as many as cases ({len(cases):,}): --in-order matches them by order." if fits else ""
        raise unmatched_error(predictions.info, next(iter(cases), "(none)"), in_order_hint=hint)


def unmatched_error(info: PredictionsInfo, first_case: str, *, in_order_hint: str) -> BadInput:
    """Return the error for predictions that match none of the cases."""
    return BadInput(
        f"{info.name}: no prediction matches a case. The first prediction is for "
        f"{info.first_unmatched[:80]!r}, and the first case is {first_case[:80]!r}",
        "Predictions are matched by ID (case, case_id, custom_id, id, or the ID of the item), or in order if no row has an ID."
        + in_order_hint,
    )
