"""A file of predictions, sorted by case: by id where its rows have one, in order where they have none.

Several predictions of one case are its trials, where they say so; else the first counts, or the first that is no error, and the others
are counted as repeated. A file in which some rows say their case and others do not raises `BadInput`.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from callmark.errors import BadInput
from callmark.formats.predictions import Answer, Predictions, read_prediction, write_prediction
from callmark.runs.store import PredictionsInfo
from callmark.types import Place, Prediction

_MARKS = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=")  # of calls in raw text
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Prediction).decode


class Answers(Struct):
    """Lines of predictions by case, in the order of their trials; and what the file came to."""

    by_case: dict[str, list[bytes]]
    in_order: bool
    info: PredictionsInfo

    def unused(self, cases: Iterable[str]) -> None:
        """Count the predictions that are for none of these cases, given by id or, in order, by place."""
        left = set(self.by_case).difference(cases)
        self.info.unused = sum(len(self.by_case[case]) for case in left)
        self.info.first_unused = next((case for case in self.by_case if case in left), "")


def packed(prediction: Prediction) -> bytes:
    """The line of a prediction that was read: what `write_prediction` makes of it, only sooner."""
    # that there are no calls must stand there, or its text would be taken for an answer to be parsed; a transcript is in OpenAI's form
    if not prediction.calls or prediction.transcript:
        return write_prediction(prediction)
    try:
        return _encode(prediction)
    except (OverflowError, ValueError, RecursionError):  # a number that only Python's own JSON writes
        return write_prediction(prediction)


def unpacked(line: bytes) -> Prediction:
    """The prediction of such a line."""
    return read_prediction(line).prediction if b'"transcript"' in line else _decode(line)


def _rows(files: Iterable[Predictions]) -> Iterator[tuple[Predictions, Place, Answer]]:
    for file in files:
        for place, row in file:
            yield file, place, row


def answers(*files: Predictions) -> Answers:
    """The predictions of a file, by case. In order, rows that cannot be read are counted too. Places without gaps from 1 on are taken to be
    counted from 1. Of several files (what a batch gave, and what failed in it) every row has to say its case.
    """
    by_case: dict[str, list[bytes]] = {}
    trials: dict[str, dict[int, tuple[bool, bytes]]] = {}  # of the cases that have several: whether each is an error, and its line
    placed = True  # every row says the place of its case
    info = PredictionsInfo(name=" and ".join(file.name for file in files))
    in_order: bool | None = None
    for file, place, row in _rows(files):
        said = row.case is not None
        if in_order is None:
            in_order = not said
        elif in_order is said:
            which = "says which case it is for, those before it do not" if said else "does not say which case it is for, those before it do"
            raise BadInput(f"{place}: the row {which}", "Either every row has the id of its case, or none: then they are taken in order.")
        if in_order and len(files) > 1:
            raise BadInput(f"{place}: the row does not say which case it is for", "In order, predictions can come from one file only.")
        key = row.case if row.case is not None else str(file.good_rows + file.bad_rows - 1 if row.position is None else row.position)
        placed = placed and row.position is not None
        prediction = row.prediction
        info.rows += 1
        if row.parsed:
            info.parsed += 1
        elif not prediction.calls and any(mark in prediction.text for mark in _MARKS):
            info.unparsed += 1
        line = packed(prediction)
        if key not in by_case:
            by_case[key] = [line]
        else:
            others = trials.setdefault(key, {})
            if not others:
                first = unpacked(by_case[key][0])
                others[first.trial] = (bool(first.error), by_case[key][0])
            known = others.get(prediction.trial)
            info.repeated += known is not None
            if known is None or (known[0] and not prediction.error):
                others[prediction.trial] = (bool(prediction.error), line)
    for key, others in trials.items():
        by_case[key] = [line for _, (_, line) in sorted(others.items())]
    if placed and by_case and {str(place) for place in range(1, len(by_case) + 1)} == by_case.keys():  # someone counted from 1
        by_case = {str(int(key) - 1): lines for key, lines in by_case.items()}
    return Answers(by_case, bool(in_order), info)
