"""An agent of a framework in a simulated conversation; the framework is a few lines, so that anything can happen in it."""

import asyncio
import json
import sys
import textwrap
from collections.abc import Callable, Sequence
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from callmark.errors import BadInput
from callmark.integrations.adk import output_tokens
from callmark.integrations.agent_framework import read_messages
from callmark.integrations.framework import AgentTurn, Execute, Framework, FrameworkAgent, read_with
from callmark.models.model import ModelError, Price
from callmark.simulation.agents import AgentSettings
from callmark.simulation.session import Session, ToolResult
from callmark.types import Call, Case, Message, Tool, Usage

TOOL = Tool("book", "Books a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
CODE = """
class Agent:
    def __init__(self, tools=()):
        self.tools = tools

class ModelConfused(Exception): ...
class TooManySteps(Exception): ...

agent = Agent()
number = 7

def make(tools):
    return Agent(tools)

def fresh():
    return Agent()

def broken():
    raise KeyError("no model")

def wrong():
    return "no agent"

def two(tools, model):
    return Agent(tools)

def keyword(*, tools):
    return Agent(tools)
"""


class Box:
    """A toolbox whose calls succeed, or raise."""

    tools = (TOOL,)

    def __init__(self, problem: ModelError | None = None) -> None:
        self.calls: list[Call] = []
        self._problem = problem

    async def call(self, call: Call) -> ToolResult:
        if self._problem:
            raise self._problem
        self.calls.append(call)
        return ToolResult(f"booked {call.arguments['city']}", missed=True)

    async def state(self) -> None:
        return None


class NoTools(Box):
    tools = ()  # type: ignore[assignment]


class Conversation:
    """Replies with the number of the message; on a command, calls a tool or raises."""

    def __init__(self, agent: Any, conversation_id: str, max_steps: int) -> None:
        self.agent, self.heard = agent, 0

    async def send(self, text: str, turn: AgentTurn) -> None:
        self.heard += 1
        turn.input_tokens, turn.output_tokens = 5, 2
        await asyncio.sleep(0)
        module = sys.modules["their_agent"]
        turn.messages = [{"role": "user", "content": text}]
        if text.startswith("book"):
            arguments: Any = {"city": text.partition(" ")[2]}
            result = await self.agent.tools[0](arguments)
            call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": json.dumps(arguments)}}
            turn.messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": result},
            ]
        if hasattr(module, text):
            raise getattr(module, text)("it went wrong")
        if text == "crash":
            raise ZeroDivisionError
        if text == "parallel":  # as servers with equal ids do
            calls = [{"id": "c1", "function": {"name": "book", "arguments": json.dumps({"city": city})}} for city in ("Lima", "Oslo")]
            results = [{"role": "tool", "tool_call_id": "c1", "content": f"booked {city}"} for city in ("Lima", "Oslo")]
            turn.messages += [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
        if text == "unreadable":
            turn.messages = [{"role": "assistant", "tool_calls": 3}]
            return
        turn.messages.append({"role": "assistant", "content": f"message {self.heard}"})


def _make_tool(tool: Tool, execute: Execute) -> Callable[[Any], Any]:
    async def run(arguments: Any) -> str:
        try:
            return await execute(arguments)
        except Exception:  # as frameworks do
            return "the tool failed"

    return run


FRAMEWORK = Framework(
    name="theirs",
    module="json",
    package="their-framework",
    noun="agent",
    is_agent=lambda value: type(value).__name__ == "Agent",
    start=Conversation,
    make_tool=_make_tool,
    read=read_with("openai", "messages"),
    failures=("their_agent.ModelConfused",),
    limits=("their_agent.TooManySteps",),
)


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path, "their_agent.py").write_text(textwrap.dedent(CODE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "their_agent", raising=False)


def converse(name: str, texts: Sequence[str], *, box: Box | None = None, settings: AgentSettings | None = None) -> Session:
    """Send the texts, one after the other, until the conversation ends."""

    async def run() -> Session:
        toolbox = box or NoTools()
        session = Session(Case("a"), 0, toolbox, [])
        agent = FrameworkAgent(FRAMEWORK, f"their_agent:{name}", settings or AgentSettings(has_tools=bool(toolbox.tools), timeout=5))
        async with agent:
            for text in texts:
                session.messages.append(Message("user", text))
                await agent.reply(session)
                if session.ending:
                    break
        return session

    return asyncio.run(run())


def test_turns_of_a_conversation_share_their_state() -> None:
    session = converse("agent", ["hi", "again"], settings=AgentSettings(price=Price(1_000_000, 2_000_000)))
    assert [message.text for message in session.messages] == ["hi", "message 1", "again", "message 2"]
    assert (session.usage.input_tokens, session.usage.output_tokens, session.usage.cost) == (10, 4, 18.0)


def test_conversations_at_the_same_time_share_nothing() -> None:
    async def run() -> list[Session]:
        agent = FrameworkAgent(FRAMEWORK, "their_agent:agent", AgentSettings(timeout=5))
        sessions = [Session(Case(f"{number}"), 0, NoTools(), [Message("user", "hi")]) for number in range(20)]
        async with agent:
            for _ in range(2):
                await asyncio.gather(*map(agent.reply, sessions))
        return sessions

    for session in asyncio.run(run()):
        assert [message.text for message in session.messages] == ["hi", "message 1", "message 2"]


def test_tools_of_the_conversation_are_called_and_reported() -> None:
    box = Box()
    session = converse("make", ["book Lima", "book Oslo"], box=box)
    assert box.calls == [Call("book", {"city": "Lima"}), Call("book", {"city": "Oslo"})]
    assert session.messages[1:4] == [
        Message("assistant", "", (Call("book", {"city": "Lima"}, "c1"),)),
        Message("tool", "booked Lima", (), "c1", "book"),
        Message("assistant", "message 1"),
    ]
    assert session.messages[6] == Message("tool", "booked Oslo", (), session.messages[5].calls[0].id, "book")
    assert session.messages[5].calls[0].id != "c1"  # ids are unique in a conversation
    assert session.misses == 2


def test_results_of_calls_with_equal_ids_belong_to_them_in_order() -> None:
    messages = converse("agent", ["parallel"]).messages
    first, second = messages[1].calls
    assert first.id != second.id
    assert [(message.tool_call_id, message.text) for message in messages[2:4]] == [(first.id, "booked Lima"), (second.id, "booked Oslo")]


def test_failed_tool_server_is_an_error_even_if_the_framework_hides_it() -> None:
    with pytest.raises(ModelError, match="the tool server exited"):
        converse("make", ["book Lima"], box=Box(ModelError("the tool server exited")))


def test_exception_for_what_the_model_did_ends_the_conversation_with_a_malformed_call() -> None:
    session = converse("agent", ["hi", "ModelConfused", "hi"])
    assert session.ending == "model failure"
    (call,) = session.messages[-1].calls
    assert (call.malformed, call.text.partition(" (")[0]) == ("model failure", "ModelConfused: it went wrong")


def test_exception_that_the_settings_name_is_a_failure_too() -> None:
    settings = AgentSettings(failures=("builtins.ArithmeticError",))
    assert converse("agent", ["crash"], settings=settings).ending == "model failure"


def test_limit_of_steps_ends_the_conversation() -> None:
    session = converse("agent", ["TooManySteps", "hi"])
    assert session.ending == "step limit"
    assert session.messages == [Message("user", "TooManySteps")]


@pytest.mark.parametrize(
    "name, text, problem",
    [
        ("agent", "crash", "theirs:their_agent:agent raised ZeroDivisionError"),
        ("broken", "hi", "theirs:their_agent:broken raised KeyError: 'no model' (their_agent.py:19)"),
        ("wrong", "hi", "theirs:their_agent:wrong returned str, which is not an agent from their-framework"),
        ("agent", "unreadable", "theirs:their_agent:agent returned messages that cannot be read: "),
    ],
)
def test_any_other_problem_is_an_error(name: str, text: str, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        converse(name, [text])
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "options, has_tools, problem",
    [
        ("their_agent", False, "expected theirs:MODULE:AGENT, got theirs:their_agent"),
        ("their_agent:", False, "expected theirs:MODULE:AGENT, got theirs:their_agent:"),
        ("their_agnt:agent", False, "theirs:their_agnt:agent: no module named their_agnt. Did you mean their_agent?"),
        ("their_agent:agnt", False, "module their_agent has no attribute 'agnt'. Did you mean agent?"),
        (
            "their_agent:number",
            False,
            "theirs:their_agent:number: expected an agent from their-framework, or a function that returns one, got int",
        ),
        ("their_agent:two", True, "theirs:their_agent:two needs 2 arguments"),
        ("their_agent:keyword", True, "theirs:their_agent:keyword needs a keyword argument"),
        ("their_agent:agent", True, "theirs:their_agent:agent has its own tools, so --tools cannot be used with it"),
        ("their_agent:fresh", True, "theirs:their_agent:fresh has its own tools, so --tools cannot be used with it"),
        ("their_agent:make", False, "theirs:their_agent:make takes a list of tools, so it needs --tools"),
    ],
)
def test_spec_that_cannot_be_used_is_refused(options: str, has_tools: bool, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        FrameworkAgent(FRAMEWORK, options, AgentSettings(has_tools=has_tools))
    assert str(caught.value) == problem


def test_framework_that_cannot_be_imported_is_refused() -> None:
    def is_agent(value: Any) -> bool:
        raise ImportError("cannot import name 'Agent' from 'agents' (./agents/__init__.py)")

    with pytest.raises(BadInput, match="theirs:their_agent:agent: cannot import their-framework: ImportError: cannot import name 'Agent'"):
        FrameworkAgent(structs.replace(FRAMEWORK, is_agent=is_agent), "their_agent:agent", AgentSettings())


@pytest.mark.parametrize(
    "format_name, key, message",
    [
        ("langchain", "messages", {"type": "ai", "content": "", "tool_calls": [{"name": "book", "args": {"days": nan}, "id": "1"}]}),
        ("gemini", "contents", {"role": "model", "parts": [{"function_call": {"name": "book", "args": {"days": nan}}}]}),
    ],
)
def test_argument_that_json_does_not_have_is_not_read_as_null(format_name: str, key: str, message: dict[str, Any]) -> None:
    ((call,),) = (each.calls for each in read_with(format_name, key)([message]))
    assert (call.malformed, call.text) == ("arguments: NaN is not valid JSON", '{"days": NaN}')


def test_tokens_of_thoughts_are_output_tokens() -> None:
    assert output_tokens(SimpleNamespace(candidates_token_count=5, thoughts_token_count=40)) == 45
    assert output_tokens(SimpleNamespace(candidates_token_count=None)) == output_tokens(None) == 0


@pytest.mark.parametrize("result, text", [(0, "0"), (False, "false"), (None, "it broke"), ("", "it broke"), ("ok", "ok")])
def test_result_of_the_agent_framework_is_its_exception_only_if_there_is_none(result: Any, text: str) -> None:
    call = {"type": "function_call", "call_id": "1", "name": "book", "arguments": "{}"}
    content = {"type": "function_result", "call_id": "1", "result": result, "exception": "it broke"}
    messages = read_messages([{"role": "assistant", "contents": [call]}, {"role": "tool", "contents": [content]}])
    assert messages[-1].text == text


def test_usage_without_tokens_is_counted() -> None:
    assert converse("fresh", ["hi"]).usage.attempts == Usage().attempts
