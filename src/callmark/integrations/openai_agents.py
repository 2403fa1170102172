"""Agents of the OpenAI Agents SDK: `openai-agents:module:agent`.

The items of a turn are the input of the next one. After a handoff, the conversation continues with the agent that took over.
"""

from collections.abc import Iterable
from typing import Any

from callmark.integrations.framework import AgentTurn, Execute, Framework, read_with
from callmark.types import Tool


class RunnerConversation:
    """A conversation with an agent, run by `Runner.run`."""

    def __init__(self, agent: Any, conversation_id: str, max_steps: int) -> None:
        self._agent = agent
        self._max_turns = max_steps + 1
        self._items: list[Any] = []

    async def send(self, text: str, turn: AgentTurn) -> None:
        from agents import AgentsException, Runner

        try:
            given = [*self._items, {"role": "user", "content": text}]
            result = await Runner.run(self._agent, given, max_turns=self._max_turns)
        except AgentsException as error:
            if error.run_data is not None:
                _report(turn, error.run_data.new_items, error.run_data.context_wrapper.usage)
            raise
        _report(turn, result.new_items, result.context_wrapper.usage)
        self._items = result.to_input_list()
        self._agent = result.last_agent


def _report(turn: AgentTurn, items: Iterable[Any], usage: Any) -> None:
    turn.messages = [_plain(item.to_input_item()) for item in items]
    turn.input_tokens, turn.output_tokens = usage.input_tokens, usage.output_tokens


def _plain(item: Any) -> Any:
    return item.model_dump(mode="json", exclude_none=True) if hasattr(item, "model_dump") else item


def _is_agent(value: Any) -> bool:
    from agents import Agent

    return isinstance(value, Agent)


def _make_tool(tool: Tool, execute: Execute) -> Any:
    from agents import FunctionTool

    async def run(context: Any, arguments: str) -> str:
        return await execute(arguments)

    return FunctionTool(tool.name, tool.description, tool.parameters, run, strict_json_schema=False)


FRAMEWORK = Framework(
    name="openai-agents",
    module="agents",
    package="openai-agents",
    noun="agent",
    is_agent=_is_agent,
    start=RunnerConversation,
    make_tool=_make_tool,
    read=read_with("responses", "items"),
    failures=("agents.exceptions.ModelBehaviorError", "agents.exceptions.ModelRefusalError"),
    limits=("agents.exceptions.MaxTurnsExceeded",),
)
PROVIDER = FRAMEWORK.provider
