"""The store over MCP, by the SDK's own client: over stdio and over HTTP, with a real process and a real socket."""

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
from tests.worlds.mcp_clients import over_stdio, serving_http
from tests.worlds.retail.store_calls import an_order, every_call

COMMAND = [sys.executable, "-m", "callmark.worlds.retail"]
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    (tools.CALCULATE, {"expression": "(" * 10_000}),
    (tools.CANCEL_ORDER, {"order_id": ["#W1234567"], "reason": 7}),
    (tools.GET_USER, {"user_id": "' or 1=1 --"}),
    (tools.GET_USER, {"user_id": "x" * 1_000_000}),
    (tools.RETURN_ITEMS, {"order_id": "#W1234567", "item_ids": "all", "payment_method_id": None}),
    ("drop_table", {}),
]


class Seen(NamedTuple):
    """What a client saw in one session: it made every call, tried what is hostile, then had two conversations at once."""

    capabilities: Any
    tools: dict[str, Any]
    read_only: set[str]
    results: list[tuple[bool, str]]
    after: str
    refused: list[tuple[bool, str]]
    conversations: dict[str, tuple[str, str]]
    untouched: str


async def look(server: Any, store: Store) -> Seen:
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
            _, told = await call(tools.CANCEL_ORDER, {"order_id": an_order(store, "pending")["order_id"], "reason": reason}, conversation)
            return told, await state(conversation)

        join_phrases = (await client.list_tools()).tools
        reasons = {"one": "no longer needed", "other": "ordered by mistake"}
        told = await asyncio.gather(*(cancel(*each) for each in reasons.items()))
        return Seen(
            client.server_capabilities,
            {tool.name: tool.input_schema for tool in join_phrases},
            {tool.name for tool in join_phrases if tool.annotations and tool.annotations.read_only_hint},
            [await call(name, arguments, "all tools") for name, arguments in every_call(store)],
            await state("all tools"),
            [await call(name, arguments, "hostile") for name, arguments in HOSTILE],
            dict(zip(reasons.values(), told, strict=True)),
            await state("hostile"),
        )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving_http(COMMAND) as address:
        yield address


@pytest.fixture(scope="module", params=["stdio", "http"])
def seen(request: pytest.FixtureRequest, seeded: Store) -> Seen:
    return asyncio.run(look(request.getfixturevalue("url") if request.param == "http" else over_stdio(COMMAND), seeded))


def test_the_sdks_own_client_lists_and_calls_every_tool(seen: Seen, store: Store) -> None:
    assert seen.tools == {tool.name: tool.parameters for tool in tools.TOOLS}
    assert len(seen.tools) == 15
    assert seen.read_only == set(seen.tools) - set(tools.WRITES)
    calls = every_call(store)
    assert {name for name, _ in calls} == set(seen.tools)
    assert seen.results == [(False, store.call(name, arguments).text) for name, arguments in calls]
    assert seen.after == store.state_text()


def test_two_conversations_do_not_see_each_other(seen: Seen, store: Store) -> None:
    assert EXTENSION in seen.capabilities.extensions
    order_id = an_order(store, "pending")["order_id"]
    for reason, (told, state) in seen.conversations.items():
        assert json.loads(told)["cancel_reason"] == reason
        assert json.loads(state)["orders"][order_id]["cancel_reason"] == reason
    assert seen.untouched == store.state_text()


def test_hostile_calls_are_errors_in_a_sentence_and_change_nothing(seen: Seen, store: Store) -> None:
    assert [is_error for is_error, _ in seen.refused] == [True] * len(HOSTILE)
    assert all("expected" in text or "are taken" in text for _, text in seen.refused)
    assert seen.untouched == store.state_text()


def test_a_port_that_is_taken_is_an_error_in_a_sentence(url: str) -> None:
    port = url.rsplit(":", 1)[1].split("/")[0]
    refused = subprocess.run([*COMMAND, "--http", port], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in refused.stderr
    assert "Traceback" not in refused.stderr
