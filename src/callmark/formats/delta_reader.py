"""What a row repeats of the row before it, so that it need not be read twice.

Nearly every file has the same tools in every row, and each decision point of a conversation begins with the messages of the one before
it: together most of its bytes. Where they stand byte for byte as they stood, the row is shortened by them, and what is left is read.
Each piece that is cut out stands between two members, or two messages, of what is left: the tools with the comma before them and the key
after them (or the end of the row), the messages right after the row's own `"messages":[`. That what is cut out of the middle of a row was
the row's own is for the reader to make sure: by what is left having nothing in it but what a decision point has.
"""

import re

from msgspec import Struct

from callmark.types import Message, Tool

_EXPECTED_KEY = re.compile(rb'\s*,\s*"expected_output"\s*:')
_ID_AND_MESSAGES = re.compile(rb'\{"id":"[^"\\]{0,500}+","messages":\[')
_MORE = (b",{", b", {")  # another message
_KEY = b'"tools"'


class Shortened(Struct, frozen=True, gc=False):
    """A row less what it repeats: its tools, taken out of its middle or off its end, and the first of its messages."""

    body: bytes
    from_middle: bool = False
    messages: tuple[Message, ...] = ()
    begin: int = 0  # where the row's messages stand in it, all of them; 0 where that is not known
    end: int = 0


class Repeats:
    """What the rows so far had in them; `tools` is the last list, its text and its tools."""

    def __init__(self, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        self.tools = tools
        self._piece = b""  # the tools as they stood in their row, from the comma before them on; empty where that is of no use
        self._before = b""  # what stood right after them; empty where they ended the row
        self._history = b""  # the messages of the last row, as they stood
        self._messages: tuple[Message, ...] = ()

    def shorten(self, row: bytes) -> Shortened | None:
        """The row without what it repeats; None where its tools are not those of the last one."""
        if not self._piece:
            return None
        if not self._before:
            return Shortened(row[: -len(self._piece)] + b"}") if row.endswith(self._piece) else None
        end = row.rfind(self._before)
        start = end - len(self._piece)
        if start <= 0 or not row.startswith(self._piece, start):
            return None
        begins = _ID_AND_MESSAGES.match(row)
        if begins is None or row[start - 1 : start] != b"]":
            return Shortened(row[:start] + row[end:], True)
        begin = begins.end()
        if not self._history or not row.startswith(self._history, begin):
            return Shortened(row[:start] + row[end:], True, (), begin, start - 1)
        rest = begin + len(self._history)
        if row.startswith(_MORE, rest):
            rest += 1
        elif rest != start - 1:  # neither another message follows, nor the end of them
            return Shortened(row[:start] + row[end:], True, (), begin, start - 1)
        return Shortened(row[:begin] + row[rest:start] + row[end:], True, self._messages, begin, start - 1)

    def learn(self, row: bytes, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        """Remember where these tools stand in a row of which they are known to be its own."""
        if tools[0] is not self.tools[0]:
            self.tools = tools
            self._history = b""
            self._piece, self._before = _place(row, tools[0])

    def remember(self, row: bytes, shorter: Shortened, messages: tuple[Message, ...]) -> None:
        """Remember the messages of a row that was shortened by tools from its middle."""
        self._history = row[shorter.begin : shorter.end] if messages and shorter.begin else b""
        self._messages = messages


def _place(row: bytes, raw_tools: bytes) -> tuple[bytes, bytes]:
    """How the tools stand in a row, and what follows them: the key of what is expected, or nothing where they end the row. Two times
    nothing where they stand anywhere else.
    """
    at = row.rfind(raw_tools)
    key = row.rfind(_KEY, 0, max(at, 0))
    before = row[: max(key, 0)].rstrip()
    if key < 0 or row[key + len(_KEY) : at].strip() != b":" or not before.endswith(b","):
        return b"", b""
    after = row[at + len(raw_tools) :]
    if after.strip() == b"}":
        return row[len(before) - 1 :], b""
    follows = _EXPECTED_KEY.match(after)
    return (row[len(before) - 1 : at + len(raw_tools)], follows[0]) if follows else (b"", b"")
