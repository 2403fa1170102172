"""Print the supported models, and the runs of one or several models: one in full, several side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.analysis.numbers import format_interval, format_score, format_seconds
from callmark.analysis.summary import Summary
from callmark.grading.evaluator import Metric
from callmark.grading.settings import counts_faults
from callmark.models.provider import ProviderStatus
from callmark.reporting.compare_view import show_comparisons
from callmark.reporting.grade_view import show_run
from callmark.reporting.run_notices import MIN_SECONDS_SHOWN, run_notices, show_next
from callmark.reporting.safety import escape_breaks, one_line, short_names
from callmark.reporting.terminal import NameCell, name_cells, plain_table, print_sentence
from callmark.runs.compare import compare_runs
from callmark.runs.grade import GradeOptions
from callmark.runs.run import Run
from callmark.wording import mark_heuristic, pluralize

_MAX_NAME = 30
_MAX_LABEL = 22
_UNLIMITED = 10_000  # columns

_Row = tuple[str | NameCell, list[tuple[str, str]], str]  # the label, the value and the interval of each model, the style


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
        console.print(Text("\nFrom callmark.toml", style="bold"))
        for name, spec in zip(short_names(list(named), _MAX_NAME), named.values(), strict=True):
            console.print(Text.assemble("  ", (name, "bold"), f"  {one_line(spec, 100)}"), soft_wrap=True)


def show_model_runs(console: Console, runs: Sequence[Run], options: GradeOptions, *, details: bool = True) -> None:
    """Print one run in full, with its details where they are wanted; several side by side, and compared."""
    graded = [run for run in runs if run.is_graded]
    summaries = [run.summary(detailed=options.detailed) for run in graded]
    for run in runs:
        if not run.is_graded:
            console.print(Text(f"{escape_breaks(str(run.folder))}: no predictions", style="red"), soft_wrap=True)
    if len(graded) == 1:
        show_run(console, str(graded[0].folder), graded[0].info, summaries[0], details=details)
    elif graded:
        console.print(_header(graded[0], summaries), soft_wrap=True)
        for line in dict.fromkeys(line for run in graded for line in run_notices(run.info)):
            print_sentence(console, Text(line, style="dim"), indent=2)
        console.print()
        metrics = {name: metric for run in graded for name, metric in run.info.metrics.items()}
        _side_by_side(console, [run.info.model_run.label if run.info.model_run else "" for run in graded], summaries, metrics)
        _show_comparisons(console, [run for run, summary in zip(graded, summaries, strict=True) if summary.scored])
        console.print()
        show_next(console, [str(run.folder) for run in graded])


def _header(first: Run, summaries: Sequence[Summary]) -> Text:
    if first.scenarios:
        return Text.assemble((f"{len(summaries)} agents", "bold"), f" · {pluralize(first.info.cases, 'scenario')}")
    conversations = max(summary.conversations for summary in summaries)
    where = f" from {pluralize(conversations, 'conversation')}" if conversations < first.info.cases else ""
    return Text.assemble((f"{len(summaries)} models", "bold"), f" · {pluralize(first.info.cases, 'case')}{where}")


def _show_comparisons(console: Console, runs: Sequence[Run]) -> None:
    """Compare each model with the first, where both have scored cases."""
    if len(runs) > 1:
        console.print()
        show_comparisons(console, compare_runs(runs, labels=[run.info.predictions.name for run in runs]))


def _side_by_side(console: Console, labels: Sequence[str], summaries: Sequence[Summary], metrics: Mapping[str, Metric]) -> None:
    """Print a row for each metric, kind of fault and usage; intervals only where the terminal is wide enough for them."""
    rows = list(_rows(summaries, metrics))
    short = short_names(labels, _MAX_LABEL)
    table = _table(short, rows, intervals=True)
    if console.measure(table, options=console.options.update(max_width=_UNLIMITED)).maximum > console.width:
        table = _table(short, rows, intervals=False)
    console.print(table)


def _table(labels: Sequence[str], rows: Sequence[_Row], *, intervals: bool) -> Table:
    """Return a table with a column of values for each model and, with `intervals`, a column of intervals beside it."""
    table = plain_table("", *(heading for label in labels for heading in (label, *([""] if intervals else []))))
    for column in table.columns[1 :: 2 if intervals else 1]:
        column.header_style, column.style = "bold", "cyan"
    for column in table.columns[2::2] if intervals else ():
        column.style, column.justify = "dim", "left"
    for label, cells, style in rows:
        values = [part for cell in cells for part in (cell if intervals else cell[:1])]
        table.add_row(f"  {label}" if isinstance(label, str) else label, *values, style=style)
    return table


def _rows(summaries: Sequence[Summary], metrics: Mapping[str, Metric]) -> Iterator[_Row]:
    headline = "call.score" if "call.score" in summaries[0].metrics else "process.reliability"
    names = [mark_heuristic(name, name in metrics and metrics[name].heuristic) for name in summaries[0].metrics]
    for name, label in zip(summaries[0].metrics, name_cells(names, _MAX_NAME, indent=2), strict=True):
        yield label, [_cell(summary, name) for summary in summaries], "bold" if name == headline else ""
    for name, cells in _conversation_rows(summaries).items():
        yield name, cells, ""
    yield "", [], ""
    kinds = Counter[str]()
    for summary in summaries:
        kinds.update({fault.kind: fault.count for fault in summary.faults})
    if kinds or any(counts_faults(summary.metrics) for summary in summaries):
        yield "Top faults" if kinds else "No faults", [], "bold" if kinds else "green"
    for kind, _ in kinds.most_common():
        counts = [sum(fault.count for fault in summary.faults if fault.kind == kind) for summary in summaries]
        yield f"  {kind.replace('_', ' ')}", _values(f"{count:,}" if count else "·" for count in counts), ""
    if any(summary.errors for summary in summaries):
        yield "", [], ""
        yield "errors (excluded)", _values(f"{summary.errors:,}" for summary in summaries), "red"
    usage = [(name, values) for name, values in _usage_rows(summaries).items() if any(values)]
    if usage:
        yield "", [], ""
    for name, values in usage:
        yield name, _values(values), "dim"


def _values(cells: Iterator[str] | Sequence[str]) -> list[tuple[str, str]]:
    """Return values without intervals."""
    return [(cell, "") for cell in cells]


def _cell(summary: Summary, name: str) -> tuple[str, str]:
    found = summary.metrics.get(name)
    if found is None:
        return "-", ""
    return format_score(found.mean), format_interval(found.low, found.high)


def _conversation_rows(summaries: Sequence[Summary]) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of pass^k over trials, and of how conversations ended; each cell with its interval."""
    trials = [
        {rate.k: rate for rate in found.pass_rates} if found else {}
        for found in (summary.details and summary.details.trials for summary in summaries)
    ]
    rows = {
        f"pass^{k}": [
            (format_score(found[k].every), format_interval(*found[k].every_interval or (None, None))) if k in found else ("-", "")
            for found in trials
        ]
        for k in range(2, max((max(found, default=0) for found in trials), default=0) + 1)
    }
    endings = Counter[str]()
    for summary in summaries:
        endings.update(summary.endings)
    return rows | {
        f"ended: {one_line(name, _MAX_NAME)}": _values([f"{summary.endings.get(name, 0):,}" for summary in summaries]) for name in endings
    }


def _usage_rows(summaries: Sequence[Summary]) -> dict[str, list[str]]:
    """Return the rows of latency, tokens and cost; cells are empty where nothing was measured."""
    usages = [summary.usage for summary in summaries]
    unit = "conversation" if any(summary.endings for summary in summaries) else "prediction"
    return {
        f"median time per {unit}": [
            format_seconds(usage.median_seconds) if usage and usage.median_seconds >= MIN_SECONDS_SHOWN else "" for usage in usages
        ],
        "input tokens": [f"{usage.input_tokens:,}" if usage and usage.input_tokens else "" for usage in usages],
        "output tokens": [f"{usage.output_tokens:,}" if usage and usage.output_tokens else "" for usage in usages],
        "cost": [f"{usage.cost:,.4g}" if usage and usage.cost is not None else "" for usage in usages],
    }
