"""Hostile predictions and cases are graded or refused with a sentence, in bounded time."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, Result
from tests.rows import WEATHER, call, user, write_rows

SECONDS = 20
MEGABYTE = 1 << 20
RIGHT = call("f", {"a": 1})
ESCAPES = "\x1b[31mred\x07\u202eevil\u2066\r\n\x9b2J"
DEEP = "[" * 10_000 + "]" * 10_000

pytestmark = pytest.mark.timeout(3 * SECONDS)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def case(name: str, *calls: Any, **more: Any) -> dict[str, Any]:
    wanted = {"role": "assistant", "tool_calls": list(calls or (RIGHT,))}
    return {"id": name, "messages": [user("set a to 1")], "expected_output": wanted, **more}


def answer(calls: str, name: str = "q1") -> str:
    """A line of predictions in which the calls stand as they are."""
    return f'{{"id": {json.dumps(name)}, "tool_calls": {calls}}}'


def made(arguments: str, name: str = '"f"') -> str:
    return answer(f'[{{"name": {name}, "arguments": {arguments}}}]')


def graded(cli: Cli, *, jobs: str = "1", run: str = "p") -> Result:
    """`eval.jsonl` and `p.jsonl` graded, whatever comes of it: in time, with a sentence, and what was written can be read."""
    began = time.process_time()  # another program may take the processor
    done = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", run, "--jobs", jobs)
    assert time.process_time() - began < SECONDS
    told(done.status, done.out, done.err)
    if done.status == 2:
        assert not Path("runs", run).exists()
    else:
        for file in Path("runs", run).iterdir():
            text = file.read_text(encoding="utf-8")
            for line in text.splitlines() if file.suffix == ".jsonl" else [text]:
                json.loads(line)
    return done


def told(status: int, out: str, err: str) -> None:
    assert status in (0, 2, 3), err
    assert "Traceback" not in err
    assert "internal error" not in err
    assert not set(out + err) & set("\x1b\x07\x9b\r\u202e\u2066")
    if status == 2:
        assert err.startswith("callmark: ")
        assert len(err) < 2000
    else:
        assert " case" in out or "scenario" in out


def grades(run: str = "p") -> list[Any]:
    return [json.loads(line) for line in Path("runs", run, "grades.jsonl").read_text(encoding="utf-8").splitlines()]


def faults(run: str = "p") -> list[str]:
    return [fault["kind"] for grade in grades(run) for fault in grade.get("faults", [])]


MALFORMED, WRONG = ["malformed_call"], ["wrong_value"]
CALLS: dict[str, tuple[Callable[[], str], list[str]]] = {
    "a megabyte for an argument": (lambda: made(json.dumps({"a": "x" * MEGABYTE})), ["wrong_type"]),
    "a megabyte of arguments": (lambda: made(json.dumps({f"a{at}": at for at in range(50_000)})), []),
    "a megabyte that is no JSON": (lambda: made(json.dumps('{"a": "' + "x" * MEGABYTE)), MALFORMED),
    "a megabyte for a name": (lambda: made("{}", json.dumps("f" * MEGABYTE)), ["wrong_tool"]),
    "arguments as text, 10,000 deep": (lambda: made(json.dumps(f'{{"a": {DEEP}}}')), MALFORMED),
    "arguments 201 deep": (lambda: made(f'{{"a": {"[" * 200}1{"]" * 200}}}'), MALFORMED),
    "arguments 200 deep": (lambda: made(f'{{"a": {"[" * 199}1{"]" * 199}}}'), ["wrong_type"]),
    "a big number 200 deep": (lambda: made(f'{{"a": {"[" * 199}{10**99}{"]" * 199}}}'), ["wrong_type"]),
    "a number of 100 digits": (lambda: made(f'{{"a": {"7" * 100}}}'), WRONG),
    "a number of 5,000 digits": (lambda: made(f'{{"a": {"7" * 5000}}}'), MALFORMED),
    "a number of 5,000 digits, as text": (lambda: made(json.dumps(f'{{"a": {"7" * 5000}}}')), MALFORMED),
    "a text of 5,000 digits": (lambda: made(json.dumps({"a": "7" * 5000})), ["wrong_type"]),
    "a number outside double range": (lambda: made('{"a": 1e999}'), MALFORMED),
    "no number": (lambda: made(json.dumps('{"a": NaN}')), MALFORMED),
    "a key twice": (lambda: made('{"a": 5, "a": 1}'), []),
    "a key twice, as text": (lambda: made(json.dumps('{"a": 1, "a": 5}')), WRONG),
    "a lone surrogate for a value": (lambda: made('{"a": "\\ud800"}'), MALFORMED),
    "a lone surrogate for a key": (lambda: made('{"\\udfff": 1}'), MALFORMED),
    "a lone surrogate in a text": (lambda: made(json.dumps('{"a": "\\ud800"}')), MALFORMED),
    "a lone surrogate for a name": (lambda: made("{}", '"\\ud800"'), ["wrong_tool"]),
    "a name that is an object": (lambda: made("{}", '{"a": 1}'), MALFORMED),
    "a name that is a list": (lambda: made("{}", "[1]"), MALFORMED),
    "a name that is a number": (lambda: made("{}", "7"), MALFORMED),
    "a name that is null": (lambda: made("{}", "null"), MALFORMED),
    "an empty name": (lambda: made("{}", '""'), MALFORMED),
    "escapes for a name": (lambda: made("{}", json.dumps(ESCAPES)), ["wrong_tool"]),
    "escapes for an argument": (lambda: made(json.dumps({"a": ESCAPES, ESCAPES: 1})), ["extra_argument", "wrong_type"]),
    "a call that is a number": (lambda: answer("[7]"), MALFORMED),
    "calls that are numbers, null, text, lists": (lambda: answer('[7, null, "f", [], true]'), MALFORMED * 5),
    "an empty call": (lambda: answer("[{}]"), MALFORMED),
    "10,000 calls": (lambda: answer(json.dumps([call("f", {"a": at}) for at in range(10_000)])), ["extra_call"] * 9_999),
    "10,000 equal calls": (lambda: answer(json.dumps([RIGHT] * 10_000)), ["repeated_call"] * 9_999),
    "10,000 calls of other names": (
        lambda: answer(json.dumps([call(f"g{at}") for at in range(10_000)])),
        ["wrong_tool"] + ["extra_call"] * 9_999,
    ),
    "10,000 numbers for calls": (lambda: answer(json.dumps([7] * 10_000)), MALFORMED * 10_000),
    "10,000 malformed calls": (lambda: answer(json.dumps([call("f", "{")] * 10_000)), MALFORMED * 10_000),
    "what looks like a matcher": (lambda: made('{"a": {"$any": true}}'), ["wrong_type"]),
}


@pytest.mark.parametrize("calls, kinds", CALLS.values(), ids=CALLS)
def test_hostile_calls_are_graded(cli: Cli, calls: Callable[[], str], kinds: list[str]) -> None:
    write_rows(Path("eval.jsonl"), case("q1"), case("q2"))
    write_rows(Path("p.jsonl"), calls(), answer(json.dumps([RIGHT]), "q2"))
    done = graded(cli)
    assert done.status == 0
    assert len(done.out) < 4000
    if kinds or "twice" in calls():
        assert sorted(faults()) == sorted(kinds)
    graded(cli, jobs="2", run="q")
    for file in ("grades.jsonl", "predictions.jsonl"):
        assert Path("runs/q", file).read_bytes() == Path("runs/p", file).read_bytes()
    before = Path("runs/p/grades.jsonl").read_bytes()
    assert cli("grade", "runs/p").status == 0
    assert Path("runs/p/grades.jsonl").read_bytes() == before


ROWS: dict[str, tuple[Callable[[], str], str]] = {
    "10,000 deep": (lambda: made(DEEP), "p.jsonl, line 1: nested too deeply to read"),
    "10,000 deep elsewhere": (lambda: f'{{"id": "q1", "x": {DEEP}, "tool_calls": []}}', "nested too deeply"),
    "100,000 openings": (lambda: "[" * 100_000, "p.jsonl, item 1: nested too deeply to read"),
    "a number": (lambda: "7", "p.jsonl, line 1: "),
    "a list": (lambda: '{}\n[{"id": "q1"}]', "text or error, got no keys"),
    "null": (lambda: "null", "p.jsonl, line 1: "),
    "calls that are a number": (lambda: answer("7"), "p.jsonl, line 1: tool_calls: expected a list of calls, got a number."),
    "calls that are true": (lambda: answer("true"), "tool_calls: expected a list of calls, got a boolean"),
    "calls that are text": (lambda: answer('"f(a=1)"'), "tool_calls: expected a list of calls, got a string that is not a JSON list."),
    "an id that is an object": (
        lambda: '{"id": {}, "tool_calls": []}',
        "p.jsonl, line 1: id: expected a string or a number, got an object.",
    ),
    "an id that is true": (lambda: '{"id": true, "tool_calls": []}', "id: expected a string or a number, got a boolean."),
    "a trial below 0": (lambda: '{"id": "q1", "trial": -1, "tool_calls": []}', "trial: expected an integer of at least 0, got -1."),
    "a trial of 400 digits": (
        lambda: f'{{"id": "q1", "trial": {"1" * 400}, "tool_calls": []}}',
        "trial: expected an integer of at least 0, got 1111111111111111111111111111111111111111.",
    ),
    "a trial of 5,000 digits": (lambda: f'{{"id": "q1", "trial": {"1" * 5000}, "tool_calls": []}}', "p.jsonl, line 1: "),
    "bytes that are no text": (lambda: '{"id": "q1", "tool_calls": [], "x": "\udcff"}', "not valid UTF-8: byte 0xff"),
    "a megabyte of keys": (lambda: json.dumps({f"k{at}" * 10: at for at in range(20_000)}), "no prediction found"),
    "a megabyte for a key": (lambda: json.dumps({"k" * MEGABYTE: 1}), "text or error, got the key kkkkkkkk"),
    "escapes for a key": (lambda: json.dumps({ESCAPES: 1}), "text or error, got the key \\x1b[31mred"),
}


@pytest.mark.parametrize("line, sentence", ROWS.values(), ids=ROWS)
def test_hostile_rows_are_refused_with_a_sentence_or_skipped(cli: Cli, line: Callable[[], str], sentence: str) -> None:
    write_rows(Path("eval.jsonl"), case("q1"), case("q2"))
    good = answer(json.dumps([RIGHT]), "q2")
    Path("p.jsonl").write_bytes(f"{line()}\n{good}\n".encode(errors="surrogateescape"))
    done = graded(cli)
    assert done.status == 2
    assert sentence in done.err
    if sentence.startswith("p.jsonl, item"):
        return  # a whole file in one list
    skipped = cli("grade", "eval.jsonl", "-p", "p.jsonl", "--name", "s", "--skip-bad", "--rejects", "r.jsonl")
    told(skipped.status, skipped.out, skipped.err)
    assert skipped.status == 3
    assert "could not be read and w" in skipped.err
    assert len(grades("s")) == 2


ERRORS: dict[str, str] = {
    "escapes": json.dumps(ESCAPES),
    "a megabyte": json.dumps("x" * MEGABYTE),
    "a lone surrogate": '"\\ud800"',
    "an object": '{"code": 429, "message": {"a": [1]}}',
    "a number of 100 digits": "7" * 100,
    "a number outside double range": "1e999",
    "a list 900 deep": "[" * 900 + "]" * 900,
    "objects 300 deep": '{"error":' * 300 + '"x"' + "}" * 300,
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_hostile_errors_are_errors(cli: Cli, error: str, jobs: str) -> None:
    write_rows(Path("eval.jsonl"), case("q1"), case("q2"))
    write_rows(Path("p.jsonl"), f'{{"id": "q1", "error": {error}}}', answer(json.dumps([RIGHT]), "q2"))
    done = graded(cli, jobs=jobs)
    assert done.status == 3
    assert "scored 1 of 2, 1 error" in done.out
    assert 0 < len(grades()[0]["error"]) <= 600
    before = Path("runs/p/grades.jsonl").read_bytes()
    assert cli("grade", "runs/p").status == 3
    assert Path("runs/p/grades.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", [ESCAPES, "x" * MEGABYTE, "\ud800", "\0", "'\"\\", " ", "1e5", "../../etc", "{}", "é"], ids=range(10))
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_hostile_ids_find_their_case(cli: Cli, name: str, jobs: str) -> None:
    write_rows(Path("eval.jsonl"), case(name), case("q2"))
    write_rows(Path("p.jsonl"), answer("[]", name), answer("[]", name), answer("[]", f"{name}!"), answer("[]", f"{name}!"))
    done = graded(cli, jobs=jobs)
    assert done.status == 3
    assert "2 predictions ignored: no matching case" in done.out or "1 prediction ignored: no matching case" in done.out
    assert "2 duplicate predictions" in done.out
    assert len(done.out) < 4000
    assert faults() == ["no_call"]


@pytest.mark.parametrize(
    "name",
    [
        ESCAPES,
        pytest.param("x" * MEGABYTE),
    ],
    ids=["escapes", "a megabyte"],
)
def test_hostile_ids_in_messages(cli: Cli, name: str) -> None:
    write_rows(Path("eval.jsonl"), case("q1"))
    write_rows(Path("p.jsonl"), answer("[]", name))
    done = graded(cli)
    assert done.status == 2
    assert "p.jsonl: no prediction matches a case" in done.err
    write_rows(Path("eval.jsonl"), case(name), case(name))
    assert "duplicate case ID" in graded(cli).err


def nested(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = [value]
    return value


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "an argument 150 deep": lambda: case("q1", {"name": "f", "arguments": {"a": nested(150, 1)}}),
    "an argument 10,000 deep, as text": lambda: case("q1", call("f", f'{{"a": {DEEP}}}')),
    "a big number 150 deep": lambda: case("q1", {"name": "f", "arguments": {"a": nested(150, 10**99)}}),
    "a number of 100 digits": lambda: case("q1", call("f", {"a": 10**99})),
    "a number of 5,000 digits": lambda: case("q1", call("f", f'{{"a": {"7" * 5000}}}')),
    "a malformed call": lambda: case("q1", call("f", "{")),
    "a call that is a number": lambda: case("q1", 7),
    "escapes for names": lambda: case("q1", call(ESCAPES, {ESCAPES: ESCAPES})),
    "a lone surrogate for a name": lambda: case("q1", call("\ud800", {"\ud800": "\ud800"})),
    "a megabyte for a name": lambda: case("q1", call("x" * MEGABYTE, {"x" * MEGABYTE: 1})),
    "optionals in each other": lambda: case("q1", {"name": "f", "arguments": {"a": _wrapped(150)}}),
    "tools that are no tools": lambda: case("q1", tools=[7, {}, {"name": {}}, None]),
    "a schema that refers to itself": lambda: case(
        "q1", tools=[{**WEATHER, "function": {"name": "f", "parameters": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}}}]
    ),
}


def _wrapped(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"$optional": value}
    return value


@pytest.mark.parametrize("hostile", CASES.values(), ids=CASES)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_hostile_cases_are_graded_or_refused(cli: Cli, hostile: Callable[[], dict[str, Any]], jobs: str) -> None:
    write_rows(Path("eval.jsonl"), hostile(), case("q2"))
    write_rows(Path("p.jsonl"), made(f'{{"a": {"7" * 100}}}'), answer(json.dumps([RIGHT]), "q2"))
    done = graded(cli, jobs=jobs)
    assert len(done.out + done.err) < 4000
    if done.status != 2:
        assert faults()


def test_ten_thousand_against_ten_thousand(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), case("q1", *[call("f", {"a": at}) for at in range(10_000)]))
    write_rows(Path("p.jsonl"), answer(json.dumps([call("f", {"a": at + 5_000}) for at in range(10_000)])))
    assert graded(cli).status == 0
    assert len(faults()) == 5_000


def test_ten_thousand_against_five_thousand() -> None:
    write_rows(Path("eval.jsonl"), case("q1", *[call("f", {"a": at}) for at in range(5_000)]))
    write_rows(Path("p.jsonl"), answer(json.dumps([call("f", {"a": -at}) for at in range(10_000)])))
    within(SECONDS // 2)


def test_ten_thousand_trials_of_one_case() -> None:
    write_rows(Path("eval.jsonl"), case("q1"))
    write_rows(Path("p.jsonl"), *[f'{{"id": "q1", "trial": {at}, "tool_calls": []}}' for at in range(10_000)])
    within(SECONDS // 2)


def test_ten_thousand_malformed_against_ten_thousand(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), case("q1", *[call("f", {"a": at}) for at in range(10_000)]))
    write_rows(Path("p.jsonl"), answer(json.dumps([call("g", "{") for at in range(10_000)])))
    assert graded(cli).status == 0
    assert faults() == ["malformed_call"] * 10_000


def within(seconds: int) -> None:
    """Grade in a process of its own, which is ended when it needs more processor time."""
    command = f"ulimit -t {seconds}; exec {shlex.quote(sys.executable)} -m callmark grade eval.jsonl -p p.jsonl --name p"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    told(done.returncode, done.stdout, done.stderr)
    assert done.returncode == 0


TEXTS = {
    "tags": "<tool_call>" * 90_000,
    "tags with objects": '<tool_call>{"name": "f", "arguments": {' * 30_000,
    "openings": "{" * MEGABYTE,
    "lists": "[" * MEGABYTE,
    "quotes": '"' * MEGABYTE,
    "backslashes": "\\" * MEGABYTE,
    "calls of Python": "[" + "f(a=1), " * 20_000,
    "parentheses": "[f(" + "(" * MEGABYTE,
    "thinking": "<think>" * 100_000,
    "thinking with ends": "<think></think>" * 60_000,
    "marks of Mistral": "[TOOL_CALLS]" * 90_000,
    "marks of Llama": "<|python_tag|>" * 80_000,
    "fences": "```json\n" * 100_000,
    "objects": '{"name": "f", "arguments": {"a": 1}}\n' * 20_000,
    "surrogates": "\ud800" * 200_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("parse", [None, "pythonic", "json"])
def test_hostile_text_is_parsed_in_time(cli: Cli, text: str, parse: str | None) -> None:
    write_rows(Path("eval.jsonl"), case("q1"))
    write_rows(Path("p.jsonl"), {"id": "q1", "text": text})
    began = time.process_time()
    done = cli("grade", "eval.jsonl", "-p", "p.jsonl", *(["--parse", parse] if parse else []))
    assert time.process_time() - began < SECONDS
    told(done.status, done.out, done.err)
    assert done.status in (0, 3)  # 3: a call of another text format is an error


def test_many_hostile_names_are_shown_in_bounded_space(cli: Cli) -> None:
    write_rows(Path("eval.jsonl"), *[case(f"q{at}") for at in range(200)])
    write_rows(Path("p.jsonl"), *[answer(json.dumps([call(f"g{at}-{more}") for more in range(100)]), f"q{at}") for at in range(200)])
    done = graded(cli)
    assert len(done.out) < 4000
    found = json.loads(cli("grade", "runs/p", "--json").out)["summary"]["faults"]
    extra = next(fault for fault in found if fault["kind"] == "extra_call")
    assert extra["count"] == 200 * 99
    assert len(extra["examples"]) == 10_001
