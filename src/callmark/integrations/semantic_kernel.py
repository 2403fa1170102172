"""Agents of Semantic Kernel: `semantic-kernel:module:agent`. Each conversation has a thread.

A tool that is named `Plugin-function`, as Semantic Kernel names them, is given as a plugin; one without a hyphen as a function of the
plugin `tools`, whose name is left out of the calls.
"""

from typing import Any

from callmark.integrations.framework import AgentTurn, Execute, Framework, read_with
from callmark.types import Tool

_PLUGIN = "tools"  # of tools that name none


class ThreadConversation:
    """A conversation with a chat completion agent."""

    def __init__(self, agent: Any, conversation_id: str, max_steps: int) -> None:
        self._agent = agent
        self._thread: Any = None

    async def send(self, text: str, turn: AgentTurn) -> None:
        async def add(message: Any) -> None:
            turn.messages.extend(_plain(message))
            usage = message.metadata.get("usage")
            turn.input_tokens += getattr(usage, "prompt_tokens", 0) or 0
            turn.output_tokens += getattr(usage, "completion_tokens", 0) or 0

        async for response in self._agent.invoke(messages=text, thread=self._thread, on_intermediate_message=add):
            self._thread = response.thread
            await add(response.message)


def _plain(message: Any) -> list[dict[str, Any]]:
    """Return a message in the OpenAI form; a message with several results as one message for each."""
    from semantic_kernel.contents import FunctionResultContent

    results = [item for item in message.items if isinstance(item, FunctionResultContent)]
    if results:
        return [{"role": "tool", "tool_call_id": result.id or "", "content": str(result.result)} for result in results]
    plain = message.to_dict()
    text = message.content
    return [{**plain, "content": text or None, "tool_calls": [_without_plugin(call) for call in plain.get("tool_calls", ())]}]


def _without_plugin(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {**call, "function": {**function, "name": function["name"].removeprefix(f"{_PLUGIN}-")}}


def _is_agent(value: Any) -> bool:
    from semantic_kernel.agents import Agent

    return isinstance(value, Agent)


def _make_tool(tool: Tool, execute: Execute) -> Any:
    from semantic_kernel.functions import KernelFunctionFromMethod, kernel_function

    plugin, hyphen, name = tool.name.partition("-")
    if not hyphen:
        plugin, name = _PLUGIN, tool.name

    async def run(**arguments: Any) -> str:
        return await execute(arguments)

    required = tool.parameters.get("required") or ()
    function: Any = kernel_function(name=name, description=tool.description)(run)
    function.__kernel_function_parameters__ = [
        {"name": key, "type_": str(schema.get("type", "object")), "is_required": key in required, "schema_data": schema}
        for key, schema in (tool.parameters.get("properties") or {}).items()
    ]
    return KernelFunctionFromMethod(method=function, plugin_name=plugin)


def _join_tools(functions: list[Any]) -> list[Any]:
    """Return the plugins of the functions, for `plugins=` of an agent."""
    from semantic_kernel.functions import KernelPlugin

    names = dict.fromkeys(function.plugin_name for function in functions)
    return [KernelPlugin(name=name, functions=[each for each in functions if each.plugin_name == name]) for name in names]


FRAMEWORK = Framework(
    name="semantic-kernel",
    module="semantic_kernel",
    package="semantic-kernel",
    noun="agent",
    is_agent=_is_agent,
    start=ThreadConversation,
    make_tool=_make_tool,
    join_tools=_join_tools,
    read=read_with("openai", "messages"),
    failures=(
        "semantic_kernel.exceptions.content_exceptions.FunctionCallInvalidArgumentsException",
        "semantic_kernel.exceptions.content_exceptions.FunctionCallInvalidNameException",
    ),
)
PROVIDER = FRAMEWORK.provider
