"""Decision points by reference: the same cases as inline, for every command, in a fraction of the bytes."""

import json
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.api.expanding import inline_sizes
from callmark.errors import BadInput
from callmark.formats import by_reference, references
from callmark.types import Case
from tests.chat_server import chat_server
from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

TOOLS = {"tools": {"id": "w", "tools": [WEATHER]}}
OTHER_TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
MESSAGES = [
    user("Bonn and Ulm?"),
    assistant(call("get_weather", {"city": "Bonn"}, "1"), call("get_weather", {"city": "Ulm"}, "2"), text="Both."),
    result("sun", "2"),
    result("rain", "1"),
    assistant(text="Done."),
]
CONVERSATION = {"conversation": {"id": "c", "messages": MESSAGES, "tools_ref": "w"}}
CALLS = [
    assistant(call("get_weather", {"city": "Bonn"}, "1")),
    result("rain", "1"),
    assistant(call("get_weather", {"city": "$Ulm", "days": 1}, "2"), call("f", '{"x": ', "3"), text="Let me see."),
    result("sun", "3"),
    result("hail", "2"),
    {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}, "weight": 1},
    {"role": "function", "name": "f", "content": "ok"},
    assistant({"name": "f", "args": {"$any": True}}, {"type": "tool_use"}),
]


def record(message: int = 1, at: int | None = 0, **others: Any) -> dict[str, Any]:
    source = {"conversation": "c", "message": message, "call": at}
    return {"id": "r", "source": source, "expected_output": {"tool_calls": []}, **others}


def conversations() -> list[dict[str, Any]]:
    """Rows with one and several calls, text, no calls, the same id twice, and two lists of tools."""
    return [
        row(user("Bonn?"), *CALLS, assistant(text="Bye."), tools=[WEATHER], id="a"),
        row(user("Hello."), assistant(text="Hello."), user("Bonn?"), *CALLS[:3], tools=[WEATHER], id="a"),
        row(*MESSAGES, tools=OTHER_TOOLS),
        row(user("Hello."), assistant(text="Hello."), tools=[WEATHER], id="none"),
        row(*MESSAGES, id="no tools"),
    ]


OPTIONS = [(), ("--abstain",), ("--parallel", "together"), ("--abstain", "--parallel", "together")]


@pytest.mark.parametrize("options", OPTIONS)
def test_by_reference_and_back_gives_the_same_bytes(cli: Cli, tmp_path: Path, options: Sequence[str]) -> None:
    file = write_rows(tmp_path / "x.jsonl", *conversations())
    inline, short, back = tmp_path / "inline.jsonl", tmp_path / "short.jsonl", tmp_path / "back.jsonl"
    assert cli("expand", file, "-o", inline, *options).status == 0
    assert cli("expand", file, "-o", short, "--by-reference", *options).status == 0
    assert cli("expand", short, "-o", back, "--inline").status == 0
    assert back.read_bytes() == inline.read_bytes()
    assert list(callmark.load(short)) == [
        callmark.types.Case(
            case.id, case.messages, case.tools, found.place, found.original,
            expected=case.expected, alternatives=case.alternatives, source=case.source,
        )
        for case, found in zip(callmark.load(inline), callmark.load(short), strict=True)
        if isinstance(case, Case)
    ]  # fmt: skip


def test_decision_points_can_be_sent_to_another_process() -> None:
    cases = list(callmark.expand(conversations()))
    assert pickle.loads(pickle.dumps(cases)) == cases
    assert any(len(case.messages) > 1 and case.messages[-1].role == "assistant" for case in cases)  # text before the call


def test_rows_are_written_once_each_before_those_that_use_them(cli: Cli, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "x.jsonl", *conversations()[:2])
    assert cli("expand", file, "-o", tmp_path / "r.jsonl", "--by-reference").status == 0
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [next(iter(one)) for one in rows] == ["tools", "conversation", *["id"] * 6, "conversation", *["id"] * 3]
    assert rows[1]["conversation"] == {"id": "a", "messages": conversations()[0]["messages"], "tools_ref": rows[0]["tools"]["id"]}
    assert rows[2] == {
        "id": "a:1",
        "source": {"conversation": "a", "message": 1, "call": 0},
        "expected_output": {"role": "assistant", "tool_calls": [CALLS[0]["tool_calls"][0]]},
    }
    assert rows[8]["conversation"]["id"] == "a~2"


MESSAGE = st.one_of(
    st.builds(user, st.text(max_size=5)),
    st.builds(lambda text: assistant(text=text), st.one_of(st.none(), st.text(max_size=5))),
    st.builds(
        lambda calls, text: assistant(*calls, text=text),
        st.lists(
            st.one_of(
                st.builds(
                    call, st.sampled_from("fg"), st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=2), st.text("12")
                ),
                st.builds(lambda text: call("f", text), st.text(max_size=5)),
                st.just({"name": "f", "arguments": {"$any": True}}),
            ),
            max_size=4,
        ),
        st.one_of(st.none(), st.text(max_size=5)),
    ),
    st.builds(result, st.text(max_size=5), st.one_of(st.none(), st.text("12"))),
)


@given(
    st.lists(st.lists(MESSAGE, max_size=8), min_size=1, max_size=3), st.sampled_from(["separate", "together"]), st.booleans(), st.booleans()
)
def test_the_size_is_known_and_nothing_changes(talks: list[list[Any]], parallel: Any, abstain: bool, wrap: bool) -> None:
    rows = [row(*talk, tools=[WEATHER] * (index % 2)) for index, talk in enumerate(talks)]
    with TemporaryDirectory() as folder:
        inline, short, back = (Path(folder, name) for name in ("inline", "short", "back"))
        count = callmark.write(callmark.expand(rows, parallel=parallel, abstain=abstain), inline, wrap="item" if wrap else None)
        dataset = callmark.load(rows)
        assert inline_sizes(dataset, parallel=parallel, abstain=abstain, wrap="item" if wrap else None).output == inline.stat().st_size
        assert callmark.write(callmark.expand(rows, parallel=parallel, abstain=abstain), short, by_reference=True) == count
        if count:
            assert inline_sizes(callmark.load(short), wrap="item" if wrap else None).output == inline.stat().st_size
            callmark.write(callmark.load(short), back, wrap="item" if wrap else None)
            assert back.read_bytes() == inline.read_bytes()


def test_output_of_more_than_twenty_times_the_input_is_refused(cli: Cli, tmp_path: Path) -> None:
    messages = [message for number in range(150) for message in (assistant(call("f", {}, str(number))), result("ok", str(number)))]
    file = write_rows(tmp_path / "x.jsonl", row(user("go"), *messages, id="long"))
    size = file.stat().st_size
    refused = cli("expand", file, "-o", tmp_path / "out.jsonl")
    assert refused.status == 2
    assert not (tmp_path / "out.jsonl").exists()
    assert cli("expand", file, "-o", tmp_path / "out.jsonl", "--yes").status == 0
    written = (tmp_path / "out.jsonl").stat().st_size
    assert refused.err == (
        f"callmark: {file}: the decision points take {written / 1e6:,.1f} MB, {written / size:,.0f} times the {size / 1000:,.1f} KB of the "
        "input: each repeats its conversation up to its call.\n"
        "Pass --by-reference to write each conversation once, which every command reads, or --yes to write them anyway.\n"
    )
    assert cli("expand", file, "-o", tmp_path / "short.jsonl", "--by-reference").status == 0
    refused = cli("expand", tmp_path / "short.jsonl", "-o", tmp_path / "back.jsonl", "--inline")
    assert (refused.status, refused.err.splitlines()[1]) == (2, "Every command reads the file as it is. Pass --yes to write them anyway.")
    assert cli("expand", tmp_path / "short.jsonl", "-o", tmp_path / "back.jsonl", "--inline", "--yes").status == 0
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()
    refused = cli("convert", tmp_path / "short.jsonl", "-o", tmp_path / "converted.jsonl", "--to", "openai")
    assert (refused.status, refused.err.splitlines()[1]) == (
        2,
        f"To write them anyway: callmark expand {tmp_path / 'short.jsonl'} --inline --yes -o FILE",
    )


@pytest.mark.parametrize("options", [(), ("--yes",), ("--by-reference",)])
def test_a_pipe_is_expanded_like_a_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Sequence[str]) -> None:
    file = write_rows(tmp_path / "x.jsonl", *conversations())
    assert cli("expand", file, "-o", tmp_path / "a.jsonl", *options).status == 0
    with file.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        shown = cli("expand", "-", "-o", tmp_path / "b.jsonl", *options)
    assert shown.out.startswith("standard input · OpenAI chat · 5 conversations")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("x.jsonl", "--by-reference", "--inline"), "--by-reference and --inline cannot be combined."),
        (("x.jsonl", "--by-reference", "--wrap", "item"), "--wrap cannot be used with --by-reference"),
        (("x.jsonl", "--inline"), "--inline: expected a file that was written with --by-reference, got x.jsonl (OpenAI chat)."),
        (("r.jsonl", "--inline", "--abstain"), "--parallel and --abstain cannot be used with --inline"),
        (("r.jsonl",), "r.jsonl: expected conversations to cut into decision points, got decision points by reference."),
        (("r.jsonl", "--by-reference"), "r.jsonl: expected conversations to cut into decision points, got decision points by reference."),
    ],
)
def test_options_that_do_not_fit_are_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "x.jsonl", conversations()[0])
    write_rows(tmp_path / "r.jsonl", TOOLS, CONVERSATION, record())
    refused = cli("expand", *arguments, "-o", "out.jsonl")
    assert refused.status == 2
    assert sentence in refused.err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    "message, at, history",
    [
        (1, 0, [MESSAGES[0], {"role": "assistant", "content": "Both."}]),
        (
            1,
            1,
            [MESSAGES[0], {"role": "assistant", "content": "Both.", "tool_calls": MESSAGES[1]["tool_calls"][:1]}, MESSAGES[3]],
        ),
        (1, None, [MESSAGES[0], {"role": "assistant", "content": "Both."}]),
        (4, None, MESSAGES[:4]),
    ],
)
def test_a_record_has_the_history_of_its_source(tmp_path: Path, message: int, at: int | None, history: list[Any]) -> None:
    path = write_rows(tmp_path / "x.jsonl", TOOLS, CONVERSATION, record(message, at, group="g"))
    callmark.write(callmark.load(path), tmp_path / "inline.jsonl")
    inline = json.loads((tmp_path / "inline.jsonl").read_text(encoding="utf-8"))
    assert (inline["messages"], inline["tools"], inline["group"]) == (history, [WEATHER], "g")


DEFINED = "is not defined in an earlier row."


@pytest.mark.parametrize(
    "rows, place, sentence",
    [
        ([record()], 1, f"source.conversation: 'c' {DEFINED}"),
        ([TOOLS, record(), CONVERSATION], 2, f"source.conversation: 'c' {DEFINED}"),
        ([CONVERSATION, TOOLS, record()], 1, "conversation.tools_ref: the tools 'w' are not defined in an earlier row."),
        ([TOOLS, CONVERSATION, record(5)], 3, "source.message: there is no message 5: conversation 'c' has 5 messages."),
        ([TOOLS, CONVERSATION, record(-1)], 3, "source.message: there is no message -1: conversation 'c' has 5 messages."),
        ([TOOLS, CONVERSATION, record(1, 2)], 3, "source.call: there is no call 2: message 1 of conversation 'c' has 2 calls."),
        ([TOOLS, CONVERSATION, record(4, 0)], 3, "source.call: there is no call 0: message 4 of conversation 'c' has 0 calls."),
        (
            [TOOLS, CONVERSATION, record(2, None)],
            3,
            "source.message: expected an assistant message, but message 2 of conversation 'c' is not one.",
        ),
        ([TOOLS, CONVERSATION, record(1, "0")], 3, "source.call: expected an integer, got a string."),  # type: ignore[arg-type]
        ([TOOLS, CONVERSATION, record(source=3)], 3, "source: expected an object, got a number."),
        ([TOOLS, CONVERSATION, {"id": "r", "expected_output": {}}], 3, "missing key 'source'."),
        ([TOOLS, CONVERSATION, record(expected_output=None)], 3, "expected_output: expected an object, got null."),
        (
            [TOOLS, CONVERSATION, record(messages=[])],
            3,
            "messages: a record cannot have its own messages or tools",
        ),
        ([TOOLS, {**TOOLS, "id": 1}, CONVERSATION, record()], 2, "expected a row with only the key tools, but it also has id."),
        ([{"tools": {"id": "w"}}, CONVERSATION, record()], 1, "tools: missing key 'tools'."),
        ([{"tools": {"id": "", "tools": []}}, CONVERSATION], 1, "tools.id: expected a non-empty string."),
        ([{"tools": {"id": "w", "tools": 3}}, CONVERSATION], 1, "tools: expected a list of tools, got a number."),
        (
            [TOOLS, {"tools": {"id": "w", "tools": OTHER_TOOLS}}, CONVERSATION, record()],
            2,
            "tools.id: 'w' is already defined with different tools in x.jsonl, line 1.",
        ),
        (
            [TOOLS, CONVERSATION, {"conversation": {"id": "c", "messages": []}}, record()],
            3,
            "conversation.id: 'c' is already defined with different content in x.jsonl, line 2.",
        ),
        ([{"conversation": {"messages": []}}, record()], 1, "conversation: missing key 'id'."),
        ([{"conversation": {"id": "c", "messages": 3}}, record()], 1, "conversation.messages: expected a list of messages, got a number."),
        (
            [{"conversation": {"id": "c", "messages": [], "tools": []}}, record()],
            1,
            "conversation.tools: expected tools_ref, the ID of a list of tools in an earlier row.",
        ),
        (['{"conversation": {"id": "c"', record()], 1, "not valid JSON: the row ends at column 27, before it is complete."),
    ],
)
def test_what_does_not_fit_is_refused_with_file_row_and_field(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[Any], place: int, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("x.jsonl"), *rows)
    refused = cli("stats", "x.jsonl", "--from", "by-reference")
    assert refused.status == 2
    assert refused.err.startswith(f"callmark: x.jsonl, line {place}: {sentence}")


def test_bad_records_and_definitions_can_be_skipped(cli: Cli, tmp_path: Path) -> None:
    broken = {"conversation": {"id": "d", "messages": 3}}
    path = write_rows(tmp_path / "x.jsonl", TOOLS, CONVERSATION, broken, record(9), {**record(), "id": "good"}, TOOLS, CONVERSATION)
    shown = cli("stats", path, "--json", "--skip-bad", "--rejects", tmp_path / "rejects.jsonl")
    assert (shown.status, json.loads(shown.out)["bad_rows"]) == (0, 2)
    assert [json.loads(line)["line"] for line in (tmp_path / "rejects.jsonl").read_text().splitlines()] == [3, 4]


def test_a_file_with_definitions_only_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="x.jsonl: no rows: only tools and conversations that no row uses"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", TOOLS, CONVERSATION)))


@pytest.mark.parametrize("held", [1 << 28, 2000])
def test_records_may_be_anywhere_after_their_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(references, "MAX_HELD", held)
    names = [f"c{number}" for number in range(20)]
    defined = [{"conversation": {"id": name, "messages": [user(name), *MESSAGES[1:]]}} for name in names]
    records = [{**record(), "source": {"conversation": name, "message": 1, "call": 0}} for name in names * 2]
    path = write_rows(tmp_path / "x.jsonl", *defined, *records)
    if held > 2000:
        assert [case.messages[0].text for case in callmark.load(path)] == names * 2
    else:
        with pytest.raises(BadInput, match="line 21: source.conversation: 'c0' is more than 0 MiB of conversations back"):
            list(callmark.load(path))


def test_lists_of_dicts_may_refer_too(tmp_path: Path) -> None:
    rows = [TOOLS, CONVERSATION, record()]
    (case,) = callmark.load(rows)
    assert [message.text for message in case.messages] == ["Bonn and Ulm?", "Both."]
    assert callmark.write(rows, tmp_path / "x.jsonl") == 1
    (again,) = callmark.load(tmp_path / "x.jsonl")
    assert again.messages == case.messages


def test_a_case_without_its_conversation_cannot_be_written_by_reference(tmp_path: Path) -> None:
    callmark.write(callmark.expand(conversations()[:1]), tmp_path / "inline.jsonl")
    with pytest.raises(BadInput, match="a:1: cannot be written by reference, because the conversation that it was cut from is not known"):
        callmark.write(tmp_path / "inline.jsonl", tmp_path / "x.jsonl", by_reference=True)
    with pytest.raises(BadInput, match=r"the format by-reference .* can only be read, not written") as raised:
        callmark.convert(tmp_path / "inline.jsonl", to="by-reference", out=tmp_path / "x.jsonl")
    assert raised.value.hint == "callmark expand --by-reference writes it."


@pytest.fixture
def both(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The same cases inline and by reference, each as `eval.jsonl` in its own folder."""
    file = write_rows(tmp_path / "x.jsonl", *conversations())
    folders = tmp_path / "inline", tmp_path / "by-reference"
    for folder, options in zip(folders, ((), ("--by-reference",)), strict=True):
        assert cli("expand", file, "-o", folder / "eval.jsonl", "--abstain", *options).status == 0
    return folders


def outputs(cli: Cli, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[tuple[int, str]]:
    found = []
    for folder in folders:
        monkeypatch.chdir(folder)
        done = cli(*arguments)
        assert done.status in (0, 1, 3), done.err
        found.append((done.status, done.out.replace("decision points by reference", "OpenAI chat").replace("by-reference", "openai")))
    return found


def without_lines(text: str) -> str:
    """Return the text without line numbers, which differ."""
    return re.sub(r"\bline \d+", "line N", text)


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats", "eval.jsonl"),
        ("stats", "eval.jsonl", "--json"),
        ("show", "eval.jsonl", "--id", "a:3.1", "--markdown"),
        ("show", "eval.jsonl", "--search", "hail", "--full", "--markdown"),
        ("grade", "eval.jsonl", "-p", "eval.jsonl"),
    ],
)
def test_commands_print_the_same(cli: Cli, both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    if arguments[0] == "grade":
        predictions = [{"id": case.id, "tool_calls": []} for case in callmark.load(both[0] / "eval.jsonl")]
        for folder in both:
            write_rows(folder / "p.jsonl", *predictions)
        arguments = ("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "r")
    inline, short = outputs(cli, both, monkeypatch, *arguments)
    assert (inline[0], without_lines(inline[1])) == (short[0], without_lines(short[1]))
    if arguments[0] == "grade":
        for name in ("grades.jsonl", "predictions.jsonl"):
            assert (both[0] / "runs/r" / name).read_bytes() == (both[1] / "runs/r" / name).read_bytes()
        again = outputs(cli, both, monkeypatch, "grade", "runs/r", "--jobs", "2")
        assert again[0] == again[1]
        assert (both[0] / "runs/r/grades.jsonl").read_bytes() == (both[1] / "runs/r/grades.jsonl").read_bytes()
        for folder in both:
            monkeypatch.chdir(folder)
            assert cli("report", "runs/r", "-o", "report.html").status == 0


def test_lint_finds_the_same(cli: Cli, both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    inline, short = outputs(cli, both, monkeypatch, "lint", "eval.jsonl", "--json")
    findings = [[{**one, "line": 0} for one in json.loads(without_lines(text))["findings"]] for _, text in (inline, short)]
    assert findings[0] == findings[1]
    assert findings[0]


def test_filter_and_split_write_files_that_can_be_read(cli: Cli, both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    outputs(cli, both, monkeypatch, "filter", "eval.jsonl", "-o", "kept.jsonl", "--min-calls", "1", "--rejects", "rejects.jsonl")
    outputs(cli, both, monkeypatch, "split", "eval.jsonl", "-o", "parts", "--valid", "0.5")
    for name in ("kept.jsonl", "parts/train.jsonl", "parts/valid.jsonl"):
        callmark.write(callmark.load(both[1] / name), both[1] / "back.jsonl")
        assert (both[1] / "back.jsonl").read_bytes() == (both[0] / name).read_bytes()
        first = (both[1] / name).read_bytes()[:8]
        assert first == b'{"tools"'
    assert len((both[1] / "rejects.jsonl").read_bytes().splitlines()) == len((both[0] / "rejects.jsonl").read_bytes().splitlines())


@pytest.mark.parametrize("in_memory", [False, True])
def test_models_get_the_same_prompts(both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, in_memory: bool) -> None:
    received = []
    for folder in both:
        monkeypatch.chdir(folder)
        with chat_server() as server:
            cases = list(callmark.load("eval.jsonl")) if in_memory else "eval.jsonl"
            settings = callmark.ModelSettings(model=f"{server.url}#m", concurrency=1)
            (run,) = callmark.run(cases, [settings], name="r", cache=False)
            received.append([request.body for request in server.requests])
            assert run.info.cases == len(received[-1]) == 17
    assert received[0] == received[1]
    grades = [(folder / "runs/r/grades.jsonl").read_bytes() for folder in both]
    assert [line.partition(b'"usage"')[0] for line in grades[0].splitlines()] == [
        line.partition(b'"usage"')[0] for line in grades[1].splitlines()
    ]


def test_conversation_that_is_too_long_is_neither_written_nor_read(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, short = write_rows(tmp_path / "x.jsonl", *conversations()), tmp_path / "short.jsonl"
    assert cli("expand", file, "-o", short, "--by-reference").status == 0
    monkeypatch.setattr(by_reference, "MAX_SIZE", 3)
    sentence = "expected at most 3 messages and calls, got "
    refused = cli("expand", file, "-o", tmp_path / "again.jsonl", "--by-reference")
    assert (refused.status, sentence in refused.err) == (2, True)
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load(short))
