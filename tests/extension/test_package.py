"""A package that extends callmark, one file per extension: built, installed, and used through the command line alone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FILES = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-callmark"
version = "1.0"

[project.entry-points."callmark.formats"]
acme = "acme_callmark.format:FORMAT"

[project.entry-points."callmark.evaluators"]
brevity = "acme_callmark.evaluator:Brevity"

[project.entry-points."callmark.models"]
acme = "acme_callmark.provider:PROVIDER"

[project.entry-points."callmark.users"]
acme-user = "acme_callmark.user:USER"

[project.entry-points."callmark.worlds"]
lamps = "acme_callmark.world:Lamps"
""",
    "src/acme_callmark/__init__.py": "",
    "src/acme_callmark/format.py": '''
"""Rows {"utterance", "do": [[tool, arguments]]}: what somebody said and the calls that are expected."""

import json
from collections.abc import Mapping

from callmark import Call, Case, Format, Message, Place, ReadContext


def detect(fields: Mapping[str, object]) -> float:
    return 1.0 if {"utterance", "do"} <= fields.keys() else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Case:
    given = json.loads(row)
    expected = tuple(Call(name, arguments) for name, arguments in given["do"])
    return Case(f"acme-{place.number}", (Message("user", given["utterance"]),), place=place, expected=expected)


def write(row: Case) -> bytes:
    return json.dumps({"utterance": row.messages[0].text, "do": [[call.name, call.arguments] for call in row.expected]}).encode()


FORMAT = Format("acme", "Acme rows", detect, read, write, extensions=(".acme",))
''',
    "src/acme_callmark/evaluator.py": '''
"""How long the arguments are: bounds other than [0, 1], reasons, and no number where nothing was called."""

from callmark import Attempt, Metric, Result


class Brevity:
    name = "brevity"
    metrics = (
        Metric("characters", "Characters of arguments", bounds=(0.0, 10_000.0), higher_is_better=False, unit="characters"),
        Metric("short", "Short arguments", kind="rate"),
    )

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit

    def evaluate(self, attempt: Attempt) -> Result:
        if not attempt.actual:
            return Result({"characters": None, "short": None})
        length = sum(len(str(call.arguments)) for call in attempt.actual)
        reasons = {"short": f"{length} characters are over the limit of {self.limit}"} if length > self.limit else {}
        return Result({"characters": float(length), "short": float(length <= self.limit)}, reasons)
''',
    "src/acme_callmark/provider.py": '''
"""acme:NAME: turns a lamp on when NAME is right, and is silent in every other case."""

from callmark import Capabilities, Case, Keys, ModelSettings, Prediction, Provider, Spec


class Switch:
    capabilities = Capabilities(concurrency=2)

    def __init__(self, name: str) -> None:
        self.label = f"acme-{name}"
        self._right = name == "right"

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        return Prediction(case.id, trial, case.expected if self._right else (), "Done.")

    async def __aenter__(self) -> "Switch":
        return self

    async def __aexit__(self, *error: object) -> None:
        return None


class Acme(Provider, frozen=True):
    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Switch:
        return Switch(spec.name)


PROVIDER = Acme(name="acme", example="acme:right")
''',
    "src/acme_callmark/user.py": '''
"""A user who reads the instructions aloud, once, and leaves."""

from collections.abc import Sequence

from callmark import Case, Message, NullContext, UserProvider, UserTurn


class Reader(NullContext):
    label = "acme-user"

    def start_session(self, case: Case, trial: int) -> "Line":
        return Line(case.instructions)


class Line:
    def __init__(self, text: str) -> None:
        self._text = text

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        text, self._text = self._text, ""
        return UserTurn(text, not text)


USER = UserProvider("acme-user", lambda options, seed: Reader(), "reads the instructions aloud", ("acme-user",))
''',
    "src/acme_callmark/world.py": '''
"""A world of lamps: every plan switches one on."""

from callmark import Agent, Call, Case, Message, Session, User, World
from acme_callmark.user import Reader


def switch_on(lamp: str) -> str:
    """Switch a lamp on."""
    return f"{lamp} is on."


class Expert:
    async def reply(self, session: Session) -> None:
        if any(message.calls for message in session.messages):
            session.messages.append(Message("assistant", "You are welcome."))
            return
        call = session.case.expected[0]
        made = Call(call.name, call.arguments, f"call-{len(session.messages)}")
        result = await session.toolbox.call(made)
        session.messages.append(Message("assistant", "", (made,)))
        session.messages.append(Message("tool", result.text, tool_call_id=made.id, name=made.name))
        session.messages.append(Message("assistant", result.text))


class Lamps(World):
    label = "lamps"
    tools = ("python:acme_callmark.world:switch_on",)
    policy = "You switch lamps on."
    branches = ("on",)

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        return [self._plan(index) for index in range(start, start + number)]

    def _plan(self, index: int) -> Case:
        rooms = ("kitchen", "attic", "cellar", "garage", "porch", "studio", "pantry", "hallway")
        lamp = f"{rooms[index % len(rooms)]} lamp {index}"
        said = f"Please switch the {lamp} on, it is dark in here and I cannot find visitor number {index * 7919}."
        return Case(
            f"lamp-{index}",
            instructions=said,
            expected=(Call("switch_on", {"lamp": lamp}),),
            scenario_type="on",
            data={"plan": {"branches": ["on"]}},
        )

    def expert(self) -> Agent:
        return Expert()

    def user(self, seed: int) -> User:
        return Reader()
''',
}
ROWS = [{"utterance": f"Switch lamp {number} on.", "do": [["switch_on", {"lamp": f"lamp {number}"}]]} for number in range(6)]
SCENARIO = {
    "id": "s1",
    "instructions": "Switch the hall lamp on.",
    "expected_function_calls": [{"functionName": "switch_on", "arguments": {"lamp": "hall lamp"}}],
}
AGENT = """
async def agent(messages, tools):
    if any(message["role"] == "tool" for message in messages):
        return "It is on."
    return {"role": "assistant", "tool_calls": [{"name": "switch_on", "arguments": {"lamp": "hall lamp"}}]}
"""


class Package:
    """An installed package and a folder to work in."""

    def __init__(self, site: Path, folder: Path) -> None:
        self.site = site
        self.folder = folder

    def callmark(self, *arguments: str, status: int = 0) -> str:
        """Run the command line with the package on the path; return what it printed."""
        environment = {**os.environ, "PYTHONPATH": str(self.site), "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "callmark", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    def grades(self, run: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / run / "grades.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """Build the package and install it into a folder of its own."""
    project, site, folder = (tmp_path_factory.mktemp(name) for name in ("project", "site", "work"))
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"))
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--target")
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(site), str(project)], check=True, capture_output=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "scenarios.jsonl").write_text(json.dumps(SCENARIO) + "\n")
    (folder / "lamp_agent.py").write_text(AGENT)
    return Package(site, folder)


def test_format_is_detected_read_and_written(package: Package) -> None:
    assert "Acme rows" in package.callmark("stats", "rows.jsonl")
    package.callmark("convert", "rows.jsonl", "--to", "acme", "-o", "again.acme")
    assert [json.loads(line) for line in (package.folder / "again.acme").read_text().splitlines()] == ROWS


def test_provider_and_evaluator_serve_a_run_whose_page_shows_the_evaluators_label(package: Package) -> None:
    package.callmark("run", "rows.jsonl", "--model", "acme:right", "-e", "call", "-e", "brevity", "--name", "right")
    assert {grade["metrics"]["call.score"] for grade in package.grades("runs/right")} == {1.0}
    assert {grade["metrics"]["brevity.characters"] for grade in package.grades("runs/right")} == {18.0}
    package.callmark("run", "rows.jsonl", "--model", "acme:silent", "-e", "call", "-e", "brevity", "--name", "silent")
    assert all("brevity.short" not in grade["metrics"] for grade in package.grades("runs/silent"))
    package.callmark("report", "runs/right", "-o", "report.html")
    assert "Characters of arguments" in (package.folder / "report.html").read_text()


def test_evaluator_takes_options_and_explains_its_values(package: Package) -> None:
    (package.folder / "strict.toml").write_text('[evaluators]\nuse = ["brevity"]\n[evaluators.brevity]\nlimit = 5\n')
    package.callmark("run", "rows.jsonl", "--model", "acme:right", "--config", "strict.toml", "--name", "strict")
    for grade in package.grades("runs/strict"):
        assert grade["metrics"]["brevity.short"] == 0.0
        assert grade["reasons"]["brevity.short"] == "18 characters are over the limit of 5"
    printed = json.loads(package.callmark("grade", "runs/strict", "--config", "strict.toml", "--json"))
    assert printed["summary"]["metrics"]["brevity.characters"]["mean"] == 18.0


def test_user_talks_to_an_agent(package: Package) -> None:
    package.callmark(
        "simulate",
        "scenarios.jsonl",
        "--agent",
        "python:lamp_agent:agent",
        "--tools",
        "python:acme_callmark.world:switch_on",
        "--user",
        "acme-user",
        "--name",
        "talk",
    )
    (grade,) = package.grades("runs/talk")
    assert grade["metrics"]["process.reliability"] == 1.0


def test_world_makes_conversations(package: Package) -> None:
    package.callmark("synth", "--world", "lamps", "-n", "6", "-o", "lamps")
    rows = [
        json.loads(line) for half in ("train", "valid") for line in (package.folder / "lamps" / f"{half}.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 6
    assert all(any(message.get("tool_calls") for message in row["messages"]) for row in rows)


def test_names_of_the_package_are_listed_where_a_name_is_wrong(package: Package) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "callmark", "run", "rows.jsonl", "--model", "acme:right", "-e", "brevty"],
        cwd=package.folder,
        env={**os.environ, "PYTHONPATH": str(package.site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "brevity" in done.stderr
