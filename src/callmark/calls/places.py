"""The place of a value in the arguments of a call, and the types that the schema admits there (docs/reference/metrics.md, section 2).

A schema is consulted only where a string meets a value of another type, so a place is a small object that remembers how it was reached.
"""

from collections.abc import Mapping
from typing import Any

from callmark.calls.match_budget import MatchBudget
from callmark.calls.schema import COMBINED, has_type, properties, resolve

_MAX_QUESTIONS = 10_000  # whether a part of the schema admits a value; a larger schema admits everything
_FEW_QUESTIONS = 20  # that cost nothing; each further one counts as a check
_ITEM = 0  # the step to any item of an array: they all have the same schema


class Place:
    """A place in an actual value: a container and the step to a field (a string) or to any of its items.

    `schema` describes the outermost container; `above` is the place of the container, None for the outermost one.
    """

    __slots__ = ("_admitted", "above", "container", "schema", "step")

    def __init__(self, schema: Mapping[str, Any], container: Any, step: str | int, above: "Place | None" = None) -> None:
        self.schema = schema
        self.container = container
        self.step = step
        self.above = above
        self._admitted: dict[Any, bool] = {}

    def field(self, container: Mapping[str, Any], key: str) -> "Place":
        """Return the place of a field of the object that is here."""
        return Place(self.schema, container, key, self)

    def item(self, container: Any) -> "Place":
        """Return the place of the items of the array that is here."""
        return Place(self.schema, container, _ITEM, self)

    def admits(self, value: Any, budget: MatchBudget | None = None) -> bool:
        """Return whether the schema admits the JSON type of a value here; True if it says nothing about this place.

        Schemas are read as in section 7: `anyOf`, `oneOf`, `allOf`, `$ref` and `nullable` are followed, and unknown type words admit
        everything.
        """
        kind = value.is_integer() if value.__class__ is float else value.__class__
        admitted = self._admitted.get(kind)
        if admitted is None:
            question = _Question(self, value)
            admitted = self._admitted[kind] = question.answer()
            if budget is not None:
                budget.spend(max(question.asked - _FEW_QUESTIONS, 0))
        return admitted


class _Question:
    """Whether a schema admits a value at the end of a path of containers."""

    def __init__(self, place: Place, value: Any) -> None:
        self._root = place.schema
        self._values: list[Any] = [value]  # the outermost container first, the value last
        self._steps: list[str | int] = []
        above: Place | None = place
        while above is not None:
            self._values.append(above.container)
            self._steps.append(above.step)
            above = above.above
        self._values.reverse()
        self._steps.reverse()
        self._known: dict[tuple[int, int], bool] = {}

    @property
    def asked(self) -> int:
        return len(self._known)

    def answer(self) -> bool:
        try:
            return self._admits(self._root, 0)
        except RecursionError:  # more parts than any real schema has
            return True

    def _admits(self, schema: Any, depth: int) -> bool:
        if not isinstance(schema, dict):
            return schema is not False
        question = id(schema), depth
        if question not in self._known:
            if len(self._known) >= _MAX_QUESTIONS:
                raise RecursionError
            self._known[question] = True  # for a part that refers to itself
            self._known[question] = self._admits_parts(schema, depth)
        return self._known[question]

    def _admits_parts(self, schema: dict[str, Any], depth: int) -> bool:
        value = self._values[depth]
        if value is None and schema.get("nullable") is True:
            return True
        if isinstance(schema.get("$ref"), str) and not self._admits(resolve(schema["$ref"], self._root), depth):
            return False
        for key in COMBINED:
            parts = schema.get(key)
            if isinstance(parts, list) and parts:
                admitted = (self._admits(part, depth) for part in parts)
                if not (all(admitted) if key == "allOf" else any(admitted)):
                    return False
        kinds = schema.get("type")
        if kinds is not None and not any(has_type(value, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])):
            return False
        if depth == len(self._steps):
            return True
        step = self._steps[depth]
        if isinstance(step, str):
            fields = properties(schema)
            return step not in fields or self._admits(fields[step], depth + 1)
        return not isinstance(schema.get("items"), dict) or self._admits(schema["items"], depth + 1)
