"""Runs compared in the terminal: differences with their intervals, what was fixed and broken, by fault and by tool."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.compare import Comparison, MetricChange
from callmark.analysis.differences import LEVEL, SMALL
from callmark.reporting.grade_view import share
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import table
from callmark.runs.compare import Against
from callmark.wording import counted

_NAME = 60
_LINE = 300
_TOOLS = 5
_CASES = 5
_SURE = 0.001


def show_comparisons(console: Console, comparisons: Sequence[Against]) -> None:
    """Each run against the first."""
    for place, one in enumerate(comparisons):
        if place:
            console.print()
        _show(console, one)
    if len(comparisons) > 1:
        console.print(Text("\np-values are adjusted for the number of runs (Holm)", style="dim"))


def _show(console: Console, against: Against) -> None:
    found = against.comparison
    where = f", {counted(found.conversations, 'conversation')}" if found.conversations < found.cases else ""
    head = Text.assemble((one_line(against.second, _NAME), "bold"), " against ", (one_line(against.first, _NAME), "bold"))
    head.append(f" · {counted(found.cases, 'common case')}{where}")
    console.print(head, soft_wrap=True)
    for line in _left_out(against):
        console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
    _metrics(console, found)
    console.print(
        Text.assemble(
            "  fixed ", (f"{len(found.fixed):,}", "green"), " · broken ", (f"{len(found.broken):,}", "red"),
            f" · both right {found.both_right:,} · both wrong {found.both_wrong:,}",
        )
    )  # fmt: skip
    _cases(console, "broken", found.broken)
    _cases(console, "fixed", found.fixed)
    _faults(console, found)
    _tools(console, found)
    console.print(Text(verdict(found), style="bold"), soft_wrap=True)
    if found.needed is not None:
        small = f"{SMALL:g}".lstrip("0")
        console.print(Text(f"A difference of {small} would need about {_round(found.needed)} cases to be seen.", style="dim"))


def verdict(found: Comparison) -> str:
    """The headline in a sentence: better, worse, or within noise."""
    change = found.metrics.get(found.headline)
    if change is None:
        return f"{found.headline} was not measured in both."
    if change.noise:
        return f"{found.headline}: within noise."
    return f"{found.headline}: {'better' if change.difference > 0 else 'worse'} by {share(abs(change.difference))}."


def _left_out(against: Against) -> list[str]:
    found = against.comparison
    lines = []
    if against.common:
        lines.append("their datasets are not the same: cases are paired by their ids")
    if against.settings:
        lines.append(f"they were graded by other settings ({', '.join(against.settings)}): callmark grade RUN grades one again")
    if against.unmatched:
        lines.append(f"only one of them was graded by {one_line(', '.join(against.unmatched), _LINE)}")
    for name, only, errors in (
        (against.first, found.only_first, found.errors_first),
        (against.second, found.only_second, found.errors_second),
    ):
        if only:
            lines.append(f"{counted(only, 'case')} only in {one_line(name, _NAME)}, left out")
        if errors:
            lines.append(f"{counted(errors, 'error')} in {one_line(name, _NAME)}, left out")
    return lines


def _metrics(console: Console, found: Comparison) -> None:
    made = table("", "", "", "", "", "", "")
    made.show_header = False
    for column in (4, 6):
        made.columns[column].justify = "left"
    for name, change in found.metrics.items():
        arrow = Text("→", style="dim")
        style = "dim" if change.noise else "green" if change.difference > 0 else "red"
        made.add_row(
            Text(f"  {one_line(name, _NAME)}", style="bold" if name == found.headline else ""),
            share(change.before), arrow, share(change.after), Text(_difference(change), style=style),
            Text(chance(change.p), style="dim"), Text("within noise" if change.noise else "", style="dim"),
        )  # fmt: skip
    console.print(made)


def _difference(change: MetricChange) -> str:
    if change.low is None or change.high is None:
        return signed(change.difference)
    return f"{signed(change.difference)} [{signed(change.low)}, {signed(change.high)}]"


def signed(value: float) -> str:
    """`+.116`, `-.02`, `0`."""
    return "0" if abs(value) < 0.0005 else f"{'+' if value > 0 else '-'}{share(abs(value))}"


def chance(p: float) -> str:
    """`p < .001`, `p = .042`; `p < .05` where rounding would make it .050, which is within noise."""
    if p < LEVEL <= round(p, 3):
        return "p < .05"
    return "p < .001" if p < _SURE else f"p = {share(p)}"


def _cases(console: Console, what: str, cases: Sequence[str]) -> None:
    if cases:
        told = ", ".join(one_line(case, 40) for case in cases[:_CASES]) + (", …" if len(cases) > _CASES else "")
        console.print(Text(f"    {what}: {told}", style="dim"), soft_wrap=True)


def _faults(console: Console, found: Comparison) -> None:
    differing = [fault for fault in found.faults if not fault.noise]
    if not differing:
        return
    made = table("  faults that differ", "", "", "", "")
    made.columns[0].header_style = "bold"
    for fault in differing:
        counts = (_count(fault.before), Text("→", style="dim"), _count(fault.after))
        made.add_row(f"    {fault.kind.replace('_', ' ')}", *counts, Text(chance(fault.p), style="dim"))
    console.print(made)


def _count(number: float) -> str:
    """How often; the mean over trials may be a fraction."""
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def _tools(console: Console, found: Comparison) -> None:
    for what, worst in (
        ("broken most", [(tool.tool, tool.broken, tool.n) for tool in found.tools if tool.broken]),
        ("fixed most", [(tool.tool, tool.fixed, tool.n) for tool in found.tools if tool.fixed]),
    ):
        worst.sort(key=lambda tool: (-tool[1], tool[0]))
        if worst:
            told = ", ".join(f"{one_line(name, _NAME)} ({count:,} of {n:,})" for name, count, n in worst[:_TOOLS])
            console.print(Text(f"  {what}: {told}"), soft_wrap=True)


def _round(cases: int) -> str:
    """A number that is only about right, with two digits that count."""
    return f"{float(f'{cases:.2g}'):,.0f}"
