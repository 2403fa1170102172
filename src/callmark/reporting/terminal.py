"""Build consoles, plain tables and bars for the terminal. Nothing is read as markup; text from data goes through `safety`."""

import sys
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.reporting.safety import escape_controls, fold_text
from callmark.types import Call

WIDTH = 120  # columns where the output is not a terminal
_BLOCKS = " ▏▎▍▌▋▊▉█"


def make_console(stream: IO[str] | None = None) -> Console:
    """Return a console on standard output, or on another stream."""
    stream = stream or sys.stdout
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=None if stream.isatty() else WIDTH)


def call_text(call: Call, limit: int | None) -> Text:
    """Return a call as code; a malformed one in red."""
    text = Text(fold_text(str(call), limit), style="red" if call.malformed else "")
    if call.name and not call.malformed:
        text.stylize("bold", 0, len(escape_controls(call.name)))
    return text


def plain_table(*columns: str) -> Table:
    """Return a table without borders: the first column left-aligned, the others right-aligned."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        table.add_column(escape_controls(column), justify="left" if index == 0 else "right", overflow="fold" if index == 0 else "ellipsis")
    return table


def bar(share: float, width: int) -> str:
    """Return a bar that fills this share of the width, to an eighth of a character. Shares outside 0 to 1 are clamped."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")
