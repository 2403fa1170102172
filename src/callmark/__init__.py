"""callmark tells, call by call and with the evidence, whether an agent calls the right tool with the right arguments.

    dataset = callmark.load("valid.jsonl")
    callmark.stats(dataset).tool_calls.mean
    callmark.lint(dataset).summary
    callmark.split(dataset, valid=0.2).valid
    callmark.write(callmark.expand(dataset), "eval.jsonl")
    callmark.grade(expected_calls, made_calls, tools=tools)
    callmark.run("eval.jsonl", ["openai:gpt-4.1-mini", "vllm:tuned@http://localhost:8000"])
    callmark.simulate("scenarios.jsonl", "openai:gpt-4.1-mini", tools="mcp:python server.py")
    callmark.compare("runs/base", "runs/tuned")

A name is imported when it is first used, so that `import callmark` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callmark.data.expand import expand
    from callmark.data.lint import lint
    from callmark.data.split import split
    from callmark.data.stats import stats
    from callmark.errors import BadInput
    from callmark.formats import Dataset, load, write
    from callmark.grading.grade import Grade, grade
    from callmark.models.model import ModelSettings
    from callmark.runs.compare import compare
    from callmark.runs.run import Run
    from callmark.runs.start import run
    from callmark.simulation.simulate import simulate
    from callmark.types import Call, Case, Conversation, Finding, Message, Tool

_HOMES = {
    "callmark.data.expand": ("expand",),
    "callmark.data.lint": ("lint",),
    "callmark.data.split": ("split",),
    "callmark.data.stats": ("stats",),
    "callmark.errors": ("BadInput",),
    "callmark.formats": ("Dataset", "load", "write"),
    "callmark.grading.grade": ("Grade", "grade"),
    "callmark.models.model": ("ModelSettings",),
    "callmark.runs.compare": ("compare",),
    "callmark.runs.start": ("run",),
    "callmark.runs.run": ("Run",),
    "callmark.simulation.simulate": ("simulate",),
    "callmark.types": ("Call", "Case", "Conversation", "Finding", "Message", "Tool"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BadInput",
    "Call",
    "Case",
    "Conversation",
    "Dataset",
    "Finding",
    "Grade",
    "Message",
    "ModelSettings",
    "Run",
    "Tool",
    "compare",
    "expand",
    "grade",
    "lint",
    "load",
    "run",
    "simulate",
    "split",
    "stats",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'callmark' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
