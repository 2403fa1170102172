"""The contract of a text format: how a family of models writes tool calls in plain text."""

from collections.abc import Callable, Container

from msgspec import Struct

from callmark.types import Call


class ParsedText(Struct, frozen=True):
    """The content of a model's text.

    Attributes:
        calls: The calls, in order.
        text: The text outside the calls.
        thinking: The model's reasoning, which is not part of `text`.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""


class TextFormat(Struct, frozen=True):
    """A text format: its name for `--parse`, the markers that open a call, and its parser.

    `parse(text, tools)` returns the calls in order, including repeated calls, and never raises. Text in the place of a call that is not a
    valid call is a malformed call, with its text and, if one is found, its name.

    Attributes:
        name: The value of `--parse` that selects the format.
        parse: The parser. Its argument `tools` is None if the user named the format: then every call counts. During detection, `tools` are
            the names of the known tools: a call without a marker counts only if it names one of them or is unmistakable.
        markers: Strings one of which is in every text of this format; empty for bare JSON and code.
    """

    name: str
    parse: Callable[[str, Container[str] | None], ParsedText]
    markers: tuple[str, ...] = ()
