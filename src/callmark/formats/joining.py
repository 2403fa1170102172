"""Join the pieces of a file into conversations: for formats in which the spans of one conversation are anywhere in the file.

Pieces that share a key belong to one group, also over other pieces: two traces that name the same conversation are one group. Groups come
in the order of their first pieces, whatever the order in the file.

The pieces of a large file are kept in a temporary file. In memory are its keys, 20 bytes for each piece, and one group at a time; a group
of more than `MAX_GROUP` bytes or `MAX_PIECES` pieces is refused.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

from msgspec import Raw, Struct

from callmark.errors import BadInput, StorageError

MAX_GROUP = 1 << 28  # bytes
MAX_PIECES = 200_000
_IN_MEMORY = 1 << 25  # bytes of pieces that need no file
_MAX_SHOWN = 1 << 16  # bytes of a refused group that are kept with the reason


class Piece(Struct, frozen=True, gc=False):
    """A part of a conversation, such as a span: its JSON, and the keys that it shares with the other parts."""

    keys: tuple[str, ...]
    text: bytes | Raw


class Refused(Struct, frozen=True, gc=False):
    """A conversation that cannot be read: why, and its JSON, which may be shortened."""

    reason: BadInput
    row: bytes


class Join(Struct, frozen=True):
    """How a format joins the rows of a file.

    Attributes:
        pieces: Returns the pieces in a row. It raises what `Format.read` raises for a row that it cannot read.
        conversations: Yields the conversations in the pieces of a group, which are in any order, as rows of the OpenAI chat format, and
            those that are refused. It counts what was not captured with the callback.
    """

    pieces: Callable[[bytes], Iterable[Piece]]
    conversations: Callable[[Sequence[bytes], Callable[[str], None]], Iterable["bytes | Refused"]]


class PieceStore:
    """Collects pieces, and yields them by group; on exit, its temporary file is deleted. A full disk raises `StorageError`."""

    def __init__(self) -> None:
        from tempfile import SpooledTemporaryFile  # imported late: few files are joined

        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed on exit
        self._offsets = array("q", [0])
        self._own_group = array("l")
        self._parents = array("l")  # of each group that was joined to another: a forest, whose roots are the groups
        self._group_of_key: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, piece: Piece) -> None:
        """Add a piece. One without keys is a group of its own."""
        known = {self._root(self._group_of_key[key]) for key in piece.keys if key in self._group_of_key}
        if known:
            group = min(known)
            for other in known:
                self._parents[other] = group
        else:
            group = len(self._parents)
            self._parents.append(group)
        for key in piece.keys:
            self._group_of_key[key] = group
        self._own_group.append(group)
        try:
            self._offsets.append(self._offsets[-1] + self._file.write(bytes(piece.text)))
        except OSError as error:
            raise StorageError(f"the temporary file for joining a trace cannot be written: {error.strerror or error}") from None

    def groups(self) -> Iterator[list[bytes] | Refused]:
        """Yield the pieces of each group, or a group that is too large."""
        members: dict[int, array[int]] = {}
        for number, group in enumerate(self._own_group):
            members.setdefault(self._root(group), array("l")).append(number)
        self._group_of_key.clear()
        for numbers in members.values():
            size = sum(self._offsets[number + 1] - self._offsets[number] for number in numbers)
            if size > MAX_GROUP or len(numbers) > MAX_PIECES:
                yield Refused(_too_large(len(numbers), size), self._read(numbers[0])[:_MAX_SHOWN])
            else:
                yield [self._read(number) for number in numbers]

    def _read(self, number: int) -> bytes:
        self._file.seek(self._offsets[number])
        return self._file.read(self._offsets[number + 1] - self._offsets[number])

    def _root(self, group: int) -> int:
        while self._parents[group] != group:
            self._parents[group] = self._parents[self._parents[group]]  # shortens the path for the next time
            group = self._parents[group]
        return group


def refused_row(pieces: Sequence[bytes]) -> bytes:
    """Return the JSON of a refused group: a list of its pieces; only the first ones of a long group."""
    shown: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if shown and size > _MAX_SHOWN:
            break
        shown.append(piece)
    return b"[" + b",".join(shown) + b"]"


def _too_large(pieces: int, size: int) -> BadInput:
    return BadInput(
        f"a conversation of {pieces:,} spans and {size:,} bytes: expected at most {MAX_PIECES:,} spans and {MAX_GROUP:,} bytes",
        "Check that session or conversation IDs are not shared by unrelated requests.",
    )
