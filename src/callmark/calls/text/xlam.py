"""xLAM and others: a JSON object with a list of calls, `{"tool_calls": [{"name", "arguments"}]}`, alone, in a fenced block, or in text.

An empty list means no call.
"""

import re
from collections.abc import Mapping
from typing import Any

from callmark.calls.shapes import CALL_LEVELS, read_call
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.calls.text.scan import (
    CODE_FENCE,
    FENCE_CLOSED,
    compile_marks,
    json_brackets,
    json_spans,
    read_json_calls,
    scan,
    skip,
)
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_MARKS = compile_marks(rf'(?:{CODE_FENCE})?(?P<value>\{{)\s*+"')
_BRACKETS = json_brackets("`", "```")
_KEY = r'"(?:tool_calls?|function_calls?)"'
_LIST = re.compile(rf"{_KEY}\s*+:\s*+(?=[\[{{])")
_KEYS = ("tool_calls", "function_calls", "tool_call", "function_call")


def parse_xlam(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in the lists, whether or not their tools are known."""
    return scan(text, _MARKS, _read)


def _read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
    start, stop = next(json_spans(text, mark.start("value"), _BRACKETS))
    found = _LIST.search(text, start, stop)
    if not found:
        return None, stop
    calls = _read_object(text[start:stop])
    if calls is None:
        return None, stop
    return calls, skip(FENCE_CLOSED, text, stop) if mark[0].startswith("`") else stop


def _read_object(text: str) -> list[Call] | None:
    """Return the calls of an object; None if it has no list of calls. An object that is not strict JSON has malformed calls."""
    try:
        value: dict[str, Any] = parse(text, deepest=DEEPEST + CALL_LEVELS + 2)
    except NotStrict:
        found = _LIST.search(text)
        spans = list(json_spans(text, found.end(), _BRACKETS)) if found else []
        return read_json_calls(text, spans)
    given = next((value[key] for key in _KEYS if isinstance(value.get(key), (list, dict))), None)
    if given is None:
        return None
    return [read_call(item) for item in (given if isinstance(given, list) else [given])]


FORMAT = TextFormat("xlam", "xLAM", parse_xlam, ('"tool_calls"', '"tool_call"', '"function_calls"', '"function_call"'))
