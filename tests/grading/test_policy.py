"""Evaluator `policy`: rules over calls and what the user said before them."""

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.types import Call, Message, Prediction
from tests.evaluations import values
from tests.rows import tool_call

SAYS = "Be careful."


def transcript_of(*steps: str) -> tuple[Message, ...]:
    """`user: …` is what the user says, `= …` a result, any other the calls of an assistant message, by name: `get, update`."""
    messages: list[Message] = []
    for step in steps:
        if step.startswith("user: "):
            messages.append(Message("user", step.removeprefix("user: ")))
        elif step.startswith("= "):
            messages.append(Message("tool", step.removeprefix("= ")))
        else:
            messages.append(Message("assistant", "", tuple(_call(part) for part in step.split(", "))))
    return tuple(messages)


def _call(text: str) -> Call:
    name, _, value = text.partition("=")
    return tool_call(name, id=value) if value else tool_call(name)


def rule(**condition: Any) -> dict[str, Any]:
    return {"id": "careful", "says": SAYS, **condition}


def evaluator(*rules: dict[str, Any]) -> PolicyEvaluator:
    return PolicyEvaluator(read_rules({"rules": list(rules)}))


def attempt(transcript: tuple[Message, ...], calls: tuple[Call, ...] | None = None) -> Attempt:
    found = tuple(call for message in transcript for call in message.calls) if calls is None else calls
    return Attempt((), found, prediction=Prediction("a", calls=found, transcript=transcript))


BEFORE = {"first": "get*", "then": "update"}
YES, WISH = "user: Yes, please.", "user: I want another title"


@pytest.mark.parametrize(
    "condition, steps, places",
    [
        # before: each call has an earlier one
        ({"before": BEFORE}, ["get", "update"], []),
        ({"before": BEFORE}, ["get", "list", "update", "update"], []),
        ({"before": BEFORE}, ["get, update"], []),
        ({"before": BEFORE}, ["update, get"], [0]),
        ({"before": BEFORE}, ["update", "get", "update"], [0]),
        ({"before": BEFORE}, ["update", "update"], [0, 1]),
        ({"before": BEFORE}, ["list"], []),
        ({"before": BEFORE}, [WISH], []),
        ({"before": {"first": ["get", "search"], "then": ["update", "close"]}}, ["search", "close"], []),
        ({"before": {"first": ["get", "search"], "then": ["update", "close"]}}, ["close", "search"], [0]),
        ({"before": {"first": "update", "then": "update"}}, ["update", "update"], [0]),
        # confirmed: the user's last words
        ({"confirmed": "update"}, [WISH, YES, "update"], []),
        ({"confirmed": "update"}, [YES, "get", "= {}", "update"], []),
        ({"confirmed": "update"}, [WISH, "update"], [1]),
        ({"confirmed": "update"}, [YES, WISH, "update"], [2]),
        ({"confirmed": "update"}, ["update"], [0]),
        ({"confirmed": "update"}, ["user: yes, but change the title", "update"], [1]),
        ({"confirmed": "update"}, ["get", WISH], []),
        ({"confirmed": "update", "words": ["ja"]}, ["user: Ja!", "update"], []),
        ({"confirmed": "update", "words": ["ja"]}, [YES, "update"], [1]),
        ({"confirmed": "update", "words": "ja"}, ["user: Ja!", "update"], []),
        # once per confirmation: each call uses up a yes
        ({"once_per_confirmation": "up*"}, [YES, "update"], []),
        ({"once_per_confirmation": "up*"}, [YES, "update", YES, "update"], []),
        ({"once_per_confirmation": "up*"}, [YES, "update", "= Error", "update"], [3]),
        ({"once_per_confirmation": "up*"}, [YES, "update, upgrade, update"], [1, 1]),
        ({"once_per_confirmation": "up*"}, [YES, "update", WISH, "update"], [3]),
        ({"once_per_confirmation": "up*"}, [YES, YES, "update, update"], [2]),
        ({"once_per_confirmation": "up*"}, [WISH, "update"], [1]),
        # never
        ({"never": "delete"}, ["get"], []),
        ({"never": "delete"}, ["get", "delete", "delete"], [1, 2]),
        ({"never": ["delete", "drop"]}, ["drop"], [0]),
        ({"never": 'f(id="1")'}, ["f=2", "f=1"], [1]),
        ({"never": "a > b"}, ["a", "c", "b"], []),
        ({"never": "a > b"}, ["a", "c", "a", "b"], [3]),
        ({"never": "a >> b"}, ["a", "c", "b", "b"], [2, 3]),
        ({"never": "a >> b"}, ["b", "a"], []),
        ({"never": "a > a"}, ["a", "a", "a"], [1, 2]),
        ({"never": "a > b >> c"}, ["a", "x", "a", "b", "x", "c"], [5]),
        ({"never": "a > f(id=$result)"}, ["a", "= 7", "f=7"], [2]),
        ({"never": "a > f(id=$result)"}, ["a", "= 8", "f=7"], []),
        ({"never": "a >> f(id=$result)"}, ["a", "= 7", "a", "= 8", "x", "f=7"], [5]),
        # at most
        ({"at_most": {"times": 2, "calls": "search"}}, ["search", "get", "search"], []),
        ({"at_most": {"times": 2, "calls": "search"}}, ["search", "search", "search", "search"], [2, 3]),
        ({"at_most": {"times": 0, "calls": "search"}}, ["search"], [0]),
        ({"at_most": {"times": 1, "calls": ["search", "list"]}}, ["search", "list"], [1]),
    ],
)
def test_calls_that_violate_a_rule(condition: dict[str, Any], steps: list[str], places: list[int]) -> None:
    found, attempted = evaluator(rule(**condition)), attempt(transcript_of(*steps))
    notes = found.evaluate(attempted).notes
    assert [note.message for note in notes] == places
    assert {note.kind for note in notes} <= {"policy_violation"}
    kept = float(not places)
    assert values(found, attempted) == {"followed": kept, "rules": kept}


def test_rules_metric_is_the_share_of_rules_that_are_followed() -> None:
    found = evaluator(rule(never="a"), {**rule(never="b"), "id": "b"}, {**rule(never="c"), "id": "c"}, {**rule(never="d"), "id": "d"})
    assert values(found, attempt(transcript_of("a", "a", "b"))) == {"followed": 0, "rules": 0.5}


@pytest.mark.parametrize(
    "condition, steps, how",
    [
        ({"before": BEFORE}, ["update"], "update was called without an earlier get*"),
        ({"before": {"first": ["get", "list"], "then": "u*"}}, ["update"], "update was called without an earlier get or list"),
        ({"confirmed": "update"}, ["update"], "update was called before any user message"),
        ({"confirmed": "update"}, [WISH, "update"], 'update was called after "I want another title", which is not a confirmation'),
        ({"confirmed": "update"}, [f"user: {'x ' * 99}", "update"], f'update was called after "{"x " * 40}…", which is not a confirmation'),
        ({"once_per_confirmation": "*"}, [YES, "a", "b"], "b was called after a confirmation that was already used for a"),
        ({"once_per_confirmation": "*"}, ["a"], "a was called without an earlier confirmation"),
        ({"never": "a > b"}, ["a", "b"], "b was called"),
        ({"at_most": {"times": 1, "calls": "*"}}, ["a", "b"], "b was call number 2 to match the rule, expected at most 1"),
    ],
)
def test_note_describes_the_violation(condition: dict[str, Any], steps: list[str], how: str) -> None:
    (note,) = evaluator(rule(**condition)).evaluate(attempt(transcript_of(*steps))).notes
    assert note.sentence == f"careful (Be careful): {how}"


def test_note_has_the_message_and_the_call() -> None:
    transcript = transcript_of(WISH, "get", "= {}", WISH, "list, update")
    (note,) = evaluator(rule(never="update")).evaluate(attempt(transcript)).notes
    assert (note.message, note.actual_index) == (4, 2)
    (note,) = evaluator(rule(never="update")).evaluate(attempt(transcript, (tool_call("get"),))).notes  # other calls than in the transcript
    assert (note.message, note.actual_index) == (4, None)


def test_malformed_call_matches_no_rule() -> None:
    broken = Call("update", {}, None, "truncated JSON", "{")
    assert values(evaluator(rule(never="*")), attempt((Message("assistant", "", (broken,)),)))["followed"] == 1


def test_number_of_notes_is_limited() -> None:
    assert len(evaluator(rule(never="a")).evaluate(attempt(transcript_of(*["a"] * 300))).notes) == 20


def test_long_patterns_over_many_calls_are_fast() -> None:
    attempted = attempt(transcript_of("c", *["a"] * 3000))
    assert values(evaluator(rule(never="a >> a >> a >> c")), attempted)["followed"] == 1


class TestWithoutATranscript:
    def test_only_rules_on_calls_alone_are_checked(self) -> None:
        found = evaluator(rule(never="update"), {**rule(confirmed="update"), "id": "asked"})
        attempted = Attempt((), (tool_call("get"), tool_call("update")), prediction=Prediction("a"))
        assert values(found, attempted) == {"followed": 0, "rules": 0}
        (note,) = found.evaluate(attempted).notes
        assert (note.message, note.actual_index) == (None, 1)

    @pytest.mark.parametrize("condition", [{"confirmed": "*"}, {"once_per_confirmation": "*"}, {"never": "a > f(id=$result)"}])
    def test_without_a_checkable_rule_nothing_is_applicable(self, condition: dict[str, Any]) -> None:
        found = evaluator(rule(**condition))
        for attempted in (Attempt((), (tool_call("a"),)), Attempt((), (tool_call("a"),), prediction=Prediction("a"))):
            assert values(found, attempted) == {}
            assert found.evaluate(attempted).notes == ()

    def test_without_rules_nothing_is_applicable(self) -> None:
        assert values(PolicyEvaluator(), attempt(transcript_of("a"))) == {}


WRITTEN = """
rules:
  - id: look-first
    says: A ticket is looked up before it is changed.
    before: {first: "*get_support_ticket", then: ["*update_*"]}
  - id: ask-first
    says: Nothing is written that the user did not confirm.
    confirmed: ["*create_*", "*update_*"]
    words: [ja]
  - {id: loop, says: Once is enough., never: "*start_over > *start_over"}
  - id: few
    says: Three are enough.
    at_most: {times: 3, calls: "*search_*"}
"""


def test_rules_are_read_from_yaml() -> None:
    first, second, third, fourth = read_rules(yaml.safe_load(WRITTEN))
    assert (first.id, first.kind, [one.text for one in first.first], [one.text for one in first.calls]) == (
        "look-first",
        "before",
        ["*get_support_ticket"],
        ["*update_*"],
    )
    assert (second.kind, second.words, len(second.calls)) == ("confirmed", ("ja",), 2)
    assert [step.gap for step in third.calls[0].steps] == ["first", "next"]
    assert (fourth.kind, fourth.times, fourth.says) == ("at_most", 3, "Three are enough.")


@pytest.mark.parametrize(
    "written, reason",
    [
        ("", "expected an object with the key rules, got nothing"),
        ("[]", "expected an object with the key rules, got an empty list"),
        ("rule: []", "expected an object with the key rules, got the key rule"),
        ("rules: []\nruels: 1", "unknown key 'ruels'. Did you mean rules?"),
        ("rules: []", "rules: expected a list of at least one rule, got an empty list"),
        ("rules: {a: 1}", "rules: expected a list of at least one rule, got an object"),
        ("rules: [never]", "rule 1: expected an object with id, says and a check, got 'never'"),
        ("rules: [{says: x, never: f}]", "rule 1: missing key 'id'"),
        ("rules: [{id: 1, says: x, never: f}]", "rule 1: id: expected a string, got 1"),
        ("rules: [{id: a, never: f}]", "rule 'a': missing key 'says'"),
        ("rules: [{id: a, says: '', never: f}]", "rule 'a': says: expected a string, got an empty string"),
        ("rules: [{id: a, says: x, nevr: f}]", "rule 'a': unknown key 'nevr'. Did you mean never?"),
        ("rules: [{id: a, says: x}]", "rule 'a': expected one of before, confirmed, once_per_confirmation, never, at_most, got none"),
        (
            "rules: [{id: a, says: x, never: f, confirmed: f}]",
            "rule 'a': expected one of before, confirmed, once_per_confirmation, never, at_most, got confirmed and never",
        ),
        ("rules: [{id: a, says: x, never: f}, {id: a, says: x, never: f}]", "rule 2: the ID 'a' is already used by another rule"),
        (
            "rules: [{id: a, says: x, never: 'f('}]",
            "rule 'a': never: pattern 'f(', character 3: expected ARGUMENT=VALUE, got the end of the pattern",
        ),
        ("rules: [{id: a, says: x, never: [f, 'g >']}]", "rule 'a': never: pattern 'g >', character 4: expected a tool name"),
        ("rules: [{id: a, says: x, never: 3}]", "rule 'a': never: expected a pattern or a list of them, got 3"),
        ("rules: [{id: a, says: x, never: }]", "rule 'a': never: expected a pattern or a list of them, got nothing"),
        ("rules: [{id: a, says: x, never: []}]", "rule 'a': never: expected a pattern or a list of them, got an empty list"),
        ("rules: [{id: a, says: x, before: f}]", "rule 'a': before: expected an object with first and then, got 'f'"),
        ("rules: [{id: a, says: x, before: {first: f}}]", "rule 'a': before: missing key 'then'"),
        (
            "rules: [{id: a, says: x, before: {frist: f, then: g}}]",
            "rule 'a': before: unknown key 'frist'. Did you mean first?",
        ),
        ("rules: [{id: a, says: x, at_most: {times: -1, calls: f}}]", "rule 'a': times: expected an integer of at least 0, got -1"),
        ("rules: [{id: a, says: x, at_most: {times: true, calls: f}}]", "rule 'a': times: expected an integer of at least 0, got True"),
        ("rules: [{id: a, says: x, at_most: {calls: f}}]", "rule 'a': at_most: missing key 'times'"),
        (
            "rules: [{id: a, says: x, never: f, words: [ja]}]",
            "rule 'a': words can be used only with confirmed and once_per_confirmation, not with never",
        ),
        ("rules: [{id: a, says: x, confirmed: f, words: [no]}]", "rule 'a': words: expected a string or a list of them, got False"),
        ("rules: [{id: a, says: x, confirmed: f, words: []}]", "rule 'a': words: expected a string or a list of them, got an empty list"),
        ("rules: [{id: a, says: x, confirmed: f, words: [ja, '!!']}]", "rule 'a': words: expected letters or digits, got '!!'"),
    ],
)
def test_invalid_policy_is_rejected_with_rule_and_reason(written: str, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        read_rules(yaml.safe_load(written))
    assert str(error.value).startswith(reason)


ANY_YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["f", "f(", "a > b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["rules", "id", "says", "never", "before", "first", "then", "at_most", "words", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@pytest.mark.laws
@given(ANY_YAML)
def test_any_value_is_a_policy_or_rejected(value: Any) -> None:
    for given_value in (value, {"rules": value}, {"rules": [value]}):
        with suppress(BadInput):
            assert read_rules(given_value)


RULES = evaluator(
    rule(before=BEFORE),
    {**rule(confirmed="*"), "id": "b"},
    {**rule(once_per_confirmation="*"), "id": "c"},
    {**rule(never="get >> update(id=$result)"), "id": "d"},
    {**rule(at_most={"times": 1, "calls": ["get", "update"]}), "id": "e"},
)
any_calls = st.lists(
    st.builds(Call, st.sampled_from(["get", "update", ""]), st.just({"id": "1"}), malformed=st.sampled_from(["", "truncated JSON"]))
)
any_messages = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant", "tool", "system", "?"]),
        st.sampled_from(["yes", "no", "1", ""]) | st.text(),
        any_calls.map(tuple),
        st.none() | st.just("c"),
    ),
    max_size=6,
)


@pytest.mark.laws
@given(any_messages)
def test_any_transcript_has_a_note_exactly_for_violated_rules(messages: list[Message]) -> None:
    attempted = attempt(tuple(messages))
    numbers = values(RULES, attempted)
    assert all(0 <= value <= 1 for value in numbers.values())
    assert (numbers["followed"] == 1) == (numbers["rules"] == 1) == (not RULES.evaluate(attempted).notes)
