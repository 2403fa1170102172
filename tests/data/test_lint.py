import re
from pathlib import Path
from typing import Any

import pytest

import callmark
from tests.rows import WEATHER, assistant, call, result, row, user, write_rows

BONN = call("get_weather", {"city": "Bonn"})


def found(path: Path, *rows: Any) -> list[tuple[str, str]]:
    report = callmark.lint(callmark.load(write_rows(path / "x.jsonl", *rows)))
    return [(finding.code, finding.sentence) for finding in report.findings if finding.code != "unused_tool"]


CLEAN = row(user("Bonn?"), assistant(BONN), result("sunny"), assistant(text="Sunny."), tools=[WEATHER])


def test_a_clean_row_has_no_findings(tmp_path: Path) -> None:
    assert found(tmp_path, CLEAN) == []


@pytest.mark.parametrize(
    "messages, code, sentence",
    [
        (
            [assistant(call("get_weather", '{"city": "Bo')), result("x")],
            "malformed_call",
            "malformed call to get_weather: the arguments are truncated JSON",
        ),
        ([assistant(5), result("x", None)], "malformed_call", "malformed call: not an object"),
        ([assistant(call("get_news")), result("x")], "unknown_tool", "get_news is not one of the available tools (1 tool)"),
        ([assistant(call("get_weather", {"city": 5})), result("5")], "schema_violation", 'get_weather: city: 5 is not of type "string"'),
        ([assistant(call("get_weather")), result("x")], "schema_violation", 'get_weather: "city" is a required property'),
        ([assistant(call("get_weather", {"city": "Bonn", "unit": "kelvin"})), result("x")], "schema_violation", "kelvin"),
        ([result("x", "c9")], "orphan_result", "the result with ID 'c9' has no matching call"),
        (
            [assistant(BONN), user("and?"), assistant(call("get_weather", {"city": "Bonn"}, "c2"))],
            "missing_result",
            "get_weather has no result",
        ),
        ([assistant(BONN), result("x"), assistant(BONN), result("x")], "duplicate_call_id", "duplicate call ID 'c1'"),
        ([assistant(text=" ")], "empty_assistant", "the assistant message has neither text nor calls"),
        (
            [assistant(call("get_weather", {"city": "Rome"})), result("x")],
            "hallucinated_value",
            'get_weather: city="Rome" does not appear earlier in the conversation (hallucinated)',
        ),
        (
            [assistant(call("get_weather", '{"city": "Bonn", "city": "Bonn"}')), result("x")],
            "repeated_key",
            "get_weather: duplicate argument 'city'; the last value wins",
        ),
    ],
)
def test_each_flaw_is_found_once(tmp_path: Path, messages: list[Any], code: str, sentence: str) -> None:
    given = row(user("Bonn 5 kelvin"), *messages, tools=[WEATHER])
    findings = [one for one in found(tmp_path, given) if one[0] == code]
    assert len(findings) == 1
    assert sentence in findings[0][1]


def test_last_calls_may_have_no_result(tmp_path: Path) -> None:
    assert found(tmp_path, row(user("Bonn?"), assistant(BONN), tools=[WEATHER])) == []


def test_finding_has_its_location(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "x.jsonl", CLEAN, row(user("Bonn?"), assistant(call("get_weather", {"city": "Rome"})), tools=[WEATHER], id="r2")
    )
    (finding,) = [one for one in callmark.lint(callmark.load(path)).findings if one.code == "hallucinated_value"]
    assert (finding.file, finding.line, finding.row_id, finding.message, finding.call, finding.argument) == (
        str(path),
        2,
        "r2",
        1,
        "get_weather",
        "city",
    )
    assert finding.severity == "warning"


def test_a_duplicate_names_the_first_row(tmp_path: Path) -> None:
    assert found(tmp_path, CLEAN, row(user("x")), CLEAN) == [("duplicate_row", "exact duplicate of line 1")]


def test_the_same_prompt_with_different_expected_calls(tmp_path: Path) -> None:
    rome = row(user("Bonn?"), assistant(call("get_weather", {"city": "Bonn", "days": 3}, "other_id")), tools=[WEATHER])
    conflicts = [one for one in found(tmp_path, CLEAN, rome) if one[0] == "conflicting_expected"]
    assert conflicts == [
        (
            "conflicting_expected",
            'same prompt as line 1, which expects get_weather(city="Bonn"); this row expects get_weather(city="Bonn", days=3)',
        )
    ]


def test_equal_expected_calls_do_not_conflict(tmp_path: Path) -> None:
    same = row(user("Bonn?"), assistant(call("get_weather", {"unit": "celsius", "city": " Bonn"}, "other_id")), tools=[WEATHER])
    assert found(tmp_path, CLEAN, same) == []


def test_a_call_and_no_call_conflict(tmp_path: Path) -> None:
    silent = row(user("Bonn?"), assistant(text="Which Bonn?"), tools=[WEATHER])
    assert [code for code, _ in found(tmp_path, CLEAN, silent)] == ["conflicting_expected"]


def test_different_texts_do_not_conflict(tmp_path: Path) -> None:
    assert found(tmp_path, row(user("hi"), assistant(text="Hello")), row(user("hi"), assistant(text="Hi!"))) == []


def test_a_repeated_row_id_is_found(tmp_path: Path) -> None:
    assert found(tmp_path, row(user("a"), id="1a"), row(user("b"), id="1a")) == [("duplicate_id", "the ID '1a' is already used in line 1")]


def test_a_repeated_key_in_a_row_is_found(tmp_path: Path) -> None:
    text = '{"messages": [{"role": "user", "content": "a", "content": "b"}]}'
    assert found(tmp_path, text) == [("repeated_key", "duplicate key 'content'; the last value wins")]


def test_changing_and_unused_tools_are_found(tmp_path: Path) -> None:
    other = {"name": "get_news"}
    path = write_rows(tmp_path / "x.jsonl", CLEAN, row(user("b"), tools=[WEATHER, other]), row(user("c"), tools=[other, WEATHER]))
    report = callmark.lint(callmark.load(path))
    assert [(one.code, one.severity, one.sentence) for one in report.findings] == [
        ("tools_change", "info", "the tool list changes between rows, first here (added: get_news)"),
        ("unused_tool", "info", "get_news is listed but never called"),
    ]
    assert report.summary == {"tools_change": 1, "unused_tool": 1}


@pytest.mark.parametrize(
    "schema, sentence",
    [
        ({"type": "nonsense"}, "the schema of get_weather is invalid: "),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "the schema of get_weather is invalid: "),
        ({"properties": {"city": {"pattern": "("}}}, "the schema of get_weather is invalid: "),
    ],
)
def test_invalid_schema_is_reported_and_nothing_is_fetched(tmp_path: Path, schema: dict[str, Any], sentence: str) -> None:
    tool = {"name": "get_weather", "parameters": schema}
    (code, said) = found(tmp_path, row(user("Bonn"), assistant(BONN), tools=[tool]))[0]
    assert code == "bad_schema"
    assert sentence in said


def test_a_slow_pattern_does_not_hang(tmp_path: Path) -> None:
    tool = {"name": "get_weather", "parameters": {"properties": {"city": {"pattern": "^(a+)+$"}}}}
    city = "a" * 50_000 + "!"
    ((code, _),) = found(tmp_path, row(user(city), assistant(call("get_weather", {"city": city})), tools=[tool]))
    assert code == "schema_violation"


def test_decision_points_and_scenarios_are_linted_too(tmp_path: Path) -> None:
    point = {**row(user("Bonn?"), tools=[WEATHER]), "expected_output": {"tool_calls": [call("get_news")]}}
    assert [code for code, _ in found(tmp_path, point)] == ["unknown_tool"]
    scenario = {"id": "s", "instructions": "You are Ann.", "expected_function_calls": [{"functionName": "f", "arguments": "{"}]}
    assert [code for code, _ in found(tmp_path, scenario)] == ["malformed_call"]


LONG = (
    "Hello, the running shoes that I bought in your shop last week are too small for me, and I would like to have them a size larger, "
    "please, in the same color; my email is {email} and I would pay the difference by card, if there is any, as I did before."
)


def ordered(email: str, *more: Any, answer: str = "Done.", **fields: Any) -> dict[str, Any]:
    """Return a conversation that is a near-duplicate of every other one."""
    first = assistant(call("find_user", {"email": email}))
    return row(user(LONG.format(email=email)), first, result("u1"), assistant(text=answer), *more, **fields)


ANN, BOB = ordered("ann@x.org"), ordered("bob@x.org")


def point(conversation: dict[str, Any], end: int, expected: dict[str, Any] | None, source: str) -> dict[str, Any]:
    return {
        "messages": conversation["messages"][:end],
        "expected_output": {"tool_calls": [expected] if expected else []},
        "source": {"conversation": source, "message": end},
    }


def test_a_near_duplicate_names_the_first_row_and_the_similarity(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, ANN, CLEAN, BOB)
    assert finding[0] == "near_duplicate"
    assert re.fullmatch(r"near-duplicate of line 1 \((8|9)\d% similar\)", finding[1])


def test_a_duplicate_is_reported_once(tmp_path: Path) -> None:
    findings = found(tmp_path, ANN, ANN, BOB, BOB, ordered("ANN@x.org"))
    assert [code for code, _ in findings] == ["duplicate_row", "near_duplicate", "duplicate_row", "near_duplicate"]
    assert findings[-1][1] == "same text and calls as line 1"


@pytest.mark.parametrize("other, codes", [("a", []), ("b", ["near_duplicate"])])
def test_only_decision_points_of_two_conversations_can_be_near_duplicates(tmp_path: Path, other: str, codes: list[str]) -> None:
    longer = ordered("ann@x.org", user("Thanks."))
    rows = point(ANN, 4, call("get", {"id": "u1"}, "c2"), "a"), point(longer, 5, call("get", {"id": "u1"}, "c2"), other)
    assert [code for code, _ in found(tmp_path, *rows)] == codes


def leaks(path: Path, train: list[Any], valid: list[Any]) -> list[tuple[str, int | None, str]]:
    first, second = (callmark.load(write_rows(path / f"{name}.jsonl", *rows)) for name, rows in (("train", train), ("valid", valid)))
    findings = callmark.lint(first, valid=second).findings
    codes = {"leak", "near_duplicate", "duplicate_row"}
    said = [(one, re.sub(r"\d+% similar", "N% similar", one.sentence.replace(f"{path}/", ""))) for one in findings if one.code in codes]
    return [(one.code, one.line, sentence) for one, sentence in said]


def test_each_leak_is_found_with_both_places(tmp_path: Path) -> None:
    other = row(user("Rome?"), assistant(text="Which Rome?"))
    assert leaks(tmp_path, [CLEAN, ANN], [other, CLEAN, BOB]) == [
        ("leak", 2, "exact duplicate of train.jsonl, line 1, which is a training row"),
        ("leak", 3, "near-duplicate of train.jsonl, line 2 (N% similar), which is a training row"),
    ]


def test_a_leak_is_not_also_a_duplicate(tmp_path: Path) -> None:
    rome = row(user("Rome?"), assistant(text="Which Rome?"))
    findings = leaks(tmp_path, [ANN, ANN], [ANN, BOB, ANN, rome, rome])
    assert [(code, line) for code, line, _ in findings] == [
        ("duplicate_row", 2),
        ("leak", 1),
        ("leak", 2),
        ("leak", 3),
        ("duplicate_row", 5),
    ]


FIND = call("find_user", {"email": "ann@x.org"})


@pytest.mark.parametrize(
    "train, valid, sentence",
    [
        ([ANN], [point(ANN, 1, FIND, "9")], "same prompt as train.jsonl, line 1, which is a training row"),
        ([point(ANN, 3, None, "a")], [point(ANN, 1, FIND, "a")], "cut from the same conversation as train.jsonl, line 1"),
        ([point(ANN, 1, FIND, "a")], [point(ANN, 3, None, "a")], "cut from the same conversation as train.jsonl, line 1"),
        ([point(BOB, 1, FIND, "b")], [point(ANN, 1, FIND, "a")], "near-duplicate of train.jsonl, line 1"),
        ([CLEAN], [point(ANN, 1, FIND, "1")], None),
        ([point(CLEAN, 1, BONN, "1")], [point(ANN, 1, FIND, "1")], None),  # both were the first row of a file without ids
        ([ANN], [point(ANN, 1, None, "a")], None),  # many conversations begin alike
    ],
)
def test_leaks_of_decision_points(tmp_path: Path, train: list[Any], valid: list[Any], sentence: str | None) -> None:
    findings = leaks(tmp_path, train, valid)
    if sentence is None:
        assert findings == []
    else:
        ((code, line, said),) = findings
        assert (code, line) == ("leak", 1)
        assert sentence in said


def test_a_leak_is_an_error() -> None:
    rows = [callmark.Conversation("c", (callmark.Message("user", "one two three four"),))] * 2
    report = callmark.lint(rows[:1], valid=rows[1:])
    assert report.errors == 1
    assert report.findings[0].sentence == "exact duplicate of item 1, which is a training row"
