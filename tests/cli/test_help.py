"""Help pages: every command has a summary, described arguments, grouped options and examples that parse."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from callmark.cli.help import OTHER, Argument, Command, Group, Option
from callmark.cli.main import COMMANDS, callmark
from tests.conftest import Cli

LONGEST_EXAMPLE = 78


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its path, such as `export results`."""
    context = click.Context(callmark, info_name="callmark")
    for name in COMMANDS:
        command = callmark.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {subname}", command.commands[subname]) for subname in command.commands)
        else:
            yield name, command


@pytest.fixture(params=list(commands()), ids=lambda param: param[0])
def documented(request: pytest.FixtureRequest) -> tuple[str, Command]:
    path, command = request.param
    assert isinstance(command, Command)
    return path, command


def test_every_command_has_a_summary_and_a_description(documented: tuple[str, Command]) -> None:
    _, command = documented
    summary, blank, *description = (command.help or "").splitlines()
    assert re.fullmatch(r"[A-Z][a-z]+ .*\.", summary)
    assert len(summary) < 66, "it fits on one line of callmark --help"
    assert not blank
    assert description


def test_every_parameter_is_described_and_grouped(documented: tuple[str, Command]) -> None:
    _, command = documented
    for parameter in command.params:
        if isinstance(parameter, Argument):
            assert re.match(r"[A-Z[]|mcp:", parameter.text)
        else:
            assert isinstance(parameter, Option), parameter.name
            assert (parameter.help or "").endswith((".", ")"))
            assert (parameter.help or "")[0].isupper() or ":" in (parameter.help or "")
            assert parameter.is_flag or parameter.metavar or isinstance(parameter.type, click.Choice), "the metavar says what is meant"


def test_options_of_a_group_are_shown_together(documented: tuple[str, Command]) -> None:
    path, command = documented
    context = click.Context(command, info_name=path, parent=click.Context(callmark, **callmark.context_settings))
    titles = [section.title for section in command.sections(context)]
    assert len(titles) == len(set(titles))
    groups = [title for title in titles if title not in ("Arguments", "Exit status")]
    assert groups[-1] in (OTHER, "Options")
    shown = [term for section in command.sections(context) if section.title in groups for term, _ in section.rows]
    assert len(shown) == len([one for one in command.params if isinstance(one, click.Option)]) + 1  # --help


def test_examples_are_valid_and_fit_the_terminal(documented: tuple[str, Command]) -> None:
    path, command = documented
    assert 1 <= len(command.examples) <= 3
    for example in command.examples:
        assert all(len(line) <= LONGEST_EXAMPLE for line in example.splitlines())
        words = shlex.split(example.partition(" >")[0] if " > tools" in example else example)
        start = ["callmark", *path.split()]
        assert words[: len(start)] == start
        parent = click.Context(callmark, **callmark.context_settings)
        command.make_context(path, words[len(start) :], parent)  # raises for an unknown option or a missing argument


@pytest.mark.parametrize("width", [80, 110])
def test_help_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, cli: Cli, width: int, documented: tuple[str, Command]) -> None:
    path, _ = documented
    monkeypatch.setenv("COLUMNS", str(width))
    shown = cli(*path.split(), "--help")
    assert shown.status == 0
    assert [line for line in shown.out.splitlines() if len(line) > width] == []
    assert f"Usage: callmark {path} " in shown.out
    assert "\nExamples:\n  callmark " in shown.out


def test_top_level_help_lists_every_command_by_job(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = cli("--help").out
    assert [line.rstrip(":") for line in shown.splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)] == [
        "Data",
        "Evaluate",
        "Analyze",
        "More",
        "Options",
        "Exit status",
    ]
    for name in COMMANDS:
        assert re.search(rf"^  {name} +[A-Z]", shown, re.MULTILINE)
    assert shown.count("\n    callmark ") == 3
    assert max(map(len, shown.splitlines())) <= 80


def test_group_lists_its_commands(cli: Cli) -> None:
    shown = cli("export", "--help").out
    assert "\nCommands:\n  results " in shown
    command = callmark.get_command(click.Context(callmark), "export")
    assert isinstance(command, Group)
    assert sorted(command.titles["Commands"]) == sorted(command.commands)


def test_defaults_and_requirements_are_shown(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert "Folder for runs.  [default: runs]" in cli("grade", "--help").out
    assert "Random seed.  [default: 7]" in cli("split", "--help").out
    assert "[required]" in cli("convert", "--help").out


def test_every_command_has_help_with_an_example(cli: Cli) -> None:
    for name in COMMANDS:
        assert f"  callmark {name}" in cli(name, "--help").out
    assert cli("--version").out.startswith("callmark 0.")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["run", "x", "--limit", "0"], "--limit: expected an integer of at least 1, got '0'."),
        (["run", "x", "--limit", "many"], "--limit: expected an integer of at least 1, got 'many'."),
        (["run", "x", "--retries", "-1"], "--retries: expected an integer of at least 0, got '-1'."),
        (["run", "x", "--timeout", "0"], "--timeout: expected a number above 0, got '0'."),
        (["run", "x", "--max-cost", "nan"], "--max-cost: expected a number above 0, got 'nan'."),
        (["run", "x", "--temperature", "inf"], "--temperature: expected a number, got 'inf'."),
        (["split", "x", "-o", "d", "--valid", "1.5"], "--valid: expected a number from 0 to 1, got '1.5'."),
        (["split", "x", "-o", "d", "--seed", "1.5"], "--seed: expected an integer, got '1.5'."),
        (["view", "--port", "70000"], "--port: expected an integer from 0 to 65535, got '70000'."),
        (["expand", "x", "-o", "y", "--parallel", "both"], "--parallel: expected separate or together, got 'both'."),
    ],
)
def test_bad_option_values_say_what_was_expected(cli: Cli, arguments: list[str], sentence: str) -> None:
    result = cli(*arguments)
    assert result.status == 2
    assert result.err.startswith(f"callmark: {sentence}\nUsage: callmark {arguments[0]} ")
