"""Is anything lost when `callmark simulate` is killed? Kills it at random moments, resumes it, and compares it with an undisturbed one.

The command runs as a separate process; its agent writes a line for every conversation that it starts. Each simulation is killed with
SIGKILL at a random moment between its start and a little after the time of an undisturbed one, every fifth one twice; then it is resumed
with `--resume`. Sorted by case and trial, and without `usage.seconds`, the predictions must equal the undisturbed ones; so must the grades,
in order, run.json, and the two files of the LOB evaluation. No conversation in predictions.jsonl at the time of the kill is simulated
again, and nothing is lost but the conversations in flight. Exits with status 1 on any difference.

    python benchmarks/simulation_kills.py [--runs 30] [--cases 60] [--trials 2] [--concurrency 8] [--seed 1]
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))  # the scenarios are in tests/

from tests.runs.kills import Kill, KillTime, Outcome, run_to_end
from tests.simulation.kills import kill_and_resume, simulate_command
from tests.simulation.notes_case import write_folder

BEYOND = 1.05  # times the duration of an undisturbed simulation
TWICE = 5  # every fifth simulation is killed twice


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
            f"{options.cases:,} scenarios, {options.trials} trials, concurrency {options.concurrency}: {seconds:.2f} s undisturbed; "
            f"{options.runs} simulations, killed between 0 and {seconds * BEYOND:.2f} s"
        )
        print(f"  {'run':>4} {'killed after':>12}  {'recorded':>8} {'in flight':>9} {'last line':>9}  result")
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
    """Print when the simulations were killed, judging by their files, and the verdict."""
    kills = [kill for outcome in outcomes for kill in outcome.kills]
    moments = Counter(moment(kill, conversations) for kill in kills)
    print(f"  {len(kills)} kills: " + ", ".join(f"{count} {name}" for name, count in moments.most_common()))
    print(f"  in flight when killed, and simulated again: {sum(kill.in_flight for kill in kills):,} in total")
    wrong = sum(bool(outcome.problems) for outcome in outcomes)
    print(f"  nothing lost, nothing recorded simulated again, {len(outcomes)} simulations: {f'FAILED in {wrong}' if wrong else 'ok'}")
    return 1 if wrong else 0


def moment(kill: Kill, conversations: int) -> str:
    if kill.ended:
        return "after the end"
    if not kill.has_manifest:
        return "before the run folder existed"
    if not kill.recorded:
        return "before the first conversation ended"
    return "between the first and the last conversation" if kill.recorded < conversations else "during grading"


if __name__ == "__main__":
    sys.exit(main())
