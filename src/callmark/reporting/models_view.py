"""Models in the terminal: what there is to ask, and what came of asking: one in full, several side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.summary import SHOWN, Summary
from callmark.models.specs import Provider
from callmark.reporting.compare_view import show_comparisons
from callmark.reporting.grade_view import FELT, interval, noticed, seconds, share, show_run
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import table
from callmark.runs.compare import compared
from callmark.runs.grade_run import GradedRun
from callmark.runs.run import Run
from callmark.runs.runner import Asked
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


def show_asked(console: Console, asked: Sequence[Asked], *, details: bool = True) -> None:
    """One run in full, with its details if they are wanted; several side by side."""
    graded = [one.graded for one in asked if one.graded is not None]
    if len(asked) == 1 and graded:
        show_run(console, str(asked[0].folder), graded[0].info, graded[0].summary, details=details)
        return
    if len(graded) > 1:
        console.print(_head(graded), soft_wrap=True)
        for line in dict.fromkeys(line for one in graded for line in noticed(one.info)):
            console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
        console.print()
        _side_by_side(console, [one.info.asked.label if one.info.asked else "" for one in graded], [one.summary for one in graded])
        _compared(console, asked)
    console.print()
    for one in asked:
        nothing = "" if one.graded else "  nothing came back"
        console.print(Text.assemble((one_line(str(one.folder), 120), "bold"), (nothing, "red")), soft_wrap=True)
    console.print(Text("callmark grade RUN shows one of them in full", style="dim"))


def _head(graded: Sequence[GradedRun]) -> Text:
    first = graded[0].info
    if first.dataset.what == "scenarios":
        return Text.assemble((f"{len(graded)} agents", "bold"), f" · {counted(first.cases, 'scenario')}")
    where = f" from {counted(max(one.summary.conversations for one in graded), 'conversation')}"
    return Text.assemble((f"{len(graded)} models", "bold"), f" · {counted(first.cases, 'decision point')}{where}")


def _compared(console: Console, asked: Sequence[Asked]) -> None:
    """Each model against the first, where both have cases that were scored."""
    runs = [Run(one.folder.path) for one in asked if one.graded and one.graded.summary.scored]
    if len(runs) > 1:
        console.print()
        show_comparisons(console, compared(runs, called=[run.info.predictions.name for run in runs]))


def _side_by_side(console: Console, labels: Sequence[str], summaries: Sequence[Summary]) -> None:
    """A row for each number, and for each model two columns: the number, and its interval if it has one."""
    headline = "call.score" if "call.score" in summaries[0].metrics else "process.reliability"
    made = table("", *(heading for label in labels for heading in (one_line(label, _COLUMN), "")))
    for value, spread in zip(made.columns[1::2], made.columns[2::2], strict=True):
        value.header_style, value.style, spread.style, spread.justify = "bold", "cyan", "dim", "left"

    def row(name: str, cells: Sequence[tuple[str, str]], style: str = "") -> None:
        made.add_row(f"  {name}", *(part for cell in cells for part in cell), style=style)

    for name in summaries[0].metrics:
        row(one_line(name, _NAME), [_cell(summary, name) for summary in summaries], "bold" if name == headline else "")
    for name, cells in _of_conversations(summaries).items():
        row(name, [(cell, "") for cell in cells])
    made.add_row()
    row("what went wrong", [], "bold")
    kinds = Counter[str]()
    for summary in summaries:
        kinds.update({fault.kind: fault.count for fault in summary.faults})
    for kind, _ in kinds.most_common():
        counts = [sum(fault.count for fault in summary.faults if fault.kind == kind) for summary in summaries]
        row(f"  {kind.replace('_', ' ')}", [(f"{count:,}" if count else "·", "") for count in counts])
    if not kinds:
        row("  nothing", [], "green")
    if any(summary.errors for summary in summaries):
        made.add_row()
        row("errors, in no number above", [(f"{summary.errors:,}", "") for summary in summaries], "red")
    used = [summary.usage for summary in summaries]
    told = {
        "a conversation took" if any(summary.endings for summary in summaries) else "an answer took": [
            seconds(one.median_seconds) if one and one.median_seconds >= FELT else "" for one in used
        ],
        "tokens in": [f"{one.input_tokens:,}" if one and one.input_tokens else "" for one in used],
        "tokens out": [f"{one.output_tokens:,}" if one and one.output_tokens else "" for one in used],
        "cost": [f"{one.cost:,.4g}" if one and one.cost is not None else "" for one in used],
    }
    if any(map(any, told.values())):
        made.add_row()
    for name, cells in told.items():
        if any(cells):
            row(name, [(cell, "") for cell in cells], "dim")
    console.print(made)


def _of_conversations(summaries: Sequence[Summary]) -> dict[str, list[str]]:
    """What their trials give, and why they ended."""
    trials = [{one.k: one for one in found.passes} if found else {} for found in (one.details and one.details.trials for one in summaries)]
    rows = {
        f"pass^{k}": [share(found[k].every) if k in found else "-" for found in trials]
        for k in range(2, max((max(found, default=0) for found in trials), default=0) + 1)
    }
    endings = Counter[str]()
    for summary in summaries:
        endings.update(summary.endings)
    return rows | {f"ended: {one_line(name, _NAME)}": [f"{one.endings.get(name, 0):,}" for one in summaries] for name in endings}


def _cell(summary: Summary, name: str) -> tuple[str, str]:
    found = summary.metrics.get(name)
    if found is None:
        return "-", ""
    return share(found.mean), interval(found) if name in SHOWN else ""
