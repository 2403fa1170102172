"""Print comparisons of runs: differences with intervals, cases fixed and broken, by fault and by tool."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.compare import Comparison, MetricChange
from callmark.analysis.differences import SMALL_DIFFERENCE
from callmark.reporting.numbers import format_p_value, format_score, format_signed
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import plain_table
from callmark.runs.compare import RunComparison
from callmark.wording import pluralize

_MAX_NAME = 60
_MAX_LINE = 300
_MAX_TOOLS = 5
_MAX_CASES = 5


def show_comparisons(console: Console, comparisons: Sequence[RunComparison]) -> None:
    """Print each run against the first."""
    for index, against in enumerate(comparisons):
        if index:
            console.print()
        _show_comparison(console, against)
    if len(comparisons) > 1:
        console.print(Text("\np-values are adjusted for the number of runs (Holm)", style="dim"))


def _show_comparison(console: Console, against: RunComparison) -> None:
    comparison = against.comparison
    where = f", {pluralize(comparison.conversations, 'conversation')}" if comparison.conversations < comparison.cases else ""
    head = Text.assemble((one_line(against.second, _MAX_NAME), "bold"), " against ", (one_line(against.first, _MAX_NAME), "bold"))
    head.append(f" · {pluralize(comparison.cases, 'common case')}{where}")
    console.print(head, soft_wrap=True)
    for line in _caveats(against):
        console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
    _metrics(console, against)
    console.print(
        Text.assemble(
            "  fixed ", (f"{len(comparison.fixed):,}", "green"), " · broken ", (f"{len(comparison.broken):,}", "red"),
            f" · both right {comparison.both_correct:,} · both wrong {comparison.both_wrong:,}",
        )
    )  # fmt: skip
    _cases(console, "broken", comparison.broken)
    _cases(console, "fixed", comparison.fixed)
    _faults(console, comparison)
    _tools(console, comparison)
    console.print(Text(verdict(against), style="bold"), soft_wrap=True)
    if comparison.cases_needed is not None:
        small = f"{SMALL_DIFFERENCE:g}".lstrip("0")
        console.print(
            Text(f"A difference of {small} would need about {_approximate(comparison.cases_needed)} cases to be seen.", style="dim")
        )


def verdict(against: RunComparison) -> str:
    """Return the headline metric in a sentence: better, worse, or within noise."""
    comparison = against.comparison
    change = comparison.metrics.get(comparison.headline)
    if change is None:
        return f"{comparison.headline} was not measured in both."
    if change.within_noise:
        return f"{comparison.headline}: within noise."
    direction = "better" if _is_better(against, comparison.headline) else "worse"
    return f"{comparison.headline}: {direction} by {format_score(abs(change.difference))}."


def _caveats(against: RunComparison) -> list[str]:
    comparison = against.comparison
    lines = []
    if against.common:
        lines.append("their datasets are not the same: cases are paired by their ids")
    if against.differing_settings:
        lines.append(f"they were graded by other settings ({', '.join(against.differing_settings)}): callmark grade RUN grades one again")
    if against.unshared_metrics:
        lines.append(f"only one of them was graded by {one_line(', '.join(against.unshared_metrics), _MAX_LINE)}")
    for name, only, errors in (
        (against.first, comparison.only_first, comparison.errors_first),
        (against.second, comparison.only_second, comparison.errors_second),
    ):
        if only:
            lines.append(f"{pluralize(only, 'case')} only in {one_line(name, _MAX_NAME)}, left out")
        if errors:
            lines.append(f"{pluralize(errors, 'error')} in {one_line(name, _MAX_NAME)}, left out")
    return lines


def _is_better(against: RunComparison, metric: str) -> bool:
    return (against.comparison.metrics[metric].difference > 0) is (metric not in against.lower_is_better)


def _metrics(console: Console, against: RunComparison) -> None:
    comparison = against.comparison
    table = plain_table("", "", "", "", "", "", "")
    table.show_header = False
    for column in (4, 6):
        table.columns[column].justify = "left"
    for name, change in comparison.metrics.items():
        arrow = Text("→", style="dim")
        style = "dim" if change.within_noise else "green" if _is_better(against, name) else "red"
        table.add_row(
            Text(f"  {one_line(name, _MAX_NAME)}", style="bold" if name == comparison.headline else ""),
            format_score(change.before), arrow, format_score(change.after), Text(_difference(change), style=style),
            Text(format_p_value(change.p), style="dim"), Text("within noise" if change.within_noise else "", style="dim"),
        )  # fmt: skip
    console.print(table)


def _difference(change: MetricChange) -> str:
    if change.low is None or change.high is None:
        return format_signed(change.difference)
    return f"{format_signed(change.difference)} [{format_signed(change.low)}, {format_signed(change.high)}]"


def _cases(console: Console, change: str, cases: Sequence[str]) -> None:
    if cases:
        names = ", ".join(one_line(case, 40) for case in cases[:_MAX_CASES]) + (", …" if len(cases) > _MAX_CASES else "")
        console.print(Text(f"    {change}: {names}", style="dim"), soft_wrap=True)


def _faults(console: Console, comparison: Comparison) -> None:
    differing = [fault for fault in comparison.faults if not fault.within_noise]
    if not differing:
        return
    table = plain_table("  faults that differ", "", "", "", "")
    table.columns[0].header_style = "bold"
    for fault in differing:
        counts = (_count(fault.before), Text("→", style="dim"), _count(fault.after))
        table.add_row(f"    {fault.kind.replace('_', ' ')}", *counts, Text(format_p_value(fault.p), style="dim"))
    console.print(table)


def _count(number: float) -> str:
    """Return a count; the mean over trials may be a fraction."""
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def _tools(console: Console, comparison: Comparison) -> None:
    for label, changed in (
        ("broken most", [(tool.tool, tool.broken, tool.n) for tool in comparison.tools if tool.broken]),
        ("fixed most", [(tool.tool, tool.fixed, tool.n) for tool in comparison.tools if tool.fixed]),
    ):
        changed.sort(key=lambda tool: (-tool[1], tool[0]))
        if changed:
            counts = ", ".join(f"{one_line(name, _MAX_NAME)} ({count:,} of {n:,})" for name, count, n in changed[:_MAX_TOOLS])
            console.print(Text(f"  {label}: {counts}"), soft_wrap=True)


def _approximate(cases: int) -> str:
    """Return an approximate number, rounded to two significant digits."""
    return f"{float(f'{cases:.2g}'):,.0f}"
