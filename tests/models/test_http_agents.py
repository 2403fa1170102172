"""`[agents.NAME]`: agents over HTTP, with the settings of every example in the docs; and what a file may not contain."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from callmark.config import read_config
from callmark.errors import BadInput
from callmark.models.chatbot import read_results
from callmark.models.endpoint import EndpointSettings, PollRequest, StartRequest, fill, fill_url, read_events, resolve
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.models.specs import open_model
from callmark.types import Call, Case, Message, Prediction
from tests.agent_servers import TOKEN, serve_agent
from tests.chat_server import ReceivedRequest, Response, chat_server
from tests.conftest import Cli, Result

PAGE = Path(__file__).parents[2] / "docs/how-to/test-an-http-agent.md"
EXAMPLES = {
    name: re.sub(r"https://[^/\"]+", "URL", config).replace(f"agents.{name}", "agents.bot").replace("interval = 0.5", "interval = 0.02")
    for config in re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for name in re.findall(r"^\[agents\.([\w-]+)\]", config, re.MULTILINE)
}
SHAPES = {name: re.sub(r"(?<=api_key_env = \")\w+|(?<=\$\{)\w+", "BOT_TOKEN", config) for name, config in EXAMPLES.items()}
FASTAPI, DIRECT_LINE = SHAPES["travel"], SHAPES["azure-bot"]
SCENARIOS = [
    {
        "id": city,
        "instructions": f"Book {city}.",
        "expected_function_calls": [{"functionName": "book", "arguments": {"city": city}}],
        "data": {"script": ["Hello, I want to travel.", f"To {city}, please."]},
    }
    for city in ("Lima", "Oslo")
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CALLMARK_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setenv("BOT_TOKEN", TOKEN)
    Path("scenarios.json").write_text(json.dumps(SCENARIOS), encoding="utf-8")


def simulate(cli: Cli, config: str, url: str, *options: str) -> Result:
    """Simulate the scenarios with the agent `bot` of a configuration file."""
    Path("callmark.toml").write_text(config.replace("URL", url), encoding="utf-8")
    return cli("simulate", "scenarios.json", "--agent", "bot", "--user", "script", "--name", "run", "--retries", "0", *options)


def test_docs_describe_four_apis() -> None:
    assert list(SHAPES) == ["travel", "assistant", "assistant-stream", "azure-bot"]


@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_agent_of_any_shape_is_configured_without_code(config: str, cli: Cli, tmp_path: Path) -> None:
    with serve_agent() as (url, agent):
        done = simulate(cli, config, url, "--trust")
    assert done.status == 0, done.err
    rows = [json.loads(line) for line in Path("runs/run/predictions.jsonl").read_bytes().splitlines()]
    assert {row["case"]: row["calls"] for row in rows} == {
        city: [{"name": "book", "id": row["calls"][0]["id"], "arguments": {"city": city}}] for row in rows for city in [row["case"]]
    }
    for row in rows:
        texts = [message["content"] for message in row["transcript"] if message["role"] == "assistant" and message["content"]]
        assert texts == ["Which city?", f"Booked {row['case']}, after 2 messages. Goodbye!"]  # the agent knew its conversation
    assert "process.reliability  1 " in done.out
    assert len(agent.heard) == 2
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in written if TOKEN.encode() in file.read_bytes()]


@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_discovered_file_sends_nothing_before_it_is_trusted(config: str, cli: Cli) -> None:
    with serve_agent() as (url, agent):
        refused = simulate(cli, config, url)
        assert not agent.requests
        assert refused.status == 2
        assert refused.err.startswith("callmark: callmark.toml is not trusted: it makes callmark send BOT_TOKEN to http://127.0.0.1")
        named = simulate(cli, config, url, "--config", "callmark.toml")  # a file that the user names is trusted
    assert named.status == 0, named.err


def test_consent_lists_every_address_of_an_agent(cli: Cli) -> None:
    config = DIRECT_LINE.replace('URL/v3/directline/conversations"', 'http://127.0.0.2:9/start"')
    refused = simulate(cli, config, "http://127.0.0.1:9")
    assert "BOT_TOKEN to http://127.0.0.2:9/start" in refused.err
    assert "BOT_TOKEN to http://127.0.0.1:9/v3/directline/conversations/{session}/activities" in refused.err


def test_agent_is_resumed_from_its_run(cli: Cli) -> None:
    with serve_agent() as (url, agent):
        assert simulate(cli, FASTAPI, url, "--trust").status == 0
        requests = len(agent.requests)
        predictions = Path("runs/run/predictions.jsonl")
        predictions.write_bytes(predictions.read_bytes().splitlines(keepends=True)[0])
        Path("callmark.toml").unlink()
        resumed = cli("simulate", "runs/run", "--resume")
        assert resumed.status == 0, resumed.err
        assert len(agent.requests) == requests + requests // 2


def test_wrong_key_is_an_error_that_does_not_show_it(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOT_TOKEN", "another-planted-token")
    with serve_agent() as (url, _):
        done = simulate(cli, FASTAPI, url, "--trust")
    assert "returned HTTP 401 Unauthorized: wrong key: Bearer …" in done.err + done.out
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"another-planted-token" in file.read_bytes()]


def test_variable_that_is_not_set_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOT_TOKEN")
    done = simulate(cli, FASTAPI, "http://127.0.0.1:9", "--trust")
    assert (done.status, done.err.splitlines()[0]) == (2, "callmark: chatbot:http://127.0.0.1:9/chat: BOT_TOKEN is not set.")


@pytest.mark.parametrize(
    "lines, problem",
    [
        ("body = {}", "[agents.bot]: missing key 'url'"),
        ('url = "URL"\nurll = 1', "[agents.bot]: unknown key 'urll'. Did you mean url?"),
        ('url = "URL"\napi_key = "x"', "[agents.bot] api_key: API keys do not belong in this file"),
        ('url = "URL"\nheaders = { X-Api-Key = "x" }', "[agents.bot] headers X-Api-Key: API keys do not belong in this file"),
        ('url = "URL"\nbody = { auth = { token = "x" } }', "[agents.bot] body token: API keys do not belong in this file"),
        ('url = "URL"\nbody = { tokens = ["x"] }', "[agents.bot] body tokens: API keys do not belong in this file"),
        (
            'url = "URL"\nstart = { url = "URL", session = "/id", body = { api_key = "x" } }',
            "[agents.bot] start.body api_key: API keys do not belong in this file",
        ),
        ('url = "http://{session}.example.com/chat"', "[agents.bot] url: the host cannot contain a placeholder, got {session}"),
        (
            'url = "URL"\npoll = { url = "https://h:{trial}/x" }',
            "[agents.bot] poll.url: the host cannot contain a placeholder, got {trial}",
        ),
        ('url = "URL"\nbody = { text = "{mesage}" }', "[agents.bot] body: unknown placeholder {mesage}. Did you mean message?"),
        ('url = "URL?key=${KEY}"', "[agents.bot] url: a URL cannot contain a variable, got ${KEY}"),
        ('url = "URL"\nreply = "text"', "[agents.bot] reply: expected a JSON Pointer, which starts with /, got 'text'"),
        ('url = "URL"\nmethod = "DELETE"', "[agents.bot] method: "),
        ('url = "URL"\nevents = ["x"]', "[agents.bot] events has no effect without stream = true"),
        ('url = "URL"\npoll = { url = "URL", interval = 0 }', "[agents.bot] poll.interval: expected a number above 0, got 0"),
        ('url = "URL"\ntimeout = 0', "[agents.bot] timeout: expected a number above 0, got 0"),
        ('url = "URL"\n[models.bot]\nmodel = "scripted:perfect"', "[agents.bot]: [models.bot] has the same name"),
    ],
)
def test_invalid_settings_are_refused_with_their_key(lines: str, problem: str) -> None:
    Path("callmark.toml").write_text("[agents.bot]\n" + lines.replace("URL", "http://127.0.0.1:9/chat"), encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        read_config()
    assert str(caught.value).startswith(f"callmark.toml: {problem}")


@pytest.mark.parametrize(
    "reply, pointer", [("text", "/text"), ("data.answer", "/data/answer"), ("$.texts[*]", "/texts/*"), ("$", "/reply")]
)
def test_path_in_another_notation_is_refused_with_the_pointer_it_means(reply: str, pointer: str) -> None:
    text = f'[agents.bot]\nurl = "http://127.0.0.1:9/chat"\nreply = "{reply}"'
    Path("callmark.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        read_config()
    assert caught.value.hint == f"For example: {pointer}"


@pytest.mark.parametrize(
    "pointer, found",
    [
        ("", [{"a": [{"b": 1}, {"b": None}, {"b": 2}], "c/d": "x"}]),
        ("/a/*/b", [1, 2]),
        ("/a/2/b", [2]),
        ("/c~1d", ["x"]),
        ("/a/9", []),
        ("/a/b", []),
        ("/missing/b", []),
    ],
)
def test_pointer_finds_values(pointer: str, found: list[Any]) -> None:
    assert resolve({"a": [{"b": 1}, {"b": None}, {"b": 2}], "c/d": "x"}, pointer) == found


def test_templates_keep_the_type_of_a_whole_placeholder() -> None:
    values = {"session": None, "messages": [{"role": "user"}], "trial": 2, "message": "a b"}
    template = {"id": "{session}", "all": ["{messages}"], "text": "{trial}: {message}", "key": "Bearer ${K}", "n": 3}
    assert fill(template, values, {"K": "secret"}.__getitem__) == {
        "id": None,
        "all": [[{"role": "user"}]],
        "text": "2: a b",
        "key": "Bearer secret",
        "n": 3,
    }
    assert fill_url("http://h/{message}/x?s={session}", {**values, "message": "a/b c?"}) == "http://h/a%2Fb%20c%3F/x?s="


def test_value_inside_a_text_is_json() -> None:
    values = {"messages": [{"role": "user"}], "message": None, "trial": 0}
    assert fill("{trial}: {messages}{message}", values, str) == '0: [{"role":"user"}]'
    assert fill_url("http://h/?m={messages}", values) == "http://h/?m=%5B%7B%22role%22%3A%22user%22%7D%5D"


def test_byte_order_mark_hides_no_event() -> None:
    assert list(read_events(b'\xef\xbb\xbfdata: {"t": 1}\n\n')) == [("", {"t": 1})]


def test_events_are_read_with_any_line_ending() -> None:
    stream = b': hello\r\n\r\nevent: delta\r\ndata: {"t":\r\ndata: 1}\r\n\r\ndata: plain\n\ndata: {"type": "end"}\n\ndata: [DONE]\n\n'
    assert list(read_events(stream)) == [("delta", {"t": 1}), ("", "plain"), ("end", {"type": "end"})]


@pytest.mark.parametrize(
    "endpoint, results, expected",
    [
        (EndpointSettings(reply="/t", stream=True), [{"t": "Hel"}, {"x": 1}, {"t": "lo"}], Prediction("", 0, (), "Hello")),
        (EndpointSettings(reply="/t"), [{"t": "One"}, {"t": "Two"}], Prediction("", 0, (), "One\nTwo")),
        (EndpointSettings(reply="/t"), [{"t": "", "calls": [{"name": "f"}]}], Prediction("", 0, (Call("f"),))),
        (EndpointSettings(calls="/c"), [{"c": {"name": "f", "args": {}}, "text": "Hi"}], Prediction("", 0, (Call("f"),), "Hi")),
        (EndpointSettings(reply="/t"), [{"t": "Hi", "tool_calls": {"name": "f", "args": {}}}], Prediction("", 0, (Call("f"),), "Hi")),
        (EndpointSettings(stream=True), [{"text": "Hel"}, {"text": "lo"}], Prediction("", 0, (), "Hello")),
    ],
)
def test_reply_and_calls_are_where_the_settings_say(endpoint: EndpointSettings, results: list[Any], expected: Prediction) -> None:
    assert read_results(results, endpoint) == expected


@pytest.mark.parametrize(
    "results, kind, problem",
    [
        ([], BadInput, "no value at /data (result)"),
        ([{"answer": "x", "id": 3}], BadInput, "no value at /t (reply) or /c (calls); got answer, id"),
        ([{"error": {"message": "out of order"}}], ModelError, "out of order"),
    ],
)
def test_response_without_a_reply_is_an_error(results: list[Any], kind: type[Exception], problem: str) -> None:
    with pytest.raises(kind) as caught:
        read_results(results, EndpointSettings(result="/data", reply="/t", calls="/c"))
    assert str(caught.value) == problem


@pytest.mark.parametrize("calls", [3, "f", True])
def test_calls_that_are_no_calls_are_malformed(calls: Any) -> None:
    (call,) = read_results([{"t": "Hi", "calls": calls}], EndpointSettings(reply="/t")).calls
    assert call.malformed == "not an object"


def converse(endpoint: EndpointSettings, *bodies: bytes) -> tuple[list[str], list[ReceivedRequest]]:
    """Send one message after the other, which get these bodies, and return the texts and the requests."""

    async def run() -> list[str]:
        poll = endpoint.poll and structs.replace(endpoint.poll, url=endpoint.poll.url.replace("URL", server.url))
        settings = ModelSettings(model=f"chatbot:{server.url}/chat", timeout=5, endpoint=structs.replace(endpoint, poll=poll))
        model, _ = open_model(settings, Keys())
        history: list[Message] = []
        async with model:
            for number in range(len(bodies)):
                history.append(Message("user", f"message {number}"))
                history.append(Message("assistant", (await model.predict(Case("c1", tuple(history)))).text))
        return [message.text for message in history[1::2]]

    with chat_server(lambda number, request, attempt: Response(200, bodies[number])) as server:
        return asyncio.run(run()), server.requests


def test_session_that_only_the_first_response_has_is_kept() -> None:
    settings = EndpointSettings(reply="/t", session="/id", body={"id": "{session}"})
    _, requests = converse(settings, b'{"t": "a", "id": "s1"}', b'{"t": "b"}', b'{"t": "c"}')
    assert [request.body["id"] for request in requests] == [None, "s1", "s1"]


def test_error_names_the_address_that_was_not_reached() -> None:
    start = StartRequest("http://127.0.0.1:9/start?key=planted-key-5", "/id")
    with pytest.raises(ModelError) as caught:
        converse(EndpointSettings(reply="/t", start=start), b'{"t": "a"}')
    assert str(caught.value) == "cannot connect to http://127.0.0.1:9/start?key=…: connection refused"


def test_header_has_the_number_of_the_first_trial() -> None:
    _, (request,) = converse(EndpointSettings(reply="/t", headers={"X-Trial": "{trial}"}), b'{"t": "a"}')
    assert request.headers["x-trial"] == "0"


def test_only_a_whole_line_ends_a_stream() -> None:
    comment = b": " + b"x" * (1 << 20) + b"\n"  # more than is read at once
    stream = b'data: {"t": "It ends with data: [DONE] and"}\n\n' + comment + b'data: {"t": " more"}\n\ndata: [DONE]\n\n'
    assert converse(EndpointSettings(reply="/t", stream=True), stream)[0] == ["It ends with data: [DONE] and more"]


def test_error_in_a_poll_is_not_waited_for() -> None:
    with pytest.raises(ModelError, match="out of order"):
        converse(EndpointSettings(reply="/t", poll=PollRequest("URL/poll", interval=0.01)), b"{}", b'{"error": "out of order"}')


def test_run_stores_no_header_that_is_written_out(cli: Cli) -> None:
    """A header may be a secret whatever its name; the run is then resumed with the agent of the file."""
    config = (
        FASTAPI + 'headers = { X-Pin = "planted-pin-99", X-Tenant = "${BOT_TOKEN}", X-Code = "planted-pin-99{trial}", API-Version = "3" }\n'
    )
    with serve_agent() as (url, _):
        assert simulate(cli, config, url, "--trust").status == 0
        stored = Path("runs/run/run.json").read_text(encoding="utf-8")
        assert json.loads(stored)["model_run"]["model"]["endpoint"]["headers"] == {
            "X-Pin": "…",
            "X-Tenant": "${BOT_TOKEN}",
            "X-Code": "…",
            "API-Version": "3",
        }
        refused = cli("simulate", "runs/run", "--resume")
        assert (refused.status, "contained a secret, which is not stored" in refused.err) == (2, True), refused.err
        assert cli("simulate", "runs/run", "--resume", "--agent", "bot").status == 0


def test_header_with_a_line_break_is_an_error_that_names_it(cli: Cli) -> None:
    config = FASTAPI + 'headers = { X-Message = "{message}" }\n'
    Path("scenarios.json").write_text(json.dumps([{**SCENARIOS[0], "data": {"script": ["Hi\r\nX-Role: admin"]}}]), encoding="utf-8")
    with serve_agent() as (url, agent):
        done = simulate(cli, config, url, "--trust")
    assert "the header X-Message would contain a line break" in done.out + done.err
    assert not agent.requests
