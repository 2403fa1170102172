"""Read a tool call in any of the shapes that APIs, datasets and people write (docs/reference/metrics.md, section 1).

    {"id", "type": "function", "function": {"name", "arguments"}}      OpenAI
    {"tool": {"name", "arguments"}}    {"name", "arguments"}    {"name", "args"}    {"name", "kwargs"}
    {"functionName", "arguments"}                                      scenarios
    {"type": "tool_use", "name", "input"}                              Anthropic
    {"type": "function_call", "call_id", "name", "arguments"}          Responses
    {"functionCall": {"name", "args"}}                                 Gemini
    {"toolUse": {"toolUseId", "name", "input"}}                        Bedrock
    {"type": "tool-call", "toolCallId", "toolName", "input" | "args"}  Vercel AI
    {"name", "args", "id", "type": "tool_call"}                        LangChain
    {"id", "function": "name", "arguments", "parse_error"}             inspect-ai

A call of `multi_tool_use.parallel` stands for the calls in it: `unwrap` returns those. The input of a custom tool is free text, which is
its only argument, `input`. A call with a `parse_error` is malformed: whoever recorded it could not read its arguments.

The name and the arguments are each the first non-null value of a list of keys. Arguments are an object or a JSON string of one; missing,
null or blank arguments are `{}`. A call is malformed if it has two different names, two different arguments, a tool definition instead of
arguments, or unknown keys and no arguments, and so is anything else that is not a call. A malformed call keeps its name and its text.
Nothing here raises, whatever the input.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from callmark.calls.strict import DEEPEST, NotStrict, decode, dump, is_deeper_than, is_strict, parse, scrub
from callmark.types import Call

CALL_LEVELS = 2  # levels of nesting that a call adds around its arguments
ARGUMENT_KEYS = ("arguments", "args", "input", "parameters", "params", "kwargs", "tool_input", "action_input")
NAME_KEYS = ("name", "functionName", "function_name", "tool_name", "toolName")
NAMED_CONTAINER_KEYS = ("function", "tool")  # an object with name and arguments, or the name as a string
CONTAINER_KEYS = (*NAMED_CONTAINER_KEYS, "functionCall", "function_call", "toolUse", "custom")  # an object with name and arguments
PARALLEL = "multi_tool_use.parallel"  # a call whose `tool_uses` are calls
CALL_KEYS = frozenset({*ARGUMENT_KEYS, *NAME_KEYS, *CONTAINER_KEYS, "action"})
METADATA_KEYS = frozenset(
    [
        "id",
        "type",
        "index",
        "call_id",
        "tool_call_id",
        "toolCallId",
        "toolUseId",
        "status",
        "role",
        "namespace",
        "caller",
        "created_by",
        "error",
        "parse_error",
        "view",
        "internal",
        "strict",
        "cache_control",
        "thought_signature",
        "thoughtSignature",
        "providerExecuted",
        "providerMetadata",
        "providerOptions",
        "dynamic",
        "state",
        "requestor",
        "compare_args",
        "action_id",
        "info",
        "after",
    ]
)
_ID_KEYS = ("call_id", "id", "tool_call_id", "toolCallId", "toolUseId")  # a Responses item has an `id` of its own beside the `call_id`
_PLAIN_KEYS = frozenset({"id", "type", "name", "arguments"})
_CUSTOM_TYPES = frozenset({"custom_tool_call", "custom"})
_PARALLEL_PREFIX = "functions."
_PARALLEL_KEYS = frozenset({"recipient_name", "parameters"})
_METADATA_PREFIXES = ("_", "x-")
_MAX_DIGITS = 400  # more are outside the double range
_SCHEMA_KEYS = frozenset(
    [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "description",
        "title",
        "default",
        "examples",
        "strict",
        "nullable",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "$defs",
        "definitions",
        "$ref",
        "$schema",
        "$id",
    ]
)

_Members = list[tuple[str, Any]]


def read_call(value: Any) -> Call:
    """Return the call of a decoded JSON value; malformed if the value is not a call."""
    try:  # fast path for OpenAI's shape without other keys
        inner = value["function"]
        name, text, call_id = inner["name"], inner["arguments"], value["id"]
        if (
            name.__class__ is str
            and text.__class__ is str
            and call_id.__class__ is str
            and len(inner) == 2
            and (len(value) == 2 or (len(value) == 3 and "type" in value))
        ):
            if len(text) <= DEEPEST and name > "!" and name.isascii() and call_id.isascii():
                arguments = decode(text)
                if arguments.__class__ is dict:
                    return Call(name, arguments, call_id)
            elif call_id.isascii():
                return named_call(name, text, call_id)
    except (LookupError, TypeError, ValueError, RecursionError):  # another shape, or a malformed call: read below
        pass
    if isinstance(value, Call):
        return value
    if not isinstance(value, dict):
        return Call(name="", malformed="not an object", text=dump(value))
    return _read_object(value)


def _read_object(value: dict[str, Any]) -> Call:
    if _PLAIN_KEYS.issuperset(value) and isinstance(value.get("name"), str):  # no keys that could conflict
        given = value.get("id")
        return named_call(value["name"], value.get("arguments"), given if given is None else _id_text(given))
    bodies = [*(value[key] for key in CONTAINER_KEYS if isinstance(value.get(key), dict)), value]
    call_id = _read_id([value, *bodies[:-1]])
    arguments = [(key, body[key]) for body in bodies for key in ARGUMENT_KEYS if body.get(key) is not None]
    names = list(_names(value, bodies))
    if not names or not all(isinstance(name, str) for _, name in names):
        return Call(name="", id=call_id, malformed="no name", text=_text(arguments[0][1] if arguments else None, value))
    name = names[0][1]
    if any(other != name for _, other in names):
        return _malformed(name, call_id, "two different names", list(value.items()))
    if problem := value.get("parse_error"):
        return _malformed(name, call_id, f"parse_error: {problem if isinstance(problem, str) else dump(problem)}", list(value.items()))
    if _is_custom(value) and [key for key, _ in arguments] == ["input"] and isinstance(arguments[0][1], str):
        return named_call(name, {"input": arguments[0][1]}, call_id)
    definitions = [(key, given) for key, given in arguments if key == "parameters" and _is_tool_definition(given)]
    if definitions:
        return _malformed(name, call_id, "expected arguments, got a tool definition", definitions)
    if len(arguments) > 1 and not _all_equal([given for _, given in arguments]):
        return _malformed(name, call_id, "two different arguments", arguments)
    if not arguments and (unknown := _unknown_members(bodies)):
        keys = ", ".join(scrub(str(key)) for key, _ in unknown)
        return _malformed(name, call_id, f"unknown keys: {keys}", unknown)
    return named_call(name, arguments[0][1] if arguments else None, call_id)


def _is_custom(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and value["type"] in _CUSTOM_TYPES


def _read_id(bodies: Sequence[dict[str, Any]]) -> str | None:
    given = next((body[key] for body in bodies for key in _ID_KEYS if body.get(key) is not None), None)
    return None if given is None else _id_text(given)


def _id_text(given: Any) -> str:
    return scrub(given) if isinstance(given, str) else dump(given)


def unwrap(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Return the calls with each `multi_tool_use.parallel` replaced by the calls in it, of which the first keeps its id.

    What is not a call inside is a malformed call; so is a `multi_tool_use.parallel` without a list of `tool_uses`, or with an empty one.
    """
    if PARALLEL not in [call.name for call in calls]:
        return calls
    return tuple([inner for call in calls for inner in (_parallel_calls(call) if call.name == PARALLEL else (call,))])


def _parallel_calls(call: Call) -> tuple[Call, ...]:
    uses = call.arguments.get("tool_uses")
    if call.malformed:
        return (call,)
    if call.arguments.keys() != {"tool_uses"} or not isinstance(uses, list) or not uses:
        return (Call(PARALLEL, {}, call.id, "expected a list of tool_uses", dump(call.arguments)[1:-1]),)
    return tuple([_parallel_call(use, None if index else call.id) for index, use in enumerate(uses)])


def _parallel_call(use: Any, call_id: str | None) -> Call:
    if not isinstance(use, dict):
        return Call("", {}, call_id, "not an object", dump(use))
    name = use.get("recipient_name")
    if not isinstance(name, str):
        return Call("", {}, call_id, "no name", dump(use))
    name = name.removeprefix(_PARALLEL_PREFIX)
    if unknown := [(key, member) for key, member in use.items() if key not in _PARALLEL_KEYS]:
        return _malformed(name, call_id, f"unknown keys: {', '.join(scrub(str(key)) for key, _ in unknown)}", unknown)
    if _is_tool_definition(use.get("parameters")):
        return _malformed(name, call_id, "expected arguments, got a tool definition", [("parameters", use["parameters"])])
    return named_call(name, use.get("parameters"), call_id)


def named_call(name: str, arguments: Any, call_id: str | None) -> Call:
    """Return the call of that name; malformed if the name is blank, or the arguments are neither an object nor a JSON string of one."""
    if arguments.__class__ is str and len(arguments) <= DEEPEST and name > "!" and name.isascii():  # the fast path for almost every call
        try:
            value = decode(arguments)
        except (ValueError, RecursionError):
            value = None  # blank or malformed: the reason is found below
        if value.__class__ is dict:
            return Call(name, value, call_id)
    if not name or name.isspace():
        return Call("", {}, call_id, "no name", _text(arguments, {"name": name}))
    try:
        return Call(name if name.isascii() else scrub(name), _read_arguments(arguments), call_id)
    except NotStrict as problem:
        return Call(scrub(name), {}, call_id, f"arguments: {problem}", _text(arguments, None))


def read_call_text(text: bytes) -> Call:
    """Return the call of a JSON text. For text that is not strict JSON, a malformed call with whatever can be read."""
    try:
        return read_call(parse(text, deepest=DEEPEST + CALL_LEVELS))
    except NotStrict as problem:
        reason = str(problem)
    try:
        loose = json.loads(text, parse_int=_read_integer)
    except (ValueError, RecursionError):
        return Call(name="", malformed=reason, text=scrub(text.decode("utf-8", "backslashreplace")))
    call = read_call(loose)
    return Call(call.name, {}, call.id, call.malformed or f"arguments: {reason}", scrub(text.decode("utf-8", "backslashreplace")))


def read_calls(values: Any) -> tuple[Call, ...]:
    """Return the calls of a list, unwrapped. A single object is a list of one; None is an empty list."""
    if values.__class__ is list and len(values) == 1:
        call = read_call(values[0])
        return (call,) if call.name != PARALLEL else unwrap((call,))
    if values is None:
        return ()
    return unwrap(tuple([read_call(value) for value in (values if isinstance(values, (list, tuple)) else [values])]))


def _names(value: dict[str, Any], bodies: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield every name in a call object, with its key. Containers and `action` name a tool only if they are strings."""
    for body in bodies:
        for key in NAME_KEYS:
            if body.get(key) is not None:
                yield key, body[key]
    for key in (*NAMED_CONTAINER_KEYS, "action"):
        if isinstance(value.get(key), str):
            yield key, value[key]


def _unknown_members(bodies: Sequence[dict[str, Any]]) -> _Members:
    """Return the members that are neither the name, its container nor metadata: they may be unrecognized arguments.

    Empty if the call has a key for arguments, even if it is null.
    """
    if any(key in body for body in bodies for key in ARGUMENT_KEYS):
        return []
    unknown: _Members = []
    for body in bodies:
        for key, member in body.items():
            known = key in METADATA_KEYS or key in NAME_KEYS or (isinstance(key, str) and key.startswith(_METADATA_PREFIXES))
            if not known and not (body is bodies[-1] and _is_name_or_container(key, member)):
                unknown.append((key, member))
    return unknown


def _is_name_or_container(key: str, member: Any) -> bool:
    if key == "action":
        return isinstance(member, str)
    if key in NAMED_CONTAINER_KEYS and isinstance(member, str):
        return True
    return key in CONTAINER_KEYS and (member is None or isinstance(member, dict))


def _is_tool_definition(parameters: Any) -> bool:
    """Return whether `parameters` declares parameters (a JSON Schema, or a list of definitions) instead of holding arguments."""
    if isinstance(parameters, str):
        try:
            parameters = parse(parameters)
        except NotStrict:
            return False
    if isinstance(parameters, list):
        return bool(parameters) and all(
            isinstance(item, dict) and isinstance(item.get("name"), str) and ("type" in item or "required" in item) for item in parameters
        )
    if not isinstance(parameters, dict) or not _SCHEMA_KEYS.issuperset(parameters):
        return False
    properties = parameters.get("properties")
    if isinstance(properties, dict):
        return all(isinstance(schema, (dict, bool)) for schema in properties.values())
    return properties is None and (parameters.get("type") == "object" or "$schema" in parameters or "$ref" in parameters)


def _all_equal(given: Sequence[Any]) -> bool:
    """Return whether all values are the same arguments. A value that cannot be read equals nothing."""
    from callmark.calls.values import exact

    try:
        first, *others = [_read_arguments(value) for value in given]
    except NotStrict:
        return False
    return all(exact(first, other) for other in others)


def _malformed(name: str, call_id: str | None, reason: str, members: _Members) -> Call:
    """Return a malformed call whose text is the members without braces, so that it is never read back as well-formed arguments."""
    if not name or name.isspace():
        return Call("", {}, call_id, "no name", dump(dict(members)))
    return Call(scrub(name), {}, call_id, reason, ",".join(dump({key: member})[1:-1] for key, member in members))


def _read_integer(digits: str) -> int | str:
    """Return the integer, or its digits if there are more than Python converts."""
    return int(digits) if len(digits) < _MAX_DIGITS else digits


def _read_arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        if not given or given.isspace():
            return {}
        value = parse(given)
        if value.__class__ is dict:
            return cast("dict[str, Any]", value)
        raise NotStrict(f"expected an object, got {type_name(value)}")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise NotStrict(f"expected an object, got {type_name(given)}")
    if is_deeper_than(given, DEEPEST):
        raise NotStrict(f"nesting deeper than {DEEPEST}")
    if not is_strict(given):
        raise NotStrict("lone surrogate or number outside the double range")
    return given


def _text(arguments: Any, call: Any) -> str:
    """Return the value given as arguments, as text; the whole call if there is none."""
    if isinstance(arguments, str):
        return scrub(arguments)
    return dump(call if arguments is None else arguments)


def type_name(value: Any) -> str:
    """Return the JSON type of a value with its article: `a string`, `an array`, `null`."""
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
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"
