"""`python -m callmark.demo.helpdesk`: the help desk as an MCP server."""

import sys

from callmark.demo import serving
from callmark.demo.helpdesk.server import make_server

if __name__ == "__main__":
    sys.exit(serving.main("callmark.demo.helpdesk", "A help desk as an MCP server.", make_server))
