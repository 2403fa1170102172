"""Grade: one item in memory, files of predictions, or a run again."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from tempfile import TemporaryDirectory
from typing import Any, cast, overload

import msgspec
from msgspec import structs

from callmark.api.cases import CaseInput, select_cases, with_bad_rows
from callmark.config import read_grading_settings, read_policy
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.grading import grade as one_item
from callmark.grading.grade import Grade
from callmark.grading.settings import DEFAULT_EVALUATORS, GradingSettings
from callmark.runs.grade import GradeOptions, grade_predictions, regrade
from callmark.runs.run import Run
from callmark.runs.store import RunFolder, is_run
from callmark.types import Message, Prediction

PredictionInput = str | PathLike[str] | Sequence[str | PathLike[str]] | Sequence[Prediction] | Sequence[Mapping[str, Any]]
OUT = "runs"  # the folder that runs go into
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
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    config: str | None = None,
    options: GradeOptions | None = None,
    warn: Callable[[str], None] | None = None,
) -> Run: ...


def grade(expected: Any, actual: Any = _MISSING, **others: Any) -> Grade | Run:
    """Grade actual calls against expected calls, and return the `Grade`; or grade predictions against cases, and return the `Run`.

    `grade(expected, actual)` grades one item: `expected` is a list of calls in any shape, `actual` a list of calls, an assistant message, a
    response body or a text with calls in it. `tools` and `messages` help to explain faults; `alternatives` are further lists that are
    correct too; an evaluator is a name, a function or an object.

    `grade(cases, predictions=…)` grades files or lists into a run folder, `out/name`. Recorded simulations need no predictions.
    `grade(run)`, with a run or the path of its folder, grades its predictions again. `policy` is a YAML file of rules, `parse` the text
    format of calls in raw text, `options` are `GradeOptions` (processes, intervals, details).

    What cannot be understood raises `BadInput`; a malformed call of a model never raises.
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
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    config: str | None = None,
    options: GradeOptions | None = None,
    warn: Callable[[str], None] | None = None,
) -> Run:
    settings = grading_settings(read_grading_settings(config), evaluators, policy)
    if isinstance(cases, Run) or is_run_folder(cases, predictions):
        assert isinstance(cases, str | PathLike)
        refuse_with_run(cases, {"predictions": predictions or None, "parse": parse, "out": out, "name": name})
        return _regrade(RunFolder(fspath(cases)), settings, options or GradeOptions(), warn)
    with ExitStack() as stack:
        files = _prediction_files(predictions, stack)
        return grade_predictions(
            select_cases(cases),
            files,
            settings,
            parse=parse,
            out=fspath(out or OUT),
            name=name,
            options=with_bad_rows(options, cases),
            predictions_name=None if _is_files(predictions) else _IN_MEMORY,
        )


def grading_settings(
    settings: GradingSettings, evaluators: Sequence[str] = (), policy: str | PathLike[str] | None = None
) -> GradingSettings:
    """Return the settings with other evaluators, by name, and the rules of a policy file, where these are given."""
    if evaluators:
        if not all(isinstance(evaluator, str) for evaluator in evaluators):
            raise BadInput("a run is graded by evaluators with a name: give module:Name instead of an object")
        settings = structs.replace(settings, evaluators=tuple(evaluators))
    return settings.with_options("policy", rules=read_policy(fspath(policy))) if policy else settings


def is_run_folder(cases: object, predictions: object = ()) -> bool:
    """Return whether cases are given as a run, or as the path of its folder."""
    if isinstance(cases, Run):
        return True
    return isinstance(cases, str | PathLike) and (is_run(fspath(cases)) or (not predictions and os.path.isdir(cases)))


def _regrade(folder: RunFolder, settings: GradingSettings, options: GradeOptions, warn: Callable[[str], None] | None) -> Run:
    before = folder.read()
    if before.dataset.kind == "scenarios":
        if settings.evaluators == DEFAULT_EVALUATORS:  # nobody chose to leave out those for conversations
            settings = structs.replace(settings, evaluators=before.grading.evaluators)
        options = structs.replace(options, detailed=True)  # what the trials give is shown at once
    if "policy" in before.grading.options and "policy" not in settings.options:
        settings = settings.with_options("policy", **before.grading.options["policy"])
    if warn and (changed := settings.differences(before.grading)):
        warn(f"graded by other settings than before: {', '.join(changed)}.")
    return regrade(folder, settings, options=options)


def refuse_with_run(run: object, given: Mapping[str, object]) -> None:
    """Raise `BadInput` for what a run has settled already."""
    for name, value in given.items():
        if value is not None:
            raise BadInput(
                f"{run} is a run, which is graded again as it stands: --{name} cannot be given with it",
                "To grade a file of predictions, name the file of the cases instead.",
            )


def _prediction_files(predictions: PredictionInput, stack: ExitStack) -> list[str]:
    """Return the files of predictions; those in memory are written to a temporary file."""
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
