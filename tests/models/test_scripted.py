"""Scripted models: the declared faults, at the declared rates, and nothing else."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark import grade
from callmark.calls.schema import properties, required
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.models.scripted import KINDS, RATES, ScriptedModel
from callmark.types import Call, Case, Fault, FaultKind, Message, Prediction, Tool

TRIALS = 12
SIGMAS = 4


def tool(name: str, *optional: str, **needed: Any) -> Tool:
    kinds = {"type": "string"}
    return Tool(name, "", {"type": "object", "properties": {**needed, **dict.fromkeys(optional, kinds)}, "required": list(needed)})


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TOOLS = (
    tool("get_order", "note", order_id=TEXT, count=NUMBER),
    tool("find_user", "phone", email=TEXT),
    tool("cancel", reason={"type": "string", "enum": ["late", "broken"]}),
)


def order(number: int) -> Case:
    """Return a case in which every fault can occur, with other orders and addresses in the conversation."""
    text = f"Order #W{1000000 + number}, not #W{2000000 + number}; write to a{number}@x.example or b{number}@y.example"
    calls: tuple[Call, ...] = (Call("get_order", {"order_id": f"#W{1000000 + number}", "count": 3}),)
    if number % 3 == 0:
        calls = (Call("find_user", {"email": f"a{number}@x.example"}), *calls)
    return Case(f"o{number}", (Message("user", text),), TOOLS, expected=calls)


def thanks(number: int) -> Case:
    return Case(f"t{number}", (Message("user", "Thank you"),), TOOLS)


@cache
def hotel() -> tuple[Case, ...]:
    path = Path(callmark.__file__).parent / "worlds" / "hotel" / "hotel.jsonl"
    points = callmark.expand(callmark.load(path), abstain=True)
    return tuple(case for case in points if not any(call.malformed for call in case.expected))


Request = tuple[Case, int]
SETS = {"orders": tuple([order(n) for n in range(170)] + [thanks(n) for n in range(80)]), "hotel": None}


def cases(name: str) -> Sequence[Case]:
    return SETS[name] or hotel()


def predictions(kind: str, requests_of: Sequence[Request], seed: int = 0) -> list[Prediction]:
    async def run() -> list[Prediction]:
        async with ScriptedModel(kind, seed=seed) as model:
            return [await model.predict(case, trial=trial) for case, trial in requests_of]

    return asyncio.run(run())


def requests_of(name: str, trials: int = TRIALS) -> list[Request]:
    return [(case, trial) for trial in range(trials) for case in cases(name)]


def faults_of(case: Case, calls: Sequence[Call]) -> list[Fault]:
    return grade(list(case.expected), list(calls), tools=case.tools, messages=case.messages).faults


def needs(case: Case) -> list[tuple[Call, frozenset[str], dict[str, Any]]]:
    """Return each expected call with its required parameters and all its parameters."""
    schemas = {item.name: item.parameters for item in case.tools}
    return [(call, required(schemas.get(call.name, {})), properties(schemas.get(call.name, {}))) for call in case.expected]


def can_occur(fault: FaultKind, case: Case) -> bool:
    match fault:
        case "unexpected_call":
            return not case.expected
        case "missing_argument":
            return any(needed & call.arguments.keys() for call, needed, _ in needs(case))
        case "extra_argument":
            return any(known.keys() - call.arguments.keys() for call, _, known in needs(case))
        case "wrong_value":
            return any(call.arguments for call in case.expected)
        case _:
            return bool(case.expected)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_fault_occurs_at_its_rate_and_no_other(kind: str, name: str) -> None:
    requests = requests_of(name)
    assert len(requests) >= 2000
    fault_counts: Counter[str] = Counter()
    possible: Counter[str] = Counter()
    rates = next(RATES[item] for item in KINDS if item == kind)
    for (case, _), prediction in zip(requests, predictions(kind, requests), strict=True):
        faults = {fault.kind for fault in faults_of(case, prediction.calls)}
        assert len(faults) <= 1
        fault_counts.update(faults)
        possible.update([fault for fault in rates if can_occur(fault, case)])
    assert fault_counts.keys() == rates.keys()
    for fault, rate in rates.items():
        count = possible[fault]
        assert abs(fault_counts[fault] - rate * count) <= SIGMAS * sqrt(count * rate * (1 - rate)), (
            fault,
            fault_counts[fault],
            rate * count,
        )


def test_wrong_values_are_half_hallucinated_half_copied() -> None:
    requests = [request for request in requests_of("orders", 40) if request[0].expected]
    origins: Counter[str | None] = Counter()
    for (case, _), prediction in zip(requests, predictions("hasty", requests), strict=True):
        for fault in faults_of(case, prediction.calls):
            if fault.kind == "wrong_value":
                origins[fault.origin] += 1
                if fault.origin == "elsewhere":
                    assert str(fault.actual)[:2] in ("#W", f"b{case.id[1:2]}")
    total = origins.total()
    assert total > 500
    assert abs(origins["elsewhere"] - total / 2) < SIGMAS * sqrt(total) / 2
    assert origins["hallucinated"] + origins["elsewhere"] == total


def test_same_seed_gives_same_predictions_in_any_order() -> None:
    requests = requests_of("orders", 3)
    for kind in KINDS:
        first = predictions(kind, requests)
        assert predictions(kind, requests[::-1])[::-1] == first
        other = predictions(kind, requests, seed=1)
        assert ([item.calls for item in other] == [item.calls for item in first]) is (kind == "perfect")
    assert predictions("hasty", requests[:250]) != predictions("hasty", requests[250:500])  # another trial


def test_prediction_has_text_and_no_token_counts() -> None:
    requests = requests_of("orders", 2)
    for kind in KINDS:
        for prediction in predictions(kind, requests):
            assert (prediction.usage, prediction.finish_reason) == (None, "")
            assert prediction.calls or prediction.text


@pytest.mark.parametrize(
    "expected_value",
    [{"$not": {"$one_of": [0, "none of these", "", True, None, [], {}, "late"]}}, {"$regex": r"\pN{3}"}, {"$glob": "TKT-*"}],
    ids=["value from the schema", "word from the conversation", "any value"],
)
def test_perfect_prediction_satisfies_a_matcher(expected_value: Any) -> None:
    case = Case("c", (Message("user", "The number is 123."),), TOOLS, expected=(Call("cancel", {"reason": expected_value}),))
    (prediction,) = predictions("perfect", [(case, 0)])
    assert grade(list(case.expected), list(prediction.calls), tools=case.tools).metrics["call.score"] == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [Call("cancel", {"reason": {"$not": {"$any": True}}}), Call("cancel", {}, None, "cut off", "{")], ids=repr)
def test_unsatisfiable_case_raises_model_error(kind: str, call: Call) -> None:
    with pytest.raises(ModelError, match="satisf(y|ies)"):
        predictions(kind, [(Case("c", (), TOOLS, expected=(call,)), 0)])


ALTERNATIVE = Case("a", (), TOOLS, expected=(Call("cancel", {"reason": "late"}),), alternatives=((Call("cancel", {"reason": "broken"}),),))


@pytest.mark.parametrize(
    "case, fault",
    [
        (Case("c", (), TOOLS, expected=(Call("cancel", {"reason": {"$any": True}}),)), "wrong_value"),
        (Case("c", (), (), expected=(Call("f", {"a": 1}),)), "wrong_tool"),
        (Case("c", (), (), expected=(Call("f", {"a": 1}),)), "missing_argument"),
        (Case("c", (), (), expected=(Call("f"),)), "wrong_value"),
        (Case("c", (), (tool("f"),), expected=(Call("f"),)), "extra_argument"),
        (Case("c"), "unexpected_call"),
        (Case("c", (), (), expected=(Call("f"),)), "extra_call"),
        (
            Case("c", (), (Tool("f", "", {"properties": {"a": {"default": 1}}, "required": ["a"]}),), expected=(Call("f", {"a": 1}),)),
            "missing_argument",
        ),
    ],
)
def test_impossible_fault_does_not_occur(case: Case, fault: FaultKind) -> None:
    kinds = [kind for kind in KINDS if fault in RATES[kind]]
    assert kinds
    for kind in kinds:
        requests = [(case, trial) for trial in range(150)]
        named = {item.kind for prediction in predictions(kind, requests) for item in faults_of(case, prediction.calls)}
        assert fault not in named
        assert named <= RATES[kind].keys()


def test_alternative_is_not_a_fault() -> None:
    requests = [(ALTERNATIVE, trial) for trial in range(300)]
    for prediction in predictions("hasty", requests):
        graded = grade(list(ALTERNATIVE.expected), list(prediction.calls), tools=TOOLS, alternatives=[list(ALTERNATIVE.alternatives[0])])
        assert prediction.calls == ALTERNATIVE.expected or len(graded.faults) == 1


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(-1e6, 1e6)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=6,
)
expected_calls = st.lists(
    st.builds(
        Call,
        st.sampled_from([item.name for item in TOOLS]),
        st.dictionaries(st.sampled_from(["order_id", "count", "email", "reason"]), values),
    ),
    max_size=3,
)


@pytest.mark.laws
@given(expected_calls, st.sampled_from(KINDS), st.integers(0, 50), st.text(max_size=5))
def test_prediction_has_at_most_one_fault_of_a_declared_kind(calls: list[Call], kind: str, trial: int, name: str) -> None:
    case = Case(name, (Message("user", "x"),), TOOLS, expected=tuple(calls))
    (prediction,) = predictions(kind, [(case, trial)])
    named = {fault.kind for fault in faults_of(case, prediction.calls)}
    assert len(named) <= 1
    assert named <= {fault for item in KINDS if item == kind for fault in RATES[item]}


def test_unknown_kind_suggests_the_closest() -> None:
    with pytest.raises(BadInput, match=r"^unknown scripted model 'hastly'\. Did you mean hasty\?$") as error:
        ScriptedModel("hastly")
    assert error.value.hint == "Supported: perfect, hasty, forgetful, chatty."


def test_every_declared_fault_is_a_fault_kind() -> None:
    for kind in KINDS:
        model = ScriptedModel(kind)
        assert (model.label, model.fingerprint(Case("a"), 0)) == (f"scripted-{kind}", None)
        assert RATES[kind].keys() <= set(get_args(FaultKind))
        assert sum(RATES[kind].values()) <= 1


def test_other_tasks_get_a_chance_to_run() -> None:
    async def run() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        task = asyncio.create_task(other())
        model = ScriptedModel("perfect")
        for _ in range(1000):
            await model.predict(thanks(1))
        task.cancel()
        return turns

    assert asyncio.run(run()) > 5
