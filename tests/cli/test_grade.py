"""`callmark grade`: from files to terminal output and the run folder."""

import gzip
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from callmark.analysis.summary import Tally
from callmark.errors import BadInput
from callmark.runs.grading_job import _receive
from tests.conftest import Cli, Result
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

RUN_FILES = ["grades.jsonl", "predictions.jsonl", "run.json", "summary.json"]
RESULT_FILES = ["evaluation_metrics.json", "evaluation_results.json"]  # of scenarios
TAGGED = '<tool_call>{{"name": "{}", "arguments": {{"a": 1}}}}</tool_call>'
CONVERSATION = row(user("1 and 2"), assistant(call("f", {"a": 1})), result("2"), assistant(call("f", {"a": 2})), id="talk")
SCENARIO = {
    "id": "s1",
    "scenarioType": "ticket",
    "instructions": "open a ticket",
    "expected_function_calls": [{"functionName": "Crm-Create", "arguments": {"title": "TKT-*"}}],
}
EVALUATORS = '''
from callmark import Metric, Result


class Count:
    """The number of calls."""

    name = "count"
    metrics = (Metric("calls", "calls", kind="count", bounds=None), Metric("zero", "zero"))

    def evaluate(self, attempt):
        return Result({"calls": len(attempt.actual), "zero": 0.0})


class Turns(Count):
    """Returns its metrics in another order where no call was made."""

    def evaluate(self, attempt):
        return Result({"calls": 1.0, "zero": 0.0} if attempt.actual else {"zero": 0.0, "calls": 1.0})


class Prints(Count):
    def evaluate(self, attempt):
        print("look at me")
        return Result({"calls": 1.0, "zero": 0.0})


class Leaves(Count):
    def evaluate(self, attempt):
        raise SystemExit("bye")


class Huge(Count):
    def evaluate(self, attempt):
        return Result({"calls": 10**400, "zero": 0.0})


class Fails(Count):
    def evaluate(self, attempt):
        return Result({"calls": 1 / 0})
'''


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary current folder; modules imported from it are removed again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("mine", "exits"):
        sys.modules.pop(name, None)


def case(name: str | None, *calls: Any, **more: Any) -> dict[str, Any]:
    """Return a decision point that expects these calls, by default `f(a=1)`."""
    return {
        **({"id": name} if name is not None else {}),
        "messages": [user("set a to 1")],
        "expected_output": {"role": "assistant", "tool_calls": list(calls or (call("f", {"a": 1}),))},
        **more,
    }


def prediction_row(name: str, *calls: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "tool_calls": list(calls), **more}


CORRECT, WRONG = call("f", {"a": 1}), call("g", {"a": 1})


def write_two_cases() -> str:
    """Write q1 and q2, which both expect `f(a=1)`."""
    write_rows(Path("eval.jsonl"), case("q1"), case("q2"))
    return "eval.jsonl"


def write_half_correct() -> str:
    """Write predictions: q1 is correct, q2 calls another tool."""
    write_rows(Path("base.jsonl"), prediction_row("q1", CORRECT), prediction_row("q2", WRONG))
    return "base.jsonl"


def lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def scores(run: str, metric: str = "call.score") -> dict[str, float | None]:
    """Return the value of a metric for each case; None for an error."""
    return {grade["case"]: grade.get("metrics", {}).get(metric) for grade in lines(f"{run}/grades.jsonl")}


def contents(folder: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


def check_refused(completed: Result, *sentences: str) -> None:
    """Check for exit status 2 and these sentences, without a traceback."""
    assert completed.status == 2, completed.out + completed.err
    assert completed.err.startswith("callmark: ") or "callmark: " in completed.err
    assert "Traceback" not in completed.err
    assert "internal error" not in completed.err
    for sentence in sentences:
        assert sentence in completed.err


def no_run_left() -> None:
    assert not Path("runs").exists() or not list(Path("runs").iterdir())


def run_process(*arguments: str, timeout: float = 60, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process whose import path does not have the current folder."""
    command = [sys.executable, "-P", "-m", "callmark", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **options)


def test_terminal_output_of_a_run(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), *[case(f"q{index}") for index in range(5)])
    write_rows(
        Path("base.jsonl"),
        prediction_row("q0", CORRECT),
        prediction_row("q1", WRONG),
        prediction_row("q2", call("f", {"a": 7})),
        prediction_row("q3"),
        prediction_row("q4", call("f")),
    )
    completed = cli("grade", "eval.jsonl", "-p", "base.jsonl", "--name", "base")
    assert (completed.status, completed.err) == (0, "")
    assert completed.out.startswith("base.jsonl · 5 cases · scored 5\n")
    headline = next(line for line in completed.out.splitlines() if "call.score" in line)
    assert headline.split()[:2] == ["call.score", ".400"]
    assert "1 correct · 2 right tool, wrong arguments · 2 wrong" in headline
    for evaluator in ("call          pass .200 [", "schema        tool selection .600 · ", "process       precision .600 · recall .600 · "):
        assert f"  {evaluator}" in completed.out
    wrong = completed.out[completed.out.index("Top faults") : completed.out.index("Weakest tools")]
    assert {" ".join(line.split()) for line in wrong.splitlines()[1:] if line.strip()} == {
        "missing argument 1 f.a (1×)",
        "no call 1 f (1×)",
        "wrong tool 1 expected f, got g (1×)",
        "wrong value 1 a (1×: 1 hallucinated)",
    }
    assert completed.out[completed.out.index("Weakest tools") :].split("\n")[1].split()[:3] == ["f", "5", ".400"]
    assert completed.out.endswith("\nSaved to runs/base.  Next: `callmark report runs/base` or `callmark view`\n")


def test_run_without_faults(cli: Cli) -> None:
    write_rows(Path("all.jsonl"), prediction_row("q1", CORRECT), prediction_row("q2", CORRECT))
    completed = cli("grade", write_two_cases(), "-p", "all.jsonl")
    assert completed.status == 0
    assert "No faults" in completed.out
    assert "Weakest tools" not in completed.out


@pytest.mark.parametrize("evaluator", ["state", "decision", "trajectory"])
def test_faults_that_no_evaluator_looks_for_are_not_called_absent(cli: Cli, evaluator: str) -> None:
    write_rows(Path("none.jsonl"), prediction_row("q1"), prediction_row("q2"))
    completed = cli("grade", write_two_cases(), "-p", "none.jsonl", "--evaluator", evaluator)
    assert completed.status == 0
    assert "faults" not in completed.out


def message(name: str) -> dict[str, Any]:
    return assistant(call(name, {"a": 1}), text="so")


BY_ID: dict[str, Callable[[str, str], Any]] = {
    "own": lambda case, name: {"case": case, "trial": 0, "calls": [{"name": name, "arguments": {"a": 1}}]},
    "tool_calls": lambda case, name: {"id": case, "tool_calls": [call(name, {"a": 1})]},
    "output_tools": lambda case, name: {"id": case, "output_tools": [{"name": name, "arguments": {"a": 1}}]},
    "a sample": lambda case, name: {"id": case, "sample": {"output_tools": [call(name, {"a": 1})], "output_text": ""}},
    "a sample with its item": lambda case, name: {"item": {"id": case}, "sample": {"output_tools": [call(name, {"a": 1})]}},
    "hosted": lambda case, name: {
        "object": "eval.run.output_item",
        "id": f"outputitem_{case}",
        "datasource_item_id": 7,
        "datasource_item": {"id": case},
        "status": "fail",
        "sample": {"output": [message(name)]},
    },
    "a batch": lambda case, name: {
        "id": "batch_req_1",
        "custom_id": case,
        "response": {"status_code": 200, "body": {"id": "x", "object": "chat.completion", "choices": [{"message": message(name)}]}},
        "error": None,
    },
    "a message": lambda case, name: {"id": case, **message(name)},
    "raw text": lambda case, name: {"id": case, "output": TAGGED.format(name)},
}
IN_ORDER: dict[str, Callable[[int, str], Any]] = {
    "tool_calls": lambda place, name: {"tool_calls": [call(name, {"a": 1})]},
    "a sample": lambda place, name: {"sample": {"output_tools": [call(name, {"a": 1})]}},
    "a completion": lambda place, name: {"id": f"chatcmpl-{place}", "object": "chat.completion", "choices": [{"message": message(name)}]},
    "raw text": lambda place, name: {"text": TAGGED.format(name)},
    "nothing but text": lambda place, name: TAGGED.format(name),
    "places from 0": lambda place, name: {"datasource_item_id": place, "sample": {"output": [message(name)]}},
    "places from 1": lambda place, name: {"datasource_item_id": place + 1, "sample": {"output": [message(name)]}},
}


@pytest.mark.parametrize("shape", BY_ID)
def test_predictions_of_every_shape_are_matched_by_id(cli: Cli, shape: str) -> None:
    write_rows(Path("p.jsonl"), BY_ID[shape]("q2", "g"), BY_ID[shape]("q1", "f"))
    completed = cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "p")
    assert completed.status == 0
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}
    assert ("2 predictions parsed from text" in completed.out) is (shape == "raw text")


@pytest.mark.parametrize("shape", IN_ORDER)
def test_predictions_without_ids_are_matched_in_order(cli: Cli, shape: str) -> None:
    rows = [IN_ORDER[shape](0, "f"), IN_ORDER[shape](1, "g")]
    rows = rows[::-1] if shape.startswith("places") else rows
    write_rows(Path("p.jsonl"), *[json.dumps(row) for row in rows])
    assert cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "p").status == 0
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}
    assert [line["case"] for line in lines("runs/p/predictions.jsonl")] == ["q1", "q2"]


def test_file_with_some_ids_missing_is_refused(cli: Cli) -> None:
    write_rows(Path("p.jsonl"), prediction_row("q1", CORRECT), {"tool_calls": [CORRECT]})
    completed = cli("grade", write_two_cases(), "-p", "p.jsonl")
    check_refused(completed, "p.jsonl, line 2: the row has no case ID, but earlier rows do.", "Add a case ID to every row")
    no_run_left()


def test_parse_selects_the_text_format(cli: Cli) -> None:
    write_rows(Path("p.jsonl"), {"id": "q1", "text": '[f(a=1)]{"name": "g"}'}, {"id": "q2", "tool_calls": [], "content": "[f(a=1)]"})
    cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "as-it-comes")
    assert scores("runs/as-it-comes")["q2"] == 0  # the structure says that nothing was called
    completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "parsed", "--parse", "pythonic")
    assert scores("runs/parsed")["q2"] == 1
    assert "2 predictions parsed from text" in completed.out
    check_refused(
        cli("grade", "eval.jsonl", "-p", "p.jsonl", "--parse", "xml"),
        "--parse: expected auto, ",
        ", json or pythonic, got 'xml'.",
    )


def test_errors_and_missing_predictions_are_excluded_from_means(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), *[case(name) for name in ("q1", "q2", "q3", "q4")])
    batch = {"custom_id": "q4", "response": {"status_code": 500, "body": {"error": {"message": "overloaded"}}}, "error": None}
    write_rows(Path("p.jsonl"), prediction_row("q1", CORRECT), {"id": "q2", "error": "time-out"}, batch)
    completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "p")
    assert completed.status == 3
    assert "4 cases · scored 1 of 4, 3 errors" in completed.out
    assert "3 errors, excluded from every metric" in completed.out
    for text in ("1×  time-out", "1×  no prediction", "1×  HTTP 500: overloaded"):
        assert text in completed.out
    assert scores("runs/p") == {"q1": 1.0, "q2": None, "q3": None, "q4": None}
    payload = json.loads(cli("grade", "runs/p", "--json").out)["summary"]
    assert (payload["cases"], payload["scored"], payload["errors"]) == (4, 1, 3)
    assert payload["metrics"]["call.score"] == {"n": 1, "mean": 1.0, "low": None, "high": None}


def test_run_with_errors_only(cli: Cli) -> None:
    write_rows(Path("p.jsonl"), {"id": "q1", "error": "refused"}, {"id": "q2", "error": "refused"})
    completed = cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "p")
    assert completed.status == 3
    assert "No scores: every prediction is an error" in completed.out
    assert "2×  refused" in completed.out
    assert json.loads(cli("grade", "runs/p", "--json").out)["summary"]["metrics"] == {}


def test_unmatched_predictions_are_counted(cli: Cli) -> None:
    write_rows(
        Path("p.jsonl"),
        prediction_row("zebra", CORRECT),
        {"id": "q1", "error": "time-out"},
        prediction_row("q1", CORRECT),
        prediction_row("q1", WRONG),
        prediction_row("q2", WRONG),
        prediction_row("yak", CORRECT),
    )
    completed = cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "p")
    assert completed.status == 0
    assert "2 predictions ignored: no matching case (the first: zebra)\n" in completed.out
    assert "2 duplicate predictions ignored: for each case, the first prediction that is not an error counts\n" in completed.out
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}
    info = json.loads(Path("runs/p/run.json").read_text())["predictions"]
    assert info == {"name": "p.jsonl", "rows": 6, "unmatched": 2, "repeated": 2, "first_unmatched": "zebra"}
    assert [line["case"] for line in lines("runs/p/predictions.jsonl")] == ["q1", "q2"]


def test_predictions_that_match_no_case_are_refused(cli: Cli) -> None:
    write_rows(Path("p.jsonl"), prediction_row("zebra", CORRECT), prediction_row("yak", CORRECT))
    completed = cli("grade", write_two_cases(), "-p", "p.jsonl")
    check_refused(
        completed,
        "p.jsonl: no prediction matches a case. The first prediction is for 'zebra', and the first case is 'q1'.",
        "matched by ID",
    )
    no_run_left()


def test_repeated_case_ids_are_refused(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), case("q1"), case("q2"), case("q1"))
    completed = cli("grade", "eval.jsonl", "-p", write_half_correct())
    check_refused(completed, "eval.jsonl, line 3: duplicate case ID 'q1', first used in eval.jsonl, line 1.")
    no_run_left()


def test_trials_of_a_case_are_graded_separately(cli: Cli) -> None:
    write_rows(
        Path("p.jsonl"),
        prediction_row("q1", CORRECT, trial=1),
        prediction_row("q1", WRONG, trial=0),
        prediction_row("q2", CORRECT, repeat=0),
        {"id": "q2", "trial": 1, "error": "time-out"},
    )
    completed = cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "p")
    assert completed.status == 3
    assert "p.jsonl · 2 cases · scored 3 of 4, 1 error" in completed.out
    grades = [(grade["case"], grade.get("trial", 0), grade.get("metrics", {}).get("call.score")) for grade in lines("runs/p/grades.jsonl")]
    assert grades == [("q1", 0, 0.0), ("q1", 1, 1.0), ("q2", 0, 1.0), ("q2", 1, None)]
    assert "repeated" not in completed.out


def test_conversations_are_expanded_and_reported(cli: Cli) -> None:
    write_rows(Path("valid.jsonl"), CONVERSATION, CONVERSATION)
    wanted = {"talk:1": 1, "talk:3": 2, "talk~2:1": 1, "talk~2:3": 2}
    write_rows(Path("p.jsonl"), *[prediction_row(name, call("f", {"a": a})) for name, a in wanted.items()])
    completed = cli("grade", "valid.jsonl", "-p", "p.jsonl", "--name", "p")
    assert completed.status == 0
    assert "p.jsonl · 4 cases from 2 conversations · scored 4\n" in completed.out
    assert "valid.jsonl contains conversations, which were expanded into decision points\n" in completed.out
    assert scores("runs/p") == dict.fromkeys(wanted, 1.0)
    assert [grade["conversation"] for grade in lines("runs/p/grades.jsonl")] == ["talk", "talk", "talk~2", "talk~2"]
    cli("expand", "valid.jsonl", "-o", "eval.jsonl")
    cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "cut-before")
    assert contents("runs/p")["grades.jsonl"] == contents("runs/cut-before")["grades.jsonl"]


def test_conversations_without_calls_give_no_cases(cli: Cli) -> None:
    write_rows(Path("chat.jsonl"), row(user("hi"), assistant(text="hello")))
    predictions = write_half_correct()
    sentence = "chat.jsonl: no tool calls found in 1 conversation (OpenAI chat), so there is no call to test."
    check_refused(cli("grade", "chat.jsonl", "-p", predictions), sentence, "pass --allow-no-calls")
    check_refused(cli("grade", "chat.jsonl", "-p", predictions, "--allow-no-calls"), "base.jsonl: no prediction matches a case")
    no_run_left()


def test_conversation_among_cases_is_refused(cli: Cli) -> None:
    write_rows(Path("mixed.jsonl"), case("q1"), CONVERSATION)
    completed = cli("grade", "mixed.jsonl", "-p", write_half_correct())
    check_refused(completed, "mixed.jsonl, line 2: expected a case, as in the earlier rows, got a conversation without expected calls.")
    write_rows(Path("mixed.jsonl"), CONVERSATION, case("q1"))
    check_refused(
        cli("grade", "mixed.jsonl", "-p", "base.jsonl"),
        "mixed.jsonl, line 2: expected a conversation to cut into decision points, got the decision point 'q1'",
    )
    no_run_left()


@pytest.mark.parametrize(
    "prediction, reliability",
    [
        ({"id": "s1", "function_calls": [{"functionName": "crm-create", "arguments": {"title": "tkt-7"}}]}, 1.0),
        ({"id": "s1", "messages": [user("go"), assistant(call("crm-create", {"title": "TKT-7"})), result("ok")]}, 1.0),
        ({"id": "s1", "function_calls": [{"functionName": "crm-create", "arguments": {"title": "bug 7"}}]}, 0.0),
        ({"id": "s1", "messages": [user("go"), assistant(text="done")]}, 0.0),
        ({"id": "s1", "function_calls": [call("Crm-Create", {"title": "TKT-7"}), call("CommonPlugin-now")]}, 1.0),
    ],
    ids=["calls", "a conversation", "another title", "a conversation without calls", "an ignored call"],
)
def test_scenarios_are_graded_by_process(cli: Cli, prediction: dict[str, Any], reliability: float) -> None:
    write_rows(Path("scenarios.jsonl"), SCENARIO)
    completed = cli("grade", "scenarios.jsonl", "-p", write_rows(Path("p.jsonl"), prediction), "--name", "p")
    assert completed.status == 0
    assert "p.jsonl · 1 scenario · scored 1" in completed.out
    assert completed.out.splitlines()[2].split()[:2] == ["process.reliability", f"{reliability:g}"]
    assert scores("runs/p", "process.reliability") == {"s1": reliability}
    assert json.loads(Path("runs/p/run.json").read_text())["dataset"]["kind"] == "scenarios"
    (results,) = json.loads(Path("runs/p/evaluation_results.json").read_text())
    assert results["Reliability.score"] == reliability
    assert results["rows"][0]["inputs.expected_function_calls"] == SCENARIO["expected_function_calls"]
    before = contents("runs/p")
    assert cli("grade", "runs/p").status == 0
    assert contents("runs/p") == before


def test_conversation_is_not_a_prediction_for_a_decision_point(cli: Cli) -> None:
    write_rows(Path("p.jsonl"), {"id": "q1", "messages": [user("go"), assistant(CORRECT)]})
    check_refused(
        cli("grade", write_two_cases(), "-p", "p.jsonl"),
        "p.jsonl, line 1: messages: expected a prediction for one decision point, got a conversation or test case",
    )


def test_better_alternative_counts(cli: Cli) -> None:
    other = case("q1")
    other["expected_output"]["alternatives"] = [[call("h")], [WRONG]]
    write_rows(Path("eval.jsonl"), other)
    cli("grade", "eval.jsonl", "-p", write_rows(Path("p.jsonl"), prediction_row("q1", WRONG)), "--name", "p")
    (grade,) = lines("runs/p/grades.jsonl")
    assert (grade["metrics"]["call.score"], grade["alternative"], grade["expected"]) == (1.0, 2, ["g"])


def test_named_evaluator_replaces_the_defaults(cli: Cli) -> None:
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "--evaluator", "call", "--name", "p")
    assert completed.status == 0
    assert set(lines("runs/p/grades.jsonl")[0]["metrics"]) == {"call.score", "call.pass", "call.arguments"}
    assert "schema" not in completed.out


def test_evaluator_is_imported_from_the_current_folder(cli: Cli) -> None:
    Path("mine.py").write_text(EVALUATORS)
    for jobs in ("1", "2"):
        completed = cli(
            "grade",
            write_two_cases(),
            "-p",
            write_half_correct(),
            "--evaluator",
            "mine:Count",
            "--evaluator",
            "call",
            "--name",
            jobs,
            "--jobs",
            jobs,
        )
        assert completed.status == 0
        assert "count         calls 1 · zero 0" in completed.out
        assert scores(f"runs/{jobs}", "count.calls") == {"q1": 1.0, "q2": 1.0}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    "evaluator, sentence",
    [
        ("cal", "unknown evaluator 'cal'. Did you mean call?"),
        (
            "nowhere:Suite",
            "evaluator 'nowhere:Suite': no module named nowhere.\nRun callmark in the folder that contains nowhere, or install it.",
        ),
        ("mine:Cuont", "evaluator 'mine:Cuont': module mine has no attribute 'Cuont'. Did you mean Count?"),
        ("mine:SUITE", "evaluator 'mine:SUITE': module mine has no attribute 'SUITE'"),
        pytest.param(
            "exits:Suite",
            "evaluator 'exits:Suite': cannot import exits: SystemExit: bye",
        ),
    ],
)
def test_invalid_evaluators_are_refused(cli: Cli, evaluator: str, sentence: str, jobs: str) -> None:
    Path("mine.py").write_text(EVALUATORS)
    Path("exits.py").write_text("raise SystemExit('bye')\n")
    check_refused(cli("grade", write_two_cases(), "-p", write_half_correct(), "--evaluator", evaluator, "--jobs", jobs), sentence)
    no_run_left()


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    "evaluator, error",
    [
        ("mine:Fails", "ZeroDivisionError: division by zero"),
        ("mine:Huge", "EvaluatorError: "),
        ("mine:Leaves", "SystemExit: bye"),
    ],
)
def test_failing_evaluator_is_an_evaluator_error_with_status_3(cli: Cli, evaluator: str, error: str, jobs: str) -> None:
    Path("mine.py").write_text(EVALUATORS)
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "-e", evaluator, "-e", "call", "--name", "p", "--jobs", jobs)
    assert completed.status == 3
    assert "Traceback" not in completed.err
    assert f"Evaluator count: 2 errors, excluded from its metrics; first: q1: {error}" in completed.out
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}


def test_metric_order_does_not_matter(cli: Cli) -> None:
    Path("mine.py").write_text(EVALUATORS)
    write_rows(Path("p.jsonl"), prediction_row("q1", CORRECT), prediction_row("q2"))
    payload = json.loads(cli("grade", write_two_cases(), "-p", "p.jsonl", "--evaluator", "mine:Turns", "--json").out)
    assert {name: found["mean"] for name, found in payload["summary"]["metrics"].items()} == {"count.calls": 1.0, "count.zero": 0.0}


def test_evaluator_output_is_not_in_the_json(cli: Cli) -> None:
    Path("mine.py").write_text(EVALUATORS)
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "--evaluator", "mine:Prints", "--json")
    assert json.loads(completed.out)["summary"]["scored"] == 2
    assert "look at me" in completed.err


@pytest.mark.parametrize("module", ["re2", "xxhash", "rich"])
def test_local_file_does_not_shadow_a_module(module: str) -> None:
    Path(f"{module}.py").write_text("raise ImportError('mine')\n")
    completed = run_process("grade", write_two_cases(), "-p", write_half_correct())
    assert (completed.returncode, completed.stderr) == (0, "")


def test_settings_are_read_from_callmark_toml(cli: Cli) -> None:
    Path("callmark.toml").write_text(
        '[evaluators]\nuse = ["call", "process"]\n[evaluators.call]\nthreshold = 0.5\n'
        '[evaluators.process]\nignore = ["g"]\n[match]\n"f.*" = {"$any" = true}\n'
    )
    write_rows(Path("eval.jsonl"), case("q1", call("f", {"a": 1, "b": 2})), case("q2"), case("q3", WRONG))
    write_rows(
        Path("p.jsonl"), prediction_row("q1", call("f", {"a": 9, "b": 9})), prediction_row("q2", CORRECT, CORRECT), prediction_row("q3")
    )
    for jobs in ("1", "3"):
        completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", jobs, "--jobs", jobs)
        assert "  Match rule f.* applied to 3 arguments\n" in completed.out
        assert "schema" not in completed.out
        assert scores(f"runs/{jobs}") == {"q1": 1.0, "q2": 0.666667, "q3": 0.0}
        assert scores(f"runs/{jobs}", "call.pass") == {"q1": 1.0, "q2": 1.0, "q3": 0.0}
        assert scores(f"runs/{jobs}", "process.reliability") == {"q1": 1.0, "q2": 0.0, "q3": 1.0}
        info = json.loads(Path(f"runs/{jobs}/run.json").read_text())
        assert info["grading"]["options"]["call"] == {"threshold": 0.5}
        assert info["match_counts"] == {"f.*": 3}
    Path("callmark.toml").rename("other.toml")
    cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "plain")
    assert scores("runs/plain")["q1"] == 0.5
    cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "again", "--config", "other.toml", "--evaluator", "call")
    assert scores("runs/again")["q1"] == 1.0
    assert scores("runs/again", "process.reliability")["q1"] is None


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("evaluator = 1", "callmark.toml: unknown key 'evaluator'. Did you mean evaluators?\nKnown keys: evaluators, reply, match,"),
        ("[evaluators.call]\nthreshold = 7", "callmark.toml: "),
        ("[evaluators]\nuse = ['cal']", "unknown evaluator 'cal'. Did you mean call?"),
        ("[evaluators]\nuse = []", "no evaluators are selected."),
        ("[evaluators]\nuse = ['call', 'call']", "two evaluators are named 'call': names must be unique."),
        ("[match]\n'*.a' = 'simular'", "Did you mean similar?"),
        ("= 5", "callmark.toml: not valid TOML"),
        pytest.param(
            f"a = {'[' * 5000}{']' * 5000}",
            "callmark.toml",
        ),
        pytest.param(
            f"threshold = {'1' * 5000}",
            "callmark.toml",
        ),
    ],
    ids=["a key", "a value", "an evaluator", "no evaluator", "an evaluator twice", "a rule", "no TOML", "deep", "digits"],
)
def test_invalid_settings_are_refused(cli: Cli, text: str, sentence: str) -> None:
    Path("callmark.toml").write_text(text)
    check_refused(cli("grade", write_two_cases(), "-p", write_half_correct()), sentence)
    no_run_left()


def test_missing_config_file_is_refused(cli: Cli) -> None:
    Path("callmark.toml").mkdir()
    check_refused(
        cli("grade", write_two_cases(), "-p", write_half_correct(), "--config", "callmark.toml"),
        "callmark.toml: cannot be read: Is a directory.",
    )
    check_refused(cli("grade", "eval.jsonl", "-p", "base.jsonl", "--config", "no.toml"), "no.toml: no such file.")
    assert cli("grade", "eval.jsonl", "-p", "base.jsonl").status == 0


def test_json_has_the_numbers(cli: Cli) -> None:
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p", "--json")
    payload = json.loads(completed.out)
    assert payload["run"] == "runs/p"
    assert payload["info"]["cases"] == 2
    found = payload["summary"]
    assert (found["cases"], found["scored"], found["errors"], found["correct"], found["correct_tools_only"]) == (2, 2, 0, 1, 0)
    assert found["metrics"]["call.score"] == {"n": 2, "mean": 0.5, "low": None, "high": None}
    assert {name: number["n"] for name, number in found["metrics"].items() if number["n"] != 2} == {"call.arguments": 1}  # the only pair
    assert all(number["low"] is None for number in found["metrics"].values())  # too few conversations
    assert [(fault["kind"], fault["count"], fault["examples"][0]["name"]) for fault in found["faults"]] == [("wrong_tool", 1, "f → g")]
    assert found["tools"] == [{"tool": "f", "n": 2, "score": 0.5}]


def test_run_folder_has_all_files(cli: Cli) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "-o", "some/where", "--name", "p")
    assert sorted(contents("some/where/p")) == RUN_FILES
    info = json.loads(Path("some/where/p/run.json").read_text())
    assert (info["name"], info["cases"]) == ("p", 2)
    assert (info["dataset"]["name"], info["dataset"]["path"]) == ("eval.jsonl", "../../../eval.jsonl")
    assert info["dataset"]["digest"].startswith("xxh3:")
    assert next(iter(info["metrics"])) == "call.score"
    assert lines("some/where/p/predictions.jsonl") == [
        {"case": name, "calls": [{"name": tool, "arguments": {"a": 1}, "id": "c1"}]} for name, tool in (("q1", "f"), ("q2", "g"))
    ]


def test_run_folder_of_scenarios_has_evaluation_results(cli: Cli) -> None:
    write_rows(Path("s.jsonl"), SCENARIO, {**SCENARIO, "id": "s2"}, {**SCENARIO, "id": "s3"})
    write_rows(Path("p.jsonl"), {"id": "s1", "function_calls": [call("crm-create", {"title": "TKT-1"})]}, {"id": "s2", "error": "time-out"})
    assert cli("grade", "s.jsonl", "-p", "p.jsonl", "--name", "p").status == 3
    assert sorted(contents("runs/p")) == sorted([*RUN_FILES, *RESULT_FILES])
    (results,) = json.loads(Path("runs/p/evaluation_results.json").read_text())
    assert [line["inputs.id"] for line in results["rows"]] == ["s1", "s2", "s3"]
    assert [line["outputs.error_message"] for line in results["rows"]] == [None, "time-out", "no prediction"]
    assert [line["outputs.Reliability.score"] for line in results["rows"]] == [1.0, None, None]
    (means,) = json.loads(Path("runs/p/evaluation_metrics.json").read_text())
    assert means == {name: 1.0 for name in results if name != "rows"}
    assert means["Reliability.score"] == 1.0


def test_evaluation_results_are_kept_when_graded_with_another_evaluator(cli: Cli) -> None:
    write_rows(Path("p.jsonl"), {"id": "s1", "function_calls": []})
    cli("grade", write_rows(Path("s.jsonl"), SCENARIO), "-p", "p.jsonl", "--name", "p")
    before = contents("runs/p")
    assert cli("grade", "runs/p", "--evaluator", "call").status == 0
    assert contents("runs/p") == before
    assert sorted(before) == sorted([*RUN_FILES, *RESULT_FILES])


def write_many_cases() -> tuple[str, str, list[str]]:
    """Write several blocks of cases with wrong values, errors, trials, missing and unmatched predictions."""
    write_rows(Path("eval.jsonl"), *[case(f"q{index}", call("f", {"a": index % 3}), tools=[WEATHER]) for index in range(300)])
    rows: list[Any] = [prediction_row("nobody", CORRECT)]
    for index in range(299):
        rows.append(
            {"id": f"q{index}", "error": "time-out"} if index % 50 == 7 else prediction_row(f"q{index}", call("f", {"a": index % 4}))
        )
        if index % 10 == 0:
            rows.append(prediction_row(f"q{index}", WRONG, CORRECT, trial=2))
    write_rows(Path("p.jsonl"), *rows)
    return "eval.jsonl", "p.jsonl", []


def write_many_conversations() -> tuple[str, str, list[str]]:
    """Write several blocks of conversations with repeated ids, some without calls, and predictions in order."""
    quiet = row(user("hi"), assistant(text="hello"), id="talk")
    write_rows(Path("valid.jsonl"), *[quiet if index % 7 == 3 else CONVERSATION for index in range(200)])
    write_rows(Path("p.jsonl"), *[{"tool_calls": [call("f", {"a": index % 3})]} for index in range(345)])
    return "valid.jsonl", "p.jsonl", []


def write_many_bad_rows() -> tuple[str, str, list[str]]:
    """Write cases and predictions in order, with bad rows in both, among them a whole block."""
    cases: list[Any] = [case(f"q{index}") if index % 5 and not 64 <= index < 192 else '{"messages": 5}' for index in range(300)]
    write_rows(Path("eval.jsonl"), *cases)
    write_rows(Path("p.jsonl"), *[{"tool_calls": [CORRECT if index % 3 else WRONG]} if index % 11 != 1 else "{" for index in range(300)])
    return "eval.jsonl", "p.jsonl", ["--skip-bad"]


def many_scenarios() -> tuple[str, str, list[str]]:
    write_rows(Path("s.jsonl"), *[{**SCENARIO, "id": index} for index in range(130)])
    write_rows(Path("p.jsonl"), *[{"id": index, "function_calls": [call("crm-create", {"title": f"TKT-{index}"})]} for index in range(129)])
    return "s.jsonl", "p.jsonl", []


@pytest.mark.parametrize(
    "files", [write_many_cases, write_many_conversations, write_many_bad_rows, many_scenarios], ids=lambda files: files.__name__
)
def test_output_is_identical_for_any_number_of_jobs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, files: Callable[[], tuple[str, str, list[str]]]
) -> None:
    monkeypatch.setattr(time, "strftime", lambda form: "2026-01-02T03-04")
    cases, predictions, more = files()
    Path("callmark.toml").write_text("[match]\n'f.a' = 'similar'\n'*.zebra' = 'exact'\n")
    completed = [cli("grade", cases, "-p", predictions, "-o", out, "--jobs", out[-1], *more) for out in ("a1", "b1", "c2", "d3", "e7")]
    assert len({one.status for one in completed}) == 1
    assert completed[0].status in (0, 3)
    (name,) = os.listdir("a1")
    assert name == "p-2026-01-02T03-04"
    first = contents(f"a1/{name}")
    assert set(RUN_FILES) <= set(first)
    for out, one in zip(("b1", "c2", "d3", "e7"), completed[1:], strict=True):
        assert contents(f"{out}/{name}") == first, out
        assert one.out.replace(f"{out}/", "a1/").replace(f"view {out}`", "view a1`") == completed[0].out


def test_rejects_keep_row_order_across_blocks(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), *[case(f"q{index}") for index in range(64)], *['{"messages": 5}'] * 128, case("last"))
    cli(
        "grade",
        "eval.jsonl",
        "-p",
        write_rows(Path("p.jsonl"), prediction_row("q1", CORRECT)),
        "--jobs",
        "2",
        "--skip-bad",
        "--rejects",
        "r.jsonl",
    )
    assert [payload["line"] for payload in lines("r.jsonl")] == list(range(65, 193))


def test_first_bad_row_is_reported(cli: Cli) -> None:
    bad = '{"messages": 5}'
    write_rows(Path("eval.jsonl"), *[case(f"a{at}") for at in range(64)], bad, *[case(f"b{at}") for at in range(63)], bad)
    check_refused(cli("grade", "eval.jsonl", "-p", write_half_correct(), "--jobs", "2"), "eval.jsonl, line 65: ")


def test_scenarios_are_detected_after_a_bad_block(cli: Cli) -> None:
    write_rows(Path("s.jsonl"), *['{"instructions": "x", "expected_function_calls": 5}'] * 64, SCENARIO)
    write_rows(Path("p.jsonl"), {"id": "s1", "function_calls": []})
    assert "1 scenario · scored 1" in cli("grade", "s.jsonl", "-p", "p.jsonl", "--skip-bad", "--jobs", "2").out


def test_run_is_regraded_with_other_settings(cli: Cli) -> None:
    write_rows(
        Path("p.jsonl"),
        prediction_row("zebra", CORRECT),
        prediction_row("q1", call("f", {"a": 9})),
        prediction_row("q1", CORRECT),
        prediction_row("q2", CORRECT),
    )
    cli("grade", write_two_cases(), "-p", "p.jsonl", "--name", "p")
    before = contents("runs/p")
    assert scores("runs/p") == {"q1": 0.5, "q2": 1.0}
    completed = cli("grade", "runs/p")
    assert completed.status == 0
    assert contents("runs/p") == before
    assert "1 prediction ignored: no matching case (the first: zebra)" in completed.out
    assert "1 duplicate prediction ignored" in completed.out
    Path("callmark.toml").write_text('[match]\n"*.a" = {"$any" = true}\n')
    completed = cli("grade", "runs/p", "--evaluator", "trajectory", "--jobs", "2")
    assert "Match rule *.a applied to 2 arguments" in completed.out
    assert scores("runs/p") == {"q1": 1.0, "q2": 1.0}
    info = json.loads(Path("runs/p/run.json").read_text())
    assert info["grading"] == {"evaluators": ["call", "schema", "process", "trajectory"], "match": {"*.a": {"$any": True}}}
    assert list(dict.fromkeys(name.partition(".")[0] for name in info["metrics"])) == ["call", "schema", "process", "trajectory"]
    assert info["predictions"] == {"name": "p.jsonl", "rows": 4, "unmatched": 1, "repeated": 1, "first_unmatched": "zebra"}
    assert contents("runs/p")["predictions.jsonl"] == before["predictions.jsonl"]


ANSWERS: dict[str, Any] = {
    "calls": prediction_row("q1", CORRECT, WRONG),
    "a malformed call": prediction_row("q1", call("f", "{")),
    "a number for a call": prediction_row("q1", 5),
    "an error": {"id": "q1", "error": "time-out " * 200},
    "text": {"id": "q1", "content": "I will not", "tool_calls": []},
    "text in which a call stands": {"id": "q1", "text": f"so {TAGGED.format('f')}"},
    "thinking": {"id": "q1", "text": f"<think>{TAGGED.format('g')}</think>{TAGGED.format('f')}"},
    "a trial": prediction_row("q1", WRONG, trial=3),
    "no call": prediction_row("q1"),
    "an empty text": {"id": "q1", "text": ""},
    "a call in a text that is said to be none": {"id": "q1", "tool_calls": [], "content": TAGGED.format("f")},
}


@pytest.mark.parametrize("prediction", ANSWERS.values(), ids=ANSWERS)
def test_regrading_with_the_same_settings_changes_nothing(cli: Cli, prediction: Any) -> None:
    cli("grade", write_two_cases(), "-p", write_rows(Path("p.jsonl"), prediction, prediction_row("q2", CORRECT)), "--name", "p")
    before = contents("runs/p")
    completed = cli("grade", "runs/p")
    assert completed.status in (0, 3), completed.err
    assert contents("runs/p") == before
    cli("grade", "eval.jsonl", "-p", "runs/p/predictions.jsonl", "--name", "q")
    assert contents("runs/q")["grades.jsonl"] == before["grades.jsonl"]


def test_run_and_dataset_can_be_moved_together(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("old").mkdir()
    monkeypatch.chdir("old")
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    before = contents("runs/p")
    monkeypatch.chdir("..")
    Path("old").rename("new")
    assert cli("grade", "new/runs/p").status == 0
    assert contents("new/runs/p") == before


def test_truncated_derived_files_are_rewritten(cli: Cli) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    before = contents("runs/p")
    Path("runs/p/grades.jsonl").write_bytes(before["grades.jsonl"][:17])
    assert cli("grade", "runs/p").status == 0
    assert contents("runs/p") == before


@pytest.mark.parametrize("where", [".", "../p"])
def test_run_keeps_its_name_for_any_path(cli: Cli, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    before = contents("runs/p")
    monkeypatch.chdir("runs/p")
    assert cli("grade", where).status == 0
    monkeypatch.chdir("../..")
    assert contents("runs/p") == before


def edit_dataset_info(**fields: Any) -> None:
    """Change fields of `dataset` in the run.json of runs/p."""
    file = Path("runs/p/run.json")
    info = json.loads(file.read_text())
    info["dataset"].update(fields)
    file.write_text(json.dumps(info))


@pytest.mark.parametrize(
    "change, sentences",
    [
        (
            lambda: write_rows(Path("eval.jsonl"), case("q1"), case("q2", WRONG)),
            ["eval.jsonl: the cases have changed since the run", "To grade the predictions"],
        ),
        (
            lambda: Path("eval.jsonl").unlink(),
            ["runs/p: cannot find its cases at eval.jsonl.", "If the file was moved"],
        ),
        (lambda: Path("runs/p/run.json").unlink(), ["runs/p: not a run folder: run.json is missing."]),
        (lambda: Path("runs/p/run.json").write_text("{"), ["runs/p/run.json: "]),
        (lambda: Path("runs/p/run.json").write_text("[" * 100_000), ["runs/p/run.json: "]),
        (lambda: Path("runs/p/run.json").write_bytes(b'{"name": "\xff"}'), ["runs/p/run.json: "]),
        (
            lambda: Path("runs/p/run.json").write_text('{"name": "p", "version": 1}'),
            ["runs/p/run.json: ", "run.json: missing key 'callmark'"],
        ),
        (lambda: edit_dataset_info(path=7), ["runs/p/run.json: "]),
        (lambda: edit_dataset_info(path="\0"), ["runs/p/run.json: dataset.path: expected a path, got '\\x00'."]),
        (lambda: edit_dataset_info(path=""), ["runs/p: expected a file, or a folder of data files, got a run folder."]),
        (lambda: edit_dataset_info(path="/dev/null"), ["dev/null: expected a regular file, got a device."]),
        (lambda: edit_dataset_info(format="opnai"), ["unknown format 'opnai'. Did you mean openai?"]),
        (lambda: edit_dataset_info(tools="no.json"), ["no.json: no such file"]),
        (lambda: Path("runs/p/predictions.jsonl").unlink(), ["runs/p/predictions.jsonl: no such file."]),
        (lambda: Path("runs/p/predictions.jsonl").write_text(""), ["runs/p/predictions.jsonl is empty"]),
        (
            lambda: Path("runs/p/predictions.jsonl").write_text('{"case": "q1", "ca'),
            ["predictions.jsonl, line 1: not valid JSON"],
        ),
    ],
)
def test_run_without_its_dataset_cannot_be_regraded(cli: Cli, change: Callable[[], None], sentences: list[str]) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    change()
    before = contents("runs/p")
    check_refused(cli("grade", "runs/p"), *sentences)
    assert contents("runs/p") == before


def test_folder_without_run_json_is_refused(cli: Cli) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    check_refused(cli("grade", "runs"), "runs: not a run folder: run.json is missing.", "Runs in this folder: p.")
    refused = cli("grade", "eval.jsonl", "-p", "runs/p")
    check_refused(
        refused, "runs/p: expected a file, or a folder of data files, got a run folder.", "Its predictions: runs/p/predictions.jsonl"
    )
    check_refused(cli("grade", "eval.jsonl"), "no predictions given for eval.jsonl.")
    assert os.listdir("runs") == ["p"]


@pytest.mark.parametrize("rejects", ["runs/p/predictions.jsonl", "eval.jsonl", "runs/p/run.json"])
def test_rejects_cannot_overwrite_run_files(cli: Cli, rejects: str) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    before = Path(rejects).read_bytes()
    check_refused(cli("grade", "runs/p", "--skip-bad", "--rejects", rejects), "cannot be both")
    assert Path(rejects).read_bytes() == before


@pytest.mark.parametrize(
    "option", [["-p", "base.jsonl"], ["--name", "q"], ["-o", "runs"], ["--parse", "hermes"], ["--tools", "t.json"], ["--from", "openai"]]
)
def test_options_that_do_not_apply_to_a_run_are_refused(cli: Cli, option: list[str]) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    name = {"-p": "--predictions", "-o": "--out"}.get(option[0], option[0])
    is_place = option[0] in ("--name", "-o")
    own = "with runs/p, which is a run: its own predictions are graded again."
    if option[0] == "--tools":
        own = "with runs/p, which is a run: its cases already have their tools."
    why = "when a run is graded again: the result is saved in runs/p." if is_place else own
    check_refused(cli("grade", "runs/p", *option), f"{name} cannot be used {why}")


def test_folder_of_data_is_not_called_a_run(cli: Cli) -> None:
    Path("data").mkdir()
    check_refused(
        cli("grade", "data", "-p", write_half_correct()),
        "data: expected a file, or a folder of data files, got a folder with nothing in it.",
    )


@pytest.mark.parametrize("name", ["a/b", "..", ".", "", "a\\b", "/abs"])
def test_invalid_run_names_are_refused(cli: Cli, name: str) -> None:
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", name)
    check_refused(completed, f"--name: expected the name of a single folder, got {name!r}.", "Pass the parent folder with -o.")
    no_run_left()


def test_existing_run_name_is_refused(cli: Cli) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    before = contents("runs/p")
    completed = cli("grade", "eval.jsonl", "-p", "base.jsonl", "--name", "p")
    check_refused(completed, "runs/p: already exists.", "Choose another --name. To grade the existing run again: callmark grade runs/p")
    assert contents("runs/p") == before


def test_default_name_has_file_name_and_time(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda form: "2026-01-02T03-04")
    write_two_cases()
    for file in ("base.jsonl", "base.jsonl", "my run.v2.jsonl.gz", "…", ".hidden.jsonl"):
        Path(file).write_text(json.dumps(prediction_row("q1", CORRECT)))
        assert cli("grade", "eval.jsonl", "-p", file).status == 3
    assert sorted(os.listdir("runs")) == [
        "2026-01-02T03-04",
        "2026-01-02T03-04-2",
        "base-2026-01-02T03-04",
        "base-2026-01-02T03-04-2",
        "my-run-2026-01-02T03-04",
    ]


def test_longest_file_name_gives_a_valid_run_name(cli: Cli) -> None:
    file = write_rows(Path(f"{'p' * 249}.jsonl"), prediction_row("q1", CORRECT), prediction_row("q2", CORRECT))
    assert cli("grade", write_two_cases(), "-p", file).status == 0


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["-p", "nowhere.jsonl"], "nowhere.jsonl: no such file."),
        (["-p", "empty.jsonl"], "empty.jsonl is empty."),
        (
            ["-p", "eval.jsonl"],
            "eval.jsonl, line 1: messages: expected a prediction for one decision point, got a conversation or test case",
        ),
        (["-p", "cut.gz"], "cut.gz: the gzip file is truncated or damaged"),
        (["-p", "base.jsonl", "--tools", "nowhere.json"], "nowhere.json: no such file."),
        (["-p", "base.jsonl", "--from", "opnai"], "unknown format 'opnai'. Did you mean openai?"),
        (["-p", "base.jsonl", "--from", "scenarios"], "eval.jsonl, line 1: missing key 'instructions'."),
        (["-p", "base.jsonl", "--jobs", "0"], "--jobs: expected an integer of at least 1, got '0'"),
        (["-p", "base.jsonl", "-o", "base.jsonl"], "cannot be created: Not a directory."),
        (["-p", "base.jsonl", "-o", "/dev/full"], "cannot be created: Not a directory."),
        (["-p", "base.jsonl", "-o", "/proc/nowhere"], "cannot be created: "),
        (["-p", "base.jsonl", "--name", "x" * 300], "cannot be created: the name is too long."),
        (["-p", "base.jsonl", "--rejects", "r.jsonl"], "--rejects needs --skip-bad: it saves the rows that are skipped."),
        (["-p", "base.jsonl", "--skip-bad", "--rejects", "./base.jsonl"], "cannot be both the input and the rejects file."),
        (["-p", "base.jsonl", "--skip-bad", "--rejects", "eval.jsonl"], "cannot be both the input and the rejects file."),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_failure_leaves_no_folder(cli: Cli, arguments: list[str], sentence: str, jobs: str) -> None:
    write_two_cases(), write_half_correct()
    Path("empty.jsonl").touch()
    Path("cut.gz").write_bytes(gzip.compress(b'{"id": "q1", "tool_calls": []}\n')[:-9])
    check_refused(cli("grade", "eval.jsonl", "--jobs", jobs, *arguments), sentence)
    no_run_left()


def test_dangling_link_as_folder_is_refused() -> None:
    Path("link").symlink_to("nowhere/at/all")
    completed = run_process("grade", write_two_cases(), "-p", write_half_correct(), "-o", "link", timeout=10)
    assert completed.returncode == 2
    assert "link" in completed.stderr


def write_bad_files() -> None:
    """Write three cases and three predictions; the second row of both is bad."""
    write_rows(Path("eval.jsonl"), case("q1"), '{"messages": 5}', case("q3"))
    write_rows(Path("p.jsonl"), prediction_row("q1", CORRECT), '{"id": "q2", "tool_calls": 5}', prediction_row("q3", WRONG))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_bad_rows_stop_the_command_or_are_rejected(cli: Cli, jobs: str) -> None:
    write_bad_files()
    skip = "Fix the row, or pass --skip-bad to continue without it (--rejects FILE saves the skipped rows)."
    check_refused(
        cli("grade", "eval.jsonl", "-p", "p.jsonl", "--jobs", jobs),
        "p.jsonl, line 2: tool_calls: expected a list of calls, got a number",
        skip,
    )
    completed = cli("grade", "eval.jsonl", "-p", write_rows(Path("good.jsonl"), prediction_row("q1", CORRECT)), "--jobs", jobs)
    check_refused(completed, "eval.jsonl, line 2: messages: expected a list of messages, got a number.", skip)
    no_run_left()
    completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "p", "--skip-bad", "--jobs", jobs)
    assert completed.status == 0
    assert "2 cases · scored 2" in completed.out
    assert completed.err == "callmark: 2 rows could not be read and were skipped (--rejects FILE saves the skipped rows).\n"
    assert scores("runs/p") == {"q1": 1.0, "q3": 0.0}
    completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "q", "--skip-bad", "--rejects", "r.jsonl", "--jobs", jobs)
    assert completed.err == "callmark: 2 rows could not be read and were skipped (saved to r.jsonl).\n"
    assert [(payload["file"], payload["line"], payload["text"]) for payload in lines("r.jsonl")] == [
        ("p.jsonl", 2, '{"id": "q2", "tool_calls": 5}'),
        ("eval.jsonl", 2, '{"messages": 5}'),
    ]
    check_refused(cli("grade", "runs/p"), "eval.jsonl, line 2: messages: expected a list of messages, got a number")
    assert cli("grade", "runs/p", "--skip-bad", "--jobs", jobs).status == 0


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("which", ["eval.jsonl", "p.jsonl"])
def test_file_with_bad_rows_only_is_refused(cli: Cli, jobs: str, which: str) -> None:
    write_rows(Path("eval.jsonl"), case("q1"))
    write_rows(Path("p.jsonl"), prediction_row("q1", CORRECT))
    Path(which).write_text("{\n" * 3)
    completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--skip-bad", "--jobs", jobs)
    check_refused(completed, f"{which}: no valid rows. The first problem: not valid JSON")
    no_run_left()


def test_in_order_matching_counts_bad_rows(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), case("q1"), '{"messages": 5}', case("q3"), case("q4"))
    write_rows(Path("p.jsonl"), *[{"tool_calls": [one]} for one in (CORRECT, WRONG)], "{", {"tool_calls": [CORRECT]})
    assert cli("grade", "eval.jsonl", "-p", "p.jsonl", "--skip-bad", "--name", "p").status == 3
    assert scores("runs/p") == {"q1": 1.0, "q3": None, "q4": 1.0}


def test_in_order_matching_survives_a_bad_first_row(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), case("q1"), case("q2"), case("q3"))
    write_rows(Path("p.jsonl"), "{", {"tool_calls": [CORRECT]}, {"tool_calls": [WRONG]})
    assert cli("grade", "eval.jsonl", "-p", "p.jsonl", "--skip-bad", "--name", "p").status == 3
    assert scores("runs/p") == {"q1": None, "q2": 1.0, "q3": 0.0}


def test_in_order_prediction_of_a_bad_case_is_unmatched(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), '{"messages": 5}', case("q2"))
    write_rows(Path("p.jsonl"), {"datasource_item_id": 0, "tool_calls": [WRONG]}, {"datasource_item_id": 1, "tool_calls": [CORRECT]})
    cli("grade", "eval.jsonl", "-p", "p.jsonl", "--skip-bad", "--name", "p")
    info = json.loads(Path("runs/p/run.json").read_text())["predictions"]
    assert (info["unmatched"], info["first_unmatched"]) == (1, "0")


def test_cases_from_a_pipe_are_stored_in_the_run(cli: Cli) -> None:
    write_two_cases(), write_half_correct()
    completed = run_process("grade", "-", "-p", "base.jsonl", "--name", "p", input=Path("eval.jsonl").read_text())
    assert (completed.returncode, completed.stderr) == (0, "")
    assert sorted(contents("runs/p")) == sorted([*RUN_FILES, "cases.jsonl"])
    info = json.loads(Path("runs/p/run.json").read_text())
    assert (info["dataset"]["name"], info["dataset"]["path"]) == ("standard input", "cases.jsonl")
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}
    Path("eval.jsonl").unlink()
    assert cli("grade", "runs/p").status == 0
    zipped = subprocess.run(
        [sys.executable, "-m", "callmark", "grade", "-", "-p", "base.jsonl", "--name", "z"],
        input=gzip.compress(contents("runs/p")["cases.jsonl"]),
        capture_output=True,
        check=False,
    )
    assert zipped.returncode == 0
    assert contents("runs/z")["grades.jsonl"] == contents("runs/p")["grades.jsonl"]


def test_predictions_are_read_from_a_pipe(cli: Cli) -> None:
    write_two_cases(), write_half_correct()
    completed = run_process("grade", "eval.jsonl", "-p", "-", "--jobs", "2", input=Path("base.jsonl").read_text())
    assert completed.returncode == 0
    assert completed.stdout.startswith("standard input · 2 cases")
    (name,) = os.listdir("runs")
    assert name.startswith("standard-input-")
    check_refused(cli("grade", "-", "-p", "-"), "standard input (-) is given twice, but it can only be read once.")


@pytest.mark.parametrize("which", ["eval.jsonl", "base.jsonl"])
def test_named_pipe_is_accepted(cli: Cli, which: str) -> None:
    write_two_cases(), write_half_correct()
    content = Path(which).read_bytes()
    Path(which).unlink()
    os.mkfifo(which)
    writer = threading.Thread(target=lambda: Path(which).write_bytes(content))
    writer.start()
    completed = cli("grade", "eval.jsonl", "-p", "base.jsonl", "--name", "p", "--jobs", "2")
    writer.join()
    assert completed.status == 0
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}


def test_gzip_files_are_accepted(cli: Cli) -> None:
    write_two_cases(), write_half_correct()
    for file in ("eval", "base"):
        Path(f"{file}.jsonl.gz").write_bytes(gzip.compress(Path(f"{file}.jsonl").read_bytes()))
    assert cli("grade", "eval.jsonl.gz", "-p", "base.jsonl.gz", "--name", "p", "--jobs", "2").status == 0
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}
    assert cli("grade", "runs/p").status == 0


@pytest.mark.parametrize("stdin, sentence", [("", "standard input is empty"), ("{\n", "standard input, line 1: not valid JSON")])
def test_errors_of_a_pipe_name_standard_input(stdin: str, sentence: str) -> None:
    completed = run_process("grade", "-", "-p", write_half_correct(), input=stdin)
    assert completed.returncode == 2
    assert sentence in completed.stderr


def test_failure_removes_the_copy_of_a_pipe() -> None:
    write_two_cases()
    completed = run_process("grade", "-", "-p", "nowhere.jsonl", input=Path("eval.jsonl").read_text())
    assert completed.returncode == 2
    no_run_left()


@pytest.mark.parametrize("tools", ["-", "/dev/stdin"])
def test_tools_are_read_from_a_pipe(tools: str) -> None:
    completed = run_process("grade", write_two_cases(), "-p", write_half_correct(), "--tools", tools, input=json.dumps([WEATHER]))
    assert (completed.returncode, completed.stderr) == (0, "")


@pytest.mark.parametrize("step", ["interrupt", "disk"])
def test_failure_after_grading_leaves_no_folder(cli: Cli, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    write_long_scenarios()
    if step == "interrupt":

        def interrupt(tally: Tally, **options: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Tally, "summary", interrupt)
        assert cli("grade", "s.jsonl", "-p", "p.jsonl").status == 130
    else:
        cli("grade", "s.jsonl", "-p", "p.jsonl", "-o", "first", "--name", "p")
        completed = run_with_file_size_limit(len(contents("first/p")["evaluation_results.json"]) - 1, "grade", "s.jsonl", "-p", "p.jsonl")
        assert completed.returncode == 2
        assert "evaluation_results.json: cannot be written: File too large." in completed.stderr
    no_run_left()


def test_failed_regrade_leaves_the_folder_unchanged(cli: Cli) -> None:
    write_long_scenarios()
    cli("grade", "s.jsonl", "-p", "p.jsonl", "--name", "p", "--evaluator", "process")
    before = contents("runs/p")
    completed = run_with_file_size_limit(len(before["evaluation_results.json"]) - 1, "grade", "runs/p")
    assert completed.returncode == 2
    assert "evaluation_results.json: cannot be written: File too large." in completed.stderr
    assert contents("runs/p") == before


def write_long_scenarios() -> None:
    """Write scenarios whose result file is the longest of the run."""
    write_rows(Path("s.jsonl"), {**SCENARIO, "instructions": "go on " * 1000})
    write_rows(Path("p.jsonl"), {"id": "s1", "function_calls": [call("crm-create", {"title": "TKT-1"})]})


def run_with_file_size_limit(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a limit on file size, as on a full disk; without bytecode, which would be cut off too."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return run_process(*arguments, env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


@pytest.mark.parametrize("size", [0, 100, 700])
def test_full_disk_is_reported_and_leaves_nothing(cli: Cli, size: int) -> None:
    completed = run_with_file_size_limit(size, "grade", write_two_cases(), "-p", write_half_correct())
    assert completed.returncode == 2
    assert "cannot be written: File too large." in completed.stderr
    no_run_left()
    cli("grade", "eval.jsonl", "-p", "base.jsonl", "--name", "p")
    before = contents("runs/p")
    assert run_with_file_size_limit(size, "grade", "runs/p").returncode == 2
    assert contents("runs/p") == before


SIGNALS = """
import os, signal
from contextlib import suppress

from callmark import Metric, Result

MAIN = os.getpid()


class Count:
    name = "count"
    metrics = (Metric("calls", "calls"),)

    def evaluate(self, attempt):
        self.act()
        return Result({"calls": 1})


class Interrupts(Count):
    def act(self):
        with suppress(FileExistsError):
            os.close(os.open("pressed", os.O_CREAT | os.O_EXCL))  # Ctrl-C is pressed once
            os.killpg(0, signal.SIGINT)


class Dies(Count):
    def act(self):
        if os.getpid() != MAIN:
            os.kill(os.getpid(), signal.SIGKILL)


class Orphans(Count):
    def act(self):
        with suppress(ProcessLookupError):
            if os.getpid() != MAIN and os.getppid() == MAIN:
                os.kill(MAIN, signal.SIGKILL)
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_grade_leaves_nothing(jobs: str) -> None:
    Path("mine.py").write_text(SIGNALS)
    cases, predictions, _ = write_many_cases()
    completed = run_process("grade", cases, "-p", predictions, "--evaluator", "mine:Interrupts", "--jobs", jobs, start_new_session=True)
    assert completed.returncode == 130
    assert completed.stderr.strip() == "callmark: interrupted."
    no_run_left()


def test_killed_worker_process_is_reported() -> None:
    Path("mine.py").write_text(SIGNALS)
    cases, predictions, _ = write_many_cases()
    completed = run_process("grade", cases, "-p", predictions, "--evaluator", "mine:Dies", "--jobs", "2")
    assert completed.returncode == 2
    assert completed.stderr == "callmark: a grading process was killed.\nIf memory ran out, use fewer --jobs.\n"
    no_run_left()


def test_worker_killed_while_sending_is_reported() -> None:
    reader, writer = Pipe(duplex=False)
    os.write(writer.fileno(), struct.pack("!i", 100) + b"cut")
    writer.close()
    with closing(reader), pytest.raises(BadInput, match="a grading process was killed"):
        next(_receive(reader, []))


def test_no_worker_outlives_a_killed_command() -> None:
    Path("mine.py").write_text(SIGNALS)
    write_rows(Path("eval.jsonl"), *[case(f"q{index}", call("f", {"a": "x" * 1000})) for index in range(500)])
    write_rows(Path("p.jsonl"), *[prediction_row(f"q{index}", CORRECT) for index in range(500)])
    command = [sys.executable, "-P", "-m", "callmark", "grade", "eval.jsonl", "-p", "p.jsonl", "--evaluator", "mine:Orphans", "--jobs", "2"]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    assert killed.wait(60) == -signal.SIGKILL
    until = time.monotonic() + 5
    while (left := running_processes(killed.pid)) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def running_processes(group: int) -> list[int]:
    """Return the processes of a group that are running."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize(
    "which",
    ["eval", "name"],
)
def test_file_names_that_are_not_utf8(cli: Cli, which: str) -> None:
    write_two_cases(), write_half_correct()
    odd = os.fsdecode(b"odd-\xff")
    cases, name = ("eval.jsonl", odd) if which == "name" else (f"{odd}.jsonl", "p")
    Path("eval.jsonl").rename(cases)
    completed = cli("grade", cases, "-p", "base.jsonl", "--name", name)
    if completed.status == 2:
        check_refused(completed, "UTF-8")
        no_run_left()
    else:
        assert cli("grade", f"runs/{name}").status == 0


def test_deleted_current_folder_is_reported() -> None:
    write_two_cases(), write_half_correct()
    where = Path.cwd()
    command = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -P -m callmark grade {where}/eval.jsonl -p {where}/base.jsonl"
    completed = subprocess.run(f"{command} -o {where}/runs", shell=True, capture_output=True, text=True, check=False)
    assert "standard output" not in completed.stderr
    assert completed.returncode in (0, 2)


def test_more_jobs_than_cases(cli: Cli) -> None:
    assert cli("grade", write_two_cases(), "-p", write_half_correct(), "--jobs", "20", "--name", "p").status == 0
    assert scores("runs/p") == {"q1": 1.0, "q2": 0.0}


def test_closed_pipe_is_not_an_error() -> None:
    write_two_cases(), write_half_correct()
    command = f"{sys.executable} -P -m callmark grade eval.jsonl -p base.jsonl --name p | head -1"
    completed = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert completed.stdout == "base.jsonl · 2 cases · scored 2\n"
    assert completed.stderr == ""
    assert sorted(contents("runs/p")) == RUN_FILES


KIMI_CALL = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
KIMI = f"<|tool_calls_section_begin|>{KIMI_CALL}<|tool_calls_section_end|>"


def write_texts(count: int, text: str) -> None:
    write_rows(Path("eval.jsonl"), *(case(f"q{index}") for index in range(count)))
    write_rows(Path("p.jsonl"), *({"id": f"q{index}", "text": text} for index in range(count)))


def test_many_texts_without_calls_are_the_first_thing_said(cli: Cli) -> None:
    write_texts(20, KIMI)
    completed = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--parse", "hermes")
    assert completed.status == 3
    first, second, *_ = completed.out.splitlines()
    assert first.startswith('p.jsonl: 20 text predictions, no tool call found in any of them. 20 contain "<|tool_call')
    assert "(Kimi" in first
    assert first.endswith("but --parse hermes was given: drop it, or pass --parse kimi.")
    assert second.startswith("p.jsonl · 20 cases · scored 0 of 20, 20 errors")
    assert 'unrecognized tool-call format: "<|tool_call' in completed.out
    assert cli("grade", "eval.jsonl", "-p", "p.jsonl").status == 0


def test_few_texts_without_calls_are_not_suspicious(cli: Cli) -> None:
    write_texts(19, "I cannot do that.")
    assert "no tool call found" not in cli("grade", "eval.jsonl", "-p", "p.jsonl").out
    write_texts(20, "I cannot do that.")
    assert cli("grade", "eval.jsonl", "-p", "p.jsonl").out.startswith("p.jsonl: 20 text predictions, no tool call found in any of them. ")


def test_counts_of_texts_do_not_depend_on_the_number_of_processes(cli: Cli) -> None:
    write_texts(150, KIMI)
    infos = [
        json.loads(cli("grade", "eval.jsonl", "-p", "p.jsonl", "--parse", "hermes", "--jobs", jobs, "--json").out)["info"]
        for jobs in ("1", "3")
    ]
    assert infos[0]["predictions"] == infos[1]["predictions"]
    (count,) = infos[0]["predictions"]["texts"]["unrecognized"].values()
    assert (count, infos[0]["predictions"]["texts"]["parsed"]) == (150, 150)


def test_texts_are_parsed_with_the_tools_of_their_case(cli: Cli) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    write_rows(Path("eval.jsonl"), case("q1", tools=tools), case("q2", call("g"), tools=tools), case("q3"))
    text = "f(a=1)", "g()", "f(a=1)"
    write_rows(Path("p.jsonl"), *({"id": f"q{index}", "text": each} for index, each in enumerate(text, 1)))
    cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "x")
    assert [[made["name"] for made in line["calls"]] for line in lines("runs/x/predictions.jsonl")] == [["f"], [], ["f"]]
    cli("run", "eval.jsonl", "-m", "replay:p.jsonl", "--name", "y")
    replayed = {line["case"]: [made["name"] for made in line["calls"]] for line in lines("runs/y/predictions.jsonl")}
    assert replayed == {"q1": ["f"], "q2": [], "q3": ["f"]}


def test_predictions_can_be_matched_in_order(cli: Cli) -> None:
    write_two_cases()
    write_rows(Path("p.jsonl"), prediction_row("a", CORRECT), prediction_row("b", WRONG))
    refused = cli("grade", "eval.jsonl", "-p", "p.jsonl")
    check_refused(refused, "no prediction matches a case", "There are as many as cases (2): --in-order matches them by order.")
    summary = json.loads(cli("grade", "eval.jsonl", "-p", "p.jsonl", "--in-order", "--json").out)["summary"]
    assert (summary["scored"], summary["correct"]) == (2, 1)
    write_rows(Path("p.jsonl"), prediction_row("a", CORRECT))
    other = cli("grade", "eval.jsonl", "-p", "p.jsonl")
    check_refused(other, "no prediction matches a case")
    assert "--in-order" not in other.err
    cli("grade", "eval.jsonl", "-p", write_half_correct(), "--name", "run")
    check_refused(cli("grade", "runs/run", "--in-order"), "--in-order cannot be used with runs/run")


def test_evaluator_that_applies_to_no_case_says_why(cli: Cli) -> None:
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "-e", "call", "-e", "state")
    assert "  state: no metrics, because these cases have no end state (it needs simulated conversations)\n" in completed.out


def test_evaluator_that_always_fails_is_named(cli: Cli) -> None:
    completed = cli("grade", write_two_cases(), "-p", write_half_correct(), "-e", "json:dumps")
    assert completed.status == 3
    assert "No scores: the evaluator dumps failed on every prediction\n" in completed.out


def test_conversations_of_errors_are_counted(cli: Cli) -> None:
    cases = [
        {
            "id": f"q{number}",
            "messages": [user("x")],
            "source": {"conversation": f"c{number // 2}", "message": number},
            "expected_output": {"tool_calls": [CORRECT]},
        }
        for number in range(4)
    ]
    write_rows(Path("cases.jsonl"), *cases)
    write_rows(Path("p.jsonl"), prediction_row("q0", CORRECT))
    completed = cli("grade", "cases.jsonl", "-p", "p.jsonl")
    assert " · 4 cases from 2 conversations · scored 1 of 4 (from 1 conversation), 3 errors\n" in completed.out


def test_broken_line_of_a_run_has_advice_that_applies(cli: Cli) -> None:
    cli("grade", write_two_cases(), "-p", write_half_correct(), "--name", "p")
    with Path("runs/p/predictions.jsonl").open("a") as file:
        file.write("{broken\n")
    check_refused(cli("grade", "runs/p", "--skip-bad"), "Delete this line from runs/p/predictions.jsonl, then grade the run again.")


def test_disagreements_are_printed_by_reason_and_returned_as_json(cli: Cli, tmp_path: Path) -> None:
    cases = write_rows(
        tmp_path / "cases.jsonl",
        *({**row(user("?"), id=name), "expected_output": {"tool_calls": [call("f", {"a": "Bonn"})]}} for name in ("one", "two", "three")),
    )
    answers = [
        {"id": name, "tool_calls": [call("f", {"a": value})]} for name, value in (("one", "bonn"), ("two", "Bonn."), ("three", "Ulm"))
    ]
    predictions = write_rows(tmp_path / "predictions.jsonl", *answers)
    arguments = ("grade", cases, "-p", predictions, "-e", "call", "-e", "process", "-o", tmp_path / "runs")
    printed = cli(*arguments, "--name", "a", "--disagreements")
    expected = "2×  process.reliability passes, call.pass fails: wrong value, differs only in spelling (similar)"
    assert (printed.status, printed.err) == (0, "")
    assert f"  Evaluators disagree\n    {expected}\n        one, two\n" in printed.out
    assert "Evaluators disagree" not in cli(*arguments, "--name", "b").out
    (group,) = json.loads(cli(*arguments, "--name", "c", "--json").out)["summary"]["details"]["disagreements"]
    assert (group["passes"], group["fails"], group["count"], group["cases"]) == (["process.reliability"], ["call.pass"], 2, ["one", "two"])
    agreeing = cli(*arguments[:4], "-e", "call", *arguments[8:], "--name", "d", "--disagreements")
    assert "Evaluators do not disagree on any case" in agreeing.out
