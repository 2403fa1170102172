"""The examples in the documentation are run, and the README says what is so."""

import re
import shlex
from pathlib import Path

import pytest

from callmark.data.lint import CODES
from tests.conftest import Cli

ROOT = Path(__file__).parents[1]
README, DATASETS = (ROOT / "README.md").read_text(encoding="utf-8"), (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")


def commands(page: str) -> list[str]:
    return [
        line[2:] for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL) for line in block.splitlines() if line.startswith("$ ")
    ]


def test_the_page_about_datasets_does_what_it_says(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in commands(DATASETS):
        assert cli(*shlex.split(command)[1:]).status == 0, command


def test_the_readme_does_what_it_says(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    cli("demo", "-o", ".")
    Path("hotel.jsonl").rename("train.jsonl")
    Path("valid.jsonl").write_bytes(Path("train.jsonl").read_bytes())
    assert len(commands(README)) == 4
    for command in commands(README):
        assert cli(*shlex.split(command)[1:]).status == 0, command
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    Path("eval.jsonl").unlink()
    exec(program, {})
    assert Path("eval.jsonl").exists()


def test_every_code_of_lint_is_explained() -> None:
    for code, (severity, meaning) in CODES.items():
        assert f"| `{code}` | {severity} | {meaning}" in DATASETS


def test_the_readme_names_the_two_commands_and_a_picture_that_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "bench", "proof"):
        assert f"make {target}" in README
        assert f"\n{target}:" in makefile
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists()
