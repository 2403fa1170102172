"""MiniMax, Anthropic and others: `<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`.

The calls are inside <minimax:tool_call>, <function_calls> or another tag, or in none. Tags may have a prefix (`<steptml:invoke …>`).
"""

import re
from collections.abc import Mapping

from callmark.calls.text.scan import ReadMark, compile_marks, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.xml_calls import XmlSyntax, read_xml_call
from callmark.types import Call, Tool

_OUTER = r"(?:minimax:tool_call|(?:\w+:)?function_calls|dots_function_call|tool_calls?)"
_NAME = r"""(?:"(?P<{0}>[^"<>\n]*+)"|'(?P<{0}_in_quotes>[^'<>\n]*+)'|(?P<{0}_bare>[^\s"'<>/]++))"""
_MARKS = compile_marks(
    rf"(?:<{_OUTER}>\s*+)?<(?:\w++:)?invoke\s++name\s*+=\s*+{_NAME.format('name')}\s*+(?P<empty>/)?>(?P<inside>\s*+(?:[<{{]|\Z))?"
)
_OUTER_CLOSED = re.compile(rf"\s*+</{_OUTER}>")
_SYNTAX = XmlSyntax(
    parameter=re.compile(r"""\s*+<(?:\w++:)?parameter\s++name\s*+=\s*+["']?(?P<key>[^"'<>\n]*+)["']?(?:\s++[^<>]*+)?>"""),
    parameter_end=re.compile(r"</(?:\w++:)?parameter>|(?=<(?:\w++:)?(?:parameter|invoke)\s++name|</(?:\w++:)?invoke>)"),
    call_end=re.compile(rf"</(?:\w++:)?invoke>|(?=<(?:\w++:)?invoke\s++name|</{_OUTER}>)"),
)


def parse_invoke(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in tags, whether or not their tools are known."""
    return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    """Return a reader of one <invoke>. It is text if neither a tag nor JSON nor the end of the text follows."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        name = mark["name"] or mark["name_in_quotes"] or mark["name_bare"] or ""
        if mark["empty"]:
            return [Call(name)] if name else None, skip(_OUTER_CLOSED, text, mark.end())
        if mark["inside"] is None:
            return None, mark.end()
        call, end = read_xml_call(text, mark.start("inside"), name, tools, _SYNTAX)
        return [call], skip(_OUTER_CLOSED, text, end)

    return read


FORMAT = TextFormat("invoke", "MiniMax, Anthropic XML", parse_invoke, ("<invoke ", ":invoke "))
