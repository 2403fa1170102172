"""Python functions as tools.

    python:module            the public functions that are defined in it (those of `__all__` where it has that)
    python:module:name,name  functions by name; a class, which is made anew for each conversation, and whose public methods are the tools
    python:module:name()     makes the tools anew for each conversation: an object with methods, a list or dict of functions

Functions of a module share its variables among all conversations; a class or a function that makes one keeps them apart. A function or
method called `state` is no tool: it gives what the tools work on, `{table: {key: {column: value}}}`. What a function raises is an error
result. One that does not come back in time is given up, in a thread of its own; while the source is entered, what is printed goes to
standard error.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from types import ModuleType, TracebackType
from typing import Any, Self

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.models.replies import kind_of
from callmark.models.threads import Outcome
from callmark.models.user_code import UserCode, described, imported_module
from callmark.simulation.session import Result, State, Toolbox
from callmark.simulation.toolboxes.answers import StateReader, refused, told
from callmark.simulation.toolboxes.signatures import Signature
from callmark.types import Call, Tool
from callmark.wording import nearest

_STATE = "state"

Function = Callable[..., Any]


class FunctionTools:
    """Raises `BadInput` for what cannot be imported or has no functions, and on entering for a class that cannot be made."""

    def __init__(self, spec: str, *, timeout: float) -> None:
        self.label = f"python:{spec}"
        self.tools: tuple[Tool, ...] = ()
        self.signatures: dict[str, Signature] = {}
        module, _, names = spec.partition(":")
        if not module:
            raise BadInput(f"python:{spec} names no module, python:my_tools was expected")
        imported = imported_module(module, self.label)
        wanted = [name.strip() for name in names.split(",")] if names else []
        self._makers = [_maker(imported, module, name) for name in wanted] if wanted else [lambda: imported]
        self._code = UserCode(self.label, timeout=timeout)

    @asynccontextmanager
    async def opened(self, conversation: str) -> AsyncIterator[Toolbox]:
        try:
            functions = await self._made()
        except BadInput as error:  # it was fine when the source was entered: an error of this conversation, not the end of all
            raise ModelError(str(error)) from None
        yield _FunctionToolbox(self, functions)

    async def run(self, function: Callable[[], Any], what: str) -> Outcome:
        """What a function gives back or raises; one that does not come back in time raises `ModelError`, in which it is called `what`."""
        return await self._code.run(function, what=what)

    async def __aenter__(self) -> Self:
        self._code.enter()
        try:
            functions = await self._made()
        except ModelError as error:
            await self.__aexit__(None, None, None)
            raise BadInput(str(error)) from None
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        self.signatures = {name: Signature(function, name) for name, function in functions.items() if name != _STATE}
        self.tools = tuple(signature.tool for signature in self.signatures.values())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._code.leave()

    async def _made(self) -> dict[str, Function]:
        """The functions of one conversation, by name."""
        functions: dict[str, Function] = {}
        for maker in self._makers:
            value, error = await self.run(maker, "the maker of the tools")
            if error is not None:
                raise ModelError(f"the tools of {self.label} cannot be made: {described(error)}")
            for name, function in _functions(value):
                if name in functions:
                    raise BadInput(f"there are two tools called {name} in {self.label}")
                functions[name] = function
        if not functions.keys() - {_STATE}:
            raise BadInput(
                f"{self.label} has no public functions", "Name a module with functions, functions in it, or a class with methods."
            )
        return functions


class _FunctionToolbox:
    def __init__(self, source: FunctionTools, functions: dict[str, Function]) -> None:
        self.tools = source.tools
        self._source = source
        self._functions = functions

    async def call(self, call: Call) -> Result:
        if no := refused(call, self._source.signatures):
            return no
        function = self._functions.get(call.name)
        if function is None:
            raise ModelError(f"{self._source.label} made no {call.name} for this conversation")
        try:
            bound = self._source.signatures[call.name].bound(function, deepcopy(call.arguments))  # theirs to change; the call is recorded
        except BadInput as problem:
            return Result(f"{problem}{'' if str(problem).endswith('?') else '.'}", is_error=True)
        value, error = await self._source.run(bound, call.name)
        if error is not None:
            return told(_said(error), is_error=True)
        if isinstance(value, Result):
            return told(value.text, is_error=value.is_error)
        return told("" if value is None else value if isinstance(value, str) else dump(value))

    async def state(self) -> State | None:
        function = self._functions.get(_STATE)
        if function is None:
            return None
        value, error = await self._source.run(function, _STATE)
        if error is not None:
            raise ModelError(f"{_STATE} of {self._source.label} raised {described(error)}")
        return None if value is None else StateReader(self._source.label).read(dump(value))


def _functions(made: Any) -> Iterator[tuple[str, Function]]:
    """The public functions of a module, the public methods of an object, or what stands in a list, or by name in a dict."""
    if isinstance(made, ModuleType):
        listed = getattr(made, "__all__", None)
        for name, value in vars(made).items():
            own = name in listed if listed is not None else not name.startswith("_") and getattr(value, "__module__", "") == made.__name__
            if own and inspect.isroutine(value):
                yield name, value
    elif isinstance(made, dict | list | tuple):
        for name, value in made.items() if isinstance(made, dict) else ((getattr(each, "__name__", ""), each) for each in made):
            if not callable(value) or not isinstance(name, str) or not name:
                raise BadInput(f"{kind_of(value)} stands among the tools, a function with a name was expected")
            yield name, value
    else:
        yield from _methods(made)


def _methods(made: Any) -> Iterator[tuple[str, Function]]:
    """In the order of their definition, those of a class before what it inherits."""
    names = dict.fromkeys(name for kind in type(made).__mro__[:-1] for name in vars(kind) if not name.startswith("_"))
    for name in names:
        static = inspect.getattr_static(made, name)  # a property is not to be asked for its value
        if inspect.isroutine(static) or isinstance(static, staticmethod | classmethod):
            yield name, getattr(made, name)


def _maker(module: ModuleType, called: str, name: str) -> Callable[[], Any]:
    """What gives the tools that a name stands for: anew each time for a class or `name()`."""
    plain = name.removesuffix("()")
    found: Any = module
    for step in plain.split("."):
        try:
            found = getattr(found, step)
        except Exception:
            raise BadInput(f"the module {called} has no {plain!r}{nearest(step, dir(found))}") from None
    if isinstance(found, type) or (name != plain and callable(found)):
        maker: Callable[[], Any] = found
        return maker
    if not callable(found) or name != plain:
        raise BadInput(f"{called}:{name} is {kind_of(found)}, a function or a class was expected")
    return lambda: {plain.rpartition(".")[2]: found}


def _said(error: BaseException) -> str:
    """As an agent is told it: no place in a file, which is nothing to it."""
    try:
        said = str(error)
    except Exception:  # an exception that cannot be shown
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
