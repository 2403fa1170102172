"""Which actual calls match which expected calls, by a mode for their arguments (docs/reference/metrics.md, section 19).

Two calls match if their names are equal (the case counts), neither is malformed, and their arguments agree: by `exact` or `similar`; by
`exact` for those that the actual call has (`subset`) or must have (`superset`: it may have more); or whatever they are (`ignore`).

Identical calls are compared once. With more than `MAX_CALLS` calls of one name on a side, only identical calls match.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal

from callmark.calls.match_budget import MatchBudget
from callmark.calls.matchers import CONTAINER_TYPES
from callmark.calls.pairing import Parameters, compare_calls
from callmark.calls.strict import dump
from callmark.calls.trajectory import Matches
from callmark.calls.value_keys import value_key
from callmark.calls.values import without_defaults
from callmark.types import Call

ArgumentMode = Literal["exact", "similar", "subset", "superset", "ignore"]
ARGUMENT_MODES: tuple[ArgumentMode, ...] = ("exact", "similar", "subset", "superset", "ignore")
MAX_CALLS = 1000  # of one name on a side

_Groups = dict[str, list[int]]  # indexes of identical calls, by their text


def match_calls(
    expected: Sequence[Call], actual: Sequence[Call], *, mode: Callable[[str], ArgumentMode], parameters: Parameters
) -> Matches:
    """Return which calls match. `mode` and `parameters` are by tool name.

    Raises `EvaluatorError`, which names the argument, if the matchers of the expected calls need too many checks.
    """
    rows, columns = [0] * len(expected), [0] * len(actual)
    budget = MatchBudget()
    limited = False
    actual_by_name = _by_name(actual)
    for name, expected_indexes in _by_name(expected).items():
        if name not in actual_by_name:
            continue
        chosen, schema = mode(name), parameters(name)
        expected_groups, actual_groups = _groups(expected, expected_indexes, chosen), _groups(actual, actual_by_name[name], chosen)
        if chosen != "ignore" and max(len(expected_indexes), len(actual_by_name[name])) > MAX_CALLS:
            limited = True
            pairs = [(group, actual_groups[text]) for text, group in expected_groups.items() if text in actual_groups]
        else:
            candidates = _Candidates(actual, actual_groups, schema)
            pairs = [
                (one, other)
                for one in expected_groups.values()
                for other in candidates.of(expected[one[0]], chosen)
                if _matches(expected[one[0]], actual[other[0]], chosen, schema, budget)
            ]
        for one, other in pairs:
            _mark(rows, one, other)
            _mark(columns, other, one)
    return Matches(rows, columns, limited)


def _mark(table: list[int], indexes: Sequence[int], others: Sequence[int]) -> None:
    bits = 0
    for other in others:
        bits |= 1 << other
    for index in indexes:
        table[index] |= bits


def _matches(expected: Call, actual: Call, mode: ArgumentMode, schema: Mapping[str, Any], budget: MatchBudget) -> bool:
    if mode == "ignore":
        return True
    compared = compare_calls(expected, actual, rule="similar" if mode == "similar" else "exact", parameters=schema, budget=budget)
    if mode == "subset":
        return not compared.differ and not compared.extra
    if mode == "superset":
        return not compared.differ and not compared.missing
    return compared.all_agree


def _by_name(calls: Sequence[Call]) -> dict[str, list[int]]:
    named: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        if not call.malformed:
            named.setdefault(call.name, []).append(index)
    return named


def _groups(calls: Sequence[Call], indexes: Sequence[int], mode: ArgumentMode) -> _Groups:
    """Return the indexes of identical calls, by the text of their arguments; all of them together if arguments are ignored."""
    if mode == "ignore":
        return {"": list(indexes)}
    groups: _Groups = {}
    for index in indexes:
        groups.setdefault(argument_text(calls[index]), []).append(index)
    return groups


def argument_text(call: Call) -> str:
    """Return the arguments of a call as JSON, the same for calls whose arguments are identical."""
    return dump(dict(sorted(call.arguments.items())))


class _Candidates:
    """The groups of actual calls that an expected call of plain values may equal by `exact`, found by key instead of comparing each."""

    def __init__(self, actual: Sequence[Call], groups: _Groups, schema: Mapping[str, Any]) -> None:
        self._all = list(groups.values())
        self._schema = schema
        self._by_key: dict[Hashable, list[list[int]]] = {}
        if len(self._all) > 1:
            for group in self._all:
                self._by_key.setdefault(argument_key(actual[group[0]], schema), []).append(group)

    def of(self, expected: Call, mode: ArgumentMode) -> Sequence[list[int]]:
        if mode != "exact" or not self._by_key or any(value.__class__ in CONTAINER_TYPES for value in expected.arguments.values()):
            return self._all
        key = argument_key(expected, self._schema)
        return self._all if key is None else [*self._by_key.get(key, ()), *self._by_key.get(None, ())]


def argument_key(call: Call, schema: Mapping[str, Any]) -> Hashable:
    """Return a key of the arguments that is the same for calls whose arguments are equal by `exact`; None if they must be compared."""
    return value_key(dict(without_defaults(call.arguments, schema)))
