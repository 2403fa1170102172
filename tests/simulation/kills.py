"""Run `callmark simulate` as a process, kill it at any time, resume it, and compare it with an uninterrupted simulation.

The agent logs a line for every conversation that it starts, so that the log shows what was simulated even if the process was killed. Shared
by `tests/cli/test_simulate_kill.py` and `benchmarks/simulation_kills.py`.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from callmark.formats.evaluation_results import METRICS, RESULTS
from callmark.runs.store import GRADES, PREDICTIONS, RUN, SUMMARY, TOOLS
from tests.runs.kills import Kill, KillTime, Outcome, RecordedCounts, count_recorded, differences, kill_process, run_to_end

_FILES = {RUN, PREDICTIONS, GRADES, SUMMARY, TOOLS, RESULTS, METRICS}


def simulate_command(name: str, *, trials: int, concurrency: int) -> list[str]:
    """Return the command line of a simulation in the folder of `write_folder`."""
    given = [
        "scenarios.jsonl",
        "--agent",
        "python:noting:slow",
        "--tools",
        "python:notes:Notes",
        "--user",
        "script",
        "-o",
        ".",
        "--name",
        name,
    ]
    return [sys.executable, "-m", "callmark", "simulate", *given, "--trials", str(trials), "--concurrency", str(concurrency)]


def kill_and_resume(
    command: Sequence[str], here: Path, name: str, undisturbed: str, *, moments: Sequence[KillTime], trials: int, concurrency: int
) -> Outcome:
    """Start a simulation, kill and resume it several times, let it finish, and check the results."""
    outcome = Outcome()
    folder = here / name
    before: RecordedCounts = Counter()
    (here / "executed.log").unlink(missing_ok=True)
    for turn, moment in enumerate(moments):
        after, ended = kill_process([*command, "--resume"] if turn else command, folder, moment)
        found, torn = count_recorded(folder / PREDICTIONS)
        started = _count_started(here)
        _check_not_repeated(started, before, trials, outcome.problems)
        in_flight = started.total() - (found.total() - before.total())
        outcome.kills.append(Kill(after, ended, found.total(), in_flight, torn, (folder / RUN).exists()))
        if in_flight > concurrency:
            outcome.problems.append(f"{in_flight} conversations were lost, but at most {concurrency} were in progress")
        if before - found:
            outcome.problems.append(f"{(before - found).total()} recorded conversations are gone")
        before = found
    try:
        run_to_end([*command, "--resume"], here)
    except RuntimeError as error:
        outcome.problems.append(str(error))
        return outcome
    _check_not_repeated(_count_started(here), before, trials, outcome.problems)
    outcome.problems += differences(folder, here / undisturbed)
    for file in (TOOLS, METRICS, RESULTS):
        if (folder / file).read_bytes() != (here / undisturbed / file).read_bytes():
            outcome.problems.append(f"{file} differs")
    outcome.problems += [f"{left.name} was left behind" for left in folder.iterdir() if left.name not in _FILES]
    return outcome


def _count_started(here: Path) -> RecordedCounts:
    """Return how often each conversation was started since the last call."""
    log = here / "executed.log"
    if not log.exists():
        return Counter()
    started = log.read_text(encoding="utf-8").split()
    log.unlink()
    return Counter(title.replace("n", "s", 1) for title in started)


def _check_not_repeated(started: RecordedCounts, before: RecordedCounts, trials: int, problems: list[str]) -> None:
    again = {case: count for case, count in started.items() if count > trials - before[case]}
    if again:
        case, count = next(iter(again.items()))
        problems.append(
            f"{len(again)} recorded scenarios were simulated again: {case} {count} times, with {before[case]} of {trials} trials recorded"
        )
