"""Write rejected rows to a file: each row unchanged, with its location and the reason."""

import base64
from collections.abc import Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Self

import msgspec

from callmark.formats import BadRow, Output
from callmark.types import Conversation


class RejectsFile:
    """Context manager that writes rejected rows as JSONL. With `path` None, it writes nothing.

    The file is created with the first row, or when the command succeeds. A command that fails early therefore does not truncate an existing
    file. Rows written before a failure are kept, as they help to find its cause.
    """

    def __init__(self, path: str | PathLike[str] | None) -> None:
        self.path = None if path is None else fspath(path)
        self._output = Output(self.path)
        self._opened = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._opened or kind is None:
            self._open()
            self._output.__exit__(None, None, None)

    def add_bad_row(self, bad: BadRow) -> None:
        """Write a row that cannot be read: its text, or base64 if it is not valid UTF-8."""
        record: dict[str, Any] = {"file": bad.place.file, bad.place.unit: bad.place.number_in_file, "reason": bad.reason}
        try:
            record["text"] = bad.row.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            record["base64"] = base64.b64encode(bad.row).decode()
        self._write(record)

    def add_row(self, row: Conversation, reasons: Sequence[str]) -> None:
        """Write a valid row that is rejected. Rows without a location are not written."""
        place = row.place
        if self.path is not None and place is not None:
            self._write(
                {"file": place.file, place.unit: place.number_in_file, "reason": reasons, "row": msgspec.Raw(row.original.row.rstrip())}
            )

    def _write(self, record: dict[str, Any]) -> None:
        self._open()
        self._output.line(msgspec.json.encode(record))

    def _open(self) -> None:
        if not self._opened:
            self._output.__enter__()
            self._opened = True
