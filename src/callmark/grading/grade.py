"""A grade: numbers by suite, the pairing, the faults, the notes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from callmark.calls.expected import read_all_expected
from callmark.calls.messages import read_messages
from callmark.calls.pairing import Pair
from callmark.calls.shapes import read_calls
from callmark.calls.strict import dump
from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.call import CallSuite
from callmark.grading.faults import faults, notes
from callmark.grading.process import ProcessSuite
from callmark.grading.schema import SchemaSuite
from callmark.types import Fault, Message, Note, Tool
from callmark.wording import nearest


class Suite(Protocol):
    """What a suite is: a name, the names of its metrics, and a pure function from an attempt to their numbers."""

    @property
    def name(self) -> str: ...

    @property
    def metrics(self) -> tuple[str, ...]: ...

    def __call__(self, attempt: Attempt) -> Mapping[str, float]: ...


SUITES: dict[str, type[CallSuite] | type[SchemaSuite] | type[ProcessSuite]] = {
    "call": CallSuite,
    "schema": SchemaSuite,
    "process": ProcessSuite,
}


class Grade:
    """`metrics` is flat: `"call.score"`, `"process.recall"`, … Faults and notes are worked out when they are asked for."""

    def __init__(self, attempt: Attempt, suites: Sequence[Suite]) -> None:
        self._attempt = attempt
        self._process = next((suite for suite in suites if isinstance(suite, ProcessSuite)), None)
        self.metrics: dict[str, float] = {f"{suite.name}.{key}": value for suite in suites for key, value in suite(attempt).items()}

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return self._attempt.pairing.pairs

    @property
    def faults(self) -> list[Fault]:
        return faults(self._attempt, process=self._process)

    @property
    def notes(self) -> list[Note]:
        return notes(self._attempt)

    def __repr__(self) -> str:
        numbers = "  ".join(f"{name} {value:.3g}" for name, value in self.metrics.items())
        return "\n".join([f"Grade({numbers})", *(f"  {sentence(fault)}" for fault in self.faults)])


def grade(
    expected: Any,
    actual: Any,
    *,
    tools: Any = None,
    messages: Sequence[Message] | Sequence[dict[str, Any]] | None = None,
    suites: Iterable[str | Suite] = ("call", "schema", "process"),
) -> Grade:
    """Grade the calls that were made against those expected. Both lists hold calls in any shape; tools likewise.

    Expected values may be matchers; one that could not be used raises `BadInput`. Empty lists are fine: nothing expected and nothing made
    is right. Nothing that a model made raises.
    """
    given = tuple(tools) if isinstance(tools, list | tuple) and all(isinstance(tool, Tool) for tool in tools) else read_tools(tools)
    attempt = Attempt(read_all_expected(expected), read_calls(actual), tools=given, messages=_messages(messages))
    return Grade(attempt, [suite_called(suite) if isinstance(suite, str) else suite for suite in suites])


def _messages(given: Sequence[Message] | Sequence[dict[str, Any]] | None) -> tuple[Message, ...]:
    if not given:
        return ()
    if all(isinstance(message, Message) for message in given):
        return cast("tuple[Message, ...]", tuple(given))
    return read_messages(dump(list(given)).encode())


def suite_called(name: str) -> Suite:
    """The suite of that name as it comes; an unknown name raises `BadInput` with the nearest."""
    if name not in SUITES:
        raise BadInput(f"there is no suite called {name!r}{nearest(name, SUITES)}", f"The suites are {', '.join(SUITES)}.")
    return SUITES[name]()


def sentence(fault: Fault) -> str:
    """A fault in words."""
    whole_call = fault.argument is None
    expected, actual = (str(value) if whole_call else dump(value) for value in (fault.expected, fault.actual))
    where = f"{fault.argument}: " if fault.argument else ""
    said = {
        "malformed_call": f"{actual} cannot be read" + (f", {expected} was expected" if fault.expected else ""),
        "unknown_tool": f"{actual} is no tool, {expected} was expected",
        "wrong_tool": f"{actual} was called, {expected} was expected",
        "missing_call": f"{expected} was not called",
        "no_call": f"nothing was called, {expected} was expected",
        "extra_call": f"{actual} was not expected",
        "repeated_call": f"{actual} was called again",
        "unexpected_call": f"{actual} was called, no call was expected",
        "missing_argument": f"{expected} was expected, it was not given",
        "extra_argument": f"{actual} was given, it was not expected",
        "unknown_argument": f"{actual} was given, there is no such parameter",
        "wrong_type": f"{actual} is of another type, {expected} was expected",
        "wrong_value": f"{actual}, {expected} was expected",
    }[fault.kind]
    origin = {
        None: "",
        "invented": "; it stands nowhere in the conversation",
        "elsewhere": f"; it was taken from message {fault.origin_message}",
    }[fault.origin]
    return f"{fault.kind.replace('_', ' ')}: {where}{said}{origin}"
