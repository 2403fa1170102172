"""Parse tool calls in the raw text of a model (`--parse`). One file per text format, registered as `text_formats`."""

from callmark.calls.text.detect import AUTO, check_text_format, find_marker, parse_calls, text_format_names, text_markers
from callmark.calls.text.text_format import ParsedText, TextFormat

__all__ = ["AUTO", "ParsedText", "TextFormat", "check_text_format", "find_marker", "parse_calls", "text_format_names", "text_markers"]
