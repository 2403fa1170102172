"""Recorded simulations: each row is a trial of a task, with the scenario and the prediction."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.errors import BadInput
from callmark.formats.format import ReadContext
from callmark.formats.json_fields import decode_fields
from callmark.formats.tau_bench import detect, read_case, read_prediction
from callmark.types import Case, Place, Tool
from tests.conftest import Cli
from tests.rows import assistant, call, tool_call, user

BOOK = {"name": "book", "kwargs": {"to": "SEA"}}
TALK = [
    user("I want to fly"),
    assistant(call("book", {"to": "SEA"})),
    {"role": "tool", "tool_call_id": "c1", "name": "book", "content": "{}"},
]
END = [assistant(text="It is booked."), user("Thank you! ###STOP###")]


def recorded(task: Any = 3, trial: Any = 0, *, reward: Any = 1.0, traj: Any = None, **info: Any) -> dict[str, Any]:
    about = info or {"task": {"instruction": "You want to fly.", "actions": [BOOK], "outputs": []}}
    return {"task_id": task, "trial": trial, "reward": reward, "info": about, "traj": TALK + END if traj is None else traj}


def line(row: Any) -> bytes:
    return json.dumps(row).encode()


def case(row: Any, reading: ReadContext | None = None) -> Case:
    found = read_case(line(row), Place("f", 1), reading or ReadContext())
    assert isinstance(found, Case)
    return found


@pytest.mark.parametrize(
    "row, is_one",
    [
        (recorded(), True),
        ({"messages": []}, False),
        ({"task_id": 1}, False),
        ({"traj": []}, False),
        ({"id": 1, "expected_function_calls": []}, False),
    ],
)
def test_a_row_is_detected_by_task_and_trajectory(row: Any, is_one: bool) -> None:
    assert (detect(decode_fields(line(row))) > 0) is is_one


def test_the_case_is_the_scenario_of_the_task() -> None:
    found = case(recorded(7))
    assert (found.id, found.instructions, found.expected, found.messages) == ("7", "You want to fly.", (tool_call("book", to="SEA"),), ())
    assert found.is_scenario
    assert found.place == Place("f", 1)


def test_tools_come_from_a_file() -> None:
    assert case(recorded(), ReadContext(tools=(Tool("book"),))).tools == (Tool("book"),)


def test_a_recorded_value_that_looks_like_a_matcher_is_literal() -> None:
    found = case(recorded(task=1) | {"info": {"task": {"instruction": "x", "actions": [{"name": "f", "kwargs": {"a": [{"$any": True}]}}]}}})
    assert found.expected == (tool_call("f", a=[{"$literal": {"$any": True}}]),)


def test_the_prediction_of_a_trial_is_read() -> None:
    found = read_prediction(line(recorded(7, 2, reward=0.5)))
    assert (found.case, found.trial, found.reward, found.error) == ("7", 2, 0.5, "")
    assert [(one.name, one.arguments) for one in found.calls] == [("book", {"to": "SEA"})]
    assert [message.role for message in found.transcript] == ["user", "assistant", "tool", "assistant", "user"]
    assert (found.text, found.ending) == ("It is booked.", "goodbye")


@pytest.mark.parametrize(
    "traj, ending",
    [
        ([], ""),
        (TALK, ""),
        ([user("###STOP###")], "goodbye"),
        ([assistant(text="###STOP###")], ""),
        ([{"role": "tool", "name": "transfer_to_human_agents", "content": "Transfer successful"}], "transfer"),
    ],
)
def test_the_ending_is_read(traj: list[Any], ending: str) -> None:
    assert read_prediction(line(recorded(traj=traj))).ending == ending


def test_optional_fields_may_be_missing() -> None:
    row = {key: value for key, value in recorded("x").items() if key not in ("trial", "reward")}
    found = read_prediction(line(row))
    assert (found.case, found.trial, found.reward) == ("x", 0, None)


def test_a_failed_trial_is_an_error_without_a_case() -> None:
    row = recorded(traj=[], error="RateLimitError: slow down", traceback="…")
    assert read_prediction(line(row)).error == "RateLimitError: slow down"
    with pytest.raises(BadInput, match=r"info.task is missing: the trial failed \(RateLimitError: slow down\)"):
        case(row)


@pytest.mark.parametrize(
    "row, reason",
    [
        (recorded(traj=5), "traj: expected a list, got a number"),
        (recorded(traj=[{"content": "x"}]), "traj[0]: missing key 'role'"),
        (recorded(trial="one"), "trial: expected an integer, got a string"),
        (recorded(trial=-1), "trial: expected an integer of at least 0, got -1"),
        (recorded(reward="good"), "reward: expected a number, got a string"),
        (recorded(task=[1]), "task_id: expected a string, got a list"),
        (recorded(task=None), "missing key 'task_id'"),
        ({"task_id": 1, "traj": []}, "missing key 'info'"),
    ],
)
def test_a_broken_row_is_refused_with_the_field(row: Any, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        read_prediction(line(row))
    assert str(error.value) == reason


@pytest.mark.parametrize(
    "task, reason",
    [
        ({"actions": []}, "info.task: missing key 'instruction'"),
        ({"instruction": "x"}, "info.task: missing key 'actions'"),
        ({"instruction": "x", "actions": 3}, "info.task.actions: expected a list, got a number"),
        (None, "info.task is missing"),
    ],
)
def test_a_broken_task_is_refused(task: Any, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        case(recorded(task=1) | {"info": {"task": task}})
    assert str(error.value) == reason


def test_recorded_simulations_are_not_written() -> None:
    with pytest.raises(BadInput, match=r"the format tau-bench \(recorded simulations\) can only be read, not written"):
        callmark.write([case(recorded())], "-", to="tau-bench")


ANY_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "name"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@pytest.mark.laws
@given(st.sampled_from(["task_id", "trial", "reward", "info", "traj"]), ANY_JSON)
def test_a_row_is_read_or_refused_with_a_sentence(field: str, value: Any) -> None:
    for row in (recorded() | {field: value}, recorded() | {field: [value]}, recorded() | {field: {"task": value}}):
        with suppress(BadInput):
            assert read_prediction(line(row)).transcript is not None
        with suppress(BadInput):
            assert case(row).instructions


class TestGraded:
    """`callmark grade FILE`: the file carries the predictions."""

    def grade(self, cli: Cli, tmp_path: Path, rows: list[Any], *options: str) -> Any:
        file = tmp_path / "recorded.json"
        file.write_text(json.dumps(rows))
        told = cli("grade", file, "--out", tmp_path / "runs", "--json", *(options if "--name" in options else ("--name", "one", *options)))
        return json.loads(told.out) if told.out else told.err

    def test_a_case_appears_once_though_it_has_several_rows(self, cli: Cli, tmp_path: Path) -> None:
        rows = [recorded(task, trial, reward=float(task == trial)) for trial in range(2) for task in range(3)]
        told = self.grade(cli, tmp_path, rows)["summary"]
        assert (told["cases"], told["scored"]) == (3, 6)
        assert told["metrics"]["process.reliability"]["mean"] == 1
        assert told["metrics"]["recorded.reward"] == {"n": 6, "mean": 2 / 6, "low": None, "high": None}
        assert "state.reached" not in told["metrics"]
        assert [one["every"] for one in told["details"]["recorded_trials"]["pass_rates"]] == [2 / 6, 0]
        assert [one["every"] for one in told["details"]["trials"]["pass_rates"]] == [1, 1]

    def test_the_run_can_be_graded_again_by_the_same_evaluators(self, cli: Cli, tmp_path: Path) -> None:
        first = self.grade(cli, tmp_path, [recorded(1, 0), recorded(1, 1, reward=0.0)])
        again = json.loads(cli("grade", tmp_path / "runs" / "one", "--json").out)
        assert again["summary"]["metrics"] == first["summary"]["metrics"]

    def test_several_processes_give_the_same_result(self, cli: Cli, tmp_path: Path) -> None:
        rows = [recorded(task, trial, reward=float(task % 2)) for trial in range(3) for task in range(100)]
        one = self.grade(cli, tmp_path, rows, "--name", "one")
        other = self.grade(cli, tmp_path, rows, "--name", "two", "--jobs", "2")
        assert one["summary"]["cases"] == 100
        assert one["summary"] == other["summary"]

    def test_two_tasks_with_the_same_id_are_refused(self, cli: Cli, tmp_path: Path) -> None:
        other = recorded(1, 1) | {"info": {"task": {"instruction": "Another.", "actions": []}}}
        assert "duplicate case ID '1'" in self.grade(cli, tmp_path, [recorded(1, 0), other])

    def test_a_failed_trial_is_an_error_of_its_case(self, cli: Cli, tmp_path: Path) -> None:
        told = self.grade(cli, tmp_path, [recorded(1, 0), recorded(1, 1, traj=[], error="slow down")], "--skip-bad")["summary"]
        assert (told["cases"], told["scored"], told["errors"]) == (1, 1, 1)

    def test_recordings_can_be_graded_against_other_scenarios(self, cli: Cli, tmp_path: Path) -> None:
        scenarios, file = tmp_path / "scenarios.jsonl", tmp_path / "recorded.json"
        scenarios.write_text(
            json.dumps({"id": "3", "instructions": "…", "expected_function_calls": [{"functionName": "book", "arguments": {"to": "*"}}]})
        )
        file.write_text(json.dumps([recorded(3)]))
        told = json.loads(cli("grade", scenarios, "-p", file, "--out", tmp_path / "runs", "--json").out)
        assert told["summary"]["metrics"]["process.reliability"]["mean"] == 1

    def test_missing_predictions_are_reported(self, cli: Cli, tmp_path: Path) -> None:
        assert "no predictions given for" in self.grade(cli, tmp_path, [{"messages": [user("hi")]}])
        assert not (tmp_path / "runs" / "one").exists()

    def test_the_transcript_is_kept_in_the_run_folder(self, cli: Cli, tmp_path: Path) -> None:
        self.grade(cli, tmp_path, [recorded(1, 0)])
        (row,) = [json.loads(text) for text in (tmp_path / "runs" / "one" / "predictions.jsonl").read_text().splitlines()]
        assert [message["content"] for message in row["transcript"]][::4] == ["I want to fly", "Thank you! ###STOP###"]
        assert (row["reward"], row["ending"]) == (1.0, "goodbye")


class TestConversations:
    """Commands that describe, check, cut and convert data read the recorded conversations."""

    ROWS = tuple(recorded(task, trial) for trial in range(2) for task in (3, 4))

    def test_a_row_is_a_conversation_whose_id_has_the_trial(self) -> None:
        rows = list(callmark.load(list(self.ROWS)))
        assert [row.id for row in rows] == ["3-trial-0", "4-trial-0", "3-trial-1", "4-trial-1"]
        assert [message.role for message in rows[0].messages] == ["user", "assistant", "tool", "assistant", "user"]
        assert [str(made) for made in rows[0].calls] == ['book(to="SEA")']

    def test_a_case_is_read_on_request(self) -> None:
        assert [found.id for found in callmark.load(list(self.ROWS), cases=True)] == ["3", "4", "3", "4"]

    def test_statistics_count_the_messages_and_calls(self) -> None:
        stats = callmark.stats(list(self.ROWS))
        assert (stats.num_turns.total, stats.tool_calls.total) == (20, 4)

    def test_trials_are_not_copies_unless_they_are(self) -> None:
        other = recorded(3, 1, traj=[user("Seattle, please"), assistant(text="Sorry."), user("Bye. ###STOP###")])
        assert not {"duplicate_id", "duplicate_row", "near_duplicate"} & set(callmark.lint([recorded(3, 0), other]).summary)
        assert callmark.lint([recorded(3, 0), recorded(3, 1)]).summary["duplicate_row"] == 1

    def test_conversations_are_cut_and_converted(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "recorded.json"
        file.write_text(json.dumps(self.ROWS))
        assert [point.id for point in callmark.expand(file)] == ["3-trial-0:1", "4-trial-0:1", "3-trial-1:1", "4-trial-1:1"]
        for target, rows in (("openai", 4), ("anthropic", 4), ("sharegpt", 4), ("scenarios", 2)):
            done = cli("convert", file, "-o", tmp_path / "out.jsonl", "--to", target, "--json")
            assert (done.status, json.loads(done.out)["written"]) == (0, rows)

    def test_show_has_the_conversation_and_the_scenario(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "recorded.json"
        file.write_text(json.dumps(self.ROWS))
        shown = cli("show", file, "--row", "3").out
        assert "ID 3-trial-1" in shown
        assert shown.index("It is booked.") < shown.index("SCENARIO") < shown.index("You want to fly.") < shown.index("EXPECTED")
        assert "You want to fly." in cli("show", file, "--row", "3", "--markdown").out

    def test_a_failed_trial_is_a_conversation_without_a_case(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "recorded.json"
        file.write_text(json.dumps([recorded(traj=[user("hi")], error="RateLimitError")]))
        shown = cli("show", file)
        assert (shown.status, "EXPECTED" in shown.out) == (0, False)
