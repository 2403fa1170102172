"""The calls of a run's predictions, by case and trial, read along with the grades: `predictions.jsonl` is never held in memory.

If a trial has several predictions, `formats.matching.supersedes` decides which one counts, as everywhere else.
"""

from collections.abc import Generator
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import Struct

from callmark.errors import BadInput
from callmark.formats.matching import supersedes
from callmark.formats.predictions import read_prediction
from callmark.runs.store import PREDICTIONS, RunFolder
from callmark.types import Call, Prediction


class PredictedCalls(Struct, gc=False):
    """The part of a prediction that the table needs. The transcript, which may be long, is not decoded."""

    case: str
    calls: tuple[Call, ...]
    trial: int = 0
    error: str = ""


class CallsAt(NamedTuple):
    """The calls of a prediction and the offset of its line; -1 and no calls if there is no such prediction."""

    offset: int
    calls: tuple[Call, ...]


_NOT_FOUND = CallsAt(-1, ())
_decode = msgspec.json.Decoder(PredictedCalls).decode


class PredictedCallsReader:
    """Finds the calls of predictions of a run, whose file is read only as far as needed.

    Predictions that come before the requested one are held until they are requested. A missing file has no predictions, and so has anything
    but a regular file.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._lines = _read_lines(folder)
        self._held: dict[tuple[str, int], CallsAt] = {}

    def find(self, case: str, trial: int) -> CallsAt:
        """Return the calls of a case in one trial that was graded without an error, and release them."""
        key = (case, trial)
        while key not in self._held:
            found = next(self._lines, None)
            if found is None:
                return _NOT_FOUND
            offset, predicted = found
            if not predicted.error:
                self._held.setdefault((predicted.case, predicted.trial), CallsAt(offset, predicted.calls))
        return self._held.pop(key)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


def read_predicted_calls(line: bytes) -> PredictedCalls | None:
    """Return the case, trial and calls of a line of predictions; None if it cannot be read or does not name its case."""
    if b'"calls":' in line:
        try:
            return _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # another shape, or a value that only the slower reader accepts
    try:
        row = read_prediction(line, whole=True)
    except BadInput:
        return None
    prediction = row.prediction
    return None if row.case is None else PredictedCalls(row.case, prediction.calls, prediction.trial, prediction.error)


def read_prediction_at(folder: RunFolder, offset: int) -> Prediction | None:
    """Return the prediction whose line starts at an offset; None if it cannot be read."""
    with suppress(OSError, BadInput), folder.open(PREDICTIONS) as lines:
        lines.seek(offset)
        return read_prediction(lines.readline(), whole=True).prediction
    return None


def superseded_errors(folder: RunFolder) -> set[tuple[str, int]]:
    """Return the cases and trials of a run that have a result, so that an earlier error no longer counts. Incomplete lines are skipped."""
    with suppress(OSError, BadInput), folder.open(PREDICTIONS) as lines:
        found = (read_predicted_calls(line) for line in lines if line.endswith(b"\n"))
        return {
            (predicted.case, predicted.trial)
            for predicted in found
            if predicted is not None and supersedes(error=bool(predicted.error), earlier_error=True)
        }
    return set()


def _read_lines(folder: RunFolder) -> Generator[tuple[int, PredictedCalls], None, None]:
    offset = 0
    with suppress(OSError, BadInput), folder.open(PREDICTIONS) as lines:
        for line in lines:
            predicted = read_predicted_calls(line)
            if predicted is not None:
                yield offset, predicted
            offset += len(line)
