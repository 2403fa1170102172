"""Grading in parts gives what `callmark grade` gives for the whole, whatever the parts, and goes on where it ended."""

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import callmark
from callmark.arrow import read_grades
from callmark.errors import BadInput, BrokenRow
from callmark.formats import BadRow
from callmark.formats.by_reference import ReferenceWriter
from callmark.grading.record import read_grade
from callmark.grading.settings import GradingSettings
from callmark.runs.grade import GradeOptions
from callmark.runs.partitioned import PartitionedRun, Result, Task, grade_partitions, run_here
from callmark.runs.selection import CaseSelection
from tests.rows import WEATHER, assistant, call, user

CITIES = ("Bonn", "Paris", "Rome")


def conversation(number: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in range(number % 3 + 1):
        made = [call("get_weather", {"city": CITIES[(number + turn + at) % 3], "days": at + 1}, f"c{at}") for at in range(1 + turn % 2)]
        results = [{"role": "tool", "tool_call_id": f"c{at}", "content": "sunny"} for at in range(len(made))]
        messages += [user(f"Weather in {CITIES[(number + turn) % 3]}?"), assistant(*made), *results]
    return {"id": f"talk{number}", "messages": messages, "tools": [WEATHER]}


def prediction(case: str, random: Random) -> dict[str, Any]:
    kind = random.randrange(6)
    arguments = {"city": random.choice(CITIES), "days": random.choice([1, 1, "1", 2])}
    calls = [call("get_weather" if kind else "get_time", arguments)] * (2 if kind == 1 else 0 if kind == 2 else 1)
    return {"id": case, "error": "HTTP 503"} if kind == 3 else {"id": case, "tool_calls": calls}


class Files:
    """Conversations, their decision points inline and by reference, and predictions for them."""

    def __init__(self, folder: Path, conversations: int = 12) -> None:
        self.folder = folder
        self.conversations = write(folder / "talks.jsonl", [conversation(number) for number in range(conversations)])
        points = list(callmark.expand(str(self.conversations)))
        self.cases = folder / "cases.jsonl"
        callmark.write(points, str(self.cases))
        self.by_reference = folder / "by-reference.jsonl"
        writer = ReferenceWriter()
        self.by_reference.write_bytes(b"".join(line + b"\n" for point in points for line in writer.lines(point)))
        random = Random(5)
        self.predictions = write(folder / "predictions.jsonl", [prediction(point.id, random) for point in points])

    def whole(self, cases: Path, predictions: Path | None = None, **options: Any) -> callmark.Run:
        """Return the run of `callmark grade`."""
        given = GradeOptions(**options)
        return callmark.grade(str(cases), predictions=str(predictions or self.predictions), out=self.folder / "runs", options=given)

    def parts(
        self, cases: Path | str, predictions: Path | str | None = None, *, out: str = "out", size: int = 900, **options: Any
    ) -> PartitionedRun:
        executor = options.pop("executor", run_here)
        grading = options.pop("settings", GradingSettings())
        parse = options.pop("parse", None)
        return grade_partitions(
            CaseSelection(str(cases)), [str(predictions or self.predictions)], grading, str(self.folder / out),
            parse=parse, executor=executor, options=GradeOptions(**options), partition_bytes=size,
        )  # fmt: skip


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def plain(whole: callmark.Run) -> bytes:
    """Return the summary of a run, with all digits, without the details."""
    return msgspec.json.encode(msgspec.structs.replace(whole.summary(), details=None))


def assert_same(run: PartitionedRun, whole: callmark.Run) -> None:
    """The same summary to the bit, the same grades in the same order, and the same counts."""
    assert msgspec.json.encode(run.summary) == plain(whole)
    grades = [grade for file in sorted(Path(run.folder).glob("grades/*.parquet")) for grade in read_grades(parquet.read_table(file))]
    assert grades == [read_grade(line) for line in (whole.folder.path / "grades.jsonl").read_bytes().splitlines()]
    assert run.info.predictions == whole.info.predictions
    for name in ("metrics", "cases", "match_counts", "unused_rules", "unchecked_replies", "grading"):
        assert getattr(run.info, name) == getattr(whole.info, name)
    for name in ("format", "kind", "expanded", "repaired_rows", "unknown_parts"):
        assert getattr(run.info.dataset, name) == getattr(whole.info.dataset, name)


@pytest.mark.parametrize(
    "kind, size", [*((kind, size) for kind in ("cases", "conversations", "by_reference") for size in (900, 1 << 20)), ("by_reference", 1)]
)
def test_the_parts_have_the_summary_and_the_grades_of_the_whole(kind: str, size: int, files: Files) -> None:
    cases = getattr(files, kind)
    run = files.parts(cases, size=size)
    assert (run.parts == 1) == (size > 3000)
    assert_same(run, files.whole(cases))


def test_parquet_is_graded_like_jsonl(files: Files) -> None:
    rows = read(files.cases)
    table = pyarrow.table({key: [row[key] if key == "id" else json.dumps(row[key]) for row in rows] for key in rows[0]})
    cases, predictions = files.folder / "cases.parquet", files.folder / "predictions.parquet"
    parquet.write_table(table, cases, row_group_size=5)
    made = read(files.predictions)
    columns = {key: [json.dumps(row[key]) if key == "tool_calls" and key in row else row.get(key) for row in made] for key in made[0]}
    parquet.write_table(pyarrow.table({**columns, "error": [row.get("error") for row in made]}), predictions, row_group_size=4)
    run = files.parts(cases, predictions, size=1)
    assert run.parts == -(-len(rows) // 5)
    assert msgspec.json.encode(run.summary) == plain(files.whole(files.cases))


def test_files_of_a_glob_are_one_dataset(files: Files) -> None:
    (files.folder / "many").mkdir()
    rows = [{key: row[key] for key in row if key != "id"} if at % 4 == 0 else row for at, row in enumerate(read(files.cases))]
    for start in range(0, len(rows), 7):  # rows without an id are named by their number
        write(files.folder / "many" / f"{start:03}.jsonl", rows[start : start + 7])
    made = read(files.predictions)
    random = Random(1)
    made += [prediction(str(number), random) for number in range(1, len(rows), 4)]
    predictions = write(files.folder / "more.jsonl", made)
    pattern = files.folder / "many" / "*.jsonl"
    assert_same(files.parts(pattern, predictions), files.whole(pattern, predictions))


def test_shuffled_records_and_predictions_change_nothing(files: Files) -> None:
    rows, made = read(files.by_reference), read(files.predictions)
    definitions = [row for row in rows if "id" not in row]
    records = [row for row in rows if "id" in row]
    Random(3).shuffle(records)
    Random(4).shuffle(made)
    cases = write(files.folder / "shuffled.jsonl", [*definitions, *records])
    predictions = write(files.folder / "shuffled-predictions.jsonl", made)
    assert_same(files.parts(cases, predictions), files.whole(cases, predictions))


def test_trials_repeated_and_unmatched_predictions_are_counted_as_in_the_whole(files: Files) -> None:
    made = [{**row, "trial": trial} for row in read(files.predictions) for trial in range(2)]
    made += [{**row, "trial": 1} for row in made[:6]] + [{"id": f"nobody{at // 2}", "tool_calls": []} for at in range(4)]
    predictions = write(files.folder / "trials.jsonl", made)
    run = files.parts(files.cases, predictions)
    assert (run.info.predictions.repeated, run.info.predictions.unmatched, run.info.predictions.first_unmatched) == (8, 2, "nobody0")
    assert_same(run, files.whole(files.cases, predictions))


def test_texts_are_parsed_with_the_tools_of_their_case(files: Files) -> None:
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Bonn"}}</tool_call>'
    texts = [{"id": row["id"], "text": text if at % 2 else "I do not know."} for at, row in enumerate(read(files.cases))]
    predictions = write(files.folder / "texts.jsonl", texts)
    run = files.parts(files.cases, predictions)
    assert run.info.predictions.texts.parsed == len(texts)
    assert_same(run, files.whole(files.cases, predictions))


def test_evaluators_match_rules_and_notices_are_those_of_the_whole(files: Files) -> None:
    grading = GradingSettings(("call", "trajectory"), match={"*.days": {"$any": True}})
    run = files.parts(files.cases, settings=grading)
    (files.folder / "callmark.toml").write_text('[match]\n"*.days" = {"$any" = true}\n')
    whole = callmark.grade(
        str(files.cases), predictions=str(files.predictions), evaluators=["call", "trajectory"], out=files.folder / "runs",
        config=str(files.folder / "callmark.toml"),
    )  # fmt: skip
    assert run.info.match_counts["*.days"] > 0
    assert_same(run, whole)


def bad_rows(path: Path, rows: Sequence[Any], every: int) -> Path:
    """Write rows with bad ones between them."""
    bad = ['{"id": "x", "messages": [', '{"id": "y", "messages": "none", "expected_output": {}}', "not JSON"]
    mixed = [each for at, row in enumerate(rows) for each in ([row, bad[at % 3]] if at % every == 0 else [row])]
    return write(path, mixed)


@pytest.mark.parametrize("kind", ["cases", "by_reference"])
def test_bad_rows_are_rejected_with_file_and_row_and_the_rest_is_graded(kind: str, files: Files) -> None:
    cases = bad_rows(files.folder / "bad.jsonl", read(getattr(files, kind)), 3)
    predictions = bad_rows(files.folder / "bad-predictions.jsonl", read(files.predictions), 4)
    rejected: list[BadRow] = []
    expected: list[BadRow] = []
    run = files.parts(cases, predictions, on_bad=rejected.append)
    whole = files.whole(cases, predictions, on_bad=expected.append)
    assert sorted(map(repr, rejected)) == sorted(map(repr, expected))
    assert f"{cases}, line 2" in [str(bad.place) for bad in rejected]
    assert_same(run, whole)


def test_a_bad_definition_is_rejected_once(files: Files) -> None:
    rows = read(files.by_reference)
    rows[1]["conversation"]["messages"] = "none"
    cases = write(files.folder / "bad.jsonl", rows)
    rejected: list[BadRow] = []
    expected: list[BadRow] = []
    run = files.parts(cases, size=1, on_bad=rejected.append)
    whole = files.whole(cases, on_bad=expected.append)
    assert sorted(map(repr, rejected)) == sorted(map(repr, expected))
    assert_same(run, whole)


@pytest.mark.parametrize("kind", ["cases", "predictions"])
def test_without_skipping_a_bad_row_stops_the_work_and_is_named(kind: str, files: Files) -> None:
    path = getattr(files, kind)
    path.write_text(path.read_text() + "{\n")
    with pytest.raises(BrokenRow, match=f"{kind}.jsonl, line {len(path.read_text().splitlines())}: "):
        files.parts(files.cases)


def test_work_that_a_bad_row_stopped_goes_on_when_rows_are_skipped(files: Files) -> None:
    cases = write(files.folder / "bad.jsonl", [*read(files.cases)[:20], "{", *read(files.cases)[20:]])
    with pytest.raises(BrokenRow, match="bad.jsonl, line 21: not valid JSON"):
        files.parts(cases)
    rejected: list[BadRow] = []
    run = files.parts(cases, on_bad=rejected.append)
    assert run.graded_before > 5
    assert [str(bad.place) for bad in rejected] == [f"{cases}, line 21"]
    assert_same(run, files.whole(cases, on_bad=lambda bad: None))
    with pytest.raises(BrokenRow, match=r"bad.jsonl, line 21: not valid JSON: .*\.$"):
        files.parts(cases)


def test_an_executor_may_return_results_in_any_order(files: Files) -> None:
    def backwards(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        return (function(pickle.loads(pickle.dumps(task))) for task in reversed(tasks))

    assert_same(files.parts(files.by_reference, executor=backwards), files.whole(files.by_reference))


class Interrupted(Exception):  # noqa: N818 - stands for a kill
    pass


class Counting:
    """Runs tasks, counts them by function, and is interrupted after a number of them."""

    def __init__(self, function: str = "", after: int = -1) -> None:
        self.ran: dict[str, int] = {}
        self._stop = (function, after)

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        for task in tasks:
            if (function.__name__, self.ran.get(function.__name__, 0)) == self._stop:
                raise Interrupted
            self.ran[function.__name__] = self.ran.get(function.__name__, 0) + 1
            yield function(task)


@pytest.mark.parametrize("function, after", [("_scan_numbered", 1), ("index_part", 2), ("grade_part", 0), ("grade_part", 4)])
def test_only_unfinished_parts_run_again(function: str, after: int, files: Files) -> None:
    with pytest.raises(Interrupted):
        files.parts(files.cases, executor=Counting(function, after))
    again = Counting()
    run = files.parts(files.cases, executor=again)
    done = after if function == "grade_part" else 0
    assert (run.graded_before, again.ran["grade_part"]) == (done, run.parts - done)
    assert_same(run, files.whole(files.cases))
    third = Counting()
    assert files.parts(files.cases, executor=third).graded_before == run.parts
    assert "grade_part" not in third.ran


def test_a_part_whose_file_is_missing_or_cut_is_graded_again(files: Files) -> None:
    run = files.parts(files.cases)
    first, second, third = sorted((files.folder / "out" / "grades").iterdir())[:3]
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    (files.folder / "out" / "statistics" / "part-00002.msgpack").write_bytes(b"?")
    assert third.exists()
    again = files.parts(files.cases)
    assert again.graded_before == run.parts - 3
    assert_same(again, files.whole(files.cases))


def test_what_an_interrupted_part_left_is_no_result(files: Files) -> None:
    with pytest.raises(Interrupted):
        files.parts(files.cases, executor=Counting("grade_part", 1))
    left = files.folder / "out" / "grades" / "part-00001.parquet.partial-elsewhere-1"
    left.write_bytes(b"PAR1")
    assert_same(files.parts(files.cases), files.whole(files.cases))
    assert not left.exists()


@pytest.mark.parametrize("change", ["cases", "predictions", "settings", "parse", "size"])
def test_a_folder_of_other_inputs_or_settings_is_refused(change: str, files: Files) -> None:
    files.parts(files.cases)
    if change in ("cases", "predictions"):
        path = getattr(files, change)
        path.write_text(path.read_text() + "\n")
    options: dict[str, Any] = {"settings": {"settings": GradingSettings(("call",))}, "parse": {"parse": "hermes"}, "size": {"size": 901}}
    with pytest.raises(BadInput, match="out: was started with other cases, predictions or settings, or by another version"):
        files.parts(files.cases, **options.get(change, {}))


def test_folders_with_something_else_are_refused(files: Files) -> None:
    (files.folder / "out").mkdir()
    (files.folder / "out" / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match=r"out: already exists, and has no plan\.json"):
        files.parts(files.cases)
    with pytest.raises(BadInput, match=r"cases\.jsonl: already exists"):
        files.parts(files.cases, out="cases.jsonl")


@pytest.mark.parametrize("size", [900, 1 << 20])
def test_duplicate_case_ids_are_refused_in_one_part_and_across_parts(size: int, files: Files) -> None:
    rows = read(files.cases)
    cases = write(files.folder / "twice.jsonl", [*rows, rows[1]])
    with pytest.raises(BadInput, match=f"duplicate case ID '{rows[1]['id']}', first used in .*twice.jsonl"):
        files.parts(cases, size=size)


def test_duplicate_conversations_across_parts_are_refused(files: Files) -> None:
    cases = write(files.folder / "twice.jsonl", [*map(conversation, range(12)), conversation(0)])
    with pytest.raises(BadInput, match="duplicate case ID 'talk0:1', first used in .*twice.jsonl") as raised:
        files.parts(cases)
    assert raised.value.hint == "Give each conversation a unique ID."


def test_inputs_that_grade_refuses_are_refused(files: Files) -> None:
    other = write(files.folder / "other.jsonl", [{"id": "z", "tool_calls": []}])
    with pytest.raises(BadInput, match="no prediction matches a case. The first prediction is for 'z', and the first case is 'talk0:1'"):
        files.parts(files.cases, other, out="a")
    nothing = write(files.folder / "nothing.jsonl", [{"id": "z", "messages": [user("Hi")], "tools": [WEATHER], "expected_output": {}}])
    with pytest.raises(BadInput, match="nothing.jsonl: no tool calls found in 1 decision point"):
        files.parts(nothing, other, out="b")
    files.parts(nothing, other, out="b", allow_no_calls=True)


def test_predictions_without_ids_are_refused(files: Files) -> None:
    made = write(files.folder / "unnamed.jsonl", [{"tool_calls": []}])
    with pytest.raises(BadInput, match="unnamed.jsonl, line 1: the row has no case ID") as raised:
        files.parts(files.cases, made)
    assert raised.value.hint.startswith("--engine ray matches predictions to cases by ID only.")


def test_scenarios_and_traces_are_refused(files: Files) -> None:
    scenario = {"id": "s", "instructions": "Ask.", "expected_function_calls": [{"functionName": "f", "arguments": {}}]}
    scenarios = write(files.folder / "scenarios.jsonl", [scenario])
    with pytest.raises(BadInput, match="scenarios.jsonl: scenarios cannot be graded in partitions"):
        files.parts(scenarios)


def test_missing_files_and_pipes_are_refused(files: Files) -> None:
    with pytest.raises(BadInput, match="nowhere.jsonl: no such file"):
        files.parts(files.folder / "nowhere.jsonl")
    with pytest.raises(BadInput, match="standard input and pipes cannot be divided into partitions"):
        files.parts("-")


def test_progress_counts_the_cases_of_each_part(files: Files) -> None:
    seen: list[tuple[int, int]] = []
    run = files.parts(files.cases, on_block=lambda done, total: seen.append((done, total)))
    assert (len(seen), seen[-1]) == (run.parts, (run.summary.cases, run.info.predictions.rows))


def test_the_public_function_takes_paths(files: Files) -> None:
    run = callmark.grade_partitions(files.cases, predictions=files.predictions, out=files.folder / "graded", evaluators=["call"])
    assert run.info.grading.evaluators == ("call",)
    stored = json.loads((files.folder / "graded" / "summary.json").read_bytes())
    assert (stored["version"], stored["summary"]["cases"]) == (1, run.summary.cases)


@given(sizes=st.lists(st.integers(500, 5000), min_size=1, max_size=2), order=st.randoms())
@settings(max_examples=5)
def test_neither_the_parts_nor_their_order_change_the_summary(
    sizes: list[int], order: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = Files(tmp_path_factory.mktemp("law"), 4)

    def shuffled(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        mixed = list(tasks)
        order.shuffle(mixed)
        return map(function, mixed)

    summaries = {
        msgspec.json.encode(files.parts(files.by_reference, out=f"out{at}", size=size, executor=shuffled).summary)
        for at, size in enumerate([*sizes, 1 << 20])
    }
    assert len(summaries) == 1


def test_a_plan_that_names_another_file_is_refused(files: Files) -> None:
    files.parts(files.cases)
    plan = files.folder / "out" / "plan.json"
    plan.write_text(plan.read_text().replace("cases.jsonl", "secret.jsonl"))
    with pytest.raises(BadInput, match="out: was started with other cases"):
        files.parts(files.cases)


@pytest.mark.parametrize("sorted_rows", [1, 5, 1000])
def test_an_index_that_is_sorted_in_ranges_is_the_same(sorted_rows: int, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    made = read(files.predictions) * 2 + [{"id": "nobody", "tool_calls": []}]
    predictions = write(files.folder / "twice.jsonl", made)
    monkeypatch.setattr("callmark.runs.prediction_index._SORTED", sorted_rows)
    run = files.parts(files.cases, predictions)
    assert (run.info.predictions.rows, run.info.predictions.repeated, run.info.predictions.unmatched) == (len(made), len(made) // 2, 1)
    assert_same(run, files.whole(files.cases, predictions))
