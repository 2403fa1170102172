"""Rows of `blowups.py`: matchers, texts, schemas and lists of calls."""

import json
import random
from typing import Any

from blowups import Run, attempt_to_grade, blowup

from callmark.calls.expected import read_expected_call
from callmark.calls.schema import Schemas, types_fit
from callmark.calls.text import parse_calls
from callmark.calls.values import exact, similar
from callmark.grading.standalone import source
from callmark.types import Call, Tool


def grade_argument(expected: Any, actual: Any) -> Run:
    """Return a function that grades one call with one argument."""
    return lambda: attempt_to_grade(expected=[{"name": "f", "arguments": {"a": expected}}], actual=[call(actual)])


def grade_exported(expected: Any, actual: Any) -> Run:
    """Return a function that does the same with the exported grader."""

    def run() -> str | None:
        try:
            source.grade({"output_tools": [call(actual)]}, {"expected_output": {"tool_calls": [call(expected)]}})
        except ValueError as error:
            return str(error)
        return None

    return run


def call(value: Any) -> dict[str, Any]:
    return {"name": "f", "arguments": {"a": value}}


def set_of_choices(n: int) -> tuple[Any, Any]:
    """Each of n members accepts any of n values: a file of 3 MB with n = 500."""
    return {"$set": [{"$one_of": [f"v{index}" for index in range(n)]} for _ in range(n)]}, [f"v{index}" for index in range(n)]


def set_of_ranges(n: int) -> tuple[Any, Any]:
    """The last member fits only the first value, the one before it the first two, and so on."""
    return {"$set": [{"$approx": 0, "$abs": n - 1 - index} for index in range(n)]}, list(range(n))


def set_of_objects(n: int) -> tuple[Any, Any]:
    """The values in reverse order, with as many checks as a comparison may make."""
    return {"$set": [{"id": {"$any": True}, "n": index} for index in range(n)]}, [{"id": 1, "n": n - index} for index in range(n)]


@blowup("$set of $one_of", n=50)
def _set_of_choices(n: int) -> Run:
    return grade_argument(*set_of_choices(n))


@blowup("$set of $one_of, exported grader", n=50)
def _set_of_choices_exported(n: int) -> Run:
    return grade_exported(*set_of_choices(n))


@blowup("$set of ranges", n=500)
def _set_of_ranges(n: int) -> Run:
    return grade_argument(*set_of_ranges(n))


@blowup("$set of ranges, exported grader", n=500)
def _set_of_ranges_exported(n: int) -> Run:
    return grade_exported(*set_of_ranges(n))


@blowup("$set of objects", n=250)
def _set_of_objects(n: int) -> Run:
    return grade_argument(*set_of_objects(n))


@blowup("$set of objects, exported grader", n=250)
def _set_of_objects_exported(n: int) -> Run:
    return grade_exported(*set_of_objects(n))


@blowup("alternatives with a $set each", n=100)
def _alternatives(n: int) -> Run:
    expected, actual = set_of_ranges(100)
    return lambda: attempt_to_grade(expected=[call(expected)], actual=[call(actual)], alternatives=[[call(expected)]] * n)


@blowup("alternatives with a $set each, exported grader", n=100)
def _alternatives_exported(n: int) -> Run:
    expected, actual = set_of_ranges(100)

    def run() -> str | None:
        try:
            source.grade({"output_tools": [call(actual)]}, {"expected_output": {"tool_calls": [], "alternatives": [[call(expected)]] * n}})
        except ValueError as error:
            return str(error)
        return None

    return run


@blowup("$text in many calls", n=4)
def _texts(n: int) -> Run:
    expected = [{"name": "f", "arguments": {"a": {"$text": f"ab c{index} " * 300, "$ratio": 0.1}}} for index in range(n)]
    return lambda: attempt_to_grade(expected=expected, actual=[call(f"ba d{index} " * 300) for index in range(n)])


@blowup("$glob with ?", n=10_000)
def _glob(n: int) -> Run:
    return grade_argument({"$glob": "*" + "a?" * n + "b*"}, "a" * 4 * n)


@blowup("$regex with many states", n=2500)
def _regex(n: int) -> Run:
    pattern = "|".join(f"[ab]*a[ab]{{{500 + index}}}" for index in range(200))
    return grade_argument({"$regex": pattern}, "".join(random.Random(1).choices("ab", k=n)) + "c")


@blowup("matcher below a long key", n=20_000)
def _long_key(n: int) -> Run:
    value = {"x" * n: [{"b": 1}] * n}
    return lambda: None if read_expected_call(call(value)).arguments else "empty"


@blowup("combining marks, exact", n=100_000)
def _marks(n: int) -> Run:
    return lambda: None if exact("e" + "\u0301\u0323" * n, "e" + "\u0323" * n + "\u0301" * n) else "differ"


@blowup("combining marks, similar", n=100_000)
def _similar_marks(n: int) -> Run:
    return lambda: None if similar("E" + "\uff9e\u093c" * n, "e" + "\u093c" * n + "\uff9e" * n) else "differ"


@blowup("combining marks, exported grader", n=100_000)
def _exported_marks(n: int) -> Run:
    return grade_exported("e" + "\u0f73" * n, "e" + "\u0f71" * n + "\u0f72" * n)


@blowup("calls of one name", n=1000)
def _one_name(n: int) -> Run:
    expected = [{"name": "f", "arguments": {"a": index, "b": "x"}} for index in range(n)]
    return lambda: attempt_to_grade(expected=expected, actual=[{"name": "f", "arguments": {"a": n - index}} for index in range(n)])


@blowup("calls of different names", n=5000)
def _many_names(n: int) -> Run:
    tools = [{"name": f"f{index}", "parameters": {"properties": {"a": {"type": "string"}}}} for index in range(n)]
    expected = [{"name": f"f{index}", "arguments": {"a": index}} for index in range(n)]
    return lambda: attempt_to_grade(expected=expected, actual=[{"name": f"F{n - index}"} for index in range(n)], tools=tools)


@blowup("malformed calls", n=5000)
def _malformed(n: int) -> Run:
    actual = [{"name": f"g{index}", "arguments": "{"} for index in range(n)]
    return lambda: attempt_to_grade(expected=[{"name": "f", "arguments": {"a": index}} for index in range(n)], actual=actual)


@blowup("long texts in calls of one name", n=250)
def _long_texts(n: int) -> Run:
    expected, actual = ([call(f"{letter}{index} é " * 500) for index in range(n)] for letter in "ab")
    return lambda: attempt_to_grade(expected=expected, actual=actual)


def referring(n: int) -> dict[str, Any]:
    """A schema of n parts, each of which refers to the next one twice."""
    parts: dict[str, Any] = {f"a{index}": {"anyOf": [{"$ref": f"#/$defs/a{index + 1}"}] * 2} for index in range(n)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": {**parts, f"a{n}": {"type": "string"}}}


@blowup("schema that refers to itself, types", n=50)
def _references(n: int) -> Run:
    return lambda: None if not types_fit({"a": 5}, referring(n), referring(n)) else "fits"


@blowup("schema that refers to itself, validation", n=10)
def _validation(n: int) -> Run:
    return violations(referring(n), 5)


@blowup("recursive schema, deep value", n=40)
def _deep(n: int) -> Run:
    part = {"type": "object", "anyOf": [{"properties": {"a": {"$ref": "#/$defs/t"}}}] * 2}
    value: Any = 5
    for _ in range(n):
        value = {"a": value}
    return violations({"properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": part}}, value)


@blowup("schema with a long enum", n=4000)
def _enum(n: int) -> Run:
    schema = {"properties": {"a": {"items": {"enum": [f"v{index}" for index in range(n)]}}}}
    return violations(schema, [f"w{index}" for index in range(n)])


@blowup("schema with a pattern with many states", n=5000)
def _pattern(n: int) -> Run:
    pattern = "|".join(f"[ab]*a[ab]{{{500 + index}}}" for index in range(100))
    return violations({"properties": {"a": {"pattern": f"^({pattern})$"}}}, "".join(random.Random(1).choices("ab", k=n)) + "c")


def violations(schema: dict[str, Any], value: Any) -> Run:
    schemas = Schemas([Tool("f", "", schema)])

    def run() -> str | None:
        found = schemas.violations(Call("f", {"a": value}))
        return next((problem for _, problem in found if "too many steps" in problem), None)

    return run


HOSTILE_TEXTS = {
    "tags": lambda n: "<tool_call>" * n,
    "functions": lambda n: "<function=f>" * n,
    "parameters": lambda n: "<function=f>" + "<parameter=a>" * n,
    "brackets": lambda n: "[TOOL_CALLS]" + "[" * n,
    "markers": lambda n: "[TOOL_CALLS]" * n,
    "objects": lambda n: '{"name": "f", "arguments": {"a": ' * n,
    "quotes": lambda n: '{"name": "' + '\\"' * n,
    "fences": lambda n: '```json\n{"name"' * n,
    "code": lambda n: "f(a=" * n,
    "code with strings": lambda n: "f(a='" * n,
    "thinking": lambda n: "<think>" * n + "</think>",
    "python tags": lambda n: '<|python_tag|>{"name"' * n,
    "ends": lambda n: "x" + "<|im_end|> " * n,
    "calls": lambda n: '{"name": "f", "arguments": {"a": 1}}\n' * n,
}


@blowup("text with calls, 14 hostile ones", n=4000)
def _texts_with_calls(n: int) -> Run:
    texts = [build(n) for build in HOSTILE_TEXTS.values()]

    def run() -> str | None:
        for text in texts:
            for text_format in ("auto", "hermes", "llama3", "mistral", "pythonic", "json"):
                parse_calls(text, text_format, tools=[Tool("f")])
        return None

    return run


@blowup("arguments in many spellings", n=20_000)
def _arguments(n: int) -> Run:
    value = json.dumps([{"x": "y"}] * n)
    return grade_argument([{"x": "y"}] * n, value)
