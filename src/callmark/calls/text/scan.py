"""What the parsers of all text formats share: scan from marker to marker, and find the end of a JSON value.

Markers in code spans (`` `code` `` and fenced blocks) are text, unless one fenced block is the whole text. Thinking is set aside. A JSON
value ends where its brackets close; tags inside its strings are ignored. Nothing is evaluated, nothing raises, and every text is read in
linear time: no character is scanned twice.
"""

import json
import re
from collections.abc import Callable, Iterator

from callmark.calls.shapes import CALL_LEVELS, read_call
from callmark.calls.strict import DEEPEST, NotStrict, parse, scrub
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.text_format import ParsedText
from callmark.calls.text.thinking import CLOSING, OPENING, closing_tag
from callmark.types import Call

ReadMark = Callable[[str, re.Match[str]], tuple[list[Call] | None, int]]

FENCE_LENGTH = 3
CODE_FENCE = r"```\w*+\s*+"
FENCE_CLOSED = re.compile(r"\s*+```")
LIST_END = re.compile(r"\s*+(?:,\s*+)?\]")

_FIRST_PIECE = 1024  # characters of a JSON text in which to look for its end first
_LONGEST_WORD = 16  # characters that truncation can make unreadable: -Infinity, \ud83d
_NEXT_OBJECT = re.compile(r"[\s,;\[\]]*+\{")
_EXTRA_BRACES = re.compile(r"(?:\s*+\})++")
_FENCE_LINE = re.compile(r"`*+(?:[ \t]*+\w++[ \t]*+(?=\n))?")
_NAME = re.compile(r"""["'](?:name|functionName|tool_name|function|action)["']\s*+:\s*+["']([^"'\\]++)["']""")

_raw_decode = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode  # used only to find where a value ends


def compile_marks(pattern: str) -> re.Pattern[str]:
    """Return a pattern that finds the markers that open a call, thinking tags and code spans."""
    return re.compile(rf"{pattern}|(?P<think>{OPENING})|(?P<thought>{CLOSING})|(?P<code>`++)", re.MULTILINE)


def json_brackets(first: str, end: str) -> re.Pattern[str]:
    """Return a pattern that finds a string, an opening bracket, a closing bracket, or the marker `end`, which also ends strings.

    `first` is the first character of that marker.
    """
    return re.compile(rf'({end})|"(?:[^"\\{first}]|(?!{end}){first}|\\.)*+"?|([{{\[])|([}}\]])', re.DOTALL)


def scan(text: str, marks: re.Pattern[str], read: ReadMark, *, is_marked: bool = True) -> ParsedText:
    """Scan from mark to mark and collect calls, text and thinking.

    `read` returns the calls at a mark and where they end, or None and where to continue if the mark is only text. Thinking that is opened
    at the start of the text and never closed ends at the first call; if not `calls_end_thinking`, it is the whole text.
    """
    calls: list[Call] = []
    outside: list[str] = []
    thinking: list[str] = []
    never_closed: set[str] = set()
    is_thinking = False  # since `text_start`, without an end in sight
    text_start = at = 0
    while mark := marks.search(text, at):
        start, at = mark.span()
        if mark["think"]:
            closing = closing_tag(mark[0])
            stop = -1 if closing in never_closed else text.find(closing, at)
            if stop >= 0:
                outside.append(text[text_start:start])
                thinking.append(text[at:stop])
                text_start = at = stop + len(closing)
                continue
            never_closed.add(closing)
            if start == 0:
                is_thinking, text_start = True, at
                if not is_marked:
                    break
        elif mark["thought"]:
            if not calls and not thinking:  # opened in the prompt
                thinking.append("".join([*outside, text[text_start:start]]))
                outside.clear()
                is_thinking, text_start = False, at
        elif mark["code"]:
            stop = code_end(text, mark, never_closed)
            is_fence = is_marked and len(mark[0]) >= FENCE_LENGTH and stop > at
            if is_fence and not calls and _is_blank(outside, text[text_start:start], text[stop:]):
                inside = text[_FENCE_LINE.match(text, at).end() : stop - FENCE_LENGTH]  # type: ignore[union-attr]  # matches everything
                found_inside = scan(inside, marks, read, is_marked=is_marked)
                if found_inside.calls:
                    return ParsedText(found_inside.calls, found_inside.text, join_pieces([*thinking, found_inside.thinking]))
            at = stop
        else:
            found, at = read(text, mark)
            if found is not None:
                (thinking if is_thinking else outside).append(text[text_start:start])
                calls.extend(found)
                is_thinking, text_start = False, at
    (thinking if is_thinking else outside).append(text[text_start:])
    return ParsedText(tuple(calls), join_pieces(outside), join_pieces(thinking))


def _is_blank(outside: list[str], *texts: str) -> bool:
    return not any(piece and not piece.isspace() for piece in (*outside, *texts))


def code_end(text: str, mark: re.Match[str], never_closed: set[str]) -> int:
    """Return where the code span that the backticks open ends; the end of the backticks if it is not closed."""
    at = mark.end()
    if len(mark[0]) >= FENCE_LENGTH:
        if "```" in never_closed:
            return at
        stop = text.find("```", at)
        if stop < 0:
            never_closed.add("```")
            return at
        return stop + FENCE_LENGTH
    line_end = text.find("\n", at)
    stop = text.find(mark[0], at, line_end if line_end >= 0 else len(text))
    return stop + len(mark[0]) if stop >= 0 else at


def json_spans(text: str, at: int, brackets: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each JSON object from `at` on: single, consecutive or in lists.

    An invalid object ends where its brackets close or, if they do not, at the end marker.
    """
    while opening := _NEXT_OBJECT.match(text, at):
        start = opening.end() - 1
        end = _json_end(text, start)
        at = find_closing_bracket(brackets, text, start)[0] if end is None else skip(_EXTRA_BRACES, text, end)
        yield start, at


def _json_end(text: str, start: int) -> int | None:
    """Return where the JSON value ends, or None if it is invalid. Decodes growing pieces, because a failure costs a whole piece."""
    size = _FIRST_PIECE
    while True:
        piece = text[start : start + size]
        try:
            return start + int(_raw_decode(piece)[1])
        except json.JSONDecodeError as problem:
            cut = problem.pos > len(piece) - _LONGEST_WORD or problem.msg.startswith("Unterminated")
            if not cut or start + size >= len(text):
                return None
        except RecursionError:
            return None
        size *= 4


def find_closing_bracket(brackets: re.Pattern[str], text: str, start: int) -> tuple[int, bool]:
    """Return where the bracket at `start` closes, and True; or where a marker or the end of the text ends it, and False."""
    depth = 0
    for found in brackets.finditer(text, start):
        if found[2]:
            depth += 1
        elif found[3]:
            depth -= 1
            if not depth:
                return found.end(), True
        elif found[1]:
            return found.start(), False
    return len(text), False


def read_json_calls(text: str, spans: list[tuple[int, int]]) -> list[Call]:
    """Return the call of each span."""
    return [read_json_call(text[start:stop]) for start, stop in spans]


def read_json_call(text: str) -> Call:
    """Return the call of a JSON text. If it is not a call, a malformed call with the name that a lenient parser finds."""
    text = text.strip()
    if not text:
        return Call("", malformed="empty call")
    try:
        return read_call(parse(text, deepest=DEEPEST + CALL_LEVELS))
    except NotStrict as problem:
        reason = f"arguments: {problem}"
    try:
        call = read_call(json.loads(text))
    except (ValueError, RecursionError):
        found = _NAME.search(text)
        return malformed_call(found[1] if found else "", reason, text)
    return Call(call.name, {}, call.id, call.malformed or reason, scrub(text))


def find_end(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int]:
    """Return the span of the next match of a pattern; the end of the text if there is none. A lookahead has an empty span."""
    found = pattern.search(text, at)
    return found.span() if found else (len(text), len(text))


def skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the end of the match at `at`, or `at` if the pattern does not match."""
    found = pattern.match(text, at)
    return found.end() if found else at


def begins_line(text: str, at: int) -> bool:
    """Return whether only white space or a tag precedes on the line: a marker there is in the place of a call."""
    while at and text[at - 1] in " \t":
        at -= 1
    return at == 0 or text[at - 1] in "\n>"


def ends_line(text: str, at: int) -> bool:
    """Return whether only white space follows on the line."""
    while at < len(text) and text[at] in " \t\r":
        at += 1
    return at == len(text) or text[at] == "\n"


def join_pieces(pieces: list[str]) -> str:
    return scrub("\n".join(piece for piece in map(str.strip, pieces) if piece))
