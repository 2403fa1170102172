"""Check synthetic data over tools of your own: OpenAPI files, lists of tools and MCP servers, as for `callmark synth --tools`.

For each, `callmark synth` has to make the number of conversations, `callmark lint` must find no error and no hallucinated value, and
optional parameters must be used. Results that are mocked must be marked so in every row. Real results are checked by replaying every
conversation on fresh tools: each call must return the recorded result, and exactly the calls that a row names as refused must be refused. A
result that differs is no failure if it differs again in a second replay: then the tool gives other results each time. Exits with status 1
if a check fails.

    python benchmarks/tool_synthesis.py --number 300 petstore.yaml github.json
    python benchmarks/tool_synthesis.py --number 100 'mcp:npx -y @modelcontextprotocol/server-everything'
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import callmark
from callmark.calls.results import match_results
from callmark.calls.schema import properties, required
from callmark.simulation.toolboxes import open_tools
from callmark.types import Conversation

CONCURRENCY = 4  # server processes
PAUSE = 1.1  # seconds, so that times differ


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("tools", nargs="+")
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--concurrency", type=int, default=None)
    options = parser.parse_args()
    results: list[bool] = []
    for spec in options.tools:
        print(spec, flush=True)
        for what, passed in check(spec, options.number, options.seed, options.concurrency):
            results.append(passed)
            print(f"  {what}: {'ok' if passed else 'FAILED'}", flush=True)
    return 0 if all(results) else 1


def check(spec: str, number: int, seed: int, concurrency: int | None) -> Iterator[tuple[str, bool]]:
    """Synthesize conversations and yield what was checked, and whether it passed."""
    with tempfile.TemporaryDirectory() as folder:
        began, busy = time.perf_counter(), time.process_time()
        report = callmark.synth(folder, tools=spec, number=number, seed=seed, concurrency=concurrency)
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        yield (
            f"{report.accepted} of {number} conversations, {report.rejected} rejected, in {seconds:.0f} s ({busy:.0f} s CPU)",
            (report.accepted == number),
        )
        files = [Path(folder, name) for name in ("train.jsonl", "valid.jsonl")]
        found = callmark.lint(callmark.load(files[0]), valid=callmark.load(files[1]))
        errors = [finding for finding in found.findings if finding.severity == "error"]
        yield f"{len(errors)} lint errors, {len(found.findings) - len(errors)} warnings", not errors
        hallucinated = sum(finding.code == "hallucinated_value" for finding in found.findings)
        yield f"{hallucinated} hallucinated values", not hallucinated
        rows = [row for file in files for row in callmark.load(file) if isinstance(row, Conversation)]
        raw = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        called = [name for name, count in report.coverage.tools.items() if count]
        calls = sum(report.coverage.tools.values())
        yield f"{calls} calls of {len(called)} of {len(report.coverage.tools)} tools", bool(called)
        yield optional_parameters(rows)
        if report.mocked:
            yield "every row says that results are mocked", all(row.get("results") == "mocked" for row in raw)
        else:
            yield from asyncio.run(replay(spec, rows, raw, concurrency or CONCURRENCY))


def optional_parameters(rows: list[Conversation]) -> tuple[str, bool]:
    """Return how many calls have optional arguments, and how many of them have a list, an object or a boolean."""
    needed = {tool.name: (required(tool.parameters), properties(tool.parameters)) for tool in rows[0].tools}
    has_optional = any(names.keys() - must for must, names in needed.values())
    given = [value for row in rows for call in row.calls for name, value in call.arguments.items() if name not in needed[call.name][0]]
    nested = sum(isinstance(value, list | dict | bool) for value in given)
    return f"{len(given)} optional arguments, {nested} of them lists, objects or booleans", bool(given) or not has_optional


class ReplayedCall(NamedTuple):
    """A call of a row and its result in a replay."""

    row: int
    call: callmark.Call
    recorded: str
    result: str
    is_error: bool


async def replay(spec: str, rows: list[Conversation], raw: list[dict[str, Any]], concurrency: int) -> list[tuple[str, bool]]:
    """Make the calls of each row on fresh tools and compare the results; those that differ, once more."""
    limit = asyncio.Semaphore(concurrency)
    async with open_tools([spec]) as source:

        async def replay_row(index: int) -> list[ReplayedCall]:
            found, messages = [], rows[index].messages
            async with limit, source.open_toolbox(f"replay-{index}/0/x") as toolbox:
                for (message, place), result_index in sorted(match_results(messages).by_call.items()):
                    call = messages[message].calls[place]
                    result = await toolbox.call(call)
                    found.append(ReplayedCall(index, call, messages[result_index].text, result.text, result.is_error))
            return found

        calls = [call for found in await asyncio.gather(*map(replay_row, range(len(rows)))) for call in found]
        other = [call for call in calls if call.result != call.recorded]
        await asyncio.sleep(PAUSE if other else 0)
        again = await asyncio.gather(*map(replay_row, sorted({call.row for call in other})))
        results = {(call.row, call.call.id): call.result for found in again for call in found}
    wrong = [call for call in other if results[call.row, call.call.id] == call.result]
    changing = sorted({call.call.name for call in other if call not in wrong})
    unrecorded = [call for call in calls if call.is_error != (call.call.id in raw[call.row].get("refused_calls", ()))]
    notes = f"; {len(other) - len(wrong)} of {', '.join(changing)} are different each time" if changing else ""
    notes += f"; first difference: {wrong[0].call}"[:120] if wrong else ""
    return [
        (f"{len(calls) - len(other)} of {len(calls)} results replayed equal{notes}", not wrong),
        (f"{sum(call.is_error for call in calls)} calls refused, and recorded as such", not unrecorded),
    ]


if __name__ == "__main__":
    sys.exit(main())
