"""Rows with an input and an output: what is refused, what becomes a prediction, and what each format adds."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.types import Case
from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, result, user, write_rows

ASK = user("How is Bonn?")
BONN = assistant(call("get_weather", {"city": "Bonn"}))
ROME = assistant(call("get_weather", {"city": "Rome"}))
SORRY = assistant(text="I cannot do that.")
TWO_STEPS = [BONN, result("sunny"), ROME]


def preference(**others: Any) -> dict[str, Any]:
    return {"prompt": [ASK], "chosen": [BONN], "rejected": [ROME], "tools": [WEATHER], **others}


def dpo(**others: Any) -> dict[str, Any]:
    given = {"messages": [ASK], "tools": [WEATHER], "parallel_tool_calls": True}
    return {"input": given, "preferred_output": [BONN], "non_preferred_output": [ROME], **others}


def completion(**others: Any) -> dict[str, Any]:
    return {"prompt": [ASK], "completion": [BONN], "tools": [WEATHER], **others}


def reference(**others: Any) -> dict[str, Any]:
    return {"messages": [ASK], "tools": [WEATHER], **others}


def read_case(row: Any, **options: Any) -> Case:
    [case] = callmark.load([row], cases=True, **options)
    assert isinstance(case, Case)
    return case


@pytest.mark.parametrize(
    "row, reason",
    [
        (preference(chosen=[]), "chosen: expected an assistant message, got an empty list"),
        (preference(chosen=[user("x")]), "chosen: expected an assistant message, got a message with the role 'user'"),
        (preference(chosen=5), "chosen: expected a list of messages or a string, got a number"),
        (preference(chosen=TWO_STEPS), "chosen: expected one assistant turn, got calls in several turns"),
        (preference(chosen=[{"content": "x"}]), "chosen[0]: missing key 'role'"),
        (preference(prompt=None, chosen=[ASK, BONN], rejected=[ASK, BONN]), "expected two outputs, got the same messages on both sides"),
        (preference(prompt=None, chosen="a", rejected="b"), "prompt is missing: the two sides are strings"),
        (dpo(preferred_output=TWO_STEPS), "preferred_output: expected one assistant turn, got calls in several turns"),
        (dpo(input={"tools": []}), "input: missing key 'messages'"),
        (completion(completion=[]), "completion: expected an assistant message, got an empty list"),
        (completion(label=False), "label: expected a completion to learn from, got false"),
        (completion(completion=TWO_STEPS), "completion: expected one assistant turn, got calls in several turns"),
        (
            reference(expected_tool_calls=[call("f")], reference_answer=json.dumps([call("g")])),
            "expected_tool_calls and reference_answer: expected the same calls, got different ones",
        ),
        (
            reference(expected_tool_calls=[{"name": "f", "arguments": {"a": {"$odd": 1}}}]),
            "expected_tool_calls: f: a: unknown matcher '$odd'",
        ),
    ],
)
def test_an_output_that_is_not_clear_is_refused_with_its_field(row: Any, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        read_case(row)
    assert reason in str(error.value)


def test_a_file_of_conversations_in_several_turns_can_still_be_cut() -> None:
    cases = list(callmark.expand([completion(completion=TWO_STEPS)]))
    assert [str(case.expected[0]) for case in cases] == ['get_weather(city="Bonn")', 'get_weather(city="Rome")']


@pytest.mark.parametrize("value", ["42", 42, {"diagnosis": "flu"}, [{"get_weather": {"city": ["Bonn"]}}], ["get_weather(city='Bonn')"]])
def test_a_reference_that_is_not_a_call_is_refused_and_not_detected(value: Any) -> None:
    row = reference(ground_truth=value)
    assert callmark.load([row]).format.name == "openai"
    with pytest.raises(BadInput, match="ground_truth: expected calls, got"):
        read_case(row, format_name="reference-answers")


def test_a_reference_without_calls_expects_none() -> None:
    assert read_case(reference(expected_tool_calls=[])).expected == ()


def test_references_may_be_matchers_and_recorded_outputs_may_not() -> None:
    value = {"$any": True}
    written = read_case(reference(expected_tool_calls=[{"name": "f", "args": {"a": value}}]))
    recorded = read_case(completion(completion=[assistant(call("f", {"a": value}))]))
    assert (written.expected[0].arguments, recorded.expected[0].arguments) == ({"a": value}, {"a": {"$literal": value}})


def test_items_may_be_nested_and_their_input_may_be_a_text() -> None:
    case = read_case({"item": {"id": "i1", "input": "How is Bonn?", "reference_tool_calls": '[{"name": "f", "args": {}}]', "group": "g"}})
    assert (case.id, case.group, [(message.role, message.text) for message in case.messages]) == ("i1", "g", [("user", "How is Bonn?")])


def test_text_outputs_are_parsed_with_the_tools_of_the_row() -> None:
    case = read_case(completion(completion="Let me see.\nget_weather(city='Bonn')"))
    assert [str(expected) for expected in case.expected] == ['get_weather(city="Bonn")']


@pytest.mark.parametrize("row", [preference(id="p1"), dpo(id="p1"), preference(id=7), dpo(id=7)])
def test_the_other_side_is_a_prediction_for_the_same_case(row: Any) -> None:
    found = read_prediction(json.dumps(row).encode())
    assert (found.case, [str(actual) for actual in found.prediction.calls]) == (read_case(row).id, ['get_weather(city="Rome")'])


def test_the_rejected_side_is_graded(cli: Cli, tmp_path: Path) -> None:
    rows = [
        preference(),
        preference(rejected=[SORRY]),
        preference(rejected=[assistant(call("get_weather", {"city": "Bonn"}), text="Yes.")]),
    ]
    done = cli("grade", write_rows(tmp_path / "pairs.jsonl", *rows), "-o", tmp_path / "runs", "--name", "x", "--json")
    summary = json.loads(done.out)["summary"]
    assert (done.status, summary["cases"], summary["metrics"]["call.score"]["mean"]) == (0, 3, 0.5)  # 0.5, 0 and 1
    assert set(summary["metrics"]) >= {"call.score", "process.reliability"}
    assert not any(name.startswith(("recorded", "effort")) for name in summary["metrics"])


def test_a_pair_is_converted_to_a_conversation_with_the_preferred_side(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "pairs.jsonl", dpo())
    assert cli("convert", path, "-o", tmp_path / "sft.jsonl", "--to", "openai").status == 0
    [written] = callmark.load(tmp_path / "sft.jsonl")
    assert [str(made) for made in written.calls] == ['get_weather(city="Bonn")']


def test_show_says_what_is_expected_of_a_pair(cli: Cli, tmp_path: Path) -> None:
    shown = cli("show", write_rows(tmp_path / "pairs.jsonl", dpo())).out
    assert "OpenAI preference pairs" in shown
    assert shown.index("ASSISTANT") < shown.index("EXPECTED") < shown.rindex('get_weather(city="Bonn")')


class TestHostedEvaluation:
    """Output items and step files: an item with the output of a model."""

    def rows(self) -> list[dict[str, Any]]:
        item = {"id": "i1", "messages": [ASK], "tools": [WEATHER], "expected_output": {"tool_calls": BONN["tool_calls"]}}
        samples = [{"output_tools": BONN["tool_calls"]}, {"output_tools": ROME["tool_calls"]}, {"output_text": "Sunny."}]
        return [{"item": item, "sample": sample, "trial": trial} for trial, sample in enumerate(samples)]

    def test_outputs_for_one_item_are_not_duplicates(self) -> None:
        report = callmark.lint(self.rows())
        assert not {"duplicate_row", "near_duplicate", "duplicate_id"} & set(report.summary)

    def test_a_row_is_a_conversation_with_the_output_and_a_case_without_it(self) -> None:
        rows = list(callmark.load(self.rows()))
        assert [[str(made) for made in row.calls] for row in rows] == [['get_weather(city="Bonn")'], ['get_weather(city="Rome")'], []]
        assert rows[2].messages[-1].text == "Sunny."
        assert len({row.id for row in rows}) == 3
        assert {case.id for case in callmark.load(self.rows(), cases=True)} == {"i1"}

    def test_the_outputs_are_graded_as_trials(self, cli: Cli, tmp_path: Path) -> None:
        done = cli("grade", write_rows(tmp_path / "steps.jsonl", *self.rows()), "-o", tmp_path / "runs", "--name", "x", "--json")
        summary = json.loads(done.out)["summary"]
        assert (summary["cases"], summary["scored"], summary["metrics"]["call.score"]["mean"]) == (1, 3, 0.5)

    @pytest.mark.parametrize(
        "change, reason",
        [
            ({"item": {"foo": 1}}, "item: unknown format: expected the key"),
            ({"item": {"messages": [ASK]}}, "item: expected a case with expected calls, got a conversation"),
        ],
    )
    def test_an_item_that_is_not_a_case_is_refused(self, change: Any, reason: str) -> None:
        with pytest.raises(BadInput) as error:
            read_case({**self.rows()[0], **change})
        assert reason in str(error.value)
