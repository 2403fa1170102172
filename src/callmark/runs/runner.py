"""Run models on all cases and grade their predictions; each model has its own run folder.

No request is sent before everything is validated: models can be opened, cases can be read, ids are unique. An interrupted or killed run can
be resumed: requests with a prediction are not sent again, errors are.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Protocol

from msgspec import Struct, structs

from callmark.analysis.measures import CaseValues, Measure
from callmark.calls.strict import scrub
from callmark.errors import BadInput, StorageError
from callmark.formats.matching import PredictionsInfo
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings
from callmark.models.chat_request import count_dropped_messages
from callmark.models.keys import Keys
from callmark.models.open_files import allow_open_files
from callmark.runs.cache import Cache
from callmark.runs.commits import Commits
from callmark.runs.early_decision import EarlyDecision, EarlyRule
from callmark.runs.git_state import read_git_state
from callmark.runs.grade import GradeOptions, regrade
from callmark.runs.journal import Journal
from callmark.runs.manifest import Manifest, ModelRunInfo, Status, resume_command
from callmark.runs.resume import open_run_folder, refuse_changed_run
from callmark.runs.run import Run
from callmark.runs.run_model import OpenedModel
from callmark.runs.sample import Sample, case_key
from callmark.runs.selection import CaseSelection, SelectedCases, survey_cases
from callmark.runs.store import RunFolder, discard_run, folder_name
from callmark.runs.worker import Budget, ModelWorker, Request
from callmark.trust import import_actions, remember
from callmark.types import Case, Prediction


class ProgressListener(Protocol):
    """Receives the progress of each model's run."""

    def start(self, label: str, *, done: int, total: int) -> None:
        """A run starts, or is resumed with `done` of `total` predictions."""
        ...

    def advance(self, label: str, prediction: Prediction, score: float | None) -> None:
        """A prediction was saved. `score` is None if it has none."""
        ...


class ModelRun(Struct):
    """One model, its folder and its manifest, while it runs."""

    opened: OpenedModel
    folder: RunFolder
    is_new: bool
    journal: Journal
    info: Manifest
    model_run: ModelRunInfo
    worker: ModelWorker | None = None

    def write_status(self, status: Status) -> None:
        """Write `run.json` with the counts so far."""
        self.info = structs.replace(self.info, status=status, model_run=self.model_run)
        self.folder.write(self.info)


class Runner:
    """Runs several models on the same cases: call `predict`, then `grade`. `runs` has one entry per model, in order."""

    def __init__(
        self,
        selection: CaseSelection,
        models: Sequence[OpenedModel],
        grading: GradingSettings,
        keys: Keys,
        *,
        out: str = "runs",
        name: str | None = None,
        resume: bool = False,
        options: GradeOptions | None = None,
        tags: Mapping[str, str] | None = None,
        check: Callable[[Case], None] | None = None,
        rule: EarlyRule | None = None,
    ) -> None:
        """Open the folders and read the cases. `check` may raise for a case that cannot be run. With a `rule`, conversations are run until
        it is decided. On failure, new folders are removed. A resumed run gets further `tags`, and keeps those it has.
        """
        self._grading = grading
        self._keys = keys
        self._options = options or GradeOptions()
        Grader(grading)  # an unknown evaluator raises before anything is read
        _refuse_same_labels(models)
        _refuse_unsupported_trials(models, selection.trials)
        if resume and name is None:
            raise BadInput("--resume: no run given", "Pass the folder of the run (runs/NAME --resume) or its --name.")
        created = time.strftime("%Y-%m-%dT%H-%M")
        folders: list[tuple[RunFolder, bool, Journal]] = []
        try:
            for opened in models:
                own = name if name is None or len(models) == 1 else folder_name(f"{name}-{opened.label}")
                folders.append(open_run_folder(out, own, f"{opened.label}-{created}", resume=resume, redact=keys.redact))
            paths = [folder for folder, _, _ in folders]
            self._cases = survey_cases(
                selection, paths, on_bad=self._options.on_bad, check=check, allow_no_calls=self._options.allow_no_calls
            )
            self.runs = [
                ModelRun(opened, *folder, *_manifest(opened, folder[0], self._cases, grading, selection.trials, created, keys))
                for opened, folder in zip(models, folders, strict=True)
            ]
            git = read_git_state()
            for run in self.runs:
                run.info = structs.replace(run.info, tags=dict(tags or {}), git=git)
                if not run.is_new:
                    before = run.folder.read()
                    refuse_changed_run(run.folder, before, run.info)
                    run.info = structs.replace(run.info, created=before.created, tags={**before.tags, **run.info.tags}, git=before.git)
            self.early = self._plan_looks(rule) if rule is not None else None
        except BaseException:
            for folder, is_new, journal in folders:
                if is_new:
                    discard_run(folder)
                journal.close()
            raise

    def _plan_looks(self, rule: EarlyRule) -> EarlyDecision:
        keys = {case_key(placed.case, rule.seed) for placed in self._cases.source.read().first_cases()}
        labels = [run.opened.label for run in self.runs]
        return EarlyDecision(rule, labels, list(keys), lambda sample: self._values_at(sample, rule.measures))

    async def predict(
        self, *, cache: Cache | None, budget: Budget, progress: ProgressListener | None = None, warn: Callable[[str], None] | None = None
    ) -> None:
        """Request all missing predictions. If it is cancelled, saved predictions are kept, and the runs are marked as interrupted."""
        try:
            concurrency = self._limit_concurrency(warn)
            async with asyncio.TaskGroup() as group:
                for run, most in zip(self.runs, concurrency, strict=True):
                    group.create_task(self._predict(run, most, cache, budget, progress))
        except BaseExceptionGroup as errors:
            self._discard_empty()
            raise _first_error(errors) from None
        finally:
            for run in self.runs:
                run.journal.close()
            if cache is not None:
                cache.close()

    def grade(self) -> list[Run]:
        """Grade the predictions, run by run. A run without predictions is not graded. If no model returned a prediction, and the reason is
        known, it is raised as `BadInput`.
        """
        fatal = [run for run in self.runs if run.worker and run.worker.fatal]
        if fatal and not any(run.model_run.predictions for run in self.runs):
            reason, command = fatal[0].model_run.stop_reason, resume_command(fatal[0].info, str(fatal[0].folder))
            raise BadInput(reason, f"After fixing this, resume with: {command}")
        with self._cases.source:
            return [self._grade(run) for run in self.runs]

    def _grade(self, run: ModelRun) -> Run:
        if not run.model_run.predictions + run.model_run.errors:
            return Run.from_folder(run.folder, run.info)
        # Bad rows were already reported when the cases were read.
        options = structs.replace(self._options, on_bad=self._options.on_bad and (lambda row: None), allow_no_calls=True)
        return regrade(run.folder, self._grading, options=options, source=self._cases.source)

    def _limit_concurrency(self, warn: Callable[[str], None] | None) -> list[int]:
        """Return the concurrency of each model, lowered if the limit of open files is too low for all of them together."""
        models = [run.opened.model.capabilities for run in self.runs]
        wanted = [run.opened.settings.concurrency or model.concurrency for run, model in zip(self.runs, models, strict=True)]
        needed = sum(most * model.open_files for most, model in zip(wanted, models, strict=True))
        share = allow_open_files(needed) / needed if needed else 1.0
        possible = [max(1, int(most * share)) for most in wanted]
        if warn and possible != wanted:
            concurrency = f"concurrency lowered from {sum(wanted):,} to {sum(possible):,}"
            warn(f"{concurrency}: the limit on open files is too low. Raise it with ulimit -n.")
        return possible

    async def _predict(
        self, run: ModelRun, concurrency: int, cache: Cache | None, budget: Budget, progress: ProgressListener | None
    ) -> None:
        model_run, journal = run.model_run, run.journal
        run.folder.remove_leftovers()
        done: set[tuple[str, int]] = set()
        failed: set[tuple[str, int]] = set()
        for prediction in journal:
            budget.add(prediction.usage)
            (failed if prediction.error else done).add((prediction.case, prediction.trial))
        failed -= done
        model_run.predictions = len(done)
        run.write_status("running")
        self._remember(run)
        if progress:
            progress.start(run.opened.label, done=len(done), total=model_run.requests)
        grader = Grader(self._grading) if progress else None

        def count(case: Case, prediction: Prediction) -> None:
            (failed.add if prediction.error else failed.discard)((prediction.case, prediction.trial))
            model_run.predictions += not prediction.error
            if progress and grader:
                grade = grader.record(case, [prediction])[0]
                progress.advance(run.opened.label, prediction, next(iter(grade.metrics.values()), None))

        opened = run.opened
        commits = Commits(journal, count)
        worker = run.worker = ModelWorker(
            opened.model, opened.settings, commits.add, cache=cache, budget=budget, keys=self._keys, concurrency=concurrency
        )
        status: Status = "interrupted"
        try:
            await worker.predict_all(self._waves(run, done, commits))
            await commits.finish()
            status = "stopped" if worker.stop_reason else "complete"
        except BaseException:
            if self.early is not None:
                self.early.stop_looking()
            commits.abort()
            with suppress(StorageError):  # such as a full disk, which is being reported already
                self._write_counts(run, worker, status, len(failed))
            raise
        finally:
            if self.early is not None:
                self.early.leave()
        self._write_counts(run, worker, status, len(failed))

    def _write_counts(self, run: ModelRun, worker: ModelWorker, status: Status, errors: int) -> None:
        run.model_run.errors = errors
        run.model_run.cache_hits = worker.cache_hits
        run.model_run.stop_reason = worker.stop_reason
        run.write_status(status)

    def _remember(self, run: ModelRun) -> None:
        """Remember what the run acts with, which the user has allowed: it can be resumed and graded again without a question."""
        folder = str(run.folder.path)
        with suppress(BadInput):  # settings without their secrets may be incomplete
            actions = [*run.opened.actions(folder), *import_actions(self._grading.evaluators, source=folder)]
            remember(action for action in actions if action.source == folder)

    async def _waves(self, run: ModelRun, done: set[tuple[str, int]], commits: Commits) -> AsyncIterator[Iterator[Request]]:
        """Yield the requests: all at once, or up to each look until the runs are decided."""
        if self.early is None:
            yield self._requests(run, done)
            return
        more = True
        while more:
            sample, before = self.early.sample, self.early.previous_sample
            yield self._requests(run, done, sample, before)
            await commits.finish()
            if run.worker is not None and run.worker.stop_reason:
                self.early.stop_looking()
                return
            more = await self.early.wait()
        if self.early.sentence:
            run.model_run.decided = self.early.sentence
            self._cases.source.sample = self.early.sample
            run.info = structs.replace(run.info, dataset=structs.replace(run.info.dataset, sample=self.early.sample))
            run.model_run.requests = run.model_run.trials * sum(1 for _ in self._cases.source.read().first_cases())

    def _values_at(self, sample: Sample, measures: Sequence[Measure]) -> list[CaseValues]:
        """Return the values of the measures in each run, over the predictions so far for the cases of a sample."""
        grader = Grader(self._grading)
        found = []
        for run in self.runs:
            predictions: dict[str, list[Prediction]] = {}
            for prediction in run.journal:
                predictions.setdefault(prediction.case, []).append(prediction)
            cases = (placed.case for placed in self._cases.source.read().first_cases() if sample.contains(placed.case))
            found.append(CaseValues(measures, (grade for case in cases for grade in grader.record(case, predictions.get(case.id, [])))))
        return found

    def _requests(
        self, run: ModelRun, done: set[tuple[str, int]], sample: Sample | None = None, before: Sample | None = None
    ) -> Iterator[Request]:
        """Yield the missing requests; those of a sample only, without those of the sample `before`."""
        sends_requests = run.opened.model.capabilities.sends_requests
        for placed in self._cases.source.read().first_cases():
            if sample is not None and (not sample.contains(placed.case) or (before is not None and before.contains(placed.case))):
                continue
            if sends_requests and count_dropped_messages(placed.case, run.opened.settings):
                run.model_run.trailing_dropped += 1
            case = structs.replace(placed.case, index=placed.index)
            for trial in range(run.model_run.trials):
                if (case.id, trial) not in done:
                    yield case, trial

    def _discard_empty(self) -> None:
        """Remove new runs without any prediction or error: those of models that failed to start."""
        for run in self.runs:
            if run.is_new and not run.model_run.predictions + run.model_run.errors:
                discard_run(run.folder)


def _manifest(
    opened: OpenedModel, folder: RunFolder, cases: SelectedCases, grading: GradingSettings, trials: int, created: str, keys: Keys
) -> tuple[Manifest, ModelRunInfo]:
    model_run = ModelRunInfo(
        opened.label,
        opened.recorded_settings,
        trials,
        opened.redacted,
        cases.count * trials,
        simulation=opened.simulation,
        env=tuple(keys.passed_on),
    )
    manifest = Manifest(
        name=scrub(folder.path.resolve().name),
        callmark=version("callmark"),
        created=created,
        dataset=cases.dataset_of(folder),
        predictions=PredictionsInfo(name=opened.label),
        grading=grading,
        model_run=model_run,
    )
    return manifest, model_run


def _refuse_same_labels(models: Sequence[OpenedModel]) -> None:
    labels = [opened.label for opened in models]
    for label in labels:
        if labels.count(label) > 1:
            raise BadInput(f"two models have the name {scrub(label)}", "Give them different names in callmark.toml: [models.NAME].")


def _refuse_unsupported_trials(models: Sequence[OpenedModel], trials: int) -> None:
    for opened in models:
        if trials > 1 and not opened.model.capabilities.supports_trials:
            raise BadInput(f"--trials: {scrub(opened.label)} returns the same prediction in every trial")


def _first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of an exception group."""
    error = errors.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error
