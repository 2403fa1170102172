"""Files with hostile text in every field that can hold text, for tests of what is printed."""

import json
from pathlib import Path
from typing import Any

import msgspec
import yaml

from callmark.cli.main import run
from callmark.formats.matching import PredictionsInfo
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord
from callmark.models.model import ModelSettings
from callmark.runs.manifest import ModelRunInfo
from callmark.runs.store import RunFolder
from callmark.types import Fault, Note
from tests.graded_runs import make_run
from tests.rows import assistant, call, result, row, user, write_rows
from tests.simulation.mcp_servers import RAW

FORGED = "Gate passed"  # what a line would begin with that an attacker wrote
CONTROLS = "\x00\x07\x08\x0b\x0c\r\x1b[5;41m\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x7f\x85\x9b2J\u2028\u2029"
INVISIBLE = "\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\u206a\ufeff\U000e0041"
COMMANDS = f"\n::error::e\n  ::warning file=a::w\n\t::set-output name=a::b\n##[error]c\n##vso[task.x]d ##teamcity[e]\n{FORGED}"
MARKUP = "@team https://evil.example [red]x[/red] [link=https://evil.example]y[/link] <script>|`#1 a/b#2"
TEXT = f"::error::t{CONTROLS}{INVISIBLE}{COMMANDS}{MARKUP}"
SURROGATE = '"\\ud800::error::s"'  # JSON


def name(kind: str) -> str:
    """Return a hostile name that differs from others by its kind. It begins with a command."""
    return f"::error::{kind}{TEXT}"


MODEL = name("model").replace("\0", "")


def tool(tool_name: str, *arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string", "description": TEXT, "enum": [TEXT, "a"]} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": tool_name, "description": TEXT, "parameters": parameters}}


TOOLS = [tool(name("f"), name("a")), tool(name("g"))]


def conversation(number: int) -> dict[str, Any]:
    good = call(name("f"), {name("a"): TEXT}, name("call"))
    bad = [call(name("unknown"), {name("b"): [TEXT]}, "2"), call(name("f"), TEXT, "3"), call("", "{}", "4"), call(name("g"), {}, "2")]
    return row(
        {"role": "system", "content": TEXT},
        user(f"{number} {TEXT}"),
        assistant(good, text=TEXT),
        result(TEXT, name("call"), name=name("f")),
        {"role": "user", "content": TEXT, "name": name("sender")},
        assistant(*bad),
        result(json.dumps({"error": TEXT}), "2"),
        assistant(text=TEXT),
        tools=TOOLS,
        id=f"{name('id')}{number}",
        **{name("field"): TEXT},
    )


def scenario(number: int) -> dict[str, Any]:
    return {
        "id": f"{name('scenario')}{number}",
        "description": TEXT,
        "scenarioType": name("type"),
        "instructions": TEXT,
        "task_completion_condition": TEXT,
        "group": name("group"),
        "expected_function_calls": [{"functionName": "f", "arguments": {name("a"): TEXT}}],
        "tools": TOOLS,
        "data": {"tasks": [{"goal": TEXT, "opening": TEXT, "slots": {name("slot"): TEXT}, "words": [TEXT]}], "script": [TEXT, "bye"]},
    }


FILE_NAME = f"::error::x\x1b[5;41m\u202e\r\n::warning::y\n{FORGED}.jsonl"
OPENAPI = {
    "openapi": "3.0.3",
    "info": {"title": TEXT, "version": "1"},
    "paths": {
        f"/{TEXT}": {"post": {"summary": TEXT, "description": TEXT}},
        "/a": {"get": {"operationId": "f", "summary": TEXT, "parameters": [{"name": name("a"), "in": "query", "description": TEXT}]}},
    },
}
MODULE = f"""
import sys
from callmark import Metric, Result

TEXT = {TEXT!r}

def answer(messages, tools):
    print(TEXT)
    print(TEXT, file=sys.stderr)
    raise ValueError(TEXT)

def agent(messages, tools):
    print(TEXT)
    return {{"role": "assistant", "content": TEXT, "tool_calls": [{{"function": {{"name": {name("f")!r}, "arguments": TEXT}}}}]}}

class Hostile:
    name = "hostile"
    metrics = (Metric({name("metric")!r}, TEXT, checks=(TEXT,), bands=((0.0, TEXT),)),)

    def evaluate(self, attempt):
        print(TEXT)
        return Result({{{name("metric")!r}: 0.5}}, reasons={{{name("metric")!r}: TEXT}})

class Raises(Hostile):
    name = "raises"

    def evaluate(self, attempt):
        raise ValueError(TEXT)

class Misnamed(Hostile):
    name = TEXT
"""


PROGRAM = f"""
import json, sys
TEXT = {TEXT!r}
for number, line in enumerate(sys.stdin):
    id = json.loads(line)["id"]
    print(TEXT, file=sys.stderr, flush=True)
    calls = [{{"name": TEXT, "arguments": TEXT}}]
    answers = ({{"id": id, "content": TEXT, "tool_calls": calls}}, {{"id": id, "error": TEXT}}, {{"id": TEXT}})
    print(json.dumps(answers[number % 3]) if number < 4 else TEXT, flush=True)
"""
SERVER = f"""
TEXT = {TEXT!r}
schema = {{"type": "object", "properties": {{TEXT: {{"type": "string", "description": TEXT, "enum": [TEXT]}}}}}}
TOOLS = [{{"name": {name("f")!r}, "description": TEXT, "inputSchema": schema}}, {{"name": "f", "title": TEXT, "inputSchema": schema}}]
print(TEXT, file=sys.stderr, flush=True)

def act(arguments):
    fail(-32000, TEXT)
"""


def toml_text(text: str) -> str:
    """Return a string of TOML, which has no surrogate pairs."""
    return '"' + "".join(letter if letter.isalnum() else f"\\U{ord(letter):08x}" for letter in text) + '"'


TOML = f"""
[models.{toml_text(MODEL)}]
model = "python:hostile_module:agent"

[match]
{toml_text(name("f").replace("[", "?") + ".*")} = {{"$any" = true}}

[gate]
min = {{ {toml_text("hostile." + name("metric"))} = 1 }}
"""


def write_files(folder: Path) -> None:
    """Write the files, and grade some of them into runs."""
    write_rows(folder / "data.jsonl", conversation(1), conversation(2), conversation(2))
    (folder / FILE_NAME).write_bytes((folder / "data.jsonl").read_bytes())
    write_rows(folder / "bad.jsonl", conversation(1), {"messages": [{"role": "user", "content": {TEXT: TEXT}}], TEXT: 1}, {TEXT: TEXT})
    write_rows(folder / "unknown.jsonl", {TEXT: TEXT, **{f"{TEXT}{n}": 1 for n in range(3)}})
    write_rows(folder / "surrogate.jsonl", f'{{"id": {SURROGATE}, "messages": [{{"role": "user", "content": {SURROGATE}}}]}}')
    write_rows(folder / "scenarios.jsonl", scenario(1), scenario(2))
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "openapi.yaml").write_text(json.dumps(OPENAPI))
    (folder / "policy.yaml").write_text(yaml.safe_dump({"rules": [{"id": name("rule"), "says": TEXT, "never": "*error*"}]}))
    (folder / "bad_policy.yaml").write_text(json.dumps({"rules": [{"id": name("rule"), TEXT: TEXT}]}))
    template = {key: value for key, value in scenario(1).items() if key not in ("tools", "group")}
    (folder / "templates.yaml").write_text(json.dumps([{**template, "count": 2}]))
    (folder / "bad.toml").write_text(f"[models.{toml_text(TEXT)}]\nmodel = 5\n")
    (folder / "hostile.toml").write_text(TOML)
    (folder / "hostile_module.py").write_text(MODULE)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "server.py").write_text(RAW % SERVER)
    (folder / "failing_server.py").write_text(f"import sys\nsys.stderr.write({TEXT!r})\nsys.stdout.write({TEXT!r})\nsys.exit(3)\n")
    run(["expand", "data.jsonl", "-o", "eval.jsonl"])
    run(["expand", "data.jsonl", "-o", "references.jsonl", "--by-reference"])
    cases = [json.loads(line) for line in (folder / "eval.jsonl").read_bytes().splitlines()]
    predictions: list[dict[str, Any]] = [
        {"id": case["id"], "prediction": {"role": "assistant", "content": TEXT, "tool_calls": [call(name("h"), {TEXT: TEXT})]}}
        for case in cases
    ]
    predictions[0] = {"id": cases[0]["id"], "error": TEXT}
    write_rows(folder / "predictions.jsonl", *predictions, {"id": name("other"), "prediction": {"content": TEXT}})
    for label, errors in (("one", 7), ("two", 0)):
        write_run(folder / label, name(label), errors)


def write_run(folder: Path, run_name: str, error: int) -> None:
    """Write a run of 30 cases, of which one is an error."""
    metrics = ("call.score", "call.pass", f"hostile.{name('metric')}")
    make_run(folder, [grade(number, failed=number == error) for number in range(30)], name=run_name, metrics=metrics)
    manifest = RunFolder(folder).read()
    manifest = msgspec.structs.replace(
        manifest,
        dataset=msgspec.structs.replace(manifest.dataset, name=name("dataset"), path=TEXT.replace("\0", "")),
        predictions=PredictionsInfo(name=name("predictions"), unmatched=1, first_unmatched=name("id")),
        metrics={key: Metric(key.partition(".")[2], TEXT, checks=(TEXT,), bands=((0.0, TEXT),)) for key in metrics},
        match_counts={name("rule"): 3},
        model_run=ModelRunInfo(name("label"), ModelSettings(model=f"python:{TEXT}"), stop_reason=TEXT),
        status="stopped",
    )
    RunFolder(folder).write(manifest)


def grade(number: int, *, failed: bool) -> GradeRecord:
    metric, right = f"hostile.{name('metric')}", number % 2
    fault = Fault("wrong_value", 0, 0, name("a"), TEXT, {TEXT: TEXT}, ("call",), "elsewhere", 1)
    return GradeRecord(
        f"{name('id')}{number}",
        error=TEXT if failed else "",
        metrics={} if failed else {"call.score": right, "call.pass": right, metric: 0.5},
        expected=(name("f"),),
        actual=(name("h"),),
        faults=() if right else (fault,),
        notes=(Note(name("note"), TEXT),),
        conversation=name("conversation"),
        scenario_type=name("type"),
        group=name("group"),
        ending=name("ending"),
        reasons={metric: TEXT},
        categories={"hostile": (name("category"), TEXT)},
        evaluator_errors={"raises": TEXT} if number == 9 else {},
    )
