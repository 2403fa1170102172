"""Read calls written as Python code: `[f(a=1, b="x"), g()]`. The code is parsed, never evaluated.

Arguments must be keywords with literal values. Anything else (positional arguments, names, expressions, code that is too long or does not
parse) is a malformed call with its text.
"""

import ast
import re
import warnings
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
_BRACKET = re.compile(rf"{STRING_PATTERN}|(?P<open>[({{\[])|(?P<close>[)}}\]])", re.DOTALL)
_SKIPPED = r"(?:[\s,;\[\]]|#[^\n]*+)*+"
_NEXT_CALL = re.compile(rf"{_SKIPPED}(?:[^\W\d]\w*+\s*+=\s*+)?(?P<print>print\(\s*+)?(?P<name>[^\W\d][\w.-]*+)\(")
_REST = re.compile(rf"{_SKIPPED}(?P<rest>.*)", re.DOTALL)
_STARTS_LIKE_CODE = re.compile(r"""[\s\[]*+(?:print\()?[^\W\d][\w.-]*+\(\s*+(?:[)"'\d\[{*-]|\w++\s*+=|\Z)""")


def starts_like_code(text: str) -> bool:
    """Return whether a text begins with a call that has no arguments, or whose first argument is a keyword or a literal."""
    return _STARTS_LIKE_CODE.match(text) is not None


def find_code_end(text: str, at: int) -> tuple[int, bool]:
    """Return where the bracket at `at` closes, and True; or the end of the text, and False. Brackets in strings do not count."""
    depth = 0
    for found in _BRACKET.finditer(text, at):
        if found["open"]:
            depth += 1
        elif found["close"]:
            depth -= 1
            if not depth:
                return found.end(), True
    return len(text), False


def read_code_calls(text: str) -> list[Call]:
    """Return the calls of a text that is nothing but calls: in a list, on lines, `print(f(a=1))`, `x = f(a=1)`.

    Comments are skipped. Other text is a malformed call.
    """
    calls: list[Call] = []
    at = 0
    while found := _NEXT_CALL.match(text, at):
        at, closed = find_code_end(text, found.end() - 1)
        calls.append(read_code_call(found["name"], text[found.start("name") : at]))
        if found["print"] and closed and text.startswith(")", at):
            at += 1
    rest = _REST.match(text, at)["rest"].strip()  # type: ignore[index]  # matches everything
    return [*calls, malformed_call("", "not a call", rest)] if rest else calls


def read_code_call(name: str, source: str) -> Call:
    """Return the call if its arguments are keywords with literal values; otherwise a malformed call with the code as its text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warning about "\\d"
            keywords = _read_keywords(source[len(name) :])
        call = named_call(name, keywords, None)
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
