"""The help desk over MCP with the SDK's client: over stdio and HTTP, with a real process and a real socket."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.desk import Desk
from callmark.worlds.mcp_server import CONVERSATION, EXTENSION, STATE, ConversationBackends
from tests.worlds.helpdesk.test_desk import ITEM, TICKET
from tests.worlds.mcp_clients import connect_stdio, serve_http

COMMAND = [sys.executable, "-m", "callmark.worlds.helpdesk"]
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


class ClientSession(NamedTuple):
    """What a client received in one session: the results of CALLS, then of fifty conversations at once."""

    capabilities: Any
    tools: dict[str, Any]
    results: list[tuple[bool, str]]
    refusal: tuple[bool, str]
    conversations: dict[str, tuple[dict[str, Any], dict[str, Any]]]
    untouched: dict[str, Any]


async def run_client_session(server: Any) -> ClientSession:
    from mcp import Client

    async with Client(server) as client:

        async def call(name: str, arguments: dict[str, str], conversation: str) -> tuple[bool, str]:
            meta: Any = {CONVERSATION: conversation}
            result = await client.call_tool(name, dict(arguments), meta=meta)
            return result.is_error, getattr(result.content[0], "text", "")

        async def state(meta: Any) -> dict[str, Any]:
            read: dict[str, Any] = json.loads(getattr((await client.read_resource(STATE, meta=meta)).contents[0], "text", ""))
            return read

        async def converse(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
            _, created = await call(tools.CREATE_TICKET, {**TICKET, "title": f"Ticket of {name}"}, name)
            return json.loads(created), await state({CONVERSATION: name})

        names = [f"conversation {number}" for number in range(50)]
        return ClientSession(
            client.server_capabilities,
            {tool.name: tool.input_schema for tool in (await client.list_tools()).tools},
            [await call(name, arguments, "all tools") for name, arguments in CALLS],
            await call(tools.GET_TICKET, {"ticket_id": "TKT-9"}, "all tools"),
            dict(zip(names, await asyncio.gather(*map(converse, names)), strict=True)),
            await state(None),
        )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_http(COMMAND) as address:
        yield address


@pytest.fixture(scope="module", params=["stdio", "http"])
def session(request: pytest.FixtureRequest) -> ClientSession:
    return asyncio.run(run_client_session(request.getfixturevalue("url") if request.param == "http" else connect_stdio(COMMAND)))


def test_sdk_client_lists_and_calls_every_tool(session: ClientSession) -> None:
    assert session.tools == {tool.name: tool.parameters for tool in tools.TOOLS}
    assert {name for name, _ in CALLS} == set(session.tools)
    assert [text for is_error, text in session.results if is_error] == []
    assert json.loads(session.results[-1][1])["status"] == "Closed"
    assert session.refusal == (True, "there is no ticket 'TKT-9'; expected an id such as TKT-1001")


def test_conversations_are_isolated_and_their_states_readable(session: ClientSession) -> None:
    assert EXTENSION in session.capabilities.extensions
    assert len(session.conversations) == 50
    for name, (created, state) in session.conversations.items():
        assert created["ticket_id"] == list(state["tickets"])[-1] == "TKT-1041"
        assert state["tickets"]["TKT-1041"] == {**TICKET, "title": f"Ticket of {name}", "status": "Open"}
    assert session.untouched == Desk(7).state()


def test_longest_idle_conversation_is_dropped_first() -> None:
    backends = ConversationBackends(Desk(7), limit=2)
    for name in ("a", "b"):
        backends.get({CONVERSATION: name}).call(tools.CREATE_TICKET, TICKET)
    backends.get({CONVERSATION: "a"})
    backends.get(None)
    assert len(backends) == 2
    assert "TKT-1041" in backends.get({CONVERSATION: "a"}).state()["tickets"]
    assert "TKT-1041" not in backends.get({CONVERSATION: "b"}).state()["tickets"]


def test_port_in_use_is_reported_without_a_traceback(url: str) -> None:
    port = url.rsplit(":", 1)[1].split("/")[0]
    refused = subprocess.run([*COMMAND, "--http", port], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"cannot use port {port} of 127.0.0.1" in refused.stderr
    assert "Traceback" not in refused.stderr
