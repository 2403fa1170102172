"""Which kinds of things belong to which."""

from callmark.simulation.mock_api.kinds import Field, Kinds


class Family:
    """Which kinds belong to which: by a field that names the other's key (`parent`), or by being nowhere but inside of it (`owner`)."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.parent: dict[str, Field] = {}
        self.owner: dict[str, str] = {}
        for kind in kinds.by_name.values():
            named = [field for field in kind.fields.values() if field.role == "key" and field.kind != kind.name]
            people = [field for field in named if kinds.by_name[field.kind].is_person]
            if named:
                self.parent[kind.name] = (people or named)[0]
        for name in kinds.by_name:
            holders = [
                kind.name
                for kind in kinds.by_name.values()
                for field in kind.fields.values()
                if field.role == "whole" and field.kind == name
            ]
            if name not in self.parent and len(holders) == 1:
                self.owner[name] = holders[0]
        self.order = self._ordered()

    def is_derived(self, kind: str, field: Field) -> bool:
        """Whether a list of a thing is told by those that name it: the `orders` of a user, where orders have a `user_id`."""
        return field.many and field.role in ("keys", "whole") and self.naming(field.kind, kind) is not None

    def naming(self, kind: str, other: str) -> Field | None:
        """The field by which things of a kind name one of another kind."""
        return next((field for field in self.kinds.by_name[kind].fields.values() if field.role == "key" and field.kind == other), None)

    def _ordered(self) -> list[str]:
        """Those that others name before those that name them, as far as that goes."""
        left = list(self.kinds.by_name)
        done: list[str] = []
        while left:
            free = [name for name in left if not self._waits_for(name) & {*left} - {name}]
            step = free or left[:1]
            done += step
            left = [name for name in left if name not in step]
        return done

    def _waits_for(self, name: str) -> set[str]:
        kind = self.kinds.by_name[name]
        needs = {field.kind for field in kind.fields.values() if field.role != "plain" and not self.is_derived(name, field)}
        return needs - {inner for inner, owner in self.owner.items() if owner == name}
