"""FunctionGemma and Gemma 4: `call:NAME{key:VALUE,other:[1,2]}` between two markers, with strings between two equal delimiters.

Keys have no quotes. Values are strings in delimiters, numbers, `true`, `false`, `null`, objects, arrays, or bare words, which are strings.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from callmark.calls.shapes import named_call
from callmark.calls.strict import DEEPEST, NotStrict, parse
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import compile_marks, find_end, scan, skip
from callmark.calls.text.text_format import ParsedText
from callmark.types import Call, Tool

_NAME = r"\s*+(?:call:)?\s*+(?P<name>[^\W\d][\w.:-]*+)\s*+(?P<brace>\{)"
_SPACE = re.compile(r"\s*+")
_BARE = re.compile(r"[^,{}\[\]:<]++")
_KEY = re.compile(r"\s*+([^:,{}\[\]<]++)\s*+:\s*+")


def gemma_parser(opening: str, closing: str, delimiter: str) -> Callable[[str, Mapping[str, Tool]], ParsedText]:
    """Return the parser of a format with these markers, given as patterns that begin with `<`, and this delimiter of strings."""
    marks = compile_marks(rf"{opening}(?:{_NAME}|(?P<truncated>\s*+(?:call:)?(?P<cut>[\w.:-]*+)\Z))")
    end = re.compile(rf"{closing}|(?={opening})")
    closed = re.compile(rf"\s*+(?:{closing})")

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if mark["name"] is None:
            return [malformed_call(mark["cut"], "arguments: truncated", mark["truncated"])], mark.end()
        name = mark["name"].removeprefix("call:")
        try:
            arguments, at = _read_object(text, mark.start("brace"), delimiter, 0)
        except NotStrict as problem:
            stop, after = find_end(end, text, mark.end())
            return [malformed_call(name, f"arguments: {problem}", text[mark.start("brace") : stop])], after
        return [named_call(name, arguments, None)], skip(closed, text, at)

    def parse_text(text: str, tools: Mapping[str, Tool]) -> ParsedText:
        return scan(text, marks, read)

    return parse_text


def _read_object(text: str, at: int, delimiter: str, depth: int) -> tuple[dict[str, Any], int]:
    """Return the object whose brace is at `at`, and where it ends. For duplicate keys, the last value wins."""
    values: dict[str, Any] = {}
    at = skip(_SPACE, text, at + 1)
    while not text.startswith("}", at):
        key, at = _read_key(text, at, delimiter)
        values[key], at = _read_value(text, at, delimiter, depth)
        at = _skip_comma(text, at, "}")
    return values, at + 1


def _read_array(text: str, at: int, delimiter: str, depth: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    at = skip(_SPACE, text, at + 1)
    while not text.startswith("]", at):
        value, at = _read_value(text, at, delimiter, depth)
        values.append(value)
        at = _skip_comma(text, at, "]")
    return values, at + 1


def _read_key(text: str, at: int, delimiter: str) -> tuple[str, int]:
    if text.startswith(delimiter, at):
        key, at = _read_string(text, at, delimiter)
        at = skip(_SPACE, text, at)
        if not text.startswith(":", at):
            raise NotStrict("expected a colon after a key")
        return key, skip(_SPACE, text, at + 1)
    found = _KEY.match(text, at)
    if not found:
        raise NotStrict("expected a key" if at < len(text) else "truncated")
    return found[1].strip().strip('"'), found.end()


def _read_value(text: str, at: int, delimiter: str, depth: int) -> tuple[Any, int]:
    if depth > DEEPEST:
        raise NotStrict(f"nesting deeper than {DEEPEST}")
    if text.startswith(delimiter, at):
        return _read_string(text, at, delimiter)
    if text.startswith("{", at):
        return _read_object(text, at, delimiter, depth + 1)
    if text.startswith("[", at):
        return _read_array(text, at, delimiter, depth + 1)
    found = _BARE.match(text, at)
    if not found:
        raise NotStrict("expected a value" if at < len(text) else "truncated")
    word = found[0].strip()
    try:
        return parse(word), found.end()
    except NotStrict:
        return word, found.end()


def _read_string(text: str, at: int, delimiter: str) -> tuple[str, int]:
    start = at + len(delimiter)
    stop = text.find(delimiter, start)
    if stop < 0:
        raise NotStrict("truncated string")
    return text[start:stop], stop + len(delimiter)


def _skip_comma(text: str, at: int, closing: str) -> int:
    at = skip(_SPACE, text, at)
    if text.startswith(",", at):
        return skip(_SPACE, text, at + 1)
    if not text.startswith(closing, at):
        raise NotStrict(f"expected , or {closing}" if at < len(text) else "truncated")
    return at
