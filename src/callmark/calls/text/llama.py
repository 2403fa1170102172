"""Llama 3: `<|python_tag|>{"name", "parameters"}; {"name", "parameters"}`, the JSON alone, or `<function=NAME>{json}</function>`."""

import re
from collections.abc import Mapping

from callmark.calls.text.bare_json import parse_json
from callmark.calls.text.hermes import FUNCTION_TAG, read_function_tag
from callmark.calls.text.pythonic import parse_code_only
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

_MARKS = compile_marks(rf"{FUNCTION_TAG}|<\|python_tag\|>")
_END = re.compile(r"(?=<\|python_tag\|>)")
_BRACKETS = json_brackets("<", r"<\|python_tag\|>")


def parse_llama(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after each marker. If there is no marker, bare JSON is read."""
    parsed = scan(text, _MARKS, _read_python_tag)
    return parsed if parsed.calls else parse_json(text, tools)


def _read_python_tag(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """Return the calls after one <|python_tag|>: JSON, or else code."""
    if mark["function"]:
        return read_function_tag(text, mark)
    if spans := list(json_spans(text, mark.end(), _BRACKETS)):
        return read_json_calls(text, spans), skip(LIST_END, text, spans[-1][1])
    stop = find_end(_END, text, mark.end())[0]
    inside = text[mark.end() : stop].strip()
    code = parse_code_only(inside)
    return list(code.calls) if code else [read_json_call(inside)], stop


FORMAT = TextFormat("llama3", "Llama 3", parse_llama, ("<|python_tag|>",))
