"""Evaluator `state`: did the conversation change what the expected calls change, and nothing else?

    state.reached     1 when every changed row is right and none is missing, else 0
    state.precision   changed rows that are right / rows that were changed
    state.recall      changed rows that are right / rows that should have been

A row that was there before is known by its key; one that is gone has changed too. A new row is known by what is in it, as its key is made
up by whoever stores it: new rows of a table are paired as calls of a function are, and where a value names a new row, it has to name the
partner of the row that it should. Only a key without a digit (`alice`) is a name that has to be the same. Values agree by `similar`, the
expected ones may be matchers.

Nothing changed and nothing expected: all 1. Nothing right otherwise: all 0. No number where there are no states, where it is not known what
the expected calls lead to, or where rows nest deeper than anything that is compared.
"""

import re
from collections.abc import Mapping, Set
from typing import Any, ClassVar

from msgspec import Struct

from callmark.calls.matchers import has_matcher, recorded
from callmark.calls.pairing import Comparison, compare, pair
from callmark.calls.strict import DEEPEST, deeper_than, dump
from callmark.calls.values import exact
from callmark.grading.attempt import Attempt
from callmark.types import Call, EndStates, Metrics, Note

At = tuple[str, str]  # a table and a key
Row = dict[str, Any]
Changes = dict[str, dict[str, Row | None]]

_SHOWN = 120  # characters of a row or a value in a sentence
_MOST_NOTED = 50  # differences of one conversation that are told
_DEEPEST = DEEPEST + 2  # of a state: its tables and their rows around the values
_WORD = re.compile(r"[\w-]+")
_ID = re.compile(r"(?:.*_)?ids?$|.*I[dD]s?$")  # columns in which a mere number may be a key
_ID_ENDING = re.compile(r"_?[iI][dD]s?$")


class StateEvaluator(Struct, frozen=True):
    name: ClassVar[str] = "state"
    metrics: ClassVar[tuple[str, ...]] = ("reached", "precision", "recall")

    def __call__(self, attempt: Attempt) -> Metrics:
        states = _states(attempt)
        if states is None:
            return {}
        found = compared(states)
        if not found.expected and not found.reached:
            return dict.fromkeys(self.metrics, 1.0)
        right = sum(row.arguments is not None and row.arguments.all_agree for row in found.rows)
        precision, recall = (right / rows if rows else 0.0 for rows in (found.reached, found.expected))
        return {"reached": float(precision == recall == 1), "precision": precision, "recall": recall}

    def notes(self, attempt: Attempt) -> list[Note]:
        """A sentence for each difference; or one that says why it is not known what the expected calls lead to."""
        states = _states(attempt)
        given = attempt.prediction.states if attempt.prediction else None
        if given is not None and given.unknown:
            return [Note("state_unknown", f"it is not known what the expected calls lead to: {given.unknown}")]
        return [] if states is None else differences(compared(states))[:_MOST_NOTED]


class ChangedRow(Struct, frozen=True):
    """A row as it should be and as it is, each with its key; no key where one side did not change it, no columns where it is gone.

    `arguments` compares both, None where there is nothing to compare: only one side changed it, or only one has it gone.
    """

    table: str
    expected_key: str | None
    reached_key: str | None
    expected: Row | None
    reached: Row | None
    new: bool
    arguments: Comparison | None


class Compared(Struct, frozen=True):
    """Every changed row, and how many there are on either side."""

    rows: tuple[ChangedRow, ...]
    expected: int
    reached: int


def compared(states: EndStates) -> Compared:
    """Two sets of changes, row by row: rows that were there first, then new ones, each by table and key. The order in which they come
    changes nothing.
    """
    ours, our_new = _split(states.expected, states.new_expected)
    theirs, their_new = _split(states.reached, states.new_reached)
    as_it_is = _with_matchers({**ours, **our_new})
    names, other_names = _names(our_new, their_new, as_it_is)
    rows = []
    for at in sorted({*ours, *theirs}, key=_by_key):
        (table, key), wanted, found = at, ours.get(at), theirs.get(at)
        arguments = None
        if at in ours and at in theirs and (wanted is None) == (found is None):
            raw = as_it_is.get(table, frozenset())
            arguments = compare(names.put(table, wanted or {}, raw), other_names.put(table, found or {}, raw), rule="similar")
        rows.append(ChangedRow(table, key if at in ours else None, key if at in theirs else None, wanted, found, False, arguments))
    expected, reached = sorted(our_new, key=_by_key), sorted(their_new, key=_by_key)
    pairing = pair(_calls(our_new, names, as_it_is), _calls(their_new, other_names, as_it_is), rule="similar")
    for one in pairing.pairs:
        at, other = expected[one.expected], reached[one.actual]
        rows.append(ChangedRow(at[0], at[1], other[1], our_new[at], their_new[other], True, one.arguments))
    missing, extra = [expected[index] for index in pairing.unpaired_expected], [reached[index] for index in pairing.unpaired_actual]
    rows += [ChangedRow(at[0], at[1], None, our_new[at], None, True, None) for at in missing]
    rows += [ChangedRow(at[0], None, at[1], None, their_new[at], True, None) for at in extra]
    return Compared(tuple(rows), len(ours) + len(our_new), len(theirs) + len(their_new))


def differences(found: Compared) -> list[Note]:
    """A sentence for each row that is missing, too many or gone, and for each column that differs."""
    return [Note("state_difference", sentence, argument=where) for row in found.rows for where, sentence in _sentences(row)]


def _states(attempt: Attempt) -> EndStates | None:
    states = attempt.prediction.states if attempt.prediction is not None else None
    if states is None or states.unknown or any(deeper_than(changes, _DEEPEST) for changes in (states.expected, states.reached)):
        return None
    return states


def _split(changes: Changes, new: tuple[str, ...]) -> tuple[dict[At, Row | None], dict[At, Row]]:
    """The rows that were there before and those that are new; a key that somebody chose makes a row like one that was there."""
    names = frozenset(new)
    known: dict[At, Row | None] = {}
    made: dict[At, Row] = {}
    for table, rows in changes.items():
        for key, row in rows.items():
            if row is not None and f"{table}/{key}" in names and any(map(str.isdigit, key)):
                made[table, key] = row
            else:
                known[table, key] = row
    return known, made


def _by_key(at: At) -> tuple[str, int, str]:
    """In the order of their keys, `TKT-9` before `TKT-10`: mostly the order in which they were made."""
    return at[0], len(at[1]), at[1]


def _with_matchers(rows: Mapping[At, Row | None]) -> dict[str, frozenset[str]]:
    """The columns of each table for which somebody wrote a matcher, which is for the values as they are."""
    found: dict[str, frozenset[str]] = {}
    for (table, _), row in rows.items():
        found[table] = found.get(table, frozenset()).union(key for key, value in (row or {}).items() if has_matcher(value))
    return found


class _Names:
    """What new rows are called where a value names them."""

    def __init__(self, called: Mapping[At, str]) -> None:
        self._by_key: dict[str, dict[str, str]] = {}
        for (table, key), name in called.items():
            self._by_key.setdefault(key, {})[table] = name

    def put(self, table: str, row: Row, as_it_is: Set[str]) -> Row:
        """The row with these names in place of the keys: of one that is a word of its own in a text, or, where it is a mere number, the
        whole value of a column of ids. Columns that are to stay as they are do.
        """
        if not self._by_key:
            return row
        return {column: value if column in as_it_is else self._value(value, column, table) for column, value in row.items()}

    def _value(self, value: Any, column: str, table: str) -> Any:
        if isinstance(value, dict):
            return {key: self._value(item, key, table) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, column, table) for item in value]
        if value.__class__ is int or (isinstance(value, str) and value.isdigit()):
            return self._name(str(value), column, table) or value if _ID.match(column) else value
        if not isinstance(value, str):
            return value
        whole = self._name(value, column, table)
        return whole or _WORD.sub(lambda word: (not word[0].isdigit() and self._name(word[0], column, table)) or word[0], value)

    def _name(self, key: str, column: str, table: str) -> str:
        """What the row of that key is called; of a key that several tables have, the row of the table that the column is named after
        (`ticket_id`, `tickets`), of its own for a mere `id`, else of the first.
        """
        tables = self._by_key.get(key)
        if not tables:
            return ""
        stem = _ID_ENDING.sub("", column).casefold() or table.casefold()
        return next((name for other, name in tables.items() if other.casefold().startswith(stem)), next(iter(tables.values())))


def _names(expected: Mapping[At, Row], reached: Mapping[At, Row], as_it_is: Mapping[str, Set[str]]) -> tuple[_Names, _Names]:
    """What new rows are called on either side: `tickets#1`, and the same for two rows that are partners. Partners are found by what is in
    the rows, whatever new rows they name.
    """
    ours, theirs = sorted(expected, key=_by_key), sorted(reached, key=_by_key)
    some, others = (_Names({at: f"{at[0]}#" for at in side}) for side in (ours, theirs))
    pairing = pair(_calls(expected, some, as_it_is), _calls(reached, others, as_it_is), rule="similar")
    partner = {one.actual: one.expected for one in pairing.pairs}
    return (
        _Names({at: f"{at[0]}#{index}" for index, at in enumerate(ours)}),
        _Names({at: f"{at[0]}#{partner.get(index, f'another {index}')}" for index, at in enumerate(theirs)}),
    )


def _calls(rows: Mapping[At, Row], names: _Names, as_it_is: Mapping[str, Set[str]]) -> list[Call]:
    """The rows in the order of their keys, as calls of their tables."""
    return [Call(at[0], names.put(at[0], rows[at], as_it_is.get(at[0], frozenset()))) for at in sorted(rows, key=_by_key)]


def _sentences(row: ChangedRow) -> list[tuple[str, str]]:
    """Where and what, for each difference; nothing for a row that is right."""
    where = f"{row.table} {row.reached_key if row.reached_key is not None else row.expected_key}"
    if row.arguments is not None:
        return _columns(row, row.arguments, where)
    if row.reached_key is None:
        if row.new:
            return [(row.table, f"{row.table}: a new row was not made, {_shown(recorded(row.expected))} was expected")]
        wanted = "it was not deleted" if row.expected is None else f"a change was not made, {_shown(recorded(row.expected))} was expected"
        return [(row.table, f"{where}: {wanted}")]
    if row.expected_key is None:
        did = "it was deleted" if row.reached is None else f"a {'new row' if row.new else 'change'} was made, {_shown(row.reached)}"
        return [(row.table, f"{where}: {did}: that was not expected")]
    if row.reached is None:
        return [(row.table, f"{where}: it was deleted, {_shown(recorded(row.expected))} was expected")]
    return [(row.table, f"{where}: it was not deleted, it is {_shown(row.reached)}")]


def _columns(row: ChangedRow, arguments: Comparison, where: str) -> list[tuple[str, str]]:
    expected, reached = row.expected or {}, row.reached or {}
    told = [(key, f"it is not there, {_shown(recorded(expected[key]))} was expected") for key in arguments.missing]
    told += [(key, f"it is {_shown(reached[key])}, nothing was expected") for key in arguments.extra]
    for key in arguments.differ:
        wanted = recorded(expected[key])
        same = exact(wanted, reached[key])  # so it names a new row, and that is another one than it should be
        other = "that is another new row than was expected" if same else f"{_shown(wanted)} was expected"
        told.append((key, f"it is {_shown(reached[key])}, {other}"))
    return [(f"{row.table}.{key}", f"{where}, {key}: {what}") for key, what in told]


def _shown(value: Any) -> str:
    text = dump(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
