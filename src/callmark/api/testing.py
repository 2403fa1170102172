"""Check calls in tests: `assert_calls`, which fails with a diff."""

from collections.abc import Sequence
from typing import Any

from callmark.analysis.outcomes import described_fault
from callmark.grading.grade import grade
from callmark.reporting.call_diff import LEGEND, call_diff, shown_reply
from callmark.reporting.safety import escape_breaks, escape_log_commands
from callmark.types import Call, Case, Fault, Message


def assert_calls(
    actual: Any,
    expected: Any,
    *,
    tools: Any = None,
    messages: Sequence[Message] | Sequence[dict[str, Any]] | None = None,
    alternatives: Sequence[Any] = (),
) -> None:
    """Fail if the actual calls are not the expected ones, with a diff of the calls.

        callmark.assert_calls(agent("Will it rain in Bonn?"), [{"name": "get_weather", "arguments": {"city": "Bonn"}}])

    The order of the calls is free, and values are compared as `call.pass` compares them. No calls on either side is correct.

    Args:
        actual: Actual calls: a list in any shape, an assistant message, a response body, or text that contains calls.
        expected: Expected calls, a list in any shape, with matchers such as `{"$any": true}`; or a `Case`, which also has tools, messages
            and alternatives.
        tools: Tools in any shape, to check arguments against their schemas.
        messages: Messages before the call, to find out where a wrong value came from.
        alternatives: Other lists of calls that are also correct.

    Raises:
        AssertionError: The calls differ. The message has the diff and every fault as a sentence.
        BadInput: The input cannot be read as calls.
    """
    __tracebackhide__ = True
    if isinstance(expected, Case):
        tools = expected.tools if tools is None else tools
        messages = expected.messages if messages is None else messages
        alternatives = alternatives or expected.alternatives
        expected = list(expected.expected)
    result = grade(expected, actual, tools=tools, messages=messages, alternatives=alternatives, evaluators=("call",))
    if result.metrics["call.pass"] == 1:
        return
    attempt = result.attempt
    pairs = [(pair.expected, pair.actual, pair.agrees) for pair in result.pairs]
    text = actual if isinstance(actual, str) else actual.get("content") if isinstance(actual, dict) else ""
    reply = text if isinstance(text, str) and not attempt.actual else ""
    raise AssertionError(describe_difference(attempt.expected, attempt.actual, pairs, result.faults, reply=reply))


def describe_difference(
    expected: Sequence[Call],
    actual: Sequence[Call],
    pairs: Sequence[tuple[int, int, bool]],
    faults: Sequence[Fault],
    *,
    problems: Sequence[str] = (),
    reply: str = "",
) -> str:
    """Return what is wrong as a text of several lines: the first problem, the diff, and all problems.

    `problems` are sentences, by default those of the faults. `reply` is shown if there is no call.
    """
    names = [call.name for call in actual]
    sentences = [escape_breaks(problem) for problem in problems or [described_fault(fault, names) for fault in faults]]
    more = f" (and {len(sentences) - 1:,} more)" if len(sentences) > 1 else ""
    lines = [f"{sentences[0]}{more}" if sentences else "the calls are not the expected ones"]
    if diff := call_diff(expected, actual, pairs, faults):
        lines += ["", LEGEND, *diff]
    if reply and not actual:
        lines += ["", f"reply: {shown_reply(reply)}"]
    if len(sentences) > 1:
        lines += ["", *(f"* {sentence}" for sentence in sentences)]
    return escape_log_commands("\n".join(lines))
