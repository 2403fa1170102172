"""Generate argument values for the tools of a server whose data are unknown, from nothing but the schemas."""

from collections.abc import Sequence
from math import ceil, floor, isfinite
from random import Random
from typing import Any, TypeGuard

from callmark.simulation.mock_api import sample_data
from callmark.simulation.mock_api.names import singular, split_name
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.mock_api.values import ValueContext, ValueGenerator

_TEXTS = frozenset(
    {"message", "text", "content", "observation", "note", "comment", "body", "description", "topic", "title", "subject", "summary"}
    | {"thought", "prompt", "question", "sentence", "input", "data", "value"}
)
_PATHS = frozenset({"path", "dir", "directory", "repo", "repository", "folder", "root", "db", "database", "workspace", "project"})
_PLACE_WORDS = frozenset({"timezone", "zone"})
_ABOUT = ("order", "meeting", "budget", "invoice", "trip", "report", "contract", "delivery", "interview", "garden", "concert", "repair")
_FACTS = (
    "the {about} in {city} is on {weekday}",
    "{name} takes care of the {about}",
    "{name} moved to {city} in {month}",
    "the {about} for {name} needs another look",
    "{name} likes {thing}",
    "we talked about the {about} with {name}",
    "the {thing} for {city} arrives in {month}",
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_MONTHS = ("January", "March", "April", "June", "September", "November")
_MAX_ITEMS = 20  # of a list, whatever its schema asks for
_NEAR_DEFAULT = 3  # how far a number is from its default, at most


class ArgumentGenerator:
    """Generates values for one conversation. `known` are values that the command of the server names, such as a folder."""

    def __init__(self, seed: str, random: Random, known: Sequence[str] = ()) -> None:
        self._values = ValueGenerator(seed)
        self._random = random
        self._known = known
        self._count = 0

    def generate(self, schema: Any, name: str, noun: str) -> Any:
        """Return a value for a parameter without parts of its own; a list has one to three values."""
        simplified = simplify_schema(schema)
        if simplified.get("type") == "array":
            items = simplified.get("items", {})
            least = simplified["minItems"] if isinstance(simplified.get("minItems"), int) else 1
            found = [self.generate(items, name, noun) for _ in range(min(max(least, self._random.choice((1, 1, 2))), _MAX_ITEMS))]
            return list({str(item): item for item in found}.values()) if least <= 1 else found
        if "enum" in simplified or "const" in simplified or simplified.get("type", "string") != "string" or "pattern" in simplified:
            return self._plain(simplified, name, noun)
        last = singular(split_name(name)[-1]) if split_name(name) else ""
        if last in _PATHS and self._known:
            return self._random.choice(self._known)
        if last in _PLACE_WORDS:
            return self._random.choice(sample_data.TIME_ZONES)
        if last in _TEXTS and "format" not in simplified:
            return self._sentence()
        return self._plain(simplified, name, noun)

    def _plain(self, simplified: dict[str, Any], name: str, noun: str) -> Any:
        self._count += 1
        default = simplified.get("default")
        if simplified.get("type") in ("integer", "number") and _is_number(default) and "enum" not in simplified:
            least, most = simplified.get("minimum"), simplified.get("maximum")
            low = max(default - _NEAR_DEFAULT, least if _is_number(least) else 1, 1)
            high = min(default + _NEAR_DEFAULT, most if _is_number(most) else default + _NEAR_DEFAULT)
            return self._random.randint(ceil(low), floor(high)) if ceil(low) <= floor(high) else default
        if simplified.get("type") == "boolean":
            return self._random.random() < 0.5
        context = ValueContext(noun.replace(" ", "_") or "thing", str(self._count))
        return self._values.generate(simplified, name, context, random=self._random)

    def _sentence(self) -> str:
        first, last = self._random.choice(sample_data.FIRST_NAMES), self._random.choice(sample_data.LAST_NAMES)
        return self._random.choice(_FACTS).format(
            about=self._random.choice(_ABOUT),
            city=self._random.choice(sample_data.PLACES)[0],
            name=f"{first} {last}",
            thing=self._random.choice(sample_data.NAMES_BY_KIND["product"]).lower(),
            weekday=self._random.choice(_WEEKDAYS),
            month=self._random.choice(_MONTHS),
        )


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
