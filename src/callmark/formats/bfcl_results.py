"""Result files of the Berkeley Function Calling Leaderboard, as predictions: `{"id", "result"}`, with token counts and latency.

    [{NAME: "JSON of the arguments"}]     of a model that was given tools
    "[f(a=1), g()]", or any other text    of a model that was prompted to write calls; the text is kept
    [[step, …], …]                        several turns: for each turn the steps, each of which is one of the above

"Error during inference: …" is an error. So are calls as text in Java or JavaScript, which are not parsed; as tool calls they are read.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.bfcl_code import NotCallsError, decode_text
from callmark.calls.messages import explain_validation_error
from callmark.calls.shapes import named_call
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats.bfcl import category_of, plain_arguments
from callmark.formats.format import Format, ReadContext, check_utf8
from callmark.types import Call, Conversation, Place, Prediction, Usage

_ERROR = "Error during inference:"
_JAVA = re.compile(r"java")  # and javascript
_CODE = re.compile(r"^[\s`\[]*(?:java|javascript)?[\s\[]*[\w.$]+\s*\(")
_KEYS = ("input_token_count", "output_token_count", "latency")


class _Row(Struct):
    id: str
    result: Raw
    input_token_count: Any = None
    output_token_count: Any = None
    latency: Any = None


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with a `result` and the leaderboard's counts, or an id of the leaderboard."""
    if "result" not in fields or "id" not in fields or "question" in fields:
        return 0.0
    name = bytes(fields["id"])
    is_known = name.startswith(b'"') and category_of(name[1:-1].decode("utf-8", "replace")).startswith(_CATEGORIES)
    return 0.9 if is_known or any(key in fields for key in _KEYS) else 0.0


_CATEGORIES = ("simple", "multiple", "parallel", "java", "irrelevance", "live_", "multi_turn_", "exec_", "rest", "sql", "chatable")


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Raise `BadInput`: results are predictions."""
    raise BadInput("expected a dataset, got results of the Berkeley leaderboard", "Pass them to --predictions.")


def read_prediction(row: bytes) -> Prediction:
    """Return the prediction in a row. A result that is neither calls nor text raises `BadInput`."""
    check_utf8(row)
    try:
        wire = _decode(row)
        result = parse(bytes(wire.result))
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    except NotStrict as problem:
        raise BadInput(f"result: {problem}") from None
    usage = Usage(_number(wire.latency), int(_number(wire.input_token_count)), int(_number(wire.output_token_count)))
    if isinstance(result, list) and any(isinstance(turn, list) for turn in result):
        return _turns(wire.id, result, usage)
    return _single(wire.id, result, usage)


def _single(name: str, result: Any, usage: Usage) -> Prediction:
    if isinstance(result, list):
        return Prediction(name, 0, tuple(_tool_call(item, "result") for item in result), usage=usage)
    if not isinstance(result, str):
        raise BadInput(f"result: expected calls or text, got {dump(result)[:60]}")
    if result.startswith(_ERROR):
        return Prediction(name, error=" ".join(result.split())[:500], usage=usage)
    if _JAVA.search(category_of(name)) and _CODE.match(result):
        return Prediction(
            name, error="Java and JavaScript calls in text are not supported; use the results of a function-calling (FC) model", usage=usage
        )
    return Prediction(name, 0, _text_calls(result), result, usage=usage)


def _turns(name: str, turns: list[Any], usage: Usage) -> Prediction:
    calls: list[Call] = []
    texts: list[str] = []
    for index, turn in enumerate(turns):
        for step in turn if isinstance(turn, list) else [turn]:
            if isinstance(step, str):
                calls += _text_calls(step)
                texts.append(step)
            elif isinstance(step, list):
                calls += (_tool_call(item, f"result[{index}]") for item in step)
            elif isinstance(step, dict):
                calls.append(_tool_call(step, f"result[{index}]"))
            else:
                raise BadInput(f"result[{index}]: expected the steps of a turn, got {dump(step)[:60]}")
    return Prediction(name, 0, tuple(calls), texts[-1] if texts else "", usage=usage)


def _tool_call(item: Any, where: str) -> Call:
    if not isinstance(item, dict) or len(item) != 1:
        raise BadInput(f"{where}: expected {{NAME: arguments}}, got {dump(item)[:60]}")
    [(name, arguments)] = item.items()
    return named_call(name, arguments, None)


def _text_calls(text: str) -> tuple[Call, ...]:
    try:
        decoded = decode_text(text)
    except NotCallsError:
        return ()
    return tuple(Call(name, plain_arguments(arguments)) for call in decoded for name, arguments in call.items())


def _number(value: Any) -> float:
    """Return a number, or the sum of the numbers in nested lists: counts of several turns are by turn and step."""
    if isinstance(value, list):
        return sum(map(_number, value))
    return float(value) if isinstance(value, int | float) else 0.0


FORMAT = Format("bfcl-results", "results of the Berkeley leaderboard", detect, read, read_prediction=read_prediction)
