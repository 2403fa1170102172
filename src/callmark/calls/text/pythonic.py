"""Calls as code: `[f(a=1, b="x"), g()]` or `f(a=1)`.

Code has no marker, and people write about functions. So a call, or a list of calls, counts only where it stands alone on its lines, bare or
in a fenced block. A list in brackets may also end a line of text, and so may a call with arguments after a colon, if its tool is known.
`compress_file()` within a sentence or in `inline code` is a mention.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from callmark.calls.text.python_code import find_code_end, read_code_call, starts_like_code
from callmark.calls.text.scan import CODE_FENCE, FENCE_CLOSED, LIST_END, ReadMark, compile_marks, ends_line, scan, skip
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_NAME = r"(?P<name>[^\W\d][\w.-]*+)\("
_MARKS = compile_marks(
    rf"(?:(?P<fence>{CODE_FENCE})|(?P<colon>(?<=:[ \t]))|^[ \t]*+|(?<=[ \t])(?=\[))(?P<list>\[\s*+)?{_NAME}",
)
_NEXT_IN_LIST = re.compile(rf"\s*+,\s*+{_NAME}")
_NEXT = re.compile(rf"(?:\s*+[,;]\s*+|[ \t]*+\n\s*+){_NAME}")
_SEPARATOR = re.compile(r"[ \t]*+[,;]")


class _CodeBlock(Struct, frozen=True):
    """Calls that stand alone: where they end, whether they are in brackets, and whether the text ends before they do."""

    calls: list[Call]
    end: int
    in_list: bool
    truncated: bool


def parse_pythonic(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls that stand alone, if one of their tools is known.

    If no tool is known, calls in brackets or with arguments count, others only if they are the whole text.
    """
    return scan(text, _MARKS, _reader(tools), is_marked=False)


def _reader(tools: Mapping[str, Tool]) -> ReadMark:
    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if tools and mark["name"] not in tools and not mark["list"]:
            return None, mark.end()
        block, at = _read_block(text, mark)
        if block is None:
            return None, at
        if mark["colon"] is not None and not mark["list"]:
            is_call = bool(tools) and all(call.arguments for call in block.calls)
        else:
            is_call = any(call.name in tools for call in block.calls) if tools else _is_surely_a_call(text, mark, block)
        return (block.calls, block.end) if is_call else (None, at)

    return read


def _read_block(text: str, mark: re.Match[str]) -> tuple[_CodeBlock | None, int]:
    """Return the calls from a mark on, if they stand alone, and where to continue."""
    following = _NEXT_IN_LIST if mark["list"] else _NEXT
    calls: list[Call] = []
    alone: tuple[int, int] | None = None  # how many calls stand alone, and where they end
    found: re.Match[str] | None = mark
    at, closed = mark.end(), True
    while found and closed:
        at, closed = find_code_end(text, found.end() - 1)
        calls.append(read_code_call(found["name"], text[found.start("name") : at]))
        found = following.match(text, at)
        after = skip(_SEPARATOR, text, at)
        if not mark["list"] and closed and ends_line(text, after):
            alone = len(calls), after
    if not closed:  # up to the end of the text
        return (_CodeBlock(calls, at, bool(mark["list"]), truncated=True) if starts_like_code(calls[-1].text) else None), at
    if mark["list"]:
        end = LIST_END.match(text, at)
        if end is None:
            truncated = not text[at:].strip(" \n,")
            return (_CodeBlock(calls, len(text), in_list=True, truncated=True) if truncated else None), at
        at = end.end()
        alone = len(calls), at
    if alone is None:
        return None, at
    count, end_of_calls = alone
    if mark["fence"]:
        fence_end = FENCE_CLOSED.match(text, end_of_calls)
        if fence_end is None or count < len(calls):  # other code follows
            return None, at
        end_of_calls = fence_end.end()
    if not ends_line(text, end_of_calls):
        return None, at
    return _CodeBlock(calls[:count], end_of_calls, bool(mark["list"]), truncated=False), end_of_calls


def _is_surely_a_call(text: str, mark: re.Match[str], block: _CodeBlock) -> bool:
    """Return whether calls of which no tool is known are calls, not code or prose such as `Note(this one)`."""
    is_code = [not call.malformed or starts_like_code(call.text) for call in block.calls]
    if not (any(is_code) if block.in_list else all(is_code)):
        return False
    is_whole = not text[: mark.start()].strip() and not text[block.end :].strip()
    if mark["fence"]:
        return is_whole and (block.in_list or not any(call.malformed for call in block.calls))
    return is_whole or block.in_list or any(call.arguments for call in block.calls)


FORMAT = TextFormat("pythonic", "calls as code", parse_pythonic, ("(",), is_marked=False)
