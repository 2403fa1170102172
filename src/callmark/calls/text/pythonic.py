"""Pythonic calls, as Llama 4 and others write them: `[f(a=1, b="x"), g()]` or `f(a=1)`."""

import re
import warnings
from collections.abc import Mapping

from callmark.calls.text.python_code import STRING_PATTERN, read_code_call
from callmark.calls.text.scan import CODE_FENCE, FENCE_CLOSED, LIST_END, ReadMark, compile_marks, find_closing_bracket, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_MARKS = compile_marks(rf"(?P<place>{CODE_FENCE}(?:\[\s*+)?|^[ \t]*+(?:\[\s*+)?|[\[,;]\s*+)?(?<![\w.-])(?P<name>[^\W\d][\w.-]*+)\(")
_NO_MARKS = compile_marks("(?!)")
_STARTS_LIKE_CODE = re.compile(r"""[\w.-]++\(\s*+(?:[)"'\d\[{-]|\w++\s*+=)""")
# No marker ends code, so the first group never matches.
_BRACKETS = re.compile(rf"(?!)(.)|{STRING_PATTERN}|([({{\[])|([)}}\]])", re.DOTALL)


def parse_pythonic(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls written as code. If `tools` are given, calls of other tools count only in a text that is nothing but code."""
    return parse_code_only(text) or _scan_code(text, tools)


def parse_code_only(text: str) -> ParsedText | None:
    """Return the calls of a text that is only calls as code; None for any other text, such as `Note(this one)`."""
    parsed = _scan_code(text, None)
    if not parsed.calls or parsed.text.strip("[],;`\n "):
        return None
    is_code = any(not call.malformed or _STARTS_LIKE_CODE.match(call.text) for call in parsed.calls)
    return ParsedText(parsed.calls, "", parsed.thinking) if is_code else None


def _scan_code(text: str, tools: Mapping[str, Tool] | None) -> ParsedText:
    """Return the calls written as code: of any name, or only of these tools."""
    if "(" not in text:
        return scan(text, _NO_MARKS, _reader(tools))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's warning about "\d"
        return scan(text, _MARKS, _reader(tools))


def _reader(tools: Mapping[str, Tool] | None) -> ReadMark:
    """Return a reader of one call as code.

    An unclosed call extends to the end of the text. A closed but malformed call within prose, such as `item(s)`, is text.
    """

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if tools is not None and mark["name"] not in tools:
            return None, mark.end()
        stop, closed = find_closing_bracket(_BRACKETS, text, mark.end() - 1)
        call = read_code_call(mark["name"], text[mark.start("name") : stop])
        if call.malformed and closed and mark["place"] is None:
            return None, stop
        return [call], skip(FENCE_CLOSED, text, skip(LIST_END, text, stop))

    return read


FORMAT = TextFormat("pythonic", "Llama 4 and others", parse_pythonic)
