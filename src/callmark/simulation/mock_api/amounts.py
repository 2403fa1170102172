"""Generate numbers that fit a schema, in a range that fits their name: prices, quantities, years."""

from collections.abc import Mapping
from math import ceil, floor
from random import Random
from typing import Any

from callmark.simulation.mock_api.names import split_name

_MONEY = frozenset(("price", "amount", "total", "cost", "fee", "balance", "subtotal", "charge", "deposit", "refund", "payment", "tax"))
_MIN_MAGNITUDE, _MAX_MAGNITUDE = 1e-100, 1e100
_MONEY_SUFFIXES = (("due",), ("paid",), ("usd",), ("eur",))


def is_money(name: str) -> bool:
    """Return whether a name is that of an amount of money: `unit_price`, `amount_due`; not `payment_number`."""
    words = split_name(name)
    return bool(_MONEY & {*(words[:-1] if words[-1:] in _MONEY_SUFFIXES else ()), *words[-1:]})


def generate_number(schema: Mapping[str, Any], name: str, random: Random) -> int | float:
    """Return a number that fits the schema and the name."""
    is_integer = schema.get("type") == "integer"
    words = set(split_name(name))
    low, high = _range(words)
    step = _bound(schema.get("multipleOf"))
    minimum, maximum = _bound(schema.get("minimum")), _bound(schema.get("maximum"))
    exclusive_minimum, exclusive_maximum = _bound(schema.get("exclusiveMinimum")), _bound(schema.get("exclusiveMaximum"))
    unit = step or (1 if is_integer else 0.01)
    minimum = exclusive_minimum + unit if exclusive_minimum is not None and (minimum is None or exclusive_minimum >= minimum) else minimum
    maximum = exclusive_maximum - unit if exclusive_maximum is not None and (maximum is None or exclusive_maximum <= maximum) else maximum
    if minimum is not None:
        low, high = max(minimum, low), max(high, minimum + (high - low))
    if maximum is not None:
        high = min(high, maximum)
        low = min(low, high) if minimum is None else max(minimum, min(low, high))
    if step:
        return _number(random.randint(ceil(low / step), max(floor(high / step), ceil(low / step))) * step, is_integer)
    if is_integer:
        return random.randint(ceil(low), max(ceil(low), floor(high)))
    value = round(random.uniform(low, max(low, high)), 2)
    return value if low <= value <= high else low


def _range(words: set[str]) -> tuple[float, float]:
    if words & _MONEY:
        return 12, 240
    for names, low, high in (
        ({"quantity", "qty", "seats", "guests", "people", "party", "copies", "nights", "travelers", "adults"}, 1, 4),
        ({"rating", "stars", "score"}, 1, 5),
        ({"age"}, 18, 78),
        ({"year"}, 1990, 2024),
        ({"percent", "percentage", "discount"}, 5, 30),
        ({"minutes", "duration"}, 15, 90),
        ({"page"}, 1, 1),
        ({"limit"}, 5, 20),
        ({"latitude", "lat"}, 30, 48),
        ({"longitude", "lon", "lng"}, -120, -75),
        ({"id", "number"}, 1000, 9999),
    ):
        if words & names:
            return low, high
    return 1, 40


def _bound(value: Any) -> float | None:
    """Return a bound; None if it is not a number, or too large or too small for floats."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if value == 0 or _MIN_MAGNITUDE <= abs(value) <= _MAX_MAGNITUDE else None


def _number(value: float, is_integer: bool) -> int | float:
    return int(value) if is_integer else round(value, 6)
