"""Files that packages wrote are read as what was put in: nine calls with their ids, and the result of each."""

from pathlib import Path

import pytest

import callmark
from callmark.data.expand import expand
from tests.conftest import Cli
from tests.formats.package_fixtures import FIXTURES, SCRIPTS, check_fixture, read_fixture
from tests.formats.samples import CALLS, TOOLS, samples

FORMATS = {
    "openai_chat.jsonl": "openai",
    "openai_chat_dump.jsonl": "openai",
    "openai_responses.jsonl": "responses",
    "anthropic_messages.jsonl": "anthropic",
    "anthropic_messages_dump.jsonl": "anthropic",
    "gemini_contents.jsonl": "gemini",
    "gemini_contents_snake_case.jsonl": "gemini",
    "langchain_flat.jsonl": "langchain",
    "langchain_dict.jsonl": "langchain",
    "langchain_lc.jsonl": "langchain",
    "langsmith_llm.jsonl": "langchain",
    "langsmith_chain.jsonl": "langchain",
    "openai_agents_input_list.jsonl": "responses",
    "openai_agents_session.jsonl": "responses",
    "pydantic_ai_messages.jsonl": "pydantic-ai",
    "pydantic_ai_instructions.jsonl": "pydantic-ai",
    "inspect_log.eval": "inspect-ai",
    "inspect_log.json": "inspect-ai",
    "datasets_rows.jsonl": "openai",
    "datasets_rows_objects.jsonl": "openai",
    "datasets_saved": "openai",
    "datasets_hub/data": "openai",
    "adk_lists.evalset.json": "adk-evalsets",
    "adk_events.evalset.json": "adk-evalsets",
    "langsmith_runs.jsonl": "langsmith",
    "openai_agents_traces.jsonl": "agents-traces",
    "otlp_spans.jsonl": "otlp",
    "otlp_events.jsonl": "otlp",
    "otel_sdk_spans.jsonl": "otel-spans",
    "openinference_otlp.jsonl": "otlp",
    "openinference_spans.jsonl": "otel-spans",
    "langfuse_observations.jsonl": "langfuse",
    "langfuse_page.jsonl": "langfuse",
    "harbor_atif.jsonl": "atif",
    "harbor_atif_nulls.jsonl": "atif",
    "trl_preference.jsonl": "preference",
    "trl_prompt_completion.jsonl": "prompt-completion",
}
WITHOUT_TOOLS = ("langsmith_chain", "openai_agents", "pydantic_ai")  # files that do not name the tools
WITHOUT_PROMPT = ("openai_agents_input_list",)  # the instructions are the agent's, not the list's

every_fixture = pytest.mark.parametrize("name", FORMATS)


def test_every_fixture_that_a_package_writes_is_read_here() -> None:
    assert {fixture for script in SCRIPTS.values() for fixture in script.fixtures} == set(FORMATS)
    traces = {fixture for script in SCRIPTS.values() for fixture in script.traces}  # test_traces.py reads them
    assert {path.name for path in FIXTURES.iterdir()} == {name.partition("/")[0] for name in FORMATS} | traces


@every_fixture
def test_calls_and_results_are_those_that_were_put_in(name: str) -> None:
    assert callmark.load(FIXTURES / name).format.name == FORMATS[name]
    assert check_fixture(FIXTURES / name) == ""


@every_fixture
def test_texts_and_tools_are_those_that_were_put_in(name: str) -> None:
    for conversation, sample in zip(read_fixture(FIXTURES / name), samples(), strict=True):
        prompt = [] if name.startswith(WITHOUT_PROMPT) else ["system"]
        told = [
            (message.role, message.text) for message in sample.messages if message.text and message.role in ("user", "assistant", *prompt)
        ]
        assert [(message.role, message.text) for message in conversation.messages if message.text and message.role != "tool"] == told
        names = [] if name.startswith(WITHOUT_TOOLS) else [tool["name"] for tool in TOOLS]
        assert [tool.name for tool in conversation.tools] == names
        for tool, given in zip(conversation.tools, TOOLS, strict=False):
            assert tool.parameters["properties"].keys() == given["parameters"]["properties"].keys()
            assert tool.parameters.get("type") == "object"


@every_fixture
def test_decision_points_and_conversion_keep_every_call(name: str, cli: Cli, tmp_path: Path) -> None:
    cases = list(expand(callmark.load(read_fixture(FIXTURES / name))))
    assert [callmark.grade(list(case.expected), [call]).metrics["call.score"] for case, call in zip(cases, CALLS, strict=True)] == [1.0] * 9
    for target in ("openai", "anthropic", "sharegpt"):
        converted = tmp_path / f"{target}.jsonl"
        done = cli("convert", FIXTURES / name, "-o", converted, "--to", target)
        assert done.status == 0, done.err
        assert [(call.name, call.arguments) for row in read_fixture(converted) for call in row.calls] == [
            (call.name, call.arguments) for call in CALLS
        ]
