"""Shell completion: what bash offers for a word, and the scripts that `--install-completion` writes."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from callmark import registry
from callmark.cli import completion
from callmark.cli.main import COMMANDS
from tests.conftest import Cli

ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
HOME_VARIABLES = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "SHELL")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home folder, which is also the current folder."""
    for name in HOME_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complete(line: str, folder: Path) -> list[str]:
    """Return what bash offers at the end of a line, with the installed script; `file` and `dir` where bash completes paths itself."""
    script = folder / ".local/share/bash-completion/completions/callmark"
    words = [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    program = "\n".join(
        [
            'compopt() { echo "${2/default/file}" | sed s/dirnames/dir/; }',  # bash allows it only during a completion
            f"source {shlex.quote(str(script))}",
            f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}",
            "_callmark_completion callmark",
            r'printf "%s\n" "${COMPREPLY[@]}"',
        ]
    )
    environment = {**os.environ, **ENVIRONMENT, "HOME": str(folder)}
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, cwd=folder, env=environment)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def bash(home: Path, cli: Cli) -> Path:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    assert cli("--install-completion", "bash").status == 0
    return home


def test_bash_completes_commands_and_options(bash: Path) -> None:
    assert complete("callmark ", bash) == list(COMMANDS)
    assert complete("callmark s", bash) == [name for name in COMMANDS if name.startswith("s")]
    assert complete("callmark export ", bash) == ["batch", "cases", "grader", "notebook", "otel", "results", "training"]
    assert complete("callmark gate --max", bash) == ["--max-errors", "--max-drop"]
    assert complete("callmark export results --t", bash) == ["--to"]


def test_bash_completes_names(bash: Path) -> None:
    assert complete("callmark grade eval.jsonl --evaluator s", bash) == ["schema", "state"]
    assert complete("callmark stats --from ", bash) == list(registry.names("formats"))
    assert "tau-bench" not in complete("callmark convert in.jsonl --to ", bash)
    assert complete("callmark convert in.jsonl --to s", bash) == ["sharegpt", "scenarios"]
    assert complete("callmark expand --parallel ", bash) == ["separate", "together"]
    assert complete("callmark grade eval.jsonl --parse he", bash) == ["hermes"]
    assert complete("callmark synth --world r", bash) == ["retail"]
    assert complete("callmark --install-completion z", bash) == ["zsh"]


def test_bash_completes_configured_models(bash: Path) -> None:
    assert complete("callmark run eval.jsonl --model ", bash) == []
    (bash / "callmark.toml").write_text('[models.tuned]\nmodel = "vllm:tuned"\n[models.base]\nmodel = "vllm:base"\n')
    assert complete("callmark run eval.jsonl --model ", bash) == ["tuned", "base"]
    assert complete("callmark simulate s.jsonl --agent b", bash) == ["base"]
    (bash / "callmark.toml").write_text("[models")
    assert complete("callmark run eval.jsonl --model ", bash) == []


def test_bash_completes_files_and_folders(bash: Path) -> None:
    assert complete("callmark stats tr", bash) == ["file"]
    assert complete("callmark lint ", bash) == ["file"]
    assert complete("callmark grade eval", bash) == ["file"]
    assert complete("callmark grade eval.jsonl --predictions ", bash) == ["file"]
    assert complete("callmark split all.jsonl --out ", bash) == ["dir"]
    assert complete("callmark view ", bash) == ["dir"]


def test_bash_completes_run_folders(bash: Path) -> None:
    assert complete("callmark compare ", bash) == ["dir"]
    for name in ("runs/base", "runs/tuned", "old/base"):
        (bash / name).mkdir(parents=True)
        (bash / name / "run.json").write_text(json.dumps({"name": name}))
    (bash / "runs/not-a-run").mkdir()
    assert complete("callmark compare ", bash) == ["runs/base", "runs/tuned"]
    assert complete("callmark compare runs/base runs/t", bash) == ["runs/tuned"]
    assert complete("callmark gate runs/tuned --baseline runs/b", bash) == ["runs/base"]
    assert complete("callmark report old/", bash) == ["old/base"]
    assert complete("callmark report elsewhere/", bash) == ["dir"]


def test_completion_of_an_unknown_command_prints_no_error(bash: Path) -> None:
    assert complete("callmark statz ", bash) == list(COMMANDS)
    assert complete("callmark stats --debug ", bash) == ["file"]


@pytest.mark.parametrize(
    "shell, path, next_step",
    [
        ("bash", ".local/share/bash-completion/completions/callmark", "Open a new shell. This needs the bash-completion package; without"),
        (
            "zsh",
            ".zfunc/_callmark",
            "Add these lines to ~/.zshrc, then open a new shell:\n  fpath+=~/.zfunc\n  autoload -Uz compinit && compinit",
        ),
        ("fish", ".config/fish/completions/callmark.fish", "Open a new shell.\n"),
    ],
)
def test_install_writes_the_script_and_says_what_to_do_next(home: Path, cli: Cli, shell: str, path: str, next_step: str) -> None:
    result = cli("--install-completion", shell)
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(f"Wrote {home / path}.\n{next_step}")
    assert f"_CALLMARK_COMPLETE={shell}_complete" in (home / path).read_text()
    assert [one for one in home.rglob("*") if one.is_file()] == [home / path], "no other file is written"


def test_shell_is_detected(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert cli("--install-completion").out.startswith(f"Wrote {home}/.config/fish/")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    refused = cli("--install-completion")
    assert (refused.status, refused.err) == (
        2,
        "callmark: --install-completion: expected bash, zsh or fish, but $SHELL is tcsh.\n"
        "Name the shell: callmark --install-completion bash\n",
    )
    monkeypatch.delenv("SHELL")
    assert "but $SHELL is not set." in cli("--install-completion").err
    assert "--install-completion: expected bash, zsh or fish, got 'ksh'." in cli("--install-completion", "ksh").err


def test_standard_folders_can_be_moved(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert f"Wrote {home}/data/bash-completion/completions/callmark." in cli("--install-completion", "bash").out
    assert f"Wrote {home}/config/fish/completions/callmark.fish." in cli("--install-completion", "fish").out


def test_zsh_lines_are_not_repeated(home: Path, cli: Cli) -> None:
    (home / ".zshrc").write_text("fpath+=~/.zfunc\nautoload -Uz compinit && compinit\n")
    assert cli("--install-completion", "zsh").out == f"Wrote {home}/.zfunc/_callmark.\nOpen a new shell.\n"


def test_folder_that_cannot_be_written_is_reported(home: Path, cli: Cli) -> None:
    (home / ".zfunc").write_text("")
    result = cli("--install-completion", "zsh")
    assert (result.status, result.err) == (2, f"callmark: {home}/.zfunc/_callmark: cannot be written: File exists.\n")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_completions(home: Path, shell: str) -> None:
    request = {"zsh": {"COMP_WORDS": "callmark ga", "COMP_CWORD": "1"}, "fish": {"COMP_WORDS": "callmark ga", "COMP_CWORD": "ga"}}[shell]
    environment = {**os.environ, **ENVIRONMENT, "_CALLMARK_COMPLETE": f"{shell}_complete", **request}
    done = subprocess.run(["callmark"], capture_output=True, text=True, check=True, env=environment)
    assert "gate" in done.stdout
    assert "Check a run against thresholds, for CI." in done.stdout


def test_names_that_a_shell_cannot_show_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("callmark.toml").write_text('[models.fine]\nmodel = "scripted:perfect"\n[models."fi\\u001b[31m\\n"]\nmodel = "scripted:perfect"\n')
    assert [item.value for item in completion.complete("MODEL", "fi")] == ["fine"]
