"""The help desk over MCP, by the SDK's own client: over stdio and over HTTP, with a real process and a real socket."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from callmark.demo.helpdesk import tools
from callmark.demo.helpdesk.desk import Desk
from callmark.demo.helpdesk.server import CONVERSATION, EXTENSION, STATE, Conversations
from tests.demo.test_helpdesk_desk import ITEM, TICKET

COMMAND = [sys.executable, "-m", "callmark.demo.helpdesk"]
CALLS: list[tuple[str, dict[str, str]]] = [
    (tools.LIST_DEPARTMENTS, {}),
    (tools.LIST_PRIORITIES, {}),
    (tools.LIST_WORKFLOW_TYPES, {}),
    (tools.EXPLAIN_WORKFLOW, {}),
    (tools.START_OVER, {}),
    (tools.ASK_CLARIFICATION, {"question": "Which one?"}),
    (tools.CREATE_TICKET, TICKET),
    (tools.SEARCH_TICKETS, {"query": "degradation"}),
    (tools.GET_TICKET, {"ticket_id": "TKT-1041"}),
    (tools.CREATE_ITEM, {"ticket_id": "TKT-1041", **ITEM}),
    (tools.UPDATE_ITEM, {"action_item_id": "AI-2031", "status": "Done"}),
    (tools.LIST_ITEMS, {"ticket_id": "TKT-1041"}),
    (tools.UPDATE_TICKET, {"ticket_id": "TKT-1041", "status": "Closed"}),
]


def stdio() -> Any:
    from mcp import StdioServerParameters

    return StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with subprocess.Popen([*COMMAND, "--http", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(10)


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Callable[[], Any]:
    if request.param == "stdio":
        return stdio
    address: str = request.getfixturevalue("url")
    return lambda: address


def test_the_sdks_own_client_lists_and_calls_every_tool(server: Callable[[], Any]) -> None:
    from mcp import Client

    async def use() -> None:
        meta: Any = {CONVERSATION: "all tools"}
        async with Client(server()) as client:
            extensions = client.server_capabilities.extensions
            assert extensions is not None
            assert EXTENSION in extensions
            listed = (await client.list_tools()).tools
            assert {tool.name: tool.input_schema for tool in listed} == {tool.name: tool.parameters for tool in tools.TOOLS}
            assert {name for name, _ in CALLS} == {tool.name for tool in listed}
            for name, arguments in CALLS:
                result = await client.call_tool(name, dict(arguments), meta=meta)
                assert not result.is_error, (name, result.content)
            refused = await client.call_tool(tools.GET_TICKET, {"ticket_id": "TKT-9"}, meta=meta)
            assert refused.is_error
            assert getattr(refused.content[0], "text", "").startswith("there is no ticket 'TKT-9'")

    asyncio.run(use())


def test_conversations_are_kept_apart_and_their_states_can_be_read(server: Callable[[], Any]) -> None:
    from mcp import Client

    async def use() -> None:
        async with Client(server()) as client:

            async def ticket_of(name: str) -> tuple[str, dict[str, Any]]:
                meta: Any = {CONVERSATION: name}
                made = await client.call_tool(tools.CREATE_TICKET, {**TICKET, "title": f"Ticket of {name}"}, meta=meta)
                state = await client.read_resource(STATE, meta=meta)
                return getattr(made.content[0], "text", ""), json.loads(getattr(state.contents[0], "text", ""))

            names = [f"conversation {number}" for number in range(50)]
            for name, (made, state) in zip(names, await asyncio.gather(*map(ticket_of, names)), strict=True):
                assert json.loads(made)["ticket_id"] == "TKT-1041"
                assert list(state["tickets"])[-1] == "TKT-1041"
                assert state["tickets"]["TKT-1041"] == {**TICKET, "title": f"Ticket of {name}", "status": "Open"}
            untouched = await client.read_resource(STATE)
            assert json.loads(getattr(untouched.contents[0], "text", "")) == Desk(7).state()

    asyncio.run(use())


def test_the_conversation_that_has_been_idle_for_longest_is_forgotten_first() -> None:
    conversations = Conversations(Desk(7), most=2)
    for name in ("a", "b"):
        conversations.of({CONVERSATION: name}).call(tools.CREATE_TICKET, TICKET)
    conversations.of({CONVERSATION: "a"})
    conversations.of(None)
    assert len(conversations) == 2
    assert "TKT-1041" in conversations.of({CONVERSATION: "a"}).state()["tickets"]
    assert "TKT-1041" not in conversations.of({CONVERSATION: "b"}).state()["tickets"]


def test_a_port_that_is_taken_is_an_error_in_a_sentence(url: str) -> None:
    port = url.rsplit(":", 1)[1].split("/")[0]
    refused = subprocess.run([*COMMAND, "--http", port], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in refused.stderr
    assert "Traceback" not in refused.stderr
