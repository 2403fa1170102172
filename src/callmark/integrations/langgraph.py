"""Agents of LangGraph and LangChain: `langgraph:module:graph`, a compiled graph whose state has `messages`.

A graph with a checkpointer gets a thread for each conversation; the history of any other graph is passed again in every turn. Messages are
told apart by their ids. A graph that waits for a person (an interrupt) is an error.
"""

from typing import Any

from callmark.integrations.framework import AgentTurn, Execute, Framework, read_with
from callmark.models.model import ModelError
from callmark.types import Tool


class GraphConversation:
    """A conversation with a compiled graph."""

    def __init__(self, graph: Any, conversation_id: str, max_steps: int) -> None:
        self._graph = graph
        # a step is the model's node and that of its tools; the last one is the model's
        self._config = {"configurable": {"thread_id": conversation_id}, "recursion_limit": 2 * max_steps + 1}
        self._history: list[Any] = []

    async def send(self, text: str, turn: AgentTurn) -> None:
        user = {"role": "user", "content": text}
        seen = {message.id for message in self._history}
        number = len(self._history)
        given = [user] if self._graph.checkpointer else [*self._history, user]
        state: Any = {}
        async for state in self._graph.astream({"messages": given}, self._config, stream_mode="values"):
            self._history = list(state["messages"])
            new = [message for at, message in enumerate(self._history) if (message.id not in seen if message.id else at >= number)]
            turn.messages = [message.model_dump(mode="json") for message in new]
            usages = [getattr(message, "usage_metadata", None) or {} for message in new]
            turn.input_tokens = sum(usage.get("input_tokens", 0) for usage in usages)
            turn.output_tokens = sum(usage.get("output_tokens", 0) for usage in usages)
        if "__interrupt__" in state:
            raise ModelError("the graph was interrupted to wait for human input, which a simulated user cannot provide")


def _make_tool(tool: Tool, execute: Execute) -> Any:
    from langchain_core.tools import StructuredTool

    async def run(**arguments: Any) -> str:
        return await execute(arguments)

    return StructuredTool.from_function(
        coroutine=run, name=tool.name, description=tool.description or tool.name, args_schema=tool.parameters
    )


FRAMEWORK = Framework(
    name="langgraph",
    module="langgraph",
    package="langgraph",
    noun="graph",
    is_agent=lambda value: hasattr(value, "astream") and hasattr(value, "checkpointer"),
    start=GraphConversation,
    make_tool=_make_tool,
    read=read_with("langchain", "messages"),
    failures=("langchain_core.exceptions.OutputParserException", "langchain.agents.structured_output.StructuredOutputError"),
    limits=("langgraph.errors.GraphRecursionError",),
)
PROVIDER = FRAMEWORK.provider
