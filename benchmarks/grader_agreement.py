"""Does the exported grader agree with the evaluator `call`? Grades random items with both and compares every score.

The exported file runs in a bare interpreter (`python -I -S`), the evaluator in this one. Items are generated from a seed: one and several
calls, repeated calls, every shape, every matcher but `$regex`, other spellings of a value and near misses, malformed calls, schemas with
types at every depth, defaults and nulls, alternatives, invalid tool lists. Then the exported grader is timed on hostile items. Exits with
status 1 on any difference, or if one of those takes more than 2 seconds.

    python benchmarks/grader_agreement.py [--items 50000] [--seed 1] [--python PYTHON]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from callmark.calls.dates import parse_date
from callmark.calls.expected import read_expected_calls
from callmark.calls.shapes import read_calls
from callmark.calls.strict import NotStrict, parse
from callmark.calls.toolsets import read_tool, read_tools
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.standalone import export_source
from callmark.grading.standalone.source import grade as standalone_grade
from callmark.types import Tool

MOST_SECONDS = 2  # that the exported grader may take for an item

# fmt: off
NAMES = ["find_user", "get_order", "Get_Order", "réserver", "cancel"]
KEYS = ["id", "city", "count", "note", "when", "tags", "filter", "名前", "$odd"]
TEXTS = [
    "Paris", "paris ", "Café", "TKT-001", "TKT-*", "a*", "*", "W#0001?", "Server down!", "server  down", "“Server” down", "", " ", "C#",
    "01234", "1234", "5", "5.0", "05", "1e2", "true", "null", "None", "[1, 2]", '{"a": 1}', '"5"', "NaN", "北京", "straße", "STRASSE",
    "Please send the parcel to the back door.", "please send a parcel to the back door",
    "ﬁle", "e\u0301te\u0301", "\u200bx", "x\u00a0", "😀",
]
DATES = [
    "2025-05-10", "10 May 2025", "May 10, 2025", "10th of may, 2025", "Sept. 9 2025", "9 September 2025", "2025-09-09", "31 Feb 2025",
    "2025-05-10T10:00", "2025-05-10 10:00:00Z", "2025-05-10T12:00:00+02:00", "2025-05-10T10:00:00.000 z", "2025-05-10t05:00-0500",
    "2025-05-10T10:00:00,1234567", "2025-05-10T10:00:00.123456", "2025-05-10T24:00", "2025-05-10T10:00+24:00", "2025-05-10T23:30-05",
]
NUMBERS = [
    0, 1, -1, 5, 5.0, 1.5, 12.5, 12.51, 12.49, 1e2, 100, -0.0, 0.1, 0.30000000000000004, 2**53, 2**53 + 1, 2.0**53, 10**20, 1e20, 1e308,
]
MALFORMED: list[Any] = [
    "{", '{"a": 1', '{"a": 1} x', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '{"a": ' + "9" * 309 + "}", "5", "null",
    '"text"', "[1]",
    '{"a": "\\ud800"}', '{"\\udc00": 1}', '{"a": ' + "1" * 5000 + "}", "{'a': 1}", '{"a": 1,}', '{"a": 1e400, "a": 1}', '{"a": "\t"}',
    '{"a": 01}', '{"a": "\ud800", "a": 1}', '{"a": "\\udfff", "a": 1}', "\ufeff{}", '{"a":' + "[" * 200 + "]" * 200 + "}", "[" * 5000,
    5, True, [], ["a"], float("nan"), {"a": float("inf")}, {"a": 10**309}, {"a": "\ud800"}, {"\ud800": 1},
]
UNUSUAL: list[Any] = [
    None, "", " \n\u00a0", "{}", {}, '{"a": 1, "a": 2}', '{"a":' + "[" * 199 + "]" * 199 + "}", '{"a": ' + "1" * 308 + "}", '{"a": 1e-400}',
    '{"a": "\\ud83d\\ude00"}', {"a": 2}, {"a": 0}, {"a": "😀"}, {"a": int("1" * 308)}, {"$any": True}, '{"$any": true}',
]
NO_CALLS: list[Any] = [
    5, "find_user", None, [], {}, {"name": ""}, {"name": " ", "arguments": {}}, {"function": {}}, {"function": "find_user"},
    {"name": {"a": 1}, "arguments": {}}, {"arguments": "{}"}, {"tool": None}, {"name": None, "functionName": "find_user"},
    {"name": "find_user", "city": "Paris"}, {"name": "find_user", "_city": "Paris", "id": 1}, {"name": "find_user", "tool": "get_order"},
    {"name": "find_user", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}, {"tool": "find_user", "x": 1},
    {"name": "find_user", "parameters": [{"name": "id", "type": "str"}]}, {"action": "find_user", "id": None}, {"function": "find_user"},
]
TOOL_LISTS: list[Any] = [
    None, [], {}, 5, "", "[", [None], [{"name": 5}], {"tools": []}, {"tools": 5}, [{"name": "find_user", "parameters": 5}],
]
DEFINITIONS = {
    "nothing": {"type": "null"}, "word": {"type": "string"}, "a/b": {"type": "string", "default": "Paris"}, "self": {"$ref": "#"},
}
# fmt: on


def items(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield `{"sample", "item"}` as decoded from JSON; the same for the same seed."""
    random = Random(seed)
    for _ in range(count):
        row = _row(random)
        yield json.loads(json.dumps(row))


def evaluator_score(sample: dict[str, Any], item: dict[str, Any]) -> float:
    """Return `call.score` of the evaluator; with alternatives, the best."""
    item = item.get("item", item)
    output = item["expected_output"]
    actual = read_calls(sample.get("output_tools"))
    accepted = [output.get("tool_calls"), *output.get("alternatives", ())]
    return max(CallEvaluator.score(Attempt(read_expected_calls(calls), actual, tools=_tools(item.get("tools")))) for calls in accepted)


def exported_scores(rows: Sequence[dict[str, Any]], *, python: str = sys.executable) -> list[float]:
    """Return the scores of the exported file, in an interpreter with only the standard library."""
    code = (
        "import json, runpy, sys\n"
        "grade = runpy.run_path(sys.argv[1])['grade']\n"
        "print(json.dumps([grade(**json.loads(line)) for line in open(sys.argv[2])]))"
    )
    with tempfile.TemporaryDirectory() as folder:
        grader, lines = Path(folder, "grader.py"), Path(folder, "items.jsonl")
        grader.write_text(export_source(), encoding="utf-8")
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
        done = subprocess.run([python, "-I", "-S", "-c", code, grader, lines], check=True, capture_output=True, text=True)
    scores: list[float] = json.loads(done.stdout)
    return scores


def hostile_items() -> dict[str, dict[str, Any]]:
    """Return the largest items that are compared, and items that need too much work, by name."""
    many = range(1000)
    texts = [{"a": f"x{n}-abc"} for n in reversed(many)]
    numbers = [{"a": n + 0.5} for n in reversed(many)]
    large = {"anyOf": [{"allOf": [{"type": "integer"}]} for _ in range(20_000)]}
    defaults = {"anyOf": [{"default": 1e9 + n / 7} for n in range(5000)]}
    return {
        "1,000 globs": _hostile([{"a": {"$glob": f"x{n}-*"}} for n in many], texts),
        "1,000 globs with ?": _hostile([{"a": {"$glob": f"*?{n}-a?c"}} for n in many], texts),
        "1,000 nested globs": _hostile([{"a": {"$optional": {"$glob": f"x{n}-*"}}} for n in many], texts),
        "1,000 tolerances": _hostile([{"a": {"$approx": n, "$abs": 1e6}} for n in many], numbers),
        "1,000 dates": _hostile(
            [{"a": {"$date": f"2025-05-{n % 28 + 1:02}"}} for n in many], [{"a": f"2025-05-10T10:00:00.{n:06}"} for n in many]
        ),
        "1,000 similar texts": _hostile(
            [{"a": {"$text": f"some words here {n} and more", "$ratio": 0.9}} for n in many],
            [{"a": f"some words here {n} and"} for n in many],
        ),
        "a set of 1,000 globs": _hostile([{"a": {"$set": [{"$glob": f"x{n}-*"} for n in many]}}], [{"a": [row["a"] for row in texts]}]),
        "a set of sets": _hostile([{"a": {"$set": [{"$set": [{"$any": True}] * 2} for _ in many]}}], [{"a": [[1, {"b": 1}]] * 999 + [3]}]),
        "numbers without a key": _hostile([{"a": 1e9 + n + 0.5} for n in many], [{"a": 1e9 + n + 0.25} for n in many]),
        "a large schema": _hostile([{"a": {"b": n}} for n in many], [{"a": {"b": str(n)}} for n in many], {"properties": {"b": large}}),
        "many defaults": _hostile([{"a": 1e9 + n + 0.1} for n in many], [{"a": 1e9 + n + 0.2} for n in many], defaults),
        "5,000 calls": _hostile([{"a": n} for n in range(5000)], [{"a": str(n)} for n in reversed(range(5000))]),
        "long lists": _hostile([{"a": [[n] * 50] * 4} for n in many], [{"a": [[str(n)] * 50] * 4} for n in reversed(many)]),
    }


def _hostile(expected: list[Any], actual: list[Any], schema: dict[str, Any] | None = None) -> dict[str, Any]:
    item: dict[str, Any] = {"expected_output": {"tool_calls": [{"name": "f", "arguments": arguments} for arguments in expected]}}
    if schema is not None:
        item["tools"] = [{"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}}]
    return {"sample": {"output_tools": [{"name": "f", "arguments": arguments} for arguments in actual]}, "item": item}


def slowest_item() -> tuple[float, str]:
    """Return the most seconds of processor time that the exported grader takes for a hostile item, and its name."""
    found = []
    for name, row in hostile_items().items():
        start = time.process_time()
        with suppress(ValueError):  # too much work
            standalone_grade(**row)
        found.append((time.process_time() - start, name))
    return max(found)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    rows = list(items(options.items, options.seed))
    evaluator = [evaluator_score(**row) for row in rows]
    exported = exported_scores(rows, python=options.python)
    differing = [index for index, score in enumerate(evaluator) if score != exported[index]]
    for index in differing[:10]:
        print(f"evaluator {evaluator[index]}, exported {exported[index]}: {json.dumps(rows[index])[:2000]}")
    spread = Counter(score if score in (0.0, 0.5, 1.0) else "between" for score in evaluator)
    print(f"scores {', '.join(f'{key}: {spread[key]:,}' for key in sorted(spread, key=str))}")
    print(f"{len(rows) - len(differing):,} of {len(rows):,} items agree")
    seconds, name = slowest_item()
    print(f"slowest hostile item: {name}, {seconds:.2f} s (at most {MOST_SECONDS} s)")
    return 1 if differing or seconds > MOST_SECONDS else 0


def _tools(value: Any) -> tuple[Tool, ...]:
    """Return the valid tools of a list; a grader in a service has nowhere to report invalid ones."""
    try:
        return read_tools(value)
    except BadInput:
        pass
    try:
        value = parse(value) if isinstance(value, str) else value
    except NotStrict:
        return ()
    value = value.get("tools") if isinstance(value, dict) else value
    found = []
    for tool in value if isinstance(value, list) else []:
        try:
            found.append(read_tool(tool))
        except BadInput:
            continue
    return tuple(found)


def _row(random: Random) -> dict[str, Any]:
    truth = [_plain_call(random) for _ in range(random.choice([0, 1, 1, 1, 1, 2, 2, 3, 5]))]
    if len(truth) > 1 and random.random() < 0.6:  # repeats of one name
        truth = [(truth[0][0], arguments if random.random() < 0.7 else truth[0][1]) for _, arguments in truth]
    output: dict[str, Any] = {"role": "assistant", "tool_calls": [_expected_call(random, *one) for one in truth]}
    if random.random() < 0.15:
        wrong = [[_expected_call(random, *_plain_call(random))] for _ in range(random.randrange(3))]
        output["alternatives"] = [*wrong, [_expected_call(random, *one) for one in truth], []][: random.randint(0, 4)]
    if not truth and random.random() < 0.3:
        output["tool_calls"] = None
    made = [_made_call(random, *one) for one in truth if random.random() < 0.93]
    made += [_made_call(random, *_plain_call(random)) for _ in range(2) if random.random() < 0.07]
    random.shuffle(made)
    item: dict[str, Any] = {"expected_output": output}
    if random.random() < 0.6:
        item["tools"] = random.choice(TOOL_LISTS) if random.random() < 0.1 else _tool_list(random, truth)
    sample = {"output_tools": made if made or random.random() < 0.7 else None}
    if made and random.random() < 0.02:
        sample = {"output_tools": made[0]}
    return {"sample": sample if made or random.random() < 0.8 else {}, "item": {"item": item} if random.random() < 0.2 else item}


def _plain_call(random: Random) -> tuple[str, dict[str, Any]]:
    keys = random.sample(KEYS, random.choice([0, 1, 1, 2, 3, 4]))
    return random.choice(NAMES[:2] if random.random() < 0.7 else NAMES), {key: _value(random) for key in keys}


def _value(random: Random, depth: int = 0) -> Any:
    kind = random.random()
    if kind < 0.35:
        return random.choice(TEXTS)
    if kind < 0.45:
        return random.choice(DATES)
    if kind < 0.65 or depth > 2:
        return random.choice(NUMBERS)
    if kind < 0.75:
        return random.choice([True, False, None])
    if kind < 0.87:
        return [_value(random, depth + 1) for _ in range(random.randrange(4))]
    return {key: _value(random, depth + 1) for key in random.sample(KEYS[:-1], random.randrange(3))}


def _expected_call(random: Random, name: str, arguments: dict[str, Any]) -> Any:
    if random.random() < 0.03:
        return random.choice(NO_CALLS)
    if random.random() < 0.03:
        return _shaped(random, name, random.choice(MALFORMED + UNUSUAL))
    return _shaped(random, name, {key: _wanted(random, value) for key, value in arguments.items()})


def _made_call(random: Random, name: str, arguments: dict[str, Any]) -> Any:
    chance = random.random()
    if chance < 0.03:
        return random.choice(NO_CALLS)
    if chance < 0.08:
        return _shaped(random, name, random.choice(MALFORMED + UNUSUAL))
    if chance < 0.11:
        return _shaped(random, random.choice([*NAMES, name.upper(), name + " "]), arguments)
    given = {key: _respelled(random, value) if random.random() < 0.9 else _value(random) for key, value in arguments.items()}
    if given and random.random() < 0.07:
        given.pop(random.choice(list(given)))
    if random.random() < 0.07:
        given[random.choice(KEYS)] = _value(random)
    if random.random() < 0.02:
        given[random.choice(KEYS)] = {"$any": True}
    return _shaped(random, name, given)


def _shaped(random: Random, name: str, arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, dict) and random.random() < 0.6:
        arguments = json.dumps(arguments, ensure_ascii=random.random() < 0.5)
    body = {"name": name, "arguments": arguments}
    if arguments is None and random.random() < 0.5:
        body = {"name": name}
    shape = random.randrange(12)
    if shape < 3:
        return {"id": random.choice(["c1", "é", 7, None]), "type": "function", "function": body}
    return [
        {"tool": body},
        body,
        {"functionName": name, "arguments": arguments},
        {"type": "tool_use", "id": "t1", "name": name, "input": arguments},
        {"name": name, "kwargs": arguments},
        {"name": name, random.choice(("args", "parameters", "params", "tool_input", "action_input")): arguments},
        {random.choice(("function", "tool", "action", "tool_name", "toolName", "function_name")): name, "args": arguments},
        {"name": name, "arguments": arguments, "args": random.choice([arguments, None, {}, {"id": "5"}, "{"])},
        {"function": body, random.choice(("name", "functionName", "tool_name")): random.choice([name, None, NAMES[0]])},
    ][shape - 3]


def _respelled(random: Random, value: Any) -> Any:
    """Return the value in another spelling, usually an equivalent one."""
    chance = random.random()
    if chance < 0.5:
        return value
    if isinstance(value, str):
        ways = [
            f" {value}\n",
            unicodedata.normalize("NFD", value),
            unicodedata.normalize("NFC", value),
            value.upper(),
            value + "!",
            f"“{value}”",
        ]
        try:
            return json.loads(value) if chance < 0.6 else random.choice(ways)
        except ValueError:
            return random.choice(ways)
    if chance < 0.7 or value is None or isinstance(value, bool):
        return json.dumps(value, indent=random.choice([None, 1]), ensure_ascii=chance < 0.6)
    if isinstance(value, list):
        return [_respelled(random, member) for member in (value[::-1] if chance < 0.8 else value)]
    if isinstance(value, dict):
        return {key: _respelled(random, value[key]) for key in reversed(value)}
    near = [value * (1 + way * 1e-9) for way in (-1.5, -0.9, 0.5, 0.999, 1.001, 2)]
    return random.choice([float(value), int(value), value + 0.01, value * 1.01, str(value), f"{value:e}", *near])


def _wanted(random: Random, value: Any, depth: int = 0) -> Any:
    """Return the value, or a matcher that it may match, at any depth."""
    if random.random() < 0.55 or depth > 3:
        if isinstance(value, list):
            return [_wanted(random, member, depth + 1) for member in value]
        if isinstance(value, dict):
            return {key: _wanted(random, member, depth + 1) for key, member in value.items()}
        return value
    within = _wanted(random, value, depth + 1)
    text = value if isinstance(value, str) else random.choice(TEXTS + DATES)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else random.choice(NUMBERS)
    ways: list[Any] = [
        {"$literal": random.choice([value, {"$any": True}])},
        {"$any": True},
        {"$optional": within},
        {"$one_of": [_value(random), within, _value(random)]},
        {"$one_of": [[within], {"a": within}, within]},
        {"$not": random.choice([within, _value(random)])},
        {"$set": [_wanted(random, member, depth + 1) for member in value[::-1]] if isinstance(value, list) else [within]},
    ]
    if isinstance(value, str):
        ways += [
            {
                "$glob": random.choice(
                    [text[:2] + "*", "*" + text[-2:], "?" * len(text), text.replace("a", "?"), "*" + text[1:2] + "*?", "**"]
                )
            },
            {"$glob": text[:1].swapcase() + "*" + text[-1:], "$case": random.choice([True, False])},
            {"$text": random.choice([text, text.upper(), f"“{text}”"]), "$ratio": random.choice([0, 0.5, 0.8, 0.9, 1])},
            {"$contains": text[1:4].upper()},
            {"$date": text if parse_date(text) else random.choice(DATES[:7])},
        ]
    else:
        ways += [
            {"$approx": number, "$abs": random.choice([0, 0.01, 1])},
            {"$approx": random.choice([number, 12.5, -100]), "$rel": random.choice([0, 0.01, 0.0008])},
        ]
    return random.choice(ways)


def _tool_list(random: Random, truth: list[tuple[str, dict[str, Any]]]) -> Any:
    tools: list[Any] = []
    for name in dict.fromkeys([name for name, _ in truth] + random.sample(NAMES, 2)):
        values = {key: value for one, arguments in truth if one == name for key, value in arguments.items()}
        values |= {key: _value(random) for key in random.sample(KEYS, 2)}
        properties = {key: _parameter(random, value) for key, value in values.items()}
        schema: Any = {"type": "object", "properties": properties, "required": random.sample(list(values), random.randrange(len(values)))}
        if random.random() < 0.8:
            schema["$defs"] = DEFINITIONS
        if random.random() < 0.1:
            schema["properties"] = random.choice([None, [], {}, {"id": True, "city": 5}])
        if random.random() < 0.1:
            schema["required"] = random.choice([None, "id", [5, "id"], True])
        if random.random() < 0.1:
            schema = [{"name": key, "type": "str", "required": random.random() < 0.5, **one} for key, one in properties.items()] + [5]
        name = name.upper() if random.random() < 0.05 else name
        body = {"name": name, "description": "", random.choice(["parameters", "input_schema", "inputSchema"]): schema}
        tools.append({"type": "function", "function": body} if random.random() < 0.6 else body)
    if random.random() < 0.1:
        tools.insert(0, random.choice([None, {"name": ""}, {"function": {"parameters": {}}}]))
    return random.choice([tools, tools, tools, tools, {"tools": tools}, json.dumps(tools)])


def _parameter(random: Random, value: Any) -> dict[str, Any]:
    one: dict[str, Any] = random.choice(
        [
            {},
            {"type": "string"},
            {"type": "string"},
            {"type": ["string", "null"]},
            {"type": "integer", "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"allOf": [{"type": "integer"}]}]},
            {"oneOf": [{"type": "string"}, {"enum": [1, None]}]},
            {"enum": ["a", "b"]},
            {"anyOf": [{"enum": ["a", "b"]}, {"type": "strange"}], "oneOf": []},
            {"allOf": [{"type": "null"}, {"type": ["integer", "null"]}], "type": []},
            {"const": 1},
            {"const": None},
            {"$ref": "#/$defs/nothing"},
            {"$ref": "#/$defs/word"},
            {"$ref": "#/$defs/a~1b"},
            {"$ref": "#/$defs/self"},
            {"$ref": "#/nowhere"},
            {"$ref": "http://example.com/#/x"},
            {"type": 5, "anyOf": 5},
            *(_typed(random, value) for _ in range(14)),
        ]
    )
    if random.random() < 0.4:
        one = {**one, "default": random.choice([value, value, None, _respelled(random, value), _value(random)])}
    return one


TYPE_WORDS = ["string", "integer", "number", "boolean", "array", "object", "null", "str", "int", "float", "bool", "list", "dict", "strange"]


def _typed(random: Random, value: Any, depth: int = 0) -> dict[str, Any]:
    """Return a schema with the type of the value or another one, at any depth, in one of the forms that schemas have."""
    word = _type_word(value) if random.random() < 0.7 else random.choice(TYPE_WORDS)
    schema: dict[str, Any] = {"type": word if random.random() < 0.8 else [word, random.choice(TYPE_WORDS)]}
    if isinstance(value, list) and depth < 3 and random.random() < 0.8:
        schema["items"] = _typed(random, random.choice(value) if value else "x", depth + 1)
    if isinstance(value, dict) and depth < 3 and random.random() < 0.8:
        schema["properties"] = {key: _typed(random, member, depth + 1) for key, member in value.items()}
    other = {"type": random.choice(TYPE_WORDS)}
    forms: list[dict[str, Any]] = [
        {**schema, "nullable": True},
        {"anyOf": [schema, other]},
        {"oneOf": [other, schema]},
        {"allOf": [schema, {}]},
        {"allOf": [schema, other]},
        {**schema, "$ref": random.choice(["#/$defs/word", "#/$defs/self", "#/nowhere"])},
    ]
    return schema if random.random() < 0.6 else random.choice(forms)


def _type_word(value: Any) -> str:
    for kind, word in ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return word
    return "null"


if __name__ == "__main__":
    sys.exit(main())
