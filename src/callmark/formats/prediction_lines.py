"""callmark's own prediction lines, for `predictions.jsonl` and to hold many predictions in memory."""

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
    """Return the JSON line of a prediction, without a line break. Malformed calls keep their reason and text; surrogates are escaped.

    A call built in Python that JSON cannot represent, such as one with a NaN, is written as a malformed call.
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
    """Return the same line as `write_prediction`, using a faster encoder where possible."""
    # An empty list of calls must be explicit, or the text would be parsed for calls; a transcript is written in the OpenAI format.
    if not prediction.calls or prediction.transcript:
        return write_prediction(prediction)
    try:
        return _encode(prediction)
    except (OverflowError, ValueError, RecursionError):  # a number that only the standard library's json can write
        return write_prediction(prediction)


def decode_prediction(line: bytes) -> Prediction:
    """Return the prediction in a line written by `encode_prediction`."""
    return read_prediction(line).prediction if b'"transcript"' in line else _decode(line)


def _call_fields(call: Call) -> dict[str, Any]:
    checked = call if call.malformed else named_call(call.name, call.arguments, call.id)
    fields: dict[str, Any] = {"name": scrub(checked.name)}
    if checked.id is not None:
        fields["id"] = scrub(checked.id)
    if checked.malformed:
        return {**fields, "malformed": scrub(checked.malformed), "text": scrub(checked.text)}
    return {**fields, "arguments": checked.arguments}
