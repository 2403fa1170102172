"""Write the result files of the LOB evaluation: `evaluation_results.json` and `evaluation_metrics.json`.

The output is always valid JSON: lone surrogates are escaped, numbers that JSON cannot represent are null, and other Python objects are
written as their `repr`.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from callmark.calls.expected import escape_globs
from callmark.calls.messages import expected_texts, message_text
from callmark.calls.strict import DEEPEST, dump, is_deeper_than, scrub
from callmark.types import Call, Case, Message, Prediction, Text

RESULTS, METRICS = "evaluation_results.json", "evaluation_metrics.json"
SCORES = {  # callmark's metric names, and the names in the LOB evaluation
    "process.precision": "Precision_fn.score",
    "process.recall": "Recall_fn.score",
    "process.args_precision": "Precision_args.score",
    "process.args_recall": "Recall_args.score",
    "process.reliability": "Reliability.score",
}


def result_row(
    case: Case, prediction: Prediction | None, metrics: Mapping[str, Any] | None, *, chat_history: Iterable[Message | Any] = ()
) -> bytes:
    """Return one row, without a line break: input, expected calls, prediction, and the metrics under their names in the LOB evaluation.

    If there is no prediction, or the prediction is an error, the scores are null: those named in `metrics`, or the five of the LOB
    evaluation. The arguments of a malformed call are its text. `chat_history` holds `Message` objects or dicts in the OpenAI format; the
    default is the transcript of the prediction.
    """
    chat_history = chat_history or (prediction.transcript if prediction else ())
    error = "no prediction" if prediction is None else prediction.error or None
    scores: Mapping[str, Any] = dict.fromkeys(SCORES) if metrics is None else dict.fromkeys(metrics) if error else metrics
    return _json(
        {
            "inputs.id": case.id,
            "inputs.description": case.description,
            "inputs.scenarioType": case.scenario_type,
            "inputs.instructions": case.instructions,
            "inputs.task_completion_condition": case.completion,
            "inputs.expected_function_calls": [
                (None if call.malformed else _source_call(text)) or _expected_call(call)
                for call, text in zip(case.expected, expected_texts(case, lambda call: b""), strict=True)
            ],
            "outputs.function_calls": [_call(call, call.arguments) for call in prediction.calls] if prediction else [],
            "outputs.chat_history": [
                json.loads(message_text(message)) if isinstance(message, Message) else message for message in chat_history
            ],
            "outputs.error_message": error,
            **{f"outputs.{SCORES.get(name, name)}": value for name, value in scores.items()},
        }
    )


def metrics_json(means: Mapping[str, float | None]) -> bytes:
    """Return the text of `evaluation_metrics.json`. A metric without values has the mean None."""
    return msgspec.json.format(b"[" + _means_json(means) + b"]", indent=2)


def result_lines(means: Mapping[str, float | None], rows: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of `evaluation_results.json`: the means, then one line per row. Rows are read on demand."""
    head = _means_json(means)
    yield b"[" + head[:-1] + (b"," if means else b"") + b'"rows":['
    before = b""
    for row in rows:
        if before:
            yield before + b","
        before = row.rstrip(b"\r\n")
    if before:
        yield before
    yield b"]}]"


def _means_json(means: Mapping[str, float | None]) -> bytes:
    return _json({SCORES.get(name, name): mean for name, mean in means.items()})


def _call(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"functionName": call.name, "arguments": call.text if call.malformed else arguments}


def _expected_call(call: Call) -> dict[str, Any]:
    """Return the call in the shape of scenarios. A literal star is wrapped in `$literal`, because scenarios read it as a glob."""
    return _call(call, {name: escape_globs(value) for name, value in call.arguments.items()})


def _source_call(text: Text) -> Any:
    """Return an expected call as it was read, if it was in the shape of scenarios; otherwise None."""
    if b"functionName" not in bytes(text):
        return None
    try:
        value = json.loads(bytes(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "functionName" in value else None


def _json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_safe_repr)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return json.dumps(_to_json_values(value), ensure_ascii=False).encode()


def _to_json_values(value: Any, depth: int = 0) -> Any:
    """Return the value with everything replaced that JSON cannot represent."""
    match value:
        case None | bool():
            return value
        case str():
            return scrub(value)
        case float():
            return value if math.isfinite(value) else None
        case int():
            return int(value) if abs(value) <= sys.float_info.max else dump(value)
        case Mapping() | list() | tuple() if depth == 2 and is_deeper_than(value, DEEPEST):
            return dump(value)
        case Mapping():
            return {
                scrub(key if isinstance(key, str) else _safe_repr(key)): _to_json_values(item, depth + 1) for key, item in value.items()
            }
        case list() | tuple():
            return [_to_json_values(item, depth + 1) for item in value]
        case _:
            return _safe_repr(value)


def _safe_repr(value: Any) -> str:
    try:
        return scrub(repr(value))
    except Exception:  # a third-party object whose repr fails
        return f"({type(value).__name__} without a repr)"
