"""Agents of the Microsoft Agent Framework: `agent-framework:module:agent`. Each conversation has a session of the agent.

{"role", "contents": [{"type": "text", "text"}, {"type": "function_call", "call_id", "name", "arguments"},
                      {"type": "function_result", "call_id", "result"}, …]}
"""

from collections.abc import Sequence
from typing import Any

from callmark.integrations.framework import AgentTurn, Execute, Framework, read_with
from callmark.types import Message, Tool

_read_items = read_with("responses", "items")


class SessionConversation:
    """A conversation with an agent."""

    def __init__(self, agent: Any, conversation_id: str, max_steps: int) -> None:
        self._agent = agent
        self._session = agent.create_session()

    async def send(self, text: str, turn: AgentTurn) -> None:
        response = await self._agent.run(text, session=self._session)
        turn.messages = [message.to_dict() for message in response.messages]
        usage = response.usage_details or {}
        turn.input_tokens = usage.get("input_token_count") or 0
        turn.output_tokens = usage.get("output_token_count") or 0


def read_messages(messages: Sequence[Any]) -> list[Message]:
    """Convert the messages of a response to callmark's. Contents other than text, calls and results are left out."""
    items: list[dict[str, Any]] = []
    for message in messages:
        for content in message.get("contents") or ():
            match content.get("type"):
                case "text":
                    items.append({"type": "message", "role": message["role"], "content": content.get("text") or ""})
                case "function_call":
                    keys = {key: content.get(key) for key in ("call_id", "name", "arguments")}
                    items.append({"type": "function_call", **keys})
                case "function_result":
                    found = (content[key] for key in ("result", "exception") if content.get(key) not in (None, ""))
                    items.append({"type": "function_call_output", "call_id": content.get("call_id"), "output": next(found, "")})
    return _read_items(items)


def _is_agent(value: Any) -> bool:
    return hasattr(value, "create_session") and hasattr(value, "run")


def _make_tool(tool: Tool, execute: Execute) -> Any:
    from agent_framework import FunctionTool

    async def run(**arguments: Any) -> str:
        return await execute(arguments)

    return FunctionTool(name=tool.name, description=tool.description, approval_mode="never_require", func=run, input_model=tool.parameters)


FRAMEWORK = Framework(
    name="agent-framework",
    module="agent_framework",
    package="agent-framework",
    noun="agent",
    is_agent=_is_agent,
    start=SessionConversation,
    make_tool=_make_tool,
    read=read_messages,
)
PROVIDER = FRAMEWORK.provider
