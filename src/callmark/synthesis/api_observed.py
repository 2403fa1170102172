"""Track the resources in the responses of an API during a conversation."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from callmark.calls.strict import NotStrict, parse
from callmark.simulation.mock_api.api import OperationMeaning
from callmark.simulation.mock_api.names import resource_noun
from callmark.simulation.mock_api.resource_kinds import ResourceKinds


class _ObservedResponse(Struct):
    """One response, by kind and key: the fields of the resources it shows, and the other keys it mentions."""

    shown: dict[str, dict[str, dict[str, Any]]]
    mentioned: dict[str, set[str]]


class ObservedResources:
    """Collects responses, the latest last."""

    def __init__(self, kinds: ResourceKinds) -> None:
        self._kinds = kinds
        self._responses: list[_ObservedResponse] = []

    def add(self, meaning: OperationMeaning, text: str) -> None:
        """Add a response; one that is not JSON shows nothing."""
        try:
            response = parse(text)
        except NotStrict:
            return
        found = _ObservedResponse({}, {})
        self._walk(response, meaning.subject.kind if meaning.subject and not meaning.subject.path else "", found)
        self._responses.append(found)

    def mentions(self, kind: str, key: Any) -> bool:
        """Return whether a response contains the key."""
        return any(str(key) in response.mentioned.get(kind, ()) or str(key) in response.shown.get(kind, {}) for response in self._responses)

    def shows(self, kind: str, key: Any) -> bool:
        """Return whether a response shows the resource itself, not only a reference to it."""
        return any(str(key) in response.shown.get(kind, {}) for response in self._responses)

    def listed_with(self, kind: str, key: Any) -> dict[str, dict[str, Any]]:
        """Return all resources of the kind in the longest response that shows this one, each with the most fields that were shown."""
        shown = [response.shown.get(kind, {}) for response in self._responses]
        longest = max((item for item in shown if str(key) in item), key=len, default={})
        return {item: max((rows.get(item, {}) for rows in reversed(shown)), key=len) for item in longest}

    def _walk(self, value: Any, kind: str, found: _ObservedResponse) -> None:
        if isinstance(value, list):
            for item in value:
                self._walk(item, kind, found)
        elif isinstance(value, dict):
            object_kind = self._kind_of(value, kind)
            if object_kind:
                name = next((name for name in value if name in self._kinds.by_name[object_kind].aliases), "")
                if name:
                    found.shown.setdefault(object_kind, {})[str(value[name])] = value
            for name, item in value.items():
                self._field(name, item, object_kind, found)

    def _field(self, name: str, value: Any, object_kind: str, found: _ObservedResponse) -> None:
        if isinstance(value, dict):
            self._walk(value, self._known_kind(resource_noun(name)), found)
            return
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            self._walk(value, self._known_kind(resource_noun(name)), found)
            return
        kind = self._known_kind(self._kinds.kind_of_field(name)) or (
            self._known_kind(resource_noun(name)) if isinstance(value, list) else ""
        )
        if kind and kind != object_kind:
            key = self._kinds.by_name[kind].key
            for item in value if isinstance(value, list) else ():
                found.shown.setdefault(kind, {}).setdefault(str(item), {key: item})
            if isinstance(value, str | int):
                found.mentioned.setdefault(kind, set()).add(str(value))

    def _kind_of(self, value: Mapping[str, Any], kind: str) -> str:
        if kind and any(name in self._kinds.by_name[kind].aliases for name in value):
            return kind
        first = next(iter(value), "")
        return self._known_kind(self._kinds.kind_of_field(first))

    def _known_kind(self, kind: str) -> str:
        return kind if kind in self._kinds.by_name else ""
