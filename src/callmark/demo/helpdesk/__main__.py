"""`python -m callmark.demo.helpdesk`: the help desk as an MCP server."""

import argparse
import asyncio
import sys

from callmark.demo.helpdesk.server import serve_http, serve_stdio
from callmark.errors import BadInput


def main() -> int:
    """Serves until it is told to stop; 2 when it cannot begin."""
    options = argparse.ArgumentParser(prog="python -m callmark.demo.helpdesk", description="A help desk as an MCP server.")
    options.add_argument("--seed", type=int, default=7, help="what its tickets are made from (7)")
    options.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on 127.0.0.1 instead of stdio; 0 takes a free port")
    given = options.parse_args()
    try:
        asyncio.run(serve_stdio(given.seed) if given.http is None else serve_http(given.seed, given.http))
    except BadInput as problem:
        sys.stderr.write(f"Error: {problem}\n{problem.hint}\n")
        return 2
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
