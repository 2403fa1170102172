"""The terminal: one console, calls as code, plain tables, bars. Nothing is read as markup; what came from data goes through `safety`."""

import sys
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.reporting.safety import folded, safe
from callmark.types import Call

WIDTH = 120  # where the output is no terminal
_BLOCKS = " ▏▎▍▌▋▊▉█"


def console(stream: IO[str] | None = None) -> Console:
    """A console on standard output, or on another stream."""
    stream = stream or sys.stdout
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=None if stream.isatty() else WIDTH)


def code(call: Call, limit: int | None) -> Text:
    """The call as code would write it; a malformed one in red."""
    text = Text(folded(str(call), limit), style="red" if call.malformed else "")
    if call.name and not call.malformed:
        text.stylize("bold", 0, len(safe(call.name)))
    return text


def table(*columns: str) -> Table:
    """A plain table: the first column to the left, the others to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        made.add_column(safe(column), justify="left" if index == 0 else "right", overflow="fold" if index == 0 else "ellipsis")
    return made


def bar(share: float, width: int) -> str:
    """A bar of that share of the width, in eighths of a character."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")


def number(value: float | None) -> str:
    """A number as people read it: whole ones with thousands, others with three places."""
    if value is None:
        return "—"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"
