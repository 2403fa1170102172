"""A graded run in the terminal: the headline first, faults with examples, weakest tools, what to do next."""

from io import StringIO

from rich.console import Console

from callmark.analysis.numbers import format_interval
from callmark.analysis.summary import FaultExample, FaultSummary, Summary, ToolSummary, UsageSummary
from callmark.grading.grader import Grader
from callmark.grading.settings import DEFAULT_EVALUATORS, GradingSettings
from callmark.reporting.grade_view import show_summary
from callmark.reporting.run_notices import show_next, usage_line
from callmark.reporting.terminal import make_console
from callmark.types import Call, Case, Prediction
from tests.rows import tool_call
from tests.summaries import METRICS, summarize


def terminal(width: int) -> Console:
    return Console(file=StringIO(), width=width, force_terminal=True, color_system=None, markup=False, highlight=False)


def printed(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def graded(*attempts: tuple[list[Call], list[Call]], evaluators: tuple[str, ...] = DEFAULT_EVALUATORS) -> Summary:
    grader = Grader(GradingSettings(evaluators))
    cases = [(Case(f"c{index}", expected=tuple(expected)), actual) for index, (expected, actual) in enumerate(attempts)]
    return summarize([record for case, actual in cases for record in grader.record(case, [Prediction(case.id, 0, tuple(actual))])])


def show(summary: Summary, console: Console | None = None) -> str:
    console = console or make_console(StringIO())
    show_summary(console, summary, METRICS, scenarios=False)
    return printed(console)


def faulty(*faults: FaultSummary, tools: tuple[ToolSummary, ...] = ()) -> Summary:
    """Return a summary with nothing but faults and tools."""
    return Summary(9, 9, 9, 0, 9, 0, 0, {}, list(faults), list(tools), {}, {})


RIGHT, WRONG_VALUE, WRONG_TOOL = (
    ([tool_call("f", id="a")], [tool_call("f", id="a")]),
    ([tool_call("f", id="a")], [tool_call("f", id="b")]),
    ([tool_call("f", id="a")], [tool_call("g", id="a")]),
)


def test_headline_says_how_many_are_correct_partly_correct_and_wrong() -> None:
    summary = graded(RIGHT, RIGHT, RIGHT, WRONG_VALUE, WRONG_VALUE, WRONG_TOOL)
    score = summary.metrics["call.score"]
    headline = " ".join(show(summary).splitlines()[1].split())
    counts = "3 correct · 2 right tool, wrong arguments · 1 wrong"
    assert headline == f"call.score .667 {format_interval(score.low, score.high)} {counts}"


def test_metrics_of_an_evaluator_are_on_one_line() -> None:
    lines = [" ".join(line.split()) for line in show(graded(RIGHT, WRONG_TOOL)).splitlines()]
    assert any(line.startswith("schema tool selection .500 · parameters ") and line.endswith(")") for line in lines)


def test_faults_name_what_was_expected_and_where_wrong_values_came_from() -> None:
    text = show(
        faulty(
            FaultSummary("wrong_tool", 106, [FaultExample("get_user_details → get_order_details", 41), FaultExample("f → g", 2)]),
            FaultSummary("wrong_value", 71, [FaultExample("order_id", 38, hallucinated=31, elsewhere=2, format=5)]),
            FaultSummary("no_call", 1, [FaultExample("f", 1)]),
        )
    )
    assert (
        "\n  Top faults\n    wrong tool      106   expected get_user_details, got get_order_details (41×) · expected f, got g (2×)\n"
        in text
    )
    assert "    wrong value      71   order_id (38×: 31 hallucinated, 5 format, 2 from elsewhere in the conversation)\n" in text
    assert "    no call           1   f (1×)\n" in text


def test_examples_fit_the_line() -> None:
    names = ("exchange_delivered_order_items", "modify_pending_order_payment")
    examples = [FaultExample(" → ".join(names), 4), FaultExample(" → ".join(names[::-1]), 3)]
    text = show(faulty(FaultSummary("wrong_tool", 7, examples)), terminal(80))
    assert "expected exchange…r_items, got modify_p…payment (4×) …\n" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_only_tools_with_five_cases_are_ranked() -> None:
    tools = (ToolSummary("rare", 4, 0.0), ToolSummary("often", 5, 0.5), ToolSummary("fine", 9, 1.0))
    text = show(faulty(tools=tools))
    assert "  Weakest tools  n  score" in text
    assert "often" in text
    assert "rare" not in text
    assert "fine" not in text


def test_weakest_tools_are_left_out_if_none_has_five_cases() -> None:
    assert "Weakest tools" not in show(faulty(tools=(ToolSummary("rare", 4, 0.0),)))


def test_long_tool_names_are_shortened_in_the_middle_and_still_differ() -> None:
    names = [f"TicketManagementPlugin-{verb}_support_ticket_by_reference_number" for verb in ("create", "update")]
    text = show(faulty(tools=tuple(ToolSummary(name, 9, 0.5) for name in names)), terminal(60))
    shown = [line.split()[0] for line in text.splitlines() if "Ticket" in line]
    assert len(set(shown)) == 2
    assert all("…" in name for name in shown)


def test_metrics_are_wrapped_between_metrics_on_a_narrow_terminal() -> None:
    lines = show(graded(RIGHT, WRONG_VALUE, WRONG_TOOL), terminal(76)).splitlines()
    assert all(len(line) <= 76 for line in lines)
    schema = next(index for index, line in enumerate(lines) if line.startswith("  schema"))
    assert lines[schema].endswith(" ·")
    assert lines[schema + 1].startswith(" " * 16)
    assert lines[schema + 1][16] != " "


def test_run_without_scores_shows_its_errors() -> None:
    summary = Summary(2, 2, 0, 2, 0, 0, 0, {}, [], [], {}, {"time-out": 2})
    assert show(summary) == "  No scores: every prediction is an error\n\n  2 errors, excluded from every metric\n    2×  time-out\n"


def test_next_commands_can_be_copied() -> None:
    console = make_console(StringIO())
    show_next(console, ["runs/base"])
    show_next(console, ["my runs/a", "my runs/b", "my runs/c"])
    assert printed(console) == (
        "Saved to runs/base.  Next: `callmark report runs/base` or `callmark view`\n"
        "Saved to my runs/a, my runs/b and my runs/c\n"
        "Next: `callmark report 'my runs/a' 'my runs/b' 'my runs/c'` or `callmark view 'my runs'`\n"
    )


def test_usage_is_shown_as_far_as_it_was_measured() -> None:
    assert usage_line(UsageSummary(1, 1.1, 3.0, 1200, 300, 0.42, 1)) == (
        "1.1 s per prediction (median), p95 3 s · 1,200 input tokens, 300 output tokens · cost 0.42 · 1 retry"
    )
    assert usage_line(UsageSummary(1, 0.0001, 0.0001, 0, 0, None, 12)) == "12 retries"


def test_pooled_metrics_are_shown_if_they_differ_from_the_mean() -> None:
    three = [tool_call("f", id=number) for number in range(3)]
    text = " ".join(show(graded((three, three), ([tool_call("f")], []))).split())
    assert "recall .500" in text
    assert "pooled recall .750" in text
    assert "pooled precision" in text
    assert "pooled" not in show(graded(RIGHT, RIGHT))


def test_matrix_of_decisions_is_shown() -> None:
    summary = graded(RIGHT, RIGHT, ([tool_call("f")], []), ([], [tool_call("f")]), ([], []), evaluators=("decision",))
    text = " ".join(show(summary).split())
    assert "expected call: got call 2, no call 1" in text
    assert "expected no call: got call 1, no call 1" in text


def test_bands_of_the_ends_of_the_interval_are_shown() -> None:
    assert "(fair; poor to excellent within the interval)" in " ".join(show(graded(*[RIGHT] * 3, *[WRONG_TOOL] * 2)).split())
