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
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from callmark.calls.messages import message_texts
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.responses import error_text, read_value
from callmark.models.model import NoReply, Question, Reply
from callmark.models.replies import kind_of, reply_of
from callmark.models.threads import LoopThread, Outcome, Threads
from callmark.types import Case
from callmark.wording import counted, nearest

MOST_HANGING = 200  # calls that never came back, after which no more threads are given to it

_TOLD = ("trial", "case_id")
_INSTALLED = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
_NOT_THEIRS = ("<", os.path.join(str(Path(__file__).parent.parent), ""), os.path.join(sysconfig.get_path("stdlib"), ""))


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
        self._threads = Threads()
        self._loop: LoopThread | None = None
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
        self._threads = Threads()
        if self._loop is not None:
            await self._loop.end()
            self._loop = None
        with suppress(ValueError):  # it may have changed the path itself
            sys.path.remove(self._folder)
        _Stdout.back()

    async def _awaited(self, call: Callable[[], Any]) -> Outcome:
        if self._loop is None or not self._loop.is_running:
            self._loop = LoopThread()
        return await self._loop.call(call)

    def _reply(self, value: Any, case: Case) -> Reply:
        try:
            return reply_of(value, names=[tool.name for tool in case.tools])
        except BadInput as error:
            raise NoReply(f"{self._spec} returned no answer: {error}") from None
        except NoReply:
            raise
        except Exception as error:  # an object of theirs that cannot be taken apart
            raise NoReply(f"{self._spec} returned {kind_of(value)} that cannot be read: {described(error)}") from None


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


def _itself(value: Any) -> Any:
    return value


def _as_objects(case: Case) -> tuple[Any, Any]:
    return read_value(b"[" + b",".join(message_texts(case)) + b"]"), read_value(tools_text(case))


def _callable(found: Any, spec: str) -> Callable[..., Any]:
    if isinstance(found, type):
        try:
            with redirect_stdout(sys.stderr):
                found = found()
        except (Exception, SystemExit) as error:
            raise BadInput(f"the agent of {spec} cannot be made: {described(error)}") from None
    if not callable(found):
        raise BadInput(f"{spec} is {kind_of(found)}, a function of messages and tools was expected")
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
