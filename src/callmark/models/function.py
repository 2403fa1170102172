"""A Python function as a model: `python:module:function`, the user's own agent.

It is called with the messages and the tools as lists of objects in OpenAI's form, its own to change, and with `trial` and `case_id` if it
has parameters of these names. It may be a function, sync or async, a `functools.partial`, an object with `__call__`, or a class that makes
one. What it gives back may be a message, a chat completion or another SDK's object for one, calls in any shape, a text in which calls may
stand, or None: nothing said, nothing called. Anything else, an exception and a time-out are no reply.

Nothing that it does can stop the others: a sync function runs in a daemon thread of its own, an async one in an event loop of its own.
While the model is entered, what is printed to standard output goes to standard error.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from types import TracebackType
from typing import Any, Self

from callmark.calls.messages import message_texts
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.responses import read_value
from callmark.models.model import ModelError, Question, Reply
from callmark.models.replies import kind_of, reply_of
from callmark.models.user_code import UserCode, described, imported_module
from callmark.types import Case
from callmark.wording import nearest

_TOLD = ("trial", "case_id")


class FunctionModel:
    """Raises `BadInput` for a module that does not import, an attribute that is not there and what cannot be called with two arguments."""

    concurrency = 10

    def __init__(self, spec: str, *, timeout: float) -> None:
        if not timeout > 0:
            raise BadInput(f"the time-out of {spec} is {timeout:g} seconds, more than 0 was expected")
        self.label = spec.replace(":", ".")
        self._spec = spec
        self._function = _callable(_imported(spec), spec)
        self._told = _parameters(self._function, spec)
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            getattr(self._function, "__call__", None)  # noqa: B004 - whether calling it gives a coroutine
        )
        self._code = UserCode(spec, timeout=timeout)

    def fingerprint(self, question: Question) -> bytes | None:
        """None: nobody knows what the function does."""
        return None

    async def ask(self, question: Question) -> Reply:
        """What it gives back, read."""
        case = question.case
        told = {name: value for name, value in (("trial", question.trial), ("case_id", case.id)) if name in self._told}
        value, error = await self._code.run(functools.partial(self._function, *_as_objects(case), **told), is_async=self._is_async)
        if error is not None:
            raise ModelError(f"{self._spec} raised {described(error)}")
        return self._reply(value, case)

    async def __aenter__(self) -> Self:
        self._code.enter()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._code.leave()

    def _reply(self, value: Any, case: Case) -> Reply:
        try:
            return reply_of(value, names=[tool.name for tool in case.tools])
        except BadInput as error:
            raise ModelError(f"{self._spec} returned no answer: {error}") from None
        except ModelError:
            raise
        except Exception as error:  # an object of theirs that cannot be taken apart
            raise ModelError(f"{self._spec} returned {kind_of(value)} that cannot be read: {described(error)}") from None


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
    found: Any = imported_module(module, spec)
    for step in attribute.split("."):
        try:
            found = getattr(found, step)
        except Exception:
            raise BadInput(f"the module {module} has no {attribute!r}{nearest(step, dir(found))}") from None
    return found
