"""A tool server as a process: MCP messages over its standard input and output, one JSON line each.

The official SDK implements the protocol; the pipes are ours, so that a misbehaving process (floods its output, hangs, closes its output,
leaves children behind) uses bounded memory and is stopped with its descendants when its streams are exited, even on cancellation. A
process belongs to one event loop.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any

from callmark.models.child_process import ChildProcess
from callmark.simulation.toolboxes.mcp_sdk import load_sdk

MAX_LINE = 16 << 20  # bytes of a message
MAX_NOISE = 16 << 20  # bytes without a response; a line counts as at least _MIN_LINE_SIZE
GRACE_PERIOD = 1.0  # seconds for a process to exit by itself

_TAIL = 4096  # bytes of standard error
_SHOWN_LINES = 3  # lines of it
_MIN_LINE_SIZE = 1024
_MAX_SHOWN = 300  # characters


class ServerProcess:
    """Starts the process; raises `OSError` or `ValueError` if that fails, and `started` raises if the program cannot be executed.

    `exit_reason` says why it exited by itself or was stopped for misbehaving; empty while it runs, and after a normal shutdown.
    """

    def __init__(self, command: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.exit_reason = ""
        self._is_killed = False  # by us
        self._garbage = b""
        self._errors = _Tail()
        self._loop = asyncio.get_running_loop()
        self._started: asyncio.Future[OSError | None] = self._loop.create_future()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._process = ChildProcess(command, environment)
        Thread(target=self._wait, name="callmark-tool-server", daemon=True).start()

    async def started(self) -> None:
        """Wait until the program runs; raise the `OSError` that prevents it. A call that is cancelled or fails ends the process."""
        try:
            problem = await asyncio.shield(self._started)
        except BaseException:
            self.discard()
            raise
        if problem is not None:
            self.discard()
            raise problem

    @property
    def output_tail(self) -> str:
        """Return output that is not MCP, and the end of standard error, as the end of an error message."""
        lines = [line.strip() for line in self._errors.data.decode("utf-8", "replace").splitlines() if line.strip()]
        errors = f"; standard error ends with {quote(' / '.join(lines[-_SHOWN_LINES:]))}" if lines else ""
        garbage = f"; it wrote {quote(self._garbage)} to standard output, which is not an MCP message" if self._garbage else ""
        return garbage + errors

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Yield the ends of its pipes for the SDK. Exiting closes its input, waits a grace period, then kills it with its descendants."""
        import anyio
        from mcp.shared.message import SessionMessage

        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](float("inf"))
        pipes: list[asyncio.BaseTransport] = []
        tasks: list[asyncio.Task[None]] = []
        stdin: asyncio.WriteTransport | None = None
        try:
            reader = asyncio.StreamReader(MAX_LINE)
            pipes.append((await self._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout))[0])
            pipes.append((await self._loop.connect_read_pipe(lambda: self._errors, self._process.stderr))[0])
            stdin, _ = await self._loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
            pipes.append(stdin)
            tasks = [asyncio.create_task(self._read(reader, incoming)), asyncio.create_task(self._write(stdin, outgoing))]
            yield read, write
            stdin.close()
            await asyncio.wait({self._exited}, timeout=GRACE_PERIOD)
        finally:
            self.kill()
            try:
                await asyncio.wait({self._exited}, timeout=GRACE_PERIOD)  # with its pipes closed, it might exit before it is killed
            finally:
                if stdin is not None and stdin.get_write_buffer_size():
                    stdin.abort()
                for task in tasks:
                    task.cancel()
                for pipe in pipes:
                    pipe.close()
                for item in (incoming, read, write, outgoing):
                    item.close()
                self._close_pipes()
            await asyncio.wait({self._exited, *tasks}, timeout=GRACE_PERIOD)

    def kill(self) -> None:
        """Kill it with its descendants, unless it has exited."""
        if not self._exited.done():
            self._is_killed = True
            self._process.kill()

    def discard(self) -> None:
        """Kill it before its streams were used."""
        self.kill()
        self._close_pipes()

    async def wait_for_exit(self) -> str:
        """Wait up to the grace period for it to exit, and return the reason; empty if it still runs."""
        await asyncio.wait({self._exited}, timeout=GRACE_PERIOD)
        return self.exit_reason

    async def _read(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        from mcp.shared.message import SessionMessage

        sdk = load_sdk()
        noise = 0
        with incoming:
            while line := await self._line(reader):
                noise += max(len(line), _MIN_LINE_SIZE)
                try:
                    message, is_response = sdk.parse_message(line)
                except ValueError:
                    self._garbage = line[:_TAIL].strip() or self._garbage
                    await asyncio.sleep(0)  # many lines in a row must not block other tasks
                else:
                    noise = 0 if is_response else noise
                    await incoming.send(SessionMessage(message))
                if noise > MAX_NOISE:
                    self._stop("it flooded its output without responding")
                    return
            await asyncio.wait({self._exited}, timeout=GRACE_PERIOD)  # so that the exit status is known before the connection closes
            self._stop("it closed its standard output")

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        """Return the next line; empty at the end, and for a line that is too long."""
        try:
            return await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            self._stop(f"it wrote a line longer than {MAX_LINE >> 20} MB")
            return b""

    async def _write(self, stdin: asyncio.WriteTransport, outgoing: Any) -> None:
        sdk = load_sdk()
        async for item in outgoing:
            if stdin.is_closing():
                return
            stdin.write(sdk.encode_message(item.message).encode("utf-8", "backslashreplace") + b"\n")

    def _stop(self, reason: str) -> None:
        if not self.exit_reason:
            self.kill()
            self.exit_reason = reason

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()

    def _wait(self) -> None:
        """Wait for it to start and to exit, in a thread."""
        problem = None
        try:
            self._process.wait_until_started()
        except OSError as error:
            problem = error
        self._call_in_loop(self._set_started, problem)
        self._call_in_loop(self._set_exit_reason, self._process.wait())

    def _call_in_loop(self, function: Callable[..., None], argument: object) -> None:
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(function, argument)

    def _set_started(self, problem: OSError | None) -> None:
        if not self._started.done():
            self._started.set_result(problem)

    def _set_exit_reason(self, status: int) -> None:
        reason = f"it was killed by signal {-status} ({signal.strsignal(-status)})" if status < 0 else f"it exited with status {status}"
        self.exit_reason = self.exit_reason or ("" if self._is_killed and status == -signal.SIGKILL else reason)
        if not self._exited.done():
            self._exited.set_result(None)


class _Tail(asyncio.Protocol):
    """Keeps the end of a pipe's output and drops the rest, so that the writer never blocks."""

    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data = (self.data + data[-_TAIL:])[-_TAIL:]


def quote(text: bytes | str) -> str:
    """Return the end of a process's output, quoted so that it cannot control the terminal."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= _MAX_SHOWN else f"…{text[-_MAX_SHOWN:]}")
