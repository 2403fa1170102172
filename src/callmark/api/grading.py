"""Grade calls in memory, prediction files, or an existing run."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from tempfile import TemporaryDirectory
from typing import Any, cast, overload

import msgspec
from msgspec import structs

from callmark.api.cases import CaseInput, select_cases, with_bad_rows
from callmark.calls.strict import scrub
from callmark.config import Config, read_config, read_policy
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.formats.file_sets import has_data
from callmark.grading import grade as one_item
from callmark.grading.grade import Grade
from callmark.grading.settings import DEFAULT_EVALUATORS, GradingSettings, find_source
from callmark.runs.grade import GradeOptions, grade_predictions, regrade
from callmark.runs.run import Run
from callmark.runs.store import RunFolder, is_run, suggest_run
from callmark.runs.tags import read_tags
from callmark.trust import allow, authorize, decided_by, import_actions
from callmark.types import Message, Prediction
from callmark.wording import end_sentence

PredictionInput = str | PathLike[str] | Sequence[str | PathLike[str]] | Sequence[Prediction] | Sequence[Mapping[str, Any]]
OUT = "runs"  # default parent folder of runs
_IN_MEMORY = "predictions in memory"
_MISSING = object()


@overload
def grade(
    expected: Any,
    actual: Any,
    *,
    tools: Any = None,
    messages: Sequence[Message] | Sequence[dict[str, Any]] | None = None,
    evaluators: Iterable[Any] = DEFAULT_EVALUATORS,
    alternatives: Sequence[Any] = (),
) -> Grade: ...


@overload
def grade(
    cases: CaseInput | Run,
    /,
    *,
    predictions: PredictionInput = (),
    evaluators: Sequence[str] = (),
    policy: str | PathLike[str] | None = None,
    parse: str | None = None,
    in_order: bool = False,
    patch: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | Sequence[str] = (),
    config: str | None = None,
    trust: bool = False,
    options: GradeOptions | None = None,
    warn: Callable[[str], None] | None = None,
) -> Run: ...


def grade(expected: Any, actual: Any = _MISSING, **others: Any) -> Grade | Run:
    """Grade actual calls against expected calls, or predictions against cases.

        grade = callmark.grade(expected_calls, actual_calls, tools=tools)
        run = callmark.grade("eval.jsonl", predictions="base.jsonl")
        run = callmark.grade("runs/base", evaluators=["call", "policy"], policy="rules.yaml")

    `grade(expected, actual)` grades one item and returns a `Grade`. If neither list has a call, the item is correct.

    `grade(cases, predictions=…)` grades prediction files or lists, writes the run folder `out/name`, and returns a `Run`. Predictions are
    matched by case id, or by order if they have no ids. A case without a prediction is an error and is excluded from scores. For duplicate
    predictions of one trial, the first one counts, or the first that is not an error. Recorded simulations need no `predictions`.

    `grade(run)`, with a `Run` or the path of its folder, grades the predictions of the run again, with the evaluators of the run and those
    that are given: no metric is lost.

    Args:
        expected: Expected calls, a list in any shape. In the other forms, the first argument is the cases (a path, a `Dataset` or a list)
            or the run.
        actual: Actual calls: a list in any shape, an assistant message, a response body, or text that contains calls.
        tools: Tools in any shape, to check arguments against their schemas.
        messages: Messages before the call, to find out where a wrong value came from.
        alternatives: Other lists of calls that are also correct.
        evaluators: Evaluators to use. Names for a run; for one item also functions and objects.
        predictions: One or more prediction files, or a list of `Prediction` objects or dicts.
        policy: YAML file with the rules of the `policy` evaluator.
        parse: Text format of calls in raw text, such as `hermes`. By default it is detected.
        in_order: Match predictions to cases by order, whatever ids they have.
        patch: File with corrections to expected calls, as `view` writes it. A run that is graded again keeps its corrections without it.
        out: Parent folder of the run; `runs` by default.
        name: Name of the run folder; by default the name of the first predictions file and the time.
        tags: Tags of the run: a dict, or a list of `KEY` and `KEY=VALUE`. A run that is graded again keeps those it has.
        config: Path of the configuration file; `callmark.toml` by default.
        trust: Allow what the run, or a `callmark.toml` in the current folder, imports.
        options: Processes, handlers for bad rows and progress, and whether cases without any call are accepted.
        warn: Called with each warning.

    Returns:
        A `Grade` for one item, otherwise a `Run`.

    Raises:
        BadInput: The input cannot be used: an empty or unreadable file, no expected call in it, two cases with the same id, no prediction
            for any case, an unknown evaluator. A malformed call in a prediction never raises: it is graded as a fault.
        EvaluatorError: An evaluator failed on one item. In a run, such failures are counted instead.
        StorageError: The run folder cannot be written.
    """
    if actual is not _MISSING:
        return one_item.grade(expected, actual, **others)
    return _grade_cases(expected, **others)


def _grade_cases(
    cases: CaseInput | Run,
    *,
    predictions: PredictionInput = (),
    evaluators: Sequence[str] = (),
    policy: str | PathLike[str] | None = None,
    parse: str | None = None,
    in_order: bool = False,
    patch: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | Sequence[str] = (),
    config: str | None = None,
    trust: bool = False,
    options: GradeOptions | None = None,
    warn: Callable[[str], None] | None = None,
) -> Run:
    configured = read_config(config)
    labels = read_tags(tags)
    options = options or GradeOptions()
    options = structs.replace(options, patch=fspath(patch) if patch else options.patch, warn=warn or options.warn)
    settings = authorized_settings(configured, evaluators, policy, trust=trust)
    if isinstance(cases, Run) or is_run_folder(cases, predictions):
        assert isinstance(cases, str | PathLike)
        refuse_with_run(cases, {"predictions": predictions or None, "parse": parse, "in-order": in_order or None, "out": out, "name": name})
        with decided_by(allow if trust else None):
            return _regrade(RunFolder(fspath(cases)), settings, options, warn, labels)
    selection = select_cases(cases)
    if selection.path and not os.path.exists(selection.path) and (near := suggest_run(selection.path)):
        raise BadInput(f"{scrub(selection.path)}: no such file or run{near}")
    with ExitStack() as stack:
        files = _prediction_files(predictions, stack)
        return grade_predictions(
            selection,
            files,
            settings,
            parse=parse,
            in_order=in_order,
            out=fspath(out or OUT),
            name=name,
            options=with_bad_rows(options, cases),
            predictions_name=None if _is_files(predictions) else _IN_MEMORY,
            tags=labels,
        )


def authorized_settings(
    configured: Config, evaluators: Sequence[str], policy: str | PathLike[str] | None, *, trust: bool
) -> GradingSettings:
    """Return the settings of `grading_settings`, whose evaluators may be imported: the user names or trusts them."""
    settings = grading_settings(configured.grading, evaluators, policy)
    with decided_by(allow if trust else None):
        authorize(import_actions(settings.evaluators, source="" if evaluators else configured.found))
    return settings


def grading_settings(
    settings: GradingSettings, evaluators: Sequence[str] = (), policy: str | PathLike[str] | None = None
) -> GradingSettings:
    """Return the settings, overridden by the given evaluators (by name) and the rules of a policy file."""
    if evaluators:
        for evaluator in evaluators:
            if not isinstance(evaluator, str):
                raise BadInput(
                    f"evaluators: expected names, got {type(evaluator).__name__}",
                    "A run stores the names of its evaluators. Pass 'module:Name' instead of an object.",
                )
        settings = structs.replace(settings, evaluators=tuple(evaluators))
    return settings.with_options("policy", rules=read_policy(fspath(policy))) if policy else settings


def is_run_folder(cases: object, predictions: object = ()) -> bool:
    """Return whether `cases` is a run or the path of a run folder."""
    if isinstance(cases, Run):
        return True
    return isinstance(cases, str | PathLike) and (
        is_run(fspath(cases)) or (not predictions and os.path.isdir(cases) and not has_data(fspath(cases)))
    )


def _regrade(
    folder: RunFolder, settings: GradingSettings, options: GradeOptions, warn: Callable[[str], None] | None, tags: Mapping[str, str]
) -> Run:
    before = folder.read()
    recorded = before.grading.evaluators
    added = () if settings.evaluators == DEFAULT_EVALUATORS else settings.evaluators  # the default means that none were chosen
    authorize(import_actions([name for name in recorded if name not in added], source=str(folder.path)))
    if added:
        recorded = _still_found(recorded, added, warn or (lambda sentence: None))
    settings = structs.replace(settings, evaluators=recorded + tuple(name for name in added if name not in recorded))
    if before.dataset.kind == "scenarios":
        options = structs.replace(options, detailed=True)  # the results of the trials are shown directly
    if "policy" in before.grading.options and "policy" not in settings.options:
        settings = settings.with_options("policy", **before.grading.options["policy"])
    if warn and (changed := settings.differences(before.grading)):
        warn(f"settings changed since the last grading: {', '.join(changed)}.")
    return regrade(folder, settings, options=options, tags=tags)


def _still_found(recorded: tuple[str, ...], chosen: Sequence[str], warn: Callable[[str], None]) -> tuple[str, ...]:
    """Return the evaluators of a run that still exist, or that are chosen again. `warn` gets a sentence about each of the others."""
    found = []
    for name in recorded:
        try:
            if name not in chosen:
                find_source(name)
            found.append(name)
        except BadInput as error:
            warn(f"{end_sentence(str(error))} Its metrics are no longer measured.")
    return tuple(found)


def refuse_with_run(run: object, given: Mapping[str, object]) -> None:
    """Raise `BadInput` for options that cannot be combined with a run."""
    for name, value in given.items():
        if value is not None:
            if name in ("out", "name"):
                raise BadInput(f"--{name} cannot be used when a run is graded again: the result is saved in {run}")
            if name == "tools":
                raise BadInput(
                    f"--tools cannot be used with {run}, which is a run: its cases already have their tools",
                    f"To use other tools: callmark grade CASES --tools FILE --predictions {run}/predictions.jsonl",
                )
            raise BadInput(
                f"--{name} cannot be used with {run}, which is a run: its own predictions are graded again",
                "To grade a predictions file, pass the cases file instead of the run.",
            )


def _prediction_files(predictions: PredictionInput, stack: ExitStack) -> list[str]:
    """Return the prediction files; predictions in memory are written to a temporary file."""
    if isinstance(predictions, str | PathLike):
        return [fspath(predictions)]
    if _is_files(predictions):
        return [fspath(cast("str", item)) for item in predictions]
    folder = stack.enter_context(TemporaryDirectory(prefix="callmark-"))
    path = os.path.join(folder, "predictions.jsonl")
    write_lines(path, map(msgspec.json.encode, predictions))
    return [path]


def _is_files(predictions: PredictionInput) -> bool:
    return isinstance(predictions, str | PathLike) or all(isinstance(item, str | PathLike) for item in predictions)
