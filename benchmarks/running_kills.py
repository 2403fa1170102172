"""Is anything lost when `callmark run` is killed? Kills it at random moments, resumes it, and compares it with an undisturbed run.

The command and the server are separate processes. Each run is killed with SIGKILL at a random moment between its start and a little after
the time of an undisturbed run, every fifth one twice; then it is resumed with `--resume`. Sorted by case and trial, and without
`usage.seconds`, the predictions must equal those of the undisturbed run; so must the grades, in order, and run.json. According to the
server's log, nothing in predictions.jsonl at the time of the kill is requested again, and nothing is lost but the requests in flight.
Because a kill almost never hits a write, the last line is also truncated after each of its bytes. Exits with status 1 on any difference.

    python benchmarks/running_kills.py [--runs 50] [--cases 300] [--trials 2] [--concurrency 20] [--latency 0.03] [--seed 1]
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))  # the server is in tests/

from tests.runs.kills import (
    Kill,
    KillTime,
    Outcome,
    cut_everywhere,
    kill_and_resume,
    run_command,
    run_to_end,
    start_chat_server,
    write_cases,
)

BEYOND = 1.05  # times the duration of an undisturbed run
TWICE = 5  # every fifth run is killed twice
TORN_CASES = 3


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"runs": 50, "cases": 300, "trials": 2, "concurrency": 20, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--latency", type=float, default=0.03)
    options = parser.parse_args()
    random = Random(options.seed)
    with tempfile.TemporaryDirectory() as path, start_chat_server(Path(path, "log"), "--latency", str(options.latency)) as server:
        folder = Path(path)
        cases, model = write_cases(folder / "cases.jsonl", options.cases), f"{server.url}#model"
        more = ("--trials", str(options.trials), "--concurrency", str(options.concurrency))
        seconds = run_to_end(run_command(cases, model, folder, "undisturbed", *more), folder)
        print(
            f"{options.cases:,} cases, {options.trials} trials, concurrency {options.concurrency}, latency {options.latency * 1000:g} ms: "
            f"{seconds:.2f} s undisturbed; {options.runs} runs, killed between 0 and {seconds * BEYOND:.2f} s"
        )
        print(f"  {'run':>4} {'killed after':>12}  {'recorded':>8} {'in flight':>9} {'last line':>9}  result")
        outcomes = []
        for number in range(1, options.runs + 1):
            moments = [KillTime(random.uniform(0, seconds * BEYOND)) for _ in range(1 if number % TWICE else 2)]
            name = f"killed-{number}"
            command = run_command(cases, model, folder, name, *more)
            outcomes.append(
                kill_and_resume(
                    command,
                    folder / name,
                    server,
                    folder / "undisturbed",
                    moments=moments,
                    trials=options.trials,
                    concurrency=options.concurrency,
                )
            )
            show(number, outcomes[-1])
        write_cases(cases, TORN_CASES)
        run_to_end(run_command(cases, model, folder, "torn"), folder)
        cuts, problems = cut_everywhere(cases, model, folder / "torn", server)
    return report(outcomes, options.cases * options.trials, cuts, problems)


def show(number: int, outcome: Outcome) -> None:
    for turn, kill in enumerate(outcome.kills, 1):
        then = "" if turn < len(outcome.kills) else "; ".join(outcome.problems) or "equal"
        line = "torn" if kill.torn else "whole" if kill.recorded else "none"
        label = str(number) if turn == 1 else ""
        print(f"  {label:>4} {kill.after:10.3f} s  {kill.recorded:8,} {kill.in_flight:9,} {line:>9}  {then}")


def report(outcomes: list[Outcome], requests: int, cuts: int, problems: list[str]) -> int:
    """Print when the runs were killed, judging by their files, and the verdict."""
    kills = [kill for outcome in outcomes for kill in outcome.kills]
    moments = Counter(moment(kill, requests) for kill in kills)
    print(f"  {len(kills)} kills: " + ", ".join(f"{count} {name}" for name, count in moments.most_common()))
    sending = [kill for kill in kills if kill.in_flight]
    if sending:
        least, most = min(kill.in_flight for kill in sending), max(kill.in_flight for kill in sending)
        print(f"  in flight when killed, and requested again: {least:,} to {most:,}, {sum(kill.in_flight for kill in kills):,} in total")
    print(f"  last lines torn by a kill: {sum(kill.torn for kill in kills)}")
    repaired = f"{len(problems)} DIFFERENCES" if problems else "repaired each time"
    print(f"  last line truncated after each of its bytes, {cuts} times: {repaired}")
    for problem in problems[:10]:
        print(f"    {problem}")
    wrong = sum(bool(outcome.problems) for outcome in outcomes)
    print(f"  nothing lost, nothing recorded requested again, {len(outcomes)} runs: {f'FAILED in {wrong}' if wrong else 'ok'}")
    return 1 if wrong or problems else 0


def moment(kill: Kill, requests: int) -> str:
    if kill.ended:
        return "after the end"
    if not kill.has_manifest:
        return "before the run folder existed"
    if not kill.recorded and not kill.in_flight:
        return "before the first request"
    if kill.recorded == requests:
        return "after the last prediction, before the end"
    return "between the first and the last prediction"


if __name__ == "__main__":
    sys.exit(main())
