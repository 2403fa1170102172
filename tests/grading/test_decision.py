"""Evaluator `decision`: a case for every sentence of docs/reference/metrics.md, section 20."""

import msgspec
import pytest

from callmark.analysis.summary import Tally
from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.format import ReadContext
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.decision import DecisionEvaluator
from callmark.grading.grader import Grader
from callmark.grading.reply_behavior import reply_behavior
from callmark.grading.settings import GradingSettings
from callmark.types import Behavior, Call, Case, Message, Place, Prediction
from tests.rows import tool_call

F = tool_call("f")
BROKEN = Call("f", {}, None, "truncated JSON", "{")


@pytest.mark.parametrize(
    "expected, actual, correct, over, under",
    [
        ([F], [F], 1, None, 0),
        ([F], [tool_call("g")], 1, None, 0),  # whether to call, not what
        ([F], [BROKEN], 1, None, 0),  # a malformed call is a call
        ([F], [], 0, None, 1),
        ([], [], 1, 0, None),
        ([], [F], 0, 1, None),
        ([], [BROKEN], 0, 1, None),
    ],
)
def test_decision(expected: list[Call], actual: list[Call], correct: float, over: float | None, under: float | None) -> None:
    result = DecisionEvaluator().evaluate(Attempt(expected, actual))
    found = result.values
    assert (found["correct"], found["over_calling"], found["under_calling"]) == (correct, over, under)
    assert result.category == ("call" if expected else "no_call", "call" if actual else "no_call")
    assert found["behavior"] is None


@pytest.mark.parametrize(
    "expected, actual, messages, share",
    [
        ([], [tool_call("f", id="W1")], True, 0),
        ([], [tool_call("f", id="W2")], True, 1),
        ([], [tool_call("f", id="W1"), tool_call("f", id="W2")], True, 0.5),
        ([], [tool_call("calculate", id="W2")], True, 0),  # its values are computed
        ([], [BROKEN], True, 0),
        ([], [tool_call("f", id="W2")], False, None),  # without a conversation, nothing is known
        ([], [], True, None),
        ([F], [tool_call("f", id="W2")], True, None),  # a call was right
    ],
)
def test_share_of_wrong_calls_with_a_hallucinated_value(
    expected: list[Call], actual: list[Call], messages: bool, share: float | None
) -> None:
    result = DecisionEvaluator().evaluate(Attempt(expected, actual, messages=[Message("user", "Where is W1?")] if messages else []))
    assert result.values["hallucinated"] == share
    assert result.pooled == ({} if share is None else {"hallucinated": (share * len(actual), len(actual))})


@pytest.mark.parametrize(
    "text, behavior",
    [
        ("Which city?", "ask"),
        ("Which city do you mean, please? I have several.", "ask"),
        ("您要去哪个城市？", "ask"),
        ("ما هي المدينة؟", "ask"),
        ('Did you mean "Bonn?"', "ask"),
        ("Please provide your order number.", "ask"),
        ("Could you please specify the date.", "ask"),
        ("To book it, I need your passport number.", "ask"),
        ("I'm sorry, but I cannot do that. Which city do you mean?", "ask"),  # asks, whatever else it says
        ("I’m sorry, but I can’t help with that.", "decline"),
        ("I am unable to access your calendar.", "decline"),
        ("I don't have access to real-time data.", "decline"),
        ("None of the available tools can do this.", "decline"),
        ("That is beyond my capabilities. Is there anything else I can help you with?", "decline"),
        ("I cannot help with that. Let me know if you have any other questions!", "decline"),
        ("Your order has shipped.", "answer"),
        ("Your order has shipped. Anything else?", "answer"),
        ("It is 20 °C. Is there anything else I can help you with today?", "answer"),
        ("Done! Let me know if you need anything else.", "answer"),
        ("Done. Please feel free to reach out if you have further questions.", "answer"),
        ("Paris is the capital of France. How can I assist you further?", "answer"),
        ("Hunde können nicht fliegen.", "answer"),
        ("Track it at https://shop.example/track?id=7&next=b.", "answer"),
        ("It is on www.shop.example/?id=7", "answer"),
        ("Have you seen https://shop.example/track?", "ask"),
        ("See https://shop.example/?id=7 first. Which order is it?", "ask"),
        ("", "answer"),
        (" \n ", "answer"),
    ],
)
def test_behavior_of_a_reply(text: str, behavior: Behavior) -> None:
    assert reply_behavior(text) == behavior


@pytest.mark.parametrize(
    "text",
    [
        "i am " * 200_000,
        "http://?" * 200_000,
        "www." + "?" * 1_000_000,
        "?" * 1_000_000,
        "let me know if " * 100_000,
        "i can't " * 200_000,
        "." * 1_000_000,
    ],
)
def test_hostile_reply_has_a_behavior(text: str) -> None:
    assert reply_behavior(text) in ("ask", "decline", "answer")


@pytest.mark.parametrize(
    "stated, text, actual, value",
    [
        ("ask", "Which city?", (), 1),
        ("ask", "It is sunny.", (), 0),
        ("answer", "It is sunny.", (), 1),
        ("decline", "I cannot help with that.", (), 1),
        ("ask", "Which city?", (F,), 0),  # a call was made
        ("", "Which city?", (), None),
    ],
)
def test_behavior_is_compared_where_the_case_states_it(stated: Behavior, text: str, actual: tuple[Call, ...], value: float | None) -> None:
    attempt = Attempt((), actual, case=Case("c", behavior=stated), prediction=Prediction("c", calls=actual, text=text))
    result = DecisionEvaluator().evaluate(attempt)
    assert result.values["behavior"] == value
    assert all(reason.endswith("(heuristic)") for reason in result.reasons.values())
    assert list(result.reasons) == ([] if value is None else ["behavior"])


def test_lower_is_better_for_what_went_wrong() -> None:
    assert [metric.name for metric in DecisionEvaluator.metrics if not metric.higher_is_better] == [
        "over_calling",
        "under_calling",
        "hallucinated",
    ]


def read(row: dict[str, object]) -> Case:
    found = openai.read(msgspec.json.encode(row), Place("cases.jsonl", 1), ReadContext())
    assert isinstance(found, Case)
    return found


def row(**expected_output: object) -> dict[str, object]:
    return {
        "messages": [{"role": "user", "content": "Hello"}],
        "expected_output": {"role": "assistant", "tool_calls": [], **expected_output},
    }


def test_behavior_is_read_from_a_case_and_written() -> None:
    case = read(row(behavior="ask"))
    assert case.behavior == "ask"
    assert msgspec.json.decode(openai.write(case))["expected_output"]["behavior"] == "ask"
    with pytest.raises(BadInput, match='expected_output.behavior: expected ask, answer or decline, got "refuse"'):
        read(row(behavior="refuse"))


def test_dependencies_are_read_from_a_case() -> None:
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "function": {"name": "g", "arguments": "{}"}, "after": ["a"]},
    ]
    case = read(row(tool_calls=calls, alternatives=[calls[:1]]))
    assert case.dependencies == (((0, 1),), ())
    assert read(row(tool_calls=calls[:1])).dependencies == ()
    with pytest.raises(BadInput, match=r'expected_output.tool_calls\[1\].after: no expected call has the ID "z"'):
        read(row(tool_calls=[calls[0], {**calls[1], "after": ["z"]}]))


def test_summary_has_rates_and_matrix() -> None:
    grader = Grader(GradingSettings(("decision",)))
    tally = Tally(grader.metrics)
    for index, (expected, actual) in enumerate([((F,), (F,)), ((F,), ()), ((F,), (F,)), ((), ()), ((), (F,))]):
        case = f"c{index}"
        for record in grader.record(Case(case, expected=expected), [Prediction(case, calls=actual)]):
            tally.add(record)
    summary = tally.summary()
    assert summary.categories == {"decision": {"call": {"call": 2, "no_call": 1}, "no_call": {"no_call": 1, "call": 1}}}
    means = {name: (estimate.n, estimate.mean) for name, estimate in summary.metrics.items()}
    assert means["decision.correct"] == (5, 0.6)
    assert means["decision.over_calling"] == (2, 0.5)
    assert means["decision.under_calling"] == (3, 1 / 3)
