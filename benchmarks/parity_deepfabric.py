"""Compare evaluator `schema` with the deepfabric package. Evaluates the same rows and predictions with both. For benchmarks/parity.py.

The package runs in its own environment, whose Python is given. The samples are generated from a seed and avoid the known differences. Each
known difference is checked with rows of its own and must be exactly as documented here.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

import callmark
from callmark.compat.deepfabric import EvaluationResult, Evaluator, EvaluatorConfig
from callmark.grading.evaluators.schema import DEFAULT_WEIGHTS

METRICS = ("tool_selection_accuracy", "parameter_accuracy", "execution_success_rate", "overall_score")
OTHER_WEIGHTS = {"tool_selection": 0.5, "parameter_accuracy": 0.3, "execution_success": 0.2, "response_quality": 0.0}
Numbers = tuple[float, ...]
Calls = list[tuple[str, Any]]
Row = dict[str, Any]  # {"sample": a conversation in the package's format, "message": the prediction}

Difference = tuple[str, list[Row], Numbers | None, Numbers]  # title, rows, the package's metrics (None: it crashes), callmark's

# fmt: off
TYPES = ("string", "integer", "number", "boolean", "array", "object")
VALUES: dict[str, list[Any]] = {
    "string": ["Paris", "a b", "5", "true", "né", "x" * 300], "integer": [0, 1, -7, 2**40], "number": [0.5, -2.25, 3, 1e9],
    "boolean": [True, False], "array": [[], ["a"], ["a", "b", "c"]], "object": [{}, {"key": "a"}, {"key": "b", "more": {"deep": [1]}}],
}
MISFITS: dict[str, list[Any]] = {
    "string": [5, 1.5, True, ["a"], {"key": "a"}, None], "integer": ["5", 1.5, True, [1], {}, None],
    "number": ["0.5", False, [], {"key": "a"}, None], "boolean": ["true", 1, 0, 1.0, [], None],
    "array": ["a", "[]", {"0": "a"}, 5, None], "object": ["{}", [], [{"key": "a"}], 5, None],
}
NAMES = ("get_weather", "book_flight", "search_files", "convert", "send", "list_orders", "cancel_order", "ping")
KEYS = ("city", "count", "price", "urgent", "tags", "filter", "note", "when")
ANSWERS = (
    "right", "right", "right", "other values", "optional left out", "unknown key", "wrong type", "wrong type", "required missing",
    "wrong tool", "wrong tool, misfit", "unlisted tool", "other case", "no call", "no call", "several calls",
    "broken JSON", "no tools, right", "no tools, other values", "no tools, missing", "no tools, wrong tool",
)
# fmt: on


def rows(count: int, seed: int) -> list[tuple[str, Row]]:
    """Return the kind of prediction and the row of each sample; the same for the same seed."""
    random = Random(seed)
    return [(answer, _row(random, answer)) for answer in (random.choice(ANSWERS) for _ in range(count))]


def _row(random: Random, answer: str) -> Row:
    tools = [_tool(random, name) for name in random.sample(NAMES, random.randint(2, 5))]
    wanted = random.choice(tools)
    if answer in ("required missing", "broken JSON", "wrong type"):
        _require(random, wanted)
    gold = _fitting(random, wanted)
    if answer in ("wrong tool", "unlisted tool", "other case", "no tools, other values", "no tools, missing") and not gold:
        _require(random, wanted)  # two empty lists of arguments are a known difference
        gold = _fitting(random, wanted)
    made = _answer(random, answer, tools, wanted, gold)
    listed = [] if answer.startswith("no tools") else tools
    return row(wanted["function"]["name"], gold, made, tools=listed)


def _answer(random: Random, answer: str, tools: Sequence[dict[str, Any]], wanted: dict[str, Any], gold: dict[str, Any]) -> Calls:
    name = wanted["function"]["name"]
    schema = wanted["function"]["parameters"]
    other = random.choice([tool for tool in tools if tool is not wanted])
    match answer:
        case "other values" | "optional left out":
            fitting = _fitting(random, wanted)
            return [(name, {key: fitting[key] for key in schema["required"]} if answer == "optional left out" else fitting)]
        case "unknown key":
            return [(name, {**gold, "unknown": random.choice([None, 1, "x", []])})]
        case "wrong type":
            return [(name, _misfit(random, wanted, gold))]
        case "required missing":
            gone = random.choice(schema["required"])
            return [(name, {key: value for key, value in gold.items() if key != gone})]
        case "wrong tool":
            return [(other["function"]["name"], _fitting(random, other))]
        case "wrong tool, misfit":
            _require(random, other)
            return [(other["function"]["name"], _misfit(random, other, _fitting(random, other)))]
        case "unlisted tool":
            return [("no_such_tool", {**gold, "unknown": 1})]
        case "other case":
            return [(name.upper(), {**gold, "unknown": 1})]
        case "no call":
            return []
        case "several calls":
            return [(name, gold), (other["function"]["name"], {}), ("no_such_tool", {})]
        case "broken JSON":
            return [(name, json.dumps(gold)[:-1])]
        case "no tools, other values":
            return [(name, {key: ["another"] for key in gold})]
        case "no tools, missing":
            return [(name, dict(list(gold.items())[1:]))]
        case "no tools, wrong tool":
            return [(other["function"]["name"], gold)]
    return [(name, dict(reversed(gold.items())))]


def _tool(random: Random, name: str) -> dict[str, Any]:
    properties = {key: _schema(random) for key in random.sample(KEYS, random.choice([0, 1, 2, 3, 4, 5]))}
    return tool(name, properties, [key for key in properties if random.random() < 0.5])


def _schema(random: Random) -> dict[str, Any]:
    kind = random.choice(TYPES)
    schema: dict[str, Any] = {"type": kind, "description": "…"}
    if kind == "array" and random.random() < 0.5:
        schema["items"] = {"type": "string"}
    if kind == "object" and random.random() < 0.5:
        schema["properties"] = {"key": {"type": "string"}}
    if random.random() < 0.1:
        schema["default"] = random.choice(VALUES[kind])
    return schema


def _require(random: Random, one: dict[str, Any]) -> None:
    """Give the tool a required parameter if it has none."""
    schema = one["function"]["parameters"]
    if not schema["required"]:
        schema["properties"].setdefault("must", {"type": random.choice(TYPES), "description": "…"})
        schema["required"].append("must")


def _fitting(random: Random, one: dict[str, Any]) -> dict[str, Any]:
    schema = one["function"]["parameters"]
    return {
        key: random.choice(VALUES[part["type"]])
        for key, part in schema["properties"].items()
        if key in schema["required"] or random.random() < 0.6
    }


def _misfit(random: Random, one: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    key = random.choice(list(arguments))
    return {**arguments, key: random.choice(MISFITS[one["function"]["parameters"]["properties"][key]["type"]])}


def tool(name: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": "…", "parameters": schema}}


def row(wanted: str | None, gold: dict[str, Any], made: Calls | str, *, tools: Sequence[dict[str, Any]] = ()) -> Row:
    """Return a row in the package's format. `wanted` None: no call is expected. `made` is a list of names and arguments, or an error."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please do it."}]
    sample: dict[str, Any] = {"messages": messages, "tools": list(tools)}
    if wanted is None:
        messages.append({"role": "assistant", "content": "Which one?"})
    else:
        text = json.dumps(gold)
        call = {"id": "call00001", "type": "function", "function": {"name": wanted, "arguments": text}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        sample["tool_context"] = {"executions": [{"function_name": wanted, "arguments": text, "reasoning": "…", "result": "…"}]}
    if isinstance(made, str):
        return {"sample": sample, "message": {"error": made}}
    calls = [
        {"id": "x", "type": "function", "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}}
        for name, given in made
    ]
    return {"sample": sample, "message": {"role": "assistant", "content": None if calls else "Which one?", "tool_calls": calls or None}}


F = tool("f", {"n": {"type": "integer"}, "note": {"type": "string"}})
G = tool("g", {"id": {"type": "string"}}, ["id"])
DEEP = tool("f", {"ids": {"type": "array", "items": {"type": "integer"}}})
EITHER = tool("f", {"id": {"anyOf": [{"type": "integer"}, {"type": "null"}]}})
ODD = tool("f", {"when": {"type": "date"}})
NULLS = tool("f", {"n": {"type": ["integer", "null"]}})
UNLISTED = tool("f", {}, ["id"])
ALL, NONE = (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 0.0)
NO_PARAMETERS, NO_SELECTION = (1.0, 0.0, 0.0, 0.40), (0.0, 1.0, 0.0, 0.35)

DIFFERENCES: list[Difference] = [
    ("a correct abstention fails", [row(None, {}, [], tools=[F])], NONE, ALL),
    (
        "only the first actual call is compared, not the one that fits the expected call",
        [row("f", {"n": 1}, [("g", {}), ("f", {"n": 1})], tools=[F, G])],
        NONE,
        ALL,
    ),
    (
        "an unknown tool with matching values has correct parameters",
        [row("f", {"n": 1}, [("unknown", {"n": 1})], tools=[F])],
        NO_SELECTION,
        NONE,
    ),
    ("the types of array items are not checked", [row("f", {"ids": [1]}, [("f", {"ids": ["1"]})], tools=[DEEP])], ALL, NO_PARAMETERS),
    ("1.0 is not accepted as an integer", [row("f", {"n": 1}, [("f", {"n": 1.0})], tools=[F])], NO_PARAMETERS, ALL),
    (
        "backend errors count as failures",
        [row("f", {"n": 1}, [("f", {"n": 1})], tools=[F]), row("f", {"n": 1}, "503 from the server", tools=[F])],
        (0.5, 0.5, 0.5, 0.5),
        ALL,
    ),
    ("without a schema, case is ignored", [row("f", {"note": "Paris"}, [("f", {"note": "PARIS"})])], ALL, NO_PARAMETERS),
    ("no arguments expected or given: required ones are ignored", [row("f", {}, [("g", {})], tools=[F, G])], NO_SELECTION, NONE),
    ("invalid JSON is read as no arguments", [row("f", {"n": 1}, [("f", '{"n": ')], tools=[F])], ALL, NO_PARAMETERS),
    ("arguments that are an array are an error", [row("f", {"n": 1}, [("f", "[1]")], tools=[F])], NONE, NO_PARAMETERS),
    ("a list of types crashes the whole evaluation", [row("f", {"n": 1}, [("f", {"n": 1})], tools=[NULLS])], None, ALL),
    ("a type in anyOf or $ref is read as string", [row("f", {"id": 1}, [("f", {"id": 1})], tools=[EITHER])], NO_PARAMETERS, ALL),
    ("an unknown type is read as string", [row("f", {"when": 5}, [("f", {"when": 5})], tools=[ODD])], NO_PARAMETERS, ALL),
    (
        "required, but not in properties: not checked",
        [row("f", {"n": 1}, [("f", {"n": 1})], tools=[UNLISTED])],
        ALL,
        NO_PARAMETERS,
    ),
    ("without a schema, numbers within 0.000001 are equal", [row("f", {"n": 1}, [("f", {"n": 1.0000005})])], ALL, NO_PARAMETERS),
    ("without a schema, true is 1", [row("f", {"n": 1}, [("f", {"n": True})])], ALL, NO_PARAMETERS),
    ('without a schema, "5" is not 5', [row("f", {"n": 5}, [("f", {"n": "5"})])], NO_PARAMETERS, ALL),
    ("an empty string in the ground truth is an error", [row("f", {"note": ""}, [("f", {"note": ""})], tools=[F])], NONE, ALL),
]


def ours(given: Sequence[Row], weights: dict[str, float] | None = None) -> EvaluationResult:
    """Return callmark's metrics, from a file as the package reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "samples.jsonl")
        path.write_text("".join(json.dumps(one["sample"]) + "\n" for one in given), encoding="utf-8")
        cases = list(callmark.expand(callmark.load(path), abstain=True))
        return Evaluator(EvaluatorConfig(metric_weights=weights)).evaluate(cases, predictions=[one["message"] for one in given])


def theirs(groups: dict[str, Any], python: str) -> dict[str, Any]:
    """Return the package's metrics for each group of rows."""
    script = Path(__file__).parent / "peers" / "deepfabric_metrics.py"
    with tempfile.TemporaryDirectory() as folder:
        request, result = Path(folder, "groups.json"), Path(folder, "numbers.json")
        request.write_text(json.dumps(groups), encoding="utf-8")
        command = [os.path.abspath(python), str(script), str(request), str(result)]
        done = subprocess.run(command, cwd=folder, env={**os.environ, "HOME": folder}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{script.name} failed:\n{done.stderr[-3000:]}")
        numbers: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return numbers


class Checked(NamedTuple):
    """The version of the package, how many numbers were compared and are equal, and what is not as documented."""

    version: str
    numbers: int
    equal: int
    unexplained: list[str]
    undocumented: list[str]


def compare_package(python: str, samples: int, seed: int) -> Checked:
    """Compare every sample with two sets of weights, and check the known differences."""
    made = rows(samples, seed)
    given = [one for _, one in made]
    groups = {"default": {"weights": None, "rows": given}, "weighted": {"weights": OTHER_WEIGHTS, "rows": given}}
    groups |= {title: {"weights": None, "rows": group} for title, group, _, _ in DIFFERENCES}
    peer = theirs(groups, python)
    equal, unexplained = 0, []
    for name, weights in (("default", DEFAULT_WEIGHTS), ("weighted", OTHER_WEIGHTS)):
        same, differing = _compare(made, ours(given, weights), peer["groups"][name], weights)
        equal += same
        unexplained += differing
    undocumented = [line for one in DIFFERENCES for line in _check(one, peer["groups"])]
    return Checked(peer["version"], 2 * len(given) * len(METRICS), equal, unexplained, undocumented)


def _compare(
    made: Sequence[tuple[str, Row]], result: EvaluationResult, peer: dict[str, Any], weights: dict[str, float]
) -> tuple[int, list[str]]:
    """Return how many numbers of samples are equal, and the samples and totals that differ."""
    mine = [_sample_numbers(one, weights) for one in result.predictions]
    equal, differing = 0, []
    for (kind, given), numbers, sample in zip(made, mine, peer["samples"], strict=True):
        them = tuple(sample[name] for name in METRICS)
        equal += sum(abs(one - other) < 1e-9 for one, other in zip(numbers, them, strict=True))
        if not _near(numbers, them) or sample["error"]:
            differing.append(f"{kind}: deepfabric {them}, callmark {numbers}, error {sample['error']}: {json.dumps(given)[:1500]}")
    totals = _total(result), tuple(peer["metrics"][name] for name in METRICS)
    if not _near(*totals):
        differing.append(f"totals: deepfabric {totals[1]}, callmark {totals[0]}")
    return equal, differing


def _check(one: Difference, peer: dict[str, Any]) -> list[str]:
    """Return a line if the difference is not as documented."""
    title, group, their_numbers, our_numbers = one
    them = None if "crash" in peer[title] else tuple(peer[title]["metrics"][name] for name in METRICS)
    mine = _total(ours(group))
    if _near(mine, our_numbers) and (them is their_numbers is None or bool(them and their_numbers and _near(them, their_numbers))):
        return []
    return [f"{title}: listed {their_numbers} and {our_numbers}, found {them} and {mine}"]


def _sample_numbers(one: Any, weights: dict[str, float]) -> Numbers:
    holds = (float(one.tool_selection_correct), float(one.parameters_correct), float(one.execution_valid))
    return *holds, sum(weight * value for weight, value in zip(weights.values(), holds, strict=False))


def _total(result: EvaluationResult) -> Numbers:
    fields = msgspec.to_builtins(result.metrics)
    return tuple(fields[name] for name in METRICS)


def _near(one: Numbers, other: Numbers) -> bool:
    return all(abs(mine - theirs) < 1e-9 for mine, theirs in zip(one, other, strict=True))
