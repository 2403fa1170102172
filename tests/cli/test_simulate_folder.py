"""`callmark simulate` with a folder of scenario files, and with ground truth in the shape of the LOB evaluation."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.simulation.endings import ENDINGS
from tests.chat_server import Response, chat_server
from tests.conftest import Cli, Result
from tests.rows import write_rows
from tests.simulation.lob_ground_truth import write_ground_truth
from tests.simulation.notes_case import executed, lines, scenario, write_folder

LOB = ("--agent", "python:lob_agent:form", "--tools", "python:lob_tools:make()")


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("notes", "noting", "lob_tools", "lob_agent"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    write_folder(tmp_path)
    return tmp_path


@pytest.fixture
def folder(workdir: Path) -> Path:
    """Three scenario files, whose ids repeat, with 2, 3 and 1 scenarios."""
    found = workdir / "truth"
    found.mkdir()
    write_rows(found / "b.jsonl", *[scenario(number) for number in range(3)])
    (found / "a.json").write_text(json.dumps([scenario(0), scenario(1)]), encoding="utf-8")
    (found / "c.json").write_text(json.dumps(scenario(2)), encoding="utf-8")
    return found


def simulate(cli: Cli, *more: str, agent: str = "answer", file: str = "truth") -> Result:
    return cli("simulate", file, "--agent", f"python:noting:{agent}", "--tools", "python:notes:Notes", "--user", "script", *more)


def test_numbers_by_file_add_up_to_the_whole(cli: Cli, folder: Path) -> None:
    (folder.parent / "broken").write_text("", encoding="utf-8")  # the agent raises for n2, which is in two files
    completed = simulate(cli, "--name", "mine", "--json")
    assert completed.status == 3, completed.err
    (record,) = json.loads(completed.out)
    whole, files = record["summary"], record["summary"]["by_file"]
    assert [(file["name"], file["cases"], file["scored"], file["errors"]) for file in files] == [
        ("a.json", 2, 2, 0),
        ("b.jsonl", 3, 2, 1),
        ("c.json", 1, 0, 1),
    ]
    for count in ("cases", "graded", "scored", "errors"):
        assert sum(file[count] for file in files) == whole[count]
    for metric, estimate in whole["metrics"].items():
        mean = sum(file["means"][metric] * file["scored"] for file in files if file["scored"]) / whole["scored"]
        assert mean == pytest.approx(estimate["mean"])


def test_files_are_read_in_order_and_ids_begin_with_their_name(cli: Cli, folder: Path) -> None:
    completed = simulate(cli, "--name", "mine", "--trials", "2")
    assert completed.status == 0, completed.err
    assert [line.split() for line in completed.out.splitlines() if line.startswith("    ") and ".json" in line] == [
        ["a.json", "2", "4", "0", "1", "████████████"],
        ["b.jsonl", "3", "6", "0", "1", "████████████"],
        ["c.json", "1", "2", "0", "1", "████████████"],
    ]
    copied = lines("runs/mine/cases.jsonl")
    assert [row["id"] for row in copied] == ["a.json/s0", "a.json/s1", "b.jsonl/s0", "b.jsonl/s1", "b.jsonl/s2", "c.json/s2"]
    assert [(row["place"]["file"], row["place"]["number"]) for row in copied][2:4] == [("b.jsonl", 1), ("b.jsonl", 2)]
    assert callmark.Run("runs/mine").info.dataset.name == "truth"


def test_broken_files_are_refused_by_name(cli: Cli, folder: Path) -> None:
    (folder / "bad.json").write_text('[{"id": "x"', encoding="utf-8")
    (folder / "chat.jsonl").write_text('{"messages": [{"role": "user", "content": "Hi"}]}\n', encoding="utf-8")
    completed = simulate(cli)
    assert (completed.status, executed()) == (2, [])
    first, *others = completed.err.splitlines()
    assert first == "callmark: truth: 2 of 5 files cannot be used:"
    assert others[0].startswith("  bad.json: ")
    assert others[1] == "  chat.jsonl: expected scenarios, got conversations (OpenAI chat)."
    assert others[2] == "Correct or remove them, or pass --skip-bad to leave them out."
    assert not Path("runs").exists()


def test_deeply_nested_file_is_refused_by_name(cli: Cli, folder: Path) -> None:
    (folder / "c.json").write_text("[" * 100_000 + '"user_instructions"', encoding="utf-8")
    done = simulate(cli)
    assert (done.status, "c.json: item 1: nested too deeply to read" in done.err) == (2, True), done.err


def test_broken_file_is_skipped_and_named_and_the_others_run(cli: Cli, folder: Path) -> None:
    (folder / "bad.json").write_text('[{"id": "x"', encoding="utf-8")
    with (folder / "b.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    completed = simulate(cli, "--skip-bad", "--name", "mine")
    assert completed.status == 0, completed.err
    assert "callmark: warning: skipped bad.json: " in completed.err
    assert "callmark: warning: skipped truth/b.jsonl, line 4: missing key 'instructions'" in completed.err
    assert "6 scenarios · scored 6" in completed.out


def test_run_of_a_folder_is_graded_again_and_resumed_without_the_folder(cli: Cli, folder: Path) -> None:
    (folder.parent / "broken").write_text("", encoding="utf-8")
    assert simulate(cli, "--name", "mine").status == 3
    (folder.parent / "broken").unlink()
    for file in folder.iterdir():
        file.unlink()
    assert cli("simulate", "runs/mine", "--resume").status == 0
    graded = cli("grade", "runs/mine")
    assert (graded.status, "By file" in graded.out) == (0, True), graded.err
    assert [file.scored for file in callmark.Run("runs/mine").summary().by_file] == [2, 3, 1]


def test_folder_that_changed_is_not_resumed(cli: Cli, folder: Path) -> None:
    assert simulate(cli, "--name", "mine").status == 0
    (folder / "c.json").unlink()
    completed = simulate(cli, "--name", "mine", "--resume")
    assert (completed.status, "the cases changed since runs/mine was started" in completed.err) == (2, True), completed.err


@pytest.mark.parametrize(
    "files, sentence",
    [
        ((), "empty: no scenario files found: expected a JSON or JSONL file, or the folder of a run."),
        (("notes.md",), "empty: no scenario files found"),
    ],
)
def test_folder_without_scenario_files_is_refused(cli: Cli, workdir: Path, files: tuple[str, ...], sentence: str) -> None:
    (workdir / "empty").mkdir()
    for name in files:
        (workdir / "empty" / name).write_text("x", encoding="utf-8")
    completed = simulate(cli, file="empty")
    assert (completed.status, sentence in completed.err) == (2, True), completed.err


def test_folder_of_runs_is_refused_with_the_command_that_resumes_one(cli: Cli, folder: Path) -> None:
    assert simulate(cli, "--name", "mine").status == 0
    completed = simulate(cli, file="runs")
    assert (completed.status, "To resume a run, pass its own folder: runs/mine --resume" in completed.err) == (2, True), completed.err


def test_unnamed_scenario_of_a_folder_is_refused_with_its_file_and_row(cli: Cli, folder: Path) -> None:
    bad = {**scenario(7, expected_function_calls=[{"functionName": "ad_note", "arguments": {}}]), "id": None}
    (folder / "b.json").write_text(json.dumps([scenario(0), bad]), encoding="utf-8")
    completed = simulate(cli)
    assert completed.status == 2
    assert "callmark: b.json, item 2: scenario 'b.json/2' cannot be simulated because it expects ad_note" in completed.err


# ground truth in the shape of the LOB evaluation


def test_ground_truth_of_the_lob_evaluation_is_played_to_a_named_ending(cli: Cli, workdir: Path) -> None:
    write_ground_truth(workdir)
    completed = cli("simulate", "ground-truth", *LOB, "--name", "lob")
    assert completed.status == 0, completed.err + completed.out
    assert completed.err == "callmark: warning: not read in ground-truth, because it is neither JSON nor JSONL: README.md.\n"
    found = lines("runs/lob/predictions.jsonl")
    assert [line["ending"] for line in found] == ["completed"] * 8
    assert set(ENDINGS) >= {line["ending"] for line in found}
    said = [[message["content"] for message in line["transcript"] if message["role"] == "user"] for line in found]
    by_case = {line["case"]: turns for line, turns in zip(found, said, strict=True)}
    assert by_case["support_ticket_eval_dataset.json/1"][-1].endswith("The session is finished.")
    assert [file.means["process.reliability"] for file in callmark.Run("runs/lob").summary().by_file] == [1.0, 1.0]


def test_templates_of_the_lob_evaluation_are_filled_from_the_tables_beside_them(workdir: Path) -> None:
    ground_truth = write_ground_truth(workdir)
    found = callmark.synth_scenarios(templates=ground_truth / "test_scenarios_templates.json", number=4)
    assert found.by_type == {"create_ticket_and_action_item": 2, "update_action_item_assignee": 2}
    first, second = found.scenarios[:2]
    assert {first.expected[0].arguments["title"], second.expected[0].arguments["title"]} == {"Server down", "Badge lost"}
    assert first.completion == "The user has confirmed the end of the session."
    assert f'- title: "{first.expected[0].arguments["title"]}"' in first.instructions
    assert found.scenarios[2].expected[0].arguments["action_id"] == "ACT-003"


@pytest.mark.parametrize("judge", [(), ("--judge",)])
def test_llm_user_that_only_says_that_the_session_is_finished_ends_the_conversation(
    cli: Cli, workdir: Path, judge: tuple[str, ...]
) -> None:
    write_ground_truth(workdir)

    def respond(number: int, request: Any, attempt: int) -> Response:
        is_judge = "You watch a conversation" in str(request["messages"][0])
        message = {"role": "assistant", "content": "NO" if is_judge else "The session is finished"}
        return Response(body=json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode())

    with chat_server(respond) as server:
        models = ("--user", f"{server.url}#m", *(part for flag in judge for part in (flag, f"{server.url}#m")))
        completed = cli("simulate", "ground-truth/support_ticket_eval_dataset.json", *LOB, *models, "--name", "llm")
    assert completed.status == 0, completed.err
    found = lines("runs/llm/predictions.jsonl")
    assert [line["ending"] for line in found] == ["completed"] * 6
    assert {sum(message["role"] == "user" for message in line["transcript"]) for line in found} == {1}


def test_conversation_that_the_user_did_not_understand_is_an_error_with_its_transcript(cli: Cli, workdir: Path) -> None:
    write_ground_truth(workdir)
    agent = ("--agent", "python:lob_agent:foreign", *LOB[2:])
    completed = cli("simulate", "ground-truth/support_ticket_eval_dataset.json", *agent, "--limit", "2", "--name", "foreign")
    assert completed.status == 3
    assert "2×  the simulated user did not understand the agent" in completed.out
    for line in lines("runs/foreign/predictions.jsonl"):
        assert (line["ending"], line["error"]) == ("user_did_not_understand", "the simulated user did not understand the agent")
        assert len(line["transcript"]) > 4
    summary = callmark.Run("runs/foreign").summary()
    assert (summary.scored, summary.errors, summary.metrics, summary.endings) == (0, 2, {}, {"user_did_not_understand": 2})
    graded = lines("runs/foreign/grades.jsonl")
    assert [line["ending"] for line in graded] == ["user_did_not_understand"] * 2
