"""Find formats, text formats, evaluators, models, agents, users, toolboxes, worlds and engines by name.

Built-ins are a static table of import paths, in the order in which they are tried and listed. Entry points (group `callmark.KIND`) are
only consulted for names that are not built in, which keeps start-up fast; an entry point cannot replace a built-in. An unknown name raises
`BadInput`, as does an entry point that cannot be imported.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from callmark.errors import BadInput
from callmark.wording import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["formats", "text_formats", "evaluators", "models", "agents", "users", "toolboxes", "worlds", "engines"]

_KIND_NAMES: dict[Kind, str] = {
    "formats": "format",
    "text_formats": "text format",
    "evaluators": "evaluator",
    "models": "model provider",
    "agents": "agent",
    "users": "user",
    "toolboxes": "toolbox",
    "worlds": "world",
    "engines": "engine",
}

BUILT_IN: dict[Kind, dict[str, str]] = {
    "formats": {
        "openai": "callmark.formats.openai:FORMAT",
        "sharegpt": "callmark.formats.sharegpt:FORMAT",
        "scenarios": "callmark.formats.scenarios:FORMAT",
        "tau-bench": "callmark.formats.tau_bench:FORMAT",
        "tau2-tasks": "callmark.formats.tau2_tasks:FORMAT",
        "anthropic": "callmark.formats.anthropic:FORMAT",
        "deepfabric": "callmark.formats.deepfabric:FORMAT",
        "by-reference": "callmark.formats.by_reference:FORMAT",
        "hermes": "callmark.formats.hermes:FORMAT",
        "xlam": "callmark.formats.xlam:FORMAT",
        "toolace": "callmark.formats.toolace:FORMAT",
        "glaive": "callmark.formats.glaive:FORMAT",
        "when2call": "callmark.formats.when2call:FORMAT",
        "when2call-preference": "callmark.formats.when2call_preference:FORMAT",
        "hammerbench": "callmark.formats.hammerbench:FORMAT",
        "prompt-completion": "callmark.formats.prompt_completion:FORMAT",
        "preference": "callmark.formats.preference:FORMAT",
        "openai-preference": "callmark.formats.openai_preference:FORMAT",
        "reference-answers": "callmark.formats.reference_answers:FORMAT",
        "hosted-evaluation": "callmark.formats.hosted_evaluation:FORMAT",
        "responses": "callmark.formats.responses_items:FORMAT",
        "gemini": "callmark.formats.gemini:FORMAT",
        "bedrock": "callmark.formats.bedrock:FORMAT",
        "langchain": "callmark.formats.langchain:FORMAT",
        "vercel-ai": "callmark.formats.vercel:FORMAT",
        "inspect-ai": "callmark.formats.inspect_logs:FORMAT",
        "pydantic-ai": "callmark.formats.pydantic_ai:FORMAT",
        "tau2-simulations": "callmark.formats.tau2_simulations:FORMAT",
        "adk-evalsets": "callmark.formats.adk_evalsets:FORMAT",
        "bfcl": "callmark.formats.bfcl:FORMAT",
        "bfcl-results": "callmark.formats.bfcl_results:FORMAT",
        "otlp": "callmark.formats.otlp:FORMAT",
        "otel-spans": "callmark.formats.otel_spans:FORMAT",
        "langfuse": "callmark.formats.langfuse:FORMAT",
        "langsmith": "callmark.formats.langsmith:FORMAT",
        "agents-traces": "callmark.formats.agents_traces:FORMAT",
        "atif": "callmark.formats.atif:FORMAT",
    },
    "text_formats": {
        "harmony": "callmark.calls.text.harmony:FORMAT",
        "deepseek": "callmark.calls.text.deepseek:FORMAT",
        "kimi": "callmark.calls.text.kimi:FORMAT",
        "minimax-m3": "callmark.calls.text.minimax_m3:FORMAT",
        "glm": "callmark.calls.text.glm:FORMAT",
        "qwen3-coder": "callmark.calls.text.qwen3_coder:FORMAT",
        "hermes": "callmark.calls.text.hermes:FORMAT",
        "invoke": "callmark.calls.text.invoke:FORMAT",
        "mistral": "callmark.calls.text.mistral:FORMAT",
        "llama3": "callmark.calls.text.llama:FORMAT",
        "llama4": "callmark.calls.text.llama4:FORMAT",
        "granite": "callmark.calls.text.granite:FORMAT",
        "phi4": "callmark.calls.text.phi4:FORMAT",
        "jamba": "callmark.calls.text.jamba:FORMAT",
        "internlm": "callmark.calls.text.internlm:FORMAT",
        "lfm2": "callmark.calls.text.lfm2:FORMAT",
        "olmo3": "callmark.calls.text.olmo3:FORMAT",
        "cohere": "callmark.calls.text.cohere:FORMAT",
        "gemma": "callmark.calls.text.gemma:FORMAT",
        "functiongemma": "callmark.calls.text.functiongemma:FORMAT",
        "gemma4": "callmark.calls.text.gemma4:FORMAT",
        "apertus": "callmark.calls.text.apertus:FORMAT",
        "xlam": "callmark.calls.text.xlam:FORMAT",
        "react": "callmark.calls.text.react:FORMAT",
        "json": "callmark.calls.text.bare_json:FORMAT",
        "pythonic": "callmark.calls.text.pythonic:FORMAT",
    },
    "evaluators": {
        "call": "callmark.grading.evaluators.call:CallEvaluator",
        "schema": "callmark.grading.evaluators.schema:SchemaEvaluator",
        "process": "callmark.grading.evaluators.process:ProcessEvaluator",
        "state": "callmark.grading.evaluators.state:StateEvaluator",
        "effort": "callmark.grading.evaluators.effort:EffortEvaluator",
        "recorded": "callmark.grading.evaluators.recorded:RecordedEvaluator",
        "policy": "callmark.grading.evaluators.policy:PolicyEvaluator",
        "trajectory": "callmark.grading.evaluators.trajectory:TrajectoryEvaluator",
        "decision": "callmark.grading.evaluators.decision:DecisionEvaluator",
        "reply": "callmark.grading.evaluators.reply:ReplyEvaluator",
        "bfcl": "callmark.grading.evaluators.bfcl:BfclEvaluator",
    },
    "models": {
        "openai": "callmark.models.hosted:OPENAI",
        "azure": "callmark.models.azure:PROVIDER",
        "anthropic": "callmark.models.hosted:ANTHROPIC",
        "gemini": "callmark.models.hosted:GEMINI",
        "ollama": "callmark.models.ollama:PROVIDER",
        "vllm": "callmark.models.vllm:PROVIDER",
        "http": "callmark.models.address:PROVIDER",
        "replay": "callmark.models.replay:PROVIDER",
        "python": "callmark.models.function:PROVIDER",
        "cmd": "callmark.models.process:PROVIDER",
        "scripted": "callmark.models.scripted:PROVIDER",
        "chatbot": "callmark.models.chatbot:PROVIDER",
        "local": "callmark.models.local:PROVIDER",
    },
    "agents": {
        "langgraph": "callmark.integrations.langgraph:PROVIDER",
        "openai-agents": "callmark.integrations.openai_agents:PROVIDER",
        "pydantic-ai": "callmark.integrations.pydantic_ai:PROVIDER",
        "agent-framework": "callmark.integrations.agent_framework:PROVIDER",
        "semantic-kernel": "callmark.integrations.semantic_kernel:PROVIDER",
        "adk": "callmark.integrations.adk:PROVIDER",
    },
    "users": {
        "rule-based": "callmark.simulation.users.rule_based.user:USER",
        "script": "callmark.simulation.users.script:USER",
    },
    "toolboxes": {
        "mcp": "callmark.simulation.toolboxes.mcp:TOOLBOX",
        "python": "callmark.simulation.toolboxes.functions:TOOLBOX",
        "recorded": "callmark.simulation.toolboxes.recorded:TOOLBOX",
        "openapi": "callmark.simulation.toolboxes.mock_api:TOOLBOX",
        "tools": "callmark.simulation.toolboxes.mock_api:TOOL_LIST",
    },
    "worlds": {
        "retail": "callmark.worlds.retail.world:RetailWorld",
    },
    "engines": {
        "ray": "callmark.integrations.ray_engine:RayExecutor",
    },
}


def find(kind: Kind, name: str) -> Any:
    """Return the object registered under a name: a built-in, or one from an installed package."""
    if name in BUILT_IN[kind]:
        return load_path(BUILT_IN[kind][name])
    point = _entry_points(kind).get(name)
    if point is None:
        known = names(kind)
        hint = f"Available: {', '.join(known)}." if known else ""
        raise BadInput(f"unknown {_KIND_NAMES[kind]} {name!r}{did_you_mean(name, known)}", hint)
    return _load(kind, point)


def names(kind: Kind) -> tuple[str, ...]:
    """Return every name of a kind, built-ins first."""
    return (*BUILT_IN[kind], *(name for name in _entry_points(kind) if name not in BUILT_IN[kind]))


def is_known(kind: Kind, name: str) -> bool:
    """Return whether a name is registered, without importing anything."""
    return name in BUILT_IN[kind] or name in _entry_points(kind)


def built_in(kind: Kind) -> Iterator[Any]:
    """Yield the built-in objects of a kind, in the order of the table."""
    return map(load_path, BUILT_IN[kind].values())


def installed(kind: Kind) -> Iterator[Any]:
    """Yield the objects that installed packages register, sorted by name; built-in names are skipped."""
    for name, point in sorted(_entry_points(kind).items()):
        if name not in BUILT_IN[kind]:
            yield _load(kind, point)


def load_path(path: str) -> Any:
    """Return the object at `module:attribute`."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def _entry_points(kind: Kind) -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # imported late: it doubles the start-up time

    return {point.name: point for point in entry_points(group=f"callmark.{kind}")}


def _load(kind: Kind, point: "EntryPoint") -> Any:
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"entry point {point.name!r} of callmark.{kind} ({point.value}): cannot be imported: {type(error).__name__}: {error}"
        ) from None
