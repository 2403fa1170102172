"""Relations between kinds of resources."""

from callmark.simulation.mock_api.resource_kinds import Field, ResourceKind, ResourceKinds


class ResourceRelations:
    """Relations between kinds: a kind belongs to its `parent`, whose key it has in a field, or to its `owner`, in which it is nested.

    `containers` are all kinds in which a kind is nested, with the field.
    """

    def __init__(self, kinds: ResourceKinds) -> None:
        self.kinds = kinds
        self.parent: dict[str, Field] = {}
        self.owner: dict[str, str] = {}
        for kind in kinds.by_name.values():
            references = [field for field in kind.fields.values() if field.role == "key" and field.kind != kind.name]
            personal = [field for field in references if kinds.by_name[field.kind].is_person]
            if references:
                self.parent[kind.name] = (personal or references)[0]
        nesting: dict[str, list[tuple[ResourceKind, Field]]] = {}  # by nested kind
        for kind in kinds.by_name.values():
            for field in kind.fields.values():
                if field.role == "whole":
                    nesting.setdefault(field.kind, []).append((kind, field))
        for name, containers in nesting.items():
            if name not in self.parent and len(containers) == 1:
                self.owner[name] = containers[0][0].name
        self.containers = {name: [pair for pair in pairs if not self.is_derived(pair[0].name, pair[1])] for name, pairs in nesting.items()}
        self._needs = {name: self._dependencies(name) for name in kinds.by_name}
        self.order = self._order_kinds()
        self._closures: dict[str, list[str]] = {}

    def is_derived(self, kind: str, field: Field) -> bool:
        """Return whether a list field is derived from references to its row: the `orders` of a user, if orders have a `user_id`."""
        return field.many and field.role in ("keys", "whole") and self.reference_field(field.kind, kind) is not None

    def reference_field(self, kind: str, other: str) -> Field | None:
        """Return the field in which rows of a kind store the key of another kind, or None."""
        return next((field for field in self.kinds.by_name[kind].fields.values() if field.role == "key" and field.kind == other), None)

    def dependency_order(self, kind: str) -> list[str]:
        """Return a kind and all kinds that it depends on, directly or not, in dependency order."""
        if kind not in self._closures:
            needed = self._reachable(kind)
            self._closures[kind] = [name for name in self.order if name in needed]
        return self._closures[kind]

    def _reachable(self, kind: str) -> set[str]:
        found, pending = {kind}, [kind]
        while pending:
            new = self._needs[pending.pop()] - found
            found |= new
            pending += new
        return found

    def _order_kinds(self) -> list[str]:
        """Return the kinds in dependency order: referenced kinds come first, except in a cycle."""
        ordered: dict[str, None] = {}
        remaining = list(self.kinds.by_name)
        while remaining:
            ready = [name for name in remaining if not self._needs[name] - ordered.keys() - {name}]
            if not ready:  # every remaining kind depends on a cycle: start with a kind of a cycle that depends on no other
                reachable = {name: self._reachable(name) - ordered.keys() for name in remaining}
                ready = [min(remaining, key=lambda name: (len(reachable[name]), name))]
            ordered |= dict.fromkeys(ready)
            remaining = [name for name in remaining if name not in ordered]
        return list(ordered)

    def _dependencies(self, name: str) -> set[str]:
        """Return the kinds whose rows are created before those of this kind, or along with them."""
        fields = self.kinds.by_name[name].fields.values()
        needs = {field.kind for field in fields if field.role != "plain" and not self.is_derived(name, field)}
        return needs | ({self.owner[name]} if name in self.owner else set())
