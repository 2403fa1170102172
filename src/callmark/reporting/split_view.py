"""Print a split: train and valid side by side, groups kept on one side, and tool sets that only one side has."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.data.split import Split
from callmark.reporting.numbers import format_number
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import plain_table
from callmark.wording import pluralize

MAX_TOOL_SETS = 5  # listed of those that only one side has


def show_split(console: Console, split: Split) -> None:
    """Print conversations, rows where their number differs, calls and tools of both sides, each with the share in valid."""
    sides = (split.train_summary, split.valid_summary)
    table = plain_table("", "train", "valid", "share in valid")
    _add_row(table, "conversations", *(side.conversations for side in sides))
    if any(side.rows != side.conversations for side in sides):
        _add_row(table, "rows", *(side.rows for side in sides))
    _add_row(table, "calls", *(side.calls for side in sides))
    for name in {**split.train_summary.tools, **split.valid_summary.tools}:
        _add_row(table, f"  {one_line(name, 60) or '(no name)'}", *(side.tools.get(name, 0) for side in sides))
    console.print(table)
    if split.kept_together:
        groups, rows = pluralize(len(split.kept_together), "group"), pluralize(sum(map(len, split.kept_together)), "row")
        console.print(f"{groups}, {rows}: near-duplicates, or cases of one group, kept on one side", style="dim")
    for side, sets in (("train", split.only_train), ("valid", split.only_valid)):
        if sets and all(each.conversations for each in sides):
            total = sum(tool_set.count for tool_set in sets)
            sentence = f"{pluralize(len(sets), 'set')} of tools, {pluralize(total, 'conversation')}: too few for both sides, only in {side}"
            console.print(sentence, style="dim")
            for tool_set in sets[:MAX_TOOL_SETS]:
                names = one_line(", ".join(tool_set.tools), 100) or "no tool is called"
                console.print(Text(f"  {tool_set.count:,}  {names}", style="dim"), soft_wrap=True)
            if len(sets) > MAX_TOOL_SETS:
                console.print(f"  … and {len(sets) - MAX_TOOL_SETS:,} more (--json)", style="dim")


def _add_row(table: Table, label: str, train: int, valid: int) -> None:
    share = f"{valid / (train + valid):.0%}" if train + valid else "—"
    table.add_row(label, format_number(train), format_number(valid), Text(share, style="dim"))
