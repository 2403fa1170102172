"""callmark's own lines of predictions: for `predictions.jsonl`, and to hold many predictions in memory."""

from typing import Any

import msgspec
from msgspec import Raw, to_builtins

from callmark.calls.messages import message_text
from callmark.calls.shapes import named_call
from callmark.calls.strict import dump, scrub
from callmark.formats.predictions import read_prediction
from callmark.types import Call, Prediction

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Prediction).decode


def write_prediction(prediction: Prediction) -> bytes:
    """Return callmark's own line, without its end. A malformed call is written with its reason and its text, lone surrogates as text.

    A call made in Python that could not have been read, such as one with a NaN in it, is written as the malformed call that it is.
    """
    line: dict[str, Any] = {
        "case": scrub(prediction.case),
        "trial": prediction.trial,
        "calls": [_call_fields(call) for call in prediction.calls],
    }
    for key in ("text", "thinking", "error", "finish_reason", "ending"):
        if text := getattr(prediction, key):
            line[key] = scrub(text)
    for key in ("usage", "states", "reward", "misses"):
        if (value := getattr(prediction, key)) not in (None, 0) or (key == "reward" and value is not None):
            line[key] = to_builtins(value)
    if prediction.transcript:
        line["transcript"] = [Raw(message_text(message)) for message in prediction.transcript]
        return _encode({key: value if key == "transcript" else Raw(dump(value).encode()) for key, value in line.items()})
    return dump(line).encode()


def encode_prediction(prediction: Prediction) -> bytes:
    """Return the line that `write_prediction` returns, without its end, only sooner where it can."""
    # An empty list of calls must be written out, or the text would be parsed for calls; a transcript is written in OpenAI's form.
    if not prediction.calls or prediction.transcript:
        return write_prediction(prediction)
    try:
        return _encode(prediction)
    except (OverflowError, ValueError, RecursionError):  # a number that only Python's own JSON writes
        return write_prediction(prediction)


def decode_prediction(line: bytes) -> Prediction:
    """Return the prediction of a line that `encode_prediction` made."""
    return read_prediction(line).prediction if b'"transcript"' in line else _decode(line)


def _call_fields(call: Call) -> dict[str, Any]:
    checked = call if call.malformed else named_call(call.name, call.arguments, call.id)
    fields: dict[str, Any] = {"name": scrub(checked.name)}
    if checked.id is not None:
        fields["id"] = scrub(checked.id)
    if checked.malformed:
        return {**fields, "malformed": scrub(checked.malformed), "text": scrub(checked.text)}
    return {**fields, "arguments": checked.arguments}
