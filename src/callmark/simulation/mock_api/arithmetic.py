"""Evaluate arithmetic, so that a mocked calculator gives right results."""

import ast
import operator
from collections.abc import Callable
from typing import Any

_MAX_EXPRESSION = 200  # characters
_MAX_VALUE = 1e15
_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluate(expression: Any) -> str | None:
    """Return the result of sums, differences, products and quotients of numbers; None for anything else, and for too large values."""
    if not isinstance(expression, str) or len(expression) > _MAX_EXPRESSION:
        return None
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None
    return str(int(value)) if value == int(value) else str(round(value, 6))


def _value(node: ast.AST) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            value: float = number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            value = _OPERATORS[type(op)](_value(left), _value(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_value(operand)
        case _:
            raise ValueError
    if not abs(value) < _MAX_VALUE:
        raise ValueError
    return value
