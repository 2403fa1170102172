"""The options of every command that reads datasets, and the reader that follows them."""

import os
from collections.abc import Callable, Sequence
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import click
from msgspec import Struct

from callmark.errors import BadInput
from callmark.wording import pluralize

if TYPE_CHECKING:
    from callmark.cli.progress import TrackedDataset
    from callmark.formats import BadRow

Command = TypeVar("Command", bound=Callable[..., Any])


class DatasetOptions(Struct, frozen=True):
    """The values of --from, --tools, --skip-bad and --rejects."""

    format_name: str | None
    tools: str | None
    skip_bad: bool
    rejects: str | None

    def reader(self) -> "DatasetReader":
        """Return the context manager that opens datasets with these options."""
        return DatasetReader(self)


_FORMATS = "openai, anthropic, sharegpt, deepfabric, scenarios or tau-bench; found out if not given."


def dataset_options(
    *, rejects: str = "Keep rows that cannot be read in FILE, each with its reason.", tools: bool = True
) -> Callable[[Command], Command]:
    """Add --from, --tools, --skip-bad and --rejects to a command, which gets them as `options`. `tools` False leaves --tools to it."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(
            *arguments: Any, format_name: str | None, skip_bad: bool, rejects: str | None, side_tools: str | None = None, **others: Any
        ) -> Any:
            return command(*arguments, options=DatasetOptions(format_name, side_tools, skip_bad, rejects), **others)

        decorated: Any = with_options
        for option in (
            click.option("--rejects", metavar="FILE", help=rejects),
            click.option("--skip-bad", is_flag=True, help="Go on without rows that cannot be read, and count them."),
            *([click.option("--tools", "side_tools", metavar="FILE", help="Tools for rows that have none: a JSON list.")] if tools else []),
            click.option("--from", "format_name", metavar="FORMAT", help=_FORMATS),
        ):
            decorated = option(decorated)
        return cast("Command", decorated)

    return decorate


class DatasetReader:
    """Open datasets as the options say; count the rows that are skipped, and write them to the rejects file.

    On leaving the context, the number of skipped rows is printed on standard error.
    """

    def __init__(self, options: DatasetOptions) -> None:
        from callmark.api.rejects import RejectsFile

        self._options = options
        self.rejects = RejectsFile(options.rejects)
        self.bad_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.rejects.__exit__(kind, error, trace)
        if self.bad_rows:
            from callmark.reporting.safety import escape_controls

            kept = f", kept in {escape_controls(self.rejects.path)}" if self.rejects.path else " (--rejects FILE keeps them)"
            was = "was" if self.bad_rows == 1 else "were"
            print_stderr(f"callmark: {pluralize(self.bad_rows, 'row')} could not be read and {was} skipped{kept}.")

    def open(self, path: str) -> "TrackedDataset":
        """Return the dataset in a file, which shows a progress bar while it is read."""
        from callmark.cli.progress import TrackedDataset
        from callmark.formats import load_tools

        return TrackedDataset(
            path,
            format_name=self._options.format_name,
            context=load_tools(self._options.tools) if self._options.tools else None,
            on_bad=self.on_bad,
        )

    @property
    def on_bad(self) -> "Callable[[BadRow], None] | None":
        """The callback for a row that cannot be read; None where such a row stops the command."""
        return self._skip if self._options.skip_bad else None

    def _skip(self, bad: "BadRow") -> None:
        self.bad_rows += 1
        self.rejects.add_bad_row(bad)


def refuse_same_file(**files: str | None) -> None:
    """Raise `BadInput` where two of these are one file: the one written last would replace the other."""
    roles: dict[str, str] = {}
    for role, path in files.items():
        if path is not None and not (path == "-" and role == "file"):
            other = roles.setdefault(os.path.realpath(path) if path != "-" else path, role)
            if other != role:
                raise BadInput(f"{path} cannot be both {_ROLES[other]} and {_ROLES[role]}")


_ROLES = {"file": "what is read", "out": "where the result goes", "rejects": "where the rejects go"}


def refuse_rejects_alone(options: DatasetOptions) -> None:
    """Raise `BadInput` for --rejects without --skip-bad: the first bad row stops the command, so the file would stay empty."""
    if options.rejects is not None and not options.skip_bad:
        raise BadInput("--rejects keeps rows that are skipped, so it needs --skip-bad")


def refuse_repeated_stdin(paths: Sequence[str]) -> None:
    """Raise `BadInput` where standard input is given more than once."""
    if paths.count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")


def print_stderr(text: str) -> None:
    """Print a line for people on standard error, so that standard output holds the result only."""
    click.echo(text, err=True)
