"""Real data sets, read from CALLMARK_REAL_DATA, or from ../shared/data beside the project."""

import json
import os
from pathlib import Path

import pytest

import callmark
from callmark.calls.provenance import find_origins
from tests.conftest import Cli

DATA = Path(os.environ.get("CALLMARK_REAL_DATA", Path(__file__).parents[3] / "shared" / "data"))
RETAIL, STOCK = DATA / "retail" / "valid.jsonl", DATA / "stock" / "valid.jsonl"

pytestmark = pytest.mark.skipif(not RETAIL.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


def test_the_statistics_of_the_retail_file(cli: Cli) -> None:
    told = json.loads(cli("stats", RETAIL, "--json").out)
    assert told["conversations"] == 55
    assert round(told["num_turns"]["mean"], 3) == 16.836
    assert round(told["tool_calls"]["mean"], 3) == 4.055
    assert (told["tool_calls"]["max"], told["tool_calls"]["total"]) == (6, 223)
    assert sum(told["tools"].values()) == 223


def test_33_of_434_values_are_hallucinated_in_33_conversations(cli: Cli) -> None:
    values = [(row.id, origin) for row in callmark.load(RETAIL) for origin in find_origins(row.messages, row.tools)]
    hallucinated = [(row, origin) for row, origin in values if origin.source is None]
    assert (len(values), len(hallucinated), len({row for row, _ in hallucinated})) == (434, 33, 33)
    told = json.loads(cli("lint", RETAIL, "--json").out)
    findings = [finding for finding in told["findings"] if finding["code"] == "hallucinated_value"]
    assert (len(findings), len({finding["line"] for finding in findings})) == (33, 33)
    assert told["summary"] == {"hallucinated_value": 33, "unused_tool": 5}


def test_the_foundry_filter_keeps_no_row(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "good.jsonl"
    rules = ["--require", "find_* > get_user_details(user_id=$result)", "--consistent", "user_id", "--grounded"]
    told = json.loads(cli("filter", RETAIL, "-o", out, *rules, "--json").out)
    assert list(told["kept_by_rule"].values()) == [21, 55, 22]
    assert (told["kept"], out.read_text()) == (0, "")
    printed = cli("filter", RETAIL, "-o", out, *rules).out
    assert all(f"{count} of 55" in printed for count in (21, 55, 22, 0))


def test_223_decision_points_with_distinct_ids_the_same_bytes_twice(cli: Cli, tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        assert cli("expand", RETAIL, "-o", tmp_path / name).status == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    records = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert len({record["id"] for record in records}) == len(records) == 223
    assert sum(record["messages"][-1]["role"] == "assistant" for record in records) == 25
    assert sum(len(record["expected_output"]["tool_calls"]) for record in records) == 223


def test_the_tools_file_has_the_tools_of_the_rows(tmp_path: Path) -> None:
    row = next(iter(callmark.load(RETAIL)))
    bare = tmp_path / "bare.jsonl"
    bare.write_text(json.dumps({"messages": json.loads(row.original.row)["messages"]}))
    (given,) = callmark.load(bare, tools=RETAIL.parent / "tools.json")
    assert [tool.name for tool in given.tools] == [tool.name for tool in row.tools]
    assert len(row.tools) == 15


def test_half_of_the_stock_file_expects_no_call(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "eval.jsonl"
    told = json.loads(cli("expand", STOCK, "-o", out, "--abstain", "--json").out)
    assert (told["conversations"], told["decision_points"], told["abstentions"]) == (10, 10, 5)


def test_ground_truth_against_itself_is_correct_223_times() -> None:
    grades = [
        callmark.grade(case.expected, case.expected, tools=case.tools, messages=case.messages)
        for case in callmark.expand(callmark.load(RETAIL))
    ]
    assert [grade.metrics["call.score"] for grade in grades] == [1.0] * 223
    assert all(set(grade.metrics.values()) == {1.0} and not grade.faults for grade in grades)
