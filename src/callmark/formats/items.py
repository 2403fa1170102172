"""Rows in memory: dicts, conversations and cases, numbered like the rows of a file."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import structs

from callmark.errors import BrokenRow
from callmark.formats.rows import Split
from callmark.types import Conversation, Place

NAME = "the dataset"  # in messages


class Items:
    """The items of a list, as `(number, row)`: conversations and cases unchanged, anything else as JSON.

    An item that JSON cannot represent raises `BrokenRow` with its number. A single object that holds rows is split into them.
    """

    name = NAME
    unit: Literal["item"] = "item"
    rereadable = True
    size = 0
    position = 0

    def __init__(self, items: Iterable[Any], split: Split | None = None) -> None:
        self._items = tuple(items)
        self._split = split

    def __iter__(self) -> Iterator[tuple[int, bytes | Conversation]]:
        if len(self._items) == 1 and isinstance(row := item_row(self._items[0], 1), bytes) and self._split is not None:
            rows = self._split(row)
            yield from enumerate([row] if rows is None else map(bytes, rows), 1)
            return
        for number, item in enumerate(self._items, 1):
            yield number, item_row(item, number)

    def place(self, number: int) -> Place:
        """Return the place of the item with this number."""
        return Place("", number, self.unit)

    def close(self) -> None:
        """Do nothing; there is no file to close."""


def item_row(item: Any, number: int) -> bytes | Conversation:
    """Return a conversation or case with its place, or anything else as JSON."""
    place = Place("", number, "item")
    if isinstance(item, Conversation):
        return item if item.place is not None else structs.replace(item, place=place)
    try:
        return json.dumps(item).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BrokenRow(f"{place}: cannot be converted to JSON: {error}.") from None
