"""What every command that reads datasets shares: its options, rejected rows, a progress bar, and the line that says what was read."""

import base64
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import click
import msgspec
from msgspec import Struct

from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset, Output, side_tools
from callmark.types import Conversation
from callmark.wording import counted

Command = TypeVar("Command", bound=Callable[..., Any])
PATIENCE = 1.0  # seconds before a progress bar shows


class ReadingOptions(Struct, frozen=True):
    """--from, --tools, --skip-bad and --rejects, as they were given."""

    dialect: str | None
    tools: str | None
    skip_bad: bool
    rejects: str | None

    def reader(self, *, on_bad: Callable[[BadRow], None] | None = None) -> "Reader":
        """What opens datasets as these options say."""
        return Reader(self, on_bad=on_bad)


_DIALECTS = "openai, anthropic, sharegpt, deepfabric, scenarios or tau-bench; found out if not given."


def reading_options(
    *, rejects: str = "Keep rows that cannot be read in FILE, each with its reason.", tools: bool = True
) -> Callable[[Command], Command]:
    """The options that every command has which reads datasets; it gets them as `reading`. Without `tools` it has a --tools of its own."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(
            *given: Any, dialect: str | None, skip_bad: bool, rejects: str | None, side_tools: str | None = None, **more: Any
        ) -> Any:
            return command(*given, reading=ReadingOptions(dialect, side_tools, skip_bad, rejects), **more)

        decorated: Any = with_options
        for option in (
            click.option("--rejects", metavar="FILE", help=rejects),
            click.option("--skip-bad", is_flag=True, help="Go on without rows that cannot be read, and count them."),
            *([click.option("--tools", "side_tools", metavar="FILE", help="Tools for rows that have none: a JSON list.")] if tools else []),
            click.option("--from", "dialect", metavar="DIALECT", help=_DIALECTS),
        ):
            decorated = option(decorated)
        return cast("Command", decorated)

    return decorate


class Reader:
    """Opens datasets as the options say, and keeps and counts the rows that cannot be read."""

    def __init__(self, options: ReadingOptions, *, on_bad: Callable[[BadRow], None] | None = None) -> None:
        self._options = options
        self._on_bad = on_bad
        self._rejects = Output(options.rejects)
        self._opened = False
        self.bad_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._opened or kind is None:  # what was rejected is kept even when the command stops: it is the evidence
            self._keep(None)
            self._rejects.__exit__(None, None, None)
        if self.bad_rows:
            from callmark.reporting.safety import safe

            kept = f", kept in {safe(self._rejects.path)}" if self._rejects.path else " (--rejects FILE keeps them)"
            was = "was" if self.bad_rows == 1 else "were"
            say(f"callmark: {counted(self.bad_rows, 'row')} could not be read and {was} skipped{kept}.")

    def _keep(self, line: bytes | None) -> None:
        """Write a line of rejects. The file is made with the first, so that one of an earlier run is not emptied for nothing."""
        if not self._opened:
            self._rejects.__enter__()
            self._opened = True
        if line is not None:
            self._rejects.line(line)

    def open(self, path: str) -> Dataset:
        """The dataset in a file."""
        return Dataset(
            path,
            dialect=self._options.dialect,
            reading=side_tools(self._options.tools) if self._options.tools else None,
            on_bad=self.on_bad,
        )

    @property
    def on_bad(self) -> Callable[[BadRow], None] | None:
        """What takes a row that cannot be read; None where such a row stops the command."""
        return self._bad if self._options.skip_bad else None

    def reject(self, row: Conversation, reasons: list[str]) -> None:
        """Keep a row that could be read and is not wanted."""
        place = row.place
        if self._rejects.path is not None and place is not None:
            told = {"file": place.file, place.unit: place.number, "reason": reasons, "row": msgspec.Raw(row.original.row.rstrip())}
            self._keep(msgspec.json.encode(told))

    def _bad(self, bad: BadRow) -> None:
        self.bad_rows += 1
        told: dict[str, Any] = {"file": bad.place.file, bad.place.unit: bad.place.number, "reason": bad.reason}
        try:
            told["text"] = bad.row.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            told["base64"] = base64.b64encode(bad.row).decode()
        self._keep(msgspec.json.encode(told))
        if self._on_bad is not None:
            self._on_bad(bad)


def refuse_same_file(**files: str | None) -> None:
    """Refuse two of these that are one file: the one written last would take the place of the other."""
    seen: dict[str, str] = {}
    for name, path in files.items():
        if path is not None and not (path == "-" and name == "file"):
            other = seen.setdefault(os.path.realpath(path) if path != "-" else path, name)
            if other != name:
                raise BadInput(f"{path} cannot be both {_WORDS[other]} and {_WORDS[name]}")


_WORDS = {"file": "what is read", "out": "where the result goes", "rejects": "where the rejects go"}


def refuse_rejects_alone(reading: ReadingOptions) -> None:
    """Rejects without --skip-bad would stay empty: the first bad row stops the command."""
    if reading.rejects is not None and not reading.skip_bad:
        raise BadInput("--rejects keeps rows that are skipped, so it needs --skip-bad")


def tracked(dataset: Dataset) -> Iterator[Conversation]:
    """The rows of a dataset, with a progress bar on standard error once it takes longer than a second and someone is looking."""
    if not sys.stderr.isatty():
        yield from dataset
        return
    began = time.monotonic()
    rows = iter(dataset)
    for count, row in enumerate(rows, 1):
        yield row
        if count % 256 == 0 and time.monotonic() - began > PATIENCE:
            break
    else:
        return
    yield from _with_bar(dataset, rows)


def _with_bar(dataset: Dataset, rows: Iterator[Conversation]) -> Iterator[Conversation]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    source = dataset.rows
    total = source.size if source and source.size else None
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]:,} rows"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=total, count=0)
        for count, row in enumerate(rows, 1):
            yield row
            if count % 256 == 0 and source:
                progress.update(task, completed=source.position, count=count)


def say(text: str) -> None:
    """A line for people, on standard error, so that standard output stays what was asked for."""
    click.echo(text, err=True)
