"""The options of every command that sends requests to models."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast, get_args

import click
from msgspec import Struct

from callmark.cli.help import option
from callmark.cli.numbers import Number
from callmark.cli.parse_option import parse_option
from callmark.errors import BadInput
from callmark.models.model import TrailingAssistant

Command = TypeVar("Command", bound=Callable[..., Any])
_TOOL_CHOICES = ("auto", "required", "none")


class ModelOptions(Struct, frozen=True):
    """The values of --temperature, --tool-choice, --param, --tools-in-prompt, --constrained, --trailing-assistant and --parse."""

    temperature: float | None
    tool_choice: str | None
    params: tuple[str, ...]
    tools_in_prompt: bool
    constrained: bool
    trailing_assistant: TrailingAssistant | None
    parse: str | None = None

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


def model_options(*, parse: bool = True) -> Callable[[Command], Command]:
    """Add the options that shape a request to a command, which gets them as `model_options`.

    With `parse` False, --parse is left out: the command gets no responses.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(*arguments: Any, **others: Any) -> Any:
            given = ModelOptions(**{name: others.pop(name) for name in ModelOptions.__struct_fields__ if name in others})
            return command(*arguments, model_options=given, **others)

        decorated: Any = with_options
        for add_option in (
            *([parse_option("Format of tool calls in a text response")] if parse else []),
            option(
                "--trailing-assistant",
                group="Model",
                type=click.Choice(get_args(TrailingAssistant)),
                show_default="drop",
                help="Drop or keep assistant messages at the end of a prompt.",
            ),
            option(
                "--constrained",
                group="Model",
                is_flag=True,
                help="Like --tools-in-prompt, but constrain the response to a JSON schema of the tools.",
            ),
            option(
                "--tools-in-prompt",
                group="Model",
                is_flag=True,
                help="Put the tools into the prompt and parse calls from the text, for models without tool calling.",
            ),
            option(
                "--param",
                "params",
                group="Model",
                multiple=True,
                metavar="NAME=VALUE",
                help="Additional request parameter; VALUE is JSON or text. Repeatable.",
            ),
            option("--tool-choice", group="Model", metavar="CHOICE", help="Tool choice: auto, required, none, or a tool name."),
            option("--temperature", group="Model", metavar="NUMBER", type=Number(), help="Sampling temperature."),
        ):
            decorated = add_option(decorated)
        return cast("Command", decorated)

    return decorate


def env_option(group: str, programs: str) -> Callable[[Command], Command]:
    """Add the option that passes environment variables on to programs, which the command gets as `env`."""
    return option(
        "--env",
        group=group,
        multiple=True,
        metavar="NAME",
        help=f"Environment variable to pass to {programs}, which otherwise inherits only a few, such as PATH and HOME. Repeatable.",
    )


def tag_option() -> Callable[[Command], Command]:
    """Add the option that tags a run, which the command gets as `tags`."""
    return option(
        "--tag",
        "tags",
        group="Output",
        multiple=True,
        metavar="KEY[=VALUE]",
        help="Tag of the run, stored in run.json; callmark gate --baseline latest:KEY finds the newest run with it. Repeatable.",
    )


def _tool_choice(given: str) -> str | dict[str, Any]:
    return given if given in _TOOL_CHOICES else {"type": "function", "function": {"name": given}}


def _param(given: str) -> tuple[str, Any]:
    import json

    name, separator, value = given.partition("=")
    if not separator or not name:
        raise BadInput(f"--param: expected NAME=VALUE, got {given!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
