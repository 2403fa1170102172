"""The options of every command that sends requests to models."""

from collections.abc import Callable
from functools import wraps
from math import isfinite
from typing import Any, TypeVar, cast, get_args

import click
from msgspec import Struct

from callmark.cli.parse_option import parse_option
from callmark.errors import BadInput
from callmark.models.model import TrailingAssistant

Command = TypeVar("Command", bound=Callable[..., Any])
_TOOL_CHOICES = ("auto", "required", "none")


class FiniteNumber(click.FloatRange):
    """A number in a range that is neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if isfinite(number) else self.fail(f"{value} is not a finite number.", param, ctx)

    def _describe_range(self) -> str:
        """Return nothing where there are no bounds: click would write `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class ModelOptions(Struct, frozen=True):
    """The values of --temperature, --tool-choice, --param, --tools-in-prompt, --constrained, --trailing-assistant and --parse."""

    temperature: float | None
    tool_choice: str | None
    params: tuple[str, ...]
    tools_in_prompt: bool
    constrained: bool
    trailing_assistant: TrailingAssistant | None
    parse: str | None

    def settings(self, **others: Any) -> dict[str, Any]:
        """Return the fields of `ModelSettings` that were given, by name, with `others` that are not None."""
        fields: dict[str, Any] = {
            "temperature": self.temperature,
            "tool_choice": None if self.tool_choice is None else _tool_choice(self.tool_choice),
            "params": dict(map(_param, self.params)) or None,
            "tools_in_prompt": "constrained" if self.constrained else "free" if self.tools_in_prompt else None,
            "trailing_assistant": self.trailing_assistant,
            "parse": self.parse,
            **others,
        }
        return {name: value for name, value in fields.items() if value is not None}


def model_options() -> Callable[[Command], Command]:
    """Add the options that shape a request to a command, which gets them as `model_options`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(*arguments: Any, **others: Any) -> Any:
            given = ModelOptions(**{name: others.pop(name) for name in ModelOptions.__struct_fields__})
            return command(*arguments, model_options=given, **others)

        decorated: Any = with_options
        for option in (
            parse_option("How calls are written in a text reply."),
            click.option(
                "--trailing-assistant",
                type=click.Choice(get_args(TrailingAssistant)),
                help="What becomes of assistant messages that end a prompt; drop if not given.",
            ),
            click.option(
                "--constrained", is_flag=True, help="The same, and the server holds the reply to a JSON schema made of the tools."
            ),
            click.option(
                "--tools-in-prompt", is_flag=True, help="For models without tool calling: tools in the prompt, calls read from the reply."
            ),
            click.option("--param", "params", multiple=True, metavar="K=V", help="Anything else for the request; V is JSON or text."),
            click.option("--tool-choice", metavar="CHOICE", help="auto, required, none, or the name of a tool."),
            click.option("--temperature", metavar="T", type=FiniteNumber(), help="As the model takes it."),
        ):
            decorated = option(decorated)
        return cast("Command", decorated)

    return decorate


def _tool_choice(given: str) -> str | dict[str, Any]:
    return given if given in _TOOL_CHOICES else {"type": "function", "function": {"name": given}}


def _param(given: str) -> tuple[str, Any]:
    import json

    name, separator, value = given.partition("=")
    if not separator or not name:
        raise BadInput(f"--param {given} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
