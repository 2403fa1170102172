"""The fixtures that packages wrote, and what is read from them. `make formats-proof` writes them again."""

from pathlib import Path

from msgspec import Struct

import callmark
from callmark.calls.results import match_results
from callmark.errors import BadInput
from tests.formats.samples import CALLS

FIXTURES = Path(__file__).parent / "fixtures"


class PackageScript(Struct, frozen=True):
    """A script in `packages/` and the files that it writes."""

    script: str
    fixtures: tuple[str, ...]


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
        ),
    ),
    "agents": PackageScript("openai_agents.py", ("openai_agents_input_list.jsonl", "openai_agents_session.jsonl")),
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
    "trl": PackageScript("trl_rows.py", ("trl_preference.jsonl", "trl_prompt_completion.jsonl")),
}


def check_fixture(path: Path) -> str:
    """Return what differs between the calls in a file and the nine that were put in; empty if nothing does."""
    try:
        conversations = list(callmark.load(f"hf:{path}" if path.is_dir() else path))
    except BadInput as error:
        return str(error)
    calls = [call for conversation in conversations for call in conversation.calls]
    if calls != list(CALLS):
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
