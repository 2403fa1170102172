"""Does the viewer keep answering with hostile runs, many runs and many connections?

A folder of 2,000 runs is written, 200 of them hostile: a named pipe, a folder, a link to another file or 20 MB in place of each file of a
run, or a dataset that is a pipe or an endless device. `callmark view` serves it in a separate process. Then 1,000 connections are opened:
half of them send nothing, half send the first half of a request. Meanwhile every kind of request is timed, for good and for hostile runs;
40 requests for pipes, as many as the server has workers, at the same time; and 100 requests for a run and 20 for the list of runs at the
same time. The limit is 1 s for every response. Exits with status 1 if it is exceeded, or if a hostile run is answered with anything but
data or a sentence.

    python benchmarks/viewer_hostile.py [--runs 2000] [--connections 1000] [--to DIR]
"""

import argparse
import asyncio
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the viewer process is in tests/

from tests.viewer.conftest import viewer_process

from callmark.formats import write_lines
from callmark.grading.settings import GradingSettings
from callmark.runs.grade import grade_predictions

LIMIT = 1.0  # seconds
FILES = ("run.json", "predictions.jsonl", "grades.jsonl", "summary.json")
TRICKS = ("pipe", "folder", "link", "large")
HOST = "127.0.0.1"
WORKERS = 40  # threads of the server


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--to", help="folder for the runs; default: a temporary one")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with tempfile.TemporaryDirectory(dir=options.to) as folder:
        hostile = write_runs(Path(folder), options.runs)
        print(f"{options.runs:,} runs, {len(hostile)} of them hostile; {options.connections:,} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))  # of the viewer, as on macOS
        with viewer_process(Path(folder, "runs")) as address:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # of this process
            found = re.search(r":(\d+)/#?.*?token=([\w-]+)", address)
            assert found, address
            port, token = found.groups()
            return asyncio.run(measure(int(port), token, hostile, options.connections))


def write_runs(folder: Path, count: int) -> list[str]:
    """Write the runs, and return the names of the hostile ones."""
    messages = [{"role": "user", "content": "How is Bonn?"}]
    call = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Bonn"}'}}
    cases = [{"id": f"c{n}", "messages": messages, "expected_output": {"tool_calls": [call]}} for n in range(20)]
    write_lines(str(folder / "eval.jsonl"), [json.dumps(case).encode() for case in cases])
    write_lines(str(folder / "p.jsonl"), [json.dumps({"id": f"c{n}", "tool_calls": [call] * (n % 2)}).encode() for n in range(20)])
    settings = GradingSettings()
    first = grade_predictions(str(folder / "eval.jsonl"), [str(folder / "p.jsonl")], settings, out=str(folder / "runs"), name="good").path
    manifest = json.loads((first / "run.json").read_bytes())
    os.mkfifo(folder / "pipe")
    secret = folder / "secret.txt"
    secret.write_text("what nobody else should see")
    kinds: list[tuple[str, str]] = [(file, trick) for file in FILES for trick in TRICKS] + [("dataset", "pipe"), ("dataset", "device")]
    hostile = []
    for number in range(count - 1):
        is_hostile = number % 10 == 0
        file, trick = kinds[number // 10 % len(kinds)]
        run = folder / "runs" / (f"bad-{number:04}-{file}-{trick}" if is_hostile else f"run-{number:04}")
        shutil.copytree(first, run)
        if not is_hostile:
            continue
        hostile.append(run.name)
        if file == "dataset":
            path = "../../pipe" if trick == "pipe" else "/dev/zero"
            (run / "run.json").write_text(json.dumps({**manifest, "dataset": {**manifest["dataset"], "path": path}}))
            continue
        if file == "predictions.jsonl":  # a run in progress reads its predictions for the list
            (run / "run.json").write_text(json.dumps({**manifest, "status": "running"}))
        (run / file).unlink()
        make(run / file, trick, secret)
    return hostile


def make(path: Path, trick: str, secret: Path) -> None:
    if trick == "pipe":
        os.mkfifo(path)
    elif trick == "folder":
        path.mkdir()
    elif trick == "link":
        path.symlink_to(secret)
    else:
        path.write_bytes(b'{"a": "' + b"x" * 20_000_000)


async def measure(port: int, token: str, hostile: list[str], connections: int) -> int:
    head = f"Host: {HOST}:{port}\r\nX-Callmark-Token: {token}\r\nConnection: close\r\n\r\n"

    async def get(path: str) -> tuple[float, int, bytes]:
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection(HOST, port, limit=1 << 26)
        writer.write(f"GET {path} HTTP/1.1\r\n{head}".encode())
        answer = await reader.read(-1)
        writer.close()
        status, _, body = answer.partition(b"\r\n\r\n")
        return time.perf_counter() - began, int(status.split()[1]) if status else 0, body

    worst: dict[str, float] = {}
    failures: list[str] = []

    async def timed(kind: str, path: str, *statuses: int) -> bytes:
        seconds, status, body = await get(path)
        worst[kind] = max(worst.get(kind, 0.0), seconds)
        if status not in (statuses or (200,)):
            failures.append(f"{path}: status {status}: {body[:200]!r}")
        if b"what nobody else should see" in body:
            failures.append(f"{path}: shows another file")
        return body

    waiting: list[Any] = []
    for number in range(connections):
        _, writer = connection = await asyncio.open_connection(HOST, port)
        waiting.append(connection)
        if number % 2:
            writer.write(f"GET /api/runs HTTP/1.1\r\nHost: {HOST}:".encode())
    for _ in range(5):
        await timed("page", "/")
        await timed("script", "/page/main.js")
        listed = json.loads(await timed("list of runs", "/api/runs"))
        await timed("run", "/api/run?name=good")
        await timed("rows", "/api/rows?name=good")
        await timed("case", "/api/case?name=good&id=c3")
        await timed("comparison", "/api/compare?name=good&name=run-0001")
    for name in hostile:
        for what in ("run", "rows", "case"):
            await timed(f"hostile {what}", f"/api/{what}?name={name}&id=c3", 200, 400, 403, 404)
    pipes = [name for name in hostile if "pipe" in name][:WORKERS]
    blocking = [timed(f"{len(pipes)} pipes at the same time", f"/api/run?name={name}", 200, 400, 403) for name in pipes]
    await asyncio.gather(*blocking, timed("run", "/api/run?name=good"), timed("page", "/"), timed("list of runs", "/api/runs"))
    for _ in range(20):
        listed = json.loads(await timed("list of runs", "/api/runs"))
        if listed["ready"]:
            break
        await asyncio.sleep(0.2)
    for count, kind, path in ((100, "run", "/api/run?name=good"), (20, "list of runs", "/api/runs")):
        await asyncio.gather(*[timed(f"{kind}, {count} at the same time", path) for _ in range(count)])
    for _, writer in waiting:
        writer.close()
    for kind, seconds in worst.items():
        print(f"{kind:45} {seconds * 1000:7.0f} ms{'' if seconds <= LIMIT else '   over the limit'}")
    print(f"{len(listed['runs']):,} runs listed, all metrics known: {listed['ready']}")
    for failure in failures:
        print(failure)
    return 1 if failures or max(worst.values()) > LIMIT or not listed["ready"] else 0


if __name__ == "__main__":
    sys.exit(main())
