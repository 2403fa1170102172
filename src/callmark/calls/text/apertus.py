"""Apertus: `<|tools_prefix|>[{"NAME": {…}}]<|tools_suffix|>`."""

import re
from collections.abc import Mapping

from callmark.calls.text.bare_json import read_named_object
from callmark.calls.text.scan import LIST_END, compile_marks, json_brackets, json_spans, read_json_call, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_MARKS = compile_marks(r"<\|tools_prefix\|>\s*+(?=\[)")
_BRACKETS = json_brackets("<", r"<\|tools_(?:prefix|suffix)\|>")
_CLOSED = re.compile(r"\s*+<\|tools_suffix\|>")
_NAME = re.compile(r'\{\s*+"([^"\\]++)"')


def parse_apertus(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after each marker, whether or not their tools are known."""
    return scan(text, _MARKS, _read)


def _read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
    spans = list(json_spans(text, mark.end(), _BRACKETS))
    end = skip(LIST_END, text, spans[-1][1] if spans else mark.end())
    calls = [_read_call(text[start:stop]) for start, stop in spans]
    return calls or [read_json_call(text[mark.end() : end])], skip(_CLOSED, text, end)


def _read_call(text: str) -> Call:
    named = _NAME.match(text)
    return (read_named_object(text, named[1]) if named else None) or read_json_call(text)


FORMAT = TextFormat("apertus", "Apertus", parse_apertus, ("<|tools_prefix|>",))
