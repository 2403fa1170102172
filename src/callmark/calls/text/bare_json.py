"""Bare JSON: an object or a list of calls, alone or in a fenced block, with text around it; or `[{"NAME": {…}}]`.

JSON has no marker, and answers are JSON too. So an object counts only if it names a known tool; if no tool is known, if it has arguments.
"""

import re
from collections.abc import Mapping
from typing import Any

from callmark.calls.shapes import ARGUMENT_KEYS, named_call
from callmark.calls.strict import NotStrict, parse
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import (
    CODE_FENCE,
    FENCE_CLOSED,
    LIST_END,
    ReadMark,
    compile_marks,
    json_brackets,
    json_spans,
    read_json_call,
    scan,
    skip,
)
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_MARKS = compile_marks(rf'(?:{CODE_FENCE})?(?P<list>\[\s*+)?(?P<value>\{{)\s*+"')
_BRACKETS = json_brackets("`", "```")
_NAME_KEY = r"""["'](?:name|functionName|function_name|tool_name|toolName|tool|function|action)["']"""
_HAS_NAME = re.compile(_NAME_KEY)
_IS_SURELY_A_CALL = re.compile(rf'"(?:{"|".join(ARGUMENT_KEYS)})"\s*+:|\A\{{\s*+"functionName"')
_NAMED_OBJECT = re.compile(r'\{\s*+"(?P<name>[^"\\]++)"\s*+:\s*+\{')


def parse_json(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return every JSON object that is a call. Other objects are text."""
    return scan(text, _MARKS, _reader(tools), is_marked=False)


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    """Return a reader of the JSON calls at a bracket, up to the first object that is not a call. If there is none, the object is text."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        calls: list[Call] = []
        at = mark.start("value")
        is_whole = mark["list"] is not None and not text[: mark.start()].strip()
        for start, stop in json_spans(text, at, _BRACKETS):
            call = _read_object(text[start:stop], tools, is_whole=is_whole)
            if call is None:
                at = at if calls else stop
                break
            calls.append(call)
            at = stop
        if not calls:
            return None, at
        at = skip(LIST_END, text, at)
        return calls, skip(FENCE_CLOSED, text, at) if mark[0].startswith("`") else at

    return read


def _read_object(text: str, tools: Mapping[str, Tool], *, is_whole: bool) -> Call | None:
    """Return the call of a bare JSON object, malformed or not; None if it is not a call."""
    named = _NAMED_OBJECT.match(text)
    if named and (named["name"] in tools or (not tools and is_whole and not _HAS_NAME.match(text, named.start("name") - 1))):
        return read_named_object(text, named["name"])
    if not _HAS_NAME.search(text):
        return None
    call = read_json_call(text)
    return call if call.name and (call.name in tools or (not tools and _IS_SURELY_A_CALL.search(text))) else None


def read_named_object(text: str, name: str) -> Call | None:
    """Return the call of `{"NAME": {…}}`; malformed if it is not strict JSON, None if there are other keys."""
    try:
        value: dict[str, Any] = parse(text)
    except NotStrict as problem:
        return malformed_call(name, f"arguments: {problem}", text)
    return named_call(name, value[name], None) if len(value) == 1 else None


FORMAT = TextFormat("json", "bare JSON", parse_json, ("{",), is_marked=False)
