"""Llama 3: `<|python_tag|>{"name", "parameters"}; {"name", "parameters"}`, the JSON alone, or `<function=NAME>{json}</function>`."""

import re
from collections.abc import Mapping

from callmark.calls.text.bare_json import parse_json
from callmark.calls.text.python_code import read_code_calls, starts_like_code
from callmark.calls.text.qwen3_coder import FUNCTION_TAG, function_tag_reader
from callmark.calls.text.scan import (
    LIST_END,
    ReadMark,
    begins_line,
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
_END = re.compile(r"(?=<\|python_tag\|>)|<\|eom_id\|>|<\|eot_id\|>")
_BRACKETS = json_brackets("<", r"<\|python_tag\|>")


def parse_llama(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after each marker; without one, the calls in bare JSON."""
    parsed = scan(text, _MARKS, _reader(tools))
    return parsed if parsed.calls else parse_json(text, tools)


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    """Return a reader of what follows one <|python_tag|>: JSON, or else code. The marker is text if neither follows."""
    read_function_tag = function_tag_reader(tools)

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if mark["name"] is not None:
            return read_function_tag(text, mark)
        if spans := list(json_spans(text, mark.end(), _BRACKETS)):
            return read_json_calls(text, spans), skip(LIST_END, text, spans[-1][1])
        stop, end = find_end(_END, text, mark.end())
        inside = text[mark.end() : stop].strip()
        if starts_like_code(inside):
            return read_code_calls(inside), end
        return ([read_json_call(inside)], end) if not inside and begins_line(text, mark.start()) else (None, mark.end())

    return read


FORMAT = TextFormat("llama3", "Llama 3", parse_llama, ("<|python_tag|>", "<function="))
