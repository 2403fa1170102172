"""Evaluator `state`: did the conversation change what the expected calls change, and nothing else?

    state.reached     1 when every changed row is correct and none is missing, else 0
    state.precision   changed rows that are correct / rows that were changed
    state.recall      changed rows that are correct / rows that should have been changed

An existing row is identified by its key; a deleted row has changed too. A new row is identified by its values, because its key is made up
by whoever stores it: new rows of a table are paired as calls of a function are, and a value that names a new row has to name the partner of
the expected one. Only a key without a digit (`alice`) is a name that has to be the same. Values agree by `similar`; expected values may be
matchers.

Nothing changed and nothing expected: all 1. Nothing correct otherwise: all 0. Not applicable without states, where the result of the
expected calls is unknown, or where rows nest deeper than anything that is compared.
"""

import re
from collections.abc import Mapping, Set
from typing import Any, ClassVar

from msgspec import Struct

from callmark.calls.matchers import has_matcher, recorded_value
from callmark.calls.pairing import ArgumentComparison, compare_arguments, pair_calls
from callmark.calls.strict import DEEPEST, dump, is_deeper_than
from callmark.calls.values import exact
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.types import Call, EndStates, Note

RowKey = tuple[str, str]  # a table and a key in it
Row = dict[str, Any]
Changes = dict[str, dict[str, Row | None]]

_SHOWN = 120  # characters of a row or a value in a note
_MOST_NOTES = 50  # differences of one conversation
_DEEPEST = DEEPEST + 2  # a state has tables and rows around the values
_WORD = re.compile(r"[\w-]+")
_ID = re.compile(r"(?:.*_)?ids?$|.*I[dD]s?$")  # columns in which a bare number may be a key
_NAMES = ("reached", "precision", "recall")
_ID_ENDING = re.compile(r"_?[iI][dD]s?$")


class StateEvaluator(Struct, frozen=True):
    """Precision and recall of changed rows; a note for each difference, or one that says why the expected state is unknown."""

    name: ClassVar[str] = "state"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("reached", "end state reached", kind="rate", headline=True),
        Metric("precision", "state precision"),
        Metric("recall", "state recall"),
    )

    def evaluate(self, attempt: Attempt) -> Result:
        states = _comparable_states(attempt)
        if states is None:
            return Result(dict.fromkeys(_NAMES), notes=_unknown_state(attempt))
        comparison = compare_states(states)
        if not comparison.expected and not comparison.actual:
            return Result(dict.fromkeys(_NAMES, 1.0))
        correct = sum(row.arguments is not None and row.arguments.all_agree for row in comparison.rows)
        precision, recall = (correct / rows if rows else 0.0 for rows in (comparison.actual, comparison.expected))
        return Result(
            {"reached": float(precision == recall == 1), "precision": precision, "recall": recall},
            notes=tuple(differences(comparison)[:_MOST_NOTES]),
        )


class ChangedRow(Struct, frozen=True):
    """A row that the expected calls, the actual calls or both changed.

    A key is None where that side did not change the row; the columns are None where it deleted the row. `arguments` compares the columns,
    None where there is nothing to compare: only one side changed the row, or only one deleted it.
    """

    table: str
    expected_key: str | None
    actual_key: str | None
    expected: Row | None
    actual: Row | None
    new: bool
    arguments: ArgumentComparison | None


class StateComparison(Struct, frozen=True):
    """All changed rows, and how many were changed on each side."""

    rows: tuple[ChangedRow, ...]
    expected: int
    actual: int


def compare_states(states: EndStates) -> StateComparison:
    """Compare two sets of changes row by row: existing rows first, then new ones, each by table and key, whatever their order."""
    expected, new_expected = _split_new(states.expected, states.new_expected)
    actual, new_actual = _split_new(states.reached, states.new_reached)
    literal = _matcher_columns({**expected, **new_expected})
    expected_names, actual_names = _name_new_rows(new_expected, new_actual, literal)
    rows = []
    for key in sorted({*expected, *actual}, key=_creation_order):
        (table, name), expected_row, actual_row = key, expected.get(key), actual.get(key)
        arguments = None
        if key in expected and key in actual and (expected_row is None) == (actual_row is None):
            columns = literal.get(table, frozenset())
            arguments = compare_arguments(
                expected_names.substitute(table, expected_row or {}, columns),
                actual_names.substitute(table, actual_row or {}, columns),
                rule="similar",
            )
        in_expected, in_actual = name if key in expected else None, name if key in actual else None
        rows.append(ChangedRow(table, in_expected, in_actual, expected_row, actual_row, False, arguments))
    expected_keys, actual_keys = sorted(new_expected, key=_creation_order), sorted(new_actual, key=_creation_order)
    pairing = pair_calls(_as_calls(new_expected, expected_names, literal), _as_calls(new_actual, actual_names, literal), rule="similar")
    for found in pairing.pairs:
        key, other = expected_keys[found.expected], actual_keys[found.actual]
        rows.append(ChangedRow(key[0], key[1], other[1], new_expected[key], new_actual[other], True, found.arguments))
    missing = [expected_keys[index] for index in pairing.unpaired_expected]
    extra = [actual_keys[index] for index in pairing.unpaired_actual]
    rows += [ChangedRow(key[0], key[1], None, new_expected[key], None, True, None) for key in missing]
    rows += [ChangedRow(key[0], None, key[1], None, new_actual[key], True, None) for key in extra]
    return StateComparison(tuple(rows), len(expected) + len(new_expected), len(actual) + len(new_actual))


def differences(comparison: StateComparison) -> list[Note]:
    """Return a note for each row that is missing, extra or deleted, and for each column that differs."""
    return [Note("state_difference", sentence, argument=place) for row in comparison.rows for place, sentence in _differences(row)]


def _unknown_state(attempt: Attempt) -> tuple[Note, ...]:
    states = attempt.prediction.states if attempt.prediction else None
    if states is None or not states.unknown:
        return ()
    return (Note("state_unknown", f"it is not known what the expected calls lead to: {states.unknown}"),)


def _comparable_states(attempt: Attempt) -> EndStates | None:
    states = attempt.prediction.states if attempt.prediction is not None else None
    if states is None or states.unknown or any(is_deeper_than(changes, _DEEPEST) for changes in (states.expected, states.reached)):
        return None
    return states


def _split_new(changes: Changes, new: tuple[str, ...]) -> tuple[dict[RowKey, Row | None], dict[RowKey, Row]]:
    """Return the existing rows and the new ones; a new row whose key is a chosen name counts as an existing one."""
    names = frozenset(new)
    existing: dict[RowKey, Row | None] = {}
    created: dict[RowKey, Row] = {}
    for table, rows in changes.items():
        for key, row in rows.items():
            if row is not None and f"{table}/{key}" in names and any(map(str.isdigit, key)):
                created[table, key] = row
            else:
                existing[table, key] = row
    return existing, created


def _creation_order(key: RowKey) -> tuple[str, int, str]:
    """Return a sort key that puts `TKT-9` before `TKT-10`: usually the order in which rows were created."""
    return key[0], len(key[1]), key[1]


def _matcher_columns(rows: Mapping[RowKey, Row | None]) -> dict[str, frozenset[str]]:
    """Return the columns of each table that some expected row has a matcher in: matchers are for the literal values."""
    found: dict[str, frozenset[str]] = {}
    for (table, _), row in rows.items():
        found[table] = found.get(table, frozenset()).union(key for key, value in (row or {}).items() if has_matcher(value))
    return found


class _RowNames:
    """Names of new rows, to put in place of their keys wherever a value contains one."""

    def __init__(self, names: Mapping[RowKey, str]) -> None:
        self._by_key: dict[str, dict[str, str]] = {}
        for (table, key), name in names.items():
            self._by_key.setdefault(key, {})[table] = name

    def substitute(self, table: str, row: Row, literal: Set[str]) -> Row:
        """Return the row with names in place of keys: of whole words in a text; of a bare number only in a column of ids.

        `literal` columns stay as they are.
        """
        if not self._by_key:
            return row
        return {column: value if column in literal else self._substitute(value, column, table) for column, value in row.items()}

    def _substitute(self, value: Any, column: str, table: str) -> Any:
        if isinstance(value, dict):
            return {key: self._substitute(item, key, table) for key, item in value.items()}
        if isinstance(value, list):
            return [self._substitute(item, column, table) for item in value]
        if value.__class__ is int or (isinstance(value, str) and value.isdigit()):
            return self._find(str(value), column, table) or value if _ID.match(column) else value
        if not isinstance(value, str):
            return value
        whole = self._find(value, column, table)
        return whole or _WORD.sub(lambda word: (not word[0].isdigit() and self._find(word[0], column, table)) or word[0], value)

    def _find(self, key: str, column: str, table: str) -> str:
        """Return the name of the row with that key, "" for none.

        Of a key that several tables have: the row of the table that the column is named after (`ticket_id`, `tickets`), of its own table
        for a bare `id`, else of the first.
        """
        tables = self._by_key.get(key)
        if not tables:
            return ""
        stem = _ID_ENDING.sub("", column).casefold() or table.casefold()
        return next((name for other, name in tables.items() if other.casefold().startswith(stem)), next(iter(tables.values())))


def _name_new_rows(
    expected: Mapping[RowKey, Row], actual: Mapping[RowKey, Row], literal: Mapping[str, Set[str]]
) -> tuple[_RowNames, _RowNames]:
    """Name the new rows of both sides (`tickets#1`), partners alike. Partners are paired by their values, whatever new rows they name."""
    expected_keys, actual_keys = sorted(expected, key=_creation_order), sorted(actual, key=_creation_order)
    expected_names, actual_names = (_RowNames({key: f"{key[0]}#" for key in keys}) for keys in (expected_keys, actual_keys))
    pairing = pair_calls(_as_calls(expected, expected_names, literal), _as_calls(actual, actual_names, literal), rule="similar")
    partners = {found.actual: found.expected for found in pairing.pairs}
    return (
        _RowNames({key: f"{key[0]}#{index}" for index, key in enumerate(expected_keys)}),
        _RowNames({key: f"{key[0]}#{partners.get(index, f'another {index}')}" for index, key in enumerate(actual_keys)}),
    )


def _as_calls(rows: Mapping[RowKey, Row], names: _RowNames, literal: Mapping[str, Set[str]]) -> list[Call]:
    """Return the rows as calls of their tables, in the order of their keys, so that they can be paired."""
    ordered = sorted(rows, key=_creation_order)
    return [Call(key[0], names.substitute(key[0], rows[key], literal.get(key[0], frozenset()))) for key in ordered]


def _differences(row: ChangedRow) -> list[tuple[str, str]]:
    """Return the place and the sentence of each difference; nothing for a row that is correct."""
    place = f"{row.table} {row.actual_key if row.actual_key is not None else row.expected_key}"
    if row.arguments is not None:
        return _column_differences(row, row.arguments, place)
    if row.actual_key is None:
        if row.new:
            return [(row.table, f"{row.table}: a new row was not made, {_shown(recorded_value(row.expected))} was expected")]
        missing = (
            "it was not deleted" if row.expected is None else f"a change was not made, {_shown(recorded_value(row.expected))} was expected"
        )
        return [(row.table, f"{place}: {missing}")]
    if row.expected_key is None:
        extra = "it was deleted" if row.actual is None else f"a {'new row' if row.new else 'change'} was made, {_shown(row.actual)}"
        return [(row.table, f"{place}: {extra}: that was not expected")]
    if row.actual is None:
        return [(row.table, f"{place}: it was deleted, {_shown(recorded_value(row.expected))} was expected")]
    return [(row.table, f"{place}: it was not deleted, it is {_shown(row.actual)}")]


def _column_differences(row: ChangedRow, arguments: ArgumentComparison, place: str) -> list[tuple[str, str]]:
    expected, actual = row.expected or {}, row.actual or {}
    found = [(key, f"it is not there, {_shown(recorded_value(expected[key]))} was expected") for key in arguments.missing]
    found += [(key, f"it is {_shown(actual[key])}, nothing was expected") for key in arguments.extra]
    for key in arguments.differ:
        value = recorded_value(expected[key])
        same = exact(value, actual[key])  # so it names a new row, and that is another one than it should be
        reason = "that is another new row than was expected" if same else f"{_shown(value)} was expected"
        found.append((key, f"it is {_shown(actual[key])}, {reason}"))
    return [(f"{row.table}.{key}", f"{place}, {key}: {sentence}") for key, sentence in found]


def _shown(value: Any) -> str:
    text = dump(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
