"""Sums for people: + - * / and parentheses over decimal numbers, worked out without `eval`."""

import re
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, localcontext

from callmark.worlds.answering import Refused, shown

MOST_CHARACTERS, MOST_NESTED = 500, 30
MOST = Decimal(10) ** 15
_EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
_TOKEN = re.compile(r" *(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([-+*/()]))")


def calculate(expression: str) -> str:
    """The value, to two decimals at most. What is no expression, or has no value that can be written down, raises `Refused`."""
    if len(expression) > MOST_CHARACTERS:
        raise Refused(f"the expression has {len(expression):,} characters, at most {MOST_CHARACTERS} are taken")
    with localcontext(_EXACT):
        try:
            value = _Reader(_tokens(expression), expression).whole().quantize(Decimal("0.01"))
        except DecimalException:
            raise Refused(f"{shown(expression)} has no value: it divides by zero, or a number in it is too large") from None
    if abs(value) >= MOST:
        raise Refused(f"the value of {shown(expression)} is too large, numbers below a quadrillion were expected")
    text = f"{value:f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    place, end = 0, len(expression.rstrip(" "))
    while place < end:
        found = _TOKEN.match(expression, place)
        if found is None:
            raise Refused(f"{shown(expression)} is no expression: numbers, + - * /, parentheses and spaces were expected")
        tokens.append(found[1] or found[2])
        place = found.end()
    return tokens


class _Reader:
    """Reads tokens from left to right: a sum of products of numbers, signed or in parentheses."""

    def __init__(self, tokens: list[str], expression: str) -> None:
        self._left = tokens[::-1]
        self._expression = expression

    def whole(self) -> Decimal:
        value = self._sum(0)
        if self._left:
            raise self._wrong()
        return value

    def _sum(self, depth: int) -> Decimal:
        value = self._product(depth)
        while (sign := self._take("+-")) is not None:
            other = self._product(depth)
            value = value + other if sign == "+" else value - other
        return value

    def _product(self, depth: int) -> Decimal:
        value = self._number(depth)
        while (sign := self._take("*/")) is not None:
            other = self._number(depth)
            value = value * other if sign == "*" else value / other
        return value

    def _number(self, depth: int) -> Decimal:
        if depth > MOST_NESTED:
            raise Refused(f"{shown(self._expression)} is nested too deeply, {MOST_NESTED} levels are taken")
        if (sign := self._take("+-")) is not None:
            value = self._number(depth + 1)
            return value if sign == "+" else -value
        if self._take("(") is not None:
            value = self._sum(depth + 1)
            if self._take(")") is None:
                raise self._wrong()
            return value
        if not self._left or not self._left[-1][-1].isdigit():
            raise self._wrong()
        return Decimal(self._left.pop())

    def _take(self, wanted: str) -> str | None:
        return self._left.pop() if self._left and self._left[-1] in wanted else None

    def _wrong(self) -> Refused:
        return Refused(f"{shown(self._expression)} is no expression, such as '2 * (19.99 + 5)' was expected")
