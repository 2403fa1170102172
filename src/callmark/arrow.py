"""Grade columns: the grader for columnar engines (extra `parquet`).

`grade_batch` is a pure function of one batch: cases and predictions in, grades out. It can be sent to another process, and every engine
that maps a function over Arrow data can call it: Ray Data, Polars, Hugging Face datasets, Spark. The numbers are those of `callmark grade`.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import structs

from callmark.analysis.summary import Summary, Tally
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.compression import Compression
from callmark.formats.dataset import BadRow, Dataset
from callmark.formats.predictions import read_row
from callmark.formats.tables import load_pyarrow
from callmark.grading.grade_columns import Graded, Rejected, grade_schema, read_columns, write_columns
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Case, Conversation, Place, PlaceUnit, Prediction

__all__ = ["GradingSettings", "grade_batch", "read_grades", "schema", "summarize"]

_DEFAULT = GradingSettings()
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_WITHOUT_OUTPUT = frozenset({"trial", "repeat"})  # columns of a prediction that say nothing about what the model did


def grade_batch(
    batch: Any,
    prediction: Sequence[str],
    *,
    settings: GradingSettings = _DEFAULT,
    parse: str | None = None,
    format_name: str | None = None,
) -> Any:
    """Grade a batch of cases with their predictions, one row each.

    The columns named by `prediction` are read like a row of a predictions file (`tool_calls`, `text`, `completion`, `error`, `trial`, …),
    all others like a row of a file of cases. Decision points by reference have their conversation in the columns `conversation` (`id` and
    `messages`) and `tools`; where neighbors are equal, it is read once.

    A row that cannot be read keeps its place: `rejected` says why, and it has no metrics. A row whose prediction columns are all null has
    no prediction, which is an error and excluded from scores. Give every case an `id`: without one, it is named by its number in the batch.

    Args:
        batch: A `pyarrow.RecordBatch` or `pyarrow.Table`. It may be empty.
        prediction: Names of the columns that hold the prediction.
        settings: Evaluators, their options and match rules.
        parse: Text format of calls in raw text, such as `hermes`. By default it is detected.
        format_name: Format of the cases; by default that of the first row.

    Returns:
        The grades, as a batch or table with the schema `schema(settings)`: as many rows, in the same order.

    Raises:
        BadInput: A column is missing, an evaluator or format is not known, or pyarrow is not installed.
    """
    arrow = load_pyarrow("a batch is graded")
    columns = [prediction] if isinstance(prediction, str) else list(prediction)
    missing = [name for name in columns if name not in batch.schema.names]
    if missing or not columns:
        raise BadInput(
            f"prediction: expected names of columns, got {', '.join(missing) or 'none'}",
            f"The columns are: {', '.join(batch.schema.names)}",
        )
    grader, out = _grader(msgspec.json.encode(settings)), schema(settings)
    pieces = batch.to_batches() if isinstance(batch, arrow.Table) else [batch]
    graded = [write_columns(_grade(piece, columns, grader, parse, format_name), out) for piece in pieces if piece.num_rows]
    if isinstance(batch, arrow.Table):
        return arrow.Table.from_batches(graded, schema=out)
    return graded[0] if graded else arrow.RecordBatch.from_pylist([], schema=out)


def schema(settings: GradingSettings = _DEFAULT) -> Any:
    """Return the `pyarrow.Schema` of the grades: that of `grade_batch` with these settings."""
    return grade_schema(tuple(_grader(msgspec.json.encode(settings)).metrics))


def read_grades(batch: Any) -> list[GradeRecord]:
    """Return the grades in a batch or table of grades, without the rejected rows. Other columns, and other versions, raise `BadInput`."""
    return [grade for grade in read_columns(batch) if isinstance(grade, GradeRecord)]


def summarize(batches: Iterable[Any], *, settings: GradingSettings = _DEFAULT, details: bool = False) -> Summary:
    """Return the summary of batches or tables of grades, in order: the same as `callmark grade` gives. Rejected rows are not counted.

    `details` adds breakdowns, functions and arguments.
    """
    tally = Tally(_grader(msgspec.json.encode(settings)).metrics, detailed=details, process_ignore=settings.process_ignore(scenarios=False))
    for batch in batches:
        for grade in read_grades(batch):
            tally.add(grade)
    return tally.summary()


@lru_cache(maxsize=8)
def _grader(settings: bytes) -> Grader:
    """Return the grader of a process for these settings, which keeps what it has compiled. Its grades do not depend on earlier ones."""
    return Grader(msgspec.json.decode(settings, type=GradingSettings))


def _grade(batch: Any, prediction: Sequence[str], grader: Grader, parse: str | None, format_name: str | None) -> list[Graded]:
    """Return the grade of each row of a record batch that is not empty."""
    from callmark.formats.table_columns import read_batch

    given = read_batch(batch.select(list(prediction)), _NAME)
    cases = _read_cases(batch.select([name for name in batch.schema.names if name not in prediction]), format_name)
    return [_grade_row(case, row, grader, parse) for case, row in zip(cases, given, strict=True)]


def _grade_row(case: Case | Rejected, row: bytes, grader: Grader, parse: str | None) -> Graded:
    if isinstance(case, Rejected):
        return case
    try:
        found = _read_prediction(case, row, parse)
    except BadInput as error:
        return Rejected(f"prediction: {scrub(str(error))}")
    return grader.record(case, found)[0]


def _read_prediction(case: Case, row: bytes, parse: str | None) -> list[Prediction]:
    """Return the prediction in a row; none if all its cells are null."""
    if all(bytes(value) == b"null" for key, value in _decode_fields(row).items() if key not in _WITHOUT_OUTPUT):
        return []
    prediction = read_row(row, whole=case.is_scenario).parsed(parse, case.tools)
    return [structs.replace(prediction, case=case.id)]


def _read_cases(batch: Any, format_name: str | None) -> list[Case | Rejected]:
    """Return the case in each row, or why there is none."""
    found: dict[int, Case | Rejected] = {}

    def reject(bad: BadRow) -> None:
        found[bad.place.number] = Rejected(bad.reason)

    rows = _BatchRows(batch)
    try:
        dataset = Dataset(_NAME, format_name=format_name, on_bad=reject, cases=True, rows=rows)
        for row in dataset:
            found[rows.number] = _as_case(row)
    except BadInput:
        if len(found) < batch.num_rows:
            raise
    return [found[number] for number in range(1, batch.num_rows + 1)]


def _as_case(row: Conversation) -> Case | Rejected:
    return row if isinstance(row, Case) else Rejected("expected a case, got a conversation without expected calls")


_NAME = "the batch"
_PIECE = 256  # rows that are converted at a time
_DEFINITIONS = ("conversation", "tools")  # columns of decision points by reference


class _BatchRows:
    """The rows of a record batch, as `(number, JSON)`. Before a decision point by reference comes its conversation, if it is another one.

    `number` is that of the row that was read last.
    """

    name = _NAME
    unit: PlaceUnit = "row"
    size = 0
    position = 0
    rereadable = True
    compression: Compression | None = None

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._by_reference = {"conversation", "source", "expected_output"} <= set(
            batch.schema.names
        ) and "messages" not in batch.schema.names
        self.number = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        from callmark.formats.table_columns import read_batch

        for start in range(0, self._batch.num_rows, _PIECE):
            piece = self._batch.slice(start, _PIECE)
            rows = self._records(piece) if self._by_reference else ((row,) for row in read_batch(piece, _NAME))
            for number, several in enumerate(rows, start + 1):
                self.number = number
                yield from ((number, row) for row in several)

    def _records(self, piece: Any) -> Iterator[tuple[bytes, ...]]:
        """Yield each decision point by reference, after its conversation if that is another one than before."""
        from callmark.formats.table_columns import read_batch

        defining = [name for name in _DEFINITIONS if name in piece.schema.names]
        records = read_batch(piece.select([name for name in piece.schema.names if name not in defining]), _NAME)
        last = b""
        for definition, record in zip(read_batch(piece.select(defining), _NAME), records, strict=True):
            yield (record,) if definition == last else (*_definitions(definition), record)
            last = definition

    def place(self, number: int) -> Place:
        return Place("", number, "row")

    def close(self) -> None:
        """Do nothing; there is no file to close."""


def _definitions(row: bytes) -> tuple[bytes, ...]:
    """Return the rows that define a conversation and its tools (`formats/by_reference.py`); none if there is no conversation."""
    try:
        fields = _decode_fields(row)
        conversation = _decode_fields(fields["conversation"])
    except (ValueError, KeyError, RecursionError):  # reading the record says that it is missing
        return ()
    tools = bytes(fields.get("tools", b"[]"))
    name = msgspec.json.encode(f"tools-{_digest(tools)}")
    text = msgspec.json.encode({**conversation, "tools_ref": msgspec.Raw(name)})
    return b'{"tools":{"id":%b,"tools":%b}}' % (name, tools), b'{"conversation":%b}' % text


def _digest(text: bytes) -> str:
    import xxhash

    return xxhash.xxh3_64_hexdigest(text)
