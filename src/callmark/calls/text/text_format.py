"""The contract of a text format: how one family of models writes tool calls in plain text."""

from collections.abc import Callable, Container

from msgspec import Struct

from callmark.types import Call


class ParsedText(Struct, frozen=True):
    """What a model's text holds: the calls in order, the text outside them, the thinking."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""


class TextFormat(Struct, frozen=True):
    """A text format: its name for `--parse`, the markers that open a call, and its parser.

    `parse(text, tools)` returns the calls in order, repeated ones repeated, and never raises. What stands in the place of a call and is
    none is a malformed call, with its text, and its name if one can be found. `tools` are the names of the known tools where the format is
    only a guess: then a call without a marker counts if it names one of them, or can hardly be anything else. `tools` is None where the
    user names the format: then every call counts.

    `markers` are the strings one of which stands in every text in this format; none for a format of bare JSON or code.
    """

    name: str
    parse: Callable[[str, Container[str] | None], ParsedText]
    markers: tuple[str, ...] = ()
