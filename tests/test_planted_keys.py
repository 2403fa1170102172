"""Keys that servers, programs and tools send back, in any encoding, are in no file and in no output.

The scan is independent of the code that hides keys: it decodes SQLite, gzip and zstd, and what it finds there as JSON, URLs and Base64.
"""

import base64
import binascii
import gzip
import html
import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest

from callmark.formats.compression import _zstd
from tests.conftest import Cli
from tests.hostile_folders import API
from tests.rows import WEATHER, assistant, call, row, user, write_rows
from tests.simulation.mcp_servers import raw_server

KEY = "sk-Zebra/17+quick=brown&fox-0123456789"
PIECES = (KEY[:8].encode(), KEY[8:16].encode(), KEY[-8:].encode())  # a key that was cut before it was hidden leaves one of them
CHUNK = 7  # bytes, so that every key is split

ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "in a URL": lambda key: quote(key, safe=""),
    "every character in a URL": lambda key: "".join(f"%{ord(letter):02x}" for letter in key),
    "twice in a URL": lambda key: quote(quote(key, safe=""), safe=""),
    "Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "Base64 after other text": lambda key: base64.b64encode(f"Bearer {key}!".encode()).decode(),
    "Base64 for URLs": lambda key: base64.urlsafe_b64encode(f"me:{key}".encode()).decode(),
    "JSON": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "every character in JSON": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
    "some characters in JSON": lambda key: key.replace("Z", "\\u005A").replace("/", "\\/"),
    "HTML": html.escape,
    "every character in HTML": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
}
ALL = " and ".join(encode(KEY) for name, encode in ENCODINGS.items() if "JSON" not in name)


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with cases and scenarios; everything that callmark writes for the user is in it too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLMARK_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CALLMARK_API_KEY", KEY)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "calling", raising=False)
    turns = [row(user(f"weather {at}?"), assistant(call("get_weather", {"city": "Bonn"})), tools=[WEATHER], id=f"r{at}") for at in range(8)]
    write_rows(tmp_path / "cases.jsonl", *turns)
    scenario = {"instructions": "Ask.", "data": {"script": ["Hello.", "And?"]}, "expected_function_calls": []}
    write_rows(tmp_path / "scenarios.jsonl", {"id": "s1", **scenario})
    (tmp_path / "api.yaml").write_text(API)
    (tmp_path / "calling.py").write_text(
        "def predict(messages, tools):\n"
        "    if messages[-1]['role'] == 'tool':\n        return 'Done.'\n"
        "    return {'tool_calls': [{'name': tool['function']['name'], 'arguments': {}} for tool in tools]}\n"
    )
    return tmp_path


def leaks(folder: Path, printed: str) -> list[str]:
    """Return where the key, or a piece of it, is: in the output, or in a file, whatever it is compressed and encoded with."""
    texts = {"the output": printed.encode()}
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix not in (".py", ".pyc"):  # the user's own modules, and Python's compiled copies of them
            texts |= {f"{file.name} {at}": text for at, text in enumerate(_contents(file))}
    return [name for name, text in texts.items() if any(piece in decoded for decoded in _decoded(text) for piece in PIECES)]


def _contents(file: Path) -> Iterator[bytes]:
    data = file.read_bytes()
    yield data
    if data.startswith(b"SQLite format 3"):
        with sqlite3.connect(file) as database:
            for (table,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
                for values in database.execute(f"select * from {table}"):
                    yield b" ".join(value if isinstance(value, bytes) else str(value).encode() for value in values)
        database.close()
    elif file.suffix in (".gz", ".zst"):
        yield gzip.decompress(data) if file.suffix == ".gz" else _zstd().decompress(data)


def _decoded(text: bytes) -> Iterator[bytes]:
    """Yield a text as it is, and decoded, twice, with every decoding in every order."""
    yield text
    for decode in (_from_json, unquote_to_bytes, _from_html, _from_base64):
        once = decode(text)
        yield once
        yield from (again(once) for again in (_from_json, unquote_to_bytes, _from_html, _from_base64))


def _from_json(text: bytes) -> bytes:
    text = re.sub(rb"\\+u00([0-7][0-9a-fA-F])", lambda found: bytes.fromhex(found[1].decode()), text)
    return re.sub(rb"\\+([\"\\/])", rb"\1", text)


def _from_html(text: bytes) -> bytes:
    return html.unescape(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _from_base64(text: bytes) -> bytes:
    found = []
    for run in re.findall(rb"[A-Za-z0-9+/_-]{16,}", text):
        standard = run.translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):
            part = standard[start:]
            try:
                found.append(base64.b64decode(part + b"=" * (-len(part) % 4)))
            except binascii.Error:
                continue
    return b"\n".join(found)


@contextmanager
def echoing_server(respond: Callable[[int, str], tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    """A server that answers the n-th request in small chunks. `respond` gets the number and the JSON of the request."""
    numbers = iter(range(10_000))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, headers, body = respond(next(numbers), request)
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Transfer-Encoding": "chunked", "X-Key": KEY, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            for at in range(0, len(body), CHUNK):
                part = body[at : at + CHUNK]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_DELETE = do_GET  # noqa: N815 - a name of http.server

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def completion(text: str, arguments: str = "{}") -> bytes:
    """A response whose text is written as given, so that it can be escaped in any way. `arguments` is the text of a JSON string."""
    called = f'{{"id": "{text}", "type": "function", "function": {{"name": "{text}", "arguments": "{arguments}"}}}}'
    message = f'{{"role": "assistant", "content": "it is {text}", "reasoning_content": "{text}", "tool_calls": [{called}]}}'
    return f'{{"id": "{text}", "choices": [{{"message": {message}, "finish_reason": "{text}"}}], "{text}": "{text}"}}'.encode()


def look_everywhere(cli: Cli, run: str) -> str:
    """Return what the other commands print about a run; they also write files."""
    commands = (
        ("grade", run, "--details"),
        ("grade", run, "--json"),
        ("report", run, "-o", "report.html"),
        ("export", "results", run, "--to", "jsonl", "-o", "results.jsonl.zst"),
        ("export", "results", run, "--to", "csv", "-o", "results.csv"),
        ("gate", run, "--min", "call.score=0"),
    )
    return "".join(result.out + result.err for result in (cli(*command) for command in commands))


def test_scan_finds_every_encoding(workdir: Path) -> None:
    for name, encode in ENCODINGS.items():
        assert leaks(workdir, json.dumps([encode(KEY)])) == ["the output"], name
        assert leaks(workdir, encode(KEY)) == ["the output"], name
    (workdir / "a.gz").write_bytes(gzip.compress(KEY.encode()))
    (workdir / "b.zst").write_bytes(_zstd().compress(KEY.encode()))
    with sqlite3.connect(workdir / "c.sqlite") as database:
        database.execute("create table t (a blob)")
        database.execute("insert into t values (?)", (KEY.encode(),))
    database.close()
    assert {leak.split()[0] for leak in leaks(workdir, "")} == {"a.gz", "b.zst", "c.sqlite"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_model_that_echoes_the_key(encoding: str, cli: Cli, workdir: Path) -> None:
    text = ENCODINGS[encoding](KEY)
    in_arguments = text.replace("\\", "\\\\")  # the arguments are JSON inside JSON
    responses: list[tuple[int, dict[str, str], bytes]] = [
        (200, {}, completion(text)),
        (200, {}, completion("a", f'{{\\"k\\": [\\"{in_arguments}\\", {{\\"{in_arguments}\\": 1}}]}}')),
        (200, {}, completion("a", f'{{\\"k\\": {in_arguments}')),  # not JSON
        (400, {}, f'{{"error": {{"message": "wrong key {text}", "code": "{text}"}}}}'.encode()),
        (400, {}, b"x" * 290 + text.encode()),  # a message that is cut inside the key
        (404, {"Content-Type": "text/html"}, f"<html><title>{text}</title></html>".encode()),
        (302, {"Location": f"http://host/{quote(KEY)}?key={quote(KEY)}"}, b""),
        (200, {}, f'data: {{"choices": "{text}"}}'.encode()),
    ]
    with echoing_server(lambda number, request: responses[number % len(responses)]) as url:
        completed = cli("run", "cases.jsonl", "--model", f"{url}#m", "--name", "mine", "--retries", "0", "--concurrency", "1")
    assert completed.status == 3, completed.err
    assert len(Path("runs/mine/predictions.jsonl").read_text().splitlines()) == len(responses)
    assert "…" in Path("runs/mine/predictions.jsonl").read_text()
    with sqlite3.connect("cache.sqlite") as cache:
        assert cache.execute("select count(*) from predictions").fetchone() == (3,)
    cache.close()
    assert leaks(workdir, completed.out + completed.err + look_everywhere(cli, "runs/mine")) == []


def test_chatbot_that_echoes_the_password_of_its_address(cli: Cli, workdir: Path) -> None:
    def respond(number: int, request: str) -> tuple[int, dict[str, str], bytes]:
        body = {"message": ALL, "function_calls": [{"functionName": "f", "arguments": {"a": [ALL]}}]}
        return (200, {}, json.dumps(body).encode()) if number % 2 else (500, {}, json.dumps({"error": ALL}).encode())

    with echoing_server(respond) as url:
        spec = "chatbot:" + url.replace("//", "//me:" + quote(KEY, safe="") + "@")
        completed = cli("run", "cases.jsonl", "--model", spec, "--name", "mine", "--retries", "0", "--concurrency", "1")
    assert completed.status == 3, completed.err
    assert leaks(workdir, completed.out + completed.err + look_everywhere(cli, "runs/mine")) == []


def test_agent_user_and_judge_that_echo_the_key(cli: Cli, workdir: Path) -> None:
    forms = [encode(KEY) for encode in ENCODINGS.values()]

    def respond(number: int, request: str) -> tuple[int, dict[str, str], bytes]:
        if number % 3 == 0:
            return 400, {}, json.dumps({"error": {"message": ALL}}).encode()
        return 200, {}, completion(forms[number % len(forms)])

    printed = ""
    with echoing_server(respond) as url:
        model = f"{url}#m"
        simulate = ("simulate", "scenarios.jsonl", "--agent", model, "--user", model, "--judge", model, "--name", "mine")
        for command in (
            ("--debug", *simulate, "--trials", "8", "--retries", "0", "--max-turns", "2", "--tools", "openapi:api.yaml"),
            ("simulate", "runs/mine", "--resume", "--retries", "0"),
            ("synth", "--tools", "openapi:api.yaml", "--agent", model, "-n", "4", "-o", "made"),
            ("run", "--list-models"),
        ):
            completed = cli(*command)
            assert "internal error" not in completed.err
            assert completed.status in (0, 3), (command, completed.err)
            printed += completed.out + completed.err
    assert "…" in Path("runs/mine/predictions.jsonl").read_text()
    assert list(Path("made").rglob("predictions.jsonl"))
    assert leaks(workdir, printed + look_everywhere(cli, "runs/mine")) == []


def test_program_that_prints_its_key(cli: Cli, workdir: Path) -> None:
    (workdir / "program.py").write_text(
        "import json, os, sys\n"
        f"key = os.environ['CALLMARK_API_KEY']\nforms = {ALL!r}\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    id = json.loads(line)['id']\n"
        "    if number == 0: print(json.dumps({'id': id, 'content': forms, 'tool_calls': [{'name': key, 'arguments': {'a': forms}}]}))\n"
        "    elif number == 1: print('{\"id\": %s, \"content\": \"%s\"}' % (json.dumps(id), ''.join('\\\\u%04x' % ord(c) for c in key)))\n"
        "    elif number == 2: print(json.dumps({'id': id, 'error': forms}))\n"
        "    elif number == 3: print('x' * 190 + key)\n"
        "    else: print(key, 'x' * 190 + key, file=sys.stderr); sys.exit(1)\n"
        "    sys.stdout.flush()\n"
    )
    command = ("run", "cases.jsonl", "--model", f"cmd:{sys.executable} -S program.py", "--env", "CALLMARK_API_KEY", "--name", "mine")
    completed = cli(*command, "--retries", "0", "--concurrency", "1")
    assert completed.status == 3, completed.err
    assert leaks(workdir, completed.out + completed.err + look_everywhere(cli, "runs/mine")) == []


SERVER = """
key = os.environ["CALLMARK_API_KEY"]
escaped = "".join("\\\\u%04x" % ord(letter) for letter in key)
forms = FORMS + escaped
properties = {"a": {"type": "string", "default": forms, "description": key, "enum": [key]}}
TOOLS = [
    {"name": name, "description": forms, "inputSchema": {"type": "object", "properties": properties}}
    for name in ("give", "fail", "split", "long")
]

def act(arguments):
    match request["params"]["name"]:
        case "give":
            text(forms)
        case "fail":
            fail(-32002, "wrong key " + forms)
        case "split":  # over writes to the pipe, in JSON escapes
            line = '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}' % (request["id"], escaped)
            for at in range(0, len(line), 5):
                os.write(1, line[at:at + 5].encode())
            os.write(1, b"\\n")
        case "long":
            text("x" * 1990 + key)
    print(key, file=sys.stderr)
"""


def test_tools_that_return_the_key_of_their_server(cli: Cli, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callmark.simulation.toolboxes.results.MAX_RESULT", 2000)  # it cuts the key of one result
    command = raw_server(workdir, SERVER.replace("FORMS", repr(ALL)))
    arguments = ("simulate", "scenarios.jsonl", "--agent", "python:calling:predict", "--user", "script", "--tools", f"mcp:{command}")
    completed = cli(*arguments, "--env", "CALLMARK_API_KEY", "--name", "mine")
    assert completed.status == 0, completed.err + completed.out
    assert "…" in Path("runs/mine/tools.json").read_text()
    (workdir / "cases.jsonl").unlink()
    listed = cli("tools", f"mcp:{command}", "--env", "CALLMARK_API_KEY")
    assert listed.status == 0, listed.err
    printed = "".join((completed.out, completed.err, listed.out, listed.err, look_everywhere(cli, "runs/mine")))
    assert leaks(workdir, printed) == []


def test_tool_server_that_streams_the_password_of_its_address(cli: Cli, workdir: Path) -> None:
    def respond(number: int, request: str) -> tuple[int, dict[str, str], bytes]:
        asked: dict[str, Any] = json.loads(request)
        tool = {"name": "give", "description": ALL, "inputSchema": {"type": "object"}}
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": KEY, "version": "1"}},
            "tools/list": {"tools": [tool]},
            "tools/call": {"content": [{"type": "text", "text": ALL}]},
        }
        if "id" not in asked:
            return 202, {}, b""
        if asked["method"] not in results:
            answer: dict[str, Any] = {"error": {"code": -32601, "message": f"no {asked['method']} for {ALL}"}}
        else:
            answer = {"result": results[asked["method"]]}
        escaped = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).replace("Z", "\\u005a")
        return 200, {"Content-Type": "text/event-stream"}, f"event: message\ndata: {escaped}\n\n".encode()

    with echoing_server(respond) as url:
        address = url.replace("//", "//me:" + quote(KEY, safe="") + "@")
        arguments = ("simulate", "scenarios.jsonl", "--agent", "python:calling:predict", "--user", "script", "--tools", f"mcp:{address}")
        completed = cli(*arguments, "--name", "mine")
        listed = cli("tools", f"mcp:{address}")
    assert completed.status == 0, completed.err
    printed = "".join((completed.out, completed.err, listed.out, listed.err, look_everywhere(cli, "runs/mine")))
    assert leaks(workdir, printed) == []


def test_function_that_raises_and_prints_the_key(cli: Cli, workdir: Path) -> None:
    (workdir / "leaking.py").write_text(
        f"import os\nforms = {ALL!r}\nkey = os.environ['CALLMARK_API_KEY']\n"
        "def predict(messages, tools):\n"
        "    if '1' in messages[0]['content']:\n        raise ValueError(forms)\n"
        "    return {'content': forms, 'tool_calls': [{'name': key, 'arguments': {key: [forms, {'a': key}]}}]}\n"
    )
    completed = cli("run", "cases.jsonl", "--model", "python:leaking:predict", "--name", "mine")
    assert completed.status == 3, completed.err
    assert leaks(workdir, completed.out + completed.err + look_everywhere(cli, "runs/mine")) == []
    assert os.environ["CALLMARK_API_KEY"] == KEY
