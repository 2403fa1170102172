"""Numbers on the command line: within bounds, with an error that says what was expected."""

from math import isfinite
from typing import Any

import click


class _Number(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions of click
    """A number of at least `least` (more than that with `above`) and at most `most`."""

    noun = "a number"

    def __init__(self, least: float | None = None, most: float | None = None, *, above: bool = False) -> None:
        self._least = least
        self._most = most
        self._above = above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = self.parse(value)
            if isfinite(number) and self._contains(number):
                return number
        except (ValueError, OverflowError):
            pass
        return self.fail(f"expected {self.noun}{self._bounds()}, got {value!r}", param, ctx)

    def parse(self, value: Any) -> float:
        return float(value)

    def _contains(self, number: float) -> bool:
        if self._least is not None and (number <= self._least if self._above else number < self._least):
            return False
        return self._most is None or number <= self._most

    def _bounds(self) -> str:
        if self._least is None:
            return ""
        if self._most is not None:
            return f" from {self._least:g} to {self._most:g}"
        return f" above {self._least:g}" if self._above else f" of at least {self._least:g}"


class Number(_Number):
    """A finite number."""

    name = "number"


class Integer(_Number):
    """An integer."""

    name = "integer"
    noun = "an integer"

    def parse(self, value: Any) -> int:
        return int(value)


POSITIVE_INTEGER = Integer(1)
NATURAL_NUMBER = Integer(0)
POSITIVE_NUMBER = Number(0, above=True)
FRACTION = Number(0, 1)
