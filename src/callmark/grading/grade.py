"""The grade of one attempt: metrics by evaluator, the pairing, faults and notes.

If a case has alternatives (further lists of correct calls), the one with the best `call.score` counts, ties to the first.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast, get_args

import msgspec

from callmark.calls.dependencies import read_dependencies, recorded_dependencies
from callmark.calls.display import show_expected
from callmark.calls.expected import literal_call, read_expected_calls
from callmark.calls.match_budget import MatchBudget
from callmark.calls.messages import read_messages
from callmark.calls.pairing import Pair
from callmark.calls.schema import Schemas
from callmark.calls.source_index import SourceIndex
from callmark.calls.strict import dump
from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput, EvaluatorError
from callmark.formats.surrogates import escape_surrogates
from callmark.grading.actual_calls import read_actual
from callmark.grading.attempt import Attempt
from callmark.grading.evaluate import CombinedResult
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.faults import FaultCounting, find_faults, find_notes
from callmark.grading.settings import DEFAULT_EVALUATORS, resolve_evaluators
from callmark.types import Call, Case, Conversation, Edges, Fault, FaultKind, Message, Metrics, Note, Prediction, Tool

_KIND_WIDTH = max(map(len, get_args(FaultKind)))


class Grade:
    """The grade of one attempt. Faults and notes are computed when they are read.

    Attributes:
        result: The results of all evaluators.
        alternative: Which expected calls counted: 0 for the expected calls, 1 for the first alternative.
    """

    __slots__ = ("_attempt", "_counting", "alternative", "result")

    def __init__(self, attempt: Attempt, counting: FaultCounting, result: CombinedResult, alternative: int = 0) -> None:
        self._attempt = attempt
        self._counting = counting
        self.result = result
        self.alternative = alternative

    @property
    def attempt(self) -> Attempt:
        """The expected and actual calls that were graded, with their context."""
        return self._attempt

    @property
    def metrics(self) -> Metrics:
        """The value of each applicable metric, by full name: `"call.score"`, `"process.recall"`, …"""
        return dict(self.result.metrics)  # the result may be shared

    @property
    def reasons(self) -> dict[str, str]:
        """The explanations of metrics, by full name, if their evaluators return any."""
        return self.result.reasons

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of expected and actual calls, by `exact`; none if the calls could not be compared (an evaluator error)."""
        pairing = self._attempt.exact_pairing
        return () if pairing is None else pairing.pairs

    @property
    def built_sources(self) -> SourceIndex | None:
        """The index of values in the conversation, if it was built."""
        return self._attempt.built_sources

    @property
    def faults(self) -> list[Fault]:
        """Why the attempt is wrong: the faults that one of its evaluators counts, after its ignore list.

        Empty for a correct attempt, and if the calls could not be compared (an evaluator error).
        """
        return find_faults(self._attempt, self._counting, self.result.metrics)

    @property
    def notes(self) -> list[Note]:
        """Notes that do not affect scores: those on the calls, then those of the evaluators."""
        order_is_fault = bool(self._counting.of_order(self.result.metrics))
        return [*find_notes(self._attempt, order_is_fault=order_is_fault), *self.result.notes]

    def __repr__(self) -> str:
        numbers = "  ".join(f"{name} {value:.3g}" for name, value in self.metrics.items())
        other = f"  (matched alternative {self.alternative})" if self.alternative else ""
        return "\n".join([f"Grade({numbers}){other}", *(f"  {_repr_fault(fault, self._attempt)}" for fault in self.faults)])


def grade(
    expected: Any,
    actual: Any,
    *,
    tools: Any = None,
    messages: Sequence[Message] | Sequence[dict[str, Any]] | None = None,
    evaluators: Iterable[Any] = DEFAULT_EVALUATORS,
    alternatives: Sequence[Any] = (),
) -> Grade:
    """Grade actual calls against expected calls.

    `expected` and `tools` are lists in any shape; `actual` is a list of calls, an assistant message, a response body or a text that
    contains calls. A recorded `Conversation` as `expected` means all of its calls, and for `trajectory` what they depend on. `alternatives`
    are further lists of correct calls. No expected and no actual calls is correct. An evaluator is a name or anything that can be one.

    Input that is not recognized raises `BadInput`, and an evaluator that fails raises `EvaluatorError`. A malformed call of the model never
    raises.
    """
    known = tuple(tools) if isinstance(tools, list | tuple) and all(isinstance(tool, Tool) for tool in tools) else read_tools(tools)
    calls, edges = _read_expected(expected)
    is_whole = isinstance(expected, Conversation) and not isinstance(expected, Case)
    made, before = read_actual(actual, known), _read_messages(messages)
    if alternatives:
        others = [_read_expected(other) for other in alternatives]
        lists, dependencies = [calls, *(other for other, _ in others)], [edges, *(other for _, other in others)]
        attempt, alternative = best_attempt(lists, made, tools=known, messages=before, dependencies=dependencies, is_whole=is_whole)
    else:
        attempt, alternative = Attempt(calls, made, tools=known, messages=before, dependencies=edges, is_whole=is_whole), 0
    resolved = resolve_evaluators(evaluators)
    result = resolved.evaluate(attempt)
    for evaluator, error in result.errors.items():
        raise EvaluatorError(f"evaluator {evaluator!r} failed: {error}")
    return Grade(attempt, resolved.fault_counting, result, alternative)


def best_attempt(
    expected: Sequence[tuple[Call, ...]],
    actual: Sequence[Call],
    *,
    tools: Sequence[Tool] = (),
    messages: Sequence[Message] = (),
    schemas: Schemas | None = None,
    earlier_sources: SourceIndex | None = None,
    case: Case | None = None,
    prediction: Prediction | None = None,
    dependencies: Sequence[Edges] = (),
    read_only: tuple[str, ...] = (),
    ungrounded: Sequence[str] = (),
    is_whole: bool = False,
) -> tuple[Attempt, int]:
    """Return the attempt for the list of expected calls with the best `call.score`, ties to the first, and the index of that list.

    `dependencies` are those of each list; empty if there are none.

    If one of the lists cannot be compared, because its matchers need too many checks, the best one is unknown: its attempt is returned, so
    that every evaluator that pairs the calls fails.
    """
    budget = MatchBudget() if len(expected) > 1 else None
    attempts = [
        Attempt(
            calls,
            actual,
            tools=tools,
            messages=messages,
            schemas=schemas,
            earlier_sources=earlier_sources,
            case=case,
            prediction=prediction,
            budget=budget,
            dependencies=dependencies[index] if dependencies else (),
            read_only=read_only,
            ungrounded=ungrounded,
            is_whole=is_whole,
        )
        for index, calls in enumerate(expected)
    ]
    if len(attempts) == 1:
        return attempts[0], 0
    for index, attempt in enumerate(attempts):
        if attempt.exact_pairing is None:
            return attempt, index
    scores = [CallEvaluator.score(attempt) for attempt in attempts]
    best = scores.index(max(scores))
    return attempts[best], best


def _read_expected(expected: Any) -> tuple[tuple[Call, ...], Edges]:
    """Return expected calls and their dependencies: those of a recorded conversation, or those that the calls state."""
    if expected.__class__ is list and len(expected) == 1 and not (isinstance(expected[0], dict) and "after" in expected[0]):
        return read_expected_calls(expected), ()
    if isinstance(expected, Conversation) and not isinstance(expected, Case):
        calls = tuple(map(literal_call, expected.calls))
        return calls, recorded_dependencies(expected.messages, expected.tools)
    calls = read_expected_calls(expected)
    return calls, read_dependencies(expected, calls, "expected") if isinstance(expected, list | tuple) else ()


def _read_messages(messages: Sequence[Message] | Sequence[dict[str, Any]] | None) -> tuple[Message, ...]:
    if not messages:
        return ()
    if all(isinstance(message, Message) for message in messages):
        return cast("tuple[Message, ...]", tuple(messages))
    try:
        return read_messages(escape_surrogates(dump(list(messages)).encode()))
    except msgspec.DecodeError:  # a value that is not JSON, or nested too deeply
        raise BadInput("messages: expected a list of messages as JSON values") from None


def fault_sentence(fault: Fault, tool: str = "") -> str:
    """Return what is wrong, as `priority: expected "High", got "Medium"`. The kind of the fault is not part of it.

    `tool` is the name of the called tool, if it is known; unknown arguments name it.
    """
    if fault.argument is None:
        return _call_fault_sentence(fault)
    expected, actual = show_expected(fault.expected), dump(fault.actual)
    match fault.kind:
        case "missing_argument":
            problem = f"expected {expected}, but it is missing"
        case "extra_argument":
            problem = f"not expected, got {actual}"
        case "unknown_argument":
            problem = f"not a parameter{f' of {tool}' if tool else ''}, got {actual}"
        case "wrong_type":
            problem = f"expected {expected}, got {actual} (wrong type)"
        case _:
            problem = f"expected {expected}, got {actual}{_origin_words(fault)}"
    return f"{fault.argument}: {problem}"


def _origin_words(fault: Fault) -> str:
    match fault.origin:
        case "format":
            return " (different format)"
        case "elsewhere":
            return f" (from message {fault.origin_message})"
        case "hallucinated":
            return " (hallucinated)"
        case None:
            return ""


def _call_fault_sentence(fault: Fault) -> str:
    match fault.kind:
        case "malformed_call":
            return f"malformed call {fault.actual}" + (f"; expected {fault.expected}" if fault.expected else "")
        case "unknown_tool":
            expected = f"expected {fault.expected}, " if fault.expected else ""  # in a whole conversation it is an extra call
            return f"{expected}got {fault.actual}, which is not one of the available tools"
        case "missing_call":
            return f"expected {fault.expected}, which was not called"
        case "no_call":
            return f"expected {fault.expected}, got no call"
        case "extra_call":
            return f"got {fault.actual}, which was not expected"
        case "repeated_call":
            return f"got {fault.actual} again"
        case "wrong_order":
            return f"expected the order {fault.expected}; got {fault.actual}"
        case "unexpected_call":
            return f"expected no call, got {fault.actual}"
        case _:
            return f"expected {fault.expected}, got {fault.actual}"


def _repr_fault(fault: Fault, attempt: Attempt) -> str:
    tool = attempt.actual[fault.actual_index].name if fault.actual_index is not None else ""
    return f"{fault.kind.replace('_', ' '):<{_KIND_WIDTH}}  {fault_sentence(fault, tool)}"
