"""The evaluation service of the LOB evaluation: run a target on every scenario in a file and write the two result files.

The target is called with the fields of the row that it accepts by name: `id`, `description`, `scenarioType`, `instructions`,
`task_completion_condition`, `expected_function_calls`, and any other field of the row. It may be async. It returns an object with
`function_calls` and optionally `chat_history` and `error_message`, or only the list of calls. An exception, an `error_message` and a
missing prediction are errors: the row is written with its error message and null scores, and excluded from the means. `ChatSimulator` is
such a target. A target with an `aclose` method is closed at the end.
"""

import asyncio
import inspect
import math
import sys
import warnings
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

Wait = Callable[[Any], Any]  # awaits a value if it is awaitable
Evaluators = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]


class Evaluation(list[dict[str, Any]]):
    """The content of `evaluation_results.json`, as the original returns it: a list of one object with the means and the `rows`.

    `pandas.DataFrame(results)` has one row. A mean is None if there is nothing to average. Also counts scored rows and errors.
    """

    def __init__(self, metrics: dict[str, float | None], rows: list[dict[str, Any]], errors: int) -> None:
        super().__init__([{**metrics, "rows": rows}])
        self.metrics = metrics
        self.rows = rows
        self.scored = len(rows) - errors
        self.errors = errors


class _ScoredRow(Struct):
    """A row with its prediction and its scores; `scores` is None for an error."""

    case: Case
    prediction: Prediction
    chat_history: list[Any]
    scores: dict[str, Any] | None


class EvaluationService:
    """Runs a target on scenarios and evaluators on its predictions, row by row.

    `azure_ai_project` is accepted for compatibility. Nothing is uploaded, which a warning says.
    """

    def __init__(self, azure_ai_project: Any = None) -> None:
        self.azure_ai_project = azure_ai_project
        if azure_ai_project is not None:
            warnings.warn("azure_ai_project is not used: the results are written to files and not uploaded", stacklevel=2)

    def evaluate(
        self,
        ground_truth_data_path: str | PathLike[str],
        output_path: str | PathLike[str],
        eval_target: Callable[..., Any],
        evaluators: Evaluators,
        evaluators_config: Mapping[str, Any] | None = None,
        experiment_name: str | None = None,
    ) -> Evaluation:
        """Evaluate a target, write both files to the folder `output_path`, and return their contents. `experiment_name` is not used.

        `evaluators` is a mapping from names, or a list: then the five built-in evaluators have their LOB names, and others the name of
        their class. `evaluators_config` maps columns as in azure-ai-evaluation. An exception in an evaluator raises `BadInput`, and nothing
        is written.
        """
        cases = _load_scenarios(ground_truth_data_path)
        rows = [_read_columns(case) for case in cases]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        check_target(eval_target, columns)
        named = _name_evaluators(evaluators)
        mappings = read_mappings(evaluators_config, named, columns)
        folder = Path(output_path)
        _create_folder(folder)

        def run() -> list[_ScoredRow]:
            with asyncio.Runner() as runner:  # one event loop for all rows, so that a target can reuse its connections
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
        return Evaluation(means, [msgspec.json.decode(line) for line in lines], errors)


def _load_scenarios(path: str | PathLike[str]) -> list[Case]:
    dataset = load(path)
    if dataset.format.name != "scenarios":
        hint = "Each row needs instructions for a user and expected_function_calls."
        raise BadInput(f"{dataset.name}: expected scenarios, got {dataset.format.title}", hint)
    return [row for row in dataset if isinstance(row, Case)]


def _read_columns(case: Case) -> dict[str, Any]:
    """Return the columns of a row: the six of the LOB evaluation, and any others it has."""
    try:
        row = decode_loosely(case.original.row)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{case.place}: not valid JSON: {error}") from None
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
        raise BadInput(f"evaluators: expected a list or a mapping from names, got {type(evaluators).__name__}")
    named = dict(evaluators) if isinstance(evaluators, Mapping) else {}
    for evaluator in () if isinstance(evaluators, Mapping) else evaluators:
        name = str(getattr(evaluator, "column", None) or getattr(evaluator, "__name__", type(evaluator).__name__))
        if name in named:
            hint = f'Name them: {{"Mine": {type(evaluator).__name__}(), …}}.'
            raise BadInput(f"two evaluators are named {name}", hint)
        named[name] = evaluator
    for name, evaluator in named.items():
        if inspect.isclass(evaluator):
            raise BadInput(f"evaluator {name}: expected an instance, {evaluator.__name__}(), got the class {evaluator.__name__}")
        if not callable(evaluator):
            raise BadInput(f"evaluator {name}: expected a function or an Evaluator, got {dump(evaluator)}")
    if not named:
        raise BadInput("evaluators: expected at least one, got none")
    return named


def _create_folder(folder: Path) -> None:
    """Create the output folder before the target runs, which may take hours, so that a failure is reported at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder} cannot be created: {getattr(error, 'strerror', None) or error}") from None


def _run_outside_event_loop(run: Callable[[], list[_ScoredRow]]) -> list[_ScoredRow]:
    """Run in a thread if an event loop is already running, as in a notebook, because a second loop cannot be started there."""
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
    """Return the output of the target as columns. If it is invalid, `error_message` says why."""
    try:
        output = wait(target(**accepted_columns(target, data)))
    except (Exception, asyncio.CancelledError) as error:
        return _without_calls(f"{type(error).__name__}: {error}")
    if isinstance(output, list | tuple):
        output = {"function_calls": output}
    if not isinstance(output, Mapping):
        return _without_calls(f"eval_target: expected an object with function_calls, got {dump(output)}")
    columns = {**_without_calls(""), **output}
    if "function_calls" not in output or is_missing(output["function_calls"]):
        if "function_calls" in output:
            reason = "eval_target returned NaN as function_calls"
        elif output:
            reason = f"eval_target returned no function_calls, only {', '.join(map(str, output))}"
        else:
            reason = "eval_target returned an empty object"
        columns |= {"function_calls": [], "error_message": columns["error_message"] or reason}
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
            raise BadInput(f"{case.place}: evaluator {name} raised {type(problem).__name__}: {problem}") from problem
        scores |= _read_result(name, result, case)
    return _ScoredRow(case, prediction, messages, scores)


def _look_up(source: str, path: str, row: Mapping[str, Any], where: str, case: Case) -> Any:
    try:
        return column_value(row, path)
    except KeyError:
        if source == "data":  # only other rows have this column
            return None
        raise BadInput(f"{case.place}: {where}: the target returned no {path!r}{did_you_mean(path, map(str, row))}") from None


def _read_result(name: str, result: Any, case: Case) -> dict[str, Any]:
    if isinstance(result, Mapping):
        return {f"{name}.{key}": _to_python_number(value) for key, value in result.items()}
    score = result if isinstance(result, Real) else getattr(result, "score", None)
    if score is None:
        raise BadInput(f"{case.place}: evaluator {name}: expected a score, got {dump(result)}")
    return {f"{name}.score": _to_python_number(score)}


def _to_python_number(value: Any) -> Any:
    """Convert a numpy number to a Python number; return anything else unchanged."""
    if isinstance(value, int | float):
        return value
    return float(value) if isinstance(value, Real) else value


def _means(rows: list[_ScoredRow], names: Iterable[str]) -> dict[str, float | None]:
    """Return the mean of each numeric column, without None, NaN and infinities; None if nothing is left."""
    means: dict[str, float | None] = {}
    for name in names:
        values = [value for row in rows if row.scores is not None and (value := row.scores.get(name)) is not None]
        if all(isinstance(value, int | float) for value in values):
            numbers = [value for value in values if abs(value) <= sys.float_info.max]
            means[name] = math.fsum(numbers) / len(numbers) if numbers else None
    return means
