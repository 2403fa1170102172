"""Coverage: counts add up, and what never happens is listed."""

from typing import Any

from callmark.synthesis.coverage import coverage
from callmark.synthesis.world import plan_branches
from callmark.types import Call, Case, Conversation, Message, Tool

TOOLS = (
    Tool("find", "", {"type": "object", "properties": {"name": {}, "zip": {}}}),
    Tool("close", "", {"type": "object", "properties": {"id": {}}}),
    Tool("ping"),
)


def row(*calls: Call) -> Conversation:
    return Conversation("c", tuple(Message("assistant", "", (call,)) for call in calls), TOOLS)


def plan(*branches: object) -> Case:
    return Case("p", instructions="…", data={"plan": {"branches": list(branches)}})


ROWS = [row(Call("find", {"name": "Ann"}), Call("find", {"name": "Bob", "city": "Rome"})), row(Call("guess")), row(), row(Call("ping"))]


def test_tools_parameters_and_branches_are_counted() -> None:
    found = coverage(ROWS, [plan("a", "a", "c"), plan("a")], TOOLS, ["a", "b"])
    assert found.tools == {"find": 2, "close": 0, "ping": 1, "guess": 1}
    assert found.parameters == {"find": {"name": 2, "zip": 0, "city": 1}, "close": {"id": 0}, "ping": {}, "guess": {}}
    assert found.branches == {"a": 2, "b": 0, "c": 1}
    assert (found.never_called, found.never_given, found.never_taken) == (["close"], ["find.zip"], ["b"])


def test_counts_add_up() -> None:
    found = coverage(ROWS, [], TOOLS, [])
    calls = [call for one in ROWS for call in one.calls]
    assert sum(found.tools.values()) == len(calls)
    assert sum(times for given in found.parameters.values() for times in given.values()) == sum(len(call.arguments) for call in calls)


def test_coverage_without_rows_is_empty() -> None:
    found = coverage([], [], TOOLS, ["a"])
    assert found.never_called == ["find", "close", "ping"]
    assert (found.never_given, found.never_taken) == ([], ["a"])


def test_plan_without_branches_takes_none() -> None:
    assert plan_branches(Case("p", instructions="…")) == ()
    given: list[Any] = [{}, {"branches": "a"}, {"branches": [1]}, []]
    for own in given:
        assert plan_branches(Case("p", instructions="…", data={"plan": own})) == ()
