"""The contract of a text format: how a family of models writes tool calls in plain text."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from callmark.types import Call, Tool


class ParsedText(Struct, frozen=True):
    """The content of a model's text.

    Attributes:
        calls: The calls, in order.
        text: The text outside the calls.
        thinking: The model's reasoning, which is not part of `text`.
        unrecognized: The marker of a tool call that was not read, and its family if it is known: `"<|tool_call_begin|>" (Kimi K2)`. Only
            for a text without calls; empty otherwise. Such a text is an error, not a text without calls.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""
    unrecognized: str = ""


class TextFormat(Struct, frozen=True):
    """A text format: its name for `--parse`, the models that use it, its parser, and the markers that open a call.

    `parse(text, tools)` returns the calls in order, including repeated calls, and never raises. Text in the place of a call that is not a
    valid call is a malformed call, with its text and, if one is found, its name. A marker in a code span, or without what opens a call
    after it, is text: people write about markers. `tools` are the known tools by name; empty if no tool is known. A call with a marker
    counts whatever tool it names. A call without one (bare JSON, code) counts only if its tool is known, or if no tool is. A parser does
    not know whether the user named the format or it is being detected: the rules are the same.

    Attributes:
        name: The value of `--parse` that selects the format.
        title: The models that write it, for people: `Kimi K2`.
        parse: The parser.
        markers: Strings one of which is in every text of this format.
        is_marked: Whether a marker says that a call follows. False for bare JSON and code, whose markers are only brackets.
    """

    name: str
    title: str
    parse: Callable[[str, Mapping[str, Tool]], ParsedText]
    markers: tuple[str, ...] = ()
    is_marked: bool = True
