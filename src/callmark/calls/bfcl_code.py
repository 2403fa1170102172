"""Decode calls in Python syntax, `[f(a=1), g(b=[2])]`, as the Berkeley leaderboard does: with `ast`, nothing in the text is evaluated.

Its rules: positional arguments are ignored, a name is its own text, a unary operator always negates, a call without keyword arguments in
the place of a value is its text. Sums and products of numbers are computed here. Anything else raises `NotCallsError`: other expressions,
text that is not Python, text of more than `MAX_TEXT` characters.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

MAX_TEXT = 100_000
_MAX_POWER = 64
_MAX_NUMBER = 1e15

Decoded = dict[str, dict[str, Any]]  # one call: its name, and its arguments as Python values

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class NotCallsError(ValueError):
    """A text that is not a list of calls."""


def decode_text(text: str) -> list[Decoded]:
    """Return the calls in the answer of a model that was prompted to write them, with or without the brackets and a fence around them."""
    answer = text.strip("`\n ")
    if not answer.startswith("["):
        answer = "[" + answer
    if not answer.endswith("]"):
        answer += "]"
    if len(answer) > MAX_TEXT:
        raise NotCallsError("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in the text
            body = ast.parse(answer.strip().strip("'"), mode="eval").body
            if isinstance(body, ast.Call):
                return [_call(body)]
            items = body.elts if isinstance(body, ast.List | ast.Tuple | ast.Set) else None
            if items is None or not all(isinstance(item, ast.Call) for item in items):
                raise NotCallsError("not a list of calls")
            return [_call(item) for item in items if isinstance(item, ast.Call)]
    except NotCallsError:
        raise
    except (SyntaxError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError, MemoryError) as error:
        raise NotCallsError(str(error)) from None


def _call(call: ast.Call) -> Decoded:
    parts: list[str] = []
    function = call.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    # `**` has no name; the leaderboard keeps it under None, which is an unexpected parameter
    return {".".join(reversed(parts)): {word.arg if word.arg is not None else "**": read_value(word.value) for word in call.keywords}}


def read_value(node: ast.expr | None) -> Any:
    """Return the value of an expression in a call."""
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            number: Any = value  # of another type, it raises
            return -number
        case ast.List(elts=items):
            return [read_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(read_value(item) for item in items)
        case ast.Dict(keys=keys, values=values):
            return {read_value(key): read_value(value) for key, value in zip(keys, values, strict=True)}
        case ast.BinOp():
            return _number(node)
        case ast.Name(id=name):
            return name
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call():
            return _call(node)
        case ast.Subscript(value=value, slice=index):
            return f"{ast.unparse(value)}[{ast.unparse(index)}]"
    raise NotCallsError(f"unsupported expression: {type(node).__name__}")


def _number(node: ast.expr) -> Any:
    """Return the value of an expression of constants: numbers, and what Python computes with texts and lists of bounded size."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return +_number(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _number(left), _number(right)
            numbers = [value for value in (first, second) if isinstance(value, int | float)]
            if any(abs(value) > _MAX_NUMBER for value in numbers) or (isinstance(op, ast.Pow) and abs(second) > _MAX_POWER):
                raise NotCallsError("a number that is too large")
            if len(numbers) < 2 and not (isinstance(op, ast.Add) and isinstance(first, str) and isinstance(second, str)):
                raise NotCallsError("an operator between values that are not numbers")
            return _OPERATORS[type(op)](first, second)
    raise NotCallsError(f"unsupported expression: {type(node).__name__}")
