"""Tools of an MCP server: `mcp:COMMAND …`, over its standard input and output, or `mcp:http://host:port/mcp`.

Each conversation has its own process, or its own session over HTTP. All conversations share one connection if

- the server separates conversations itself: it declares the extension `dev.callmark/conversations`, or this key in its experimental
  capabilities. Every request then names its conversation in `_meta`, and the initial state is read only once;
- it declares every tool as read-only (`readOnlyHint`), so that no conversation can change what another one sees;
- the user says so (`share_server`). If the server could change something, there is a notice, and its state is not read.

The state is the resource `state://current`, if the server has it: JSON, `{table: {key: {column: value}}}`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError
from callmark.models.open_files import is_out_of_files
from callmark.models.process import run_action
from callmark.simulation.session import State, Toolbox, ToolResult
from callmark.simulation.toolboxes.connection import Connection, Server, read_server
from callmark.simulation.toolboxes.mcp_sdk import McpClient, Wire, load_sdk
from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
from callmark.simulation.toolboxes.results import StateReader, make_result, reject_call
from callmark.trust import Action
from callmark.types import Call, Tool
from callmark.wording import pluralize

EXTENSION = "dev.callmark/conversations"
CONVERSATION = "dev.callmark/conversation"  # key in the `_meta` of a request
STATE = "state://current"

MAX_FAILED_STARTS = 3  # in a row
_MAX_PAGES = 100  # of a list of tools or resources
_LIST_TOOLS = "tools/list"
_CONCURRENT_STARTS = max(2, os.cpu_count() or 1)  # starting more servers at once only slows down each of them
_PING_TIMEOUT = 5.0  # seconds
_COMMAND_HINT = "Check that the command is installed, or run it on its own to see why it fails."
_URL_HINT = "Check that the server is running."


class McpToolSource:
    """Connects to a server. An invalid command or URL raises `BadInput`; so does a server that cannot be used, on entering."""

    def __init__(self, text: str, *, timeout: float, keys: Keys, share_server: bool | None = None) -> None:
        self._server: Server = read_server(text, keys)
        self._timeout = timeout
        self.keys = keys
        self._mode = "auto"
        self.has_state = self.is_shared = self._separates = False
        self._share_server = share_server
        self.notices: tuple[str, ...] = ()
        self._connection: Connection | None = None  # the shared connection, or an unused one
        self._closing: list[Connection] = []  # of cancelled conversations
        self._initial_state: State | None = None  # of every conversation over the shared connection
        self._reconnecting, self._reading_state, self._starting = asyncio.Lock(), asyncio.Lock(), asyncio.Semaphore(_CONCURRENT_STARTS)
        self._failed_starts = 0  # in a row
        self._failure = ""  # of the last start
        self.label = f"mcp:{self._server.name}"
        self.state_reader = StateReader(self.label)
        self.tools: tuple[Tool, ...] = ()

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        if self.is_shared:
            yield _McpToolbox(self, await self._shared_connection(), conversation if self._separates else None)
            return
        unused, self._connection = self._connection, None
        connection = unused if unused is not None and not unused.is_closed else await self._start()
        try:
            yield _McpToolbox(self, connection)
        except asyncio.CancelledError:  # all servers are given their time to exit at once, not one after the other
            connection.start_closing()
            self._closing.append(connection)
            raise
        finally:
            if connection not in self._closing:
                await connection.close()
            if unused is not None and unused is not connection:
                await unused.close()

    async def __aenter__(self) -> Self:
        self._failed_starts, self._initial_state = 0, None
        self._reconnecting, self._reading_state, self._starting = asyncio.Lock(), asyncio.Lock(), asyncio.Semaphore(_CONCURRENT_STARTS)
        try:
            await self._probe()
        except ModelError as error:
            await self.__aexit__(None, None, None)
            raise BadInput(str(error), _COMMAND_HINT if self._server.url is None else _URL_HINT) from None
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        unused, self._connection = self._connection, None
        closing, self._closing = [*self._closing, *([unused] if unused else [])], []
        await asyncio.gather(*(connection.close() for connection in closing))

    async def _probe(self) -> None:
        """List the server's tools, and find out whether conversations can share it. The first conversation reuses the connection."""
        connection = self._connection = await self._start()
        try:
            listed = await connection.request(_LIST_TOOLS, _list_tools)
            self.has_state = await connection.request("resources/list", _has_state)
        except load_sdk().error as error:
            raise ModelError(f"the tool server {self._server.name} cannot list its tools: {self.keys.hide(str(error))}") from None
        self.tools = self.keys.redact(listed)  # a server may put its key into a default or a description
        if not self.tools:
            raise ModelError(f"the tool server {self._server.name} has no tools")
        capabilities = connection.client.capabilities
        self._separates = any(EXTENSION in (capabilities.get(key) or {}) for key in ("extensions", "experimental"))
        writers = [tool.name for tool in self.tools if not tool.read_only]
        self.is_shared = self._separates or (self._share_server if self._share_server is not None else not writers)
        if self.is_shared and writers and not self._separates:
            self.has_state = False  # it is not the state of one conversation
            self.notices = (_shared_notice(self.label, writers),)
        if self._server.url is not None and not self.is_shared:
            self._mode = "legacy"  # the only mode with sessions
            try:
                self._connection = await self._start()
            except ModelError:  # a server without sessions
                self._mode = "auto"
            else:
                await connection.close()

    async def _shared_connection(self) -> Connection:
        """Return the shared connection; a new one if it was lost or no longer responds."""
        async with self._reconnecting:
            connection = self._connection
            if connection is not None and connection.has_timed_out and not connection.is_closed:
                try:
                    await connection.request(_LIST_TOOLS, _list_tools, timeout=_PING_TIMEOUT)
                    connection.has_timed_out = False
                except ModelError:
                    await connection.close()
            if connection is None or connection.is_closed:
                if connection is not None:
                    await connection.close()
                self._connection = connection = await self._start()
                self._initial_state = None
            return connection

    async def initial_state(self, read_state: Callable[[], Awaitable[State]]) -> State:
        """Return the initial state of every conversation; the first caller reads it from the server."""
        async with self._reading_state:
            if self._initial_state is None:
                self._initial_state = await read_state()
            return self._initial_state

    async def _start(self) -> Connection:
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise ModelError(f"{self._failure}; giving up after {MAX_FAILED_STARTS} failed starts in a row", fatal=True)
        async with self._starting:
            try:
                connection = await Connection(self._server, timeout=self._timeout, keys=self.keys, mode=self._mode).start()
            except ModelError as error:
                if not is_out_of_files(error):  # a later start may succeed
                    self._failed_starts += 1
                    self._failure = str(error)
                raise
        self._failed_starts = 0
        return connection


class _McpToolbox:
    """The tools of one conversation. `conversation` is sent to a server that separates conversations."""

    def __init__(self, source: McpToolSource, connection: Connection, conversation: str | None = None) -> None:
        self.tools = source.tools
        self._names = [tool.name for tool in source.tools]
        self._source = source
        self._keys = source.keys
        self._has_calls = False
        self._connection = connection
        self._meta: Any = None if conversation is None else {CONVERSATION: conversation}

    async def call(self, call: Call) -> ToolResult:
        if rejection := reject_call(call, self._names):
            return rejection

        async def send(client: McpClient) -> Wire:
            return await client.call_tool(call.name, call.arguments, self._meta)

        self._has_calls = True
        try:
            result = await self._connection.request(call.name, send)
        except load_sdk().error as error:
            return self._make_result(str(error), is_error=True)
        text = "\n".join(map(_text, result.get("content", ())))
        if not text and "structuredContent" in result:
            text = dump(result["structuredContent"])
        return self._make_result(text, is_error=bool(result.get("isError")))

    async def state(self) -> State | None:
        if not self._source.has_state:
            return None
        if self._source.is_shared and not self._has_calls:
            return await self._source.initial_state(self._read_state)
        return await self._read_state()

    async def _read_state(self) -> State:
        async def send(client: McpClient) -> str:
            found = await client.read_resource(STATE, self._meta)
            return "".join(str(part.get("text", "")) for part in found["contents"])

        try:
            text = await self._connection.request(STATE, send)
        except load_sdk().error as error:
            raise ModelError(f"{self._source.label} returned an error for {STATE}: {self._keys.hide(str(error))}") from None
        return self._source.state_reader.read(text)

    def _make_result(self, text: str, *, is_error: bool) -> ToolResult:
        return make_result(self._keys.redact(text), is_error=is_error)


async def _list_tools(client: McpClient) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor)
        tools += (Tool(tool["name"], tool.get("description") or "", tool["inputSchema"], _is_read_only(tool)) for tool in page["tools"])
        cursor = page.get("nextCursor")
        if not cursor:
            return _unique_tools(tools)
    raise ValueError(f"more than {pluralize(_MAX_PAGES, 'page')} of tools")


def _shared_notice(label: str, writers: list[str]) -> str:
    names = ", ".join(map(scrub, writers[:3])) + (", …" if len(writers) > 3 else "")
    declared = "is not declared as read-only" if len(writers) == 1 else "are not declared as read-only"
    return (
        f"{label}: all conversations share one server, but {names} {declared}: a conversation may see what another one changed, and end "
        "states are not compared."
    )


def _is_read_only(tool: Wire) -> bool:
    return bool((tool.get("annotations") or {}).get("readOnlyHint"))


def _unique_tools(tools: list[Tool]) -> tuple[Tool, ...]:
    """Return the tools without duplicates. A tool without a name, or two different tools with the same name, raise `ValueError`."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if not tool.name.strip():
            raise ValueError("a tool without a name")
        if by_name.setdefault(tool.name, tool) != tool:
            raise ValueError(f"two tools are named {tool.name}")
    return tuple(by_name.values())


async def _has_state(client: McpClient) -> bool:
    if "resources" not in client.capabilities:
        return False
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_resources(cursor)
        if any(resource["uri"] == STATE for resource in page["resources"]):
            return True
        cursor = page.get("nextCursor")
        if not cursor:
            break
    return False


def _text(part: Wire) -> str:
    """Return a content block as text; one that is not text by its type: `[image: image/png]`."""
    kind = str(part.get("type", ""))
    if kind == "text":
        return str(part.get("text", ""))
    if kind in ("image", "audio"):
        return f"[{kind}: {part.get('mimeType')}]"
    resource = part.get("resource") or {}
    return resource["text"] if isinstance(resource.get("text"), str) else f"[resource: {resource.get('uri') or part.get('uri')}]"


def _open(text: str, settings: ToolboxSettings) -> McpToolSource:
    return McpToolSource(text, timeout=settings.timeout, keys=settings.keys, share_server=settings.share_server)


def _actions(text: str, keys: Keys) -> list[Action]:
    url = read_server(text, keys).url
    if url is None:
        return [run_action(text, keys)]
    return [Action("send", f"requests to {keys.show(url.shown)}", exact=f"requests to {url.address}")]


TOOLBOX = ToolboxProvider("mcp", _open, "mcp:'python server.py'", "an MCP server, by command or URL", actions=_actions, has_server=True)
