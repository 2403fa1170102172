"""Parse a model's text in a given format, or in the first format that finds a call."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from callmark import registry
from callmark.calls.strict import scrub
from callmark.calls.text.scan import compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.unknown_markers import find_unknown_marker
from callmark.types import Tool

AUTO = "auto"
_END_MARKERS = (
    *("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end_of_text|>", "<|endoftext|>", "</s>", "<|eom|>", "<|eot|>", "<|return|>"),
    *("<｜end▁of▁sentence｜>", "<end_of_turn>", "<turn|>", "<|END_OF_TURN_TOKEN|>", "[e~[", "<|end|>", "<|end_of_msg|>"),
    *("<|user|>", "<|observation|>", "<start_function_response>", "<|tool_response>"),
)
_OPENS_THINKING = "<[◁"  # the first characters of all thinking tags


def text_format_names() -> tuple[str, ...]:
    """Return the values of `--parse`: `auto` and every text format."""
    return (AUTO, *registry.names("text_formats"))


def parse_calls(text: str, format_name: str = AUTO, *, tools: Sequence[Tool] = ()) -> ParsedText:
    """Return the calls in a model's text, in order, including repeated calls.

    Empty text and plain prose have no calls. An unclosed tag, truncated or invalid JSON and a positional argument are malformed calls. A
    text without a call in which another format, or no known one, opens a call is `unrecognized`: it must not count as a text without calls.
    Closed thinking is separated wherever it is outside a call, unclosed thinking only at the start of the text; text before an unopened
    </think> is thinking too. Markers that end a turn (`<|im_end|>`) are dropped. `tools` are the known tools. Their schemas give the types
    of arguments that are written as text, and without a marker, `f(a=1)` is a call only if f is one of them, or none is known. An unknown
    format name raises `BadInput`.
    """
    text = _strip_end_markers(text)
    known = {tool.name: tool for tool in tools}
    if format_name != AUTO:
        chosen = _find(format_name)
        parsed = chosen.parse(text, known)
        return parsed if parsed.calls else _check_other_formats(text, parsed, known, chosen)
    found_formats = {text_format.name: text_format for marker, text_format in _markers() if marker in text}
    candidates = found_formats.values()
    first: ParsedText | None = None  # the first result of a format with markers; of those with calls, if there is one
    for text_format in candidates:
        if text_format.is_marked:
            found = text_format.parse(text, known)
            if found.calls and not all(call.malformed for call in found.calls):
                return found
            first = found if first is None or (found.calls and not first.calls) else first
    if first is not None and first.calls:
        return first
    for text_format in candidates:
        if not text_format.is_marked:
            found = text_format.parse(text, known)
            if found.calls:
                return found
    return _check_other_formats(text, first or _without_thinking(text), known, None)


def text_markers() -> tuple[str, ...]:
    """Return the markers of all built-in text formats that have markers of calls. Text with one of them probably contains calls."""
    return tuple(marker for text_format in _built_in() if text_format.is_marked for marker in text_format.markers)


def find_marker(text: str, tools: Sequence[Tool] = ()) -> str:
    """Return the marker of a call in any text format, with its family if it is known; empty for a text that opens no call."""
    marker = _find_other_marker(text, {tool.name: tool for tool in tools}, (*_built_in(), *_installed()), None)
    unknown = "" if marker else find_unknown_marker(text)
    return f'"{scrub(unknown)}"' if unknown else marker


def check_text_format(name: str) -> None:
    """Raise `BadInput` if the name is neither `auto` nor a text format."""
    if name != AUTO:
        _find(name)


def _check_other_formats(text: str, parsed: ParsedText, tools: Mapping[str, Tool], chosen: TextFormat | None) -> ParsedText:
    """Return a text without calls, with the marker of a call in another format than the chosen one, or in a format that is not known."""
    marker = _find_other_marker(text, tools, (*_built_in(), *_installed()), chosen) if chosen is not None else ""
    if not marker and (unknown := find_unknown_marker(parsed.text)):
        marker = f'"{scrub(unknown)}"'
    return ParsedText((), parsed.text, parsed.thinking, marker) if marker else parsed


def _find_other_marker(text: str, tools: Mapping[str, Tool], formats: Iterable[TextFormat], chosen: TextFormat | None) -> str:
    for other in formats:
        if other.is_marked and (chosen is None or other.name != chosen.name):
            marker = next((marker for marker in other.markers if marker in text), None)
            if marker is not None and other.parse(text, tools).calls:
                return f'"{marker}" ({other.title})'
    return ""


def _without_thinking(text: str) -> ParsedText:
    if not any([character in text for character in _OPENS_THINKING]):  # noqa: C419 - faster
        return ParsedText((), scrub(text))
    return scan(text, compile_marks("(?!)"), lambda text, mark: (None, mark.end()), is_marked=False)


@cache
def _find(name: str) -> TextFormat:
    found: TextFormat = registry.find("text_formats", name)
    return found


@cache
def _built_in() -> tuple[TextFormat, ...]:
    return tuple(registry.built_in("text_formats"))


@cache
def _markers() -> tuple[tuple[str, TextFormat], ...]:
    """Return every marker with its format, in the order in which formats are tried."""
    return tuple((marker, text_format) for text_format in (*_built_in(), *_installed()) for marker in text_format.markers)


@cache
def _installed() -> tuple[TextFormat, ...]:
    return tuple(registry.installed("text_formats"))


def _strip_end_markers(text: str) -> str:
    """Return the text without surrounding white space and without the markers that end a turn."""
    text = text.strip()
    end = len(text)
    while text.endswith(_END_MARKERS, 0, end):
        end -= len(next(marker for marker in _END_MARKERS if text.endswith(marker, 0, end)))
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]
