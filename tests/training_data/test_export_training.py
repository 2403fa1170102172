"""Training data from failures: what each row teaches, what is kept out, and the formats."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark import BadInput, Run
from tests.conftest import Cli
from tests.rewards.failed_run import failed_run, hotel_cases, write_rows

ROLES = {"system", "user", "assistant", "tool"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return failed_run(tmp_path_factory.mktemp("failed"), hotel_cases(0, 12))


@pytest.fixture(scope="module")
def test_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("test") / "eval.jsonl", hotel_cases(12))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_usable(row: dict[str, Any]) -> bool:
    """Return whether no call in a row is malformed; the dataset has one conversation with such a call."""
    messages = [*row["messages"], row["expected_output"]]
    texts = [call["function"]["arguments"] for message in messages for call in message.get("tool_calls") or []]
    return all(text.endswith("}") for text in texts)


def test_sft_rows_have_the_expected_call_at_each_failed_decision_point(run: Run, test_file: Path, tmp_path: Path) -> None:
    report = callmark.export_training(run, tmp_path / "sft.jsonl", test=test_file)
    cases = {row["id"]: row for row in hotel_cases(0, 12)}
    failed = {grade.case for grade in run.grades() if grade.metrics["call.score"] < 1}
    expected = [row["expected_output"]["tool_calls"] for name, row in cases.items() if name in failed and is_usable(row)]
    expected = [calls for calls in expected if calls]
    calls = [row["messages"][-1]["tool_calls"] for row in read(tmp_path / "sft.jsonl") if "tool_calls" in row["messages"][-1]]
    made = [[(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in each] for each in calls]
    right = [[(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in each] for each in expected]
    assert [each for each in right if each in made] == made
    assert len(right) - len(made) == report.duplicates + sum(report.leaks.values())
    assert (report.rows, report.failed) == (len(read(tmp_path / "sft.jsonl")), len(failed))


def check_openai_messages(messages: list[dict[str, Any]]) -> None:
    """Check what OpenAI requires of messages: roles, ids, arguments as JSON text, and a result for each call before the next turn."""
    open_calls: list[str] = []
    for message in messages:
        assert message["role"] in ROLES
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        for call in message.get("tool_calls", []):
            assert call["type"] == "function"
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            open_calls.append(call["id"])
        assert isinstance(message["content"], str)
        assert message["content"] or message.get("tool_calls")


def test_openai_sft_file_follows_the_rules(run: Run, test_file: Path, tmp_path: Path) -> None:
    callmark.export_training(run, tmp_path / "sft.jsonl", test=test_file)
    rows = read(tmp_path / "sft.jsonl")
    assert len(rows) >= 10
    for row in rows:
        assert set(row) == {"messages", "tools"}
        check_openai_messages(row["messages"])
        assert [message.get("weight") for message in row["messages"] if message["role"] == "assistant"][:-1] == [
            0 for message in row["messages"][:-1] if message["role"] == "assistant"
        ]
        assert row["messages"][-1]["role"] == "assistant"
        assert "weight" not in row["messages"][-1]
        assert all(tool["type"] == "function" and tool["function"]["name"] for tool in row["tools"])


def test_openai_preference_file_follows_the_rules(run: Run, test_file: Path, tmp_path: Path) -> None:
    callmark.export_training(run, tmp_path / "dpo.jsonl", kind="dpo", test=test_file)
    for row in read(tmp_path / "dpo.jsonl"):
        assert set(row) == {"input", "preferred_output", "non_preferred_output"}
        assert set(row["input"]) == {"messages", "tools"}
        for side in ("preferred_output", "non_preferred_output"):
            assert [message["role"] for message in row[side]] == ["assistant"]
            check_openai_messages([*row["input"]["messages"], *row[side]])
        assert row["preferred_output"] != row["non_preferred_output"]


@pytest.mark.parametrize("target", ["openai", "trl"])
def test_preference_pairs_are_read_back_as_cases_with_predictions(run: Run, test_file: Path, tmp_path: Path, target: Any) -> None:
    path = tmp_path / "dpo.jsonl"
    callmark.export_training(run, path, kind="dpo", to=target, test=test_file)
    ids = [{"id": f"p{number}", **row} for number, row in enumerate(read(path))]
    again = callmark.grade(write_rows(path, ids), out=tmp_path / "runs", name="pairs")
    scores = [grade.metrics["call.score"] for grade in again.grades() if not grade.error]
    assert scores
    assert max(scores) < 1  # what was rejected is wrong
    assert "malformed_call" in {fault.kind for grade in again.grades() for fault in grade.faults}


def test_trl_rows_have_arguments_as_objects_and_tools_as_text(run: Run, test_file: Path, tmp_path: Path) -> None:
    callmark.export_training(run, tmp_path / "sft.jsonl", to="trl", test=test_file)
    for row in read(tmp_path / "sft.jsonl"):
        assert set(row) == {"prompt", "completion", "tools"}
        assert json.loads(row["tools"])[0]["type"] == "function"
        calls = [call for message in [*row["prompt"], *row["completion"]] for call in message.get("tool_calls", [])]
        assert all(isinstance(call["function"]["arguments"], dict) for call in calls)


def test_sharegpt_rows_are_conversations_that_are_read_back(run: Run, test_file: Path, tmp_path: Path) -> None:
    callmark.export_training(run, tmp_path / "sft.jsonl", to="sharegpt", test=test_file)
    callmark.export_training(run, tmp_path / "openai.jsonl", test=test_file)
    shared, openai = (list(callmark.load(tmp_path / name)) for name in ("sft.jsonl", "openai.jsonl"))
    assert [[str(call) for call in row.calls] for row in shared] == [[str(call) for call in row.calls] for row in openai]
    callmark.export_training(run, tmp_path / "dpo.jsonl", kind="dpo", to="sharegpt", test=test_file)
    row = read(tmp_path / "dpo.jsonl")[0]
    assert row["chosen"]["from"] == row["rejected"]["from"] == "gpt"
    assert row["chosen"] != row["rejected"]


def test_training_on_an_evaluation_file_is_refused_unless_it_is_allowed(run: Run, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="training on them would make cases.jsonl useless as a test"):
        callmark.export_training(run, tmp_path / "sft.jsonl")
    with pytest.raises(BadInput, match="its cases are the evaluation file .*, so this would train on the test"):
        callmark.export_training(run, tmp_path / "sft.jsonl", test=run.path.parents[1] / "cases.jsonl")
    assert not (tmp_path / "sft.jsonl").exists()
    with pytest.raises(BadInput, match="--test and --allow-test cannot be combined"):
        callmark.export_training(run, tmp_path / "sft.jsonl", test="x", allow_test=True)
    assert callmark.export_training(run, tmp_path / "sft.jsonl", allow_test=True).rows


def test_cases_in_the_evaluation_file_are_removed_and_counted(run: Run, tmp_path: Path) -> None:
    rows = hotel_cases(0, 12)
    conversations = list(dict.fromkeys(row["source"]["conversation"] for row in rows))
    exact = [row for row in rows if row["source"]["conversation"] == conversations[0]]
    near = [json.loads(json.dumps(row)) for row in rows if row["source"]["conversation"] == conversations[1]]
    for row in near:
        row["messages"][-1]["content"] = f"{row['messages'][-1]['content']} Thanks!"
    test = write_rows(tmp_path / "eval.jsonl", [*exact, *near])
    report = callmark.export_training(run, tmp_path / "sft.jsonl", test=test)
    failed = {grade.case for grade in run.grades() if grade.metrics["call.score"] < 1}
    assert report.leaks["test_case"] == len(failed & {row["id"] for row in exact}) > 0
    assert report.leaks["near_duplicate"] == len(failed & {row["id"] for row in near}) > 0
    kept = {json.dumps(row["messages"][1]) for row in read(tmp_path / "sft.jsonl")}
    assert not kept & {json.dumps(row["messages"][1]) for row in exact}


def test_decision_points_of_a_conversation_in_the_evaluation_file_are_removed(run: Run, tmp_path: Path) -> None:
    rows = hotel_cases(0, 12)
    last = {row["source"]["conversation"]: row for row in rows}
    test = write_rows(tmp_path / "eval.jsonl", list(last.values()))
    report = callmark.export_training(run, tmp_path / "sft.jsonl", test=test)
    assert report.leaks["same_conversation"] > 0
    prompts = [[message["content"] for message in row["messages"][1:5]] for row in read(tmp_path / "sft.jsonl")]
    tested = [[message["content"] for message in row["messages"][1:5]] for row in last.values()]
    assert not [prompt for prompt in prompts if len(prompt) == 4 and prompt in tested]


def test_limit_takes_rows_from_each_tool_in_turn(run: Run, tmp_path: Path) -> None:
    everything = callmark.export_training(run, tmp_path / "all.jsonl", allow_test=True)
    report = callmark.export_training(run, tmp_path / "some.jsonl", allow_test=True, limit=6)
    assert report.rows == 6 == sum(report.by_tool.values())
    assert report.beyond_limit == everything.rows - 6
    assert max(report.by_tool.values()) <= 2
    again = callmark.export_training(run, tmp_path / "again.jsonl", allow_test=True, limit=6)
    assert again == report
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "some.jsonl").read_bytes()


def test_regression_set_is_an_evaluation_file_of_what_failed(run: Run, tmp_path: Path) -> None:
    report = callmark.export_training(run, tmp_path / "regression.jsonl", kind="regression")
    failed = [row for row in hotel_cases(0, 12) if row["id"] in {grade.case for grade in run.grades() if grade.metrics["call.score"] < 1}]
    assert read(tmp_path / "regression.jsonl") == failed
    assert report.rows == report.failed == len(failed)
    assert 0 < report.flipped < report.failed


def test_several_runs_on_the_same_cases_are_one_set_of_attempts(tmp_path: Path) -> None:
    rows = hotel_cases(0, 4)
    runs = [failed_run(tmp_path, rows, seed=seed, name=f"r{seed}") for seed in (1, 2)]
    one, both = (callmark.export_training(given, tmp_path / "x.jsonl", kind="regression") for given in (runs[:1], runs))
    assert both.failed > one.failed
    changed = json.loads(json.dumps(rows))
    changed[0]["messages"][-1]["content"] = "Another question."
    other = failed_run(tmp_path / "other", changed)
    with pytest.raises(BadInput, match="differs from the case with that ID"):
        callmark.export_training([runs[0], other], tmp_path / "x.jsonl", kind="regression")


def test_run_whose_cases_have_changed_is_refused(tmp_path: Path) -> None:
    run = failed_run(tmp_path, hotel_cases(0, 2))
    write_rows(tmp_path / "cases.jsonl", hotel_cases(0, 1))
    with pytest.raises(BadInput, match="its cases have changed since the run"):
        callmark.export_training(run, tmp_path / "x.jsonl", kind="regression")


def test_run_without_failures_has_nothing_to_learn_from(tmp_path: Path) -> None:
    rows = [row for row in hotel_cases(0, 2) if row["expected_output"]["tool_calls"]]
    path = write_rows(tmp_path / "cases.jsonl", rows)
    predictions = [{"id": row["id"], "tool_calls": row["expected_output"]["tool_calls"]} for row in rows]
    run = callmark.grade(path, predictions=predictions, out=tmp_path / "runs", name="right")
    with pytest.raises(BadInput, match=r"none of \d+ cases failed"):
        callmark.export_training(run, tmp_path / "sft.jsonl", allow_test=True)


def test_command_prints_what_was_left_out(cli: Cli, run: Run, test_file: Path, tmp_path: Path) -> None:
    result = cli("export", "training", run.path, "--as", "dpo", "--to", "trl", "--test", test_file, "-o", tmp_path / "dpo.jsonl")
    assert result.status == 0, result.err
    assert "preference pairs from" in result.out
    assert "of the failed cases also have a correct attempt" in result.out
    refused = cli("export", "training", run.path, "--as", "sft", "-o", tmp_path / "sft.jsonl")
    assert refused.status == 2
    assert "--allow-test" in refused.err
    counts = json.loads(cli("export", "training", run.path, "--as", "sft", "--allow-test", "-o", tmp_path / "x.jsonl", "--json").out)
    assert counts["kind"] == "sft"
    assert counts["rows"] == len(read(tmp_path / "x.jsonl"))


@pytest.mark.parametrize("more", [{"test": "eval.jsonl"}, {"allow_test": True}])
def test_regression_set_is_not_compared_with_an_evaluation_file(run: Run, tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="a regression set is for testing, so nothing is compared with an evaluation file"):
        callmark.export_training(run, tmp_path / "x.jsonl", kind="regression", **more)
    assert not (tmp_path / "x.jsonl").exists()
