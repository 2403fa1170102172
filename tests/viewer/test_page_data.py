"""What the page is told: rows, runs, cases, and that a browser can read all of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.runs.grade import GradeOptions, grade_predictions
from callmark.runs.run import Run
from callmark.types import Call, Fault
from callmark.viewer.case_columns import FAULTS, MOST_NAMES, NO_CALL, UNKNOWN_TOOL, Columns, MadeCalls
from callmark.viewer.graded_rows import GradedRows
from callmark.viewer.page_data import case_data, label, run_data
from callmark.viewer.page_json import LONGEST, inside_script, page_json, shown_id
from callmark.viewer.run_cases import RunCases, Talk
from tests.rows import assistant, call, row, user, write_rows
from tests.viewer.grading_helpers import answer, case, graded, talks


def read(run: Run) -> GradedRows:
    rows = GradedRows(run)
    for _ in rows.read():
        pass
    return rows


def bonn(**more: Any) -> dict[str, Any]:
    return call("get_weather", {"city": "Bonn", **more})


ROWS = [
    # made, what the row says was expected and made, its faults, score, whether it passes
    ([bonn()], 'get_weather(city="Bonn")', 'get_weather(city="Bonn")', [], 1, 1),
    ([call("get_weather", {"city": "Ulm"})], 'get_weather(city="Bonn")', 'get_weather(city="Ulm")', ["wrong_value"], 0.5, 0),
    ([bonn(days=3)], 'get_weather(city="Bonn")', 'get_weather(city="Bonn", days=3)', ["extra_argument"], 0.5, 0),
    ([call("get_weather", {})], 'get_weather(city="Bonn")', "get_weather()", ["missing_argument"], 0.5, 0),
    ([call("get_time", {"at": 1})], 'get_weather(city="Bonn")', "get_time(at=1)", ["unknown_tool"], 0, 0),
    ([call("get_weather", "{")], 'get_weather(city="Bonn")', "get_weather(‹malformed: {›)", ["malformed_call"], 0, 0),
    ([], 'get_weather(city="Bonn")', "", ["no_call"], 0, 0),
    ([bonn(), bonn()], "", 'get_weather(city="Bonn")', ["repeated_call"], 0.666667, 0),
]


@pytest.mark.parametrize("made, expected, shown, faults, score, passed", ROWS)
def test_a_row_says_what_was_expected_and_made(
    tmp_path: Path, made: list[Any], expected: str, shown: str, faults: list[str], score: float, passed: int
) -> None:
    rows = read(graded(tmp_path, [case("one", [bonn()])], [answer("one", *made)])).columns.chunk(0, 9)
    assert (rows["expected"], rows["made"]) == ((expected,), (shown,))
    assert [[FAULTS[kind] for kind in one] for one in rows["faults"]] == [faults]
    assert (rows["score"], rows["pass"]) == ((score,), (passed,))


def test_columns_are_of_one_length_and_names_are_told_by_number(tmp_path: Path) -> None:
    cases = [case("a", [bonn()], scenario_type="x"), case("b"), case("c", [bonn()]), case("d", [bonn()])]
    made = [answer("a", bonn(), usage={"seconds": 0.5}), answer("b"), answer("c", call("nothing", {})), {"case": "d", "error": "HTTP 503"}]
    columns = read(graded(tmp_path, cases, made)).columns
    rows = columns.chunk(0, len(columns))
    assert {len(column) for name, column in rows.items() if name != "metrics"} == {4}
    assert {len(column) for column in rows["metrics"].values()} == {4}
    assert columns.names()["tools"] == ["get_weather"]
    assert rows["tool"] == (0, NO_CALL, 0, 0)
    assert rows["made_tool"] == (0, NO_CALL, UNKNOWN_TOOL, NO_CALL)
    assert rows["seconds"] == (0.5, None, None, None)
    assert (rows["error"], rows["score"][3], rows["pass"][3]) == (("", "", "", "HTTP 503"), None, None)
    assert rows["expected"][3] == "get_weather(…)"  # of an error the grade has names only
    assert columns.chunk(9, 12)["id"] == ()


def test_names_that_are_endless_are_told_apart_up_to_a_number() -> None:
    columns = Columns(("call.score",), headline="call.score", counted=())
    for number in range(MOST_NAMES + 50):
        columns.add(GradeRecord(f"c{number}", expected=(f"tool{number}",)), ())
    names, places = columns.names()["tools"], columns.chunk(0, MOST_NAMES + 50)["tool"]
    assert (len(names), names[-1], places[3], max(places)) == (MOST_NAMES, "…", 3, MOST_NAMES - 1)


def test_texts_of_a_row_are_cut() -> None:
    columns = Columns((), headline="call.score", counted=())
    columns.add(GradeRecord("i" * 10**6, conversation="c" * 10**6, expected=("f",), error="e" * 10**6), ())
    columns.add(GradeRecord("b", expected=("f",), actual=("f",), pairs=((0, 0, True),)), (Call("f", {"a": "x" * 10**6}),))
    assert len(json.dumps(columns.chunk(0, 2))) < 3000


def test_ids_that_are_too_long_still_differ() -> None:
    one, other = (shown_id("x" * 10**5 + end) for end in "ab")
    assert one != other
    assert len(one) < 600
    assert shown_id("h01:4") == "h01:4"


def test_predictions_are_found_in_any_order_and_the_first_answer_counts(tmp_path: Path) -> None:
    file = write_rows(
        tmp_path / "p.jsonl",
        {"case": "b", "calls": [{"name": "first"}]},
        "not json",
        {"case": "a", "calls": [], "error": "HTTP 503"},
        {"id": "c", "tool_calls": [call("other_shape", {})]},
        {"case": "a", "trial": 1, "calls": [{"name": "second_trial"}]},
        {"case": "b", "calls": [{"name": "second"}]},
        {"case": "a", "calls": [{"name": "after_an_error"}]},
    )
    made = MadeCalls(str(file))
    found = [made.of(case, trial) for case, trial in [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("d", 0)]]
    assert [[one.name for one in calls] for _, calls in found] == [["after_an_error"], ["first"], ["other_shape"], ["second_trial"], []]
    assert found[0][0] == file.read_bytes().index(b'{"case": "a", "calls": [{"name": "after')
    assert MadeCalls(str(tmp_path / "gone.jsonl")).of("a", 0) == (-1, ())


def test_a_run_has_the_numbers_of_the_terminal(tmp_path: Path) -> None:
    run = graded(tmp_path, [case(n, [bonn()]) for n in "abc"], [answer("a", bonn()), answer("b"), {"case": "c", "error": "HTTP 503"}])
    rows = read(run)
    summary = run.summary()
    found = run_data("base", run.info, summary, names=rows.columns.names(), trials=1)
    assert {one["name"]: (one["mean"], one["low"], one["high"], one["n"]) for one in found["metrics"]} == {
        name: (one.mean, one.low, one.high, one.n) for name, one in summary.metrics.items()
    }
    assert (found["cases"], found["scored"], found["errors"], found["error_texts"]) == (3, 2, 1, {"HTTP 503": 1})
    assert found["dataset"] == "base-cases.jsonl"  # without the folders of whoever made it
    assert found["headline"] == "call.score"


@pytest.mark.parametrize(
    "metric, words",
    [("call.score", "call score"), ("process.recall", "recall"), ("mine.is_nice", "mine is nice"), ("odd", "odd")],
)
def test_metrics_have_words(metric: str, words: str) -> None:
    assert label(metric) == words


def test_a_case_shows_a_recorded_value_as_it_is(tmp_path: Path) -> None:
    wanted = call("get_weather", {"city": {"$literal": {"$any": True}}})
    run = graded(tmp_path, [case("a", [wanted])], [answer("a", bonn(), text="well", thinking="hm")])
    (talk,) = RunCases(run.folder, run.info).talks()
    (grade,) = run.grades()
    found = case_data("base", grade, talk.cases[0].case, read(run).prediction(0))
    assert found["expected"][0]["arguments"] == {"city": {"$any": True}}
    assert (found["text"], found["thinking"]) == ("well", "hm")
    assert found["faults"][0]["sentence"].startswith("wrong")


def test_without_its_dataset_a_case_has_the_names_that_were_expected() -> None:
    fault = Fault("no_call", expected_index=0, expected="f(a=1)", evaluators=("call",))
    found = case_data("base", GradeRecord("a", expected=("f",), faults=(fault,)), None, None, problem="gone")
    assert [(one["name"], one["arguments"]) for one in found["expected"]] == [("f", None)]
    assert found["problem"] == "gone"


def seen(talk: Talk) -> list[list[str]]:
    """What a model saw at each decision: roles of the messages before it."""
    return [[message.role for message in (*talk.messages[: one.upto], *one.tail)] for one in talk.cases]


@pytest.mark.parametrize("cut", [True, False])
def test_decision_points_of_one_conversation_share_it(tmp_path: Path, cut: bool) -> None:
    from callmark.data.expand import expand
    from callmark.formats import load, write

    file = talks(tmp_path / "talks.jsonl")
    if not cut:
        write(expand(load(file)), tmp_path / "points.jsonl")
        file = tmp_path / "points.jsonl"
    run = graded(tmp_path, file, [answer("t0:1", bonn())])
    assert run.info.dataset.expanded == cut
    cases = RunCases(run.folder, run.info)
    assert cases.problem == ""
    found = list(cases.talks())
    assert [[one.case.id for one in talk.cases] for talk in found] == [[f"t{n}:1", f"t{n}:3.0", f"t{n}:3.1"] for n in range(3)]
    for talk in found:
        assert len(talk.messages) == (7 if cut else 5)
        for one, roles in zip(talk.cases, seen(talk), strict=True):
            assert roles == [message.role for message in one.case.messages]
            assert (*talk.messages[: one.upto], *one.tail) == one.case.messages


@pytest.mark.parametrize("lines", ["plain", "blank lines between", "an array"])
def test_a_case_is_found_wherever_it_stands(tmp_path: Path, lines: str) -> None:
    rows = [case(f"c{number}", [call("get_weather", {"city": f"Bonn{number}"})]) for number in range(400)]
    file = tmp_path / "cases.jsonl"
    between = {"plain": "\n", "blank lines between": "\n\n \n", "an array": ",\n"}[lines]
    text = between.join(map(json.dumps, rows))
    file.write_text(f"[{text}]" if lines == "an array" else text)
    run = graded(tmp_path, file, [answer("c0", bonn())])
    cases = RunCases(run.folder, run.info)
    for number, near in [(0, 0), (63, 63), (64, 64), (399, 399), (399, 390), (399, 0), (5, 399)]:
        found = cases.find(f"c{number}", None, near)
        assert found is not None
        assert str(found[1].case.expected[0]) == f'get_weather(city="Bonn{number}")'
    assert cases.find("c400", None, 0) is None


def chat(name: str) -> dict[str, Any]:
    return row(user("Hello."), assistant(text="Hello."), id=name)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_case_is_found_behind_rows_that_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrapped: bool) -> None:
    told = [json.loads(line) for line in talks(tmp_path / "talks.jsonl").read_text().splitlines()]
    rows = [told[0], *(chat(f"chat{n}") for n in range(300)), "{broken", told[1], told[2]]
    file = write_rows(tmp_path / "t.jsonl", *({"item": one} if wrapped and isinstance(one, dict) else one for one in rows))
    answers = write_rows(tmp_path / "p.jsonl", answer("t2:1", bonn()))
    run = grade_predictions(
        str(file), [str(answers)], GradingSettings(), out=str(tmp_path), name="r", how=GradeOptions(on_bad=lambda bad: None)
    )
    cases = RunCases(run.folder, run.info)
    assert cases.problem == ""
    monkeypatch.setattr(RunCases, "_opened", lambda self: pytest.fail("the whole file was read"))
    for near in (0, 2):
        found = cases.find("t2:1", "t2", near)
        assert found is not None
        assert str(found[1].case.expected[0]) == 'get_weather(city="Bonn2")'


def test_a_decision_point_is_shown_in_the_longest_history_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from callmark.data.expand import expand
    from callmark.formats import load, write

    write(expand(load(talks(tmp_path / "talks.jsonl", 40))), tmp_path / "points.jsonl")
    run = graded(tmp_path, tmp_path / "points.jsonl", [answer("t0:1", bonn())])
    cases = RunCases(run.folder, run.info)
    whole = {told.case.id: (talk, told) for talk in cases.talks() for told in talk.cases}
    monkeypatch.setattr(RunCases, "_opened", lambda self: pytest.fail("the whole file was read"))
    for near, (name, (talk, told)) in enumerate(whole.items()):
        found = cases.find(name, None, near)
        assert found is not None
        assert (found[0].messages, found[1].upto, found[1].tail) == (talk.messages, told.upto, told.tail)
        assert len(found[0].cases) == 3


def test_a_case_of_a_conversation_that_is_there_twice_is_found_in_its_own(tmp_path: Path) -> None:
    lines = talks(tmp_path / "t.jsonl").read_text().splitlines()
    file = write_rows(tmp_path / "twice.jsonl", *lines, lines[0].replace("Bonn0", "Kiel"))
    run = graded(tmp_path, file, [answer("t0~2:1", bonn())])
    found = RunCases(run.folder, run.info).find("t0~2:1", "t0~2", 3)
    assert found is not None
    assert str(found[1].case.expected[0]) == 'get_weather(city="Kiel")'


def test_a_dataset_that_is_not_what_it_was_shows_nothing(tmp_path: Path) -> None:
    run = graded(tmp_path, [case("a", [bonn()])], [answer("a", bonn())])
    file = tmp_path / "base-cases.jsonl"
    file.write_text(file.read_text().replace("How is Bonn?", "How is Kiel?"))
    assert "has changed since the run" in RunCases(run.folder, run.info).problem
    file.unlink()
    assert "gone" in RunCases(run.folder, run.info).problem


DEEP: Any = 1
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "value, read",
    [
        (1 << 53, 1 << 53),
        ((1 << 53) + 1, "9007199254740993"),
        ({"a": [-(10**300)]}, {"a": [f"-1{'0' * 300}"]}),
        ([10**5000], [hex(10**5000)]),
        ([float("nan"), float("inf"), 0.1], [None, None, 0.1]),
        ("a\ud800b", "a\\ud800b"),
        ({"\ud800": 1}, {"\\ud800": 1}),
        ("\u202e\x1b[31m\0", "\u202e\x1b[31m\0"),  # the page shows them safely
        ({1: object}, {"1": "<class 'object'>"}),
        ("12345678901234567890", "12345678901234567890"),
        ((Call("f"),), [{"name": "f"}]),
    ],
)
def test_a_browser_can_read_whatever_there_is(value: Any, read: Any) -> None:
    assert json.loads(page_json(value)) == read


def test_what_is_nested_too_deep_or_too_long_says_so() -> None:
    assert "nested deeper than 200" in page_json([DEEP, 1 << 60]).decode()
    found = json.loads(page_json({"text": "x" * 10**6, "k" * 10**6: 1}))
    assert found["text"] == "x" * LONGEST + "… (+800,000 characters left out)"
    assert max(map(len, found)) < LONGEST + 100


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "\u2028\u2029", "]]>", "a<b"])
def test_nothing_ends_the_script_it_stands_in(text: str) -> None:
    written = inside_script(page_json({text: text})).decode()
    assert not set(written) & set("<\u2028\u2029")
    assert json.loads(written) == {text: text}
