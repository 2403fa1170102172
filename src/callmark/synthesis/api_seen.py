"""What the answers of an API have shown so far in a conversation: which things, and what of each."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from callmark.calls.strict import NotStrict, parse
from callmark.simulation.mock_api.api import Meaning
from callmark.simulation.mock_api.kinds import Kinds
from callmark.simulation.mock_api.names import noun_of


class _Answer(Struct):
    """Of one answer, by kind and key: the fields that were told of things, and what else was named."""

    shown: dict[str, dict[str, dict[str, Any]]]
    named: dict[str, set[str]]


class Seen:
    """Answer by answer, the latest last."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._answers: list[_Answer] = []

    def add(self, meaning: Meaning, text: str) -> None:
        """Take note of an answer; one that is no JSON shows nothing."""
        try:
            answer = parse(text)
        except NotStrict:
            return
        found = _Answer({}, {})
        self._walk(answer, meaning.subject.kind if meaning.subject and not meaning.subject.at else "", found)
        self._answers.append(found)

    def names(self, kind: str, key: Any) -> bool:
        """Whether the key stands in an answer."""
        return any(str(key) in answer.named.get(kind, ()) or str(key) in answer.shown.get(kind, {}) for answer in self._answers)

    def shows(self, kind: str, key: Any) -> bool:
        """Whether an answer shows the thing, alone or among others: more than that another names it."""
        return any(str(key) in answer.shown.get(kind, {}) for answer in self._answers)

    def beside(self, kind: str, key: Any) -> dict[str, dict[str, Any]]:
        """Everything of the kind in the longest answer that shows this one, each with the most that any answer told of it."""
        shown = [answer.shown.get(kind, {}) for answer in self._answers]
        longest = max((each for each in shown if str(key) in each), key=len, default={})
        return {each: max((some.get(each, {}) for some in reversed(shown)), key=len) for each in longest}

    def _walk(self, value: Any, kind: str, found: _Answer) -> None:
        if isinstance(value, list):
            for each in value:
                self._walk(each, kind, found)
        elif isinstance(value, dict):
            own = self._own(value, kind)
            if own:
                name = next((name for name in value if name in self._kinds.by_name[own].aliases), "")
                if name:
                    found.shown.setdefault(own, {})[str(value[name])] = value
            for name, each in value.items():
                self._field(name, each, own, found)

    def _field(self, name: str, value: Any, own: str, found: _Answer) -> None:
        if isinstance(value, dict):
            self._walk(value, self._known(noun_of(name)), found)
            return
        if isinstance(value, list) and any(isinstance(each, dict) for each in value):
            self._walk(value, self._known(noun_of(name)), found)
            return
        kind = self._known(self._kinds.of_field(name)) or (self._known(noun_of(name)) if isinstance(value, list) else "")
        if kind and kind != own:
            key = self._kinds.by_name[kind].key
            for each in value if isinstance(value, list) else ():
                found.shown.setdefault(kind, {}).setdefault(str(each), {key: each})
            if isinstance(value, str | int):
                found.named.setdefault(kind, set()).add(str(value))

    def _own(self, value: Mapping[str, Any], kind: str) -> str:
        if kind and any(name in self._kinds.by_name[kind].aliases for name in value):
            return kind
        first = next(iter(value), "")
        return self._known(self._kinds.of_field(first))

    def _known(self, kind: str) -> str:
        return kind if kind in self._kinds.by_name else ""
