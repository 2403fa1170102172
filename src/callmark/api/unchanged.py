"""Write rows as they were read. Rows that refer to other rows are preceded by those."""

from collections.abc import Iterable, Iterator

from callmark.formats import Output, openai, scenarios
from callmark.formats.by_reference import ReferenceWriter
from callmark.types import Case, Conversation


def unchanged_lines(rows: Iterable[Conversation | bytes]) -> Iterator[bytes]:
    """Yield the lines of rows, or of their texts. Rows built in Python are written as scenarios or in the OpenAI format.

    If the first row refers to a conversation, all rows are written by reference; a row whose conversation is not known raises `BadInput`.
    """
    lines = UnchangedLines()
    for row in rows:
        yield from lines.lines(row)


class UnchangedLines:
    """The lines of rows that are added one by one."""

    def __init__(self) -> None:
        self._references: ReferenceWriter | None = None
        self._is_first = True

    def lines(self, row: Conversation | bytes) -> Iterator[bytes]:
        """Yield the line of a row, after those that it refers to."""
        if isinstance(row, bytes):
            yield row.rstrip()
            return
        text = row.original.row.rstrip()
        refers = bool(text) and row.original.conversation is not None
        if self._is_first:
            self._references = ReferenceWriter() if refers else None
            self._is_first = False
        if self._references is not None:
            yield from self._references.lines(row, text if refers else b"")
        elif text and not refers:
            yield text
        else:
            yield scenarios.write(row) if isinstance(row, Case) and row.is_scenario else openai.write(row)


class RowsFile(Output):
    """Context manager that writes rows unchanged."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._unchanged = UnchangedLines()

    def add(self, row: Conversation | bytes) -> None:
        """Write a row, or its text."""
        for line in self._unchanged.lines(row):
            self.line(line)
