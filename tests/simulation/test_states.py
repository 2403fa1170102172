"""End states: the changes of a conversation, and those of its expected calls."""

import asyncio
from typing import Any

import pytest

from callmark.simulation.session import State, ToolResult
from callmark.simulation.states import StateChanges, changes, expected_changes, with_reached
from callmark.types import Call, EndStates, Tool

ROW = {"title": "Printer", "priority": "Low"}


class Desk:
    """Tickets that can be created and updated; a ticket without a title returns an error."""

    tools = (
        Tool(
            "Desk-create",
            "",
            {"properties": {"title": {"type": "string"}, "priority": {"enum": ["Low", "High"]}, "seats": {"type": "integer"}}},
        ),
        Tool("Desk-update", "", {"properties": {"ticket_id": {"type": "string"}, "priority": {}}}),
    )

    def __init__(self, tickets: dict[str, dict[str, Any]] | None = None, *, has_state: bool = True) -> None:
        self.tickets = {"TKT-1": dict(ROW)} if tickets is None else tickets
        self._has_state = has_state

    async def call(self, call: Call) -> ToolResult:
        arguments = dict(call.arguments)
        if call.name == "Desk-update":
            self.tickets[arguments.pop("ticket_id")].update(arguments)
            return ToolResult("ok")
        if not arguments.get("title"):
            return ToolResult("A title is needed.", is_error=True)
        key = f"TKT-{len(self.tickets) + 1}"
        self.tickets[key] = arguments
        return ToolResult(f'{{"ticket": {{"id": "{key}"}}}}')

    async def state(self) -> State | None:
        return {"tickets": {key: dict(row) for key, row in self.tickets.items()}} if self._has_state else None


def expected(*calls: Call, desk: Desk | None = None) -> EndStates:
    return asyncio.run(expected_changes(calls, desk or Desk()))


@pytest.mark.parametrize(
    "before, after, found",
    [
        ({}, {}, StateChanges()),
        ({"t": {"1": {"a": 1}}}, {"t": {"1": {"a": 1.0}}}, StateChanges()),
        ({"t": {"1": {"a": 1}}}, {"t": {"1": {"a": 2}}}, StateChanges({"t": {"1": {"a": 2}}})),
        ({"t": {"1": {"a": 1}}}, {"t": {}}, StateChanges({"t": {"1": None}})),
        ({"t": {}}, {"t": {"2": {"a": 1}}, "u": {"3": {}}}, StateChanges({"t": {"2": {"a": 1}}, "u": {"3": {}}}, ("t/2", "u/3"))),
        ({"t": {"1": {"a": {"$any": True}}}}, {"t": {"1": {"a": 5}}}, StateChanges({"t": {"1": {"a": 5}}})),
    ],
)
def test_changes_are_the_rows_that_differ(before: State, after: State, found: StateChanges) -> None:
    assert changes(before, after) == found


def test_expected_calls_run_in_a_fresh_toolbox() -> None:
    assert expected(Call("desk-CREATE", {"title": "Mouse", "priority": "High"})) == EndStates(
        expected={"tickets": {"TKT-2": {"title": "Mouse", "priority": "High"}}}, new_expected=("tickets/TKT-2",)
    )


def test_glob_is_substituted_by_an_earlier_result() -> None:
    calls = expected(
        Call("Desk-create", {"title": "Mouse"}), Call("Desk-update", {"ticket_id": {"$glob": "tkt-*", "$case": False}, "priority": "High"})
    )
    assert calls.expected == {"tickets": {"TKT-2": {"title": "Mouse", "priority": "High"}}}
    assert not calls.unknown


@pytest.mark.parametrize(
    "name, matcher, cell",
    [
        ("title", {"$text": "Broken mouse", "$ratio": 0.8}, {"$text": "Broken mouse", "$ratio": 0.8}),
        ("title", {"$any": True}, {"$any": True}),
        ("title", {"$optional": "Mouse"}, {"$optional": "Mouse"}),
        ("title", {"$one_of": ["Mouse", "Mice"]}, {"$one_of": ["Mouse", "Mice"]}),
        ("title", {"$literal": {"$any": True}}, {"$literal": {"$any": True}}),
        ("priority", {"$any": True}, {"$any": True}),
        ("seats", {"$approx": 4, "$abs": 1}, {"$approx": 4, "$abs": 1}),
    ],
)
def test_matcher_replaces_its_substitute_in_changed_rows(name: str, matcher: Any, cell: Any) -> None:
    calls = expected(Call("Desk-create", {"title": "Mouse", "priority": "Low", name: matcher}))
    assert not calls.unknown
    assert calls.expected["tickets"]["TKT-2"] is not None
    assert calls.expected["tickets"]["TKT-2"][name] == cell


def test_substitute_is_restored_only_in_its_own_column() -> None:
    found = expected(Call("Desk-create", {"title": "x", "seats": {"$any": True}, "floor": 1}))
    assert found.expected == {"tickets": {"TKT-2": {"title": "x", "seats": {"$any": True}, "floor": 1}}}


@pytest.mark.parametrize(
    "calls, reason",
    [
        ([Call("Desk-delete", {})], "unknown tool Desk-delete"),
        ([Call("Desk-create", {"title": ""})], 'Desk-create(title="") returned an error: A title is needed.'),
        (
            [Call("Desk-update", {"ticket_id": {"$glob": "TKT-*"}})],
            'Desk-update.ticket_id: no earlier result contains a value that matches {"$glob":"TKT-*"}',
        ),
        (
            [Call("Desk-update", {"ticket_id": {"$glob": "TKT-*", "$case": False}})],
            "Desk-update.ticket_id: no earlier result contains a value that matches TKT-*",
        ),
        (
            [Call("Desk-create", {"title": {"$not": "x"}})],
            'Desk-create.title: no earlier result contains a value that matches {"$not":"x"}',
        ),
    ],
)
def test_unknown_end_state_has_a_reason(calls: list[Call], reason: str) -> None:
    assert expected(*calls) == EndStates(unknown=reason)


def test_tools_without_a_state_make_the_end_state_unknown() -> None:
    reason = "the tools do not report their state"
    assert expected(desk=Desk(has_state=False)) == EndStates(unknown=reason)
    assert with_reached(EndStates(), None, None) == EndStates(unknown=reason)


def test_reached_changes_are_added_to_the_expected() -> None:
    found = with_reached(EndStates(expected={"t": {"2": {"a": 1}}}, new_expected=("t/2",)), {"t": {}}, {"t": {"5": {"a": 1}}})
    assert found == EndStates({"t": {"5": {"a": 1}}}, {"t": {"2": {"a": 1}}}, ("t/5",), ("t/2",))
