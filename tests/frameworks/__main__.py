"""Put the same agent under test in six frameworks and by hand, and compare every call and every grade.

    python -m tests.frameworks --environments FOLDER [--scenarios 12] [--record] [NAME …]

FOLDER/NAME/bin/python has the framework and callmark. The agent is the help desk with a stand-in model that makes two mistakes
(`stand_in.py`); by hand, callmark's own loop sends the same requests. Also shown: what becomes of a model that calls an unknown tool, of
one that writes arguments that are not JSON, and of a server that fails. `--record` writes the messages of one conversation, as the
framework returned them, to `fixtures`. Exits with status 1 if anything differs.
"""

import argparse
import json
import os
import subprocess  # the frameworks are in environments of their own
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import callmark
from tests.frameworks.stand_in import BROKEN, NOT_JSON, UNKNOWN_TOOL, serve

FRAMEWORKS = {  # its name, and the packages whose versions are shown
    "langgraph": ("langgraph", "langchain"),
    "openai-agents": ("openai-agents",),
    "pydantic-ai": ("pydantic-ai-slim",),
    "agent-framework": ("agent-framework-core",),
    "semantic-kernel": ("semantic-kernel",),
    "adk": ("google-adk",),
}
NO_RUN = "NO RUN"
FOLDER = Path(__file__).parent.resolve()
FIXTURES = FOLDER / "fixtures"
CONFIG = Path(callmark.__file__).parent / "worlds/helpdesk/callmark.toml"


class Outcome(NamedTuple):
    """What a run has for each conversation: its calls, its grades, and why it ended or failed."""

    calls: dict[str, list[Any]]
    grades: dict[str, Any]
    endings: dict[str, str]
    faults: int
    seconds: float
    problem: str = ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", required=True, type=Path)
    parser.add_argument("--scenarios", type=int, default=12)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*", default=list(FRAMEWORKS))
    options = parser.parse_args()
    different = 0
    with serve() as url, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        scenarios = folder / "scenarios.jsonl"
        _callmark(sys.executable, folder, {}, "synth", "--scenarios-only", "-n", str(options.scenarios), "-o", str(scenarios))
        by_hand = simulate(sys.executable, folder, f"{url}#stand-in", "by hand", scenarios)
        record_scenario = folder / "recorded.jsonl"
        if options.record:
            _record_by_hand(folder, url, scenarios, record_scenario, max(by_hand.calls, key=lambda case: len(by_hand.calls[case])))
        count = sum(map(len, by_hand.calls.values()))
        print(f"{len(by_hand.calls)} conversations, {count} calls, {by_hand.faults} faults by hand\n")
        row = "{:16} {:28} {:>6} {:>11} {:>12} {:>13} {:>16} {:>20} {:>8} {:>7}".format
        print(row("agent", "version", "calls", "same calls", "same grades", "same endings", "unknown tool", "invalid JSON", "server", "s"))
        hand = [probe(sys.executable, folder, f"{url}#{model}", scenarios) for model in (UNKNOWN_TOOL, NOT_JSON, BROKEN)]
        print(row("by hand", f"callmark {metadata.version('callmark')}", count, "", "", "", *hand, f"{by_hand.seconds:.1f}"))
        different += not is_expected(hand)
        for name in options.names:
            python = str(options.environments.absolute() / name / "bin" / "python")
            agent = f"{name}:{name.replace('-', '_')}_agent:make"
            environment = {"STAND_IN_URL": url, "STAND_IN_MODEL": "stand-in"}
            if options.record:
                recorded = {**environment, "CALLMARK_RECORD": str(FIXTURES / f"{name}.json")}
                simulate(python, folder, agent, f"recorded-{name}", record_scenario, recorded)
            found = simulate(python, folder, agent, name, scenarios, environment)
            if found.problem:
                print(f"{name}: {found.problem}")
                different += 1
                continue
            same = [
                sum(found.calls.get(case) == calls for case, calls in by_hand.calls.items()),
                sum(found.grades.get(case) == grade for case, grade in by_hand.grades.items()),
                sum(found.endings.get(case) == ending for case, ending in by_hand.endings.items()),
            ]
            shares = [f"{number}/{len(by_hand.calls)}" for number in same]
            probes = [
                probe(python, folder, agent, scenarios, {**environment, "STAND_IN_MODEL": model})
                for model in (UNKNOWN_TOOL, NOT_JSON, BROKEN)
            ]
            print(
                row(name, version(python, name), sum(map(len, found.calls.values())), *shares, *probes, f"{found.seconds:.1f}"), flush=True
            )
            different += any(number < len(by_hand.calls) for number in same) or not is_expected(probes)
    return int(bool(different))


def simulate(
    python: str, folder: Path, agent: str, name: str, scenarios: Path, environment: Mapping[str, str] | None = None, *options: str
) -> Outcome:
    """Simulate the scenarios with an agent, and return what the run has."""
    began = time.monotonic()
    out = folder / "runs" / name.replace(" ", "-")
    tools = f"mcp:{python} -m callmark.worlds.helpdesk"
    arguments = ["simulate", str(scenarios), "--agent", agent, "--tools", tools, "--config", str(CONFIG), "--no-cache", "--retries", "0"]
    problem = _callmark(python, folder, environment or {}, *arguments, "-o", str(out.parent), "--name", out.name, *options)
    if not (out / "grades.jsonl").is_file():
        return Outcome({}, {}, {}, 0, 0.0, problem)
    calls: dict[str, list[Any]] = {}
    endings: dict[str, str] = {}
    for line in (out / "predictions.jsonl").read_bytes().splitlines():
        row = json.loads(line)
        calls[row["case"]] = [(call["name"], call.get("arguments", {}), call.get("malformed", "")) for call in row.get("calls", ())]
        endings[row["case"]] = "error" if "error" in row else row["ending"]
    grades: dict[str, Any] = {}
    for line in (out / "grades.jsonl").read_bytes().splitlines():
        row = json.loads(line)
        grades[row["case"]] = {key: value for key, value in row.items() if key != "usage"}
    faults = sum(len(grade.get("faults", ())) for grade in grades.values())
    return Outcome(calls, grades, endings, faults, time.monotonic() - began)


def probe(python: str, folder: Path, agent: str, scenarios: Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what became of the first conversation: `error`, or its ending; `NO RUN` if there is none, which is printed."""
    name = f"probe-{time.monotonic_ns()}"
    found = simulate(python, folder, agent, name, scenarios, environment, "--limit", "1")
    if not found.endings:
        print(f"{agent}: {found.problem}")
    return next(iter(found.endings.values()), NO_RUN)


def is_expected(probes: Sequence[str]) -> bool:
    """Return whether a model's mistakes are scored, and the failure of its server is an error."""
    return probes[2] == "error" and not {"error", NO_RUN} & set(probes[:2])


def _record_by_hand(folder: Path, url: str, scenarios: Path, scenario: Path, case: str) -> None:
    """Write one scenario to a file of its own, and its conversation by hand to the fixtures."""
    rows = [line for line in scenarios.read_text(encoding="utf-8").splitlines() if json.loads(line)["id"] == case]
    scenario.write_text("\n".join(rows) + "\n", encoding="utf-8")
    simulate(sys.executable, folder, f"{url}#stand-in", "recorded", scenario)
    (row,) = map(json.loads, (folder / "runs" / "recorded" / "predictions.jsonl").read_bytes().splitlines())
    FIXTURES.mkdir(exist_ok=True)
    (FIXTURES / "by_hand.json").write_text(json.dumps(row["transcript"], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def version(python: str, name: str) -> str:
    code = "import sys; from importlib.metadata import version; print(' '.join(f'{n} {version(n)}' for n in sys.argv[1:]))"
    return subprocess.run([python, "-c", code, *FRAMEWORKS[name]], capture_output=True, text=True, check=True).stdout.strip()


def _callmark(python: str, folder: Path, environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command in the folder of the agents; return the end of its messages if it fails."""
    variables = {**os.environ, **environment, "CALLMARK_CACHE": str(folder / "cache.sqlite"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "callmark", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER / "agents", env=variables, check=False)
    return "" if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr.strip()[-600:]}"


if __name__ == "__main__":
    sys.exit(main())
