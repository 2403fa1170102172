"""The evaluation service of the LOB evaluation: run a target on every scenario of a file and write the two result files.

The target is called with those of the row's fields that it takes by name (`id, description, scenarioType, instructions,
task_completion_condition, expected_function_calls`, and whatever else the row has). It may be async. It returns an object with
`function_calls`, perhaps `chat_history` and `error_message`, or only the list of calls. An exception, an `error_message` and a missing
prediction are errors of the row: recorded with their text, their scores null, excluded from the means. `ChatSimulator` is such a target; a
target with an `aclose` is closed in the end. The files are those of docs/metrics.md, section 15.
"""

import asyncio
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.strict import dump
from callmark.compat.lob_columns import (
    Mappings,
    accepted_columns,
    actual_calls,
    check_target,
    column_value,
    decode_loosely,
    is_missing,
    read_mappings,
)
from callmark.errors import BadInput
from callmark.formats import load, write_lines
from callmark.formats.evaluation_results import METRICS, RESULTS, metrics_json, result_lines, result_row
from callmark.types import Case, Prediction
from callmark.wording import did_you_mean

Wait = Callable[[Any], Any]  # returns a value, or the result of an awaitable
Evaluators = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]


class Evaluation(Struct, frozen=True):
    """The means (None for a mean of nothing), the rows of `evaluation_results.json`, and the counts of scored rows and errors."""

    metrics: dict[str, float | None]
    rows: list[dict[str, Any]]
    scored: int
    errors: int


class _ScoredRow(Struct):
    """A row with its prediction and its scores; `scores` is None for an error."""

    case: Case
    prediction: Prediction
    chat_history: list[Any]
    scores: dict[str, Any] | None


class EvaluationService:
    """Runs a target on ground truth and evaluators on its predictions, one row after the other."""

    def evaluate(
        self,
        ground_truth_data_path: str | PathLike[str],
        output_path: str | PathLike[str],
        eval_target: Callable[..., Any],
        evaluators: Evaluators,
        evaluators_config: Mapping[str, Any] | None = None,
        experiment_name: str | None = None,
    ) -> Evaluation:
        """Write both files into `output_path`, or into the folder `experiment_name` in it, and return what they hold.

        `evaluators` is a mapping from names, or a list: then the five have their LOB names and others that of their class.
        `evaluators_config` maps columns as azure-ai-evaluation does. An exception in an evaluator raises `BadInput`: nothing is written.
        """
        cases = _load_scenarios(ground_truth_data_path)
        rows = [_read_columns(case) for case in cases]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        check_target(eval_target, columns)
        named = _name_evaluators(evaluators)
        mappings = read_mappings(evaluators_config, named, columns)
        folder = Path(output_path, experiment_name) if experiment_name else Path(output_path)
        _create_folder(folder)

        def run() -> list[_ScoredRow]:
            with asyncio.Runner() as runner:  # one event loop for all rows, so that a target's connections outlive a row
                wait = partial(_wait, runner)
                scored: list[_ScoredRow] = []
                try:
                    for case, row in zip(cases, rows, strict=True):
                        data = {**dict.fromkeys(columns), **row}
                        scored.append(_score_row(case, data, _call_target(eval_target, data, wait), named, mappings, wait))
                finally:
                    if callable(close := getattr(eval_target, "aclose", None)):
                        wait(close())
                return scored

        scored = _run_outside_event_loop(run)
        names = list(dict.fromkeys(name for row in scored for name in row.scores or ())) or [f"{name}.score" for name in named]
        means = _means(scored, names)
        lines = [
            result_row(
                row.case,
                row.prediction,
                dict.fromkeys(names) if row.scores is None else {name: row.scores.get(name) for name in names},
                chat_history=row.chat_history,
            )
            for row in scored
        ]
        write_lines(str(folder / RESULTS), result_lines(means, lines))
        write_lines(str(folder / METRICS), [metrics_json(means)])
        errors = sum(row.scores is None for row in scored)
        return Evaluation(means, [msgspec.json.decode(line) for line in lines], len(scored) - errors, errors)


def _load_scenarios(path: str | PathLike[str]) -> list[Case]:
    dataset = load(path)
    if dataset.format.name != "scenarios":
        hint = "Each row needs instructions for a user and expected_function_calls."
        raise BadInput(f"{dataset.name} is {dataset.format.title}, scenarios were expected", hint)
    return [row for row in dataset if isinstance(row, Case)]


def _read_columns(case: Case) -> dict[str, Any]:
    """Return the columns of a row: the six of the LOB evaluation, and whatever else it has."""
    try:
        row = decode_loosely(case.original.row)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{case.place}: the row cannot be read: {error}") from None
    return {
        "id": case.id,
        "description": case.description,
        "scenarioType": case.scenario_type,
        "instructions": case.instructions,
        "task_completion_condition": case.completion,
        "expected_function_calls": row["expected_function_calls"],
        **{name: value for name, value in row.items() if name != "id" and value is not None},
    }


def _name_evaluators(evaluators: Evaluators) -> dict[str, Callable[..., Any]]:
    if not isinstance(evaluators, Mapping | list | tuple):
        raise BadInput(f"evaluators is {type(evaluators).__name__}, a list or a mapping from names was expected")
    named = dict(evaluators) if isinstance(evaluators, Mapping) else {}
    for evaluator in () if isinstance(evaluators, Mapping) else evaluators:
        name = str(getattr(evaluator, "column", None) or getattr(evaluator, "__name__", type(evaluator).__name__))
        if name in named:
            hint = f'Give them names: {{"Mine": {type(evaluator).__name__}(), …}}.'
            raise BadInput(f"two evaluators are called {name}, each needs a name of its own", hint)
        named[name] = evaluator
    for name, evaluator in named.items():
        if inspect.isclass(evaluator):
            raise BadInput(f"evaluator {name} is the class {evaluator.__name__}, an object was expected: {evaluator.__name__}()")
        if not callable(evaluator):
            raise BadInput(f"evaluator {name} is {dump(evaluator)}, a function or an Evaluator was expected")
    if not named:
        raise BadInput("there are no evaluators, at least one was expected")
    return named


def _create_folder(folder: Path) -> None:
    """Create the folder before the target runs, which may take hours, so that one that cannot be written to is refused at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder} cannot be made: {getattr(error, 'strerror', None) or error}") from None


def _run_outside_event_loop(run: Callable[[], list[_ScoredRow]]) -> list[_ScoredRow]:
    """Run in a thread where an event loop is running already, as in a notebook: no second one can be started there."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


def _wait(runner: asyncio.Runner, value: Any) -> Any:
    async def wait() -> Any:
        return await value

    return runner.run(wait()) if inspect.isawaitable(value) else value


def _call_target(target: Callable[..., Any], data: dict[str, Any], wait: Wait) -> dict[str, Any]:
    """Return the output of the target as columns. Where it is unusable, `error_message` says why."""
    try:
        output = wait(target(**accepted_columns(target, data)))
    except (Exception, asyncio.CancelledError) as error:
        return _without_calls(f"{type(error).__name__}: {error}")
    if isinstance(output, list | tuple):
        output = {"function_calls": output}
    if not isinstance(output, Mapping):
        return _without_calls(f"eval_target gave {dump(output)}, an object with function_calls was expected")
    columns = {**_without_calls(""), **output}
    if "function_calls" not in output or is_missing(output["function_calls"]):
        found = ", ".join(map(str, output)) or "nothing"
        reason = columns["error_message"] or f"eval_target gave no function_calls, what it gave is {found}"
        columns |= {"function_calls": [], "error_message": reason}
    return columns


def _without_calls(error: str) -> dict[str, Any]:
    return {"function_calls": [], "chat_history": [], "error_message": error}


def _score_row(
    case: Case, data: dict[str, Any], outputs: dict[str, Any], named: dict[str, Callable[..., Any]], mappings: Mappings, wait: Wait
) -> _ScoredRow:
    history = outputs["chat_history"]
    messages = list(history) if isinstance(history, list | tuple) else [] if history is None else [history]
    message = outputs["error_message"]
    error = (message if isinstance(message, str) else dump(message)) if message else ""
    prediction = Prediction(case.id, calls=actual_calls(outputs["function_calls"]), error=error)
    if error:
        return _ScoredRow(case, prediction, messages, None)
    columns = {**data, **outputs, "actual_function_calls": outputs["function_calls"]}
    columns["expected_function_calls"] = data["expected_function_calls"]
    scores: dict[str, Any] = {}
    for name, evaluator in named.items():
        mapped = {
            parameter: _look_up(source, path, data if source == "data" else outputs, f"evaluators_config: {name}: {parameter}", case)
            for parameter, (source, path) in mappings.get(name, mappings.get("default", {})).items()
        }
        try:
            result = wait(evaluator(**accepted_columns(evaluator, {**columns, **mapped})))
        except BadInput as problem:
            raise BadInput(f"{case.place}: evaluator {name}: {problem}", problem.hint) from None
        except Exception as problem:
            raise BadInput(f"{case.place}: evaluator {name} failed with {type(problem).__name__}: {problem}") from problem
        scores |= _read_result(name, result, case)
    return _ScoredRow(case, prediction, messages, scores)


def _look_up(source: str, path: str, row: Mapping[str, Any], where: str, case: Case) -> Any:
    try:
        return column_value(row, path)
    except KeyError:
        if source == "data":  # another row has it
            return None
        raise BadInput(f"{case.place}: {where}: the target gave no {path!r}{did_you_mean(path, map(str, row))}") from None


def _read_result(name: str, result: Any, case: Case) -> dict[str, Any]:
    if isinstance(result, Mapping):
        return {f"{name}.{key}": _to_python_number(value) for key, value in result.items()}
    score = result if isinstance(result, Real) else getattr(result, "score", None)
    if score is None:
        raise BadInput(f"{case.place}: evaluator {name} gave {dump(result)}, a score was expected")
    return {f"{name}.score": _to_python_number(score)}


def _to_python_number(value: Any) -> Any:
    """Return a number of numpy as one of Python; anything else unchanged."""
    if isinstance(value, int | float):
        return value
    return float(value) if isinstance(value, Real) else value


def _means(rows: list[_ScoredRow], names: Iterable[str]) -> dict[str, float | None]:
    """Return the mean of each column of numbers, without None, NaN and infinities; None for a mean of nothing."""
    means: dict[str, float | None] = {}
    for name in names:
        values = [value for row in rows if row.scores is not None and (value := row.scores.get(name)) is not None]
        if all(isinstance(value, int | float) for value in values):
            numbers = [value for value in values if abs(value) <= sys.float_info.max]
            means[name] = math.fsum(numbers) / len(numbers) if numbers else None
    return means
