"""Print the supported models, and the runs of one or several models: one in full, several side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.summary import Summary
from callmark.models.provider import ProviderStatus
from callmark.reporting.compare_view import show_comparisons
from callmark.reporting.grade_view import MIN_SECONDS_SHOWN, run_notices, show_run
from callmark.reporting.numbers import format_interval, format_score, format_seconds
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import plain_table
from callmark.runs.compare import compare_runs
from callmark.runs.grade import GradeOptions
from callmark.runs.run import Run
from callmark.wording import pluralize

_MAX_NAME = 28
_MAX_LABEL = 22


def show_providers(console: Console, providers: Sequence[ProviderStatus], named: Mapping[str, str]) -> None:
    """Print the supported models, what each needs, and the models of callmark.toml with their specs."""
    table = plain_table("", "", "")
    table.show_header = False
    for column in table.columns:
        column.justify = "left"
    for provider in providers:
        mark = Text("✓", style="green") if provider.ready else Text("·", style="dim")
        status = provider.missing or (f"at {provider.address}" if provider.address else "")
        table.add_row(mark, Text(provider.example, style="bold" if provider.ready else ""), Text(one_line(status, 100), style="dim"))
    console.print(table)
    if named:
        console.print(Text("\nfrom callmark.toml", style="bold"))
        for name, spec in named.items():
            console.print(Text.assemble("  ", (one_line(name, _MAX_NAME), "bold"), f"  {one_line(spec, 100)}"), soft_wrap=True)


def show_model_runs(console: Console, runs: Sequence[Run], options: GradeOptions, *, details: bool = True) -> None:
    """Print one run in full, with its details where they are wanted; several side by side, and compared."""
    graded = [run for run in runs if run.is_graded]
    summaries = [run.summary(detailed=options.detailed, intervals=options.intervals) for run in graded]
    if len(runs) == 1 and graded:
        show_run(console, str(graded[0].folder), graded[0].info, summaries[0], details=details)
        return
    if len(graded) > 1:
        console.print(_header(graded[0], summaries), soft_wrap=True)
        for line in dict.fromkeys(line for run in graded for line in run_notices(run.info)):
            console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
        console.print()
        _side_by_side(console, [run.info.model_run.label if run.info.model_run else "" for run in graded], summaries)
        _show_comparisons(console, [run for run, summary in zip(graded, summaries, strict=True) if summary.scored])
    console.print()
    for run in runs:
        nothing = "" if run.is_graded else "  nothing came back"
        console.print(Text.assemble((one_line(str(run.folder), 120), "bold"), (nothing, "red")), soft_wrap=True)
    console.print(Text("callmark grade RUN shows one of them in full", style="dim"))


def _header(first: Run, summaries: Sequence[Summary]) -> Text:
    if first.scenarios:
        return Text.assemble((f"{len(summaries)} agents", "bold"), f" · {pluralize(first.info.cases, 'scenario')}")
    where = f" from {pluralize(max(summary.conversations for summary in summaries), 'conversation')}"
    return Text.assemble((f"{len(summaries)} models", "bold"), f" · {pluralize(first.info.cases, 'decision point')}{where}")


def _show_comparisons(console: Console, runs: Sequence[Run]) -> None:
    """Compare each model with the first, where both have scored cases."""
    if len(runs) > 1:
        console.print()
        show_comparisons(console, compare_runs(runs, labels=[run.info.predictions.name for run in runs]))


def _side_by_side(console: Console, labels: Sequence[str], summaries: Sequence[Summary]) -> None:
    """Print a row for each metric, and for each model two columns: the value, and its interval where it has one."""
    headline = "call.score" if "call.score" in summaries[0].metrics else "process.reliability"
    table = plain_table("", *(heading for label in labels for heading in (one_line(label, _MAX_LABEL), "")))
    for value, spread in zip(table.columns[1::2], table.columns[2::2], strict=True):
        value.header_style, value.style, spread.style, spread.justify = "bold", "cyan", "dim", "left"

    def row(name: str, cells: Sequence[tuple[str, str]], style: str = "") -> None:
        table.add_row(f"  {name}", *(part for cell in cells for part in cell), style=style)

    for name in summaries[0].metrics:
        row(one_line(name, _MAX_NAME), [_cell(summary, name) for summary in summaries], "bold" if name == headline else "")
    for name, cells in _conversation_rows(summaries).items():
        row(name, [(cell, "") for cell in cells])
    table.add_row()
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
        table.add_row()
        row("errors, in no number above", [(f"{summary.errors:,}", "") for summary in summaries], "red")
    usages = [summary.usage for summary in summaries]
    usage_rows = {
        "a conversation took" if any(summary.endings for summary in summaries) else "an answer took": [
            format_seconds(usage.median_seconds) if usage and usage.median_seconds >= MIN_SECONDS_SHOWN else "" for usage in usages
        ],
        "tokens in": [f"{usage.input_tokens:,}" if usage and usage.input_tokens else "" for usage in usages],
        "tokens out": [f"{usage.output_tokens:,}" if usage and usage.output_tokens else "" for usage in usages],
        "cost": [f"{usage.cost:,.4g}" if usage and usage.cost is not None else "" for usage in usages],
    }
    if any(map(any, usage_rows.values())):
        table.add_row()
    for name, cells in usage_rows.items():
        if any(cells):
            row(name, [(cell, "") for cell in cells], "dim")
    console.print(table)


def _conversation_rows(summaries: Sequence[Summary]) -> dict[str, list[str]]:
    """Return the rows of pass^k over trials, and of why conversations ended."""
    trials = [
        {rate.k: rate for rate in found.pass_rates} if found else {}
        for found in (summary.details and summary.details.trials for summary in summaries)
    ]
    rows = {
        f"pass^{k}": [format_score(found[k].every) if k in found else "-" for found in trials]
        for k in range(2, max((max(found, default=0) for found in trials), default=0) + 1)
    }
    endings = Counter[str]()
    for summary in summaries:
        endings.update(summary.endings)
    return rows | {
        f"ended: {one_line(name, _MAX_NAME)}": [f"{summary.endings.get(name, 0):,}" for summary in summaries] for name in endings
    }


def _cell(summary: Summary, name: str) -> tuple[str, str]:
    found = summary.metrics.get(name)
    if found is None:
        return "-", ""
    return format_score(found.mean), format_interval(found)
