"""`callmark simulate`: conversations, run folders, terminal output."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from callmark.simulation.toolboxes import open_tools
from tests.chat_server import Response, chat_server
from tests.conftest import Cli, Result
from tests.rows import WEATHER, assistant, call, user, write_rows
from tests.simulation.mcp_servers import raw_server
from tests.simulation.notes_case import executed, lines, scenario, write_folder

AGENT = ("--agent", "python:noting:answer")
TOOLS = ("--tools", "python:notes:Notes")
KEY = "sk-recognisable-0123456789"


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tools, agents and four scenarios."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("notes", "noting"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_folder(tmp_path)
    return tmp_path


def simulate(cli: Cli, *more: str, file: str = "scenarios.jsonl", agent: tuple[str, ...] = AGENT, tools: tuple[str, ...] = TOOLS) -> Result:
    return cli("simulate", file, *agent, *tools, "--user", "script", *more)


def info(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("runs", name, "run.json").read_text(encoding="utf-8"))
    return found


def reliability(name: str) -> list[float]:
    return [line["metrics"]["process.reliability"] for line in lines(f"runs/{name}/grades.jsonl") if not line.get("error")]


def test_conversations_are_simulated_graded_and_shown(cli: Cli) -> None:
    completed = simulate(cli, "--name", "mine")
    assert completed.status == 0, completed.err
    assert "4 scenarios" in completed.out
    assert re.search(r"process\.reliability +1 ", completed.out)
    assert re.search(r"state +reached 1\b", completed.out)
    assert executed() == ["n0", "n1", "n2", "n3"]
    assert sorted(os.listdir("runs/mine")) == [
        "evaluation_metrics.json",
        "evaluation_results.json",
        "grades.jsonl",
        "predictions.jsonl",
        "run.json",
        "summary.json",
        "tools.json",
    ]
    first = min(lines("runs/mine/predictions.jsonl"), key=lambda line: str(line["case"]))
    assert (first["ending"], [message["role"] for message in first["transcript"]]) == (
        "completed",
        ["user", "assistant", "tool", "assistant", "user", "assistant"],
    )
    assert first["states"]["reached"] == {"notes": {"N-1": {"title": "n0", "text": ""}}}
    simulated = info("mine")["model_run"]["simulation"]
    assert simulated == {"user": {"model": "script"}, "tools": ["python:notes:Notes"], "max_turns": 30, "max_steps": 20}


def test_several_agents_with_trials_and_limit_are_shown_side_by_side(cli: Cli) -> None:
    completed = simulate(cli, "--agent", "python:noting:wrong", "--name", "both", "--trials", "2", "--limit", "3")
    assert completed.status == 0, completed.err
    assert "2 agents · 3 scenarios" in completed.out
    assert executed() == sorted(["n0", "n1", "n2"] * 2)
    assert (reliability("both-noting.answer"), reliability("both-noting.wrong")) == ([1.0] * 6, [0.0] * 6)


def test_json_has_one_entry_per_agent(cli: Cli) -> None:
    completed = simulate(cli, "--agent", "python:noting:wrong", "--json")
    found = json.loads(completed.out)
    assert [one["summary"]["metrics"]["process.reliability"]["mean"] for one in found] == [1.0, 0.0]


def test_python_chatbot_reports_its_calls(cli: Cli) -> None:
    completed = simulate(cli, "--name", "mine", agent=("--agent", "python:noting:chatbot"), tools=())
    assert completed.status == 0, completed.err
    assert "Without --tools, the agent executes its own calls and callmark only records them" in completed.out
    assert reliability("mine") == [1.0] * 4
    assert not any("state.reached" in line["metrics"] for line in lines("runs/mine/grades.jsonl"))
    assert {line["ending"] for line in lines("runs/mine/predictions.jsonl")} == {"completed"}


def test_http_chatbot_reports_its_calls(cli: Cli) -> None:
    def answer(number: int, request: Any, attempt: int) -> Response:
        title = request["messages"][0]["content"].split()[-1].rstrip(".")
        calls = [{"functionName": "add_note", "arguments": {"title": "other" if title == "n3" else title}}]
        response = {"reply": "It is there.", "function_calls": calls if len(request["messages"]) == 1 else []}
        return Response(body=json.dumps(response).encode())

    with chat_server(answer) as server:
        completed = simulate(cli, "--name", "mine", agent=("--agent", f"chatbot:{server.url}"), tools=())
        ids = {request.body["conversation_id"] for request in server.requests}
    assert completed.status == 0, completed.err
    assert (reliability("mine"), len(ids)) == ([1.0, 1.0, 1.0, 0.0], 4)
    assert re.search(r"wrong value +1 +title \(1×: 1 hallucinated\)", completed.out)


def test_useless_chatbot_response_is_an_error_of_that_conversation(cli: Cli) -> None:
    def answer(number: int, request: Any, attempt: int) -> Response:
        return Response(500, b"oops") if "n2" in request["message"] else Response(body=b'{"reply": "Hm."}')

    with chat_server(answer) as server:
        completed = simulate(cli, "--name", "mine", "--retries", "0", agent=("--agent", f"chatbot:{server.url}"), tools=())
    assert completed.status == 3
    assert "scored 3 of 4, 1 error" in completed.out
    assert "500" in completed.out


# what cannot work

BAD_SCENARIOS: list[tuple[str, Any, str]] = [
    ("no instructions", scenario(1, instructions=""), "scenarios.jsonl, line 2: missing key 'instructions'"),
    (
        "no expected calls",
        scenario(1, expected_function_calls=None),
        "scenarios.jsonl, line 2: missing key 'expected_function_calls'",
    ),
    ("a field of another type", scenario(1, description=7), "scenarios.jsonl, line 2: description"),
    (
        "an unknown function",
        scenario(1, expected_function_calls=[{"functionName": "ad_note", "arguments": {}}]),
        "scenario 's1' cannot be simulated because it expects ad_note, which is not one of the available tools. Did you mean add_note?",
    ),
    (
        "an unknown argument",
        scenario(1, expected_function_calls=[{"functionName": "add_note", "arguments": {"titel": "x"}}]),
        "it expects add_note with 'titel', which is not one of its parameters. Did you mean title?",
    ),
    (
        "a pattern that does not compile",
        scenario(1, expected_function_calls=[{"functionName": "add_note", "arguments": {"title": {"$regex": "("}}}]),
        "scenarios.jsonl, line 2: ",
    ),
    (
        "an unknown matcher",
        scenario(1, expected_function_calls=[{"functionName": "add_note", "arguments": {"title": {"$regx": "a"}}}]),
        "scenarios.jsonl, line 2: ",
    ),
    ("a duplicate id", scenario(0), "scenarios.jsonl, line 2: "),
    ("an invalid script", scenario(1, data={"script": [1]}), "scenarios.jsonl, line 2: "),
    ("no JSON", "{", "scenarios.jsonl, line 2: "),
]


@pytest.mark.parametrize("row, sentence", [bad[1:] for bad in BAD_SCENARIOS], ids=[bad[0] for bad in BAD_SCENARIOS])
def test_scenario_that_cannot_be_simulated_is_refused_with_its_row(cli: Cli, workdir: Path, row: Any, sentence: str) -> None:
    write_rows(workdir / "scenarios.jsonl", scenario(0), row, scenario(2))
    completed = simulate(cli)
    check_refused(completed, sentence)


def check_refused(completed: Result, sentence: str) -> None:
    """Check for exit status 2 and a sentence, without a conversation or a folder."""
    assert (completed.status, completed.err.startswith("callmark: ")) == (2, True), completed.err + completed.out
    assert sentence in completed.err
    assert "Traceback" not in completed.err
    assert "internal error" not in completed.err
    assert executed() == []
    assert not Path("runs").exists() or not os.listdir("runs")


def test_repeated_scenario_id_is_refused_with_both_rows(cli: Cli, workdir: Path) -> None:
    write_rows(workdir / "scenarios.jsonl", scenario(0), scenario(1), scenario(0))
    completed = simulate(cli)
    check_refused(completed, "'s0'")
    assert "line 3" in completed.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ((*AGENT, *TOOLS, "--user", "rule-basd"), "unknown user 'rule-basd'. Did you mean rule-based?"),
        ((*AGENT, *TOOLS, "--user", "rule-based:tesre"), "unknown style 'tesre' for the rule-based user. Did you mean terse?"),
        ((*AGENT, *TOOLS, "--user", "openai:gpt"), "OPENAI_API_KEY"),
        ((*AGENT, *TOOLS, "--judge", "opnai:gpt"), "opnai"),
        ((*AGENT, "--tools", "python:nowhere"), "python:nowhere: no module named nowhere"),
        ((*AGENT, "--tools", "mcpp:x"), "Did you mean mcp?"),
        ((*AGENT, "--tools", "mcp:no-such-program-here"), "no-such-program-here"),
        ((*AGENT, *TOOLS, *TOOLS), "add_note"),
        ((*AGENT, *TOOLS, "--system", "nowhere.md"), "--system: nowhere.md: no such file"),
        ((*AGENT, *TOOLS, "--resume"), "--resume: no run given"),
        ((*AGENT, *TOOLS, "--evaluator", "nosuch"), "nosuch"),
        ((*AGENT, *TOOLS, "--max-turns", "0"), "--max-turns"),
        ((*AGENT, *TOOLS, "--max-cost", "1"), "--max-cost: python:noting:answer has no price"),
        ((*TOOLS,), "no agent given"),
        (("--agent", "chatbot:http://127.0.0.1:9/x", *TOOLS), "executes its own calls, so --tools cannot be used with it"),
        (("--agent", "chatbot:nowhere"), "nowhere"),
        (("--agent", "scripted:hasty", *TOOLS), "scripted"),
        (("--agent", "travel"), "unknown agent 'travel'.\nPass PROVIDER:NAME, or a name from callmark.toml."),
        (("--agent", "langgrph:a:b"), "unknown agent 'langgrph:a:b'. Did you mean langgraph?"),
        (("--agent", "noting:answer"), "unknown agent 'noting:answer'. Did you mean python:noting:answer?"),
        (("--agent", "localhost:8000"), "localhost:8000 looks like a URL without http://"),
        (("--agent", "openai:gpt", *TOOLS), "OPENAI_API_KEY"),
        ((*AGENT, *AGENT, *TOOLS), "two models have the name noting.answer"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_invalid_options_are_refused_before_the_first_turn(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    check_refused(cli("simulate", "scenarios.jsonl", *arguments), sentence)


def test_piped_scenario_with_an_invalid_script_is_refused_before_the_first_turn(
    cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(monkeypatch, write_rows(workdir / "piped", scenario(0), scenario(1, data={"script": []}), scenario(2)).read_bytes())
    completed = simulate(cli, "--name", "mine", file="-")
    assert (completed.status, executed()) == (2, [])
    assert "standard input, line 2: scenario 's1': data.script: expected a list of non-empty lines, got []" in completed.err
    assert not Path("runs/mine").exists()


def test_scenario_without_a_script_is_played_by_the_rule_based_user(cli: Cli, workdir: Path) -> None:
    write_rows(workdir / "scenarios.jsonl", scenario(0), scenario(1, data={}), scenario(2))
    completed = simulate(cli, "--name", "mine")
    assert completed.status == 0, completed.err
    assert completed.err == "callmark: warning: 1 of 3 scenarios has no data.script: the rule-based user plays it.\n"
    first_turns = {line["case"]: line["transcript"][0]["content"] for line in lines("runs/mine/predictions.jsonl")}
    assert first_turns["s0"] == "Please add n0."
    assert "add a note" in first_turns["s1"]


BAD_ARGUMENT = [{"functionName": "add_note", "arguments": {"titel": "x"}}]


def test_skipped_scenarios_are_all_listed_and_stay_skipped(cli: Cli, workdir: Path) -> None:
    bad = [scenario(number, expected_function_calls=BAD_ARGUMENT) for number in (1, 3)]
    write_rows(workdir / "scenarios.jsonl", scenario(0), bad[0], scenario(2), bad[1])
    completed = simulate(cli, "--name", "mine", "--skip-bad", "--rejects", "rejected.jsonl")
    assert completed.status == 0, completed.err
    for number, line in ((1, 2), (3, 4)):
        listed = (
            f"callmark: warning: skipped scenarios.jsonl, line {line}: scenario 's{number}' cannot be simulated because it expects add_note"
        )
        assert f"{listed} with 'titel', which is not one of its parameters. Did you mean title?" in completed.err
    assert "callmark: 2 rows could not be used and were skipped (saved to rejected.jsonl)." in completed.err
    assert [line["line"] for line in lines("rejected.jsonl")] == [2, 4]
    assert "2 scenarios · scored 2" in completed.out
    assert "2 scenarios skipped, because the tools do not accept the expected calls" in completed.out
    assert info("mine")["dataset"]["skipped"] == ["s1", "s3"]
    graded = cli("grade", "runs/mine")
    assert (graded.status, "scored 2" in graded.out, "error" in graded.out) == (0, True, False), graded.out + graded.err
    assert cli("simulate", "runs/mine", "--resume").status == 0
    assert executed() == ["n0", "n2"]


def test_only_scenarios_that_cannot_be_simulated_are_refused(cli: Cli, workdir: Path) -> None:
    write_rows(workdir / "scenarios.jsonl", scenario(1, expected_function_calls=BAD_ARGUMENT))
    completed = simulate(cli, "--skip-bad")
    assert (completed.status, "callmark: scenarios.jsonl: none of its scenarios can be run.\n" in completed.err) == (2, True), completed.err


def test_simulation_of_piped_scenarios_can_be_resumed(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, write_rows(workdir / "piped", scenario(0), scenario(1), scenario(2)).read_bytes())
    assert simulate(cli, "--name", "mine", file="-").status == 0
    predictions = Path("runs/mine/predictions.jsonl")
    predictions.write_text("".join(line for line in predictions.read_text().splitlines(keepends=True) if json.loads(line)["case"] != "s1"))
    Path("executed.log").unlink()
    assert (cli("simulate", "runs/mine", "--resume").status, executed()) == (0, ["n1"])
    assert {line["case"] for line in lines("runs/mine/predictions.jsonl")} == {"s0", "s1", "s2"}


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Provide content on standard input."""

    class Pipe:
        buffer = io.BufferedReader(io.BytesIO(content))

    monkeypatch.setattr(sys, "stdin", Pipe)


def test_scenarios_beyond_the_limit_are_not_checked(cli: Cli, workdir: Path) -> None:
    write_rows(workdir / "scenarios.jsonl", scenario(0), scenario(1), scenario(2, data={}))
    assert simulate(cli, "--limit", "2").status == 0
    assert executed() == ["n0", "n1"]


@pytest.mark.parametrize(
    "file, sentence",
    [
        ("points.jsonl", "points.jsonl: expected scenarios, got decision points"),
        ("missing.jsonl", "missing.jsonl: no such file"),
        ("empty.jsonl", "empty.jsonl"),
    ],
)
def test_file_without_scenarios_is_refused(cli: Cli, workdir: Path, file: str, sentence: str) -> None:
    point = {
        "id": "p",
        "messages": [user("Bonn?")],
        "tools": [WEATHER],
        "expected_output": assistant(call("get_weather", {"city": "Bonn"})),
    }
    write_rows(workdir / "points.jsonl", point)
    (workdir / "empty.jsonl").write_text("")
    check_refused(simulate(cli, file=file), sentence)


# going on


def test_resuming_simulates_only_missing_conversations(cli: Cli) -> None:
    Path("broken").touch()
    completed = simulate(cli, "--name", "mine")
    assert completed.status == 3
    assert "scored 3 of 4, 1 error" in completed.out
    assert "the agent fell over" in completed.out
    Path("broken").unlink()
    Path("executed.log").unlink()
    completed = cli("simulate", "runs/mine", "--resume")
    assert (completed.status, executed()) == (0, ["n2"]), completed.err
    assert reliability("mine") == [1.0] * 4
    Path("executed.log").unlink()
    again = simulate(cli, "--name", "mine", "--resume")
    assert (again.status, executed()) == (0, []), again.err


@pytest.mark.parametrize(
    "change, sentence",
    [
        (("--trials", "2"), "runs/mine: --trials: the run was started with 1, got 2"),
        (("--limit", "2"), "runs/mine: --limit: the run was started without it, got 2"),
        (("--user", "rule-based"), '--user: the run was started with {"model":"script"}, got {"model":"rule-based"}'),
        (("--tools", "python:notes:Other"), "runs/mine: --tools: the run was started with "),
        (("--system", "prompt.md"), 'runs/mine: --system: the run was started without it, got "Be kind."'),
        (("--seed", "3"), "runs/mine: --seed: the run was started without it, got 3"),
        (("--max-turns", "3"), "runs/mine: --max-turns: the run was started with 30, got 3"),
        (("--judge", "python:noting:answer"), "runs/mine: --judge: the run was started without it, got "),
        (
            ("--agent", "python:noting:wrong"),
            '--agent: the run was started with "python:noting:answer", got "python:noting:wrong"',
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_resuming_with_a_changed_setting_is_refused(cli: Cli, workdir: Path, change: tuple[str, ...], sentence: str) -> None:
    with (workdir / "notes.py").open("a") as file:
        file.write("\nclass Other(Notes):\n    pass\n")
    (workdir / "prompt.md").write_text("Be kind.")
    simulate(cli, "--name", "mine")
    before = Path("runs/mine/run.json").read_bytes()
    completed = cli("simulate", "runs/mine", "--resume", *change)
    assert (completed.status, sentence in completed.err) == (2, True), completed.err
    assert len(executed()) == 4
    assert Path("runs/mine/run.json").read_bytes() == before


@pytest.mark.parametrize("what", ["scenarios", "tools"])
def test_resuming_with_changed_scenarios_or_tools_is_refused(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    simulate(cli, "--name", "mine")
    if what == "scenarios":
        write_rows(workdir / "scenarios.jsonl", *[scenario(number) for number in range(5)])
    else:
        (workdir / "notes.py").write_text((workdir / "notes.py").read_text().replace("Add a note.", "Put a note there."))
        monkeypatch.delitem(sys.modules, "notes")
    completed = cli("simulate", "runs/mine", "--resume")
    assert (completed.status, len(executed())) == (2, 4), completed.err
    assert f"{'scenarios.jsonl' if what == 'scenarios' else 'the tools'} changed since runs/mine was started" in completed.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("simulate", "runs/mine"), "runs/mine is an existing run: pass --resume to resume it"),
        (("simulate", "runs/mine", "--resume", "--name", "other"), "-o and --name cannot be used"),
        (("run", "runs/mine", "--resume"), "Resume with: callmark simulate runs/mine --resume"),
        (("simulate", "scenarios.jsonl", *AGENT, *TOOLS, "--name", "mine"), "runs/mine: already exists"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_resumes_are_refused(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    simulate(cli, "--name", "mine")
    completed = cli(*arguments)
    assert (completed.status, sentence in completed.err) == (2, True), completed.err


def test_simulated_run_can_be_regraded_and_reported(cli: Cli) -> None:
    simulate(cli, "--name", "mine")
    before = Path("runs/mine/grades.jsonl").read_bytes()
    assert cli("grade", "runs/mine").status == 0
    assert Path("runs/mine/grades.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "arguments, toml, more",
    [
        (("--evaluator", "call"), "", {"call"}),
        (("--evaluator", "process"), "", set()),
        ((), '[evaluators]\nuse = ["schema"]\n', {"schema"}),
        (("--evaluator", "trajectory"), '[evaluators]\nuse = ["call"]\n', {"trajectory"}),
    ],
)
def test_grading_again_keeps_every_metric(cli: Cli, workdir: Path, arguments: tuple[str, ...], toml: str, more: set[str]) -> None:
    simulate(cli, "--name", "mine")
    before = lines("runs/mine/grades.jsonl")
    (workdir / "callmark.toml").write_text(toml, encoding="utf-8")
    assert cli("grade", "runs/mine", *arguments).status == 0
    after = lines("runs/mine/grades.jsonl")
    assert {name.partition(".")[0] for name in before[0]["metrics"]} == {"process", "state", "effort"}
    for old, new in zip(before, after, strict=True):
        assert {name: new["metrics"][name] for name in old["metrics"]} == old["metrics"]
        assert {name.partition(".")[0] for name in new["metrics"]} == {"process", "state", "effort"} | more
    assert cli("grade", "runs/mine").status == 0
    for old, new in zip(after, lines("runs/mine/grades.jsonl"), strict=True):
        assert old["metrics"].items() <= new["metrics"].items()


def test_evaluator_that_no_longer_exists_is_left_out_with_a_warning(cli: Cli, workdir: Path) -> None:
    (workdir / "house.py").write_text("def brief(attempt):\n    return 1.0\n", encoding="utf-8")
    simulate(cli, "--name", "mine", "--evaluator", "process", "--evaluator", "house:brief")
    (workdir / "house.py").write_text("def concise(attempt):\n    return 1.0\n", encoding="utf-8")
    sys.modules.pop("house")
    completed = cli("grade", "runs/mine", "--evaluator", "house:concise", "--trust")
    assert completed.status == 0, completed.err
    gone = "callmark: warning: evaluator 'house:brief': module house has no attribute 'brief'. Its metrics are no longer measured.\n"
    assert gone in completed.err
    metrics = lines("runs/mine/grades.jsonl")[0]["metrics"]
    assert "process.reliability" in metrics
    assert any("concise" in name for name in metrics)
    assert not any("brief" in name for name in metrics)


def test_interrupting_prints_the_resume_command(cli: Cli, workdir: Path) -> None:
    (workdir / "late.py").write_text(
        "import time\nfrom noting import answer\ndef late(messages, tools):\n"
        "    if 'n2' in messages[0]['content']:\n        time.sleep(30)\n    return answer(messages, tools)\n"
    )
    code = "from callmark.cli.main import main; main()"
    command = [sys.executable, "-c", code, "simulate", "scenarios.jsonl", "--agent", "python:late:late", *TOOLS]
    with subprocess.Popen(
        [*command, "--user", "script", "--name", "mine"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + 20
        while not (Path("runs/mine/predictions.jsonl").exists() and len(lines("runs/mine/predictions.jsonl")) == 3):
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        printed = process.stderr.read()
        assert process.wait(20) == 130
    assert "saved 3 of 4 conversations.\nResume with: callmark simulate runs/mine --resume\n" in printed
    assert info("mine")["status"] == "interrupted"


# limits


def test_budget_is_exceeded_by_requests_under_way_only(cli: Cli) -> None:
    Path("callmark.toml").write_text('[models.dear]\nmodel = "{url}#m"\nprice = {{ input = 1000000, output = 0 }}\n')
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hm."}}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    with chat_server(lambda *_: Response(body=json.dumps(answer).encode())) as server:
        Path("callmark.toml").write_text(Path("callmark.toml").read_text().format(url=server.url))
        completed = simulate(
            cli, "--name", "mine", "--max-cost", "15", "--concurrency", "1", "--no-cache", "--trust", agent=("--agent", "dear")
        )
    assert completed.status == 3, completed.err
    assert "--max-cost 15 was reached" in completed.out + completed.err
    assert len(lines("runs/mine/predictions.jsonl")) == 2  # each took two answers of 5
    assert info("mine")["status"] == "stopped"


# keys


def folder_content() -> bytes:
    return b"".join(file.read_bytes() for file in Path("runs").rglob("*") if file.is_file())


@pytest.mark.parametrize("where", ["an argument of the tool server", "the environment of the tool server", "the address of the chatbot"])
def test_keys_are_in_no_file_and_no_message(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    server = raw_server(workdir, ADDING.replace("pass", "said = ' '.join(sys.argv) + os.environ.get('MY_API_KEY', '')"))
    if where == "the address of the chatbot":
        with chat_server(lambda *_: Response(body=json.dumps({"reply": f"I am {KEY}"}).encode())) as chatbot:
            address = chatbot.url.replace("http://", f"http://me:{KEY}@")
            completed = simulate(cli, "--name", "mine", agent=("--agent", f"chatbot:{address}"), tools=())
    elif where == "the environment of the tool server":
        monkeypatch.setenv("MY_API_KEY", KEY)
        completed = simulate(cli, "--name", "mine", tools=("--tools", f"mcp:{server}", "--env", "MY_API_KEY"))
    else:
        completed = simulate(cli, "--name", "mine", tools=("--tools", f"mcp:{server} --key={KEY}"))
    assert completed.status == 0, completed.err
    assert len(lines("runs/mine/predictions.jsonl")) == 4
    assert KEY.encode() not in folder_content()
    assert KEY not in completed.out + completed.err


@pytest.mark.parametrize("where", ["the system prompt", "what a tool gives back", "what stands in the state"])
def test_key_spoken_in_a_conversation_is_not_stored(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    (workdir / "prompt.md").write_text(f"Use the key {KEY}." if where == "the system prompt" else "Use no key.")
    source = (workdir / "notes.py").read_text()
    if where == "what a tool gives back":
        source = source.replace('return f"N-{', 'return __import__("os").environ["MY_API_KEY"] + f"N-{')
    elif where == "what stands in the state":
        source = source.replace('"text": text', '"text": __import__("os").environ["MY_API_KEY"]')
    (workdir / "notes.py").write_text(source)
    completed = simulate(cli, "--name", "mine", "--system", "prompt.md")
    assert completed.status == 0, completed.err
    assert len(lines("runs/mine/predictions.jsonl")) == 4
    assert KEY.encode() not in folder_content()
    assert KEY not in completed.out + completed.err


def test_redacted_settings_must_be_given_again(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    (workdir / "prompt.md").write_text(f"Use the key {KEY}.")
    tools = ("--tools", f"mcp:{raw_server(workdir, ADDING)} --key={KEY}")
    Path("broken").touch()
    simulate(cli, "--name", "mine", "--system", "prompt.md", tools=tools)
    Path("broken").unlink()
    for given, missing in (((), "--tools and --system"), (tools, "--system"), (("--system", "prompt.md"), "--tools")):
        completed = cli("simulate", "runs/mine", "--resume", *given)
        assert (completed.status, f"runs/mine: {missing} contained a secret, which is not stored" in completed.err) == (2, True), (
            completed.err
        )
    again = cli("simulate", "runs/mine", "--resume", *tools, "--system", "prompt.md")
    assert (again.status, reliability("mine")) == (0, [1.0] * 4), again.err


# tool servers that fail

ADDING = """
TOOLS = [{"name": "add_note", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}}]

def act(arguments):
    said = arguments["title"]
    if arguments["title"] == "n2":
        pass
    text(said)
"""
FAULTS = {
    "dies": ("sys.stderr.write('no more memory\\n'); sys.stderr.flush(); os._exit(9)", "no more memory"),
    "is killed": ("os.kill(os.getpid(), 9)", "raw_"),
    "hangs": ("time.sleep(1000)", "timed out: no response to add_note within 1 s"),
    "floods": ("sys.stdout.write('x' * 100_000_000)", "raw_"),
    "answers nonsense and is gone": ("sys.stdout.write('nonsense\\n' * 3); os._exit(0)", "raw_"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_failing_tool_server_is_an_error_of_that_conversation(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    code, expected_text = FAULTS[fault]
    defaults = open_tools.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout", 1.0)
    server = raw_server(workdir, ADDING.replace("pass", code))
    completed = simulate(cli, "--name", "mine", tools=("--tools", f"mcp:{server}"))
    assert completed.status == 3, completed.err + completed.out
    assert "scored 3 of 4, 1 error" in completed.out
    errors = {line["case"]: line["error"] for line in lines("runs/mine/predictions.jsonl") if line.get("error")}
    assert list(errors) == ["s2"]
    assert shlex.split(server)[-1].rpartition("/")[2] in errors["s2"]
    assert expected_text in errors["s2"], errors
    assert executed() == ["n0", "n1", "n2", "n3"]
    healthy = raw_server(workdir, ADDING)
    Path(shlex.split(server)[-1]).write_bytes(Path(shlex.split(healthy)[-1]).read_bytes())
    Path("executed.log").unlink()
    assert (cli("simulate", "runs/mine", "--resume").status, executed()) == (0, ["n2"])


SHARED = """
def respond(request, otherwise=respond):
    if request["method"] != "initialize":
        return otherwise(request)
    known = {"tools": {}, "experimental": {"dev.callmark/conversations": {}}}
    answer({"protocolVersion": "2025-06-18", "capabilities": known, "serverInfo": {"name": "raw", "version": "1"}})
"""


def test_shared_tool_server_is_restarted(cli: Cli, workdir: Path) -> None:
    server = raw_server(workdir, ADDING.replace("pass", "os._exit(9)") + SHARED + "open('starts', 'a').write('x')")
    completed = simulate(cli, "--name", "mine", "--concurrency", "1", tools=("--tools", f"mcp:{server}"))
    assert completed.status == 3, completed.err + completed.out
    assert [line["case"] for line in lines("runs/mine/predictions.jsonl") if line.get("error")] == ["s2"]
    assert reliability("mine") == [1.0, 1.0, 1.0]
    assert len(Path("starts").read_text()) == 2  # once to list the tools and to begin, once after it died


def test_tool_server_that_never_starts_is_refused_first(cli: Cli, workdir: Path) -> None:
    server = raw_server(workdir, "sys.exit('the port is taken')")
    check_refused(simulate(cli, tools=("--tools", f"mcp:{server}")), "the port is taken")
