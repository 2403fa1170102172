"""Relations between kinds of resources."""

from callmark.simulation.mock_api.resource_kinds import Field, ResourceKinds


class ResourceRelations:
    """Relations between kinds: a kind belongs to its `parent`, whose key it has in a field, or to its `owner`, in which it is nested."""

    def __init__(self, kinds: ResourceKinds) -> None:
        self.kinds = kinds
        self.parent: dict[str, Field] = {}
        self.owner: dict[str, str] = {}
        for kind in kinds.by_name.values():
            references = [field for field in kind.fields.values() if field.role == "key" and field.kind != kind.name]
            personal = [field for field in references if kinds.by_name[field.kind].is_person]
            if references:
                self.parent[kind.name] = (personal or references)[0]
        for name in kinds.by_name:
            containers = [
                kind.name
                for kind in kinds.by_name.values()
                for field in kind.fields.values()
                if field.role == "whole" and field.kind == name
            ]
            if name not in self.parent and len(containers) == 1:
                self.owner[name] = containers[0]
        self.order = self._order_kinds()

    def is_derived(self, kind: str, field: Field) -> bool:
        """Return whether a list field is derived from references to its row: the `orders` of a user, if orders have a `user_id`."""
        return field.many and field.role in ("keys", "whole") and self.reference_field(field.kind, kind) is not None

    def reference_field(self, kind: str, other: str) -> Field | None:
        """Return the field in which rows of a kind store the key of another kind, or None."""
        return next((field for field in self.kinds.by_name[kind].fields.values() if field.role == "key" and field.kind == other), None)

    def _order_kinds(self) -> list[str]:
        """Return the kinds in dependency order: referenced kinds come first, as far as possible."""
        remaining = list(self.kinds.by_name)
        ordered: list[str] = []
        while remaining:
            ready = [name for name in remaining if not self._dependencies(name) & {*remaining} - {name}]
            step = ready or remaining[:1]
            ordered += step
            remaining = [name for name in remaining if name not in step]
        return ordered

    def _dependencies(self, name: str) -> set[str]:
        kind = self.kinds.by_name[name]
        needs = {field.kind for field in kind.fields.values() if field.role != "plain" and not self.is_derived(name, field)}
        return needs - {inner for inner, owner in self.owner.items() if owner == name}
