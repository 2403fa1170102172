"""What the grades of a run come to."""

from typing import Any

from callmark.analysis.breakdowns import NO_CALL
from callmark.analysis.summary import Estimate, FaultExample
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Message, Prediction, Source
from tests.rows import tool_call
from tests.summaries import summarize

BROKEN = Call("f", {}, None, "cut off", "{")


def graded(*attempts: tuple[list[Call], list[Call] | str], messages: tuple[Message, ...] = ()) -> list[GradeRecord]:
    """The grade of each attempt; a text is an error. Two attempts to a conversation."""
    grader = Grader(GradingSettings())
    found = []
    for index, (expected, actual) in enumerate(attempts):
        case = Case(f"c{index}", messages, expected=tuple(expected), source=Source(f"talk{index // 2}", index))
        answer = Prediction(case.id, error=actual) if isinstance(actual, str) else Prediction(case.id, calls=tuple(actual))
        found += grader.record(case, [answer])
    return found


def test_no_grades_at_all() -> None:
    summary = summarize([])
    assert (summary.cases, summary.scored, summary.errors, summary.metrics, summary.faults) == (0, 0, 0, {}, [])


def test_errors_are_counted_and_excluded() -> None:
    summary = summarize(
        graded(
            ([tool_call("f")], [tool_call("f")]),
            ([tool_call("f")], "HTTP 503"),
            ([tool_call("f")], "HTTP 503"),
            ([tool_call("f")], [tool_call("g")]),
        )
    )
    assert (summary.cases, summary.graded, summary.scored, summary.errors) == (4, 4, 2, 2)
    assert summary.error_texts == {"HTTP 503": 2}
    assert summary.metrics["call.score"].n == 2
    assert summary.metrics["call.score"].mean == 0.5
    assert [(tool.tool, tool.n) for tool in summary.tools] == [("f", 2)]


def test_correct_and_correct_tools_only() -> None:
    summary = summarize(
        graded(
            ([tool_call("f", a=1)], [tool_call("f", a=1)]),
            ([tool_call("f", a=1)], [tool_call("f", a=2)]),
            ([tool_call("f")], [BROKEN]),
            ([], []),
        )
    )
    assert (summary.correct, summary.correct_tools_only) == (2, 1)


def test_faults_are_grouped_by_tool_or_argument() -> None:
    messages = (Message("user", "cancel #W1 and not #W2"),)
    summary = summarize(
        graded(
            ([tool_call("f", id="#W1")], [tool_call("f", id="#W2")]),
            ([tool_call("g", id="#W1")], [tool_call("g", id="#W3")]),
            ([tool_call("f", id="#W1")], [tool_call("g", id="#W1")]),
            ([tool_call("f", id="#W1")], [tool_call("f")]),
            ([tool_call("f")], []),
            ([], [tool_call("h")]),
            ([tool_call("f")], [BROKEN]),
            ([tool_call("f")], [tool_call("f"), tool_call("f")]),
            messages=messages,
        )
    )
    assert {fault.kind: (fault.count, fault.examples) for fault in summary.faults} == {
        "wrong_value": (2, [FaultExample("id", 2, 1, 1)]),
        "wrong_tool": (1, [FaultExample("f → g", 1)]),
        "missing_argument": (1, [FaultExample("f.id", 1)]),
        "no_call": (1, [FaultExample("f", 1)]),
        "unexpected_call": (1, [FaultExample("h", 1)]),
        "malformed_call": (1, [FaultExample("f", 1)]),
        "repeated_call": (1, [FaultExample("f", 1)]),
    }
    assert summary.faults[0].kind == "wrong_value"  # the most frequent first


def test_expected_calls_and_abstention_count_as_tools() -> None:
    summary = summarize(
        graded(
            ([tool_call("f"), tool_call("g", a=1)], [tool_call("f"), tool_call("g", a=2)]),
            ([tool_call("g")], [tool_call("g")]),
            ([], [tool_call("f")]),
            ([], []),
        )
    )
    assert {tool.tool: (tool.n, tool.score) for tool in summary.tools} == {"f": (1, 1.0), "g": (2, 0.75), NO_CALL: (2, 0.5)}
    assert summary.tools[0].tool == NO_CALL  # the weakest first


def test_intervals_are_over_conversations() -> None:
    attempts: list[Any] = [([tool_call("f")], [tool_call("f") if index // 2 % 2 else tool_call("g")]) for index in range(40)]
    summary = summarize(graded(*attempts))
    assert summary.conversations == 20
    score: Estimate = summary.metrics["call.score"]
    assert score.low is not None
    assert score.high is not None
    assert (score.mean, score.low < 0.31, score.high > 0.69) == (0.5, True, True)  # twenty conversations, not forty cases


def test_number_of_names_is_bounded() -> None:
    summary = summarize(graded(*(([tool_call("f")], [tool_call(f"g{index}")]) for index in range(10_050))))
    assert len(summary.faults[0].examples) == 10_001
    assert sum(example.count for example in summary.faults[0].examples) == 10_050
