"""`callmark split` and the leaks that `callmark lint --train --valid` finds."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.rows import assistant, call, row, user, write_rows

TEXT = """the parcel with the {what} that I ordered on the tenth of last month has not come yet and nobody in the shop could tell me why it
is late so would you please look up where it is now and when it will be here because my sister needs it for the wedding of a friend"""


def conversation_row(number: int, what: str = "shoes", **more: Any) -> dict[str, Any]:
    words = " ".join(f"{word}{number}" for word in TEXT.format(what=what).split())
    return row(user(words), assistant(call("find_order" if number % 2 else "get_order", {"number": number})), **more)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_split_is_written_shown_and_has_no_leak(cli: Cli, tmp_path: Path) -> None:
    rows = [conversation_row(number // 2, "shoes" if number % 2 else "hats", extra=number) for number in range(40)]
    path = write_rows(tmp_path / "all.jsonl", *rows)
    completed = cli("split", path, "-o", tmp_path / "data", "--valid", "0.2")
    assert completed.status == 0, completed.err
    train, valid = lines(tmp_path / "data/train.jsonl"), lines(tmp_path / "data/valid.jsonl")
    assert (len(train), len(valid)) == (32, 8)
    assert sorted([*train, *valid]) == sorted(lines(path))
    assert [json.loads(line)["extra"] for line in train] == sorted(json.loads(line)["extra"] for line in train)
    table = {line.split()[0]: line.split()[1:] for line in completed.out.splitlines() if line.strip()}
    assert table["conversations"] == ["32", "8", "20%"]
    assert table["find_order"] == table["get_order"] == ["16", "4", "20%"]
    assert "20 groups of related rows, such as near-duplicates (40 rows); each group is on one side of the split" in completed.out
    assert "8 rows → " in completed.out
    checked = cli("lint", "--train", tmp_path / "data/train.jsonl", "--valid", tmp_path / "data/valid.jsonl", "--strict", "--json")
    assert checked.status == 0
    assert json.loads(checked.out)["summary"] == {"hallucinated_value": 40, "near_duplicate": 20}


def test_seed_determines_the_split(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "all.jsonl", *map(conversation_row, range(30)))
    held_out = []
    for folder, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        cli("split", path, "-o", tmp_path / folder, "--seed", seed)
        held_out.append(lines(tmp_path / folder / "valid.jsonl"))
    assert held_out[0] == held_out[1] != held_out[2]


def test_split_json_has_every_field(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "all.jsonl", "", *map(conversation_row, range(4)), conversation_row(2, "hats"))
    payload = json.loads(cli("split", path, "-o", tmp_path, "--valid", "0.4", "--json").out)
    assert payload["kept_together"] == [[4, 6]]  # lines of the file
    assert payload["seed"] == 7
    assert payload["train"]["conversations"] + payload["valid"]["conversations"] == 5
    assert payload["valid"]["file"] == str(tmp_path / "valid.jsonl")
    assert payload["valid"]["rows"] == len(lines(tmp_path / "valid.jsonl")) == 2
    assert payload["train"]["calls"] == sum(payload["train"]["tools"].values()) == 3


def test_rows_are_written_unchanged(cli: Cli, tmp_path: Path) -> None:
    odd = '{"messages": [ {"role":"user", "content": "h\\u00e9llo 1"} ],  "mine": 1.0}'
    packed = tmp_path / "all.jsonl.gz"
    packed.write_bytes(gzip.compress(f"\n{odd}\n{json.dumps(conversation_row(1))}\r\n".encode()))
    assert cli("split", packed, "-o", tmp_path, "--valid", "0").status == 0
    assert lines(tmp_path / "train.jsonl") == [odd, json.dumps(conversation_row(1))]
    array = tmp_path / "all.json"
    array.write_text(json.dumps([conversation_row(1), conversation_row(2)], indent=1))
    assert cli("split", array, "-o", tmp_path, "--valid", "1").status == 0
    assert list(map(json.loads, lines(tmp_path / "valid.jsonl"))) == [conversation_row(1), conversation_row(2)]
    assert lines(tmp_path / "train.jsonl") == []


def test_control_characters_in_data_are_escaped(cli: Cli, tmp_path: Path) -> None:
    tool = "\x1b[31mred\u202e"
    path = write_rows(tmp_path / "all.jsonl", row(user("a"), assistant(call(tool))), row(user("b"), assistant(call("f"))))
    completed = cli("split", path, "-o", tmp_path / "data")
    assert "\\x1b[31mred\\u202e" in completed.out
    assert "\x1b" not in completed.out


def test_bad_rows_are_rejected_once(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "all.jsonl", conversation_row(1), "{", conversation_row(2), conversation_row(3))
    assert cli("split", path, "-o", tmp_path / "data").status == 2
    assert not (tmp_path / "data").exists()
    completed = cli("split", path, "-o", tmp_path / "data", "--skip-bad", "--rejects", tmp_path / "bad.jsonl", "--json")
    assert json.loads(completed.out)["bad_rows"] == 1
    assert len(lines(tmp_path / "bad.jsonl")) == 1
    assert sorted(lines(tmp_path / "data/train.jsonl") + lines(tmp_path / "data/valid.jsonl")) == sorted(
        map(json.dumps, map(conversation_row, (1, 2, 3)))
    )


@pytest.mark.parametrize(
    "rows, share, expected_text",
    [
        ([conversation_row(1)], "0.2", "valid.jsonl is empty: the dataset has only one row."),
        (
            [conversation_row(1), conversation_row(1, "hats"), conversation_row(1, "coats")],
            "0.2",
            "valid.jsonl is empty: all rows belong to one group of near-duplicates.",
        ),
        (
            [conversation_row(1), conversation_row(1, "hats")],
            "0.9",
            "train.jsonl is empty: all rows belong to one group of near-duplicates.",
        ),
        ([conversation_row(1), conversation_row(2)], "0", ""),
        ([conversation_row(1), conversation_row(2)], "1", ""),
    ],
)
def test_empty_side_is_reported_unless_requested(cli: Cli, tmp_path: Path, rows: list[Any], share: str, expected_text: str) -> None:
    completed = cli("split", write_rows(tmp_path / "all.jsonl", *rows), "-o", tmp_path, "--valid", share)
    assert completed.status == 0
    assert completed.err == (f"callmark: {expected_text}\n" if expected_text else "")
    assert sum(len(lines(tmp_path / f"{side}.jsonl")) for side in ("train", "valid")) == len(rows)


@pytest.mark.parametrize(
    "arguments, expected_text",
    [
        (["-", "-o", "."], "standard input: a split reads the file twice, but a pipe can only be read once"),
        (["/dev/null", "-o", "."], "a split reads the file twice"),
        (["none.jsonl", "-o", "."], "none.jsonl: no such file"),
        (["empty.jsonl", "-o", "."], "empty.jsonl"),
        (["train.jsonl", "-o", "."], "cannot be both the input and the output"),
        (["all.jsonl", "-o", ".", "--valid", "20"], "20"),
        (["all.jsonl"], "missing option --out."),
        (["all.jsonl", "-o", "all.jsonl"], "all.jsonl/train.jsonl: cannot be written: all.jsonl is a file, not a folder"),
        (["all.jsonl", "-o", ".", "--valid", "nan"], "--valid: expected a number from 0 to 1, got 'nan'"),
        (["", "-o", "."], "the name of the input file is empty"),
        (
            ["all.jsonl", "-o", ".", "--rejects", "valid.jsonl", "--skip-bad"],
            "cannot be both the output and the rejects file",
        ),
    ],
)
def test_invalid_splits_are_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected_text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("all.jsonl", "train.jsonl"):
        write_rows(tmp_path / name, conversation_row(1), conversation_row(2))
    (tmp_path / "empty.jsonl").write_text("")
    completed = cli("split", *arguments)
    assert completed.status == 2
    assert expected_text in completed.err
    assert lines(tmp_path / "train.jsonl") == [json.dumps(conversation_row(1)), json.dumps(conversation_row(2))]
    assert not (tmp_path / "valid.jsonl").exists()


def test_lint_finds_planted_leaks_with_both_places(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "t.jsonl", *map(conversation_row, range(20)))
    write_rows(tmp_path / "v.jsonl", conversation_row(30), conversation_row(11), conversation_row(31), conversation_row(4, "hats"))
    completed = cli("lint", "--train", "t.jsonl", "--valid", "v.jsonl", "--strict")
    assert completed.status == 1
    assert "v.jsonl:2  exact duplicate of t.jsonl, line 12, which is a training row" in completed.out
    assert "v.jsonl:4  near-duplicate of t.jsonl, line 5 (" in completed.out
    assert json.loads(cli("lint", "--train", "t.jsonl", "--valid", "v.jsonl", "--json").out)["summary"]["leak"] == 2
    assert "leak" not in json.loads(cli("lint", "t.jsonl", "v.jsonl", "--json").out)["summary"]


@pytest.mark.parametrize(
    "arguments, expected_text",
    [
        ([], "no file given"),
        (["--train", "t.jsonl"], "--train needs --valid"),
        (["--valid", "t.jsonl"], "--valid needs --train"),
        (["t.jsonl", "--train", "t.jsonl", "--valid", "v.jsonl"], "t.jsonl: cannot be combined with --train and --valid"),
        (["--train", "t.jsonl", "--valid", "./t.jsonl"], "./t.jsonl cannot be both --train and --valid"),
        (["--train", "-", "--valid", "-"], "standard input can be read only once"),
    ],
)
def test_invalid_lint_arguments_are_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected_text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("t.jsonl", "v.jsonl"):
        write_rows(tmp_path / name, conversation_row(1))
    completed = cli("lint", *arguments)
    assert completed.status == 2
    assert expected_text in completed.err
