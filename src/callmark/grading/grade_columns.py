"""Grades as typed Arrow columns, and columns as grades (extra `parquet`).

One row for each grade, in order. A text that a grade does not have is null, and so is a metric that does not apply. Metrics that the schema
has no column for, because their evaluator declares none, are in `other_metrics`. Values in faults are JSON. Everything in a `GradeRecord`
is in its row, so that reading the row back gives an equal record. `rejected` is for rows that could not be read: it says why, and all other
columns are null. The schema has a version in its metadata; columns of another version raise `BadInput`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from msgspec import Struct

from callmark.calls.strict import NotStrict, dump, parse, scrub
from callmark.errors import BadInput
from callmark.formats.tables import load_pyarrow
from callmark.grading.record import GradeRecord
from callmark.types import Fault, Metrics, Note, Usage

VERSION = 1
_VERSION_KEY = b"callmark.grades"
_WHAT = "columns of grades are made"


class Rejected(Struct, frozen=True):
    """A row that could not be read, in the place of its grade: the reason."""

    reason: str


Graded = GradeRecord | Rejected


def grade_schema(metrics: Sequence[str]) -> Any:
    """Return the `pyarrow.Schema` of grades with a column for each of these metrics."""
    arrow = load_pyarrow(_WHAT)
    text, integer, number = arrow.string(), arrow.int64(), arrow.float64()

    usage = {"seconds": number, "input_tokens": integer, "output_tokens": integer, "cost": number, "attempts": integer}

    def structs(**fields: Any) -> Any:
        return arrow.list_(arrow.struct(list(fields.items())))

    columns = [
        ("case", text),
        ("trial", integer),
        ("error", text),
        ("rejected", text),
        *((metric, number) for metric in metrics),
        ("expected", arrow.list_(text)),
        ("actual", arrow.list_(text)),
        ("pairs", structs(expected=integer, actual=integer, agrees=arrow.bool_())),
        (
            "faults",
            structs(
                kind=text, expected_index=integer, actual_index=integer, argument=text, expected=text, actual=text,
                evaluators=arrow.list_(text), origin=text, origin_message=integer,
            ),
        ),
        ("notes", structs(kind=text, sentence=text, actual_index=integer, argument=text, message=integer)),
        ("alternative", integer),
        ("conversation", text),
        ("message", integer),
        ("scenario_type", text),
        ("group", text),
        ("file", text),
        ("usage", arrow.struct(list(usage.items()))),
        ("prompt_characters", integer),
        ("ending", text),
        ("turns", integer),
        ("misses", integer),
        ("other_metrics", structs(metric=text, value=number)),
        ("reasons", structs(metric=text, reason=text)),
        ("pooled", structs(metric=text, numerator=number, denominator=number)),
        ("categories", structs(evaluator=text, expected=text, actual=text)),
        ("evaluator_errors", structs(evaluator=text, error=text)),
    ]  # fmt: skip
    return arrow.schema(columns, metadata={_VERSION_KEY: str(VERSION).encode()})


def write_columns(grades: Sequence[Graded], schema: Any) -> Any:
    """Return a `pyarrow.RecordBatch` of grades. The schema is one that `grade_schema` returned."""
    try:
        return _Columns(schema).batch(grades)
    except UnicodeEncodeError:  # a lone surrogate, in a case or an evaluator written in Python
        return _Columns(schema, scrub).batch(grades)


def read_columns(batch: Any) -> list[Graded]:
    """Return the grades in a record batch or table. Columns that are not grades, or of another version, raise `BadInput`."""
    version = (batch.schema.metadata or {}).get(_VERSION_KEY)
    names = batch.schema.names
    if version is None and "evaluator_errors" in names:  # an engine that drops metadata
        version = str(VERSION).encode()
    if version is None:
        raise BadInput(
            "expected columns of grades, as callmark.arrow.grade_batch returns them", f"The columns are: {', '.join(names)[:200]}"
        )
    if version != str(VERSION).encode():
        raise BadInput(
            f"columns of grades: unknown version {version.decode(errors='replace')[:20]!r}, expected {VERSION}",
            "They were written by another version of callmark. Grade again.",
        )
    metrics = metric_columns(names)
    return [_graded(row, metrics) for row in batch.to_pylist()]


def metric_columns(names: Sequence[str]) -> list[str]:
    """Return the names of the columns that are metrics."""
    fixed = _fixed_columns()
    return [name for name in names if name not in fixed]


@cache
def _fixed_columns() -> frozenset[str]:
    return frozenset(grade_schema(()).names)


class _Columns:
    """Builds one record batch. `clean` is applied to each text."""

    def __init__(self, schema: Any, clean: Callable[[str], str] = str) -> None:
        self._arrow = load_pyarrow(_WHAT)
        self._schema = schema
        self._clean = None if clean is str else clean

    def batch(self, rows: Sequence[Graded]) -> Any:
        schema, arrow = self._schema, self._arrow
        grades = [row if isinstance(row, GradeRecord) else _NO_GRADE for row in rows]
        missing = [not isinstance(row, GradeRecord) for row in rows]
        is_graded = None if True not in missing else missing
        metrics = metric_columns(schema.names)
        known = frozenset(metrics)
        columns: dict[str, Any] = {name: self._array([each.metrics.get(name) for each in grades], arrow.float64()) for name in metrics}
        for name in ("error", "scenario_type", "file", "ending"):
            columns[name] = self._texts([getattr(each, name) or None for each in grades])
        for name in ("conversation", "group"):
            columns[name] = self._texts([getattr(each, name) for each in grades])
        for name in ("trial", "alternative", "misses"):
            columns[name] = self._array([None if each is _NO_GRADE else getattr(each, name) for each in grades], arrow.int64())
        for name in ("message", "prompt_characters", "turns"):
            columns[name] = self._array([getattr(each, name) for each in grades], arrow.int64())
        columns["case"] = self._texts([each.case or None for each in grades])
        columns["rejected"] = self._texts([row.reason if isinstance(row, Rejected) else None for row in rows])
        for name in ("expected", "actual"):
            columns[name] = self._lists([getattr(each, name) for each in grades], self._texts, is_graded)
        columns["pairs"] = self._structs([each.pairs for each in grades], "pairs", is_graded)
        columns["faults"] = self._structs([[_fault_cells(fault) for fault in each.faults] for each in grades], "faults", is_graded)
        columns["notes"] = self._structs([[_note_cells(note) for note in each.notes] for each in grades], "notes", is_graded)
        columns["usage"] = self._usage([each.usage for each in grades])
        columns["other_metrics"] = self._structs(
            [[item for item in each.metrics.items() if item[0] not in known] for each in grades],
            "other_metrics",
            is_graded,
        )
        columns["reasons"] = self._structs([list(each.reasons.items()) for each in grades], "reasons", is_graded)
        for name in ("pooled", "categories"):
            columns[name] = self._structs([[(key, *pair) for key, pair in getattr(each, name).items()] for each in grades], name, is_graded)
        columns["evaluator_errors"] = self._structs([list(each.evaluator_errors.items()) for each in grades], "evaluator_errors", is_graded)
        return arrow.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    def _array(self, values: Sequence[Any], kind: Any) -> Any:
        return self._arrow.array(values, kind)

    def _texts(self, values: Sequence[str | None]) -> Any:
        if self._clean is not None:
            values = [None if value is None else self._clean(value) for value in values]
        return self._arrow.array(values, self._arrow.string())

    def _lists(self, rows: Sequence[Sequence[Any]], build: Callable[[list[Any]], Any], missing: Sequence[bool] | None) -> Any:
        """Return a column of lists, whose items `build` makes an array of."""
        arrow = self._arrow
        offsets = arrow.array(list(accumulate(map(len, rows), initial=0)), arrow.int32())
        mask = None if missing is None else arrow.array(missing, arrow.bool_())
        return arrow.ListArray.from_arrays(offsets, build([item for row in rows for item in row]), mask=mask)

    def _structs(self, rows: Sequence[Sequence[Sequence[Any]]], column: str, missing: Sequence[bool] | None) -> Any:
        """Return a column of lists of structs, given as the values of their fields."""
        return self._lists(rows, lambda items: self._struct_items(items, self._schema.field(column).type.value_type), missing)

    def _struct_items(self, items: Sequence[Sequence[Any]], kind: Any) -> Any:
        arrow = self._arrow
        fields = [kind.field(index) for index in range(kind.num_fields)]
        cells: Iterable[Sequence[Any]] = zip(*items, strict=True) if items else [()] * len(fields)
        arrays = []
        for field, values in zip(fields, cells, strict=True):
            if arrow.types.is_list(field.type):
                arrays.append(self._lists(values, self._texts, None))
            else:
                arrays.append(self._texts(values) if arrow.types.is_string(field.type) else self._array(values, field.type))
        return arrow.StructArray.from_arrays(arrays, fields=fields)

    def _usage(self, values: Sequence[Usage | None]) -> Any:
        kind = self._schema.field("usage").type
        return self._array([None if value is None else {name: getattr(value, name) for name in _USAGE} for value in values], kind)


_NO_GRADE = GradeRecord("")
_USAGE = Usage.__struct_fields__


def _fault_cells(fault: Fault) -> tuple[Any, ...]:
    return (
        fault.kind, fault.expected_index, fault.actual_index, fault.argument, _json(fault.expected), _json(fault.actual),
        fault.evaluators, fault.origin, fault.origin_message,
    )  # fmt: skip


def _note_cells(note: Note) -> tuple[Any, ...]:
    return note.kind, note.sentence, note.actual_index, note.argument, note.message


def _json(value: Any) -> str | None:
    return None if value is None else dump(value)


def _value(text: str | None) -> Any:
    """Return the value of a JSON text; the text itself for what JSON could not represent."""
    try:
        return None if text is None else parse(text)
    except NotStrict:
        return text


def _graded(row: dict[str, Any], metric_names: Sequence[str]) -> Graded:
    if row["rejected"] is not None:
        return Rejected(row["rejected"])
    metrics: Metrics = {name: row[name] for name in metric_names if row[name] is not None}
    metrics.update((each["metric"], each["value"]) for each in row["other_metrics"] or ())
    return GradeRecord(
        row["case"] or "",
        row["trial"],
        row["error"] or "",
        metrics,
        tuple(row["expected"] or ()),
        tuple(row["actual"] or ()),
        tuple((each["expected"], each["actual"], each["agrees"]) for each in row["pairs"] or ()),
        tuple(map(_fault, row["faults"] or ())),
        tuple(Note(**each) for each in row["notes"] or ()),
        row["alternative"],
        row["conversation"],
        row["message"],
        row["scenario_type"] or "",
        row["group"],
        None if row["usage"] is None else Usage(**row["usage"]),
        row["prompt_characters"],
        row["ending"] or "",
        row["turns"],
        row["misses"],
        {each["metric"]: each["reason"] for each in row["reasons"] or ()},
        {each["metric"]: (each["numerator"], each["denominator"]) for each in row["pooled"] or ()},
        {each["evaluator"]: (each["expected"], each["actual"]) for each in row["categories"] or ()},
        {each["evaluator"]: each["error"] for each in row["evaluator_errors"] or ()},
        row["file"] or "",
    )


def _fault(cells: dict[str, Any]) -> Fault:
    values = {"expected": _value(cells["expected"]), "actual": _value(cells["actual"]), "evaluators": tuple(cells["evaluators"] or ())}
    return Fault(**{**cells, **values})
