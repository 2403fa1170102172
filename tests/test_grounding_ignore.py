"""`[grounding] ignore` holds in every command: `lint`, `filter --grounded` and grading report the same values, by the CLI and in Python."""

import json
from pathlib import Path

import pytest

import callmark
from callmark.types import Call, Message
from tests.conftest import Cli
from tests.rows import assistant, call, row, user, write_rows

BOOK = {
    "type": "function",
    "function": {
        "name": "book",
        "parameters": {"type": "object", "properties": {"room": {"type": "string"}, "view": {"enum": ["sea", "garden"]}}},
    },
}
ARGUMENTS = {"room": "R-12", "note": "early bird", "view": "sea", "guest": {"name": "Ada", "ages": [7]}}
EVERY = ["note", "guest.name", "guest.ages[0]"]  # that the user did not say and the schema does not list


def ignoring(*patterns: str) -> str:
    return f"[grounding]\nignore = {json.dumps(patterns)}\n"


CASES = [
    ("", EVERY),
    (ignoring(), EVERY),
    (ignoring("*.note"), EVERY[1:]),
    (ignoring("book.note"), EVERY[1:]),
    (ignoring("b??k.n*"), EVERY[1:]),
    (ignoring("cancel.note", "Book.note"), EVERY),
    (ignoring("*.guest"), EVERY[:1]),
    (ignoring("*.guest.name"), ["note", "guest.ages[0]"]),
    (ignoring("*.guest.ages.0"), EVERY[:2]),
    (ignoring("*.note", "*.guest.*"), []),
    (ignoring("*.*"), []),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a dataset of one conversation, and a case with its prediction."""
    monkeypatch.chdir(tmp_path)
    made = assistant(call("book", ARGUMENTS))
    write_rows(tmp_path / "data.jsonl", row(user("Book R-12."), made, tools=[BOOK]))
    write_rows(tmp_path / "eval.jsonl", row(user("Book R-12."), tools=[BOOK], id="a", expected_output=made))
    write_rows(tmp_path / "said.jsonl", {"id": "a", **made})
    return tmp_path


@pytest.mark.parametrize("named", [False, True], ids=["found in the folder", "named"])
@pytest.mark.parametrize("config, hallucinated", CASES)
def test_every_command_reports_the_same_values(cli: Cli, folder: Path, config: str, hallucinated: list[str], named: bool) -> None:
    file = folder / ("other.toml" if named else "callmark.toml")
    file.write_text(config)
    path, option = (str(file), ["--config", str(file)]) if named else (None, [])

    report = callmark.lint("data.jsonl", config=path)
    assert [finding.argument for finding in report.findings if finding.code == "hallucinated_value"] == hallucinated
    printed = json.loads(cli("lint", "data.jsonl", "--json", *option).out)
    assert printed["summary"].get("hallucinated_value", 0) == len(hallucinated)

    kept = int(not hallucinated)
    counts = callmark.filter("data.jsonl", grounded=True, config=path).counts
    assert (counts.kept_by_rule, counts.kept) == ({"grounded": kept}, kept)
    printed = json.loads(cli("filter", "data.jsonl", "--grounded", "-o", "kept.jsonl", "--json", *option).out)
    assert printed["kept_by_rule"] == {"grounded": kept}

    notes = [
        note.argument
        for grade in callmark.grade("eval.jsonl", predictions="said.jsonl", name="run", config=path).grades()
        for note in grade.notes
        if note.kind == "hallucinated_value"
    ]
    assert notes == hallucinated


def test_over_calling_counts_no_ignored_argument_as_hallucinated(folder: Path) -> None:
    called = assistant(call("book", {"note": "late"}))
    none = row(user("Thanks."), id="none", expected_output={"role": "assistant", "content": "Bye."})
    write_rows(folder / "none.jsonl", none, row(user("Book it."), id="one", expected_output=called))
    write_rows(folder / "made.jsonl", {"id": "none", **called}, {"id": "one", **called})
    found = []
    for patterns in ((), ("*.note",)):
        (folder / "callmark.toml").write_text(ignoring(*patterns))
        run = callmark.grade("none.jsonl", predictions="made.jsonl", evaluators=["decision"], name=f"run{len(patterns)}")
        found.append(run.summary().metrics["decision.hallucinated"].mean)
    assert found == [1.0, 0.0]


@pytest.mark.parametrize("command", [["lint"], ["filter", "--grounded", "-o", "kept.jsonl"]], ids=["lint", "filter"])
def test_invalid_configuration_is_refused_with_the_file(cli: Cli, folder: Path, command: list[str]) -> None:
    (folder / "callmark.toml").write_text(ignoring("note"))
    completed = cli(*command, "data.jsonl")
    assert completed.status == 2
    assert "callmark.toml: [grounding] ignore: expected a pattern of the form TOOL.ARGUMENT, got 'note'" in completed.err


def test_other_filter_rules_do_not_read_the_configuration(cli: Cli, folder: Path) -> None:
    (folder / "callmark.toml").write_text(ignoring("note"))
    assert cli("filter", "data.jsonl", "--min-calls", "1", "-o", "kept.jsonl").status == 0


@pytest.mark.parametrize(
    "expected, rejected",
    [
        (Call("book", {"note": "late"}), True),
        (Call("book", {"note": {"$any": True}}), False),
        (Call("book", {"note": "Book"}), False),
    ],
    ids=["hallucinated", "matcher", "grounded"],
)
def test_filter_rejects_the_cases_that_lint_reports(expected: Call, rejected: bool) -> None:
    case = callmark.Case("c", (Message("user", "Book it."),), expected=(expected,))
    assert callmark.lint([case]).summary.get("hallucinated_value", 0) == int(rejected)
    assert callmark.filter([case], grounded=True).counts.kept == int(not rejected)
