"""A demo's world as an MCP server. It keeps conversations apart by itself, so one process serves any number of them.

A request belongs to the conversation that its `_meta` names under `dev.callmark/conversation`, or to the conversation "" where it names
none. A conversation begins with a fresh copy of the world. The resource `state://current` is that copy as it stands, as JSON.
"""

import argparse
import asyncio
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from callmark.errors import BadInput
from callmark.types import Tool

if TYPE_CHECKING:
    from mcp.server import Server

EXTENSION = "dev.callmark/conversations"
CONVERSATION = "dev.callmark/conversation"
STATE = "state://current"
MOST_KEPT = 500  # conversations; beyond that the one that has been idle for longest is forgotten


class Answered(Protocol):
    """What came of a call."""

    @property
    def text(self) -> str: ...
    @property
    def is_error(self) -> bool: ...


class World(Protocol):
    """What is served: it answers calls, and copies of it know nothing of each other."""

    def copy(self) -> Self: ...
    def close(self) -> None: ...
    def call(self, name: str, arguments: Mapping[str, Any]) -> Answered: ...


W = TypeVar("W", bound=World)


class Conversations(Generic[W]):
    """A world for each conversation, all copied from one."""

    def __init__(self, world: W, *, most: int = MOST_KEPT) -> None:
        self._first = world
        self._most = most
        self._worlds: OrderedDict[str, W] = OrderedDict()

    def __len__(self) -> int:
        return len(self._worlds)

    def of(self, meta: Mapping[str, Any] | None) -> W:
        """The world of the conversation that the `_meta` names; a fresh one the first time."""
        name = str((meta or {}).get(CONVERSATION, ""))
        if name not in self._worlds:
            self._worlds[name] = self._first.copy()
            if len(self._worlds) > self._most:
                self._worlds.popitem(last=False)[1].close()
        self._worlds.move_to_end(name)
        return self._worlds[name]


def make_server(
    world: W,
    *,
    name: str,
    title: str,
    instructions: str,
    tools: Sequence[Tool],
    writes: Sequence[str],
    state_text: Callable[[W], str],
) -> "Server[Any]":
    """The server, ready to be run over any transport. `writes` are the tools that change something, `state_text` gives the state."""
    import mcp_types as types
    from mcp.server import Server, ServerRequestContext
    from mcp.shared.exceptions import MCPError

    conversations = Conversations(world)
    listed = [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.parameters,
            annotations=types.ToolAnnotations(read_only_hint=tool.name not in writes, destructive_hint=False),
        )
        for tool in tools
    ]

    async def list_tools(context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        answer = conversations.of(params.meta).call(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=answer.text)], is_error=answer.is_error)

    async def list_resources(context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        state = types.Resource(uri=STATE, name="state", description="Everything as it stands", mime_type="application/json")
        return types.ListResourcesResult(resources=[state])

    async def read_resource(context: ServerRequestContext[Any], params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri != STATE:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {params.uri!r}, {STATE} was expected")
        text = state_text(conversations.of(params.meta))
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=STATE, mime_type="application/json", text=text)])

    server: Server[Any] = Server(
        name,
        version="1",
        title=title,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    server.extensions[EXTENSION] = {}
    return server


def main(module: str, description: str, make: "Callable[[int], Server[Any]]") -> int:
    """Serve what `make` makes of a seed, as the command line says, until told to stop; 2 when it cannot begin."""
    options = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    options.add_argument("--seed", type=int, default=7, help="what its data are made from (7)")
    options.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on 127.0.0.1 instead of stdio; 0 takes a free port")
    given = options.parse_args()
    try:
        asyncio.run(_over_stdio(make(given.seed)) if given.http is None else _over_http(lambda: make(given.seed), given.http))
    except BadInput as problem:
        sys.stderr.write(f"Error: {problem}\n{problem.hint}\n")
        return 2
    except KeyboardInterrupt:
        pass
    return 0


async def _over_stdio(server: "Server[Any]") -> None:
    """Serve whoever started this process, until they close its standard input."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        # clients of the time before extensions see it among what is experimental
        await server.run(incoming, outgoing, server.create_initialization_options(experimental_capabilities={EXTENSION: {}}))


async def _over_http(make: "Callable[[], Server[Any]]", port: int) -> None:
    """Serve what `make` makes on loopback until the process is ended; port 0 takes a free one. The address is printed once it can be used.

    A port that cannot be used raises `BadInput` before anything is made.
    """
    with _listening(port) as listener:
        import uvicorn

        app = make().streamable_http_app(json_response=True)
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        await uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).serve(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio sends small answers at once only over what is named TCP
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(f"port {port} of 127.0.0.1 cannot be used: {error}", "Port 0 takes a free one.") from None
    return listener
