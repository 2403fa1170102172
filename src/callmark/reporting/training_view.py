"""What `callmark export training` prints: the rows, and what was left out and why."""

from rich.console import Console

from callmark.reporting.safety import escape_breaks, one_line
from callmark.training_data.examples import REASONS
from callmark.training_data.export import TrainingReport
from callmark.training_data.leaks import LEAKS
from callmark.wording import pluralize

_TITLES = {"sft": "correct calls", "dpo": "preference pairs", "regression": "test cases"}
_MAX_TOOLS = 8


def show_training(console: Console, report: TrainingReport, out: str) -> None:
    """Print the report."""
    target = escape_breaks(out) if out != "-" else "standard output"
    origin = f"{_TITLES[report.kind]} from {pluralize(report.failed, 'failed case')} of {report.cases:,}"
    head = f"{pluralize(report.rows, 'row')} → {target}   ({origin})"
    console.print(head, style="bold", soft_wrap=True)
    for tool, rows in list(report.by_tool.items())[:_MAX_TOOLS]:
        console.print(f"  {rows:>5,} {one_line(tool, 80) or '(no call)'}")
    if len(report.by_tool) > _MAX_TOOLS:
        console.print(f"        and {len(report.by_tool) - _MAX_TOOLS:,} more tools")
    notes = [f"{report.flipped:,} of the failed cases also have a correct attempt"] if report.flipped else []
    notes += [f"left out: {pluralize(count, *LEAKS[leak])}" for leak, count in report.leaks.items()]
    notes += [f"left out: {pluralize(report.duplicates, 'near-duplicate')} of another row"] if report.duplicates else []
    notes += [f"left out: {pluralize(count, *REASONS[reason])}" for reason, count in report.skipped.items()]
    notes += [f"left out: {report.beyond_limit:,} by --limit"] if report.beyond_limit else []
    for note in notes:
        console.print(f"  {note}", style="dim", soft_wrap=True)
