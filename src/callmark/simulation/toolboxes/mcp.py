"""Tools of an MCP server: `mcp:COMMAND …`, over its standard input and output, or `mcp:http://host:port/mcp`.

A conversation has a process of its own, or over HTTP a session of its own, unless the server says that it keeps conversations apart by
itself: by the extension `dev.callmark/conversations`, or the same key among its experimental capabilities. Then one serves them all, and
every request says in its `_meta` whose it is, and all of them begin in the same state, which is looked at once. What the tools work on is
the resource `state://current`, where a server has that: JSON, `{table: {key: {column: value}}}`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError
from callmark.simulation.session import State, Toolbox, ToolResult
from callmark.simulation.toolboxes.connection import Connection, Server, read_server
from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
from callmark.simulation.toolboxes.results import StateReader, refused, told
from callmark.types import Call, Tool
from callmark.wording import pluralize

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, ContentBlock

EXTENSION = "dev.callmark/conversations"
CONVERSATION = "dev.callmark/conversation"  # in the `_meta` of a request: whose it is
STATE = "state://current"

MOST_STARTS = 3  # in a row that came to nothing
_MOST_PAGES = 100  # of a list of tools or resources
_AT_A_TIME = max(2, os.cpu_count() or 1)  # servers that are started; more would only make each of them late
_STILL_THERE = 5.0  # seconds in which a server that is in doubt must answer


class McpToolSource:
    """Raises `BadInput` for a command or an address that is none, and on entering for a server that cannot be used."""

    def __init__(self, text: str, *, timeout: float, keys: Keys) -> None:
        self._server: Server = read_server(text, keys)
        self._timeout = timeout
        self.keys = keys
        self._mode = "auto"
        self.has_state = self._is_shared = False
        self._kept: Connection | None = None  # the shared one, or one that nobody has used yet
        self._first: State | None = None  # what every conversation of the shared one begins with
        self._connecting, self._looking, self._starting = asyncio.Lock(), asyncio.Lock(), asyncio.Semaphore(_AT_A_TIME)
        self._barren = 0  # starts in a row that came to nothing
        self._failure = ""  # why the last of them did
        self.label = f"mcp:{self._server.name}"
        self.states = StateReader(self.label)
        self.tools: tuple[Tool, ...] = ()

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        if self._is_shared:
            yield _McpToolbox(self, await self._shared(), conversation)
            return
        kept, self._kept = self._kept, None
        connection = kept if kept is not None and not kept.is_gone else await self._started()
        try:
            yield _McpToolbox(self, connection)
        finally:
            await connection.close()
            if kept is not None and kept is not connection:
                await kept.close()

    async def __aenter__(self) -> Self:
        self._barren, self._first = 0, None
        self._connecting, self._looking, self._starting = asyncio.Lock(), asyncio.Lock(), asyncio.Semaphore(_AT_A_TIME)
        try:
            await self._probe()
        except ModelError as error:
            await self.__aexit__(None, None, None)
            raise BadInput(str(error), "Try the command by itself, or ask whoever runs the server.") from None
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.close()

    async def _probe(self) -> None:
        """Finds out once what the server has and how it is to be used. The connection is kept for the first who needs one."""
        from mcp.shared.exceptions import MCPError

        connection = self._kept = await self._started()
        try:
            told = await connection.ask("which tools it has", _listed_tools)
            self.has_state = await connection.ask("which resources it has", _has_state)
        except MCPError as error:
            raise ModelError(f"the tool server {self._server.name} does not tell its tools: {self.keys.hide(str(error))}") from None
        self.tools = tuple(_without_keys(tool, self.keys) for tool in told)
        if not self.tools:
            raise ModelError(f"the tool server {self._server.name} has no tools")
        capabilities = connection.client.server_capabilities
        self._is_shared = any(EXTENSION in (known or {}) for known in (capabilities.extensions, capabilities.experimental))
        if self._server.url is not None and not self._is_shared:
            self._mode = "legacy"  # the only one in which there are sessions
            try:
                self._kept = await self._started()
            except ModelError:  # a server of the newest kind alone, which keeps nothing apart
                self._mode = "auto"
            else:
                await connection.close()

    async def _shared(self) -> Connection:
        """The connection that serves all, made anew where it broke or answers nobody any more."""
        async with self._connecting:
            connection = self._kept
            if connection is not None and connection.in_doubt and not connection.is_gone:
                try:
                    await connection.ask("whether it is still there", _listed_tools, timeout=_STILL_THERE)
                    connection.in_doubt = False
                except ModelError:
                    await connection.close()
            if connection is None or connection.is_gone:
                if connection is not None:
                    await connection.close()
                self._kept = connection = await self._started()
                self._first = None
            return connection

    async def first_state(self, look: Callable[[], Awaitable[State]]) -> State:
        """The state that every conversation begins with; whoever comes first looks."""
        async with self._looking:
            if self._first is None:
                self._first = await look()
            return self._first

    async def _started(self) -> Connection:
        if self._barren >= MOST_STARTS:
            raise ModelError(f"{self._failure}; after {MOST_STARTS} times in a row it is tried no more", fatal=True)
        async with self._starting:
            try:
                connection = await Connection(self._server, timeout=self._timeout, keys=self.keys, mode=self._mode).start()
            except ModelError as error:
                self._barren += 1
                self._failure = str(error)
                raise
        self._barren = 0
        return connection


class _McpToolbox:
    """`conversation` is told to a server that serves several; None to one that serves no other."""

    def __init__(self, source: McpToolSource, connection: Connection, conversation: str | None = None) -> None:
        self.tools = source.tools
        self._names = [tool.name for tool in source.tools]
        self._source = source
        self._keys = source.keys
        self._is_used = False
        self._connection = connection
        self._meta: Any = None if conversation is None else {CONVERSATION: conversation}

    async def call(self, call: Call) -> ToolResult:
        from mcp.shared.exceptions import MCPError

        if no := refused(call, self._names):
            return no

        async def request(client: "Client") -> "CallToolResult":
            return await client.call_tool(call.name, call.arguments, meta=self._meta)

        self._is_used = True
        try:
            result = await self._connection.ask(call.name, request)
        except MCPError as error:
            return self._told(str(error), is_error=True)
        text = "\n".join(map(_text, result.content))
        if not text and result.structured_content is not None:
            text = dump(result.structured_content)
        return self._told(text, is_error=bool(result.is_error))

    async def state(self) -> State | None:
        if not self._source.has_state:
            return None
        if self._meta is not None and not self._is_used:
            return await self._source.first_state(self._looked_at)
        return await self._looked_at()

    async def _looked_at(self) -> State:
        from mcp.shared.exceptions import MCPError

        async def request(client: "Client") -> str:
            found = await client.read_resource(STATE, meta=self._meta, cache_mode="bypass")
            return "".join(str(getattr(part, "text", "")) for part in found.contents)

        try:
            text = await self._connection.ask(STATE, request)
        except MCPError as error:
            raise ModelError(f"{self._source.label} does not tell its state: {self._keys.hide(str(error))}") from None
        return self._source.states.read(text)

    def _told(self, text: str, *, is_error: bool) -> ToolResult:
        return told(self._keys.hide_bytes(text.encode("utf-8", "backslashreplace")).decode(), is_error=is_error)


async def _listed_tools(client: "Client") -> tuple[Tool, ...]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += (Tool(tool.name, tool.description or "", tool.input_schema) for tool in page.tools)
        cursor = page.next_cursor
        if not cursor:
            return _each_once(tools)
    raise ValueError(f"a list of tools that does not end within {pluralize(_MOST_PAGES, 'page')}")


def _each_once(tools: list[Tool]) -> tuple[Tool, ...]:
    """The tools, one that is told twice once. Without a name, or with that of another, none could be called: `ValueError`."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if not tool.name.strip():
            raise ValueError("a tool without a name")
        if by_name.setdefault(tool.name, tool) != tool:
            raise ValueError(f"two tools called {tool.name}")
    return tuple(by_name.values())


def _without_keys(tool: Tool, keys: Keys) -> Tool:
    """The tool as it may be written down: a server that has a key may tell it, as a default or in a description."""
    schema = dump(tool.parameters).encode("utf-8", "backslashreplace")
    try:
        parameters = tool.parameters if keys.hide_bytes(schema) == schema else parse(keys.hide_bytes(schema))
    except NotStrict:  # a key that is a number leaves a hole
        parameters = {}
    return Tool(tool.name, keys.hide_bytes(tool.description.encode("utf-8", "backslashreplace")).decode(), parameters)


async def _has_state(client: "Client") -> bool:
    if client.server_capabilities.resources is None:
        return False
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_resources(cursor=cursor)
        if any(str(resource.uri) == STATE for resource in page.resources):
            return True
        cursor = page.next_cursor
        if not cursor:
            break
    return False


def _text(part: "ContentBlock") -> str:
    """A part of a result as text; what is none is named: `[image: image/png]`."""
    match part.type:
        case "text":
            return part.text
        case "image" | "audio":
            return f"[{part.type}: {part.mime_type}]"
        case "resource":
            text = getattr(part.resource, "text", None)
            return text if isinstance(text, str) else f"[resource: {part.resource.uri}]"
        case "resource_link":
            return f"[resource: {part.uri}]"


def _open(text: str, settings: ToolboxSettings) -> McpToolSource:
    return McpToolSource(text, timeout=settings.timeout, keys=settings.keys)


TOOLBOX = ToolboxProvider("mcp", _open, "mcp:'python server.py'", "an MCP server, by command or address")
