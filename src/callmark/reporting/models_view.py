"""Models in the terminal: what there is to ask, and what came of asking: one in full, several side by side."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.summary import SHOWN, Summary
from callmark.models.specs import Provider
from callmark.reporting.grade_view import FELT, interval, noticed, seconds, share, show_run
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import table
from callmark.running.model_run import Asked
from callmark.wording import counted

_NAME = 28
_COLUMN = 22


def show_providers(console: Console, providers: Sequence[Provider], named: Mapping[str, str]) -> None:
    """What can be asked, what is configured, what is missing; and the models of callmark.toml, each with its spec."""
    made = table("", "", "")
    made.show_header = False
    for column in made.columns:
        column.justify = "left"
    for one in providers:
        mark = Text("✓", style="green") if one.ready else Text("·", style="dim")
        said = one.missing or (f"at {one.address}" if one.address else "")
        made.add_row(mark, Text(one.example, style="bold" if one.ready else ""), Text(one_line(said, 100), style="dim"))
    console.print(made)
    if named:
        console.print(Text("\nfrom callmark.toml", style="bold"))
        for name, spec in named.items():
            console.print(Text.assemble("  ", (one_line(name, _NAME), "bold"), f"  {one_line(spec, 100)}"), soft_wrap=True)


def show_asked(console: Console, asked: Sequence[Asked]) -> None:
    """One run in full; several side by side."""
    graded = [one.graded for one in asked if one.graded is not None]
    if len(asked) == 1 and graded:
        show_run(console, str(asked[0].folder), graded[0].info, graded[0].summary)
        return
    if len(graded) > 1:
        first = graded[0]
        where = f" from {counted(max(one.summary.conversations for one in graded), 'conversation')}"
        console.print(
            Text.assemble((f"{len(graded)} models", "bold"), f" · {counted(first.info.cases, 'decision point')}{where}"), soft_wrap=True
        )
        for line in dict.fromkeys(line for one in graded for line in noticed(one.info)):
            console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
        console.print()
        _side_by_side(console, [one.info.asked.label if one.info.asked else "" for one in graded], [one.summary for one in graded])
    console.print()
    for one in asked:
        nothing = "" if one.graded else "  nothing came back"
        console.print(Text.assemble((one_line(str(one.folder), 120), "bold"), (nothing, "red")), soft_wrap=True)
    console.print(Text("callmark grade RUN shows one of them in full", style="dim"))


def _side_by_side(console: Console, labels: Sequence[str], summaries: Sequence[Summary]) -> None:
    made = table("", *(one_line(label, _COLUMN) for label in labels))
    for column in made.columns[1:]:
        column.header_style = "bold"
    for name in summaries[0].metrics:
        cells = [_cell(summary, name) for summary in summaries]
        made.add_row(f"  {one_line(name, _NAME)}", *cells, style="bold" if name == "call.score" else "")
    made.add_row("")
    made.add_row(Text("  what went wrong", style="bold"))
    kinds: dict[str, int] = {}
    for summary in summaries:
        for fault in summary.faults:
            kinds[fault.kind] = kinds.get(fault.kind, 0) + fault.count
    for kind in sorted(kinds, key=lambda kind: -kinds[kind]):
        counts = [sum(fault.count for fault in summary.faults if fault.kind == kind) for summary in summaries]
        made.add_row(f"    {kind.replace('_', ' ')}", *(Text(f"{count:,}", style="" if count else "dim") for count in counts))
    if not kinds:
        made.add_row(Text("    nothing", style="green"))
    made.add_row("")
    if any(summary.errors for summary in summaries):
        made.add_row(Text("  errors, in no number above", style="red"), *(f"{summary.errors:,}" for summary in summaries))
    used = [summary.usage for summary in summaries]
    if any(one and one.median_seconds >= FELT for one in used):
        made.add_row(Text("  an answer took", style="dim"), *(Text(seconds(one.median_seconds) if one else "", style="dim") for one in used))
    if any(one and one.input_tokens + one.output_tokens for one in used):
        told = [f"{one.input_tokens:,} / {one.output_tokens:,}" if one else "" for one in used]
        made.add_row(Text("  tokens in / out", style="dim"), *(Text(one, style="dim") for one in told))
    if any(one and one.cost is not None for one in used):
        costs = [f"{one.cost:,.4g}" if one and one.cost is not None else "" for one in used]
        made.add_row(Text("  cost", style="dim"), *(Text(cost, style="dim") for cost in costs))
    console.print(made)


def _cell(summary: Summary, name: str) -> Text:
    found = summary.metrics.get(name)
    if found is None:
        return Text("-", style="dim")
    cell = Text(share(found.mean), style="cyan")
    if name in SHOWN and (told := interval(found)):
        cell = Text.assemble((f"{told}  ", "dim"), cell)
    return cell
