"""Faults: why it was wrong (docs/metrics.md, section 9). By `exact` and the matchers; there is one exactly when `call.score` is below 1.

One for a call that is wrong as a whole, else one for each argument. A malformed call uses up one unpaired expected call, of the same name
if there is one, else the first. After that, what is unpaired on both sides is an unknown or a wrong tool, one against one in order; the
rest is missing or extra. Notes touch no score.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

from callmark.calls.matchers import is_matcher, recorded
from callmark.calls.pairing import MOST_COMPARED, Pair, by_similar
from callmark.calls.provenance import DERIVED, needing_source, plainly_stand
from callmark.calls.schema import properties, required, types_fit
from callmark.calls.strict import dump
from callmark.calls.values import exact
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.grading.evaluators.schema import SchemaEvaluator
from callmark.types import Call, Fault, FaultKind, Note

_COUNTED = {  # the evaluators that count a fault, by whether `schema` and `process` do
    (True, True): ("call", "schema", "process"),
    (True, False): ("call", "schema"),
    (False, True): ("call", "process"),
    (False, False): ("call",),
}
CameFrom = tuple[Literal["hallucinated", "elsewhere"] | None, int | None]  # and the message it was taken from
_UNKNOWN: CameFrom = (None, None)
_SCHEMA, _PROCESS = SchemaEvaluator(), ProcessEvaluator()


def faults(attempt: Attempt, *, process: ProcessEvaluator | None = None) -> list[Fault]:
    """Every fault, those of calls first, then those of arguments."""
    pairing = attempt.pairing
    if pairing.perfect:
        return []
    runs = all(_SCHEMA.holds(attempt))  # then the evaluator `schema` counts none of them
    found = list(_calls(attempt, process or _PROCESS, runs)) if pairing.unpaired_expected or pairing.unpaired_actual else []
    for one in pairing.pairs:
        if not one.agrees:
            found += _arguments(attempt, one, process or _PROCESS, runs)
    return found


def notes(attempt: Attempt) -> list[Note]:
    """What is worth knowing about calls that may well be right: their order, hallucinated values, values that the schema does not allow."""
    found: list[Note] = []
    pairs = attempt.pairing.pairs
    if len(pairs) > 1 and any(after.actual < before.actual for before, after in pairwise(pairs)):
        found.append(Note("wrong_order", "the calls were made in another order than expected"))
    for one in pairs:
        call = attempt.actual[one.actual]
        before = attempt.messages[: attempt.stands(one.actual)] if one.agrees else ()
        if before and call.name not in DERIVED and not plainly_stand(call.arguments, before):
            found += hallucinated_values(attempt, one.actual)
    for index, call in enumerate(attempt.actual):
        for path, problem in attempt.schemas.violations(call):
            found.append(Note("schema_violation", problem, index, path or None))
    if not attempt.tools and attempt.expected and attempt.actual:
        found.append(Note("no_schema", "no tool is known: parameters were compared with the expected ones instead of with a schema"))
    return found


def hallucinated_values(attempt: Attempt, index: int) -> Iterator[Note]:
    """A note for each value of a call that is right, but stands nowhere in the conversation."""
    call = attempt.actual[index]
    for path, value in needing_source(call, attempt.parameters(call.name)):
        if attempt.source_of(value, index) is None:
            yield Note("hallucinated_value", f"{path} = {dump(value)} is right, but stands nowhere in the conversation", index, path)


def _calls(attempt: Attempt, process: ProcessEvaluator, runs: bool) -> Iterator[Fault]:
    wanted = list(attempt.pairing.unpaired_expected)
    made = list(attempt.pairing.unpaired_actual)

    def fault(kind: FaultKind, one: int | None, other: int | None, *, in_schema: bool = True) -> Fault:
        expected = attempt.expected[one] if one is not None else None
        actual = attempt.actual[other] if other is not None else None
        named = [call.name for call in (expected, actual) if call is not None]
        same_but_case = len(named) == 2 and named[0].casefold() == named[1].casefold() and kind != "malformed_call"
        in_process = not same_but_case and not all([process.ignores(name) for name in named])  # noqa: C419 - faster
        return Fault(kind, one, other, None, _shown(expected), _shown(actual), _COUNTED[in_schema and not runs, in_process])

    broken = [index for index in made if attempt.actual[index].malformed]
    made = [index for index in made if not attempt.actual[index].malformed]
    for other in broken:
        name = attempt.actual[other].name
        one = next((index for index in wanted if attempt.expected[index].name == name), wanted[0] if wanted else None)
        if one is not None:
            wanted.remove(one)
        yield fault("malformed_call", one, other)
    for one, other in zip(wanted, made, strict=False):
        unknown = bool(attempt.tools) and attempt.actual[other].name not in attempt.schemas.by_name
        yield fault("unknown_tool" if unknown else "wrong_tool", one, other)
    both = min(len(wanted), len(made))
    for one in wanted[both:]:
        yield fault("missing_call" if attempt.actual else "no_call", one, None)
    said = _Said([attempt.actual[one.actual] for one in attempt.pairing.pairs], len(made) - both)
    for other in made[both:]:
        if not attempt.expected:
            yield fault("unexpected_call", None, other)
        else:
            first = other == 0 and len(attempt.expected) == 1  # the call that the evaluator schema looks at
            kind: FaultKind = "repeated_call" if said.before(attempt.actual[other]) else "extra_call"
            yield fault(kind, None, other, in_schema=first)


def _arguments(attempt: Attempt, one: Pair, process: ProcessEvaluator, runs: bool) -> Iterator[Fault]:
    expected, made = attempt.expected[one.expected], attempt.actual[one.actual]
    ignored = process.ignores(made.name)
    schema = attempt.parameters(made.name)
    known = properties(schema)
    similar = attempt.one_by_similar or by_similar(one.arguments, expected.arguments, made.arguments)

    def fault(kind: FaultKind, key: str, origin: CameFrom = _UNKNOWN, *, in_schema: bool, in_process: bool = True) -> Fault:
        counted = _COUNTED[(in_schema or not attempt.tools) and not runs, in_process and not ignored]
        wanted, value = recorded(expected.arguments.get(key)), made.arguments.get(key)
        return Fault(kind, one.expected, one.actual, key, wanted, value, counted, *origin)

    for key in one.arguments.missing:
        yield fault("missing_argument", key, in_schema=key in required(schema))
    for key in one.arguments.extra:
        misfits = key in known and not types_fit(made.arguments[key], known[key], schema)
        yield fault("unknown_argument" if known and key not in known else "extra_argument", key, in_schema=misfits)
    for key in one.arguments.differ:
        wanted, value = expected.arguments[key], made.arguments[key]
        misfits = key in known and not types_fit(value, known[key], schema)
        plain = recorded(wanted)
        other_type = key not in known and not is_matcher(plain) and _json_type(plain) != _json_type(value)
        kind: FaultKind = "wrong_type" if misfits or other_type else "wrong_value"
        origin = _origin(Call(made.name, {key: value}), attempt, one.actual)
        yield fault(kind, key, origin, in_schema=misfits, in_process=key in similar.differ)


def _origin(call: Call, attempt: Attempt, actual: int) -> CameFrom:
    """Where what is in a call came from, if anything in it needs a source and there is a conversation to look in."""
    if not attempt.messages or call.name in DERIVED:
        return _UNKNOWN
    found = [attempt.source_of(value, actual) for _, value in needing_source(call, attempt.parameters(call.name))]
    if not found:
        return _UNKNOWN
    return ("hallucinated", None) if None in found else ("elsewhere", found[0])


class _Said:
    """What the paired calls said, to find what was said again; of lists too long to compare all with all, literally."""

    def __init__(self, calls: Sequence[Call], extras: int) -> None:
        self._by_name: dict[str, list[Call]] = {}
        for call in calls:
            self._by_name.setdefault(call.name, []).append(call)
        self._texts = {_literally(call) for call in calls} if len(calls) * extras > MOST_COMPARED else None

    def before(self, call: Call) -> bool:
        if self._texts is not None:
            return _literally(call) in self._texts
        return any(exact(call.arguments, other.arguments) for other in self._by_name.get(call.name, ()))


def _literally(call: Call) -> str:
    return f"{call.name}{dump(dict(sorted(call.arguments.items())))}"


def _shown(call: Call | None) -> str | None:
    return None if call is None else str(call if call.malformed else Call(call.name, recorded(call.arguments)))


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case list() | tuple():
            return "array"
        case _:
            return type(value).__name__
