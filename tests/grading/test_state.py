"""Evaluator `state`: the rows that a conversation changed, compared with those that the expected calls change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from callmark.calls.pairing import ArgumentComparison
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.state import StateEvaluator, compare_states
from callmark.types import EndStates, Metrics, Prediction
from tests.evaluations import values

Tables = dict[str, dict[str, dict[str, Any] | None]]


def end_states(reached: Tables, expected: Tables, *, new: tuple[str, ...] = (), new_expected: tuple[str, ...] | None = None) -> EndStates:
    return EndStates(reached, expected, new, new if new_expected is None else new_expected)


def attempt(states: EndStates | None) -> Attempt:
    return Attempt((), (), prediction=Prediction("a", states=states))


def state_values(states: EndStates | None) -> Metrics:
    return values(StateEvaluator(), attempt(states))


def note_sentences(states: EndStates) -> list[str]:
    notes = StateEvaluator().evaluate(attempt(states)).notes
    assert {note.kind for note in notes} <= {"state_difference"}
    return [note.sentence for note in notes]


TICKET = {"title": "Printer broken", "priority": "High"}
MAIL = {"title": "No mail", "priority": "Low"}


@pytest.mark.parametrize(
    "reached, expected, new, new_expected, numbers",
    [
        # nothing at all; one side only
        ({}, {}, (), (), (1, 1, 1)),
        ({"t": {}}, {}, (), (), (1, 1, 1)),
        ({"t": {"1": TICKET}}, {}, (), (), (0, 0, 0)),
        ({}, {"t": {"1": TICKET}}, (), (), (0, 0, 0)),
        # existing rows, identified by their keys
        ({"t": {"1": TICKET}}, {"t": {"1": TICKET}}, (), (), (1, 1, 1)),
        ({"t": {"2": TICKET}}, {"t": {"1": TICKET}}, (), (), (0, 0, 0)),
        ({"u": {"1": TICKET}}, {"t": {"1": TICKET}}, (), (), (0, 0, 0)),
        ({"t": {"1": TICKET, "2": MAIL}}, {"t": {"1": TICKET}}, (), (), (0, 0.5, 1)),
        ({"t": {"1": TICKET}}, {"t": {"1": TICKET, "2": MAIL}}, (), (), (0, 1, 0.5)),
        ({"t": {"1": {**TICKET, "priority": "Low"}}}, {"t": {"1": TICKET}}, (), (), (0, 0, 0)),
        ({"t": {"1": {**TICKET, "note": "x"}}}, {"t": {"1": TICKET}}, (), (), (0, 0, 0)),
        # by `similar`, and by matchers on the expected side alone
        ({"t": {"1": {"title": "printer  broken!"}}}, {"t": {"1": {"title": "Printer broken"}}}, (), (), (1, 1, 1)),
        ({"t": {"1": {"at": "10:31"}}}, {"t": {"1": {"at": {"$any": True}}}}, (), (), (1, 1, 1)),
        ({"t": {"1": {"at": {"$any": True}}}}, {"t": {"1": {"at": "10:31"}}}, (), (), (0, 0, 0)),
        ({"t": {"1": {"a": 1}}}, {"t": {"1": {"a": 1, "b": {"$optional": 2}}}}, (), (), (1, 1, 1)),
        # deleted rows
        ({"t": {"1": None}}, {"t": {"1": None}}, (), (), (1, 1, 1)),
        ({"t": {"1": None}}, {"t": {"1": TICKET}}, (), (), (0, 0, 0)),
        ({"t": {"1": TICKET}}, {"t": {"1": None}}, (), (), (0, 0, 0)),
        ({}, {"t": {"1": None}}, (), (), (0, 0, 0)),
        ({"t": {"1": None}}, {"t": {"1": {}}}, (), (), (0, 0, 0)),
        # new rows, identified by their values
        ({"t": {"T-7": TICKET}}, {"t": {"T-9": TICKET}}, ("t/T-7",), ("t/T-9",), (1, 1, 1)),
        ({"t": {"T-7": MAIL, "T-8": TICKET}}, {"t": {"T-7": TICKET, "T-8": MAIL}}, ("t/T-7", "t/T-8"), ("t/T-7", "t/T-8"), (1, 1, 1)),
        ({"t": {"T-7": TICKET, "T-8": TICKET}}, {"t": {"T-7": TICKET}}, ("t/T-7", "t/T-8"), ("t/T-7",), (0, 0.5, 1)),
        ({"t": {"T-7": TICKET}}, {"t": {"T-7": TICKET}}, ("t/T-7",), (), (0, 0, 0)),  # a new row instead of a changed one
        # a key that was chosen, not generated, has to be equal
        ({"users": {"bob": {"name": "bob"}}}, {"users": {"alice": {"name": "alice"}}}, ("users/bob",), ("users/alice",), (0, 0, 0)),
        ({"users": {"bob": {"name": "bob"}}}, {"users": {"bob": {"name": "bob"}}}, ("users/bob",), ("users/bob",), (1, 1, 1)),
    ],
)
def test_state(reached: Tables, expected: Tables, new: tuple[str, ...], new_expected: tuple[str, ...], numbers: tuple[float, ...]) -> None:
    found = state_values(end_states(reached, expected, new=new, new_expected=new_expected))
    assert tuple(found.values()) == numbers
    assert tuple(found) == tuple(metric.name for metric in StateEvaluator.metrics)


NEW = ("tickets/T-1", "tickets/T-2", "items/I-1")
EXPECTED: Tables = {
    "tickets": {"T-1": {"id": "T-1", **TICKET}, "T-2": {"id": "T-2", **MAIL}},
    "items": {"I-1": {"for": "T-1", "do": "call"}},
}


def test_reference_to_a_new_row_must_name_its_partner() -> None:
    swapped: Tables = {
        "tickets": {"T-1": {"id": "T-1", **MAIL}, "T-2": {"id": "T-2", **TICKET}},
        "items": {"I-1": {"for": "T-2", "do": "call"}},
    }
    assert state_values(end_states(swapped, EXPECTED, new=NEW))["reached"] == 1
    wrong: Tables = {**swapped, "items": {"I-1": {"for": "T-1", "do": "call"}}}
    assert state_values(end_states(wrong, EXPECTED, new=NEW)) == {"reached": 0, "precision": 2 / 3, "recall": 2 / 3}
    assert note_sentences(end_states(wrong, EXPECTED, new=NEW)) == ['items I-1, for: "T-1" refers to a different new row than expected']


def test_wrong_new_row_leaves_rows_that_reference_it_correct() -> None:
    reached: Tables = {**EXPECTED, "tickets": {"T-1": {"id": "T-1", **TICKET, "priority": "Low"}, "T-2": {"id": "T-2", **MAIL}}}
    assert state_values(end_states(reached, EXPECTED, new=NEW))["precision"] == 2 / 3
    assert note_sentences(end_states(reached, EXPECTED, new=NEW)) == ['tickets T-1, priority: expected "High", got "Low"']


@pytest.mark.parametrize(
    "value, expected, correct",
    [
        ("T-5", "T-9", True),
        ("see T-5.", "see T-9.", True),
        (["T-5", 1], ["T-9", 1], True),
        ({"on": "T-5"}, {"on": "T-9"}, True),
        ("T-9", "T-9", False),  # an existing row
        ("T-5-b", "T-9-b", False),
        ("T-5", {"$glob": "T-*"}, True),
        ("T-5", {"$glob": "X-*"}, False),
        (5, 9, False),
    ],
)
def test_places_where_a_new_row_is_referenced(value: Any, expected: Any, correct: bool) -> None:
    reached: Tables = {"t": {"T-5": {"a": 1}}, "log": {"last": {"about": value}}}
    expected_tables: Tables = {"t": {"T-9": {"a": 1}}, "log": {"last": {"about": expected}}}
    assert state_values(end_states(reached, expected_tables, new=("t/T-5",), new_expected=("t/T-9",)))["reached"] == correct


@pytest.mark.parametrize("column, correct", [("ticket_id", True), ("ticketId", True), ("id", True), ("priority", False), ("paid", False)])
def test_bare_number_references_a_row_only_in_an_id_column(column: str, correct: bool) -> None:
    reached: Tables = {"tickets": {"5": {"a": 1}}, "log": {"last": {column: 5}}}
    expected_tables: Tables = {"tickets": {"9": {"a": 1}}, "log": {"last": {column: 9}}}
    assert state_values(end_states(reached, expected_tables, new=("tickets/5",), new_expected=("tickets/9",)))["reached"] == correct


def test_same_key_in_two_tables_is_resolved_by_the_column() -> None:
    new = ("items/1", "items/2", "tickets/1", "tickets/2")
    expected: Tables = {
        "tickets": {"1": TICKET, "2": MAIL},
        "items": {"1": {"id": 1, "ticket_id": 1}, "2": {"id": 2, "ticket_id": 2, "x": 1}},
    }
    reached: Tables = {
        "tickets": {"1": MAIL, "2": TICKET},
        "items": {"1": {"id": 1, "ticket_id": 2}, "2": {"id": 2, "ticket_id": 1, "x": 1}},
    }
    assert state_values(end_states(reached, expected, new=new))["reached"] == 1
    assert state_values(end_states({**reached, "items": expected["items"]}, expected, new=new))["reached"] == 0


@pytest.mark.parametrize(
    "reached, expected, new, sentence",
    [
        ({}, {"t": {"T-1": {"a": 1}}}, (), 't T-1: expected {"a":1}, but the row was not changed'),
        ({}, {"t": {"T-1": None}}, (), "t T-1: expected deletion, but the row was not changed"),
        ({}, {"t": {"T-1": {"a": {"$literal": 1}}}}, ("t/T-1",), 't: expected a new row {"a":1}, but it was not created'),
        ({"t": {"T-1": {"a": 1}}}, {}, (), 't T-1: changed to {"a":1}, which was not expected'),
        ({"t": {"T-1": None}}, {}, (), "t T-1: deleted, which was not expected"),
        ({"t": {"T-1": {"a": 1}}}, {}, ("t/T-1",), 't T-1: created {"a":1}, which was not expected'),
        ({"t": {"T-1": None}}, {"t": {"T-1": {"a": 1}}}, (), 't T-1: expected {"a":1}, but the row was deleted'),
        ({"t": {"T-1": {"a": 1}}}, {"t": {"T-1": None}}, (), 't T-1: expected deletion, got {"a":1}'),
        ({"t": {"T-1": {"a": 1}}}, {"t": {"T-1": {"a": 2}}}, (), "t T-1, a: expected 2, got 1"),
        ({"t": {"T-1": {}}}, {"t": {"T-1": {"a": 2}}}, (), "t T-1, a: expected 2, but it is missing"),
        ({"t": {"T-1": {"a": 1}}}, {"t": {"T-1": {}}}, (), "t T-1, a: not expected, got 1"),
        ({"t": {"T-1": {"a": "x" * 500}}}, {"t": {"T-1": {"a": 2}}}, (), f't T-1, a: expected 2, got "{"x" * 119}…'),
        ({"t": {"T-1": {"a": 1}}}, {"t": {"T-1": {"a": {"$glob": "X-*", "$case": False}}}}, (), "t T-1, a: expected X-*, got 1"),
    ],
)
def test_each_difference_is_a_note(reached: Tables, expected: Tables, new: tuple[str, ...], sentence: str) -> None:
    assert note_sentences(end_states(reached, expected, new=new)) == [sentence]


def test_note_names_the_column() -> None:
    (note,) = StateEvaluator().evaluate(attempt(end_states({"t": {"1": {"a": 1}}}, {"t": {"1": {"a": 2}}}))).notes
    assert note.argument == "t.a"


def test_without_states_nothing_is_applicable() -> None:
    assert state_values(None) == {}
    assert values(StateEvaluator(), Attempt((), ())) == {}
    assert StateEvaluator().evaluate(Attempt((), ())).notes == ()
    assert state_values(EndStates({"t": {"1": TICKET}}, unknown="the expected calls could not be carried out")) == {}


def test_deeply_nested_rows_are_not_applicable() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert state_values(end_states({"t": {"1": {"a": deep}}}, {})) == {}


def test_many_new_rows_are_compared_fast() -> None:
    rows: Tables = {"t": {f"T-{index}": {"n": index, "me": f"T-{index}"} for index in range(3000)}}
    assert state_values(end_states(rows, rows, new=tuple(f"t/T-{index}" for index in range(3000))))["reached"] == 1


# No text below is a key, so that a value refers only to the rows that the strategy chooses.
keys = st.sampled_from(["T-1", "T-2", "T-3", "bob", "7"])
cells = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "A.", "x y"]) | keys
nested = st.recursive(
    cells, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2), max_leaves=4
)
rows = st.dictionaries(st.sampled_from(["a", "id", "t_id"]), nested, max_size=3)
tables = st.dictionaries(st.sampled_from("tu"), st.dictionaries(keys, st.none() | rows, max_size=4), max_size=2)
new_rows = st.lists(st.builds(lambda table, key: f"{table}/{key}", st.sampled_from("tu"), keys), max_size=6).map(tuple)


def turned(changes: Tables) -> Tables:
    return {table: dict(reversed(found.items())) for table, found in reversed(changes.items())}


@pytest.mark.laws
@given(tables, new_rows)
def test_state_against_itself_is_reached(changes: Tables, new: tuple[str, ...]) -> None:
    states = end_states(changes, changes, new=new)
    assert set(state_values(states).values()) == {1.0}
    assert note_sentences(states) == []


@pytest.mark.laws
@given(tables, tables, new_rows, new_rows)
def test_order_of_rows_does_not_matter(reached: Tables, expected: Tables, new: tuple[str, ...], new_expected: tuple[str, ...]) -> None:
    states = end_states(reached, expected, new=new, new_expected=new_expected)
    other = structs.replace(states, reached=turned(reached), new_reached=new[::-1])
    assert state_values(states) == state_values(other)
    assert note_sentences(states) == note_sentences(other)


@pytest.mark.laws
@given(tables, tables, new_rows, new_rows)
def test_notes_exist_exactly_where_the_state_is_not_reached(
    reached: Tables, expected: Tables, new: tuple[str, ...], new_expected: tuple[str, ...]
) -> None:
    states = end_states(reached, expected, new=new, new_expected=new_expected)
    found = state_values(states)
    assert all(0 <= value <= 1 for value in found.values())
    assert (found["reached"] == 1) == (found["precision"] == found["recall"] == 1) == (not note_sentences(states))
    rows = compare_states(states).rows
    assert sum(row.expected_key is not None for row in rows) == sum(map(len, expected.values()))
    assert sum(row.actual_key is not None for row in rows) == sum(map(len, reached.values()))
    assert all(isinstance(row.arguments, ArgumentComparison) for row in rows if row.new and None not in (row.expected_key, row.actual_key))
