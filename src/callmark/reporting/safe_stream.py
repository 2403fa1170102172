"""Standard output and standard error that nothing can be smuggled through: the one place where printed text leaves callmark.

- `write(text)` escapes control characters, escape sequences, bidirectional controls and lone surrogates (`\\x1b`). Line breaks and tabs
  stay.
- `buffer.write(data)` is for JSON and files: it escapes the same as `\\u001b`, so that JSON keeps its value.
- `styled.write(text)` is for consoles, which escape the text themselves and add styles.

All three keep data from being a command to a CI system that reads the log: `::error::…` at the start of a line (GitHub Actions),
`##[…]`, `##vso[…]` (Azure Pipelines) and `##teamcity[…]` anywhere. Its first character is escaped (`\\x3a:error::`), also where a command
comes in pieces.
"""

import io
import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, TextIO

from callmark.reporting.safety import COMMAND_ANYWHERE, escape_character, escape_controls, escape_json, escape_json_character

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STYLE = r"\x1b\[[0-9;?]*[A-Za-z]"
_AT_START = re.compile(rf"(?:\A|(?<=[\r\n]))(?:[^\S\r\n]|{_STYLE})*(?P<first>:)(?:{_STYLE})*:")
_LONGEST_COMMAND = len("##teamcity[")
_STYLES = re.compile(_STYLE)
_MIDDLE = "\0"  # stands for the rest of a line


class _LineGuard:
    """Escapes the commands of CI systems in what is written to one stream, piece by piece."""

    def __init__(self) -> None:
        self._tail = ""  # the end of the current line: all of it while it can still become a command
        self.lock = RLock()  # pieces are escaped in the order in which they are written

    def escape(self, text: str, escape: Callable[[str], str]) -> str:
        """Return the next piece with every command escaped."""
        if "::" in text or "##" in text or "\x1b" in text or ":" in self._tail or "#" in self._tail:
            text = self._escape_commands(text, escape)
        start = max(text.rfind("\n"), text.rfind("\r")) + 1
        line = text[start:] if start else self._tail + text
        visible = _STYLES.sub("", line).strip()
        self._tail = visible if visible in ("", ":") else _MIDDLE + line[-_LONGEST_COMMAND:].removeprefix(_MIDDLE)
        return text

    def _escape_commands(self, text: str, escape: Callable[[str], str]) -> str:
        before = len(self._tail)
        joined = self._tail + text
        found = [*COMMAND_ANYWHERE.finditer(joined), *(_AT_START.finditer(joined) if "::" in joined or "\x1b" in joined else ())]
        parts: list[str] = []
        done = before
        for at in sorted({max(command.start("first"), before) for command in found}):  # what is written already cannot be changed
            parts += (joined[done:at], escape(joined[at]))
            done = at + 1
        return "".join((*parts, joined[done:]))


class SafeStream(io.TextIOBase):
    """A text stream that escapes what is written, around another stream, which it never closes."""

    def __init__(self, stream: TextIO, *, escape: Callable[[str], str] = escape_controls, guard: _LineGuard | None = None) -> None:
        self._stream = stream
        self._escape = escape
        self._guard = guard or _LineGuard()
        self._buffer: _SafeBuffer | None = None

    def write(self, text: str, /) -> int:
        escaped = self._escape(text)
        with self._guard.lock:
            self._stream.write(self._guard.escape(escaped, escape_character))
        return len(text)

    @property
    def styled(self) -> "SafeStream":
        """The same stream, for text that is escaped already and contains styles."""
        return SafeStream(self._stream, escape=str, guard=self._guard)

    @property
    def buffer(self) -> "_SafeBuffer":
        """The same stream, for bytes. Around a stream without a binary file it raises `AttributeError`, as that one does."""
        if self._buffer is None:
            self._buffer = _SafeBuffer(self._stream, self._guard)
        return self._buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._stream.errors

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: the stream belongs to the process."""


class _SafeBuffer(io.BufferedIOBase):
    """The binary side of a `SafeStream`. A character may be split over two pieces; bytes that are not UTF-8 are escaped."""

    def __init__(self, stream: TextIO, guard: _LineGuard) -> None:
        self._stream = stream
        self._target = stream.buffer
        self._guard = guard
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def write(self, data: "ReadableBuffer", /) -> int:
        raw = bytes(data)
        with self._guard.lock:
            text = self._guard.escape(escape_json(self._decoder.decode(raw)), escape_json_character)
            self._stream.flush()  # what was printed before comes first
            self._target.write(text.encode("utf-8"))
        return len(raw)

    def flush(self) -> None:
        self._target.flush()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: the file belongs to the process."""


@contextmanager
def safe_streams() -> Iterator[None]:
    """Print through safe streams in this context. Streams that are safe already stay, so that contexts can be nested."""
    given = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream if isinstance(stream, SafeStream) else SafeStream(stream) for stream in given)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = given
