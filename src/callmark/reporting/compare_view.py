"""Print comparisons of runs: the verdict first, then what is better, worse and unchanged; with details every metric, fault and tool."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.compare import Comparison
from callmark.analysis.numbers import format_difference, format_p_value, format_score, format_signed
from callmark.analysis.verdict import MetricDifference, Outcome, Verdict, judge, power_sentence
from callmark.reporting.safety import one_line, short_name, short_names
from callmark.reporting.terminal import plain_table, print_parts, print_sentence
from callmark.runs.compare import RunComparison, caveats
from callmark.wording import mark_heuristic

MAX_RUN = 40
_MAX_NAME = 60
_MAX_LINE = 300
_MAX_METRICS = 4  # of a direction, without details
_MAX_TOOLS, _MAX_TOOLS_IN_DETAILS = 3, 5
_MAX_CASES = 5
_STYLES: dict[Outcome, str] = {
    "better": "bold green",
    "worse": "bold red",
    "errors": "bold yellow",
    "too few conversations": "bold yellow",
    "not measured": "bold yellow",
}


def show_comparisons(console: Console, comparisons: Sequence[RunComparison], *, details: bool = False) -> None:
    """Print each run against the first; with `details`, also all metrics, and what changed by case, fault and tool."""
    runs = dict.fromkeys(name for against in comparisons for name in (against.first, against.second))
    labels = dict(zip(runs, short_names(list(runs), MAX_RUN), strict=True))
    for index, against in enumerate(comparisons):
        if index:
            console.print()
        _show_comparison(console, against, labels[against.first], labels[against.second], details=details)
    if len(comparisons) > 1:
        console.print(Text("\np-values are adjusted for multiple comparisons (Holm).", style="dim"))


def _show_comparison(console: Console, against: RunComparison, first: str, second: str, *, details: bool) -> None:
    comparison = against.comparison
    verdict = judge(comparison, first, second, lower_is_better=against.lower_is_better)
    head = Text(verdict.sentence, style=_STYLES.get(verdict.outcome, "bold"))
    print_sentence(console, head.append(f"   ({verdict.scope})", style="not bold default"))
    for line in caveats(against, first, second):
        print_sentence(console, Text(one_line(line, 4 * _MAX_LINE), style="yellow"), indent=2)
    if details:
        _metrics(console, against)
    else:
        for label, parts in _directions(verdict):
            print_parts(console, label, parts)
    console.print(
        Text.assemble(
            "  ", (f"{len(comparison.fixed):,} fixed", "green"), " · ", (f"{len(comparison.broken):,} broken", "red"),
            f" · {comparison.both_correct:,} correct in both · {comparison.both_wrong:,} wrong in both",
        )
    )  # fmt: skip
    broken = [(tool.tool, tool.broken, tool.n) for tool in comparison.tools]
    if details:
        _cases(console, "broken", comparison.broken)
        _cases(console, "fixed", comparison.fixed)
        _tools(console, "most broken", broken, _MAX_TOOLS_IN_DETAILS)
        _tools(console, "most fixed", [(tool.tool, tool.fixed, tool.n) for tool in comparison.tools], _MAX_TOOLS_IN_DETAILS)
        _faults(console, comparison)
    else:
        _tools(console, "most broken", broken, _MAX_TOOLS)
    if comparison.cases_needed is not None:
        print_sentence(console, Text(power_sentence(comparison.cases_needed), style="dim"))


def _directions(verdict: Verdict) -> Iterator[tuple[Text, list[Text]]]:
    """Yield the metrics that are better, worse and unchanged, each with a label."""
    for direction, differences, style in (("better", verdict.better, "green"), ("worse", verdict.worse, "red")):
        if differences:
            label = f"also {direction}" if direction == verdict.outcome else direction
            yield Text(f"  {label:<11}   "), _differences(differences, style)
    if verdict.unchanged and verdict.outcome != "identical":
        yield Text("  within noise  "), _differences(verdict.unchanged, "dim")


def _differences(differences: Sequence[MetricDifference], style: str) -> list[Text]:
    shown = [
        f"{mark_heuristic(short_name(each.metric, _MAX_NAME), each.heuristic)} {format_signed(each.difference)}"
        for each in differences[:_MAX_METRICS]
    ]
    if more := len(differences) - len(shown):
        shown[-1] += f" and {more} more"
    return [Text(text, style=style) for text in shown]


def _metrics(console: Console, against: RunComparison) -> None:
    comparison = against.comparison
    table = plain_table("", "", "", "", "", "", "")
    table.show_header = False
    for column in (4, 6):
        table.columns[column].justify = "left"
    for name, change in comparison.metrics.items():
        is_better = (change.difference > 0) is (name not in against.lower_is_better)
        style = "dim" if change.within_noise else "green" if is_better else "red"
        table.add_row(
            Text(f"  {mark_heuristic(short_name(name, _MAX_NAME), change.heuristic)}", style="bold" if name == comparison.headline else ""),
            format_score(change.before), Text("→", style="dim"), format_score(change.after),
            Text(format_difference(change.difference, change.low, change.high), style=style),
            Text(format_p_value(change.p), style="dim"), Text("within noise" if change.within_noise else "", style="dim"),
        )  # fmt: skip
    console.print(table)


def _cases(console: Console, change: str, cases: Sequence[str]) -> None:
    if cases:
        names = ", ".join(short_names(cases[:_MAX_CASES], MAX_RUN)) + (", …" if len(cases) > _MAX_CASES else "")
        console.print(Text(f"    {change}: {names}", style="dim"), soft_wrap=True)


def _faults(console: Console, comparison: Comparison) -> None:
    differing = [fault for fault in comparison.faults if not fault.within_noise]
    if not differing:
        return
    table = plain_table("  Faults that differ", "", "", "", "")
    table.columns[0].header_style = "bold"
    for fault in differing:
        counts = (_count(fault.before), Text("→", style="dim"), _count(fault.after))
        table.add_row(f"    {fault.kind.replace('_', ' ')}", *counts, Text(format_p_value(fault.p), style="dim"))
    console.print(table)


def _count(number: float) -> str:
    """Return a count; the mean over trials may be a fraction."""
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def _tools(console: Console, label: str, counts: Sequence[tuple[str, int, int]], limit: int) -> None:
    """Print the tools with the highest counts, each given as name, count and number of expected calls."""
    changed = sorted([tool for tool in counts if tool[1]], key=lambda tool: (-tool[1], tool[0]))[:limit]
    if changed:
        names = short_names([name for name, _, _ in changed], _MAX_NAME)
        shown = [Text(f"{name or '(no name)'} ({count:,} of {n:,})") for name, (_, count, n) in zip(names, changed, strict=True)]
        print_parts(console, Text(f"  {label}: "), shown, separator=", ")
