"""Python functions as tools.

    python:module            the public functions defined in the module (those in `__all__`, if it has one)
    python:module:name,name  functions by name; or a class, whose public methods are the tools, instantiated for each conversation
    python:module:name()     a factory, called for each conversation: returns an object with methods, or a list or dict of functions

Functions of a module share its variables between all conversations; a class or a factory separates them. A function or method named
`state` is not a tool: it returns the data, `{table: {key: {column: value}}}`. An exception becomes an error result. A call that times out
is abandoned in its thread. While the source is entered, printed output goes to standard error.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from types import ModuleType, TracebackType
from typing import Any, Self

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.models.agent_output import type_name
from callmark.models.model import ModelError
from callmark.models.threads import Outcome
from callmark.models.user_code import UserCode, describe_error, import_user_module
from callmark.simulation.session import State, Toolbox, ToolResult
from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
from callmark.simulation.toolboxes.results import StateReader, make_result, reject_call
from callmark.simulation.toolboxes.signatures import Signature
from callmark.trust import import_action
from callmark.types import Call, Tool
from callmark.wording import did_you_mean

_STATE = "state"

Function = Callable[..., Any]


class FunctionToolSource:
    """Imports functions. A spec that cannot be imported or has no functions raises `BadInput`; so does a failing factory, on entering."""

    def __init__(self, spec: str, *, timeout: float) -> None:
        self.label = f"python:{spec}"
        self.tools: tuple[Tool, ...] = ()
        self.signatures: dict[str, Signature] = {}
        module, _, names = spec.partition(":")
        if not module:
            raise BadInput(f"tools: expected a module such as python:my_tools, got python:{spec}")
        loaded = import_user_module(module, self.label)
        requested = [name.strip() for name in names.split(",")] if names else []
        self._factories = [_factory(loaded, module, name) for name in requested] if requested else [lambda: loaded]
        self._code = UserCode(self.label, timeout=timeout)

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        try:
            functions = await self._make_functions()
        except BadInput as error:  # it worked on entering, so it is an error of this conversation only
            raise ModelError(str(error)) from None
        yield _FunctionToolbox(self, functions)

    async def run(self, function: Callable[[], Any], name: str) -> Outcome:
        """Return the value or exception of a function; a timeout raises `ModelError` with that name."""
        return await self._code.run(function, what=name)

    async def __aenter__(self) -> Self:
        self._code.open()
        try:
            functions = await self._make_functions()
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
        await self._code.close()

    async def _make_functions(self) -> dict[str, Function]:
        """Return the functions of one conversation by name."""
        functions: dict[str, Function] = {}
        for factory in self._factories:
            value, error = await self.run(factory, "the tool factory")
            if error is not None:
                raise ModelError(f"the tools of {self.label} cannot be created: {describe_error(error)}")
            for name, function in _functions(value):
                if name in functions:
                    raise BadInput(f"two tools are named {name} in {self.label}")
                functions[name] = function
        if not functions.keys() - {_STATE}:
            raise BadInput(
                f"{self.label} has no public functions",
                "Expected a module with functions, named functions in it, or a class with methods.",
            )
        return functions


class _FunctionToolbox:
    def __init__(self, source: FunctionToolSource, functions: dict[str, Function]) -> None:
        self.tools = source.tools
        self._source = source
        self._functions = functions

    async def call(self, call: Call) -> ToolResult:
        if rejection := reject_call(call, self._source.signatures):
            return rejection
        function = self._functions.get(call.name)
        if function is None:
            raise ModelError(f"{self._source.label} created no {call.name} for this conversation")
        try:
            arguments = deepcopy(call.arguments)  # a function may modify them, and the call is recorded
            bound = self._source.signatures[call.name].bind(function, arguments)
        except BadInput as problem:
            return ToolResult(f"{problem}{'' if str(problem).endswith('?') else '.'}", is_error=True)
        value, error = await self._source.run(bound, call.name)
        if error is not None:
            return make_result(_error_text(error), is_error=True)
        if isinstance(value, ToolResult):
            return make_result(value.text, is_error=value.is_error)
        return make_result("" if value is None else value if isinstance(value, str) else dump(value))

    async def state(self) -> State | None:
        function = self._functions.get(_STATE)
        if function is None:
            return None
        value, error = await self._source.run(function, _STATE)
        if error is not None:
            raise ModelError(f"{_STATE} of {self._source.label} raised {describe_error(error)}")
        return None if value is None else StateReader(self._source.label).read(dump(value))


def _functions(tools_object: Any) -> Iterator[tuple[str, Function]]:
    """Yield the public functions of a module, the public methods of an object, or the items of a list or dict of functions."""
    if isinstance(tools_object, ModuleType):
        listed = getattr(tools_object, "__all__", None)
        for name, value in vars(tools_object).items():
            is_own = not name.startswith("_") and getattr(value, "__module__", "") == tools_object.__name__
            own = name in listed if listed is not None else is_own
            if own and inspect.isroutine(value):
                yield name, value
    elif isinstance(tools_object, dict | list | tuple):
        for name, value in (
            tools_object.items() if isinstance(tools_object, dict) else ((getattr(each, "__name__", ""), each) for each in tools_object)
        ):
            if not callable(value) or not isinstance(name, str) or not name:
                raise BadInput(f"tools: expected functions with a name, got {type_name(value)}")
            yield name, value
    else:
        yield from _methods(tools_object)


def _methods(tools_object: Any) -> Iterator[tuple[str, Function]]:
    """Yield public methods in definition order, a class's own before inherited ones."""
    names = dict.fromkeys(name for kind in type(tools_object).__mro__[:-1] for name in vars(kind) if not name.startswith("_"))
    for name in names:
        static = inspect.getattr_static(tools_object, name)  # does not evaluate properties
        if inspect.isroutine(static) or isinstance(static, staticmethod | classmethod):
            yield name, getattr(tools_object, name)


def _factory(module: ModuleType, module_name: str, name: str) -> Callable[[], Any]:
    """Return a function that returns the tools for a name; for a class or `name()`, new ones each time."""
    path = name.removesuffix("()")
    found: Any = module
    for step in path.split("."):
        try:
            found = getattr(found, step)
        except Exception:
            raise BadInput(f"module {module_name} has no attribute {path!r}{did_you_mean(step, dir(found))}") from None
    if isinstance(found, type) or (name != path and callable(found)):
        factory: Callable[[], Any] = found
        return factory
    if not callable(found) or name != path:
        raise BadInput(f"{module_name}:{name}: expected a function or a class, got {type_name(found)}")
    return lambda: {path.rpartition(".")[2]: found}


def _error_text(error: BaseException) -> str:
    """Return the error result for an exception, without a traceback."""
    try:
        text = str(error)
    except Exception:  # its `__str__` fails
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _open(text: str, settings: ToolboxSettings) -> FunctionToolSource:
    return FunctionToolSource(text, timeout=settings.timeout)


TOOLBOX = ToolboxProvider(
    "python",
    _open,
    "python:my_tools",
    "functions of a Python module, or methods of a class",
    actions=lambda text, keys: (import_action(text),),
)
