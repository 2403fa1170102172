"""Cohere Command: `<|START_ACTION|>[{"tool_call_id", "tool_name", "parameters"}]<|END_ACTION|>`. Markers around the reply are dropped."""

import re
from collections.abc import Mapping

from callmark.calls.text.json_block import JsonBlock
from callmark.calls.text.scan import compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_OPENING, _CLOSING = r"<\|START_ACTION\|>", r"<\|END_ACTION\|>"
_MARKS = compile_marks(rf"{_OPENING}|(?P<reply><\|(?:START|END)_(?:RESPONSE|TEXT)\|>)")
_BLOCK = JsonBlock(_OPENING, _CLOSING)


def parse_cohere(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls between markers, whether or not their tools are known."""
    return scan(text, _MARKS, _read)


def _read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
    return ([], mark.end()) if mark["reply"] else _BLOCK.read(text, mark)


FORMAT = TextFormat("cohere", "Cohere Command", parse_cohere, ("<|START_ACTION|>", "<|START_RESPONSE|>", "<|START_TEXT|>"))
