"""Models asked about every case: prepared, asked, graded; each model's run in a folder of its own.

Nothing is asked before everything is known to fit: the models open, the cases read, ids of their own. A run that was interrupted or killed
is gone on with: what has an answer is not asked again, what ended in an error is. A dataset or a setting that shapes answers and is not
what it was then raises `BadInput` that says what changed.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.grading.grader import Grader
from callmark.grading.evaluator import Settings
from callmark.models.keys import HIDDEN, Keys, read_url
from callmark.models.model import Model, ModelSettings, Question
from callmark.models.opening import open_model, sends_requests
from callmark.models.prompts import dropped_trailing
from callmark.models.specs import Spec
from callmark.runs.source import Cases, read_cases
from callmark.runs.worker import ModelWorker, Budget
from callmark.runs.cache import Cache
from callmark.runs.store import (
    CASES,
    PREDICTIONS,
    RUN,
    TOOLS,
    AskedInfo,
    PredictionsInfo,
    RunFolder,
    RunInfo,
    SimulatedInfo,
    Status,
    command_of,
    discard,
    folder_name,
    is_run,
    new_folder,
)
from callmark.runs.grade_run import GradedRun, GradeOptions, grade_again
from callmark.runs.grading import each_case
from callmark.runs.journal import Journal
from callmark.types import Prediction

_SHAPING = ("model", "temperature", "tool_choice", "params", "tools_in_prompt", "trailing_assistant", "parse", "base_url")


class Watch(Protocol):
    """Who is told how it goes."""

    def begin(self, label: str, *, done: int, total: int) -> None: ...

    def came(self, label: str, prediction: Prediction, score: float | None) -> None: ...


class Asked(Struct, frozen=True):
    """One model's run. `graded` is None where nothing came back that could be graded."""

    folder: RunFolder
    info: AskedInfo
    graded: GradedRun | None


class OpenedModel(Struct, frozen=True):
    """A model that is opened, and how it is asked. `shown` are its settings as they may be written down; `secret` says that something was
    taken out; `prompted`: it is sent the talk so far as a request. `simulated` is there where it is asked whole conversations.
    """

    label: str
    model: Model
    settings: ModelSettings
    shown: ModelSettings
    secret: bool = False
    prompted: bool = False
    simulated: SimulatedInfo | None = None


def contender(name: str | None, settings: ModelSettings, keys: Keys) -> OpenedModel:
    """The model of these settings; `name` is what it is configured under, if it is."""
    model, spec = open_model(settings, keys)
    shown, secret = without_keys(settings, spec, keys)
    return OpenedModel(name or model.label, model, settings, shown, secret, sends_requests(spec))


class _Run(Struct):
    """One model and its folder, on the way."""

    label: str
    model: Model
    settings: ModelSettings
    prompted: bool
    folder: RunFolder
    is_new: bool
    journal: Journal
    info: RunInfo
    asking: ModelWorker | None = None


class ModelRuns:
    """The runs of several models over the same cases."""

    def __init__(
        self,
        cases: Cases,
        contenders: Sequence[OpenedModel],
        grading: Settings,
        keys: Keys,
        *,
        out: str = "runs",
        name: str | None = None,
        resume: bool = False,
        how: GradeOptions | None = None,
    ) -> None:
        """Read the cases, make the folders."""
        self._grading = grading
        self._keys = keys
        self._how = how or GradeOptions()
        Grader(grading)  # an evaluator that does not exist is refused before anything is read
        labels = [one.label for one in contenders]
        for label in labels:
            if labels.count(label) > 1:
                raise BadInput(f"two models are called {scrub(label)}", "Give them names of their own in callmark.toml: [models.NAME].")
        made = time.strftime("%Y-%m-%dT%H-%M")
        if resume and name is None:
            raise BadInput("--resume needs to know which run to go on with", "Give its folder, runs/NAME --resume, or its --name.")
        folders: list[tuple[RunFolder, bool, Journal]] = []
        try:
            for label in labels:
                own = name if name is None or len(labels) == 1 else folder_name(f"{name}-{label}")
                folders.append(_folder(out, own, f"{label}-{made}", resume=resume, hide=keys.hide_bytes))
            self._work, dataset, self._cut, self.cases = read_cases(cases, [folder for folder, _, _ in folders], grading, self._how)
            self.runs = [
                _Run(
                    one.label,
                    one.model,
                    one.settings,
                    one.prompted,
                    folder,
                    is_new,
                    journal,
                    RunInfo(
                        scrub(folder.path.resolve().name),
                        version("callmark"),
                        made,
                        structs.replace(dataset, path=folder.from_here(self._path(cases, folder))),
                        PredictionsInfo(name=one.label),
                        grading,
                        asked=AskedInfo(one.label, one.shown, cases.trials, one.secret, self.cases * cases.trials, simulated=one.simulated),
                    ),
                )
                for one, (folder, is_new, journal) in zip(contenders, folders, strict=True)
            ]
            for run in self.runs:
                if not run.is_new:
                    before = run.folder.read()
                    _refuse_changed(run.folder, before, run.info)
                    run.info = structs.replace(run.info, made=before.made)
        except BaseException:
            for folder, is_new, journal in folders:
                if is_new:
                    discard(folder)
                journal.close()
            raise

    def ask(self, *, cache: Cache | None, budget: Budget, watch: Watch | None = None) -> None:
        """Ask everything that has no answer yet. `KeyboardInterrupt` passes through, once everything is written down."""
        try:
            asyncio.run(self._ask(cache, budget, watch))
        except BaseExceptionGroup as group:
            self._discard_empty()
            raise _first(group) from None
        finally:
            for run in self.runs:
                run.journal.close()
            if cache is not None:
                cache.close()

    def _discard_empty(self) -> None:
        """Remove what was begun and came to nothing: a model that could not even be started."""
        for run in self.runs:
            if run.is_new and run.info.asked and not run.info.asked.answers + run.info.asked.errors:
                discard(run.folder)

    def grade(self) -> list[Asked]:
        """Grade what came back, run by run. Where not one model answered at all, and it is known why, that is raised instead."""
        answered = [run for run in self.runs if run.info.asked and run.info.asked.answers]
        hopeless = [run for run in self.runs if run.asking and run.asking.hopeless]
        if hopeless and not answered:
            folder = hopeless[0].folder
            verb = command_of(hopeless[0].info)
            raise BadInput(hopeless[0].asking.stopped if hopeless[0].asking else "", f"When that is mended: {verb} {folder} --resume")
        return [self._graded(run) for run in self.runs]

    def _graded(self, run: _Run) -> Asked:
        asked = run.info.asked
        assert asked is not None
        if not asked.answers + asked.errors:
            return Asked(run.folder, asked, None)
        # rows that cannot be read were told of when the cases were read
        how = structs.replace(self._how, on_bad=self._how.on_bad and (lambda row: None))
        return Asked(run.folder, asked, grade_again(run.folder, self._grading, how=how))

    async def _ask(self, cache: Cache | None, budget: Budget, watch: Watch | None) -> None:
        async with asyncio.TaskGroup() as group:
            for run in self.runs:
                group.create_task(self._ask_one(run, cache, budget, watch))

    async def _ask_one(self, run: _Run, cache: Cache | None, budget: Budget, watch: Watch | None) -> None:
        asked = run.info.asked
        assert asked is not None
        journal = run.journal
        run.folder.tidy()
        done: set[tuple[str, int]] = set()
        failed: set[tuple[str, int]] = set()
        for prediction in journal:
            budget.add(prediction.usage)
            (failed if prediction.error else done).add((prediction.case, prediction.trial))
        failed -= done
        asked.answers = len(done)
        self._say(run, "running")
        if watch:
            watch.begin(run.label, done=len(done), total=asked.questions)
        grader = Grader(self._grading) if watch else None

        def record(question: Question, prediction: Prediction) -> None:
            journal.add(prediction)
            (failed.add if prediction.error else failed.discard)((prediction.case, prediction.trial))
            if watch and grader:
                grade = grader.record(question.case, [prediction])[0]
                watch.came(run.label, prediction, next(iter(grade.metrics.values()), None))

        run.asking = ModelWorker(run.model, run.settings, record, cache=cache, budget=budget, hide=self._keys.hide)
        status: Status = "interrupted"
        try:
            await run.asking.ask_all(self._questions(run, asked, done))
            status = "stopped" if run.asking.stopped else "complete"
        finally:
            asked.answers += run.asking.answers
            asked.errors = len(failed)
            asked.remembered = run.asking.remembered
            asked.stopped = run.asking.stopped
            self._say(run, status)

    def _questions(self, run: _Run, asked: AskedInfo, done: set[tuple[str, int]]) -> Iterator[Question]:
        for at, case in each_case(self._work, cut=self._cut):
            if run.prompted and dropped_trailing(case, run.settings):
                asked.trailing += 1
            for trial in range(asked.trials):
                if (case.id, trial) not in done:
                    yield Question(case, trial, at)

    def _say(self, run: _Run, status: Status) -> None:
        run.info = structs.replace(run.info, status=status)
        run.folder.write(run.info)

    def _path(self, cases: Cases, folder: RunFolder) -> str:
        return self._work.path if self._work.path == cases.path else folder.file(CASES)


def _folder(out: str, name: str | None, default: str, *, resume: bool, hide: Callable[[bytes], bytes]) -> tuple[RunFolder, bool, Journal]:
    """The folder of a run, whether nothing was run into it before, and its journal: from here on it is no other process's."""
    found = RunFolder(Path(out, name)) if name is not None and Path(out, name).is_dir() else None
    if found is None or not (resume or is_run(str(found.path))):
        folder = new_folder(out, name, default=default)
    elif resume:
        _refuse_no_run(found)
        folder = found
    else:
        raise BadInput(f"there is a run in {found} already", "--resume goes on with it; or choose another --name.")
    journal = Journal(folder.file(PREDICTIONS), hide=hide)
    return folder, not is_run(str(folder.path)), journal


def _refuse_no_run(folder: RunFolder) -> None:
    """Refuse a folder that is no run, unless it is what a process leaves behind that was killed before it had asked anything."""
    if is_run(str(folder.path)):
        return
    left = {file.name.partition(".partial-")[0]: file for file in folder.path.iterdir()}
    answers = left.get(PREDICTIONS)
    begun = answers is not None and answers.stat().st_size == 0 and left.keys() <= {PREDICTIONS, CASES, TOOLS, RUN}
    if left and not begun:
        raise BadInput(f"{folder} is no run that could be gone on with: there is no {RUN} in it", "Choose another --name.")


def without_keys(settings: ModelSettings, spec: Spec, keys: Keys) -> tuple[ModelSettings, bool]:
    """The settings as they may be written down, and whether something secret was taken out of them."""
    address = _shown_address(settings, keys)
    text = msgspec.json.encode(structs.replace(settings, model=spec.shown, base_url=address))
    return msgspec.json.decode(keys.hide_bytes(text), type=ModelSettings), spec.secret or HIDDEN in address


def _shown_address(settings: ModelSettings, keys: Keys) -> str:
    """`base_url` without anything secret; a password of four letters too, which cannot be looked for."""
    return keys.hide(read_url(settings.base_url.strip(), keys, where="base_url", example="").shown) if settings.base_url else ""


def _refuse_changed(folder: RunFolder, before: RunInfo, now: RunInfo) -> None:
    """Refuse to go on with a run whose answers would not belong together with those of before."""
    if before.asked is None or now.asked is None:
        raise BadInput(f"{folder} was made of a file of predictions: there is no model to go on asking")
    pairs = [(name, getattr(before.asked.model, name), getattr(now.asked.model, name)) for name in _SHAPING]
    pairs += [("trials", before.asked.trials, now.asked.trials), ("limit", before.dataset.limit, now.dataset.limit)]
    if before.asked.simulated or now.asked.simulated:
        then, today = (msgspec.to_builtins(asked.simulated or SimulatedInfo()) for asked in (before.asked, now.asked))
        pairs += [(name, then.get(name), today.get(name)) for name in SimulatedInfo.__struct_fields__]
    for name, then, today in pairs:
        if then != today:
            raise BadInput(
                f"{folder} was begun with {name} {_word(then)}, now it is {_word(today)}: the answers would not belong together",
                "Leave it as it was, or choose another --name.",
            )
    for what, then, today in (
        (before.dataset.name, before.dataset.digest, now.dataset.digest),
        ("the file of tools", before.dataset.tools_digest, now.dataset.tools_digest),
    ):
        if then != today:
            raise BadInput(f"{what} has changed since {folder} was begun: the answers would not belong together", "Choose another --name.")


def _word(value: object) -> str:
    return "not given" if value in (None, "", {}) else scrub(msgspec.json.encode(value).decode())


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of several things that went wrong at once."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
