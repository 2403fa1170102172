"""A grade: numbers by evaluator, the pairing, the faults, the notes.

Where a case has alternatives, further lists of calls that are right too, the one with the best `call.score` counts, ties to the first.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from callmark.calls.expected import read_all_expected
from callmark.calls.messages import read_messages
from callmark.calls.pairing import Pair
from callmark.calls.provenance import Sources
from callmark.calls.schema import Schemas
from callmark.calls.shapes import read_calls
from callmark.calls.strict import dump
from callmark.calls.toolsets import read_tools
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import NOTING, OWN, OWN_TYPES, Evaluator, checked, evaluator_named
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.grading.faults import faults, notes
from callmark.types import Call, Case, Fault, Message, Metrics, Note, Prediction, Tool


class Grade:
    """`metrics` is flat: `"call.score"`, `"process.recall"`, … Faults and notes are worked out when they are asked for.

    `alternative` says which of the right answers counted: 0 for the expected one, 1 for the first alternative.
    """

    __slots__ = ("_attempt", "_evaluators", "alternative", "metrics")

    def __init__(self, attempt: Attempt, evaluators: Sequence[Evaluator], alternative: int = 0, metrics: Metrics | None = None) -> None:
        self._attempt = attempt
        self._evaluators = evaluators
        self.alternative = alternative
        self.metrics: Metrics = measure(attempt, evaluators) if metrics is None else metrics

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return self._attempt.pairing.pairs

    @property
    def wrong(self) -> bool:
        """Whether there is a fault, told without working it out."""
        return not self._attempt.pairing.perfect

    @property
    def sources(self) -> Sources | None:
        """What was made of the talk to find where values came from; None where nothing was."""
        return self._attempt.sources_if_known

    @property
    def faults(self) -> list[Fault]:
        return faults(
            self._attempt, process=next((evaluator for evaluator in self._evaluators if isinstance(evaluator, ProcessEvaluator)), None)
        )

    @property
    def notes(self) -> list[Note]:
        own = [note for evaluator in self._evaluators if isinstance(evaluator, NOTING) for note in evaluator.notes(self._attempt)]
        return notes(self._attempt) + own

    def __repr__(self) -> str:
        numbers = "  ".join(f"{name} {value:.3g}" for name, value in self.metrics.items())
        other = f"  by alternative {self.alternative}" if self.alternative else ""
        return "\n".join([f"Grade({numbers}){other}", *(f"  {sentence(fault)}" for fault in self.faults)])


def measure(attempt: Attempt, evaluators: Sequence[Evaluator]) -> Metrics:
    """What the evaluators say of an attempt, under flat names."""
    metrics: Metrics = {}
    for evaluator in evaluators:
        numbers = evaluator(attempt) if type(evaluator) in OWN_TYPES else checked(evaluator, attempt)
        for key, value in numbers.items():
            metrics[f"{evaluator.name}.{key}"] = value
    return metrics


def grade(
    expected: Any,
    actual: Any,
    *,
    tools: Any = None,
    messages: Sequence[Message] | Sequence[dict[str, Any]] | None = None,
    evaluators: Iterable[str | Evaluator] = OWN,
    alternatives: Sequence[Any] = (),
) -> Grade:
    """Grade the calls that were made against those expected. Both lists hold calls in any shape; tools likewise.

    Expected values may be matchers; one that could not be used raises `BadInput`. Empty lists are fine: nothing expected and nothing made
    is right. `alternatives` are further lists that are right too. Nothing that a model made raises.
    """
    given = tuple(tools) if isinstance(tools, list | tuple) and all(isinstance(tool, Tool) for tool in tools) else read_tools(tools)
    attempt, which = best_attempt(
        [read_all_expected(expected), *map(read_all_expected, alternatives)], read_calls(actual), tools=given, messages=_messages(messages)
    )
    return Grade(attempt, [evaluator_named(evaluator) if isinstance(evaluator, str) else evaluator for evaluator in evaluators], which)


def best_attempt(
    right: Sequence[tuple[Call, ...]],
    actual: Sequence[Call],
    *,
    tools: Sequence[Tool] = (),
    messages: Sequence[Message] = (),
    schemas: Schemas | None = None,
    earlier: Sources | None = None,
    case: Case | None = None,
    prediction: Prediction | None = None,
) -> tuple[Attempt, int]:
    """The attempt against that list of calls which gives the best `call.score`, ties to the first; and which it was."""
    attempts = [
        Attempt(expected, actual, tools=tools, messages=messages, schemas=schemas, earlier=earlier, case=case, prediction=prediction)
        for expected in right
    ]
    if len(attempts) == 1:
        return attempts[0], 0
    scores = [CallEvaluator()(attempt)["score"] for attempt in attempts]
    which = scores.index(max(scores))
    return attempts[which], which


def _messages(given: Sequence[Message] | Sequence[dict[str, Any]] | None) -> tuple[Message, ...]:
    if not given:
        return ()
    if all(isinstance(message, Message) for message in given):
        return cast("tuple[Message, ...]", tuple(given))
    return read_messages(dump(list(given)).encode())


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
        "hallucinated": "; it stands nowhere in the conversation",
        "elsewhere": f"; it was taken from message {fault.origin_message}",
    }[fault.origin]
    return f"{fault.kind.replace('_', ' ')}: {where}{said}{origin}"
