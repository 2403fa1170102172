"""Hostile rows: every attack that once succeeded must not hang, crash or lose data again."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callmark
from callmark.calls.values import exact, without_defaults
from callmark.errors import BadInput, StorageError
from callmark.types import Call, Conversation, Message, Tool
from tests.conftest import Cli
from tests.rows import assistant, call, result, row, user, write_rows

GOOD = row(user("hi 1"), assistant(call("f", {"a": 1})), result("1"))


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "callmark", *arguments], capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(
    "inside, shown",
    [
        ('{"name":"f","kwargs":{"a":1}}', "f(a=1)"),
        ('{"type":"tool_use","name":"f","input":{"a":1}}', "f(a=1)"),
        ('{"function":{"name":"f","arguments":{"a":1}}}', "f(a=1)"),
        ('{"functionName":"f","arguments":{"a":1}}', "f(a=1)"),
        ('{"arguments":{"name":"Bob"}}', '(‹malformed: {"name":"Bob"}›)'),
        ('{"name":"f","arguments":{"a":1e999}}', 'f(‹malformed: {"name":"f","arguments":{"a":1e999}}›)'),
        ("{'name': 'f', 'arguments': {'a': b'x'}}", "f(‹malformed: {'name': 'f', 'arguments': {'a': b'x'}}›)"),
    ],
)
def test_tagged_calls_of_every_shape_keep_their_arguments(tmp_path: Path, inside: str, shown: str) -> None:
    talk = {"conversations": [{"from": "GPT", "value": f"<tool_call>{inside}</tool_call>"}]}
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", talk))
    assert [str(made) for made in read.calls] == [shown]


@pytest.mark.parametrize(
    "arguments",
    [
        ["filter", "x.jsonl", "-o", "y.jsonl", "--min-calls", "1", "--rejects", "y.jsonl"],
        ["filter", "x.jsonl", "-o", "y.jsonl", "--min-calls", "1", "--rejects", "./x.jsonl"],
        ["filter", "x.jsonl", "-o", "-", "--min-calls", "1", "--rejects", "-"],
        ["expand", "x.jsonl", "-o", "x.jsonl"],
        ["expand", "x.jsonl", "-o", "y.jsonl", "--skip-bad", "--rejects", "x.jsonl"],
        ["stats", "x.jsonl", "--skip-bad", "--rejects", "x.jsonl"],
        ["lint", "x.jsonl", "--skip-bad", "--rejects", "x.jsonl"],
        ["show", "x.jsonl", "--skip-bad", "--rejects", "x.jsonl"],
    ],
)
def test_rejects_never_replace_another_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    before = path.read_bytes()
    done = cli(*arguments)
    assert done.status == 2
    assert "cannot be both" in done.err
    assert path.read_bytes() == before


def test_rejects_of_an_earlier_run_are_not_emptied_by_a_command_that_fails(cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text("before")
    assert cli("stats", tmp_path / "nowhere.jsonl", "--skip-bad", "--rejects", kept).status == 2
    assert kept.read_text() == "before"
    assert cli("stats", write_rows(tmp_path / "x.jsonl", GOOD), "--skip-bad", "--rejects", kept).status == 0
    assert kept.read_text() == ""


def test_when_every_row_is_bad_the_rejects_are_written_and_the_first_reason_is_shown(cli: Cli, tmp_path: Path) -> None:
    for rows in (['{"messages": 5}', '{"messages": 6}'], ["{", "{"]):
        rejects = tmp_path / "rejects.jsonl"
        done = cli("stats", write_rows(tmp_path / "x.jsonl", *rows), "--skip-bad", "--rejects", rejects)
        assert done.status == 2
        assert "no valid rows. The first problem: " in done.err
        assert len(rejects.read_text().splitlines()) == 2


@pytest.mark.parametrize("first", ['{"foo": 1}', "[1]", "{", "null", '{"messages": 5}'])
def test_bad_rows_are_skipped_anywhere(cli: Cli, tmp_path: Path, first: str) -> None:
    rejects = tmp_path / "rejects.jsonl"
    done = cli("stats", write_rows(tmp_path / "x.jsonl", first, GOOD, GOOD), "--skip-bad", "--rejects", rejects, "--json")
    assert json.loads(done.out)["conversations"] == 2
    assert [json.loads(line)["line"] for line in rejects.read_text().splitlines()] == [1]


@pytest.mark.parametrize("word", ["Aprıl", "Aprİl", "Auguſt"])
def test_lookalike_letters_are_not_a_month(tmp_path: Path, word: str) -> None:
    path = write_rows(tmp_path / "x.jsonl", row(user(f"10 {word} 2025"), assistant(call("f", {"d": f"10 {word} 2025", "e": "2025-04-10"}))))
    assert [finding.argument for finding in callmark.lint(callmark.load(path)).findings] == ["e"]


TREE = {
    "type": "object",
    "properties": {"n": {"$ref": "#/$defs/n"}},
    "$defs": {"n": {"anyOf": [{"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}, {"type": "null"}]}},
}
DEEP: dict[str, Any] = {}
for _ in range(100):
    DEEP = {"n": DEEP}


@pytest.mark.parametrize("schema", [TREE, {"anyOf": [{"$ref": "#"}] * 10}, {"allOf": [{"$ref": "#/allOf/0"}, {"$ref": "#"}]}])
def test_schemas_that_refer_to_themselves_end(schema: dict[str, Any]) -> None:
    talk = Conversation("t", (Message("assistant", "", (Call("f", DEEP),)),), (Tool("f", "", schema),))
    callmark.lint([talk])


MANY = 20_000


@pytest.mark.parametrize(
    "talk",
    [
        Conversation(
            "words",
            (
                Message("user", " ".join(f"w{n}" for n in range(MANY))),
                Message("assistant", "", (Call("f", {"a": " ".join(f"w{n}" for n in range(MANY))}),)),
            ),
        ),
        Conversation(
            "results",
            (
                Message("assistant", "", tuple(Call("f", {}, str(n)) for n in range(MANY))),
                *(Message("tool", "x", (), str(n)) for n in range(MANY)),
            ),
        ),
        Conversation(
            "orphans",
            (
                Message("assistant", "", tuple(Call("f", {}, str(n)) for n in range(2000))),
                *(Message("tool", "x", (), "no") for _ in range(2000)),
            ),
        ),
        Conversation("tools", (Message("assistant", "", tuple(Call(f"f{n}") for n in range(MANY))),)),
        Conversation(
            "keys",
            (Message("assistant", "", (Call("f", {str(n): n for n in range(MANY)}),)),),
            (Tool("f", "", {"properties": {str(n): {} for n in range(MANY)}}),),
        ),
        Conversation(
            "enum",
            (Message("assistant", "", (Call("f", {"a": [f"v{n}" for n in range(2000)]}),)),),
            (Tool("f", "", {"properties": {"a": {"items": {"enum": [f"v{n}" for n in range(4000)]}}}}),),
        ),
    ],
    ids=lambda talk: talk.id,
)
def test_large_inputs_take_linear_time(talk: Conversation) -> None:
    """Each of these took minutes when the work grew with the square; the test's own time limit is what would tell."""
    callmark.lint([talk])
    callmark.stats([talk])


def test_a_long_run_of_combining_marks_is_compared_in_time() -> None:
    assert exact("a" + "\u0301\u0323" * 100_000, "a" + "\u0323\u0301" * 100_000)
    assert not exact("a" + "\u0301\u0323" * 100_000, "a" + "\u0323\u0301" * 99_999 + "\u0323\u0300")


def test_a_repeated_key_among_many_is_found(tmp_path: Path) -> None:
    text = "{" + ",".join(f'"{n}": 1' for n in range(MANY)) + ', "7": 1, "messages": []}'
    (finding,) = callmark.lint(callmark.load(write_rows(tmp_path / "x.jsonl", text))).findings
    assert "duplicate key '7'" in finding.sentence


def test_unclosed_tags_hold_no_tools(tmp_path: Path) -> None:
    talk = {"conversations": [{"from": "system", "value": "<tools>" * 50_000}]}
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", talk))
    assert read.tools == ()


def test_a_prompt_may_mention_the_tags(tmp_path: Path) -> None:
    said = 'signatures within <tools></tools> XML tags, or <tools>as you like</tools>: <tools>[{"name": "f"}]</tools>'
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", {"conversations": [{"from": "system", "value": said}]}))
    assert [tool.name for tool in read.tools] == ["f"]


def test_text_around_a_tagged_result_is_kept(tmp_path: Path) -> None:
    talk = {"conversations": [{"from": "tool", "value": "before <tool_response>{}</tool_response> after"}]}
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", talk))
    assert "before" in read.messages[0].text
    assert "after" in read.messages[0].text


def test_both_kinds_of_calls_in_one_message_are_kept(tmp_path: Path) -> None:
    message = {"role": "assistant", "tool_calls": [call("f")], "function_call": {"name": "g", "arguments": "{}"}}
    path = write_rows(tmp_path / "x.jsonl", row(user("x"), message))
    assert [made.name for made in next(iter(callmark.load(path))).calls] == ["f", "g"]
    assert [case.expected[0].name for case in callmark.expand(callmark.load(path))] == ["f", "g"]


@pytest.mark.parametrize("name", ["", " ", "\t"])
@pytest.mark.parametrize("arguments", ["{}", {}])
def test_a_blank_name_is_malformed_in_every_shape(tmp_path: Path, name: str, arguments: Any) -> None:
    path = write_rows(
        tmp_path / "x.jsonl", row(assistant({"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}))
    )
    assert next(iter(callmark.load(path))).calls[0].malformed == "no name"


@pytest.mark.parametrize("depth, malformed", [(200, False), (201, True)])
@pytest.mark.parametrize("as_text", [True, False])
def test_the_limit_of_nesting_is_the_same_for_text_and_object(tmp_path: Path, depth: int, malformed: bool, as_text: bool) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    arguments = json.dumps(nested) if as_text else nested
    text = (
        f'{{"messages": [{{"role": "assistant", "tool_calls": [{{"id": "1", "function": {{"name": "f", "arguments": {arguments}}}}}]}}]}}'
    )
    made = next(iter(callmark.load(write_rows(tmp_path / "x.jsonl", text)))).calls[0]
    assert (made.name, bool(made.malformed)) == ("f", malformed)


@pytest.mark.parametrize(
    "more, sentence",
    [
        ({"expected_output": "text"}, "expected_output: expected an object, got a string"),
        ({"expected_output": {"tool_calls": 5}}, "expected_output.tool_calls: expected a list of calls, got a number"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", {**GOOD, **more})))


def test_a_wrong_wrapper_and_a_number_out_of_range_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="item: expected an object, got a number"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", {"item": 5})))
    with pytest.raises(BadInput, match=r"messages\[0\].content: number out of range"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", '{"messages": [{"role": "user", "content": 1e999}]}')))
    assert len(list(callmark.load(write_rows(tmp_path / "x.jsonl", {**GOOD, "expected_output": None})))) == 1


def test_a_wrapped_row_reads_the_same_after_any_other(tmp_path: Path) -> None:
    tools = [{"name": "f"}]
    rows = [{**GOOD, "tools": tools}, {"item": GOOD, "tools": tools}]
    assert len(list(callmark.load(write_rows(tmp_path / "x.jsonl", *rows)))) == 2
    assert len(list(callmark.load(write_rows(tmp_path / "x.jsonl", *reversed(rows))))) == 2


def test_ids_are_distinct_whatever_the_rows_are_called(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", *({**GOOD, "id": name} for name in ("a", "a", "a~2", "a", "a~2")))
    ids = [case.id for case in callmark.expand(callmark.load(path))]
    assert len(set(ids)) == len(ids) == 5


def test_a_flat_call_is_written_in_openais_form_and_an_escaped_dollar_is_still_one(tmp_path: Path) -> None:
    flat = {"type": "function", "name": "f", "arguments": {"function": {"x": 1}}}
    escaped = r'{"function": {"name": "f", "arguments": "{\"a\": {\"\\u0024any\": true}}"}}'
    text = f'{{"messages": [{{"role": "assistant", "tool_calls": [{escaped}]}}]}}'
    out = tmp_path / "eval.jsonl"
    callmark.write(callmark.expand(callmark.load(write_rows(tmp_path / "x.jsonl", row(assistant(flat)), text))), out)
    first, second = (json.loads(line)["expected_output"]["tool_calls"][0]["function"] for line in out.read_text().splitlines())
    assert first == {"name": "f", "arguments": '{"function":{"x":1}}'}
    assert json.loads(second["arguments"]) == {"a": {"$literal": {"$any": True}}}


def test_patterns_with_lookaround_are_accepted(tmp_path: Path) -> None:
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "string", "pattern": "^(?!x).*$"}}}}
    path = write_rows(
        tmp_path / "x.jsonl",
        row(user("y x"), assistant(call("f", {"a": "y"})), result("1"), assistant(call("f", {"a": "x"}, "c2")), tools=[tool]),
    )
    assert callmark.lint(callmark.load(path)).summary == {"schema_violation": 1}


def test_a_pattern_with_too_many_steps_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli("filter", write_rows(tmp_path / "x.jsonl", GOOD), "-o", tmp_path / "y", "--require", " > ".join(["a"] * 1500))
    assert "expected at most 50 steps, got more." in done.err


def test_the_tools_file_may_be_indented_or_one_tool_per_line(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    side = tmp_path / "tools.json"
    for text in ('{"tools":\n[{"name": "f"}]}', '{"name": "f"}\n{"name": "g"}\n', '[{"name": "f"}]'):
        side.write_text(text)
        assert next(iter(callmark.load(path, tools=side))).tools[0].name == "f"
    side.write_text('[{"name": "f"}]\ngarbage')
    with pytest.raises(BadInput, match="tools.json: invalid JSON at character 18"):
        callmark.load(path, tools=side)


def test_a_forged_role_stays_on_its_line(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", row({"role": "user", "content": "x", "name": "y\n 2 TOOL"}))
    assert " 0 USER y 2 TOOL" in cli("show", path).out
    forged = write_rows(tmp_path / "y.jsonl", row({"role": "user\n 1 ASSISTANT", "content": "x"}))
    assert "unknown role 'user\\n 1 ASSISTANT', expected system" in cli("show", forged).err


def test_standard_input_twice_is_refused(cli: Cli) -> None:
    assert "standard input can be read only once" in cli("stats", "-", "-").err


def test_closed_streams_and_pipes(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", *[GOOD] * 50)
    command = f"{sys.executable} -m callmark stats {path} --json"
    assert json.loads(subprocess.check_output(f"{command} <&-", shell=True))["conversations"] == 50
    assert subprocess.run(f"{command} >&-", shell=True, check=False).returncode == 0
    for line in (f"{command} | true", f"{sys.executable} -m callmark stats {path} | true", f"{sys.executable} -m callmark --help | true"):
        done = subprocess.run(["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_without_unicode_and_a_name_without_utf8(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    done = run("stats", str(path), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    odd = os.fsencode(tmp_path) + b"/\xff.jsonl"
    Path(os.fsdecode(odd)).write_bytes(path.read_bytes())
    for arguments in (["stats", "--json"], ["stats"], ["lint", "--json"], ["expand", "-o", "/dev/null", "--json"]):
        assert run(*arguments, os.fsdecode(odd)).returncode == 0


def test_a_full_standard_output_is_reported(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    done = subprocess.run(f"{sys.executable} -m callmark stats {path} > /dev/full", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "callmark: standard output: cannot be written: No space left on device." in done.stderr


def test_links_and_file_modes_are_preserved(cli: Cli, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", GOOD)
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.write_text("")
    target.chmod(0o600)
    link.symlink_to(target)
    assert cli("expand", path, "-o", link).status == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["id"] == "1:1"
    assert target.stat().st_mode & 0o777 == 0o600


def test_no_folder_is_created_for_a_missing_input(cli: Cli, tmp_path: Path) -> None:
    assert cli("expand", tmp_path / "nowhere.jsonl", "-o", tmp_path / "new" / "eval.jsonl").status == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_an_impossible_file_name_is_reported(cli: Cli, tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        callmark.write([], tmp_path / name)


def test_an_interrupt_leaves_nothing_behind_and_exits_130(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    out = tmp_path / "out.jsonl"
    child = subprocess.Popen([sys.executable, "-m", "callmark", "expand", str(pipe), "-o", str(out)], stderr=subprocess.PIPE, text=True)
    with pipe.open("w") as feed:
        feed.write(json.dumps(GOOD) + "\n")
        feed.flush()
        child.send_signal(2)
        _, said = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "callmark: interrupted." in said
    assert sorted(one.name for one in tmp_path.iterdir()) == ["pipe"]


def test_statistics_of_no_rows_are_refused() -> None:
    with pytest.raises(BadInput, match="the dataset is empty"):
        callmark.stats([])


@pytest.mark.parametrize(
    "conversation, format_name, refused",
    [
        (Conversation("\ud800"), "openai", True),
        (Conversation("\ud800"), "sharegpt", True),
        (Conversation("a", (Message("\ud800"),)), "openai", False),
        (Conversation("a", (Message("\ud800"),)), "sharegpt", True),
        (Conversation("a", (Message("assistant", "\ud800", (Call("\ud800"),)),)), "openai", False),
        (Conversation("a", (Message("assistant", "\ud800", (Call("\ud800"),)),)), "sharegpt", False),
    ],
)
def test_lone_surrogates_made_in_python_are_escaped_or_refused(
    tmp_path: Path, conversation: Conversation, format_name: str, refused: bool
) -> None:
    if refused:
        with pytest.raises(BadInput, match="lone surrogate"):
            callmark.write([conversation], tmp_path / "x.jsonl", to=format_name)
    else:
        callmark.write([conversation], tmp_path / "x.jsonl", to=format_name)
        assert "\\ud800" in json.dumps(json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8")))


def test_lone_surrogates_in_an_arguments_object_make_a_malformed_call(tmp_path: Path) -> None:
    text = '{"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": "\\ud800"}}}]}]}'
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", text))
    assert (read.calls[0].name, read.calls[0].malformed) == ("f", "arguments: lone surrogate")


def test_changes_made_in_python_are_written(tmp_path: Path) -> None:
    read = next(iter(callmark.load(write_rows(tmp_path / "x.jsonl", {**GOOD, "tools": [{"name": "f"}]}))))
    changed = msgspec.structs.replace(read, messages=read.messages[:1], tools=(Tool("new"),))
    for format_name in ("openai", "sharegpt"):
        callmark.write([changed, Conversation("made", read.messages, (Tool("own"),))], tmp_path / "y.jsonl", to=format_name)
        one, other = callmark.load(tmp_path / "y.jsonl")
        assert ([tool.name for tool in one.tools], len(one.messages)) == (["new"], 1)
        assert ([tool.name for tool in other.tools], len(other.messages)) == (["own"], 3)


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    case = callmark.Case("c", (Message("user", "x"),), expected=(Call("f"),))
    scenario = callmark.Case("s", instructions="You are Ann.", expected=(Call("f"),), tools=(Tool("f"),))
    odd = Conversation("o", (Message("user", "x", (Call("f"),)),))
    for row_, format_name in ((case, "sharegpt"), (odd, "sharegpt"), (scenario, "openai"), (case, "scenarios")):
        with pytest.raises(BadInput):
            callmark.write([row_], tmp_path / "x.jsonl", to=format_name)
    callmark.write([scenario], tmp_path / "x.jsonl", to="scenarios")
    assert [tool.name for tool in next(iter(callmark.load(tmp_path / "x.jsonl"))).tools] == ["f"]


def test_calls_in_other_places_are_read_or_refused_never_lost(tmp_path: Path) -> None:
    parts = row({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]})
    with pytest.raises(BadInput, match="unknown content part of type 'tool_use', which may hold a tool call"):
        list(callmark.load(write_rows(tmp_path / "x.jsonl", parts), format_name="openai"))
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", parts))
    assert [made.name for made in read.calls] == ["f"]
    odd = row({"role": "user", "content": [{"type": {"a": 1}}]})
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", odd), format_name="openai")
    assert read.messages[0].text
    turns = {
        "conversations": [
            {"role": "assistant", "content": None, "tool_calls": [call("f")]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        ]
    }
    (read,) = callmark.load(write_rows(tmp_path / "x.jsonl", turns))
    assert [made.name for made in read.calls] == ["f"]
    assert read.messages[1].tool_call_id == "c1"
    older = {**row(user("x")), "expected_output": {"function_call": {"name": "f", "arguments": "{}"}}}
    (case,) = callmark.load(write_rows(tmp_path / "x.jsonl", older))
    assert isinstance(case, callmark.Case)
    assert [made.name for made in case.expected] == ["f"]
    (wrapped,) = callmark.load(write_rows(tmp_path / "x.jsonl", {"item": row(user("x")), "tools": [{"name": "outer"}]}))
    assert [tool.name for tool in wrapped.tools] == ["outer"]


def test_a_case_is_the_same_in_memory_and_after_writing(tmp_path: Path) -> None:
    talk = Conversation("t", (Message("user", "x"), Message("assistant", "", (Call("f", {"a": {"$any": True}}, "1"),))))
    (cut,) = callmark.expand([talk])
    callmark.write([cut], tmp_path / "x.jsonl")
    (read,) = callmark.load(tmp_path / "x.jsonl")
    assert isinstance(read, callmark.Case)
    assert cut.expected == read.expected == (Call("f", {"a": {"$literal": {"$any": True}}}, "1"),)


def test_expected_calls_changed_in_python_are_written(tmp_path: Path) -> None:
    (cut,) = callmark.expand([Conversation("t", (Message("user", "x"), Message("assistant", "", (Call("f", {}, "1"),))))])
    scenario = callmark.Case("s", instructions="You are Ann.", expected=(Call("f"),))
    for case, format_name in ((cut, "openai"), (scenario, "scenarios")):
        callmark.write([case], tmp_path / "x.jsonl", to=format_name)
        (read,) = callmark.load(tmp_path / "x.jsonl")
        callmark.write([msgspec.structs.replace(read, expected=(Call("g"),))], tmp_path / "y.jsonl", to=format_name)
        (again,) = callmark.load(tmp_path / "y.jsonl")
        assert isinstance(again, callmark.Case)
        assert [made.name for made in again.expected] == ["g"]


def test_findings_name_the_other_file(tmp_path: Path) -> None:
    one, two = write_rows(tmp_path / "one.jsonl", GOOD), write_rows(tmp_path / "two.jsonl", {**GOOD, "tools": [{"name": "f"}]}, GOOD)
    from callmark.data.lint import Linter

    linter = Linter()
    for path in (one, two):
        for each in callmark.load(path):
            linter.add(each)
    sentences = [finding.sentence for finding in linter.report().findings]
    assert sentences == [f"same text and calls as {one}, line 1", f"exact duplicate of {one}, line 1"]


def test_calls_may_lack_results_only_at_the_end(tmp_path: Path) -> None:
    open_end = row(user("x"), assistant(call("f", {}, "1"), call("g", {}, "2")), result("ok", "1"))
    assert callmark.lint(callmark.load(write_rows(tmp_path / "x.jsonl", open_end))).findings == []
    goes_on = row(*open_end["messages"], assistant(text="so"), user("and?"))
    (finding,) = callmark.lint(callmark.load(write_rows(tmp_path / "x.jsonl", goes_on))).findings
    assert (finding.code, finding.call) == ("missing_result", "g")


def test_refusals_are_text_and_calls_without_ids_stay_distinct(tmp_path: Path) -> None:
    talk = row(
        user("x"),
        {"role": "assistant", "content": None, "refusal": "I will not."},
        assistant({"function": {"name": "f"}}, {"id": "", "function": {"name": "f"}}),
    )
    assert callmark.lint(callmark.load(write_rows(tmp_path / "x.jsonl", talk))).findings == []


def test_a_rule_given_twice_is_one_rule(cli: Cli, tmp_path: Path) -> None:
    done = cli("filter", write_rows(tmp_path / "x.jsonl", GOOD), "-o", tmp_path / "y", "--tool", "f", "--tool", "f", "--json")
    assert json.loads(done.out)["kept_by_rule"] == {"tool f": 1}


def test_older_functions_are_written_as_tools(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", {**GOOD, "functions": [{"name": "f", "parameters": {}}]})
    callmark.write(callmark.expand(callmark.load(path)), tmp_path / "y.jsonl")
    assert json.loads((tmp_path / "y.jsonl").read_text())["tools"][0]["function"]["name"] == "f"


def test_null_and_defaults_behind_references_equal_being_left_out() -> None:
    parameters = {
        "properties": {"a": {"$ref": "#/$defs/nullable"}, "b": {"const": None}, "c": {"$ref": "#/$defs/ten"}},
        "$defs": {"nullable": {"type": ["string", "null"]}, "ten": {"type": "integer", "default": 10}},
    }
    assert without_defaults({"a": None, "b": None, "c": 10}, parameters) == {"a": None, "b": None}
