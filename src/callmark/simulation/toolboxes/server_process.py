"""A tool server as a process: MCP's messages over its standard input and output, a JSON line each.

The protocol is the official SDK's; its pipes are not. Whatever the process does (floods, hangs, closes its output, leaves children
behind), no more of it is kept than is bounded here, and it ends with its children when it is left, also when whoever leaves it is
cancelled. For one event loop.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any

LONGEST_LINE = 16 << 20  # bytes of a message
MOST_NOISE = 16 << 20  # bytes that are no answer, one after the other; a line counts for at least _LEAST of them
MOMENT = 1.0  # seconds in which a process may end by itself

_TAIL = 4096  # bytes of standard error that are kept
_TOLD = 3  # lines of it that are told
_LEAST = 1024
_SHOWN = 300  # characters of what it wrote


class ServerProcess:
    """Starts the process; raises `OSError` or `ValueError` where it cannot be started. `end` says how it ended by its own
    fault; empty until then, and for one that was left.
    """

    def __init__(self, words: list[str]) -> None:
        self.end = ""
        self._killed = False  # by us, which is no end of its own
        self._garbage = b""
        self._errors = _Tail()
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._process = subprocess.Popen(
            words,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that its children can be ended with it, and Ctrl-C is for us
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # a Python server would keep its last words to itself
        )
        Thread(target=self._wait, name="callmark-tool-server", daemon=True).start()

    @property
    def said(self) -> str:
        """What it said last, for a message: the end of its standard error, and of its output what is no message of MCP."""
        lines = [line.strip() for line in self._errors.data.decode("utf-8", "replace").splitlines() if line.strip()]
        words = f"; its last words: {quoted(' / '.join(lines[-_TOLD:]))}" if lines else ""
        garbage = f"; it wrote {quoted(self._garbage)} to its standard output, which is no message of MCP" if self._garbage else ""
        return garbage + words

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """The two ends of its pipes as the SDK takes them. Leaving closes its input, gives it a moment, then ends it and its children."""
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
            reader = asyncio.StreamReader(LONGEST_LINE)
            pipes.append((await self._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout))[0])
            pipes.append((await self._loop.connect_read_pipe(lambda: self._errors, self._process.stderr))[0])
            stdin, _ = await self._loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
            pipes.append(stdin)
            tasks = [asyncio.create_task(self._read(reader, incoming)), asyncio.create_task(self._write(stdin, outgoing))]
            yield read, write
            stdin.close()
            await asyncio.wait({self._exited}, timeout=MOMENT)
        finally:
            self.kill()
            if stdin is not None and stdin.get_write_buffer_size():
                stdin.abort()
            for task in tasks:
                task.cancel()
            for pipe in pipes:
                pipe.close()
            for each in (incoming, read, write, outgoing, self._process.stdin, self._process.stdout, self._process.stderr):
                each.close()
            await asyncio.wait({self._exited, *tasks}, timeout=MOMENT)

    def kill(self) -> None:
        """Ends it and its children, if it has not ended; its number is nobody else's until it was waited for."""
        if self._process.returncode is None:
            self._killed = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def ended(self) -> str:
        """How it ended, in case that it did just now; empty if it did not."""
        await asyncio.wait({self._exited}, timeout=MOMENT)
        return self.end

    async def _read(self, reader: asyncio.StreamReader, incoming: Any) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

        noise = 0
        with incoming:
            while line := await self._line(reader):
                noise += max(len(line), _LEAST)
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    self._garbage = line[:_TAIL].strip() or self._garbage
                    await asyncio.sleep(0)  # a flood of lines would let nobody else run
                else:
                    noise = 0 if isinstance(message, JSONRPCResponse | JSONRPCError) else noise
                    await incoming.send(SessionMessage(message))
                if noise > MOST_NOISE:
                    self._stop("it wrote without end and answered nothing")
                    return
            await asyncio.wait({self._exited}, timeout=MOMENT)  # so that how it ended is known before that it did
            self._stop("it closed its output")

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        """The next line; empty at the end, and after one that is too long."""
        try:
            return await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            self._stop(f"it wrote a line of more than {LONGEST_LINE >> 20} MB")
            return b""

    async def _write(self, stdin: asyncio.WriteTransport, outgoing: Any) -> None:
        async for each in outgoing:
            if stdin.is_closing():
                return
            stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "backslashreplace") + b"\n")

    def _stop(self, why: str) -> None:
        if not self.end:
            self.kill()
            self.end = why

    def _wait(self) -> None:
        """In a thread: waits for its end, and ends the children that it left behind before its number is given away."""
        pid = self._process.pid
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, nobody waits any more
            self._loop.call_soon_threadsafe(self._over, status)

    def _over(self, status: int) -> None:
        how = f"it was ended by signal {-status} ({signal.strsignal(-status)})" if status < 0 else f"it ended with exit status {status}"
        self.end = self.end or ("" if self._killed and status == -signal.SIGKILL else how)
        if not self._exited.done():
            self._exited.set_result(None)


class _Tail(asyncio.Protocol):
    """The end of what is written to a pipe; the rest is read and dropped, so that nobody waits for us to read it."""

    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data = (self.data + data[-_TAIL:])[-_TAIL:]


def quoted(text: bytes | str) -> str:
    """The end of what others wrote, so that nothing in it steers a terminal."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN else f"…{text[-_SHOWN:]}")
