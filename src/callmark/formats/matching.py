"""Match predictions to cases: by case id, or by order if no row of the file has an id, or if that is requested.

Grading, replay and synthesis share this module. A text is parsed for calls when it is matched, with the tools of its case. Several
predictions for one case are its trials, if they have trial numbers. For duplicate predictions of one trial, the first one counts, or the
first that is not an error; the others are counted as repeated. A file in which only some rows have a case id raises `BadInput`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct, field, structs

from callmark.errors import BadInput
from callmark.formats.prediction_lines import decode_prediction, encode_prediction
from callmark.formats.prediction_text import TextKind, unrecognized_marker
from callmark.formats.predictions import PredictionRow
from callmark.types import Case, Place, Prediction

_MAX_DECODED = 20_000  # predictions; more are held as JSON lines, which take a quarter of the memory

DecodedOrLine = Prediction | bytes  # a prediction, or its JSON line


class TextPrediction(Struct, frozen=True, gc=False):
    """A prediction whose text is not parsed for calls yet."""

    stored: DecodedOrLine
    text: TextKind
    repaired: bool = False


StoredPrediction = DecodedOrLine | TextPrediction


class TextCounts(Struct, frozen=True, omit_defaults=True):
    """Counts of texts that were parsed for calls: raw texts, and those of responses if a text format was given.

    Attributes:
        parsed: Number of texts.
        with_calls: Number of these that contain a call, malformed ones included.
        unrecognized: For texts in an unrecognized format, their number by the marker that they contain. Includes those of responses.
    """

    parsed: int = 0
    with_calls: int = 0
    unrecognized: dict[str, int] = {}

    def __add__(self, other: "TextCounts") -> "TextCounts":
        markers = Counter(self.unrecognized) + Counter(other.unrecognized)
        return TextCounts(self.parsed + other.parsed, self.with_calls + other.with_calls, dict(markers))


_NO_TEXTS = TextCounts()


class PredictionsInfo(Struct, omit_defaults=True):
    """Counts of a predictions file.

    `unmatched` predictions have no case, and `repeated` ones are duplicates of a trial. `texts` are counts of the texts that were parsed,
    in the format `parse`. Predictions without case ids are matched `in_order`.
    """

    name: str = ""
    rows: int = 0
    unmatched: int = 0
    repeated: int = 0
    first_unmatched: str = ""
    parse: str | None = None
    texts: TextCounts = _NO_TEXTS
    in_order: bool = False


class MatchedPredictions(Struct):
    """Predictions by case, ordered by trial, and the counts of their file.

    The key of a case is its id, or its index if predictions are matched `in_order`.
    """

    by_case: dict[str, list[StoredPrediction]] = {}
    in_order: bool = False
    info: PredictionsInfo = field(default_factory=PredictionsInfo)

    def key(self, case: str, index: int) -> str:
        """Return the key of a case in `by_case`."""
        return str(index) if self.in_order else case

    def of_case(self, case: Case, index: int) -> list[Prediction]:
        """Return the predictions of a case at this index; an empty list if there are none. Each carries the id of the case.

        Texts are parsed with the tools of the case.
        """
        found = [self._parsed(item, case) for item in self.by_case.get(self.key(case.id, index), ())]
        return [structs.replace(prediction, case=case.id) for prediction in found] if self.in_order else found

    def lines_of_case(self, case: Case, index: int, predictions: Iterable[Prediction]) -> list[bytes]:
        """Return the JSON lines of the predictions that `of_case` returned, reusing stored lines."""
        stored = self.by_case.get(self.key(case.id, index), ())
        return [
            item if isinstance(item, bytes) and not self.in_order else encode_prediction(prediction)
            for item, prediction in zip(stored, predictions, strict=True)
        ]

    def count_texts(self, case: Case, index: int, predictions: Iterable[Prediction]) -> TextCounts | None:
        """Count the texts among the predictions that `of_case` returned; None if there are none."""
        stored = self.by_case.get(self.key(case.id, index), ())
        if TextPrediction not in [item.__class__ for item in stored]:  # almost always
            return None
        texts = [(item, found) for item, found in zip(stored, predictions, strict=True) if isinstance(item, TextPrediction)]
        raw = [found for item, found in texts if item.text == "raw" or self.info.parse is not None]
        markers = Counter(marker for _, found in texts if (marker := unrecognized_marker(found)))
        return TextCounts(len(raw), sum([bool(found.calls) for found in raw]), dict(markers))

    def find(self, case: Case, trial: int) -> Prediction | None:
        """Return the prediction of a case in one trial; None if there is none."""
        return next((prediction for prediction in self.of_case(case, case.index) if prediction.trial == trial), None)

    def count_unmatched(self, keys: Iterable[str]) -> None:
        """Count the predictions that match none of the cases with these keys."""
        unmatched = set(self.by_case).difference(keys)
        self.info.unmatched = sum(len(self.by_case[key]) for key in unmatched)
        self.info.first_unmatched = next((key for key in self.by_case if key in unmatched), "")

    def _parsed(self, item: StoredPrediction, case: Case) -> Prediction:
        if not isinstance(item, TextPrediction):
            return _decoded(item)
        return PredictionRow(_decoded(item.stored), text=item.text, repaired=item.repaired).parsed(self.info.parse, case.tools)


def supersedes(*, error: bool, earlier_error: bool) -> bool:
    """Return whether a later prediction of the same trial replaces the earlier one: only a result replaces an error."""
    return earlier_error and not error


class PredictionSource(Protocol):
    """Rows of predictions with their places, and the counts of good and bad rows so far; `parse` is the text format of their texts."""

    name: str
    parse: str | None
    good_rows: int
    bad_rows: int

    def __iter__(self) -> Iterator[tuple[Place, PredictionRow]]: ...


def match_predictions(*files: PredictionSource, in_order: bool | None = None) -> MatchedPredictions:
    """Return the predictions of the files, by case. `in_order` matches them by order, whatever ids they have; None decides by the ids.

    Matching in order counts rows that cannot be read. Several trials of a case cannot be matched in order. Positions that run from 1
    without gaps are treated as 1-based. With several files (such as the output and error files of a batch), every row needs a case id.
    """
    by_case: dict[str, list[StoredPrediction]] = {}
    trials: dict[
        str, dict[int, tuple[bool, StoredPrediction]]
    ] = {}  # for cases with several predictions: whether each is an error, and the prediction
    all_positions = True  # whether every row has the position of its case
    info = PredictionsInfo(name=" and ".join(file.name for file in files), parse=next((file.parse for file in files), None))
    ignores_ids = bool(in_order)
    for file, place, row in _rows(files):
        if ignores_ids:
            row = PredictionRow(row.prediction, None, None, row.text, row.repaired)
        has_case = row.case is not None
        if in_order is None:
            in_order = not has_case
        elif in_order is has_case:
            raise _mixed_rows(place, has_case=has_case)
        if in_order and len(files) > 1:
            raise BadInput(
                f"{place}: the row has no case ID", "Predictions without case IDs are matched in order, which works for one file only."
            )
        key = row.case if row.case is not None else str(file.good_rows + file.bad_rows - 1 if row.position is None else row.position)
        all_positions = all_positions and row.position is not None
        prediction = row.prediction
        info.rows += 1
        item: DecodedOrLine = prediction if info.rows <= _MAX_DECODED else encode_prediction(prediction)
        stored: StoredPrediction = item if row.text == "read" else TextPrediction(item, row.text, row.repaired)
        if key not in by_case:
            by_case[key] = [stored]
            continue
        if key not in trials:
            first = _decoded(_unparsed(by_case[key][0]))
            trials[key] = {first.trial: (bool(first.error), by_case[key][0])}
        earlier = trials[key].get(prediction.trial)
        info.repeated += earlier is not None
        if earlier is None or supersedes(error=bool(prediction.error), earlier_error=earlier[0]):
            trials[key][prediction.trial] = (bool(prediction.error), stored)
    for key, by_trial in trials.items():
        by_case[key] = [stored for _, (_, stored) in sorted(by_trial.items())]
    if all_positions and by_case and {str(position) for position in range(1, len(by_case) + 1)} == by_case.keys():  # 1-based
        by_case = {str(int(key) - 1): predictions for key, predictions in by_case.items()}
    info.in_order = bool(in_order)
    return MatchedPredictions(by_case, info.in_order, info)


def _rows(files: Iterable[PredictionSource]) -> Iterator[tuple[PredictionSource, Place, PredictionRow]]:
    for file in files:
        for place, row in file:
            yield file, place, row


def _mixed_rows(place: Place, *, has_case: bool) -> BadInput:
    which = "has a case ID, but earlier rows do not" if has_case else "has no case ID, but earlier rows do"
    return BadInput(f"{place}: the row {which}", "Add a case ID to every row, or remove it from every row to match predictions in order.")


def _unparsed(item: StoredPrediction) -> DecodedOrLine:
    return item.stored if isinstance(item, TextPrediction) else item


def _decoded(item: DecodedOrLine) -> Prediction:
    return item if isinstance(item, Prediction) else decode_prediction(item)
