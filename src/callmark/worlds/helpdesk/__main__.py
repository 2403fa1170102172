"""Run the help desk as an MCP server: `python -m callmark.worlds.helpdesk`."""

import sys

from callmark.worlds import mcp_server
from callmark.worlds.helpdesk.server import make_server

if __name__ == "__main__":
    sys.exit(mcp_server.main("callmark.worlds.helpdesk", "A help desk as an MCP server.", make_server))
