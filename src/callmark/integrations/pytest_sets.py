"""The cases of a mark, and the results of a model on them. `pytest_plugin` decides which of them run when."""

import hashlib
import inspect
import os
import shutil
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal
from uuid import uuid4

import msgspec
from msgspec import Struct

import callmark
from callmark.analysis.outcomes import CaseOutcome, case_outcomes
from callmark.api.testing import describe_difference
from callmark.config import read_grading_settings
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.grading.record import GradeRecord
from callmark.grading.settings import CONVERSATION_EVALUATORS, DEFAULT_EVALUATORS
from callmark.integrations.pytest_cases import read_cases
from callmark.models.model import ModelSettings
from callmark.reporting.safety import escape_breaks, escape_log_commands
from callmark.runs.run import Run
from callmark.runs.store import PREDICTIONS
from callmark.simulation.simulate import simulation_grading
from callmark.types import Case, Prediction
from callmark.wording import did_you_mean

Mode = Literal["model", "agent", "predictions"]
SET = "set.json"  # describes a set in its folder
_MODES: tuple[Mode, ...] = ("model", "agent", "predictions")
_OWN = ("min", "max_errors", "limit", "format_name")  # options of the mark itself
_COMMON = ("trials", "evaluators", "settings", "tools", "cache", "max_cost", "max_tokens_total", "env", "config")
_OPTIONS: dict[Mode, tuple[str, ...]] = {  # of `callmark.run`, `callmark.simulate` and `callmark.grade`
    "model": _COMMON,
    "agent": (*_COMMON, "user", "system", "judge", "max_turns", "max_steps", "seed", "concurrency", "policy"),
    "predictions": ("evaluators", "policy", "parse", "in_order", "config"),
}


class MarkOptions(Struct, frozen=True):
    """The arguments of a mark: the file, what predicts, the thresholds, and the options of the function that runs it."""

    path: str
    mode: Mode
    source: Any
    min: dict[str, float] = {}
    max_errors: int = 0
    limit: int | None = None
    format_name: str | None = None
    options: dict[str, Any] = {}


class CaseResult(Struct, frozen=True):
    """The result of a case in a test.

    Attributes:
        case: The case.
        predictions: The prediction of each trial.
        grades: The grade of each trial.
        outcome: Whether it passed in all trials, and what went wrong.
        has_thresholds: Whether the set has thresholds, so that a single case may fail.
    """

    case: Case
    predictions: list[Prediction]
    grades: list[GradeRecord]
    outcome: CaseOutcome
    has_thresholds: bool = False

    @property
    def passed(self) -> bool:
        """Whether the case passed in all trials."""
        return self.outcome.status == "passed"

    @property
    def message(self) -> str:
        """What went wrong: the first problem, the diff of the calls, and all problems."""
        if self.outcome.status != "failed":
            return escape_log_commands(escape_breaks(f"{self.outcome.status}: {self.outcome.message}"))
        failed = next(grade for grade in self.grades if grade.trial == self.outcome.trial)
        found = next(each for each in self.predictions if each.trial == failed.trial and not each.error)
        expected = (self.case.expected, *self.case.alternatives)[failed.alternative]
        trials = self.outcome.trials
        text = describe_difference(
            expected, found.calls, failed.pairs, failed.faults, problems=self.outcome.problems, reply="" if found.transcript else found.text
        )
        return f"{trials - self.outcome.passed} of {trials} trials failed: {text}" if trials > 1 else text


class SetInfo(Struct, frozen=True):
    """What the main process needs to know about a set: what to grade its predictions with, and its thresholds."""

    name: str
    path: str
    total: int
    options: dict[str, Any]
    format_name: str | None = None
    limit: int | None = None
    tools: str | None = None
    min: dict[str, float] = {}
    max_errors: int = 0


class CaseSet:
    """The cases of a mark. `name` is the id of the test function, `by_id` the cases by id, `results` those that have run."""

    def __init__(self, name: str, options: MarkOptions) -> None:
        self.name = name
        self.options = options
        tools = options.options.get("tools") if options.mode == "model" else None
        self._tools = None if tools is None else fspath(tools)
        read = read_cases(options.path, format_name=options.format_name, tools=self._tools, limit=options.limit)
        self.by_id = {case.id: case for case in read}
        self.results: dict[str, CaseResult] = {}

    def run(self, cases: Sequence[str], folder: str) -> None:
        """Get the predictions for these cases, grade them, and save them in the folder that all processes share.

        A file of predictions is graded as a whole.
        """
        own = os.path.join(folder, hashlib.sha256(self.name.encode()).hexdigest()[:16])
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.makedirs(own, exist_ok=True)
        unique = uuid4().hex  # the other processes write to the same folder
        runs = os.path.join(own, f"runs-{unique}")
        chosen = list(self.by_id) if self.options.mode == "predictions" else cases
        run = self._run([self.by_id[case] for case in chosen], runs)
        shutil.copyfile(run.folder.file(PREDICTIONS), os.path.join(own, f"{unique}.jsonl"))
        self._describe(own, run)
        predictions = _predictions(run)
        grades: dict[str, list[GradeRecord]] = {}
        for grade in run.grades():
            grades.setdefault(grade.case, []).append(grade)
        for outcome in case_outcomes((grade for trials in grades.values() for grade in trials), run.info.metrics):
            case = outcome.case
            found = CaseResult(self.by_id[case], predictions.get(case, []), grades[case], outcome, bool(self.options.min))
            self.results[case] = found
        shutil.rmtree(runs, ignore_errors=True)

    def _run(self, cases: list[Case], out: str) -> Run:
        given = self.options
        options = {name: value for name, value in given.options.items() if not (name == "tools" and given.mode == "model")}
        if evaluators := self._evaluators():
            options["evaluators"] = evaluators
        if given.mode == "predictions":
            return callmark.grade(cases, predictions=given.source, out=out, trust=True, **options)
        run = callmark.run if given.mode == "model" else callmark.simulate
        (found,) = run(cases, given.source, out=out, trust=True, **options)
        if not found.is_graded:
            stopped = found.info.model_run.stop_reason if found.info.model_run else ""
            raise BadInput(stopped or f"{found.label} returned no prediction")
        return found

    def _evaluators(self) -> Sequence[str]:
        """Return the evaluators of the mark. If it names none and a case has reply checks, the default ones and `reply`: a test must not
        pass without a check that its case states.
        """
        given = self.options
        if given.options.get("evaluators") or not any(case.reply for case in self.by_id.values()):
            return given.options.get("evaluators") or ()
        grading = read_grading_settings(given.options.get("config"))
        default = grading.evaluators
        if given.mode == "agent":
            default = simulation_grading(grading).evaluators
        elif any(case.is_scenario for case in self.by_id.values()) and default == DEFAULT_EVALUATORS:
            default = CONVERSATION_EVALUATORS
        return tuple(dict.fromkeys((*default, "reply")))

    def _describe(self, folder: str, run: Run) -> None:
        given = self.options
        grading = {name: given.options[name] for name in ("policy", "config", "parse") if given.options.get(name) is not None}
        info = SetInfo(
            self.name,
            os.path.abspath(given.path),
            len(self.by_id),
            {**grading, "evaluators": list(run.info.grading.evaluators)},
            given.format_name,
            given.limit,
            None if self._tools is None else os.path.abspath(self._tools),
            given.min,
            given.max_errors,
        )
        partial = os.path.join(folder, f"{SET}.{os.getpid()}")
        with open(partial, "wb") as file:
            file.write(msgspec.json.encode(info, enc_hook=os.fspath))
        os.replace(partial, os.path.join(folder, SET))


def read_mark(positional: Sequence[Any], given: Mapping[str, Any], folder: str) -> MarkOptions:
    """Return the arguments of a mark. A path is relative to the current folder, or to the folder of the test.

    A missing file or model, more than one of model, agent and predictions, and an unknown option raise `BadInput`.
    """
    where = "@pytest.mark.callmark"
    if len(positional) != 1 or not isinstance(positional[0], str | PathLike):
        raise BadInput(f"{where}: expected the path of a file with cases", f'For example: {where}("eval.jsonl", model="openai:NAME")')
    modes = [mode for mode in _MODES if given.get(mode) is not None]
    if len(modes) != 1:
        raise BadInput(f"{where}: expected one of model, agent and predictions, got {' and '.join(modes) or 'none'}")
    mode = modes[0]
    known = (mode, *_OWN, *_OPTIONS[mode])
    for name in given:
        if name not in known:
            raise BadInput(f"{where}: unknown option {name!r}{did_you_mean(name, known)}", f"Options: {', '.join(known)}.")
    if "max_errors" in given and not given.get("min"):
        raise BadInput(f"{where}: max_errors has no effect without min", "Without min, every error fails its test.")
    minimums = given.get("min") or {}
    if not isinstance(minimums, Mapping) or not all(_is_number(value) for value in minimums.values()):
        raise BadInput(f"{where}: min: expected numbers by metric, got {minimums!r:.80}", 'For example: min={"call.score": 0.9}')
    return MarkOptions(
        path=_locate(fspath(positional[0]), folder),
        mode=mode,
        source=_source(mode, given[mode], folder),
        min=dict(minimums),
        max_errors=given.get("max_errors", 0),
        limit=given.get("limit"),
        format_name=given.get("format_name"),
        options={name: value for name, value in given.items() if name in _OPTIONS[mode]},
    )


def _locate(path: str, folder: str) -> str:
    """Return a path in the current folder, or in the given folder if it exists only there."""
    beside = os.path.join(folder, path)
    return beside if not os.path.exists(path) and os.path.exists(beside) else path


def _source(mode: Mode, given: Any, folder: str) -> Any:
    """Return a file of predictions, or a model or agent, with the spec of a function (`python:module:name`) in its place.

    The spec is imported by name, so anything that has none, such as a lambda or a bound method, raises `BadInput`.
    """
    if mode == "predictions":
        return _locate(fspath(given), folder) if isinstance(given, str | PathLike) else given
    if isinstance(given, str | ModelSettings):
        return given
    if inspect.isfunction(given) and "<" not in given.__qualname__:
        return f"python:{given.__module__}:{given.__qualname__}"
    found = getattr(given, "__qualname__", None) or f"an object of type {type(given).__name__}"
    raise BadInput(
        f'@pytest.mark.callmark: {mode}: expected a name such as "openai:NAME", or a function of a module, got {found:.80}',
        f"Write a function that calls it, and pass {mode}=my_function.",
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _predictions(run: Run) -> dict[str, list[Prediction]]:
    """Return the predictions of a run by case, in the order of the trials."""
    found: dict[str, list[Prediction]] = {}
    with run.folder.open(PREDICTIONS) as lines:
        for line in lines:
            prediction = read_prediction(line, whole=run.scenarios).prediction
            found.setdefault(prediction.case, []).append(prediction)
    return {case: sorted(trials, key=lambda each: each.trial) for case, trials in found.items()}
