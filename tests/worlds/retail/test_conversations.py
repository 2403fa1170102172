"""A hundred and fifty conversations of the store's expert with its users, as synthesis makes them."""

import re

import pytest

from callmark.calls.matchers import has_matcher
from callmark.calls.sequence import calls_with_results, find_pattern, read_pattern
from callmark.data.expand import expand
from callmark.data.filter import apply_rules, clean, consistent, grounded, require
from callmark.data.lint import lint
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.evaluators.state import StateEvaluator
from callmark.grading.grade import grade
from callmark.types import Call, Case, Conversation, Prediction
from callmark.worlds.retail import tools
from callmark.worlds.retail.world import RetailWorld
from tests.worlds.retail.conversations import run_conversations, to_conversation

Predictions = list[tuple[Case, Prediction]]


@pytest.fixture(scope="module")
def predictions() -> Predictions:
    cases = RetailWorld().plans(150, seed=11)
    return list(zip(cases, run_conversations(cases, seed=11), strict=True))


@pytest.fixture(scope="module")
def rows(predictions: Predictions) -> list[Conversation]:
    return [to_conversation(case, prediction) for case, prediction in predictions]


def matches_expected(expected: tuple[Call, ...], calls: tuple[Call, ...]) -> bool:
    return [call.name for call in expected] == [call.name for call in calls] and all(
        has_matcher(call.arguments) or call.arguments == actual.arguments for call, actual in zip(expected, calls, strict=True)
    )


def _attempt(case: Case, prediction: Prediction) -> Attempt:
    return Attempt(case.expected, prediction.calls, prediction=prediction)


def test_every_conversation_completes(predictions: Predictions) -> None:
    for case, prediction in predictions:
        is_transferred = case.data["plan"]["goals"][-1]["outcome"] == "transferred"
        assert prediction.ending == ("transfer" if is_transferred else "completed"), case.id


def test_expert_makes_exactly_the_expected_calls_in_order(predictions: Predictions) -> None:
    for case, prediction in predictions:
        assert matches_expected(case.expected, prediction.calls), (case.id, prediction.calls)


def test_every_conversation_reaches_the_expected_state(predictions: Predictions) -> None:
    for case, prediction in predictions:
        assert StateEvaluator().evaluate(_attempt(case, prediction)).values == {"reached": 1.0, "precision": 1.0, "recall": 1.0}, case.id
    assert any(prediction.states and prediction.states.reached for _, prediction in predictions)


def test_no_policy_rule_is_broken(predictions: Predictions) -> None:
    evaluator = PolicyEvaluator(read_rules(RetailWorld().rules))
    for case, prediction in predictions:
        assert evaluator.evaluate(_attempt(case, prediction)).notes == ()


def test_lint_finds_nothing_and_no_value_is_hallucinated(rows: list[Conversation]) -> None:
    assert lint(rows).findings == []


def test_filter_keeps_every_conversation_that_looks_up_a_user(rows: list[Conversation]) -> None:
    rules = [require("find_* > get_user_details(user_id=$result)"), consistent("user_id"), grounded(), clean()]
    lookups = [conversation for conversation in rows if find_pattern(read_pattern("find_*"), calls_with_results(conversation)) is not None]
    assert [failed for _, failed, _ in apply_rules(lookups, rules)] == [[]] * len(rows)


def test_decision_points_graded_against_themselves_are_perfect(rows: list[Conversation]) -> None:
    cases = list(expand(rows))
    assert len(cases) == sum(len(conversation.calls) for conversation in rows)
    for case in cases:
        found = grade(case.expected, case.expected, tools=tools.TOOLS, messages=case.messages)
        assert found.metrics["call.score"] == 1, case.id
        assert not found.faults + found.notes, case.id


def test_expert_makes_one_call_at_a_time_without_accompanying_text(rows: list[Conversation]) -> None:
    for conversation in rows:
        for message in conversation.messages:
            assert len(message.calls) + bool(message.text) == 1
        assert (conversation.messages[-1].role, conversation.messages[-1].calls) == ("assistant", ())


def test_no_utterance_has_an_unfilled_placeholder(rows: list[Conversation]) -> None:
    texts = [
        message.text
        for conversation in rows
        for message in conversation.messages
        if message.role in ("user", "assistant") and not message.calls
    ]
    assert all(texts)
    broken = re.compile(r"[{}\[\]<>|]|None|  | [.,;!?]|\b(an?) \1\b|\ban one\b|\bthe the\b")
    assert [text for text in texts if broken.search(text)] == []


def test_expert_uses_the_name_only_once_it_is_known(rows: list[Conversation], predictions: Predictions) -> None:
    for conversation, (case, _) in zip(rows, predictions, strict=True):
        name = case.data["plan"]["customer"]["first_name"]
        for message in conversation.messages:
            if message.calls and message.calls[0].name == tools.GET_USER:
                break
            assert message.role != "assistant" or not re.search(rf"\b{name}\b(?!\.)", message.text), message.text


def test_expert_and_user_do_not_repeat_themselves(rows: list[Conversation]) -> None:
    for conversation in rows:
        for role in ("user", "assistant"):
            texts = [message.text for message in conversation.messages if message.role == role and message.text]
            assert len(set(texts)) == len(texts)


def test_no_two_conversations_are_near_duplicates(rows: list[Conversation]) -> None:
    first = [next(message.text for message in conversation.messages if message.role == "user") for conversation in rows]
    last = [conversation.messages[-2].text for conversation in rows]
    assert len(set(first)) == len(first)
    assert len(set(last)) > len(last) / 2


def test_conversations_are_as_long_and_varied_as_real_ones(rows: list[Conversation]) -> None:
    assert 15 <= sum(len(conversation.messages) for conversation in rows) / len(rows) <= 21
    assert len({tuple(call.name for call in conversation.calls) for conversation in rows[:50]}) >= 12


def test_same_seed_gives_the_same_conversation_in_any_order(predictions: Predictions) -> None:
    some = [case for case, _ in predictions[:6]]
    again = dict(zip([case.id for case in reversed(some)], run_conversations(some[::-1], seed=11), strict=True))
    assert all(again[case.id].transcript == prediction.transcript for case, prediction in predictions[:6])
    other = RetailWorld().plans(1, seed=11)
    assert run_conversations(other, seed=12)[0].transcript != predictions[0][1].transcript
