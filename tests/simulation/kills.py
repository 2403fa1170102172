"""`callmark simulate` as a process that is killed at any moment, gone on with, and compared with one that was not.

The agent writes a line for every conversation that it begins, so that it is known what was held, whoever was killed. What
`tests/cli/test_simulate_kill.py` and the proof in `benchmarks/` share.
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
    """The command line of a simulation in the folder of `write_folder`."""
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
    """Start a simulation, kill it, go on with it, kill that too, …, let it end; and look at everything."""
    outcome = Outcome()
    folder = here / name
    before: RecordedCounts = Counter()
    (here / "executed.log").unlink(missing_ok=True)
    for turn, moment in enumerate(moments):
        after, ended = kill_process([*command, "--resume"] if turn else command, folder, moment)
        found, torn = count_recorded(folder / PREDICTIONS)
        finished = _taken(here)
        _check_not_repeated(finished, before, trials, outcome.problems)
        in_flight = finished.total() - (found.total() - before.total())
        outcome.kills.append(Kill(after, ended, found.total(), in_flight, torn, (folder / RUN).exists()))
        if in_flight > concurrency:
            outcome.problems.append(f"{in_flight} conversations were lost, {concurrency} at most can have been under way")
        if before - found:
            outcome.problems.append(f"{(before - found).total()} conversations were recorded before, and are gone")
        before = found
    try:
        run_to_end([*command, "--resume"], here)
    except RuntimeError as error:
        outcome.problems.append(str(error))
        return outcome
    _check_not_repeated(_taken(here), before, trials, outcome.problems)
    outcome.problems += differences(folder, here / undisturbed)
    for file in (TOOLS, METRICS, RESULTS):
        if (folder / file).read_bytes() != (here / undisturbed / file).read_bytes():
            outcome.problems.append(f"{file} differs")
    outcome.problems += [f"{left.name} was left lying about" for left in folder.iterdir() if left.name not in _FILES]
    return outcome


def _taken(here: Path) -> RecordedCounts:
    """How often each conversation was begun since the last look."""
    log = here / "executed.log"
    if not log.exists():
        return Counter()
    begun = log.read_text(encoding="utf-8").split()
    log.unlink()
    return Counter(title.replace("n", "s", 1) for title in begun)


def _check_not_repeated(finished: RecordedCounts, before: RecordedCounts, trials: int, problems: list[str]) -> None:
    again = {case: count for case, count in finished.items() if count > trials - before[case]}
    if again:
        case, count = next(iter(again.items()))
        problems.append(f"{len(again)} scenarios were played though recorded: {case} {count} times, {before[case]} of {trials} were there")
