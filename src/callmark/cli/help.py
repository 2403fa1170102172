"""Help pages: options in named groups, described arguments, exit statuses and examples.

`option` and `argument` take what click's decorators take, and a group or a description. Commands are made with
`@click.command(NAME, cls=Command, …)`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from callmark.errors import BadInput
from callmark.wording import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OTHER = "Other"
EXIT_STATUS = "Exit status"
_EXIT_STATUS_WIDTH = 5
COLUMN = 28  # characters; the description of a longer term starts on the next line


class Section(NamedTuple):
    """A titled part of a help page: terms with their descriptions."""

    title: str
    rows: list[tuple[str, str]]


class Option(click.Option):
    """An option that belongs to a group. `completes` is what the shell completes its value with, by default its metavar."""

    def __init__(self, *names: Any, group: str = OTHER, completes: str = "", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.group = group
        self.completes = completes or self.metavar or ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its description; a default that is given as text is shown without click's parentheses."""
        record = super().get_help_record(ctx)
        if record is None or not isinstance(self.show_default, str):
            return record
        return record[0], record[1].replace(f"({self.show_default})", self.show_default)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        return _complete(self, incomplete) or super().shell_complete(ctx, incomplete)


class Argument(click.Argument):
    """An argument with a description. Its metavar decides what the shell completes."""

    def __init__(self, *names: Any, text: str, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.text = text
        self.completes = self.metavar or ""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        return _complete(self, incomplete) or super().shell_complete(ctx, incomplete)


class Command(click.Command):
    """A command whose help page has sections. The first line of its docstring is its summary."""

    def __init__(
        self, *positional: Any, exit_status: Mapping[int, str] | None = None, examples: Sequence[str] = (), **attributes: Any
    ) -> None:
        super().__init__(*positional, **attributes)
        self.exit_status = exit_status or {}
        self.examples = examples
        self.short_help = self.short_help or (self.help or "").partition("\n")[0]

    def sections(self, context: click.Context) -> Iterator[Section]:
        """Yield the arguments, the groups of options in the order of their first option, and the exit statuses."""
        parameters = self.get_params(context)
        if arguments := [(one.metavar or "", one.text) for one in parameters if isinstance(one, Argument)]:
            yield Section("Arguments", arguments)
        groups: dict[str, list[tuple[str, str]]] = {}
        for one in parameters:
            if not isinstance(one, click.Argument) and (record := one.get_help_record(context)):
                groups.setdefault(one.group if isinstance(one, Option) else OTHER, []).append(record)
        other = groups.pop(OTHER, None)
        yield from (Section(title, rows) for title, rows in groups.items())
        if other:
            yield Section(OTHER if groups else "Options", other)
        if self.exit_status:
            yield Section(EXIT_STATUS, [(str(status), meaning) for status, meaning in self.exit_status.items()])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        sections = list(self.sections(ctx))
        width = max([len(term) for section in sections for term, _ in section.rows if len(term) <= COLUMN], default=0)
        for title, rows in sections:
            with formatter.section(title):
                formatter.write("".join(_rows(rows, _EXIT_STATUS_WIDTH if title == EXIT_STATUS else width + 2, formatter.width)))
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for example in self.examples for line in example.splitlines()))


class Group(Command, click.Group):
    """A group of commands: its help page lists them, under `titles`, before its options."""

    def __init__(self, *positional: Any, titles: Mapping[str, Sequence[str]] | None = None, **attributes: Any) -> None:
        super().__init__(*positional, **attributes)
        self.titles = titles or {}

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(context)
        if args and args[0] not in names and not args[0].startswith("-") and not context.resilient_parsing:
            hint = f"{context.command_path} --help lists the commands."
            raise BadInput(f"unknown command {args[0]!r}{did_you_mean(args[0], names)}", hint)
        return super().resolve_command(context, args)

    def sections(self, context: click.Context) -> Iterator[Section]:
        for title, names in (self.titles or {"Commands": self.list_commands(context)}).items():
            commands = [(name, self.get_command(context, name)) for name in names]
            yield Section(title, [(name, one.get_short_help_str(limit=200)) for name, one in commands if one])
        yield from super().sections(context)


def _rows(rows: list[tuple[str, str]], indent: int, width: int) -> Iterator[str]:
    """Yield the lines of a definition list. Unlike click, never break a word at a hyphen."""
    for term, text in rows:
        kept_together = text.replace("[default: ", "[default:\0")
        lines = [line.replace("\0", " ") for line in wrap(kept_together, max(width - indent - 2, 20), break_on_hyphens=False)]
        first = lines.pop(0) if lines and len(term) < indent else ""
        yield f"  {term:<{indent}}{first}".rstrip() + "\n"
        yield from (f"{'':<{indent + 2}}{line}\n" for line in lines)


def option(*names: Any, group: str = OTHER, **attributes: Any) -> Callable[[Any], Any]:
    """Add an option to a command, in a group of its help page."""
    return click.option(*names, cls=Option, group=group, **attributes)


def argument(*names: Any, text: str, **attributes: Any) -> Callable[[Any], Any]:
    """Add an argument to a command, with its description."""
    return click.argument(*names, cls=Argument, text=text, **attributes)


def _complete(parameter: Option | Argument, incomplete: str) -> "list[CompletionItem]":
    from callmark.cli.completion import complete

    return complete(parameter.completes, incomplete) if isinstance(parameter.type, click.types.StringParamType) else []
