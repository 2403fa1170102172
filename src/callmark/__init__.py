"""Measure tool calling: in datasets, on live models, and in simulated conversations.

    dataset = callmark.load("valid.jsonl")
    callmark.stats(dataset).tool_calls.mean
    callmark.lint(dataset).summary
    callmark.filter(dataset, grounded=True, out="good.jsonl")
    callmark.write(callmark.expand(dataset), "eval.jsonl")
    callmark.grade(expected_calls, actual_calls, tools=tools)
    callmark.grade("eval.jsonl", predictions="base.jsonl")
    runs = callmark.run("eval.jsonl", ["openai:gpt-4.1-mini", "vllm:tuned@http://localhost:8000"])
    callmark.simulate("scenarios.jsonl", "openai:gpt-4.1-mini", tools="mcp:python server.py")
    callmark.compare(*runs)
    callmark.gate(runs[1], min={"call.score": 0.9}).passed
    callmark.report(runs, out="report.html")

Datasets and cases can be paths, a `Dataset`, or lists of dicts; runs can be a `Run` or the path of its folder. Names are imported on first
use, which keeps `import callmark` fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callmark.analysis.summary import Summary
    from callmark.api.datasets import convert, expand, filter, lint, split, stats, write  # noqa: A004 - the public name
    from callmark.api.exporting import export, export_batch, export_cases, export_grader, export_notebooks, export_training
    from callmark.api.graded_cases import GradedCase, graded_case
    from callmark.api.grading import grade
    from callmark.api.partitions import grade_partitions
    from callmark.api.running import run, run_async, simulate, simulate_async
    from callmark.api.runs import gate, report, view
    from callmark.api.scenarios import synth_scenarios
    from callmark.api.telemetry import emit_otel, export_otel
    from callmark.api.testing import assert_calls
    from callmark.api.tools import tools
    from callmark.calls.confirmation import is_confirmation
    from callmark.calls.text.text_format import ParsedText, TextFormat
    from callmark.config import read_policy
    from callmark.errors import BadInput, BrokenRow, CallmarkError, EvaluatorError, StorageError
    from callmark.formats import Dataset, load
    from callmark.formats.format import Format, ReadContext
    from callmark.grading.attempt import Attempt
    from callmark.grading.evaluator import Evaluator, Metric, Result
    from callmark.grading.grade import Grade
    from callmark.grading.record import GradeRecord
    from callmark.integrations.pytest_cases import cases
    from callmark.models.endpoint import EndpointSettings, PollRequest, StartRequest
    from callmark.models.keys import Keys
    from callmark.models.model import Capabilities, Model, ModelError, ModelFailure, ModelSettings
    from callmark.models.provider import Provider, Spec
    from callmark.runs.compare import compare
    from callmark.runs.git_state import GitState
    from callmark.runs.grade import GradeOptions
    from callmark.runs.partitioned import Executor, PartitionedRun
    from callmark.runs.run import Run
    from callmark.simulation.agents import AgentProvider, AgentSettings
    from callmark.simulation.session import Agent, NullContext, Session, State, Toolbox, ToolResult, ToolSource, User, UserSession, UserTurn
    from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
    from callmark.simulation.users.provider import UserProvider
    from callmark.synthesis.synth import synth
    from callmark.synthesis.world import World
    from callmark.types import Call, Case, Conversation, Fault, Finding, Message, Note, Place, Prediction, ReplyChecks, Tool, Usage

_NAMES_BY_MODULE = {
    "callmark.analysis.summary": ("Summary",),
    "callmark.api.datasets": ("convert", "expand", "filter", "lint", "split", "stats", "write"),
    "callmark.api.exporting": ("export", "export_batch", "export_cases", "export_grader", "export_notebooks", "export_training"),
    "callmark.api.graded_cases": ("GradedCase", "graded_case"),
    "callmark.api.grading": ("grade",),
    "callmark.api.partitions": ("grade_partitions",),
    "callmark.api.running": ("run", "run_async", "simulate", "simulate_async"),
    "callmark.api.runs": ("gate", "report", "view"),
    "callmark.api.scenarios": ("synth_scenarios",),
    "callmark.api.telemetry": ("emit_otel", "export_otel"),
    "callmark.api.testing": ("assert_calls",),
    "callmark.api.tools": ("tools",),
    "callmark.calls.confirmation": ("is_confirmation",),
    "callmark.calls.text.text_format": ("ParsedText", "TextFormat"),
    "callmark.config": ("read_policy",),
    "callmark.errors": ("BadInput", "BrokenRow", "CallmarkError", "EvaluatorError", "StorageError"),
    "callmark.formats": ("Dataset", "load"),
    "callmark.formats.format": ("Format", "ReadContext"),
    "callmark.grading.attempt": ("Attempt",),
    "callmark.grading.evaluator": ("Evaluator", "Metric", "Result"),
    "callmark.grading.grade": ("Grade",),
    "callmark.grading.record": ("GradeRecord",),
    "callmark.integrations.pytest_cases": ("cases",),
    "callmark.models.keys": ("Keys",),
    "callmark.models.endpoint": ("EndpointSettings", "PollRequest", "StartRequest"),
    "callmark.models.model": ("Capabilities", "Model", "ModelError", "ModelFailure", "ModelSettings"),
    "callmark.models.provider": ("Provider", "Spec"),
    "callmark.runs.compare": ("compare",),
    "callmark.runs.git_state": ("GitState",),
    "callmark.runs.grade": ("GradeOptions",),
    "callmark.runs.partitioned": ("Executor", "PartitionedRun"),
    "callmark.runs.run": ("Run",),
    "callmark.simulation.agents": ("AgentProvider", "AgentSettings"),
    "callmark.simulation.session": (
        "Agent",
        "NullContext",
        "Session",
        "State",
        "ToolResult",
        "ToolSource",
        "Toolbox",
        "User",
        "UserSession",
        "UserTurn",
    ),
    "callmark.simulation.toolboxes.provider": ("ToolboxProvider", "ToolboxSettings"),
    "callmark.simulation.users.provider": ("UserProvider",),
    "callmark.synthesis.synth": ("synth",),
    "callmark.synthesis.world": ("World",),
    "callmark.types": (
        "Call",
        "Case",
        "Conversation",
        "Fault",
        "Finding",
        "Message",
        "Note",
        "Place",
        "Prediction",
        "ReplyChecks",
        "Tool",
        "Usage",
    ),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "Agent",
    "AgentProvider",
    "AgentSettings",
    "Attempt",
    "BadInput",
    "BrokenRow",
    "Call",
    "CallmarkError",
    "Capabilities",
    "Case",
    "Conversation",
    "Dataset",
    "EndpointSettings",
    "Evaluator",
    "EvaluatorError",
    "Executor",
    "Fault",
    "Finding",
    "Format",
    "GitState",
    "Grade",
    "GradeOptions",
    "GradeRecord",
    "GradedCase",
    "Keys",
    "Message",
    "Metric",
    "Model",
    "ModelError",
    "ModelFailure",
    "ModelSettings",
    "Note",
    "NullContext",
    "ParsedText",
    "PartitionedRun",
    "Place",
    "PollRequest",
    "Prediction",
    "Provider",
    "ReadContext",
    "ReplyChecks",
    "Result",
    "Run",
    "Session",
    "Spec",
    "StartRequest",
    "State",
    "StorageError",
    "Summary",
    "TextFormat",
    "Tool",
    "ToolResult",
    "ToolSource",
    "Toolbox",
    "ToolboxProvider",
    "ToolboxSettings",
    "Usage",
    "User",
    "UserProvider",
    "UserSession",
    "UserTurn",
    "World",
    "assert_calls",
    "cases",
    "compare",
    "convert",
    "emit_otel",
    "expand",
    "export",
    "export_batch",
    "export_cases",
    "export_grader",
    "export_notebooks",
    "export_otel",
    "export_training",
    "filter",
    "gate",
    "grade",
    "grade_partitions",
    "graded_case",
    "is_confirmation",
    "lint",
    "load",
    "read_policy",
    "report",
    "run",
    "run_async",
    "simulate",
    "simulate_async",
    "split",
    "stats",
    "synth",
    "synth_scenarios",
    "tools",
    "view",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'callmark' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
