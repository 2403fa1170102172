"""Does every case end as expected when a server fails in every way? 5,000 cases, one in twenty for each of 15 faults.

The fault of each case is drawn from a seed in advance. A fault that a retry can solve occurs only at the first attempt, except for some
cases in which it occurs at every attempt, so that they must end as errors. The other faults are scored predictions and are not retried.
`callmark run` and the server are separate processes. For every case, the outcome and the number of attempts are checked in the run folder
and in the server's log, and so are the totals. Exits with status 1 on any deviation.

    python benchmarks/running_faults.py [--cases 5000] [--concurrency 100] [--timeout 1] [--retries 3] [--seed 1]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))  # the server is in tests/

from tests.chat_server import ChatServer, Response, ResponsePlan
from tests.runs.kills import ChatServerProcess, case_of, run_command, start_chat_server, write_cases

ONE_IN = 20  # cases for each fault
ALWAYS = 2  # cases of each fault in which it occurs at every attempt
WAIT = "0.1"  # seconds of Retry-After; real servers send integers, which would take too long here
CLOSED = "closed at once"
NO_FAULT = "no fault"

# Faults without a prediction, and what the error message must contain if the fault occurs at every attempt.
ERRORS = {
    "429 with Retry-After": "429",
    "429": "429",
    "500": "500",
    "503": "503",
    "slow headers": "did not respond within",
    "cut body": "closed the connection before the response was complete",
    "invalid JSON": "JSON",
    "HTML": "JSON",
    "error object": "The engine is busy",
    "empty choices": "returned no prediction",
    "hang": "did not respond within",
    CLOSED: "closed the connection",
}
SCORED_FAULTS = ("unknown finish reason", "arguments that are not JSON", "duplicate ids")


class PlannedFault(Struct, frozen=True):
    """The fault of a case; `always`: it occurs at every attempt."""

    fault: str
    always: bool = False


class CaseOutcome(Struct, frozen=True):
    """The outcome of a case: attempts in its prediction, requests in the server's log; `right`: the prediction belongs to this case."""

    attempts: int
    requests: int
    what: str
    right: bool


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in {"cases": 5000, "concurrency": 100, "retries": 3, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--timeout", type=float, default=1.0)
    parser.add_argument("--log", default=None, help=argparse.SUPPRESS)  # run as the server
    options = parser.parse_args()
    plan = planned(options.cases, options.seed)
    if options.log:
        return serve(plan, options.log, slow=3 * options.timeout)
    kinds = len(ERRORS) + len(SCORED_FAULTS)
    print(
        f"{options.cases:,} cases, {options.cases // ONE_IN:,} for each of {kinds} faults; concurrency {options.concurrency}, "
        f"timeout {options.timeout:g} s, {options.retries} retries"
    )
    own = ["--cases", str(options.cases), "--seed", str(options.seed), "--timeout", str(options.timeout)]
    with tempfile.TemporaryDirectory() as made, start_chat_server(Path(made, "log"), *own, script=[__file__]) as server:
        folder = Path(made)
        cases = write_cases(folder / "cases.jsonl", options.cases)
        more = ("--concurrency", str(options.concurrency), "--timeout", str(options.timeout), "--retries", str(options.retries), "--json")
        began = time.perf_counter()
        done = subprocess.run(
            run_command(cases, f"{server.url}#model", folder, "faulty", *more), cwd=folder, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - began
        if done.returncode != 3:
            sys.exit(f"expected exit status 3, got {done.returncode}: {done.stderr}")
        summary = json.loads(done.stdout)[0]["summary"]
        predictions = [json.loads(line) for line in (folder / "faulty" / "predictions.jsonl").read_bytes().splitlines()]
        found = look_up(predictions, server)
    print(f"  {seconds:.0f} s")
    return report(plan, found, predictions, summary, options.retries + 1)


def planned(count: int, seed: int) -> list[PlannedFault]:
    """Return the planned fault of each case; the same for the same seed."""
    share = count // ONE_IN
    plan = [PlannedFault(fault, number < ALWAYS) for fault in ERRORS for number in range(share)]
    plan += [PlannedFault(fault) for fault in SCORED_FAULTS for _ in range(share)]
    plan += [PlannedFault(NO_FAULT)] * (count - len(plan))
    Random(seed).shuffle(plan)
    return plan


class Faulty(ChatServer):
    """A server that can also close a connection without a response."""

    def respond(self, transport: asyncio.Transport, head: bytes, body: bytes) -> None:
        self.asking = transport
        super().respond(transport, head, body)


def serve(plan: list[PlannedFault], log: str, *, slow: float) -> int:
    """Print the address and serve the plan until the process is terminated."""

    def answer(number: int, request: Any, attempt: int) -> str | Response:
        question = request["messages"][-1]["content"]
        one = plan[int(case_of(question).removeprefix("case-"))]
        if one.fault == NO_FAULT or (attempt and not one.always):
            return "answer"
        if one.fault == CLOSED:
            server.asking.abort()
            return "hang"
        if one.fault == "429 with Retry-After":
            return Response(429, b'{"error": {"message": "Slow down"}}', {"Retry-After": WAIT})
        return one.fault

    async def listen() -> None:
        listening = await server.start()
        print(server.url, flush=True)
        async with listening:
            await listening.serve_forever()

    follow: ResponsePlan = answer
    server = Faulty(follow, slow=slow, log=os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), record=False)
    asyncio.run(listen())
    return 0


def look_up(predictions: list[dict[str, Any]], server: ChatServerProcess) -> dict[str, CaseOutcome]:
    """Return the outcome by case. Duplicate predictions of a case show up in the totals."""
    requests = server.count_requests(0, server.log.stat().st_size)
    return {row["case"]: outcome_of(row, requests[row["case"]]) for row in predictions}


def outcome_of(row: dict[str, Any], requests: int) -> CaseOutcome:
    """Return the outcome of a prediction, derived without the plan."""
    attempts = row["usage"].get("attempts", 1)
    if "error" in row:
        return CaseOutcome(attempts, requests, row["error"], not row.get("calls"))
    number = row["case"].removeprefix("case-")
    calls = row["calls"]
    malformed = [call for call in calls if call.get("malformed")]
    right = all(call["name"] == "get_order" and (call in malformed or call["arguments"] == {"order_id": number}) for call in calls)
    what = "no call"
    if malformed:
        what = "arguments that are not JSON"
    elif len(calls) > 1:
        what = "duplicate ids" if len({call["id"] for call in calls}) == 1 else "several calls"
    elif calls:
        what = NO_FAULT if row["finish_reason"] == "tool_calls" else "unknown finish reason"
    return CaseOutcome(attempts, requests, what, right)


def as_planned(one: PlannedFault, found: CaseOutcome | None, most: int) -> bool:
    """Return whether a case ended as planned."""
    if found is None or not found.right:
        return False
    attempts = most if one.always else 2 if one.fault in ERRORS else 1
    if found.attempts != attempts or found.requests != attempts:
        return False
    if one.always:
        return ERRORS[one.fault] in found.what
    return found.what == (one.fault if one.fault in SCORED_FAULTS else NO_FAULT)


def report(
    plan: list[PlannedFault], found: dict[str, CaseOutcome], predictions: list[dict[str, Any]], summary: dict[str, Any], most: int
) -> int:
    """Print a row for each fault, the totals, and the verdict."""
    ended = {fault: (Counter[bool](), Counter[bool]()) for fault in (*ERRORS, *SCORED_FAULTS, NO_FAULT)}
    wrong = []
    for number, one in enumerate(plan):
        case = f"case-{number}"
        good = as_planned(one, found.get(case), most)
        ended[one.fault][one.always][good] += 1
        if not good:
            wrong.append(f"{case}, {one.fault}{' at every attempt' if one.always else ''}: {found.get(case)}")
    print(f"  {'':28} {'planned':>8} {'predicted':>9}   {'planned':>8} {'error':>6}")
    for fault, (once, always) in ended.items():
        lasting = f"   {always.total():8,} {always[True]:6,}" if always else ""
        print(f"  {fault:28} {once.total():8,} {once[True]:9,}{lasting}")
    errors = sum(one.always for one in plan)
    attempts = sum(most if one.always else 2 if one.fault in ERRORS else 1 for one in plan)
    of_fault = Counter(one.fault for one in plan)
    called = [call for row in predictions for call in row.get("calls", [])]
    sums = {
        "rows": (len(plan), len(predictions)),
        "cases with a row": (len(plan), len(found)),
        "predictions": (len(plan) - errors, sum("error" not in row for row in predictions)),
        "errors": (errors, sum("error" in row for row in predictions)),
        "errors in the summary": (errors, summary["errors"]),
        "malformed calls": (of_fault["arguments that are not JSON"], sum(bool(call.get("malformed")) for call in called)),
        "malformed in the summary": (
            of_fault["arguments that are not JSON"],
            sum(fault["count"] for fault in summary["faults"] if fault["kind"] == "malformed_call"),
        ),
        "calls": (len(plan) - errors + of_fault["duplicate ids"], len(called)),
        "attempts in predictions": (attempts, sum(one.attempts for one in found.values())),
        "requests in the server's log": (attempts, sum(one.requests for one in found.values())),
    }
    print(f"  {'':28} {'planned':>8} {'found':>9}")
    for name, (expected, got) in sums.items():
        print(f"  {name:28} {expected:8,} {got:9,}{'' if expected == got else '  NOT EQUAL'}")
    for line in wrong[:10]:
        print(f"  not as planned: {line}")
    passed = not wrong and all(expected == got for expected, got in sums.values())
    print(f"  every case ended as planned: {'ok' if passed else f'FAILED for {len(wrong):,}'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
