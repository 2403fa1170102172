"""A Python function as a model: `python:module:function`, the user's own agent.

It is called with the messages and the tools as lists of objects in OpenAI's form, its own to change, and with `trial` and `case_id` if it
has parameters of these names. It may be a function, sync or async, a `functools.partial`, an object with `__call__`, or a class that makes
one. What it gives back may be a message, a chat completion or another SDK's object for one, calls in any shape, a text in which calls may
stand, or None: nothing said, nothing called. Anything else, an exception and a time-out are no reply.

Nothing that it does can stop the others: a sync function runs in a daemon thread of its own, an async one in an event loop of its own.
While the model is entered, what is printed to standard output goes to standard error.
"""

import asyncio
import functools
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Self, TextIO

import msgspec
from msgspec import Struct

from callmark.calls.messages import message_texts
from callmark.calls.parsing import parse_calls
from callmark.calls.shapes import named_call, read_call
from callmark.calls.strict import DEEPEST, deeper_than, dump, is_strict
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.formats.responses import error_text, read_value
from callmark.models.model import NoReply, Question, Reply
from callmark.types import Call, Case
from callmark.wording import counted, nearest

MOST_HANGING = 200  # calls that never came back, after which no more threads are given to it

_TOLD = ("trial", "case_id")
_DUMPS = ("model_dump", "to_dict")
_ARGUMENTS = ("arguments", "input", "kwargs")
_LEVELS = 20  # of objects in what a function gives back
_PATIENCE = 1.0  # seconds in which its event loop may end
_INSTALLED = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
_NOT_THEIRS = ("<", os.path.join(str(Path(__file__).parent.parent), ""), os.path.join(sysconfig.get_path("stdlib"), ""))

Outcome = tuple[Any, BaseException | None]


class FunctionModel:
    """Raises `BadInput` for a module that does not import, an attribute that is not there and what cannot be called with two arguments."""

    concurrency = 10

    def __init__(self, spec: str, *, timeout: float) -> None:
        if not timeout > 0:
            raise BadInput(f"the time-out of {spec} is {timeout:g} seconds, more than 0 was expected")
        self.label = spec.replace(":", ".")
        self._spec = spec
        self._timeout = timeout
        self._function = _callable(_imported(spec), spec)
        self._told = _parameters(self._function, spec)
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            getattr(self._function, "__call__", None)  # noqa: B004 - whether calling it gives a coroutine
        )
        self._threads = _Threads()
        self._loop: _Loop | None = None
        self._folder = ""

    def fingerprint(self, question: Question) -> bytes | None:
        """None: nobody knows what the function does."""
        return None

    async def ask(self, question: Question) -> Reply:
        """What it gives back, read."""
        case = question.case
        if self._threads.hanging >= MOST_HANGING:
            raise NoReply(f"{self._spec} is asked no more: {counted(MOST_HANGING, 'call')} of it never came back", hopeless=True)
        told = {name: value for name, value in (("trial", question.trial), ("case_id", case.id)) if name in self._told}
        call = functools.partial(self._function, *_as_objects(case), **told)
        try:
            async with asyncio.timeout(self._timeout):
                value, error = await (self._awaited(call) if self._is_async else self._threads.call(call))
                if error is None and inspect.isawaitable(value):
                    value, error = await self._awaited(functools.partial(_itself, value))
        except TimeoutError:
            raise NoReply(f"{self._spec} did not come back within {self._timeout:g} s") from None
        if error is not None:
            if isinstance(error, KeyboardInterrupt):
                raise error
            raise NoReply(f"{self._spec} raised {described(error)}")
        return self._reply(value, case)

    async def __aenter__(self) -> Self:
        _Stdout.away()
        self._folder = os.getcwd()
        sys.path.append(self._folder)  # for what it imports when it is called
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.end()
        self._threads = _Threads()
        if self._loop is not None:
            await self._loop.end()
            self._loop = None
        with suppress(ValueError):  # it may have changed the path itself
            sys.path.remove(self._folder)
        _Stdout.back()

    async def _awaited(self, call: Callable[[], Any]) -> Outcome:
        if self._loop is None or not self._loop.is_running:
            self._loop = _Loop()
        return await self._loop.call(call)

    def _reply(self, value: Any, case: Case) -> Reply:
        try:
            return reply_of(value, names=[tool.name for tool in case.tools])
        except BadInput as error:
            raise NoReply(f"{self._spec} returned no answer: {error}") from None
        except NoReply:
            raise
        except Exception as error:  # an object of theirs that cannot be taken apart
            raise NoReply(f"{self._spec} returned {_kind(value)} that cannot be read: {described(error)}") from None


def reply_of(value: Any, *, names: list[str]) -> Reply:
    """The reply that a value stands for; raises `NoReply` where it is an error, `BadInput` where it is no answer. `names`: the tools."""
    plain = _plain(value)
    match plain:
        case None:
            return Reply()
        case str():
            found = parse_calls(plain, names=names)
            return Reply(found.calls, found.text, found.thinking)
        case Call():
            return Reply((_checked(plain),))
        case list() if any(isinstance(item, Call) for item in plain):
            return Reply(tuple([_checked(read_call(item)) for item in plain]))
        case list():
            return read_reply(dump({"output": plain}).encode())
        case {"function": dict()} | {"tool": dict()} | {"name": str(), "arguments": _} | {"functionName": str()}:
            return read_reply(dump({"output": [plain]}).encode())
        case {"name": str(), "input": _} | {"name": str(), "kwargs": _}:
            return read_reply(dump({"output": [plain]}).encode())
        case dict():
            return read_reply(dump(plain).encode())
    raise BadInput(f"it is {_kind(value)}; a message, calls, a text or None was expected")


class _Choice(Struct, gc=False):
    finish_reason: Any = None


class _Counts(Struct, gc=False):
    prompt_tokens: Any = 0
    completion_tokens: Any = 0
    input_tokens: Any = 0
    output_tokens: Any = 0


class _Completion(Struct, gc=False):
    choices: list[_Choice] = []
    usage: _Counts | None = None
    stop_reason: Any = None


_decode_completion = msgspec.json.Decoder(_Completion).decode


def read_reply(row: bytes) -> Reply:
    """The reply in a JSON text of any shape that predictions have, with its tokens and why it stopped where a completion says so.

    Raises `NoReply` where it is an error, `BadInput` where it is no answer.
    """
    found = read_prediction(row).prediction
    if found.error:
        raise NoReply(found.error)
    finish, tokens_in, tokens_out = found.finish, 0, 0
    if b'_reason"' in row or b'"usage"' in row:
        with suppress(msgspec.MsgspecError):
            completion = _decode_completion(row)
            reason = completion.choices[0].finish_reason if completion.choices else completion.stop_reason
            finish = reason if isinstance(reason, str) else finish
            counts = completion.usage or _Counts()
            tokens_in, tokens_out = (
                next((count for count in pair if isinstance(count, int) and count > 0), 0)
                for pair in ((counts.prompt_tokens, counts.input_tokens), (counts.completion_tokens, counts.output_tokens))
            )
    return Reply(found.calls, found.text, found.thinking, finish, tokens_in, tokens_out)


def described(error: BaseException) -> str:
    """The type, the message and the innermost line of the user's own code, on one line that steers no terminal."""
    try:
        said = error_text(error.msg if isinstance(error, SyntaxError) else str(error))
    except Exception:  # an exception that cannot be shown
        said = ""
    where = _line(error) or (_line(error.__cause__) if error.__cause__ else "")
    line = f"{type(error).__name__}{': ' if said else ''}{said}{f' ({where})' if where else ''}"
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)


def _line(error: BaseException) -> str:
    """`agent.py:12`; of an error that came through none of the user's files that of an installed one, or nothing."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{_shown_file(error.filename)}:{error.lineno}"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    installed = [frame for frame in frames if frame[0].startswith(_INSTALLED)]
    own = [frame for frame in frames if not frame[0].startswith((*_NOT_THEIRS, *_INSTALLED))]
    return next((f"{_shown_file(file)}:{line}" for file, line in (own or installed)[-1:]), "")


def _shown_file(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


class _Threads:
    """Daemon threads that call functions: as many as there are calls at a time, used again. One that hangs is never waited for."""

    def __init__(self) -> None:
        self.hanging = 0
        self._free = self._running = 0
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def call(self, function: Callable[[], Any]) -> Outcome:
        """What the function gives back or raises. May be cancelled: then the call counts as hanging until it comes back."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()

        def finish(outcome: Outcome) -> None:
            self._free += 1
            if done.done():
                self.hanging -= 1
            else:
                done.set_result(outcome)

        def job() -> None:
            outcome = _outcome(function)
            with suppress(RuntimeError):  # the loop was closed while it hung
                loop.call_soon_threadsafe(finish, outcome)

        if self._free:
            self._free -= 1
        else:
            self._running += 1
            Thread(target=self._work, name="callmark-function", daemon=True).start()
        self._jobs.put(job)
        try:
            return await done
        except asyncio.CancelledError:
            self.hanging += 1
            raise

    def end(self) -> None:
        """Ends the threads, those that hang when they come back. Nothing can be called after that."""
        for _ in range(self._running):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class _Loop:
    """An event loop in a daemon thread: what blocks in it, or will not be cancelled, holds up nobody else."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="callmark-async-function", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it still is: a task that exits takes its loop with it."""
        return self._thread.is_alive()

    async def call(self, function: Callable[[], Awaitable[Any]]) -> Outcome:
        """What the awaitable that the function makes gives back or raises."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited_outcome(function), self._loop))

    async def end(self) -> None:
        """Cancels what is left and ends the thread; one that does not end soon is left to end with the process."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        for _ in range(int(_PATIENCE / 0.005)):
            if not self._thread.is_alive():
                return
            await asyncio.sleep(0.005)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                _, hanging = self._loop.run_until_complete(asyncio.wait(left, timeout=_PATIENCE / 2))
                if hanging:  # destroyed with the loop, they would be complained of
                    self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()


class _Stdout:
    """Standard output, turned to standard error for as long as any function may print."""

    users = 0
    kept: TextIO | None = None

    @classmethod
    def away(cls) -> None:
        if not cls.users:
            cls.kept, sys.stdout = sys.stdout, sys.stderr
        cls.users += 1

    @classmethod
    def back(cls) -> None:
        cls.users -= 1
        if not cls.users and cls.kept is not None:
            sys.stdout = cls.kept


def _outcome(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except BaseException as error:  # SystemExit too: it is the agent's, not ours
        return None, error


async def _awaited_outcome(function: Callable[[], Awaitable[Any]]) -> Outcome:
    try:
        return await function(), None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None, error
    except BaseException as error:
        return None, error


def _itself(value: Any) -> Any:
    return value


def _as_objects(case: Case) -> tuple[Any, Any]:
    return read_value(b"[" + b",".join(message_texts(case)) + b"]"), read_value(tools_text(case))


def _plain(value: Any, levels: int = _LEVELS) -> Any:
    """The value with objects of SDKs taken apart. Arguments that are not strict JSON become text, so that they are found malformed."""
    if value is None or isinstance(value, str | int | float | Call):
        return value
    if not levels:
        raise BadInput(f"it is nested deeper than {_LEVELS}")
    if isinstance(value, list | tuple):
        return [_plain(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {
            key: _arguments(item) if key in _ARGUMENTS and isinstance(item, dict) else _plain(item, levels - 1)
            for key, item in value.items()
        }
    for name in _DUMPS:
        if callable(method := getattr(value, name, None)) and not isinstance(value, type):
            return _plain(method(), levels - 1)
    return value


def _arguments(given: dict[str, Any]) -> dict[str, Any] | str:
    if deeper_than(given, DEEPEST):
        return dump(given)
    if is_strict(given):
        return given
    import json

    return json.dumps(given, default=repr)


def _checked(call: Call) -> Call:
    """A call made in Python as it would have been read: malformed where it has a NaN in it."""
    return call if call.malformed else named_call(call.name, call.arguments, call.id)


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _callable(found: Any, spec: str) -> Callable[..., Any]:
    if isinstance(found, type):
        try:
            with redirect_stdout(sys.stderr):
                found = found()
        except (Exception, SystemExit) as error:
            raise BadInput(f"the agent of {spec} cannot be made: {described(error)}") from None
    if not callable(found):
        raise BadInput(f"{spec} is {_kind(found)}, a function of messages and tools was expected")
    function: Callable[..., Any] = found
    return function


def _parameters(function: Callable[..., Any], spec: str) -> frozenset[str]:
    """Which of `trial` and `case_id` it wants to be told."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in, says nothing of itself
        return frozenset()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [(at, name) for at, (name, parameter) in enumerate(signature.parameters.items()) if parameter.kind in kinds]
    told = frozenset(name for at, name in named if name in _TOLD and (at > 1 or signature.parameters[name].kind is kinds[1]))
    try:
        signature.bind([], [], **dict.fromkeys(told))
    except TypeError as error:
        raise BadInput(f"{spec} cannot be called with messages and tools: {error}", f"It is {spec.partition(':')[2]}{signature}.") from None
    return told


def _imported(spec: str) -> Any:
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        raise BadInput(f"{spec!r} names no function, module:function was expected", "For example python:my_agent:answer.")
    sys.path.insert(0, "")  # the current folder goes first for as long as the function is looked for
    try:
        with redirect_stdout(sys.stderr):
            found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and (module == error.name or module.startswith(f"{error.name}.")):
            here = [path.stem for path in Path().glob("*.py")]
            raise BadInput(
                f"there is no module {error.name} for {spec}{nearest(error.name, here)}",
                f"Run callmark in the folder that {module.partition('.')[0]} is in, or install it.",
            ) from None
        raise BadInput(f"the module of {spec} cannot be imported: {described(error)}") from None
    finally:
        with suppress(ValueError):  # the module may have changed the path itself
            sys.path.remove("")
    for step in attribute.split("."):
        try:
            found = getattr(found, step)
        except Exception:
            raise BadInput(f"the module {module} has no {attribute!r}{nearest(step, dir(found))}") from None
    return found
