"""The source of cases: opened once, read as often as needed."""

import gzip
import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.formats import BadRow
from callmark.runs import source as source_module
from callmark.runs.source import CaseSource, PlacedCase
from tests.rows import WEATHER, assistant, call, row, user, write_rows

COUNT_OPENS = """
import os, sys
counted, log = os.path.realpath(sys.argv[1]), sys.argv[2]
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)) and os.path.realpath(os.fsdecode(arguments[0])) == counted:
        os.write(descriptor, b"x")
descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
sys.addaudithook(hook)
from callmark.cli.main import main
sys.argv = ["callmark", *sys.argv[3:]]
sys.exit(main())
"""


def cases(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"c{number}",
            "messages": [user(f"Bonn{number}?")],
            "tools": [WEATHER],
            "expected_output": assistant(call("get_weather", {"city": f"Bonn{number}"})),
        }
        for number in range(count)
    ]


def count_opens(folder: Path, file: Path, *command: str) -> int:
    """Run a command in another process, and return how often it opened the file."""
    log = folder / "opens"
    done = subprocess.run(
        [sys.executable, "-c", COUNT_OPENS, str(file), str(log), *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3), done.stderr
    return len(log.read_bytes())


@pytest.mark.parametrize("more, most", [((), 1), (("--jobs", "2"), 3)], ids=["one process", "two processes"])
def test_grade_opens_the_cases_once(tmp_path: Path, more: Sequence[str], most: int) -> None:
    file = write_rows(tmp_path / "eval.jsonl", *cases(300))
    predictions = write_rows(tmp_path / "p.jsonl", *({"id": f"c{number}", "tool_calls": [call("get_weather")]} for number in range(300)))
    assert 1 <= count_opens(tmp_path, file, "grade", str(file), "--predictions", str(predictions), *more) <= most


def test_run_opens_the_cases_once(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "eval.jsonl", *cases(300))
    models = ("--model", "scripted:hasty", "--model", "scripted:perfect")
    assert count_opens(tmp_path, file, "run", str(file), *models, "--no-cache") == 1


def test_grading_a_run_again_opens_the_cases_once(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "eval.jsonl", *cases(20))
    assert count_opens(tmp_path, file, "run", str(file), "--model", "scripted:hasty", "--name", "r", "--no-cache") == 1
    (tmp_path / "opens").unlink()
    assert count_opens(tmp_path, file, "grade", "runs/r") == 1


def read(source: CaseSource, **options: Any) -> list[PlacedCase]:
    return list(source.read(**options))


def test_a_source_is_read_as_often_as_needed_by_several_readers_at_a_time(tmp_path: Path) -> None:
    with CaseSource(str(write_rows(tmp_path / "eval.jsonl", *cases(200)))) as source:
        both = list(zip(source.read(), source.read(), strict=True))
        assert [(first.case.id, second.case.id) for first, second in both] == [(f"c{number}",) * 2 for number in range(200)]
        assert [placed.index for placed in read(source)] == list(range(200))


@pytest.mark.parametrize("held", [True, False], ids=["small file", "large file"])
def test_a_survey_counts_and_later_passes_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bool) -> None:
    if not held:
        monkeypatch.setattr(source_module, "_MAX_CACHED", 10)
    file = write_rows(tmp_path / "eval.jsonl", *cases(150))
    with CaseSource(str(file)) as source:
        before = read(source, digest=True)
        survey = source.survey()
        assert survey.cases == 150
        reader = source.read(digest=True)
        assert [placed.case.id for placed in reader] == [placed.case.id for placed in before]
        assert reader.totals.digest == survey.totals.digest
        parts = [read(source, part=(own, 3)) for own in range(3)]
        assert sorted(placed.index for part in parts for placed in part) == list(range(150))


def test_a_limit_ends_the_cases_and_the_digest_is_of_the_whole_file(tmp_path: Path) -> None:
    file = str(write_rows(tmp_path / "eval.jsonl", *cases(30)))
    with CaseSource(file, limit=7) as few, CaseSource(file) as every:
        assert few.survey().cases == 7
        assert [placed.index for placed in few.read().first_cases()] == list(range(7))
        assert few.survey().totals.digest == every.survey().totals.digest


def test_conversations_are_expanded_and_kept_with_their_cases(tmp_path: Path) -> None:
    conversations = [
        row(user("Bonn?"), assistant(call("get_weather", {"city": "Bonn"})), user("Ulm?"), assistant(call("get_weather")), id="t")
    ] * 2
    with CaseSource(str(write_rows(tmp_path / "t.jsonl", *conversations))) as source:
        assert (source.row_kind, source.case_kind, source.expanded) == ("conversations", "decision points", True)
        placed = read(source)
    assert [each.index for each in placed] == [0, 1, 2, 3]
    assert [each.conversation and each.conversation.id for each in placed] == ["t"] * 4
    assert len({each.case.id for each in placed}) == 4


def test_bad_rows_raise_or_are_passed_to_the_handler(tmp_path: Path) -> None:
    file = str(write_rows(tmp_path / "eval.jsonl", *cases(2), "{", *[{**case, "id": "last"} for case in cases(1)]))
    with CaseSource(file) as source, pytest.raises(BadInput, match="line 3"):
        read(source)
    bad: list[BadRow] = []
    with CaseSource(file, skip_bad=True) as source:
        assert [placed.index for placed in read(source, on_bad=bad.append)] == [0, 1, 3]
    assert [each.place.number for each in bad] == [3]


def test_duplicate_case_ids_are_refused(tmp_path: Path) -> None:
    with (
        CaseSource(str(write_rows(tmp_path / "eval.jsonl", *cases(2), *cases(1)))) as source,
        pytest.raises(BadInput, match="duplicate case ID"),
    ):
        source.survey()


def test_a_check_refuses_a_case(tmp_path: Path) -> None:
    def check(case: object) -> None:
        raise BadInput("not this one")

    with CaseSource(str(write_rows(tmp_path / "eval.jsonl", *cases(2)))) as source, pytest.raises(BadInput, match="not this one"):
        source.survey(check=check)


def test_a_compressed_file_is_read_more_than_once(tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, cases(5))).encode()))
    with CaseSource(str(file)) as source:
        assert source.survey().cases == len(read(source)) == 5


def test_a_source_is_opened_again_in_a_process_that_does_not_inherit_it(tmp_path: Path) -> None:
    with CaseSource(str(write_rows(tmp_path / "eval.jsonl", *cases(5))), limit=3) as source, pickle.loads(pickle.dumps(source)) as copy:
        assert [placed.case for placed in copy.read()] == [placed.case for placed in source.read()]


@pytest.mark.parametrize("content, sentence", [(None, "no such file"), ("", "is empty"), ("{", "line 1")])
def test_a_file_without_a_case_raises(tmp_path: Path, content: str | None, sentence: str) -> None:
    file = tmp_path / "eval.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadInput, match=sentence):
        CaseSource(str(file))
