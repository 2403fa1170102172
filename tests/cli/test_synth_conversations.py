"""`callmark synth`: conversations over real tools, what is printed, refusals, and resuming after a kill."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import callmark
from tests.chat_server import Response, chat_server
from tests.conftest import Cli, Result
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows
from tests.runs.kills import KillTime, count_recorded, kill_process, run_to_end
from tests.simulation.notes_case import lines
from tests.synthesis.notes_world import TOOLS

DESK = f"mcp:{sys.executable} -m callmark.worlds.helpdesk"
DEMO = Path(callmark.__file__).parent / "worlds" / "helpdesk"
FILES = ("train.jsonl", "valid.jsonl", "rejected.jsonl", "plans.jsonl")
AGENT = """
import json, os, time

def _said(messages):
    return [message["content"] for message in messages if message["role"] == "user"]

def good(messages, tools, wrong=""):
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": "It is there, " + _said(messages)[0][:20]}
    said = _said(messages)
    if len(said) > 1:
        return {"role": "assistant", "content": "Goodbye."}
    title = said[0].split()[1]
    call = {"id": "1", "type": "function", "function": {"name": "add_note", "arguments": json.dumps({"title": title})}}
    return {"role": "assistant", "content": None, "tool_calls": [call] * (2 if wrong == title else 1)}

def slow(messages, tools):
    time.sleep(0.02)
    return good(messages, tools)

def sometimes(messages, tools):
    return good(messages, tools, wrong="n1")

def fragile(messages, tools):
    if os.path.exists("broken") and " n2 " in _said(messages)[0]:
        raise RuntimeError("the agent fell over")
    return good(messages, tools)
"""


def scenario(number: int) -> dict[str, Any]:
    words = " ".join(f"w{number}x{place}" for place in range(30))
    return {
        "id": f"s{number}",
        "instructions": f"Have n{number} added.",
        "expected_function_calls": [{"functionName": "add_note", "arguments": {"title": f"n{number}"}}],
        "data": {"script": [f"Add n{number} please, {words}", f"Thanks, bye, number {number}."]},
    }


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with notes for tools, agents, and twelve scenarios."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("notes", "noting"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    Path("notes.py").write_text(TOOLS, encoding="utf-8")
    Path("noting.py").write_text(AGENT, encoding="utf-8")
    write_rows(tmp_path / "scenarios.jsonl", *map(scenario, range(12)))
    return tmp_path


def noted(cli: Cli, *more: str, agent: str = "good", out: str = "data") -> Result:
    given = ("--tools", "python:notes:Notes", "--scenarios", "scenarios.jsonl", "--user", "script", "--agent", f"python:noting:{agent}")
    return cli("synth", *given, "-o", out, *more)


def files(out: str) -> dict[str, bytes]:
    return {name: Path(out, name).read_bytes() for name in FILES}


def test_summary_has_counts_and_the_next_command(cli: Cli) -> None:
    completed = noted(cli, "-n", "10", agent="sometimes")
    assert completed.status == 0, completed.err
    assert completed.out.startswith("10 conversations → data   (scenarios.jsonl, python:noting:sometimes and script, seed 7)\n")
    assert re.search(r"^ +8 train.jsonl\n +2 valid.jsonl\n", completed.out, re.MULTILINE)
    assert "12 simulated, 10 kept, 1 rejected, 1 not needed\n" in completed.out
    assert "       1 end_state  the end state differs from the plan\n" in completed.out
    assert "s1: notes N-2: created {" in completed.out
    assert "callmark show data/rejected.jsonl --row 1" in completed.out
    assert re.search(r"^add_note +10 +█+ +title \(always\); text \(0\) *$", completed.out, re.MULTILINE)
    assert "Tools never called: transfer\nParameters never given: add_note.text\n" in completed.out
    for line in re.findall(r"^  callmark (.*)$", completed.out, re.MULTILINE):
        if line.startswith("lint"):
            continue
        assert cli(*line.split()).status == 0, line


def test_json_has_the_counts(cli: Cli) -> None:
    payload = json.loads(noted(cli, "-n", "10", "--json", agent="sometimes").out)
    about = json.loads(Path("data/synth.json").read_text())
    assert payload == {"out": "data", **about}
    assert (payload["requested"], payload["simulated"], payload["accepted"], payload["errors"]) == (10, 12, 10, 0)
    assert payload["reasons"]["end_state"]["plan"] == "s1"
    assert len(payload["train"]) == len(lines("data/train.jsonl"))


def test_same_command_gives_the_same_bytes(cli: Cli) -> None:
    for out, more in (("a", ()), ("b", ("--concurrency", "1")), ("c", ("--valid", "0.5"))):
        assert noted(cli, "-n", "9", *more, agent="sometimes", out=out).status == 0
    assert files("a") == files("b")
    assert len(lines("c/valid.jsonl")) == 5
    assert files("c")["plans.jsonl"] == files("a")["plans.jsonl"]


def test_plans_can_be_simulated_as_scenarios(cli: Cli) -> None:
    noted(cli, "-n", "4")
    assert cli("simulate", "data/plans.jsonl", "--agent", "python:noting:good", "--tools", "python:notes:Notes", "-u", "script").status == 0


def test_too_few_accepted_conversations_exit_with_status_3(cli: Cli) -> None:
    completed = noted(cli, agent="sometimes")
    assert completed.status == 3
    assert "1 of 12 conversations missing: 1 of 12 were rejected and no plans are left\n" in completed.out


def test_errors_are_counted_separately_and_retried(cli: Cli) -> None:
    Path("broken").touch()
    completed = noted(cli, "-n", "8", agent="fragile")
    assert completed.status == 3
    assert "8 simulated, 8 kept\n" in completed.out
    assert re.search(r"^1 error, first: .*the agent fell over.* \(--resume retries them\)$", completed.out, re.MULTILINE)
    Path("broken").unlink()
    again = noted(cli, "-n", "8", "--resume", agent="fragile")
    assert again.status == 0
    assert "error" not in again.out
    noted(cli, "-n", "8", out="undisturbed")
    assert files("data") == files("undisturbed")


def test_help_desk_with_a_sloppy_agent(cli: Cli) -> None:
    assert cli("synth", "--scenarios-only", "-n", "12", "-o", "s.jsonl").status == 0
    policy = ("--system", DEMO / "workflow.md", "--policy", DEMO / "policy.yaml")
    speakers = ("--agent", "python:callmark.worlds.helpdesk.agents:sloppy", "--tools", DESK)
    completed = cli("synth", "--scenarios", "s.jsonl", *speakers, *policy, "-o", "data", "--json")
    payload = json.loads(completed.out)
    assert completed.status == 3, completed.err
    assert {"policy", "end_state"} <= payload["reasons"].keys()
    assert (payload["simulated"], payload["judged_by_calls"], payload["exhausted"]) == (12, 0, True)
    rows = [row for name in FILES[:2] for row in callmark.load(f"data/{name}")]
    assert len(rows) == payload["accepted"] == 12 - payload["rejected"] >= 3
    assert not [finding for finding in callmark.lint(rows).findings if finding.severity != "info"]
    assert all(row.messages[0].text == (DEMO / "workflow.md").read_text() for row in rows)


def test_unreachable_model_is_reported_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-recognisable-0123456789")
    with chat_server(lambda number, request, attempt: Response(401, b'{"error": {"message": "no such key"}}')) as server:
        completed = cli(
            "synth", "--tools", "python:notes:Notes", "--scenarios", "scenarios.jsonl", "--agent", f"{server.url}#gpt", "-o", "data"
        )
    assert completed.status == 2
    assert "no such key" in completed.err
    assert "--resume" in completed.err
    assert "sk-recognisable" not in completed.err


@pytest.mark.parametrize(
    "given, sentence",
    [
        ([], "missing option --out."),
        (["-o", "-"], "-o: expected a folder, got -: conversations cannot be written to standard output"),
        (["-o", "d", "-n", "0"], "--number: expected an integer of at least 1, got '0'"),
        (["-o", "d", "--valid", "2"], "--valid: expected a number from 0 to 1, got '2'"),
        (["-o", "d", "--templates", "x.yaml"], "--templates needs --scenarios-only"),
        (["-o", "d", "--system", "none.md"], "--system: none.md: no such file"),
        (["-o", "d", "--system", "zero.md"], "--system: zero.md: not a text file: it contains null bytes"),
        (["-o", "d", "--system", "latin.md"], "--system: latin.md: not UTF-8 text"),
        (["-o", "d", "--system", "empty.md"], "--system: empty.md: the file is empty"),
        (["-o", "d", "--system", "rules.yaml"], "--system: expected a text file, got the YAML file rules.yaml"),
        (["-o", "d", "--policy", "none.yaml"], "none.yaml: no such file"),
        (["-o", "d", "--scenarios", "none.jsonl"], "none.jsonl"),
        (["-o", "d", "--scenarios", "talks.jsonl"], "talks.jsonl: no scenarios found"),
        (["-o", "d", "--scenarios", "twice.jsonl"], "twice.jsonl, line 2: duplicate scenario ID 's1'"),
        (["-o", "d", "--scenarios", "scenarios.jsonl", "--balance"], "--balance cannot be used with --scenarios: it only applies"),
        (
            ["-o", "d", "--tools", "recorded:recorded.jsonl"],
            "cannot plan conversations for these tools: --scenarios and --agent are missing",
        ),
        (
            ["-o", "d", "--tools", "recorded:recorded.jsonl", "--agent", "python:noting:good"],
            "plan conversations for these tools: --scenarios is missing",
        ),
        (["-o", "d", "--tools", "nonsense"], "tools: expected KIND:SOURCE, got 'nonsense'"),
        (
            ["-o", "d", "--tools", "openapi:a.yaml", "--tools", "python:notes"],
            "a mock API (openapi:FILE, or a list of tools) cannot",
        ),
        (["-o", "d", "--max-cost", "1"], "--max-cost needs a model: pass one with --agent or --user"),
        (["-o", "d", "--agent", "openai:gpt-4.1-mini", "--max-cost", "1"], "--max-cost: openai:gpt-4.1-mini has no price"),
    ],
    ids=str,
)
def test_invalid_options_are_refused(cli: Cli, workdir: Path, given: list[str], sentence: str) -> None:
    write_rows(workdir / "talks.jsonl", {"messages": [{"role": "user", "content": "x"}]})
    write_rows(workdir / "twice.jsonl", scenario(1), scenario(1))
    write_rows(workdir / "recorded.jsonl", row(user("x"), assistant(call("get_weather", {"city": "x"})), result("sunny"), tools=[WEATHER]))
    for name, text in (("zero", b"a\0b"), ("latin", b"\xe9"), ("empty", b" \n")):
        (workdir / f"{name}.md").write_bytes(text)
    completed = cli("synth", *given)
    assert completed.status == 2
    assert sentence in completed.err
    assert "internal error" not in completed.err
    assert not Path("d").exists()


@pytest.mark.parametrize(
    "more, sentence",
    [
        (["-n", "13"], "13 conversations requested, but scenarios.jsonl has only 12 scenarios"),
        (["--agent", "python:noting:none"], "none"),
        (["--agent", "scripted:perfect"], "only predicts single decision points, so it cannot be used as an agent"),
        (["--user", "rule-basd"], "unknown user 'rule-basd'. Did you mean rule-based?"),
    ],
    ids=str,
)
def test_incompatible_options_are_refused_before_simulating(cli: Cli, more: list[str], sentence: str) -> None:
    completed = noted(cli, *more)
    assert completed.status == 2
    assert sentence in completed.err
    assert not Path("data/train.jsonl").exists()


def test_rule_about_an_unknown_tool_gives_a_warning(cli: Cli, workdir: Path) -> None:
    rule = "{{id: {0}, says: x, {1}}}"
    rules = [rule.format("a", "never: add_notes"), rule.format("b", 'never: "*note > add_note"'), rule.format("c", 'confirmed: ["x*", y]')]
    (workdir / "rules.yaml").write_text("rules:\n" + "".join(f"  - {each}\n" for each in rules))
    completed = noted(cli, "--policy", "rules.yaml", "-n", "2")
    assert [line for line in completed.err.splitlines() if "never be violated" in line] == [
        "callmark: warning: rule a can never be violated: no tool matches add_notes.",
        "callmark: warning: rule c can never be violated: no tool matches x* or y.",
    ]


def test_interrupting_keeps_conversations_and_prints_how_to_resume(workdir: Path) -> None:
    given = ["--tools", "python:notes:Notes", "--scenarios", "scenarios.jsonl", "--user", "script", "--agent", "python:noting:slow"]
    command = [sys.executable, "-m", "callmark", "synth", *given, "--concurrency", "1", "-o", "data"]
    process = subprocess.Popen(command, cwd=workdir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    recorded = workdir / "data" / "runs" / "round-1" / "predictions.jsonl"
    began = time.monotonic()
    while not (recorded.exists() and recorded.stat().st_size) and time.monotonic() - began < 60:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130, printed
    assert "finished conversations are saved. To resume, repeat the command with --resume." in printed
    assert 0 < len(lines(recorded)) < 12


def test_killed_and_resumed_synthesis_equals_an_uninterrupted_one(workdir: Path) -> None:
    write_rows(workdir / "scenarios.jsonl", *map(scenario, range(30)))
    given = ["--tools", "python:notes:Notes", "--scenarios", "scenarios.jsonl", "--user", "script", "--agent", "python:noting:slow"]
    command = [sys.executable, "-m", "callmark", "synth", *given, "-n", "25", "--concurrency", "3"]
    run_to_end([*command, "-o", "undisturbed"], workdir)
    folder = workdir / "round-1"
    folder.symlink_to(workdir / "killed" / "runs" / "round-1")
    counts = []
    for turn, at in enumerate((2, 12)):
        _, ended = kill_process([*command, "-o", "killed", *(["--resume"] if turn else [])], folder, KillTime(recorded=at))
        assert not ended
        counts.append(count_recorded(folder / "predictions.jsonl")[0].total())
        assert not (workdir / "killed" / "train.jsonl").exists()
    run_to_end([*command, "-o", "killed", "--resume"], workdir)
    assert 0 < counts[0] < counts[1] < 25
    assert files("killed") == files("undisturbed")
    assert count_recorded(folder / "predictions.jsonl")[0].most_common(1)[0][1] == 1
