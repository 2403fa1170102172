"""The LLM user, the scripted user, and users by spec."""

import asyncio
from collections.abc import Sequence

import pytest

from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.endings import ENDINGS, NO_PROGRESS, EndingDetector
from callmark.simulation.session import Predict, Session, State, ToolResult, UserTurn
from callmark.simulation.users import open_user
from callmark.simulation.users.llm import FALLBACK_TURN, MAX_TURN, LLMUser, read_user_turn, swap_roles
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.simulation.users.script import ScriptUser
from callmark.types import Call, Case, Message, Place, Prediction, Tool, Usage

CASE = Case("s1", instructions="You want a ticket for a slow server.", completion="The user has confirmed the end of the session")


class ScriptedModel:
    """A model that returns these texts in order, the last one repeatedly, and stores its requests."""

    def __init__(self, *answers: str) -> None:
        self.requests: list[Case] = []
        self._answers = answers

    async def __call__(self, case: Case, trial: int) -> Prediction:
        self.requests.append(case)
        return Prediction(case.id, trial, text=self._answers[min(len(self.requests), len(self._answers)) - 1], usage=Usage(1.0, 10, 2, 0.5))


def next_turn(messages: Sequence[Message], *answers: str) -> tuple[UserTurn, list[Case]]:
    predict = ScriptedModel(*answers)
    return asyncio.run(LLMUser(predict, "m").start_session(CASE, 0).next_turn(messages)), predict.requests


MESSAGES = (Message("user", "My server is slow."), Message("assistant", "What is the title?"))


def test_model_gets_swapped_roles_without_tool_messages() -> None:
    session = Session(CASE, 0, _NoTools(), [Message("system", "the agent's own prompt")])
    session.messages += [
        Message("user", "My server is slow."),
        Message("assistant", "One moment.", (Call("create_ticket", {"title": "slow"}),)),
        Message("tool", "TKT-0001", (), "c1", "create_ticket"),
        Message("assistant", "What is the title?"),
    ]
    _, (requests,) = next_turn(session.visible_messages, "Slow server")
    assert [(message.role, message.text) for message in requests.messages[1:]] == [
        ("user", "Hello! How can I help you today?"),
        ("assistant", "My server is slow."),
        ("user", "One moment.\nWhat is the title?"),
    ]
    system = requests.messages[0]
    assert system.role == "system"
    assert CASE.instructions in system.text
    assert CASE.completion in system.text
    assert "###DONE###" in system.text
    whole = "".join(message.text for message in requests.messages)
    assert "create_ticket" not in whole
    assert "TKT-0001" not in whole
    assert "own prompt" not in whole
    assert not requests.tools
    assert not any(message.calls for message in requests.messages)


@pytest.mark.parametrize(
    "messages, roles",
    [
        ((), "U"),
        (MESSAGES, "UAU"),
        (MESSAGES[:1], "UAU"),
        ((Message("user", "a"), Message("user", "b")), "UAUAU"),
        ((Message("assistant", "Welcome!"),), "U"),
        ((*MESSAGES, Message("assistant", "Hello?")), "UAU"),
    ],
)
def test_request_starts_and_ends_with_the_agent_and_alternates(messages: tuple[Message, ...], roles: str) -> None:
    assert "".join("A" if message.role == "assistant" else "U" for message in swap_roles(messages)) == roles


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
        ("x" * 10_000, "x" * MAX_TURN, False),
        ("", "", False),
        ('\'tis "quoted"', '\'tis "quoted"', False),
    ],
)
def test_user_turn_is_extracted_from_the_response(answer: str, text: str, done: bool) -> None:
    assert read_user_turn(answer) == (text, done)


@pytest.mark.parametrize(
    "first, hint",
    [
        ("", "Write the user's next message."),
        ("Assistant: What is the title?", "not the assistant"),
        ("How can I help you today?", "not the assistant"),
        ("What is the title?", "not the assistant"),
    ],
)
def test_invalid_user_turn_causes_one_more_request(first: str, hint: str) -> None:
    turn, requests = next_turn(MESSAGES, first, "Slow server")
    assert turn == UserTurn("Slow server", False, Usage(2.0, 20, 4, 1.0, 2))
    assert hint in requests[1].messages[-1].text
    assert requests[0].id != requests[1].id


@pytest.mark.parametrize("answer", ["", "Assistant: Sure!", "How may I assist you?", "   \n"])
def test_fallback_turn_replaces_a_second_invalid_turn(answer: str) -> None:
    turn, requests = next_turn(MESSAGES, answer)
    assert (turn.text, turn.done, len(requests)) == (FALLBACK_TURN, False, 2)


def test_early_stop_is_accepted_after_a_second_request() -> None:
    assert next_turn((), "###DONE###", "My server is slow.")[0].text == "My server is slow."
    assert next_turn((), "###DONE###")[0].done


def test_repeated_turn_causes_one_more_request() -> None:
    predict = ScriptedModel("Slow server", "Slow server", "It is about the mail server")
    user_session = LLMUser(predict, "m").start_session(CASE, 0)

    async def twice() -> tuple[str, str]:
        first = await user_session.next_turn(())
        second = await user_session.next_turn((Message("user", first.text), Message("assistant", "Which server?")))
        return first.text, second.text

    assert asyncio.run(twice()) == ("Slow server", "It is about the mail server")


def test_model_error_is_raised() -> None:
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
def test_conversation_with_a_nonsense_model_ends(answer: str, reply: str) -> None:
    async def play() -> str:
        user_session = LLMUser(ScriptedModel(answer), "m").start_session(CASE, 0)
        session = Session(CASE, 0, _NoTools(), [])
        endings = EndingDetector(CASE)
        for _ in range(10):
            turn = await user_session.next_turn(session.visible_messages)
            assert turn.text or turn.done
            session.messages.append(Message("user", turn.text))
            if ending := await endings.after_user(session, turn):
                return ending
            session.messages.append(Message("assistant", reply))
            if ending := await endings.after_agent(session):
                return ending
        return ""

    assert asyncio.run(play()) in ENDINGS


def test_scenario_without_instructions_is_refused() -> None:
    with pytest.raises(BadInput, match="^scenario 'c1' cannot be simulated because it has no instructions"):
        LLMUser(ScriptedModel(""), "m").start_session(Case("c1"), 0)


def test_script_is_said_line_by_line() -> None:
    case = Case("s1", instructions="…", data={"script": ["One.", "Two."]})

    async def read() -> list[UserTurn]:
        user_session = ScriptUser().start_session(case, 3)
        return [await user_session.next_turn(()) for _ in range(3)]

    assert asyncio.run(read()) == [UserTurn("One."), UserTurn("Two.", True), UserTurn("", True)]


@pytest.mark.parametrize(
    "data, sentence",
    [
        ({"script": []}, r"data.script: expected a list of non-empty lines, got \[\]"),
        ({"script": "Hello"}, "data.script: expected a list of non-empty lines, got 'Hello'"),
        ({"script": ["Hello", ""]}, r"expected a list of non-empty lines, got \['Hello', ''\]"),
        ({"script": [1]}, r"expected a list of non-empty lines, got \[1\]"),
    ],
)
def test_scenario_without_a_valid_script_is_refused(data: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^rows.jsonl, line 3: scenario 's1'.*{sentence}"):
        ScriptUser().start_session(Case("s1", place=Place("rows.jsonl", 3), instructions="…", data=data), 0)


def _open_model(spec: str) -> tuple[Predict, str]:
    return ScriptedModel(spec), f"opened {spec}"


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
def test_spec_selects_a_user(spec: str, kind: type, label: str) -> None:
    user = open_user(spec, open_model=_open_model, models=["tuned"])
    assert isinstance(user, kind)
    assert user.label == label


@pytest.mark.parametrize(
    "spec, sentence",
    [
        ("rule-basd", "unknown user 'rule-basd'. Did you mean rule-based"),
        ("rule-based:chaty", "unknown style 'chaty' for the rule-based user. Did you mean chatty"),
        ("rule-based:", "unknown style '' for the rule-based user"),
        ("scripts", "Did you mean script"),
        ("script:x.txt", "the script user takes no options, got 'script:x.txt'"),
        ("opnai:gpt", "Did you mean openai"),
        ("tunde", "Did you mean tuned"),
        ("", "no user given"),
    ],
)
def test_unknown_user_is_refused_with_the_closest_name(spec: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as refused:
        open_user(spec, open_model=_open_model, models=["tuned"])
    assert refused.value.hint


def test_users_can_be_entered_and_exited() -> None:
    async def within() -> list[str]:
        labels = []
        for spec in ("rule-based", "script", "openai:x"):
            async with open_user(spec, open_model=_open_model) as user:
                labels.append(user.label)
        return labels

    assert asyncio.run(within()) == ["rule-based", "script", "opened openai:x"]


def test_repeated_fallback_turn_is_no_progress() -> None:
    async def play() -> list[str]:
        endings = EndingDetector(CASE)
        session = Session(CASE, 0, _NoTools(), [Message("user", "x"), Message("assistant", "Sure.")])
        return [await endings.after_user(session, UserTurn(FALLBACK_TURN)) for _ in range(3)]

    assert asyncio.run(play()) == ["", "", NO_PROGRESS]
