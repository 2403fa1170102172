"""Is anything lost when `callmark simulate` is killed? Kill it at random moments, resume it, and compare it with an undisturbed one.

The command runs as a process of its own; its agent writes a line for every conversation that it begins. Each simulation is killed with
SIGKILL at a moment drawn uniformly between its start and a little after the time that an undisturbed one takes, every fifth one once more
after that; then `--resume` runs to its end. Without `usage.seconds` the predictions, sorted by case and trial, must equal the undisturbed
ones; so must the grades as they stand, what run.json says, and document 004's two files. No conversation that stood in predictions.jsonl at
the moment of a kill is held again, and no more is lost than was under way. Exit status 1 on any difference.

    python benchmarks/simulation_kills.py [--runs 30] [--cases 60] [--trials 2] [--concurrency 8] [--seed 1]
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder to simulate in is the tests'

from tests.runs.kills import Kill, KillTime, Outcome, run_to_end
from tests.simulation.kills import kill_and_resume, simulate_command
from tests.simulation.notes_case import write_folder

BEYOND = 1.05  # of the time that an undisturbed one takes
TWICE = 5  # every so many are killed twice


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"runs": 30, "cases": 60, "trials": 2, "concurrency": 8, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    random = Random(options.seed)
    how = {"trials": options.trials, "concurrency": options.concurrency}
    with tempfile.TemporaryDirectory() as made:
        here = Path(made)
        write_folder(here, options.cases)
        seconds = run_to_end(simulate_command("undisturbed", **how), here)
        print(
            f"{options.cases:,} scenarios, {options.trials} trials, {options.concurrency} at a time: {seconds:.2f} s undisturbed; "
            f"{options.runs} simulations, killed between 0 and {seconds * BEYOND:.2f} s"
        )
        print(f"  {'run':>4} {'killed after':>12}  {'recorded':>8} {'under way':>9} {'last line':>9}  then")
        outcomes = []
        for number in range(1, options.runs + 1):
            moments = [KillTime(random.uniform(0, seconds * BEYOND)) for _ in range(1 if number % TWICE else 2)]
            name = f"killed-{number}"
            outcomes.append(kill_and_resume(simulate_command(name, **how), here, name, "undisturbed", moments=moments, **how))
            show(number, outcomes[-1])
    return report(outcomes, options.cases * options.trials)


def show(number: int, outcome: Outcome) -> None:
    for turn, kill in enumerate(outcome.kills, 1):
        then = "" if turn < len(outcome.kills) else "; ".join(outcome.problems) or "equal"
        line = "torn" if kill.torn else "whole" if kill.recorded else "none"
        print(f"  {str(number) if turn == 1 else '':>4} {kill.after:10.3f} s  {kill.recorded:8,} {kill.in_flight:9,} {line:>9}  {then}")


def report(outcomes: list[Outcome], conversations: int) -> int:
    """When the kills were, seen from what was written, and the verdict."""
    kills = [kill for outcome in outcomes for kill in outcome.kills]
    moments = Counter(moment(kill, conversations) for kill in kills)
    print(f"  {len(kills)} kills: " + ", ".join(f"{count} {name}" for name, count in moments.most_common()))
    print(f"  under way when killed, and held again: {sum(kill.in_flight for kill in kills):,} in all")
    wrong = sum(bool(outcome.problems) for outcome in outcomes)
    print(f"  nothing lost, nothing recorded held again, {len(outcomes)} simulations: {f'NOT HELD in {wrong}' if wrong else 'held'}")
    return 1 if wrong else 0


def moment(kill: Kill, conversations: int) -> str:
    if kill.ended:
        return "after the end"
    if not kill.has_manifest:
        return "before there was a run"
    if not kill.recorded:
        return "before the first conversation was over"
    return "in the middle" if kill.recorded < conversations else "while it was graded"


if __name__ == "__main__":
    sys.exit(main())
