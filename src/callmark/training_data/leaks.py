"""Keep test cases out of training data: find rows that are a case of the evaluation file, or nearly one, or from its conversations."""

from collections.abc import Iterable
from typing import Literal

from callmark.data.near_duplicates import NearDuplicateIndex, Sketch, sketch
from callmark.types import Case, Conversation, Message

Leak = Literal["test_case", "near_duplicate", "same_conversation"]
LEAKS: dict[Leak, tuple[str, str]] = {  # what is left out: one case, and several
    "test_case": ("case in the evaluation file", "cases in the evaluation file"),
    "near_duplicate": ("near-duplicate of a case in the evaluation file", "near-duplicates of cases in the evaluation file"),
    "same_conversation": ("case from a conversation in the evaluation file", "cases from conversations in the evaluation file"),
}
_BEGINNING = 4  # messages after the system prompt that two conversations do not share by chance
_NOT_COMPARED = frozenset({"system", "developer"})


class TestSet:
    """The cases and conversations of an evaluation file."""

    __test__ = False  # pytest: this is not a class of tests

    def __init__(self, rows: Iterable[Conversation]) -> None:
        self._index = NearDuplicateIndex()
        self._contents: set[object] = set()
        self._beginnings: set[object] = set()
        for row in rows:
            messages = row.messages
            if isinstance(row, Case):
                self._index.add(_without_source(row))
                self._contents.add(_content(row))
            else:
                self._index.add(sketch(row))
            said = _said(messages)
            if len(said) >= _BEGINNING:
                self._beginnings.add(said[:_BEGINNING])

    def leak(self, case: Case) -> Leak | None:
        """Return how a case is part of the evaluation file; None if it is not."""
        if _content(case) in self._contents:
            return "test_case"
        if self._index.find(_without_source(case)) is not None:
            return "near_duplicate"
        said = _said(case.messages)
        return "same_conversation" if len(said) >= _BEGINNING and said[:_BEGINNING] in self._beginnings else None


def _without_source(case: Case) -> Sketch:
    """Return the sketch of a case that is compared with all others, also with those of its own conversation."""
    found = sketch(case)
    return Sketch(found.signature, found.size, found.digest)


def _content(case: Case) -> object:
    return _said(case.messages), case.instructions, tuple((call.name, repr(call.arguments), call.text) for call in case.expected)


def _said(messages: Iterable[Message]) -> tuple[object, ...]:
    """Return the messages that make a conversation: without system prompt, and without ids."""
    return tuple(
        (message.role, message.text, tuple((call.name, repr(call.arguments), call.text) for call in message.calls))
        for message in messages
        if message.role not in _NOT_COMPARED
    )
