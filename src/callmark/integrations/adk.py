"""Agents of Google's Agent Development Kit: `adk:module:root_agent`, an agent or an `App`. Each conversation has a session in memory.

Tools of callmark return an object, as ADK expects: the object in the result, or the result under `result`.
"""

from typing import Any

from callmark.calls.strict import NotStrict, parse
from callmark.integrations.framework import AgentTurn, Execute, Framework, read_with
from callmark.types import Tool

_USER = "callmark"


class RunnerConversation:
    """A conversation with an agent, run by a `Runner`."""

    def __init__(self, agent: Any, conversation_id: str, max_steps: int) -> None:
        from google.adk.agents.run_config import RunConfig
        from google.adk.apps import App
        from google.adk.runners import InMemoryRunner

        self._runner = InMemoryRunner(app=agent) if isinstance(agent, App) else InMemoryRunner(agent, app_name=_USER)
        self._config = RunConfig(max_llm_calls=max_steps + 1)
        self._session: Any = None

    async def send(self, text: str, turn: AgentTurn) -> None:
        from google.genai.types import Content, Part

        if self._session is None:
            self._session = await self._runner.session_service.create_session(app_name=self._runner.app_name, user_id=_USER)
        message = Content(role="user", parts=[Part(text=text)])
        events = self._runner.run_async(user_id=_USER, session_id=self._session.id, new_message=message, run_config=self._config)
        async for event in events:
            if event.content and not event.partial:
                turn.messages.append(event.content.model_dump(mode="json", exclude_none=True))
            usage = event.usage_metadata
            turn.input_tokens += (usage and usage.prompt_token_count) or 0
            turn.output_tokens += output_tokens(usage)


def output_tokens(usage: Any) -> int:
    """Return the output tokens of an event: those of its content and those of its thoughts, which are billed alike."""
    counts = (getattr(usage, name, None) for name in ("candidates_token_count", "thoughts_token_count"))
    return sum(count or 0 for count in counts)


def _is_agent(value: Any) -> bool:
    from google.adk.agents import BaseAgent
    from google.adk.apps import App

    return isinstance(value, BaseAgent | App)


def _make_tool(tool: Tool, execute: Execute) -> Any:
    from google.adk.tools.base_tool import BaseTool
    from google.genai.types import FunctionDeclaration

    class ConversationTool(BaseTool):  # type: ignore[misc,unused-ignore]
        def _get_declaration(self) -> Any:
            return FunctionDeclaration(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)

        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            return _as_object(await execute(args))

    return ConversationTool(name=tool.name, description=tool.description)


def _as_object(text: str) -> dict[str, Any]:
    try:
        value = parse(text.encode())
    except NotStrict:
        value = text
    return value if isinstance(value, dict) else {"result": value}


FRAMEWORK = Framework(
    name="adk",
    module="google.adk",
    package="google-adk",
    noun="agent",
    is_agent=_is_agent,
    start=RunnerConversation,
    make_tool=_make_tool,
    read=read_with("gemini", "contents"),
    limits=("google.adk.agents.invocation_context.LlmCallsLimitExceededError",),
)
PROVIDER = FRAMEWORK.provider
