"""Rows of `blowups.py`: conversations with many calls."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from blowups import Run, blowup
from callmark.calls.results import match_results
from callmark.calls.sequence import calls_with_results, find_pattern, read_pattern
from callmark.data.lint import lint
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Conversation, Message, Prediction, Tool


def conversation(n: int, value: Callable[[int], Any], result: Callable[[int], str], asked: str = "Please do it all.") -> Conversation:
    """A conversation with n calls, each with its result."""
    messages = [Message("user", asked)]
    for index in range(n):
        messages.append(Message("assistant", "", (Call("f", {"a": value(index)}, f"c{index}"),)))
        messages.append(Message("tool", result(index), (), f"c{index}"))
    return Conversation("c", messages=tuple(messages), tools=(Tool("f", "", {"properties": {"a": {}}}),))


def lint_one(row: Conversation) -> Run:
    def run() -> str | None:
        assert lint([row]).rows == 1
        return None

    return run


@blowup("lint: grounded values", n=2000)
def _grounded(n: int) -> Run:
    return lint_one(
        conversation(n, lambda index: f"A{index}", lambda index: json.dumps({"next": f"A{index + 1}", "text": "Some text. " * 20}))
    )


@blowup("lint: hallucinated values", n=2000)
def _hallucinated(n: int) -> Run:
    return lint_one(conversation(n, lambda index: f"#W{index}", lambda index: f"Order {index} is on its way to you."))


@blowup("lint: values of common words", n=2000)
def _common(n: int) -> Run:
    return lint_one(conversation(n, lambda index: "a " * (index % 50) + f"b {'c ' * (index % 41)}d", lambda _: "a " * 60 + "b c a d"))


@blowup("lint: repetitive values and text", n=2000)
def _repetitive(n: int) -> Run:
    return lint_one(conversation(n, lambda index: f"{'ab_' * (index % 90)}{index}!", lambda _: "xab_" * 60))


@blowup("lint: values of punctuation", n=2000)
def _punctuation(n: int) -> Run:
    return lint_one(conversation(n, lambda index: f"{index % 9}{'!' * (index % 101)}", lambda index: f"{index % 9}{'!' * (index % 100)}a"))


@blowup("lint: numbers and dates", n=2000)
def _numbers(n: int) -> Run:
    return lint_one(conversation(n, lambda index: index + 0.25, lambda index: f"{index}.5 on 2025-05-{index % 28 + 1:02} for {index}"))


@blowup("lint: long texts with numbers", n=1000)
def _long(n: int) -> Run:
    return lint_one(
        conversation(n, lambda index: f"a note with some words about {index} and x{index + 1}", lambda index: f"x{index} {index}")
    )


@blowup("lint: one call with many values", n=10_000)
def _values(n: int) -> Run:
    messages = (Message("user", " ".join(f"w{index}" for index in range(n))), Message("assistant", "", (Call("f", {"a": words("w", n)}),)))
    return lint_one(Conversation("c", messages=messages))


def words(start: str, n: int) -> list[str]:
    return [f"{start}{index}x" for index in range(n)]


@blowup("lint: values below a long key", n=2000)
def _long_key(n: int) -> Run:
    messages = (Message("user", "Go."), Message("assistant", "", (Call("f", {"k" * 10 * n: words("w", n)}),)))
    return lint_one(Conversation("c", messages=messages))


@blowup("lint: a large schema in many calls", n=500)
def _schema(n: int) -> Run:
    properties = {f"p{index}": {"type": "string", "description": "x" * 100} for index in range(n)}
    row = conversation(n, lambda _: "Please", lambda _: "ok")
    return lint_one(Conversation("c", messages=row.messages, tools=(Tool("f", "", {"type": "object", "properties": properties}),)))


@blowup("lint: rows that are almost the same", n=500)
def _rows(n: int) -> Run:
    text = "A question about an order that was never delivered to the right address. " * 5
    rows = [Conversation(f"c{index}", messages=(Message("user", f"{text} {index}"), Message("assistant", "Yes."))) for index in range(n)]

    def run() -> str | None:
        assert lint(rows).rows == n
        return None

    return run


@blowup("results without ids", n=10_000)
def _results(n: int) -> Run:
    calls = Message("assistant", "", tuple(Call("f", {}) for _ in range(n)))
    messages = [calls, *[Message("tool", "ok", (), None, name) for name in ("f", None) for _ in range(n // 2)]]

    def run() -> str | None:
        assert not match_results(messages).orphans
        return None

    return run


@blowup("patterns over many calls", n=2000)
def _patterns(n: int) -> Run:
    calls = calls_with_results(conversation(n, lambda index: index, lambda index: json.dumps({"a": -index})))
    patterns = [read_pattern(text) for text in ("f >> f >> f >> g", "f >> f(a=$result)", "f >> f(a=$result) >> g", "f > f >> f(a=$result)")]

    def run() -> str | None:
        assert not any(find_pattern(pattern, calls) for pattern in patterns)
        return None

    return run


@blowup("grade a transcript", n=1000)
def _transcript(n: int) -> Run:
    row = conversation(n, lambda index: f"A{index}", lambda index: f"The next one is A{index + 1}.")
    return grade_transcript(row, [call for message in row.messages for call in message.calls], GradingSettings())


@blowup("grade a transcript with other values", n=1000)
def _other_transcript(n: int) -> Run:
    row = conversation(n, lambda index: f"A{index}", lambda index: f"The next one is A{index + 1}.")
    return grade_transcript(row, [Call("f", {"a": f"B{index}"}) for index in range(n)], GradingSettings())


@blowup("policy rules over a transcript", n=1000)
def _policy(n: int) -> Run:
    rules = [
        {"id": "asked", "says": "Ask.", "confirmed": "f"},
        {"id": "once", "says": "Once.", "once_per_confirmation": "f"},
        {"id": "chain", "says": "No chain.", "never": "f >> f(a=$result) >> f(a=$result)"},
        {"id": "first", "says": "Look first.", "before": {"first": "g >> f", "then": "f"}},
    ]
    row = conversation(n, lambda index: f"A{index}", lambda index: json.dumps({"a": f"B{index}"}), asked="Yes, please. " * 400)
    settings = GradingSettings(evaluators=("policy",), options={"policy": {"rules": {"rules": rules}}})
    return grade_transcript(row, [], settings)


def grade_transcript(row: Conversation, expected: Sequence[Call], settings: GradingSettings) -> Run:
    actual = tuple(call for message in row.messages for call in message.calls)
    case = Case("c", expected=tuple(expected), tools=row.tools)
    prediction = Prediction("c", calls=actual, transcript=row.messages)

    def run() -> str | None:
        (record,) = Grader(settings).record(case, [prediction])
        assert record.metrics
        return None

    return run
