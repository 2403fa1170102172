"""User code in this process: imported by name, and called so that it cannot block anything else.

A sync function runs in a daemon thread, an async function in an event loop of its own. While `UserCode` is open, modules in the current
folder can be imported, and standard output is redirected to standard error.
"""

import asyncio
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Collection
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from callmark.errors import BadInput
from callmark.formats.responses import error_text
from callmark.models.model import ModelError
from callmark.models.threads import DaemonThreads, LoopThread, Outcome
from callmark.wording import did_you_mean, pluralize

MAX_HANGING = 200  # calls that may hang before no more are made

_INSTALLED = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
_NOT_USER_CODE = ("<", os.path.join(str(Path(__file__).parent.parent), ""), os.path.join(sysconfig.get_path("stdlib"), ""))


class UserCode:
    """Calls user functions, each for at most `timeout` seconds. `name` is for messages."""

    def __init__(self, name: str, *, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
        self._threads = DaemonThreads()
        self._loop: LoopThread | None = None
        self._folder = ""

    async def run(self, function: Callable[[], Any], *, what: str = "", is_async: bool = False) -> Outcome:
        """Return the outcome of a function; an awaitable is awaited. A timeout raises `ModelError`, with `what` in its message.

        `is_async`: the function is known to return an awaitable without blocking.
        """
        if self._threads.hanging >= MAX_HANGING:
            raise ModelError(f"{self._name} is no longer called: {pluralize(MAX_HANGING, 'call')} never returned", fatal=True)
        try:
            async with asyncio.timeout(self._timeout):
                value, error = await (self._await(function) if is_async else self._threads.call(function))
                if error is None and inspect.isawaitable(value):
                    value, error = await self._await(lambda: value)
        except TimeoutError:
            raise ModelError(f"{f'{what} of ' if what else ''}{self._name} did not return within {self._timeout:g} s") from None
        if isinstance(error, KeyboardInterrupt):
            raise error
        return value, error

    def open(self) -> None:
        """Prepare for the first call."""
        _StdoutRedirect.start()
        self._folder = os.getcwd()
        sys.path.append(self._folder)  # for imports inside functions

    async def close(self) -> None:
        """Clean up after the last call; functions that still run are left running."""
        self._threads.stop()
        self._threads = DaemonThreads()
        if self._loop is not None:
            await self._loop.stop()
            self._loop = None
        with suppress(ValueError):  # the user code may have changed the path
            sys.path.remove(self._folder)
        _StdoutRedirect.stop()

    async def _await(self, function: Callable[[], Any]) -> Outcome:
        if self._loop is None or not self._loop.is_running:
            self._loop = LoopThread()
        return await self._loop.call(function)


def import_user_module(module: str, spec: str) -> ModuleType:
    """Import a module, from the current folder first; raise `BadInput` if it is not found or cannot be imported."""
    sys.path.insert(0, "")  # only during the import
    try:
        with redirect_stdout(sys.stderr):
            return import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and (module == error.name or module.startswith(f"{error.name}.")):
            here = [path.stem for path in Path().glob("*.py")]
            raise BadInput(
                f"{spec}: no module named {error.name}{did_you_mean(error.name, here)}",
                f"Run callmark in the folder that contains {module.partition('.')[0]}, or install it.",
            ) from None
        raise BadInput(f"{spec}: cannot import {module}: {describe_error(error)}") from None
    finally:
        with suppress(ValueError):  # the module may have changed the path
            sys.path.remove("")


def import_attribute(module: str, attribute: str, spec: str) -> Any:
    """Import a module as `import_user_module` does, and return the attribute with this dotted name; `BadInput` if it has none."""
    found: Any = import_user_module(module, spec)
    for step in attribute.split("."):
        try:
            found = getattr(found, step)
        except Exception:
            raise BadInput(f"module {module} has no attribute {attribute!r}{did_you_mean(step, dir(found))}") from None
    return found


def is_named(error: BaseException, names: Collection[str]) -> bool:
    """Return whether the full name of an exception's class, or of one of its base classes, is among the names."""
    return any(f"{kind.__module__}.{kind.__qualname__}" in names for kind in type(error).__mro__)


def describe_error(error: BaseException) -> str:
    """Return type and message of an exception and the innermost line of user code, on one line without control characters."""
    try:
        message = error_text(error.msg if isinstance(error, SyntaxError) else str(error))
    except Exception:  # an exception that cannot be shown
        message = ""
    where = _source_line(error) or (_source_line(error.__cause__) if error.__cause__ else "")
    line = f"{type(error).__name__}{': ' if message else ''}{message}{f' ({where})' if where else ''}"
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)


def _source_line(error: BaseException) -> str:
    """Return `agent.py:12`; without a line in the user's own files, one in an installed package, or an empty string."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{_short_path(error.filename)}:{error.lineno}"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    installed = [frame for frame in frames if frame[0].startswith(_INSTALLED)]
    own = [frame for frame in frames if not frame[0].startswith((*_NOT_USER_CODE, *_INSTALLED))]
    return next((f"{_short_path(file)}:{line}" for file, line in (own or installed)[-1:]), "")


def _short_path(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


class _StdoutRedirect:
    """Redirects standard output to standard error while user code may print."""

    users = 0
    original: TextIO | None = None

    @classmethod
    def start(cls) -> None:
        if not cls.users:
            cls.original, sys.stdout = sys.stdout, sys.stderr
        cls.users += 1

    @classmethod
    def stop(cls) -> None:
        cls.users -= 1
        if not cls.users and cls.original is not None:
            sys.stdout = cls.original
