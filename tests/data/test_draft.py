"""What a draft expects: calls that change something, and matchers for values that another run would not repeat."""

from typing import Any

import pytest

from callmark.data.draft import draft_scenario
from callmark.errors import BadInput
from callmark.formats.scenarios import write
from callmark.simulation.tool_lists.verbs import only_reads
from callmark.types import Call, Case, Conversation, Message, Tool

UUID = "0af76519-16cd-43dd-8448-eb211c80319c"


def conversation(*messages: Message, tools: tuple[Tool, ...] = ()) -> Conversation:
    return Conversation("c", messages, tools)


def made(name: str, arguments: dict[str, Any], result: str, call_id: str = "1") -> tuple[Message, Message]:
    return Message("assistant", "", (Call(name, arguments, call_id),)), Message("tool", result, (), call_id, name)


def draft(*messages: Message, tools: tuple[Tool, ...] = ()) -> Case:
    return draft_scenario(conversation(*messages, tools=tools), only_reads).case


ASK = Message("user", "Open a ticket for pump 7, please.")


@pytest.mark.parametrize(
    "value, result, expected",
    [
        pytest.param("TKT-1042", '{"id": "TKT-1042"}', {"$glob": "TKT-*"}, id="an id that a call has made"),
        pytest.param("#W0042", '{"id": "#W0042"}', {"$glob": "#W*"}, id="an id with a short start"),
        pytest.param("8f3a", '{"id": "8f3a"}', {"$any": True}, id="an id without a fixed start"),
        pytest.param(1042, '{"id": 1042}', {"$any": True}, id="a number that a call has made"),
        pytest.param("open", '{"status": "open"}', "open", id="a word that a call has made"),
        pytest.param(UUID, "{}", {"$regex": "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"}, id="a UUID"),
        pytest.param("2026-05-01T12:30:00Z", "{}", {"$any": True}, id="a date with a time"),
        pytest.param("2026-05-01", "{}", "2026-05-01", id="a day"),
        pytest.param("the pump in hall two leaks", "{}", {"$text": "the pump in hall two leaks", "$ratio": 0.6}, id="a long text"),
        pytest.param("pump 7", '{"pump": "pump 7"}', "pump 7", id="what the user said"),
        pytest.param({"$any": True}, "{}", {"$literal": {"$any": True}}, id="a value that looks like a matcher"),
        pytest.param(["TKT-1042"], '{"id": "TKT-1042"}', [{"$glob": "TKT-*"}], id="an id in a list"),
    ],
)
def test_values_that_vary_become_matchers(value: Any, result: str, expected: Any) -> None:
    case = draft(ASK, *made("create_ticket", {}, result), *made("add_note", {"value": value}, "ok", "2"))
    assert case.expected[1].arguments == {"value": expected}


def test_an_id_that_a_lookup_found_is_expected_as_it_is() -> None:
    case = draft(ASK, *made("find_pump", {"number": 7}, '{"id": "P-7001"}'), *made("close_pump", {"id": "P-7001"}, "ok", "2"))
    assert [str(call) for call in case.expected] == ['close_pump(id="P-7001")']


def test_calls_that_only_read_that_failed_or_are_malformed_are_not_expected() -> None:
    tools = (Tool("send", read_only=True), Tool("get_pump"))
    broken = Message("assistant", "", (Call("create_ticket", malformed="not JSON", text="{"),))
    found = draft_scenario(
        conversation(
            ASK,
            *made("get_pump", {}, "{}"),
            *made("send", {}, "ok"),
            *made("create_ticket", {"a": 1}, '{"error": "no access"}', "3"),
            broken,
            *made("create_ticket", {"a": 2}, "ok", "4"),
            tools=tools,
        ),
        only_reads,
    )
    assert [str(call) for call in found.case.expected] == ["create_ticket(a=2)"]
    assert found.reading == {"get_pump", "send"}
    assert found.left_out == {"calls that failed": 1, "malformed calls": 1}


def test_a_tool_whose_name_has_no_verb_may_change_something() -> None:
    assert [call.name for call in draft(ASK, *made("pump_valve", {}, "ok")).expected] == ["pump_valve"]


def test_a_draft_is_a_scenario_with_the_words_of_the_user() -> None:
    case = draft(ASK, *made("create_ticket", {}, "ok"), Message("assistant", "Done."), Message("user", "Thanks, bye."))
    assert case.data == {"script": ["Open a ticket for pump 7, please.", "Thanks, bye."]}
    assert case.scenario_type == "draft"
    assert b'"scenarioType":"draft"' in write(case)


def test_a_conversation_without_a_user_is_refused() -> None:
    with pytest.raises(BadInput, match="c: the user says nothing"):
        draft(Message("assistant", "Hello."))
