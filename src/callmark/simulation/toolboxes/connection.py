"""A connection to a tool server that speaks MCP, over its pipes or over HTTP.

The SDK's scopes must be entered and left in one task, so a connection lives in a task of its own and is asked from others. Whatever goes
wrong with it is a `ModelError` that names the server and says what happened, with the server's last words where there are any.
"""

import asyncio
import logging
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys, Url, read_url
from callmark.models.model import ModelError
from callmark.models.process import program_name
from callmark.simulation.toolboxes.server_process import LONGEST_LINE, MOMENT, ServerProcess, quoted

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

LEAST_PATIENCE = 30.0  # seconds in which a server may start, however short a call may take
_MOST_BODY = 2 * LONGEST_LINE  # bytes of an answer over HTTP
_CONNECT = 10.0  # seconds


class Server(Struct, frozen=True):
    """A server as it was named: a command or an address. Nothing but `name` of it may be shown."""

    name: str
    words: tuple[str, ...] = ()
    url: Url | None = None


def read_server(text: str, keys: Keys) -> Server:
    """The server that `mcp:TEXT` names; raises `BadInput` for an address or a command that is none."""
    if text.startswith(("http:", "https:")):
        url = read_url(text, keys, where="the address of mcp:", example="mcp:http://localhost:8000/mcp")
        return Server(keys.hide(url.shown), url=url)
    keys.add_from_command(text)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"the command of mcp: cannot be read: {str(error).lower()}", "Quote it as in a shell.") from None
    if not words or not words[0]:
        raise BadInput("mcp: names no program", "Name one with its arguments: mcp:'python server.py'.")
    return Server(keys.hide(program_name(words)), tuple(words))


class Connection:
    """Not connected until `start`; `close` may be called at any time, more than once. `ask` is for any task of the same event loop."""

    def __init__(self, server: Server, *, timeout: float, keys: Keys, mode: str = "auto") -> None:
        self.in_doubt = False  # whether a request timed out, so that it may hang for all
        self._server = server
        self._timeout = timeout
        self._keys = keys
        self._mode = mode
        self._process: ServerProcess | None = None
        self._task: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._why = ""

    async def start(self) -> "Connection":
        """Connects and shakes hands; raises `ModelError` where that fails, and leaves nothing behind then."""
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        patience = max(self._timeout, LEAST_PATIENCE)
        try:
            if self._server.url is None:
                self._process = self._started()
            self._task = asyncio.create_task(self._live(ready))
            begun: list[asyncio.Future[Any]] = [ready, self._task]
            await asyncio.wait(begun, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                why = self._why or f"it did not begin to speak MCP within {patience:g} s"
                raise self._problem(f"cannot be used: {why}{self._said()}")
            self.client = ready.result()
        except BaseException:
            await self.close()
            raise
        return self

    @property
    def is_gone(self) -> bool:
        return self._task is None or self._task.done() or self._leave.is_set() or bool(self._process and self._process.end)

    async def ask(self, what: str, request: "Callable[[Client], Awaitable[T]]", *, timeout: float = 0.0) -> T:
        """What the request comes to. An error that the server itself answers with is raised as the SDK's `MCPError`."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT

        patience = timeout or self._timeout
        if self.is_gone:
            raise self._problem(f"did not answer {what}: {await self._end()}")
        try:
            async with asyncio.timeout(patience):
                return await request(self.client)
        except TimeoutError:
            self.in_doubt = True
            raise self._problem(f"did not answer {what} within {patience:g} s{self._said()}") from None
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._problem(f"did not answer {what}: {await self._end() or error}") from None
            if error.code in (INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT):
                raise self._problem(f"failed at {what}: {quoted(str(error))}{self._said()}") from None
            raise
        except (RuntimeError, ValueError) as error:  # the SDK's, for an answer that is none
            raise self._problem(f"answered {what} with what is no answer: {quoted(str(error))}") from None

    async def close(self) -> None:
        """Ends the connection, and the server's process with its children."""
        self._leave.set()
        if self._task is None:
            return
        try:
            await asyncio.wait({self._task}, timeout=3 * MOMENT)
        finally:
            self._task.cancel()
            if self._process is not None:
                self._process.kill()
        await asyncio.wait({self._task}, timeout=3 * MOMENT)

    def _started(self) -> ServerProcess:
        words = self._server.words
        try:
            return ServerProcess(list(words))
        except FileNotFoundError:
            raise ModelError(f"there is no program called {self._keys.hide(words[0])!r} for the tool server") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ModelError(f"the tool server {self._server.name} cannot be started: {why}") from None

    async def _live(self, ready: "asyncio.Future[Client]") -> None:
        from mcp import Client

        logging.getLogger("mcp").addHandler(_SILENCE)  # else it writes to standard error what is a `ModelError` of ours
        try:
            transport = self._process.streams() if self._process is not None else self._over_http()
            async with Client(transport, mode=self._mode, cache=None) as client:
                if not ready.done():
                    ready.set_result(client)
                await self._leave.wait()
        except Exception as error:  # whatever the SDK and the libraries under it raise
            self._why = await self._explained(error)

    def _over_http(self) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        url = self._server.url
        assert url is not None
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Basic {url.user}"} if url.user else {})}

        class Bounded(httpx2.AsyncByteStream):
            def __init__(self, stream: Any) -> None:
                self.stream = stream

            async def __aiter__(self) -> Any:
                size = 0
                async for chunk in self.stream:
                    size += len(chunk)
                    if size > _MOST_BODY:
                        raise httpx2.ReadError(f"its answer has more than {_MOST_BODY >> 20} MB")
                    yield chunk

            async def aclose(self) -> None:
                await self.stream.aclose()

        async def bound(response: httpx2.Response) -> None:
            response.stream = Bounded(response.stream)

        client = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(max(self._timeout, _CONNECT), connect=_CONNECT, read=None),
            event_hooks={"response": [bound]},
        )
        return _with_client(client, streamable_http_client(url.address, http_client=client, max_sse_event_size=LONGEST_LINE))

    async def _explained(self, error: Exception) -> str:
        """What went wrong inside of the connection, in a few words."""
        import httpx2
        from mcp.shared.exceptions import MCPError

        if self._process is not None and (end := await self._process.ended()):
            return end
        problem = next(_leaves(error))
        if isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout):
            return "nobody answers there"
        if isinstance(problem, httpx2.TransportError):
            return f"the connection broke: {str(problem) or type(problem).__name__}"
        if isinstance(problem, MCPError):
            return f"it does not speak MCP: {quoted(str(problem))}"
        return f"{type(problem).__name__}: {problem}"

    async def _end(self) -> str:
        """How it ended, with its last words; empty where it did not."""
        if self._process is not None:
            end = await self._process.ended()
            return f"{end}{self._said()}" if end else ""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=MOMENT)
        return self._why

    def _said(self) -> str:
        return self._process.said if self._process is not None else ""

    def _problem(self, sentence: str) -> ModelError:
        return ModelError(scrub(self._keys.hide(f"the tool server {self._server.name} {sentence}")))


_SILENCE = logging.NullHandler()


@asynccontextmanager
async def _with_client(client: AbstractAsyncContextManager[Any], transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    async with client, transport as streams:
        yield streams


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
