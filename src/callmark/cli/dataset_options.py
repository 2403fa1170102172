"""The options of every command that reads datasets, and the reader that applies them."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import click
from msgspec import Struct

from callmark import registry
from callmark.cli.help import option
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

    def reader(self, *, list_skipped: bool = False) -> "DatasetReader":
        """Return the context manager that opens datasets with these options. With `list_skipped`, each skipped row is printed."""
        return DatasetReader(self, list_skipped=list_skipped)


DATASET_FILE = "Dataset: JSONL or JSON (optionally compressed), Parquet, Arrow or CSV; a folder, a glob or hf:FOLDER"
DATASET = f"{DATASET_FILE}; or - for standard input."
OUT_FILE = "Output file (compressed if it ends in .gz or .zst, a table if it ends in .parquet), or - for standard output."
JSON_HELP = "Print JSON."
_SKIP_BAD = "Skip and count rows that cannot be read."
_REJECTS = "Save skipped rows to FILE, with the reason for each (needs --skip-bad)."


def dataset_options(*, rejects: str = _REJECTS, skip_bad_help: str = _SKIP_BAD, tools: bool = True) -> Callable[[Command], Command]:
    """Add --from, --tools, --skip-bad and --rejects to a command, which gets them as `options`.

    With `tools` False, --tools is left to the command. `rejects` and `skip_bad_help` are help texts of the options.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(
            *arguments: Any, format_name: str | None, skip_bad: bool, rejects: str | None, side_tools: str | None = None, **others: Any
        ) -> Any:
            return command(*arguments, options=DatasetOptions(format_name, side_tools, skip_bad, rejects), **others)

        decorated: Any = with_options
        side_tools = option("--tools", "side_tools", group="Input", metavar="FILE", help="JSON list of tools, for rows that have none.")
        for add_option in (
            option("--rejects", group="Bad rows", metavar="FILE", help=rejects),
            option("--skip-bad", group="Bad rows", is_flag=True, help=skip_bad_help),
            *([side_tools] if tools else []),
            option(
                "--from",
                "format_name",
                group="Input",
                metavar="FORMAT",
                show_default="auto-detected",
                help=f"Input format: {join_or(registry.BUILT_IN['formats'])}.",
            ),
        ):
            decorated = add_option(decorated)
        return cast("Command", decorated)

    return decorate


def allow_no_calls_option() -> Callable[[Command], Command]:
    """Add --allow-no-calls to a command."""
    return option(
        "--allow-no-calls",
        group="Input",
        is_flag=True,
        help="Accept a file in which no tool call is found.",
    )


def patch_option() -> Callable[[Command], Command]:
    """Add --patch to a command."""
    return option("--patch", group="Input", metavar="FILE", help="Corrections to expected calls, as written by callmark view.")


class DatasetReader:
    """Opens datasets as the options say, counts the rows that are skipped, and writes them to the rejects file.

    On leaving the context, the number of skipped rows, and what was left out of others, is printed on standard error. With `list_skipped`,
    so is each skipped row with the reason: it may be one that can be read, but not used.
    """

    def __init__(self, options: DatasetOptions, *, list_skipped: bool = False) -> None:
        from callmark.api.rejects import RejectsFile

        self._options = options
        self.rejects = RejectsFile(options.rejects)
        self.bad_rows = 0
        self._list_skipped = list_skipped
        self._opened: list[TrackedDataset] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.rejects.__exit__(kind, error, trace)
        for left_out in (dataset.left_out for dataset in self._opened if dataset.left_out):
            print_warning(f"ignored: {', '.join(f'{what} ({count:,})' for what, count in left_out.items())}.")
        for missing in (dataset.not_captured for dataset in self._opened if dataset.not_captured):
            print_warning(f"not captured: {', '.join(f'{what} ({count:,})' for what, count in missing.items())}.")
        if self.bad_rows:
            from callmark.reporting.safety import escape_breaks

            saved = f"saved to {escape_breaks(self.rejects.path)}" if self.rejects.path else "--rejects FILE saves the skipped rows"
            was = "was" if self.bad_rows == 1 else "were"
            why = "could not be used" if self._list_skipped else "could not be read"
            print_stderr(f"callmark: {pluralize(self.bad_rows, 'row')} {why} and {was} skipped ({saved}).")

    def open(self, path: str, *, name: str | None = None) -> "TrackedDataset":
        """Return the dataset in a file, which shows a progress bar while it is read. `name` is its name in messages; default: its path."""
        from callmark.cli.progress import TrackedDataset
        from callmark.formats import load_tools

        dataset = TrackedDataset(
            path,
            format_name=self._options.format_name,
            context=load_tools(self._options.tools) if self._options.tools else None,
            on_bad=self.on_bad,
            name=name,
        )
        self._opened.append(dataset)
        return dataset

    @property
    def on_bad(self) -> "Callable[[BadRow], None] | None":
        """The callback for a row that cannot be read; None if such a row stops the command."""
        return self._skip if self._options.skip_bad else None

    def _skip(self, bad: "BadRow") -> None:
        self.bad_rows += 1
        self.rejects.add_bad_row(bad)
        if self._list_skipped:
            from callmark.reporting.safety import indent_breaks

            print_warning(f"skipped {bad.place}: {indent_breaks(bad.reason)}")


def refuse_same_file(**files: str | None) -> None:
    """Raise `BadInput` if two of these are the same file: one would overwrite the other."""
    roles: dict[str, str] = {}
    for role, path in files.items():
        if path is not None and not (path == "-" and role == "file"):
            other = roles.setdefault(os.path.realpath(path) if path != "-" else path, role)
            if other != role:
                raise BadInput(f"{path} cannot be both {_ROLES[other]} and {_ROLES[role]}")


_ROLES = {"file": "the input", "out": "the output", "rejects": "the rejects file"}


def refuse_rejects_alone(options: DatasetOptions) -> None:
    """Raise `BadInput` for --rejects without --skip-bad: the first bad row stops the command, so the file would stay empty."""
    if options.rejects is not None and not options.skip_bad:
        raise BadInput("--rejects needs --skip-bad: it saves the rows that are skipped")


def refuse_repeated_stdin(paths: Sequence[str]) -> None:
    """Raise `BadInput` if standard input is given more than once."""
    if paths.count("-") > 1:
        raise BadInput("standard input can be read only once")


def join_or(names: Iterable[str]) -> str:
    """Return names as `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}"


def print_stderr(text: str) -> None:
    """Print a message on standard error, so that standard output contains only the result."""
    click.echo(text, err=True)


def print_warning(sentence: str) -> None:
    """Print a warning on standard error. Names from data in it are on one line already."""
    print_stderr(f"callmark: warning: {sentence}")
