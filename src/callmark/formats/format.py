"""The contract of a file format: how to detect, read and write its rows. One module per format, found through the registry."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from callmark.calls.toolsets import ToolListCache
from callmark.formats.delta_reader import DeltaReader
from callmark.formats.joining import Join
from callmark.formats.references import References
from callmark.types import Case, Conversation, Place, Prediction, Tool

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
ToolList = tuple[bytes, tuple[Tool, ...]]  # the JSON of a tool list, and the tools


class ReadContext:
    """State shared by the rows of one file: default tools, tool lists already parsed, the previous row, and what rows have defined.

    `Format.read` gets it for each row and calls `read_tools`. You only create one to call a format's `read` yourself.

    Args:
        raw_tools: JSON of the tools for rows that have none.
        tools: The same tools, parsed.
    """

    def __init__(self, *, raw_tools: bytes = b"[]", tools: tuple[Tool, ...] = ()) -> None:
        self.default_tools: ToolList = (raw_tools, tools)
        self.delta = DeltaReader(self.default_tools)
        self.references = References()
        self.left_out: Counter[str] = Counter()  # what the rows have that is not part of the data, such as calls that are not the agent's
        self.not_captured: Counter[str] = Counter()  # what a recording lacks, such as results of calls
        self._toolsets = ToolListCache()

    def read_tools(self, text: bytes) -> ToolList:
        """Parse the tools of a row from JSON, and return the JSON and the tools; the default tools if the row has none.

        Tools that are not a list of tools raise `BadInput`.
        """
        found = self._toolsets.read(text)
        return found if found[1] else self.default_tools


class Format(Struct, frozen=True):
    """A file format: how to detect, read and write its rows.

    Register your own under the entry point group `callmark.formats`.

    Attributes:
        name: Name for `--from` and `--to`.
        title: Name shown to people.
        detect: `detect(fields)` returns the confidence, from 0 to 1, that a row with these fields (values as JSON) is in this format. The
            most confident format wins; on a tie, the first one.
        read: `read(row, place, context)` returns the conversation or case in a row. It raises `BadInput`, `ValueError` or a msgspec error
            for a row that is not in this format.
        read_case: For rows that are both a conversation and a case: `read` returns the conversation, for the commands that describe, check,
            cut and convert data; `read_case` returns the case, for those that grade and run. Both raise the same errors.
        define: For files in which rows refer to other rows: `define(row, place, context)` reads a row that only later rows use, and returns
            False for any other row, which is then passed to `read`. It gets every row, in order, and keeps what it reads in
            `context.references`.
        split: For files that hold many rows in one object: `split(row)` returns the rows in an object that is such a container, and None
            for a row.
        join: For files in which the parts of a conversation are anywhere in the file, such as the spans of a trace: what is in a row, and
            how the parts of all rows become conversations. `read` and `read_case` then get the rows that it returns.
        write: `write(conversation)` returns one line without a line break, and raises `BadInput` for anything the format cannot represent.
            None if the format can only be read.
        extensions: File extensions of this format. They take precedence over detection.
        read_prediction: For recordings, where each row is a trial of a case and also holds its prediction; rows with the same id are one
            case. A prediction without a case id belongs to the row it is in.
        has_predictions: Whether each row is such a recording, but its prediction is in a shape that `grade` reads from any file.
        writes_cases: Whether the format holds only cases: `convert` then writes the cases of rows that are both.
        drafts_cases: Whether `convert` drafts a case of this format from a conversation.
        leftover_keys: `leftover_keys(row)` returns the keys that other formats have no field for; `convert` reports them as dropped.
        keeps_source_messages: Whether messages are written as they were read.
        needs_call_ids: Whether every call needs an id; `convert` reports generated ids.
        needs_result_ids: Whether every tool result needs an id.
        call_id_pattern: Pattern of valid call ids; other ids are replaced.
    """

    name: str
    title: str
    detect: Callable[[Mapping[str, Raw]], float]
    read: Callable[[bytes, Place, ReadContext], Conversation]
    write: Callable[[Conversation], bytes] | None = None
    extensions: tuple[str, ...] = ()
    read_case: Callable[[bytes, Place, ReadContext], Case] | None = None
    read_prediction: Callable[[bytes], Prediction] | None = None
    has_predictions: bool = False
    writes_cases: bool = False
    drafts_cases: bool = False
    leftover_keys: Callable[[bytes], Iterable[str]] | None = None
    define: Callable[[bytes, Place, ReadContext], bool] | None = None
    split: Callable[[bytes], Sequence[bytes | Raw] | None] | None = None
    join: Join | None = None
    keeps_source_messages: bool = False
    needs_call_ids: bool = False
    needs_result_ids: bool = False
    call_id_pattern: re.Pattern[str] | None = None

    @property
    def is_row_wise(self) -> bool:
        """Whether each row of a file is one row of the dataset, and can be read without the others."""
        return self.define is None and self.join is None

    @property
    def recorded(self) -> bool:
        """Whether each row is a recorded trial of a case, including its prediction."""
        return self.has_predictions or self.read_prediction is not None

    def reader(self, *, cases: bool) -> Callable[[bytes, Place, ReadContext], Conversation]:
        """Return `read_case` if cases are wanted and each row has one beside its conversation, otherwise `read`."""
        return self.read_case if cases and self.read_case is not None else self.read


def leftover_keys(known: Container[str]) -> Callable[[bytes], Iterable[str]]:
    """Return a function for `Format.leftover_keys`: the keys of a row that are not known and whose value is not null."""

    def keys(row: bytes) -> Iterable[str]:
        return (key for key, value in _decode_fields(row).items() if key not in known and bytes(value) != b"null")

    return keys


def row_id(given: object, place: Place) -> str:
    """Return the id in a row, or its line number if it has none."""
    if isinstance(given, str) and given:
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return str(place.number)


def check_utf8(row: bytes) -> None:
    """Raise `UnicodeDecodeError` for a row that is not valid UTF-8: a typed decoder does not validate the fields it skips."""
    if not row.isascii():
        row.decode()
