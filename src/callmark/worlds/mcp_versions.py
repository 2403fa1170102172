"""An MCP server with either major version of the official SDK.

The versions register handlers in different ways and name fields differently, but the protocol is the same: requests and results are objects
as they are sent.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

Wire = dict[str, Any]
"""The parameters or the result of a request, as they are sent."""


class RequestRefused(Exception):  # noqa: N818 - the server's answer, not an error in it
    """The request has invalid parameters; the message says why."""


class ServerDefinition(Struct, frozen=True):
    """A server: its names, its extension, and a handler for each method, which gets the parameters and returns the result."""

    name: str
    title: str
    instructions: str
    extension: str
    handlers: Mapping[str, Callable[[Wire], Wire]]


def build_server(definition: ServerDefinition) -> Any:
    """Return the SDK's server."""
    return _build_version2(definition) if _has_version2() else _build_version1(definition)


def http_app(server: Any) -> Any:
    """Return an ASGI application that serves the server at `/mcp`."""
    if _has_version2():
        return server.streamable_http_app(json_response=True)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Route

    manager = StreamableHTTPSessionManager(server, json_response=True)

    class Endpoint:  # Route passes requests on unchanged to a class instance only
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await manager.handle_request(scope, receive, send)

    return Starlette(routes=[Route("/mcp", Endpoint())], lifespan=lambda app: manager.run())


def _has_version2() -> bool:
    return find_spec("mcp_types") is not None


def _build_version2(definition: ServerDefinition) -> Any:
    import mcp_types as types
    from mcp.server import Server
    from mcp.shared.exceptions import MCPError

    def handler(method: str, result: Any) -> Callable[[Any, Any], Awaitable[Any]]:
        async def handle(context: Any, params: Any) -> Any:
            try:
                found = definition.handlers[method](_plain(params) | {"_meta": dict((params and params.meta) or {})})
            except RequestRefused as refusal:
                raise MCPError(types.INVALID_PARAMS, str(refusal)) from None
            return result.model_validate(found)

        return handle

    server: Server[Any] = Server(
        definition.name,
        version="1",
        title=definition.title,
        instructions=definition.instructions,
        on_list_tools=handler("tools/list", types.ListToolsResult),
        on_call_tool=handler("tools/call", types.CallToolResult),
        on_list_resources=handler("resources/list", types.ListResourcesResult),
        on_read_resource=handler("resources/read", types.ReadResourceResult),
    )
    server.extensions[definition.extension] = {}
    return _with_experimental(server, definition)


def _build_version1(definition: ServerDefinition) -> Any:
    from importlib import import_module

    from mcp.server import Server

    types: Any = import_module("mcp.types")
    exceptions: Any = import_module("mcp.shared.exceptions")

    def handler(method: str, result: Any) -> Callable[[Any], Awaitable[Any]]:
        async def handle(request: Any) -> Any:
            params = _plain(request.params)
            try:
                found = definition.handlers[method]({"_meta": {}} | params)
            except RequestRefused as refusal:
                raise exceptions.McpError(types.ErrorData(code=types.INVALID_PARAMS, message=str(refusal))) from None
            return types.ServerResult(result.model_validate(found))

        return handle

    server: Any = Server(definition.name, version="1", instructions=definition.instructions)
    server.request_handlers |= {
        types.ListToolsRequest: handler("tools/list", types.ListToolsResult),
        types.CallToolRequest: handler("tools/call", types.CallToolResult),
        types.ListResourcesRequest: handler("resources/list", types.ListResourcesResult),
        types.ReadResourceRequest: handler("resources/read", types.ReadResourceResult),
    }
    return _with_experimental(server, definition)


def _with_experimental(server: Any, definition: ServerDefinition) -> Any:
    """Declare the extension among the experimental capabilities too, where clients that predate extensions look for it."""
    server.create_initialization_options = partial(
        server.create_initialization_options, experimental_capabilities={definition.extension: {}}
    )
    return server


def _plain(params: Any) -> Wire:
    return {} if params is None else dict(params.model_dump(mode="json", by_alias=True, exclude_none=True))
