"""Evaluator `trajectory`: were the calls made in order, and were there extra ones? (docs/reference/metrics.md, section 19)

Calls match by name and arguments (`calls/call_matches.py`). Nothing expected and no call: all 1, `redundant` 0, `dependencies` not
applicable. One side empty: precision, recall, f1 and order are 0, and the yes-or-no metrics follow their definitions.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct, structs

from callmark.calls.call_matches import ARGUMENT_MODES, MAX_CALLS, ArgumentMode, argument_key, match_calls
from callmark.calls.globs import matches_glob
from callmark.calls.trajectory import longest_common_subsequence, maximum_matching, respected_edges
from callmark.calls.values import exact, without_defaults
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.grading.ignored_functions import is_ignored, read_ignore
from callmark.types import Call, Edges, Note
from callmark.wording import did_you_mean

_LIMITED = Note("pairing_limited", f"more than {MAX_CALLS:,} calls to one tool on one side: for trajectory, only identical calls match")
_SEARCH_LIMITED = Note("pairing_limited", "too many ways to match the calls: trajectory.dependencies may be too low")
_MAX_WITHOUT_KEY = 100  # earlier calls without a key that a call is compared with


class TrajectoryEvaluator(Struct, frozen=True):
    """The order of calls, missing and extra ones, dependencies between calls, and redundant calls.

    `arguments` is the mode by which arguments are compared, and `tools` overrides it for tools by glob, the first that matches; `ignore`
    are globs of functions to ignore. Unknown modes raise `BadInput`.
    """

    arguments: ArgumentMode = "exact"
    tools: dict[str, ArgumentMode] = {}
    ignore: tuple[str, ...] = ()

    name: ClassVar[str] = "trajectory"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("exact", "exact trajectory", kind="rate"),
        Metric("in_order", "in order", kind="rate", headline=True),
        Metric("any_order", "any order", kind="rate"),
        Metric("unordered", "any order, nothing extra", kind="rate"),
        Metric("subset", "nothing extra", kind="rate"),
        Metric("superset", "nothing missing", kind="rate"),
        Metric("precision", "precision"),
        Metric("recall", "recall"),
        Metric("f1", "F1"),
        Metric("order", "order"),
        Metric("dependencies", "dependencies respected"),
        Metric("redundant", "redundant calls", kind="count", bounds=None, higher_is_better=False),
    )
    order_metrics: ClassVar[tuple[str, str]] = ("any_order", "in_order")

    def __post_init__(self) -> None:
        structs.force_setattr(self, "ignore", read_ignore(self.ignore))
        _check_mode(self.arguments, "arguments")
        if not isinstance(self.tools, Mapping):
            raise BadInput(f"tools: expected a table of GLOB = MODE, got {self.tools!r:.40}")
        for glob, mode in self.tools.items():
            _check_mode(mode, f"tools: {glob}")

    def evaluate(self, attempt: Attempt) -> Result:
        kept = [index for index, call in enumerate(attempt.expected) if not is_ignored(call.name, self.ignore)]
        expected = [attempt.expected[index] for index in kept]
        actual = [call for call in attempt.actual if not is_ignored(call.name, self.ignore)]
        matches = match_calls(expected, actual, mode=self._mode, parameters=attempt.parameters)
        partners = maximum_matching(matches.rows)
        matched = sum(partner is not None for partner in partners)
        subsequence = longest_common_subsequence(matches)
        edges = _kept_edges(attempt.dependencies, kept)
        respected = respected_edges(matches.rows, edges)
        all_expected, all_actual = matched == len(expected), matched == len(actual)
        exactly = len(expected) == len(actual) and all(row >> index & 1 for index, row in enumerate(matches.rows))
        both = len(expected) + len(actual)
        values: dict[str, float | None] = {
            "exact": float(exactly),
            "in_order": float(subsequence == len(expected)),
            "any_order": float(all_expected),
            "unordered": float(all_expected and all_actual),
            "subset": float(all_actual),
            "superset": float(all_expected),
            "precision": _share(matched, len(actual), both),
            "recall": _share(matched, len(expected), both),
            "f1": _share(2 * matched, both, both),
            "order": _share(2 * subsequence, both, both),
            "dependencies": respected.count / len(edges) if edges else None,
            "redundant": float(count_redundant(actual, attempt)),
        }
        notes = (*((_LIMITED,) if matches.limited else ()), *((_SEARCH_LIMITED,) if respected.limited else ()))
        return Result(values, notes=notes)

    def _mode(self, name: str) -> ArgumentMode:
        return next((mode for glob, mode in self.tools.items() if matches_glob(glob, name)), self.arguments)


def count_redundant(calls: Sequence[Call], attempt: Attempt) -> int:
    """Return how many calls are equal to an earlier one, with no call in between to a tool that is not known to be read-only.

    Malformed calls are equal to nothing; in between, they may have changed something.
    """
    recent: dict[Hashable, list[Mapping[str, Any]]] = {}  # arguments by tool and key, of the calls since the last that may change something
    redundant = 0
    for call in calls:
        schema = attempt.parameters(call.name)
        arguments = without_defaults(call.arguments, schema)
        key = call.name, argument_key(call, schema)
        keyless = call.name, None
        same = [*recent.get(key, ())[:_MAX_WITHOUT_KEY], *(recent.get(keyless, ())[:_MAX_WITHOUT_KEY] if key != keyless else ())]
        if not call.malformed and any(exact(earlier, arguments) for earlier in same):
            redundant += 1
        if not attempt.is_read_only(call.name):
            recent.clear()
        if not call.malformed:
            recent.setdefault(key, []).append(arguments)
    return redundant


def _check_mode(mode: Any, where: str) -> None:
    if mode not in ARGUMENT_MODES:
        suggestion = did_you_mean(mode, ARGUMENT_MODES) if isinstance(mode, str) else ""
        raise BadInput(f"{where}: expected one of {', '.join(ARGUMENT_MODES)}, got {mode!r:.40}{suggestion}")


def _kept_edges(edges: Edges, kept: Sequence[int]) -> Edges:
    """Return the edges between calls that are not ignored, by their index among these."""
    index = {given: at for at, given in enumerate(kept)}
    return tuple([(index[source], index[target]) for source, target in edges if source in index and target in index])


def _share(part: int, whole: int, calls: int) -> float:
    """Return a share of calls: 1 if there are no calls at all, 0 if only one side has some."""
    if not calls:
        return 1.0
    return part / whole if whole else 0.0
