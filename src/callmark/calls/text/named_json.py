"""Calls as a name and JSON arguments, each after a marker of its own: `[TOOL_CALLS]NAME[ARGS]{json}`."""

import re

from callmark.calls.shapes import named_call
from callmark.calls.strict import scrub
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import find_end, json_spans
from callmark.types import Call

_SPACE = re.compile(r"\s*+")


class NamedJson:
    """JSON arguments that end with a marker, given as a pattern, or where another pattern begins.

    `brackets` is made by `json_brackets`, with both patterns as the end.
    """

    def __init__(self, closing: str, others: str, brackets: re.Pattern[str]) -> None:
        self._end = re.compile(rf"{closing}|(?={others})")
        self._brackets = brackets

    def read(self, text: str, at: int, name: str, call_id: str | None = None) -> tuple[Call, int]:
        """Return the call whose arguments start at `at`, and where it ends: with the JSON, if no closing marker follows.

        Arguments that are blank and closed are `{}`. Anything but one JSON object is a malformed call.
        """
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # matches everything
        after = next(json_spans(text, at, self._brackets))[1] if text.startswith("{", at) else at
        stop, end = find_end(self._end, text, after)
        closed = stop < end
        if after > at and not closed:
            stop = end = after
        arguments = text[at:stop].strip()
        if not arguments and not closed:
            return malformed_call(name, "arguments: truncated", text[at:stop]), end
        return named_call(name.strip(), arguments, scrub(call_id.strip()) if call_id else None), end
