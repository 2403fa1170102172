"""Evaluator `trajectory`: a case for every row and sentence of docs/reference/metrics.md, section 19, and an oracle."""

from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark import Case, Prediction, grade
from callmark.analysis.summary import Tally
from callmark.calls.call_matches import MAX_CALLS, ArgumentMode
from callmark.calls.values import exact
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.trajectory import TrajectoryEvaluator
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings, find_evaluator
from callmark.types import Call, Tool
from tests.rows import tool_call

NAMES = ("exact", "in_order", "any_order", "unordered", "subset", "superset", "precision", "recall", "f1", "order")
F, G, H = tool_call("f"), tool_call("g"), tool_call("h")
BROKEN = Call("f", {}, None, "truncated JSON", "{")


def values(expected: list[Call], actual: list[Call], **options: Any) -> dict[str, float | None]:
    return TrajectoryEvaluator(**options).evaluate(Attempt(expected, actual)).values


@pytest.mark.parametrize(
    "expected, actual, found",
    [
        ([], [], (1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
        ([], [F], (0, 1, 1, 0, 0, 1, 0, 0, 0, 0)),
        ([F], [], (0, 0, 0, 0, 1, 0, 0, 0, 0, 0)),
        ([F, G], [F, G], (1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
        ([F, G], [G, F], (0, 0, 1, 1, 1, 1, 1, 1, 1, 0.5)),
        ([F, G], [F, H, G], (0, 1, 1, 0, 0, 1, 2 / 3, 1, 0.8, 0.8)),
        ([F, G], [G, H, F], (0, 0, 1, 0, 0, 1, 2 / 3, 1, 0.8, 0.4)),
        ([F, G, H], [F, H], (0, 0, 0, 0, 1, 0, 1, 2 / 3, 0.8, 0.8)),
        ([F, G], [H, H], (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        ([F, F], [F], (0, 0, 0, 0, 1, 0, 1, 0.5, 2 / 3, 2 / 3)),  # repeats do not collapse
        ([F], [F, F], (0, 1, 1, 0, 0, 1, 0.5, 1, 2 / 3, 2 / 3)),
        ([F], [tool_call("F")], (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),  # the case counts
        ([F], [BROKEN], (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        ([BROKEN], [BROKEN], (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        # an actual call that matches two expected ones is given to the one that needs it
        (
            [tool_call("f", a={"$any": True}), tool_call("f", a=1)],
            [tool_call("f", a=1), tool_call("f", a=2)],
            (0, 0, 1, 1, 1, 1, 1, 1, 1, 0.5),
        ),
    ],
)
def test_metrics(expected: list[Call], actual: list[Call], found: tuple[float, ...]) -> None:
    metrics = values(expected, actual)
    assert [metrics[name] for name in NAMES] == pytest.approx(list(found))
    assert metrics["dependencies"] is None
    assert metrics["redundant"] == (len(actual) - 1 if actual == [F, F] else 1 if actual == [H, H] else 0)


FULL, LESS, MORE, OTHER = tool_call("f", a="x", b=1), tool_call("f", a="x"), tool_call("f", a="x", b=1, c=2), tool_call("f", a="X!", b=1)


@pytest.mark.parametrize(
    "mode, matching",
    [
        ("exact", [FULL]),
        ("similar", [FULL, OTHER]),
        ("subset", [FULL, LESS]),
        ("superset", [FULL, MORE]),
        ("ignore", [FULL, LESS, MORE, OTHER]),
    ],
)
def test_modes_of_arguments(mode: ArgumentMode, matching: list[Call]) -> None:
    assert [call for call in (FULL, LESS, MORE, OTHER) if values([FULL], [call], arguments=mode)["exact"]] == matching


def test_mode_can_be_set_for_each_tool() -> None:
    expected, actual = [tool_call("search", q="a"), tool_call("book", id=1)], [tool_call("search", q="b"), tool_call("book", id=2)]
    assert values(expected, actual, tools={"search*": "ignore"})["recall"] == 0.5
    assert values(expected, actual, arguments="ignore", tools={"book": "exact"})["recall"] == 0.5
    assert values(expected, actual, arguments="ignore")["recall"] == 1


def test_ignore_list_is_empty_by_default_and_applies_to_both_sides() -> None:
    asked = tool_call("CommonPlugin-ask")
    assert values([F, G], [F, asked, G])["exact"] == 0
    assert values([F, G], [F, asked, G], ignore=("CommonPlugin-*",))["exact"] == 1
    assert values([asked], [], ignore=["commonplugin-*"])["recall"] == 1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"arguments": "exakt"}, "arguments: expected one of exact, similar, subset, superset, ignore, got 'exakt'"),
        ({"tools": {"f": 1}}, "tools: f: expected one of exact, similar, subset, superset, ignore, got 1"),
        ({"tools": ["f"]}, "tools: expected a table of GLOB = MODE, got ['f']"),
        ({"ignore": "f"}, "ignore: expected a list of strings, got 'f'"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        find_evaluator("trajectory", options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "after, actual, dependencies",
    [
        ([(0, 1)], [F, G, H], 1),
        ([(0, 1)], [G, F, H], 0),
        ([(0, 1)], [G, F, G], 1),  # the second g is the match that respects it
        ([(0, 1), (1, 2)], [H, F, G], 0.5),
        ([(0, 1), (0, 2)], [F, H, G], 1),
        ([(0, 1)], [F, H], 0),  # g is missing
        ([(0, 1)], [], 0),
        ([(0, 1), (1, 0)], [F, G], 0.5),  # a cycle cannot be respected
    ],
)
def test_dependencies(after: list[tuple[int, int]], actual: list[Call], dependencies: float) -> None:
    attempt = Attempt([F, G, H], actual, dependencies=tuple(after))
    assert TrajectoryEvaluator().evaluate(attempt).values["dependencies"] == dependencies


def test_dependencies_of_ignored_calls_do_not_count() -> None:
    attempt = Attempt([F, G, H], [H, G], dependencies=((0, 1), (1, 2)))
    assert TrajectoryEvaluator(ignore=("f",)).evaluate(attempt).values["dependencies"] == 0
    assert TrajectoryEvaluator(ignore=("f", "h")).evaluate(attempt).values["dependencies"] is None


GET, LIST, WRITE = tool_call("get", id=1), tool_call("list"), tool_call("write")
BROKEN_GET = Call("get", {}, None, "truncated JSON", "{")


@pytest.mark.parametrize(
    "actual, redundant",
    [
        ([GET, GET], 1),
        ([GET, GET, GET], 2),
        ([GET, LIST, GET], 1),  # list is known to be read-only
        ([GET, WRITE, GET], 0),
        ([WRITE, WRITE], 1),  # nothing in between
        ([WRITE, GET, WRITE], 1),
        ([GET, tool_call("get", id="1")], 1),  # equal by `exact`
        ([GET, tool_call("get", id=1, full=False)], 1),  # the default
        ([GET, tool_call("get", id=2)], 0),
        ([GET, tool_call("Get", id=1)], 0),
        ([GET, BROKEN, GET], 0),  # a call of an unknown tool, which may have changed something
        ([GET, BROKEN_GET, GET], 1),
        ([BROKEN_GET, BROKEN_GET], 0),
        ([], 0),
    ],
)
def test_redundant_calls(actual: list[Call], redundant: int) -> None:
    get = Tool("get", "", {"type": "object", "properties": {"full": {"type": "boolean", "default": False}}}, read_only=True)
    attempt = Attempt([], actual, tools=(get, Tool("list"), Tool("write")), read_only=("li*",))
    assert TrajectoryEvaluator().evaluate(attempt).values["redundant"] == redundant


def test_hint_of_an_mcp_tool_says_that_it_is_read_only() -> None:
    tools = [{"name": "get", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}, {"name": "write"}]
    assert grade([], [GET, GET], tools=tools, evaluators=["trajectory"]).metrics["trajectory.redundant"] == 1
    found = [
        grade([], [GET, between, GET], tools=tools, evaluators=["trajectory"]).metrics["trajectory.redundant"]
        for between in (tool_call("get"), WRITE)
    ]
    assert found == [1, 0]


def test_too_many_calls_of_one_name_match_only_if_identical() -> None:
    calls = [tool_call("f", a=number) for number in range(MAX_CALLS)]
    texts = [tool_call("f", a=str(number)) for number in reversed(range(MAX_CALLS))]
    full = TrajectoryEvaluator().evaluate(Attempt(calls, texts))
    assert (full.values["unordered"], full.notes) == (1, ())
    limited = TrajectoryEvaluator().evaluate(Attempt([*calls, F], [*calls, F]))
    assert (limited.values["exact"], [note.kind for note in limited.notes]) == (1, ["pairing_limited"])
    assert TrajectoryEvaluator().evaluate(Attempt([*calls, tool_call("f")], [*texts, tool_call("f")])).values["recall"] == 1 / (
        MAX_CALLS + 1
    )


@pytest.mark.parametrize(
    "evaluators, expected, actual, fault, note",
    [
        (["call", "trajectory"], [F, G], [G, F], True, False),
        (["call"], [F, G], [G, F], False, True),
        (["trajectory"], [F, G], [G, H, F], True, False),
        (["call", "trajectory"], [F, G], [F, G], False, False),
        (["call", "trajectory"], [F, G, H], [G, F], False, True),  # a call is missing: the order is a note
        ([TrajectoryEvaluator(ignore=("g",))], [F, G], [G, F], False, True),
        ([TrajectoryEvaluator(arguments="ignore")], [tool_call("f", a=1), G], [G, tool_call("f", a=2)], True, False),
    ],
)
def test_wrong_order_is_a_fault_or_a_note(evaluators: list[Any], expected: list[Call], actual: list[Call], fault: bool, note: bool) -> None:
    found = grade(expected, actual, evaluators=evaluators)
    assert ([each.evaluators for each in found.faults if each.kind == "wrong_order"]) == ([("trajectory",)] if fault else [])
    assert ("wrong_order" in [each.kind for each in found.notes]) == note


def test_summary_counts_wrong_order_and_calls_as_correct() -> None:
    grader = Grader(GradingSettings(("call", "trajectory")))
    tally = Tally(grader.metrics)
    for record in grader.record(Case("c", expected=(F, G)), [Prediction("c", calls=(G, F))]):
        tally.add(record)
    summary = tally.summary()
    assert summary.correct == 1
    assert [(fault.kind, fault.count, fault.examples[0].name) for fault in summary.faults] == [("wrong_order", 1, "g, f")]


PLAIN_ARGUMENTS: list[dict[str, Any]] = [{}, {"a": 1}, {"a": "1"}, {"a": 2}, {"a": 1, "b": 1}]
ARGUMENTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from([*PLAIN_ARGUMENTS, {"a": {"$any": True}}])
PLAIN = st.builds(Call, st.sampled_from(["f", "g"]), st.sampled_from(PLAIN_ARGUMENTS))
EXPECTED = st.lists(st.builds(Call, st.sampled_from(["f", "g"]), ARGUMENTS), max_size=4)
ACTUAL = st.lists(PLAIN, max_size=4)


def matches(expected: Call, actual: Call) -> bool:
    """An independent definition of a match, for these calls."""
    if expected.name != actual.name or expected.arguments.keys() != actual.arguments.keys():
        return False
    return all(value == {"$any": True} or exact(value, actual.arguments[key]) for key, value in expected.arguments.items())


@given(EXPECTED, ACTUAL)
def test_every_metric_agrees_with_an_oracle_that_tries_everything(expected: list[Call], actual: list[Call]) -> None:
    pairings = [
        columns
        for size in range(min(len(expected), len(actual)) + 1)
        for rows in combinations(range(len(expected)), size)
        for columns in permutations(range(len(actual)), size)
        if all(matches(expected[row], actual[column]) for row, column in zip(rows, columns, strict=True))
    ]
    matched = max(map(len, pairings))
    ordered = max(len(columns) for columns in pairings if list(columns) == sorted(columns))
    none = not expected and not actual
    precision, recall = (1.0 if none else matched / len(side) if side else 0.0 for side in (actual, expected))
    both = len(expected) + len(actual)
    found = values(expected, actual)
    assert [found[name] for name in NAMES] == pytest.approx(
        [
            float(len(expected) == len(actual) and all(map(matches, expected, actual))),
            float(ordered == len(expected)),
            float(matched == len(expected)),
            float(matched == len(expected) == len(actual)),
            float(matched == len(actual)),
            float(matched == len(expected)),
            precision,
            recall,
            2 * precision * recall / (precision + recall) if precision + recall else 0.0,
            1.0 if none else 2 * ordered / both,
        ]
    )
    earlier = [
        any(call.name == before.name and exact(call.arguments, before.arguments) for before in actual[at - 1 : at])
        for at, call in enumerate(actual)
    ]
    assert found["redundant"] == sum(earlier)  # without read-only tools, only the call just before counts


@given(EXPECTED, ACTUAL, st.randoms(use_true_random=False))
def test_order_changes_no_metric_that_is_not_about_order(expected: list[Call], actual: list[Call], random: Any) -> None:
    shuffled = random.sample(actual, len(actual))
    free = ("any_order", "unordered", "subset", "superset", "precision", "recall", "f1")
    before, after = values(expected, actual), values(expected, shuffled)
    assert [before[name] for name in free] == [after[name] for name in free]
    assert all(0 <= (before[name] or 0) <= 1 for name in NAMES)
