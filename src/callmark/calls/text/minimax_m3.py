"""MiniMax M3: one element for each argument, each tag after the marker `]<]minimax[>[`.

    ]<]minimax[>[<invoke name="NAME">]<]minimax[>[<city>Bonn]<]minimax[>[</city>]<]minimax[>[</invoke>

An element with elements inside is an object, or an array if they are all named `item`. Other values are read by the schema of the tool.
"""

import re
from collections.abc import Mapping
from typing import Any

from callmark.calls.shapes import named_call
from callmark.calls.strict import DEEPEST, NotStrict
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import ReadMark, compile_marks, find_end, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.xml_calls import read_json_or_text, read_value
from callmark.types import Call, Tool

MARKER = "]<]minimax[>["
_MARKER = re.escape(MARKER)
_INVOKE = rf"""{_MARKER}<invoke name=["']?(?P<name>[^"'<>\n]*+)["']?>"""
_MARKS = compile_marks(rf"(?:{_MARKER}<tool_call>\s*+)?{_INVOKE}|(?P<alone>{_MARKER}<tool_call>\s*+\Z)")
_TAG = re.compile(rf"{_MARKER}<(?P<closing>/)?(?P<tag>[^<>\s]++)>")
_CALL_END = re.compile(rf"{_MARKER}</invoke>|(?={_MARKER}<invoke )|(?={_MARKER}</tool_call>)")
_CLOSED = re.compile(rf"\s*+{_MARKER}</tool_call>")


def parse_minimax_m3(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in tags, whether or not their tools are known."""
    return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if mark["alone"]:
            return [malformed_call("", "empty call", "")], mark.end()
        name = mark["name"].strip()
        stop, end = find_end(_CALL_END, text, mark.end())
        inside = text[mark.end() : stop]
        try:
            if stop == end:
                raise NotStrict("truncated")
            call = named_call(name, _read_elements(inside, tools.get(name)), None)
        except NotStrict as problem:
            call = malformed_call(name, f"arguments: {problem}", inside)
        return [call], skip(_CLOSED, text, end)

    return read


def _read_elements(text: str, tool: Tool | None) -> dict[str, Any]:
    """Return the values of the elements in a text. Raise `NotStrict` for tags that do not match, and for text between elements."""
    open_elements: list[tuple[str, list[tuple[str, Any]]]] = [("", [])]
    at = 0
    for found in _TAG.finditer(text):
        inside = text[at : found.start()]
        name, children = open_elements[-1]
        at = found.end()
        if not found["closing"]:
            if inside.strip():
                raise NotStrict("text between elements")
            if len(open_elements) > DEEPEST:
                raise NotStrict(f"nesting deeper than {DEEPEST}")
            open_elements.append((found["tag"], []))
            continue
        if found["tag"] != name or (children and inside.strip()):
            raise NotStrict("tags that do not match")
        open_elements.pop()
        is_argument = len(open_elements) == 1
        value = _combine(children) if children else read_value(inside, name, tool) if is_argument else read_json_or_text(inside)
        open_elements[-1][1].append((name, value))
    if len(open_elements) > 1 or text[at:].strip():
        raise NotStrict("unclosed element")
    return dict(open_elements[0][1])


def _combine(children: list[tuple[str, Any]]) -> dict[str, Any] | list[Any]:
    names = {name for name, _ in children}
    return [value for _, value in children] if names == {"item"} else dict(children)


FORMAT = TextFormat("minimax-m3", "MiniMax M3", parse_minimax_m3, (MARKER,))
