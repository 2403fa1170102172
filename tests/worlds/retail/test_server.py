"""The store over MCP with the SDK's client: over stdio and HTTP, with a real process and a real socket."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from callmark.worlds.mcp_server import CONVERSATION, EXTENSION, STATE
from callmark.worlds.retail import tools
from callmark.worlds.retail.store.store import Store
from tests.worlds.mcp_clients import connect_stdio, serve_http
from tests.worlds.retail.store_calls import calls_of_every_tool, find_order

COMMAND = [sys.executable, "-m", "callmark.worlds.retail"]
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    (tools.CALCULATE, {"expression": "(" * 10_000}),
    (tools.CANCEL_ORDER, {"order_id": ["#W1234567"], "reason": 7}),
    (tools.GET_USER, {"user_id": "' or 1=1 --"}),
    (tools.GET_USER, {"user_id": "x" * 1_000_000}),
    (tools.RETURN_ITEMS, {"order_id": "#W1234567", "item_ids": "all", "payment_method_id": None}),
    ("drop_table", {}),
]


class ClientSession(NamedTuple):
    """What a client received in one session: the results of every call, of hostile ones, then of two conversations at once."""

    capabilities: Any
    tools: dict[str, Any]
    read_only: set[str]
    results: list[tuple[bool, str]]
    after: str
    refused: list[tuple[bool, str]]
    conversations: dict[str, tuple[str, str]]
    untouched: str


async def run_client_session(server: Any, store: Store) -> ClientSession:
    from mcp import Client

    async with Client(server) as client:

        async def call(name: str, arguments: dict[str, Any], conversation: str) -> tuple[bool, str]:
            meta: Any = {CONVERSATION: conversation}
            result = await client.call_tool(name, arguments, meta=meta)
            return result.is_error, getattr(result.content[0], "text", "")

        async def state(conversation: str | None) -> str:
            meta: Any = None if conversation is None else {CONVERSATION: conversation}
            return getattr((await client.read_resource(STATE, meta=meta)).contents[0], "text", "")

        async def cancel(conversation: str, reason: str) -> tuple[str, str]:
            _, created = await call(
                tools.CANCEL_ORDER, {"order_id": find_order(store, "pending")["order_id"], "reason": reason}, conversation
            )
            return created, await state(conversation)

        join_phrases = (await client.list_tools()).tools
        reasons = {"one": "no longer needed", "other": "ordered by mistake"}
        created = await asyncio.gather(*(cancel(*each) for each in reasons.items()))
        return ClientSession(
            client.server_capabilities,
            {tool.name: tool.input_schema for tool in join_phrases},
            {tool.name for tool in join_phrases if tool.annotations and tool.annotations.read_only_hint},
            [await call(name, arguments, "all tools") for name, arguments in calls_of_every_tool(store)],
            await state("all tools"),
            [await call(name, arguments, "hostile") for name, arguments in HOSTILE],
            dict(zip(reasons.values(), created, strict=True)),
            await state("hostile"),
        )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_http(COMMAND) as address:
        yield address


@pytest.fixture(scope="module", params=["stdio", "http"])
def session(request: pytest.FixtureRequest, seeded: Store) -> ClientSession:
    return asyncio.run(run_client_session(request.getfixturevalue("url") if request.param == "http" else connect_stdio(COMMAND), seeded))


def test_sdk_client_lists_and_calls_every_tool(session: ClientSession, store: Store) -> None:
    assert session.tools == {tool.name: tool.parameters for tool in tools.TOOLS}
    assert len(session.tools) == 15
    assert session.read_only == set(session.tools) - set(tools.WRITES)
    calls = calls_of_every_tool(store)
    assert {name for name, _ in calls} == set(session.tools)
    assert session.results == [(False, store.call(name, arguments).text) for name, arguments in calls]
    assert session.after == store.state_text()


def test_conversations_are_isolated(session: ClientSession, store: Store) -> None:
    assert EXTENSION in session.capabilities.extensions
    order_id = find_order(store, "pending")["order_id"]
    for reason, (created, state) in session.conversations.items():
        assert json.loads(created)["cancel_reason"] == reason
        assert json.loads(state)["orders"][order_id]["cancel_reason"] == reason
    assert session.untouched == store.state_text()


def test_hostile_calls_are_refused_and_change_nothing(session: ClientSession, store: Store) -> None:
    assert [is_error for is_error, _ in session.refused] == [True] * len(HOSTILE)
    assert all("expected" in text for _, text in session.refused)
    assert session.untouched == store.state_text()


def test_port_in_use_is_reported_without_a_traceback(url: str) -> None:
    port = url.rsplit(":", 1)[1].split("/")[0]
    refused = subprocess.run([*COMMAND, "--http", port], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"cannot use port {port} of 127.0.0.1" in refused.stderr
    assert "Traceback" not in refused.stderr
