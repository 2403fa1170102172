"""Faults: why an attempt is wrong (docs/reference/metrics.md, section 9).

Faults are found by `exact` and the matchers, after the ignore lists of the selected evaluators, and only those are returned that at least
one of them counts. If `call` is selected, there is one exactly when `call.score` is below 1. A call that is wrong as a whole has one
fault; otherwise each wrong argument has one. A malformed call uses up one unpaired expected call: one of the same name if there is one,
else the first. At a decision point, the remaining unpaired calls are matched in order as an unknown or a wrong tool, and the rest is
missing or extra. In a whole conversation nothing is called instead of something else: a malformed call uses up only a call of the same
name, and what remains is missing or extra. `wrong_order` is a fault if an evaluator that measures order
is selected, and a note otherwise. Notes do not affect scores.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from callmark.calls.display import show_expected_call
from callmark.calls.letters import differs_in_format
from callmark.calls.matchers import is_matcher, recorded_value
from callmark.calls.pairing import MAX_CALLS, MAX_COMPARED_PAIRS, Pair, compare_similar
from callmark.calls.provenance import fast_grounded
from callmark.calls.schema import properties, required, types_fit
from callmark.calls.strict import dump
from callmark.calls.values import exact
from callmark.errors import EvaluatorError
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Evaluator, fault_rule
from callmark.grading.ignored_functions import is_ignored
from callmark.types import Call, Fault, FaultKind, FaultOrigin, Note

Origin = tuple[FaultOrigin | None, int | None]  # and the message that the value comes from
PAIRING_LIMITED = f"more than {MAX_CALLS:,} calls to one tool: equal calls were paired first, the rest in order"
_MAX_KNOWN = 10_000  # models hallucinate any number of names
_NO_ORIGIN: Origin = (None, None)
_FORMAT: Origin = ("format", None)


class FaultCounting:
    """Which faults some evaluators count. It is the same for every attempt, so that it is determined only once."""

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        self._rules = [
            (evaluator.name, rule, getattr(evaluator, "ignore", ())) for evaluator in evaluators if (rule := fault_rule(evaluator))
        ]
        self._by_order = [
            (evaluator.name, *[f"{evaluator.name}.{name}" for name in names])
            for evaluator in evaluators
            if (names := getattr(evaluator, "order_metrics", None))
        ]
        lists = {ignore for _, _, ignore in self._rules}
        self.ignore: tuple[str, ...] = lists.pop() if len(lists) == 1 else ()  # calls that all of them ignore are not compared
        self.has_similar = any(rule == "similar" for _, rule, _ in self._rules)
        self._known: dict[tuple[tuple[str, ...], bool, bool], tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def evaluators(self, names: tuple[str, ...], *, execution: bool, similar: bool) -> tuple[str, ...]:
        """Return the evaluators that count a fault of calls with these names.

        `execution` and `similar` say whether it is also a fault by these rules.
        """
        key = (names, execution, similar)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            found = self._known[key] = tuple(
                [
                    evaluator
                    for evaluator, rule, ignore in self._rules
                    if (rule == "exact" or (execution if rule == "execution" else similar))
                    and not (ignore and all(is_ignored(name, ignore) for name in names))
                ]
            )
        return found

    def of_order(self, metrics: Mapping[str, float]) -> tuple[str, ...]:
        """Return the evaluators that found every expected call, but not in the expected order."""
        return tuple(
            [evaluator for evaluator, complete, ordered in self._by_order if metrics.get(complete) == 1 and metrics.get(ordered) == 0]
        )


def find_faults(
    attempt: Attempt, evaluators: Sequence[Evaluator] | FaultCounting, metrics: Mapping[str, float] | None = None
) -> list[Fault]:
    """Return the faults that one of the evaluators counts, each with their names, faults of calls before faults of arguments.

    `metrics` are the results of the evaluators, by full name: they say whether the order is wrong. There are no faults if the calls cannot
    be compared: that is an evaluator error.
    """
    counting = evaluators if isinstance(evaluators, FaultCounting) else FaultCounting(evaluators)
    pairing = attempt.exact_pairing
    found = [] if pairing is None or pairing.perfect or not counting else _FaultFinder(attempt, counting).faults()
    if by_order := counting.of_order(metrics or {}):
        expected, actual = (", ".join([call.name for call in calls]) for calls in (attempt.expected, attempt.actual))
        found.insert(0, Fault("wrong_order", expected=expected, actual=actual, evaluators=by_order))
    return found


def find_notes(attempt: Attempt, *, order_is_fault: bool = False) -> list[Note]:
    """Return notes on calls that may be correct: their order, unless that is a fault, hallucinated values, schema violations."""
    found: list[Note] = []
    pairing = attempt.exact_pairing
    pairs = () if pairing is None else pairing.pairs
    if not order_is_fault and len(pairs) > 1 and any(after.actual < before.actual for before, after in pairwise(pairs)):
        found.append(Note("wrong_order", "the calls were made in a different order than expected"))
    for pair in pairs:
        call = attempt.actual[pair.actual]
        before = attempt.message_of(pair.actual) if pair.agrees and attempt.messages else 0
        if before and (attempt.has_many_values or not fast_grounded(call.arguments, attempt.messages[:before])):
            found += hallucinated_values(attempt, pair.actual)
    for index, call in enumerate(attempt.actual):
        for path, problem in attempt.schemas.violations(call):
            found.append(Note("schema_violation", problem, index, path or None))
    if pairing is not None and pairing.limited:
        found.append(Note("pairing_limited", PAIRING_LIMITED))
    if not attempt.tools and attempt.expected and attempt.actual:
        found.append(Note("no_schema", "no tool schemas: arguments were compared with the expected ones instead of being validated"))
    return found


def hallucinated_values(attempt: Attempt, actual_index: int) -> Iterator[Note]:
    """Yield a note for each value of a correct call that does not appear earlier in the conversation."""
    call = attempt.actual[actual_index]
    for path, value in attempt.values_needing_source(call):
        if attempt.find_source(value, actual_index) is None:
            sentence = f"{path}={dump(value)} does not appear earlier in the conversation (hallucinated)"
            yield Note("hallucinated_value", sentence, actual_index, path)


class _FaultFinder:
    """Finds the faults of one attempt, and which evaluators count each of them."""

    def __init__(self, attempt: Attempt, counting: FaultCounting) -> None:
        self._attempt = attempt
        self._executes = _executes(attempt)  # then evaluators that count by execution count no fault
        self._counting = counting
        self._pairing = attempt.pair("exact", counting.ignore)
        self._by_case_only: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())

    def faults(self) -> list[Fault]:
        pairing = self._pairing
        found = list(self._call_faults()) if pairing.unpaired_expected or pairing.unpaired_actual else []
        for pair in pairing.pairs:
            if not pair.agrees:
                found += self._argument_faults(pair)
        return [fault for fault in found if fault.evaluators]

    def _counted(self, names: tuple[str, ...], *, execution: bool, similar: bool) -> tuple[str, ...]:
        return self._counting.evaluators(names, execution=execution and not self._executes, similar=similar)

    def _unpaired_by_case_only(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return the unpaired expected and actual calls that agree with each other by `similar`: only the case of their names differs."""
        pairing = self._pairing
        expected, actual = (
            {calls[index].name.casefold() for index in indexes if not calls[index].malformed}
            for calls, indexes in ((self._attempt.expected, pairing.unpaired_expected), (self._attempt.actual, pairing.unpaired_actual))
        )
        if expected.isdisjoint(actual):
            return self._by_case_only
        unpaired = set(pairing.unpaired_expected), set(pairing.unpaired_actual)
        try:
            similar = self._attempt.pair("similar").pairs
        except EvaluatorError:  # the evaluators that pair by `similar` have no result
            return self._by_case_only
        pairs = [
            (pair.expected, pair.actual) for pair in similar if pair.agrees and pair.expected in unpaired[0] and pair.actual in unpaired[1]
        ]
        return frozenset([index for index, _ in pairs]), frozenset([index for _, index in pairs])

    def _call_faults(self) -> Iterator[Fault]:
        attempt, pairing = self._attempt, self._pairing
        has_expected = bool(pairing.pairs or pairing.unpaired_expected)
        has_actual = bool(pairing.pairs or pairing.unpaired_actual)
        if self._counting.has_similar:
            self._by_case_only = self._unpaired_by_case_only()
        malformed = [index for index in pairing.unpaired_actual if attempt.actual[index].malformed]
        actual = [index for index in pairing.unpaired_actual if not attempt.actual[index].malformed]
        unused = _UnpairedCalls(attempt.expected, pairing.unpaired_expected)
        for actual_index in malformed:
            expected_index = unused.take(attempt.actual[actual_index].name, of_any_name=not attempt.is_whole)
            checked = expected_index is not None or not has_expected  # execution is not checked for further calls
            yield self._call_fault("malformed_call", expected_index, actual_index, execution=checked)
        expected = unused.rest()
        both = 0 if attempt.is_whole else min(len(expected), len(actual))
        for expected_index, actual_index in zip(expected[:both], actual[:both], strict=True):
            yield self._call_fault("unknown_tool" if self._is_unknown(actual_index) else "wrong_tool", expected_index, actual_index)
        for expected_index in expected[both:]:
            yield self._call_fault("missing_call" if attempt.is_whole or has_actual else "no_call", expected_index, None)
        paired = _PairedCalls([attempt.actual[pair.actual] for pair in pairing.pairs], len(actual) - both)
        for actual_index in actual[both:]:
            kind: FaultKind
            if attempt.is_whole and self._is_unknown(actual_index):
                kind = "unknown_tool"
            elif not attempt.is_whole and not has_expected:
                kind = "unexpected_call"
            else:
                kind = "repeated_call" if paired.contain(attempt.actual[actual_index]) else "extra_call"
            yield self._call_fault(kind, None, actual_index, execution=not has_expected)

    def _is_unknown(self, actual_index: int) -> bool:
        attempt = self._attempt
        return bool(attempt.tools) and attempt.actual[actual_index].name not in attempt.schemas.by_name

    def _call_fault(self, kind: FaultKind, expected_index: int | None, actual_index: int | None, *, execution: bool = True) -> Fault:
        expected = self._attempt.expected[expected_index] if expected_index is not None else None
        actual = self._attempt.actual[actual_index] if actual_index is not None else None
        names = tuple([call.name for call in (expected, actual) if call is not None])
        by_case_only = (expected is None or expected_index in self._by_case_only[0]) and (
            actual is None or actual_index in self._by_case_only[1]
        )
        counted = self._counted(names, execution=execution, similar=not by_case_only)
        return Fault(kind, expected_index, actual_index, None, _show_expected(expected), _show_actual(actual), counted)

    def _argument_faults(self, pair: Pair) -> Iterator[Fault]:
        attempt = self._attempt
        expected, actual = attempt.expected[pair.expected], attempt.actual[pair.actual]
        if not self._counted((actual.name,), execution=True, similar=True):
            return
        schema = attempt.parameters(actual.name)
        known = properties(schema)
        if len(attempt.expected) == 1 and len(attempt.actual) == 1:  # the evaluators have already compared them
            similar = attempt.pair("similar").pairs[0].arguments
        else:
            similar = compare_similar(pair.arguments, expected.arguments, actual.arguments)
        for key in pair.arguments.missing:
            yield self._argument_fault("missing_argument", pair, key, execution=key in required(schema))
        for key in pair.arguments.extra:
            misfits = key in known and not types_fit(actual.arguments[key], known[key], schema)
            kind: FaultKind = "unknown_argument" if known and key not in known else "extra_argument"
            yield self._argument_fault(kind, pair, key, execution=misfits)
        for key in pair.arguments.differ:
            value, plain = actual.arguments[key], recorded_value(expected.arguments[key])
            misfits = key in known and not types_fit(value, known[key], schema)
            other_type = key not in known and not is_matcher(plain) and _json_type(plain) != _json_type(value)
            kind = "wrong_type" if misfits or other_type else "wrong_value"
            is_format = differs_in_format(plain, value)
            origin = _FORMAT if is_format else _find_origin(Call(actual.name, {key: value}), attempt, pair.actual)
            yield self._argument_fault(kind, pair, key, origin, execution=misfits, similar=key in similar.differ)

    def _argument_fault(
        self, kind: FaultKind, pair: Pair, key: str, origin: Origin = _NO_ORIGIN, *, execution: bool, similar: bool = True
    ) -> Fault:
        expected, actual = self._attempt.expected[pair.expected], self._attempt.actual[pair.actual]
        counted = self._counted((actual.name,), execution=execution or not self._attempt.tools, similar=similar)
        values = recorded_value(expected.arguments.get(key)), actual.arguments.get(key)
        return Fault(kind, pair.expected, pair.actual, key, *values, counted, *origin)


def _executes(attempt: Attempt) -> bool:
    try:
        return all(attempt.execution)
    except EvaluatorError:  # the evaluators that count by execution have no result
        return True


def _find_origin(call: Call, attempt: Attempt, actual_index: int) -> Origin:
    """Return where the values of a call come from, if one of them needs a source and there is a conversation."""
    if not attempt.messages:
        return _NO_ORIGIN
    sources = [attempt.find_source(value, actual_index) for _, value in attempt.values_needing_source(call)]
    if not sources:
        return _NO_ORIGIN
    return ("hallucinated", None) if None in sources else ("elsewhere", sources[0])


class _UnpairedCalls:
    """The unpaired expected calls, by index, that malformed calls use up."""

    def __init__(self, calls: Sequence[Call], indexes: Sequence[int]) -> None:
        self._indexes = indexes
        self._used: set[int] = set()
        self._in_order = list(reversed(indexes))
        self._by_name: dict[str, list[int]] = {}
        for index in self._in_order:
            self._by_name.setdefault(calls[index].name, []).append(index)

    def take(self, name: str, *, of_any_name: bool) -> int | None:
        """Use up the first call of that name or, if there is none and any name will do, the first call. None if there is no such call."""
        for indexes in (self._by_name.get(name, []), self._in_order if of_any_name else []):
            while indexes:
                index = indexes.pop()
                if index not in self._used:
                    self._used.add(index)
                    return index
        return None

    def rest(self) -> list[int]:
        """Return the calls that are not used up."""
        return [index for index in self._indexes if index not in self._used]


class _PairedCalls:
    """The paired actual calls, to recognize repeated calls. Lists too long to compare every pair are compared literally."""

    def __init__(self, calls: Sequence[Call], extra: int) -> None:
        self._by_name: dict[str, list[Call]] = {}
        for call in calls:
            self._by_name.setdefault(call.name, []).append(call)
        self._texts = {_literal_text(call) for call in calls} if len(calls) * extra > MAX_COMPARED_PAIRS else None

    def contain(self, call: Call) -> bool:
        if self._texts is not None:
            return _literal_text(call) in self._texts
        return any(exact(call.arguments, paired.arguments) for paired in self._by_name.get(call.name, ()))


def _literal_text(call: Call) -> str:
    return f"{call.name}{dump(dict(sorted(call.arguments.items())))}"


def _show_expected(call: Call | None) -> str | None:
    return None if call is None else show_expected_call(call)


def _show_actual(call: Call | None) -> str | None:
    """Return a call as code; a malformed one as its text, with its name if the text does not contain it."""
    if call is None or not call.malformed:
        return None if call is None else str(call)
    return call.text if call.text and call.name in call.text else f"{call.name}({call.text})"


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
