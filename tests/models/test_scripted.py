"""Imitations of models: the faults that they promise, at the rates that they promise, and nothing else."""

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
from callmark.models.model import ModelError, Question, Reply
from callmark.models.scripted import KINDS, RATES, ScriptedModel
from callmark.types import Call, Case, Fault, FaultKind, Message, Tool

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
    """A case in which every fault can be made, with other orders and addresses in the talk."""
    said = f"Order #W{1000000 + number}, not #W{2000000 + number}; write to a{number}@x.example or b{number}@y.example"
    calls: tuple[Call, ...] = (Call("get_order", {"order_id": f"#W{1000000 + number}", "count": 3}),)
    if number % 3 == 0:
        calls = (Call("find_user", {"email": f"a{number}@x.example"}), *calls)
    return Case(f"o{number}", (Message("user", said),), TOOLS, expected=calls)


def thanks(number: int) -> Case:
    return Case(f"t{number}", (Message("user", "Thank you"),), TOOLS)


@cache
def hotel() -> tuple[Case, ...]:
    path = Path(callmark.__file__).parent / "demo" / "hotel.jsonl"
    points = callmark.expand(callmark.load(path), abstain=True)
    return tuple(case for case in points if not any(call.malformed for call in case.expected))


SETS = {"made": tuple([order(n) for n in range(170)] + [thanks(n) for n in range(80)]), "hotel": None}


def cases(name: str) -> Sequence[Case]:
    return SETS[name] or hotel()


def replies(kind: str, questions: Sequence[Question], seed: int = 0) -> list[Reply]:
    async def run() -> list[Reply]:
        async with ScriptedModel(kind, seed=seed) as model:
            return [await model.ask(question) for question in questions]

    return asyncio.run(run())


def questions(name: str, trials: int = TRIALS) -> list[Question]:
    return [Question(case, trial) for trial in range(trials) for case in cases(name)]


def found(case: Case, calls: Sequence[Call]) -> list[Fault]:
    return grade(list(case.expected), list(calls), tools=case.tools, messages=case.messages).faults


def needs(case: Case) -> list[tuple[Call, frozenset[str], dict[str, Any]]]:
    """Each expected call, the parameters it must have and those it may have."""
    schemas = {one.name: one.parameters for one in case.tools}
    return [(call, required(schemas.get(call.name, {})), properties(schemas.get(call.name, {}))) for call in case.expected]


def can_be_made(fault: FaultKind, case: Case) -> bool:
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
def test_each_fault_is_made_at_its_rate_and_no_other_is(kind: str, name: str) -> None:
    asked = questions(name)
    assert len(asked) >= 2000
    made: Counter[str] = Counter()
    possible: Counter[str] = Counter()
    rates = next(RATES[one] for one in KINDS if one == kind)
    for question, reply in zip(asked, replies(kind, asked), strict=True):
        faults = {fault.kind for fault in found(question.case, reply.calls)}
        assert len(faults) <= 1
        made.update(faults)
        possible.update([fault for fault in rates if can_be_made(fault, question.case)])
    assert made.keys() == rates.keys()
    for fault, rate in rates.items():
        count = possible[fault]
        assert abs(made[fault] - rate * count) <= SIGMAS * sqrt(count * rate * (1 - rate)), (fault, made[fault], rate * count)


def test_wrong_values_are_invented_or_taken_from_elsewhere_half_and_half() -> None:
    asked = [question for question in questions("made", 40) if question.case.expected]
    origins: Counter[str | None] = Counter()
    for question, reply in zip(asked, replies("hasty", asked), strict=True):
        for fault in found(question.case, reply.calls):
            if fault.kind == "wrong_value":
                origins[fault.origin] += 1
                if fault.origin == "elsewhere":
                    assert str(fault.actual)[:2] in ("#W", f"b{question.case.id[1:2]}")
    total = origins.total()
    assert total > 500
    assert abs(origins["elsewhere"] - total / 2) < SIGMAS * sqrt(total) / 2
    assert origins["hallucinated"] + origins["elsewhere"] == total


def test_the_same_seed_gives_the_same_answers_in_any_order_and_another_seed_others() -> None:
    asked = questions("made", 3)
    for kind in KINDS:
        first = replies(kind, asked)
        assert replies(kind, asked[::-1])[::-1] == first
        other = replies(kind, asked, seed=1)
        assert ([one.calls for one in other] == [one.calls for one in first]) is (kind == "perfect")
    assert replies("hasty", asked[:250]) != replies("hasty", asked[250:500])  # another trial


def test_no_tokens_are_made_up_and_something_is_said() -> None:
    asked = questions("made", 2)
    for kind in KINDS:
        for reply in replies(kind, asked):
            assert (reply.input_tokens, reply.output_tokens, reply.finish) == (0, 0, "")
            assert reply.calls or reply.text


@pytest.mark.parametrize(
    "wanted",
    [{"$not": {"$one_of": [0, "none of these", "", True, None, [], {}, "late"]}}, {"$regex": r"\pN{3}"}, {"$glob": "TKT-*"}],
    ids=["what the schema lists", "what stands in the talk", "what can be made"],
)
def test_a_perfect_answer_fulfils_a_matcher(wanted: Any) -> None:
    case = Case("c", (Message("user", "The number is 123."),), TOOLS, expected=(Call("cancel", {"reason": wanted}),))
    (reply,) = replies("perfect", [Question(case)])
    assert grade(list(case.expected), list(reply.calls), tools=case.tools).metrics["call.score"] == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [Call("cancel", {"reason": {"$not": {"$any": True}}}), Call("cancel", {}, None, "cut off", "{")], ids=repr)
def test_what_nothing_can_fulfil_has_no_reply(kind: str, call: Call) -> None:
    with pytest.raises(ModelError, match="fulfil"):
        replies(kind, [Question(Case("c", (), TOOLS, expected=(call,)))])


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
def test_a_fault_that_cannot_be_made_is_not_made(case: Case, fault: FaultKind) -> None:
    kinds = [kind for kind in KINDS if fault in RATES[kind]]
    assert kinds
    for kind in kinds:
        asked = [Question(case, trial) for trial in range(150)]
        named = {one.kind for reply in replies(kind, asked) for one in found(case, reply.calls)}
        assert fault not in named
        assert named <= RATES[kind].keys()


def test_an_alternative_is_no_fault() -> None:
    asked = [Question(ALTERNATIVE, trial) for trial in range(300)]
    for reply in replies("hasty", asked):
        graded = grade(list(ALTERNATIVE.expected), list(reply.calls), tools=TOOLS, alternatives=[list(ALTERNATIVE.alternatives[0])])
        assert reply.calls == ALTERNATIVE.expected or len(graded.faults) == 1


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
        st.sampled_from([one.name for one in TOOLS]),
        st.dictionaries(st.sampled_from(["order_id", "count", "email", "reason"]), values),
    ),
    max_size=3,
)


@pytest.mark.laws
@given(expected_calls, st.sampled_from(KINDS), st.integers(0, 50), st.text(max_size=5))
def test_whatever_is_expected_an_answer_has_one_fault_at_most_and_of_a_promised_kind(
    calls: list[Call], kind: str, trial: int, name: str
) -> None:
    case = Case(name, (Message("user", "x"),), TOOLS, expected=tuple(calls))
    (reply,) = replies(kind, [Question(case, trial)])
    named = {fault.kind for fault in found(case, reply.calls)}
    assert len(named) <= 1
    assert named <= {fault for one in KINDS if one == kind for fault in RATES[one]}


def test_an_unknown_kind_is_told_the_nearest() -> None:
    with pytest.raises(BadInput, match="there is no scripted model called 'hastly'. Did you mean hasty?") as error:
        ScriptedModel("hastly")
    assert error.value.hint == "They are perfect, hasty, forgetful, chatty."


def test_every_promised_fault_is_one_that_grades_name() -> None:
    for kind in KINDS:
        model = ScriptedModel(kind)
        assert (model.label, model.fingerprint(Question(Case("a")))) == (f"scripted-{kind}", None)
        assert RATES[kind].keys() <= set(get_args(FaultKind))
        assert sum(RATES[kind].values()) <= 1


def test_others_get_their_turn() -> None:
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
            await model.ask(Question(thanks(1)))
        task.cancel()
        return turns

    assert asyncio.run(run()) > 5
