"""A program as a model: `cmd:COMMAND`, one process, started without a shell, that reads questions and writes answers, a JSON line each.

    in    {"id": "h01:4#17", "trial": 0, "messages": […], "tools": […]}
    out   {"id": "h01:4#17", "tool_calls": […]}

An answer has any shape that predictions have. It belongs to the question that its `id` names; one that names none is for the oldest
question that is open, so a program that answers every question in order may leave the id out. An answer that comes too late, or twice, is
dropped. When the process ends, what it was asked has no reply, and it is started anew for the next question.

Files are read and written in daemon threads, so that a process that reads nothing or writes without end holds up nobody.
"""

import asyncio
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Struct

from callmark.calls.messages import message_texts
from callmark.calls.strict import dump, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.models.model import ModelError, Question, Reply
from callmark.models.replies import read_reply

LONGEST_LINE = 16 << 20  # bytes of an answer
MOST_STARTS = 3  # in a row without an answer

_MOMENT = 1.0  # seconds in which a process may end by itself
_CHUNK = 1 << 16
_TAIL = 4096  # bytes of standard error that are kept
_SHOWN = 200  # characters of what it wrote
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,1000}")')


class _Named(Struct, gc=False):
    id: Any = None


_decode_named = msgspec.json.Decoder(_Named).decode
Outcome = Reply | ModelError


class ProcessModel:
    """Raises `BadInput` for a command that is none, and on entering for a program that cannot be started."""

    concurrency = 8

    def __init__(self, command: str, *, timeout: float) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise BadInput(f"the command of cmd: cannot be read: {str(error).lower()}", "Quote it as in a shell.") from None
        if not self._words or not self._words[0]:
            raise BadInput("cmd: names no program", "Name one with its arguments: cmd:'python agent.py'.")
        if not timeout > 0:
            raise BadInput(f"the time-out of cmd: is {timeout:g} seconds, more than 0 was expected")
        self._name = program_name(self._words)
        self.label = f"cmd-{self._name}"
        self._timeout = timeout
        self._running: _Running | None = None
        self._asked = 0
        self._barren = 0  # starts in a row that came to no answer

    def fingerprint(self, question: Question) -> bytes | None:
        """None: nobody knows what the program does."""
        return None

    async def ask(self, question: Question) -> Reply:
        """What it writes for the question, read."""
        running = self._ready()
        self._asked += 1
        name = f"{scrub(question.case.id)}#{self._asked}"  # of its own for every try, so that a late answer is known for one
        answer = running.ask(name, _line(question, name))
        try:
            async with asyncio.timeout(self._timeout):
                outcome = await answer
        except TimeoutError:
            why = "" if running.answered else ": does it read standard input line by line, and flush what it writes?"
            raise ModelError(f"{self._name} did not answer within {self._timeout:g} s{why}") from None
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    async def __aenter__(self) -> Self:
        self._barren = 0
        try:
            self._running = self._started()
        except (OSError, ValueError) as error:
            raise BadInput(self._why_not(error), "Name a program that is installed, or the path of one.") from None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._running is not None:
            await self._running.leave()
            self._running = None

    def _ready(self) -> "_Running":
        before = self._running
        if before is not None and not before.end:
            return before
        if before is not None:
            self._barren = 0 if before.answered else self._barren + 1
            if self._barren >= MOST_STARTS:
                raise ModelError(
                    f"{self._name} was started {MOST_STARTS} times and never answered; the last time {before.end}", hopeless=True
                )
        try:
            self._running = self._started()
        except (OSError, ValueError) as error:
            raise ModelError(self._why_not(error), hopeless=True) from None
        return self._running

    def _started(self) -> "_Running":
        return _Running(self._words, self._name, lambda: self._asked)

    def _why_not(self, error: OSError | ValueError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"there is no program called {self._words[0]!r}"
        return f"{self._words[0]!r} cannot be started: {getattr(error, 'strerror', None) or error}"


class _Running:
    """One process, from its start to its end; `end` says how it ended, and is empty until then. For one event loop."""

    def __init__(self, words: list[str], name: str, asked: Callable[[], int]) -> None:
        self.end = ""
        self.answered = False
        self._name = name
        self._asked = asked
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._open: dict[str, asyncio.Future[Outcome]] = {}  # in the order of asking; those that were given up too
        self._questions: SimpleQueue[bytes | None] = SimpleQueue()
        self._room = Semaphore(4)  # chunks that may wait to be read, so that a flood is not piled up
        self._exited = Event()
        self._closed_output = False
        self._tail = b""
        self._process = subprocess.Popen(
            words,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that its children can be ended with it, and Ctrl-C is for us
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # a Python program would keep its answers to itself
        )
        self._reader, self._listener = (Thread(target=run, name="callmark-process", daemon=True) for run in (self._read, self._listen))
        for thread in (self._reader, self._listener, *(Thread(target=run, daemon=True) for run in (self._write, self._wait))):
            thread.start()

    def ask(self, name: str, line: bytes) -> "asyncio.Future[Outcome]":
        """Sends the line; what comes of it. The future may be cancelled: then its answer is dropped when it comes."""
        answer: asyncio.Future[Outcome] = self._loop.create_future()
        self._open[name] = answer
        self._questions.put(line)
        return answer

    async def leave(self) -> None:
        """Closes its input, gives it a moment, then ends it with its children."""
        self._questions.put(None)
        try:
            await asyncio.wait({self._over}, timeout=_MOMENT)
        finally:
            if not self._over.done():  # else its number may be another's by now
                self._kill()
        await asyncio.wait({self._over}, timeout=5 * _MOMENT)

    def _came(self, lines: list[bytes]) -> None:
        self._room.release()
        for line in lines:
            if not self._open:
                return
            if line and not line.isspace() and (answer := self._for_whom(line)) is not None and not answer.done():
                answer.set_result(self._read_answer(line))

    def _for_whom(self, line: bytes) -> "asyncio.Future[Outcome] | None":
        """The question that a line answers; None where it was answered before."""
        name = _named(line)
        if name in self._open:
            return self._open.pop(name)
        number = name.rpartition("#")[2]
        if name and number.isdecimal() and len(number) < 12 and 0 < int(number) <= self._asked():  # one of ours, answered twice
            return None
        return self._open.pop(next(iter(self._open)))

    def _read_answer(self, line: bytes) -> Outcome:
        if len(line) > LONGEST_LINE:
            return ModelError(f"{self._name} wrote a line of more than {LONGEST_LINE >> 20} MB: {_quoted(line)}")
        try:
            reply = read_reply(line)
        except BadInput as error:
            return ModelError(f"{self._name} wrote no answer but {_quoted(line)}: {error}")
        except ModelError as error:
            self.answered = True
            return error
        self.answered = True
        return reply

    def _ended(self, status: int) -> None:
        how = f"it was ended by signal {-status} ({signal.strsignal(-status)})" if status < 0 else f"it ended with exit status {status}"
        lines = self._tail.decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.end = ("it closed its output" if self._closed_output else how) + (f", its last words {_quoted(last)}" if last else "")
        self._questions.put(None)
        for answer in self._open.values():
            if not answer.done():
                answer.set_result(ModelError(f"{self._name} did not answer: {self.end}"))
        self._open.clear()
        self._over.set_result(None)

    def _tell(self, function: Callable[..., None], *given: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed, nobody waits any more
            self._loop.call_soon_threadsafe(function, *given)

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as file:
            while (line := self._questions.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]

    def _read(self) -> None:
        assert self._process.stdout is not None
        begun = bytearray()  # of a line; what is too long is cut, so that it is known for that
        with self._process.stdout as file:
            while chunk := file.read(_CHUNK):
                first, *more = chunk.split(b"\n")
                begun += first[: LONGEST_LINE + 1 - len(begun)]
                if more:
                    lines = [bytes(begun), *more[:-1]]
                    begun = bytearray(more[-1])
                    self._room.acquire()
                    self._tell(self._came, lines)
            self._room.acquire()
            self._tell(self._came, [bytes(begun)])
        if not self._exited.wait(_MOMENT):
            self._closed_output = True
            self._kill()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as file:
            while chunk := file.read(_CHUNK):
                self._tail = (self._tail + chunk)[-_TAIL:]

    def _wait(self) -> None:
        if hasattr(os, "waitid"):  # it keeps its number until it is waited for, so that nobody else can be killed by it
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        self._exited.set()
        self._reader.join(_MOMENT)
        self._kill()  # children that it left behind, and that hold its output open
        status = self._process.wait()
        self._reader.join(_MOMENT)
        self._listener.join(_MOMENT)
        self._tell(self._ended, status)


def _line(question: Question, name: str) -> bytes:
    case = question.case
    messages = b",".join(message_texts(case))
    line = b'{"id":%b,"trial":%d,"messages":[%b],"tools":%b}' % (dump(name).encode(), question.trial, messages, tools_text(case))
    # between values these are white space; within a string some readers take the last two for the end of a line
    line = line.replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return line + b"\n"


def _named(line: bytes) -> str:
    """The id of a line, also of one that is cut off; empty where it has none."""
    with suppress(ValueError, RecursionError):
        found = _decode_named(line).id
        return found if isinstance(found, str) else ""
    with suppress(ValueError):
        if (cut := _ID.search(line, 0, _CHUNK)) is not None:
            return str(msgspec.json.decode(cut[1]))
    return ""


def _quoted(text: bytes | str) -> str:
    """The beginning, so that nothing in it steers a terminal."""
    if isinstance(text, bytes):
        text = text[: 4 * _SHOWN].decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def program_name(words: list[str]) -> str:
    """The script or module that an interpreter is given, or the program; never another argument, which may be a key."""
    if "-m" in words[1:-1]:
        return scrub(words[words.index("-m", 1) + 1])
    scripts = (word for word in words[1:] if word.endswith((".py", ".js", ".ts", ".sh")) and not word.startswith("-"))
    return scrub(Path(next(scripts, words[0])).name)
