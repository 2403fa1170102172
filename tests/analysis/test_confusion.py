"""Which tool was called instead of which; too many calls and too few."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.analysis.breakdowns import MOST_NAMES, NO_CALL, NO_NAME, OTHERS
from callmark.analysis.confusion import UNKNOWN_TOOL, CallCounts, Confusion, ConfusionCell, ConfusionTally
from callmark.grading.grader import Grader
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Prediction, Tool
from tests.rows import tool_call

DEFAULT = GradingSettings()
TOOLS = (Tool("f"), Tool("g"), Tool("h"))
F, G, H, GHOST = tool_call("f"), tool_call("g"), tool_call("h"), tool_call("ghost")
BROKEN_F, NAMELESS = Call("f", {}, None, "cut off", "{"), Call("", {}, None, "no name", "{")
CALLS = st.lists(st.sampled_from([F, G, H, GHOST, tool_call("f", a=1), BROKEN_F, NAMELESS]), max_size=4)


def graded(
    expected: list[Call],
    actual: list[Call] | str,
    *,
    tools: tuple[Tool, ...] = TOOLS,
    instructions: str = "",
    settings: GradingSettings = DEFAULT,
) -> GradeRecord:
    """The grade of this; a text is an error."""
    case = Case("c", tools=tools, expected=tuple(expected), instructions=instructions)
    answer = Prediction("c", error=actual) if isinstance(actual, str) else Prediction("c", calls=tuple(actual))
    (grade,) = Grader(settings).record(case, [answer])
    return grade


def confusion_of(*grades: GradeRecord, process_ignore: tuple[str, ...] | None = None) -> Confusion:
    tally = ConfusionTally(process_ignore=process_ignore)
    for grade in grades:
        tally.add(grade)
    return tally.confusion()


def test_no_grades_and_only_errors_give_no_cell() -> None:
    for found in (confusion_of(), confusion_of(graded([F], "HTTP 503"))):
        assert found == Confusion([], CallCounts(0, 0, 0, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    "expected, actual, cell",
    [
        ([F], [F], ("f", "f")),
        ([F], [tool_call("f", a=1)], ("f", "f")),  # arguments are no matter of tools
        ([F], [G], ("f", "g")),
        ([F], [], ("f", NO_CALL)),
        ([], [], (NO_CALL, NO_CALL)),
        ([], [G, F], (NO_CALL, "g")),
        ([], [NAMELESS], (NO_CALL, NO_NAME)),
        ([F], [GHOST], ("f", UNKNOWN_TOOL)),
        ([F], [BROKEN_F], ("f", "f")),
        ([G], [BROKEN_F], ("g", "f")),
        ([F], [NAMELESS], ("f", NO_NAME)),
        ([F], [F, G], ("f", "f")),  # the extra one is over-calling
        ([F], [F, F], ("f", "f")),
        ([F, G], [F, G], ("f", "f")),
        ([F, G], [F, H], ("g", "h")),
        ([F, G], [tool_call("f", a=1), H], ("g", "h")),
        ([F, G], [F], ("g", NO_CALL)),
        ([F, F], [F], ("f", NO_CALL)),
        ([F, G, H], [H], ("f", NO_CALL)),
        ([F, G], [GHOST, F], ("g", UNKNOWN_TOOL)),
        ([G, H], [F, Call("h", {}, None, "cut off", "{")], ("g", "f")),  # the malformed call's fault stands before, and is of the second
    ],
)
def test_case_is_in_the_cell_of_its_first_wrong_call(expected: list[Call], actual: list[Call], cell: tuple[str, str]) -> None:
    assert confusion_of(graded(expected, actual)).cells == [ConfusionCell(*cell, 1)]


NOW = tool_call("CommonPlugin-now")


@pytest.mark.parametrize(
    "expected, actual, cell",
    [
        ([F], [tool_call("F")], ("f", "f")),
        ([F], [NOW], ("f", NO_CALL)),
        ([NOW], [F], (NO_CALL, "f")),
        ([NOW], [NOW], (NO_CALL, NO_CALL)),
        ([NOW, F, G], [NOW, F, H], ("g", NO_CALL)),  # nothing is called instead of something else
        ([NOW, F], [F, GHOST], ("f", "f")),
        ([F], [NOW, GHOST], ("f", NO_CALL)),
        ([F], [G, NOW], ("f", NO_CALL)),
        ([F, G], [NOW, tool_call("F")], ("g", NO_CALL)),
        ([G, F], [H, BROKEN_F], ("g", NO_CALL)),
        ([F, G], [G, BROKEN_F], ("f", "f")),
        ([F], [NAMELESS], ("f", NO_CALL)),
    ],
)
@pytest.mark.parametrize("evaluators", [("process",), ("call", "process")])
def test_scenarios_are_counted_as_process_counts_them(
    expected: list[Call], actual: list[Call], cell: tuple[str, str], evaluators: tuple[str, ...]
) -> None:
    grade = graded(expected, actual, instructions="Do it.", settings=GradingSettings(evaluators))
    assert confusion_of(grade, process_ignore=IGNORED_FUNCTIONS).cells == [ConfusionCell(*cell, 1)]


@pytest.mark.parametrize(
    "expected, actual, cell",
    [
        ([NOW, F, G], [NOW, F, H], ("g", "h")),
        ([F], [NOW, GHOST], ("f", UNKNOWN_TOOL)),
        ([F], [G, NOW], ("f", "g")),
        ([F], [NOW], ("f", NO_CALL)),
        ([NOW], [F], (NO_CALL, "f")),
    ],
)
def test_ignored_functions_are_not_called_instead_of_another(expected: list[Call], actual: list[Call], cell: tuple[str, str]) -> None:
    grade = graded(expected, actual, settings=GradingSettings(("process",)))
    assert confusion_of(grade, process_ignore=IGNORED_FUNCTIONS).cells == [ConfusionCell(*cell, 1)]


def test_ignored_functions_are_not_extra_calls_in_scenarios() -> None:
    grades = [graded([F], [F, NOW]), graded([NOW, F], [F]), graded([NOW], []), graded([], [NOW])]
    assert confusion_of(*grades, process_ignore=IGNORED_FUNCTIONS).call_counts == CallCounts(
        0, 0, 0, 0, no_call_expected=2, called_anyway=0, call_expected=2, called_nothing=0
    )
    assert confusion_of(*grades, process_ignore=()).call_counts.extra_calls == 2
    assert confusion_of(*grades).call_counts.extra_calls == 2


def test_tool_is_unknown_where_the_case_lacks_it() -> None:
    assert confusion_of(graded([F], [G], tools=(Tool("f"),)), graded([F], [G])).cells == [
        ConfusionCell("f", UNKNOWN_TOOL, 1),
        ConfusionCell("f", "g", 1),
    ]
    assert confusion_of(graded([F], [GHOST], tools=())).cells == [ConfusionCell("f", "ghost", 1)]  # where no tool is known, none is unknown


def test_most_confused_cells_are_off_the_diagonal() -> None:
    found = confusion_of(*[graded([F], [F])] * 4, *[graded([F], [G])] * 2, *[graded([G], [])] * 3, graded([], [H]), graded([], []))
    assert found.most_confused(2) == [ConfusionCell("g", NO_CALL, 3), ConfusionCell("f", "g", 2)]
    assert found.most_confused(9)[2:] == [ConfusionCell(NO_CALL, "h", 1)]


def test_extra_and_missing_calls_are_counted() -> None:
    found = confusion_of(
        graded([F], [F]),
        graded([F], [G]),  # another tool is neither more nor less
        graded([F], [F, G, H]),  # 2 too many
        graded([F], [BROKEN_F, F]),  # 1 too many: a malformed call is a call
        graded([F, G, H], []),  # 3 too few, and none where one was due
        graded([F, G], [F]),  # 1 too few
        graded([], [F, G]),  # 2 too many, where none was due
        graded([], []),
        graded([F], "HTTP 503"),
    )
    assert found.call_counts == CallCounts(
        cases_with_extra_calls=3,
        cases_with_missing_calls=2,
        extra_calls=5,
        missing_calls=4,
        no_call_expected=2,
        called_anyway=1,
        call_expected=6,
        called_nothing=1,
    )


def test_number_of_names_is_bounded_and_the_diagonal_stays() -> None:
    faults = graded([F], [G]).faults
    wrong = [GradeRecord("c", expected=("f",), actual=(f"g{index}",), faults=faults) for index in range(MOST_NAMES + 5)]
    right = [GradeRecord("c", expected=(f"h{index}",), actual=(f"h{index}",)) for index in range(MOST_NAMES + 5)]
    found = confusion_of(*wrong, *right)
    assert sum(cell.count for cell in found.cells) == 2 * MOST_NAMES + 10
    assert len(found.cells) <= 2 * MOST_NAMES + 2
    assert sum(cell.count for cell in found.cells if cell.expected == cell.actual) == MOST_NAMES + 5
    assert ConfusionCell("f", OTHERS, 5) in found.cells
    assert ConfusionCell(OTHERS, OTHERS, 6) in found.cells


@pytest.mark.laws
@given(st.lists(st.tuples(CALLS, CALLS | st.just("HTTP 503")), max_size=10))
def test_cells_of_scenarios_add_up_to_the_scored_cases(attempts: list[tuple[list[Call], list[Call] | str]]) -> None:
    settings = GradingSettings(("process",), {"process": {"ignore": ["g", "ghost"]}})
    grades = [graded(expected, actual, instructions="Do it.", settings=settings) for expected, actual in attempts]
    found = confusion_of(*grades, process_ignore=("g", "ghost"))
    assert (
        sum(cell.count for cell in found.cells)
        == found.call_counts.call_expected + found.call_counts.no_call_expected
        == sum(not grade.error for grade in grades)
    )
    assert {"g", "ghost"}.isdisjoint(name for cell in found.cells for name in (cell.expected, cell.actual))


@pytest.mark.laws
@given(st.lists(st.tuples(CALLS, CALLS | st.just("HTTP 503")), max_size=10))
def test_cells_add_up_to_the_scored_cases(attempts: list[tuple[list[Call], list[Call] | str]]) -> None:
    grades = [graded(expected, actual) for expected, actual in attempts]
    found = confusion_of(*grades)
    scored = [grade for grade in grades if not grade.error]
    assert sum(cell.count for cell in found.cells) == len(scored)
    assert len({(cell.expected, cell.actual) for cell in found.cells}) == len(found.cells)
    counts = found.call_counts
    assert counts.call_expected + counts.no_call_expected == len(scored)
    assert counts.extra_calls - counts.missing_calls == sum(len(grade.actual) - len(grade.expected) for grade in scored)
    assert counts.called_nothing == sum(cell.count for cell in found.cells if cell.actual == NO_CALL != cell.expected) - _missing_only(
        scored
    )


def _missing_only(grades: list[GradeRecord]) -> int:
    """The cases with calls made whose first wrong one is missing."""
    return sum(grade.actual != () and _first_kind(grade) == "missing_call" for grade in grades)


def _first_kind(grade: GradeRecord) -> str:
    whole = [(fault.expected_index, fault.kind) for fault in grade.faults if fault.argument is None and fault.expected_index is not None]
    return min(whole)[1] if whole else ""
