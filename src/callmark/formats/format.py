"""What a dialect is: a name, how to recognise a row, how to read one, how to write one. One file each, listed in `sniffing`."""

from collections.abc import Callable, Mapping

from msgspec import Raw, Struct

from callmark.calls.toolsets import Toolsets
from callmark.formats.delta_reader import Repeats
from callmark.types import Conversation, Place, Tool


class Reading:
    """What reading a row needs besides the row: the tools of a side file, the tool lists seen so far, what rows repeat."""

    def __init__(self, *, raw_tools: bytes = b"[]", tools: tuple[Tool, ...] = ()) -> None:
        self.side = (raw_tools, tools)
        self.toolsets = Toolsets()
        self.repeats = Repeats(self.side)

    def tools(self, text: bytes) -> tuple[bytes, tuple[Tool, ...]]:
        """The row's own tools, or the side file's where it has none."""
        found = self.toolsets.read(text)
        return found if found[1] else self.side


class Dialect(Struct, frozen=True):
    """`read` raises `BadInput` or msgspec's errors for a row that is none of this dialect's; `write` gives one line without its end.

    `recorded`: each row is a trial of a case and carries what came back too, so that the rows of one id are one case.
    """

    name: str
    title: str
    recognises: Callable[[Mapping[str, Raw]], bool]
    read: Callable[[bytes, Place, Reading], Conversation]
    write: Callable[[Conversation], bytes]
    recorded: bool = False


def row_id(given: object, place: Place) -> str:
    """The row's own id where it has one, else its number."""
    if isinstance(given, str) and given:
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return str(place.number)


def check_text(row: bytes) -> None:
    """Refuse a row that is not UTF-8: what a typed decode skips it does not look at."""
    if not row.isascii():
        row.decode()
