"""The record of a grade: a line of `grades.jsonl`, which summaries, comparisons and tables are made from."""

import msgspec
from msgspec import Struct, to_builtins

from callmark.calls.strict import dump
from callmark.types import Fault, Metrics, Note, Usage


class GradeRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """A prediction's grade, or, with an `error`, why it has none.

    `expected` and `actual` are the names of the calls; `pairs` are indexes into both and whether all arguments agree. `conversation` and
    `message` are what the case was cut from, `prompt_characters` the length of its prompt. `reasons` are by full metric name, as are the
    numerators and denominators in `pooled`; `categories` and `evaluator_errors` are by evaluator. Of a whole conversation: why it ended,
    how many turns the user had, and how many calls have no recorded result (`misses`).
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


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(GradeRecord).decode


def write_grade(grade: GradeRecord) -> bytes:
    """Return the grade as a line of JSON, without its end."""
    try:
        return _encode(grade)
    except (OverflowError, ValueError, RecursionError):  # a value in a fault that only Python's own JSON writes
        return dump(to_builtins(grade)).encode()


def read_grade(line: bytes) -> GradeRecord:
    """Return the grade of such a line; anything else raises msgspec's errors."""
    return _decode(line)
