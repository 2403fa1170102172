"""callmark's own lines of predictions, encoded and decoded the fast way: for `predictions.jsonl`, and to hold many predictions in memory."""

import msgspec

from callmark.formats.predictions import read_prediction, write_prediction
from callmark.types import Prediction

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Prediction).decode


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
