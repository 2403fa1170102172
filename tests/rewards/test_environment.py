"""Simulated conversations as an environment: what a trainer reads from it, and an episode."""

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import BadInput, Case, Tool
from callmark.rewards import Environment, Reward
from callmark.rewards.tool_methods import tool_method
from callmark.types import Call

TOOLS = f"mcp:{sys.executable} -m callmark.worlds.helpdesk"
CREATE = "TicketManagementPlugin-create_support_ticket"
MODULE = """
tickets = []

def open_ticket(title: str, priority: str = "Low") -> str:
    "Open a ticket."
    return f"opened {title}"

def crash() -> str:
    "Crash."
    raise ValueError("boom")
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "ticket_tools.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "python:ticket_tools"


def scenario(name: str = "s1") -> Case:
    data = {"script": ["Please open a ticket: printer down.", "Thanks, bye."]}
    call = Call("open_ticket", {"title": "printer down"})
    return Case(name, instructions="Open a ticket for the printer.", completion="The user says goodbye.", expected=(call,), data=data)


def test_episode_with_a_scripted_user_is_graded(tools: str) -> None:
    with Environment([scenario()], tools, user="script") as factory:
        environment = factory()
        assert environment.reset(id="s1", prompt=[]) == "Please open a ticket: printer down."
        assert environment.get_reward() == 0.0
        assert environment.open_ticket(title="printer down") == "opened printer down"
        assert environment.get_reward() == 1.0
        assert environment.send_message_to_user(message="Done.") == "Thanks, bye."
        assert environment.open_ticket(title="again") == "opened again"
        assert environment.get_reward() == 0.0  # an extra call
        assert environment.reset() == "Please open a ticket: printer down."
        assert environment.get_reward() == 0.0


def test_environments_do_not_share_an_episode(tools: str) -> None:
    with Environment([scenario()], tools, user="script", reward=Reward(metric="process.recall")) as factory:
        one, other = factory(), factory()
        one.reset()
        other.reset()
        one.open_ticket(title="printer down")
        assert (one.get_reward(), other.get_reward()) == (1.0, 0.0)
        assert type(one) is type(other)  # as the trainer expects it


def test_trainer_sees_the_tools_as_public_methods(tools: str) -> None:
    with Environment([scenario()], tools, user="script", system="Be kind.") as factory:
        kind = type(factory())
        public = [name for name, _ in inspect.getmembers(kind, predicate=inspect.isfunction) if not name.startswith("_")]
        assert public == ["crash", "get_reward", "open_ticket", "reset", "send_message_to_user"]
        assert factory.rows() == [{"id": "s1", "prompt": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ""}]}]
        environment = _started(factory)
        assert "boom" in environment.crash()
        assert environment.get_reward() == 0.0  # the tool's error is not one of the infrastructure


def _started(factory: Environment) -> Any:
    environment = factory()
    environment.reset()
    return environment


def test_row_without_an_id_is_refused_where_there_are_several_scenarios(tools: str) -> None:
    with Environment([scenario(), scenario("s2")], tools, user="script") as factory:
        with pytest.raises(BadInput, match="the row has no id"):
            factory().reset()
        with pytest.raises(BadInput, match="no scenario has the ID 's3'"):
            factory().reset(id="s3")
        with pytest.raises(BadInput, match="reset must be called"):
            factory().open_ticket(title="x")


def test_environment_without_scenarios_is_refused(tools: str) -> None:
    with pytest.raises(BadInput, match="the list: no scenarios found"):
        Environment([], tools)


def test_scenario_that_the_tools_do_not_fit_is_refused(tools: str) -> None:
    with pytest.raises(BadInput, match="it expects close_ticket, which is not one of the available tools"):
        Environment([callmark.Case("s", instructions="x", expected=(Call("close_ticket"),))], tools)


def test_episode_over_an_mcp_server_reaches_the_expected_state(tmp_path: Path) -> None:
    callmark.synth_scenarios(tmp_path / "scenarios.jsonl", number=6, seed=1)
    with Environment(tmp_path / "scenarios.jsonl", TOOLS, reward=Reward(metric="state.reached")) as factory:
        environment = factory()
        case = next(case for case in factory.scenarios.values() if [call.name for call in case.expected] == [CREATE])
        assert environment.reset(id=case.id)
        assert environment.get_reward() == 0.0
        for call in case.expected:
            getattr(environment, call.name)(**call.arguments)
        assert environment.get_reward() == 1.0


def test_method_describes_the_tool() -> None:
    schema = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "kind": {"enum": ["a", "b"], "description": "The\n  kind."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "who": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
        "required": ["kind"],
    }
    method = tool_method(Tool("do-it", "Do it.\n\nArgs: none", schema), lambda self, arguments: repr(arguments))
    assert method.__name__ == "do-it"
    assert list(inspect.signature(method).parameters) == ["self", "kind", "note", "tags", "who"]
    assert method.__annotations__["kind"].__args__ == ("a", "b")
    assert method.__annotations__["tags"] == list[str] | None
    assert method.__doc__ == (
        "Do it. Args: none\n\nArgs:\n    kind: The kind.\n    note: note\n    tags: tags\n"
        '    who: who (JSON Schema: {"properties":{"name":{"type":"string"}}})'
    )
    assert method(None, kind="a", other=1) == "{'kind': 'a', 'other': 1}"


def test_parameter_that_is_not_a_python_name_is_refused() -> None:
    with pytest.raises(BadInput, match="tool f: parameter 'a-b' is not a valid Python identifier"):
        tool_method(Tool("f", "", {"properties": {"a-b": {}}}), lambda self, arguments: "")
