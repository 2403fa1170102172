"""Cut out of a row what it repeats of the row before it, so that it is not decoded twice.

Nearly every file has the same tools in every row, and each decision point of a conversation begins with the messages of the one before
it: together most of its bytes. Where they are the same byte for byte, they are cut out of the row, and the rest is decoded.
Each piece that is cut out lies between two members, or two messages, of the rest: the tools with the comma before them and the key
after them (or the end of the row), the messages right after the row's own `"messages":[`. The reader makes sure that what is cut out of the
middle of a row was the row's own: the rest must have nothing in it but what a decision point has.
"""

import re

from msgspec import Struct

from callmark.types import Message, Tool

_EXPECTED_KEY = re.compile(rb'\s*,\s*"expected_output"\s*:')
_ID_AND_MESSAGES = re.compile(rb'\{"id":"[^"\\]{0,500}+","messages":\[')
_NEXT_MESSAGE = (b",{", b", {")
_KEY = b'"tools"'


class ShortenedRow(Struct, frozen=True, gc=False):
    """A row without what it repeats: its tools, cut out of its middle or off its end, and the first of its messages.

    `begin` and `end` are where all messages of the row are in it; 0 where that is not known.
    """

    body: bytes
    from_middle: bool = False
    messages: tuple[Message, ...] = ()
    begin: int = 0
    end: int = 0


class DeltaReader:
    """What the rows so far had in them; `tools` is the last list of tools, its JSON and its tools."""

    def __init__(self, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        self.tools = tools
        self._tools_piece = b""  # the tools as they are in their row, with the comma before them; empty where they cannot be cut out
        self._after_tools = b""  # what follows them; empty where they end the row
        self._history = b""  # the JSON of the last row's messages
        self._messages: tuple[Message, ...] = ()

    def shorten(self, row: bytes) -> ShortenedRow | None:
        """Return the row without what it repeats; None where its tools are not those of the last row."""
        if not self._tools_piece:
            return None
        if not self._after_tools:
            return ShortenedRow(row[: -len(self._tools_piece)] + b"}") if row.endswith(self._tools_piece) else None
        end = row.rfind(self._after_tools)
        start = end - len(self._tools_piece)
        if start <= 0 or not row.startswith(self._tools_piece, start):
            return None
        opening = _ID_AND_MESSAGES.match(row)
        if opening is None or row[start - 1 : start] != b"]":
            return ShortenedRow(row[:start] + row[end:], True)
        begin = opening.end()
        if not self._history or not row.startswith(self._history, begin):
            return ShortenedRow(row[:start] + row[end:], True, (), begin, start - 1)
        rest = begin + len(self._history)
        if row.startswith(_NEXT_MESSAGE, rest):
            rest += 1
        elif rest != start - 1:  # neither another message follows, nor the end of them
            return ShortenedRow(row[:start] + row[end:], True, (), begin, start - 1)
        return ShortenedRow(row[:begin] + row[rest:start] + row[end:], True, self._messages, begin, start - 1)

    def store_tools(self, row: bytes, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        """Store where these tools are in a row of which they are known to be its own."""
        if tools[0] is not self.tools[0]:
            self.tools = tools
            self._history = b""
            self._tools_piece, self._after_tools = _locate_tools(row, tools[0])

    def store_messages(self, row: bytes, shortened: ShortenedRow, messages: tuple[Message, ...]) -> None:
        """Store the messages of a row that was shortened by tools from its middle."""
        self._history = row[shortened.begin : shortened.end] if messages and shortened.begin else b""
        self._messages = messages


def _locate_tools(row: bytes, raw_tools: bytes) -> tuple[bytes, bytes]:
    """Return the tools as they are in a row, and what follows them: the key of what is expected, or nothing where they end the row.

    Both are empty where they are anywhere else.
    """
    at = row.rfind(raw_tools)
    key = row.rfind(_KEY, 0, max(at, 0))
    before = row[: max(key, 0)].rstrip()
    if key < 0 or row[key + len(_KEY) : at].strip() != b":" or not before.endswith(b","):
        return b"", b""
    after = row[at + len(raw_tools) :]
    if after.strip() == b"}":
        return row[len(before) - 1 :], b""
    expected_key = _EXPECTED_KEY.match(after)
    return (row[len(before) - 1 : at + len(raw_tools)], expected_key[0]) if expected_key else (b"", b"")
