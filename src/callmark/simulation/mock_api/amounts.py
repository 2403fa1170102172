"""Numbers that a schema allows, of a size that fits what they are called: prices, quantities, years."""

from collections.abc import Mapping
from math import ceil, floor
from random import Random
from typing import Any

from callmark.simulation.mock_api.names import words_of

_MONEY = frozenset(("price", "amount", "total", "cost", "fee", "balance", "subtotal", "charge", "deposit", "refund", "payment", "tax"))
_SMALLEST, _LARGEST = 1e-100, 1e100
_AFTER_MONEY = (("due",), ("paid",), ("usd",), ("eur",))


def is_money(name: str) -> bool:
    """Whether what the name says is an amount of money: `unit_price`, `amount_due`; not `payment_number`."""
    words = words_of(name)
    return bool(_MONEY & {*(words[:-1] if words[-1:] in _AFTER_MONEY else ()), *words[-1:]})


def amount(given: Mapping[str, Any], name: str, random: Random) -> int | float:
    """A number that the schema allows, of the size that the name says."""
    whole = given.get("type") == "integer"
    words = set(words_of(name))
    low, high = _range(words)
    step = _bound(given.get("multipleOf"))
    least, most = _bound(given.get("minimum")), _bound(given.get("maximum"))
    over, under = _bound(given.get("exclusiveMinimum")), _bound(given.get("exclusiveMaximum"))
    unit = step or (1 if whole else 0.01)
    least = over + unit if over is not None and (least is None or over >= least) else least
    most = under - unit if under is not None and (most is None or under <= most) else most
    if least is not None:
        low, high = max(least, low), max(high, least + (high - low))
    if most is not None:
        high = min(high, most)
        low = min(low, high) if least is None else max(least, min(low, high))
    if step:
        return _number(random.randint(ceil(low / step), max(floor(high / step), ceil(low / step))) * step, whole)
    if whole:
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
    """A bound as it is given; None for what is none, and for one that is too large, or too near to 0, to be counted with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if value == 0 or _SMALLEST <= abs(value) <= _LARGEST else None


def _number(value: float, whole: bool) -> int | float:
    return int(value) if whole else round(value, 6)
