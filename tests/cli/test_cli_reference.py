"""The generated reference of the command line."""

import re
import runpy
from pathlib import Path

import click
import pytest

from callmark.cli.main import COMMANDS, callmark
from tests.cli.test_help import commands

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page() -> str:
    text = runpy.run_path(str(ROOT / "docs/generate_cli.py"))["cli_reference"]()
    assert isinstance(text, str)
    return text


def section(page: str, path: str) -> str:
    return page.partition(f"\n## callmark {path}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("path, command", list(commands()), ids=lambda value: str(value))
def test_every_option_and_example_is_in_the_section_of_its_command(page: str, path: str, command: click.Command) -> None:
    text = section(page, path)
    assert f"```text\ncallmark {path} " in text
    for parameter in command.params:
        term = parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.metavar or ""
        written = re.escape(term.replace("|", "\\|"))
        assert re.search(rf"^\| `[^`]*{written}[^`]*` \| .", text, re.MULTILINE), term
    assert f"\n$ callmark {path} " in text


def test_commands_are_linked_by_job(page: str) -> None:
    for name in COMMANDS:
        assert f"| [`callmark {name}`](#callmark-{name}) | " in page
        assert f"\n## callmark {name}\n" in page
    assert [line for line in page.splitlines() if line.startswith("# ")] == ["# Command line"]
    assert str(callmark.short_help) in page


def test_markdown_is_escaped(page: str) -> None:
    assert "(needs callmark\\[charts\\])" in page
    assert "| `--install-completion [bash\\|zsh\\|fish]` | " in page
    for row in re.findall(r"^\|.*\|$", page, re.MULTILINE):
        assert len(re.findall(r"(?<!\\)\|", row)) == 3
