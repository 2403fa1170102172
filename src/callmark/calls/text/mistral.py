"""Mistral: `[TOOL_CALLS] [{"name", "arguments"}]`, `[TOOL_CALLS]name[CALL_ID]id[ARGS]{json}`."""

import re
from collections.abc import Mapping

from callmark.calls.shapes import named_call
from callmark.calls.strict import scrub
from callmark.calls.text.scan import (
    LIST_END,
    compile_marks,
    find_end,
    json_brackets,
    json_spans,
    read_json_call,
    read_json_calls,
    scan,
    skip,
)
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_MARKS = compile_marks(r"\[TOOL_CALLS\]")
_END = re.compile(r"(?=\[TOOL_CALLS\])")
_NAMED_CALL = re.compile(r"\s*+([^\s\[\]{}]++)\s*+(?:\[CALL_ID\]\s*+([^\s\[\]{}]*+)\s*+)?(?:\[ARGS\]\s*+|(?=\{))")
_BRACKETS = json_brackets(r"\[", r"\[TOOL_CALLS\]")


def parse_mistral(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after each marker, whether or not their tools are known."""
    return scan(text, _MARKS, _read_calls)


def _read_calls(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """Return the calls after one [TOOL_CALLS]; none for an empty list."""
    if spans := list(json_spans(text, mark.end(), _BRACKETS)):
        return read_json_calls(text, spans), skip(LIST_END, text, spans[-1][1])
    calls: list[Call] = []
    at = mark.end()
    while named := _NAMED_CALL.match(text, at):
        start = named.end()
        if text.startswith("{", start):
            at = next(json_spans(text, start, _BRACKETS))[1]
        else:
            at = find_end(_END, text, start)[0]
        calls.append(named_call(named[1], text[start:at].strip(), scrub(named[2]) if named[2] else None))
    if calls:
        return calls, at
    stop = find_end(_END, text, at)[0]
    inside = text[at:stop].strip()
    return [] if inside == "[]" else [read_json_call(inside)], stop


FORMAT = TextFormat("mistral", "Mistral", parse_mistral, ("[TOOL_CALLS]",))
