"""Agents of Pydantic AI: `pydantic-ai:module:agent`. The messages of all turns are the history of the next one."""

import json
from collections.abc import Sequence
from typing import Any

from callmark.integrations.framework import AgentTurn, Execute, Framework, read_with
from callmark.types import Tool


class AgentConversation:
    """A conversation with an agent."""

    def __init__(self, agent: Any, conversation_id: str, max_steps: int) -> None:
        self._agent = agent
        self._max_requests = max_steps + 1
        self._history: list[Any] = []

    async def send(self, text: str, turn: AgentTurn) -> None:
        from pydantic_ai import UsageLimits, capture_run_messages

        with capture_run_messages() as messages:
            try:
                await self._agent.run(text, message_history=self._history, usage_limits=UsageLimits(request_limit=self._max_requests))
            finally:
                new = messages[len(self._history) :]
                turn.messages = _plain(new)
                usages = [usage for message in new if (usage := getattr(message, "usage", None))]
                turn.input_tokens = sum(usage.input_tokens for usage in usages)
                turn.output_tokens = sum(usage.output_tokens for usage in usages)
                self._history = list(messages)


def _plain(messages: Sequence[Any]) -> list[Any]:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return list(json.loads(ModelMessagesTypeAdapter.dump_json(list(messages))))


def _is_agent(value: Any) -> bool:
    from pydantic_ai.agent import AbstractAgent

    return isinstance(value, AbstractAgent)


def _make_tool(tool: Tool, execute: Execute) -> Any:
    from pydantic_ai import Tool as AgentTool

    async def run(**arguments: Any) -> str:
        return await execute(arguments)

    return AgentTool.from_schema(run, tool.name, tool.description, tool.parameters)


FRAMEWORK = Framework(
    name="pydantic-ai",
    module="pydantic_ai",
    package="pydantic-ai",
    noun="agent",
    is_agent=_is_agent,
    start=AgentConversation,
    make_tool=_make_tool,
    read=read_with("pydantic-ai", "messages"),
    failures=("pydantic_ai.exceptions.UnexpectedModelBehavior",),
    limits=("pydantic_ai.exceptions.UsageLimitExceeded",),
)
PROVIDER = FRAMEWORK.provider
