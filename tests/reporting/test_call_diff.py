"""The diff of expected and actual calls, as `assert_calls` and the tests of the pytest plugin show it."""

from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Call, Case, Message

ORDER = {"name": "order", "arguments": {"item": "tea", "count": 2, "note": {"$optional": "x"}}}


def difference(actual: Any, expected: Any, **more: Any) -> str:
    with pytest.raises(AssertionError) as error:
        callmark.assert_calls(actual, expected, **more)
    return str(error.value)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize(
    "actual, expected, lines",
    [
        ([call("order", item="tea", count=3)], [ORDER], ['  order(', '      item="tea",', "-     count=2,", "+     count=3,", "  )"]),
        ([call("order", item="tea")], [ORDER], ['  order(', '      item="tea",', "-     count=2,", "  )"]),
        ([call("order", item="tea", count=2, x=[1])], [ORDER], ['  order(', '      item="tea",', "      count=2,", "+     x=[1],", "  )"]),
        ([call("f"), call("g", a=1)], [call("f"), call("h", a=1)], ["  f()", "- h(a=1)", "+ g(a=1)"]),
        ([], [call("f"), call("g")], ["- f()", "- g()"]),
        ([call("f")], [], ["+ f()"]),
        ([call("f"), call("f")], [call("f")], ["  f()", "+ f()"]),
        ([call("f", **{"a.b": 1, "c": {"d": [1]}})], [call("f", **{"a.b": 2, "c": {"d": [2]}})],
         ["  f(", "-     a.b=2,", "+     a.b=1,", '-     c={"d":[2]},', '+     c={"d":[1]},', "  )"]),
        ([call("f", id="TKT-1")], [call("f", id={"$glob": "X-*", "$case": False})], ["  f(", "-     id=X-*,", '+     id="TKT-1",', "  )"]),
        ([call("f", a="x\n\x1b[2J")], [call("f", a="y")], ["  f(", '-     a="y",', '+     a="x\\n\\u001b[2J",', "  )"]),
    ],
)  # fmt: skip
def test_diff_shows_arguments_that_differ(actual: Any, expected: Any, lines: list[str]) -> None:
    text = difference(actual, expected)
    assert text.split("\n\n")[1].splitlines() == ["- expected  + actual", *lines]


@pytest.mark.parametrize(
    "actual, expected",
    [
        ([], []),
        ([call("order", item="tea", count=2)], [ORDER]),
        ([call("b"), call("a")], [call("a"), call("b")]),  # in any order
        ({"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}, [call("a")]),
        ('<tool_call>{"name": "a", "arguments": {}}</tool_call>', [call("a")]),
        ("Hello", []),
    ],
)
def test_expected_calls_pass(actual: Any, expected: Any) -> None:
    callmark.assert_calls(actual, expected)


def test_first_line_is_the_first_problem_and_all_are_listed() -> None:
    text = difference([call("order", item="coffee", count=3)], [ORDER])
    assert text.splitlines()[0] == 'order: item: expected "tea", got "coffee" (and 1 more)'
    assert text.endswith('\n\n* order: item: expected "tea", got "coffee"\n* order: count: expected 2, got 3')


def test_reply_without_a_call_is_shown() -> None:
    assert difference({"content": "Which one?"}, [call("f")]).endswith('\n\nreply: "Which one?"')
    assert len(difference("x" * 10_000, [call("f")])) < 500


def test_case_has_its_own_tools_messages_and_alternatives() -> None:
    case = Case("c", (Message("user", "For Ann"),), expected=(Call("f", {"guest": "Ann"}),), alternatives=((Call("g"),),))
    callmark.assert_calls([call("g")], case)
    assert difference([call("f", guest="Bob")], case).startswith('f: guest: expected "Ann", got "Bob" (hallucinated)\n')


def test_text_cannot_make_a_command_of_a_ci_log() -> None:
    assert not [line for line in difference([call("::error::x")], [call("::error::y")]).splitlines() if line.startswith("::")]


def test_input_that_is_not_calls_is_refused() -> None:
    with pytest.raises(BadInput):
        callmark.assert_calls(5, [call("f")])
