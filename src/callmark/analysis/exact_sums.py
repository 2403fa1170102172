"""Sums of numbers without rounding, so that they depend neither on the order nor on how the numbers are divided into parts.

Every finite `float` is a whole number of `2 ** -1074`. Sums are kept in these units, as integers, and rounded once, in the end.
"""

from math import inf

_UNITS = 1 << 1074


def to_units(value: float) -> int:
    """Return a finite number as an integer."""
    numerator, denominator = float(value).as_integer_ratio()  # the denominator is a power of two
    return numerator * (_UNITS // denominator)


def from_units(units: int) -> float:
    """Return the nearest `float` of a sum of such integers; infinity beyond the greatest."""
    try:
        return units / _UNITS  # of integers: correctly rounded
    except OverflowError:
        return inf if units > 0 else -inf


class PairSum:
    """Adds up pairs of numbers exactly. Equal pairs are counted, and only added up when there are many different ones."""

    _MOST_PENDING = 10_000

    __slots__ = ("_first", "_pending", "_second")

    def __init__(self, first: int = 0, second: int = 0) -> None:
        self._pending: dict[tuple[float, float], int] = {}
        self._first, self._second = first, second  # in units

    def add(self, pair: tuple[float, float]) -> None:
        """Add a pair of finite numbers."""
        pending = self._pending
        pending[pair] = pending.get(pair, 0) + 1
        if len(pending) > self._MOST_PENDING:
            self.units()

    def units(self) -> tuple[int, int]:
        """Return the two sums so far, in units."""
        for (first, second), times in self._pending.items():
            self._first += times * to_units(first)
            self._second += times * to_units(second)
        self._pending.clear()
        return self._first, self._second

    def sums(self) -> tuple[float, float]:
        """Return the two sums so far."""
        first, second = self.units()
        return from_units(first), from_units(second)
