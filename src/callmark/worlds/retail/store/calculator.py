"""Arithmetic for the tool `calculate`: + - * / and parentheses over decimal numbers, without `eval`."""

import re
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, localcontext

from callmark.worlds.tool_calls import ToolError, quote_value

MAX_CHARACTERS, MAX_DEPTH = 500, 30
MAX_VALUE = Decimal(10) ** 15
_EXACT = Context(prec=60, rounding=ROUND_HALF_UP)
_TOKEN = re.compile(r" *(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([-+*/()]))")


def calculate(expression: str) -> str:
    """Return the value with at most two decimals. Invalid expressions and values that are too large raise `ToolError`."""
    if len(expression) > MAX_CHARACTERS:
        raise ToolError(f"expected an expression of at most {MAX_CHARACTERS} characters, got {len(expression):,}")
    with localcontext(_EXACT):
        try:
            value = _ExpressionParser(_tokens(expression), expression).parse().quantize(Decimal("0.01"))
        except DecimalException:
            raise ToolError(f"{quote_value(expression)} has no value: it divides by zero, or a number in it is too large") from None
    if abs(value) >= MAX_VALUE:
        raise ToolError(f"the value of {quote_value(expression)} is too large; expected a value below a quadrillion")
    text = f"{value:f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    position, end = 0, len(expression.rstrip(" "))
    while position < end:
        match = _TOKEN.match(expression, position)
        if match is None:
            raise ToolError(f"{quote_value(expression)} is not an expression; expected numbers, + - * /, parentheses and spaces")
        tokens.append(match[1] or match[2])
        position = match.end()
    return tokens


class _ExpressionParser:
    """A recursive-descent parser: sums of products of numbers, signed or in parentheses."""

    def __init__(self, tokens: list[str], expression: str) -> None:
        self._remaining = tokens[::-1]
        self._expression = expression

    def parse(self) -> Decimal:
        value = self._sum(0)
        if self._remaining:
            raise self._syntax_error()
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
        if depth > MAX_DEPTH:
            raise ToolError(f"{quote_value(self._expression)} is nested too deeply; expected at most {MAX_DEPTH} levels")
        if (sign := self._take("+-")) is not None:
            value = self._number(depth + 1)
            return value if sign == "+" else -value
        if self._take("(") is not None:
            value = self._sum(depth + 1)
            if self._take(")") is None:
                raise self._syntax_error()
            return value
        if not self._remaining or not self._remaining[-1][-1].isdigit():
            raise self._syntax_error()
        return Decimal(self._remaining.pop())

    def _take(self, operators: str) -> str | None:
        return self._remaining.pop() if self._remaining and self._remaining[-1] in operators else None

    def _syntax_error(self) -> ToolError:
        return ToolError(f"{quote_value(self._expression)} is not an expression; expected one such as '2 * (19.99 + 5)'")
