"""Output of the dataset commands, and that control characters in data are escaped."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

ESCAPE = "\x1b]0;owned\x07\x1b[31m\u202ered\u202c\x9b2J [bold]x[/bold] :smile:"
HOSTILE = row(
    user(ESCAPE),
    assistant(call(f"f{ESCAPE}", {ESCAPE: ESCAPE}), text=ESCAPE),
    result(ESCAPE, name=ESCAPE),
    {"role": "developer", "name": f"odd{ESCAPE}", "content": "</script><script>alert(1)</script>"},
    assistant(call(ESCAPE, "{" + ESCAPE, "c2")),
    tools=[{"name": f"g{ESCAPE}", "parameters": {"properties": {ESCAPE: {}}}}],
    id=ESCAPE,
)


@pytest.mark.parametrize(
    "command",
    [
        ["stats"],
        ["show"],
        ["show", "--markdown"],
        ["show", "--full"],
        ["lint", "--all"],
        ["filter", "-o", "out.jsonl", "--tool", ESCAPE],
        ["expand", "-o", "out.jsonl"],
    ],
    ids=lambda command: " ".join(command)[:20],
)
def test_control_characters_in_data_are_escaped(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "x.jsonl", HOSTILE)
    completed = cli(*command, "x.jsonl")
    assert completed.status == 0
    for raw in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert raw not in completed.out
        assert raw not in completed.err
    if command[0] in ("stats", "show", "lint"):
        assert "\\x1b" in completed.out
        assert "[bold]x[/bold]" in completed.out
        assert ":smile:" in completed.out


@pytest.mark.parametrize(
    "hostile",
    [
        {"\x1b[31m": 1},
        row({"role": "\x1b[31m", "content": ""}),
        row({"role": "assistant", "\x1b[31mcalls": [1]}),
        row({"role": "user", "content": [{"type": "tool\x1b[31m"}]}),
        row({"role": "user", "content": [{"type": "x", "tool\x1b[31m": 1}]}),
    ],
)
def test_control_characters_in_errors_are_escaped(cli: Cli, tmp_path: Path, hostile: dict[str, Any]) -> None:
    completed = cli("stats", write_rows(tmp_path / "x.jsonl", hostile))
    assert completed.status == 2
    assert "\x1b" not in completed.err
    assert "x1b[31m" in completed.err


def test_long_strings_are_folded(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("x" * 1_000_000), assistant(call("f", {"a": "y" * 1_000_000}))))
    shown = cli("show", path)
    assert "(+999,400 characters)" in shown.out
    assert len(shown.out) < 5_000
    for command in ("stats", "lint"):
        assert len(cli(command, path).out) < 10_000
    assert len(cli("show", path, "--full").out) > 2_000_000


def test_lone_surrogates_are_escaped_and_counted(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", r'{"messages": [{"role": "user", "content": "a \ud800 b"}]}')
    shown = cli("show", path)
    assert "a \\ud800 b" in shown.out
    assert "lone surrogates escaped in 1" in shown.out


def test_show_prints_the_conversation(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "x.jsonl", row(user("Bonn?"), assistant(call("get_weather", {"city": "Bonn"})), result("sunny", name="get_weather"))
    )
    lines = [line.rstrip() for line in cli("show", path).out.splitlines()]
    assert lines[2:] == [
        " 0 USER",
        "      Bonn?",
        "   │",
        " 1 ASSISTANT ──▶ get_weather",
        '      get_weather(city="Bonn")',
        "   │",
        " 2 TOOL get_weather",
        "      sunny",
        "",
        "   Tools (0): none",
        "   Unused fields: none",
    ]


def test_show_says_what_is_malformed_and_what_is_not_used(cli: Cli, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "x"}}, {"type": "sticker", "pack": "s"}]
    first = {"role": "user", "content": parts, "weight": 1}
    more = {"metadata": {"a": 1, "b": {"c": 2}}, "note": "n", "empty": {}, "none": None}
    path = write_rows(
        tmp_path / "x.jsonl", row(user("other")), row(first, assistant({"name": "f", "city": "Bonn"}), tools=[WEATHER], **more)
    )
    out = cli("show", path, "--row", "2").out
    assert "unknown content parts: sticker (1)" in out.splitlines()[0]
    assert "   Tools (1): get_weather\n   Malformed call in message 1: f: unknown keys: city\n" in out
    unused = "metadata, note, messages[].content[].image_url, messages[].content[].pack, messages[].weight"
    assert f"   Unused fields: {unused}\n" in out
    assert f"**Unused fields**: `{unused}`" in cli("show", path, "--row", "2", "--markdown").out


def test_show_says_once_that_a_malformed_call_has_no_name(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("hi"), assistant({"city": "Bonn"}), tools=[WEATHER]))
    assert "   Malformed call in message 1: no name\n" in cli("show", path).out


@pytest.mark.parametrize(
    "shown, format_name, unused",
    [
        ({"conversations": [{"from": "human", "value": "hi"}], "score": 1}, "sharegpt", "score"),
        ({"system": "s", "messages": [user("hi")], "extra": {"a": [1]}}, "anthropic", "extra"),
        ({"id": "s", "instructions": "do", "expected_function_calls": [], "color": "red"}, "scenarios", "color"),
    ],
)
def test_show_finds_unused_fields_in_every_format(cli: Cli, tmp_path: Path, shown: dict[str, Any], format_name: str, unused: str) -> None:
    assert f"   Unused fields: {unused}\n" in cli("show", write_rows(tmp_path / "x.jsonl", shown), "--from", format_name).out


@pytest.mark.parametrize(
    "command",
    [["stats"], ["lint"], ["filter", "--min-messages", "1", "-o", "out.jsonl"], ["convert", "--to", "sharegpt", "-o", "out.jsonl"]],
)
def test_a_file_without_calls_says_so_in_the_first_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "x.jsonl", row(user("a"), assistant(text="b")))
    assert cli(*command, "x.jsonl").out.startswith("x.jsonl · no tool call found · OpenAI chat · 1 conversation")
    write_rows(tmp_path / "y.jsonl", row(user("a"), assistant(call("f"))))
    assert "no tool call found" not in cli(*command, "y.jsonl").out


@pytest.mark.parametrize(
    "expected, stated", [({"tool_calls": []}, True), ({"behavior": "ask"}, True), ({"content": "hi"}, False), ({"tool_calls": None}, False)]
)
def test_cases_that_state_that_no_call_is_expected_are_not_suspicious(
    cli: Cli, tmp_path: Path, expected: dict[str, Any], stated: bool
) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("a"), id="q", expected_output=expected))
    assert ("no tool call found" not in cli("stats", path).out) is stated
    predictions = write_rows(tmp_path / "p.jsonl", {"id": "q", "tool_calls": []})
    graded = cli("grade", path, "-p", predictions, "-o", tmp_path / "runs")
    assert (graded.status, "no tool calls found in 1 decision point (OpenAI chat), so there is no call to test" in graded.err) == (
        (0, False) if stated else (2, True)
    )
    assert cli("grade", path, "-p", predictions, "-o", tmp_path / "runs", "--allow-no-calls").status == 0


def test_filter_that_keeps_nothing_says_so_and_exits_with_1(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("a"), assistant(call("f"))))
    completed = cli("filter", path, "--min-calls", "2", "-o", tmp_path / "out.jsonl")
    assert (completed.status, "callmark: no rows were kept." in completed.err) == (1, True)
    assert cli("filter", path, "--min-calls", "2", "-o", tmp_path / "out.jsonl", "--json").status == 1
    assert cli("filter", path, "--min-calls", "1", "-o", tmp_path / "out.jsonl").status == 0


def test_show_selects_a_row(cli: Cli, tmp_path: Path) -> None:
    few, many = row(user("few"), id="few"), row(user("Many CALLS"), assistant(call("f"), call("g")), id="many")
    path = write_rows(tmp_path / "x.jsonl", few, many, row(user("many calls again")))
    for picked in (["--most-calls"], ["--row", "2"], ["--id", "many"], ["--search", "many calls"]):
        assert "ID many" in cli("show", path, *picked).out
    assert "2 of 3 rows contain 'many calls'; this is the first one." in cli("show", path, "--search", "many calls").err
    assert json.loads(cli("show", path, "--id", "many", "--json").out) == many


def test_markdown_keeps_data_in_code_blocks(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("# no heading\n```\n<b>"), assistant(call("f", {"a": "*x*"}))))
    out = cli("show", path, "--markdown").out
    assert "````\n# no heading\n```\n<b>\n````" in out
    assert '```python\nf(a="*x*")\n```' in out


def test_show_prints_expected_calls(cli: Cli, tmp_path: Path) -> None:
    point = {**row(user("Bonn?")), "expected_output": {"tool_calls": [call("get_weather", {"city": "Bonn"})]}}
    out = cli("show", write_rows(tmp_path / "x.jsonl", point)).out
    assert "1 decision point" in out
    assert 'EXPECTED\n      get_weather(city="Bonn")' in out
    scenario = {
        "id": "s",
        "scenarioType": "create",
        "instructions": "You are Ann.",
        "task_completion_condition": "bye",
        "expected_function_calls": [],
    }
    out = cli("show", write_rows(tmp_path / "y.jsonl", scenario)).out
    assert "SCENARIO create" in out
    assert "You are Ann." in out
    assert "Done when: bye" in out
    assert "no call" in out


def test_stats_of_two_files_are_side_by_side(cli: Cli, tmp_path: Path) -> None:
    one = write_rows(tmp_path / "one.jsonl", row(user("a"), assistant(call("f")), tools=[WEATHER]))
    two = write_rows(tmp_path / "two.jsonl", row(user("a"), assistant(call("g"))), row(user("b")))
    out = cli("stats", one, two).out
    assert "one.jsonl" in out
    assert "two.jsonl" in out
    assert "1 conversation · " in out
    assert "2 conversations · " in out
    assert "Never called in" in out
    payload = json.loads(cli("stats", one, two, "--json").out)
    assert [one["conversations"] for one in payload] == [1, 2]


def test_stats_json_has_every_field(cli: Cli, tmp_path: Path) -> None:
    payload = json.loads(cli("stats", write_rows(tmp_path / "x.jsonl", row(user("a"), assistant(call("f", {"a": 1})))), "--json").out)
    assert list(payload["num_turns"]) == ["count", "mean", "std", "min", "25%", "50%", "75%", "max", "total"]
    assert payload["tools"] == {"f": 1}
    assert payload["format"] == "openai"
    for key in ("roles", "never_called", "first_call", "last_call", "calls_per_message", "follows", "tool_sets", "arguments"):
        assert key in payload


def test_strict_lint_fails_on_errors_only(cli: Cli, tmp_path: Path) -> None:
    wrong = write_rows(tmp_path / "wrong.jsonl", row(user("a"), assistant(call("f", "{"))))
    assert cli("lint", wrong).status == 0
    assert cli("lint", wrong, "--strict").status == 1
    warned = write_rows(tmp_path / "warned.jsonl", row(user("a"), assistant(call("f", {"x": "hallucinated"}))))
    assert cli("lint", warned, "--strict").status == 0
    assert "No findings" in cli("lint", write_rows(tmp_path / "fine.jsonl", row(user("a")))).out


def test_rejected_rows_are_written_with_their_reasons(cli: Cli, tmp_path: Path) -> None:
    good, bad = row(user("a"), assistant(call("f"))), row(user("b"))
    path = write_rows(tmp_path / "x.jsonl", good, bad)
    out, rejects = tmp_path / "out.jsonl", tmp_path / "rejects.jsonl"
    completed = cli("filter", path, "-o", out, "--min-calls", "1", "--rejects", rejects)
    assert "1 row → " in completed.out
    assert json.loads(out.read_text()) == good
    assert json.loads(rejects.read_text()) == {"file": str(path), "line": 2, "reason": ["min-calls 1"], "row": bad}


def test_expand_json_has_the_counts(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user("a"), assistant(call("f", "{"), text="so"), user("b"), assistant(text="bye")))
    payload = json.loads(cli("expand", path, "-o", tmp_path / "e.jsonl", "--abstain", "--wrap", "item", "--json").out)
    counts = {"conversations": 1, "decision_points": 2, "abstentions": 1, "end_in_assistant": 1, "malformed": 1}
    read = {"format": "openai", "bad_rows": 0, "repaired_rows": 0}
    assert payload == {"file": str(path), "out": str(tmp_path / "e.jsonl"), **read, **counts}
    records = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert [list(record) for record in records] == [["item"], ["item"]]


@pytest.mark.parametrize("abstain", [False, True])
def test_expand_refuses_a_file_without_calls_unless_it_is_allowed(cli: Cli, tmp_path: Path, abstain: bool) -> None:
    path, out = write_rows(tmp_path / "y.jsonl", row(user("a"), assistant(text="b"))), tmp_path / "f.jsonl"
    options = ["--abstain"] if abstain else []
    refused = cli("expand", path, "-o", out, *options)
    assert (refused.status, out.exists()) == (2, False)
    assert refused.err.startswith(f"callmark: {path}: no tool calls found in 1 conversation (OpenAI chat), so there is no call to test.")
    assert "pass --allow-no-calls" in refused.err
    allowed = cli("expand", path, "-o", out, "--allow-no-calls", *options)
    assert (allowed.status, len(out.read_text().splitlines())) == (0, int(abstain))
    assert allowed.out.startswith(f"{path} · no tool call found · OpenAI chat · 1 conversation\n")
    write_rows(path, row(user("a")))
    assert ("--abstain adds" in cli("expand", path, "-o", out, "--allow-no-calls", *options).out) is not abstain
