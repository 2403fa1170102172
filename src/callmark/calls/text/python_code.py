"""Read a call written as Python code: `f(a=1, b="x")`. The code is parsed, never evaluated; arguments must be keywords with literal values.

Anything else (positional arguments, names, expressions, code that is too long or does not parse) is a malformed call with its text.
"""

import ast
import re
from typing import Any

from callmark.calls.shapes import named_call
from callmark.calls.strict import NotStrict, scrub
from callmark.types import Call

LONGEST_CODE = 250_000  # characters of one call, without its strings; Python's parser is slow above that
STRING_PATTERN = (
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?|' + r"'''(?:[^'\\]|\\.|'(?!''))*+(?:''')?|" + r""""(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?"""
)
_JSON_CONSTANTS = {"true": True, "false": False, "null": None}
_STRING = re.compile(STRING_PATTERN, re.DOTALL)


def read_code_call(name: str, source: str) -> Call:
    """Return the call if its arguments are keywords with literal values; otherwise a malformed call with the code as its text."""
    try:
        call = named_call(name, _read_keywords(source[len(name) :]), None)
    except NotStrict as problem:
        return malformed_call(name, f"arguments: {problem}", source)
    except RecursionError:  # the caller is deeply nested itself
        return malformed_call(name, "arguments: nested too deeply", source)
    return malformed_call(name, call.malformed, source) if call.malformed else call


def malformed_call(name: str, reason: str, text: str) -> Call:
    """Return a malformed call with this name and text, both stripped."""
    return Call(scrub(name.strip()), {}, None, reason, scrub(text.strip()))


def _read_keywords(code: str) -> dict[str, Any]:
    if len(code) > LONGEST_CODE and len(_STRING.sub("", code)) > LONGEST_CODE:
        raise NotStrict(f"code longer than {LONGEST_CODE:,} characters")
    try:
        call = ast.parse(f"f{code}", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise NotStrict("invalid Python") from None
    if not isinstance(call, ast.Call) or call.args:
        raise NotStrict("positional argument")
    values = {keyword.arg: _read_literal(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    if len(values) < len(call.keywords):
        raise NotStrict("duplicate keyword or **")
    return values


def _read_literal(node: ast.expr) -> Any:
    """Return the JSON value of a literal. A tuple becomes a list. Python's parser limits the depth."""
    match node:
        case ast.Constant(value=str() | bool() | float() | None as value):
            return value
        case ast.Constant(value=int() as value) if value.bit_length() <= 1024:
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float()) as number):
            value = _read_literal(number)
            return -value if isinstance(sign, ast.USub) else value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_read_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_read_key(key): _read_literal(value) for key, value in zip(keys, values, strict=True)}
        case ast.Name(id=name) if name in _JSON_CONSTANTS:
            return _JSON_CONSTANTS[name]
    raise NotStrict("not a JSON literal")


def _read_key(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str() as key):
            return key
    raise NotStrict("a key that is not a string")
