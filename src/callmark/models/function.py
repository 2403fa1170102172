"""A Python function as a model: `python:module:function`, for the user's own agent.

It is called with the messages and the tools as lists of objects in OpenAI's format, which it may modify, and with `trial` and `case_id` if
it has parameters of these names. It may be a function (sync or async), a `functools.partial`, an object with `__call__`, or a class, which
is instantiated. It may return a message, a chat completion, an SDK object for either, calls in any shape, text that may contain calls, or
None: no text and no call. It may raise `ModelError` or `ModelFailure`; exceptions whose names are in the setting `failures` count as the
latter. Any other exception or return value, and a timeout, are errors.

It cannot block other predictions: a sync function runs in a daemon thread, an async function in an event loop of its own. While the model
is open, standard output is redirected to standard error.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import redirect_stdout
from types import TracebackType
from typing import Any, Self

from msgspec import structs

from callmark.calls.messages import message_texts
from callmark.calls.strict import scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.json_fields import read_value
from callmark.models.agent_output import convert_output, type_name
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelError, ModelFailure, ModelSettings
from callmark.models.module_files import list_functions
from callmark.models.provider import Provider, Spec
from callmark.models.user_code import UserCode, describe_error, import_attribute, is_named
from callmark.trust import Action, import_action
from callmark.types import Case, Prediction

_OPTIONAL_PARAMETERS = ("trial", "case_id")
_CAPABILITIES = Capabilities(10, reports_calls=True)


class FunctionModel:
    """A function as a model. Raises `BadInput` if it cannot be imported or does not take two arguments."""

    capabilities = _CAPABILITIES

    def __init__(self, spec: str, *, timeout: float, failures: Collection[str] = ()) -> None:
        if not timeout > 0:
            raise BadInput(f"{spec}: timeout: expected more than 0 seconds, got {timeout:g}")
        self.label = spec.replace(":", ".")
        self._spec = spec
        self._function = _as_callable(_import_function(spec), spec)
        self._optional = _optional_parameters(self._function, spec)
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            getattr(self._function, "__call__", None)  # noqa: B004 - is __call__ a coroutine function?
        )
        self._code = UserCode(spec, timeout=timeout)
        self._failures = frozenset(failures)

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: the function may change, so predictions cannot be cached."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Call the function and convert its return value to a prediction."""
        optional = {name: value for name, value in (("trial", trial), ("case_id", case.id)) if name in self._optional}
        function = functools.partial(self._function, *_as_objects(case), **optional)
        value, error = await self._code.run(function, is_async=self._is_async)
        if isinstance(error, ModelError | ModelFailure):
            raise error
        if error is not None and is_named(error, self._failures):
            raise ModelFailure(describe_error(error))
        if error is not None:
            raise ModelError(f"{self._spec} raised {describe_error(error)}")
        return structs.replace(self._convert(value, case), case=case.id, trial=trial)

    async def __aenter__(self) -> Self:
        self._code.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._code.close()

    def _convert(self, value: Any, case: Case) -> Prediction:
        try:
            return convert_output(value, tools=case.tools)
        except BadInput as error:
            raise ModelError(f"{self._spec} did not return a prediction: {error}") from None
        except ModelError:
            raise
        except Exception as error:  # raised by an SDK object during conversion
            raise ModelError(f"{self._spec} returned {type_name(value)} that cannot be converted: {describe_error(error)}") from None


class FunctionProvider(Provider, frozen=True, kw_only=True):
    """A Python function, given by module and name."""

    def read(self, text: str, keys: Keys) -> Spec:
        module, _, function = self.name_in(text).partition(":")
        if not module.strip() or not function.strip():
            shown = scrub(keys.hide(text))
            raise BadInput(f"expected python:MODULE:FUNCTION, as in {self.example}, got {shown}", list_functions(module.strip()))
        return super().read(text, keys)

    def actions(self, spec: Spec, settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        return (import_action(spec.name),)

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return FunctionModel(spec.name, timeout=settings.timeout, failures=settings.failures)


PROVIDER = FunctionProvider(name="python", example="python:my_agent:predict", capabilities=_CAPABILITIES)


def _as_objects(case: Case) -> tuple[Any, Any]:
    return read_value(b"[" + b",".join(message_texts(case)) + b"]"), read_value(tools_text(case))


def _as_callable(found: Any, spec: str) -> Callable[..., Any]:
    if isinstance(found, type):
        try:
            with redirect_stdout(sys.stderr):
                found = found()
        except (Exception, SystemExit) as error:
            raise BadInput(f"{spec}: cannot create an instance: {describe_error(error)}") from None
    if not callable(found):
        raise BadInput(f"{spec}: expected a function of messages and tools, got {type_name(found)}")
    function: Callable[..., Any] = found
    return function


def _optional_parameters(function: Callable[..., Any], spec: str) -> frozenset[str]:
    """Return which of `trial` and `case_id` the function takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in without a signature
        return frozenset()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [(at, name) for at, (name, parameter) in enumerate(signature.parameters.items()) if parameter.kind in kinds]
    optional = frozenset(
        name for at, name in named if name in _OPTIONAL_PARAMETERS and (at > 1 or signature.parameters[name].kind is kinds[1])
    )
    try:
        signature.bind([], [], **dict.fromkeys(optional))
    except TypeError as error:
        raise BadInput(
            f"{spec} cannot be called with (messages, tools): {error}", f"Its signature is {spec.partition(':')[2]}{signature}."
        ) from None
    return optional


def _import_function(spec: str) -> Any:
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        raise BadInput(f"expected MODULE:FUNCTION, got {spec!r}", f"For example: {PROVIDER.example}")
    return import_attribute(module, attribute, spec)
