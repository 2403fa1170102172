"""The record of a grade: a line of `grades.jsonl`, the basis of summaries, comparisons and tables."""

import msgspec
from msgspec import Struct, to_builtins

from callmark.calls.strict import dump
from callmark.types import Fault, Metrics, Note, Usage


class GradeRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """The grade of a prediction, or the error that excludes it from scores.

    Attributes:
        case: Id of the case.
        trial: Number of the trial, starting at 0.
        error: Why there is no grade; empty for a graded prediction.
        metrics: Values of the applicable metrics, by full name.
        expected: Names of the expected calls.
        actual: Names of the actual calls.
        pairs: Indexes of the paired calls in `expected` and `actual`, and whether all arguments agree.
        faults: Why the prediction is wrong.
        notes: Notes on the prediction; they do not affect scores.
        alternative: Which expected calls counted: 0 for the expected calls, 1 for the first alternative.
        conversation: Id of the conversation that the case was cut from.
        message: Index of the message that the case was cut at.
        scenario_type: Type of the scenario.
        group: Group of the case.
        usage: Tokens, cost and latency.
        prompt_characters: Length of the prompt.
        ending: Why a simulated conversation ended.
        turns: Number of user turns in a simulated conversation.
        misses: Number of calls without a recorded result.
        reasons: Explanations of metrics, by full name.
        pooled: Numerator and denominator of pooled metrics, by full name.
        categories: Expected and actual category, by evaluator.
        evaluator_errors: Error messages, by evaluator.
        file: Name of the file of a scenario from a folder.
    """

    case: str
    trial: int = 0
    error: str = ""
    metrics: Metrics = {}
    expected: tuple[str, ...] = ()
    actual: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int, bool], ...] = ()
    faults: tuple[Fault, ...] = ()
    notes: tuple[Note, ...] = ()
    alternative: int = 0
    conversation: str | None = None
    message: int | None = None
    scenario_type: str = ""
    group: str | None = None
    usage: Usage | None = None
    prompt_characters: int | None = None
    ending: str = ""
    turns: int | None = None
    misses: int = 0
    reasons: dict[str, str] = {}
    pooled: dict[str, tuple[float, float]] = {}
    categories: dict[str, tuple[str, str]] = {}
    evaluator_errors: dict[str, str] = {}
    file: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(GradeRecord).decode


def write_grade(grade: GradeRecord) -> bytes:
    """Return the grade as a line of JSON, without the line break."""
    try:
        return _encode(grade)
    except (OverflowError, ValueError, RecursionError):  # a value in a fault that only Python's JSON encoder writes
        return dump(to_builtins(grade)).encode()


def read_grade(line: bytes) -> GradeRecord:
    """Parse a line of `grades.jsonl`. Invalid lines raise msgspec's errors."""
    return _decode(line)
