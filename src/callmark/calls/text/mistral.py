"""Mistral: `[TOOL_CALLS] [{"name", "arguments"}]`, and since v11 `[TOOL_CALLS]NAME[ARGS]{json}`, there also `NAME[CALL_ID]ID`."""

import re
from collections.abc import Mapping

from callmark.calls.text.named_json import NamedJson
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import (
    LIST_END,
    begins_line,
    compile_marks,
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
_NAMED_CALL = re.compile(r"\s*+(?P<name>[^\s\[\]{}<>]++)\s*+(?:\[CALL_ID\]\s*+(?P<id>[^\s\[\]{}]*+)\s*+)?(?:\[ARGS\]\s*+|(?=\{))")
_EMPTY_LIST = re.compile(r"\s*+\[\s*+\]")
_TRUNCATED = re.compile(r"\s*+\[?\s*+\Z|\s*+(?P<name>[\w.-]++)(?:\[(?:CALL_ID\][^\[\]]*+|ARGS)?)?\Z")
_BRACKETS = json_brackets(r"\[", r"\[TOOL_CALLS\]")
_ARGUMENTS = NamedJson("(?!)", r"\[TOOL_CALLS\]", _BRACKETS)


def parse_mistral(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after each marker, whether or not their tools are known. The marker is text if no call follows."""
    return scan(text, _MARKS, _read_calls)


def _read_calls(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
    """Return the calls after one [TOOL_CALLS]; none for an empty list."""
    if spans := list(json_spans(text, mark.end(), _BRACKETS)):
        return read_json_calls(text, spans), skip(LIST_END, text, spans[-1][1])
    calls: list[Call] = []
    at = mark.end()
    while named := _NAMED_CALL.match(text, at):
        call, at = _ARGUMENTS.read(text, named.end(), named["name"], named["id"])
        calls.append(call)
    if calls:
        return calls, at
    if empty := _EMPTY_LIST.match(text, at):
        return [], empty.end()
    if begins_line(text, mark.start()) and (truncated := _TRUNCATED.match(text, at)):
        name = truncated["name"]
        return [malformed_call(name, "arguments: truncated", text[at:]) if name else read_json_call(text[at:])], len(text)
    return None, at


FORMAT = TextFormat("mistral", "Mistral", parse_mistral, ("[TOOL_CALLS]",))
