"""A split in the terminal: both sides beside each other, what was kept together, and what is on one side only."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.data.split import Split
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import number, table
from callmark.wording import counted

SHOWN = 5  # sets of tools on one side


def show_split(console: Console, split: Split) -> None:
    """Conversations, rows where these are others, calls and tools of either side, each with the share that is in valid."""
    sides = (split.of_train, split.of_valid)
    made = table("", "train", "valid", "share in valid")
    _add(made, "conversations", *(side.conversations for side in sides))
    if any(side.rows != side.conversations for side in sides):
        _add(made, "rows", *(side.rows for side in sides))
    _add(made, "calls", *(side.calls for side in sides))
    for name in {**split.of_train.tools, **split.of_valid.tools}:
        _add(made, f"  {one_line(name, 60) or '(no name)'}", *(side.tools.get(name, 0) for side in sides))
    console.print(made)
    if split.together:
        groups, rows = counted(len(split.together), "group"), counted(sum(map(len, split.together)), "row")
        console.print(f"{groups}, {rows}: near copies, or cases of one group, kept on one side", style="dim")
    for side, sets in (("train", split.only_train), ("valid", split.only_valid)):
        if sets and all(one.conversations for one in sides):
            total = sum(one.count for one in sets)
            what = f"{counted(len(sets), 'set')} of tools, {counted(total, 'conversation')}: too few for both sides, only in {side}"
            console.print(what, style="dim")
            for one in sets[:SHOWN]:
                told = one_line(", ".join(one.tools), 100) or "no tool is called"
                console.print(Text(f"  {one.count:,}  {told}", style="dim"), soft_wrap=True)
            if len(sets) > SHOWN:
                console.print(f"  … and {len(sets) - SHOWN:,} more (--json)", style="dim")


def _add(made: Table, what: str, train: int, valid: int) -> None:
    share = f"{valid / (train + valid):.0%}" if train + valid else "—"
    made.add_row(what, number(train), number(valid), Text(share, style="dim"))
