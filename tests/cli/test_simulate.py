"""`callmark simulate`: what is held, what is kept, what people see."""

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
from tests.simulation.notes_case import held, lines, scenario, write_folder

AGENT = ("--agent", "python:noting:answer")
TOOLS = ("--tools", "python:notes:Notes")
KEY = "sk-recognisable-0123456789"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


def test_conversations_are_held_graded_and_shown(cli: Cli) -> None:
    done = simulate(cli, "--name", "mine")
    assert done.status == 0, done.err
    assert "4 scenarios" in done.out
    assert re.search(r"process\.reliability +1 ", done.out)
    assert re.search(r"state +reached 1\b", done.out)
    assert held() == ["n0", "n1", "n2", "n3"]
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
    simulated = info("mine")["asked"]["simulated"]
    assert simulated == {"user": {"model": "script"}, "tools": ["python:notes:Notes"], "max_turns": 30, "max_steps": 20}


def test_several_agents_trials_and_the_first_few_stand_side_by_side(cli: Cli) -> None:
    done = simulate(cli, "--agent", "python:noting:wrong", "--name", "both", "--trials", "2", "--limit", "3")
    assert done.status == 0, done.err
    assert "2 agents · 3 scenarios" in done.out
    assert held() == sorted(["n0", "n1", "n2"] * 2)
    assert (reliability("both-noting.answer"), reliability("both-noting.wrong")) == ([1.0] * 6, [0.0] * 6)


def test_for_machines_there_is_one_entry_for_each_agent(cli: Cli) -> None:
    done = simulate(cli, "--agent", "python:noting:wrong", "--json")
    found = json.loads(done.out)
    assert [one["summary"]["metrics"]["process.reliability"]["mean"] for one in found] == [1.0, 0.0]


def test_a_chatbot_that_is_a_function_reports_its_calls(cli: Cli) -> None:
    done = simulate(cli, "--name", "mine", agent=("--agent", "python:noting:chatbot"), tools=())
    assert done.status == 0, done.err
    assert reliability("mine") == [1.0] * 4
    assert not any("state.reached" in line["metrics"] for line in lines("runs/mine/grades.jsonl"))
    assert {line["ending"] for line in lines("runs/mine/predictions.jsonl")} == {"completed"}


def test_a_chatbot_over_http_reports_its_calls(cli: Cli) -> None:
    def answer(number: int, request: Any, attempt: int) -> Response:
        title = request["messages"][0]["content"].split()[-1].rstrip(".")
        calls = [{"functionName": "add_note", "arguments": {"title": "other" if title == "n3" else title}}]
        said = {"reply": "It is there.", "function_calls": calls if len(request["messages"]) == 1 else []}
        return Response(body=json.dumps(said).encode())

    with chat_server(answer) as server:
        done = simulate(cli, "--name", "mine", agent=("--agent", f"chatbot:{server.url}"), tools=())
        ids = {request.body["conversation_id"] for request in server.requests}
    assert done.status == 0, done.err
    assert (reliability("mine"), len(ids)) == ([1.0, 1.0, 1.0, 0.0], 4)
    assert "wrong value  1  title" in done.out


def test_a_chatbot_that_answers_nothing_useful_is_an_error_of_that_conversation(cli: Cli) -> None:
    def answer(number: int, request: Any, attempt: int) -> Response:
        return Response(500, b"oops") if "n2" in request["message"] else Response(body=b'{"reply": "Hm."}')

    with chat_server(answer) as server:
        done = simulate(cli, "--name", "mine", "--retries", "0", agent=("--agent", f"chatbot:{server.url}"), tools=())
    assert done.status == 3
    assert "scored 3 of 4, 1 error" in done.out
    assert "500" in done.out


# what cannot work

BAD_SCENARIOS: list[tuple[str, Any, str]] = [
    ("no instructions", scenario(1, instructions=""), "scenarios.jsonl, line 2: the scenario has no instructions"),
    (
        "no expected calls",
        scenario(1, expected_function_calls=None),
        "scenarios.jsonl, line 2: the scenario has no expected_function_calls",
    ),
    ("a field of another type", scenario(1, description=7), "scenarios.jsonl, line 2: description"),
    (
        "an unknown function",
        scenario(1, expected_function_calls=[{"functionName": "ad_note", "arguments": {}}]),
        "scenarios.jsonl, line 2: the scenario 's1' expects ad_note, which is no tool that there is. Did you mean add_note?",
    ),
    (
        "an unknown argument",
        scenario(1, expected_function_calls=[{"functionName": "add_note", "arguments": {"titel": "x"}}]),
        "scenarios.jsonl, line 2: the scenario 's1' expects add_note with 'titel', an argument that it does not have. Did you mean title?",
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
    ("an id that stands there already", scenario(0), "scenarios.jsonl, line 2: "),
    ("no script", scenario(1, data={}), "scenarios.jsonl, line 2 (s1) has no script"),
    ("a script that is none", scenario(1, data={"script": [1]}), "scenarios.jsonl, line 2: data.script"),
    ("no JSON", "{", "scenarios.jsonl, line 2: "),
]


@pytest.mark.parametrize("row, sentence", [bad[1:] for bad in BAD_SCENARIOS], ids=[bad[0] for bad in BAD_SCENARIOS])
def test_a_scenario_that_cannot_be_played_is_refused_with_its_row(cli: Cli, here: Path, row: Any, sentence: str) -> None:
    write_rows(here / "scenarios.jsonl", scenario(0), row, scenario(2))
    done = simulate(cli)
    refused(done, sentence)


def refused(done: Result, sentence: str) -> None:
    """Exit status 2, a sentence, nothing held, no folder left."""
    assert (done.status, done.err.startswith("callmark: ")) == (2, True), done.err + done.out
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert "something went wrong" not in done.err
    assert held() == []
    assert not Path("runs").exists() or not os.listdir("runs")


def test_an_id_that_stands_twice_is_told_with_both_rows(cli: Cli, here: Path) -> None:
    write_rows(here / "scenarios.jsonl", scenario(0), scenario(1), scenario(0))
    done = simulate(cli)
    refused(done, "'s0'")
    assert "line 3" in done.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ((*AGENT, *TOOLS, "--user", "rule-basd"), "there is no user called 'rule-basd'. Did you mean rule-based?"),
        ((*AGENT, *TOOLS, "--user", "rule-based:tesre"), "there is no rule-based user called 'tesre'. Did you mean terse?"),
        ((*AGENT, *TOOLS, "--user", "openai:gpt"), "OPENAI_API_KEY"),
        ((*AGENT, *TOOLS, "--judge", "opnai:gpt"), "opnai"),
        ((*AGENT, "--tools", "python:nowhere"), "there is no module nowhere"),
        ((*AGENT, "--tools", "mcpp:x"), "Did you mean mcp?"),
        ((*AGENT, "--tools", "mcp:no-such-program-here"), "no-such-program-here"),
        ((*AGENT, *TOOLS, *TOOLS), "add_note"),
        ((*AGENT, *TOOLS, "--system", "nowhere.md"), "--system nowhere.md cannot be read: No such file or directory"),
        ((*AGENT, *TOOLS, "--resume"), "--resume needs to know which run to go on with"),
        ((*AGENT, *TOOLS, "--evaluator", "nosuch"), "nosuch"),
        ((*AGENT, *TOOLS, "--max-turns", "0"), "--max-turns"),
        ((*AGENT, *TOOLS, "--max-cost", "1"), "--max-cost needs a price"),
        ((*TOOLS,), "--agent is missing: who should be tested?"),
        (("--agent", "chatbot:http://127.0.0.1:9/x", *TOOLS), "carries out its calls itself: it takes no --tools"),
        (("--agent", "chatbot:nowhere"), "nowhere"),
        (("--agent", "scripted:hasty", *TOOLS), "scripted"),
        (("--agent", "openai:gpt", *TOOLS), "OPENAI_API_KEY"),
        ((*AGENT, *AGENT, *TOOLS), "two models are called noting.answer"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_what_cannot_work_is_said_in_a_sentence_before_anybody_speaks(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    refused(cli("simulate", "scenarios.jsonl", *arguments), sentence)


def test_what_comes_through_a_pipe_is_held_and_can_be_gone_on_with(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = write_rows(here / "piped", scenario(0), scenario(1, data={}), scenario(2)).read_bytes()

    class Pipe:
        buffer = io.BufferedReader(io.BytesIO(rows))

    monkeypatch.setattr(sys, "stdin", Pipe)
    done = simulate(cli, "--name", "mine", file="-")
    assert done.status == 3, done.err
    assert {line["case"]: line.get("error", "") for line in lines("runs/mine/predictions.jsonl")} == {
        "s0": "",
        "s1": "standard input, line 2 (s1) has no script",
        "s2": "",
    }
    Path("held.log").unlink()
    assert (cli("simulate", "runs/mine", "--resume").status, held()) == (2, [])


def test_what_stands_beyond_the_limit_need_not_be_played(cli: Cli, here: Path) -> None:
    write_rows(here / "scenarios.jsonl", scenario(0), scenario(1), scenario(2, data={}))
    assert simulate(cli, "--limit", "2").status == 0
    assert held() == ["n0", "n1"]


@pytest.mark.parametrize(
    "file, sentence",
    [
        ("points.jsonl", "points.jsonl holds decision points, scenarios were expected"),
        ("missing.jsonl", "there is no file missing.jsonl"),
        ("empty.jsonl", "empty.jsonl"),
    ],
)
def test_what_holds_no_scenarios_is_refused(cli: Cli, here: Path, file: str, sentence: str) -> None:
    point = {
        "id": "p",
        "messages": [user("Bonn?")],
        "tools": [WEATHER],
        "expected_output": assistant(call("get_weather", {"city": "Bonn"})),
    }
    write_rows(here / "points.jsonl", point)
    (here / "empty.jsonl").write_text("")
    refused(simulate(cli, file=file), sentence)


# going on


def test_going_on_holds_only_what_has_not_been_held(cli: Cli) -> None:
    Path("broken").touch()
    done = simulate(cli, "--name", "mine")
    assert done.status == 3
    assert "scored 3 of 4, 1 error" in done.out
    assert "the agent fell over" in done.out
    Path("broken").unlink()
    Path("held.log").unlink()
    done = cli("simulate", "runs/mine", "--resume")
    assert (done.status, held()) == (0, ["n2"]), done.err
    assert reliability("mine") == [1.0] * 4
    Path("held.log").unlink()
    again = simulate(cli, "--name", "mine", "--resume")
    assert (again.status, held()) == (0, []), again.err


@pytest.mark.parametrize(
    "change, sentence",
    [
        (("--trials", "2"), "runs/mine was begun with trials 1, now it is 2"),
        (("--limit", "2"), "runs/mine was begun with limit not given, now it is 2"),
        (("--user", "rule-based"), 'runs/mine was begun with user {"model":"script"}, now it is {"model":"rule-based"}'),
        (("--tools", "python:notes:Other"), "runs/mine was begun with tools"),
        (("--system", "prompt.md"), 'runs/mine was begun with system not given, now it is "Be kind."'),
        (("--seed", "3"), "runs/mine was begun with seed not given, now it is 3"),
        (("--max-turns", "3"), "runs/mine was begun with max_turns 30, now it is 3"),
        (("--judge", "python:noting:answer"), "runs/mine was begun with judge not given, now it is"),
        (("--agent", "python:noting:wrong"), 'runs/mine was begun with model "python:noting:answer", now it is "python:noting:wrong"'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_changed_setting_is_refused_with_what_changed(cli: Cli, here: Path, change: tuple[str, ...], sentence: str) -> None:
    with (here / "notes.py").open("a") as file:
        file.write("\nclass Other(Notes):\n    pass\n")
    (here / "prompt.md").write_text("Be kind.")
    simulate(cli, "--name", "mine")
    before = Path("runs/mine/run.json").read_bytes()
    done = cli("simulate", "runs/mine", "--resume", *change)
    assert (done.status, sentence in done.err) == (2, True), done.err
    assert len(held()) == 4
    assert Path("runs/mine/run.json").read_bytes() == before


@pytest.mark.parametrize("what", ["scenarios", "tools"])
def test_changed_scenarios_and_changed_tools_are_refused(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    simulate(cli, "--name", "mine")
    if what == "scenarios":
        write_rows(here / "scenarios.jsonl", *[scenario(number) for number in range(5)])
    else:
        (here / "notes.py").write_text((here / "notes.py").read_text().replace("Add a note.", "Put a note there."))
        monkeypatch.delitem(sys.modules, "notes")
    done = cli("simulate", "runs/mine", "--resume")
    assert (done.status, len(held())) == (2, 4), done.err
    assert f"{'scenarios.jsonl has' if what == 'scenarios' else 'the tools have'} changed since runs/mine was begun" in done.err


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("simulate", "runs/mine"), "runs/mine is a run: --resume goes on with it"),
        (("simulate", "runs/mine", "--resume", "--name", "other"), "-o and --name cannot be given"),
        (("run", "runs/mine", "--resume"), "callmark simulate runs/mine --resume goes on with it"),
        (("simulate", "scenarios.jsonl", *AGENT, *TOOLS, "--name", "mine"), "there is a run in runs/mine already"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_gone_on_with_so_is_refused(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    simulate(cli, "--name", "mine")
    done = cli(*arguments)
    assert (done.status, sentence in done.err) == (2, True), done.err


def test_a_run_can_be_graded_again_and_looked_at(cli: Cli) -> None:
    simulate(cli, "--name", "mine")
    before = Path("runs/mine/grades.jsonl").read_bytes()
    assert cli("grade", "runs/mine").status == 0
    assert Path("runs/mine/grades.jsonl").read_bytes() == before


def test_whoever_interrupts_is_told_how_to_go_on(cli: Cli, here: Path) -> None:
    (here / "late.py").write_text(
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
        said = process.stderr.read()
        assert process.wait(20) == 130
    assert "3 of 4 conversations kept. To go on:\ncallmark simulate runs/mine --resume\n" in said
    assert info("mine")["status"] == "interrupted"


# limits


def test_what_may_be_spent_is_not_exceeded_by_more_than_what_is_under_way(cli: Cli) -> None:
    Path("callmark.toml").write_text('[models.dear]\nmodel = "{url}#m"\nprice = {{ input = 1000000, output = 0 }}\n')
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hm."}}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    with chat_server(lambda *_: Response(body=json.dumps(answer).encode())) as server:
        Path("callmark.toml").write_text(Path("callmark.toml").read_text().format(url=server.url))
        done = simulate(cli, "--name", "mine", "--max-cost", "15", "--concurrency", "1", "--no-cache", agent=("--agent", "dear"))
    assert done.status == 3, done.err
    assert "--max-cost 15 was reached" in done.out + done.err
    assert len(lines("runs/mine/predictions.jsonl")) == 2  # each took two answers of 5
    assert info("mine")["status"] == "stopped"


# keys


def everything_written() -> bytes:
    return b"".join(file.read_bytes() for file in Path("runs").rglob("*") if file.is_file())


@pytest.mark.parametrize("where", ["an argument of the tool server", "the environment of the tool server", "the address of the chatbot"])
def test_keys_stand_in_no_file_and_no_message(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    server = raw_server(here, ADDING.replace("pass", "said = ' '.join(sys.argv) + os.environ.get('MY_API_KEY', '')"))
    if where == "the address of the chatbot":
        with chat_server(lambda *_: Response(body=json.dumps({"reply": f"I am {KEY}"}).encode())) as chatbot:
            address = chatbot.url.replace("http://", f"http://me:{KEY}@")
            done = simulate(cli, "--name", "mine", agent=("--agent", f"chatbot:{address}"), tools=())
    elif where == "the environment of the tool server":
        monkeypatch.setenv("MY_API_KEY", KEY)
        done = simulate(cli, "--name", "mine", tools=("--tools", f"mcp:{server}"))
    else:
        done = simulate(cli, "--name", "mine", tools=("--tools", f"mcp:{server} --key={KEY}"))
    assert done.status == 0, done.err
    assert len(lines("runs/mine/predictions.jsonl")) == 4
    assert KEY.encode() not in everything_written()
    assert KEY not in done.out + done.err


@pytest.mark.parametrize("where", ["the system prompt", "what a tool gives back", "what stands in the state"])
def test_a_key_that_is_said_in_a_conversation_is_not_written_down(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    (here / "prompt.md").write_text(f"Use the key {KEY}." if where == "the system prompt" else "Use no key.")
    source = (here / "notes.py").read_text()
    if where == "what a tool gives back":
        source = source.replace('return f"N-{', 'return __import__("os").environ["MY_API_KEY"] + f"N-{')
    elif where == "what stands in the state":
        source = source.replace('"text": text', '"text": __import__("os").environ["MY_API_KEY"]')
    (here / "notes.py").write_text(source)
    done = simulate(cli, "--name", "mine", "--system", "prompt.md")
    assert done.status == 0, done.err
    assert len(lines("runs/mine/predictions.jsonl")) == 4
    assert KEY.encode() not in everything_written()
    assert KEY not in done.out + done.err


def test_what_had_something_secret_in_it_is_to_be_given_again(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    (here / "prompt.md").write_text(f"Use the key {KEY}.")
    tools = ("--tools", f"mcp:{raw_server(here, ADDING)} --key={KEY}")
    Path("broken").touch()
    simulate(cli, "--name", "mine", "--system", "prompt.md", tools=tools)
    Path("broken").unlink()
    for given, missing in (((), "--tools and --system"), (tools, "--system"), (("--system", "prompt.md"), "--tools")):
        done = cli("simulate", "runs/mine", "--resume", *given)
        assert (done.status, f"runs/mine: {missing} had something secret in it, which is not kept" in done.err) == (2, True), done.err
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
    "hangs": ("time.sleep(1000)", "did not answer add_note within 1 s"),
    "floods": ("sys.stdout.write('x' * 100_000_000)", "raw_"),
    "answers nonsense and is gone": ("sys.stdout.write('nonsense\\n' * 3); os._exit(0)", "raw_"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_tool_server_that_fails_is_an_error_of_that_conversation_alone(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    code, said = FAULTS[fault]
    defaults = open_tools.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout", 1.0)
    server = raw_server(here, ADDING.replace("pass", code))
    done = simulate(cli, "--name", "mine", tools=("--tools", f"mcp:{server}"))
    assert done.status == 3, done.err + done.out
    assert "scored 3 of 4, 1 error" in done.out
    errors = {line["case"]: line["error"] for line in lines("runs/mine/predictions.jsonl") if line.get("error")}
    assert list(errors) == ["s2"]
    assert shlex.split(server)[-1].rpartition("/")[2] in errors["s2"]
    assert said in errors["s2"], errors
    assert held() == ["n0", "n1", "n2", "n3"]
    healthy = raw_server(here, ADDING)
    Path(shlex.split(server)[-1]).write_bytes(Path(shlex.split(healthy)[-1]).read_bytes())
    Path("held.log").unlink()
    assert (cli("simulate", "runs/mine", "--resume").status, held()) == (0, ["n2"])


SHARED = """
def respond(request, otherwise=respond):
    if request["method"] != "initialize":
        return otherwise(request)
    known = {"tools": {}, "experimental": {"dev.callmark/conversations": {}}}
    answer({"protocolVersion": "2025-06-18", "capabilities": known, "serverInfo": {"name": "raw", "version": "1"}})
"""


def test_a_server_that_all_conversations_share_is_started_again_when_it_dies(cli: Cli, here: Path) -> None:
    server = raw_server(here, ADDING.replace("pass", "os._exit(9)") + SHARED + "open('starts', 'a').write('x')")
    done = simulate(cli, "--name", "mine", "--concurrency", "1", tools=("--tools", f"mcp:{server}"))
    assert done.status == 3, done.err + done.out
    assert [line["case"] for line in lines("runs/mine/predictions.jsonl") if line.get("error")] == ["s2"]
    assert reliability("mine") == [1.0, 1.0, 1.0]
    assert len(Path("starts").read_text()) == 3  # once to list the tools, once to begin, once after it died


def test_a_tool_server_that_never_starts_is_said_before_anybody_speaks(cli: Cli, here: Path) -> None:
    server = raw_server(here, "sys.exit('the port is taken')")
    refused(simulate(cli, tools=("--tools", f"mcp:{server}")), "the port is taken")
