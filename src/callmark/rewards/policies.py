"""Degenerate policies: ways to answer every case without understanding it, to find out what a reward pays for them.

A policy returns the calls and the text of its completion for a case. Most know only the prompt, the tools, and what is frequent in the
cases; those that are marked as `informed` know the expected calls, and spoil them in one way: what they earn is what the reward does not
check.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.matchers import has_matcher, recorded_value
from callmark.types import Call, Case

_TIMES = 5  # that a repeating policy makes its call
_encode = msgspec.json.Encoder(order="deterministic").encode


class Answer(Struct, frozen=True):
    """What a policy says: its calls and its text. `raw` is a text that is not a message with calls, such as a broken call."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    raw: str = ""


class Frequencies(Struct, frozen=True):
    """What is frequent in the expected calls of some cases: the most frequent call, and that of each tool. Matchers are not counted."""

    call: Call | None
    by_tool: dict[str, Call]

    @classmethod
    def of(cls, cases: Sequence[Case]) -> "Frequencies":
        """Count the expected calls of cases; ties go to the first."""
        counts: Counter[bytes] = Counter()
        calls: dict[bytes, Call] = {}
        for case in cases:
            for call in case.expected:
                if not call.malformed and not has_matcher(call.arguments):
                    plain = Call(call.name, recorded_value(call.arguments))
                    key = _encode((plain.name, plain.arguments))
                    counts[key] += 1
                    calls.setdefault(key, plain)
        ordered = [calls[key] for key, _ in counts.most_common()]
        by_tool: dict[str, Call] = {}
        for call in ordered:
            by_tool.setdefault(call.name, call)
        return cls(ordered[0] if ordered else None, by_tool)


class Policy(Struct, frozen=True):
    """A degenerate policy.

    Attributes:
        name: Name in reports.
        description: What it does, for people.
        answer: `answer(case, frequencies)` returns its completion.
        informed: Whether it knows the expected calls.
    """

    name: str
    description: str
    answer: Callable[[Case, Frequencies], Answer]
    informed: bool = False


def _echo(case: Case, frequent: Frequencies) -> Answer:
    return Answer(text=next((message.text for message in reversed(case.messages) if message.role == "user"), case.instructions))


def _call_everything(case: Case, frequent: Frequencies) -> Answer:
    return Answer(tuple(frequent.by_tool.get(name, Call(name)) for name in _tool_names(case, frequent)))


def _repeat_last(case: Case, frequent: Frequencies) -> Answer:
    last = next((message.calls[-1] for message in reversed(case.messages) if message.calls), None)
    return Answer(() if last is None or last.malformed else (Call(last.name, last.arguments),))


def _most_frequent(case: Case, frequent: Frequencies) -> Answer:
    return Answer(() if frequent.call is None else (frequent.call,))


def _repeated(case: Case, frequent: Frequencies) -> Answer:
    return Answer(() if frequent.call is None else (frequent.call,) * _TIMES)


def _frequent_without_arguments(case: Case, frequent: Frequencies) -> Answer:
    return Answer(() if frequent.call is None else (Call(frequent.call.name),))


def _broken(case: Case, frequent: Frequencies) -> Answer:
    name = frequent.call.name if frequent.call else "tool"
    return Answer(raw=f'<tool_call>{{"name": "{name}", "arguments": {{')


def _unknown_format(case: Case, frequent: Frequencies) -> Answer:
    name = frequent.call.name if frequent.call else "tool"
    return Answer(raw=f"<|tool_calls|>{name}(")


def _expected(case: Case, frequent: Frequencies) -> Answer:
    return Answer(_plain_expected(case))


def _expected_and_everything(case: Case, frequent: Frequencies) -> Answer:
    expected = _plain_expected(case)
    names = {call.name for call in expected}
    return Answer((*expected, *[frequent.by_tool.get(name, Call(name)) for name in _tool_names(case, frequent) if name not in names]))


def _expected_repeated(case: Case, frequent: Frequencies) -> Answer:
    return Answer(_plain_expected(case) * _TIMES)


def _expected_without_arguments(case: Case, frequent: Frequencies) -> Answer:
    return Answer(tuple(Call(call.name) for call in case.expected))


def _tool_names(case: Case, frequent: Frequencies) -> list[str]:
    return [tool.name for tool in case.tools] or list(frequent.by_tool)


def _plain_expected(case: Case) -> tuple[Call, ...]:
    return tuple(call if call.malformed else Call(call.name, recorded_value(call.arguments)) for call in case.expected)


def can_be_made(case: Case) -> bool:
    """Return whether the expected calls of a case can be made as they are: they are well-formed and have no matcher."""
    return not any(call.malformed or has_matcher(call.arguments) for call in case.expected)


def as_messages(answer: Answer) -> list[dict[str, Any]]:
    """Return an answer as the messages of a completion, with the calls in `tool_calls`."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.raw or answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": call.name, "arguments": _encode(call.arguments).decode()}}
            for number, call in enumerate(answer.calls)
        ]
    return [message]


def as_text(answer: Answer) -> str:
    """Return an answer as text, with the calls in the format of Hermes."""
    calls = [f"<tool_call>\n{_encode({'name': call.name, 'arguments': call.arguments}).decode()}\n</tool_call>" for call in answer.calls]
    return answer.raw or "\n".join([*([answer.text] if answer.text else []), *calls])


CORRECT = Policy("correct", "makes the expected calls", _expected, informed=True)
POLICIES = (
    Policy("silence", "says nothing", lambda case, frequent: Answer()),
    Policy("echo", "repeats the user's message", _echo),
    Policy("call everything", "calls every tool, with its most frequent arguments", _call_everything),
    Policy("most frequent call", "makes the most frequent call", _most_frequent),
    Policy("repeating", f"makes the most frequent call {_TIMES} times", _repeated),
    Policy("repeat last call", "repeats the last call of the conversation", _repeat_last),
    Policy("empty arguments", "calls the most frequent tool without arguments", _frequent_without_arguments),
    Policy("broken call", "writes a call that is cut off", _broken),
    Policy("unknown format", "writes a call in a format that no model uses", _unknown_format),
    Policy("correct, no arguments", "makes the expected calls without arguments", _expected_without_arguments, informed=True),
    Policy("correct, repeated", f"makes the expected calls {_TIMES} times", _expected_repeated, informed=True),
    Policy("correct and everything", "makes the expected calls, and calls all other tools", _expected_and_everything, informed=True),
)
