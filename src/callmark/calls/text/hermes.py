"""Hermes, Qwen and others: `<tool_call>{"name", "arguments"}</tool_call>`, also with a list of calls in it.

A lost closing tag is supplied, and so is a lost opening tag: an object that begins a line and is followed by a closing tag is a call.
"""

import re
from collections.abc import Mapping

from callmark.calls.text.json_block import JsonBlock
from callmark.calls.text.scan import compile_marks, json_spans, read_json_call, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_PREFIX = r"(?:longcat_)?"
_OPENING = rf"<{_PREFIX}tool_call>"
_CLOSING = rf"</{_PREFIX}tool_call>"
_MARKS = compile_marks(rf"(?P<opening>{_OPENING})")
_MARKS_WITH_LOST_TAGS = compile_marks(rf'(?P<opening>{_OPENING})|^[ \t]*+(?P<lost>\{{)(?=\s*+")')
_CLOSED = re.compile(rf"\s*+{_CLOSING}")
_BLOCK = JsonBlock(_OPENING, _CLOSING)


def parse_hermes(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in tags, whether or not their tools are known."""
    has_lost_tags = text.count("tool_call>") < 2 * text.count("/tool_call>") or text.count("</longcat") > text.count("<longcat")
    return scan(text, _MARKS_WITH_LOST_TAGS if has_lost_tags else _MARKS, _read)


def _read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
    if mark["opening"]:
        return _BLOCK.read(text, mark)
    start, stop = next(json_spans(text, mark.start("lost"), _BLOCK.brackets))
    closed = _CLOSED.match(text, stop)
    return ([read_json_call(text[start:stop])], closed.end()) if closed else (None, stop)


FORMAT = TextFormat("hermes", "Hermes, Qwen", parse_hermes, ("<tool_call>", "</tool_call>", "<longcat_tool_call>"))
