"""Python graders of OpenAI and Azure AI Foundry, for reinforcement fine-tuning and evaluations: JSON that holds the exported grader.

    {"type": "python", "name": "call_score", "source": "…", "image_tag": "2025-05-08"}
    {"type": "multi", "name": "reward", "graders": {"call_score": {…}, …}, "calculate_output": "0.5 * call_score + 0.5 * …"}

The service runs `grade(sample, item)` of the source on the calls of a message (`sample["output_tools"]`); calls in text are not read. It
allows 256 kB of source, two minutes, 2 GB of memory and no network.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

from callmark.errors import BadInput
from callmark.grading.standalone import export_source
from callmark.rewards.reward import Reward

MAX_SOURCE = 256_000  # bytes
IMAGE_TAG = "2025-05-08"
_METRICS = ("call.score", "call.pass")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_FUNCTIONS = frozenset({"abs", "ceil", "exp", "floor", "log", "max", "min", "sqrt"})
_FORBIDDEN = frozenset(
    {"asyncio", "ctypes", "ftplib", "http", "httpx", "multiprocessing", "os", "requests", "shutil", "socket", "ssl", "subprocess", "urllib"}
)
_BUILT_IN = frozenset({"__import__", "compile", "eval", "exec", "input", "open"})
_ADDED = '''

_call_score = grade


def grade(sample: dict[str, Any], item: dict[str, Any]) -> float:
    """Return the reward of the calls."""
    actual = unwrap([read_call(call) for call in listed(sample.get("output_tools"))])
    if actual and all(arguments is None for _, arguments in actual):
        return {malformed!r}
    return {value}
'''


def python_grader(reward: Reward | None = None, *, name: str = "", image_tag: str = IMAGE_TAG) -> dict[str, Any]:
    """Return the grader of a reward, as JSON for the service. With weights, it is a `multi` grader with a Python grader for each metric.

    The metrics can be `call.score` and `call.pass`. A reward with another metric, with match rules or with custom evaluators raises
    `BadInput`, because the exported grader does not have them.

        json.dump(python_grader(), file)
    """
    reward = reward or Reward()
    if reward.weights:
        graders = {_identifier(metric): _grader(reward, metric, "", image_tag) for metric in reward.weights}
        formula = " + ".join(f"{weight!r} * {_identifier(metric)}" for metric, weight in reward.weights.items())
        return multi_grader(graders, formula, name=name or "reward")
    return _grader(reward, reward.metric, name, image_tag)


def multi_grader(graders: Mapping[str, Mapping[str, Any]], formula: str, *, name: str = "reward") -> dict[str, Any]:
    """Return a grader that combines others by a formula over their names. Another name or function in it raises `BadInput`."""
    grader = {"type": "multi", "name": name, "graders": {key: dict(value) for key, value in graders.items()}, "calculate_output": formula}
    check_grader(grader)
    return grader


def check_grader(grader: Mapping[str, Any]) -> None:
    """Raise `BadInput` for a grader that the service would refuse.

    The source of a Python grader must be at most 256 kB, define `grade(sample, item)`, and use neither the network nor files; the formula
    of a `multi` grader may use the names of its graders, numbers, `+ - * / ^`, and `abs ceil exp floor log max min sqrt`. Other types of
    graders are not checked.
    """
    kind = grader.get("type")
    if not isinstance(grader.get("name"), str) or not grader["name"]:
        raise BadInput("grader: name is missing")
    if kind == "python":
        _check_source(grader.get("source"))
    elif kind == "multi":
        graders = grader.get("graders")
        if not isinstance(graders, Mapping) or not graders:
            raise BadInput("grader: graders: expected at least one grader by name")
        for key, inner in graders.items():
            if not isinstance(key, str) or _NAME.fullmatch(key) is None:
                raise BadInput(f"grader: graders: {key!r} cannot be used in a formula: expected letters, digits and underscores")
            if not isinstance(inner, Mapping) or inner.get("type") == "multi":
                raise BadInput(f"grader: graders: {key}: expected a grader that is not multi")
            check_grader(inner)
        _check_formula(grader.get("calculate_output"), set(graders))


def _grader(reward: Reward, metric: str, name: str, image_tag: str) -> dict[str, Any]:
    if metric not in _METRICS:
        raise BadInput(f"{metric} cannot be exported as a Python grader", f"Metrics that can: {', '.join(_METRICS)}.")
    unsupported = {
        "match": reward.match,
        "evaluators": reward.evaluators,
        "options": {key: value for key, value in reward.options.items() if key != "call"},
    }
    for field, value in unsupported.items():
        if value:
            raise BadInput(f"a reward with {field} cannot be exported as a Python grader")
    threshold = float(reward.options.get("call", {}).get("threshold", 1.0))
    value = "_call_score(sample, item)" if metric == "call.score" else f"1.0 if _call_score(sample, item) >= {threshold!r} else 0.0"
    source = export_source() + _ADDED.replace("{malformed!r}", repr(float(reward.malformed))).replace("{value}", value)
    grader = {"type": "python", "name": name or _identifier(metric), "source": source, "image_tag": image_tag}
    check_grader(grader)
    return grader


def _identifier(metric: str) -> str:
    return metric.replace(".", "_")


def _check_source(source: Any) -> None:
    if not isinstance(source, str):
        raise BadInput("grader: source is missing")
    if (size := len(source.encode("utf-8", "replace"))) > MAX_SOURCE:
        raise BadInput(f"grader: source: expected at most {MAX_SOURCE:,} bytes, got {size:,}")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BadInput(f"grader: source: not valid Python: {error}") from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "grade"]
    if not functions or [argument.arg for argument in functions[-1].args.args] != ["sample", "item"]:
        raise BadInput("grader: source: expected a function grade(sample, item)")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for imported in names:
                if imported.partition(".")[0] in _FORBIDDEN:
                    raise BadInput(f"grader: source: imports {imported}, but a grader has no network access and cannot start processes")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BUILT_IN:
            raise BadInput(f"grader: source: calls {node.func.id}, which is not allowed in a grader")


def _check_formula(formula: Any, names: set[str]) -> None:
    if not isinstance(formula, str) or not formula.strip():
        raise BadInput("grader: calculate_output is missing")
    try:
        tree = ast.parse(formula.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        raise BadInput(f"grader: calculate_output: not a formula: {formula[:100]!r}") from None
    functions = {id(node.func): node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if id(node) in functions:
            if not isinstance(node, ast.Name) or node.id not in _FUNCTIONS:
                raise BadInput(f"grader: calculate_output: unknown function; expected one of {', '.join(sorted(_FUNCTIONS))}")
        elif isinstance(node, ast.Name):
            if node.id not in names:
                raise BadInput(f"grader: calculate_output: no grader is named {node.id}", f"Graders: {', '.join(sorted(names))}.")
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, bool) or not isinstance(node.value, int | float):
                raise BadInput(f"grader: calculate_output: expected numbers, got {node.value!r}")
        elif not isinstance(node, ast.Expression | ast.BinOp | ast.UnaryOp | ast.Call | ast.operator | ast.unaryop | ast.expr_context):
            raise BadInput(f"grader: calculate_output: {type(node).__name__} is not allowed in a formula")
