"""The reward: what a completion earns, as TRL and others call it."""

import pickle
from typing import Any

import pytest

import callmark
from callmark import BadInput, Prediction
from callmark.rewards import Reward
from tests.rewards.corpus import completions
from tests.rewards.packages.__main__ import graded

TOOLS = [
    {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "book", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}}}},
]
EXPECTED = {"tool_calls": [{"name": "find", "arguments": {"id": 1, "city": "Bonn"}}]}
NOTHING: dict[str, Any] = {"tool_calls": []}
RIGHT = '<tool_call>{"name": "find", "arguments": {"id": 1, "city": "Bonn"}}</tool_call>'
HALF = '<tool_call>{"name": "find", "arguments": {"id": 2, "city": "Bonn"}}</tool_call>'
OTHER = '<tool_call>{"name": "book", "arguments": {"id": 1}}</tool_call>'
BROKEN = '<tool_call>{"name": "find", "arguments": {"id": 1, '
UNKNOWN = "<|tool_calls|>find("


def test_rewards_of_the_corpus_are_those_of_grade_to_the_bit() -> None:
    corpus = list(completions(300))
    earned = Reward()(
        [each.prompt for each in corpus],
        [each.completion for each in corpus],
        expected_output=[each.expected_output for each in corpus],
        tools=[each.tools for each in corpus],
    )
    assert earned == [graded(each) for each in corpus]
    assert len(set(earned)) > 3


@pytest.mark.parametrize(
    "completion, expected, earned",
    [
        (RIGHT, EXPECTED, 1.0),
        (HALF, EXPECTED, 0.5),
        (OTHER, EXPECTED, 0.0),
        ("Which one?", EXPECTED, 0.0),
        ("", EXPECTED, 0.0),
        ("Which one?", NOTHING, 1.0),
        (RIGHT, NOTHING, 0.0),
        ([{"role": "assistant", "content": RIGHT}], EXPECTED, 1.0),
        ([{"role": "assistant", "content": "", "tool_calls": [{"function": EXPECTED["tool_calls"][0]}]}], EXPECTED, 1.0),
        (None, EXPECTED, None),
        (Prediction("c", error="HTTP 503"), EXPECTED, None),
    ],
)
def test_completion_earns_call_score(completion: Any, expected: dict[str, Any], earned: float | None) -> None:
    assert Reward().score(completion, expected, tools=TOOLS) == earned


@pytest.mark.parametrize("completion", [BROKEN, UNKNOWN, [{"role": "assistant", "content": UNKNOWN}]])
@pytest.mark.parametrize("expected", [EXPECTED, NOTHING])
def test_unrecognized_format_earns_what_a_malformed_call_earns(completion: Any, expected: dict[str, Any]) -> None:
    assert Reward(malformed=-0.5).score(completion, expected, tools=TOOLS) == -0.5


def test_unknown_part_of_a_message_earns_what_a_malformed_call_earns() -> None:
    completion = [{"role": "assistant", "content": [{"type": "tool_thing", "x": 1}]}]
    assert Reward(malformed=-1).outcome(completion, EXPECTED).kind == "unrecognized"
    assert Reward(malformed=-1).score(completion, EXPECTED) == -1


def test_only_infrastructure_errors_earn_error() -> None:
    reward = Reward(error=0.25)
    assert [reward.score(each, EXPECTED) for each in (None, UNKNOWN, BROKEN, "")] == [0.25, 0.0, 0.0, 0.0]


def test_partial_credit_by_argument_agreement() -> None:
    reward = Reward(weights={"call.score": 0.5, "call.arguments": 0.5})
    earned = [reward.score(each, EXPECTED, tools=TOOLS) for each in (RIGHT, HALF, OTHER, "No.")]
    assert earned == [1.0, 0.5, 0.0, 0.0]  # half of .5 and half of one argument of two


def test_metric_that_cannot_apply_to_a_case_leaves_its_weight_to_the_others() -> None:
    reward = Reward(weights={"call.score": 0.5, "call.arguments": 0.5})
    assert reward.score("No.", NOTHING) == 1.0
    assert reward.score(RIGHT, NOTHING) == 0.0


def test_metric_that_a_completion_avoids_counts_as_its_worst_value() -> None:
    assert Reward(metric="call.arguments").score(OTHER, EXPECTED, tools=TOOLS) == 0.0


def test_case_to_which_no_metric_applies_is_refused() -> None:
    with pytest.raises(BadInput, match="call.arguments does not apply to a case that expects no call"):
        Reward(metric="call.arguments").score("No.", NOTHING)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"metric": "call.scor"}, "unknown metric 'call.scor'. Did you mean call.score"),
        ({"metric": "cal.score"}, "no evaluator is named cal"),
        ({"metric": "score"}, "expected EVALUATOR.METRIC"),
        ({"metric": "trajectory.redundant"}, "a lower value is better"),
        ({"weights": {"call.score": 0.4}}, "expected a sum of 1, got 0.4"),
        ({"weights": {"call.score": 1.5, "call.pass": -0.5}}, "call.pass: expected a number above 0"),
        ({"weights": {"call.score": 1.0}, "metric": "call.pass"}, "cannot be combined with weights"),
        ({"malformed": float("nan")}, "malformed: expected a finite number"),
        ({"error": float("inf")}, "error: expected a finite number"),
    ],
)
def test_invalid_reward_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("(", r"\(")):
        Reward(**options)


@pytest.mark.parametrize(
    "expected, message",
    [
        (None, "completion 1: expected_output is missing"),
        ("{", "completion 1: expected_output: expected an object or JSON text"),
        ([1], "completion 1: expected_output: expected an object with tool_calls, got list"),
        ({}, "completion 1: expected_output does not say what is expected"),
        ({"tool_calls": [{"name": "f", "arguments": {"a": {"$regex": "("}}}]}, "completion 1: f: a"),
    ],
)
def test_ground_truth_that_cannot_be_read_names_the_completion(expected: Any, message: str) -> None:
    with pytest.raises(BadInput) as error:
        Reward()([None, None], ["x", "x"], expected_output=[EXPECTED, expected])
    assert str(error.value).startswith(message)


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(BadInput, match="expected_output: expected one value for each of 2 completions, got 1 values"):
        Reward()([None, None], ["x", "x"], expected_output=[EXPECTED])


def test_completion_of_another_type_is_refused() -> None:
    with pytest.raises(BadInput, match="completion: expected text or messages, got int"):
        Reward().score(5, EXPECTED)


def test_nulls_that_pad_a_table_are_missing_arguments_unless_the_tool_requires_them() -> None:
    padded = {"role": "assistant", "tool_calls": [{"name": "find", "arguments": {"id": 1, "city": "Bonn", "note": None}}], "behavior": None}
    completion = [{"role": "assistant", "tool_calls": [{"function": {"name": "find", "arguments": '{"id": 1, "city": "Bonn"}'}}]}]
    assert Reward()([None], [completion], expected_output=[padded]) == [1.0]
    assert Reward().score(completion, padded) == 0.5  # one completion does not come from a table


def test_columns_may_be_json_text() -> None:
    import json

    assert Reward()([None], [HALF], expected_output=[json.dumps(EXPECTED)], tools=[json.dumps(TOOLS)]) == [0.5]


def test_reward_can_be_pickled_and_has_a_name_for_the_trainer() -> None:
    reward = Reward(weights={"call.score": 0.5, "call.arguments": 0.5}, malformed=-1.0)
    copied = pickle.loads(pickle.dumps(reward))
    assert copied == reward
    assert copied.score(HALF, EXPECTED) == reward.score(HALF, EXPECTED)
    assert (Reward().__name__, reward.__name__) == ("call.score", "call.score+call.arguments")


def test_shares_and_calls_are_logged_to_the_trainer() -> None:
    metrics: dict[str, float] = {}
    extra: dict[str, list[Any]] = {}
    Reward()(
        [None] * 4,
        [RIGHT, BROKEN, UNKNOWN, "No."],
        log_extra=lambda name, values: extra.update({name: values}),
        log_metric=lambda name, value: metrics.update({name: value}),
        expected_output=[EXPECTED] * 4,
        tools=[TOOLS] * 4,
    )
    assert metrics["callmark/malformed"] == metrics["callmark/unrecognized"] == metrics["callmark/no_call"] == 0.25
    assert extra["callmark/calls"][0] == 'find(id=1, city="Bonn")'


def test_match_rules_and_options_are_those_of_the_grader() -> None:
    assert Reward(match={"find.id": {"$any": True}}).score(HALF, EXPECTED) == 1.0
    assert Reward(metric="call.pass", options={"call": {"threshold": 0.5}}).score(HALF, EXPECTED) == 1.0


def failing(attempt: Any) -> float:
    """An evaluator that fails on every attempt."""
    raise ValueError("boom")


def test_evaluator_that_fails_earns_what_a_malformed_call_earns_and_warns() -> None:
    reward = Reward(metric="failing.score", evaluators=(f"{__name__}:failing",), malformed=-1)
    with pytest.warns(UserWarning, match="an evaluator failed, so the completion earns -1: .*boom"):
        assert reward.score(RIGHT, EXPECTED) == -1


def test_evaluator_of_the_prompt_sees_it() -> None:
    reward = Reward(metric="polite.please", evaluators=(f"{__name__}:Polite",))
    assert [reward.score(RIGHT, EXPECTED, prompt=prompt) for prompt in ("Please do", [{"role": "user", "content": "Do it"}])] == [1.0, 0.0]


class Polite:
    """Whether the user said please."""

    name = "polite"
    metrics = (callmark.Metric("please", "Says please", "rate"),)

    def evaluate(self, attempt: callmark.Attempt) -> callmark.Result:
        return callmark.Result({"please": float("please" in attempt.messages[0].text.casefold())})
