"""The user with an agenda, in talks with little agents of different wording."""

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
from tests.simulation import desks
from tests.simulation.desks import ITEM_FORM, MEMORY, SERVER, TICKET_FORM, Desk, Form, action_item, lines, scenario, ticket


def converse(desk: Desk, case: Case, style: str = "", *, trial: int = 0, seed: int = 0) -> tuple[list[Message], bool]:
    return asyncio.run(desks.converse(RuleBasedUser(style, seed=seed), desk, case, trial=trial))


def both_forms() -> Form:
    return Form({"ticket": TICKET_FORM, "action item": ITEM_FORM})


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("trial", range(8))
def test_a_form_is_filled_with_what_the_user_wants(style: str, trial: int) -> None:
    desk = both_forms()
    talk, done = converse(desk, scenario(ticket(), action_item()), style, trial=trial)
    assert done
    assert desk.filed == [SERVER, MEMORY]
    assert len(set(lines(talk))) == len(lines(talk))


@pytest.mark.parametrize("style", STYLES)
def test_who_asks_for_everything_at_once_is_told_everything(style: str) -> None:
    talk, done = converse(desks.everything_at_once(), scenario(ticket()), style)
    told = " ".join(lines(talk))
    assert done
    assert [value for value in SERVER.values() if value not in told] == []
    assert len(lines(talk)) <= 4


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("trial", range(4))
def test_what_is_read_back_wrongly_is_corrected_before_it_is_confirmed(style: str, trial: int) -> None:
    desk = Form({"ticket": TICKET_FORM}, spoiled={"priority": "High", "department_code": "HR", "title": "Server trouble"})
    talk, done = converse(desk, scenario(ticket()), style, trial=trial)
    assert done
    assert desk.filed == [SERVER]
    assert any("Critical" in line and "IT" in line and SERVER["title"] in line for line in lines(talk)[7:])


def test_a_value_that_stays_wrong_is_let_be_in_the_end() -> None:
    text = "Title: Server performance degradation\nPriority: Low\nShall I file it?"
    speaker = RuleBasedUser().start_session(scenario(ticket(opening=" ".join(SERVER.values()))), 0)

    async def talk() -> list[str]:
        heard: list[Message] = []
        for number in range(4):
            heard.append(Message("user", (await speaker.next_turn(heard)).text))
            heard.append(Message("assistant", f"{text} ({number})"))
        return lines(heard)

    said = asyncio.run(talk())
    assert ["Critical" in line for line in said[1:]] == [True, True, False]


@pytest.mark.parametrize("style", STYLES)
def test_a_changed_mind_is_told_once_when_a_yes_is_asked_for(style: str) -> None:
    desk = Form({"ticket": TICKET_FORM}, known=["Low"])
    case = scenario(ticket(slots={**SERVER, "priority": "Low"}, changes={"priority": "Critical"}))
    talk, done = converse(desk, case, style)
    said = [number for number, line in enumerate(lines(talk)) if "Critical" in line]
    assert done
    assert desk.filed == [SERVER]
    assert said == [len(lines(talk)) - 3]  # then a yes, then goodbye
    assert any("Low" in line for line in lines(talk)[: said[0]])


def test_a_changed_mind_that_nobody_asked_about_is_told_afterwards() -> None:
    case = scenario(ticket(slots={**SERVER, "priority": "Low"}, changes={"priority": "Critical"}))
    talk, done = converse(desks.hasty(), case)
    assert done
    assert ["Critical" in line for line in lines(talk)] == [False, True, False]


@pytest.mark.parametrize("style", STYLES)
def test_a_refusal_is_accepted_after_insisting_once(style: str) -> None:
    talk, done = converse(desks.refusing(), scenario({"goal": "delete ticket TKT-0004", "slots": {"ticket_id": "TKT-0004"}}), style)
    assert done
    assert len(lines(talk)) == 3
    assert "delete ticket TKT-0004" in lines(talk)[1]
    assert "TKT-0004" not in lines(talk)[2]


def test_after_a_refusal_the_next_task_is_brought_up() -> None:
    form = both_forms()

    def desk(talk: Any) -> str:
        return "That is not possible." if len(lines(talk)) < 3 else form(talk)

    _, done = converse(desk, scenario({"goal": "delete everything"}, ticket()))
    assert done
    assert form.filed == [SERVER]


def test_something_else_instead_of_what_was_refused_is_not_wanted() -> None:
    desk = desks.repeating("I can't delete tickets, but I can close it instead. Shall I close it?")
    talk, done = converse(desk, scenario({"goal": "delete ticket TKT-0004", "slots": {"ticket_id": "TKT-0004"}}))
    assert done
    assert not any(line.casefold().startswith("yes") for line in lines(talk))


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
def test_with_who_says_the_same_for_ever_the_user_gives_up(text: str, style: str) -> None:
    talk, done = converse(desks.repeating(text), scenario(ticket(), action_item()), style)
    assert done
    assert re.search("give up", lines(talk)[-1])
    assert len(lines(talk)) <= 14
    assert len(set(lines(talk))) == len(lines(talk))


def test_the_third_time_the_bare_value_is_given() -> None:
    talk, _ = converse(desks.repeating("Which department?"), scenario(ticket()), "chatty")
    assert lines(talk)[3] == "IT"


def test_an_impatient_user_says_several_things_up_front_and_complains_when_asked_for_them() -> None:
    talk, _ = converse(desks.repeating("Which department?"), scenario(ticket()), "impatient")
    assert SERVER["title"] in lines(talk)[0]
    assert "IT" in lines(talk)[0]
    assert re.search(r"already told|asked me that before|How often", lines(talk)[1])


@pytest.mark.parametrize("style", STYLES)
def test_of_what_is_offered_the_one_that_was_meant_is_picked(style: str) -> None:
    case = scenario({"goal": "close a ticket", "opening": "Please close my ticket about the VPN drops.", "slots": {"status": "Closed"}})
    talk, done = converse(desks.offering(), case, style)
    assert done
    assert "TKT-0007" in lines(talk)[1]
    assert len(lines(talk)) == 3


@pytest.mark.parametrize(
    "asked, answer",
    [
        ("What is your shoe size?", r"know|idea|no preference|no information"),
        ("When is it due?", r"know|no preference|whatever|idea"),
        ("Would you like to receive a newsletter?", r"^No|not needed"),
    ],
)
def test_what_the_user_does_not_know_is_not_made_up(asked: str, answer: str) -> None:
    talk, _ = converse(desks.repeating(asked), scenario(ticket()))
    assert re.search(answer, lines(talk)[1], re.IGNORECASE)


def test_a_ticket_of_an_earlier_task_is_named_by_the_number_that_the_agent_told() -> None:
    replies = iter(
        ["Your ticket TKT-0815 has been created.", "For which ticket is the action item?", "Shall I add it?", "Added the action item."]
    )
    case = scenario(ticket(opening=" ".join(SERVER.values())), action_item(opening=f"I need an action item: {' '.join(MEMORY.values())}"))
    talk, done = converse(lambda _: next(replies), case)
    assert done
    assert "TKT-0815" in lines(talk)[2]


def test_an_agent_that_goes_on_by_itself_is_followed() -> None:
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
    talk, done = converse(lambda _: next(replies), scenario(ticket(opening=" ".join(SERVER.values())), action_item()))
    said = lines(talk)
    assert done
    for line, value in zip(said[1:], [MEMORY["title"], "John Smith", "2025-05-10", MEMORY["description"]], strict=False):
        assert value in line


def test_a_ticket_that_was_found_is_not_yet_changed() -> None:
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
    talk, done = converse(lambda _: next(replies), case)
    assert done
    assert len(lines(talk)) == 5
    assert "Closed" in lines(talk)[1]
    assert re.match(r"\W*(yes|sure|correct|that's right)", lines(talk)[3], re.IGNORECASE)


def test_whether_it_was_understood_at_all_is_answered_without_details() -> None:
    case = scenario(ticket(slots={**SERVER, "priority": "Low"}, changes={"priority": "Critical"}))
    talk, _ = asyncio.run(desks.converse(RuleBasedUser(), lambda _: "So you would like to open a ticket, is that right?", case, most=2))
    assert not any(str(value) in lines(talk)[1] for value in SERVER.values())


def test_an_offer_of_what_comes_next_is_taken() -> None:
    replies = iter(["Created TKT-0001. Would you like to add an action item as well?", "What is its title?"])
    talk, _ = asyncio.run(
        desks.converse(RuleBasedUser(), lambda _: next(replies), scenario(ticket(opening=" ".join(SERVER.values())), action_item()), most=2)
    )
    assert "action item" in lines(talk)[1]


@pytest.mark.parametrize("style", STYLES)
def test_no_goodbye_while_a_yes_is_asked_for(style: str) -> None:
    said = "I've updated the priority. Your draft has been saved. Shall I create the ticket now, or is there anything else?"
    speaker = RuleBasedUser(style).start_session(scenario(ticket(opening=" ".join(SERVER.values()))), 0)

    async def talk() -> Any:
        first = await speaker.next_turn([])
        return await speaker.next_turn([Message("user", first.text), Message("assistant", said)])

    answer = asyncio.run(talk())
    assert not answer.done
    assert re.match(r"(yes|yep|correct|sure|that's right|right|ok)", answer.text, re.IGNORECASE)


def test_what_was_never_asked_for_is_told_before_a_yes() -> None:
    replies = iter(["Noted. Shall I add the action item?", "Fine. Shall I add it now?", "It has been added."])
    talk, done = converse(lambda _: next(replies), scenario(action_item(opening=f"An action item, please: {MEMORY['title']}")))
    assert done
    assert "John Smith" in lines(talk)[1]
    assert "2025-05-10" in lines(talk)[1]
    assert MEMORY["title"] not in lines(talk)[1]
    assert "John Smith" not in lines(talk)[2]


def test_the_scenarios_own_words_are_used() -> None:
    case = scenario(
        ticket(opening="Hi, the server is slow again, I want a ticket.", says={"priority": "as urgent as it gets"}), closing="Cheers, bye."
    )
    replies = iter(["How urgent is it?", "It has been created. Anything else?"])
    talk, done = converse(lambda _: next(replies), case)
    assert done
    assert lines(talk)[0] == "Hi, the server is slow again, I want a ticket."
    assert "as urgent as it gets" in lines(talk)[1].casefold()
    assert lines(talk)[2] == "Cheers, bye."


def test_a_seed_decides_the_words_and_nothing_else_does() -> None:
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


def test_talks_at_the_same_time_do_not_touch_each_other() -> None:
    user = RuleBasedUser()
    case = scenario(ticket(), action_item())

    async def one(trial: int) -> list[Message]:
        return (await desks.converse(user, both_forms(), case, trial=trial))[0]

    async def together() -> list[list[Message]]:
        return list(await asyncio.gather(*map(one, range(10))))

    assert asyncio.run(together()) == [asyncio.run(one(trial)) for trial in range(10)]


def test_the_style_is_the_scenarios_unless_one_is_asked_for() -> None:
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


def test_without_tasks_the_expected_calls_make_them() -> None:
    first, second = read_tasks(EXPECTED)
    assert (first.goal, second.goal) == ("create a support ticket", "create an action item")
    assert {name: slot.value for name, slot in first.slots.items()} == SERVER
    assert {name: slot.value for name, slot in second.slots.items()} == MEMORY
    desk = both_forms()
    assert converse(desk, EXPECTED)[1]
    assert desk.filed == [SERVER, MEMORY]


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
def test_a_matcher_becomes_a_value_that_a_user_could_know(wanted: Any, value: Any) -> None:
    (task,) = read_tasks(Case("c", instructions="…", expected=(Call("f", {"it": wanted, "other": 1}),)))
    assert (task.slots["it"].value if "it" in task.slots else None) == value


def test_without_expected_calls_what_is_wanted_is_what_the_description_says() -> None:
    talk, done = converse(desks.refusing(), Case("c", instructions="…", description="Please delete all tickets"))
    assert done
    assert "Please delete all tickets" in lines(talk)[0]


@pytest.mark.parametrize(
    "data, said",
    [
        ({"tasks": []}, "data.tasks is an empty list, at least one task"),
        ({"tasks": "x"}, "data.tasks is text, a list was expected"),
        ({"tasks": [1]}, r"data.tasks\[0\] is a number, an object"),
        ({"tasks": [{"goal": "x"}, {"gaol": "x"}]}, r"data.tasks\[1\]: there is no field called 'gaol'. Did you mean goal"),
        ({"tasks": [{}]}, "no goal, no opening and no slots"),
        ({"tasks": [{"goal": 1}]}, "goal"),
        (
            {"tasks": [{"goal": "x", "slots": {"priority": 1}, "changes": {"prioritty": 2}}]},
            "no slot called 'prioritty'. Did you mean priority",
        ),
        ({"tasks": [{"goal": "x", "slots": []}]}, "slots"),
        ({"style": "chaty"}, "data.style is 'chaty'.*Did you mean chatty"),
        ({"closing": 1}, "data.closing is a number, text"),
    ],
)
def test_data_that_cannot_be_used_says_where(data: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=f"^bad: .*{said}"):
        RuleBasedUser().start_session(Case("bad", instructions="…", expected=EXPECTED.expected, data=data), 0)


@given(
    st.lists(st.text(max_size=80) | st.sampled_from(["Shall I create it?", "Which department?", "Done.", "Title: x\nOK?"]), max_size=12),
    st.sampled_from(STYLES),
)
def test_whatever_is_said_no_line_is_said_twice_and_none_is_empty(replies: list[str], style: str) -> None:
    waiting = iter(replies)
    talk, _ = converse(lambda _: next(waiting, "Fine."), scenario(ticket(), action_item()), style)
    said = lines(talk)
    assert all(line.strip() for line in said)
    assert len(set(said)) == len(said)


def test_a_megabyte_is_listened_to_without_haste() -> None:
    for text in ("Which department? " * 60_000, "<td>" * 250_000, "a-" * 500_000, "priority: " * 100_000 + "OK?"):
        _, done = converse(desks.repeating(text), scenario(ticket()))
        assert done


def test_tools_tell_the_values_that_there_are() -> None:
    tool = Tool("open", "", {"type": "object", "properties": {"grade": {"type": "string", "enum": ["gold", "silver"]}}})
    case = Case("c", (), (tool,), instructions="…", expected=(Call("open", {"grade": "gold"}),))
    replies = iter(["Gold or silver?", "So a silver grade account, right?", "Fine, gold. Right?", "It has been opened."])
    talk, done = converse(lambda _: next(replies), case)
    assert done
    assert ["gold" in line.casefold() for line in lines(talk)] == [False, True, True, False, False]
