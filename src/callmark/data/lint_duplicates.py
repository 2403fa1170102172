"""Find duplicate rows: exact duplicates, near-duplicates (`callmark.data.near_duplicates`), and leaks from training into validation.

A row has at most one finding, the most serious: a leak, a duplicate or a near-duplicate. A leak is a validation row that is a duplicate or
near-duplicate of a training row. A decision point also leaks if its prompt is in a training row, or if it was cut from the same
conversation: the same id and the same first user message (ids that are line numbers mean nothing in another file). For a decision point
that expects no call, only the conversation it was cut from counts, because many conversations begin alike.
"""

import hashlib
from collections.abc import Iterable

from callmark.calls.messages import message_texts
from callmark.calls.strict import dump
from callmark.calls.toolsets import tools_text
from callmark.data.lint_codes import make_finding, relative_place
from callmark.data.near_duplicates import NearDuplicate, NearDuplicateIndex, Sketch, is_comparable, sketch
from callmark.types import Call, Case, Conversation, Finding, Place


class DuplicateFinder:
    """Finds rows that duplicate an earlier row, one by one. Validation rows must come after training rows."""

    def __init__(self) -> None:
        self._train = _Rows()
        self._valid = _Rows()

    def add(self, row: Conversation, *, held_out: bool, same_prompt: str) -> Finding | None:
        """Return the finding about a row, or None. `same_prompt` is the location of the training row with the same prompt."""
        key, origin, row_sketch = _row_key(row), _origin_key(row), sketch(row) if is_comparable(row) else None
        side = self._valid if held_out else self._train
        if held_out and (leak := self._find_leak(row, key, origin, same_prompt, row_sketch)):
            return make_finding("leak", row, f"{leak}, which is a training row")
        if key in side.rows:
            return make_finding("duplicate_row", row, f"exact duplicate of {relative_place(side.rows[key], row)}")
        side.rows[key] = row.place
        if origin is not None:
            side.origins.setdefault(origin, row.place)
        if row_sketch is None:
            return None
        near = side.near_duplicates.add(row_sketch)
        side.places.append(row.place)
        return make_finding("near_duplicate", row, side.describe(near, row)) if near is not None else None

    def _find_leak(self, row: Conversation, key: bytes, origin: bytes | None, same_prompt: str, row_sketch: Sketch | None) -> str:
        """Return how the row duplicates a training row; empty if it does not."""
        train = self._train
        if origin in train.origins:
            return f"cut from the same conversation as {relative_place(train.origins[origin], row)}"
        if row_sketch is None:
            return ""
        if key in train.rows:
            return f"exact duplicate of {relative_place(train.rows[key], row)}"
        if same_prompt:
            return f"same prompt as {same_prompt}"
        near = train.near_duplicates.find(row_sketch)
        return train.describe(near, row) if near is not None else ""


class _Rows:
    """The rows of one side: locations by digest and by source conversation, and an index of near-duplicates."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Place | None] = {}
        self.origins: dict[bytes, Place | None] = {}
        self.near_duplicates = NearDuplicateIndex()
        self.places: list[Place | None] = []

    def describe(self, near: NearDuplicate, row: Conversation) -> str:
        """Return which row this one is a near-duplicate of, as a sentence."""
        other = relative_place(self.places[near.index], row)
        if near.similarity == 1:
            return f"same text and calls as {other}"
        return f"near-duplicate of {other} ({int(near.similarity * 100)}% similar)"


def calls_key(calls: Iterable[Call]) -> bytes:
    """Return a key that is equal for equal calls, ignoring their order and ids."""
    return dump(sorted([call.name, dump(call.arguments), call.text] for call in calls)).encode()


def _row_key(row: Conversation) -> bytes:
    instructions, expected = (row.instructions, row.expected) if isinstance(row, Case) else ("", ())
    return _digest(b"\0".join([*map(bytes, message_texts(row)), tools_text(row), _encode(instructions), calls_key(expected)]))


def _origin_key(row: Conversation) -> bytes | None:
    if not isinstance(row, Case) or row.source is None:
        return None
    first_words = next((message.text for message in row.messages if message.role == "user"), None)
    return _digest(_encode(f"{row.source.conversation}\0{first_words}")) if first_words is not None else None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
