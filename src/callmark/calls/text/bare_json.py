"""Bare JSON: an object or a list of calls, alone or in ``` fences, with text around it."""

import re
from collections.abc import Mapping

from callmark.calls.shapes import ARGUMENT_KEYS
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

_MARKS = compile_marks(rf'(?:{CODE_FENCE})?(?:\[\s*+)?(?P<value>\{{)\s*+"')
_BRACKETS = json_brackets("`", "```")
_HAS_NAME = re.compile(r"""["'](?:name|functionName)["']""")
_IS_SURELY_A_CALL = re.compile(rf'"(?:{"|".join(ARGUMENT_KEYS)})"\s*+:|\A\{{\s*+"(?:name|functionName)"\s*+:\s*+"[^"]*+"\s*+\}}\Z')


def parse_json(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return every JSON object that is a call. Other objects are text."""
    return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    """Return a reader of the JSON calls at a bracket, up to the first object that is not a call. If there is none, the object is text."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        calls: list[Call] = []
        at = mark.start("value")
        for start, stop in json_spans(text, at, _BRACKETS):
            call = _read_object(text[start:stop], tools)
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


def _read_object(text: str, tools: Mapping[str, Tool]) -> Call | None:
    """Return the call of a bare JSON object, malformed or not; None if it has no name.

    Data has names too: if `tools` are given, an object without arguments that does not name one of them is a call only if it has nothing
    but a name.
    """
    if not _HAS_NAME.search(text):
        return None
    call = read_json_call(text)
    return call if call.name and (call.name in tools or _IS_SURELY_A_CALL.search(text)) else None


FORMAT = TextFormat("json", "bare JSON", parse_json)
