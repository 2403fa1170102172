"""Parse a model's text in a given format, or in the first format that finds a call."""

from collections.abc import Sequence
from functools import cache

from callmark import registry
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Tool

AUTO = "auto"
_END_MARKERS = ("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end_of_text|>", "<|endoftext|>", "</s>")


def text_format_names() -> tuple[str, ...]:
    """Return the values of `--parse`: `auto` and every text format."""
    return (AUTO, *registry.names("text_formats"))


def parse_calls(text: str, format_name: str = AUTO, *, tools: Sequence[Tool] = ()) -> ParsedText:
    """Return the calls in a model's text, in order, including repeated calls.

    Empty text and plain prose have no calls. An unclosed tag, truncated or invalid JSON and a positional argument are malformed calls. A
    closed <think> is separated wherever it is outside a call, an unclosed one only at the start of the text; text before an unopened
    </think> is thinking too. Markers that end a turn (`<|im_end|>`) are dropped. `tools` are the known tools: without a
    marker, `f(a=1)` is a call only if f is one of them, or none is known. An unknown format name raises `BadInput`.
    """
    text = _strip_end_markers(text)
    known = {tool.name: tool for tool in tools}
    if format_name != AUTO:
        return _find(format_name).parse(text, known)
    parsed = ParsedText()
    for text_format in _built_in():
        if not text_format.markers or any(marker in text for marker in text_format.markers):
            parsed = text_format.parse(text, known)
            if parsed.calls:
                return parsed
    for text_format in _installed():
        if any(marker in text for marker in text_format.markers):
            found = text_format.parse(text, known)
            if found.calls:
                return found
    return parsed


def text_markers() -> tuple[str, ...]:
    """Return the markers of all built-in text formats. Text with one of them probably contains calls."""
    return tuple(marker for text_format in _built_in() for marker in text_format.markers)


def check_text_format(name: str) -> None:
    """Raise `BadInput` if the name is neither `auto` nor a text format."""
    if name != AUTO:
        _find(name)


@cache
def _find(name: str) -> TextFormat:
    found: TextFormat = registry.find("text_formats", name)
    return found


@cache
def _built_in() -> tuple[TextFormat, ...]:
    return tuple(registry.built_in("text_formats"))


@cache
def _installed() -> tuple[TextFormat, ...]:
    return tuple(registry.installed("text_formats"))


def _strip_end_markers(text: str) -> str:
    """Return the text without surrounding white space and without the markers that end a turn."""
    text = text.strip()
    end = len(text)
    while marker := next((marker for marker in _END_MARKERS if text.endswith(marker, 0, end)), None):
        end -= len(marker)
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]
