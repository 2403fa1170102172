"""Qwen3-Coder, Qwen3.5, Nemotron, Seed-OSS: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`.

The outer tag may be missing. Llama 3.1 writes `<function=NAME>{json}</function>`, which is read too.
"""

import re
from collections.abc import Mapping

from callmark.calls.text.scan import ReadMark, begins_line, compile_marks, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.xml_calls import XmlSyntax, read_xml_call
from callmark.types import Call, Tool

_OUTER = r"(?:seed:)?tool_call"
FUNCTION_TAG = rf"(?:(?:<{_OUTER}>|<\|python_tag\|>)\s*+)?<function=(?P<name>[^<>\n]*+)(?P<named>>?)"

_MARKS = compile_marks(FUNCTION_TAG)
_OUTER_CLOSED = re.compile(rf"\s*+</{_OUTER}>")
_INSIDE = re.compile(r"\s*+(?:[{<]|\Z)")
_CLOSED = re.compile(r"[^<\n]*+</function>")
_SYNTAX = XmlSyntax(
    parameter=re.compile(r"\s*+<parameter=(?P<key>[^<>\n]*+)>"),
    parameter_end=re.compile(r"</parameter>|(?=<(?:parameter|function)=|</function>)"),
    call_end=re.compile(rf"</function>|(?=<function=|</?{_OUTER}>)"),
)


def parse_qwen3_coder(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in tags, whether or not their tools are known."""
    return scan(text, _MARKS, function_tag_reader(tools))


def function_tag_reader(tools: Mapping[str, Tool]) -> ReadMark:
    """Return a reader of <function=NAME>.

    It is text if neither a tag nor JSON nor the end of the text follows, unless it begins a line and is closed.
    """

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        at = mark.end()
        is_call = mark["named"] and (_INSIDE.match(text, at) or (begins_line(text, mark.start()) and _CLOSED.match(text, at)))
        if not is_call and at < len(text):
            return None, at
        call, end = read_xml_call(text, at, mark["name"], tools, _SYNTAX)
        return [call], skip(_OUTER_CLOSED, text, end)

    return read


FORMAT = TextFormat("qwen3-coder", "Qwen3-Coder", parse_qwen3_coder, ("<function=",))
