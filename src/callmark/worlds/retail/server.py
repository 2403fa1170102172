"""The store as an MCP server."""

from typing import TYPE_CHECKING, Any

from callmark.worlds import mcp_server
from callmark.worlds.retail import tools
from callmark.worlds.retail.store.store import Store

if TYPE_CHECKING:
    from mcp.server import Server


def make_server(seed: int = 7) -> "Server[Any]":
    """Return a server that can run over any transport."""
    return mcp_server.make_server(
        Store(seed),
        name="callmark-retail",
        title="Retail store",
        instructions="Customers, products and orders of a store. Identify the customer first, and confirm every write with them.",
        tools=tools.TOOLS,
        writes=tools.WRITES,
        state_text=Store.state_text,
    )
