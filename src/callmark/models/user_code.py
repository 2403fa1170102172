"""Code of the user's own, in this process: imported by name, and called so that nothing it does can stop the others.

A sync function runs in a daemon thread of its own, an async one in an event loop of its own. While it is entered, the current folder can be
imported from, and what is printed to standard output goes to standard error.
"""

import asyncio
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from callmark.errors import BadInput
from callmark.formats.responses import error_text
from callmark.models.model import ModelError
from callmark.models.threads import LoopThread, Outcome, Threads
from callmark.wording import counted, nearest

MOST_HANGING = 200  # calls that never came back, after which no more threads are given to it

_INSTALLED = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
_NOT_THEIRS = ("<", os.path.join(str(Path(__file__).parent.parent), ""), os.path.join(sysconfig.get_path("stdlib"), ""))


class UserCode:
    """What calls functions of `name`, each for `timeout` seconds at most."""

    def __init__(self, name: str, *, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
        self._threads = Threads()
        self._loop: LoopThread | None = None
        self._folder = ""

    async def run(self, function: Callable[[], Any], *, what: str = "", is_async: bool = False) -> Outcome:
        """What the function gives back or raises, awaited where that is something to await. One that does not come back in time raises
        `ModelError`, in which it is called `what`. `is_async`: it is known to give something to await, and takes no time to do so.
        """
        if self._threads.hanging >= MOST_HANGING:
            raise ModelError(f"{self._name} is asked no more: {counted(MOST_HANGING, 'call')} of it never came back", hopeless=True)
        try:
            async with asyncio.timeout(self._timeout):
                value, error = await (self._awaited(function) if is_async else self._threads.call(function))
                if error is None and inspect.isawaitable(value):
                    value, error = await self._awaited(lambda: value)
        except TimeoutError:
            raise ModelError(f"{f'{what} of ' if what else ''}{self._name} did not come back within {self._timeout:g} s") from None
        if isinstance(error, KeyboardInterrupt):
            raise error
        return value, error

    def enter(self) -> None:
        """Before the first call."""
        _Stdout.away()
        self._folder = os.getcwd()
        sys.path.append(self._folder)  # for what is imported when it is called

    async def leave(self) -> None:
        """After the last; what still runs is left behind."""
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


def imported_module(module: str, spec: str) -> ModuleType:
    """The module, looked for in the current folder first; raises `BadInput` where it is not found or does not import."""
    sys.path.insert(0, "")  # for as long as it is looked for
    try:
        with redirect_stdout(sys.stderr):
            return import_module(module)
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
