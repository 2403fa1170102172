"""The option `--parse`: which text format a model writes its calls in."""

from collections.abc import Callable
from typing import Any

import click

from callmark import registry


class TextFormatName(click.Choice):  # type: ignore[type-arg]  # generic only in newer versions of click
    """`auto`, or the name of a text format: a built-in one, or one that an installed package offers."""

    def __init__(self) -> None:
        super().__init__(["auto", *registry.BUILT_IN["text_formats"]])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices and isinstance(value, str) and registry.is_known("text_formats", value):
            return value
        return super().convert(value, param, ctx)


def parse_option(text: str) -> Callable[[Any], Any]:
    """Return the option with this help text."""
    return click.option("--parse", type=TextFormatName(), help=text)
