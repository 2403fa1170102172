"""The data of the page: rows, runs, cases, and that a browser can read all of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from callmark.analysis.summary import Estimate
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.runs.grade import GradeOptions, grade_predictions
from callmark.runs.run import Run
from callmark.runs.store import RunFolder
from callmark.types import Call, EndStates, Fault, Prediction
from callmark.viewer.case_columns import FAULT_KINDS, MAX_NAMES, NO_CALL, UNKNOWN_TOOL, CaseColumns, pass_metric
from callmark.viewer.graded_rows import GradedRows
from callmark.viewer.page_data import case_data, run_data
from callmark.viewer.page_json import MAX_TEXT, escape_for_script, page_id, page_json
from callmark.viewer.predicted_calls import PredictedCallsReader
from callmark.viewer.run_cases import CaseConversation, RunCases
from tests.rows import assistant, call, row, user, write_rows
from tests.viewer.grading_helpers import case, grade_run, predicted, write_conversations


def read(run: Run) -> GradedRows:
    rows = GradedRows(run)
    for _ in rows.read():
        pass
    return rows


def bonn(**more: Any) -> dict[str, Any]:
    return call("get_weather", {"city": "Bonn", **more})


ROWS = [
    # actual calls, then the row: expected and actual call, faults, score, whether it passes
    ([bonn()], 'get_weather(city="Bonn")', 'get_weather(city="Bonn")', [], 1, 1),
    ([call("get_weather", {"city": "Ulm"})], 'get_weather(city="Bonn")', 'get_weather(city="Ulm")', ["wrong_value"], 0.5, 0),
    ([bonn(days=3)], 'get_weather(city="Bonn")', 'get_weather(city="Bonn", days=3)', ["extra_argument"], 0.5, 0),
    ([call("get_weather", {})], 'get_weather(city="Bonn")', "get_weather()", ["missing_argument"], 0.5, 0),
    ([call("get_time", {"at": 1})], 'get_weather(city="Bonn")', "get_time(at=1)", ["unknown_tool"], 0, 0),
    ([call("get_weather", "{")], 'get_weather(city="Bonn")', "get_weather(‹malformed: {›)", ["malformed_call"], 0, 0),
    ([], 'get_weather(city="Bonn")', "", ["no_call"], 0, 0),
    ([bonn(), bonn()], "", 'get_weather(city="Bonn")', ["repeated_call"], 0.666667, 0),
]


@pytest.mark.parametrize("actual, expected, shown, faults, score, passed", ROWS)
def test_row_shows_expected_and_actual_call(
    tmp_path: Path, actual: list[Any], expected: str, shown: str, faults: list[str], score: float, passed: int
) -> None:
    rows = read(grade_run(tmp_path, [case("one", [bonn()])], [predicted("one", *actual)])).columns.chunk(0, 9)
    assert (rows["expected"], rows["actual"]) == ((expected,), (shown,))
    assert [[FAULT_KINDS[kind] for kind in one] for one in rows["faults"]] == [faults]
    assert (rows["score"], rows["pass"]) == ((score,), (passed,))


def test_columns_have_equal_length_and_names_are_numbered(tmp_path: Path) -> None:
    cases = [case("a", [bonn()], scenario_type="x"), case("b"), case("c", [bonn()]), case("d", [bonn()])]
    predictions = [
        predicted("a", bonn(), usage={"seconds": 0.5}),
        predicted("b"),
        predicted("c", call("nothing", {})),
        {"case": "d", "error": "HTTP 503"},
    ]
    columns = read(grade_run(tmp_path, cases, predictions)).columns
    rows = columns.chunk(0, len(columns))
    assert {len(column) for name, column in rows.items() if name != "metrics"} == {4}
    assert {len(column) for column in rows["metrics"].values()} == {4}
    assert columns.names()["tools"] == ["get_weather"]
    assert rows["expected_tool"] == (0, NO_CALL, 0, 0)
    assert rows["actual_tool"] == (0, NO_CALL, UNKNOWN_TOOL, NO_CALL)
    assert rows["seconds"] == (0.5, None, None, None)
    assert (rows["error"], rows["score"][3], rows["pass"][3]) == (("", "", "", "HTTP 503"), None, None)
    assert rows["expected"][3] == "get_weather(…)"  # the grade of an error has only names
    assert columns.chunk(9, 12)["id"] == ()


def test_names_beyond_the_limit_share_a_number() -> None:
    columns = CaseColumns({"call.score": Metric("score", "call score")}, headline="call.score")
    for number in range(MAX_NAMES + 50):
        columns.add(GradeRecord(f"c{number}", expected=(f"tool{number}",)), ())
    names, places = columns.names()["tools"], columns.chunk(0, MAX_NAMES + 50)["expected_tool"]
    assert (len(names), names[-1], places[3], max(places)) == (MAX_NAMES, "…", 3, MAX_NAMES - 1)


def test_long_texts_of_a_row_are_cut() -> None:
    columns = CaseColumns({}, headline="call.score")
    columns.add(GradeRecord("i" * 10**6, conversation="c" * 10**6, expected=("f",), error="e" * 10**6), ())
    columns.add(GradeRecord("b", expected=("f",), actual=("f",), pairs=((0, 0, True),)), (Call("f", {"a": "x" * 10**6}),))
    assert len(json.dumps(columns.chunk(0, 2))) < 3000


def test_shortened_ids_stay_different() -> None:
    one, other = (page_id("x" * 10**5 + end) for end in "ab")
    assert one != other
    assert len(one) < 600
    assert page_id("h01:4") == "h01:4"


def test_predictions_are_found_in_any_order_and_the_first_result_counts(tmp_path: Path) -> None:
    file = write_rows(
        tmp_path / "predictions.jsonl",
        {"case": "b", "calls": [{"name": "first"}]},
        "not json",
        {"case": "a", "calls": [], "error": "HTTP 503"},
        {"id": "c", "tool_calls": [call("other_shape", {})]},
        {"case": "a", "trial": 1, "calls": [{"name": "second_trial"}]},
        {"case": "b", "calls": [{"name": "second"}]},
        {"case": "a", "calls": [{"name": "after_an_error"}]},
    )
    reader = PredictedCallsReader(RunFolder(tmp_path))
    found = [reader.find(case, trial) for case, trial in [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("d", 0)]]
    assert [[one.name for one in calls] for _, calls in found] == [["after_an_error"], ["first"], ["other_shape"], ["second_trial"], []]
    assert found[0][0] == file.read_bytes().index(b'{"case": "a", "calls": [{"name": "after')
    assert PredictedCallsReader(RunFolder(tmp_path / "gone")).find("a", 0) == (-1, ())


def test_run_has_the_numbers_of_its_summary(tmp_path: Path) -> None:
    run = grade_run(
        tmp_path, [case(n, [bonn()]) for n in "abc"], [predicted("a", bonn()), predicted("b"), {"case": "c", "error": "HTTP 503"}]
    )
    rows = read(run)
    summary = run.summary()
    found = run_data("base", run.info, summary, names=rows.columns.names(), trials=1)
    assert {one["name"]: (one["mean"], one["low"], one["high"], one["n"]) for one in found["metrics"]} == {
        name: (one.mean, one.low, one.high, one.n) for name, one in summary.metrics.items()
    }
    assert (found["cases"], found["scored"], found["errors"], found["error_texts"]) == (3, 2, 1, {"HTTP 503": 1})
    assert found["dataset"] == "base-cases.jsonl"  # without folders, because the page may be shared
    assert found["headline"] == "call.score"


@pytest.mark.parametrize("definition, label", [(Metric("is_nice", "how nice it is"), "how nice it is"), (None, "mine.is_nice")])
def test_label_of_a_metric_is_that_of_its_definition(definition: Metric | None, label: str, tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn())])
    info = structs.replace(run.info, metrics={"mine.is_nice": definition} if definition else {})
    summary = structs.replace(run.summary(), metrics={"mine.is_nice": Estimate(1, 0.5)})
    (metric,) = run_data("base", info, summary, names={}, trials=1)["metrics"]
    assert (metric["name"], metric["label"]) == ("mine.is_nice", label)


RATE, MEAN = (Metric("pass", "pass", kind="rate", headline=True), Metric("score", "score", headline=True))


@pytest.mark.parametrize(
    "metrics, headline, expected",
    [
        ({"call.score": MEAN, "call.pass": RATE}, "call.score", "call.pass"),
        ({"mine.ok": RATE, "call.score": MEAN, "call.pass": RATE}, "call.score", "call.pass"),
        ({"call.score": MEAN, "call.pass": RATE, "process.reliability": RATE}, "process.reliability", "process.reliability"),
        ({"schema.overall": MEAN, "process.reliability": RATE}, "schema.overall", "process.reliability"),
        ({"mine.score": MEAN}, "mine.score", None),
        ({}, "call.score", None),
    ],
)
def test_headline_rate_decides_whether_a_case_passes(metrics: dict[str, Metric], headline: str, expected: str | None) -> None:
    assert pass_metric(metrics, headline) == expected


def test_case_shows_reasons_and_evaluator_errors() -> None:
    grade = GradeRecord(
        "a", metrics={"mine.score": 0.5}, reasons={"mine.score": "half of it"}, evaluator_errors={"other": "ValueError: no"}
    )
    found = case_data("base", grade, None, None)
    assert (found["reasons"], found["evaluator_errors"]) == ({"mine.score": "half of it"}, {"other": "ValueError: no"})


def test_case_shows_a_literal_value_unwrapped(tmp_path: Path) -> None:
    expected = call("get_weather", {"city": {"$literal": {"$any": True}}})
    run = grade_run(tmp_path, [case("a", [expected])], [predicted("a", bonn(), text="well", thinking="hm")])
    (conversation,) = RunCases(run.folder, run.info).conversations()
    (grade,) = run.grades()
    found = case_data("base", grade, conversation.cases[0].case, read(run).prediction(0))
    assert found["expected"][0]["arguments"] == {"city": {"$any": True}}
    assert (found["text"], found["thinking"]) == ("well", "hm")
    assert found["faults"][0]["sentence"].startswith("city: expected")


GLOB = {"$glob": "TKT-*", "$case": False}


def test_matchers_are_shown_as_people_wrote_them(tmp_path: Path) -> None:
    expected = call("get_weather", {"city": GLOB, "days": {"$any": True}, "stops": [GLOB, "Ulm"]})
    run = grade_run(tmp_path, [case("a", [expected])], [predicted("a", bonn(days=1, stops=[]))])
    rows = read(run)
    (conversation,) = RunCases(run.folder, run.info).conversations()
    (grade,) = run.grades()
    found = case_data("base", grade, conversation.cases[0].case, rows.prediction(0))
    assert found["expected"][0]["code"] == 'get_weather(city=TKT-*, days={"$any": true}, stops=[TKT-*, "Ulm"])'
    assert found["expected"][0]["shown"] == {"city": "TKT-*", "stops": '[TKT-*, "Ulm"]'}
    assert found["faults"][0]["sentence"] == 'city: expected TKT-*, got "Bonn" (from message 0)'
    assert rows.columns.chunk(0, 1)["expected"] == ('get_weather(city=TKT-*, days=1, stops=[TKT-*, "Ulm"])',)


def test_matchers_of_an_expected_state_are_shown_as_people_wrote_them() -> None:
    rows = {"TKT-1042": {"parent": GLOB, "title": "Printer"}, "TKT-7": None}
    prediction = Prediction("a", states=EndStates(expected={"tickets": rows}))
    states = case_data("base", GradeRecord("a"), None, prediction)["states"]
    assert states["shown"] == {"tickets / TKT-1042 / parent": "TKT-*"}
    assert states["expected"] == {"tickets": rows}


def test_case_without_its_dataset_has_the_names_of_expected_calls() -> None:
    fault = Fault("no_call", expected_index=0, expected="f(a=1)", evaluators=("call",))
    found = case_data("base", GradeRecord("a", expected=("f",), faults=(fault,)), None, None, problem="gone")
    assert [(one["name"], one["arguments"], one["code"], one["partial"]) for one in found["expected"]] == [("f", {}, "f(a=1)", True)]
    assert found["problem"] == "gone"


def test_case_without_its_dataset_has_the_expected_values_of_its_faults() -> None:
    faults = (
        Fault("wrong_value", 0, 0, "city", GLOB, "Bonn"),
        Fault("missing_argument", 0, 0, "days", 3),
        Fault("extra_argument", 0, 0, "unit", None, "C"),
        Fault("wrong_value", 1, 1, "city", "Kiel", "Ulm"),
    )
    found = case_data("base", GradeRecord("a", expected=("f", "f"), actual=("f", "f"), faults=faults), None, None)
    assert [one["arguments"] for one in found["expected"]] == [{"city": GLOB, "days": 3}, {"city": "Kiel"}]
    assert found["expected"][0]["shown"] == {"city": "TKT-*"}


def prompt_roles(conversation: CaseConversation) -> list[list[str]]:
    """Return the roles of the messages before each decision."""
    messages = conversation.messages
    return [[message.role for message in (*messages[: placed.prompt_length], *placed.prompt_tail)] for placed in conversation.cases]


@pytest.mark.parametrize("layout", ["conversations", "inline", "by reference"])
def test_decision_points_of_one_conversation_share_it(tmp_path: Path, layout: str) -> None:
    from callmark.data.expand import expand
    from callmark.formats import load, write

    file = write_conversations(tmp_path / "conversations.jsonl")
    if layout != "conversations":
        write(expand(load(file)), tmp_path / "points.jsonl", by_reference=layout == "by reference")
        file = tmp_path / "points.jsonl"
    run = grade_run(tmp_path, file, [predicted("t0:1", bonn())])
    assert run.info.dataset.expanded == (layout == "conversations")
    cases = RunCases(run.folder, run.info)
    assert cases.problem == ""
    found = list(cases.conversations())
    assert [[placed.case.id for placed in conversation.cases] for conversation in found] == [
        [f"t{n}:1", f"t{n}:3.0", f"t{n}:3.1"] for n in range(3)
    ]
    prompts = {placed.case.id: placed.case.messages for placed in cases.cases()}
    for conversation in found:
        assert len(conversation.messages) == (5 if layout == "inline" else 7)
        for placed, roles in zip(conversation.cases, prompt_roles(conversation), strict=True):
            messages = prompts[placed.case.id]
            assert roles == [message.role for message in messages]
            assert (*conversation.messages[: placed.prompt_length], *placed.prompt_tail) == messages
            assert not placed.case.messages or layout == "inline"
            assert placed.case.source is not None
            alone = cases.find(placed.case.id, placed.case.source.conversation, 0)
            assert alone is not None
            assert (alone[0].messages, alone[1].prompt_length, alone[1].prompt_tail) == (
                conversation.messages, placed.prompt_length, placed.prompt_tail
            )  # fmt: skip
            assert alone[1].case.messages == messages


@pytest.mark.parametrize("lines", ["plain", "blank lines between", "an array"])
def test_case_is_found_at_any_row(tmp_path: Path, lines: str) -> None:
    rows = [case(f"c{number}", [call("get_weather", {"city": f"Bonn{number}"})]) for number in range(400)]
    file = tmp_path / "cases.jsonl"
    between = {"plain": "\n", "blank lines between": "\n\n \n", "an array": ",\n"}[lines]
    text = between.join(map(json.dumps, rows))
    file.write_text(f"[{text}]" if lines == "an array" else text)
    run = grade_run(tmp_path, file, [predicted("c0", bonn())])
    cases = RunCases(run.folder, run.info)
    for number, source_row in [(0, 0), (63, 63), (64, 64), (399, 399), (399, 390), (399, 0), (5, 399)]:
        found = cases.find(f"c{number}", None, source_row)
        assert found is not None
        assert str(found[1].case.expected[0]) == f'get_weather(city="Bonn{number}")'
    assert cases.find("c400", None, 0) is None


def chat(name: str) -> dict[str, Any]:
    return row(user("Hello."), assistant(text="Hello."), id=name)


@pytest.mark.parametrize("wrapped", [False, True])
def test_case_is_found_behind_rows_without_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrapped: bool) -> None:
    conversations = [json.loads(line) for line in write_conversations(tmp_path / "conversations.jsonl").read_text().splitlines()]
    rows = [conversations[0], *(chat(f"chat{n}") for n in range(300)), "{broken", conversations[1], conversations[2]]
    file = write_rows(tmp_path / "t.jsonl", *({"item": one} if wrapped and isinstance(one, dict) else one for one in rows))
    answers = write_rows(tmp_path / "p.jsonl", predicted("t2:1", bonn()))
    run = grade_predictions(
        str(file), [str(answers)], GradingSettings(), out=str(tmp_path), name="r", options=GradeOptions(on_bad=lambda bad: None)
    )
    cases = RunCases(run.folder, run.info)
    assert cases.problem == ""
    monkeypatch.setattr(RunCases, "_open", lambda self: pytest.fail("the whole file was read"))
    for source_row in (0, 2):
        found = cases.find("t2:1", "t2", source_row)
        assert found is not None
        assert str(found[1].case.expected[0]) == 'get_weather(city="Bonn2")'


def test_decision_point_has_the_longest_history_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from callmark.data.expand import expand
    from callmark.formats import load, write

    write(expand(load(write_conversations(tmp_path / "conversations.jsonl", 40))), tmp_path / "points.jsonl")
    run = grade_run(tmp_path, tmp_path / "points.jsonl", [predicted("t0:1", bonn())])
    cases = RunCases(run.folder, run.info)
    whole = {placed.case.id: (conversation, placed) for conversation in cases.conversations() for placed in conversation.cases}
    monkeypatch.setattr(RunCases, "_open", lambda self: pytest.fail("the whole file was read"))
    for source_row, (name, (conversation, placed)) in enumerate(whole.items()):
        found = cases.find(name, None, source_row)
        assert found is not None
        assert (found[0].messages, found[1].prompt_length, found[1].prompt_tail) == (
            conversation.messages,
            placed.prompt_length,
            placed.prompt_tail,
        )
        assert len(found[0].cases) == 3


def test_case_of_a_repeated_conversation_id_is_found_in_its_own(tmp_path: Path) -> None:
    lines = write_conversations(tmp_path / "t.jsonl").read_text().splitlines()
    file = write_rows(tmp_path / "twice.jsonl", *lines, lines[0].replace("Bonn0", "Kiel"))
    run = grade_run(tmp_path, file, [predicted("t0~2:1", bonn())])
    found = RunCases(run.folder, run.info).find("t0~2:1", "t0~2", 3)
    assert found is not None
    assert str(found[1].case.expected[0]) == 'get_weather(city="Kiel")'


def test_changed_or_missing_dataset_is_a_problem(tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn())])
    file = tmp_path / "base-cases.jsonl"
    file.write_text(file.read_text().replace("How is Bonn?", "How is Kiel?"))
    cases = RunCases(run.folder, run.info)
    assert cases.problem == f"The dataset {file} has changed since the run."
    assert cases.notice == (
        f"{cases.problem} Its conversations are not shown. Expected values are shown only where a fault names them."
    )  # fmt: skip
    file.unlink()
    assert "is missing" in RunCases(run.folder, run.info).problem


def test_notice_of_a_simulation_says_that_its_conversations_are_from_the_predictions(tmp_path: Path) -> None:
    scenario = {"id": "s", "instructions": "Ask for the weather.", "expected_function_calls": [{"name": "f", "arguments": {}}]}
    run = grade_run(tmp_path, [scenario], [predicted("s", transcript=[user("Bonn?")])])
    assert RunCases(run.folder, run.info).notice == ""
    (tmp_path / "base-cases.jsonl").unlink()
    assert RunCases(run.folder, run.info).notice.endswith(
        "The instructions of its scenarios are not shown. Expected values are shown only where a fault names them; "
        "conversations are from the predictions."
    )


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
def test_every_value_becomes_readable_json(value: Any, read: Any) -> None:
    assert json.loads(page_json(value)) == read


def test_too_deep_and_too_long_values_say_so() -> None:
    assert "nested deeper than 200" in page_json([DEEP, 1 << 60]).decode()
    found = json.loads(page_json({"text": "x" * 10**6, "k" * 10**6: 1}))
    assert found["text"] == "x" * MAX_TEXT + "… (+800,000 characters left out)"
    assert max(map(len, found)) < MAX_TEXT + 100


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "\u2028\u2029", "]]>", "a<b"])
def test_escaped_json_cannot_end_its_script(text: str) -> None:
    written = escape_for_script(page_json({text: text})).decode()
    assert not set(written) & set("<\u2028\u2029")
    assert json.loads(written) == {text: text}


def test_run_counts_evaluator_errors_with_the_first_example(tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn())])
    tally = run.tally()
    for name in "ab":
        tally.add(GradeRecord(name, metrics={"call.score": 1.0}, evaluator_errors={"mine": f"ValueError: {name}"}))
    found = run_data("base", run.info, tally.summary(), names={}, trials=1)
    assert found["evaluator_errors"] == {"mine": {"count": 2, "case": "a", "error": "ValueError: a"}}


@pytest.mark.parametrize("number, left_out", [(0, 0), (2, 0), (20, 0), (25, 5)])
def test_matrix_of_many_categories_shows_the_first_and_counts_the_rest(tmp_path: Path, number: int, left_out: int) -> None:
    run = grade_run(tmp_path, [case("a", [bonn()])], [predicted("a", bonn())])
    tally = run.tally()
    for at in range(number):
        tally.add(GradeRecord(f"c{at}", metrics={"call.score": 1.0}, categories={"mine": (f"kind_{at:02}", f"kind_{at:02}")}))
    matrices = run_data("base", run.info, tally.summary(), names={}, trials=1)["matrices"]
    shown = number - left_out
    assert [(one["evaluator"], len(one["expected"]), len(one["actual"]), one["left_out"]) for one in matrices] == (
        [("mine", shown, shown, left_out)] if number else []
    )
    if number:
        assert matrices[0]["expected"][:2] == matrices[0]["actual"][:2] == ["kind 00", "kind 01"]
        assert [row[:2] for row in matrices[0]["counts"][:2]] == [[1, 0], [0, 1]]
