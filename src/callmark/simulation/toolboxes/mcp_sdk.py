"""The official MCP SDK in both of its major versions, behind one interface.

An agent under test may need `mcp<2` in the same environment, so callmark uses the version that is installed. The versions name fields
differently, but the protocol does not: capabilities and results are objects as they are sent (`inputSchema`, `isError`). Importing this
module imports no package.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from callmark.models.provider import is_installed

if TYPE_CHECKING:
    from pydantic import BaseModel

Wire = dict[str, Any]
"""A result or message as it is sent."""

CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603


class McpClient(Protocol):
    """A connected client. `capabilities` are those of the server. Error responses raise `Sdk.error`."""

    capabilities: Wire

    async def list_tools(self, cursor: str | None) -> Wire: ...
    async def list_resources(self, cursor: str | None) -> Wire: ...
    async def call_tool(self, name: str, arguments: dict[str, Any], meta: Mapping[str, Any] | None) -> Wire: ...
    async def read_resource(self, uri: str, meta: Mapping[str, Any] | None) -> Wire: ...


class Sdk(Protocol):
    """What callmark uses of the SDK.

    Attributes:
        error: The exception for an error response.
        httpx: The HTTP library that its transport uses.
    """

    error: type[Exception]
    httpx: Any

    def error_code(self, error: Exception) -> int:
        """Return the code of an error response."""
        ...

    def parse_message(self, line: bytes) -> tuple[Any, bool]:
        """Return a message for the SDK, and whether it is a response; raise `ValueError` for anything else."""
        ...

    def encode_message(self, message: Any) -> str:
        """Return the text of a message."""
        ...

    def http_transport(self, url: str, client: Any, *, max_event: int) -> AbstractAsyncContextManager[Any]:
        """Return the transport over HTTP; an event larger than `max_event` bytes is an error, if the version supports that."""
        ...

    def connect(self, transport: AbstractAsyncContextManager[Any], *, mode: str) -> AbstractAsyncContextManager[McpClient]:
        """Connect over a transport. `mode` is `legacy` (with sessions) or `auto`; version 1 only has the first."""
        ...


@cache
def load_sdk() -> Sdk:
    """Import the installed version of the SDK."""
    return _Version2() if is_installed("mcp_types") else _Version1()


def to_wire(result: "BaseModel") -> Wire:
    """Return a result as it is sent."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


class _Version2:
    def __init__(self) -> None:
        import httpx2
        from mcp.shared.exceptions import MCPError

        self.error: type[Exception] = MCPError
        self.httpx: Any = httpx2

    def error_code(self, error: Any) -> int:
        return int(error.code)

    def parse_message(self, line: bytes) -> tuple[Any, bool]:
        from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        return message, isinstance(message, JSONRPCResponse | JSONRPCError)

    def encode_message(self, message: Any) -> str:
        return str(message.model_dump_json(by_alias=True, exclude_unset=True))

    def http_transport(self, url: str, client: Any, *, max_event: int) -> Any:
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(url, http_client=client, max_sse_event_size=max_event)

    @asynccontextmanager
    async def connect(self, transport: Any, *, mode: str) -> AsyncIterator[McpClient]:
        from mcp import Client

        async with Client(transport, mode=mode, cache=None) as client:
            yield _ClientOfVersion2(client)


class _ClientOfVersion2:
    def __init__(self, client: Any) -> None:
        self._client = client
        self.capabilities = to_wire(client.server_capabilities)

    async def list_tools(self, cursor: str | None) -> Wire:
        return to_wire(await self._client.list_tools(cursor=cursor))

    async def list_resources(self, cursor: str | None) -> Wire:
        return to_wire(await self._client.list_resources(cursor=cursor))

    async def call_tool(self, name: str, arguments: dict[str, Any], meta: Mapping[str, Any] | None) -> Wire:
        return to_wire(await self._client.call_tool(name, arguments, meta=meta))

    async def read_resource(self, uri: str, meta: Mapping[str, Any] | None) -> Wire:
        return to_wire(await self._client.read_resource(uri, meta=meta, cache_mode="bypass"))


class _Version1:
    def __init__(self) -> None:
        import httpx
        from mcp.shared import exceptions

        self.error: type[Exception] = vars(exceptions)["McpError"]
        self.httpx: Any = httpx

    def error_code(self, error: Any) -> int:
        return int(error.error.code)

    def parse_message(self, line: bytes) -> tuple[Any, bool]:
        types = _types_of_version1()
        message = types.JSONRPCMessage.model_validate_json(line)
        return message, isinstance(message.root, types.JSONRPCResponse | types.JSONRPCError)

    def encode_message(self, message: Any) -> str:
        return str(message.model_dump_json(by_alias=True, exclude_none=True))

    @asynccontextmanager
    async def http_transport(self, url: str, client: Any, *, max_event: int) -> AsyncIterator[Any]:
        from mcp.client.streamable_http import streamable_http_client

        async with streamable_http_client(url, http_client=client) as streams:
            yield streams[:2]  # without the function that returns the session id

    @asynccontextmanager
    async def connect(self, transport: Any, *, mode: str) -> AsyncIterator[McpClient]:
        from mcp import ClientSession

        async with transport as (read, write), ClientSession(read, write) as session:
            yield _ClientOfVersion1(session, to_wire((await session.initialize()).capabilities))


class _ClientOfVersion1:
    def __init__(self, session: Any, capabilities: Wire) -> None:
        self._session = session
        self.capabilities = capabilities

    async def list_tools(self, cursor: str | None) -> Wire:
        return to_wire(await self._session.list_tools(params=_types_of_version1().PaginatedRequestParams(cursor=cursor)))

    async def list_resources(self, cursor: str | None) -> Wire:
        return to_wire(await self._session.list_resources(params=_types_of_version1().PaginatedRequestParams(cursor=cursor)))

    async def call_tool(self, name: str, arguments: dict[str, Any], meta: Mapping[str, Any] | None) -> Wire:
        return to_wire(await self._session.call_tool(name, arguments, meta=None if meta is None else dict(meta)))

    async def read_resource(self, uri: str, meta: Mapping[str, Any] | None) -> Wire:
        types = _types_of_version1()
        params = types.ReadResourceRequestParams.model_validate({"uri": uri, **({"_meta": meta} if meta else {})})
        request = types.ClientRequest(types.ReadResourceRequest(params=params))
        return to_wire(await self._session.send_request(request, types.ReadResourceResult))


def _types_of_version1() -> Any:
    from importlib import import_module

    return import_module("mcp.types")
