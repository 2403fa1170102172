"""`callmark run`: requests, run folders, terminal output."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

AGENT = """
import os

LOG = os.path.abspath("requests.log")

def answer(messages, tools):
    asked = messages[-1]["content"]
    with open(LOG, "a") as log:
        log.write(asked + "\\n")
    if os.path.exists("broken") and asked.endswith("3?"):
        raise RuntimeError("the agent fell over")
    return {"role": "assistant", "tool_calls": [{"name": "get_weather", "arguments": {"city": asked.split()[-1].rstrip("?")}}]}

def wrong(messages, tools):
    return "I cannot say."
"""


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an agent and five conversations of one call each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    (tmp_path / "agent.py").write_text(AGENT)
    conversations = [
        row(
            user(f"How is Bonn{n}?"),
            assistant(call("get_weather", {"city": f"Bonn{n}"}, "1")),
            result("sunny", "1"),
            tools=[WEATHER],
            id=f"t{n}",
        )
        for n in range(5)
    ]
    write_rows(tmp_path / "conversations.jsonl", *conversations)
    return tmp_path


def lines(path: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def info(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("runs", name, "run.json").read_text(encoding="utf-8"))
    return found


def predicted_cases() -> list[str]:
    return sorted(Path("requests.log").read_text().splitlines()) if Path("requests.log").exists() else []


def test_model_is_run_graded_and_shown(cli: Cli, workdir: Path) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    assert completed.status == 0, completed.err
    assert "5 cases" in completed.out
    assert "conversations.jsonl contains conversations, which were expanded into decision points" in completed.out
    assert re.search(r"call\.score +1 ", completed.out)
    assert [line["case"] for line in sorted(lines("runs/mine/predictions.jsonl"), key=lambda line: line["case"])] == [
        f"t{n}:1" for n in range(5)
    ]
    assert all(line["usage"]["seconds"] > 0 for line in lines("runs/mine/predictions.jsonl"))
    assert len(lines("runs/mine/grades.jsonl")) == 5
    assert info("mine")["model_run"] == {
        "label": "agent.answer",
        "model": {"model": "python:agent:answer"},
        "requests": 5,
        "predictions": 5,
    }
    assert len(predicted_cases()) == 5


def test_several_models_are_shown_side_by_side(cli: Cli, workdir: Path) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--model", "python:agent:wrong", "--name", "both")
    assert completed.status == 0, completed.err
    assert "2 models · 5 cases" in completed.out
    assert re.search(r"call\.score .*1 .* 0\b", completed.out)
    assert re.search(r"no call +· +5", completed.out)
    assert "\nSaved to runs/both-agent.answer and runs/both-agent.wrong\n" in completed.out


def test_json_has_one_entry_per_model(cli: Cli, workdir: Path) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--model", "python:agent:wrong", "--json")
    assert [one["summary"]["metrics"]["call.score"]["mean"] for one in json.loads(completed.out)] == [1.0, 0.0]
    assert all(one["summary"]["details"]["confusion"]["cells"] for one in json.loads(completed.out))


def test_resuming_with_fewer_trials_is_refused(cli: Cli, workdir: Path) -> None:
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "thrice", "--trials", "3")
    completed = cli("run", "runs/thrice", "--resume", "--trials", "1")
    assert (completed.status, "trials: the run was started with 3, got 1" in completed.err) == (2, True), completed.err


def test_limit_runs_and_grades_the_first_cases(cli: Cli, workdir: Path) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "few", "--limit", "2")
    assert "2 cases" in completed.out
    assert len(predicted_cases()) == 2
    assert info("few")["cases"] == 2
    again = cli("grade", "runs/few")
    assert (again.status, "2 cases" in again.out) == (0, True)


def test_trials_repeat_each_case(cli: Cli, workdir: Path) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "thrice", "--trials", "3")
    assert "5 cases" in completed.out
    assert "3 trials per case" in completed.out
    assert len(predicted_cases()) == 15
    assert [(line["case"], line.get("trial", 0)) for line in lines("runs/thrice/grades.jsonl")][:4] == [
        ("t0:1", 0),
        ("t0:1", 1),
        ("t0:1", 2),
        ("t1:1", 0),
    ]


def test_crash_of_a_user_function_is_an_error_with_status_3(cli: Cli, workdir: Path) -> None:
    Path("broken").touch()
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    assert completed.status == 3
    assert "scored 4 of 5, 1 error" in completed.out
    assert "the agent fell over" in completed.out
    assert "agent.py:" in completed.out


def test_resuming_requests_only_missing_predictions(cli: Cli, workdir: Path) -> None:
    Path("broken").touch()
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    Path("broken").unlink()
    Path("requests.log").unlink()
    completed = cli("run", "runs/mine", "--resume")
    assert (completed.status, predicted_cases()) == (0, ["How is Bonn3?"]), completed.err
    assert "scored 5" in completed.out
    Path("requests.log").unlink()
    again = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine", "--resume")
    assert (again.status, predicted_cases()) == (0, [])


def test_resuming_a_run_that_never_started_starts_it(cli: Cli, workdir: Path) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "new", "--resume")
    assert (completed.status, len(predicted_cases())) == (0, 5)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (("--trials", "2"), "runs/mine: --trials: the run was started with 1, got 2"),
        (("--limit", "3"), "runs/mine: --limit: the run was started without it, got 3"),
        (("--parse", "hermes"), 'runs/mine: --parse: the run was started without it, got "hermes"'),
        (
            ("--model", "python:agent:wrong"),
            'runs/mine: --model: the run was started with "python:agent:answer", got "python:agent:wrong"',
        ),
    ],
)
def test_resuming_with_a_changed_setting_is_refused(cli: Cli, workdir: Path, change: tuple[str, ...], sentence: str) -> None:
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    given = change if "--model" in change else ("--model", "python:agent:answer", *change)
    for arguments in (("run", "runs/mine", *change), ("run", "conversations.jsonl", "--name", "mine", *given)):
        completed = cli(*arguments, "--resume")
        assert (completed.status, sentence in completed.err) == (2, True), completed.err
    assert len(predicted_cases()) == 5


def test_resuming_with_a_changed_dataset_is_refused(cli: Cli, workdir: Path) -> None:
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    with Path("conversations.jsonl").open("a") as file:
        file.write(Path("conversations.jsonl").read_text().splitlines()[0].replace("t0", "t9") + "\n")
    completed = cli("run", "runs/mine", "--resume")
    assert (completed.status, len(predicted_cases())) == (2, 5)
    assert "conversations.jsonl changed since runs/mine was started" in completed.err


def test_run_on_piped_cases_can_be_resumed(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe:
        buffer = io.BufferedReader(io.BytesIO(Path("conversations.jsonl").read_bytes()))

    monkeypatch.setattr(sys, "stdin", Pipe)
    completed = cli("run", "-", "--model", "python:agent:answer", "--model", "python:agent:wrong", "--name", "piped")
    assert completed.status == 0, completed.err
    assert "standard input contains conversations" in completed.out
    for name in ("piped-agent.answer", "piped-agent.wrong"):
        assert cli("run", f"runs/{name}", "--resume").status == 0


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("--model", "opnai:gpt"), "opnai"),
        (("--model", "openai:gpt"), "OPENAI_API_KEY"),
        (("--model", "http://localhost:99999/v1#x"), "99999"),
        (("--model", "http://localhost/v1"), "#"),
        (("--model", "vllm:"), "vllm:"),
        (("--model", "python:nowhere:f"), "nowhere"),
        (("--model", "python:agent:anser"), "Did you mean answer?"),
        (("--model", "replay:none.jsonl"), "none.jsonl"),
        (("--model", "scripted:hastie"), "Did you mean hasty?"),
        (("--model", "cmd:no-such-program-here"), "no-such-program-here"),
        (
            ("--model", "python:agent:answer", "--temperature", "1"),
            "python:agent:answer does not support --temperature, because it is not a chat API",
        ),
        (("--model", "python:agent:answer", "--param", "top_p=1"), "python:agent:answer does not support parameters, got 'top_p'"),
        (("--model", "scripted:hasty", "--param", "sed=1"), "Did you mean seed?"),
        (("--model", "python:agent:answer", "--param", "x"), "--param: expected NAME=VALUE, got 'x'"),
        (("--model", "http://localhost:1/v1#x", "--param", "api_key=sk-1"), "api_key"),
        (("--model", "python:agent:answer", "--model", "python:agent:answer"), "two models have the name agent.answer"),
        (("--model", "python:agent:answer", "--evaluator", "nosuch"), "nosuch"),
        (("--model", "python:agent:answer", "--resume"), "--resume: no run given"),
        (("--model", "python:agent:answer", "--max-cost", "1"), "--max-cost: python:agent:answer has no price"),
        ((), "no model given"),
    ],
)
def test_invalid_options_are_refused_before_any_request(
    cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    completed = cli("run", "conversations.jsonl", *arguments)
    assert completed.status == 2
    assert sentence in completed.err
    assert completed.err.startswith("callmark: ")
    assert "Traceback" not in completed.err
    assert predicted_cases() == []
    assert not any(Path("runs").iterdir()) if Path("runs").exists() else True


@pytest.mark.parametrize(
    "file, sentence",
    [
        ("missing.jsonl", "missing.jsonl: no such file"),
        ("scenarios.jsonl", "scenarios.jsonl: expected decision points or conversations, got scenarios"),
        ("silent.jsonl", "silent.jsonl: no tool calls found in 1 conversation (OpenAI chat), so there is no call to test"),
        ("twice.jsonl", "duplicate case ID"),
    ],
)
def test_cases_that_cannot_be_run_are_refused(cli: Cli, workdir: Path, file: str, sentence: str) -> None:
    scenario = {
        "id": "s", "instructions": "Ask for the weather.", "completion_condition": "It was told.", "expected_function_calls": [],
        "scenario_type": "x", "description": "d",
    }  # fmt: skip
    write_rows(workdir / "scenarios.jsonl", scenario)
    write_rows(workdir / "silent.jsonl", row(user("hello"), assistant(text="hello"), tools=[WEATHER], id="x"))
    point = {
        "id": "p",
        "messages": [user("Bonn?")],
        "tools": [WEATHER],
        "expected_output": assistant(call("get_weather", {"city": "Bonn"}, "1")),
    }
    write_rows(workdir / "twice.jsonl", point, point)
    completed = cli("run", file, "--model", "python:agent:answer")
    assert (completed.status, sentence in completed.err) == (2, True), completed.err
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


def test_existing_run_is_not_overwritten(cli: Cli, workdir: Path) -> None:
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    assert (completed.status, len(predicted_cases())) == (2, 5)
    assert "runs/mine: already exists" in completed.err
    assert "Pass --resume to resume the run" in completed.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("runs/mine",), "runs/mine is an existing run: pass --resume to resume it"),
        (("runs/mine", "--resume", "--name", "other"), "a run is resumed in its own folder, so -o and --name cannot be used"),
        (("runs/graded", "--resume"), "runs/graded: cannot be resumed, because it was graded from a predictions file and has no model"),
        (("runs/nowhere", "--resume"), "runs/nowhere: no such run"),
        (("runs", "--resume"), "runs: not a run folder: run.json is missing"),
    ],
)
def test_folder_that_cannot_be_resumed_is_refused(cli: Cli, workdir: Path, arguments: tuple[str, ...], sentence: str) -> None:
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    cli("grade", "conversations.jsonl", "-p", "runs/mine/predictions.jsonl", "--name", "graded")
    completed = cli("run", *arguments)
    assert (completed.status, sentence in completed.err) == (2, True), completed.err


def test_simulate_does_not_resume_the_run_of_a_model(cli: Cli, workdir: Path) -> None:
    cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    completed = cli("simulate", "runs/mine", "--resume")
    assert completed.status == 2
    assert "runs/mine is not a simulation, so callmark simulate cannot resume it." in completed.err
    assert "Resume with: callmark run runs/mine --resume" in completed.err


def test_models_are_found_by_configured_name(cli: Cli, workdir: Path) -> None:
    Path("callmark.toml").write_text('[models.mine]\nmodel = "python:agent:answer"\n[models.other]\nmodel = "python:agent:wrong"\n')
    completed = cli("run", "conversations.jsonl", "--model", "mine", "--model", "other", "--name", "both", "--trust")
    assert completed.status == 0, completed.err
    assert sorted(os.listdir("runs")) == ["both-mine", "both-other"]
    missing = cli("run", "conversations.jsonl", "--model", "min")
    assert "unknown model 'min'. Did you mean mine?" in missing.err


def test_list_models_shows_no_key(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-recognisable-0123456789")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    Path("callmark.toml").write_text('[models.mine]\nmodel = "http://me:sk-other-9876543210@host:1/v1#x"\n')
    completed = cli("run", "--list-models")
    assert completed.status == 0
    assert "✓  openai:" in completed.out
    assert "ANTHROPIC_API_KEY is not set" in completed.out
    assert "mine" in completed.out
    assert "sk-" not in completed.out + completed.err


def test_second_process_on_the_same_run_is_refused(cli: Cli, workdir: Path) -> None:
    Path("slow.py").write_text("import time\ndef answer(messages, tools):\n    time.sleep(30)\n")
    code = "from callmark.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "conversations.jsonl", "--model", "python:slow:answer", "--name", "mine"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as other:
        until = time.monotonic() + 20
        while not Path("runs/mine/run.json").exists() and time.monotonic() < until:
            time.sleep(0.05)
        for arguments in (("run", "runs/mine", "--resume"), ("grade", "runs/mine")):
            completed = cli(*arguments)
            assert (completed.status, "another process" in completed.err) == (2, True), completed.err
        other.send_signal(signal.SIGINT)
        assert other.stderr is not None
        printed = other.stderr.read()
        assert other.wait(20) == 130
    assert "saved 0 of 5 predictions.\nResume with: callmark run runs/mine --resume\n" in printed
    assert info("mine")["status"] == "interrupted"


def test_full_disk_is_reported(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("callmark.runs.journal.os.write", full)
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine")
    assert completed.status == 2
    assert "predictions.jsonl: cannot be written: No space left on device" in completed.err


def test_batch_output_is_graded_with_errors_excluded(cli: Cli, workdir: Path) -> None:
    completed = cli("export", "batch", "conversations.jsonl", "--model", "openai:some-model", "--temperature", "0", "-o", "batch.jsonl")
    assert (completed.status, completed.out) == (0, "5 requests → batch.jsonl\n")
    requests = lines("batch.jsonl")
    assert {(request["method"], request["url"], request["body"]["model"], request["body"]["temperature"]) for request in requests} == {
        ("POST", "/v1/chat/completions", "some-model", 0)
    }
    answered = [
        {
            "id": f"batch_req_{place}",
            "custom_id": request["custom_id"],
            "response": {
                "status_code": 200,
                "body": {
                    "choices": [{"message": assistant(call("get_weather", {"city": request["body"]["messages"][-1]["content"][7:-1]}))}]
                },
            },
            "error": None,
        }
        for place, request in enumerate(requests[:4])
    ]
    write_rows(workdir / "output.jsonl", *answered)
    failed = {"code": "batch_expired", "message": "This request could not be executed before the completion window expired."}
    write_rows(workdir / "errors.jsonl", {"id": "batch_req_9", "custom_id": requests[4]["custom_id"], "response": None, "error": failed})
    graded = cli("grade", "conversations.jsonl", "--predictions", "output.jsonl", "--predictions", "errors.jsonl")
    assert graded.status == 3
    assert "scored 4 of 5, 1 error" in graded.out
    assert "call.score    1 " in graded.out
    assert "completion window expired" in graded.out


@pytest.mark.parametrize(
    "model, sentence",
    [("scripted:hasty", "scripted:hasty: this provider has no batch API"), ("openai:", "expected a model such as openai:")],
)
def test_batch_for_a_model_without_requests_is_refused(cli: Cli, workdir: Path, model: str, sentence: str) -> None:
    completed = cli("export", "batch", "conversations.jsonl", "--model", model, "-o", "batch.jsonl")
    assert (completed.status, sentence in completed.err) == (2, True), completed.err
    assert not Path("batch.jsonl").exists()


@pytest.mark.parametrize("how", ["raise RuntimeError(os.environ['MY_API_KEY'])", "return 'my key is ' + os.environ['MY_API_KEY']"])
def test_secrets_in_agent_output_are_not_written(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-recognisable-0123456789")
    Path("leak.py").write_text(f"import os\ndef answer(messages, tools):\n    {how}\n")
    monkeypatch.delitem(sys.modules, "leak", raising=False)
    completed = cli("run", "conversations.jsonl", "--model", "python:leak:answer", "--name", "mine")
    assert completed.status in (0, 3)
    written = b"".join(file.read_bytes() for file in Path("runs/mine").iterdir())
    assert b"sk-recognisable" not in written
    assert "sk-recognisable" not in completed.out + completed.err


def test_progress_bar_shows_rate_errors_and_score(workdir: Path) -> None:
    Path("slow.py").write_text("import time\ndef answer(messages, tools):\n    time.sleep(0.2)\n    raise ValueError('no')\n")
    command = [
        sys.executable,
        "-c",
        "from callmark.cli.main import main; main()",
        "run",
        "conversations.jsonl",
        "--trials",
        "4",
        "--concurrency",
        "4",
    ]
    looking, shown = os.openpty()
    environment = {**os.environ, "COLUMNS": "150", "TERM": "xterm"}
    models = ["--model", "python:slow:answer", "--model", "scripted:perfect"]
    completed = subprocess.run([*command, *models], stdout=subprocess.DEVNULL, stderr=shown, env=environment, timeout=60, check=False)
    os.close(shown)
    printed = b""
    while len(piece := _read(looking)):
        printed += piece
    os.close(looking)
    assert completed.returncode == 3
    assert re.search(rb"slow.answer.*\d+/20.*errors", printed)
    assert re.search(rb"scripted-perfect.*20/20.*score 1", printed)


def _read(file: int) -> bytes:
    try:
        return os.read(file, 65536)
    except OSError:  # nobody writes any more
        return b""


def test_cost_is_counted_and_limited(cli: Cli, workdir: Path) -> None:
    message = {"role": "assistant", "content": "no"}
    completion = {"choices": [{"message": message}], "usage": {"prompt_tokens": 1000, "completion_tokens": 500}}
    Path("paid.py").write_text(f"def answer(messages, tools):\n    return {completion}\n")
    Path("callmark.toml").write_text('[models.paid]\nmodel = "python:paid:answer"\nconcurrency = 1\nprice = { input = 2, output = 4 }\n')
    completed = cli("run", "conversations.jsonl", "--model", "paid", "--name", "all", "--config", "callmark.toml")
    assert (completed.status, "5,000 input tokens, 2,500 output tokens · cost 0.02" in completed.out) == (0, True), completed.out
    stopped = cli("run", "conversations.jsonl", "--model", "paid", "--name", "some", "--max-cost", "0.01", "--config", "callmark.toml")
    assert stopped.status == 3
    assert "Stopped: --max-cost 0.01 was reached" in stopped.out
    assert len(lines("runs/some/predictions.jsonl")) == 3


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_concurrent_start_of_one_run_is_safe(cli: Cli, workdir: Path, resume: tuple[str, ...]) -> None:
    Path("slow.py").write_text("import time\ndef answer(messages, tools):\n    time.sleep(1)\n    return 'no'\n")
    command = [
        sys.executable,
        "-c",
        "from callmark.cli.main import main; main()",
        "run",
        "conversations.jsonl",
        "--model",
        "python:slow:answer",
    ]
    both = [
        subprocess.Popen([*command, "--name", "one", *resume], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], printed
    assert any("another process" in text or "already" in text for text in printed)
    assert len(lines("runs/one/grades.jsonl")) == 5
    assert info("one")["model_run"]["predictions"] == 5


def test_folder_that_is_not_a_run_is_left_untouched(cli: Cli, workdir: Path) -> None:
    Path("runs/mine").mkdir(parents=True)
    Path("runs/mine/predictions.jsonl").write_text("my own\n")
    Path("runs/mine/notes.txt").write_text("my notes")
    completed = cli("run", "conversations.jsonl", "--model", "python:agent:answer", "--name", "mine", "--resume")
    assert (completed.status, "runs/mine: not a run that can be resumed: run.json is missing" in completed.err) == (2, True)
    assert (Path("runs/mine/predictions.jsonl").read_text(), Path("runs/mine/notes.txt").read_text()) == ("my own\n", "my notes")


def test_changed_piped_input_is_refused(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(data: bytes) -> None:
        class Pipe:
            buffer = io.BufferedReader(io.BytesIO(data))

        monkeypatch.setattr(sys, "stdin", Pipe)

    given = Path("conversations.jsonl").read_bytes()
    command = ("run", "-", "--model", "python:agent:answer", "--name", "piped")
    piped(given)
    assert cli(*command).status == 0
    piped(given)
    assert cli(*command, "--resume").status == 0
    piped(given.replace(b"t0", b"t9"))
    completed = cli(*command, "--resume")
    assert (completed.status, "standard input changed since runs/piped was started" in completed.err) == (2, True), completed.err
    assert Path("runs/piped/cases.jsonl").read_bytes().strip() == given.strip()
    assert sorted(os.listdir("runs/piped")) == ["cases.jsonl", "grades.jsonl", "predictions.jsonl", "run.json", "summary.json"]


def test_key_in_an_import_error_is_hidden(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-recognisable-0123456789")
    Path("falls.py").write_text("import os\nraise RuntimeError('no luck with ' + os.environ['MY_API_KEY'])\n")
    completed = cli("run", "conversations.jsonl", "--model", "python:falls:answer")
    assert (completed.status, "no luck with …" in completed.err) == (2, True), completed.err
    assert "sk-recognisable" not in completed.err


def test_key_in_a_command_is_not_stored(cli: Cli, workdir: Path) -> None:
    Path("echo.py").write_text('import sys\nfor line in sys.stdin:\n    print(\'{"text": "no"}\', flush=True)\n')
    command = f"cmd:{sys.executable} echo.py --api-key recognisable-0123456789"
    completed = cli("run", "conversations.jsonl", "--model", command, "--name", "mine")
    assert completed.status == 0, completed.err
    assert "recognisable" not in completed.out + "".join(file.read_text() for file in Path("runs/mine").iterdir())
    assert "Pass it again with --model" in cli("run", "runs/mine", "--resume").err
    assert cli("run", "runs/mine", "--resume", "--model", command).status == 0


def test_resumed_run_respects_a_used_up_budget(cli: Cli, workdir: Path) -> None:
    completion = {
        "choices": [{"message": {"role": "assistant", "content": "no"}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    }
    log = f"with open({str(workdir / 'requests.log')!r}, 'a') as log:\n        log.write('x\\n')"
    Path("spends.py").write_text(f"def answer(messages, tools):\n    {log}\n    return {completion}\n")
    command = ("--max-tokens-total", "150", "--concurrency", "1")
    assert cli("run", "conversations.jsonl", "--model", "python:spends:answer", "--name", "mine", *command).status == 3
    assert len(predicted_cases()) == 2
    again = cli("run", "runs/mine", "--resume", *command)
    assert (again.status, len(predicted_cases())) == (3, 2)
    assert "Stopped: --max-tokens-total 150 was reached" in again.out


@pytest.mark.parametrize("option", ["--temperature", "--rpm", "--timeout", "--max-cost"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_non_finite_numbers_are_refused(cli: Cli, workdir: Path, option: str, value: str) -> None:
    completed = cli("run", "conversations.jsonl", "--model", "scripted:hasty", option, value)
    assert completed.status == 2
    assert option in completed.err


def test_bad_rows_are_counted_once_for_several_models(cli: Cli, workdir: Path) -> None:
    with Path("conversations.jsonl").open("a") as file:
        file.write("{broken\n")
    completed = cli("run", "conversations.jsonl", "--skip-bad", "--model", "scripted:hasty", "--model", "scripted:perfect")
    assert completed.status == 0, completed.err
    assert "1 row could not be read and was skipped" in completed.err
