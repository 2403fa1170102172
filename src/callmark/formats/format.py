"""The contract of a file format: how to detect, read and write its rows. One file per format, found through the registry."""

import re
from collections.abc import Callable, Iterable, Mapping

from msgspec import Raw, Struct

from callmark.calls.toolsets import ToolListCache
from callmark.formats.delta_reader import DeltaReader
from callmark.types import Conversation, Place, Prediction, Tool

ToolList = tuple[bytes, tuple[Tool, ...]]  # the JSON of a list of tools, and the tools


class ReadContext:
    """What reading a row needs besides the row: the tools for rows that have none, the tool lists so far, what the last row had in it."""

    def __init__(self, *, raw_tools: bytes = b"[]", tools: tuple[Tool, ...] = ()) -> None:
        self.default_tools: ToolList = (raw_tools, tools)
        self.delta = DeltaReader(self.default_tools)
        self._toolsets = ToolListCache()

    def read_tools(self, text: bytes) -> ToolList:
        """Return the tools of a row from their JSON, or the default ones where it has none."""
        found = self._toolsets.read(text)
        return found if found[1] else self.default_tools


class Format(Struct, frozen=True):
    """A file format: its name for `--from` and `--to`, its title for people, and how its rows are detected, read and written.

    `detect(fields)` returns the confidence, from 0 to 1, that a row with these fields (each value as JSON) is in this format; the most
    confident format wins, the first of equals. `read` returns the conversation or case of a row, and raises `BadInput`, `ValueError` or
    msgspec's errors for a row that is not in this format. `write` returns one line without its end, and raises `BadInput` for what the
    format has no place for; None where the format is only read. A file whose name ends in one of the `extensions` is in this format.

    `read_prediction` is for recordings: each row is a trial of a case and holds its prediction too, so that rows with one id are one case.

    What `convert` tells about a format: `leftover_keys(row)` names the keys of a row that other formats have no place for;
    `keeps_source_messages` says that messages are written as they were read; `needs_call_ids`, `needs_result_ids` and `call_id_pattern`
    say which ids are generated or replaced.
    """

    name: str
    title: str
    detect: Callable[[Mapping[str, Raw]], float]
    read: Callable[[bytes, Place, ReadContext], Conversation]
    write: Callable[[Conversation], bytes] | None = None
    extensions: tuple[str, ...] = ()
    read_prediction: Callable[[bytes], Prediction] | None = None
    leftover_keys: Callable[[bytes], Iterable[str]] | None = None
    keeps_source_messages: bool = False
    needs_call_ids: bool = False
    needs_result_ids: bool = False
    call_id_pattern: re.Pattern[str] | None = None

    @property
    def recorded(self) -> bool:
        """Whether each row is a trial of a case and holds its prediction too."""
        return self.read_prediction is not None


def row_id(given: object, place: Place) -> str:
    """Return the row's own id where it has one, else its number."""
    if isinstance(given, str) and given:
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return str(place.number)


def check_utf8(row: bytes) -> None:
    """Raise `UnicodeDecodeError` for a row that is not UTF-8: a typed decode does not look at what it skips."""
    if not row.isascii():
        row.decode()
