"""A world's backend as an MCP server that isolates conversations, so that one process serves any number of them.

A request belongs to the conversation that its `_meta` names under `dev.callmark/conversation`, or to the conversation "" if it names
none. Each conversation starts with a fresh copy of the backend. The resource `state://current` is the current state of that copy as JSON.
"""

import argparse
import asyncio
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from callmark import BadInput, Tool, ToolResult
from callmark.worlds.mcp_versions import RequestRefused, ServerDefinition, Wire, build_server, http_app

if TYPE_CHECKING:
    from mcp.server import Server

EXTENSION = "dev.callmark/conversations"
CONVERSATION = "dev.callmark/conversation"
STATE = "state://current"
MAX_CONVERSATIONS = 500  # beyond that, the conversation that has been idle longest is dropped


class Backend(Protocol):
    """The data of a world and the tools that read and write it. Copies share nothing."""

    def copy(self) -> Self: ...
    def close(self) -> None: ...
    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult: ...


B = TypeVar("B", bound=Backend)


class ConversationBackends(Generic[B]):
    """One backend for each conversation, all copied from the same initial one."""

    def __init__(self, initial: B, *, limit: int = MAX_CONVERSATIONS) -> None:
        self._initial = initial
        self._limit = limit
        self._backends: OrderedDict[str, B] = OrderedDict()

    def __len__(self) -> int:
        return len(self._backends)

    def get(self, meta: Mapping[str, Any] | None) -> B:
        """Return the backend of the conversation that `_meta` names; a fresh copy the first time."""
        name = str((meta or {}).get(CONVERSATION, ""))
        if name not in self._backends:
            self._backends[name] = self._initial.copy()
            if len(self._backends) > self._limit:
                self._backends.popitem(last=False)[1].close()
        self._backends.move_to_end(name)
        return self._backends[name]


def make_server(
    backend: B,
    *,
    name: str,
    title: str,
    instructions: str,
    tools: Sequence[Tool],
    writes: Sequence[str],
    state_text: Callable[[B], str],
) -> "Server[Any]":
    """Return a server that can run over any transport.

    `writes` names the tools that change something; `state_text` returns the state of a backend as JSON.
    """
    backends = ConversationBackends(backend)
    listed = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "annotations": {"readOnlyHint": tool.name not in writes, "destructiveHint": False},
        }
        for tool in tools
    ]

    def call_tool(params: Wire) -> Wire:
        result = backends.get(params["_meta"]).call(params["name"], params.get("arguments") or {})
        return {"content": [{"type": "text", "text": result.text}], "isError": result.is_error}

    def read_resource(params: Wire) -> Wire:
        if params["uri"] != STATE:
            raise RequestRefused(f"no resource {params['uri']!r}; expected {STATE}")
        text = state_text(backends.get(params["_meta"]))
        return {"contents": [{"uri": STATE, "mimeType": "application/json", "text": text}]}

    state = {"uri": STATE, "name": "state", "description": "The current state", "mimeType": "application/json"}
    handlers: dict[str, Callable[[Wire], Wire]] = {
        "tools/list": lambda params: {"tools": listed},
        "tools/call": call_tool,
        "resources/list": lambda params: {"resources": [state]},
        "resources/read": read_resource,
    }
    server: Server[Any] = build_server(ServerDefinition(name, title, instructions, EXTENSION, handlers))
    return server


def main(module: str, description: str, make_seeded: "Callable[[int], Server[Any]]") -> int:
    """Run the server that `make_seeded` returns for the seed of the command line until it is stopped. Return 2 if it cannot start."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--seed", type=int, default=7, help="Seed of the generated data (default: 7).")
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="Use streamable HTTP on 127.0.0.1 instead of stdio; 0 selects a free port."
    )
    options = parser.parse_args()
    try:
        asyncio.run(
            _serve_stdio(make_seeded(options.seed))
            if options.http is None
            else _serve_http(lambda: make_seeded(options.seed), options.http)
        )
    except BadInput as error:
        sys.stderr.write(f"Error: {error}\n{error.hint}\n")
        return 2
    except KeyboardInterrupt:
        pass
    return 0


async def _serve_stdio(server: "Server[Any]") -> None:
    """Serve the parent process until it closes standard input."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _serve_http(make: "Callable[[], Server[Any]]", port: int) -> None:
    """Serve on loopback until the process ends, and print the address when it accepts connections. Port 0 selects a free port.

    A port that cannot be used raises `BadInput` before `make` is called.
    """
    with _listen(port) as listener:
        import uvicorn

        app = http_app(make())
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        await uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).serve(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio disables Nagle's algorithm only on sockets that name TCP
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(f"cannot use port {port} of 127.0.0.1: {error}", "Pass another port, or 0 for any free one.") from None
    return listener
