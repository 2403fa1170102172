"""Errors of the command line in callmark's words: `--limit: expected an integer of at least 1, got '0'`."""

import re
from collections.abc import Iterable

import click

_CHOICE = re.compile(r"(.+) is not (?:one of )?", re.DOTALL)
_EXTRA_HINTS = {"grade": "Pass predictions with --predictions FILE."}  # by command, for unexpected arguments
_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)


def describe_usage_error(error: click.ClickException) -> str:
    """Return the sentence for an error that click found on the command line."""
    match error:
        case click.NoSuchOption():
            near = f". Did you mean {_join_or(error.possibilities)}?" if error.possibilities else ""
            return f"unknown option {error.option_name!r}{near}"
        case click.BadOptionUsage():
            problem = ": expected a value" if "requires" in error.message else " does not take a value"
            return f"{error.option_name}{problem}"
        case click.MissingParameter(param=click.Parameter() as parameter):
            choices = f": expected {_join_or(parameter.type.choices)}" if isinstance(parameter.type, click.Choice) else ""
            kind = "option" if isinstance(parameter, click.Option) else "argument"
            return f"missing {kind} {_name(parameter)}{choices}"
        case click.BadParameter(param=click.Parameter() as parameter):
            if isinstance(parameter.type, click.Choice) and (found := _CHOICE.match(error.message)):
                place = f"{_name(parameter)}: " if isinstance(parameter, click.Option) else ""
                return f"{place}expected {_join_or(parameter.type.choices)}, got {found[1]}"
            return f"{_name(parameter)}: {error.message}"
    if extra := _EXTRA.match(error.message):
        return f"{'unexpected arguments' if ' ' in extra[1] else 'unexpected argument'}: {extra[1]}"
    return error.format_message()


def usage_hint(error: click.ClickException) -> str:
    """Return what to do about an error on the command line: the usage of the command, unless the error is a known mistake."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return ""
    known = _EXTRA_HINTS.get(context.command.name or "") if _EXTRA.match(error.message) else None
    return known or context.get_usage()


def _name(parameter: click.Parameter) -> str:
    name = parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.metavar or parameter.name or ""
    return name.removesuffix("...")


def _join_or(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
