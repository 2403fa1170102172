"""The grade of one attempt: metrics by evaluator, the pairing, faults and notes.

Where a case has alternatives, further lists of correct calls, the one with the best `call.score` counts, ties to the first.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from callmark.calls.expected import read_expected_calls
from callmark.calls.messages import read_messages
from callmark.calls.pairing import Pair
from callmark.calls.provenance import SourceIndex
from callmark.calls.schema import Schemas
from callmark.calls.strict import dump
from callmark.calls.toolsets import read_tools
from callmark.errors import EvaluatorError
from callmark.grading.actual_calls import read_actual
from callmark.grading.attempt import Attempt
from callmark.grading.evaluate import CombinedResult
from callmark.grading.evaluator import Evaluator
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.faults import find_faults, find_notes
from callmark.grading.settings import DEFAULT_EVALUATORS, resolve_evaluators
from callmark.types import Call, Case, Fault, Message, Metrics, Note, Prediction, Tool


class Grade:
    """`metrics` and `reasons` are by full name: `"call.score"`, `"process.recall"`, … Faults and notes are computed when they are read.

    `alternative` says which list of expected calls counted: 0 for the expected one, 1 for the first alternative.
    """

    __slots__ = ("_attempt", "_evaluators", "alternative", "result")

    def __init__(self, attempt: Attempt, evaluators: Sequence[Evaluator], result: CombinedResult, alternative: int = 0) -> None:
        self._attempt = attempt
        self._evaluators = evaluators
        self.result = result
        self.alternative = alternative

    @property
    def metrics(self) -> Metrics:
        """The value of each metric that is applicable, by full name."""
        return dict(self.result.metrics)  # the result may be shared

    @property
    def reasons(self) -> dict[str, str]:
        """Why a metric has its value, by full name, where its evaluator says so."""
        return self.result.reasons

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of expected and actual calls, by `exact`."""
        return self._attempt.pair().pairs

    @property
    def has_faults(self) -> bool:
        """Whether there is a fault, without computing the faults."""
        return not self._attempt.pair().perfect

    @property
    def built_sources(self) -> SourceIndex | None:
        """The index of values in the conversation, if it was built."""
        return self._attempt.built_sources

    @property
    def faults(self) -> list[Fault]:
        """Why the attempt is wrong; empty for one that is correct."""
        return find_faults(self._attempt, self._evaluators)

    @property
    def notes(self) -> list[Note]:
        """What is worth knowing and changes no score: notes on the calls, then those of the evaluators."""
        return [*find_notes(self._attempt), *self.result.notes]

    def __repr__(self) -> str:
        numbers = "  ".join(f"{name} {value:.3g}" for name, value in self.metrics.items())
        other = f"  by alternative {self.alternative}" if self.alternative else ""
        return "\n".join([f"Grade({numbers}){other}", *(f"  {fault_sentence(fault)}" for fault in self.faults)])


def grade(
    expected: Any,
    actual: Any,
    *,
    tools: Any = None,
    messages: Sequence[Message] | Sequence[dict[str, Any]] | None = None,
    evaluators: Iterable[Any] = DEFAULT_EVALUATORS,
    alternatives: Sequence[Any] = (),
) -> Grade:
    """Grade the actual calls against those expected, one item at a time.

    `expected` and `tools` are lists in any shape; `actual` is a list of calls, an assistant's message, a response body or a text with
    calls in it. `alternatives` are further lists of correct calls. No expected and no actual calls are correct. An evaluator is a name
    or anything that can be one.

    `BadInput` is raised for what cannot be understood, `EvaluatorError` for an evaluator that fails. A malformed call of the model never
    raises.
    """
    known = tuple(tools) if isinstance(tools, list | tuple) and all(isinstance(tool, Tool) for tool in tools) else read_tools(tools)
    attempt, alternative = best_attempt(
        [read_expected_calls(expected), *map(read_expected_calls, alternatives)],
        read_actual(actual, known),
        tools=known,
        messages=_read_messages(messages),
    )
    resolved = resolve_evaluators(evaluators)
    result = resolved.evaluate(attempt)
    for evaluator, error in result.errors.items():
        raise EvaluatorError(f"the evaluator {evaluator!r} failed: {error}")
    return Grade(attempt, resolved.evaluators, result, alternative)


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
) -> tuple[Attempt, int]:
    """Return the attempt against the list of expected calls with the best `call.score`, ties to the first; and its index."""
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
        )
        for calls in expected
    ]
    if len(attempts) == 1:
        return attempts[0], 0
    scores = [CallEvaluator.score(attempt) for attempt in attempts]
    best = scores.index(max(scores))
    return attempts[best], best


def _read_messages(messages: Sequence[Message] | Sequence[dict[str, Any]] | None) -> tuple[Message, ...]:
    if not messages:
        return ()
    if all(isinstance(message, Message) for message in messages):
        return cast("tuple[Message, ...]", tuple(messages))
    return read_messages(dump(list(messages)).encode())


def fault_sentence(fault: Fault) -> str:
    """Return a fault as a sentence."""
    whole_call = fault.argument is None
    expected, actual = (str(value) if whole_call else dump(value) for value in (fault.expected, fault.actual))
    where = f"{fault.argument}: " if fault.argument else ""
    problem = {
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
        "hallucinated": "; it stands nowhere in the conversation",
        "elsewhere": f"; it was taken from message {fault.origin_message}",
    }[fault.origin]
    return f"{fault.kind.replace('_', ' ')}: {where}{problem}{origin}"
