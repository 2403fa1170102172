"""`python -m callmark.worlds.helpdesk`: the help desk as an MCP server."""

import sys

from callmark.worlds import serving
from callmark.worlds.helpdesk.server import make_server

if __name__ == "__main__":
    sys.exit(serving.main("callmark.worlds.helpdesk", "A help desk as an MCP server.", make_server))
