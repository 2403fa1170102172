"""The values of a JSON array, found one by one in a stream: memory is bounded by the largest value, whatever the size of the array.

A value is delimited, not decoded: msgspec skips it quickly and reports where the next character is. A value that continues beyond the
buffer is looked at again when the buffer has doubled, so the work stays linear. An array that is not valid JSON raises `BrokenArray` after
the values before it; so does a value longer than `limit`, which is how a few compressed bytes are kept from filling the memory.
"""

import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats.compression import BUFFER
from callmark.formats.problems import excerpt, explain

_skip = msgspec.json.Decoder(Raw).decode
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")  # the byte after the one that was found
_MALFORMED_AT = re.compile(r"\(byte (\d+)\)")
_NOT_SPACE = re.compile(rb"[^ \t\n\r]")


class BrokenArray(BadInput):
    """A value that is not valid JSON or too long. `number` is the number of the value, starting at 1; 0 for the array as a whole."""

    def __init__(self, problem: str, number: int = 0) -> None:
        super().__init__(problem)
        self.number = number


class TooLong(BrokenArray):
    """A value, or the white space before it, that is longer than the limit."""


class ValueReader:
    """Reads values from the bytes in `head` and then from `read(size)`. `limit` is the most bytes of a value; None for any."""

    def __init__(self, head: bytes, read: Callable[[int], bytes], *, limit: int | None = None) -> None:
        self._data = head
        self._at = 0
        self._read = read
        self._limit = limit
        self._ended = False

    def items(self) -> Iterator[bytes]:
        """Yield the text of each item of the array that begins here. Text after the end of the array raises `BrokenArray`."""
        self.next_byte()
        self._at += 1  # the opening bracket
        number = 0
        if self.next_byte(1) == b"]":
            self._at += 1
        else:
            while True:
                number += 1
                self.next_byte(number)
                yield self.value(number)
                separator = self.next_byte(number)
                self._at += len(separator)
                if separator == b"]":
                    break
                if separator != b",":
                    self._at -= len(separator)
                    raise BrokenArray(self._unexpected(f"expected a comma or ] after item {number:,}"))
        if self.next_byte():
            raise BrokenArray(self._unexpected(f"expected the end of the file after the array of {number:,} items"))

    def value(self, number: int = 1) -> bytes:
        """Return the text of the value that begins here. `number` is its number in messages."""
        while True:
            text = memoryview(self._data)[self._at :]
            try:
                _skip(text)
            except msgspec.DecodeError as error:
                trailing = _TRAILING.search(str(error))
                if trailing is not None:
                    return self._take(self._at + int(trailing[1]) - 1, number)
                malformed = _MALFORMED_AT.search(str(error))  # at the end of the buffer, it may be the first half of a number
                if self._ended or (malformed is not None and int(malformed[1]) < len(text)):
                    raise BrokenArray(explain(bytes(text), error), number) from None
            except RecursionError as error:
                raise BrokenArray(explain(b"", error), number) from None
            else:
                if self._ended:
                    return self._take(len(self._data), number)
            self._check_length(len(self._data) - self._at, number)
            self._fill()

    def next_byte(self, number: int = 0) -> bytes:
        """Skip white space, and return the byte that follows, without consuming it; empty at the end."""
        skipped = 0
        while True:
            found = _NOT_SPACE.search(self._data, self._at)
            if found is not None:
                self._at = found.start()
                return found[0]
            skipped += len(self._data) - self._at
            self._check_length(skipped, number)
            self._at = len(self._data)
            if self._ended:
                return b""
            self._fill()

    def single(self) -> bytes | None:
        """Return the value that begins here if it is valid and nothing follows it; None otherwise, with everything still in `rest`."""
        try:
            text = self.value()
        except TooLong:
            raise
        except BrokenArray:
            return None
        end, self._at = self._at, 0
        while _NOT_SPACE.search(self._data, end) is None:
            if self._ended:
                return text
            self._check_length(len(self._data) - end, 1)
            self._fill()
        return None

    def rest(self) -> bytes:
        """Return what was read and not consumed."""
        return self._data[self._at :]

    def _take(self, end: int, number: int) -> bytes:
        text = self._data[self._at : end].rstrip()
        self._check_length(len(text), number)
        self._at = end
        return text

    def _fill(self) -> None:
        rest = self._data[self._at :]
        piece = self._read(max(BUFFER, len(rest)))
        self._ended = not piece
        self._data, self._at = rest + piece, 0

    def _check_length(self, length: int, number: int) -> None:
        if self._limit is not None and length > self._limit:
            raise TooLong("", number)

    def _unexpected(self, expected: str) -> str:
        found = self._data[self._at :].decode("utf-8", "replace")
        return f"not valid JSON: {expected}, got {excerpt(found, 0) if found else 'the end of the file'}"
