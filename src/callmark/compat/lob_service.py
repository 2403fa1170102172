"""Document 004's evaluation service: a target run on every scenario of a file, and the two result files (docs/metrics.md, section 15).

The target is called with the row's fields by name (`id, description, scenarioType, instructions, task_completion_condition,
expected_function_calls`, and whatever else the row has), of which it is given those that it takes. It may be async. It gives an object
with `function_calls`, perhaps `chat_history` and `error_message`, or only the list of calls. An exception, an `error_message` and no
answer are errors of the row: kept with their text, their scores null, left out of the means. `ChatSimulator` is such a target; one that
has an `aclose` is closed in the end.
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
from callmark.compat.lob_columns import Mappings, check_target, column, is_missing, loose, made_calls, read_mappings, taken
from callmark.errors import BadInput
from callmark.formats import load, write_lines
from callmark.formats.evaluation_results import METRICS, RESULTS, metrics_json, result_lines, result_row
from callmark.types import Case, Prediction
from callmark.wording import did_you_mean

Settle = Callable[[Any], Any]  # waits for what is awaitable
Evaluators = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]


class Evaluation(Struct, frozen=True):
    """The means, the rows as they stand in `evaluation_results.json`, and how many were scored and how many are errors.

    A mean of nothing is None.
    """

    metrics: dict[str, float | None]
    rows: list[dict[str, Any]]
    scored: int
    errors: int


class _Scored(Struct):
    """A row when its target has answered: `scores` is None where it is an error."""

    case: Case
    prediction: Prediction
    chat_history: list[Any]
    scores: dict[str, Any] | None


class EvaluationService:
    """Runs a target on ground truth and its evaluators on what came back, one row after the other."""

    def evaluate(
        self,
        ground_truth_data_path: str | PathLike[str],
        output_path: str | PathLike[str],
        eval_target: Callable[..., Any],
        evaluators: Evaluators,
        evaluators_config: Mapping[str, Any] | None = None,
        experiment_name: str | None = None,
    ) -> Evaluation:
        """Write both files into `output_path`, or into the folder `experiment_name` in it, and give back what stands in them.

        `evaluators` is a mapping from names, or a list: then the five are called as document 004 calls them and others by their class.
        `evaluators_config` maps columns as azure-ai-evaluation does. An exception in an evaluator raises `BadInput`: nothing is written.
        """
        cases = _scenarios(ground_truth_data_path)
        rows = [_fields(case) for case in cases]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        check_target(eval_target, columns)
        named = _named(evaluators)
        mappings = read_mappings(evaluators_config, named, columns)
        folder = Path(output_path, experiment_name) if experiment_name else Path(output_path)
        _make(folder)

        def run() -> list[_Scored]:
            with asyncio.Runner() as runner:  # one event loop for all rows, so that a target's connections outlive a row
                settle = partial(_settled, runner)
                done = []
                try:
                    for case, row in zip(cases, rows, strict=True):
                        data = {**dict.fromkeys(columns), **row}
                        done.append(_scored(case, data, _outputs(eval_target, data, settle), named, mappings, settle))
                finally:
                    if callable(close := getattr(eval_target, "aclose", None)):
                        settle(close())
                return done

        done = _outside_of_any_loop(run)
        names = list(dict.fromkeys(name for row in done for name in row.scores or ())) or [f"{name}.score" for name in named]
        means = _means(done, names)
        lines = [
            result_row(
                row.case,
                row.prediction,
                dict.fromkeys(names) if row.scores is None else {name: row.scores.get(name) for name in names},
                chat_history=row.chat_history,
            )
            for row in done
        ]
        write_lines(str(folder / RESULTS), result_lines(means, lines))
        write_lines(str(folder / METRICS), [metrics_json(means)])
        errors = sum(row.scores is None for row in done)
        return Evaluation(means, [msgspec.json.decode(line) for line in lines], len(done) - errors, errors)


def _scenarios(path: str | PathLike[str]) -> list[Case]:
    dataset = load(path)
    if dataset.format.name != "scenarios":
        hint = "Each row needs instructions for a user and expected_function_calls."
        raise BadInput(f"{dataset.name} is {dataset.format.title}, scenarios were expected", hint)
    return [row for row in dataset if isinstance(row, Case)]


def _fields(case: Case) -> dict[str, Any]:
    """The columns of a row: document 004's six, and what else stands there."""
    try:
        stood = loose(case.original.row)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{case.place}: the row cannot be read: {error}") from None
    return {
        "id": case.id,
        "description": case.description,
        "scenarioType": case.scenario_type,
        "instructions": case.instructions,
        "task_completion_condition": case.completion,
        "expected_function_calls": stood["expected_function_calls"],
        **{name: value for name, value in stood.items() if name != "id" and value is not None},
    }


def _named(evaluators: Evaluators) -> dict[str, Callable[..., Any]]:
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


def _make(folder: Path) -> None:
    """Before the target runs, which may take hours: a folder that cannot be written to is told at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder} cannot be made: {getattr(error, 'strerror', None) or error}") from None


def _outside_of_any_loop(run: Callable[[], list[_Scored]]) -> list[_Scored]:
    """A notebook has an event loop running already, in which no second one can be started: there, the work is done in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


def _settled(runner: asyncio.Runner, value: Any) -> Any:
    async def wait() -> Any:
        return await value

    return runner.run(wait()) if inspect.isawaitable(value) else value


def _outputs(target: Callable[..., Any], data: dict[str, Any], settle: Settle) -> dict[str, Any]:
    """What the target gave, as columns. Where it gave nothing that can be used, `error_message` says why."""
    try:
        given = settle(target(**taken(target, data)))
    except (Exception, asyncio.CancelledError) as error:
        return _without_calls(f"{type(error).__name__}: {error}")
    if isinstance(given, list | tuple):
        given = {"function_calls": given}
    if not isinstance(given, Mapping):
        return _without_calls(f"eval_target gave {dump(given)}, an object with function_calls was expected")
    outputs = {**_without_calls(""), **given}
    if "function_calls" not in given or is_missing(given["function_calls"]):
        found = ", ".join(map(str, given)) or "nothing"
        why = outputs["error_message"] or f"eval_target gave no function_calls, what it gave is {found}"
        outputs |= {"function_calls": [], "error_message": why}
    return outputs


def _without_calls(error: str) -> dict[str, Any]:
    return {"function_calls": [], "chat_history": [], "error_message": error}


def _scored(
    case: Case, data: dict[str, Any], outputs: dict[str, Any], named: dict[str, Callable[..., Any]], mappings: Mappings, settle: Settle
) -> _Scored:
    history = outputs["chat_history"]
    messages = list(history) if isinstance(history, list | tuple) else [] if history is None else [history]
    said = outputs["error_message"]
    error = (said if isinstance(said, str) else dump(said)) if said else ""
    prediction = Prediction(case.id, calls=made_calls(outputs["function_calls"]), error=error)
    if error:
        return _Scored(case, prediction, messages, None)
    columns = {**data, **outputs, "actual_function_calls": outputs["function_calls"]}
    columns["expected_function_calls"] = data["expected_function_calls"]
    scores: dict[str, Any] = {}
    for name, evaluator in named.items():
        mapped = {
            parameter: _looked_up(source, path, data if source == "data" else outputs, f"evaluators_config: {name}: {parameter}", case)
            for parameter, (source, path) in mappings.get(name, mappings.get("default", {})).items()
        }
        try:
            result = settle(evaluator(**taken(evaluator, {**columns, **mapped})))
        except BadInput as problem:
            raise BadInput(f"{case.place}: evaluator {name}: {problem}", problem.hint) from None
        except Exception as problem:
            raise BadInput(f"{case.place}: evaluator {name} failed with {type(problem).__name__}: {problem}") from problem
        scores |= _read_result(name, result, case)
    return _Scored(case, prediction, messages, scores)


def _looked_up(source: str, path: str, row: Mapping[str, Any], where: str, case: Case) -> Any:
    try:
        return column(row, path)
    except KeyError:
        if source == "data":  # another row has it
            return None
        raise BadInput(f"{case.place}: {where}: the target gave no {path!r}{did_you_mean(path, map(str, row))}") from None


def _read_result(name: str, result: Any, case: Case) -> dict[str, Any]:
    if isinstance(result, Mapping):
        return {f"{name}.{key}": _number(value) for key, value in result.items()}
    score = result if isinstance(result, Real) else getattr(result, "score", None)
    if score is None:
        raise BadInput(f"{case.place}: evaluator {name} gave {dump(result)}, a score was expected")
    return {f"{name}.score": _number(score)}


def _number(value: Any) -> Any:
    """A number of numpy's as Python's own; anything else as it is."""
    if isinstance(value, int | float):
        return value
    return float(value) if isinstance(value, Real) else value


def _means(done: list[_Scored], names: Iterable[str]) -> dict[str, float | None]:
    """The mean of each column that holds nothing but numbers; None, NaN and infinities are left out. A mean of nothing is None."""
    means: dict[str, float | None] = {}
    for name in names:
        held = [value for row in done if row.scores is not None and (value := row.scores.get(name)) is not None]
        if all(isinstance(value, int | float) for value in held):
            numbers = [value for value in held if abs(value) <= sys.float_info.max]
            means[name] = math.fsum(numbers) / len(numbers) if numbers else None
    return means
