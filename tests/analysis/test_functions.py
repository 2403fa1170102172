"""How each function fares, and which arguments go wrong."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.analysis.breakdowns import MOST_NAMES, NO_NAME, OTHERS
from callmark.analysis.functions import LONGEST_VALUE, ArgumentExample, ArgumentSummary, FunctionSummary, FunctionTable, FunctionTally
from callmark.grading.grader import Grader
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Fault, Message, Prediction, Tool
from tests.rows import tool_call

BROKEN, NAMELESS = Call("f", {}, None, "cut off", "{"), Call("", {}, None, "no name", "{")
TOOLS = (
    Tool("f", "", {"type": "object", "properties": {"id": {"type": "string"}, "days": {"type": "integer"}}, "required": ["id"]}),
    Tool("g"),
)
CALLS = st.lists(
    st.builds(
        lambda name, arguments: Call(name, arguments),
        st.sampled_from(["f", "g", "h"]),
        st.dictionaries(st.sampled_from(["id", "days", "z"]), st.sampled_from(["a", "b", 1, 2])),
    )
    | st.sampled_from([BROKEN, NAMELESS]),
    max_size=4,
)
ATTEMPTS = st.lists(st.tuples(CALLS, CALLS | st.just("HTTP 503"), st.lists(CALLS, max_size=2)), max_size=8)


def graded(*attempts: tuple[Any, ...], text: str = "") -> list[GradeRecord]:
    """The grade of each attempt: what was expected, what was made (a text is an error), and the alternatives."""
    grader, found = Grader(GradingSettings()), []
    for index, (expected, actual, *alternatives) in enumerate(attempts):
        messages = (Message("user", text),) if text else ()
        right = tuple(tuple(calls) for calls in (alternatives[0] if alternatives else ()))
        case = Case(f"c{index}", messages, TOOLS, expected=tuple(expected), alternatives=right)
        answer = Prediction(case.id, error=actual) if isinstance(actual, str) else Prediction(case.id, calls=tuple(actual))
        found += grader.record(case, [answer])
    return found


def table_of(grades: list[GradeRecord], **how: Any) -> FunctionTable:
    tally = FunctionTally(**how)
    for grade in grades:
        tally.add(grade)
    return tally.table()


def test_no_grades_and_only_errors_give_empty_tables() -> None:
    assert table_of([]) == FunctionTable([], [])
    assert table_of(graded(([tool_call("f")], "HTTP 503"))) == FunctionTable([], [])


def test_precision_and_recall_of_each_function() -> None:
    found = table_of(
        graded(
            ([tool_call("f", id="1")], [tool_call("f", id="1")]),
            ([tool_call("f", id="1")], [tool_call("f", id="2")]),  # a pair, with another argument
            ([tool_call("f", id="1")], [tool_call("g")]),
            ([tool_call("f", id="1")], [BROKEN]),  # made, and never paired
            ([tool_call("f", id="1")], [tool_call("f", id="1"), tool_call("f", id="1")]),  # a repeated call is not free
            ([], [NAMELESS]),
            ([tool_call("g")], []),
        )
    )
    assert found.functions == [
        FunctionSummary("f", 5, 5, 3, 2, 3 / 5, 3 / 5),
        FunctionSummary("g", 1, 1, 0, 0, 0.0, 0.0),
        FunctionSummary(NO_NAME, 0, 1, 0, 0, 0.0, None),
    ]


def test_function_without_calls_has_no_precision() -> None:
    assert table_of(graded(([tool_call("f")], []))).functions == [FunctionSummary("f", 1, 0, 0, 0, None, 0.0)]


def test_alternative_that_counted_is_the_expected_list() -> None:
    found = table_of(graded(([tool_call("f")], [tool_call("g")], [[tool_call("g")]])))
    assert found.functions == [FunctionSummary("g", 1, 1, 1, 1, 1.0, 1.0)]


def test_each_argument_fault_is_counted_with_an_example() -> None:
    found = table_of(
        graded(
            ([tool_call("g"), tool_call("f", id="W1")], [tool_call("f"), tool_call("g")]),  # missing
            ([tool_call("f", id="W1", days=2)], [tool_call("f", id="W3", days="two")]),  # hallucinated; another type
            ([tool_call("f", id="W1")], [tool_call("f", id="W2")]),  # taken from elsewhere
            ([tool_call("f", id="W1")], [tool_call("f", id="W1", days=1)]),  # extra
            ([tool_call("f", id="W1")], [tool_call("f", id="W1", note=None)]),  # unknown
            text="W1 or W2",
        )
    )
    assert found.arguments == [
        ArgumentSummary("f", "id", 3, 1, 0, 0, 0, 2, 1, 1, [
            ArgumentExample("wrong_value", "c1", '"W1"', '"W3"'),
            ArgumentExample("missing_argument", "c0", '"W1"', None),
        ]),
        ArgumentSummary("f", "days", 2, 0, 1, 0, 1, 0, 0, 0, [
            ArgumentExample("wrong_type", "c1", "2", '"two"'),
            ArgumentExample("extra_argument", "c3", None, "1"),
        ]),
        ArgumentSummary("f", "note", 1, 0, 0, 1, 0, 0, 0, 0, [ArgumentExample("unknown_argument", "c4", None, "null")]),
    ]  # fmt: skip


def test_arguments_that_process_accepts_are_not_counted_as_process_does() -> None:
    grades = graded(([tool_call("f", id="W1")], [tool_call("f", id="w1!")]))  # the words are the same: `process` does not mind
    assert [one.count for one in table_of(grades).arguments] == [1]
    assert table_of(grades, process_ignore=()).arguments == []


def test_functions_of_scenarios_go_by_process() -> None:
    """Names in any case, arguments by `similar`; what is on the ignore list is in neither table."""
    grades = graded(
        ([tool_call("f", id="W1")], [tool_call("F", id="w1!")]),
        ([tool_call("f", id="W1")], [tool_call("f", id="W1.")]),  # another value by `exact`
        ([tool_call("F", id="W1")], [tool_call("f", id="W2")]),
        ([tool_call("f", id="W1")], [tool_call("f", id="W2"), tool_call("CommonPlugin-now", zone="x")]),
        ([tool_call("CommonPlugin-now", zone="x")], [tool_call("CommonPlugin-now", zone="y")]),
        ([tool_call("f")], [BROKEN]),
        ([BROKEN], [tool_call("f")]),  # ground truth that cannot be read is paired with nothing
    )
    found = table_of(grades, process_ignore=IGNORED_FUNCTIONS)
    assert found.functions == [FunctionSummary("f", 6, 6, 4, 2, 4 / 6, 4 / 6)]
    assert [(one.function, one.argument, one.count) for one in found.arguments] == [("f", "id", 1)]
    assert [one.name for one in table_of(grades, process_ignore=("F",)).functions] == ["CommonPlugin-now"]
    assert {one.name for one in table_of(grades).functions} == {"f", "F", "CommonPlugin-now"}


def test_long_value_is_cut() -> None:
    ((argument,), (example,)) = (
        found := table_of(graded(([tool_call("f", id="x" * 9000)], [tool_call("f", id="y")]))).arguments,
        found[0].examples,
    )
    assert argument.count == 1
    assert example.expected == '"' + "x" * (LONGEST_VALUE - 2) + "…"


def test_number_of_names_is_bounded_and_still_adds_up() -> None:
    many = MOST_NAMES + 7
    grades = [
        GradeRecord(
            "c",
            expected=("f",),
            actual=("f", f"h{index}"),
            pairs=((0, 0, False),),
            faults=(Fault("unknown_argument", 0, 0, f"a{index}", None, 1, ("call",)),),
        )
        for index in range(many)
    ]
    found = table_of(grades)
    assert len(found.functions) == len(found.arguments) == MOST_NAMES + 1
    assert sum(one.actual for one in found.functions) == 2 * many
    assert [(one.name, one.actual) for one in found.functions if one.name == OTHERS] == [(OTHERS, 8)]
    assert (found.arguments[0].function, found.arguments[0].argument, found.arguments[0].unknown) == ("f", OTHERS, 7)


SPELLED = st.builds(
    lambda name, arguments: Call(name, arguments),
    st.sampled_from(["f", "F", "g", "CommonPlugin-f", "commonplugin-F"]),
    st.dictionaries(st.sampled_from(["id", "z"]), st.sampled_from(["a", "A!", "b"])),
)


@pytest.mark.laws
@given(st.lists(SPELLED, max_size=4), st.lists(SPELLED | st.sampled_from([BROKEN, NAMELESS]), max_size=4))
def test_functions_of_a_scenario_agree_with_process(expected: list[Call], actual: list[Call]) -> None:
    (grade,) = graded((expected, actual))
    functions = table_of([grade], process_ignore=IGNORED_FUNCTIONS).functions
    made, expected_count, paired, right = (
        sum(getattr(one, name) for one in functions) for name in ("actual", "expected", "paired", "correct")
    )
    text = [grade.metrics[f"process.{name}"] for name in ("precision", "recall", "args_precision", "args_recall")]
    if made or expected_count:
        assert text[:2] == [paired / made if paired else 0, paired / expected_count if paired else 0]
        assert (paired > 0 and right == paired) == (text[2:] == [1, 1])


@pytest.mark.laws
@given(ATTEMPTS)
def test_functions_add_up_to_all_calls_and_arguments_to_all_faults(attempts: list[Any]) -> None:
    grades = graded(*attempts, text="a")
    scored = [grade for grade in grades if not grade.error]
    found = table_of(grades)
    assert sum(one.expected for one in found.functions) == sum(len(grade.expected) for grade in scored)
    assert sum(one.actual for one in found.functions) == sum(len(grade.actual) for grade in scored)
    assert sum(one.paired for one in found.functions) == sum(len(grade.pairs) for grade in scored)
    assert sum(one.correct for one in found.functions) == sum(right for grade in scored for _, _, right in grade.pairs)
    assert all(one.correct <= one.paired <= min(one.actual, one.expected) for one in found.functions)
    kinds = Counter(fault.kind for grade in scored for fault in grade.faults if fault.argument is not None)
    counted: Counter[str] = Counter()
    for one in found.arguments:
        ways = {
            "missing_argument": one.missing,
            "extra_argument": one.extra,
            "unknown_argument": one.unknown,
            "wrong_type": one.wrong_type,
            "wrong_value": one.wrong_value,
        }
        assert one.count == sum(ways.values())
        assert {example.kind for example in one.examples} == {kind for kind, count in ways.items() if count}
        assert one.hallucinated + one.elsewhere <= one.wrong_value
        counted.update(ways)
    assert +counted == kinds
