"""Why a conversation ends."""

import asyncio

import pytest

from callmark.models.model import ModelError
from callmark.simulation.endings import COMPLETED, GOODBYE, NO_PROGRESS, TRANSFER, EndingDetector, StateCheck, is_judged_yes
from callmark.simulation.session import Predict, Session, State, ToolResult, UserTurn
from callmark.types import Call, Case, Message, Prediction, Tool, Usage

CONFIRMED = "The user has confirmed the end of the session"
CREATED = "A ticket exists"


class NoToolSource:
    tools: tuple[Tool, ...] = ()

    async def call(self, call: Call) -> ToolResult:
        return ToolResult("")

    async def state(self) -> State | None:
        return None


def scenario(completion: str = CREATED, *expected: str) -> Case:
    return Case("s1", instructions="…", completion=completion, expected=tuple(Call(name, {}) for name in expected))


def new_talk(case: Case, *messages: Message) -> Session:
    return Session(case, 2, NoToolSource(), list(messages))


def judge(*answers: str) -> tuple[Predict, list[Case]]:
    asked: list[Case] = []

    async def ask(case: Case, trial: int) -> Prediction:
        asked.append(case)
        return Prediction(case.id, trial, text=answers[min(len(asked), len(answers)) - 1], usage=Usage(1.0, 7, 1))

    return ask, asked


def reached(answer: bool | None) -> StateCheck:
    async def look() -> bool | None:
        return answer

    return look


def played(endings: EndingDetector, talk: Session, *turns: tuple[str, str] | tuple[str, str, str]) -> list[str]:
    """The endings after each turn of the agent: what the user says, what the agent says, what it calls (if anything)."""

    async def play() -> list[str]:
        found = []
        for said, answer, *called in turns:
            talk.messages.append(Message("user", said))
            after_user = await endings.after_user(talk, UserTurn(said))
            if called:
                talk.messages += [Message("assistant", "", (Call(called[0], {}, "c"),)), Message("tool", "ok", (), "c")]
            talk.messages.append(Message("assistant", answer))
            found.append(after_user or await endings.after_agent(talk))
        return found

    return asyncio.run(play())


def left(endings: EndingDetector, talk: Session, text: str = "Goodbye!") -> str:
    return asyncio.run(endings.after_user(talk, UserTurn(text, True)))


SAID = (Message("user", "Hi"), Message("assistant", "Hello"))


@pytest.mark.parametrize(
    "completion, known, ending",
    [
        (CONFIRMED, None, COMPLETED),
        (CONFIRMED, False, COMPLETED),
        ("The customer says goodbye", False, COMPLETED),
        (CREATED, True, COMPLETED),
        (CREATED, False, GOODBYE),
        (CREATED, None, COMPLETED),
        ("", None, GOODBYE),
        ("", True, COMPLETED),
        ("", False, GOODBYE),
    ],
)
def test_a_user_who_is_done_has_completed_the_task_or_not(completion: str, known: bool | None, ending: str) -> None:
    case = scenario(completion)
    assert left(EndingDetector(case, is_state_reached=reached(known)), new_talk(case, *SAID)) == ending


def test_without_anything_known_of_states_words_decide() -> None:
    case = scenario(CREATED)
    assert left(EndingDetector(case), new_talk(case, *SAID)) == COMPLETED


def test_nothing_is_completed_before_the_agent_has_said_anything() -> None:
    case = scenario(CONFIRMED)
    ask, asked = judge("YES")
    assert left(EndingDetector(case), new_talk(case, Message("user", "Bye"))) == GOODBYE
    assert left(EndingDetector(case, judge=ask), new_talk(case, Message("user", "Bye"))) == GOODBYE
    assert not asked


@pytest.mark.parametrize("words", ["We are getting nowhere, so I give up. Goodbye.", "This is going round in circles. Bye."])
def test_a_user_who_gives_up_has_completed_nothing(words: str) -> None:
    case = scenario(CONFIRMED)
    assert left(EndingDetector(case, is_state_reached=reached(True)), new_talk(case, *SAID), words) == NO_PROGRESS


def test_a_judge_is_asked_after_every_turn_of_the_agent_and_when_the_user_is_done() -> None:
    ask, asked = judge("NO", "No, not yet.", "YES")
    case = scenario(CREATED)
    talk = new_talk(case)
    endings = EndingDetector(case, judge=ask, is_state_reached=reached(False))
    assert played(endings, talk, ("Hi", "Hello", "create_ticket"), ("A ticket, please", "Which?")) == ["", ""]
    assert left(endings, talk) == COMPLETED
    assert len({case.id for case in asked}) == 3
    assert talk.usage == Usage(3.0, 21, 3, None, 3)
    system, question = asked[1].messages
    assert (system.role, question.role) == ("system", "user")
    assert CREATED in question.text
    assert "User: A ticket, please\nAssistant: Which?" in question.text
    assert "create_ticket" not in question.text


def test_a_judge_who_says_no_makes_it_a_goodbye() -> None:
    case = scenario(CONFIRMED)
    assert left(EndingDetector(case, judge=judge("NO")[0], is_state_reached=reached(True)), new_talk(case, *SAID)) == GOODBYE


def test_a_judge_ends_the_talk_as_soon_as_the_condition_holds() -> None:
    case = scenario(CREATED)
    assert played(EndingDetector(case, judge=judge("NO", "YES")[0]), new_talk(case), ("Hi", "Hello"), ("Do it", "Done")) == ["", COMPLETED]


def test_without_a_condition_a_judge_has_nothing_to_say() -> None:
    ask, asked = judge("YES")
    case = scenario("")
    assert played(EndingDetector(case, judge=ask), new_talk(case), ("Hi", "Hello")) == [""]
    assert not asked


def test_a_judge_who_cannot_be_asked_is_no_reply() -> None:
    async def broken(case: Case, trial: int) -> Prediction:
        return Prediction(case.id, trial, error="refused")

    case = scenario(CREATED)
    with pytest.raises(ModelError, match="refused"):
        left(EndingDetector(case, judge=broken), new_talk(case, *SAID))


@pytest.mark.parametrize(
    "answer, yes",
    [
        ("YES", True),
        ("yes.", True),
        ("**Yes**, it does", True),
        ("The answer is: True", True),
        ("NO", False),
        ("No. Yes would be wrong", False),
        ("", False),
        ("Maybe", False),
        ("yesterday", False),
        ("x" * 1_000_000, False),
    ],
)
def test_a_judges_answer_is_read_by_its_first_yes_or_no(answer: str, yes: bool) -> None:
    assert is_judged_yes(answer) is yes


@pytest.mark.parametrize(
    "called, expected, ending",
    [
        ("transfer_to_human_agents", (), TRANSFER),
        ("Desk-HandOff", (), TRANSFER),
        ("escalate_to_manager", (), TRANSFER),
        ("hand_over", (), TRANSFER),
        ("transfer_to_human_agents", ("look_up", "transfer_to_human_agents"), TRANSFER),
        ("transfer_money", ("transfer_money", "confirm_money"), ""),
        ("create_ticket", (), ""),
        ("transferToBilling", (), TRANSFER),
        ("transfer", (), TRANSFER),
        ("transfer_call", (), TRANSFER),
        ("make_transfer", (), ""),
        ("transfer_funds", (), ""),
        ("list_transfers", (), ""),
    ],
)
def test_a_call_that_hands_over_ends_it(called: str, expected: tuple[str, ...], ending: str) -> None:
    case = scenario(CREATED, *expected)
    assert played(EndingDetector(case), new_talk(case), ("Hi", "One moment.", called)) == [ending]


def test_a_call_that_cannot_be_read_hands_nothing_over() -> None:
    case = scenario()
    broken = Message("assistant", "", (Call("transfer_to_human", malformed="no JSON", text="{"),))
    talk = new_talk(case, Message("user", "Hi"), broken, Message("assistant", "Hm."))
    assert asyncio.run(EndingDetector(case).after_agent(talk)) == ""


@pytest.mark.parametrize(
    "turns, ending",
    [
        ([("a", "Same."), ("b", "same"), ("c", "Same!")], NO_PROGRESS),
        ([("a", "Same."), ("b", "Other."), ("c", "Same."), ("d", "Same.")], ""),
        ([("a", "Same."), ("b", "Same."), ("c", "Same.", "search")], ""),
        ([("a", ""), ("b", ""), ("c", "")], NO_PROGRESS),
        ([("a", ""), ("b", "Hello"), ("c", "")], ""),
        ([("a", "", "search"), ("b", "", "search"), ("c", "", "search")], ""),
        ([("x", "1"), ("x", "2"), ("x", "3")], NO_PROGRESS),
        ([("x", "1"), ("y", "2")] * 3, NO_PROGRESS),
        ([("x", "1"), ("y", "2"), ("x", "3"), ("y", "4"), ("x", "5")], ""),
        ([("x", "1"), ("x", "2", "search"), ("x", "3")], ""),
        ([("a", "？"), ("b", "？"), ("c", "？")], NO_PROGRESS),
        ([("a", "x" * 100_000 + "1"), ("b", "x" * 100_000 + "2"), ("c", "x" * 100_000 + "3")], ""),
    ],
)
def test_going_round_in_circles_is_no_progress(turns: list[tuple[str, str]], ending: str) -> None:
    case = scenario()
    found = played(EndingDetector(case), new_talk(case), *turns)
    assert next(filter(None, found), "") == ending


def test_each_conversation_counts_for_itself() -> None:
    case = scenario()
    for _ in range(5):
        assert played(EndingDetector(case), new_talk(case), ("a", "Same."), ("b", "Same.")) == ["", ""]
