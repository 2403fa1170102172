"""Remove from a row what it shares with the previous row, so that it is not decoded twice.

In most files every row has the same tools, and each decision point of a conversation starts with the messages of the previous one: together
most of the bytes. Where these are identical, byte for byte, they are cut out of the row, and only the rest is decoded.
Every cut is between two members or two messages of the rest: the tools with the comma before them and the key after them (or the end of the
row), and the messages directly after the row's own `"messages":[`. The caller makes sure that a cut in the middle of a row did not remove
part of a nested value: the rest must have exactly the keys of a decision point.
"""

import re

from msgspec import Struct

from callmark.types import Message, Tool

_EXPECTED_KEY = re.compile(rb'\s*,\s*"expected_output"\s*:')
_ID_AND_MESSAGES = re.compile(rb'\{"id":"[^"\\]{0,500}+","messages":\[')
_NEXT_MESSAGE = (b",{", b", {")
_KEY = b'"tools"'


class ShortenedRow(Struct, frozen=True, gc=False):
    """A row without the parts it shares with the previous row: its tools, cut from the middle or the end, and its first messages.

    `begin` and `end` are the offsets of all messages in the row; 0 if unknown.
    """

    body: bytes
    from_middle: bool = False
    messages: tuple[Message, ...] = ()
    begin: int = 0
    end: int = 0


class DeltaReader:
    """Compares each row with the previous one. `tools` is the last list of tools: its JSON, and the tools."""

    def __init__(self, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        self.tools = tools
        self._tools_piece = b""  # the tools with their key and the comma before it; empty if they cannot be cut out
        self._after_tools = b""  # the key after the tools; empty if the row ends with them
        self._history = b""  # the JSON of the messages in the last row
        self._messages: tuple[Message, ...] = ()

    def shorten(self, row: bytes) -> ShortenedRow | None:
        """Return the row without the shared parts; None if its tools differ from those of the last row."""
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
        elif rest != start - 1:  # neither another message nor the end of the list follows
            return ShortenedRow(row[:start] + row[end:], True, (), begin, start - 1)
        return ShortenedRow(row[:begin] + row[rest:start] + row[end:], True, self._messages, begin, start - 1)

    def store_tools(self, row: bytes, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        """Remember the tools of a row and their position in it. They must be the row's own tools, not part of a nested value."""
        if tools[0] is not self.tools[0]:
            self.tools = tools
            self._history = b""
            self._tools_piece, self._after_tools = _locate_tools(row, tools[0])

    def store_messages(self, row: bytes, shortened: ShortenedRow, messages: tuple[Message, ...]) -> None:
        """Remember the messages of a row whose tools were cut from the middle."""
        self._history = row[shortened.begin : shortened.end] if messages and shortened.begin else b""
        self._messages = messages


def _locate_tools(row: bytes, raw_tools: bytes) -> tuple[bytes, bytes]:
    """Return the bytes of the tools in a row, and the key that follows: `expected_output`, or nothing if the row ends with the tools.

    Both are empty if the tools are in any other position.
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
