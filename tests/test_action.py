"""The GitHub Action: its steps, run in a shell as the runner runs them, and the workflow of the documentation that uses it.

Steps that use other actions (uploads) are not run; their outputs are given.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from tests.test_docs import ROOT, blocks, read

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
REPORT = "https://ci.example/artifacts/1"


class Runner:
    """A runner with the files that a step may write to. `contexts` are the values of expressions."""

    def __init__(self, workspace: Path, inputs: dict[str, str]) -> None:
        self.workspace = workspace
        self.summary, self._output = workspace / "step-summary.md", workspace / "output"
        self.contexts = {"github.action_path": str(ROOT), "github.run_id": "7", "github.run_attempt": "1"}
        self.contexts["steps.upload.outputs.artifact-url"] = REPORT
        for name, given in ACTION["inputs"].items():
            self.contexts[f"inputs.{name}"] = inputs.get(name, self._fill(given.get("default", "")))

    def run(self, name: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the step of that name, and read its outputs."""
        (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
        assert step["shell"] == "bash"
        script = self.workspace / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        self._output.write_text("", encoding="utf-8")
        own = {key: self._fill(value) for key, value in step.get("env", {}).items()}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        files = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self._output), "GITHUB_ACTIONS": "true", "CI": "true"}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={**os.environ, "PATH": path, **files, **own, **env},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        for line in self._output.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            self.contexts[f"steps.{step['id']}.outputs.{key}"] = value
        return done

    def _fill(self, text: str) -> str:
        """Return the text with its expressions replaced; `a || b` is the first that is not empty."""
        return EXPRESSION.sub(
            lambda found: next(filter(None, (self.contexts[part] for part in re.split(r"\s*\|\|\s*", found[1]))), ""), text
        )


def test_no_script_contains_an_expression() -> None:
    """An expression is replaced before the shell sees it: its value could be a command."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(scripts) == 4
    assert not [script for script in scripts if "${{" in script]


def test_default_install_is_the_repository_of_the_action(tmp_path: Path) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": str(tmp_path / "target")}
    done = Runner(tmp_path, {"cases": "eval.jsonl"}).run("Install callmark", **offline)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "target" / "callmark" / "py.typed").exists()
    assert list((tmp_path / "target").glob("callmark-*.dist-info"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "callmark", "demo", "hotel", "-o", "."], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_steps_run_the_model_write_the_report_and_fail_with_the_gate(workspace: Path) -> None:
    """Two runs, as on the main branch and in a pull request; one of the cases has a hostile name."""
    lines = (workspace / "good.jsonl").read_text(encoding="utf-8").splitlines()[:4]
    hostile = "@octocat <b>x</b> [a](https://evil.example) `::error::`"
    (workspace / "eval.jsonl").write_text(
        "\n".join([*lines[1:], re.sub(r'"id": ?"[^"]+"', f'"id":"{hostile}"', lines[0], count=1)]) + "\n", "utf-8"
    )
    inputs = {"cases": "eval.jsonl", "run-options": "--trials 2 -e call", "gate-options": "--min call.score=0.1", "tag": "main"}
    main = Runner(workspace, {**inputs, "model": "scripted:perfect", "name": "main"})
    for step in ("Run", "Write the report", "Check the thresholds"):
        done = main.run(step)
        assert done.returncode == 0, (step, done.stdout, done.stderr)
    assert main.contexts["steps.run.outputs.run"] == "runs/main"
    gate = "--baseline 'latest:main' --max-drop call.score=0.01"
    pull = Runner(workspace, {**inputs, "model": "scripted:forgetful", "tag": "pr=12", "gate-options": gate})
    assert pull.run("Run").returncode == 0
    assert pull.contexts["steps.run.outputs.run"] == "runs/ci-7-1"
    assert pull.run("Write the report").returncode == 0
    assert (workspace / "callmark-report.html").stat().st_size > 100_000
    before = pull.summary.read_text(encoding="utf-8")
    done = pull.run("Check the thresholds")
    assert (done.returncode, "Gate failed: 0 of 1 threshold met" in done.stdout) == (1, True), done.stderr
    summary = pull.summary.read_text(encoding="utf-8")[len(before) :]
    assert summary.strip() == (workspace / "callmark-summary.md").read_text(encoding="utf-8").strip()
    assert "compared with `runs/main`" in summary
    assert "| new | ``@octocat <b>x</b>" in summary
    check_summary(summary)
    thresholds, cases = JUnitXml.fromfile(str(workspace / "callmark-junit.xml"))
    assert [(test.name, test.is_passed) for test in thresholds] == [("max_drop call.score", False)]
    assert any(not test.is_passed for test in cases)


def check_summary(summary: str) -> None:
    """Check that the summary names a broken case, links to the report, and holds nothing else that is active."""
    html = MarkdownIt("commonmark").enable("table").render(summary)
    assert re.findall(r'href="([^"]*)"', html) == [REPORT]
    assert re.findall(r"<td>(new|failed)</td>", html)
    outside = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    assert not re.findall(r"@|evil|<b>|::", outside)
    assert set(re.findall(r"<(\w+)", outside)) <= {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "a"}


def test_workflow_of_the_documentation_uses_the_action_as_it_is() -> None:
    page = read(ROOT / "docs" / "how-to" / "gate-in-ci.md")
    (block,) = [block for block in blocks(page) if block.language == "yaml"]
    workflow = yaml.safe_load(block.text)
    (job,) = workflow["jobs"].values()
    (step,) = [step for step in job["steps"] if step.get("uses", "").startswith("./")]
    assert set(step["with"]) <= set(ACTION["inputs"])
    required = {name for name, given in ACTION["inputs"].items() if given.get("required")}
    assert required <= set(step["with"])
    assert "git submodule add" in page
    assert any("callmark-summary.md" in step.get("run", "") for step in job["steps"])
