"""Match rules: docs/reference/metrics.md, section 4."""

from collections import Counter
from typing import Any

import pytest

from callmark import grade
from callmark.calls.match_rules import apply_match_rules, read_match_rules
from callmark.errors import BadInput
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Prediction, Tool
from tests.rows import tool_call


def graded(rules: dict[str, Any], expected: Call, *actual: Call, tools: tuple[Tool, ...] = ()) -> GradeRecord:
    (record,) = Grader(GradingSettings(match=rules)).record(Case("c", tools=tools, expected=(expected,)), [Prediction("c", calls=actual)])
    return record


def ruled(rules: dict[str, Any], *calls: Call) -> tuple[tuple[Call, ...], dict[str, int]]:
    touched: Counter[str] = Counter()
    return apply_match_rules(read_match_rules(rules), calls, touched), dict(touched)


@pytest.mark.parametrize(
    "rules, expected, actual, score",
    [
        ({"*.note": {"$any": True}}, tool_call("f", note="a"), tool_call("f", note="b"), 1.0),
        ({"*.note": {"$any": True}}, tool_call("f", note="a"), tool_call("f"), 0.5),
        ({"f.note": {"$any": True}}, tool_call("g", note="a"), tool_call("g", note="b"), 0.5),
        ({"f.no*": {"$any": True}}, tool_call("f", note="a"), tool_call("f", note="b"), 1.0),
        (
            {"*.note": {"$text": "expected", "$ratio": 0.8}},
            tool_call("f", note="the room is cold"),
            tool_call("f", note="the room is colder"),
            1.0,
        ),
        (
            {"*.note": {"$text": "expected", "$ratio": 0.8}},
            tool_call("f", note="the room is cold"),
            tool_call("f", note="send a taxi"),
            0.5,
        ),
        ({"*.note": {"$one_of": ["expected", "none"]}}, tool_call("f", note="a"), tool_call("f", note="none"), 1.0),
        ({"*.price": {"$approx": "expected", "$abs": 1}}, tool_call("f", price=10), tool_call("f", price=10.5), 1.0),
        ({"*.note": {"$optional": "expected"}}, tool_call("f", note="a"), tool_call("f"), 1.0),
        ({"*.who": "similar"}, tool_call("f", who="Ann Lee"), tool_call("f", who="ann lee!"), 1.0),
        ({"*.who": "exact"}, tool_call("f", who="Ann Lee"), tool_call("f", who="ann lee!"), 0.5),
        # nested, by steps; an index is a step too
        ({"f.guest.name": "similar"}, tool_call("f", guest={"name": "Ann"}), tool_call("f", guest={"name": "ANN"}), 1.0),
        ({"f.name": "similar"}, tool_call("f", guest={"name": "Ann"}), tool_call("f", guest={"name": "ANN"}), 0.5),
        ({"f.items.*.note": {"$any": True}}, tool_call("f", items=[{"note": 1}]), tool_call("f", items=[{"note": 2}]), 1.0),
        # a tool name that contains dots
        ({"api.f.note": {"$any": True}}, tool_call("api.f", note="a"), tool_call("api.f", note="b"), 1.0),
        # a matcher in the expected call takes precedence
        ({"*.note": {"$any": True}}, tool_call("f", note={"$glob": "x*"}), tool_call("f", note="b"), 0.5),
        ({"*.guest": {"$any": True}}, tool_call("f", guest={"id": {"$glob": "x*"}}), tool_call("f", guest={"id": "b"}), 0.5),
        # the first rule that matches
        ({"f.note": "exact", "*.note": {"$any": True}}, tool_call("f", note="a"), tool_call("f", note="b"), 0.5),
        # a rule does not apply to a recorded value that its matcher cannot take
        ({"*.note": {"$text": "expected", "$ratio": 0}}, tool_call("f", note=5), tool_call("f", note=5), 1.0),
        ({"*.note": {"$text": "expected", "$ratio": 0}}, tool_call("f", note=5), tool_call("f", note=6), 0.5),
    ],
)
def test_rule_decides_how_an_argument_is_compared(rules: dict[str, Any], expected: Call, actual: Call, score: float) -> None:
    assert graded(rules, expected, actual).metrics["call.score"] == score


@pytest.mark.parametrize("rule", [{"$any": True}, {"$approx": "expected", "$abs": 1}, "exact", "similar"])
@pytest.mark.parametrize("arguments", [{"limit": 10}, {}])
def test_rules_skip_arguments_equivalent_to_omission(rule: Any, arguments: dict[str, Any]) -> None:
    tool = Tool("f", "", {"type": "object", "properties": {"limit": {"type": "integer", "default": 10}}})
    record = graded({"*.limit": rule}, Call("f", {"limit": 10}), Call("f", arguments), tools=(tool,))
    assert record.metrics["call.score"] == 1.0


def test_rules_apply_in_every_evaluator() -> None:
    expected = tool_call("f", note="Cold room")
    lax = graded({"*.note": {"$any": True}}, expected, tool_call("f", note="taxi")).metrics
    assert set(lax.values()) == {1.0}
    strict = graded({"*.note": "exact"}, expected, tool_call("f", note="cold room!")).metrics
    assert (strict["process.args_recall"], strict["call.score"]) == (0.0, 0.5)


def test_matched_arguments_are_counted_by_rule() -> None:
    _, touched = ruled({"*.note": {"$any": True}, "f.x": "similar"}, tool_call("f", note="a", x="b"), tool_call("g", note="c", x="d"))
    assert touched == {"*.note": 2, "f.x": 1}


def test_rules_leave_malformed_calls_unchanged() -> None:
    broken = Call("f", {}, None, "truncated JSON", "{")
    assert ruled({"*.a": "similar"}, broken) == ((broken,), {})


def test_fault_shows_the_recorded_value() -> None:
    assert graded({"*.who": "similar"}, tool_call("f", who="Ann"), tool_call("f", who="Bob")).faults[0].expected == "Ann"
    assert graded({"*.who": "similar"}, tool_call("f", who="Ann")).faults[0].expected == 'f(who="Ann")'


@pytest.mark.parametrize(
    "rules, sentence",
    [
        ({"note": "exact"}, "match: expected a pattern of the form TOOL.ARGUMENT, got 'note'"),
        ({"f.": "exact"}, "match: expected a pattern of the form TOOL.ARGUMENT, got 'f.'"),
        ({"f": {"a": "similar"}}, "match: 'f': expected a rule, got a table"),
        ({"*.note": "exat"}, "match: '*.note': expected exact, similar or a matcher, got 'exat'. Did you mean exact?"),
        ({"*.note": {"any": True}}, "expected exact, similar or a matcher, got {'any': True}"),
        ({"*.note": 5}, "expected exact, similar or a matcher, got 5"),
        ({"*.note": {"$regx": "a"}}, "match: *.note: unknown matcher '$regx'. Did you mean $regex?"),
        ({"*.note": {"$regex": "("}}, "$regex: not a valid RE2 pattern"),
        ({"*.note": {"$text": "expected"}}, "$ratio: expected a number from 0 to 1, but it is missing"),
        ({"*.note": {"$similar": "a"}}, "unknown matcher '$similar'"),
    ],
)
def test_invalid_rule_is_rejected(rules: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        read_match_rules(rules)
    assert sentence in str(error.value)


def test_files_cannot_use_the_matcher_of_rules() -> None:
    with pytest.raises(BadInput, match="unknown matcher '.similar'"):
        grade([{"name": "f", "arguments": {"a": {"$similar": "x"}}}], [])
