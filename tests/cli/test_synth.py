import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.api.scenarios import read_table
from callmark.config import read_grading_settings
from callmark.simulation.scenario_checks import check_expected_calls
from callmark.types import Case
from callmark.worlds.helpdesk.desk import Desk
from callmark.worlds.helpdesk.tools import TOOLS
from tests.conftest import Cli

DEMO = Path(str(files("callmark.worlds.helpdesk")))
READ_ONLY = ("-search_tickets", "-get_support_ticket", "-list_action_items")
TYPES = ("create_ticket", "create_ticket_and_action_item", "search_and_update", "command_style", "changes_mind", "not_allowed")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def helpdesk_scenarios(cli: Cli, *more: str, out: str = "s.jsonl") -> list[Case]:
    """Return the scenarios of the help desk."""
    assert cli("synth", "--scenarios-only", "-o", out, *more).status == 0
    return [row for row in callmark.load(out) if isinstance(row, Case)]


def custom_arguments(templates: str, **tables: str) -> list[str | Path]:
    """Return the command line for custom templates and tables."""
    Path("tables").mkdir(exist_ok=True)
    Path("mine.yaml").write_text(templates)
    for name, text in tables.items():
        Path("tables", f"{name}.csv").write_bytes(text.encode())
    return ["synth", "--scenarios-only", "--templates", "mine.yaml", "-o", "s.jsonl"]


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()]


def one(instructions: str, more: str = "") -> str:
    return f"- id: t\n  instructions: {instructions}\n  expected_function_calls: []\n{more}"


def test_help_desk_scenarios_have_every_type_and_are_distinct(cli: Cli) -> None:
    completed = cli("synth", "--scenarios-only", "-o", "s.jsonl", "--json")
    payload = json.loads(completed.out)
    cases = [row for row in callmark.load("s.jsonl") if isinstance(row, Case)]
    assert payload["scenarios"] == len(cases) >= 36
    assert payload["duplicates"] == 0
    assert payload["by_type"] == Counter(case.scenario_type for case in cases)
    assert set(TYPES) <= payload["by_type"].keys()
    assert len({case.id for case in cases}) == len({case.instructions for case in cases}) == len(cases)
    assert {case.data["style"] for case in cases} == {"plain", "terse", "chatty", "impatient"}
    for case in cases:
        assert case.data["tasks"]
        assert case.data["script"]
        assert case.data["turns"] <= len(case.data["script"])
        assert (not case.expected) == (case.scenario_type == "not_allowed")


def test_same_seed_gives_the_same_bytes(cli: Cli) -> None:
    for out, seed in (("a.jsonl", "7"), ("b.jsonl", "7"), ("c.jsonl", "8")):
        helpdesk_scenarios(cli, "--seed", seed, out=out)
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes() != Path("c.jsonl").read_bytes()


def test_group_has_several_scenarios_and_one_expectation(cli: Cli) -> None:
    by_group: dict[str, list[Case]] = {}
    for case in helpdesk_scenarios(cli):
        if case.group is not None:
            by_group.setdefault(case.group, []).append(case)
    assert len(by_group) >= 3
    for cases in by_group.values():
        assert len(cases) >= 2
        assert all(case.expected == cases[0].expected for case in cases)
        assert len({case.data["tasks"][0]["opening"] for case in cases}) == len(cases)


@pytest.mark.parametrize("seed", ["7", "8", "11"])
def test_help_desk_tools_accept_every_expected_call(cli: Cli, seed: str) -> None:
    for case in helpdesk_scenarios(cli, "--seed", seed):
        check_expected_calls(case, TOOLS)
        desk, newest = Desk(7), ""
        for call in case.expected:
            assert not call.name.endswith(READ_ONLY)
            assert call.arguments.get("due_date", "2025-05-02") > "2025-05-01"
            given = {key: newest if isinstance(value, dict) else value for key, value in call.arguments.items()}
            answer = desk.call(call.name, given)
            assert not answer.is_error, (case.id, answer.text)
            newest = json.loads(answer.text)["ticket_id"]
        desk.close()


def test_tables_match_the_tickets_of_the_help_desk() -> None:
    desk = Desk(7)
    tickets = desk.state()["tickets"]
    seen = 0
    for name in ("existing_tickets", "closed_tickets"):
        for row in read_table(DEMO / "tables" / f"{name}.csv"):
            assert {key: value for key, value in tickets[row["ticket_id"]].items() if key in row} == {
                key: value for key, value in row.items() if key in tickets["TKT-1001"]
            }
            assert (row["status"] == "Closed") == (name == "closed_tickets")
            if name == "existing_tickets":
                assert desk.search_tickets(row["title"])["count"] == 1  # the title alone identifies the ticket
                assert row["new_priority"] != row["priority"]
                assert row["new_status"] != row["status"]
                assert row["new_department"] != row["department_code"]
            seen += 1
    for row in read_table(DEMO / "tables" / "follow_ups.csv"):
        assert tickets[row["existing_id"]]["title"] == row["existing_title"]
    assert all(row["ticket_id"] in tickets for row in read_table(DEMO / "tables" / "forbidden_requests.csv"))
    assert seen >= 18


def test_demo_settings_ignore_lookup_functions() -> None:
    from callmark.grading.ignored_functions import is_ignored

    options = read_grading_settings(str(DEMO / "callmark.toml")).options
    assert options["effort"]["ignore"] == options["process"]["ignore"]
    for tool in TOOLS:
        writes = any(word in tool.name for word in ("-create_", "-update_"))
        assert is_ignored(tool.name, tuple(options["process"]["ignore"])) != writes, tool.name


def test_value_changed_midway_is_expected_in_its_final_form(cli: Cli) -> None:
    minds = [case for case in helpdesk_scenarios(cli) if case.scenario_type == "changes_mind"]
    for case in minds:
        (task,) = case.data["tasks"]
        ((name, final),) = task["changes"].items()
        assert task["slots"][name] != final
        assert case.expected[0].arguments == {**task["slots"], name: final}


def test_number_and_standard_output(cli: Cli) -> None:
    completed = cli("synth", "--scenarios-only", "-n", "20", "-o", "-")
    assert len(completed.out.splitlines()) == 20
    assert "20 scenarios → standard output" in completed.err


def test_custom_templates_and_tables(cli: Cli) -> None:
    text = 'title,level:json\n"Say ""hi"", {now}\nplease",3\n=1+1,"{""a"": [1]}"\n'
    completed = cli(
        *custom_arguments(
            one('"{ticket.title}"', "  count: 2\n  data: {tasks: [{slots: {level: '{ticket.level}', day: 2025-05-10}}]}\n"), tickets=text
        )
    )
    assert completed.status == 0, completed.err
    assert "2 scenarios → s.jsonl" in completed.out
    found = {row["instructions"]: row["data"]["tasks"][0]["slots"] for row in rows()}
    assert found == {
        'Say "hi", {now}\nplease': {"level": 3, "day": "2025-05-10"},
        "=1+1": {"level": {"a": [1]}, "day": "2025-05-10"},
    }


def test_tables_folder_may_be_given(cli: Cli) -> None:
    line = custom_arguments(one('"{ticket.title}"'), tickets="title\nhere\n")
    Path("tables").rename("elsewhere")
    assert cli(*line).status == 2
    assert cli(*line, "--tables", "elsewhere").status == 0
    assert rows()[0]["instructions"] == "here"


def test_identical_scenarios_are_counted(cli: Cli) -> None:
    completed = cli(*custom_arguments(one("same", "  count: 3\n")))
    assert "2 identical to an earlier one except for the ID" in completed.out


@pytest.mark.parametrize(
    "templates, tables, sentence",
    [
        (one('"{ticket.titel}"'), {"tickets": "title\nx\n"}, "mine.yaml: template 't', instructions: table tickets has no column for"),
        (one("{ticket.title} first"), {}, "mine.yaml, line 2: not valid YAML"),
        ("- id: [", {}, "mine.yaml, line 1: not valid YAML"),
        ("- id: a\n  id: b\n", {}, "mine.yaml, line 1: duplicate key 'id'"),
        (
            "- !!python/object:os.system {}\n",
            {},
            "mine.yaml, line 1: expected plain values, got the tag tag:yaml.org,2002:python/object:os.system",
        ),
        ("\x01", {}, "mine.yaml: not valid YAML"),
        ("[" * 5000, {}, "mine.yaml, line 1: nesting deeper than 200"),
        ("", {}, "mine.yaml: no templates found"),
        (one("x"), {"t": "a,b\n1\n"}, "t.csv, line 2: expected 2 cells, got 1"),
        (one("x"), {"t": "a,a\n1,2\n"}, "t.csv, line 1: expected unique column names, got a, a"),
        (one("x"), {"t": "a,a:json\n1,2\n"}, "t.csv, line 1: expected unique column names, got a, a"),
        (one("x"), {"t": 'a\n"open\n'}, "t.csv, line 2: not valid CSV"),
        (one("x"), {"t": "a:json\n[1\n"}, "t.csv, line 2: a:json: not valid JSON: truncated JSON"),
    ],
)
def test_invalid_templates_are_refused_with_their_place(cli: Cli, templates: str, tables: dict[str, str], sentence: str) -> None:
    completed = cli(*custom_arguments(templates, **tables))
    assert completed.status == 2
    assert sentence in completed.err
    assert "internal error" not in completed.err
    assert not Path("s.jsonl").exists()


@pytest.mark.parametrize(
    "more, sentence",
    [
        (["--templates", "none.yaml"], "none.yaml: no such file"),
        (["--templates", "latin.yaml"], "latin.yaml: not valid UTF-8"),
        (["--templates", "."], ".: cannot be read"),
        (["--tables", "none"], "none: no such folder"),
        (["-n", "0"], "--number: expected an integer of at least 1, got '0'"),
        (["--templates", "s.jsonl"], "s.jsonl cannot be both the input and the output"),
        (["--agent", "openai:x"], "--agent cannot be used with --scenarios-only, which generates no conversations"),
        (["--max-cost", "1"], "--max-cost cannot be used with --scenarios-only, which generates no conversations"),
    ],
)
def test_missing_or_invalid_files_are_refused(cli: Cli, more: list[str], sentence: str) -> None:
    Path("latin.yaml").write_bytes(b"- id: \xff\n")
    completed = cli("synth", "--scenarios-only", "-o", "s.jsonl", *more)
    assert completed.status == 2
    assert sentence in completed.err
