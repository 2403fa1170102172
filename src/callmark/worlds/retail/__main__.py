"""`python -m callmark.worlds.retail`: the store as an MCP server."""

import sys

from callmark.worlds import serving
from callmark.worlds.retail.server import make_server

if __name__ == "__main__":
    sys.exit(serving.main("callmark.worlds.retail", "A retail store as an MCP server.", make_server))
