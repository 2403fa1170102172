"""Evaluator `reply`: a case for every sentence of docs/reference/metrics.md, section 22."""

import json
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.calls.reply_checks import read_reply_checks
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.reply import ReplyEvaluator
from callmark.types import Call, Case, Message, Prediction
from tests.conftest import Cli
from tests.rows import WEATHER, assistant, call, user, write_rows

ORDER = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
OK = ""  # the check holds


def evaluate(text: str, checks: Any = None, *, general: Any = None) -> tuple[float | None, float | None, str]:
    """Return `reply.pass`, `reply.score` and the reason of a reply to a case with these checks."""
    case = Case("c", reply=read_reply_checks(checks, "expected_output.reply"))
    result = ReplyEvaluator(general).evaluate(Attempt((), (), case=case, prediction=Prediction("c", text=text)))
    return result.values["pass"], result.values["score"], result.reasons.get("pass", "")


@pytest.mark.parametrize(
    "checks, text, reason",
    [
        ({"contains": "refund"}, "Your refund is on its way.", OK),
        ({"contains": "REFUND is"}, "your Refund\n\tis on its way", OK),  # case and white space
        ({"contains": "Straße"}, "STRASSE 5", OK),  # case-folded
        ({"contains": " refund "}, "refunds", OK),  # outer white space
        ({"contains": ["refund", "3 days"]}, "The refund takes 3 days.", OK),
        ({"contains": ["refund", "3 days", "Tuesday"]}, "The refund takes long.", 'contains: does not contain "3 days", "Tuesday"'),
        ({"contains": "refund"}, "", 'contains: does not contain "refund"'),
        ({"not_contains": "sorry"}, "Done.", OK),
        ({"not_contains": ["sorry", "as an AI"]}, "As an  AI, I am SORRY.", 'not_contains: contains "sorry", "as an AI"'),
        ({"not_contains": "sorry"}, "", OK),
        ({"regex": r"TKT-\d{5}"}, "Ticket TKT-12345 is open.", OK),  # searched, not matched in full
        ({"regex": r"TKT-\d{5}"}, "Ticket tkt-12345 is open.", r"regex: does not match TKT-\d{5}"),
        ({"regex": r"(?i)tkt-\d{5}"}, "Ticket TKT-12345", OK),
        ({"regex": r"^Done\.$"}, "Done.\nBye.", r"regex: does not match ^Done\.$"),
        ({"regex": ".*"}, "", "regex: does not match .*"),  # an empty reply fails, whatever the pattern
        ({"regex": ".*"}, " \n", "regex: does not match .*"),
        ({"max_words": 3}, "one two  three", OK),
        ({"max_words": 3}, "one two three four", "max_words: 4 words, expected at most 3"),
        ({"max_words": 0}, "Hello", "max_words: 1 word, expected at most 0"),
        ({"max_words": 0}, "", OK),
        ({"json_schema": ORDER}, ' {"total": 3.5}\n', OK),
        ({"json_schema": ORDER}, '{"total": "3.5"}', 'json_schema: does not fit the schema: total: "3.5" is not of type "number"'),
        ({"json_schema": ORDER}, "{}", 'json_schema: does not fit the schema: "total" is a required property'),
        ({"json_schema": {"type": "array"}}, "[1]", OK),
        ({"json_schema": {}}, "null", OK),  # any JSON
        ({"json_schema": ORDER}, "", "json_schema: the reply is empty, expected JSON"),
    ],
)
def test_each_check(checks: dict[str, Any], text: str, reason: str) -> None:
    assert evaluate(text, checks) == (float(not reason), float(not reason), reason)


def test_reply_that_is_not_json_fails_its_schema() -> None:
    for text in ("The total is 3.5.", '{"total": NaN}', '{"total": 1} and more', '```json\n{"total": 1}\n```'):
        passed, score, reason = evaluate(text, {"json_schema": ORDER})
        assert (passed, score) == (0, 0)
        assert reason.startswith("json_schema: not valid JSON: ")


def test_score_is_the_share_of_the_checks_that_hold_and_each_failed_one_is_a_reason() -> None:
    checks = {"contains": ["refund", "days"], "not_contains": "sorry", "regex": "TKT", "max_words": 5}
    assert evaluate("The refund takes days: TKT", checks) == (1, 1, "")
    assert evaluate("The refund takes days", checks) == (0, 0.75, "regex: does not match TKT")
    failed = 'contains: does not contain "refund"; not_contains: contains "sorry"; regex: does not match TKT'
    assert evaluate("Sorry, that takes some days", checks) == (0, 0.25, failed)


def test_long_reasons_are_shortened() -> None:
    _, _, reason = evaluate("x", {"contains": "a" * 500, "json_schema": {"enum": ["b" * 5000]}})
    assert len(reason) < 300
    assert reason.startswith(f'contains: does not contain "{"a" * 79}…"; json_schema: not valid JSON')


@pytest.mark.parametrize("checks", [None, {}, {"contains": None, "max_words": None}])
def test_case_without_a_check_is_not_applicable(checks: Any) -> None:
    assert evaluate("Hello", checks) == (None, None, "")


def test_calls_alone_are_not_applicable() -> None:
    result = ReplyEvaluator({"contains": "x"}).evaluate(Attempt((), (Call("f"),)))
    assert result.values == {"pass": None, "score": None}


def test_checks_of_a_case_replace_those_for_all_cases_one_by_one() -> None:
    general = {"contains": "refund", "max_words": 3}
    assert evaluate("a b c d", None, general=general)[1] == 0
    assert evaluate("a b c d", {"contains": "a"}, general=general) == (0, 0.5, "max_words: 4 words, expected at most 3")
    assert evaluate("a b c d", {"contains": "a", "max_words": 9}, general=general) == (1, 1, "")


def test_all_assistant_messages_of_a_conversation_are_checked_together() -> None:
    transcript = (
        Message("user", "Is it the refund?"),
        Message("assistant", "Your refund", (Call("f"),)),
        Message("tool", "forbidden"),
        Message("assistant"),
        Message("assistant", "takes 3 days."),
    )
    case = Case("c", instructions="x", reply=read_reply_checks({"contains": "refund takes", "not_contains": ["forbidden", "is it"]}, "r"))
    result = ReplyEvaluator().evaluate(Attempt((), (), case=case, prediction=Prediction("c", text="ignored", transcript=transcript)))
    assert result.values == {"pass": 1, "score": 1}


INVALID = [
    ({"contains": 5}, ".contains: expected a string or a list of strings, got 5"),
    ({"contains": ["a", 5]}, '.contains: expected a string or a list of strings, got ["a",5]'),
    ({"contains": []}, ".contains: expected text to look for, got an empty list"),
    ({"not_contains": ["a", " "]}, ".not_contains: expected text to look for, got an empty string"),
    ({"regex": "(a"}, ".regex: not a valid RE2 pattern: missing ): (a"),
    ({"regex": "(?=a)"}, ".regex: not a valid RE2 pattern: invalid perl operator: (?="),
    ({"regex": ["a"]}, '.regex: expected a pattern, got ["a"]'),
    ({"regex": ""}, '.regex: expected a pattern, got ""'),
    ({"max_words": -1}, ".max_words: expected an integer of at least 0, got -1"),
    ({"max_words": 1.5}, ".max_words: expected an integer of at least 0, got 1.5"),
    ({"max_words": True}, ".max_words: expected an integer of at least 0, got true"),
    ({"json_schema": "object"}, '.json_schema: expected a JSON Schema, got "object"'),
    ({"json_schema": {"type": "objct"}}, ".json_schema: not a valid JSON Schema: "),
    ({"json_schema": {"$ref": "https://example.com/x.json"}}, ".json_schema: not a valid JSON Schema: "),
    ({"json_schema": {"pattern": "("}}, ".json_schema: not a valid JSON Schema: "),
    ({"contain": "a"}, ": unknown check 'contain'. Did you mean contains?"),
    ("refund", ': expected an object with checks, got "refund"'),
    (["refund"], ': expected an object with checks, got ["refund"]'),
]


@pytest.mark.parametrize("checks, problem", INVALID)
def test_invalid_check_is_refused_with_its_name(checks: Any, problem: str) -> None:
    with pytest.raises(BadInput) as error:
        read_reply_checks(checks, "reply")
    assert str(error.value).startswith(f"reply{problem}")


def point(case_id: str, reply: Any, *calls: Any) -> dict[str, Any]:
    output = {"role": "assistant", "tool_calls": list(calls), "reply": reply}
    return {"id": case_id, "messages": [user("Hello")], "tools": [WEATHER], "expected_output": output}


def scenario(case_id: str, reply: Any) -> dict[str, Any]:
    return {"id": case_id, "instructions": "Ask for help.", "expected_function_calls": [], "expected_output": {"reply": reply}}


@pytest.mark.parametrize("make", [point, scenario])
@pytest.mark.parametrize("checks, problem", INVALID[4:6] + INVALID[12:16])
def test_invalid_check_is_refused_with_file_and_row(tmp_path: Path, cli: Cli, make: Any, checks: Any, problem: str) -> None:
    path = write_rows(tmp_path / "eval.jsonl", make("a", {"contains": "x"}), make("b", checks))
    result = cli("stats", path)
    assert result.status == 2
    assert f"eval.jsonl, line 2: expected_output.reply{problem}" in result.err.replace("\n", " ")


def test_unknown_key_beside_the_reply_of_a_scenario_is_refused(tmp_path: Path) -> None:
    row = scenario("a", {"contains": "x"})
    row["expected_output"]["repl"] = {}
    path = write_rows(tmp_path / "scenarios.jsonl", row)
    with pytest.raises(BadInput, match="scenarios.jsonl, line 1: expected_output: unknown key 'repl'. Did you mean reply?"):
        list(callmark.load(path))


@pytest.mark.parametrize("by_reference", [False, True])
def test_checks_are_written_as_they_were_read(tmp_path: Path, by_reference: bool) -> None:
    checks = {"contains": ["a", "b"], "max_words": 9, "json_schema": ORDER}
    original = callmark.load(
        write_rows(tmp_path / "conversations.jsonl", {"id": "t", "messages": [user("Bonn?"), assistant(call("f"))], "tools": [WEATHER]})
    )
    (case,) = callmark.expand(original)
    changed = callmark.Case(**{name: getattr(case, name) for name in case.__struct_fields__} | {"reply": read_reply_checks(checks, "r")})
    callmark.write([changed], tmp_path / "cases.jsonl", by_reference=by_reference)
    (read,) = callmark.load(tmp_path / "cases.jsonl")
    assert isinstance(read, Case)
    assert read.reply == changed.reply
    path = write_rows(tmp_path / "scenarios.jsonl", scenario("s", checks))
    (read,) = callmark.load(path)
    assert isinstance(read, Case)
    callmark.write([callmark.Case(**{name: getattr(read, name) for name in read.__struct_fields__})], tmp_path / "s.jsonl", to="scenarios")
    (again,) = callmark.load(tmp_path / "s.jsonl")
    assert isinstance(again, Case)
    assert again.reply == read.reply == changed.reply


def graded(tmp_path: Path, cli: Cli, *options: str) -> dict[str, Any]:
    """Grade two cases, one with checks of its own, and return the means by metric."""
    cases = write_rows(tmp_path / "eval.jsonl", point("a", {"contains": "refund"}), point("b", None, call("get_weather", {"city": "Bonn"})))
    texts = write_rows(
        tmp_path / "predictions.jsonl",
        {"case": "a", "text": "No refunds at all."},
        {"case": "b", "text": "I look.", "calls": [{"name": "get_weather", "arguments": {"city": "Bonn"}}]},
    )
    result = cli("grade", cases, "--predictions", texts, "-o", tmp_path / "runs", "--json", *options)
    assert result.status == 0, result.err
    metrics: dict[str, Any] = json.loads(result.out)["summary"]["metrics"]
    return {name: (estimate["mean"], estimate["n"]) for name, estimate in metrics.items() if name.startswith("reply.")}


def test_only_cases_with_checks_count(tmp_path: Path, cli: Cli) -> None:
    assert graded(tmp_path, cli, "-e", "call", "-e", "reply") == {"reply.pass": (1, 1), "reply.score": (1, 1)}


def test_checks_in_the_configuration_add_the_evaluator_and_apply_to_all_cases(tmp_path: Path, cli: Cli) -> None:
    config = tmp_path / "my.toml"
    config.write_text("[reply]\nmax_words = 2\n", encoding="utf-8")
    assert graded(tmp_path, cli, "--config", str(config)) == {"reply.pass": (0.5, 2), "reply.score": (0.75, 2)}


def test_checks_that_no_evaluator_evaluates_are_reported(tmp_path: Path, cli: Cli) -> None:
    assert graded(tmp_path, cli) == {}
    result = cli("grade", tmp_path / "eval.jsonl", "--predictions", tmp_path / "predictions.jsonl", "-o", tmp_path / "runs")
    assert "1 case with reply checks, which were not evaluated: add the evaluator reply (-e)" in result.out


@pytest.mark.parametrize(
    "text, problem",
    [
        ('[reply]\nregex = "("\n', "[reply] regex: not a valid RE2 pattern: missing ): ("),
        ("[reply]\nmax_word = 5\n", "[reply]: unknown check 'max_word'. Did you mean max_words?"),
        ("reply = 5\n", "reply: expected a table, got 5"),
        (
            "[reply]\nmax_words = 5\n[evaluators.reply]\nchecks = {max_words = 6}\n",
            "reply checks are set twice: in [reply] and in [evaluators.reply]",
        ),
    ],
)
def test_invalid_checks_in_the_configuration_are_refused(tmp_path: Path, cli: Cli, text: str, problem: str) -> None:
    config = tmp_path / "my.toml"
    config.write_text(text, encoding="utf-8")
    result = cli("grade", tmp_path / "eval.jsonl", "--config", config)
    assert result.status == 2
    assert f"my.toml: {problem}" in result.err.replace("\n", " ")


def test_hostile_pattern_takes_linear_time() -> None:
    assert evaluate("a" * 200_000, {"regex": "(a*)*(a*)*$b|(x+x+)+y"})[0] == 0
