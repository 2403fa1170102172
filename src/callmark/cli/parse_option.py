"""The option `--parse`: the text format in which a model writes its calls."""

from collections.abc import Callable
from typing import Any

import click

from callmark import registry
from callmark.cli.dataset_options import join_or
from callmark.cli.help import option

FORMATS = ["auto", *registry.BUILT_IN["text_formats"]]


class TextFormatName(click.Choice):  # type: ignore[type-arg]  # generic only in newer versions of click
    """`auto`, or the name of a text format: a built-in one, or one from an installed package."""

    def __init__(self) -> None:
        super().__init__(FORMATS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices and isinstance(value, str) and registry.is_known("text_formats", value):
            return value
        return super().convert(value, param, ctx)


def parse_option(text: str, group: str = "Model") -> Callable[[Any], Any]:
    """Return the option, described by a phrase to which the names of the formats are added."""
    return option("--parse", group=group, type=TextFormatName(), metavar="FORMAT", help=f"{text}: {join_or(FORMATS)}.")
