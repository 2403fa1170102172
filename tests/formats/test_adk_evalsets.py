"""Evaluation sets of google-adk: conversations, scenarios, and what is refused. `test_package_fixtures.py` reads those that it wrote."""

from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.types import Case

USER = {"role": "user", "parts": [{"text": "Weather?"}]}
FINAL = {"role": "model", "parts": [{"text": "Sun."}]}
CALL = {"name": "weather", "args": {"city": "Bonn"}}


def case(data: Any, **changes: Any) -> dict[str, Any]:
    return {"eval_id": "a", "conversation": [{"user_content": USER, "intermediate_data": data, "final_response": FINAL}], **changes}


def messages(row: Any) -> list[tuple[str, str]]:
    [found] = callmark.load([row])
    return [(message.role, message.text or "; ".join(map(str, message.calls))) for message in found.messages]


@pytest.mark.parametrize(
    "data",
    [
        {"tool_uses": [CALL], "tool_responses": [{"name": "weather", "response": {"result": "21"}}]},
        {"toolUses": [CALL], "toolResponses": [{"name": "weather", "response": {"result": "21"}}], "intermediateResponses": []},
        {
            "invocation_events": [
                {"author": "root", "content": {"role": "model", "parts": [{"functionCall": CALL}]}},
                {"author": "root", "content": {"parts": [{"function_response": {"name": "weather", "response": {"result": "21"}}}]}},
            ]
        },
    ],
)
def test_steps_come_between_the_user_and_the_final_response(data: Any) -> None:
    assert messages(case(data)) == [("user", "Weather?"), ("assistant", 'weather(city="Bonn")'), ("tool", "21"), ("assistant", "Sun.")]


def test_a_case_without_steps_has_no_calls() -> None:
    assert messages(case(None)) == [("user", "Weather?"), ("assistant", "Sun.")]


def test_a_conversation_scenario_is_a_scenario() -> None:
    row = {"eval_id": "a", "conversation_scenario": {"starting_prompt": "Hi.", "conversation_plan": "Ask for the weather."}}
    [found] = callmark.load([{"eval_set_id": "s", "eval_cases": [row]}])
    assert isinstance(found, Case)
    assert (found.id, found.instructions, found.expected, found.states_expectation) == ("a", "Hi.\n\nAsk for the weather.", (), False)


@pytest.mark.parametrize(
    "row, sentence",
    [
        (case({"tool_uses_v2": [CALL]}), r"conversation\[0\].intermediate_data: unknown keys: tool_uses_v2"),
        (case({"tool_uses": {"name": "x"}}), "expected a list"),
        (case([]), "expected an object"),
        ({"eval_id": "a", "conversation": None, "conversation_scenario": {}}, "expected a conversation_plan, got nothing"),
        (case({"invocation_events": [{"content": {"role": "narrator", "parts": []}}]}), "role"),
    ],
)
def test_what_is_not_understood_is_refused(row: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load([row]))


def test_a_call_without_a_name_is_malformed() -> None:
    [found] = callmark.load([case({"tool_uses": [{"args": {}, "payload": 1}]})])
    assert [call.malformed for call in found.calls] == ["no name"]
