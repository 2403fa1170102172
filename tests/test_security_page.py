"""SECURITY.md says what the code does: every command, the variables that programs get, and the bounds."""

import re
from pathlib import Path

import pytest

from callmark.calls import match_budget, matchers, strict, value_keys, yaml_text
from callmark.cli.export import command as export
from callmark.cli.main import COMMANDS
from callmark.formats import by_reference, rows
from callmark.models import child_environment, http_client, redaction
from callmark.models.keys import _SECRET_WORDS
from callmark.simulation.toolboxes import connection, results
from callmark.trust import VARIABLE

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())


def test_every_command_has_a_row() -> None:
    table = PAGE.partition("## What each command may do")[2].partition("###")[0]
    first_cells = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    commands = {name for name in COMMANDS if name != "export"} | {f"export {name}" for name in export.commands}
    assert set(re.findall(r"`([a-z ]+)`", first_cells)) == commands


def test_every_inherited_variable_is_named() -> None:
    for name in (*child_environment.INHERITED, "LC_*", VARIABLE):
        assert f"`{name}" in TEXT


def test_every_word_of_a_secret_name_is_named() -> None:
    assert {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"} == _SECRET_WORDS - {"APIKEY", "CREDENTIALS"}
    assert "with KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL in their name" in TEXT


@pytest.mark.parametrize(
    "sentence",
    [
        f"fewer than {redaction.MIN_LENGTH} characters",
        f"nested at most {strict.DEEPEST} levels",
        f"matchers have at most {matchers.MAX_NODES:,} nodes",
        f"a `$set` at most {matchers.MAX_SET_MEMBERS:,} members",
        f"a comparison at most {match_budget.MAX_CHECKS:,} member checks",
        f"a row has at most {rows.MAX_ROW >> 20} MiB",
        f"at most {yaml_text.MAX_VALUES:,} values",
        f"a response of a model or a tool server has at most {http_client.MAX_RESPONSE_BYTES >> 20} MiB",
        f"a response of a model or a tool server has at most {connection._MAX_BODY >> 20} MiB",
        f"a tool result is cut at {results.MAX_RESULT >> 20} MiB",
        f"a conversation by reference has at most {by_reference.MAX_SIZE:,} messages and calls",
        f"makes at most {value_keys.MAX_COMPARISONS:,} comparisons",
    ],
)
def test_bounds_are_those_of_the_code(sentence: str) -> None:
    assert sentence in TEXT


def test_the_tests_that_it_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert len(named) == 5
    assert all((ROOT / name).is_file() for name in named)
