"""A call, read from any of the shapes that people and machines write it in (docs/metrics.md, section 1).

    {"id", "type": "function", "function": {"name", "arguments"}}      OpenAI
    {"tool": {"name", "arguments"}}    {"name", "arguments"}    {"name", "kwargs"}
    {"functionName", "arguments"}                                      scenarios
    {"type": "tool_use", "name", "input"}                              Anthropic

Arguments are an object or a JSON string of one; missing, null or blank arguments are `{}`. Anything else is a malformed call:
it keeps its name and its text, and nothing here raises, whatever comes in.
"""

import json
from typing import Any, cast

from callmark.calls.strict import DEEPEST, NotStrict, decode, deeper_than, dump, is_strict, parse, scrub
from callmark.types import Call

OWN_LEVELS = 2  # of the call around its arguments
_MOST_DIGITS = 400  # more are outside double range
_ARGUMENTS = ("arguments", "input", "kwargs")


def read_call(value: Any) -> Call:
    """The call that a decoded JSON value stands for; malformed where it is none."""
    try:  # nearly every call
        inner = value["function"]
        name, text, given = inner["name"], inner["arguments"], value["id"]
        if name.__class__ is str and text.__class__ is str and given.__class__ is str:
            if len(text) <= DEEPEST and name > "!" and name.isascii() and given.isascii():
                arguments = decode(text)
                if arguments.__class__ is dict:
                    return Call(name, arguments, given)
            elif given.isascii():
                return named_call(name, text, given)
    except (LookupError, TypeError, ValueError, RecursionError):  # what it is, or what is wrong with it, is found out below
        pass
    if isinstance(value, Call):
        return value
    if not isinstance(value, dict):
        return Call(name="", malformed="not an object", text=dump(value))
    inner = value.get("function") or value.get("tool")
    body = inner if isinstance(inner, dict) else value
    name = body.get("name", body.get("functionName"))
    keys = _ARGUMENTS if body is value else _ARGUMENTS[:1]
    arguments = next((body[key] for key in keys if key in body), None)
    given = value.get("id")
    call_id = scrub(given) if isinstance(given, str) else None if given is None else dump(given)
    if not isinstance(name, str):
        return Call(name="", id=call_id, malformed="no name", text=_text(arguments, value))
    return named_call(name, arguments, call_id)


def named_call(name: str, arguments: Any, call_id: str | None) -> Call:
    """The call of that name; malformed where the name is blank, or the arguments are no object, nor a JSON string of one."""
    if arguments.__class__ is str and len(arguments) <= DEEPEST and name > "!" and name.isascii():  # nearly every call
        try:
            value = decode(arguments)
        except (ValueError, RecursionError):
            value = None  # blank, or why not is found out below
        if value.__class__ is dict:
            return Call(name, value, call_id)
    if not name or name.isspace():
        return Call("", {}, call_id, "no name", _text(arguments, {"name": name}))
    try:
        return Call(name if name.isascii() else scrub(name), _arguments(arguments), call_id)
    except NotStrict as problem:
        return Call(scrub(name), {}, call_id, f"arguments: {problem}", _text(arguments, None))


def read_call_text(text: bytes) -> Call:
    """The call that a JSON text stands for. What msgspec refuses is read as far as it goes, and is malformed."""
    try:
        return read_call(parse(text, deepest=DEEPEST + OWN_LEVELS))
    except NotStrict as problem:
        reason = str(problem)
    try:
        loose = json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        return Call(name="", malformed=reason, text=scrub(text.decode("utf-8", "backslashreplace")))
    call = read_call(loose)
    return Call(call.name, {}, call.id, call.malformed or f"arguments: {reason}", scrub(text.decode("utf-8", "backslashreplace")))


def read_calls(values: Any) -> tuple[Call, ...]:
    """The calls of a list; a single object is a list of one, None is none."""
    if values.__class__ is list and len(values) == 1:
        return (read_call(values[0]),)
    if values is None:
        return ()
    return tuple([read_call(value) for value in (values if isinstance(values, (list, tuple)) else [values])])


def _whole(digits: str) -> int | str:
    """The integer, or its digits where Python converts no more of them."""
    return int(digits) if len(digits) < _MOST_DIGITS else digits


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        if not given or given.isspace():
            return {}
        value = parse(given)
        if value.__class__ is dict:
            return cast("dict[str, Any]", value)
        raise NotStrict(f"{_kind(value)}, an object was expected")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise NotStrict(f"{_kind(given)}, an object was expected")
    if deeper_than(given, DEEPEST):
        raise NotStrict(f"nesting deeper than {DEEPEST}")
    if not is_strict(given):
        raise NotStrict("a lone surrogate or a number outside double range")
    return given


def _text(arguments: Any, whole: Any) -> str:
    """What stood in place of the arguments; the whole call where nothing did."""
    if isinstance(arguments, str):
        return scrub(arguments)
    return dump(whole if arguments is None else arguments)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "an array"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"
