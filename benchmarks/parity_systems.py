"""The systems that `make parity` compares with evaluator `trajectory`: which metrics are equivalent, and every known difference.

A difference names an input, the number of the system and callmark's, and the reason. Its `applies` says which generated cases have it; on
all other cases the numbers must be equal. A number that differs must be what `predicts` returns or, without it, differ in the direction of
the example.
"""

import json
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from callmark.calls.call_matches import ArgumentMode
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.trajectory import TrajectoryEvaluator
from callmark.types import Call
from parity_cases import NamedCall, ParityCase

Flaw = Literal["", "repeats collapse", "extra calls are free", "abstention is 0", "abstention is refused"]  # an original is wrong
Number = float | str | None  # the type of an exception, or None if the system cannot express the case


class Equivalent(NamedTuple):
    """A metric of `trajectory` and its mode for arguments."""

    mode: ArgumentMode
    metric: str
    per_expected: bool = False  # of `order`: the share of the expected calls instead of the F1

    def __str__(self) -> str:
        shown = f"`{self.metric}`, `{self.mode}`"
        return f"{shown}, as a share of the expected calls" if self.per_expected else shown


class Difference(NamedTuple):
    """A known difference, with an example."""

    title: str
    metric: str
    expected: list[NamedCall]
    actual: list[NamedCall]
    theirs: Number
    ours: float
    reason: str
    flaw: Flaw = ""
    applies: Callable[[str, ParityCase], bool] | None = None  # metric and case; None if no generated case has it
    predicts: Callable[[str, ParityCase], float] | None = None  # the number of the system, by the reason
    equivalent: Equivalent | None = None  # of `ours`, if it is not that of the metric


class System(NamedTuple):
    """A package, its metrics with their equivalents, and its known differences."""

    environment: str
    package: str
    metrics: dict[str, Equivalent]
    differences: tuple[Difference, ...]
    tolerance: float = 1e-9
    own_tests: tuple[str, ...] = ()  # files in its source archive whose cases are compared too; empty if the archive has none


def our_number(case: ParityCase, equivalent: Equivalent) -> float:
    """Return callmark's number."""
    expected, actual = ([Call(name, arguments) for name, arguments in calls] for calls in case)
    value = TrajectoryEvaluator(arguments=equivalent.mode).evaluate(Attempt(expected, actual)).values[equivalent.metric]
    assert value is not None
    if equivalent.per_expected and expected:
        return value * (len(expected) + len(actual)) / (2 * len(expected))
    return value


def _repeated(calls: list[NamedCall]) -> bool:
    return any(call in calls[:index] for index, call in enumerate(calls))


def _without_repeats(calls: list[NamedCall]) -> list[NamedCall]:
    return [call for index, call in enumerate(calls) if call not in calls[:index]]


def _same_name(case: ParityCase) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the expected and actual arguments of each pair of calls with one name and different arguments."""
    return [(one, other) for name, one in case.expected for actual_name, other in case.actual if name == actual_name and one != other]


def _as_texts(arguments: dict[str, Any]) -> dict[str, str]:
    return {key: json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else str(value) for key, value in arguments.items()}


def _shares_an_argument(case: ParityCase) -> bool:
    return any(key in other and other[key] == value for one, other in _same_name(case) for key, value in one.items())


def _has_extra_arguments(case: ParityCase) -> bool:
    return any(one.items() and all(key in other and other[key] == value for key, value in one.items()) for one, other in _same_name(case))


def _name_repeats(case: ParityCase) -> bool:
    return any(len({name for name, _ in calls}) < len(calls) for calls in case)


def _values(metric: str, *, text: float = 0.0, boolean: float = 1.0) -> tuple[Difference, ...]:
    """Return how the system compares `true` with 1, and "5" with 5, in one metric."""
    python = "values are compared as Python compares them"
    return (
        Difference("`true` equals `1`", metric, [("f", {"n": 1})], [("f", {"n": True})], boolean, 0.0, python),
        Difference(
            '`"5"` is not `5`',
            metric,
            [("f", {"n": 5})],
            [("f", {"n": "5"})],
            text,
            1.0,
            f"{python}; in `exact`, a string equals a number if its JSON does",
        ),
    )


def _with_swapped_sides(case: ParityCase, mode: str, arguments: str) -> float:
    """Return the number of modes `subset` and `unordered` if actual calls may have more arguments instead of fewer, and vice versa."""
    exchanged: ArgumentMode = "superset" if arguments == "subset" else "subset"
    nothing_extra = our_number(case, Equivalent(exchanged, "subset"))
    if mode == "subset":
        return nothing_extra
    return min(nothing_extra, our_number(case, Equivalent("subset" if arguments == "subset" else "superset", "superset")))


def _credit(one: NamedCall, other: NamedCall) -> float:
    """Return the share of the arguments of both calls that are equal; 1 if there are none, 0 if the names differ."""
    keys = {*one[1], *other[1]}
    shared = sum(key in one[1] and key in other[1] and one[1][key] == other[1][key] for key in keys)
    return float(one[0] == other[0]) * (shared / len(keys) if keys else 1.0)


def _with_partial_credit(case: ParityCase, *, in_order: bool) -> float:
    """Return the mean credit of the expected calls: in order, or each with the best actual call that equals none taken before."""
    if in_order:
        best = [0.0] * (len(case.actual) + 1)
        for one in case.expected:
            earlier, best = best, [0.0]
            for index, other in enumerate(case.actual):
                best.append(max(earlier[index + 1], best[index], earlier[index] + _credit(one, other)))
        return best[-1] / len(case.expected)
    left, total = _without_repeats(case.actual), 0.0
    for one in case.expected:
        credit = [_credit(one, other) for other in left]
        if best_credit := max(credit, default=0.0):
            total += best_credit
            del left[credit.index(best_credit)]
    return total / len(case.expected)


_MODES: tuple[ArgumentMode, ...] = ("exact", "ignore", "subset", "superset")
_SWAPPED = tuple(f"{mode}, {arguments}" for mode in ("unordered", "subset") for arguments in ("subset", "superset"))

AGENTEVALS = System(
    "agentevals",
    "agentevals",
    {
        f"{mode}, {arguments}": Equivalent(arguments, "exact" if mode == "strict" else mode)
        for mode in ("strict", "unordered", "subset", "superset")
        for arguments in _MODES
    },
    (
        *_values("unordered, exact"),
        Difference(
            "modes `subset` and `unordered` swap the sides of the arguments",
            "subset, subset",
            [("f", {"x": 1, "y": 2})],
            [("f", {"x": 1})],
            0.0,
            1.0,
            "the actual call has fewer arguments, which `tool_args_match_mode` subset allows, but the sides are exchanged",
            applies=lambda metric, case: metric in _SWAPPED and bool(_same_name(case)),
            predicts=lambda metric, case: _with_swapped_sides(case, *metric.split(", ")),
        ),
        Difference(
            "calls are matched first fit",
            "superset, superset",
            [("f", {"x": 1}), ("f", {"x": 1, "y": 2})],
            [("f", {"x": 1, "y": 2}), ("f", {"x": 1})],
            0.0,
            1.0,
            "the first expected call takes the only partner of the second; callmark uses a maximum matching",
            applies=lambda metric, case: metric.endswith("set") and _name_repeats(case),
        ),
    ),
    own_tests=("tests/test_trajectory.py",),
)

ADK = System(
    "adk",
    "google-adk",
    {
        f"{mode}, {arguments}": Equivalent(arguments, mode.lower())
        for mode in ("EXACT", "IN_ORDER", "ANY_ORDER")
        for arguments in _MODES[:2]
    },
    _values("EXACT, exact"),
)

PYDANTIC_EVALS = System(
    "pydantic_evals",
    "pydantic-evals",
    {
        "TrajectoryMatch exact": Equivalent("ignore", "exact"),
        "TrajectoryMatch in_order": Equivalent("ignore", "order"),
        "TrajectoryMatch any_order": Equivalent("ignore", "f1"),
        "ToolCorrectness": Equivalent("ignore", "unordered"),
        "ToolCorrectness, extra allowed": Equivalent("ignore", "superset"),
    },
    (
        Difference(
            "only names are compared",
            "TrajectoryMatch exact",
            [("f", {"x": 1})],
            [("f", {"x": 2})],
            1.0,
            0.0,
            "its trajectory is a list of names; callmark compares arguments unless the mode is `ignore`",
            equivalent=Equivalent("exact", "exact"),
        ),
    ),
)

RAGAS = System(
    "ragas",
    "ragas",
    {
        "ToolCallF1": Equivalent("exact", "f1"),
        "ToolCallAccuracy is 1": Equivalent("exact", "exact"),
        "ToolCallAccuracy is 1, any order": Equivalent("exact", "unordered"),
    },
    (
        Difference(
            "nothing expected and no call",
            "ToolCallF1",
            [],
            [],
            0.0,
            1.0,
            "precision and recall of nothing are 0; its own ToolCallAccuracy is 1",
            "abstention is 0",
            lambda metric, case: metric == "ToolCallF1" and not case.expected and not case.actual,
        ),
        Difference(
            "a call that is missing once",
            "ToolCallF1",
            [("f", {"x": 2}), ("f", {"x": 2})],
            [("f", {"x": 2})],
            1.0,
            2 / 3,
            "calls are a set, so equal calls are one",
            "repeats collapse",
            lambda metric, case: metric == "ToolCallF1" and any(map(_repeated, case)),
            lambda _, case: our_number(ParityCase(*map(_without_repeats, case)), Equivalent("exact", "f1")),
        ),
        Difference(
            "a call made three times",
            "ToolCallF1",
            [("f", {"x": 2})],
            [("f", {"x": 2})] * 3,
            1.0,
            0.5,
            "calls are a set, so equal calls are one",
            "extra calls are free",
        ),
        Difference(
            "extra arguments are free",
            "ToolCallAccuracy is 1",
            [("f", {"x": 2})],
            [("f", {"x": 2, "y": 3})],
            1.0,
            0.0,
            "only the arguments of the expected call are compared; callmark's mode `superset` does this",
            applies=lambda metric, case: metric != "ToolCallF1" and _has_extra_arguments(case),
        ),
        Difference(
            "objects with their keys in another order differ",
            "ToolCallAccuracy is 1",
            [("f", {"x": {"a": 1, "b": 2}})],
            [("f", {"x": {"b": 2, "a": 1}})],
            0.0,
            1.0,
            "values are compared as text; the order of keys has no meaning in JSON",
        ),
        Difference(
            "`1.0` is not `1`", "ToolCallAccuracy is 1", [("f", {"x": 1})], [("f", {"x": 1.0})], 0.0, 1.0, "values are compared as text"
        ),
        *_values("ToolCallF1"),
    ),
    tolerance=5.1e-5,  # its F1 is rounded to four places
    own_tests=("tests/unit/test_tool_call_accuracy_collections.py", "tests/unit/test_tool_call_f1_collections.py"),
)

_DEEPEVAL = {
    "default": Equivalent("ignore", "recall"),
    "default, input parameters": Equivalent("exact", "recall"),
    "ordering": Equivalent("ignore", "order", per_expected=True),
    "ordering, input parameters": Equivalent("exact", "order", per_expected=True),
    "exact match": Equivalent("ignore", "exact"),
    "exact match, input parameters": Equivalent("exact", "exact"),
}
DEEPEVAL = System(
    "deepeval",
    "deepeval",
    _DEEPEVAL,
    (
        Difference(
            "two equal calls, as expected",
            "default",
            [("f", {"x": 2}), ("f", {"x": 2})],
            [("f", {"x": 2}), ("f", {"x": 2})],
            0.5,
            1.0,
            "a matched call is remembered by its value, so an equal one cannot match",
            "repeats collapse",
            lambda metric, case: metric.startswith("default") and _repeated(case.actual),
            lambda metric, case: our_number(ParityCase(case.expected, _without_repeats(case.actual)), _DEEPEVAL[metric]),
        ),
        Difference(
            "two extra calls",
            "default",
            [("f", {})],
            [("f", {}), ("g", {}), ("g", {})],
            1.0,
            1 / 3,
            "its score is a recall; callmark reports the precision too",
            "extra calls are free",
            equivalent=Equivalent("ignore", "precision"),
        ),
        Difference(
            "partial credit for arguments",
            "default, input parameters",
            [("f", {"x": 2, "y": 3})],
            [("f", {"x": 2})],
            0.5,
            0.0,
            "each argument counts; in callmark, evaluators `call` and `process` give partial credit, `trajectory` matches whole calls",
            applies=lambda metric, case: (
                metric in ("default, input parameters", "ordering, input parameters") and _shares_an_argument(case)
            ),
            predicts=lambda metric, case: _with_partial_credit(case, in_order=metric.startswith("ordering")),
        ),
        *_values("exact match, input parameters"),
    ),
)

_AZURE = {
    "exact_match": "exact",
    "in_order_match": "in_order",
    "any_order_match": "any_order",
    "precision_score": "precision",
    "recall_score": "recall",
    "f1_score": "f1",
}
AZURE = System(
    "azure",
    "azure-ai-evaluation",
    {name: Equivalent("ignore", metric) for name, metric in _AZURE.items()}
    | {f"{name}, parameters": Equivalent("exact", metric) for name, metric in _AZURE.items()},
    (
        Difference(
            "nothing expected and no call",
            "exact_match",
            [],
            [],
            "EvaluationException",
            1.0,
            "an empty ground truth is refused, so abstention cannot be measured",
            "abstention is refused",
            lambda _, case: not case.expected,
        ),
        Difference(
            "two calls to one tool with different arguments",
            "exact_match, parameters",
            [("f", {"x": 1}), ("f", {"x": 2})],
            [("f", {"x": 1}), ("f", {"x": 2})],
            None,
            1.0,
            "the ground truth has one set of parameters for each name",
        ),
        Difference(
            "`1.0` is not `1`", "exact_match, parameters", [("f", {"x": 1})], [("f", {"x": 1.0})], 0.0, 1.0, "values are compared as text"
        ),
        Difference(
            '`"True"` equals `true`',
            "exact_match, parameters",
            [("f", {"x": "True"})],
            [("f", {"x": True})],
            1.0,
            0.0,
            "values are compared as Python's text of them; in `exact`, only the JSON `true` equals `true`",
            applies=lambda metric, case: metric.endswith("parameters") and bool(_same_name(case)),
            predicts=lambda metric, case: our_number(
                ParityCase(*([(name, _as_texts(arguments)) for name, arguments in calls] for calls in case)),
                Equivalent("exact", _AZURE[metric.removesuffix(", parameters")]),
            ),
        ),
        Difference("names are trimmed", "exact_match", [("f", {})], [(" f ", {})], 1.0, 0.0, "no tool has the name ` f `"),
    ),
    own_tests=("tests/unittests/test_task_navigation_efficiency_evaluators.py",),
)

SYSTEMS = (AGENTEVALS, ADK, PYDANTIC_EVALS, RAGAS, DEEPEVAL, AZURE)
