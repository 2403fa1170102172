"""`--env NAME`: what tool servers and programs get from the environment, what is recorded of it, and how such a run is resumed."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import callmark
from tests.conftest import Cli
from tests.runs.kills import write_cases
from tests.simulation.mcp_servers import raw_server
from tests.simulation.notes_case import write_folder

VALUE, OTHER = "value-0123456789", "other-9876543210"
SERVER = """
TOOLS = [{"name": "add_note", "description": os.environ.get("SERVICE_URL", "none"), "inputSchema": {"type": "object"}}]
open("seen", "w").write(json.dumps(dict(os.environ)))
"""
PROGRAM = """
import json, os, sys
open("seen", "w").write(json.dumps(dict(os.environ)))
for line in sys.stdin:
    if os.path.exists("broken"):
        sys.exit("no")
    print(json.dumps({"id": json.loads(line)["id"], "text": os.environ.get("SERVICE_URL", "none")}))
"""


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with scenarios, a case, a program, and two variables in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "noting", raising=False)
    monkeypatch.setenv("SERVICE_URL", VALUE)
    monkeypatch.setenv("OTHER_URL", OTHER)
    write_folder(tmp_path, 1)
    write_cases(tmp_path / "cases.jsonl", 2)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def seen() -> dict[str, str]:
    found: dict[str, str] = json.loads(Path("seen").read_text())
    return found


def run(name: str = "mine") -> tuple[str, ...]:
    return ("run", "cases.jsonl", "--model", f"cmd:{shlex.quote(sys.executable)} program.py", "--name", name)


def recorded(name: str = "mine") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("runs", name, "run.json").read_bytes())["model_run"]
    return found


def simulate(folder: Path) -> tuple[str, ...]:
    given = ("--agent", "python:noting:answer", "--user", "script", "--tools", f"mcp:{raw_server(folder, SERVER)}")
    return ("simulate", "scenarios.jsonl", *given, "--name", "mine")


def test_program_gets_named_variables_only(cli: Cli, workdir: Path) -> None:
    assert cli(*run("none")).status == 0
    assert "SERVICE_URL" not in seen()
    completed = cli(*run(), "--env", "SERVICE_URL")
    assert completed.status == 0, completed.err
    assert seen()["SERVICE_URL"] == VALUE
    assert "OTHER_URL" not in seen()
    assert recorded()["env"] == ["SERVICE_URL"]


def test_tool_server_gets_named_variables_only(cli: Cli, workdir: Path) -> None:
    completed = cli(*simulate(workdir), "--env", "SERVICE_URL", "--env", "OTHER_URL")
    assert completed.status in (0, 3), completed.err
    assert {name: seen().get(name) for name in ("SERVICE_URL", "OTHER_URL")} == {"SERVICE_URL": VALUE, "OTHER_URL": OTHER}
    assert recorded()["env"] == ["SERVICE_URL", "OTHER_URL"]


def test_passed_on_values_are_in_no_file_and_no_output(cli: Cli, workdir: Path) -> None:
    for command in (run("program"), simulate(workdir)):
        completed = cli(*command, "--env", "SERVICE_URL")
        assert VALUE not in completed.out + completed.err
    assert not [file for file in Path("runs").rglob("*") if file.is_file() and VALUE.encode() in file.read_bytes()]


def test_tools_of_a_server_are_listed_with_named_variables(cli: Cli, workdir: Path) -> None:
    server = f"mcp:{raw_server(workdir, SERVER)}"
    assert "none" in cli("tools", server).out
    completed = cli("tools", server, "--env", "SERVICE_URL")
    assert (completed.status, seen()["SERVICE_URL"]) == (0, VALUE)
    assert VALUE not in completed.out
    assert callmark.tools(server, env=["SERVICE_URL"])[0].description == "…"


def test_model_in_the_configuration_gets_its_own_variables(cli: Cli, workdir: Path) -> None:
    command = f"cmd:{shlex.quote(sys.executable)} program.py"
    Path("callmark.toml").write_text(f'[models.agent]\nmodel = {json.dumps(command)}\nenv = ["SERVICE_URL"]\n')
    completed = cli("run", "cases.jsonl", "--config", "callmark.toml", "--model", "agent", "--name", "mine")
    assert completed.status == 0, completed.err
    assert seen()["SERVICE_URL"] == VALUE
    assert recorded()["model"]["env"] == ["SERVICE_URL"]


@pytest.mark.parametrize(
    "model, setting, sentence",
    [
        ("scripted:perfect", 'env = ["SERVICE_URL"]', "scripted:perfect does not support --env, because it starts no program"),
        ("cmd:cat", 'env = ["NOT_SET"]', "env: NOT_SET is not set"),
        ("cmd:cat", 'env = "SERVICE_URL"', "[models.agent] env: expected"),
    ],
)
def test_variables_of_a_model_that_cannot_be_passed_on_are_refused(
    cli: Cli, workdir: Path, model: str, setting: str, sentence: str
) -> None:
    Path("callmark.toml").write_text(f'[models.agent]\nmodel = "{model}"\n{setting}\n')
    completed = cli("run", "cases.jsonl", "--config", "callmark.toml", "--model", "agent", "--name", "mine")
    assert completed.status == 2
    assert sentence in completed.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("command", [("run", "cases.jsonl", "--model", "cmd:cat"), ("tools", "mcp:cat"), ("synth", "-o", "data")])
@pytest.mark.parametrize("name", ["NOT_SET", f"SERVICE_URL={VALUE}"])
def test_name_that_cannot_be_passed_on_is_refused_before_anything_runs(
    cli: Cli, workdir: Path, command: tuple[str, ...], name: str
) -> None:
    completed = cli(*command, "--env", name)
    assert completed.status == 2
    expected = "NOT_SET is not set" if name == "NOT_SET" else "expected the name of an environment variable, got 'SERVICE_URL' and a value"
    assert f"callmark: --env: {expected}.\n" in completed.err
    assert VALUE not in completed.err
    assert not Path("runs").exists()


def test_resumed_run_gets_its_variables_only_if_they_are_named_again(cli: Cli, workdir: Path) -> None:
    Path("broken").touch()
    printed = cli(*run(), "--env", "SERVICE_URL", "--retries", "0")
    assert printed.status in (2, 3)
    Path("broken").unlink()
    Path("seen").unlink()
    completed = cli("run", "runs/mine", "--resume")
    assert completed.status == 2
    assert "runs/mine: its programs got SERVICE_URL from the environment, which a run does not store" in completed.err
    assert "Pass it again: --env SERVICE_URL" in completed.err
    assert not Path("seen").exists()
    completed = cli("run", "runs/mine", "--resume", "--env", "SERVICE_URL")
    assert completed.status == 0, completed.err
    assert seen()["SERVICE_URL"] == VALUE


def test_resume_command_names_the_variables_and_no_others(cli: Cli, workdir: Path) -> None:
    cli(*run(), "--env", "SERVICE_URL")
    path = Path("runs/mine/run.json")
    info = json.loads(path.read_bytes())
    info["status"] = "interrupted"
    info["model_run"]["env"] += ["; rm -rf ~", "\x1b[31m"]
    path.write_text(json.dumps(info))
    completed = cli("gate", "runs/mine", "--min", "call.score=0")
    assert "Resume with: callmark run runs/mine --resume --env SERVICE_URL" in completed.out + completed.err
    assert "rm -rf" not in completed.out + completed.err
