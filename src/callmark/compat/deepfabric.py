"""DeepFabric's `Evaluator`, implemented with callmark's evaluator `schema`.

    config = EvaluatorConfig(dataset_path="valid.jsonl", metric_weights={"tool_selection": 0.5, "parameter_accuracy": 0.5})
    results = Evaluator(config).evaluate(predictions=predictions)
    results.metrics.overall_score, [sample.sample_id for sample in results.predictions if not sample.execution_valid]

A sample is a decision point: a row with an `expected_output` is one sample, a conversation is cut into its decision points. Predictions are
passed as `predictions`, or returned by `model`, a function of messages and tools. Errors are counted in `processing_errors` and excluded
from every metric.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from math import isnan, nan
from os import PathLike, fspath
from statistics import fmean
from sys import maxsize
from types import EllipsisType
from typing import Any

import msgspec
from msgspec import Struct, structs

from callmark.calls.content_parts import content_text
from callmark.calls.messages import message_texts
from callmark.calls.shapes import read_calls
from callmark.calls.strict import dump, is_strict, scrub
from callmark.calls.toolsets import tools_text
from callmark.data.expand import expand
from callmark.errors import BadInput
from callmark.formats import load
from callmark.formats.detect import detect_format
from callmark.formats.format import ReadContext
from callmark.formats.output import write_lines
from callmark.formats.predictions import read_prediction
from callmark.formats.problems import explain
from callmark.grading.evaluators.schema import OVERALL, SchemaEvaluator, complete_weights
from callmark.grading.grade import best_attempt
from callmark.types import Call, Case, Conversation, Place, Prediction
from callmark.wording import did_you_mean, pluralize

Model = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Any]
FilePath = str | PathLike[str]

_ONLY_VALUE = {"evaluators": "tool_calling", "reporters": "file"}  # DeepFabric fields with only one supported value
_HINT = "Pass predictions, or a function of (messages, tools) as model."
_UNSUPPORTED = {
    "inference_config": ("inference_config is not supported: models are not run by name", _HINT),
    "multi_turn": ("multi_turn is not supported: only single decision points are graded", "Remove it."),
    "max_turns": ("max_turns is not supported: only single decision points are graded", "Remove it."),
    "cloud_api_key": ("cloud_api_key is not supported: results are not uploaded", "Remove it."),
}
_FIELDS = ("dataset_path", "metric_weights", "max_samples", "output_path", "model", "save_predictions", "batch_size", *_ONLY_VALUE)
_MESSAGE_KEYS = ("role", "content", "tool_calls", "function_call", "calls", "text")  # in a message, but not in a call
_CALL_KEYS = ("function", "tool", "name", "functionName")
_CALL_LIST_KEYS = ("tool_calls", "calls", "function_call")
_ID_KEYS = ("id", "case", "sample_id")
_NOT_TEXT = ("tool_use", "tool_result")  # parts of a message's content


class _Output(Struct):
    content: Any = None


class _Row(Struct):
    expected_output: _Output | None = None
    item: "_Row | None" = None


_decode_row = msgspec.json.Decoder(_Row).decode


class EvaluatorConfig:
    """Dataset and options of an evaluation. A leading `...`, as in DeepFabric's documentation, is ignored.

    With `save_predictions=False`, no file is written. `batch_size` has no effect: each sample is graded separately. An unknown field, an
    invalid weight, and a model name in place of a function raise `BadInput`.
    """

    def __init__(
        self,
        *leading: EllipsisType,
        dataset_path: FilePath | None = None,
        metric_weights: Mapping[str, float] | None = None,
        max_samples: int | None = None,
        output_path: FilePath | None = None,
        model: Model | str | None = None,
        save_predictions: bool = True,
        batch_size: int = 1,
        **others: Any,
    ) -> None:
        if any(argument is not ... for argument in leading):
            raise BadInput("EvaluatorConfig takes keyword arguments only", f"Supported: {', '.join(_FIELDS)}.")
        for name, value in others.items():
            _check_field(name, value)
        if isinstance(model, str) or (model is not None and not callable(model)):
            raise BadInput(f"model: expected a function of (messages, tools), got {dump(model)}", _HINT)
        if max_samples is not None and (not isinstance(max_samples, int) or isinstance(max_samples, bool) or max_samples < 1):
            raise BadInput(f"max_samples: expected an integer of at least 1, got {dump(max_samples)}")
        self.dataset_path = dataset_path
        self.metric_weights = complete_weights(_check_weights(metric_weights))
        self.max_samples = max_samples
        self.output_path = output_path
        self.model = model
        self.save_predictions = save_predictions
        self.batch_size = batch_size


class EvaluationMetrics(Struct, frozen=True):
    """Means over the processed samples, NaN if there are none. `samples_evaluated` includes errors."""

    tool_selection_accuracy: float
    parameter_accuracy: float
    execution_success_rate: float
    response_quality: float
    overall_score: float
    samples_evaluated: int
    samples_processed: int
    processing_errors: int

    @property
    def interpretation(self) -> str:
        """Return the band of the overall score, `excellent` from 0.9 on; empty if no sample was processed."""
        return "" if isnan(self.overall_score) else OVERALL.band(self.overall_score)


class SampleEvaluation(Struct, frozen=True):
    """One sample. Tool and parameters are those of the first call; correctness covers all calls.

    A sample with an `error` is not correct and is excluded from the metrics. `response_score` is 0: responses are not evaluated.
    """

    sample_id: str
    query: str
    available_tools: list[str]
    expected_tool: str | None
    predicted_tool: str | None
    expected_parameters: dict[str, Any]
    predicted_parameters: dict[str, Any]
    expected_answer: str | None
    predicted_answer: str | None
    tool_selection_correct: bool
    parameters_correct: bool
    execution_valid: bool
    response_score: float = 0.0
    error: str | None = None


class EvaluationResult(Struct, frozen=True):
    """The metrics, and every sample in dataset order."""

    metrics: EvaluationMetrics
    predictions: list[SampleEvaluation]


class Evaluator:
    """Evaluates the predictions for a dataset."""

    def __init__(self, config: EvaluatorConfig) -> None:
        self.config = config

    def evaluate(self, dataset: Any = None, predictions: Any = None) -> EvaluationResult:
        """Evaluate a dataset: a path, a `Dataset`, or rows (objects, conversations, cases). The default is `dataset_path`.

        `predictions` are in dataset order, or by id: a mapping, or rows with an `id`. Each prediction is a list of calls in any shape, a
        message, None for no call, an exception or `{"error": …}`; a row with an id may have it in `prediction`. A sample without a
        prediction is an error. An empty dataset, a prediction without a sample, and two predictions for one sample raise `BadInput`.
        """
        source = dataset if dataset is not None else self.config.dataset_path
        if source is None:
            raise BadInput("the dataset is missing", "Set dataset_path, or pass evaluate(dataset=…).")
        samples = list(islice(_samples(_rows(source)), min(self.config.max_samples or maxsize, maxsize)))
        if not samples:
            raise BadInput(
                "the dataset has no samples: it has no rows, or its conversations have no tool calls",
                "callmark.expand(…, abstain=True) also creates samples without expected calls.",
            )
        outputs = self._predictions([case for case, _ in samples], predictions)
        evaluator = SchemaEvaluator(self.config.metric_weights)
        evaluated = [_evaluate(case, answer, output, evaluator) for (case, answer), output in zip(samples, outputs, strict=True)]
        result = EvaluationResult(_metrics(evaluated), [sample for sample, _ in evaluated])
        if self.config.output_path is not None and self.config.save_predictions:
            write_lines(fspath(self.config.output_path), [_json(result)])
        return result

    def _predictions(self, cases: list[Case], predictions: Any) -> Iterator[Prediction]:
        if isinstance(predictions, str | bytes) or (predictions is not None and not isinstance(predictions, Iterable)):
            raise BadInput(f"predictions: expected a list or a mapping by ID, got {type(predictions).__name__}")
        if predictions is not None:
            listed = predictions if isinstance(predictions, Mapping) else list(predictions)
            return _match_predictions(cases, listed, all_samples=self.config.max_samples is None)
        if self.config.model is None:
            raise BadInput("the predictions are missing", "Pass evaluate(predictions=…) or EvaluatorConfig(model=…).")
        return (_read_prediction(case.id, _call_model(self.config.model, case), f"model output for {case.id}") for case in cases)


def _check_field(name: str, value: Any) -> None:
    if name in _UNSUPPORTED:
        if value:
            raise BadInput(*_UNSUPPORTED[name])
    elif name in _ONLY_VALUE:
        values = value if isinstance(value, list | tuple | dict) else [value]
        if any(each != _ONLY_VALUE[name] for each in values):
            raise BadInput(f"{name}: expected {_ONLY_VALUE[name]}, got {dump(value)}", "No other value is supported.")
    else:
        raise BadInput(f"EvaluatorConfig has no field {name!r}{did_you_mean(name, _FIELDS)}", f"Supported: {', '.join(_FIELDS)}.")


def _check_weights(weights: Any) -> Mapping[str, float] | None:
    """Return the weights unchanged if they are numbers by name; the evaluator checks names and values."""
    if weights is None:
        return None
    if not isinstance(weights, Mapping):
        raise BadInput(f"metric_weights: expected a mapping from metrics to numbers, got {dump(weights)}")
    for name, weight in weights.items():
        if not isinstance(name, str) or not isinstance(weight, int | float) or not is_strict(weight):
            raise BadInput(f"metric_weights: {name}: expected a number, got {dump(weight)}")
    return weights


def _rows(source: Any) -> Iterator[Conversation]:
    if isinstance(source, str | PathLike):
        yield from load(source, cases=True)
        return
    if isinstance(source, Mapping | Conversation) or not isinstance(source, Iterable):
        raise BadInput(f"dataset: expected a path or a list of rows, got {type(source).__name__}")
    context = ReadContext()
    for number, row in enumerate(source, 1):
        yield row if isinstance(row, Conversation) else _read_row(row, Place("the dataset", number, "item"), context)


def _read_row(row: Any, place: Place, context: ReadContext) -> Conversation:
    if not isinstance(row, Mapping):
        raise BadInput(f"{place}: expected an object with messages, got {type(row).__name__}")
    text = dump(dict(row)).encode()
    try:
        return detect_format(text).reader(cases=True)(text, place, context)
    except (ValueError, RecursionError, BadInput) as error:
        raise BadInput(f"{place}: {explain(text, error)}.", error.hint if isinstance(error, BadInput) else "") from None


def _samples(rows: Iterator[Conversation]) -> Iterator[tuple[Case, str | None]]:
    """Yield each decision point with the expected response text in its row, if any."""
    first = next(rows, None)
    if first is None:
        return
    if isinstance(first, Case):
        for row in chain([first], rows):
            where = f"{row.place}: " if row.place else ""
            if not isinstance(row, Case):
                raise BadInput(f"{where}{row.id} has no expected_output, but earlier rows do")
            if row.is_scenario:
                raise BadInput(f"{where}{row.id} is a scenario; only decision points and conversations can be evaluated")
            yield row, _expected_answer(row)
        return
    current = [first]

    def tracked() -> Iterator[Conversation]:
        for row in chain([first], rows):
            current[0] = row  # expand finishes a row before it reads the next
            yield row

    for case in expand(tracked()):
        yield case, _last_answer(current[0])


def _last_answer(row: Conversation) -> str | None:
    answers = (each.text for each in reversed(row.messages) if each.role == "assistant" and each.text and not each.calls)
    return next(answers, None)


def _expected_answer(case: Case) -> str | None:
    """Return the text that accompanies the expected calls. It is only in the original row of a case."""
    try:
        row = _decode_row(case.original.row)
    except (msgspec.MsgspecError, RecursionError):  # no original row, or another shape
        return None
    output = row.expected_output or (row.item.expected_output if row.item else None)
    return _text(output.content) if output else None


def _text(content: Any) -> str | None:
    """Return the text of a message's content; None if there is none."""
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, dict) and part.get("type") in _NOT_TEXT)]
    return content_text(content) or None


def _call_model(model: Model, case: Case) -> Any:
    try:
        messages = [msgspec.json.decode(text) for text in message_texts(case)]
        return model(messages, msgspec.json.decode(tools_text(case)))
    except Exception as error:
        return error


def _match_predictions(cases: list[Case], predictions: Any, *, all_samples: bool) -> Iterator[Prediction]:
    """Yield the prediction for each case. Unless `all_samples`, predictions for other samples are ignored."""
    outputs = _by_id(predictions)
    keys: list[str | int] = [case.id for case in cases]
    if outputs is None:
        outputs, keys = dict(enumerate(predictions)), list(range(len(cases)))
    known = set(keys)
    if len(known) < len(keys):
        raise BadInput("two samples have the same ID", "Pass the predictions as a list in dataset order.")
    if all_samples and (unknown := next((key for key in outputs if key not in known), None)) is not None:
        if isinstance(unknown, int):
            raise BadInput(f"expected {pluralize(len(cases), 'prediction')}, one per sample, got {len(outputs):,}")
        raise BadInput(f"prediction for unknown sample {unknown!r}{did_you_mean(unknown, map(str, known))}")
    for case, key in zip(cases, keys, strict=True):
        yield (
            _read_prediction(case.id, outputs[key], f"predictions[{key!r}]")
            if key in outputs
            else Prediction(case.id, error="no prediction")
        )


def _by_id(predictions: Any) -> dict[str | int, Any] | None:
    """Return the predictions by sample id; None if they have no ids and are in order."""
    if isinstance(predictions, Mapping):
        return {str(name): output for name, output in predictions.items()}
    names = [_sample_id(output) for output in predictions]
    if not any(name is not None for name in names):
        return None
    found: dict[str | int, Any] = {}
    for index, (name, output) in enumerate(zip(names, predictions, strict=True)):
        if name is None:
            raise BadInput(f"predictions[{index}] has no ID, but others do")
        if name in found:
            raise BadInput(f"predictions[{index}] is a second prediction for {name!r}")
        found[name] = output["prediction"] if isinstance(output, Mapping) and "prediction" in output else output
    return found


def _sample_id(output: Any) -> str | None:
    """Return the sample id of a prediction; None for a call or a message, whose `id` is not a sample id."""
    if isinstance(output, Prediction):
        return output.case
    if not isinstance(output, Mapping) or "role" in output or not any(key in output for key in ("prediction", "error", *_MESSAGE_KEYS)):
        return None
    return next((str(output[key]) for key in _ID_KEYS if isinstance(output.get(key), str | int)), None)


def _read_prediction(name: str, output: Any, place: str) -> Prediction:
    match output:
        case Prediction():
            return output
        case None:
            return Prediction(name)
        case BaseException():
            return Prediction(name, error=scrub(f"{type(output).__name__}: {output}".removesuffix(": ")))
        case list() | tuple() | Call():
            return Prediction(name, calls=read_calls(output))
        case Mapping():
            return _read_message(name, dict(output), place)
    raise BadInput(f"{place}: expected a list of calls, a message, None or an error, got {type(output).__name__}")


def _read_message(name: str, message: dict[str, Any], place: str) -> Prediction:
    """Read a call, a message, or a row in any shape that `callmark grade` supports."""
    if error := message.get("error"):
        return Prediction(name, error=scrub(error) if isinstance(error, str) else dump(error))
    if any(key in message for key in _CALL_KEYS) and not any(key in message for key in _MESSAGE_KEYS):
        return Prediction(name, calls=read_calls(message))
    if "role" not in message and not any(key in message for key in _CALL_LIST_KEYS):
        try:
            return structs.replace(read_prediction(dump(message).encode()).prediction, case=name)
        except BadInput as problem:
            raise BadInput(f"{place}: {problem}", problem.hint) from None
    content = message.get("content", message.get("text"))
    parts = content if isinstance(content, list) else []
    tool_uses = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"]
    calls = [read_calls(message.get(key)) for key in _CALL_LIST_KEYS]
    return Prediction(name, calls=(*chain(*calls), *read_calls(tool_uses)), text=scrub(_text(content) or ""))


def _evaluate(
    case: Case, answer: str | None, prediction: Prediction, evaluator: SchemaEvaluator
) -> tuple[SampleEvaluation, dict[str, float]]:
    """Return the reported sample and its metric values; no values for an error."""
    attempt, _ = best_attempt([case.expected, *case.alternatives], prediction.calls, tools=case.tools)
    values = {} if prediction.error else {name: value or 0.0 for name, value in evaluator.evaluate(attempt).values.items()}
    expected, predicted = next(iter(attempt.expected), None), next(iter(prediction.calls), None)
    evaluation = SampleEvaluation(
        sample_id=case.id,
        query=next((message.text for message in reversed(case.messages) if message.role == "user"), ""),
        available_tools=[tool.name for tool in case.tools],
        expected_tool=(expected.name or None) if expected else None,
        predicted_tool=(predicted.name or None) if predicted else None,
        expected_parameters=expected.arguments if expected else {},
        predicted_parameters=predicted.arguments if predicted else {},
        expected_answer=answer,
        predicted_answer=prediction.text or None,
        tool_selection_correct=values.get("tool_selection") == 1,
        parameters_correct=values.get("parameter_accuracy") == 1,
        execution_valid=values.get("execution_success") == 1,
        error=prediction.error or None,
    )
    return evaluation, values


def _metrics(evaluated: list[tuple[SampleEvaluation, dict[str, float]]]) -> EvaluationMetrics:
    processed = [values for _, values in evaluated if values]

    def mean(name: str) -> float:
        return fmean(values[name] for values in processed) if processed else nan

    return EvaluationMetrics(
        tool_selection_accuracy=mean("tool_selection"),
        parameter_accuracy=mean("parameter_accuracy"),
        execution_success_rate=mean("execution_success"),
        response_quality=0.0,
        overall_score=mean("overall"),
        samples_evaluated=len(evaluated),
        samples_processed=len(processed),
        processing_errors=len(evaluated) - len(processed),
    )


def _json(result: EvaluationResult) -> bytes:
    fields = msgspec.to_builtins(result)
    fields["metrics"] = {name: None if isnan(value) else value for name, value in fields["metrics"].items()}
    return json.dumps(fields, ensure_ascii=False, indent=2, default=repr).encode("utf-8", "backslashreplace")
