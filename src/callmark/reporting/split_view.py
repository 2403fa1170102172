"""Print a split: train and valid side by side, groups kept on one side, and tool sets that only one side has."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.analysis.numbers import format_number
from callmark.data.split import Split
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import NameCell, name_cells, plain_table
from callmark.wording import pluralize

MAX_TOOL_SETS = 5  # listed of those that only one side has


def show_split(console: Console, split: Split) -> None:
    """Print conversations, rows where their number differs, calls and tools of both sides, each with the share that is in valid."""
    sides = (split.train_summary, split.valid_summary)
    table = plain_table("", "train", "valid", "valid share")
    _add_row(table, "conversations", *(side.conversations for side in sides))
    if any(side.rows != side.conversations for side in sides):
        _add_row(table, "rows", *(side.rows for side in sides))
    _add_row(table, "calls", *(side.calls for side in sides))
    tools = list({**split.train_summary.tools, **split.valid_summary.tools})
    for name, cell in zip(tools, name_cells(tools, 60, indent=2), strict=True):
        _add_row(table, cell, *(side.tools.get(name, 0) for side in sides))
    console.print(table)
    if split.kept_together:
        groups, rows = pluralize(len(split.kept_together), "group"), pluralize(sum(map(len, split.kept_together)), "row")
        sentence = f"{groups} of related rows, such as near-duplicates ({rows}); each group is on one side of the split"
        console.print(sentence, style="dim", soft_wrap=True)
    for side, sets in (("train", split.only_train), ("valid", split.only_valid)):
        if sets and all(each.conversations for each in sides):
            total = sum(tool_set.count for tool_set in sets)
            count = f"{pluralize(len(sets), 'tool set')} ({pluralize(total, 'conversation')})"
            which = f"is only in {side}, because it has" if len(sets) == 1 else f"are only in {side}, because each has"
            console.print(f"{count} {which} too few conversations to split", style="dim", soft_wrap=True)
            for tool_set in sets[:MAX_TOOL_SETS]:
                names = one_line(", ".join(tool_set.tools), 100) or "(no tool called)"
                console.print(Text(f"  {tool_set.count:,}  {names}", style="dim"), soft_wrap=True)
            if len(sets) > MAX_TOOL_SETS:
                console.print(f"  … and {len(sets) - MAX_TOOL_SETS:,} more (--json)", style="dim")


def _add_row(table: Table, label: str | NameCell, train: int, valid: int) -> None:
    share = f"{valid / (train + valid):.0%}" if train + valid else "—"
    table.add_row(label, format_number(train), format_number(valid), Text(share, style="dim"))
