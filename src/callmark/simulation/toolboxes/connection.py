"""A connection to an MCP tool server, over its standard input and output or over HTTP.

The SDK's contexts must be entered and exited in the same task, so a connection runs in its own task and serves requests from others. Any
failure is a `ModelError` that names the server and the cause, with the end of the server's output.
"""

import asyncio
import logging
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.child_environment import child_environment
from callmark.models.keys import Keys, Url, read_url
from callmark.models.model import ModelError
from callmark.models.process import program_name
from callmark.simulation.toolboxes.mcp_sdk import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    McpClient,
    load_sdk,
)
from callmark.simulation.toolboxes.server_process import GRACE_PERIOD, MAX_LINE, ServerProcess, quote

T = TypeVar("T")

START_TIMEOUT = 30.0  # seconds; a minimum, even if the timeout of a call is shorter
_MAX_BODY = 2 * MAX_LINE  # bytes of an HTTP response
_CONNECT_TIMEOUT = 10.0  # seconds


class Server(Struct, frozen=True):
    """A server: a command and its environment, or a URL. They may contain secrets; `name` does not."""

    name: str
    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    url: Url | None = None


def read_server(text: str, keys: Keys) -> Server:
    """Return the server of `mcp:TEXT`; an invalid URL or command raises `BadInput`."""
    if text.startswith(("http:", "https:")):
        url = read_url(text, keys, where="the URL of mcp:", example="mcp:http://localhost:8000/mcp")
        return Server(keys.hide(url.shown), url=url)
    keys.add_from_command(text)
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"mcp: invalid command: {str(error).lower()}", "Quote it as in a shell.") from None
    if not command or not command[0]:
        raise BadInput("mcp: expected a command, got an empty one", "For example mcp:'python server.py'.")
    return Server(keys.hide(program_name(command)), tuple(command), child_environment((), keys))


class Connection:
    """Connects on `start`. `close` may be called at any time and repeatedly, `request` from any task in the same event loop."""

    def __init__(self, server: Server, *, timeout: float, keys: Keys, mode: str = "auto") -> None:
        self.has_timed_out = False  # the server may hang
        self._server = server
        self._timeout = timeout
        self._keys = keys
        self._mode = mode
        self._process: ServerProcess | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._failure = ""

    async def start(self) -> "Connection":
        """Connect and initialize; a failure raises `ModelError` and leaves no process behind."""
        ready: asyncio.Future[McpClient] = asyncio.get_running_loop().create_future()
        limit = max(self._timeout, START_TIMEOUT)
        try:
            if self._server.url is None:
                self._process = await self._start_process()
            self._task = asyncio.create_task(self._run(ready))
            pending: list[asyncio.Future[Any]] = [ready, self._task]
            await asyncio.wait(pending, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                reason = self._failure or f"it did not complete the MCP handshake within {limit:g} s"
                exited = reason.startswith("it exited")
                problem = f"{reason.removeprefix('it ')} before it responded" if exited else f"cannot be used: {reason}"
                raise self._error(f"{problem}{self._output_tail()}")
            self.client = ready.result()
        except BaseException:
            if self._process is not None:
                self._process.kill()  # a server that was never used has nothing to finish
            await self.close()
            raise
        return self

    @property
    def is_closed(self) -> bool:
        return self._task is None or self._task.done() or self._closing.is_set() or bool(self._process and self._process.exit_reason)

    async def request(self, name: str, send: Callable[[McpClient], Awaitable[T]], *, timeout: float = 0.0) -> T:
        """Return the result of a request, called `name` in messages. An error response of the server raises the SDK's `error`."""
        sdk = load_sdk()
        limit = timeout or self._timeout
        if self.is_closed:
            raise self._error(f"did not respond to {name}: {await self._exit_reason()}")
        try:
            async with asyncio.timeout(limit):
                return await send(self.client)
        except TimeoutError:
            self.has_timed_out = True
            raise self._error(f"timed out: no response to {name} within {limit:g} s{self._output_tail()}") from None
        except sdk.error as error:
            code = sdk.error_code(error)
            if code == CONNECTION_CLOSED:
                raise self._error(f"did not respond to {name}: {await self._exit_reason() or error}") from None
            if code in (INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT):
                raise self._error(f"returned an error for {name}: {quote(str(error))}{self._output_tail()}") from None
            raise
        except (RuntimeError, ValueError) as error:  # raised by the SDK for an invalid response
            raise self._error(f"returned an invalid response to {name}: {quote(str(error))}") from None

    def start_closing(self) -> None:
        """Begin to close the connection, without waiting."""
        self._closing.set()

    async def close(self) -> None:
        """Close the connection, and stop the server process with its descendants."""
        self._closing.set()
        if self._task is None:
            return
        try:
            await asyncio.wait({self._task}, timeout=3 * GRACE_PERIOD)
        finally:
            self._task.cancel()
            if self._process is not None:
                self._process.kill()
        await asyncio.wait({self._task}, timeout=3 * GRACE_PERIOD)

    async def _start_process(self) -> ServerProcess:
        command = self._server.command
        try:
            process = ServerProcess(command, self._server.environment)
            await process.started()
        except FileNotFoundError:
            raise ModelError(f"cannot start the tool server: command not found: {self._keys.hide(command[0])!r}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelError(f"the tool server {self._server.name} cannot be started: {reason}") from None
        return process

    async def _run(self, ready: asyncio.Future[McpClient]) -> None:
        logging.getLogger("mcp").addHandler(_NULL_HANDLER)  # otherwise the SDK also logs what we raise as `ModelError`
        try:
            transport = self._process.streams() if self._process is not None else self._http_transport()
            async with load_sdk().connect(transport, mode=self._mode) as client:
                if not ready.done():
                    ready.set_result(client)
                await self._closing.wait()
        except Exception as error:  # from the SDK and the libraries it uses
            self._failure = await self._explain(error)

    def _http_transport(self) -> Any:
        sdk = load_sdk()
        httpx = sdk.httpx
        url = self._server.url
        assert url is not None
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Basic {url.user}"} if url.user else {})}

        class Bounded(httpx.AsyncByteStream):  # type: ignore[misc,name-defined,unused-ignore]
            def __init__(self, stream: Any) -> None:
                self.stream = stream

            async def __aiter__(self) -> Any:
                size = 0
                async for chunk in self.stream:
                    size += len(chunk)
                    if size > _MAX_BODY:
                        raise httpx.ReadError(f"the response is larger than {_MAX_BODY >> 20} MB")
                    yield chunk

            async def aclose(self) -> None:
                await self.stream.aclose()

        async def bound(response: Any) -> None:
            if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
                raise httpx.ReadError("the response is compressed, although that was not requested")  # its size would have no bound
            response.stream = Bounded(response.stream)

        client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(max(self._timeout, _CONNECT_TIMEOUT), connect=_CONNECT_TIMEOUT, read=None),
            event_hooks={"response": [bound]},
        )
        return _with_client(client, sdk.http_transport(url.address, client, max_event=MAX_LINE))

    async def _explain(self, error: Exception) -> str:
        """Return a short description of a failure inside the connection."""
        sdk = load_sdk()
        if self._process is not None and (reason := await self._process.wait_for_exit()):
            return reason
        problem = next(_leaves(error))
        if isinstance(problem, sdk.httpx.ConnectError | sdk.httpx.ConnectTimeout):
            return "could not connect"
        if isinstance(problem, sdk.httpx.TransportError):
            return f"the connection was lost: {str(problem) or type(problem).__name__}"
        if isinstance(problem, sdk.error):
            return f"it does not speak MCP: {quote(str(problem))}"
        return f"{type(problem).__name__}: {problem}"

    async def _exit_reason(self) -> str:
        """Return why the server exited or the connection failed, with the end of the server's output; empty if neither happened."""
        if self._process is not None:
            reason = await self._process.wait_for_exit()
            return f"{reason}{self._output_tail()}" if reason else ""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=GRACE_PERIOD)
        return self._failure

    def _output_tail(self) -> str:
        return self._process.output_tail if self._process is not None else ""

    def _error(self, sentence: str) -> ModelError:
        return ModelError(scrub(self._keys.hide(f"the tool server {self._server.name} {sentence}")))


_NULL_HANDLER = logging.NullHandler()


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
