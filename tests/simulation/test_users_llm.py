"""A model as the user, a script as the user, and which user a spec names."""

import asyncio
from collections.abc import Sequence

import pytest

from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.endings import ENDINGS, NO_PROGRESS, EndingDetector
from callmark.simulation.session import Predict, Session, State, ToolResult, UserTurn
from callmark.simulation.users import open_user
from callmark.simulation.users.llm import LONGEST_LINE, SPEECHLESS, LLMUser, read_line, swapped
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.simulation.users.script import ScriptUser
from callmark.types import Call, Case, Message, Place, Prediction, Tool, Usage

CASE = Case("s1", instructions="You want a ticket for a slow server.", completion="The user has confirmed the end of the session")


class Answers:
    """A model that answers one thing after the other, and keeps what it was asked. The last answer is given for ever."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[Case] = []
        self._answers = answers

    async def __call__(self, case: Case, trial: int) -> Prediction:
        self.asked.append(case)
        return Prediction(case.id, trial, text=self._answers[min(len(self.asked), len(self._answers)) - 1], usage=Usage(1.0, 10, 2, 0.5))


def spoken(heard: Sequence[Message], *answers: str) -> tuple[UserTurn, list[Case]]:
    ask = Answers(*answers)
    return asyncio.run(LLMUser(ask, "m").start_session(CASE, 0).next_turn(heard)), ask.asked


HEARD = (Message("user", "My server is slow."), Message("assistant", "What is the title?"))


def test_the_model_is_asked_with_the_roles_swapped_and_without_any_tool_traffic() -> None:
    talk = Session(CASE, 0, _NoTools(), [Message("system", "the agent's own prompt")])
    talk.messages += [
        Message("user", "My server is slow."),
        Message("assistant", "One moment.", (Call("create_ticket", {"title": "slow"}),)),
        Message("tool", "TKT-0001", (), "c1", "create_ticket"),
        Message("assistant", "What is the title?"),
    ]
    _, (asked,) = spoken(talk.visible_messages, "Slow server")
    assert [(message.role, message.text) for message in asked.messages[1:]] == [
        ("user", "Hello! How can I help you today?"),
        ("assistant", "My server is slow."),
        ("user", "One moment.\nWhat is the title?"),
    ]
    system = asked.messages[0]
    assert system.role == "system"
    assert CASE.instructions in system.text
    assert CASE.completion in system.text
    assert "###DONE###" in system.text
    whole = "".join(message.text for message in asked.messages)
    assert "create_ticket" not in whole
    assert "TKT-0001" not in whole
    assert "own prompt" not in whole
    assert not asked.tools
    assert not any(message.calls for message in asked.messages)


@pytest.mark.parametrize(
    "heard, roles",
    [
        ((), "U"),
        (HEARD, "UAU"),
        (HEARD[:1], "UAU"),
        ((Message("user", "a"), Message("user", "b")), "UAUAU"),
        ((Message("assistant", "Welcome!"),), "U"),
        ((*HEARD, Message("assistant", "Hello?")), "UAU"),
    ],
)
def test_what_is_asked_begins_and_ends_with_the_agent_and_takes_turns(heard: tuple[Message, ...], roles: str) -> None:
    assert "".join("A" if message.role == "assistant" else "U" for message in swapped(heard)) == roles


@pytest.mark.parametrize(
    "answer, text, done",
    [
        ("Slow server", "Slow server", False),
        ("  User: Slow server \n", "Slow server", False),
        ('"Slow server"', "Slow server", False),
        ("**User:** Slow server", "Slow server", False),
        ("Slow server\nAssistant: Thanks!\nUser: Bye", "Slow server", False),
        ("Slow server\n\nUser: And another thing", "Slow server", False),
        ("###DONE###", "", True),
        ("Thanks! ###DONE### Assistant: you're welcome", "Thanks!", True),
        ("Thanks. ### done ###", "Thanks.", True),
        ("Thanks, goodbye!", "Thanks, goodbye!", True),
        ("Have a great day! 😊", "Have a great day! 😊", True),
        ("I said goodbye to that server years ago, and it was slow", "I said goodbye to that server years ago, and it was slow", False),
        ("Is it done?", "Is it done?", False),
        ("Agent: Hello\nUser: My server is slow", "My server is slow", False),
        ("x" * 10_000, "x" * LONGEST_LINE, False),
        ("", "", False),
        ('\'tis "quoted"', '\'tis "quoted"', False),
    ],
)
def test_what_is_said_is_told_from_what_stands_around_it(answer: str, text: str, done: bool) -> None:
    assert read_line(answer) == (text, done)


@pytest.mark.parametrize(
    "first, told",
    [
        ("", "Write the user's next message."),
        ("Assistant: What is the title?", "not the assistant"),
        ("How can I help you today?", "not the assistant"),
        ("What is the title?", "not the assistant"),
    ],
)
def test_an_answer_that_is_no_users_is_asked_for_once_more(first: str, told: str) -> None:
    said, asked = spoken(HEARD, first, "Slow server")
    assert said == UserTurn("Slow server", False, Usage(2.0, 20, 4, 1.0, 2))
    assert told in asked[1].messages[-1].text
    assert asked[0].id != asked[1].id


@pytest.mark.parametrize("answer", ["", "Assistant: Sure!", "How may I assist you?", "   \n"])
def test_who_never_speaks_as_the_user_is_given_a_line(answer: str) -> None:
    said, asked = spoken(HEARD, answer)
    assert (said.text, said.done, len(asked)) == (SPEECHLESS, False, 2)


def test_done_before_anything_was_said_is_asked_again_and_then_believed() -> None:
    assert spoken((), "###DONE###", "My server is slow.")[0].text == "My server is slow."
    assert spoken((), "###DONE###")[0].done


def test_a_line_that_was_said_before_is_asked_for_again() -> None:
    ask = Answers("Slow server", "Slow server", "It is about the mail server")
    speaker = LLMUser(ask, "m").start_session(CASE, 0)

    async def twice() -> tuple[str, str]:
        first = await speaker.next_turn(())
        second = await speaker.next_turn((Message("user", first.text), Message("assistant", "Which server?")))
        return first.text, second.text

    assert asyncio.run(twice()) == ("Slow server", "It is about the mail server")


def test_what_the_model_cannot_help_is_no_answer() -> None:
    async def refused(case: Case, trial: int) -> Prediction:
        return Prediction(case.id, trial, error="timed out")

    with pytest.raises(ModelError, match="timed out"):
        asyncio.run(LLMUser(refused, "m").start_session(CASE, 0).next_turn(()))


class _NoTools:
    tools: tuple[Tool, ...] = ()

    async def call(self, call: Call) -> ToolResult:
        return ToolResult("")

    async def state(self) -> State | None:
        return None


@pytest.mark.parametrize(
    "answer", ["", "blah blah", "Assistant: I am a helpful assistant.", "###DONE###", "Bye!", "I I I I I", "####", "{}"]
)
@pytest.mark.parametrize("reply", ["", "Sure.", "blah blah"])
def test_a_model_that_talks_nonsense_still_ends_by_a_named_ending(answer: str, reply: str) -> None:
    async def played() -> str:
        speaker = LLMUser(Answers(answer), "m").start_session(CASE, 0)
        talk = Session(CASE, 0, _NoTools(), [])
        endings = EndingDetector(CASE)
        for _ in range(10):
            said = await speaker.next_turn(talk.visible_messages)
            assert said.text or said.done
            talk.messages.append(Message("user", said.text))
            if ending := await endings.after_user(talk, said):
                return ending
            talk.messages.append(Message("assistant", reply))
            if ending := await endings.after_agent(talk):
                return ending
        return ""

    assert asyncio.run(played()) in ENDINGS


def test_a_scenario_without_instructions_cannot_be_played_by_a_model() -> None:
    with pytest.raises(BadInput, match="c1 has no instructions"):
        LLMUser(Answers(""), "m").start_session(Case("c1"), 0)


def test_a_script_is_read_line_by_line_and_done_with_the_last() -> None:
    case = Case("s1", instructions="…", data={"script": ["One.", "Two."]})

    async def read() -> list[UserTurn]:
        speaker = ScriptUser().start_session(case, 3)
        return [await speaker.next_turn(()) for _ in range(3)]

    assert asyncio.run(read()) == [UserTurn("One."), UserTurn("Two.", True), UserTurn("", True)]


@pytest.mark.parametrize(
    "data, said",
    [
        ({}, r"rows.jsonl, line 3 \(s1\) has no script"),
        ({"script": []}, r"data.script is \[\]"),
        ({"script": "Hello"}, "data.script is 'Hello', a list"),
        ({"script": ["Hello", ""]}, "none of them empty"),
        ({"script": [1]}, r"data.script is \[1\]"),
    ],
)
def test_a_scenario_without_a_script_says_what_is_missing(data: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ScriptUser().start_session(Case("s1", place=Place("rows.jsonl", 3), instructions="…", data=data), 0)


def _opened(spec: str) -> tuple[Predict, str]:
    return Answers(spec), f"opened {spec}"


@pytest.mark.parametrize(
    "spec, kind, label",
    [
        ("rule-based", RuleBasedUser, "rule-based"),
        ("rule-based:terse", RuleBasedUser, "rule-based:terse"),
        ("script", ScriptUser, "script"),
        ("openai:gpt-4.1-mini", LLMUser, "opened openai:gpt-4.1-mini"),
        ("http://localhost:8000/v1#m", LLMUser, "opened http://localhost:8000/v1#m"),
        ("https://example.com/v1#m", LLMUser, "opened https://example.com/v1#m"),
        ("local:", LLMUser, "opened local:"),
        ("tuned", LLMUser, "opened tuned"),
    ],
)
def test_a_spec_names_a_user(spec: str, kind: type, label: str) -> None:
    user = open_user(spec, open_model=_opened, models=["tuned"])
    assert isinstance(user, kind)
    assert user.label == label


@pytest.mark.parametrize(
    "spec, said",
    [
        ("rule-basd", "no user called 'rule-basd'. Did you mean rule-based"),
        ("rule-based:chaty", "no rule-based user called 'chaty'. Did you mean chatty"),
        ("rule-based:", "no rule-based user called ''"),
        ("scripts", "Did you mean script"),
        ("script:x.txt", "a script stands in its scenario"),
        ("opnai:gpt", "Did you mean openai"),
        ("tunde", "Did you mean tuned"),
        ("", "no user is named"),
    ],
)
def test_a_spec_that_names_none_is_refused_with_the_nearest(spec: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        open_user(spec, open_model=_opened, models=["tuned"])
    assert refused.value.hint


def test_users_can_be_entered_and_left() -> None:
    async def within() -> list[str]:
        labels = []
        for spec in ("rule-based", "script", "openai:x"):
            async with open_user(spec, open_model=_opened) as user:
                labels.append(user.label)
        return labels

    assert asyncio.run(within()) == ["rule-based", "script", "opened openai:x"]


def test_a_line_that_is_said_for_ever_is_no_progress() -> None:
    async def played() -> list[str]:
        endings = EndingDetector(CASE)
        talk = Session(CASE, 0, _NoTools(), [Message("user", "x"), Message("assistant", "Sure.")])
        return [await endings.after_user(talk, UserTurn(SPEECHLESS)) for _ in range(3)]

    assert asyncio.run(played()) == ["", "", NO_PROGRESS]
