"""A program as a model: `cmd:COMMAND`. One process, started without a shell, reads requests and writes predictions as JSON Lines.

    in    {"id": "h01:4#17", "trial": 0, "messages": […], "tools": […]}
    out   {"id": "h01:4#17", "tool_calls": […]}

An output line may have any shape of a prediction. It is matched to its request by `id`. A line without an id is matched to the oldest open
request, so a program that responds in order may omit the id. Late and duplicate lines are dropped. When the process exits, its open
requests become errors, and it is restarted for the next request.

Pipes are read and written in daemon threads, so a process that never reads, or never stops writing, does not block anything else. It ends
with callmark, and so do its descendants.
"""

import asyncio
import re
import shlex
import signal
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
from msgspec import Struct, structs

from callmark.calls.messages import message_texts
from callmark.calls.strict import dump, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.models.agent_output import read_output
from callmark.models.child_environment import child_environment
from callmark.models.child_process import ChildProcess
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelError, ModelSettings
from callmark.models.provider import Provider, Spec
from callmark.trust import Action
from callmark.types import Case, Prediction, Tool

MAX_LINE_BYTES = 16 << 20
MAX_STARTS = 3  # in a row without a prediction

_EXIT_TIMEOUT = 1.0  # seconds before a process is killed
_CHUNK = 1 << 16
_STDERR_TAIL = 4096  # bytes
_MAX_QUOTED = 200  # characters of output in a message
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,1000}")')
_CAPABILITIES = Capabilities(8, reports_calls=True)


class _OutputId(Struct, gc=False):
    id: Any = None


_decode_id = msgspec.json.Decoder(_OutputId).decode
Result = Prediction | ModelError


class ProcessModel:
    """A program as a model. Raises `BadInput` for an invalid command and, on entry, for a program that cannot be started.

    `environment` is that of the program; None for what every program gets.
    """

    capabilities = _CAPABILITIES

    def __init__(self, command: str, *, timeout: float, environment: Mapping[str, str] | None = None) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise BadInput(f"cmd: invalid command: {str(error).lower()}", "Quote it as in a shell.") from None
        if not self._words or not self._words[0]:
            raise BadInput("cmd: the command is empty", "Pass a program and its arguments: cmd:'python agent.py'")
        if not timeout > 0:
            raise BadInput(f"cmd: timeout: expected more than 0 seconds, got {timeout:g}")
        self._name = program_name(self._words)
        self.label = f"cmd-{self._name}"
        self._timeout = timeout
        self._environment = child_environment((), Keys()) if environment is None else environment
        self._process: _Process | None = None
        self._requests = 0
        self._failed_starts = 0  # in a row, without a prediction

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: the program may change, so predictions cannot be cached."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Send a request line and return the prediction in the line that the program writes for it."""
        process = self._running_process()
        self._requests += 1
        request_id = f"{scrub(case.id)}#{self._requests}"  # unique per attempt, so that a late line can be recognized
        future = process.send(request_id, _request_line(case, trial, request_id), case.tools)
        try:
            async with asyncio.timeout(self._timeout):
                result = await future
        except TimeoutError:
            advice = "" if process.has_predicted else ". Check that it reads standard input line by line and flushes its output"
            raise ModelError(f"{self._name} did not respond within {self._timeout:g} s{advice}") from None
        if isinstance(result, ModelError):
            raise result
        return structs.replace(result, case=case.id, trial=trial)

    async def __aenter__(self) -> Self:
        self._failed_starts = 0
        try:
            self._process = self._start()
            await self._process.started()
        except (OSError, ValueError) as error:
            raise BadInput(self._start_problem(error), "Check that it is installed, or pass its full path.") from None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            await self._process.close()
            self._process = None

    def _running_process(self) -> "_Process":
        """Return the process; restart it if it has exited."""
        previous = self._process
        if previous is not None and not previous.end:
            return previous
        if previous is not None:
            self._failed_starts = 0 if previous.has_predicted else self._failed_starts + 1
            if self._failed_starts >= MAX_STARTS:
                times = f"{self._name} was started {MAX_STARTS} times and never returned a prediction"
                raise ModelError(f"{times}; the last time, {previous.end}", fatal=True)
        try:
            self._process = self._start()
        except (OSError, ValueError) as error:
            raise ModelError(self._start_problem(error), fatal=True) from None
        return self._process

    def _start(self) -> "_Process":
        return _Process(self._words, self._environment, self._name, lambda: self._requests)

    def _start_problem(self, error: OSError | ValueError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"command not found: {self._words[0]!r}"
        return f"{self._words[0]!r} cannot be started: {getattr(error, 'strerror', None) or error}"


class _OpenRequest(NamedTuple):
    future: "asyncio.Future[Result]"
    tools: Sequence[Tool]


class _Process:
    """One process, used from one event loop. `end` describes how it ended, and is empty while it runs."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], name: str, request_count: Callable[[], int]) -> None:
        self.end = ""
        self.has_predicted = False
        self._name = name
        self._request_count = request_count
        self._loop = asyncio.get_running_loop()
        self._started: asyncio.Future[OSError | None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._open: dict[str, _OpenRequest] = {}  # in request order, canceled requests included
        self._input: SimpleQueue[bytes | None] = SimpleQueue()
        self._unread_chunks = Semaphore(4)  # limits memory if the process writes faster than its output is read
        self._exited = Event()
        self._closed_output = False
        self._stderr = b""
        self._process = ChildProcess(words, environment)
        self._stdout_thread, self._stderr_thread = (
            Thread(target=run, name="callmark-process", daemon=True) for run in (self._read_stdout, self._read_stderr)
        )
        for thread in (
            self._stdout_thread,
            self._stderr_thread,
            *(Thread(target=run, daemon=True) for run in (self._write_stdin, self._wait)),
        ):
            thread.start()

    async def started(self) -> None:
        """Wait until the program runs; raise the `OSError` that prevents it. A call that is cancelled ends the process."""
        try:
            problem = await asyncio.shield(self._started)
        except BaseException:
            self._process.kill()
            raise
        if problem is not None:
            raise problem

    def send(self, request_id: str, line: bytes, tools: Sequence[Tool]) -> "asyncio.Future[Result]":
        """Send a request and return a future for its result. If the future is canceled, the output line is dropped.

        `tools` are those of the case; they help to find calls in a text.
        """
        future: asyncio.Future[Result] = self._loop.create_future()
        self._open[request_id] = _OpenRequest(future, tools)
        self._input.put(line)
        return future

    async def close(self) -> None:
        """Close its input, wait a moment, then kill it and its descendants."""
        self._input.put(None)
        try:
            await asyncio.wait({self._ended}, timeout=_EXIT_TIMEOUT)
        finally:
            self._process.kill()
        await asyncio.wait({self._ended}, timeout=5 * _EXIT_TIMEOUT)

    def _receive(self, lines: list[bytes]) -> None:
        self._unread_chunks.release()
        for line in lines:
            if not self._open:
                return
            if line and not line.isspace() and (request := self._pop_request(line)) is not None and not request.future.done():
                request.future.set_result(self._read_line(line, request.tools))

    def _pop_request(self, line: bytes) -> "_OpenRequest | None":
        """Remove and return the request that a line belongs to; None if that request already has its line."""
        request_id = _output_id(line)
        if request_id in self._open:
            return self._open.pop(request_id)
        number = request_id.rpartition("#")[2]
        if request_id and number.isdecimal() and len(number) < 12 and 0 < int(number) <= self._request_count():  # a second line
            return None
        return self._open.pop(next(iter(self._open)))

    def _read_line(self, line: bytes, tools: Sequence[Tool]) -> Result:
        if len(line) > MAX_LINE_BYTES:
            return ModelError(f"{self._name} wrote a line of more than {MAX_LINE_BYTES >> 20} MB: {_quote(line)}")
        try:
            prediction = read_output(line, tools=tools)
        except BadInput as error:
            return ModelError(f"{self._name} wrote {_quote(line)}, which is not a prediction: {error}")
        except ModelError as error:
            self.has_predicted = True
            return error
        self.has_predicted = True
        return prediction

    def _end(self, status: int, problem: OSError | None) -> None:
        how = f"it was killed by signal {-status} ({signal.strsignal(-status)})" if status < 0 else f"it exited with status {status}"
        how = f"it cannot be started: {problem.strerror}" if problem else how
        lines = self._stderr.decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.end = ("it closed its output" if self._closed_output else how) + (f", standard error ends with {_quote(last)}" if last else "")
        self._input.put(None)
        for future, _ in self._open.values():
            if not future.done():
                future.set_result(ModelError(f"{self._name} did not respond: {self.end}"))
        self._open.clear()
        self._ended.set_result(None)

    def _call_in_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _write_stdin(self) -> None:
        with suppress(OSError), self._process.stdin as file:
            while (line := self._input.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]

    def _read_stdout(self) -> None:
        begun = bytearray()  # start of a line; too long a line is cut just beyond the limit, so that it is still recognized as such
        with self._process.stdout as file:
            while chunk := file.read(_CHUNK):
                first, *more = chunk.split(b"\n")
                begun += first[: MAX_LINE_BYTES + 1 - len(begun)]
                if more:
                    lines = [bytes(begun), *more[:-1]]
                    begun = bytearray(more[-1])
                    self._unread_chunks.acquire()
                    self._call_in_loop(self._receive, lines)
            self._unread_chunks.acquire()
            self._call_in_loop(self._receive, [bytes(begun)])
        if not self._exited.wait(3 * _EXIT_TIMEOUT):
            self._closed_output = True
            self._process.kill()

    def _read_stderr(self) -> None:
        with self._process.stderr as file:
            while chunk := file.read(_CHUNK):
                self._stderr = (self._stderr + chunk)[-_STDERR_TAIL:]

    def _wait(self) -> None:
        problem = None
        try:
            self._process.wait_until_started()
        except OSError as error:
            problem = error
        self._call_in_loop(self._started.set_result, problem)
        status = self._process.wait()
        self._exited.set()
        self._stdout_thread.join(_EXIT_TIMEOUT)
        self._stderr_thread.join(_EXIT_TIMEOUT)
        self._call_in_loop(self._end, status, problem)


def _request_line(case: Case, trial: int, request_id: str) -> bytes:
    case = case
    messages = b",".join(message_texts(case))
    line = b'{"id":%b,"trial":%d,"messages":[%b],"tools":%b}' % (dump(request_id).encode(), trial, messages, tools_text(case))
    # Some readers treat U+2028 and U+2029 as line ends, even within a string.
    line = line.replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return line + b"\n"


def _output_id(line: bytes) -> str:
    """Return the id of a line, even if the line is cut off; empty if there is none."""
    with suppress(ValueError, RecursionError):
        found = _decode_id(line).id
        return found if isinstance(found, str) else ""
    with suppress(ValueError):
        if (cut := _ID.search(line, 0, _CHUNK)) is not None:
            return str(msgspec.json.decode(cut[1]))
    return ""


def _quote(text: bytes | str) -> str:
    """Quote the start of a text, with control characters escaped."""
    if isinstance(text, bytes):
        text = text[: 4 * _MAX_QUOTED].decode("utf-8", "replace")
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")


def run_action(command: str, keys: Keys, env: Sequence[str] = ()) -> Action:
    """Return the action of a command that a file names, with the variables that it gets."""
    variables = f" with {' and '.join(env)} from the environment" if env else ""
    return Action("run", f"the command `{keys.show_command(command)}`{variables}", exact=command + variables)


def program_name(words: list[str]) -> str:
    """Return the script or module of an interpreter, else the program; never another argument, because it may be a key."""
    if "-m" in words[1:-1]:
        return scrub(words[words.index("-m", 1) + 1])
    scripts = (word for word in words[1:] if word.endswith((".py", ".js", ".ts", ".sh")) and not word.startswith("-"))
    return scrub(Path(next(scripts, words[0])).name)


class ProcessProvider(Provider, frozen=True, kw_only=True):
    """A program, given by its command."""

    def read(self, text: str, keys: Keys) -> Spec:
        keys.add_from_command(self.name_in(text))
        return super().read(text, keys)

    def actions(self, spec: Spec, settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        return (run_action(spec.name, keys, () if "env" in given else settings.env),)

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return ProcessModel(spec.name, timeout=settings.timeout, environment=child_environment(settings.env, keys))


PROVIDER = ProcessProvider(name="cmd", example="cmd:./my-agent --json", capabilities=_CAPABILITIES, settings=("env",))
