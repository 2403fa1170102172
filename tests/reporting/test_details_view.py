"""The details of a run in the terminal."""

from io import StringIO

from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.reporting.details_view import show_details
from callmark.reporting.terminal import make_console
from callmark.types import Call, Case, Prediction, Source
from tests.rows import tool_call
from tests.summaries import summarize


def show(grades: list[GradeRecord], headline: str = "call.score") -> str:
    details = summarize(grades).details
    assert details is not None
    stream = StringIO()
    show_details(make_console(stream), details, headline=headline)
    return "\n".join(" ".join(line.split()) for line in stream.getvalue().splitlines())


def grade(*attempts: tuple[list[Call], list[Call]], scenario_type: str = "", trials: int = 1, apart: bool = False) -> list[GradeRecord]:
    """Return the grades of these attempts, each a pair of expected and actual calls, in that many trials.

    The attempts are from one conversation or, if they are `apart`, each from its own.
    """
    grader = Grader(GradingSettings())
    found = []
    for index, (expected, actual) in enumerate(attempts):
        source = Source(f"conversation {index}" if apart else "conversation", 2 * index)
        case = Case(f"c{index}", expected=tuple(expected), source=source, scenario_type=scenario_type)
        found += grader.record(case, [Prediction(case.id, trial, tuple(actual)) for trial in range(trials)])
    return found


def test_no_grades_show_nothing() -> None:
    assert show([]) == ""


def test_every_table_has_its_numbers() -> None:
    text = show(
        grade(
            ([tool_call("f", id="a")], [tool_call("f", id="a")]),
            ([tool_call("f", id="a")], [tool_call("f", id="b")]),
            ([tool_call("g")], [tool_call("f")]),
            ([tool_call("g")], []),
            ([], [tool_call("h")]),
            ([tool_call("g")], [tool_call("g"), tool_call("g")]),
        )
    )
    for line in (
        "Distribution of call.score n",
        "p5 0 p25 0 p50 0 p75 .667 p95 1",
        "By tool n call.score",
        "g 3 .222 ████▌",
        "By position (message index) n call.score",
        "Expected tool called instead n",
        "(no call) h 1",
        "No call expected for 1 prediction, called anyway in 1",
        "Call expected for 5 predictions, no call made in 1",
        "More calls than expected in 2 predictions (2 extra)",
        "Fewer calls than expected in 1 prediction (1 missing)",
        "Calls by tool expected actual precision recall correct arguments",
        "g 3 2 .500 .333 1 of 1",
        "h 0 1 0 - 0 of 0",
        "Wrong arguments wrong value example",
        'f.id 1 expected "a", got "b" (c1)',
        "What this means",
        "schema.overall poor: tool selection or arguments are often wrong",
    ):
        assert f"{line}\n" in f"{text}\n", f"{line!r} is not in\n{text}"
    for absent in ("By scenario type", "By prompt length", "Trials", "more (--json"):
        assert absent not in text


def test_empty_tables_are_left_out() -> None:
    text = show(grade(([tool_call("f")], [tool_call("f"), tool_call("g")]), ([tool_call("g")], [tool_call("g")])))
    assert "More calls than expected in 1 prediction (1 extra)" in text
    for absent in ("Fewer calls", "call expected in", "called instead", "Wrong arguments"):
        assert absent not in text


def test_trials_show_pass_rates_and_consistency() -> None:
    text = show(grade(([tool_call("f")], [tool_call("f")]), ([tool_call("f")], [tool_call("g")]), trials=2))
    assert "Trials pass@k pass^k cases\nk = 1 .500 .500 2\nk = 2 .500 .500 2\n" in text
    assert "Same outcome in every trial for 2 of 2 cases" in text


def test_pass_rates_over_five_conversations_have_intervals() -> None:
    cases = [([tool_call("f")], [tool_call("f" if index else "g")]) for index in range(5)]
    text = show(grade(*cases, trials=2, apart=True))
    assert "k = 2 .800 [.376, .982] .800 [.376, .982] 5\n" in text


def test_long_tables_show_the_first_rows_and_count_the_rest() -> None:
    text = show(grade(*(([tool_call(f"f{index:02}", **{f"a{index}": 1})], [tool_call(f"f{index:02}")]) for index in range(25))))
    assert text.count("… and 5 more (--json has all)") == 3  # by tool, functions, arguments
    assert "f19" in text
    assert "f20" not in text


def test_names_and_values_cannot_control_the_terminal() -> None:
    evil = "[red]\x1b[2J\n" + "x" * 99
    text = show(grade(([tool_call(evil, **{evil: evil})], [tool_call(evil, **{evil: "y"})]), ([tool_call(evil)], [tool_call("f")])))
    assert "\x1b" not in text
    assert "[red]\\x1b[2J xxx" in text
    assert "x" * 60 not in text


def test_reasons_of_evaluators_are_shown_by_metric() -> None:
    explained = [
        GradeRecord(f"c{number}", metrics={"mine.score": 0.5}, reasons={"mine.score": f"half\x1b of {number}"}) for number in range(7)
    ]
    text = show(explained, headline="mine.score")
    assert "Reasons for mine.score\nc0 (.500): half\\x1b of 0\n" in text
    assert "… and 2 more (in grades.jsonl)" in text
