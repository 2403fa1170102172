"""Run `callmark run` as a process, kill it at any moment, resume it, and compare it with an undisturbed run. The chat server is another.

Shared by `tests/runs/test_kills.py` and the proofs in `benchmarks/`.
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
from callmark.runs.event_loop import run_sync
from callmark.runs.run_model import open_run_model
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

RecordedCounts = Counter[str]  # by case, the number of its predictions in predictions.jsonl


class ChatServerProcess(Struct, frozen=True):
    """A chat server in a process of its own."""

    url: str
    log: Path

    def mark(self) -> int:
        """Return the length of its log, once everything is in it that processes which have ended sent.

        The server reads what they sent in the same turn as a request of ours at the latest; the second request is in a later turn.
        """
        body = json.dumps({"model": "mark", "messages": [{"role": "user", "content": _MARK}]}).encode()
        for _ in range(2):
            with urllib.request.urlopen(urllib.request.Request(f"{self.url}/chat/completions", body), timeout=10) as response:
                response.read()
        return self.log.stat().st_size

    def count_requests(self, begin: int, end: int) -> RecordedCounts:
        """Return how often each case was requested between two marks."""
        with self.log.open("rb") as file:
            file.seek(begin)
            lines = file.read(end - begin).splitlines()
        questions = [json.loads(line)["user"] for line in lines]
        return Counter(case_of(question) for question in questions if question != _MARK)


class KillTime(Struct, frozen=True):
    """When to kill: so many seconds after the start, or as soon as so many predictions are recorded."""

    seconds: float | None = None
    recorded: int | None = None


class Kill(Struct, frozen=True):
    """A kill: seconds after the start, whether the process had ended before, and the state of the run folder and of the requests."""

    after: float
    ended: bool
    recorded: int
    in_flight: int
    torn: bool
    has_manifest: bool


class Outcome(Struct):
    """The kills of one run, and everything that is not as it should be."""

    kills: list[Kill] = []
    problems: list[str] = []


def write_cases(path: Path, count: int) -> Path:
    """Write cases that the server answers correctly by repeating the number."""
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
    """Return the case that a prompt of `write_cases` is of."""
    return f"case-{question.rpartition(' ')[2].rstrip('?')}"


@contextmanager
def start_chat_server(log: Path, *arguments: str, script: Sequence[str] = ("-m", "tests.chat_server")) -> Iterator[ChatServerProcess]:
    """Start a chat server in a process of its own, and stop it in the end. With /dev/null as its log it writes none."""
    noting = () if log == Path(os.devnull) else ("--log", str(log))
    with subprocess.Popen([sys.executable, *script, *noting, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ChatServerProcess(process.stdout.readline().strip(), log)
        finally:
            process.kill()


def run_command(cases: Path, model: str, out: Path, name: str, *more: str) -> list[str]:
    """Return the command line of a run without a cache: every request is in the server's log."""
    given = ["run", str(cases), "--model", model, "-o", str(out), "--name", name, "--no-cache", *more]
    return [sys.executable, "-m", "callmark", *given]


def run_to_end(command: Sequence[str], cwd: Path) -> float:
    """Return the seconds that a command took; an exit status other than 0 raises with its message."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr}")
    return seconds


def kill_and_resume(
    command: Sequence[str],
    folder: Path,
    server: ChatServerProcess,
    undisturbed: Path,
    *,
    moments: Sequence[KillTime],
    trials: int,
    concurrency: int,
) -> Outcome:
    """Start a run, kill it, resume it, kill that too, …, let it end, and check everything."""
    outcome = Outcome()
    before: RecordedCounts = Counter()
    mark = server.mark()
    for turn, moment in enumerate(moments):
        after, ended = kill_process([*command, "--resume"] if turn else command, folder, moment)
        end = server.mark()
        requested = server.count_requests(mark, end)
        recorded, torn = count_recorded(folder / PREDICTIONS)
        _check_not_repeated(requested, before, trials, outcome.problems)
        has_manifest = (folder / RUN).exists()
        in_flight = requested.total() - (recorded.total() - before.total())
        outcome.kills.append(Kill(after, ended, recorded.total(), in_flight, torn, has_manifest))
        if in_flight > concurrency:
            outcome.problems.append(f"{in_flight} predictions were lost, {concurrency} at most can have been in flight")
        if before - recorded:
            outcome.problems.append(f"{(before - recorded).total()} predictions were recorded before, and are gone")
        before, mark = recorded, end
    try:
        run_to_end([*command, "--resume"], folder.parent)
    except RuntimeError as error:
        outcome.problems.append(str(error))
        return outcome
    requested = server.count_requests(mark, server.mark())
    _check_not_repeated(requested, before, trials, outcome.problems)
    outcome.problems += differences(folder, undisturbed)
    outcome.problems += [f"{name} was left lying about" for name in sorted(set(os.listdir(folder)) - {RUN, PREDICTIONS, GRADES, SUMMARY})]
    return outcome


def differences(folder: Path, undisturbed: Path) -> list[str]:
    """Return what differs from the other run, times aside: predictions, sorted by case and trial; grades in order; run.json."""
    found = []
    if sorted(_lines(folder / PREDICTIONS), key=_case_and_trial) != sorted(_lines(undisturbed / PREDICTIONS), key=_case_and_trial):
        found.append(f"{PREDICTIONS} differs")
    if _lines(folder / GRADES) != _lines(undisturbed / GRADES):
        found.append(f"{GRADES} differs")
    ours, theirs = (json.loads((each / RUN).read_bytes()) for each in (folder, undisturbed))
    other = [key for key in sorted((ours.keys() | theirs.keys()) - {"name", "created"}) if ours.get(key) != theirs.get(key)]
    return found + [f"{key} of {RUN} is {ours.get(key)!r}, undisturbed {theirs.get(key)!r}" for key in other]


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, without how long each prediction took."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        row["usage"].pop("seconds", None)
    return rows


def _case_and_trial(row: dict[str, Any]) -> tuple[str, int]:
    return row["case"], row.get("trial", 0)


def cut_everywhere(cases: Path, model: str, folder: Path, server: ChatServerProcess, *, step: int = 1) -> tuple[int, list[str]]:
    """Cut off the last line of a finished run after every `step`-th byte, and resume it each time; return how often, and what went wrong.

    A line that is missing or cut off is requested again, once; a line that lacks only its end is complete.
    """
    original = folder.with_name(f"{folder.name}-kept")
    os.rename(folder, original)
    whole = (original / PREDICTIONS).read_bytes()
    begin = whole.rfind(b"\n", 0, -1) + 1
    problems: list[str] = []
    cuts = sorted({*range(begin, len(whole) + 1, step), len(whole) - 2, len(whole) - 1, len(whole)})
    for cut in cuts:
        folder.mkdir(exist_ok=True)
        for name in (RUN, GRADES):
            (folder / name).write_bytes((original / name).read_bytes())
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
        again = server.count_requests(mark, server.mark()).total()
        expected = 0 if cut >= len(whole) - 1 else 1
        found = differences(folder, original) + ([] if again == expected else [f"{again} requested again, {expected} expected"])
        problems += [f"cut after {cut - begin} of {len(whole) - begin} bytes: {each}" for each in found]
    return len(cuts), problems


def kill_process(command: Sequence[str], folder: Path, moment: KillTime) -> tuple[float, bool]:
    """Start a command and kill it; return after how many seconds, and whether it had ended before."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        if moment.seconds is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment.seconds)
        while moment.recorded is not None and process.poll() is None and count_recorded(folder / PREDICTIONS)[0].total() < moment.recorded:
            time.sleep(0.001)
        process.kill()
        return time.perf_counter() - began, process.wait() == 0


def count_recorded(path: Path) -> tuple[RecordedCounts, bool]:
    """Return the counts of complete lines by case, and whether a cut-off line follows them."""
    if not path.exists():
        return Counter(), False
    whole, _, rest = path.read_bytes().rpartition(b"\n")
    return Counter(json.loads(line)["case"] for line in whole.splitlines()), bool(rest)


def _check_not_repeated(requested: RecordedCounts, before: RecordedCounts, trials: int, problems: list[str]) -> None:
    again = {case: count for case, count in requested.items() if count > trials - before[case]}
    if again:
        case, count = next(iter(again.items()))
        problems.append(f"{len(again)} cases were requested though recorded: {case} {count} times, {before[case]} of {trials} were there")
