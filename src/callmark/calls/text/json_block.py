"""Calls as JSON after a marker, as most families write them: `<tool_call>{"name", "arguments"}</tool_call>`, `<|tool_call|>[{…}, {…}]`."""

import re
from collections.abc import Callable, Mapping

from callmark.calls.text.scan import (
    LIST_END,
    begins_line,
    compile_marks,
    ends_line,
    find_end,
    json_brackets,
    json_spans,
    read_json_call,
    read_json_calls,
    scan,
    skip,
)
from callmark.calls.text.text_format import ParsedText
from callmark.types import Call, Tool


def json_block_parser(opening: str, closing: str) -> Callable[[str, Mapping[str, Tool]], ParsedText]:
    """Return the parser of a format with JSON between two markers, given as patterns that begin with `<`."""
    marks = compile_marks(opening)
    block = JsonBlock(opening, closing)

    def parse(text: str, tools: Mapping[str, Tool]) -> ParsedText:
        return scan(text, marks, block.read)

    return parse


class JsonBlock:
    """JSON between two markers, given as patterns that begin with `<`."""

    def __init__(self, opening: str, closing: str) -> None:
        self._end = re.compile(rf"{closing}|(?={opening})")
        self.brackets = json_brackets("<", rf"{closing}|{opening}")

    def read(self, text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        """Return the calls after an opening marker, and where they end: with the JSON, if the closing marker is missing.

        Without JSON, the marker is text, as in prose about it. But it opens a malformed call if nothing follows, and if it begins a line
        that ends with the closing marker.
        """
        spans = list(json_spans(text, mark.end(), self.brackets))
        at = skip(LIST_END, text, spans[-1][1]) if spans else mark.end()
        stop, end = find_end(self._end, text, at)
        if spans and stop == end:
            return read_json_calls(text, spans), at
        if spans:
            if text[at:stop].strip():
                spans[-1] = (spans[-1][0], stop)  # trailing text makes the last one malformed
            return read_json_calls(text, spans), end
        inside = text[at:stop].strip()
        if begins_line(text, mark.start()) and (ends_line(text, end) if stop < end else not inside.strip("[")):
            return [read_json_call(inside)], end
        return None, mark.end()
