"""Comparisons in the terminal."""

from io import StringIO

from msgspec.structs import replace

from callmark.analysis.compare import Comparison, FaultChange, MetricChange, ToolChange
from callmark.reporting.compare_view import show_comparisons
from callmark.reporting.terminal import make_console
from callmark.runs.compare import RunComparison

SCORE = MetricChange(0.668, 0.784, 0.116, 0.083, 0.149, 0.0001, False, 60)
NOISE = MetricChange(0.9, 0.908, 0.008, -0.01, 0.026, 0.31, True, 20)
COMPARISON = Comparison(
    cases=582,
    conversations=103,
    only_first=0,
    only_second=0,
    errors_first=0,
    errors_second=0,
    headline="call.score",
    metrics={
        "call.score": SCORE,
        "schema.overall": replace(SCORE, difference=0.066),
        "process.reliability": replace(SCORE, difference=0.131),
        "schema.parameter_accuracy": NOISE,
    },
    fixed=[f"f{number}" for number in range(91)],
    broken=[f"b{number}" for number in range(14)],
    both_correct=332,
    both_wrong=145,
    tools=[ToolChange("calculate", 6, 1.0, 0.2, 0, 5)],
    faults=[FaultChange("wrong_tool", 106.0, 60.0, 0.0001, False), FaultChange("no_call", 44.0, 41.5, 0.6, True)],
    cases_needed=1874,
)


def show(*comparisons: RunComparison, details: bool = False) -> str:
    stream = StringIO()
    show_comparisons(make_console(stream), comparisons, details=details)
    return stream.getvalue()


def against(comparison: Comparison = COMPARISON, second: str = "tuned", first: str = "base") -> RunComparison:
    return RunComparison(first, second, False, [], [], comparison)


def test_verdict_comes_first() -> None:
    assert show(against()) == (
        "tuned is better than base: call.score .668 → .784, +.116 [+.083, +.149], p < .001   (582 common cases, 103 conversations)\n"
        "  also better   process.reliability +.131 · schema.overall +.066\n"
        "  within noise  schema.parameter_accuracy +.008\n"
        "  91 fixed · 14 broken · 332 correct in both · 145 wrong in both\n"
        "  most broken: calculate (5 of 6)\n"
        "Detecting a difference of .03 needs about 1,900 cases.\n"
    )


def test_details_have_every_metric_fault_tool_and_the_first_cases() -> None:
    text = show(against(), details=True)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for line in (
        "call.score .668 → .784 +.116 [+.083, +.149] p < .001",
        "schema.parameter_accuracy .900 → .908 +.008 [-.010, +.026] p = .310 within noise",
        "broken: b0, b1, b2, b3, b4, …",
        "fixed: f0, f1, f2, f3, f4, …",
        "Faults that differ",
        "wrong tool 106 → 60 p < .001",
        "most broken: calculate (5 of 6)",
    ):
        assert line in lines
    assert "no call" not in text
    assert "also better" not in text


def test_metrics_in_the_other_direction_are_not_called_also() -> None:
    worse = replace(SCORE, before=0.784, after=0.668, difference=-0.116, low=-0.149, high=-0.083)
    text = show(against(replace(COMPARISON, metrics={"call.score": worse, "call.pass": worse, "schema.overall": SCORE})))
    assert text.startswith("tuned is worse than base: ")
    assert "  better        schema.overall +.116\n  also worse    call.pass -.116\n" in text


def test_many_metrics_are_counted() -> None:
    metrics = {"call.score": SCORE, **{f"mine.m{number}": replace(SCORE, difference=number / 10) for number in range(1, 8)}}
    text = show(against(replace(COMPARISON, metrics=metrics)))
    assert "  also better   mine.m7 +.700 · mine.m6 +.600 · mine.m5 +.500 · mine.m4 +.400 and 3 more\n" in text


def test_long_names_of_runs_are_shortened_in_the_middle_until_they_differ() -> None:
    names = [f"callmark-experiment-qwen3-8b-lora-{step}-retail-2026-11-15T18-42" for step in (400, 800)]
    second, _, rest = show(against(first=names[0], second=names[1])).partition(" is better than ")
    first = rest.partition(": ")[0]
    assert (first, second) == (
        "callmark-experiment-qwen3-8…400-retail-2026-11-15T18-42",
        "callmark-experiment-qwen3-8…800-retail-2026-11-15T18-42",
    )


def test_caveats_follow_the_verdict() -> None:
    comparison = replace(COMPARISON, only_first=10, only_second=1, errors_second=2)
    lines = show(RunComparison("base", "tuned", True, ["match"], ["mine.cost"], comparison)).splitlines()
    assert lines[1:7] == [
        "  Different datasets: cases are matched by ID",
        "  Graded with different settings (match): to grade a run again: callmark grade RUN",
        "  Measured in one run only: mine.cost",
        "  10 cases only in base, excluded",
        "  1 case only in tuned, excluded",
        "  2 errors in tuned, excluded",
    ]


def test_several_runs_are_compared_with_the_first() -> None:
    text = show(against(), against(second="other"))
    assert "\n\nother is better than base: " in text
    assert text.endswith("\np-values are adjusted for multiple comparisons (Holm).\n")
