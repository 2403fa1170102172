"""`callmark run` as a process, against a chat server as another; killed at any moment, gone on with, and compared with a run that was not.

What `tests/runs/test_kills.py` and the proofs in `benchmarks/` share.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from callmark.grading.settings import GradingSettings
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.runs.run_model import open_run_model
from callmark.runs.run_models import run_sync
from callmark.runs.runner import Runner
from callmark.runs.selection import CaseSelection
from callmark.runs.store import GRADES, PREDICTIONS, RUN, SUMMARY
from callmark.runs.worker import Budget

ROOT = Path(__file__).parents[2]
_MARK = "nobody's question"
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Where an order is",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "description": "The number of the order"}},
            "required": ["order_id"],
        },
    },
}

Recorded = Counter[str]  # by case, how many of its answers stand in predictions.jsonl


class Served(Struct, frozen=True):
    """A chat server in a process of its own."""

    url: str
    log: Path

    def mark(self) -> int:
        """How far its log goes, with everything in it that was sent by processes that are gone.

        What they sent is read by the server in the same turn as a question of ours at the latest; the second question is in a later turn.
        """
        body = json.dumps({"model": "mark", "messages": [{"role": "user", "content": _MARK}]}).encode()
        for _ in range(2):
            with urllib.request.urlopen(urllib.request.Request(f"{self.url}/chat/completions", body), timeout=10) as answer:
                answer.read()
        return self.log.stat().st_size

    def asked(self, begin: int, end: int) -> Recorded:
        """How often each case was asked for between two marks."""
        with self.log.open("rb") as file:
            file.seek(begin)
            lines = file.read(end - begin).splitlines()
        questions = [json.loads(line)["user"] for line in lines]
        return Counter(case_of(question) for question in questions if question != _MARK)


class Moment(Struct, frozen=True):
    """When to kill: so many seconds after the start, or as soon as so many answers are recorded."""

    seconds: float | None = None
    recorded: int | None = None


class Killed(Struct, frozen=True):
    """A kill: seconds after the start, whether there was nothing left to kill, and how things stood between asking and writing."""

    after: float
    ended: bool
    recorded: int
    in_flight: int
    torn: bool
    begun: bool


class Outcome(Struct):
    """What became of one run that was killed: every kill, and whatever is not as it should be."""

    kills: list[Killed] = []
    problems: list[str] = []


def write_cases(path: Path, count: int) -> Path:
    """Cases that a server answers rightly by saying the number again."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            call = {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_order", "arguments": json.dumps({"order_id": str(number)})},
            }
            case = {
                "id": f"case-{number}",
                "messages": [{"role": "user", "content": f"Where is order {number}?"}],
                "tools": [_TOOL],
                "expected_output": {"role": "assistant", "tool_calls": [call]},
            }
            file.write(json.dumps(case) + "\n")
    return path


def case_of(question: str) -> str:
    """The case that a question of `write_cases` is of."""
    return f"case-{question.rpartition(' ')[2].rstrip('?')}"


@contextmanager
def served(log: Path, *arguments: str, script: Sequence[str] = ("-m", "tests.chat_server")) -> Iterator[Served]:
    """A chat server in a process of its own, ended in the end. A log that is /dev/null keeps it from writing one."""
    noting = () if log == Path(os.devnull) else ("--log", str(log))
    with subprocess.Popen([sys.executable, *script, *noting, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(process.stdout.readline().strip(), log)
        finally:
            process.kill()


def run_command(cases: Path, model: str, out: Path, name: str, *more: str) -> list[str]:
    """The command line of a run that remembers nothing: what is asked for is in the server's log."""
    given = ["run", str(cases), "--model", model, "-o", str(out), "--name", name, "--no-cache", *more]
    return [sys.executable, "-m", "callmark", *given]


def run_to_end(command: Sequence[str], cwd: Path) -> float:
    """The seconds that it took; a run that does not end well raises with what it said."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr}")
    return seconds


def killed_and_resumed(
    command: Sequence[str], folder: Path, server: Served, undisturbed: Path, *, moments: Sequence[Moment], trials: int, at_once: int
) -> Outcome:
    """Start a run, kill it so many seconds later, go on with it, kill that too, …, let it end; and look at everything."""
    outcome = Outcome()
    before: Recorded = Counter()
    mark = server.mark()
    for turn, moment in enumerate(moments):
        after, ended = killed([*command, "--resume"] if turn else command, folder, moment)
        end = server.mark()
        asked = server.asked(mark, end)
        recorded, torn = recorded_in(folder / PREDICTIONS)
        _refuse_again(asked, before, trials, outcome.problems)
        begun = (folder / RUN).exists()
        in_flight = asked.total() - (recorded.total() - before.total())
        outcome.kills.append(Killed(after, ended, recorded.total(), in_flight, torn, begun))
        if in_flight > at_once:
            outcome.problems.append(f"{in_flight} answers were lost, {at_once} at most can have been in flight")
        if before - recorded:
            outcome.problems.append(f"{(before - recorded).total()} answers were recorded before, and are gone")
        before, mark = recorded, end
    try:
        run_to_end([*command, "--resume"], folder.parent)
    except RuntimeError as error:
        outcome.problems.append(str(error))
        return outcome
    asked = server.asked(mark, server.mark())
    _refuse_again(asked, before, trials, outcome.problems)
    outcome.problems += differences(folder, undisturbed)
    outcome.problems += [f"{name} was left lying about" for name in sorted(set(os.listdir(folder)) - {RUN, PREDICTIONS, GRADES, SUMMARY})]
    return outcome


def differences(folder: Path, undisturbed: Path) -> list[str]:
    """What is not as in the other run, times aside: predictions, sorted by case and trial; grades, as they stand; what run.json says."""
    found = []
    if sorted(_lines(folder / PREDICTIONS), key=_case_and_trial) != sorted(_lines(undisturbed / PREDICTIONS), key=_case_and_trial):
        found.append(f"{PREDICTIONS} differs")
    if _lines(folder / GRADES) != _lines(undisturbed / GRADES):
        found.append(f"{GRADES} differs")
    ours, theirs = (json.loads((each / RUN).read_bytes()) for each in (folder, undisturbed))
    other = [key for key in sorted((ours.keys() | theirs.keys()) - {"name", "created"}) if ours.get(key) != theirs.get(key)]
    return found + [f"{key} of {RUN} is {ours.get(key)!r}, undisturbed {theirs.get(key)!r}" for key in other]


def _lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, without how long each answer took."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        row["usage"].pop("seconds", None)
    return rows


def _case_and_trial(row: dict[str, Any]) -> tuple[str, int]:
    return row["case"], row.get("trial", 0)


def torn_everywhere(cases: Path, model: str, folder: Path, server: Served, *, step: int = 1) -> tuple[int, list[str]]:
    """Cut the last line of a whole run off after every `step`-th byte, and go on with it each time: how often, and what was not right.

    Nothing of the line, or a part of it, is asked for again, once; a line that lacks only its end is whole.
    """
    kept = folder.with_name(f"{folder.name}-kept")
    os.rename(folder, kept)
    whole = (kept / PREDICTIONS).read_bytes()
    begin = whole.rfind(b"\n", 0, -1) + 1
    problems: list[str] = []
    cuts = sorted({*range(begin, len(whole) + 1, step), len(whole) - 2, len(whole) - 1, len(whole)})
    for cut in cuts:
        folder.mkdir(exist_ok=True)
        for name in (RUN, GRADES):
            (folder / name).write_bytes((kept / name).read_bytes())
        (folder / PREDICTIONS).write_bytes(whole[:cut])
        mark = server.mark()
        runner = Runner(
            CaseSelection(str(cases)),
            [open_run_model(None, ModelSettings(model=model), Keys())],
            GradingSettings(),
            Keys(),
            out=str(folder.parent),
            name=folder.name,
            resume=True,
        )
        run_sync(partial(runner.predict, cache=None, budget=Budget()))
        runner.grade()
        again = server.asked(mark, server.mark()).total()
        wanted = 0 if cut >= len(whole) - 1 else 1
        found = differences(folder, kept) + ([] if again == wanted else [f"{again} asked for again, {wanted} expected"])
        problems += [f"cut after {cut - begin} of {len(whole) - begin} bytes: {each}" for each in found]
    return len(cuts), problems


def killed(command: Sequence[str], folder: Path, moment: Moment) -> tuple[float, bool]:
    """The seconds after which it was killed, and whether it had ended by then, so that there was nothing to kill."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        if moment.seconds is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment.seconds)
        while moment.recorded is not None and process.poll() is None and recorded_in(folder / PREDICTIONS)[0].total() < moment.recorded:
            time.sleep(0.001)
        process.kill()
        return time.perf_counter() - began, process.wait() == 0


def recorded_in(path: Path) -> tuple[Recorded, bool]:
    """What stands in whole lines, and whether there is a torn one after them."""
    if not path.exists():
        return Counter(), False
    whole, _, rest = path.read_bytes().rpartition(b"\n")
    return Counter(json.loads(line)["case"] for line in whole.splitlines()), bool(rest)


def _refuse_again(asked: Recorded, before: Recorded, trials: int, problems: list[str]) -> None:
    again = {case: count for case, count in asked.items() if count > trials - before[case]}
    if again:
        case, count = next(iter(again.items()))
        problems.append(f"{len(again)} cases were asked for though recorded: {case} {count} times, {before[case]} of {trials} were there")
