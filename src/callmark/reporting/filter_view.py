"""What each rule of a filter keeps, alone and together."""

from rich.console import Console
from rich.text import Text

from callmark.data.filter import Kept
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, number, table


def show_kept(console: Console, kept: Kept) -> None:
    """One line a rule, then all together; a bar for the share."""
    made = table("rule", "keeps alone", "")
    made.columns[2].justify = "left"
    for name, count in kept.alone.items():
        made.add_row(one_line(name, 90), f"{number(count)} of {number(kept.rows)}", Text(bar(count / max(kept.rows, 1), 24), style="cyan"))
    made.add_row(
        Text("all together", style="bold"),
        f"{number(kept.together)} of {number(kept.rows)}",
        Text(bar(kept.together / max(kept.rows, 1), 24), style="cyan"),
    )
    console.print(made)
