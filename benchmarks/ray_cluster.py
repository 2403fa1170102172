"""Does grading on a cluster give the same summary as one process, whatever dies? On a real cluster of two nodes, on this machine.

Decision points by reference, cut from real conversations and repeated with new ids, in several files with 100 bad rows, and predictions of
which one in three is wrong. One process (`callmark grade`) grades them first. Then, on a Ray cluster of two raylets:

    complete    the same summary to the bit, and each of the 100 bad rows is rejected with its file and row
    node        one node is killed in the middle: the same summary
    driver      the driver is killed in the middle and started again: only the parts that were not finished are graded again
    memory      the peak memory of the workers, for shares of the files and for all of them

Needs Ray: `make ray-proof` runs it in an environment of its own. Exits with status 1 if anything differs.

    python benchmarks/ray_cluster.py [--points 20000] [--files 16] [--megabytes 32] [--to DIR] [--only complete,node,driver,memory]
"""

import argparse
import json
import os
import random
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec

import callmark
from callmark.formats import BadRow
from callmark.formats.by_reference import ReferenceWriter
from callmark.grading.settings import GradingSettings
from callmark.integrations.ray_engine import RayExecutor
from callmark.runs.grade import GradeOptions
from callmark.runs.partitioned import Result, Task, grade_partitions
from callmark.runs.selection import CaseSelection
from data import default_source

NODES = 2
BAD_ROWS = 100
BAD = (b"{", b'{"id":"bad","source":{"conversation":"nowhere","message":0},"expected_output":{}}', b'{"id":"bad","source":7}', b"not JSON")
GROWTH = 1.25  # of the peak memory of a worker, from the smallest input to the largest
PATIENCE = 120.0  # seconds to wait for a node, or for the first parts


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--megabytes", type=float, default=32, help="of a part")
    parser.add_argument("--to", default=None, help="folder for the files; default: a temporary folder")
    parser.add_argument("--only", default="complete,node,driver,memory")
    parser.add_argument("--driver", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.driver:
        return drive(json.loads(options.driver))
    with tempfile.TemporaryDirectory(dir=options.to) as folder:
        return Proof(Path(folder), options).run()


class Proof:
    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._folder = folder
        self._options = options
        self._problems = 0
        self._bad: set[tuple[str, int]] = set()

    def run(self) -> int:
        cases, predictions = self._folder / "cases", self._folder / "predictions"
        began = time.perf_counter()
        size = write_files(cases, predictions, self._options.points, self._options.files, self._bad)
        print(f"{self._options.points:,} decision points by reference, {size / 1e6:,.0f} MB in {self._options.files} files, "
              f"{BAD_ROWS} bad rows ({time.perf_counter() - began:.0f} s to write)")  # fmt: skip
        wanted = self._options.only.split(",")
        summary = b"" if wanted == ["memory"] else self._in_one_process()
        for name in ("complete", "node", "driver", "memory"):
            if name in wanted:
                getattr(self, f"_{name}")(summary)
        return 1 if self._problems else 0

    def _in_one_process(self) -> bytes:
        began, before = time.perf_counter(), processor_seconds()
        rejects = self._folder / "rejects.jsonl"
        command = ["grade", "cases", "-p", "predictions", "-o", "runs", "--name", "one", "--skip-bad", "--rejects", str(rejects)]
        subprocess.run([sys.executable, "-m", "callmark", *command], cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = msgspec.json.decode((self._folder / "runs/one/summary.json").read_bytes(), type=dict[str, msgspec.Raw])["summary"]
        seconds, spent = time.perf_counter() - began, processor_seconds() - before
        cases = json.loads(bytes(found))["cases"]
        print(f"  one process   {seconds:6.1f} s  {cases / spent:,.0f} decision points per core-second")
        self._check("rejects of one process", read_rejects(rejects) == self._bad)
        self._check("cases", cases == self._options.points)
        return bytes(found)

    def _complete(self, summary: bytes) -> None:
        with cluster() as nodes:
            began = time.perf_counter()
            report = self._drive(nodes, "complete").wait()
            seconds = time.perf_counter() - began
            parts = Counter(part["node"] for part in report["ran"])
            spent = sum(part["seconds"] for part in report["ran"])
            print(f"  complete      {seconds:6.1f} s  {report['parts']} parts, {sorted(parts.values())} on each node, "
                  f"{self._options.points / spent:,.0f} decision points per core-second")  # fmt: skip
            self._check("summary", report["summary"] == json.loads(summary) and self._stored("complete") == summary)
            self._check("both nodes grade", len(parts) == 2)
            self._check(f"{BAD_ROWS} bad rows, {BAD_ROWS} rejects", {tuple(bad) for bad in report["rejects"]} == self._bad)
            self._check("everything else is graded", report["cases"] == self._options.points)
            self._memory_line("complete", report)

    def _node(self, summary: bytes) -> None:
        with cluster() as nodes:
            driver = self._drive(nodes, "node")
            total = driver.wait_for_parts(0.3)
            nodes.kill(1)
            at = driver.done()
            report = driver.wait()
            after = Counter(part["node"] for part in report["ran"])
            print(f"  node killed   after {at} of {total} parts; graded by nodes {sorted(after.values())}")
            self._check("killed in the middle", at < total)
            self._check("summary after a node was killed", self._stored("node") == summary)

    def _driver(self, summary: bytes) -> None:
        with cluster() as nodes:
            driver = self._drive(nodes, "driver")
            total = driver.wait_for_parts(0.4)
            driver.kill()
            time.sleep(5)  # Ray ends the tasks of a driver that is gone
            done = driver.files()
            report = self._drive(nodes, "driver").wait()
            kept = {path: state for path, state in driver.files().items() if done.get(path) == state}
            print(f"  driver killed after {len(done)} of {total} parts; graded again: {len(report['ran'])}")
            self._check("killed in the middle", 0 < len(done) < total)
            self._check("finished parts are untouched", kept == done)
            self._check("only unfinished parts are graded again", len(report["ran"]) == total - len(done) == total - report["before"])
            self._check("summary after the driver was killed", self._stored("driver") == summary)

    def _memory(self, summary: bytes) -> None:
        peaks = []
        files = sorted((self._folder / "cases").iterdir())
        for number in sorted({max(1, len(files) // 16), max(1, len(files) // 4), len(files)}):
            share = self._folder / f"share{number}"
            share.mkdir()
            for file in files[:number]:
                (share / file.name).symlink_to(file)
            with cluster() as nodes:
                report = self._drive(nodes, f"memory{number}", cases=share.name).wait()
            size = sum(file.stat().st_size for file in files[:number])
            shutil.rmtree(self._folder / f"memory{number}")
            peaks.append(max(part["peak"] for part in report["ran"]))
            print(
                f"  memory        {size / 1e6:8,.0f} MB of cases: workers peak at {peaks[-1]:,.0f} MB, driver at {report['peak']:,.0f} MB"
            )
        self._check("memory of a worker stays flat", peaks[-1] <= GROWTH * peaks[0])

    def _memory_line(self, name: str, report: dict[str, Any]) -> None:
        print(f"                workers peak at {max(part['peak'] for part in report['ran']):,.0f} MB, driver at {report['peak']:,.0f} MB")

    def _drive(self, nodes: "Nodes", out: str, *, cases: str = "cases") -> "Driver":
        given = {"address": nodes.address, "cases": cases, "out": out, "bytes": int(self._options.megabytes * (1 << 20))}
        return Driver(self._folder, given, nodes.environment)

    def _stored(self, out: str) -> bytes:
        content = (self._folder / out / "summary.json").read_bytes()
        return bytes(msgspec.json.decode(content, type=dict[str, msgspec.Raw])["summary"])

    def _check(self, what: str, holds: bool) -> None:
        if not holds:
            self._problems += 1
        print(f"                {what}: {'ok' if holds else 'FAILED'}")


class Driver:
    """A process that grades on the cluster. Its standard output is its report."""

    def __init__(self, folder: Path, given: dict[str, Any], environment: dict[str, str]) -> None:
        self._out = folder / given["out"]
        self._busy = folder / f"{given['out']}.busy"
        self._log = (folder / f"{given['out']}.log").open("ab")
        command = [sys.executable, os.path.abspath(__file__), "--driver", json.dumps(given)]
        environment = {**os.environ, **environment}
        self._process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=self._log, env=environment)

    def wait(self) -> dict[str, Any]:
        output, _ = self._process.communicate()
        if self._process.returncode:
            raise SystemExit(f"the driver ended with status {self._process.returncode}:\n{Path(self._log.name).read_text()[-3000:]}")
        if not output.startswith(b"{"):
            raise SystemExit(f"standard output has more than the report: {output[:2000]!r}")
        report: dict[str, Any] = json.loads(output)
        return report

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def done(self) -> int:
        return len(self.files())

    def files(self) -> dict[str, tuple[int, int]]:
        """Return the inode and the time of the statistics of each finished part."""
        found = {path.name: path.stat() for path in (self._out / "statistics").glob("*.msgpack")}
        return {name: (state.st_ino, state.st_mtime_ns) for name, state in found.items()}

    def wait_for_parts(self, share: float) -> int:
        """Wait until this share of the parts is done, and return the number of all parts."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.done():
                total = len(json.loads((self._out / "plan.json").read_bytes())["cases"])
                deadline = time.monotonic() + PATIENCE
                if self.done() >= share * total and len(list(self._busy.iterdir())) == NODES:
                    return total
            time.sleep(0.02)
        raise SystemExit(f"no part was finished: {Path(self._log.name).read_text()[-3000:]}")


def drive(given: dict[str, Any]) -> int:
    """Grade on the cluster, and print where each part was graded, with the peak memory of its worker."""
    rejects: list[BadRow] = []
    with redirect_stdout(sys.stderr), RayExecutor(given["address"]) as ray:
        measuring = Measuring(ray, Path(f"{given['out']}.busy").resolve())
        run = grade_partitions(
            CaseSelection(given["cases"]), ["predictions"], GradingSettings(), given["out"], executor=measuring,
            options=GradeOptions(on_bad=rejects.append), partition_bytes=given["bytes"],
        )  # fmt: skip
    report = {
        "summary": run.summary,
        "cases": run.summary.cases,
        "parts": run.parts,
        "before": run.graded_before,
        "ran": measuring.ran,
        "rejects": [(bad.place.file, bad.place.number_in_file) for bad in rejects],
        "peak": peak(),
    }
    sys.stdout.buffer.write(msgspec.json.encode(report))
    return 0


class Measuring:
    """An executor that notes where each part was graded, with the peak memory and the seconds of its worker."""

    def __init__(self, executor: RayExecutor, busy: Path) -> None:
        self._executor = executor
        self._busy = busy  # a folder with a file for each node that grades
        busy.mkdir(exist_ok=True)
        self.ran: list[dict[str, Any]] = []

    def __call__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        for result, place in self._executor(Measured(function, str(self._busy)), tasks):
            if function.__name__ == "grade_part":
                self.ran.append(place)
            yield result


class Measured:
    def __init__(self, function: Callable[[Any], Any], busy: str) -> None:
        self._function = function
        self._busy = busy
        self.__name__ = function.__name__

    def __call__(self, task: Any) -> tuple[Any, dict[str, Any]]:
        import ray

        node = ray.get_runtime_context().get_node_id()
        if self.__name__ == "grade_part":
            Path(self._busy, node).touch()
        began = time.process_time()
        result = self._function(task)
        place = {"node": node, "peak": peak(), "seconds": time.process_time() - began}
        return result, place


class Nodes:
    """The two nodes of a cluster, each with one CPU."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = random.Random().randrange(20_000, 30_000)
        self.address = f"127.0.0.1:{self._port}"
        # A cluster of its own, for this run only: nobody else can join it.
        self.environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self._start(
            "--head", f"--port={self._port}", "--include-dashboard=false", f"--temp-dir={self._folder}", "--node-ip-address=127.0.0.1"
        )
        self._wait_for(1)
        self._start(f"--address={self.address}", "--node-ip-address=127.0.0.1")
        self._wait_for(2)

    def kill(self, number: int) -> None:
        """Kill every process of a node."""
        process = self._started[number]
        for pid in [*descendants(process.pid), process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()

    def stop(self) -> None:
        for number in reversed(range(len(self._started))):
            if self._started[number].poll() is None:
                self.kill(number)

    def _start(self, *arguments: str) -> None:
        command = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1", "--disable-usage-stats", *arguments]
        command += ["--object-store-memory=100000000"]
        environment = {**os.environ, **self.environment}
        log = (self._folder.parent / f"node{len(self._started)}.log").open("ab")
        self._started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))

    def _wait_for(self, number: int) -> None:
        """Wait until so many nodes are alive."""
        script = (
            f"import ray; ray.init(address={self.address!r}, log_to_driver=False, logging_level='critical'); "
            "print(sum(node['Alive'] for node in ray.nodes()))"
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            environment = {**os.environ, **self.environment}
            found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
            if found.returncode == 0 and int(found.stdout or 0) == number:
                return
            time.sleep(0.5)
        raise SystemExit("the cluster does not start")


@contextmanager
def cluster() -> Iterator[Nodes]:
    with tempfile.TemporaryDirectory(prefix="cm", dir="/tmp", ignore_cleanup_errors=True) as folder:  # short: it holds sockets
        nodes = Nodes(Path(folder, "ray"))
        try:
            nodes.start()
            yield nodes
        finally:
            nodes.stop()


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found: list[int] = []
    rest = [pid]
    while rest:
        children = parents.get(rest.pop(), [])
        found += children
        rest += children
    return found


def write_files(cases: Path, predictions: Path, points: int, files: int, bad: set[tuple[str, int]]) -> int:
    """Write the decision points and predictions, and return the size of both; `bad` gets the file and line of each bad row."""
    cases.mkdir()
    predictions.mkdir()
    templates = conversation_templates()
    chooser = random.Random(7)
    written = copies = 0
    for number in range(files):
        share = points * (number + 1) // files
        name = f"{number:03}.jsonl"
        bad_after = set(chooser.sample(range(max(1, points // files)), BAD_ROWS * (number + 1) // files - BAD_ROWS * number // files))
        with (cases / name).open("wb") as case_file, (predictions / name).open("wb") as prediction_file:
            line = own = 0
            if not number:  # the conversations of all files refer to it
                case_file.write(templates[0][0])
                line += 1
            while written < share:
                copies += 1
                for _, conversation, records in templates:
                    if written >= share:
                        break
                    copy = b"copy%d-" % copies
                    case_file.write(conversation.replace(b"@", copy))
                    line += 1
                    for record, right, wrong in records[: share - written]:
                        if own in bad_after:
                            line += 1
                            bad.add((f"cases/{name}", line))
                            case_file.write(chooser.choice(BAD) + b"\n")
                        line += 1
                        own += 1
                        written += 1
                        case_file.write(record.replace(b"@", copy))
                        prediction_file.write((wrong if chooser.random() < 1 / 3 else right).replace(b"@", copy))
    return sum(file.stat().st_size for folder in (cases, predictions) for file in folder.iterdir())


def conversation_templates() -> list[tuple[bytes, bytes, list[tuple[bytes, bytes, bytes]]]]:
    """Return the lines of each conversation: its tools, itself, and its records with a right and a wrong prediction; ids begin with @."""
    found = []
    for row in callmark.load(default_source()):
        writer = ReferenceWriter()
        lines = [line for case in callmark.expand([row]) for line in writer.lines(case)]
        if not lines:
            continue
        conversation = json.loads(lines[1])
        conversation["conversation"]["id"] = "@" + conversation["conversation"]["id"]
        text = msgspec.json.encode(conversation)
        if text.count(b"@") > 1:  # addresses in it would be changed
            text = text.replace(b"@", b"\\u0040").replace(b'"id":"\\u0040', b'"id":"@', 1)
        records = []
        for line in lines[2:]:
            record = json.loads(line)
            name = f"@{record['id']}"
            calls = record["expected_output"]["tool_calls"]
            record = {**record, "id": name, "source": {**record["source"], "conversation": conversation["conversation"]["id"]}}
            other = json.loads(json.dumps(calls))
            arguments = json.loads(other[0]["function"]["arguments"])
            for key in list(arguments)[:1]:
                arguments[key] = "something else"
            other[0]["function"]["arguments"] = json.dumps(arguments)
            rows = (record, {"id": name, "tool_calls": calls}, {"id": name, "tool_calls": other})
            records.append(tuple(escaped(row) for row in rows))
        found.append((lines[0] + b"\n", text + b"\n", records))
    return found  # type: ignore[return-value]


def escaped(row: dict[str, Any]) -> bytes:
    """Return a row as a line in which only its ids have an @."""
    text = msgspec.json.encode(row).replace(b"@", b"\\u0040")
    for key in (b'"id":"', b'"conversation":"'):
        text = text.replace(key + b"\\u0040", key + b"@", 1)
    return text + b"\n"


def read_rejects(path: Path) -> set[tuple[str, int]]:
    return {(row["file"], row["line"]) for row in map(json.loads, path.read_text().splitlines())}


def processor_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    sys.exit(main())
