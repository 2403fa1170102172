"""DeepSeek: three generations.

<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME, then a fenced block of JSON, then <｜tool▁call▁end｜>     V3, R1
<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{json}<｜tool▁call▁end｜>                                        V3.1
<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter></｜DSML｜invoke>    V3.2 and later
"""

import re
from collections.abc import Mapping

from callmark.calls.shapes import named_call
from callmark.calls.text.named_json import NamedJson
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import ReadMark, compile_marks, json_brackets, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.calls.text.xml_calls import XmlSyntax, read_xml_call
from callmark.types import Call, Tool


def _token(name: str) -> str:
    return rf"<[｜|]{name}[｜|]>"


_CALLS, _CALLS_END = _token("tool▁calls▁begin"), _token("tool▁calls▁end")
_CALL, _CALL_END, _SEPARATOR = _token("tool▁call▁begin"), _token("tool▁call▁end"), _token("tool▁sep")
_TOKENS = rf"(?:{_CALLS}\s*+)?{_CALL}(?P<first>[^<\n]*+)(?P<separator>{_SEPARATOR}|\Z)"
_DSML = r"[｜|]{1,2}DSML[｜|]{1,2}\s?"
_OUTER = rf"{_DSML}(?:\w{{0,20}}?calls?|tool)>"
_MARKS = compile_marks(
    rf"{_TOKENS}|(?:<{_OUTER}\s*+)?<{_DSML}invoke\s++name=\"(?P<name>[^\"<>\n]*+)\"\s*+(?P<empty>/)?>|(?P<alone>(?:{_CALLS}|<{_OUTER})\s*+\Z)"
)
_FENCED = re.compile(r"\s*+(?P<name>[^\s<{`]++)\s*+(?:```(?:json)?\s*+|\Z)")
_ENDS = rf"\s*+(?:{_CALL_END})"
_OTHERS = rf"{_CALL}|{_CALLS_END}"
_BRACKETS = json_brackets("<", rf"{_CALL_END}|{_OTHERS}")
_ARGUMENTS = NamedJson(_ENDS, _OTHERS, _BRACKETS)
_FENCED_ARGUMENTS = NamedJson(rf"\s*+```\s*+(?:{_CALL_END})?", _OTHERS, _BRACKETS)
_CALLS_CLOSED = re.compile(rf"\s*+{_CALLS_END}")
_OUTER_CLOSED = re.compile(rf"\s*+</{_OUTER}")
_SYNTAX = XmlSyntax(
    parameter=re.compile(rf'\s*+<{_DSML}parameter\s++name="(?P<key>[^"<>\n]*+)"(?:\s++string="(?P<kind>\w*+)")?\s*+>'),
    parameter_end=re.compile(rf"</{_DSML}parameter>|(?=<{_DSML}(?:parameter|invoke)\s++name=|</{_DSML}invoke>)"),
    call_end=re.compile(rf"</{_DSML}invoke>|(?=<{_DSML}invoke\s++name=|</{_OUTER})"),
)


def parse_deepseek(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls after markers, whether or not their tools are known."""
    return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if mark["alone"]:
            return [malformed_call("", "empty call", "")], mark.end()
        if mark["name"] is not None:
            if mark["empty"]:
                return [named_call(mark["name"], None, None)], skip(_OUTER_CLOSED, text, mark.end())
            call, end = read_xml_call(text, mark.end(), mark["name"], tools, _SYNTAX)
            return [call], skip(_OUTER_CLOSED, text, end)
        if not mark["separator"]:
            return [malformed_call(mark["first"], "arguments: truncated", "")], mark.end()
        if fenced := _FENCED.match(text, mark.end()):
            call, end = _FENCED_ARGUMENTS.read(text, fenced.end(), fenced["name"])
        else:
            call, end = _ARGUMENTS.read(text, mark.end(), mark["first"])
        return [call], skip(_CALLS_CLOSED, text, end)

    return read


FORMAT = TextFormat(
    "deepseek",
    "DeepSeek",
    parse_deepseek,
    ("<｜tool▁call▁begin｜>", "<｜tool▁calls▁begin｜>", "<|tool▁call▁begin|>", "<｜DSML｜", "<|DSML|"),
)
