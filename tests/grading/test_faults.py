"""Faults and notes: docs/reference/metrics.md, section 9."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark import grade
from callmark.grading.grade import fault_sentence
from callmark.types import Call, Conversation, Message
from tests.rows import tool_call

TOOL = {
    "name": "f",
    "parameters": {
        "type": "object",
        "properties": {"id": {"type": "string"}, "n": {"type": "integer"}, "color": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["id"],
    },
}
OTHER = {"name": "g", "parameters": {}}
TOOLS = [TOOL, OTHER]
BROKEN = Call("f", {}, None, "truncated JSON", "{")

FaultSummaries = list[tuple[str, str | None, tuple[str, ...]]]


def fault_summaries(expected: list[Call], actual: list[Call], **options: Any) -> FaultSummaries:
    return [(fault.kind, fault.argument, fault.evaluators) for fault in grade(expected, actual, tools=TOOLS, **options).faults]


ALL = ("call", "schema", "process")


@pytest.mark.parametrize(
    "expected, actual, found",
    [
        ([tool_call("f", id="1")], [tool_call("f", id="1")], []),
        ([], [], []),
        ([tool_call("f", id="1")], [BROKEN], [("malformed_call", None, ALL)]),
        ([tool_call("f", id="1")], [tool_call("h")], [("unknown_tool", None, ALL)]),
        ([tool_call("f", id="1")], [tool_call("g")], [("wrong_tool", None, ALL)]),
        ([tool_call("f", id="1")], [tool_call("F", id="1")], [("unknown_tool", None, ("call", "schema"))]),
        ([tool_call("f", id="1")], [], [("no_call", None, ALL)]),
        ([], [tool_call("f", id="1")], [("unexpected_call", None, ALL)]),
        ([tool_call("f", id="1"), tool_call("g")], [tool_call("f", id="1")], [("missing_call", None, ALL)]),
        ([tool_call("f", id="1")], [tool_call("f", id="1"), tool_call("g")], [("extra_call", None, ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("g"), tool_call("f", id="1")], [("extra_call", None, ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("f", id="1"), tool_call("f", id=" 1")], [("repeated_call", None, ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("f", id="1"), tool_call("f", id="2")], [("extra_call", None, ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("f", id="1"), BROKEN], [("malformed_call", None, ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("f")], [("missing_argument", "id", ALL)]),
        ([tool_call("f", id="1", n=2)], [tool_call("f", id="1")], [("missing_argument", "n", ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("f", id="1", n=2)], [("extra_argument", "n", ("call", "process"))]),
        ([tool_call("f", id="1")], [tool_call("f", id="1", n="x")], [("extra_argument", "n", ALL)]),
        ([tool_call("f", id="1")], [tool_call("f", id="1", z=2)], [("unknown_argument", "z", ("call", "process"))]),
        ([tool_call("f", id="1", n=2)], [tool_call("f", id="1", n="two")], [("wrong_type", "n", ALL)]),
        ([tool_call("f", id="1")], [tool_call("f", id="2")], [("wrong_value", "id", ("call", "process"))]),
        ([tool_call("f", id="Hello")], [tool_call("f", id="hello!")], [("wrong_value", "id", ("call",))]),
        ([tool_call("g"), tool_call("f", id="1")], [BROKEN], [("malformed_call", None, ALL), ("missing_call", None, ALL)]),
        (
            [tool_call("f", id="1"), tool_call("g")],
            [tool_call("h"), tool_call("h")],
            [("unknown_tool", None, ALL), ("unknown_tool", None, ALL)],
        ),
        (
            [tool_call("f", id="1", n=2)],
            [tool_call("f", id="2", z=1)],
            [
                ("missing_argument", "n", ("call", "process")),
                ("unknown_argument", "z", ("call", "process")),
                ("wrong_value", "id", ("call", "process")),
            ],
        ),
    ],
)
def test_faults(expected: list[Call], actual: list[Call], found: FaultSummaries) -> None:
    assert fault_summaries(expected, actual) == found


def test_malformed_call_uses_up_the_expected_call_of_its_name() -> None:
    faults = grade([tool_call("g"), tool_call("f", id="1")], [BROKEN], tools=TOOLS).faults
    assert [(fault.kind, fault.expected_index) for fault in faults] == [("malformed_call", 1), ("missing_call", 0)]


TALK = [
    Message("user", "my order is #W1, not #W2"),
    Message("assistant", "was it #W9?"),
    Message("tool", '{"other": "#W3"}'),
]


@pytest.mark.parametrize(
    "value, origin, message",
    [("#W2", "elsewhere", 0), ("#W3", "elsewhere", 2), ("#W9", "hallucinated", None), ("#W7", "hallucinated", None)],
)
def test_wrong_value_has_its_origin(value: str, origin: str, message: int | None) -> None:
    (fault,) = grade([tool_call("f", id="#W1")], [tool_call("f", id=value)], tools=TOOLS, messages=TALK).faults
    assert (fault.expected, fault.actual, fault.origin, fault.origin_message) == ("#W1", value, origin, message)


@pytest.mark.parametrize(
    "expected, actual, origin",
    [
        ("#W7868134", "W7868134", "format"),
        ("Mia", "MIA", "format"),
        ("555-0199", "(555) 0199", "format"),
        ("5.0", "5", "format"),
        ("007", "7", "format"),
        ("12345678901234567", "12345678901234568", None),
        ("a-1", "a1", "format"),
        ("#1", "#-1", None),
        ("!", "?", None),
        ("-5", "5", None),
        ("1-2", "12", None),
        ("Mia", "Mio", None),
        ("Straße", "STRASSE", "format"),
        ("订单", "订单。", "format"),
        ({"$glob": "W*"}, "#w", None),
        (["a b"], ["a-b"], None),
    ],
)
def test_wrong_value_in_another_format(expected: Any, actual: Any, origin: str | None) -> None:
    (fault,) = grade([tool_call("f", id=expected)], [tool_call("f", id=actual)]).faults
    assert (fault.kind, fault.origin) == ("wrong_value", origin)


def test_format_comes_before_elsewhere_and_is_in_the_sentence() -> None:
    (fault,) = grade([tool_call("f", id="#W2")], [tool_call("f", id="w2")], messages=[Message("user", "w2")]).faults
    assert fault.origin == "format"
    assert fault_sentence(fault) == 'id: expected "#W2", got "w2" (different format)'


def test_a_type_that_the_schema_does_not_admit_is_a_wrong_type() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]
    (fault,) = grade([tool_call("f", n=2)], [tool_call("f", n="2")], tools=tools).faults
    assert (fault.kind, fault.expected, fault.actual) == ("wrong_type", 2, "2")


def test_value_that_needs_no_source_has_no_origin() -> None:
    (listed,) = grade([tool_call("f", id="#W1", color="red")], [tool_call("f", id="#W1", color="blue")], tools=TOOLS, messages=TALK).faults
    (derived,) = grade([tool_call("calculate", e="1")], [tool_call("calculate", e="2")], messages=TALK).faults
    (unknown,) = grade([tool_call("f", id="#W1")], [tool_call("f", id="#W7")], tools=TOOLS).faults
    assert [fault.origin for fault in (listed, derived, unknown)] == [None, None, None]


def test_messages_may_be_plain_dictionaries() -> None:
    (fault,) = grade([tool_call("f", id="#W1")], [tool_call("f", id="#W2")], messages=[{"role": "user", "content": "#W2"}]).faults
    assert fault.origin == "elsewhere"


def test_notes_do_not_affect_scores() -> None:
    graded = grade([tool_call("f", id="1"), tool_call("g")], [tool_call("g"), tool_call("f", id="1")], tools=TOOLS, messages=TALK)
    assert set(graded.metrics.values()) == {1.0}
    assert graded.faults == []
    assert [(note.kind, note.sentence) for note in graded.notes] == [
        ("wrong_order", "the calls were made in a different order than expected"),
        ("hallucinated_value", 'id="1" does not appear earlier in the conversation (hallucinated)'),
    ]
    (note,) = grade([tool_call("f", id="#W1", color="green")], [tool_call("f", id="#W1", color="green")], tools=TOOLS).notes
    assert (note.kind, note.argument) == ("schema_violation", "color")


@pytest.mark.parametrize(
    "expected, actual, sentences",
    [
        ([tool_call("f", id="1")], [BROKEN], ['malformed call f({); expected f(id="1")']),
        (
            [tool_call("g")],
            [tool_call("g"), Call("f", {}, None, "truncated JSON", '{"name": "f", "arg')],
            ['malformed call {"name": "f", "arg'],
        ),
        ([tool_call("f", id="1")], [tool_call("h")], ['expected f(id="1"), got h(), which is not one of the available tools']),
        ([tool_call("f", id="1")], [tool_call("g")], ['expected f(id="1"), got g()']),
        ([tool_call("f", id="1"), tool_call("g")], [tool_call("f", id="1")], ["expected g(), which was not called"]),
        ([tool_call("f", id="1")], [], ['expected f(id="1"), got no call']),
        ([tool_call("g")], [tool_call("g"), tool_call("f", id="1")], ['got f(id="1"), which was not expected']),
        ([tool_call("g")], [tool_call("g"), tool_call("g")], ["got g() again"]),
        ([], [tool_call("g")], ["expected no call, got g()"]),
        ([tool_call("f", id="1")], [tool_call("f")], ['id: expected "1", but it is missing']),
        ([tool_call("f", id="1")], [tool_call("f", id="1", n=2)], ["n: not expected, got 2"]),
        ([tool_call("f", id="1")], [tool_call("f", id="1", z=2)], ["z: not a parameter of f, got 2"]),
        ([tool_call("f", id="1")], [tool_call("f", id=1.5)], ['id: expected "1", got 1.5 (wrong type)']),
        ([tool_call("f", id="#W1", color="red")], [tool_call("f", id="#W1", color="blue")], ['color: expected "red", got "blue"']),
        ([tool_call("f", id="#W1")], [tool_call("f", id="#W2")], ['id: expected "#W1", got "#W2" (from message 0)']),
        ([tool_call("f", id="#W1")], [tool_call("f", id="#W7")], ['id: expected "#W1", got "#W7" (hallucinated)']),
    ],
)
def test_fault_sentences(expected: list[Call], actual: list[Call], sentences: list[str]) -> None:
    faults = grade(expected, actual, tools=TOOLS, messages=TALK).faults
    assert [fault_sentence(fault, "f") for fault in faults] == sentences


def test_unknown_argument_without_the_name_of_the_tool() -> None:
    (fault,) = grade([tool_call("f", id="1")], [tool_call("f", id="1", z=2)], tools=TOOLS).faults
    assert fault_sentence(fault) == "z: not a parameter, got 2"


def test_globs_of_scenarios_are_shown_as_written() -> None:
    expected = [{"functionName": "create_ticket", "arguments": {"id": "TKT-*"}}]
    (wrong,) = grade(expected, [tool_call("create_ticket", id="X-1")]).faults
    assert fault_sentence(wrong) == 'id: expected TKT-*, got "X-1"'
    (missing,) = grade(expected, []).faults
    assert fault_sentence(missing) == "expected create_ticket(id=TKT-*), got no call"


F1, G1 = tool_call("f", id="1"), tool_call("g")


@pytest.mark.parametrize(
    "expected, actual, found",
    [
        ([F1], [], [("missing_call", None, ("call", "process"))]),
        ([], [F1], [("extra_call", None, ("call", "process"))]),
        ([], [tool_call("h")], [("unknown_tool", None, ("call", "process"))]),
        ([F1], [G1], [("missing_call", None, ("call", "process")), ("extra_call", None, ("call", "process"))]),
        ([F1], [tool_call("h")], [("missing_call", None, ("call", "process")), ("unknown_tool", None, ("call", "process"))]),
        ([F1], [F1, F1], [("repeated_call", None, ("call", "process"))]),
        ([F1], [BROKEN], [("malformed_call", None, ("call", "process"))]),
        ([G1], [BROKEN], [("malformed_call", None, ("call", "process")), ("missing_call", None, ("call", "process"))]),
        ([F1], [tool_call("F", id="1")], [("missing_call", None, ("call",)), ("unknown_tool", None, ("call",))]),
        ([F1], [tool_call("F", id="2")], [("missing_call", None, ("call", "process")), ("unknown_tool", None, ("call", "process"))]),
        ([tool_call("ask_clarification")], [G1], [("missing_call", None, ("call",)), ("extra_call", None, ("call", "process"))]),
        ([F1], [F1], []),
        ([], [], []),
    ],
)
def test_unpaired_calls_of_a_whole_conversation_are_missing_and_extra(
    expected: list[Call], actual: list[Call], found: FaultSummaries
) -> None:
    conversation = Conversation("c", (Message("assistant", "", tuple(expected)),))
    result = grade(conversation, actual, tools=TOOLS, evaluators=["call", "process"])
    assert [(fault.kind, fault.argument, fault.evaluators) for fault in result.faults] == found
    assert bool(found) == (result.metrics["call.score"] < 1)
    assert any("process" in fault.evaluators for fault in result.faults) == (result.metrics["process.reliability"] < 1)
    assert not any("instead" in fault_sentence(fault) or "None" in fault_sentence(fault) for fault in result.faults)


ASK, NOW = tool_call("ask_clarification"), tool_call("CommonPlugin-now")


@pytest.mark.parametrize(
    "evaluators, expected, actual, found",
    [
        (["process"], [F1], [tool_call("f", id=" 1.")], []),  # equal by `similar`
        (["call", "process"], [F1], [tool_call("f", id=" 1.")], [("wrong_value", "id", ("call",))]),
        (["schema"], [F1], [tool_call("f", id="2")], []),
        (["schema"], [F1], [F1, G1], []),
        (["process"], [F1], [F1, NOW], []),
        (["call", "process"], [F1], [F1, NOW], [("extra_call", None, ("call",))]),
        (["process"], [ASK], [G1], [("unexpected_call", None, ("process",))]),  # after the ignore list, nothing is expected
        (["process"], [G1], [ASK], [("no_call", None, ("process",))]),
        (["process"], [ASK, G1], [NOW, F1], [("wrong_tool", None, ("process",))]),
        (["call", "process"], [G1], [ASK], [("unknown_tool", None, ("call", "process"))]),
        (["state"], [F1], [G1], []),
        (["decision"], [F1], [], []),
    ],
)
def test_only_faults_that_an_evaluator_counts_after_its_ignore_list_are_recorded(
    evaluators: list[str], expected: list[Call], actual: list[Call], found: FaultSummaries
) -> None:
    assert fault_summaries(expected, actual, evaluators=evaluators) == found


CALLS = st.lists(st.sampled_from([F1, tool_call("f", id="2"), tool_call("F", id="1"), G1, tool_call("h"), NOW, BROKEN]), max_size=4)


@pytest.mark.laws
@given(CALLS.map(lambda calls: [call for call in calls if call is not BROKEN]), CALLS, st.booleans())
def test_there_is_a_fault_exactly_when_the_call_score_is_below_one(expected: list[Call], actual: list[Call], whole: bool) -> None:
    given_calls = Conversation("c", (Message("assistant", "", tuple(expected)),)) if whole else expected
    for evaluators in (["call"], ["call", "schema", "process"]):
        result = grade(given_calls, actual, tools=TOOLS, evaluators=evaluators)
        assert bool(result.faults) == (result.metrics["call.score"] < 1)
        assert all(fault.evaluators for fault in result.faults)
