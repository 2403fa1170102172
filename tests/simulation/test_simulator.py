"""Simulated conversations: turns, recording, endings, and separate concurrent conversations."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self

import pytest

from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.simulation.agents import MAX_CALLS, ReportingAgent, ToolCallingAgent, with_unique_ids
from callmark.simulation.model_client import ModelClient
from callmark.simulation.session import Agent, Session, State, Toolbox, ToolResult, UserTurn
from callmark.simulation.simulator import Simulator
from callmark.simulation.toolboxes import open_tools
from callmark.simulation.toolboxes.none import NoToolSource
from callmark.types import Call, Case, Message, Prediction, Tool, Usage
from callmark.worlds.helpdesk import tools as helpdesk
from tests.worlds.helpdesk.test_desk import TICKET

ADD = Call("add", {"title": "Printer"})
ADD_NOTE = Tool("add", "Add a note", {"type": "object", "properties": {"title": {"type": "string"}}})
CASE = Case("s1", instructions="…", completion="the note is there", expected=(ADD,))


class Notes:
    """A source of toolboxes with one tool. `opened_for` and `closed` track conversations; the first `crashes` calls fail."""

    label = "notes"
    tools = (ADD_NOTE,)

    def __init__(self, *, has_state: bool = True, crashes: int = 0) -> None:
        self.opened_for: list[str] = []
        self.closed = 0
        self.crashes = crashes
        self.has_state = has_state

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        self.opened_for.append(conversation.rpartition("/")[0])
        try:
            yield _NotesBox(self)
        finally:
            self.closed += 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class _NotesBox:
    tools = (ADD_NOTE,)

    def __init__(self, source: Notes) -> None:
        self._source = source
        self._notes: dict[str, dict[str, Any]] = {}

    async def call(self, call: Call) -> ToolResult:
        await asyncio.sleep(0)
        if self._source.crashes:
            self._source.crashes -= 1
            raise ModelError("the tool server notes exited")
        if call.name != "add":
            return ToolResult(f"Unknown tool {call.name!r}.", is_error=True)
        self._notes[f"N-{len(self._notes) + 1}"] = dict(call.arguments)
        return ToolResult("added")

    async def state(self) -> State | None:
        return {"notes": dict(self._notes)} if self._source.has_state else None


class LinesUser:
    """A user that says these lines and is done with the last."""

    label = "lines"

    def __init__(self, *lines: str | UserTurn) -> None:
        self._lines = [line if isinstance(line, UserTurn) else UserTurn(line) for line in lines]
        self.messages: list[list[Message]] = []

    def start_session(self, case: Case, trial: int) -> "LinesUser":
        return self

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        self.messages.append(list(messages))
        return self._lines[min(len(self.messages), len(self._lines)) - 1]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


BYE = UserTurn("That is all, bye.", done=True)


class FixedAgent:
    """An agent that makes these calls in its first turn, and says something in every turn."""

    def __init__(self, *calls: Call, says: str = "Fine.") -> None:
        self._calls = calls
        self._says = says
        self.turns = 0

    async def reply(self, session: Session) -> None:
        self.turns += 1
        if self.turns == 1:
            for call in self._calls:
                session.messages.append(Message("assistant", "", (call,)))
                session.messages.append(Message("tool", (await session.toolbox.call(call)).text, (), call.id, call.name))
        session.messages.append(Message("assistant", f"{self._says} {self.turns}" if self._says else ""))


def run_async(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(main())


def conversation(agent: Agent, user: LinesUser, source: Notes | None = None, case: Case = CASE, **more: Any) -> Prediction:
    async def main() -> Prediction:
        async with Simulator("a", agent, user, source or Notes(), **more) as simulator:
            return await simulator.predict(case)

    prediction: Prediction = run_async(main)
    return prediction


def test_user_speaks_first_and_the_conversation_is_recorded() -> None:
    user = LinesUser("Add a note, please.", BYE)
    prediction = conversation(FixedAgent(ADD), user, system="Be kind.")
    assert [(message.role, message.text) for message in prediction.transcript] == [
        ("system", "Be kind."),
        ("user", "Add a note, please."),
        ("assistant", ""),
        ("tool", "added"),
        ("assistant", "Fine. 1"),
        ("user", "That is all, bye."),
        ("assistant", "Fine. 2"),
    ]
    assert (prediction.calls, prediction.text, prediction.ending) == ((ADD,), "Fine. 2", "completed")
    assert prediction.states is not None
    assert prediction.states.reached == prediction.states.expected == {"notes": {"N-1": {"title": "Printer"}}}
    assert [[(message.role, message.text) for message in messages] for messages in user.messages] == [
        [],
        [("user", "Add a note, please."), ("assistant", "Fine. 1")],
    ]


@pytest.mark.parametrize(
    "agent, lines, ending",
    [
        (FixedAgent(ADD), ("Add it.", BYE), "completed"),
        (FixedAgent(ADD), (UserTurn("Add it. Bye.", done=True),), "completed"),
        (FixedAgent(), ("Add it.", BYE), "goodbye"),
        (FixedAgent(Call("transfer_to_human")), ("Add it.", BYE), "transfer"),
        (FixedAgent(), ("one", "two", "three", "four", "five"), "turn limit"),
        (FixedAgent(says=""), ("one", "two", "three", "four", "five"), "no progress"),
        (FixedAgent(), ("the same", "the same", "the same", "the same"), "no progress"),
        (FixedAgent(), (UserTurn("", done=True),), "goodbye"),
    ],
    ids=[
        "completed",
        "completed with the last turn",
        "goodbye",
        "transfer",
        "turn limit",
        "a silent agent",
        "a stuck user",
        "a silent user",
    ],
)
def test_every_conversation_has_an_ending(agent: FixedAgent, lines: tuple[str | UserTurn, ...], ending: str) -> None:
    assert conversation(agent, LinesUser(*lines), max_turns=4).ending == ending


def test_agent_does_not_reply_to_a_silent_user_who_is_done() -> None:
    agent = FixedAgent()
    conversation(agent, LinesUser(UserTurn("", done=True)))
    assert agent.turns == 0


def test_usage_is_summed() -> None:
    user = LinesUser(UserTurn("Hi", usage=Usage(1.0, 10, 2, 0.5)), UserTurn("Bye", done=True, usage=Usage(1.0, 20, 3, None)))
    prediction = conversation(FixedAgent(), user)
    assert prediction.usage is not None
    assert (prediction.usage.input_tokens, prediction.usage.output_tokens, prediction.usage.cost) == (30, 5, 0.5)


def test_tools_without_a_state_leave_the_end_state_empty() -> None:
    prediction = conversation(FixedAgent(ADD), LinesUser("Add it.", BYE), Notes(has_state=False))
    assert (prediction.states, prediction.ending) == (None, "completed")


def test_expected_changes_are_computed_once_for_all_trials() -> None:
    source = Notes()

    async def main() -> list[Prediction]:
        async with Simulator("a", FixedAgent(ADD), LinesUser("Add it.", BYE), source) as simulator:
            return list(await asyncio.gather(*(simulator.predict(CASE, trial=trial) for trial in range(5))))

    assert len(run_async(main)) == 5
    assert sorted(source.opened_for) == ["s1/0", "s1/1", "s1/2", "s1/3", "s1/4", "s1/expected"]
    assert source.closed == 6


def test_crashed_server_is_an_error_of_one_conversation() -> None:
    source = Notes(crashes=1)  # the first call is an expected call in a fresh toolbox

    async def main() -> Prediction:
        async with Simulator("a", FixedAgent(ADD), LinesUser("Add it.", BYE), source) as simulator:
            with pytest.raises(ModelError, match="the tool server notes exited"):
                await simulator.predict(CASE)
            return await simulator.predict(CASE, trial=1)

    assert run_async(main).states.expected == {"notes": {"N-1": {"title": "Printer"}}}
    assert source.closed == len(source.opened_for)


def test_cancelled_conversation_closes_its_toolbox() -> None:
    source = Notes()

    class Waiting:
        async def reply(self, session: Session) -> None:
            await asyncio.sleep(30)

    async def main() -> None:
        async with Simulator("a", Waiting(), LinesUser("Hi"), source) as simulator:
            task = asyncio.create_task(simulator.predict(CASE))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run_async(main)
    assert source.closed == len(source.opened_for) == 2


# agents: models that call tools, and chatbots that report their calls


def make_client(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> tuple[ModelClient, list[tuple[list[Any], list[Any]]]]:
    """Return a client of a model with these responses, and the list of its requests."""
    requests: list[tuple[list[Any], list[Any]]] = []

    def answer(messages: list[Any], tools: list[Any]) -> Any:
        requests.append((messages, tools))
        given = answers[min(len(requests), len(answers)) - 1]
        if isinstance(given, Exception):
            raise given
        return given

    monkeypatch.setattr(sys.modules[__name__], "answering", answer, raising=False)
    return ModelClient(ModelSettings(model=f"python:{__name__}:answering", retries=0), Keys(), None), requests


def called(*calls: tuple[str, Any], text: str | None = None, call_id: str | None = "c1") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)},
            }
            for name, arguments in calls
        ],
    }


def test_model_gets_requests_until_it_responds_with_text(monkeypatch: pytest.MonkeyPatch) -> None:
    client, requests = make_client(monkeypatch, called(("add", {"title": "a"}), ("add", {"title": "b"})), "Both are there.", "Bye.")
    prediction = conversation(ToolCallingAgent(client, max_steps=5), LinesUser("Add a and b.", BYE), clients=[client])
    assert [call.arguments["title"] for call in prediction.calls] == ["a", "b"]
    assert [message["role"] for message in requests[1][0]] == ["user", "assistant", "tool", "tool"]
    assert [message["content"] for message in requests[1][0][2:]] == ["added", "added"]
    assert [tool["function"]["name"] for tool in requests[0][1]] == ["add"]
    assert len({call.id for call in prediction.calls}) == 2


@pytest.mark.parametrize(
    "call, result",
    [(("add", "{no json"), "The call is malformed"), (("remove", {}), "Unknown tool 'remove'")],
    ids=["malformed", "unknown"],
)
def test_call_that_cannot_be_executed_is_an_error_result(monkeypatch: pytest.MonkeyPatch, call: tuple[str, Any], result: str) -> None:
    client, requests = make_client(monkeypatch, called(call), "Sorry.")
    prediction = conversation(ToolCallingAgent(client, max_steps=5), LinesUser("Do it.", BYE), clients=[client])
    assert result in requests[1][0][-1]["content"]
    assert len(prediction.calls) == 1


def test_endless_calls_reach_the_step_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    client, requests = make_client(monkeypatch, called(("add", {"title": "a"})))
    prediction = conversation(ToolCallingAgent(client, max_steps=4), LinesUser("Do it.", BYE), clients=[client])
    assert (prediction.ending, len(requests), len(prediction.calls)) == ("step limit", 4, 4)


def test_calls_beyond_the_maximum_are_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    client, _ = make_client(monkeypatch, called(*[("add", {"title": str(number)}) for number in range(MAX_CALLS + 5)]), "Done.")
    prediction = conversation(ToolCallingAgent(client, max_steps=4), LinesUser("Do it.", BYE), clients=[client])
    results = [message.text for message in prediction.transcript if message.role == "tool"]
    assert (results.count("added"), len(results)) == (MAX_CALLS, MAX_CALLS + 5)
    assert prediction.states is not None
    assert len(prediction.states.reached["notes"]) == MAX_CALLS


def test_chatbot_sees_visible_messages_and_reports_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    client, requests = make_client(monkeypatch, called(("add", {"title": "Printer"}), text="It is there."), "Bye.")

    async def main() -> Prediction:
        async with Simulator(
            "a", ReportingAgent(client), LinesUser("Add it.", BYE), NoToolSource(), clients=[client], system="hidden"
        ) as simulator:
            return await simulator.predict(CASE)

    prediction: Prediction = run_async(main)
    assert [call.name for call in prediction.calls] == ["add"]
    assert [(message["role"], message["content"]) for message in requests[1][0]] == [
        ("user", "Add it."),
        ("assistant", "It is there."),
        ("user", "That is all, bye."),
    ]
    assert (prediction.states, prediction.ending) == (None, "completed")


def test_failing_model_is_an_error_of_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    client, _ = make_client(monkeypatch, RuntimeError("out of paper"))
    with pytest.raises(ModelError, match="out of paper"):
        conversation(ToolCallingAgent(client, max_steps=4), LinesUser("Do it.", BYE), clients=[client])


def test_call_ids_are_unique_in_the_conversation() -> None:
    session = Session(CASE, 0, _NotesBox(Notes()), [Message("assistant", "", (Call("add", {}, "call_2"),))])
    calls = with_unique_ids((Call("add", {}, "call_2"), Call("add"), Call("add", {}, "mine")), session)
    assert len({call.id for call in calls} | {"call_2"}) == 4
    assert calls[2].id == "mine"


# concurrent conversations


class FilingAgent:
    """Opens a ticket with the title that the user says, then searches for tickets."""

    async def reply(self, session: Session) -> None:
        title = next(message.text for message in session.messages if message.role == "user")
        if len(session.visible_messages) == 1:
            for call in (
                Call(helpdesk.CREATE_TICKET, {**TICKET, "title": title}),
                Call(helpdesk.SEARCH_TICKETS, {"query": "concurrent"}),
            ):
                await asyncio.sleep(0)
                result = await session.toolbox.call(call)
                assert not result.is_error, result.text
                session.messages += [Message("assistant", "", (call,)), Message("tool", result.text)]
        session.messages.append(Message("assistant", "Filed."))


class TitleUser(LinesUser):
    def start_session(self, case: Case, trial: int) -> LinesUser:
        return LinesUser(f"Concurrent {case.id}", BYE)


@contextmanager
def over_http() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-m", "callmark.worlds.helpdesk", "--http", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"mcp:{server.stdout.readline().strip()}"
        finally:
            server.kill()


@contextmanager
def over_stdio() -> Iterator[str]:
    yield f"mcp:{sys.executable} -m callmark.worlds.helpdesk"


@pytest.mark.parametrize("served", [over_stdio, over_http], ids=["stdio", "http"])
def test_concurrent_conversations_over_one_server_are_separate(served: Callable[[], Any]) -> None:
    cases = [
        Case(f"c{number}", instructions="…", expected=(Call(helpdesk.CREATE_TICKET, {**TICKET, "title": f"Concurrent c{number}"}),))
        for number in range(50)
    ]

    async def main(spec: str) -> list[Prediction]:
        async with Simulator("a", FilingAgent(), TitleUser(), open_tools([spec], keys=Keys())) as simulator:
            return list(await asyncio.gather(*(simulator.predict(case) for case in cases)))

    with served() as spec:
        replies = asyncio.run(main(spec))
    for case, prediction in zip(cases, replies, strict=True):
        found = json.loads(next(message.text for message in reversed(prediction.transcript) if message.role == "tool"))
        assert [ticket["title"] for ticket in found["tickets"]] == [f"Concurrent {case.id}"]
        assert prediction.states is not None
        assert list(prediction.states.reached["tickets"]) == ["TKT-1041"]
        assert prediction.states.reached == prediction.states.expected
