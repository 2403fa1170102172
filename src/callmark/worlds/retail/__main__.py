"""Run the store as an MCP server: `python -m callmark.worlds.retail`."""

import sys

from callmark.worlds import mcp_server
from callmark.worlds.retail.server import make_server

if __name__ == "__main__":
    sys.exit(mcp_server.main("callmark.worlds.retail", "A retail store as an MCP server.", make_server))
