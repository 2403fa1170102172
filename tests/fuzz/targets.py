"""What is fuzzed: each target reads one input, and may raise nothing but `CallmarkError`.

An input is a JSON document or bytes. Documents are mutated as JSON; `rows`, `predictions` and the files of runs also as bytes, because a
reader sees bytes. The targets that need files write them into a folder of their own.
"""

import asyncio
import gzip
import io
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

import callmark
from callmark.api.scenarios import synth_scenarios
from callmark.api.tools import tools as read_tools
from callmark.calls.expected import read_expected_calls
from callmark.calls.shapes import read_call, read_calls
from callmark.calls.text.detect import parse_calls, text_format_names
from callmark.cli.main import run as run_command
from callmark.config import read_config, read_policy
from callmark.errors import CallmarkError
from callmark.grading.standalone import source as exported_grader
from callmark.simulation.openapi import read_api
from callmark.types import Tool
from callmark.viewer.run_collection import RunCollection
from callmark.viewer.server import HOST, application
from tests.fuzz.mutate import dump, mutate_bytes, mutate_json

CORPUS = Path(__file__).parent / "corpus"
PORT, TOKEN = 8000, "token"
FOLDER_VARIABLE = "CALLMARK_FUZZ_FOLDER"
MAX_INLINE = 100  # decision points that are written with their messages: together they are larger than their conversation
BASE_RUN = "base.json"  # a run that the others are compared with


class Target(NamedTuple):
    """A name, how often it is chosen, the function that reads an input, and the one that makes the next input."""

    name: str
    share: float
    read: Callable[[bytes], None]
    make: Callable[[Random, Sequence[bytes]], bytes]


@cache
def work_folder() -> Path:
    """Return a folder for this process, in the one of the campaign if there is one. A pool ends its workers without their clean-up."""
    if campaign := os.environ.get(FOLDER_VARIABLE):
        return Path(tempfile.mkdtemp(dir=campaign))
    _folders.append(memory_folder())
    return Path(_folders[0].name)


def memory_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder in memory, if the system has one. It is removed when it is closed, or at the end of the process."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(prefix="callmark-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)


_folders: list[tempfile.TemporaryDirectory[str]] = []


def json_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return a document that is changed as JSON."""
    documents = [json.loads(random.choice(corpus)) for _ in range(2)]
    return dump(mutate_json(documents[0], random, documents))


def bytes_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    return mutate_bytes(random.choice(corpus), random, corpus)


def lines_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return lines of JSON: one of them changed as JSON, or all of them as bytes; now and then as an array, or compressed."""
    data = random.choice(corpus)
    lines = data.splitlines()
    if random.random() < 0.6 and lines:
        at = random.randrange(len(lines))
        try:
            documents = [json.loads(lines[at]), json.loads(random.choice(random.choice(corpus).splitlines() or [b"{}"]))]
            lines[at] = dump(mutate_json(documents[0], random, documents))
        except (ValueError, RecursionError):
            lines[at] = mutate_bytes(lines[at], random, corpus)
        data = b"\n".join(lines) + b"\n"
        if random.random() < 0.1:
            data = b"[" + b",\n".join(lines) + b"]"
    else:
        data = mutate_bytes(data, random, corpus)
    if random.random() < 0.05:
        data = gzip.compress(data, 1, mtime=0)
        data = mutate_bytes(data, random, corpus) if random.random() < 0.5 else data
    return data


def yaml_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return YAML: changed as bytes, or as a value, which is written as JSON."""
    if random.random() < 0.4:
        return bytes_input(random, corpus)
    documents = [_read_yaml(random.choice(corpus)) for _ in range(2)]
    return dump(mutate_json(documents[0], random, documents))


@cache
def _read_yaml(data: bytes) -> Any:
    try:
        return json.loads(json.dumps(yaml.safe_load(data), default=str))
    except (ValueError, yaml.YAMLError, RecursionError):
        return {}


def toml_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return TOML: changed as bytes, or as a value."""
    if random.random() < 0.4:
        return bytes_input(random, corpus)
    try:
        documents = [tomllib.loads(random.choice(corpus).decode()) for _ in range(2)]
    except ValueError:
        return bytes_input(random, corpus)
    changed = mutate_json(documents[0], random, documents)
    items = changed.items() if isinstance(changed, dict) else [("models", changed)]
    return "".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in items).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case str():
            return '"' + "".join(letter if letter.isalnum() and letter.isascii() else f"\\U{ord(letter):08x}" for letter in value) + '"'
    return json.dumps(value)


def run_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return the files of a run, some of them changed, and a command."""
    bundle = json.loads(random.choice(corpus))
    files = bundle["files"]
    for name in random.sample(sorted(files), random.choice((1, 1, 2))):
        given = [files[name].encode("utf-8", "surrogateescape")]
        changed = json_input(random, given) if name.endswith(".json") and _is_json(given[0]) else lines_input(random, given)
        files[name] = changed.decode("utf-8", "surrogateescape")
    return json.dumps({**bundle, "command": random.randrange(len(RUN_COMMANDS))}).encode()


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return random_is_structural(data)


def random_is_structural(data: bytes) -> bool:
    """Return whether a file is changed as JSON rather than as bytes: mostly, and always the same way for the same file."""
    return sum(data[:200]) % 4 != 0


# ---- what reads an input ----


def read_rows(data: bytes) -> None:
    """Read a dataset and use its rows, as most commands do."""
    path = work_folder() / "rows.jsonl"
    path.write_bytes(data)
    rows = []
    with allowed():
        for row in callmark.load(path, skip_bad=len(data) % 2 == 0):
            rows.append(row)
            _ = [str(call) for call in row.calls], row.tools, repr(row)
    if not rows:
        return
    with allowed():
        callmark.stats(rows)
    with allowed():
        callmark.lint(rows)
    with allowed():
        by_reference = len(data) % 2 == 0
        points = islice(callmark.expand(rows), None if by_reference else MAX_INLINE)
        written = callmark.write(points, work_folder() / "cases.jsonl", by_reference=by_reference)
        for _ in callmark.load(work_folder() / "cases.jsonl") if written else ():
            pass
    with allowed():
        callmark.convert(rows, to=("openai", "sharegpt", "anthropic", "deepfabric")[len(data) % 4], out=work_folder() / "converted.jsonl")


def show_rows(data: bytes) -> None:
    """Print a dataset with a command, and check what is printed."""
    path = work_folder() / "rows.jsonl"
    path.write_bytes(data)
    commands = (
        ["show"],
        ["show", "--markdown", "--full"],
        ["stats"],
        ["lint", "--all"],
        ["lint", "--json"],
        ["tools"],
        ["stats", "--json"],
    )
    check_command([*commands[len(data) % len(commands)], str(path)])


def read_predictions(data: bytes) -> None:
    path = work_folder() / "predictions.jsonl"
    path.write_bytes(data)
    with allowed():
        callmark.grade(_cases(), predictions=path, out=work_folder() / "runs", name="fuzz")
    _remove(work_folder() / "runs")


@cache
def _cases() -> list[Any]:
    return list(callmark.load(CORPUS / "rows" / "cases.jsonl"))


def read_text(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape" if len(data) % 2 else "replace")
    names = _text_formats()  # finding the entry points takes longer than reading a text
    with allowed():
        for call in parse_calls(text, tools=(Tool("f"), Tool("get_weather"))).calls:
            str(call)
    with allowed():
        parse_calls(text, names[len(data) % len(names)])


@cache
def _text_formats() -> list[str]:
    return list(text_format_names())


def read_shapes(data: bytes) -> None:
    value = json.loads(data)
    for read in (read_call, read_calls):
        with allowed():
            str(read(value))
    with allowed():
        read_expected_calls(value)


def grade_item(data: bytes) -> None:
    item = _object(data)
    with allowed():
        found = callmark.grade(
            item.get("expected"),
            item.get("actual"),
            tools=item.get("tools"),
            messages=_list(item.get("messages")),
            alternatives=_list(item.get("alternatives")) or (),
            evaluators=("call", "schema", "process"),
        )
        str(found)


def grade_standalone(data: bytes) -> None:
    item = _object(data)
    sample = {"output_tools": item.get("actual"), "output_text": item.get("text", "")}
    expected = {"tool_calls": item.get("expected"), "alternatives": item.get("alternatives")}
    with allowed(ValueError):
        score = exported_grader.grade(sample, {"expected_output": expected, "tools": item.get("tools")})
        assert 0 <= score <= 1


def _object(data: bytes) -> dict[str, Any]:
    value = json.loads(data)
    return value if isinstance(value, dict) else {"expected": value, "actual": value}


def _list(value: Any) -> Any:
    return value if isinstance(value, list) else None


RUN_COMMANDS = (
    ["grade", "RUN"],
    ["gate", "RUN", "--max-errors", "0", "--min", "call.score=0.5", "--summary", "-", "--junit", "FILE"],
    ["gate", "RUN", "--list"],
    ["compare", "RUN", "BASE", "--common", "--details"],
    ["compare", "BASE", "RUN", "--common", "--json"],
    ["report", "RUN", "-o", "-"],
    ["export", "results", "RUN", "--to", "csv", "-o", "-"],
    ["run", "RUN", "--resume"],
    ["simulate", "RUN", "--resume"],
    ["view"],
)


def read_run(data: bytes) -> None:
    """Use a run folder with a command, and check what is printed."""
    bundle = json.loads(data)
    folder = work_folder() / "run"
    _write_run(folder, bundle["files"])
    if not (work_folder() / "base").exists():
        _write_run(work_folder() / "base", json.loads((CORPUS / "runs" / BASE_RUN).read_bytes())["files"])
    paths = {"RUN": str(folder), "BASE": str(work_folder() / "base"), "FILE": str(work_folder() / "gate.xml")}
    command = RUN_COMMANDS[bundle.get("command", 0)]
    if command == ["view"]:
        view_run(folder)
    else:
        check_command([paths.get(part, part) for part in command])


def view_run(folder: Path) -> None:
    """Request everything that the page shows of a run, twice: some of it is computed in between."""
    app = application(RunCollection(str(folder)), token=TOKEN, port=PORT)
    for what in ("runs", "run?name=run", "rows?name=run", "case?name=run&id=s0:1", "compare?name=run&name=run", "run?name=run"):
        _request(app, b"GET", f"/api/{what}".encode(), [(b"host", f"{HOST}:{PORT}".encode()), (b"x-callmark-token", TOKEN.encode())])


def _write_run(folder: Path, files: dict[str, str]) -> None:
    _remove(folder)
    folder.mkdir(parents=True)
    for name, text in files.items():
        target = folder.parent / name.removeprefix("../") if name.startswith("../") else folder / name
        target.write_bytes(text.encode("utf-8", "surrogateescape"))


def _remove(folder: Path) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def request_page(data: bytes) -> None:
    """Send a request to the viewer, over a folder with a run. The input is the request as text: a line with method and target, headers."""
    lines = data.split(b"\n")
    method, _, target = lines[0].partition(b" ")
    _request(
        _viewer(),
        method,
        target,
        [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines[1:])],
    )


def _request(app: Any, method: bytes, target: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    path, _, query = target.partition(b"?")
    scope = {
        "type": "http", "http_version": "1.1", "method": method.decode("latin-1"), "scheme": "http", "path": path.decode("latin-1"),
        "raw_path": path, "query_string": query, "root_path": "", "headers": headers, "server": (HOST, PORT), "client": (HOST, 1),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def respond() -> None:
        await app(scope, receive, send)

    _loop().run_until_complete(respond())
    status = sent[0]["status"]
    assert status in (200, 400, 403, 404, 405), status
    if path.startswith(b"/api/") and (status == 200 or status == 404):
        json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


@cache
def _viewer() -> Any:
    folder = work_folder() / "viewed" / "runs"
    for path in sorted((CORPUS / "runs").glob("*.json")):
        _write_run(folder / path.stem, json.loads(path.read_bytes())["files"])
    return application(RunCollection(str(folder)), token=TOKEN, port=PORT)


def read_toml(data: bytes) -> None:
    path = work_folder() / "fuzz.toml"
    path.write_bytes(data)
    with allowed():
        read_config(str(path))


def read_openapi(data: bytes) -> None:
    path = work_folder() / "fuzz.yaml"
    path.write_bytes(data)
    with allowed():
        read_tools(str(path))
    with allowed():
        read_api(str(path))


def read_rules(data: bytes) -> None:
    path = work_folder() / "rules.yaml"
    path.write_bytes(data)
    with allowed():
        read_policy(str(path))
    with allowed():
        synth_scenarios(templates=str(path), number=3)


# ---- checks ----


@contextmanager
def allowed(*others: type[Exception]) -> Iterator[None]:
    """Allow `CallmarkError`, and count it."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, (CallmarkError, *others)):
            raise
        Refusals.count += 1


class Refusals:
    """How many inputs were refused, in this process."""

    count = 0


def check_command(arguments: list[str]) -> None:
    """Run a command, and check that it ends as it should and that nothing that it prints is a control."""
    from tests.test_output_safety import COMMAND, UNSAFE

    before = sys.stdout, sys.stderr
    written = io.BytesIO(), io.BytesIO()
    sys.stdout, sys.stderr = (io.TextIOWrapper(file, encoding="utf-8", write_through=True) for file in written)
    streams = sys.stdout, sys.stderr  # they close their files when they go
    try:
        status = run_command(arguments)
    finally:
        sys.stdout, sys.stderr = before
    for file in written:
        text = file.getvalue().decode().replace("\r\n", "\n")
        assert "internal error" not in text, text[-2000:]
        assert not UNSAFE.search(text), UNSAFE.findall(text)[:5]
        assert not COMMAND.search(text), COMMAND.findall(text)[:5]
    del streams
    assert status in (0, 1, 2, 3), status
    Refusals.count += status == 2


def viewer_input(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return a request, mostly one that gets past the token."""
    data = bytes_input(random, corpus)
    if random.random() < 0.8:
        line = data.split(b"\n")[0]
        if random.random() < 0.5:
            line = b"GET /api/%b?name=%b&id=%b&trial=%b" % (
                random.choice((b"runs", b"run", b"rows", b"case", b"compare")),
                *(quote(mutate_bytes(random.choice((b"base", b"0", b"c0")), random, corpus)[:500]).encode() for _ in range(3)),
            )
        data = b"\n".join((line, f"host: {HOST}:{PORT}".encode(), f"x-callmark-token: {TOKEN}".encode()))
    return data


TARGETS = {
    target.name: target
    for target in (
        Target("rows", 0.14, read_rows, lines_input),
        Target("shown", 0.01, show_rows, lines_input),
        Target("predictions", 0.02, read_predictions, lines_input),
        Target("text", 0.25, read_text, bytes_input),
        Target("calls", 0.2, read_shapes, json_input),
        Target("items", 0.18, grade_item, json_input),
        Target("standalone", 0.1, grade_standalone, json_input),
        Target("runs", 0.01, read_run, run_input),
        Target("viewer", 0.03, request_page, viewer_input),
        Target("toml", 0.02, read_toml, toml_input),
        Target("openapi", 0.02, read_openapi, yaml_input),
        Target("rules", 0.02, read_rules, yaml_input),
    )
}
CORPUS_OF = {"shown": "rows", "standalone": "items"}  # where it is not a folder of its own name


@cache
def corpus(name: str) -> tuple[bytes, ...]:
    """Return the corpus of a target, in a fixed order."""
    return tuple(path.read_bytes() for path in sorted((CORPUS / CORPUS_OF.get(name, name)).iterdir()))


def make_input(name: str, seed: int, index: int) -> bytes:
    """Return an input of a target: the same for the same seed and index."""
    random = Random(f"{seed}:{name}:{index}")
    try:
        return TARGETS[name].make(random, corpus(name))
    except RecursionError:  # too deep to be written
        return random.choice(corpus(name))
