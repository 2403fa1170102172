"""The pytest plugin, in a project of its own that depends on callmark alone: in one process and with pytest-xdist."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.integrations.pytest_cases import readable_id
from callmark.integrations.pytest_sets import CaseSet, MarkOptions, read_mark
from callmark.integrations.pytest_summary import summarize_sets
from tests.rows import WEATHER, assistant, call, user, write_rows

AGENT = """
def predict(messages, tools):
    words = messages[-1]["content"].strip("?").split()
    if len(words) < 2:
        return "You are welcome."
    return {"tool_calls": [{"name": "get_weather", "arguments": {"city": words[-1], "days": 2}}]}

def reply(messages, tools):
    return "Your ticket is TKT-1."

def fail(messages, tools):
    raise ConnectionError("no network ##[error]x")

def counted(messages, tools):
    with open("counted.txt", "a") as file:
        file.write("x")
    return predict(messages, tools)
"""
TESTS = """
import unittest
import callmark
import my_agent
import pytest

@pytest.mark.callmark("eval.jsonl", model="python:my_agent:predict")
def test_agent(): ...

@pytest.mark.callmark("eval.jsonl", model=my_agent.predict, trials=2, min={"call.score": 0.9, "pass^2": 0.5})
def test_set(callmark_result):
    assert len(callmark_result.grades) == 2

@pytest.mark.callmark("eval.jsonl", model="python:my_agent:predict", min={"call.score": 0.7})
class TestMet:
    def test_method(self): ...

@pytest.mark.callmark("scenarios.jsonl", agent="python:my_agent:reply", user="script", evaluators=["reply"])
def test_scenario(callmark_result):
    assert callmark_result.predictions[0].transcript

@pytest.mark.callmark("eval.jsonl", predictions="predictions.jsonl")
def test_predictions(): ...

@pytest.mark.callmark("eval.jsonl", model="python:my_agent:fail", limit=1, settings={"retries": 0})
def test_error(): ...

@pytest.mark.parametrize("case", callmark.cases("eval.jsonl", limit=2))
def test_own(case):
    callmark.assert_calls(my_agent.predict([{"content": case.messages[-1].text}], []), case)

@pytest.mark.callmark("replies.jsonl", model="python:my_agent:reply")
def test_reply(): ...

@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.callmark("eval.jsonl", model="python:my_agent:counted", limit=1)
def test_twice(number): ...

class TestUnit(unittest.TestCase):
    @pytest.mark.callmark("missing.jsonl", model="python:my_agent:predict")
    def test_unit(self): ...

def test_plain():
    pass
"""
HOSTILE = "##[error]\x1b[31m" + "y" * 300
HOSTILE_TEST = f"test_reply[{readable_id(HOSTILE).encode('unicode_escape').decode()}]"
REPLIES = (("told", "TKT-1"), (HOSTILE, "TKT-2"))
DIFF = """\
get_weather: days: expected 3, got 2 (hallucinated)

- expected  + actual
  get_weather(
      city="Cologne",
-     days=3,
+     days=2,
  )
"""


def point(case_id: str, text: str, *calls: Any) -> dict[str, Any]:
    return {"id": case_id, "messages": [user(text)], "tools": [WEATHER], "expected_output": {"tool_calls": list(calls)}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a test file, an agent that makes one mistake, and three cases."""
    folder = tmp_path_factory.mktemp("project")
    write_rows(
        folder / "eval.jsonl",
        point("bonn", "Weather in Bonn?", call("get_weather", {"city": "Bonn", "days": 2})),
        point("cologne", "Weather in Cologne?", call("get_weather", {"city": "Cologne", "days": 3})),
        point("thanks", "Thanks"),
    )
    write_rows(
        folder / "predictions.jsonl",
        {"case": "bonn", "calls": [{"name": "get_weather", "arguments": {"city": "Bonn", "days": 2}}]},
        {"case": "cologne", "text": "Which day?"},
        {"case": "thanks", "text": "You are welcome."},
    )
    write_rows(
        folder / "scenarios.jsonl",
        *(
            {
                "id": name,
                "instructions": "Create a ticket.",
                "expected_function_calls": [],
                "data": {"script": ["Hello"]},
                "expected_output": {"reply": {"contains": text}},
            }
            for name, text in (("told", "TKT-1"), ("untold", "TKT-2"))
        ),
    )
    write_rows(
        folder / "replies.jsonl",
        *({**point(name, "Hello"), "expected_output": {"tool_calls": [], "reply": {"contains": text}}} for name, text in REPLIES),
    )
    (folder / "my_agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_agent.py").write_text(TESTS, encoding="utf-8")
    return folder


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on the project, in a process of its own, with callmark's entry point and pytest-xdist, and without other plugins."""
    command = [sys.executable, "-m", "pytest", "-p", "callmark", "-p", "xdist", "-p", "no:cacheprovider", "-rA", *options]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others take seconds to import
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, encoding="utf-8", check=False)


def outcomes(output: str) -> dict[str, str]:
    """Return the outcome of each test, by its name."""
    return {name: outcome for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) \S+?::(\S+)", output, re.MULTILINE)}


@pytest.fixture(scope="module")
def result(project: Path) -> subprocess.CompletedProcess[str]:
    """All tests of the project, in one process."""
    return run(project, "-n", "0", "--callmark-report", "report.html")


def test_one_test_per_case(result: subprocess.CompletedProcess[str]) -> None:
    assert outcomes(result.stdout) == {
        "test_agent[bonn]": "PASSED",
        "test_agent[cologne]": "FAILED",
        "test_agent[thanks]": "PASSED",
        "test_set[bonn]": "PASSED",
        "test_set[cologne]": "XFAIL",
        "test_set[thanks]": "PASSED",
        "TestMet::test_method[bonn]": "PASSED",
        "TestMet::test_method[cologne]": "XFAIL",
        "TestMet::test_method[thanks]": "PASSED",
        "test_scenario[told]": "PASSED",
        "test_scenario[untold]": "FAILED",
        "test_predictions[bonn]": "PASSED",
        "test_predictions[cologne]": "FAILED",
        "test_predictions[thanks]": "PASSED",
        "test_error[bonn]": "FAILED",
        "test_own[bonn]": "PASSED",
        "test_own[cologne]": "FAILED",
        "test_reply[told]": "PASSED",
        HOSTILE_TEST: "FAILED",
        "test_twice[bonn-1]": "PASSED",
        "test_twice[bonn-2]": "PASSED",
        "TestUnit::test_unit": "ERROR",
        "test_plain": "PASSED",
    }, result.stdout + result.stderr
    assert result.returncode == 1


def test_case_of_a_parametrized_test_runs_once(result: subprocess.CompletedProcess[str], project: Path) -> None:
    assert (project / "counted.txt").read_text(encoding="utf-8") == "x"


def test_mark_without_effect_fails_its_test(result: subprocess.CompletedProcess[str]) -> None:
    assert "@pytest.mark.callmark has no effect on a method of unittest.TestCase: use a function or a plain class\n" in result.stdout


def test_output_holds_no_commands_of_logs_or_terminals(result: subprocess.CompletedProcess[str]) -> None:
    assert not re.findall(r"^\s*::|##\[|\x1b", result.stdout, re.MULTILINE)
    assert "reply: contains: does not contain" in result.stdout


def test_failures_read_like_a_diff(result: subprocess.CompletedProcess[str]) -> None:
    text = result.stdout
    assert f"\n{DIFF}_" in text  # test_agent: nothing but the diff
    assert "".join(f"E       {line}\n" for line in f"AssertionError: {DIFF}".splitlines()) in text  # test_own
    assert "2 of 2 trials failed: get_weather: days: expected 3, got 2" in text
    assert 'reply: contains: does not contain "TKT-2"' in text
    assert 'expected get_weather(city="Cologne", days=3), got no call\n' in text
    assert 'reply: "Which day?"' in text
    assert "error: my_agent:fail raised ConnectionError: no network \\x23#[error]x (my_agent.py:12)\n" in text


def test_thresholds_are_checked_over_all_cases(result: subprocess.CompletedProcess[str]) -> None:
    text = result.stdout
    assert "tests/test_agent.py::test_set: 2 of 3 thresholds met over 3 cases\n  ✗ call.score   .833 < .9\n  ✓ pass^2   .667 ≥ .5" in text
    assert "tests/test_agent.py::TestMet::test_method: 2 of 2 thresholds met over 3 cases\n  ✓ call.score   .833 ≥ .7" in text


def test_report_has_every_set(result: subprocess.CompletedProcess[str], project: Path) -> None:
    assert "report: report.html" in result.stdout
    page = (project / "report.html").read_text(encoding="utf-8")
    for name in ("test_agent", "test_set", "test_method", "test_scenario", "test_predictions"):
        assert name in page


def test_thresholds_are_over_all_cases_that_workers_ran_and_alone_fail_the_session(project: Path) -> None:
    missed = run(project, "-n", "2", "-k", "test_set", "--callmark-report", "workers.html")
    assert outcomes(missed.stdout) == {"test_set[bonn]": "PASSED", "test_set[cologne]": "XFAIL", "test_set[thanks]": "PASSED"}
    assert (
        "tests/test_agent.py::test_set: 2 of 3 thresholds met over 3 cases\n  ✗ call.score   .833 < .9\n  ✓ pass^2   .667 ≥ .5"
        in missed.stdout
    )
    assert missed.returncode == 1
    page = (project / "workers.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("test_set", "bonn", "cologne", "thanks"))


def test_plugin_imports_nothing_heavy_before_it_is_used() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import callmark.integrations.pytest_plugin; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('callmark') or name.count('.') > 1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['callmark.integrations.pytest_hooks', 'callmark.integrations.pytest_plugin']"


def test_old_pytest_goes_on_working_and_only_a_test_with_the_mark_fails(tmp_path: Path) -> None:
    """An old pluggy is imitated: `hookimpl` refuses `wrapper`, so what needs it cannot be imported."""
    (tmp_path / "old_pluggy.py").write_text(
        "import pytest\ndef old(function=None, hookwrapper=False, optionalhook=False, tryfirst=False, trylast=False, specname=None):\n"
        "    return pytest_hookimpl(function, hookwrapper, optionalhook, tryfirst, trylast, specname)\n"
        "pytest_hookimpl, pytest.hookimpl = pytest.hookimpl, old\n",
        encoding="utf-8",
    )
    (tmp_path / "test_old.py").write_text(
        "import pytest\ndef test_plain(): ...\n@pytest.mark.callmark('missing.jsonl', model='x:y')\ndef test_mark(): ...\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-p", "old_pluggy", "-p", "callmark", "-p", "no:cacheprovider", "-rA"]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert outcomes(done.stdout) == {"test_plain": "PASSED", "test_mark": "ERROR"}, done.stdout + done.stderr
    assert "@pytest.mark.callmark needs pytest 7 and pluggy 1.2, or later: pip install --upgrade pytest pluggy" in done.stdout


@pytest.mark.parametrize(
    "positional, options, problem",
    [
        ((), {"model": "x"}, "expected the path of a file with cases"),
        (("a", "b"), {"model": "x"}, "expected the path of a file with cases"),
        (("a",), {}, "expected one of model, agent and predictions, got none"),
        (("a",), {"model": "x", "agent": "y"}, "expected one of model, agent and predictions, got model and agent"),
        (("a",), {"model": "x", "trial": 3}, "unknown option 'trial'. Did you mean trials?"),
        (("a",), {"model": "x", "user": "script"}, "unknown option 'user'"),
        (("a",), {"model": "x", "max_errors": 1}, "max_errors has no effect without min"),
        (("a",), {"model": "x", "min": 0.9}, "min: expected numbers by metric, got 0.9"),
        (("a",), {"model": "x", "min": {"call.score": True}}, "min: expected numbers by metric, got {'call.score': True}"),
        (
            ("a",),
            {"model": lambda messages, tools: ""},
            'model: expected a name such as "openai:NAME", or a function of a module, got <lam',
        ),
        (("a",), {"model": Path("a").exists}, 'model: expected a name such as "openai:NAME", or a function of a module, got Path.exists'),
        (("a",), {"agent": object()}, 'agent: expected a name such as "openai:NAME", or a function of a module, got an object of type obj'),
    ],
)
def test_invalid_mark_is_refused(positional: tuple[str, ...], options: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput) as error:
        read_mark(positional, options, ".")
    assert str(error.value).startswith(f"@pytest.mark.callmark: {problem}")


def test_file_is_found_beside_the_test(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = read_mark(("eval.jsonl",), {"predictions": "predictions.jsonl"}, str(project))
    assert (given.path, given.source) == (str(project / "eval.jsonl"), str(project / "predictions.jsonl"))
    monkeypatch.chdir(project)
    assert read_mark(("eval.jsonl",), {"model": "x"}, "tests").path == "eval.jsonl"


def test_problems_of_a_project_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "test_problems.py").write_text(
        "import pytest\n@pytest.mark.callmark('missing.jsonl', model='x:y')\ndef test_missing(): ...\n",
        encoding="utf-8",
    )
    done = run(tmp_path, "-n", "0", "--callmark-report", "report.html")
    assert done.returncode == 2
    assert "no test with @pytest.mark.callmark ran, so report.html was not written" in done.stdout
    assert "callmark: missing.jsonl: no such file" in done.stdout
    assert "Traceback" not in done.stdout


def test_conversations_are_expanded_and_results_of_processes_are_put_together(tmp_path: Path) -> None:
    """Two processes that each ran one case, as workers do."""
    conversation = {
        "id": "t",
        "messages": [
            user("Weather in Bonn?"),
            assistant(call("get_weather", {"city": "Bonn"})),
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
            assistant(call("get_weather", {"city": "Ulm"}, "c2")),
        ],
        "tools": [WEATHER],
    }
    path = str(write_rows(tmp_path / "conversations.jsonl", conversation))
    shared = tmp_path / "shared"
    options = MarkOptions(path, "model", "scripted:perfect", min={"call.score": 1.0})
    first, second = CaseSet("t.py::test_x", options), CaseSet("t.py::test_x", options)
    ids = list(first.by_id)
    assert len(ids) == 2
    first.run(ids[:1], str(shared))
    assert summarize_sets(str(shared), None).lines == [("t.py::test_x: thresholds not checked, because only 1 of 2 cases ran", False)]
    second.run(ids[1:], str(shared))
    (shared / next(path.name for path in shared.iterdir()) / "runs").mkdir()
    for each in (shared / next(path.name for path in shared.iterdir())).glob("test_x*"):
        each.rename(each.with_name("old"))  # the run of the first summary
    summary = summarize_sets(str(shared), str(tmp_path / "report.html"))
    assert summary.failed is False
    assert [text for text, _ in summary.lines] == [
        "t.py::test_x: 2 of 2 thresholds met over 2 cases",
        "  ✓ call.score   1 ≥ 1",
        "  ✓ errors   0 ≤ 0",
        f"report: {tmp_path / 'report.html'}",
    ]
    assert all(result.passed for result in (*first.results.values(), *second.results.values()))


def test_no_result_of_a_process_is_overwritten(tmp_path: Path) -> None:
    """Files of other processes come and go in the shared folder, so the number of files there is no name."""
    path = str(write_rows(tmp_path / "eval.jsonl", point("bonn", "Weather in Bonn?"), point("thanks", "Thanks")))
    shared = tmp_path / "shared"
    cases = CaseSet("t.py::test_x", MarkOptions(path, "model", "scripted:perfect", min={"call.score": 1.0}))
    cases.run(["bonn"], str(shared))
    (own,) = shared.iterdir()
    (own / "set.json").unlink()  # as the temporary files of another process
    cases.run(["thanks"], str(shared))
    cases.run(["bonn"], str(shared))
    assert summarize_sets(str(shared), None).lines[0] == ("t.py::test_x: 2 of 2 thresholds met over 2 cases", False)
    assert len(list(own.glob("*.jsonl"))) == 3
