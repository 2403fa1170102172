"""The help desk as an MCP server."""

import json
from typing import TYPE_CHECKING, Any

from callmark.worlds import mcp_server
from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.desk import Desk

if TYPE_CHECKING:
    from mcp.server import Server

_WRITES = (tools.CREATE_TICKET, tools.UPDATE_TICKET, tools.CREATE_ITEM, tools.UPDATE_ITEM)


def make_server(seed: int = 7) -> "Server[Any]":
    """Return a server that can run over any transport."""
    return mcp_server.make_server(
        Desk(seed),
        name="callmark-helpdesk",
        title="Help desk",
        instructions="Support tickets and their action items. Confirm with the user before every write.",
        tools=tools.TOOLS,
        writes=_WRITES,
        state_text=lambda desk: json.dumps(desk.state(), ensure_ascii=False),
    )
