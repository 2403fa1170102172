import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

BARE = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
CONVERSATION = row(
    user("Rome?"), assistant(call("get_weather", {"city": "Rome"})), result("warm"), assistant(text="Warm."), tools=[WEATHER], id="t1"
)
NO_IDS = row(user("Rome?"), assistant(BARE), result("warm", None), assistant(text="Warm."), tools=[WEATHER], id="t2")
FORMATS = {"openai": "OpenAI chat", "sharegpt": "ShareGPT", "anthropic": "Anthropic messages", "deepfabric": "DeepFabric"}


@pytest.mark.parametrize("format_name, title", FORMATS.items())
def test_summary_counts_rows_read_and_written(cli: Cli, tmp_path: Path, format_name: str, title: str) -> None:
    path, out = write_rows(tmp_path / "x.jsonl", CONVERSATION, NO_IDS), tmp_path / "y.jsonl"
    shown = cli("convert", path, "-o", out, "--to", format_name)
    assert (shown.status, shown.err) == (0, "")
    assert "x.jsonl · OpenAI chat · 2 conversations" in shown.out
    assert f"2 rows · 2 calls · 2 results → {out}, {title}" in shown.out.replace("\n", "")
    assert callmark.load(out).format.name == format_name


@pytest.mark.parametrize(
    "format_name, made_up, replaced", [("openai", 0, 0), ("sharegpt", 0, 0), ("anthropic", 2, 0), ("deepfabric", 1, 1)]
)
def test_generated_ids_are_counted(cli: Cli, tmp_path: Path, format_name: str, made_up: int, replaced: int) -> None:
    path, out = write_rows(tmp_path / "x.jsonl", CONVERSATION, NO_IDS), tmp_path / "y.jsonl"
    payload = json.loads(cli("convert", path, "-o", out, "--to", format_name, "--json").out)
    assert payload == {
        "file": str(path),
        "out": str(out),
        "format": "openai",
        "bad_rows": 0,
        "repaired_rows": 0,
        "to": format_name,
        "rows": 2,
        "written": 2,
        "unwritten": 0,
        "calls": 2,
        "results": 2,
        "generated_ids": made_up,
        "replaced_ids": replaced,
        "left_out": {},
    }
    notes = cli("convert", path, "-o", out, "--to", format_name).out
    assert (f"generated {made_up} ID" in notes) == bool(made_up)
    assert ("replaced 1 call ID" in notes) == bool(replaced)


def test_dropped_row_fields_are_reported(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {**CONVERSATION, "reward": 1, "note": None}, {**CONVERSATION, "reward": 0, "split": "a"})
    payload = json.loads(cli("convert", path, "-o", tmp_path / "y.jsonl", "--to", "sharegpt", "--json").out)
    assert payload["left_out"] == {"reward": 2, "split": 1}
    assert "reward (2 rows), split (1 row)" in cli("convert", path, "-o", tmp_path / "y.jsonl", "--to", "sharegpt").out.replace("\n", "")
    rich = {
        **CONVERSATION,
        "question": "q",
        "final_answer": "a",
        "metadata": {"topic": "t"},
        "reasoning": {"style": "freetext", "content": "c"},
    }
    payload = json.loads(cli("convert", write_rows(tmp_path / "z.jsonl", rich), "-o", tmp_path / "y.jsonl", "--to", "openai", "--json").out)
    assert payload["left_out"] == {"metadata": 1, "reasoning": 1}


def test_dropped_fields_of_wrapped_rows_are_reported_in_order(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {"item": {**CONVERSATION, "foo": 1, "bar": 2, "baz": None}, "split": "a"})
    payload = json.loads(cli("convert", path, "-o", tmp_path / "y.jsonl", "--to", "anthropic", "--json").out)
    assert list(payload["left_out"].items()) == [("split", 1), ("foo", 1), ("bar", 1)]


@pytest.mark.parametrize("format_name, left_out", [("openai", {}), ("sharegpt", {"tool_calls.cache_control": 1})])
def test_dropped_call_fields_are_reported(cli: Cli, tmp_path: Path, format_name: str, left_out: dict[str, int]) -> None:
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}, "cache_control": {"type": "ephemeral"}, "caller": None}
    path = write_rows(tmp_path / "x.jsonl", {"messages": [{"role": "assistant", "content": [use, use]}]})
    assert json.loads(cli("convert", path, "-o", tmp_path / "y.jsonl", "--to", format_name, "--json").out)["left_out"] == left_out


@pytest.mark.parametrize("format_name", FORMATS)
def test_rows_in_the_target_format_are_unchanged(cli: Cli, tmp_path: Path, format_name: str) -> None:
    first, second, third = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl"
    cli("convert", write_rows(tmp_path / "x.jsonl", CONVERSATION, NO_IDS), "-o", first, "--to", format_name)
    text = first.read_text().replace('"Warm."', '"Warm.", "unknown": 1').replace('":', '" :')
    second.write_text(text)
    assert cli("convert", second, "-o", third, "--to", format_name).status == 0
    assert third.read_text() == text


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_command_reads_every_format(cli: Cli, tmp_path: Path, format_name: str) -> None:
    path, out, cut = tmp_path / "x.jsonl.zst", tmp_path / f"{format_name}.jsonl.zst", tmp_path / "cut.jsonl"
    callmark.write(callmark.load(write_rows(tmp_path / "p.jsonl", CONVERSATION)), path)
    assert cli("convert", path, "-o", out, "--to", format_name).status == 0
    assert out.read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert json.loads(cli("stats", out, "--json").out)["tools"] == {"get_weather": 1}
    assert json.loads(cli("lint", out, "--json").out)["summary"] == {}
    assert json.loads(cli("filter", out, "-o", cut, "--min-calls", "1", "--json").out)["kept"] == 1
    assert "get_weather" in cli("show", out).out
    assert cli("expand", out, "-o", cut).status == 0
    expected = json.loads(cut.read_text())["expected_output"]["tool_calls"]
    assert [(made["function"]["name"], json.loads(made["function"]["arguments"]), made["id"]) for made in expected] == [
        ("get_weather", {"city": "Rome"}, "c1")
    ]


def test_row_that_cannot_be_written_stops_or_is_rejected(cli: Cli, tmp_path: Path) -> None:
    odd = row({"role": "user", "content": "no", "tool_calls": [call("f")]}, id="odd")
    path, out, rest = write_rows(tmp_path / "x.jsonl", CONVERSATION, odd, "{"), tmp_path / "y.jsonl", tmp_path / "rest.jsonl"
    stopped = cli("convert", path, "-o", out, "--to", "sharegpt")
    assert stopped.status == 2
    assert (
        "x.jsonl, line 2: odd: messages[0]: tool calls in a user message; ShareGPT allows them only in assistant messages." in stopped.err
    )
    assert "--skip-bad" in stopped.err
    assert not out.exists()
    went = cli("convert", path, "-o", out, "--to", "sharegpt", "--skip-bad", "--rejects", rest)
    assert went.status == 0
    assert "1 row could not be converted to ShareGPT and was skipped (saved to" in went.err
    assert "1 row could not be read and was skipped" in went.err
    assert [json.loads(line)["line"] for line in rest.read_text().splitlines()] == [2, 3]
    assert len(out.read_text().splitlines()) == 1


@pytest.mark.parametrize("given, target, sentence", [
    ("decision point", "anthropic", "1:1: a case cannot be written in the Anthropic format, which has no field for expected calls."),
    ("decision point", "sharegpt", "1:1: a case cannot be written in the ShareGPT format, which has no field for expected calls."),
    ("decision point", "scenarios", "1:1: expected a scenario, got a conversation or decision point, which has no instructions"),
    ("scenario", "openai", "s1: a scenario cannot be written in the openai format."),
    ("scenario", "deepfabric", "s1: a case cannot be written in the DeepFabric format, which has no field for expected calls."),
])  # fmt: skip
def test_error_for_a_case_names_possible_formats(cli: Cli, tmp_path: Path, given: str, target: str, sentence: str) -> None:
    path = tmp_path / "x.jsonl"
    if given == "scenario":
        write_rows(path, {"id": "s1", "instructions": "ask", "expected_function_calls": []})
    else:
        cli("expand", write_rows(tmp_path / "t.jsonl", {**CONVERSATION, "id": "1"}), "-o", path)
    stopped = cli("convert", path, "-o", tmp_path / "y.jsonl", "--to", target)
    assert stopped.status == 2
    assert sentence in stopped.err
    if target == "scenarios":
        assert (
            "Only scenarios can be converted with --to scenarios; for other rows, choose another format, such as --to openai."
            in stopped.err
        )
    else:
        assert "Use --to openai for decision points, or --to scenarios for scenarios." in stopped.err


def test_decision_points_and_scenarios_keep_their_kind(cli: Cli, tmp_path: Path) -> None:
    cut, out = tmp_path / "cut.jsonl", tmp_path / "y.jsonl"
    cli("expand", write_rows(tmp_path / "t.jsonl", CONVERSATION), "-o", cut)
    payload = json.loads(cli("convert", cut, "-o", out, "--to", "openai", "--json").out)
    assert (payload["written"], payload["calls"], out.read_bytes()) == (1, 1, cut.read_bytes())


def test_trials_of_a_task_become_one_scenario(cli: Cli, tmp_path: Path) -> None:
    def trial(number: int) -> dict[str, Any]:
        task = {"instruction": "cancel it", "actions": [{"name": "cancel", "kwargs": {"id": "1"}}]}
        return {"task_id": 7, "trial": number, "reward": 1.0, "info": {"task": task}, "traj": []}

    payload = json.loads(
        cli("convert", write_rows(tmp_path / "x.jsonl", trial(0), trial(1)), "-o", tmp_path / "y.jsonl", "--to", "scenarios", "--json").out
    )
    assert (payload["rows"], payload["written"], payload["calls"]) == (2, 1, 1)


def test_tools_of_a_side_file_are_written_into_the_rows(cli: Cli, tmp_path: Path) -> None:
    side, out = tmp_path / "tools.json", tmp_path / "y.jsonl"
    side.write_text(json.dumps([WEATHER], indent=2))
    bare = {key: value for key, value in CONVERSATION.items() if key != "tools"}
    for format_name in FORMATS:
        assert cli("convert", write_rows(tmp_path / "x.jsonl", bare, bare), "-o", out, "--to", format_name, "--tools", side).status == 0
        assert [[tool.name for tool in each.tools] for each in callmark.load(out)] == [["get_weather"]] * 2


def test_rewritten_rows_report_the_keys_they_lose(cli: Cli, tmp_path: Path) -> None:
    side, out = tmp_path / "tools.json", tmp_path / "y.jsonl"
    side.write_text(json.dumps([WEATHER]), encoding="utf-8")
    printed = cli("convert", write_rows(tmp_path / "x.jsonl", {**CONVERSATION, "reward": 1}), "-o", out, "--to", "openai", "--tools", side)
    assert printed.status == 0
    assert "dropped keys that the openai format has no field for: reward (1 row)" in printed.out + printed.err


def test_standard_output_has_rows_only(cli: Cli, tmp_path: Path) -> None:
    shown = cli("convert", write_rows(tmp_path / "x.jsonl", CONVERSATION), "-o", "-", "--to", "anthropic")
    assert json.loads(shown.out)["messages"][1]["content"][0]["type"] == "tool_use"
    assert "1 row · 1 call · 1 result → standard output" in shown.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--to", "antropic"], "unknown format 'antropic'. Did you mean anthropic?"),
        (["--to", "tau-bench"], "the format tau-bench (recorded simulations) can only be read, not written"),
        (["--to", "anthropic", "-o", ""], "the name of the output file is empty"),
        (["--to", "openai", "--rejects", "r.jsonl"], "--rejects needs --skip-bad: it saves the rows that are skipped"),
    ],
)
def test_invalid_conversions_are_refused(cli: Cli, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    failed = cli("convert", write_rows(tmp_path / "x.jsonl", CONVERSATION), "-o", tmp_path / "y.jsonl", *arguments)
    assert failed.status == 2
    assert sentence in failed.err


def test_input_and_output_must_differ(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", CONVERSATION)
    assert "cannot be both the input and the output" in cli("convert", path, "-o", path, "--to", "sharegpt").err
