"""Endings of simulated conversations."""

import asyncio

import pytest

from callmark.models.model import ModelError
from callmark.simulation.endings import (
    COMPLETED,
    GOODBYE,
    NO_PROGRESS,
    TRANSFER,
    TURN_LIMIT,
    USER_DID_NOT_UNDERSTAND,
    EndingDetector,
    StateCheck,
    is_judged_yes,
)
from callmark.simulation.session import Predict, Session, State, ToolResult, UserTurn
from callmark.types import Call, Case, Message, Prediction, Tool, Usage

CONFIRMED = "The user has confirmed the end of the session"
CREATED = "A ticket exists"


class NoTools:
    tools: tuple[Tool, ...] = ()

    async def call(self, call: Call) -> ToolResult:
        return ToolResult("")

    async def state(self) -> State | None:
        return None


def scenario(completion: str = CREATED, *expected: str) -> Case:
    return Case("s1", instructions="…", completion=completion, expected=tuple(Call(name, {}) for name in expected))


def new_session(case: Case, *messages: Message) -> Session:
    return Session(case, 2, NoTools(), list(messages))


def judge(*answers: str) -> tuple[Predict, list[Case]]:
    requests: list[Case] = []

    async def predict(case: Case, trial: int) -> Prediction:
        requests.append(case)
        return Prediction(case.id, trial, text=answers[min(len(requests), len(answers)) - 1], usage=Usage(1.0, 7, 1))

    return predict, requests


def state_check(answer: bool | None) -> StateCheck:
    async def check() -> bool | None:
        return answer

    return check


def play_turns(endings: EndingDetector, session: Session, *turns: tuple[str, str] | tuple[str, str, str]) -> list[str]:
    """Return the ending after each agent turn. A turn is the user's text, the agent's text and, optionally, a tool that it calls."""

    async def play() -> list[str]:
        found = []
        for text, answer, *tool_names in turns:
            session.messages.append(Message("user", text))
            after_user = await endings.after_user(session, UserTurn(text))
            if tool_names:
                session.messages += [Message("assistant", "", (Call(tool_names[0], {}, "c"),)), Message("tool", "ok", (), "c")]
            session.messages.append(Message("assistant", answer))
            found.append(after_user or await endings.after_agent(session))
        return found

    return asyncio.run(play())


def end_turn(endings: EndingDetector, session: Session, text: str = "Goodbye!") -> str:
    return asyncio.run(endings.after_user(session, UserTurn(text, True)))


GREETING = (Message("user", "Hi"), Message("assistant", "Hello"))


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
def test_conversation_of_a_user_who_is_done_is_completed_or_ends_with_goodbye(completion: str, known: bool | None, ending: str) -> None:
    case = scenario(completion)
    assert end_turn(EndingDetector(case, is_state_reached=state_check(known)), new_session(case, *GREETING)) == ending


def test_words_decide_without_a_state_check() -> None:
    case = scenario(CREATED)
    assert end_turn(EndingDetector(case), new_session(case, *GREETING)) == COMPLETED


def test_task_is_not_completed_before_the_first_agent_turn() -> None:
    case = scenario(CONFIRMED)
    predict, requests = judge("YES")
    assert end_turn(EndingDetector(case), new_session(case, Message("user", "Bye"))) == GOODBYE
    assert end_turn(EndingDetector(case, judge=predict), new_session(case, Message("user", "Bye"))) == GOODBYE
    assert not requests


@pytest.mark.parametrize("words", ["We are getting nowhere, so I give up. Goodbye.", "This is going round in circles. Bye."])
def test_user_who_gives_up_is_no_progress(words: str) -> None:
    case = scenario(CONFIRMED)
    assert end_turn(EndingDetector(case, is_state_reached=state_check(True)), new_session(case, *GREETING), words) == NO_PROGRESS


def test_judge_decides_after_every_agent_turn_and_when_the_user_is_done() -> None:
    predict, requests = judge("NO", "No, not yet.", "YES")
    case = scenario(CREATED)
    session = new_session(case)
    endings = EndingDetector(case, judge=predict, is_state_reached=state_check(False))
    assert play_turns(endings, session, ("Hi", "Hello", "create_ticket"), ("A ticket, please", "Which?")) == ["", ""]
    assert end_turn(endings, session) == COMPLETED
    assert len({case.id for case in requests}) == 3
    assert session.usage == Usage(3.0, 21, 3, None, 3)
    system, question = requests[1].messages
    assert (system.role, question.role) == ("system", "user")
    assert CREATED in question.text
    assert "User: A ticket, please\nAssistant: Which?" in question.text
    assert "create_ticket" not in question.text


def test_conversation_ends_with_goodbye_if_the_judge_says_no() -> None:
    case = scenario(CREATED)
    assert end_turn(EndingDetector(case, judge=judge("NO")[0], is_state_reached=state_check(True)), new_session(case, *GREETING)) == GOODBYE


@pytest.mark.parametrize(
    "condition, requests",
    [
        (CONFIRMED, 0),
        ("The user has confirmed the end of the session.", 0),
        ("the customer ends the conversation", 0),
        ("User said goodbye", 0),
        ("The user has confirmed that the session is over", 0),
        ("A ticket exists and the user has confirmed the end of the session", 1),
        ("The user has confirmed the ticket", 1),
        ("The user has received an answer and ended the session", 1),
    ],
)
def test_judge_is_not_asked_whether_a_user_who_is_done_ended_the_session(condition: str, requests: int) -> None:
    predict, asked = judge("NO")
    case = scenario(condition)
    assert end_turn(EndingDetector(case, judge=predict), new_session(case, *GREETING)) == (GOODBYE if requests else COMPLETED)
    assert len(asked) == requests
    assert all("(The user has ended the session.)" in request.messages[1].text for request in asked)


def test_judge_is_not_asked_after_agent_turns_about_the_end_of_the_session() -> None:
    predict, asked = judge("YES")
    case = scenario(CONFIRMED)
    assert play_turns(EndingDetector(case, judge=predict), new_session(case), ("Hi", "Hello"), ("Do it", "Done")) == ["", ""]
    assert asked == []


@pytest.mark.parametrize("did_not_understand, ending", [(True, USER_DID_NOT_UNDERSTAND), (False, NO_PROGRESS)])
def test_conversation_without_progress_is_the_users_if_it_did_not_understand(did_not_understand: bool, ending: str) -> None:
    case = scenario()

    async def play() -> list[str]:
        found = []
        endings, session = EndingDetector(case), new_session(case)
        for _ in range(3):
            session.messages.append(Message("user", "Hm?"))
            after_user = await endings.after_user(session, UserTurn("Hm?", did_not_understand=did_not_understand))
            session.messages.append(Message("assistant", "Wie bitte?"))
            found.append(after_user or await endings.after_agent(session))
        return [*found, endings.at_turn_limit()]

    assert asyncio.run(play()) == ["", "", ending, ending if did_not_understand else TURN_LIMIT]


def test_judge_ends_the_conversation_as_soon_as_the_condition_holds() -> None:
    case = scenario(CREATED)
    assert play_turns(EndingDetector(case, judge=judge("NO", "YES")[0]), new_session(case), ("Hi", "Hello"), ("Do it", "Done")) == [
        "",
        COMPLETED,
    ]


def test_judge_is_not_used_without_a_condition() -> None:
    predict, requests = judge("YES")
    case = scenario("")
    assert play_turns(EndingDetector(case, judge=predict), new_session(case), ("Hi", "Hello")) == [""]
    assert not requests


def test_unreachable_judge_raises_a_model_error() -> None:
    async def broken(case: Case, trial: int) -> Prediction:
        return Prediction(case.id, trial, error="refused")

    case = scenario(CREATED)
    with pytest.raises(ModelError, match="refused"):
        end_turn(EndingDetector(case, judge=broken), new_session(case, *GREETING))


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
def test_first_yes_or_no_of_the_judge_counts(answer: str, yes: bool) -> None:
    assert is_judged_yes(answer) is yes


@pytest.mark.parametrize(
    "tool_names, expected, ending",
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
def test_transfer_call_ends_the_conversation(tool_names: str, expected: tuple[str, ...], ending: str) -> None:
    case = scenario(CREATED, *expected)
    assert play_turns(EndingDetector(case), new_session(case), ("Hi", "One moment.", tool_names)) == [ending]


def test_malformed_call_is_not_a_transfer() -> None:
    case = scenario()
    broken = Message("assistant", "", (Call("transfer_to_human", malformed="no JSON", text="{"),))
    session = new_session(case, Message("user", "Hi"), broken, Message("assistant", "Hm."))
    assert asyncio.run(EndingDetector(case).after_agent(session)) == ""


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
def test_repetition_is_no_progress(turns: list[tuple[str, str]], ending: str) -> None:
    case = scenario()
    found = play_turns(EndingDetector(case), new_session(case), *turns)
    assert next(filter(None, found), "") == ending


def test_repetitions_are_counted_per_conversation() -> None:
    case = scenario()
    for _ in range(5):
        assert play_turns(EndingDetector(case), new_session(case), ("a", "Same."), ("b", "Same.")) == ["", ""]
