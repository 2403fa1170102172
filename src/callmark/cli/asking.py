"""What every command that asks models shares: the options that shape a request, and which model a word means."""

from collections.abc import Callable, Mapping
from functools import wraps
from math import isfinite
from typing import Any, TypeVar, cast, get_args

import click
from msgspec import Struct, structs

from callmark.calls.parsing import Dialect
from callmark.errors import BadInput
from callmark.models.model import ModelSettings, TrailingAssistant
from callmark.wording import nearest

Command = TypeVar("Command", bound=Callable[..., Any])
Named = tuple[str | None, ModelSettings]  # the name that a model has in callmark.toml, and its settings
_PLAIN_CHOICES = ("auto", "required", "none")


class Finite(click.FloatRange):
    """A number that can be counted with: neither infinity nor what is no number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return found if isfinite(found) else self.fail(f"{value} is not a finite number.", param, ctx)

    def _describe_range(self) -> str:
        """Nothing where there are no bounds: click would write `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class AskingOptions(Struct, frozen=True):
    """--temperature, --tool-choice, --param, --tools-in-prompt, --constrained, --trailing-assistant and --parse, as they were given."""

    temperature: float | None
    tool_choice: str | None
    params: tuple[str, ...]
    tools_in_prompt: bool
    constrained: bool
    trailing_assistant: TrailingAssistant | None
    parse: Dialect | None

    def model(self, word: str, named: Mapping[str, ModelSettings], **more: Any) -> Named:
        """The model that a spec, or a name from callmark.toml, means, with what the command line says of it."""
        if word in named:
            return word, self.over(named[word], **more)
        if ":" not in word and named:
            raise BadInput(f"there is no model called {word!r}{nearest(word, named)}", f"callmark.toml has {', '.join(named)}.")
        return None, self.over(ModelSettings(model=word), **more)

    def over(self, settings: ModelSettings, **more: Any) -> ModelSettings:
        """The settings with what was given in their place."""
        given: dict[str, Any] = {
            "temperature": self.temperature,
            "tool_choice": None if self.tool_choice is None else _tool_choice(self.tool_choice),
            "params": {**settings.params, **dict(map(_param, self.params))} if self.params else None,
            "tools_in_prompt": "constrained" if self.constrained else "free" if self.tools_in_prompt else None,
            "trailing_assistant": self.trailing_assistant,
            "parse": self.parse,
            **more,
        }
        return structs.replace(settings, **{name: value for name, value in given.items() if value is not None})


def asking_options() -> Callable[[Command], Command]:
    """The options that shape a request; the command gets them as `asking`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(*given: Any, **more: Any) -> Any:
            asking = AskingOptions(**{name: more.pop(name) for name in AskingOptions.__struct_fields__})
            return command(*given, asking=asking, **more)

        decorated: Any = with_options
        for option in (
            click.option("--parse", type=click.Choice(get_args(Dialect)), help="How calls are written in a text reply."),
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
            click.option("--temperature", metavar="T", type=Finite(), help="As the model takes it."),
        ):
            decorated = option(decorated)
        return cast("Command", decorated)

    return decorate


def _tool_choice(given: str) -> str | dict[str, Any]:
    return given if given in _PLAIN_CHOICES else {"type": "function", "function": {"name": given}}


def _param(given: str) -> tuple[str, Any]:
    import json

    name, separator, value = given.partition("=")
    if not separator or not name:
        raise BadInput(f"--param {given} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
