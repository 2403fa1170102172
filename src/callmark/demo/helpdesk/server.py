"""The help desk as an MCP server. It keeps conversations apart by itself, so one process serves any number of them.

A request belongs to the conversation that its `_meta` names under `dev.callmark/conversation`, or to the conversation "" where it names
none. A conversation begins with a fresh copy of the desk. The resource `state://current` is that copy as it stands, as JSON.
"""

import json
import socket
import sys
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from callmark.demo.helpdesk import tools
from callmark.demo.helpdesk.desk import Desk
from callmark.errors import BadInput

if TYPE_CHECKING:
    from mcp.server import Server

EXTENSION = "dev.callmark/conversations"
CONVERSATION = "dev.callmark/conversation"
STATE = "state://current"
MOST_KEPT = 500  # conversations; beyond that the one that has been idle for longest is forgotten

_READS = frozenset(tool.name for tool in tools.TOOLS) - {tools.CREATE_TICKET, tools.UPDATE_TICKET, tools.CREATE_ITEM, tools.UPDATE_ITEM}


class Conversations:
    """A desk for each conversation, all copied from one."""

    def __init__(self, desk: Desk, *, most: int = MOST_KEPT) -> None:
        self._first = desk
        self._most = most
        self._desks: OrderedDict[str, Desk] = OrderedDict()

    def __len__(self) -> int:
        return len(self._desks)

    def of(self, meta: Mapping[str, Any] | None) -> Desk:
        """The desk of the conversation that the `_meta` names; a fresh one the first time."""
        name = str((meta or {}).get(CONVERSATION, ""))
        if name not in self._desks:
            self._desks[name] = self._first.copy()
            if len(self._desks) > self._most:
                self._desks.popitem(last=False)[1].close()
        self._desks.move_to_end(name)
        return self._desks[name]


def make_server(seed: int = 7) -> "Server[Any]":
    """The server, ready to be run over any transport."""
    import mcp_types as types
    from mcp.server import Server, ServerRequestContext
    from mcp.shared.exceptions import MCPError

    conversations = Conversations(Desk(seed))
    listed = [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.parameters,
            annotations=types.ToolAnnotations(read_only_hint=tool.name in _READS, destructive_hint=False),
        )
        for tool in tools.TOOLS
    ]

    async def list_tools(context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        answer = conversations.of(params.meta).call(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=answer.text)], is_error=answer.is_error)

    async def list_resources(context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        state = types.Resource(uri=STATE, name="state", description="The desk as it stands", mime_type="application/json")
        return types.ListResourcesResult(resources=[state])

    async def read_resource(context: ServerRequestContext[Any], params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri != STATE:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {params.uri!r}, {STATE} was expected")
        text = json.dumps(conversations.of(params.meta).state(), ensure_ascii=False)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=STATE, mime_type="application/json", text=text)])

    server: Server[Any] = Server(
        "callmark-helpdesk",
        version="1",
        title="Help desk",
        instructions="Support tickets and their action items. Confirm with the user before every write.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    server.extensions[EXTENSION] = {}
    return server


async def serve_stdio(seed: int) -> None:
    """Serve whoever started this process, until they close its standard input."""
    from mcp.server.stdio import stdio_server

    server = make_server(seed)
    async with stdio_server() as (incoming, outgoing):
        # clients of the time before extensions see it among what is experimental
        await server.run(incoming, outgoing, server.create_initialization_options(experimental_capabilities={EXTENSION: {}}))


async def serve_http(seed: int, port: int) -> None:
    """Serve on loopback until the process is ended; port 0 takes a free one. The address is printed once it can be used."""
    with _listening(port) as listener:
        import uvicorn

        app = make_server(seed).streamable_http_app(json_response=True)
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
