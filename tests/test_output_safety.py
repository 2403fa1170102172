"""Nothing in data reaches a terminal, a pipe or a CI log as a control: every command, on hostile files, in a pipe and on a terminal.

Checked: no control character but line breaks and tabs, no escape sequence but our own styles, no bidirectional or invisible control, no
workflow command, no line that data begins.
"""

import io
import json
import os
import pty
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from callmark.cli.main import run
from callmark.models.model import ModelSettings
from callmark.reporting.safe_stream import SafeStream
from callmark.reporting.safety import escape_controls, escape_json, markdown_code
from callmark.runs.store import RunFolder
from tests.chat_server import Response, chat_server
from tests.conftest import Cli, Result
from tests.hostile_files import FILE_NAME, FORGED, MODEL, TEXT, conversation, name, write_files
from tests.rows import call

PYTHON = f"{sys.executable} -S -E"
STYLE = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|2K|1A)")  # colors; and of a progress bar the cursor
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
COMMAND = re.compile(r"^\s*::|##(?:vso|teamcity)?\[", re.MULTILINE)

COMMANDS: list[list[str]] = [
    *[["stats", "data.jsonl", *more] for more in ([], ["--json"], ["data.jsonl"])],
    *[["show", "data.jsonl", *more] for more in ([], ["--full"], ["--markdown"], ["--json"], ["--search", "e"], ["--most-calls"])],
    *[["show", "eval.jsonl", *more] for more in ([], ["--markdown", "--full"])],
    *[["show", "scenarios.jsonl", *more] for more in ([], ["--markdown"])],
    ["show", "data.jsonl", "--id", name("nobody").replace("\0", "")],
    *[["lint", "data.jsonl", *more] for more in ([], ["--all"], ["--json"])],
    ["lint", "--train", "data.jsonl", "--valid", FILE_NAME],
    *[["filter", "data.jsonl", "-o", "-", "--tool", name("f").replace("\0", "?"), *more] for more in ([], ["--json"])],
    ["filter", "data.jsonl", "-o", "out.jsonl", "--grounded", "--require", "*[error]*", "--tool", name("f").replace("\0", "")],
    *[["split", "data.jsonl", "--valid", "0.5", "-o", "parts", *more] for more in ([], ["--json"])],
    *[["convert", "data.jsonl", "--to", to, "-o", "-"] for to in ("openai", "sharegpt", "anthropic", "deepfabric")],
    ["convert", "data.jsonl", "--to", "sharegpt", "-o", "out.jsonl", "--json"],
    *[["expand", "data.jsonl", "-o", out, *more] for out in ("-", "out.jsonl") for more in ([], ["--json"])],
    ["tools", "data.jsonl"],
    ["stats", "data.jsonl", "--tools", "tools.json"],
    ["tools", "data.jsonl", "--json"],
    *[["tools", "openapi.yaml", *more] for more in ([], ["--json"])],
    *[["grade", "eval.jsonl", "--predictions", "predictions.jsonl", *more] for more in ([], ["--details"], ["--json"])],
    [
        "grade",
        "eval.jsonl",
        "--predictions",
        "predictions.jsonl",
        "-e",
        "call",
        "-e",
        "hostile_module:Hostile",
        "-e",
        "hostile_module:Raises",
    ],
    ["grade", "eval.jsonl", "--predictions", "predictions.jsonl", "-e", "hostile_module:Misnamed"],
    ["grade", "eval.jsonl", "--predictions", "predictions.jsonl", "-e", "hostile_module:Hostile", "--jobs", "2"],
    ["grade", "eval.jsonl", "--predictions", "predictions.jsonl", "--config", "hostile.toml", "--name", "x"],
    *[
        ["run", "eval.jsonl", "--model", f"python:hostile_module:{model}", *more]
        for model in ("answer", "agent")
        for more in ([], ["--json"])
    ],
    ["run", "eval.jsonl", "--model", "scripted:perfect", "--model", "scripted:hasty"],
    ["run", "eval.jsonl", "--config", "hostile.toml", "--model", MODEL],
    ["run", "--list-models"],
    *[["run", "eval.jsonl", "--model", f"cmd:{PYTHON} program.py", "--retries", "0", *more] for more in ([], ["--json"])],
    *[["tools", f"mcp:{PYTHON} {server}", *more] for server in ("server.py", "failing_server.py") for more in ([], ["--json"])],
    *[
        ["simulate", "scenarios.jsonl", "--agent", "python:hostile_module:agent", "--tools", f"mcp:{PYTHON} {server}", "--max-turns", "1"]
        for server in ("server.py", "failing_server.py")
    ],
    ["expand", "data.jsonl", "-o", "-", "--by-reference"],
    *[["expand", "references.jsonl", "-o", out, "--inline"] for out in ("-", "inline.jsonl")],
    *[[command, "references.jsonl"] for command in ("stats", "show", "lint")],
    ["simulate", "scenarios.jsonl", "--agent", "python:hostile_module:agent", "--tools", "openapi:openapi.yaml", "--max-turns", "1"],
    ["simulate", "scenarios.jsonl", "--agent", "python:hostile_module:answer", "--tools", "recorded:data.jsonl", "--policy", "policy.yaml"],
    *[["compare", "one", "two", *more] for more in ([], ["--details"], ["--json"])],
    ["gate", "one", "--list"],
    *[["gate", "one", "--max-errors", "0", *more] for more in ([], ["--json"], ["--summary", "-"], ["--junit", "-"])],
    *[["gate", "two", "--config", "hostile.toml", *more] for more in ([], ["--summary", "-"], ["--junit", "-"], ["--json"])],
    ["gate", "one", "--baseline", "two", "--max-drop", "call.score=0.1"],
    *[["report", "one", "two", "-o", out, *more] for out in ("-", "report.html") for more in ([], ["--json"])],
    *[["export", "results", "one", "--to", to, "-o", "-"] for to in ("csv", "jsonl")],
    ["export", "batch", "eval.jsonl", "--model", "openai:gpt", "-o", "-"],
    ["export", "grader", "-o", "-"],
    *[["synth", "--scenarios-only", "--templates", "templates.yaml", "-n", "2", "-o", "-", *more] for more in ([], ["--json"])],
    ["synth", "--tools", "openapi:openapi.yaml", "-n", "2", "-o", "made"],
    # what is refused
    *[["--debug", command, file] for command in ("stats", "lint", "show") for file in ("bad.jsonl", "unknown.jsonl", "surrogate.jsonl")],
    *[["stats", file, "--skip-bad", "--rejects", FILE_NAME + ".rejects"] for file in ("bad.jsonl", FILE_NAME)],
    *[
        ["stats", f"no{FILE_NAME}"],
        [f"stats{FILE_NAME}"],
        ["stats", f"--{FILE_NAME}", "x"],
        ["grade", FILE_NAME, "--predictions", FILE_NAME],
    ],
    *[
        ["run", "eval.jsonl", "--model", model]
        for model in (FILE_NAME, f"python:{FILE_NAME}", f"cmd:{FILE_NAME}", "python:hostile_module:x")
    ],
    ["run", "eval.jsonl", "--config", "bad.toml", "--model", "x"],
    ["grade", "eval.jsonl", "--predictions", "predictions.jsonl", "--policy", "bad_policy.yaml", "-e", "policy"],
    ["--debug", "gate", "one", "--min", f"{FILE_NAME}=1"],
    ["--debug", "run", "one", "--resume"],
    ["--debug", "grade", "one"],
    ["report", FILE_NAME],
    ["export", "notebook", FILE_NAME, "-o", FILE_NAME],
    ["synth", "--scenarios-only", "--templates", "openapi.yaml", "-o", "-"],
    ["tools", "templates.yaml"],
    ["view", FILE_NAME],
]
OWN_LINES = {"--markdown", "csv", "--debug", "stats"}  # code blocks, cells, tracebacks, and long names that are wrapped
USER_CODE = {
    "python:hostile_module:answer",
    "python:hostile_module:agent",
    "hostile_module:Hostile",
    "hostile_module:Misnamed",
    MODEL,
}  # it prints


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("CALLMARK_TRUST", "1")
        patch.syspath_prepend(str(folder))
        write_files(folder)
        yield folder


def command_id(command: list[str]) -> str:
    return ascii(" ".join(command))[1:50]


def check(text: str, command: list[str]) -> None:
    assert not UNSAFE.findall(text)
    assert not COMMAND.findall(text)
    if not (OWN_LINES | USER_CODE) & set(command):
        assert not [line for line in text.splitlines() if line.startswith(FORGED)]


@pytest.mark.parametrize("command", COMMANDS, ids=command_id)
def test_nothing_in_data_controls_a_pipe(files: Path, capfd: pytest.CaptureFixture[str], command: list[str]) -> None:
    capfd.readouterr()
    status = run([part for part in command if part != "--debug"], debug="--debug" in command)
    out, err = capfd.readouterr()
    assert "internal error" not in err
    assert out or err
    assert status in (0, 1, 2, 3)
    check(out.replace("\r\n", "\n") if "csv" in command else out, command)
    check(err, command)
    if "--json" in command and status != 2:
        json.loads(err.splitlines()[-1] if "-" in command else out)


class Terminal:
    """A terminal in this process: standard output and standard error are its lines, and everything written to it is kept."""

    def __init__(self) -> None:
        self._reader, self._writer = pty.openpty()
        self._read = b""
        self._thread = threading.Thread(target=self._collect, daemon=True)

    def _collect(self) -> None:
        while True:
            try:
                self._read += os.read(self._reader, 1 << 16)
            except OSError:
                return

    def __enter__(self) -> "Terminal":
        self._thread.start()
        self._before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = open(self._writer, "w", encoding="utf-8", closefd=False)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.stdout.close()
        sys.stdout, sys.stderr = self._before
        os.close(self._writer)
        self._thread.join(5)
        os.close(self._reader)

    @property
    def text(self) -> str:
        return self._read.decode("utf-8").replace("\r\n", "\n")


@pytest.mark.parametrize("command", COMMANDS, ids=command_id)
def test_nothing_in_data_controls_a_terminal(
    files: Path, command: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    with capfd.disabled(), Terminal() as terminal:
        run([part for part in command if part != "--debug"], debug="--debug" in command)
    text = terminal.text
    assert text
    assert "5;41" not in "".join(STYLE.findall(text))
    plain = STYLE.sub("", text)
    check(plain.replace("\r", "\n"), command)  # a progress bar returns to the start of its line


@pytest.mark.parametrize(
    "response",
    [
        Response(200, json.dumps({"choices": [{"message": {"content": TEXT, "tool_calls": [call(TEXT, TEXT)]}}]}).encode()),
        Response(200, json.dumps({"error": {"message": TEXT, "code": TEXT}}).encode()),
        Response(400, json.dumps({"error": {"message": TEXT, "type": TEXT}}).encode()),
        Response(503, TEXT.encode("utf-8", "surrogatepass")),
        Response(404, f"<html><title>{TEXT}</title>".encode("utf-8", "surrogatepass"), {"Content-Type": "text/html"}),
        Response(302, b"", {"Location": "http://evil.example/\x1b[31m\x9b2J::error::"}),
        Response(200, TEXT.encode("utf-8", "surrogatepass")),
    ],
    ids=lambda response: f"{response.status} {len(response.body)}",
)
def test_nothing_in_a_response_controls_a_pipe(files: Path, capfd: pytest.CaptureFixture[str], response: Response) -> None:
    with chat_server(lambda number, request, attempt: response) as server:
        command = ["run", "eval.jsonl", "--model", f"{server.url}#m", "--retries", "0", "--no-cache"]
        assert run(command) in (0, 2, 3)
    out, err = capfd.readouterr()
    assert "internal error" not in err
    check(out, command)
    check(err, command)


@pytest.mark.parametrize("debug", [True, False])
def test_nothing_in_an_internal_error_controls_a_pipe(
    files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        error = ValueError(TEXT)
        error.add_note(TEXT)
        raise KeyError(TEXT) from error

    monkeypatch.setattr("callmark.formats.dataset.open_rows", fail)
    assert run(["stats", "data.jsonl"], debug=debug) == 2
    err = capfd.readouterr().err
    assert "callmark: internal error (KeyError: " in err
    assert ("Traceback" in err) is debug
    check(err, ["--debug"])


def test_nothing_in_the_files_of_a_gate_is_active(files: Path, cli: Cli) -> None:
    cli("gate", "one", "--max-errors", "0", "--config", "hostile.toml", "--summary", "gate.md", "--junit", "gate.xml")
    for file in ("gate.md", "gate.xml"):
        check((files / file).read_text(encoding="utf-8"), ["gate"])
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", (files / "gate.md").read_text(encoding="utf-8"))
    assert "gate" in outside_code
    assert not re.findall(r"@|https?:|www\.|<|#\d|\w/\w", outside_code)


def test_nothing_in_a_question_controls_a_terminal(
    files: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLMARK_TRUST", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    folder = RunFolder(shutil.copytree(files / "one", files / FILE_NAME.removesuffix("l")))
    manifest = folder.read()
    assert manifest.model_run is not None
    model_run = msgspec.structs.replace(manifest.model_run, model=ModelSettings(model=f"cmd:./x {TEXT}"))
    folder.write(msgspec.structs.replace(manifest, model_run=model_run))
    command = ["run", str(folder.path), "--resume"]
    with capfd.disabled(), Terminal() as terminal:
        assert run(command) == 2
    assert "Trust it, now and in future runs? [y/N]" in terminal.text
    check(STYLE.sub("", terminal.text), command)


def test_a_terminal_shows_colors(files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would also pass if nothing were styled."""
    monkeypatch.setenv("TERM", "xterm-256color")
    with capfd.disabled(), Terminal() as terminal:
        run(["show", "data.jsonl"])
    assert STYLE.search(terminal.text)


@pytest.mark.parametrize(
    "command", [["filter", "data.jsonl", "-o", "-", "--min-calls", "0"], ["show", "data.jsonl", "--json"]], ids=command_id
)
def test_json_keeps_its_values(files: Path, cli: Cli, command: list[str]) -> None:
    printed: Result = cli(*command)
    first = json.loads(printed.out.splitlines()[0])
    assert first == conversation(1)
    assert TEXT in first["id"]


def test_report_on_standard_output_is_the_same_page(files: Path, cli: Cli) -> None:
    """Its script has a digest in the page, so that not a character of it may be escaped."""
    cli("report", "one", "-o", "page.html")
    pages = [cli("report", "one", "-o", "-").out, (files / "page.html").read_text(encoding="utf-8")]
    (start, data, end), (other_start, other_data, other_end) = (
        re.split(r'(?<=id="callmark-data">)|</script>\n', page, maxsplit=2) for page in pages
    )
    assert (start, end) == (other_start, other_end)
    assert json.loads(data) == json.loads(other_data)
    assert UNSAFE.search(other_data)
    assert not UNSAFE.search(data)


def test_metrics_are_listed_one_on_a_line(files: Path, cli: Cli) -> None:
    printed = cli("gate", "one", "--list").out.splitlines()
    assert [line.split()[0] for line in printed[:2]] == ["call.score", "call.pass"]
    assert len(printed) == 6  # three metrics, pass^k, pass@k, scenario types


def test_surrogates_are_escaped(files: Path, cli: Cli) -> None:
    assert "\\ud800::error::s" in cli("show", "surrogate.jsonl").out


def stream() -> tuple[SafeStream, io.BytesIO]:
    written = io.BytesIO()
    return SafeStream(io.TextIOWrapper(written, encoding="utf-8", write_through=True)), written


@pytest.mark.parametrize(
    "pieces, printed",
    [
        (["a\x1b[31mb"], "a\\x1b[31mb"),
        (["a\tb\nc\r\n"], "a\tb\nc\\x0d\n"),
        (["::error::x"], "\\x3a:error::x"),
        (["  ::error::x"], "  \\x3a:error::x"),
        (["\u3000::error::x"], "\u3000\\x3a:error::x"),
        (["a::b::c"], "a::b::c"),
        (["a", "::b::c"], "a::b::c"),
        (["a\n", "::b::c"], "a\n\\x3a:b::c"),
        (["a\n:", ":b::c"], "a\n:\\x3ab::c"),
        (["a\n", " ", ":", ":b::c"], "a\n :\\x3ab::c"),
        (["a\n::b\n::c"], "a\n\\x3a:b\n\\x3a:c"),
        (["x ##[error]y"], "x \\x23#[error]y"),
        (["x ###[error]y"], "x #\\x23#[error]y"),
        (["x #", "#", "[error]y"], "x ##\\x5berror]y"),
        (["##vso[x]", "##team", "city[y]"], "\\x23#vso[x]##team\\x63ity[y]"),
        (["## heading [x]"], "## heading [x]"),
        (["\udce9\u202e\U000e0041"], "\\udce9\\u202e\\U000e0041"),
        (["日本 é 😀"], "日本 é 😀"),
        (["a\x1b[1m::b::"], "a\\x1b[1m::b::"),
        ([""], ""),
    ],
)
def test_text_is_escaped_however_it_is_split(pieces: list[str], printed: str) -> None:
    safe, written = stream()
    assert [safe.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
    assert written.getvalue().decode() == printed


@pytest.mark.parametrize(
    "pieces, printed",
    [
        ([b'{"a":"\x7f"}'], '{"a":"\\u007f"}'),
        (['{"a":"\u202e\x85\U000e0041"}'.encode()], '{"a":"\\u202e\\u0085\\udb40\\udc41"}'),
        (['{"a":"é'.encode()[:-1], 'é"}'.encode()[1:]], '{"a":"é"}'),
        ([b'{"a":\r1}\r\n'], '{"a": 1}\r\n'),
        ([b'{"a":"##[x]"}'], '{"a":"\\u0023#[x]"}'),
        ([b"::error::x\n", b"y"], "\\u003a:error::x\ny"),
        ([b"\xff"], "\\udcff"),
        ([b'{"a": "b"}\n' * 3], '{"a": "b"}\n' * 3),
    ],
)
def test_bytes_are_escaped_as_json(pieces: list[bytes], printed: str) -> None:
    safe, written = stream()
    assert [safe.buffer.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
    assert written.getvalue().decode() == printed


def test_text_and_bytes_keep_their_order_and_share_the_line() -> None:
    safe, written = stream()
    safe.write(":")
    safe.buffer.write(b":error::x\n")
    safe.styled.write("\x1b[1m::b\x1b[0m\n")
    assert written.getvalue() == b":\\u003aerror::x\n\x1b[1m\\x3a:b\x1b[0m\n"


def test_every_json_text_keeps_its_value() -> None:
    every = "".join(map(chr, [*range(0x20, 0x2FFF), *range(0xE000, 0x10000), *range(0xE0000, 0xE0100)]))
    text = json.dumps({every: every}, ensure_ascii=False)
    escaped = escape_json(text)
    assert json.loads(escaped) == {every: every}
    assert not UNSAFE.search(escaped)
    assert not UNSAFE.search(escape_controls(every))


@pytest.mark.parametrize("text", ["a", "`", "``a`b```", "|", "a|b", "\\|", "", " ", "<!-- -->", "a\nb"])
def test_code_in_markdown_is_one_cell(text: str) -> None:
    code = markdown_code(text, 100)
    assert "|" not in code
    assert "\n" not in code
