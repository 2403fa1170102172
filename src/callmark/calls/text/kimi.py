"""Kimi K2: `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{json}<|tool_call_end|>`, in a section of its own.

Kimi K3: `<|open|>call tool="NAME" index="1"<|sep|>`, for each argument `<|open|>argument key="KEY" type="string"<|sep|>VALUE` and its end,
`<|close|>argument<|sep|>`, and at the end of the call `<|close|>call<|sep|>`.
"""

import re
from collections.abc import Mapping

from callmark.calls.text.named_json import NamedJson
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import ReadMark, begins_line, compile_marks, json_brackets, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.xml_calls import XmlSyntax, read_xml_call
from callmark.types import Call, Tool

_SECTION = r"<\|tool_calls?_section_begin\|>"
_SECTION_END = r"<\|tool_calls?_section_end\|>"
_K2 = rf"(?:{_SECTION}\s*+)?<\|tool_call_begin\|>\s*+(?P<id>[^\s<|]*+)\s*+(?P<arguments><\|tool_call_argument_begin\|>|\Z)"
_TOOLS, _TOOLS_END = r"<\|open\|>\s*+tools\s*+<\|sep\|>\s*+", r"\s*+<\|close\|>\s*+tools\s*+<\|sep\|>"
_K3 = rf'(?:{_TOOLS})?<\|open\|>\s*+call\s++tool="(?P<name>[^"<>]*+)"[^<>]*+<\|sep\|>'
_MARKS = compile_marks(rf"{_K2}|(?P<section>{_SECTION}\s*+\Z)|{_K3}|(?P<channel><\|(?:open|close)\|>\s*+(?:response|message)\s*+<\|sep\|>)")
_ENDS = r"<\|tool_call_end\|>"
_OTHERS = rf"<\|tool_call_begin\|>|{_SECTION_END}"
_ARGUMENTS = NamedJson(_ENDS, _OTHERS, json_brackets("<", rf"{_ENDS}|{_OTHERS}"))
_CLOSED = re.compile(rf"(?:\s*+{_SECTION_END})++")
_TOOLS_CLOSED = re.compile(_TOOLS_END)
_ID = re.compile(r"(?:functions\.)?(?P<name>[^:]++(?::(?!\d+\Z)[^:]*+)*+)(?::\d+)?\Z")
_SYNTAX = XmlSyntax(
    parameter=re.compile(r'\s*+<\|open\|>\s*+argument\s++key="(?P<key>[^"]*+)"(?:\s++type="(?P<kind>\w*+)")?\s*+<\|sep\|>'),
    parameter_end=re.compile(
        r"<\|close\|>\s*+argument\s*+<\|sep\|>|(?=<\|open\|>\s*+(?:argument|call)\s|<\|close\|>\s*+call\s*+<\|sep\|>)"
    ),
    call_end=re.compile(rf"<\|close\|>\s*+call\s*+<\|sep\|>|(?=<\|open\|>\s*+call\s|{_TOOLS_END})"),
)


def parse_kimi(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after markers, whether or not their tools are known."""
    return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if mark["channel"]:
            return [], mark.end()
        if mark["section"]:
            return ([malformed_call("", "empty call", "")], mark.end()) if begins_line(text, mark.start()) else (None, mark.end())
        if mark["name"] is not None:
            call, end = read_xml_call(text, mark.end(), _unescape(mark["name"]), tools, _SYNTAX)
            return [call], skip(_TOOLS_CLOSED, text, end)
        found = _ID.match(mark["id"])
        name = found["name"] if found and not mark["id"].isdecimal() else ""
        if not mark["arguments"] and not begins_line(text, mark.start()):
            return None, mark.end()
        if not mark["arguments"]:
            return [malformed_call(name, "arguments: truncated", mark["id"])], mark.end()
        call, end = _ARGUMENTS.read(text, mark.end(), name, mark["id"])
        return [call], skip(_CLOSED, text, end)

    return read


def _unescape(name: str) -> str:
    return name.replace("&quot;", '"').replace("&amp;", "&")


FORMAT = TextFormat(
    "kimi",
    "Kimi",
    parse_kimi,
    ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>", "<|open|>"),
)
