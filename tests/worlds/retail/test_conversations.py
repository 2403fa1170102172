"""A hundred and fifty conversations of the store's expert with its customers: what a dataset is made of."""

import re

import pytest

from callmark.calls.matchers import has_matcher
from callmark.calls.sequence import answered, find, read_pattern
from callmark.data.expand import expand
from callmark.data.filter import clean, consistent, grounded, judge, require
from callmark.data.lint import lint
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.evaluators.state import StateEvaluator
from callmark.grading.grade import grade
from callmark.types import Call, Case, Conversation, Prediction
from callmark.worlds.retail import tools
from callmark.worlds.retail.world import RetailWorld
from tests.worlds.retail.conversations import held, row

Talks = list[tuple[Case, Prediction]]


@pytest.fixture(scope="module")
def talks() -> Talks:
    cases = RetailWorld().plans(150, seed=11)
    return list(zip(cases, held(cases, seed=11), strict=True))


@pytest.fixture(scope="module")
def rows(talks: Talks) -> list[Conversation]:
    return [row(case, reply) for case, reply in talks]


def _same(expected: tuple[Call, ...], calls: tuple[Call, ...]) -> bool:
    return [call.name for call in expected] == [call.name for call in calls] and all(
        has_matcher(one.arguments) or one.arguments == other.arguments for one, other in zip(expected, calls, strict=True)
    )


def _attempt(case: Case, reply: Prediction) -> Attempt:
    said = Prediction(case.id, calls=reply.calls, transcript=reply.transcript, states=reply.states)
    return Attempt(case.expected, reply.calls, prediction=said)


def test_every_conversation_comes_to_its_end(talks: Talks) -> None:
    for case, reply in talks:
        is_handed_over = case.data["plan"]["goals"][-1]["outcome"] == "transferred"
        assert reply.ending == ("transfer" if is_handed_over else "completed"), case.id


def test_the_expert_makes_the_expected_calls_in_order_and_no_others(talks: Talks) -> None:
    for case, reply in talks:
        assert _same(case.expected, reply.calls), (case.id, reply.calls)


def test_every_conversation_reaches_the_planned_end_state(talks: Talks) -> None:
    for case, reply in talks:
        assert StateEvaluator()(_attempt(case, reply)) == {"reached": 1.0, "precision": 1.0, "recall": 1.0}, case.id
    assert any(reply.states and reply.states.reached for _, reply in talks)


def test_no_rule_of_the_policy_is_broken(talks: Talks) -> None:
    evaluator = PolicyEvaluator(read_rules(RetailWorld().rules))
    for case, reply in talks:
        assert evaluator.notes(_attempt(case, reply)) == []


def test_lint_finds_nothing_and_no_value_is_invented(rows: list[Conversation]) -> None:
    assert lint(rows).findings == []


def test_the_filter_of_document_001_keeps_whatever_looks_for_a_user(rows: list[Conversation]) -> None:
    rules = [require("find_* > get_user_details(user_id=$result)"), consistent("user_id"), grounded(), clean()]
    looking = [one for one in rows if find(read_pattern("find_*"), answered(one)) is not None]
    assert [failed for _, failed, _ in judge(looking, rules)] == [[]] * len(rows)


def test_graded_against_themselves_the_decision_points_are_perfect(rows: list[Conversation]) -> None:
    cases = list(expand(rows))
    assert len(cases) == sum(len(one.calls) for one in rows)
    for case in cases:
        found = grade(case.expected, case.expected, tools=tools.TOOLS, messages=case.messages)
        assert found.metrics["call.score"] == 1, case.id
        assert not found.faults + found.notes, case.id


def test_one_call_at_a_time_and_nothing_is_said_beside_it(rows: list[Conversation]) -> None:
    for one in rows:
        for message in one.messages:
            assert len(message.calls) + bool(message.text) == 1
        assert (one.messages[-1].role, one.messages[-1].calls) == ("assistant", ())


def test_nothing_that_is_said_has_a_hole_in_it(rows: list[Conversation]) -> None:
    said = [message.text for one in rows for message in one.messages if message.role in ("user", "assistant") and not message.calls]
    assert all(said)
    broken = re.compile(r"[{}\[\]<>|]|None|  | [.,;!?]|\b(an?) \1\b|\ban one\b|\bthe the\b")
    assert [text for text in said if broken.search(text)] == []


def test_nobody_is_called_by_name_before_it_is_known(rows: list[Conversation], talks: Talks) -> None:
    for one, (case, _) in zip(rows, talks, strict=True):
        name = case.data["plan"]["customer"]["first_name"]
        for message in one.messages:
            if message.calls and message.calls[0].name == tools.GET_USER:
                break
            assert message.role != "assistant" or not re.search(rf"\b{name}\b(?!\.)", message.text), message.text


def test_the_expert_and_the_customer_do_not_repeat_themselves(rows: list[Conversation]) -> None:
    for one in rows:
        for role in ("user", "assistant"):
            said = [message.text for message in one.messages if message.role == role and message.text]
            assert len(set(said)) == len(said)


def test_no_two_conversations_sound_alike(rows: list[Conversation]) -> None:
    first = [next(message.text for message in one.messages if message.role == "user") for one in rows]
    last = [one.messages[-2].text for one in rows]
    assert len(set(first)) == len(first)
    assert len(set(last)) > len(last) / 2


def test_they_are_as_long_and_varied_as_real_ones(rows: list[Conversation]) -> None:
    assert 15 <= sum(len(one.messages) for one in rows) / len(rows) <= 21
    assert len({tuple(call.name for call in one.calls) for one in rows[:50]}) >= 12


def test_the_same_seed_gives_the_same_words_in_whatever_order(talks: Talks) -> None:
    some = [case for case, _ in talks[:6]]
    again = dict(zip([case.id for case in reversed(some)], held(some[::-1], seed=11), strict=True))
    assert all(again[case.id].transcript == reply.transcript for case, reply in talks[:6])
    other = RetailWorld().plans(1, seed=11)
    assert held(other, seed=12)[0].transcript != talks[0][1].transcript
