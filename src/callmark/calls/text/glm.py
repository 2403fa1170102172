"""GLM 4.5 and later: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`.

Hunyuan 3 and 4 write the same with a suffix (`<tool_call:opensource>`) and `<tool_sep>` after the name; K2 Horizon with the prefix `ifm|`.
"""

import re
from collections.abc import Mapping

from callmark.calls.text.scan import ReadMark, begins_line, compile_marks, scan
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.xml_calls import XmlSyntax, read_xml_call
from callmark.types import Call, Tool


def _tag(name: str) -> str:
    return rf"<(?:ifm\|)?{name}(?::\w++)?>"


def _closing_tag(name: str) -> str:
    return rf"</(?:ifm\|)?{name}(?::\w++)?>"


_MARKS = compile_marks(rf"{_tag('tool_call')}\s*+(?P<name>[^\W\d][\w.:-]*+)\s*+(?:{_tag('tool_sep')}\s*+)?(?P<inside>(?=<)|\Z)")
_INSIDE = re.compile(rf"{_tag('arg_key')}|{_closing_tag('tool_call')}|\Z")
_SECTION_END = re.compile(rf"\s*+{_closing_tag('tool_calls')}")
_KEY_END = _closing_tag("arg_key")
_SYNTAX = XmlSyntax(
    parameter=re.compile(
        rf"\s*+{_tag('arg_key')}(?P<key>[^<]*+){_KEY_END}\s*+(?:{_tag('arg_type')}[^<]*+{_closing_tag('arg_type')}\s*+)?{_tag('arg_value')}"
    ),
    parameter_end=re.compile(rf"{_closing_tag('arg_value')}|(?={_tag('arg_key')}|{_tag('tool_call')})"),
    call_end=re.compile(rf"{_closing_tag('tool_call')}|(?={_tag('tool_call')}|{_closing_tag('tool_calls')})"),
)


def parse_glm(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls in tags, whether or not their tools are known."""
    return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    """Return a reader of one call. The name is text if neither arguments nor the end of the tag or of the text follow."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        inside = _INSIDE.match(text, mark.end())
        if not inside or (not inside[0] and not begins_line(text, mark.start())):
            return None, mark.start("name")
        if inside[0].startswith("</") and text[mark.start("name") - 1] == " ":  # <tool_call> and </tool_call>
            return None, mark.start("name")
        call, end = read_xml_call(text, mark.end(), mark["name"], tools, _SYNTAX)
        section = _SECTION_END.match(text, end)
        return [call], section.end() if section else end

    return read


FORMAT = TextFormat("glm", "GLM, Hunyuan 3", parse_glm, ("<tool_call>", "<tool_call:", "<ifm|tool_call>"))
