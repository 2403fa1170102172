"""Build consoles, plain tables, names, lines and bars for the terminal.

Nothing is read as markup, and a console escapes everything it prints but its own styles. Lines are wrapped only on a terminal: in a pipe
or a file they stay whole.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from callmark.calls.display import show_expected_call
from callmark.reporting.safe_stream import SafeStream
from callmark.reporting.safety import escape_controls, fold_text, short_names
from callmark.types import Call
from callmark.wording import shorten_all

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

WIDTH = 120  # columns where the output is not a terminal
_MIN_NAME = 12  # columns that a name in a table keeps
_BLOCKS = " ▏▎▍▌▋▊▉█"


class SafeConsole(Console):
    """A console that escapes control characters in text, and drops links: what is left of an escape sequence is a style of our own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            style = segment.style
            if style is not None and style.link is not None:
                style = style.update_link(None)
            yield segment if segment.control else Segment(escape_controls(segment.text), style)


def make_console(stream: TextIO | None = None) -> Console:
    """Return a console on standard output, or on another stream."""
    stream = stream or sys.stdout
    target = stream.styled if isinstance(stream, SafeStream) else stream
    return SafeConsole(file=cast("IO[str]", target), highlight=False, markup=False, emoji=False, width=None if stream.isatty() else WIDTH)


class _AboveBar(SafeStream):
    """A stream whose lines are printed above a progress bar on the same terminal."""

    def __init__(self, stream: TextIO, console: Console) -> None:
        super().__init__(stream)
        self._console = console
        self._line = ""

    def write(self, text: str, /) -> int:
        *lines, self._line = (self._line + text).split("\n")  # not for bytes, which click tries first
        for line in lines:
            self._console.print(Text(line), soft_wrap=True)
        return len(text)

    def finish(self) -> None:
        """Print a line that was not ended."""
        if self._line:
            self.write("\n")


@contextmanager
def make_progress(*columns: "ProgressColumn") -> "Iterator[Progress]":
    """Yield a progress bar on standard error, which must be a terminal. It shows after `start()`, and disappears at the end.

    What is printed on a terminal meanwhile appears above the bar.
    """
    from rich.progress import Progress

    console = make_console(sys.stderr)
    progress = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    before = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    above = {name: _AboveBar(stream, console) for name, stream in before.items() if stream.isatty()}
    for name, stream in above.items():
        setattr(sys, name, stream)
    try:
        yield progress
    finally:
        progress.stop()
        for name, stream in above.items():
            stream.finish()
            if getattr(sys, name) is stream:
                setattr(sys, name, before[name])


def call_text(call: Call, limit: int | None, *, expected: bool = False) -> Text:
    """Return a call as code; a malformed one in red. Matchers of an expected call are shown as people wrote them."""
    code = show_expected_call(call) if expected else str(call)
    text = Text(fold_text(code, limit), style="red" if call.malformed else "")
    if call.name and not call.malformed:
        text.stylize("bold", 0, len(escape_controls(call.name)))
    return text


def plain_table(*columns: str) -> Table:
    """Return a table without borders: the first column left-aligned, the others right-aligned."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        table.add_column(escape_controls(column), justify="left" if index == 0 else "right", overflow="fold" if index == 0 else "ellipsis")
    return table


class NameCell:
    """A name in a column of names: shortened in the middle where the column is too narrow, and still different from the others."""

    def __init__(self, names: Sequence[str], index: int, indent: int) -> None:
        self._names = names
        self._index = index
        self._indent = indent

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        length = len(self._names[self._index])
        return Measurement(self._indent + min(length, _MIN_NAME), self._indent + length)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        name = shorten_all(self._names, max(options.max_width - self._indent, _MIN_NAME))[self._index]
        yield Text(" " * self._indent + name, overflow="fold")


def name_cells(names: Sequence[str], limit: int, *, indent: int = 0) -> list[NameCell]:
    """Return the cells of a column of names from data, each shortened in the middle to `limit` characters, or less on a narrow terminal."""
    short = [name or "(no name)" for name in short_names(names, limit)]
    return [NameCell(short, index, indent) for index in range(len(short))]


def print_sentence(console: Console, text: Text, *, indent: int = 0) -> None:
    """Print a sentence; on a terminal, it is wrapped between words, with all lines indented."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent) + text, soft_wrap=True)


def print_parts(console: Console, label: Text, parts: Sequence[Text], *, separator: str = " · ") -> None:
    """Print the label and the parts on a line; on a terminal that is too narrow, further parts are below the first."""
    lines = [label.copy()]
    for index, part in enumerate(parts):
        joint = separator if index else ""
        ending = len(separator.rstrip()) if index < len(parts) - 1 else 0
        if index and console.is_terminal and lines[-1].cell_len + len(joint) + part.cell_len + ending > console.width:
            lines[-1].append(separator.rstrip())
            lines.append(Text(" " * label.cell_len))
            joint = ""
        lines[-1].append(joint).append_text(part)
    for line in lines:
        console.print(line, soft_wrap=True)


def bar(share: float, width: int) -> str:
    """Return a bar that fills this share of the width, to an eighth of a character. Shares outside 0 to 1 are clamped."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")
