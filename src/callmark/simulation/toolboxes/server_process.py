"""A tool server as a process: MCP's messages over its standard input and output, a JSON line each.

The protocol is the official SDK's, the pipes are ours: whatever the process does (floods, hangs, closes its output, leaves children
behind), memory is bounded, and it ends with its children when its streams are left, even by cancellation. For one event loop.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any

MAX_LINE = 16 << 20  # bytes of a message
MAX_NOISE = 16 << 20  # bytes in a row without a response; a line counts as at least _MIN_LINE_SIZE
GRACE_PERIOD = 1.0  # seconds in which a process may end by itself

_TAIL = 4096  # bytes of standard error
_SHOWN_LINES = 3  # lines of it
_MIN_LINE_SIZE = 1024
_MAX_SHOWN = 300  # characters


class ServerProcess:
    """Starts the process; raises `OSError` or `ValueError` where it cannot be started.

    `end` says how it ended by itself; empty while it runs, and where we ended it.
    """

    def __init__(self, command: list[str]) -> None:
        self.end = ""
        self._is_killed = False  # by us
        self._garbage = b""
        self._errors = _Tail()
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that its children can be ended with it, and Ctrl-C does not reach it
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # else a Python server loses its last output
        )
        Thread(target=self._wait, name="callmark-tool-server", daemon=True).start()

    @property
    def last_words(self) -> str:
        """Return the end of its standard error, and output that is not MCP, as a part of a message."""
        lines = [line.strip() for line in self._errors.data.decode("utf-8", "replace").splitlines() if line.strip()]
        command = f"; its last words: {quote(' / '.join(lines[-_SHOWN_LINES:]))}" if lines else ""
        garbage = f"; it wrote {quote(self._garbage)} to its standard output, which is no message of MCP" if self._garbage else ""
        return garbage + command

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Yield the ends of its pipes as the SDK takes them. Leaving closes its input, waits a moment, then kills it with its children."""
        import anyio
        from mcp.shared.message import SessionMessage

        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](float("inf"))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
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
            if stdin is not None and stdin.get_write_buffer_size():
                stdin.abort()
            for task in tasks:
                task.cancel()
            for pipe in pipes:
                pipe.close()
            for item in (incoming, read, write, outgoing, self._process.stdin, self._process.stdout, self._process.stderr):
                item.close()
            await asyncio.wait({self._exited, *tasks}, timeout=GRACE_PERIOD)

    def kill(self) -> None:
        """Kill it with its children, unless it has ended. Until it is waited for, its process id is not reused."""
        if self._process.returncode is None:
            self._is_killed = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def wait_for_end(self) -> str:
        """Wait a moment for its end and return how it ended; empty where it still runs."""
        await asyncio.wait({self._exited}, timeout=GRACE_PERIOD)
        return self.end

    async def _read(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

        noise = 0
        with incoming:
            while line := await self._line(reader):
                noise += max(len(line), _MIN_LINE_SIZE)
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    self._garbage = line[:_TAIL].strip() or self._garbage
                    await asyncio.sleep(0)  # a flood of lines must not block other tasks
                else:
                    noise = 0 if isinstance(message, JSONRPCResponse | JSONRPCError) else noise
                    await incoming.send(SessionMessage(message))
                if noise > MAX_NOISE:
                    self._stop("it wrote without end and answered nothing")
                    return
            await asyncio.wait({self._exited}, timeout=GRACE_PERIOD)  # so that the reason is known before the end is reported
            self._stop("it closed its output")

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        """Return the next line; empty at the end, and for a line that is too long."""
        try:
            return await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            self._stop(f"it wrote a line of more than {MAX_LINE >> 20} MB")
            return b""

    async def _write(self, stdin: asyncio.WriteTransport, outgoing: Any) -> None:
        async for item in outgoing:
            if stdin.is_closing():
                return
            stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "backslashreplace") + b"\n")

    def _stop(self, reason: str) -> None:
        if not self.end:
            self.kill()
            self.end = reason

    def _wait(self) -> None:
        """Wait for its end, in a thread, and kill children that it left behind before its process id is reused."""
        pid = self._process.pid
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._set_end, status)

    def _set_end(self, status: int) -> None:
        end = f"it was ended by signal {-status} ({signal.strsignal(-status)})" if status < 0 else f"it ended with exit status {status}"
        self.end = self.end or ("" if self._is_killed and status == -signal.SIGKILL else end)
        if not self._exited.done():
            self._exited.set_result(None)


class _Tail(asyncio.Protocol):
    """Keeps the end of what is written to a pipe and drops the rest, so that the writer never blocks."""

    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data = (self.data + data[-_TAIL:])[-_TAIL:]


def quote(text: bytes | str) -> str:
    """Return the end of foreign output, quoted so that it cannot control a terminal."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= _MAX_SHOWN else f"…{text[-_MAX_SHOWN:]}")
