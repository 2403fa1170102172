"""Does the evaluator `bfcl` give the verdicts of the Berkeley leaderboard? Compared with bfcl-eval, on every row of its own files.

For every row of every single-turn and live category: correct answers, as tool calls and as text, and mutations of them. Verdict and type of
error must be equal. The differences of `DIFFERENCES` are counted with their reason; exits with status 1 if there is any other.

    python benchmarks/bfcl.py --peer .venv-peers/bfcl/bin/python [--mutations 8] [--seed 1]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import callmark
from callmark.formats.predictions import read_row
from callmark.grading.attempt import Attempt
from callmark.grading.bfcl.checker import Names
from callmark.grading.evaluators.bfcl import BfclEvaluator
from callmark.types import Case, Prediction

CATEGORIES = (
    "simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple", "irrelevance",
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance",
)  # fmt: skip
DIFFERENCES: dict[str, str] = {
    "blank arguments": "callmark reads blank arguments of a tool call as none; the leaderboard cannot decode them",
    "not JSON": "NaN and Infinity are not JSON: the call is malformed; Python's parser, which the leaderboard uses, accepts them",
    "stopped": "the leaderboard's checker stops with an exception, so the result has no verdict; in callmark it is wrong",
    "inference error": "a failed request is an error, excluded from scores; the leaderboard counts it as wrong",
}
TEXTS = ("I cannot help with that.", "", "[]", "None", "[f]", "f(1)", "[f(a=1), 2]", "[f(a=b.c)]", "[f(a=-x)]", "f(a=[1,2", "`[]`", "{}")
Call = dict[str, dict[str, Any]]


class Result(NamedTuple):
    """A result of a row: how it was made, its form and what a model returned."""

    kind: str
    form: str
    underscores: bool
    result: Any


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, type=Path)
    parser.add_argument("--mutations", type=int, default=8, help="of each row")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    peer = [str(options.peer.absolute()), str(Path(__file__).parent / "peers" / "parity_bfcl.py")]
    about = json.loads(subprocess.run(peer, input="", capture_output=True, text=True, check=True).stdout)
    print(f"bfcl-eval {about['version']}")
    generator = random.Random(options.seed)
    failed = 0
    for category in CATEGORIES:
        failed += compare(category, Path(about["data"]), peer, generator, options.mutations)
    return 1 if failed else 0


def compare(category: str, data: Path, peer: list[str], generator: random.Random, mutations: int) -> int:
    """Compare all results of a category, and return the number of differences that are not listed."""
    name = f"BFCL_v4_{category}.json"
    cases = [case for case in callmark.load(data / name, cases=True) if isinstance(case, Case)]
    made = [(index, result) for index, case in enumerate(cases) for result in results(case, cases, generator, mutations)]
    lines = "".join(json.dumps([name, index, one.form, one.underscores, one.result]) + "\n" for index, one in made)
    with tempfile.TemporaryFile("w+") as file:  # more than a pipe holds
        file.write(lines)
        file.seek(0)
        done = subprocess.run(peer, stdin=file, capture_output=True, text=True, check=True)
    theirs = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    explained: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    correct = unexplained = 0
    for (index, one), their in zip(made, theirs, strict=True):
        ours = our_verdict(cases[index], one)
        errors[their] += 1
        correct += one.kind == "correct" and not their
        if ours == their:
            continue
        reason = "stopped" if their.startswith("stopped") and ours.startswith("unchecked") else one.kind if one.kind in DIFFERENCES else ""
        explained[reason] += bool(reason)
        if not reason:
            unexplained += 1
            if unexplained <= 5:
                print(f"  {cases[index].id}, {one.kind}, {one.form}: {their or 'valid'} there, {ours or 'valid'} here\n    {one.result}")
    correct_results = sum(one.kind == "correct" for _, one in made)
    print(
        f"{category}: {len(cases):,} rows, {len(made):,} results ({correct_results:,} right answers, {correct:,} of them valid there), "
        f"{len(errors) - ('' in errors)} types of errors, {unexplained} differences"
        + "".join(f"; {count} {reason}" for reason, count in explained.items() if count)
    )
    return unexplained


def our_verdict(case: Case, one: Result) -> str:
    prediction = read_row(json.dumps({"id": case.id, "result": one.result, "latency": 1}).encode()).prediction
    if prediction.error:
        return f"error: {prediction.error}"
    names: Names = "underscores" if one.underscores else "dots"
    found = BfclEvaluator(names).evaluate(_attempt(case, prediction))
    return found.reasons.get("valid", "")


def _attempt(case: Case, prediction: Prediction) -> Attempt:
    return Attempt(case.expected, prediction.calls, tools=case.tools, case=case, prediction=prediction)


def results(case: Case, cases: list[Case], generator: random.Random, mutations: int) -> Iterator[Result]:
    """Yield right answers of a case, mutations of them, and texts that are no calls."""
    data = case.data["bfcl"]
    is_python = "java" not in data["category"]
    answers = data["ground_truth"] or generator.choice(cases).data["bfcl"]["ground_truth"] or [{"f": {}}]
    for _ in range(2):
        calls = [right_call(answer, data, generator) for answer in answers]
        yield from forms("correct", calls, generator, text=is_python)
    for _ in range(mutations):
        calls = [right_call(answer, data, generator) for answer in answers]
        for _ in range(generator.choice((1, 1, 2))):
            calls = mutate(calls, generator)
        yield from forms("mutation", calls, generator, text=is_python)
    if is_python:
        yield Result("text", "text", False, generator.choice(TEXTS))
        yield Result("text", "text", False, code_text(calls, generator))
    call = calls[0] if calls else {"f": {}}
    key = next(iter(call))
    yield Result("blank arguments", "tools", False, [{key: ""}])
    yield Result("not JSON", "tools", False, [{key: '{"x": NaN}'}])
    yield Result("broken JSON", "tools", False, [{key: '{"x": '}])
    yield Result("other JSON", "tools", False, [{key: generator.choice(("[1]", "5", "null", '"x"'))}])
    if generator.random() < 0.05:
        yield Result("inference error", "text", False, "Error during inference: the server is busy")


def forms(kind: str, calls: list[Call], generator: random.Random, *, text: bool) -> Iterator[Result]:
    """Yield calls as tool calls, whose names may have underscores, and as text."""
    underscores = generator.random() < 0.3
    named = [{(name.replace(".", "_") if underscores else name): arguments for name, arguments in call.items()} for call in calls]
    listed = [{name: json.dumps(arguments, default=list) for name, arguments in call.items()} for call in named]
    yield Result(kind, "tools", underscores, listed)
    if text:
        yield Result(kind, "text", False, code(calls))


def code(calls: list[Call]) -> str:
    written = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" for call in calls for name, arguments in call.items()
    ]
    return f"[{', '.join(written)}]"


def code_text(calls: list[Call], generator: random.Random) -> str:
    """Return calls as code with something around them or another kind of expression in them."""
    written = code(calls)
    ways: tuple[Callable[[], str], ...] = (
        lambda: f"```\n{written}\n```",
        lambda: written[1:-1],
        lambda: f"'{written}'",
        lambda: f"Here it is: {written}",
        lambda: written.replace("=", "=-", 1),
        lambda: written.replace("=", "=not ", 1),
        lambda: written.replace("=", "=2*3+", 1),
        lambda: written.replace("=", "=2**3, z=", 1),
        lambda: written.replace("=", "=(1, 2), y=", 1),
        lambda: written.replace("=", "=date(2024, 1), y=", 1),
        lambda: written.replace("=", "=date(y=2024), y=", 1),
        lambda: written.replace("=", "=items[0], y=", 1),
        lambda: written.replace("=", "=..., y=", 1),
        lambda: written.replace("=", "={'a': [1, None]}, y=", 1),
        lambda: written.replace("=", "=b'x', y=", 1),
        lambda: written.replace("=", "=f'{x}', y=", 1),
        lambda: written.replace("=", "=lambda: 1, y=", 1),
        lambda: written.replace("=", "=1 if 2 else 3, y=", 1),
        lambda: written.replace("(", "(1, ", 1),
        lambda: written.replace("(", "(**{'a': 1}, ", 1),
        lambda: written.replace("=", "='a' + 'b', y=", 1),
        lambda: written.replace("=", "=1/0, y=", 1),
    )
    return generator.choice(ways)()


def right_call(answer: Any, data: dict[str, Any], generator: random.Random) -> Call:
    """Return a call that an answer accepts: one of the right values of each parameter, and sometimes those that may be left out."""
    [(name, parameters)] = answer.items()
    function: Any = next((one for one in data["function"] if one["name"] == name), {"parameters": {"properties": {}}})
    schemas = function["parameters"]["properties"]
    arguments = {}
    for key, values in parameters.items():
        given = [value for value in values if value != ""]
        if not given or ("" in values and generator.random() < 0.5):
            continue
        value = plain(generator.choice(given), schemas.get(key, {}), generator)
        arguments[key] = (
            value if "java" not in data["category"] else java_text(value, schemas.get(key, {}), "javascript" in data["category"])
        )
    return {name: arguments}


def plain(value: Any, schema: Any, generator: random.Random) -> Any:
    """Return a right value without the lists of right values inside objects."""
    kind = schema.get("type")
    if kind in ("dict", "HashMap") and isinstance(value, dict):
        chosen = {key: [one for one in values if one != ""] if isinstance(values, list) else [values] for key, values in value.items()}
        return {key: plain(generator.choice(values), {}, generator) for key, values in chosen.items() if values}
    if kind in ("array", "tuple") and isinstance(value, list) and schema.get("items", {}).get("type") == "dict":
        return [plain(one, {"type": "dict"}, generator) for one in value]
    return value


def java_text(value: Any, schema: Any, javascript: bool) -> str:
    """Return a value as a model writes it in Java or JavaScript."""
    kind = schema.get("type")
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value}{'' if javascript and kind != 'Bigint' else {'long': 'L', 'float': 'f', 'Bigint': 'n'}.get(str(kind), '')}"
    if javascript:
        return json.dumps(value)
    if isinstance(value, list):
        inner = ", ".join(json.dumps(one) if isinstance(one, str) else java_text(one, schema.get("items", {}), False) for one in value)
        return f"new ArrayList<>(Arrays.asList({inner}))" if kind == "ArrayList" else f"new Object[]{{{inner}}}"
    puts = " ".join(f"put({json.dumps(key)}, {json.dumps(one)});" for key, one in value.items())
    return f"new HashMap<String, Object>() {{{{ {puts} }}}}"


def mutate(calls: list[Call], generator: random.Random) -> list[Call]:
    """Return calls with one change to a call or to an argument."""
    calls = [{name: dict(arguments) for name, arguments in call.items()} for call in calls]
    if not calls:
        return [{"f": {}}]
    at = generator.randrange(len(calls))
    [(name, arguments)] = calls[at].items()
    match generator.randrange(10):
        case 0:
            return [*calls, calls[at]] if generator.random() < 0.5 else calls[:at] + calls[at + 1 :]
        case 1:
            generator.shuffle(calls)
        case 2:
            calls[at] = {generator.choice((f"{name}s", name.upper(), name.replace(".", "_"), name.rpartition(".")[2])): arguments}
        case 3:
            arguments[generator.choice(("extra", "unit", "format"))] = generator.choice((1, "x", None, [], {}))
        case 4 if arguments:
            del arguments[generator.choice(list(arguments))]
        case _ if arguments:
            key = generator.choice(list(arguments))
            arguments[key] = other_value(arguments[key], generator)
    return calls


def other_value(value: Any, generator: random.Random) -> Any:
    """Return a value that is like another: equal for the leaderboard, or not."""
    if generator.random() < 0.15:
        return generator.choice(
            (None, True, 0, 1, -1, 2.5, "", "x", [], ["x"], [1], {}, {"a": 1}, [{}], [[1]], "new int[]{1, 2}", "[1, 2]")
        )
    if isinstance(value, str):
        ways = (
            value.upper(),
            value.replace(" ", ""),
            f"{value}.",
            value.replace(",", " "),
            value[:-1],
            f"'{value}'",
            value + "é",
            [value],
            "",
        )
        return generator.choice(ways)
    if isinstance(value, bool):
        return generator.choice((not value, int(value), str(value), str(value).lower()))
    if isinstance(value, int | float):
        return generator.choice((value + 1, float(value), int(value), str(value), -value, [value], value / 3, value * 1e9))
    if isinstance(value, list | tuple):
        items = list(value)
        ways_of_list: tuple[Callable[[], Any], ...] = (
            lambda: items[::-1],
            lambda: tuple(items),
            lambda: [*items, items[0] if items else 1],
            lambda: items[1:],
            lambda: [other_value(items[0], generator), *items[1:]] if items else [1],
            lambda: str(items),
            lambda: [items],
            lambda: {"items": items},
        )
        return generator.choice(ways_of_list)()
    if isinstance(value, dict):
        members = dict(value)
        if members and generator.random() < 0.7:
            key = generator.choice(list(members))
            changed = other_value(members.pop(key), generator)
            if generator.random() < 0.6:
                members[key] = changed
        else:
            members["other"] = 1
        return members
    return generator.choice((1, "x", [], {}))


if __name__ == "__main__":
    sys.exit(main())
