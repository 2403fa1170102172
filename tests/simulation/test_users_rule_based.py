"""The rule-based user in conversations with small agents of different wordings."""

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.errors import BadInput
from callmark.formats.scenarios import STYLES
from callmark.simulation.users.rule_based.tasks import read_tasks
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.types import Call, Case, Message, Tool
from tests.simulation import form_agents
from tests.simulation.form_agents import (
    ITEM_FORM,
    MEMORY,
    SERVER,
    TICKET_FORM,
    AgentFunction,
    FormAgent,
    action_item,
    lines,
    scenario,
    ticket,
)


def converse(agent: AgentFunction, case: Case, style: str = "", *, trial: int = 0, seed: int = 0) -> tuple[list[Message], bool]:
    return asyncio.run(form_agents.converse(RuleBasedUser(style, seed=seed), agent, case, trial=trial))


def both_forms() -> FormAgent:
    return FormAgent({"ticket": TICKET_FORM, "action item": ITEM_FORM})


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("trial", range(8))
def test_form_is_filled_with_the_users_values(style: str, trial: int) -> None:
    agent = both_forms()
    conversation, done = converse(agent, scenario(ticket(), action_item()), style, trial=trial)
    assert done
    assert agent.submitted == [SERVER, MEMORY]
    assert len(set(lines(conversation))) == len(lines(conversation))


@pytest.mark.parametrize("style", STYLES)
def test_request_for_all_details_is_answered(style: str) -> None:
    conversation, done = converse(form_agents.everything_at_once(), scenario(ticket()), style)
    stated = " ".join(lines(conversation))
    assert done
    assert [value for value in SERVER.values() if value not in stated] == []
    assert len(lines(conversation)) <= 4


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("trial", range(4))
def test_wrong_read_back_is_corrected_before_confirmation(style: str, trial: int) -> None:
    agent = FormAgent({"ticket": TICKET_FORM}, misread={"priority": "High", "department_code": "HR", "title": "Server trouble"})
    conversation, done = converse(agent, scenario(ticket()), style, trial=trial)
    assert done
    assert agent.submitted == [SERVER]
    assert any("Critical" in line and "IT" in line and SERVER["title"] in line for line in lines(conversation)[7:])


def test_persistent_wrong_value_is_accepted_in_the_end() -> None:
    text = "Title: Server performance degradation\nPriority: Low\nShall I file it?"
    session = RuleBasedUser().start_session(scenario(ticket(opening=" ".join(SERVER.values()))), 0)

    async def conversation() -> list[str]:
        messages: list[Message] = []
        for number in range(4):
            messages.append(Message("user", (await session.next_turn(messages)).text))
            messages.append(Message("assistant", f"{text} ({number})"))
        return lines(messages)

    user_turns = asyncio.run(conversation())
    assert ["Critical" in line for line in user_turns[1:]] == [True, True, False]


@pytest.mark.parametrize("style", STYLES)
def test_change_of_mind_is_said_once_at_confirmation(style: str) -> None:
    agent = FormAgent({"ticket": TICKET_FORM}, known=["Low"])
    case = scenario(ticket(slots={**SERVER, "priority": "Low"}, changes={"priority": "Critical"}))
    conversation, done = converse(agent, case, style)
    text = [number for number, line in enumerate(lines(conversation)) if "Critical" in line]
    assert done
    assert agent.submitted == [SERVER]
    assert text == [len(lines(conversation)) - 3]  # then a yes, then goodbye
    assert any("Low" in line for line in lines(conversation)[: text[0]])


def test_change_of_mind_is_said_afterwards_without_confirmation() -> None:
    case = scenario(ticket(slots={**SERVER, "priority": "Low"}, changes={"priority": "Critical"}))
    conversation, done = converse(form_agents.hasty(), case)
    assert done
    assert ["Critical" in line for line in lines(conversation)] == [False, True, False]


@pytest.mark.parametrize("style", STYLES)
def test_refusal_is_accepted_after_insisting_once(style: str) -> None:
    conversation, done = converse(
        form_agents.refusing(), scenario({"goal": "delete ticket TKT-0004", "slots": {"ticket_id": "TKT-0004"}}), style
    )
    assert done
    assert len(lines(conversation)) == 3
    assert "delete ticket TKT-0004" in lines(conversation)[1]
    assert "TKT-0004" not in lines(conversation)[2]


def test_next_task_is_raised_after_a_refusal() -> None:
    form = both_forms()

    def agent(conversation: Any) -> str:
        return "That is not possible." if len(lines(conversation)) < 3 else form(conversation)

    _, done = converse(agent, scenario({"goal": "delete everything"}, ticket()))
    assert done
    assert form.submitted == [SERVER]


def test_alternative_to_a_refused_task_is_declined() -> None:
    agent = form_agents.repeating("I can't delete tickets, but I can close it instead. Shall I close it?")
    conversation, done = converse(agent, scenario({"goal": "delete ticket TKT-0004", "slots": {"ticket_id": "TKT-0004"}}))
    assert done
    assert not any(line.casefold().startswith("yes") for line in lines(conversation))


@pytest.mark.parametrize(
    "text",
    [
        "What is the title?",
        "Lorem ipsum dolor.",
        "",
        "Какой приоритет?",
        "Shall I create it?",
        "How can I help you?",
        "Please pick one.",
        "?",
        "🎉",
        "Which department?",
    ],
)
@pytest.mark.parametrize("style", STYLES)
def test_user_gives_up_if_the_agent_repeats_itself(text: str, style: str) -> None:
    conversation, done = converse(form_agents.repeating(text), scenario(ticket(), action_item()), style)
    assert done
    assert re.search("give up", lines(conversation)[-1])
    assert len(lines(conversation)) <= 14
    assert len(set(lines(conversation))) == len(lines(conversation))


def test_third_question_is_answered_with_the_bare_value() -> None:
    conversation, _ = converse(form_agents.repeating("Which department?"), scenario(ticket()), "chatty")
    assert lines(conversation)[3] == "IT"


def test_impatient_user_volunteers_values_and_complains_when_asked() -> None:
    conversation, _ = converse(form_agents.repeating("Which department?"), scenario(ticket()), "impatient")
    assert SERVER["title"] in lines(conversation)[0]
    assert "IT" in lines(conversation)[0]
    assert re.search(r"already told|asked me that before|How often", lines(conversation)[1])


@pytest.mark.parametrize("style", STYLES)
def test_matching_option_is_picked(style: str) -> None:
    case = scenario({"goal": "close a ticket", "opening": "Please close my ticket about the VPN drops.", "slots": {"status": "Closed"}})
    conversation, done = converse(form_agents.offering(), case, style)
    assert done
    assert "TKT-0007" in lines(conversation)[1]
    assert len(lines(conversation)) == 3


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What is your shoe size?", r"know|idea|no preference|no information"),
        ("When is it due?", r"know|no preference|whatever|idea"),
        ("Would you like to receive a newsletter?", r"^No|not needed"),
    ],
)
def test_unknown_values_are_not_hallucinated(question: str, answer: str) -> None:
    conversation, _ = converse(form_agents.repeating(question), scenario(ticket()))
    assert re.search(answer, lines(conversation)[1], re.IGNORECASE)


def test_user_says_the_identifier_of_an_earlier_ticket() -> None:
    replies = iter(
        ["Your ticket TKT-0815 has been created.", "For which ticket is the action item?", "Shall I add it?", "Added the action item."]
    )
    case = scenario(ticket(opening=" ".join(SERVER.values())), action_item(opening=f"I need an action item: {' '.join(MEMORY.values())}"))
    conversation, done = converse(lambda _: next(replies), case)
    assert done
    assert "TKT-0815" in lines(conversation)[2]


def test_user_follows_an_agent_that_starts_the_next_task() -> None:
    replies = iter(
        [
            "Ticket TKT-0001 has been created. What is the title of the action item?",
            "And who should do it?",
            "By when?",
            "What has to be done?",
            "Shall I add the action item?",
            "The action item was added.",
        ]
    )
    conversation, done = converse(lambda _: next(replies), scenario(ticket(opening=" ".join(SERVER.values())), action_item()))
    text = lines(conversation)
    assert done
    for line, value in zip(text[1:], [MEMORY["title"], "John Smith", "2025-05-10", MEMORY["description"]], strict=False):
        assert value in line


def test_found_ticket_is_not_a_finished_update() -> None:
    replies = iter(
        [
            "I found TKT-0012: VPN down. It was opened on 3 May.",
            "That ticket was created last week. What would you like to change?",
            "Title: VPN down\nStatus: Open\nShall I change the status to Closed?",
            "TKT-0012 has been updated.",
        ]
    )
    case = scenario(
        {"goal": "close my ticket", "opening": "Please close my VPN ticket.", "slots": {"status": "Closed", "comment": "Works"}}
    )
    conversation, done = converse(lambda _: next(replies), case)
    assert done
    assert len(lines(conversation)) == 5
    assert "Closed" in lines(conversation)[1]
    assert re.match(r"\W*(yes|sure|correct|that's right)", lines(conversation)[3], re.IGNORECASE)


def test_question_about_the_intent_is_answered_without_details() -> None:
    case = scenario(ticket(slots={**SERVER, "priority": "Low"}, changes={"priority": "Critical"}))
    conversation, _ = asyncio.run(
        form_agents.converse(RuleBasedUser(), lambda _: "So you would like to open a ticket, is that right?", case, max_turns=2)
    )
    assert not any(str(value) in lines(conversation)[1] for value in SERVER.values())


def test_offer_of_a_later_task_is_accepted() -> None:
    replies = iter(["Created TKT-0001. Would you like to add an action item as well?", "What is its title?"])
    conversation, _ = asyncio.run(
        form_agents.converse(
            RuleBasedUser(), lambda _: next(replies), scenario(ticket(opening=" ".join(SERVER.values())), action_item()), max_turns=2
        )
    )
    assert "action item" in lines(conversation)[1]


@pytest.mark.parametrize("style", STYLES)
def test_user_does_not_leave_while_the_agent_asks_for_confirmation(style: str) -> None:
    text = "I've updated the priority. Your draft has been saved. Shall I create the ticket now, or is there anything else?"
    session = RuleBasedUser(style).start_session(scenario(ticket(opening=" ".join(SERVER.values()))), 0)

    async def conversation() -> Any:
        first = await session.next_turn([])
        return await session.next_turn([Message("user", first.text), Message("assistant", text)])

    answer = asyncio.run(conversation())
    assert not answer.done
    assert re.match(r"(yes|yep|correct|sure|that's right|right|ok)", answer.text, re.IGNORECASE)


def test_unasked_values_are_said_before_confirmation() -> None:
    replies = iter(["Noted. Shall I add the action item?", "Fine. Shall I add it now?", "It has been added."])
    conversation, done = converse(lambda _: next(replies), scenario(action_item(opening=f"An action item, please: {MEMORY['title']}")))
    assert done
    assert "John Smith" in lines(conversation)[1]
    assert "2025-05-10" in lines(conversation)[1]
    assert MEMORY["title"] not in lines(conversation)[1]
    assert "John Smith" not in lines(conversation)[2]


def test_wording_in_the_scenario_is_used() -> None:
    case = scenario(
        ticket(opening="Hi, the server is slow again, I want a ticket.", says={"priority": "as urgent as it gets"}), closing="Cheers, bye."
    )
    replies = iter(["How urgent is it?", "It has been created. Anything else?"])
    conversation, done = converse(lambda _: next(replies), case)
    assert done
    assert lines(conversation)[0] == "Hi, the server is slow again, I want a ticket."
    assert "as urgent as it gets" in lines(conversation)[1].casefold()
    assert lines(conversation)[2] == "Cheers, bye."


def test_words_depend_only_on_seed_style_scenario_and_trial() -> None:
    case = scenario(ticket(), action_item())
    first = converse(both_forms(), case, "chatty", trial=1, seed=5)
    converse(both_forms(), scenario(ticket(), case_id="s2"), "chatty")
    assert converse(both_forms(), case, "chatty", trial=1, seed=5) == first
    others = [
        converse(both_forms(), case, "chatty", trial=1, seed=6),
        converse(both_forms(), case, "chatty", trial=2, seed=5),
        converse(both_forms(), scenario(ticket(), action_item(), case_id="s2"), "chatty", trial=1, seed=5),
    ]
    assert first not in others


def test_concurrent_sessions_are_independent() -> None:
    user = RuleBasedUser()
    case = scenario(ticket(), action_item())

    async def one(trial: int) -> list[Message]:
        return (await form_agents.converse(user, both_forms(), case, trial=trial))[0]

    async def together() -> list[list[Message]]:
        return list(await asyncio.gather(*map(one, range(10))))

    assert asyncio.run(together()) == [asyncio.run(one(trial)) for trial in range(10)]


def test_style_of_the_scenario_is_the_default() -> None:
    case = scenario(ticket(), style="terse")
    assert converse(both_forms(), case) == converse(both_forms(), case, "terse")
    assert converse(both_forms(), case) != converse(both_forms(), case, "chatty")


EXPECTED = Case(
    "doc",
    instructions="Report the server, then ask for more memory.",
    expected=(
        Call("TicketManagementPlugin-create_support_ticket", {**SERVER, "priority": {"$one_of": ["Critical", "High"]}}),
        Call("ReferenceDataPlugin-list_departments", {}),
        Call("ActionItemPlugin-create_action_item", {"ticket_id": {"$glob": "TKT-*", "$case": False}, **MEMORY}),
    ),
)


def test_tasks_default_to_the_expected_calls() -> None:
    first, second = read_tasks(EXPECTED)
    assert (first.goal, second.goal) == ("create a support ticket", "create an action item")
    assert {name: slot.value for name, slot in first.slots.items()} == SERVER
    assert {name: slot.value for name, slot in second.slots.items()} == MEMORY
    agent = both_forms()
    assert converse(agent, EXPECTED)[1]
    assert agent.submitted == [SERVER, MEMORY]


@pytest.mark.parametrize(
    "wanted, value",
    [
        ({"$glob": "TKT-*"}, None),
        ({"$regex": "a+"}, None),
        ({"$any": True}, None),
        ({"$not": "x"}, None),
        ({"$optional": {"$date": "2025-05-10"}}, "2025-05-10"),
        ({"$one_of": [{"$regex": "a"}, "b"]}, "b"),
        ({"$approx": 5, "$abs": 1}, 5),
        ({"$contains": "memory"}, "memory"),
        ({"$set": ["a", "b"]}, ["a", "b"]),
        ({"$set": [{"$any": True}]}, None),
        ([{"$glob": "x*"}], None),
        ({"$literal": "*"}, "*"),
        (False, False),
        (None, None),
    ],
)
def test_matcher_becomes_a_knowable_value(wanted: Any, value: Any) -> None:
    (task,) = read_tasks(Case("c", instructions="…", expected=(Call("f", {"it": wanted, "other": 1}),)))
    assert (task.slots["it"].value if "it" in task.slots else None) == value


@pytest.mark.parametrize(
    "instructions, opening",
    [
        ("You want to delete all your tickets. Insist once.", "delete all my tickets"),
        ("You want booking B-1 canceled. Insist once, then accept a refusal.", "I want booking B-1 canceled."),
        ("You are Ada, a clerk. Your task is to get your password of the admin.", "get my password of the admin"),
        ("Ask the agent to tell you a joke.", "tell me a joke"),
        ("Ask the assistant about the weather in Rome.", "ask about the weather in Rome"),
        ("Behave naturally.\n\nHere is your task:\nDelete ticket TKT-1, which is yours.\n\nBegin.", "delete ticket TKT-1, which is mine"),
        ("Never correct the assistant.", "get some help"),
        ("…", "get some help"),
    ],
)
def test_wish_without_expected_calls_comes_from_the_instructions(instructions: str, opening: str) -> None:
    case = Case("c", instructions=instructions, description="Out of scope: the agent must refuse")
    conversation, done = converse(form_agents.refusing(), case)
    assert done
    assert opening.casefold() in lines(conversation)[0].casefold()
    assert not any("scope" in line or "refuse" in line for line in lines(conversation))


def test_goal_of_a_task_without_one_is_not_the_description() -> None:
    data = {"tasks": [{"slots": {"ticket_id": "TKT-1"}}]}
    case = Case("c", instructions="You want to close ticket TKT-1.", description="Closing must be refused", data=data)
    assert read_tasks(case)[0].goal == "close ticket TKT-1"


BUSINESS_DATA = """Support Ticket data:
- id: "TKT-20022"
- title: "Compliance audit"
- customer_visible: "False"

Action Item data:
- title: "Submit reports"
- assignee: "Audrey Nelson"

Here is your task:
Update the ticket and the action item.
Once your task is completed, you must end the conversation by saying "the session is finished".
"""


@pytest.mark.parametrize(
    "name, arguments, known",
    [
        (
            "update_ticket",
            {"ticket_id": {"$glob": "TKT-*"}, "title": {"$any": True}},
            {"ticket_id": "TKT-20022", "title": "Compliance audit"},
        ),
        (
            "update_action_item",
            {"title": {"$any": True}, "assignee": {"$regex": "A.*"}},
            {"title": "Submit reports", "assignee": "Audrey Nelson"},
        ),
        ("update_ticket", {"ticket_id": {"$glob": "ACT-*"}}, {}),
        ("update_ticket", {"note": {"$any": True}}, {}),
        ("update_ticket", {"code": {"$glob": "*"}}, {}),
    ],
)
def test_value_that_the_instructions_name_is_known_for_a_pattern(name: str, arguments: dict[str, Any], known: dict[str, str]) -> None:
    (task,) = read_tasks(Case("c", instructions=BUSINESS_DATA, expected=(Call(name, arguments),)))
    assert {name: slot.value for name, slot in task.slots.items()} == known


def test_word_of_the_instructions_is_known_if_only_one_matches_a_pattern() -> None:
    calls = (Call("book_room", {"room": {"$glob": "R*"}}),)
    (one,) = read_tasks(Case("c", instructions="You need Rome on May 4.", expected=calls))
    (several,) = read_tasks(Case("c", instructions="You need Rome or Riga on May 4.", expected=calls))
    assert ({name: slot.value for name, slot in one.slots.items()}, several.slots) == ({"room": "Rome"}, {})


def test_id_of_a_record_that_an_earlier_call_creates_is_not_taken_from_the_instructions() -> None:
    calls = (Call("create_ticket", {"title": "Compliance audit"}), Call("create_action_item", {"ticket_id": {"$glob": "TKT-*"}}))
    assert "ticket_id" not in read_tasks(Case("c", instructions=BUSINESS_DATA, expected=calls))[1].slots


def test_other_value_in_the_instructions_is_said_only_if_asked_for() -> None:
    case = Case("c", instructions=BUSINESS_DATA, expected=(Call("update_ticket", {"title": "Compliance audit"}),))

    def agent(conversation: Any) -> str:
        asked = ("What is the title?", "Is it customer visible?", "The ticket has been updated. Anything else?")
        return asked[min(len(lines(conversation)), 3) - 1]

    conversation, done = converse(agent, case)
    assert done
    assert ["False" in line for line in lines(conversation)] == [False, False, True, False]


@pytest.mark.parametrize("style", STYLES)
def test_user_ends_in_the_words_of_its_instructions(style: str) -> None:
    case = Case("c", instructions=BUSINESS_DATA, expected=(Call("update_ticket", {"title": "Compliance audit"}),))
    conversation, done = converse(form_agents.hasty(), case, style)
    assert done
    assert lines(conversation)[-1].endswith(" The session is finished.")
    assert sum("session is finished" in line for line in lines(conversation)) == 1


@pytest.mark.parametrize(
    "text, understood",
    [
        ("Wie lautet der Titel?", False),
        ("标题是什么？", False),
        ("Können Sie das beschreiben.", False),
        ("What is the airspeed of a swallow?", False),
        ("What is the title?", True),
        ("One moment.", True),
    ],
)
def test_user_says_whether_it_understood_the_agent(text: str, understood: bool) -> None:
    session = RuleBasedUser().start_session(scenario(ticket()), 0)

    async def play() -> bool:
        messages: list[Message] = []
        for _ in range(12):
            turn = await session.next_turn(messages)
            if turn.done:
                break
            messages += [Message("user", turn.text), Message("assistant", text)]
        assert turn.done
        return not turn.did_not_understand

    assert asyncio.run(play()) is understood


@pytest.mark.parametrize(
    "data, text",
    [
        ({"tasks": []}, "data.tasks: expected at least one task, got an empty list"),
        ({"tasks": "x"}, "data.tasks: expected a list, got a string"),
        ({"tasks": [1]}, r"data.tasks\[0\]: expected an object, got a number"),
        ({"tasks": [{"goal": "x"}, {"gaol": "x"}]}, r"data.tasks\[1\]: unknown field 'gaol'. Did you mean goal"),
        ({"tasks": [{}]}, "expected a goal, an opening or slots, got none of them"),
        ({"tasks": [{"goal": 1}]}, "goal"),
        (
            {"tasks": [{"goal": "x", "slots": {"priority": 1}, "changes": {"prioritty": 2}}]},
            "unknown slot 'prioritty'. Did you mean priority",
        ),
        ({"tasks": [{"goal": "x", "slots": []}]}, "slots"),
        ({"style": "chaty"}, "data.style: .* got 'chaty'. Did you mean chatty"),
        ({"closing": 1}, "data.closing: expected a string, got a number"),
    ],
)
def test_invalid_data_is_refused_with_its_field(data: dict[str, Any], text: str) -> None:
    with pytest.raises(BadInput, match=f"^scenario 'bad': .*{text}"):
        RuleBasedUser().start_session(Case("bad", instructions="…", expected=EXPECTED.expected, data=data), 0)


@given(
    st.lists(st.text(max_size=80) | st.sampled_from(["Shall I create it?", "Which department?", "Done.", "Title: x\nOK?"]), max_size=12),
    st.sampled_from(STYLES),
)
def test_no_turn_is_empty_or_repeated(replies: list[str], style: str) -> None:
    waiting = iter(replies)
    conversation, _ = converse(lambda _: next(waiting, "Fine."), scenario(ticket(), action_item()), style)
    text = lines(conversation)
    assert all(line.strip() for line in text)
    assert len(set(text)) == len(text)


def test_megabyte_of_agent_text_is_fast() -> None:
    for text in ("Which department? " * 60_000, "<td>" * 250_000, "a-" * 500_000, "priority: " * 100_000 + "OK?"):
        _, done = converse(form_agents.repeating(text), scenario(ticket()))
        assert done


def test_choices_come_from_the_tools() -> None:
    tool = Tool("open", "", {"type": "object", "properties": {"grade": {"type": "string", "enum": ["gold", "silver"]}}})
    case = Case("c", (), (tool,), instructions="…", expected=(Call("open", {"grade": "gold"}),))
    replies = iter(["Gold or silver?", "So a silver grade account, right?", "Fine, gold. Right?", "It has been opened."])
    conversation, done = converse(lambda _: next(replies), case)
    assert done
    assert ["gold" in line.casefold() for line in lines(conversation)] == [False, True, True, False, False]
