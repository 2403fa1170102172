"""Copies among rows: exact ones, near ones (`callmark.data.near`), and what has leaked from training into validation.

Of a row one thing is said, the gravest: that it leaks, that it is a copy, that it is a near copy. A row that leaks is one for validation
that is a copy or a near copy of one for training; of decision points also one that asks what is asked there, or that was cut from the
same conversation: the same id, and the user begins with the same words (ids that are line numbers mean nothing in another file). A
decision point that rightly calls nothing is not compared, only where it was cut from: many conversations open alike.
"""

import hashlib
from collections.abc import Iterable

from callmark.calls.messages import message_texts
from callmark.calls.strict import dump
from callmark.calls.toolsets import tools_text
from callmark.data.lint_codes import found, short
from callmark.data.near import NearCopies, NearCopy, Sketch, binds, sketch
from callmark.types import Call, Case, Conversation, Finding, Place


class Copies:
    """Takes rows one by one; of each it tells whether it is a copy of an earlier one. Rows for validation come after those for training."""

    def __init__(self) -> None:
        self._train = _Seen()
        self._valid = _Seen()

    def add(self, row: Conversation, *, held_out: bool, asked: str) -> Finding | None:
        """What is wrong with the row, None for nothing. `asked` says, of a decision point, where the same is asked for training."""
        key, cut, drawn = _key(row), _cut(row), sketch(row) if binds(row) else None
        own = self._valid if held_out else self._train
        if held_out and (leak := self._leak(row, key, cut, asked, drawn)):
            return found("leak", row, f"{leak}, which is for training")
        if key in own.rows:
            return found("duplicate_row", row, f"the row is an exact copy of {short(own.rows[key], row)}")
        own.rows[key] = row.place
        if cut is not None:
            own.cut.setdefault(cut, row.place)
        if drawn is None:
            return None
        near = own.near.add(drawn)
        own.places.append(row.place)
        return found("near_duplicate", row, own.nearly(near, row)) if near is not None else None

    def _leak(self, row: Conversation, key: bytes, cut: bytes | None, asked: str, drawn: Sketch | None) -> str:
        """How the row comes from what is for training, in words; empty where it does not."""
        train = self._train
        if cut in train.cut:
            return f"the decision point is cut from the same conversation as {short(train.cut[cut], row)}"
        if drawn is None:
            return ""
        if key in train.rows:
            return f"the row is an exact copy of {short(train.rows[key], row)}"
        if asked:
            return f"the prompt is that of {asked}"
        near = train.near.find(drawn)
        return train.nearly(near, row) if near is not None else ""


class _Seen:
    """The rows of one side: places by digest, by the conversation that they were cut from, and near copies by their number."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Place | None] = {}
        self.cut: dict[bytes, Place | None] = {}
        self.near = NearCopies()
        self.places: list[Place | None] = []

    def nearly(self, near: NearCopy, row: Conversation) -> str:
        other = short(self.places[near.index], row)
        if near.alike == 1:
            return f"the row says and calls the same as {other}"
        return f"the row says and calls nearly the same as {other} ({int(near.alike * 100)}% alike)"


def golden(calls: Iterable[Call]) -> bytes:
    """Calls as what tells them from others: their order and ids do not count."""
    return dump(sorted([call.name, dump(call.arguments), call.text] for call in calls)).encode()


def _key(row: Conversation) -> bytes:
    asked, gold = (row.instructions, row.expected) if isinstance(row, Case) else ("", ())
    return _digest(b"\0".join([*map(bytes, message_texts(row)), tools_text(row), _bytes(asked), golden(gold)]))


def _cut(row: Conversation) -> bytes | None:
    if not isinstance(row, Case) or row.source is None:
        return None
    begins = next((message.text for message in row.messages if message.role == "user"), None)
    return _digest(_bytes(f"{row.source.conversation}\0{begins}")) if begins is not None else None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
