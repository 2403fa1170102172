"""`python -m callmark.demo.retail`: the store as an MCP server."""

import sys

from callmark.demo import serving
from callmark.demo.retail.server import make_server

if __name__ == "__main__":
    sys.exit(serving.main("callmark.demo.retail", "A retail store as an MCP server.", make_server))
