"""Print how many rows each rule of a filter keeps, alone and combined."""

from rich.console import Console
from rich.text import Text

from callmark.analysis.numbers import format_number
from callmark.data.filter import FilterCounts
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, plain_table


def show_filter_counts(console: Console, counts: FilterCounts) -> None:
    """Print one line for each rule, then all rules combined, each with a bar for its share of the rows."""
    table = plain_table("Rule", "kept", "")
    table.columns[2].justify = "left"
    for name, count in counts.kept_by_rule.items():
        table.add_row(
            one_line(name, 90),
            f"{format_number(count)} of {format_number(counts.rows)}",
            Text(bar(count / max(counts.rows, 1), 24), style="cyan"),
        )
    table.add_row(
        Text("All rules", style="bold"),
        f"{format_number(counts.kept)} of {format_number(counts.rows)}",
        Text(bar(counts.kept / max(counts.rows, 1), 24), style="cyan"),
    )
    console.print(table)
