"""The fixtures that packages wrote, and what is read from them. `make formats-proof` writes them again."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

import callmark
from callmark.calls.results import match_results
from callmark.errors import BadInput
from callmark.types import Call, Conversation
from tests.formats.samples import CALLS, samples
from tests.formats.trace_samples import trace_samples

FIXTURES = Path(__file__).parent / "fixtures"


class PackageScript(Struct, frozen=True):
    """A script in `packages/` and the files that it writes, and those that it writes of the fifty conversations for traces."""

    script: str
    fixtures: tuple[str, ...]
    traces: tuple[str, ...] = ()


SCRIPTS = {
    "openai": PackageScript("openai_sdk.py", ("openai_chat.jsonl", "openai_chat_dump.jsonl", "openai_responses.jsonl")),
    "anthropic": PackageScript("anthropic_sdk.py", ("anthropic_messages.jsonl", "anthropic_messages_dump.jsonl")),
    "google": PackageScript("google_genai.py", ("gemini_contents.jsonl", "gemini_contents_snake_case.jsonl")),
    "langchain": PackageScript(
        "langchain.py",
        (
            "langchain_flat.jsonl",
            "langchain_dict.jsonl",
            "langchain_lc.jsonl",
            "langsmith_llm.jsonl",
            "langsmith_chain.jsonl",
            "langsmith_runs.jsonl",
        ),
    ),
    "agents": PackageScript(
        "openai_agents.py", ("openai_agents_input_list.jsonl", "openai_agents_session.jsonl", "openai_agents_traces.jsonl")
    ),
    "pydantic_ai": PackageScript("pydantic_ai_runs.py", ("pydantic_ai_messages.jsonl", "pydantic_ai_instructions.jsonl")),
    "inspect": PackageScript("inspect_logs.py", ("inspect_log.eval", "inspect_log.json")),
    "datasets": PackageScript(
        "huggingface.py",
        (
            "datasets_rows.jsonl",
            "datasets_rows_objects.jsonl",
            "datasets_saved",
            "datasets_hub/data",
        ),
    ),
    "adk": PackageScript("google_adk.py", ("adk_lists.evalset.json", "adk_events.evalset.json")),
    "otel": PackageScript(
        "opentelemetry_sdk.py", ("otlp_spans.jsonl", "otlp_events.jsonl", "otel_sdk_spans.jsonl"), ("otlp_conversations.jsonl.gz",)
    ),
    "openinference": PackageScript("openinference_agents.py", ("openinference_otlp.jsonl", "openinference_spans.jsonl")),
    "langfuse": PackageScript("langfuse_observations.py", ("langfuse_observations.jsonl", "langfuse_page.jsonl")),
    "harbor": PackageScript("harbor_atif.py", ("harbor_atif.jsonl", "harbor_atif_nulls.jsonl")),
    "trl": PackageScript("trl_rows.py", ("trl_preference.jsonl", "trl_prompt_completion.jsonl")),
}


def read_fixture(path: Path) -> list[Conversation]:
    """Return the conversations in a file, in the order of the samples: an export may begin with the latest."""
    order = {sample.id: index for index, sample in enumerate((*samples(), *trace_samples()))}
    return sorted(callmark.load(f"hf:{path}" if path.is_dir() else path), key=lambda conversation: order.get(conversation.id, 0))


def check_fixture(path: Path, given: Sequence[Call] = CALLS) -> str:
    """Return what differs between the calls in a file and those that were put in; empty if nothing does."""
    try:
        conversations = read_fixture(path)
    except BadInput as error:
        return str(error)
    calls = [call for conversation in conversations for call in conversation.calls]
    if calls != list(given):
        return f"read {[str(call) for call in calls]}"
    for conversation in conversations:
        matched = match_results(conversation.messages)
        if matched.orphans or matched.open:
            return f"{conversation.id}: results without calls: {matched.orphans}, calls without results: {matched.open}"
        for (message, place), result in matched.by_call.items():
            text = conversation.messages[result].text
            if text != f"result of {conversation.messages[message].calls[place].id}":
                return f"{conversation.id}: the result of another call: {text}"
    return ""
