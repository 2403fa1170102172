"""A grader for tool calls: is the next call right? Made by `callmark export grader`.

One file, nothing but Python's standard library (3.9 or newer). Paste it where an evaluation service asks for a Python grader, or call

    grade({"output_tools": […]}, {"expected_output": {"tool_calls": […]}, "tools": […]})

`sample["output_tools"]` holds the calls that a model made (missing or null: none), `item["expected_output"]["tool_calls"]` those that
are right, `item["expected_output"]["alternatives"]` further lists that are right too, `item["tools"]` the schemas, if they are known.
An item that is wrapped in `{"item": …}` is read through.

    right tool, same arguments              1.0
    right tool, other arguments             0.5
    wrong tool, no call, malformed call     0.0
    no call expected, none made             1.0
    no call expected, one made              0.0

Several calls are paired one to one as well as they can be, and the score is 2 * sum / (expected + made), rounded to 6 places; of several
right answers the best counts. An expected argument may be a matcher: $literal $any $optional $glob $one_of $set $approx $date $text
$contains $not. $regex is refused, since the standard library has no engine that every pattern is safe with. Nothing that a model says
is read as a pattern, and nothing that it says raises. The same input always gives the same score.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from datetime import date
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Any

DEEPEST = 200  # levels of nesting in the arguments of a call
MOST_COMPARED = 40_000  # pairs of calls of one name that are all compared; beyond that, equal ones are paired first
MOST_MEMBERS = 500  # of a $set
LONGEST_TEXT = 2000  # characters of a $text; beyond that only equal words count
LONGEST_MARKS = 1000  # combining marks in a row; no writing has more, and to put them in order takes time squared

MATCHERS: dict[str, tuple[str, ...]] = {"$glob": ("$case",), "$approx": ("$abs", "$rel"), "$text": ("$ratio",)}  # and their options
MATCHERS.update(dict.fromkeys(("$literal", "$any", "$optional", "$one_of", "$set", "$date", "$contains", "$not"), ()))

ARGUMENT_KEYS = ("arguments", "args", "input", "parameters", "params", "kwargs", "tool_input", "action_input")
NAME_KEYS = ("name", "functionName", "function_name", "tool_name", "toolName")
CONTAINER_KEYS = ("function", "tool")  # an object with name and arguments, or the name as a string
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
SCHEMA_KEYS = frozenset(
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

NOT_NULL = ("string", "integer", "number", "boolean", "array", "object", "str", "int", "float", "bool", "list", "dict")  # types

Call = tuple[str, Any]  # the name, and the arguments object, or None where the call is malformed


def grade(sample: dict[str, Any], item: dict[str, Any]) -> float:
    """The score of what a model said, from 0.0 to 1.0.

    An item that says nothing about what is right, or has a $regex or an unknown matcher, raises ValueError; nothing in the sample does.
    """
    if "expected_output" not in item and isinstance(item.get("item"), dict):
        item = item["item"]
    right = item.get("expected_output")
    if not isinstance(right, dict):
        raise ValueError("the item has no expected_output, an object with tool_calls was expected")
    alternatives = right.get("alternatives") or []
    if not isinstance(alternatives, list):
        raise ValueError("expected_output.alternatives is not a list, a list of call lists was expected")
    answers = [expected_calls(calls) for calls in [right.get("tool_calls"), *alternatives]]
    made = [read_call(call) for call in listed(sample.get("output_tools") if isinstance(sample, dict) else None)]
    schemas = read_tools(item.get("tools", item.get("functions")))
    return max(score(expected, made, schemas) for expected in answers)


def score(expected: list[Call], made: list[Call], schemas: dict[str, dict[str, Any]]) -> float:
    """One point for a pair with the same arguments, half for the same name: twice the sum over all calls."""
    if not expected and not made:
        return 1.0
    ours, theirs = by_name(expected), by_name(made)
    credit = 0.0
    for name, wanted in ours.items():
        given = theirs.get(name, [])
        credit += 0.5 * min(len(wanted), len(given)) + 0.5 * most_agreeing(wanted, given, schema_of(name, schemas))
    return round(2 * credit / (len(expected) + len(made)), 6)


# ---- pairing: only calls of the same name, none that is malformed ----


def by_name(calls: list[Call]) -> dict[str, list[dict[str, Any]]]:
    named: dict[str, list[dict[str, Any]]] = {}
    for name, arguments in calls:
        if arguments is not None:
            named.setdefault(name, []).append(arguments)
    return named


def most_agreeing(wanted: list[dict[str, Any]], made: list[dict[str, Any]], schema: dict[str, Any]) -> int:
    """How many calls of one name can be paired, one to one, with a call whose arguments are the same."""

    def same_call(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return same_arguments(left_in(one, schema, matchers=True), left_in(other, schema))

    agreed = 0
    if len(wanted) * len(made) > MOST_COMPARED:
        equal, wanted, made = equal_first(wanted, made)
        agreed = sum(same_call(one, other) for one, other in equal)
        if len(wanted) * len(made) > MOST_COMPARED:
            return agreed + sum(same_call(wanted[index], made[index]) for index in range(min(len(wanted), len(made))))
    ours, theirs = [left_in(one, schema, matchers=True) for one in wanted], [left_in(other, schema) for other in made]
    return agreed + most_matched([[index for index, other in enumerate(theirs) if same_arguments(one, other)] for one in ours])


def equal_first(wanted: list[Any], made: list[Any]) -> tuple[list[tuple[Any, Any]], list[Any], list[Any]]:
    """The pairs that are literally equal, and what is left on both sides."""
    texts: dict[str, list[int]] = {}
    for index in range(len(made) - 1, -1, -1):
        texts.setdefault(json.dumps(dict(sorted(made[index].items()))), []).append(index)
    equal, left, used = [], [], set()
    for one in wanted:
        same = texts.get(json.dumps(dict(sorted(one.items()))))
        if same:
            used.add(same[-1])
            equal.append((one, made[same.pop()]))
        else:
            left.append(one)
    return equal, left, [other for index, other in enumerate(made) if index not in used]


def most_matched(fitting: list[list[int]]) -> int:
    """How many rows can have a column of their own, where `fitting` lists the columns that each row fits. (Augmenting paths.)"""
    row_of: dict[int, int] = {}
    column_of: dict[int, int] = {}
    for start in range(len(fitting)):
        reached_from: dict[int, int] = {}
        rows = [start]
        free: int | None = None
        while rows and free is None:
            row = rows.pop()
            for column in fitting[row]:
                if column not in reached_from:
                    reached_from[column] = row
                    if column not in row_of:
                        free = column
                        break
                    rows.append(row_of[column])
        while free is not None:  # each row on the way passes its column on to the one before
            row = reached_from[free]
            row_of[free] = row
            before = column_of.get(row)
            column_of[row] = free
            free = before
    return len(row_of)


# ---- reading calls, in any of the shapes that people and machines write them in ----


def listed(calls: Any) -> list[Any]:
    """A single call is a list of one, null is none."""
    return [] if calls is None else calls if isinstance(calls, list) else [calls]


def read_call(call: Any) -> Call:
    """The name and the arguments, each the first non-null of its keys; missing, null or blank arguments are {}.

    Two different names or arguments, a tool definition, and a call without arguments that has unknown keys are malformed.
    """
    if not isinstance(call, dict):
        return "", None
    bodies = [call[key] for key in CONTAINER_KEYS if isinstance(call.get(key), dict)] + [call]
    names = [body[key] for body in bodies for key in NAME_KEYS if body.get(key) is not None]
    names += [call[key] for key in (*CONTAINER_KEYS, "action") if isinstance(call.get(key), str)]
    if not names or not all(isinstance(name, str) for name in names) or not names[0].strip():
        return "", None
    arguments = [body[key] for body in bodies for key in ARGUMENT_KEYS if body.get(key) is not None]
    malformed = any(name != names[0] for name in names) or any(is_tool_definition(body.get("parameters")) for body in bodies)
    if malformed or has_unknown_keys(bodies):
        return names[0], None
    try:
        first, *others = [read_arguments(given) for given in arguments or [None]]
    except ValueError:
        return names[0], None
    return names[0], first if all(exact(first, other) for other in others) else None


def read_arguments(given: Any) -> dict[str, Any]:
    """An object, or a JSON string of one; ValueError for everything else."""
    if isinstance(given, str):
        given = strict_json(given) if given.strip() else {}
    elif given is None:
        given = {}
    else:
        refuse_what_is_not_json(given)
    if not isinstance(given, dict):
        raise ValueError("not an object")
    return given


def is_tool_definition(parameters: Any) -> bool:
    """Whether `parameters` declares parameters (a JSON Schema, or a list of definitions) instead of holding arguments."""
    if isinstance(parameters, str):
        try:
            parameters = strict_json(parameters)
        except ValueError:
            return False
    if not isinstance(parameters, dict) or not SCHEMA_KEYS.issuperset(parameters):
        return False  # a list is malformed in any case
    properties = parameters.get("properties")
    if isinstance(properties, dict):
        return all(isinstance(schema, (dict, bool)) for schema in properties.values())
    return properties is None and (parameters.get("type") == "object" or "$schema" in parameters or "$ref" in parameters)


def has_unknown_keys(bodies: list[dict[str, Any]]) -> bool:
    """Whether a call without arguments has a key that is neither its name, its container nor metadata."""
    if any(key in body for body in bodies for key in ARGUMENT_KEYS):
        return False
    for body in bodies:
        for key, value in body.items():
            known = key in METADATA_KEYS or key in NAME_KEYS or key.startswith(("_", "x-"))
            if body is bodies[-1]:
                known = known or (key == "action" and isinstance(value, str))
                known = known or (key in CONTAINER_KEYS and (value is None or isinstance(value, (str, dict))))
            if not known:
                return True
    return False


def expected_calls(calls: Any) -> list[Call]:
    """The same for ground truth: matchers are looked through, and a `functionName` call may write `TKT-*` for a glob."""
    found = []
    for call in listed(calls):
        name, arguments = read_call(call)
        for key, value in (arguments or {}).items():
            check_matchers(value, f"{name}: {key}")
        if arguments and "functionName" in call:
            arguments = {key: with_globs(value) for key, value in arguments.items()}
        found.append((name, arguments))
    return found


def check_matchers(value: Any, where: str) -> None:
    """Refuse, with its place, a matcher that this grader does not know."""
    if isinstance(value, list):
        for index, member in enumerate(value):
            check_matchers(member, f"{where}[{index}]")
    elif is_matcher(value):
        kind = next((key for key in value if key in MATCHERS), "")
        unknown = [key for key in value if key != kind and key not in MATCHERS.get(kind, ())]
        if unknown:
            raise ValueError(f"{where}: {unknown[0]} is not known to this grader; it knows {' '.join(sorted(MATCHERS))}")
        if kind in ("$optional", "$not", "$one_of", "$set"):
            check_matchers(value[kind], where)
    elif isinstance(value, dict):
        for key, member in value.items():
            check_matchers(member, f"{where}.{key}")


def with_globs(value: Any) -> Any:
    """Every string without white space that contains `*` as the glob that it is, in any case; a matcher stays as it is."""
    if isinstance(value, str):
        return {"$glob": value, "$case": False} if "*" in value and value.split() == [value] else value
    if isinstance(value, list):
        return [with_globs(member) for member in value]
    return {key: with_globs(member) for key, member in value.items()} if isinstance(value, dict) and not is_matcher(value) else value


# ---- strict JSON: no NaN, no trailing text, no number outside double range, no lone surrogate, no nesting beyond 200 ----


def strict_json(text: str) -> Any:
    """The value of a strict JSON text; ValueError for everything else. Of a repeated key the last counts."""
    try:
        value = json.loads(text, parse_int=whole_number, object_pairs_hook=json_object)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    refuse_what_is_not_json(value)
    return value


def whole_number(text: str) -> float:
    return int(text) if len(text) <= 310 else float("inf")


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        refuse_what_is_not_json([value for key, value in pairs if found[key] is not value])  # what the last one hides
    return found


def refuse_what_is_not_json(value: Any) -> None:
    """Level by level, since what a model makes may be nested more deeply than Python can recurse."""
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, (dict, list)):
                if depth == DEEPEST:
                    raise ValueError("nested too deeply")
                below.extend(item)
                if isinstance(item, dict):
                    below.extend(item.values())
            elif isinstance(item, str):
                if not item.isascii() and re.search("[\ud800-\udfff]", item):
                    raise ValueError("a lone surrogate")
            elif isinstance(item, (int, float)) and not -sys.float_info.max <= item <= sys.float_info.max:
                raise ValueError("a number outside double range")
        level, depth = below, depth + 1


# ---- schemas: a default, or null where it is not meant, equals leaving the argument out ----


def read_tools(tools: Any) -> dict[str, dict[str, Any]]:
    """The schema of each tool by its name. What cannot be read is left out."""
    if isinstance(tools, str):
        try:
            tools = strict_json(tools)
        except ValueError:
            return {}
    if isinstance(tools, dict):
        tools = tools.get("tools")
    schemas: dict[str, dict[str, Any]] = {}
    for tool in tools if isinstance(tools, list) else []:
        function = tool.get("function") if isinstance(tool, dict) else None
        body = function if isinstance(function, dict) else tool if isinstance(tool, dict) else {}
        schema: Any = next((body[key] for key in ("parameters", "input_schema", "inputSchema") if body.get(key) is not None), {})
        if isinstance(schema, list):  # [{"name": "path", "type": "str", "required": true}]
            named = [one for one in schema if isinstance(one, dict) and isinstance(one.get("name"), str)]
            needed = [one["name"] for one in named if one.get("required") is True]
            schema = {"properties": {one["name"]: one for one in named}, "required": needed}
        name = body.get("name")
        if isinstance(name, str) and name and isinstance(schema, dict):
            schemas[name] = schema
    return schemas


def schema_of(name: str, schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The schema of that tool, in any case of its name if there is none in this one."""
    if name in schemas:
        return schemas[name]
    return next((schema for other, schema in schemas.items() if other.casefold() == name.casefold()), {})


def left_in(arguments: dict[str, Any], schema: dict[str, Any], *, matchers: bool = False) -> dict[str, Any]:
    """The arguments less those that equal being left out. With `matchers` they are expected ones: $literal stands for its value."""
    known, needed = schema.get("properties"), schema.get("required")
    if not isinstance(known, dict) or not known:
        return arguments
    needed = needed if isinstance(needed, list) else []
    return {
        key: value
        for key, value in arguments.items()
        if key not in known or not as_if_left_out(literal(value) if matchers else value, known[key], schema, needed=key in needed)
    }


def literal(value: Any) -> Any:
    return value["$literal"] if isinstance(value, dict) and "$literal" in value and is_matcher(value) else value


def as_if_left_out(value: Any, schema: Any, root: dict[str, Any], *, needed: bool) -> bool:
    if not isinstance(schema, dict):
        return False
    if any("default" in part and exact(part["default"], value) for part in variants(schema, root)):
        return True
    return value is None and not needed and not admits_null(schema, root)


def admits_null(schema: dict[str, Any], root: dict[str, Any]) -> bool:
    try:
        return null_fits(schema, root, frozenset())
    except RecursionError:
        return True


def null_fits(schema: Any, root: dict[str, Any], seen: frozenset[int]) -> bool:
    """Whether the types admit null, through anyOf, oneOf, allOf and $ref. A schema without any type takes everything."""
    if not isinstance(schema, dict) or id(schema) in seen:
        return schema is not False
    if schema.get("nullable") is True:
        return True
    values = schema.get("enum")
    if (isinstance(values, list) and None not in values) or schema.get("const") is not None:
        return False
    inside = seen | {id(schema)}
    if isinstance(schema.get("$ref"), str) and not null_fits(referred(schema["$ref"], root), root, inside):
        return False
    for key in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and parts:
            fitting = (null_fits(part, root, inside) for part in parts)
            if not (all(fitting) if key == "allOf" else any(fitting)):
                return False
    kinds = schema.get("type")
    return kinds is None or any(kind not in NOT_NULL for kind in (kinds if isinstance(kinds, list) else [kinds]))


def variants(schema: Any, root: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema itself and everything that anyOf, oneOf, allOf and $ref make of it, each once."""
    parts: dict[int, dict[str, Any]] = {}
    rest = [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict) and id(part) not in parts:
            parts[id(part)] = part
            for key in ("anyOf", "oneOf", "allOf"):
                rest.extend(part[key] if isinstance(part.get(key), list) else [])
            if isinstance(part.get("$ref"), str):
                rest.append(referred(part["$ref"], root))
    return list(parts.values())


def referred(reference: str, root: Any) -> Any:
    for step in reference[1:].strip("/").split("/"):
        if step:
            root = root.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root if reference.startswith("#") else None


# ---- when two values are the same ----


def same_arguments(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    """Whether every argument is the same, with matchers read on the expected side."""
    try:
        return same_objects(expected, actual, True)
    except RecursionError:
        return False


def exact(expected: Any, actual: Any) -> bool:
    """Whether two values are the same, both taken as they are."""
    try:
        return same(expected, actual, False)
    except RecursionError:
        return False


def same(expected: Any, actual: Any, matchers: bool) -> bool:
    if isinstance(expected, str):
        return normal(expected) == normal(actual) if isinstance(actual, str) else same_as_text(actual, expected, False)
    if matchers and is_matcher(expected):
        return matches(expected, actual)
    if isinstance(actual, str):
        return same_as_text(expected, actual, matchers)
    if expected is None or actual is None or isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict) and isinstance(actual, dict):
        return same_objects(expected, actual, matchers)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(same(member, actual[index], matchers) for index, member in enumerate(expected))
    return bool(expected == actual)


def same_objects(expected: dict[str, Any], actual: dict[str, Any], matchers: bool) -> bool:
    if not actual.keys() <= expected.keys():
        return False
    for key, value in expected.items():
        if key in actual:
            if not same(value, actual[key], matchers):
                return False
        elif not (matchers and is_matcher(value) and "$optional" in value):
            return False
    return True


def same_as_text(value: Any, text: str, matchers: bool) -> bool:
    """A value that is no string against a string: the same when the string's JSON is, and is no string. `"5"` is 5, `"05"` is not."""
    try:
        read = strict_json(text)
    except ValueError:
        return False
    return not isinstance(read, str) and same(value, read, matchers)


def normal(text: str) -> str:
    return unicode_form("NFC", text).strip()


def unicode_form(form: Any, text: str) -> str:
    run = longest = 0
    for character in text if len(text) > LONGEST_MARKS and not text.isascii() else "":
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    return text if longest > LONGEST_MARKS else unicodedata.normalize(form, text)


# ---- matchers: what ground truth may say instead of a value ----


def is_matcher(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(key, str) and key.startswith("$") for key in value)


def matches(matcher: dict[str, Any], actual: Any) -> bool:
    """Whether a matcher matches a value; one whose value is of no use (`{"$glob": 5}`) matches nothing."""
    kind = next((key for key in matcher if key in MATCHERS), "")
    wanted = matcher.get(kind)
    if kind == "$literal":
        return same(wanted, actual, False)
    if kind == "$any":
        return True
    if kind == "$optional":
        return same(wanted, actual, True)
    if kind == "$not":
        return not same(wanted, actual, True)
    if kind == "$one_of":
        return isinstance(wanted, list) and any(same(one, actual, True) for one in wanted)
    if kind == "$set":
        return fits_set(wanted, actual)
    if kind == "$approx":
        return fits_number(wanted, matcher, actual)
    if not isinstance(wanted, str) or not isinstance(actual, str):
        return False
    if kind == "$glob":
        any_case = matcher.get("$case", True) is False
        return fits_glob(wanted.casefold(), actual.casefold()) if any_case else fits_glob(wanted, actual)
    if kind == "$date":
        return fits_date(wanted, actual)
    if kind == "$text":
        return fits_text(wanted, matcher.get("$ratio"), actual)
    return kind == "$contains" and wanted.casefold() in actual.casefold()


def fits_set(wanted: Any, actual: Any) -> bool:
    """The same members in any order, one to one."""
    if not isinstance(wanted, list) or not isinstance(actual, list) or len(wanted) != len(actual) or len(wanted) > MOST_MEMBERS:
        return False
    return most_matched([[index for index, value in enumerate(actual) if same(one, value, True)] for one in wanted]) == len(wanted)


def fits_number(wanted: Any, matcher: dict[str, Any], actual: Any) -> bool:
    """Within the tolerance, reckoned with the numbers as they are written, so that the limit itself is in."""
    if isinstance(actual, str):
        try:
            actual = strict_json(actual)
        except ValueError:
            return False
    numbers = (actual, wanted, matcher.get("$abs", matcher.get("$rel")))
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        return False
    value, expected, tolerance = (Fraction(repr(number)) for number in numbers)
    return abs(value - expected) <= (tolerance if "$abs" in matcher else tolerance * abs(expected))


def fits_glob(pattern: str, text: str) -> bool:
    """`*` is any run, `?` one character. Goes back to the last `*` only, so that no pattern can hang."""
    at = here = back = 0
    star = -1
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, back = at, here
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            back += 1
            at, here = star + 1, back
        else:
            return False
    return not pattern[at:].strip("*")


def fits_text(wanted: str, ratio: Any, actual: str) -> bool:
    """Words that are similar enough."""
    if not isinstance(ratio, (int, float)):
        return False
    ours, theirs = " ".join(words(wanted)), " ".join(words(actual))
    if ours == theirs:
        return True
    if max(len(ours), len(theirs)) > LONGEST_TEXT:
        return False
    compared = SequenceMatcher(None, ours, theirs, autojunk=False)
    return compared.real_quick_ratio() >= ratio and compared.quick_ratio() >= ratio and compared.ratio() >= ratio


def words(text: str) -> list[str]:
    """Case-folded, without the quotes and brackets at the edges of words and the punctuation at their end."""
    found = []
    for word in unicode_form("NFKC", text).casefold().split():
        start, end = 0, len(word)
        while start < end and is_quote(word[start]):
            start += 1
        while start < end and (word[end - 1] in ".,;:!?。，、" or is_quote(word[end - 1])):
            end -= 1
        found.append(word[start:end])
    return [word for word in found if word]


def is_quote(character: str) -> bool:
    return character in "\"'`" or unicodedata.category(character) in ("Ps", "Pe", "Pi", "Pf")


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
DAY, YEAR = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?", r",?\s+(?P<year>[0-9]{4})"
TIME = (
    r"[t ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"\s?(?:z|(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-9]{2}))?)?"
)
DATES = [
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"(?P<year>[0-9]{{4}})-(?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}})(?:{TIME})?",
        rf"{DAY}\s+(?:of\s+)?{MONTH}{YEAR}",
        rf"{MONTH}\s+{DAY}{YEAR}",
    )
]


def fits_date(wanted: str, actual: str) -> bool:
    """The same instant; where a day is wanted, that day as it is written."""
    expected, given = written_date(wanted), written_date(actual)
    if expected is None or given is None:
        return False
    return expected[0] == given[0] if expected[1] is None else expected[1] == given[1]


def written_date(text: str) -> tuple[date, int | None] | None:
    """The day that the whole text writes, and the instant in microseconds where a time is given (UTC unless it says otherwise)."""
    text = text.strip()
    found = next((match for match in (pattern.fullmatch(text) for pattern in DATES) if match), None)
    if found is None or not 8 <= len(text) <= 40:
        return None
    part = found.groupdict()
    month = part["month"].lower()[:3]
    try:
        day = date(int(part["year"]), MONTHS.index(month) + 1 if month in MONTHS else int(month), int(part["day"]))
    except ValueError:  # the 31st of February
        return None
    if part.get("hour") is None:
        return day, None
    hour, minute, second = (int(part[unit] or 0) for unit in ("hour", "minute", "second"))
    zone = (int(part["hours"] or 0) * 60 + int(part["minutes"] or 0)) * (-1 if part["sign"] == "-" else 1)
    if hour > 23 or minute > 59 or second > 59 or abs(zone) >= 24 * 60:
        return None
    seconds = ((day.toordinal() * 24 + hour) * 60 + minute - zone) * 60 + second
    return day, seconds * 1_000_000 + int(((part["fraction"] or "") + "000000")[:6])
