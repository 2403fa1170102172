"""Grading cases one after the other: the fast path gives the same records as the slow one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.grading.attempt import Attempt
from callmark.grading.evaluate import CheckedEvaluator, evaluate_all
from callmark.grading.faults import find_faults, find_notes
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord, read_grade, write_grade
from callmark.grading.settings import GradingSettings, build_evaluators
from callmark.types import Call, Case, Message, Prediction, Source, Tool
from tests.rows import tool_call

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "default": "none"},
        "count": {"type": "integer", "maximum": 3},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "string"}},
        "open": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "kind": {"type": "string", "enum": ["a", "b"]},
    },
    "required": ["text"],
}
TOOLS = (Tool("f", "", SCHEMA), Tool("calculate", "", SCHEMA), Tool("g"))
MESSAGES = (Message("user", "a text, count 2, true"), Message("assistant", "hidden"), Message("tool", '{"items": ["x", "y"]}'))

values = st.sampled_from(
    ["a", "text", "hidden", "x", "none", "", 1, 1.0, 2, 5, True, False, None, 0, ["x"], ["x", 1], [True], [1], [], {"$any": True}, {}]
)
arguments = st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), values, max_size=4)
calls = st.builds(Call, st.sampled_from(["f", "g", "calculate", "h"]), arguments) | st.just(Call("f", {}, None, "truncated JSON", "{"))


@pytest.mark.laws
@given(
    st.lists(
        st.tuples(st.lists(calls, max_size=2), st.lists(calls, max_size=2), st.booleans(), st.sampled_from([TOOLS, TOOLS[:2], ()])),
        min_size=1,
        max_size=6,
    )
)
def test_fast_path_gives_the_same_record_as_the_slow_path(rows: list[tuple[list[Call], list[Call], bool, tuple[Tool, ...]]]) -> None:
    grader = Grader(GradingSettings())
    evaluators = build_evaluators(GradingSettings()).evaluators
    grader.record(Case("primer", MESSAGES, TOOLS, expected=(tool_call("g"),)), [Prediction("primer", calls=(tool_call("g"),))])
    for index, (expected, other, same, tools) in enumerate(rows):
        actual = tuple(expected if same else other)
        case = Case(f"c{index}", MESSAGES[: 1 + index % 3], tools, expected=tuple(expected))
        (record,) = grader.record(case, [Prediction(case.id, calls=actual)])
        attempt = Attempt(case.expected, actual, tools=tools, messages=case.messages)
        assert record.metrics == evaluate_all(attempt, [CheckedEvaluator(evaluator) for evaluator in evaluators]).metrics
        assert list(record.faults) == find_faults(attempt, evaluators)
        assert list(record.notes) == find_notes(attempt)
        assert record.pairs == tuple((one.expected, one.actual, one.agrees) for one in attempt.pair().pairs)
        assert (record.expected, record.actual) == (tuple(one.name for one in expected), tuple(one.name for one in actual))


@pytest.mark.parametrize(
    "arguments",
    [{"id": 10**30}, {"id": -(10**30)}, {"id": 1e300}, {"id": "é\u2028"}, {"id": None}, {"id": {"deep": [[1]]}}],
)
def test_grade_is_read_back_as_it_was_written(arguments: dict[str, Any]) -> None:
    case = Case("c", expected=(Call("f", {"id": 1}),), source=Source("talk", 3), scenario_type="s", group="g")
    (record,) = Grader(GradingSettings()).record(case, [Prediction("c", trial=2, calls=(Call("f", arguments),))])
    again = read_grade(write_grade(record))
    assert again.faults[0].actual == arguments["id"]
    assert (again.case, again.trial, again.conversation, again.message, again.group) == ("c", 2, "talk", 3, "g")
    assert again.metrics == record.metrics


def test_missing_predictions_and_errors_have_no_metrics() -> None:
    grader = Grader(GradingSettings())
    case = Case("c", expected=(tool_call("f"),))
    assert grader.record(case, []) == [GradeRecord("c", error="no prediction", expected=("f",))]
    assert grader.record(case, [Prediction("c", error="HTTP 500")]) == [GradeRecord("c", error="HTTP 500", expected=("f",))]


def test_each_trial_has_its_grade() -> None:
    case = Case("c", expected=(tool_call("f"),))
    records = Grader(GradingSettings()).record(case, [Prediction("c", 0, (tool_call("f"),)), Prediction("c", 1, (tool_call("g"),))])
    assert [(record.trial, record.metrics["call.score"]) for record in records] == [(0, 1.0), (1, 0.0)]


def test_origin_message_is_of_the_cases_own_conversation() -> None:
    """Two conversations have the same message at different places."""
    tool, call = Message("tool", "order #W1 and #W2"), tool_call("f", id="#W2")
    grader = Grader(GradingSettings())
    for index, messages in enumerate([(tool,), (Message("assistant", "a moment"), tool)]):
        case = Case(f"c{index}", messages, (Tool("f"),), expected=(tool_call("f", id="#W1"),))
        (record,) = grader.record(case, [Prediction(case.id, calls=(call,))])
        assert (record.faults[0].origin, record.faults[0].origin_message) == ("elsewhere", index)


@pytest.mark.parametrize(
    "schema",
    [{"type": "object", "properties": {}, "required": [["a"]]}, {"type": "object", "properties": {"a": [1]}, "required": "a"}],
)
def test_broken_schema_does_not_stop_grading(schema: dict[str, Any]) -> None:
    case = Case("c", MESSAGES, (Tool("f", "", schema),), expected=(tool_call("f", a="a"),))
    for _ in range(2):
        (record,) = Grader(GradingSettings()).record(case, [Prediction("c", calls=(tool_call("f", a="a"),))])
        assert record.metrics["call.score"] == 1.0


def test_value_after_a_combining_mark_is_hallucinated() -> None:
    messages = (Message("user", "\u0345abc"),)
    grader = Grader(GradingSettings())
    for _ in range(2):
        (record,) = grader.record(
            Case("c", messages, (Tool("f"),), expected=(tool_call("f", a="abc"),)), [Prediction("c", calls=(tool_call("f", a="abc"),))]
        )
        assert [note.kind for note in record.notes] == ["hallucinated_value"]


def test_ignored_arguments_are_never_hallucinated() -> None:
    case = Case("c", (Message("user", "Book it."),), expected=(Call("book", {"note": "late", "code": "X1"}),))
    said = Prediction("c", calls=(Call("book", {"note": "late", "code": "X1"}),))
    wrong = Prediction("c", calls=(Call("book", {"note": "early", "code": "X1"}),))
    grader = Grader(GradingSettings(ungrounded=("*.note",)))
    (record,) = grader.record(case, [said])
    assert [note.argument for note in record.notes if note.kind == "hallucinated_value"] == ["code"]
    (record,) = grader.record(case, [wrong])
    assert [fault.origin for fault in record.faults] == [None]
    (record,) = Grader(GradingSettings()).record(case, [wrong])
    assert [fault.origin for fault in record.faults] == ["hallucinated"]
