"""Generate the reference of the command line as Markdown, from click's own objects."""

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc

import click

from callmark.cli.help import Command, Group
from callmark.cli.main import callmark

HELP = "-h, --help"  # the same for every command
INTRODUCTION = """\
Generated from the help texts: `callmark COMMAND --help` prints the same. `callmark --install-completion` installs completion for bash, zsh
or fish.
"""


def cli_reference() -> str:
    """Return the page: the commands by job, then one section per command."""
    context = click.Context(callmark, info_name="callmark", **callmark.context_settings)
    parts = ["# Command line", INTRODUCTION]
    for title, rows in callmark.sections(context):
        if title in callmark.titles:
            parts.append(_table(title, [(f"[`callmark {name}`](#callmark-{name})", text) for name, text in rows]))
    parts += _command(callmark, context)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the parts of the section of a command, followed by those of its subcommands."""
    yield f"## {context.command_path}"
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```"
    yield from _paragraphs(cleandoc(command.help or ""))
    if isinstance(command, Command):
        for title, rows in command.sections(context):
            described = [(_code(term), text) for term, text in rows if term != HELP]
            if described and not (isinstance(command, Group) and title in command.titles):
                yield _table(title, described)
        if command.examples:
            yield "Examples:"
            yield "```console\n" + "\n".join(f"$ {example}" for example in command.examples) + "\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if subcommand := command.get_command(context, name):
                yield from _command(subcommand, click.Context(subcommand, info_name=name, parent=context))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text. Click leaves one that starts with `\\b` as it is: a block of text."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("\b"):
            yield "```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```"
        else:
            yield _escape(paragraph)


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join([f"| {title} | |", "|---|---|", *(f"| {term} | {_escape(text)} |" for term, text in rows)])


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _escape(text: str) -> str:
    """Return plain text as Markdown: characters that Markdown would interpret are escaped."""
    return re.sub(r"([\\`*_{}|\[\]])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")
