"""Clients of a world's MCP server: a process over HTTP or stdio."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def serve_http(command: Sequence[str]) -> Iterator[str]:
    """Run the server over HTTP on a free port; yield its address."""
    with subprocess.Popen([*command, "--http", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(10)


def connect_stdio(command: Sequence[str]) -> Any:
    """Return the SDK's stdio transport to the server."""
    from mcp import StdioServerParameters, stdio_client

    # the SDK keeps the standard error at import time, which may belong to a finished test
    return stdio_client(StdioServerParameters(command=command[0], args=list(command[1:])), errlog=sys.__stderr__ or sys.stderr)
