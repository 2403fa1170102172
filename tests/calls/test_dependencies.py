"""Dependencies between calls: stated with `after`, or found in a recorded conversation."""

from typing import Any

import pytest

import callmark
from callmark import Call, Conversation, Message, Tool, grade
from callmark.calls.dependencies import read_dependencies, recorded_dependencies
from callmark.errors import BadInput

FIND, BOOK, PAY = {"name": "find", "id": "a"}, {"name": "book", "id": "b"}, {"name": "pay", "id": "c"}
CALLS = [Call("find", {}, "a"), Call("book", {}, "b"), Call("pay", {}, "c")]


@pytest.mark.parametrize(
    "after, edges",
    [
        ([None, None, None], ()),
        ([None, [], None], ()),
        ([None, ["a"], ["b"]], ((0, 1), (1, 2))),
        ([None, [0], [0, 1]], ((0, 1), (0, 2), (1, 2))),
        ([["c"], None, None], ((2, 0),)),
        ([None, None, ["a", 0, "a"]], ((0, 2),)),
    ],
)
def test_stated_dependencies(after: list[Any], edges: tuple[tuple[int, int], ...]) -> None:
    values = [{**call, **({} if given is None else {"after": given})} for call, given in zip((FIND, BOOK, PAY), after, strict=True)]
    assert read_dependencies(values, CALLS, "tool_calls") == edges


@pytest.mark.parametrize(
    "after, message",
    [
        ("a", 'tool_calls[1].after: expected a list of IDs or indexes of calls, got "a"'),
        (["x"], 'tool_calls[1].after: no expected call has the ID "x"'),
        ([3], "tool_calls[1].after: expected an index from 0 to 2, got 3"),
        ([-1], "tool_calls[1].after: expected an index from 0 to 2, got -1"),
        ([True], "tool_calls[1].after: expected the ID or the index of a call, got true"),
        ([1], "tool_calls[1].after: a call cannot come after itself"),
    ],
)
def test_wrong_dependency_is_refused_with_its_place(after: Any, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_dependencies([FIND, {**BOOK, "after": after}, PAY], CALLS, "tool_calls")
    assert str(refused.value) == message


def conversation(*, user: str = "Book a room in Bonn.") -> Conversation:
    return Conversation(
        "c",
        (
            Message("user", user),
            Message("assistant", calls=(Call("find", {"city": "Bonn"}, "1"), Call("rates", {"city": "Bonn"}, "2"))),
            Message("tool", '{"room": "R17"}', tool_call_id="1"),
            Message("tool", '{"rate": 80}', tool_call_id="2"),
            Message("assistant", calls=(Call("book", {"room": "R17"}, "3"),)),
            Message("tool", '{"booking": "B9", "room": "R17"}', tool_call_id="3"),
            Message("assistant", calls=(Call("pay", {"booking": "B9", "room": "R17", "rate": 80}, "4"),)),
        ),
    )


def test_value_found_first_in_a_result_is_a_dependency() -> None:
    assert recorded_dependencies(conversation().messages) == ((0, 2), (0, 3), (1, 3), (2, 3))


def test_value_that_was_known_before_the_result_is_none() -> None:
    assert recorded_dependencies(conversation(user="Book R17 in Bonn.").messages) == ((1, 3), (2, 3))


def test_value_listed_in_the_schema_is_none() -> None:
    tool = Tool("book", "", {"type": "object", "properties": {"room": {"type": "string", "enum": ["R17"]}}})
    assert recorded_dependencies(conversation().messages, (tool,)) == ((0, 3), (1, 3), (2, 3))


@pytest.mark.parametrize(
    "order, dependencies, in_order",
    [
        (("find", "rates", "book", "pay"), 1.0, 1.0),
        (("rates", "find", "book", "pay"), 1.0, 0.0),  # independent calls may be swapped
        (("find", "book", "rates", "pay"), 1.0, 0.0),
        (("rates", "book", "find", "pay"), 0.75, 0.0),
        (("pay", "book", "rates", "find"), 0.0, 0.0),
        (("find", "rates", "pay"), 0.5, 0.0),  # edges of a missing call are not respected
    ],
)
def test_calls_of_a_recorded_conversation_are_expected_with_their_dependencies(
    order: tuple[str, ...], dependencies: float, in_order: float
) -> None:
    by_name = {call.name: call for call in conversation().calls}
    found = grade(conversation(), [by_name[name] for name in order], evaluators=["trajectory"]).metrics
    assert (found["trajectory.dependencies"], found["trajectory.in_order"]) == (dependencies, in_order)


def test_empty_conversation_has_no_dependencies() -> None:
    assert recorded_dependencies(()) == ()


@pytest.mark.parametrize("after, message", [(["x"], 'no expected call has the ID "x"'), ([0], "a call cannot come after itself")])
def test_wrong_dependency_of_a_single_call_is_refused(after: Any, message: str) -> None:
    with pytest.raises(BadInput, match=f"expected\\[0\\].after: {message}"):
        callmark.grade([{**FIND, "after": after}], [FIND])
