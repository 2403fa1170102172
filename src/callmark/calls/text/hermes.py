"""Hermes and Qwen: calls in tags.

<tool_call>{"name", "arguments"}</tool_call>, also a list of them
<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>, <function=NAME>{json}</function>
"""

import re
from collections.abc import Mapping
from typing import Any

from callmark.calls.shapes import named_call
from callmark.calls.strict import NotStrict, parse
from callmark.calls.text.python_code import malformed_call
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

FUNCTION_TAG = r"(?:(?:<tool_call>|<\|python_tag\|>)\s*+)?(?P<function><function=(?P<name>[^<>\n]*+)>?)"

_MARKS = compile_marks(rf"{FUNCTION_TAG}|<tool_call>")
_TAG_END = re.compile(r"</tool_call>|(?=<tool_call>|<function=)")
_TAG_CLOSED = re.compile(r"\s*+</tool_call>")
_FUNCTION_END = re.compile(r"</function>|(?=<function=|</?tool_call>)")
_PARAMETER = re.compile(r"\s*+<parameter=([^<>\n]*+)>")
_PARAMETER_END = re.compile(r"</parameter>|(?=<(?:parameter|function)=|</function>)")
_BRACKETS = json_brackets("<", r"</?tool_call>|</?function[=>]")


def parse_hermes(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in tags, whether or not their tools are known."""
    return scan(text, _MARKS, _read_tag)


def read_function_tag(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """Return the call of one <function=NAME>, and where it ends.

    Its arguments are a JSON object, after which the tag may be unclosed, or closed <parameter=KEY> tags.
    """
    arguments: str | dict[str, Any]
    span = next(json_spans(text, mark.end(), _BRACKETS), None)
    if span:
        arguments, at = text[span[0] : span[1]], span[1]
    else:
        arguments, at = _read_parameters(text, mark.end())
    stop, end = find_end(_FUNCTION_END, text, at)
    closed = stop < end
    if span and not closed:
        stop = end = at
    if text[at:stop].strip() or not (span or closed):
        call = malformed_call(mark["name"], "expected a JSON object or closed parameters", text[mark.end() : stop])
    else:
        call = named_call(mark["name"].strip(), arguments, None)
    return [call], skip(_TAG_CLOSED, text, end)


def _read_tag(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """Return the calls of one <tool_call> or <function=…>. An unclosed tag ends with its JSON or, without JSON, at the next tag."""
    if mark["function"]:
        return read_function_tag(text, mark)
    spans = list(json_spans(text, mark.end(), _BRACKETS))
    at = skip(LIST_END, text, spans[-1][1]) if spans else mark.end()
    stop, end = find_end(_TAG_END, text, at)
    if not spans:
        return [read_json_call(text[at:stop])], end
    if stop == end:
        return read_json_calls(text, spans), at
    if text[at:stop].strip():
        spans[-1] = (spans[-1][0], stop)  # trailing text makes the last one malformed
    return read_json_calls(text, spans), end


def _read_parameters(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Return the closed parameters from `at` on, and where they end. For duplicate parameters, the last value wins."""
    values: dict[str, Any] = {}
    while opening := _PARAMETER.match(text, at):
        stop, end = find_end(_PARAMETER_END, text, opening.end())
        if stop == end:
            break
        values[opening[1].strip()] = _read_value(text[opening.end() : stop].removeprefix("\n").removesuffix("\n"))
        at = end
    return values, at


def _read_value(text: str) -> Any:
    try:
        value = parse(text)
    except NotStrict:
        return text
    return text if isinstance(value, str) else value


FORMAT = TextFormat("hermes", "Hermes, Qwen", parse_hermes, ("<tool_call>", "<function="))
