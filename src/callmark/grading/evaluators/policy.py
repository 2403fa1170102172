"""Evaluator `policy`: did the agent follow the rules? (policy_rules.py describes their format)

    policy.followed  1 if no rule is violated, else 0
    policy.rules     rules that are followed / rules

Calls count whatever their results. Without a transcript, only rules that calls alone can violate are checked; without such a rule, the
metrics are not applicable.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from callmark.calls.confirmation import is_confirmation
from callmark.calls.results import match_results
from callmark.calls.sequence import CallWithResult, last_calls
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import Metric, Result
from callmark.grading.evaluators.policy_rules import Rule, RuleKind, read_rules
from callmark.types import Message, Note

_MAX_NOTES = 20  # violations of one rule in one conversation
_SHOWN = 80  # characters of a user's text


class Violation(Struct, frozen=True):
    """A violated rule: the call, its message (None without a transcript), and a description."""

    rule: Rule
    call: int
    message: int | None
    description: str


class PolicyEvaluator(Struct, frozen=True):
    """The share of rules that are followed, with a note for each violation.

    `rules` are `Rule`s, or the content of a YAML file of rules. Invalid rules raise `BadInput`. Not applicable without a rule that can be
    checked.
    """

    rules: tuple[Rule, ...] = ()

    name: ClassVar[str] = "policy"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("followed", "all rules followed", kind="rate", headline=True),
        Metric("rules", "share of rules followed"),
    )
    not_applicable: ClassVar[str] = "these cases have no transcript, and none of the rules can be checked without one"
    requires: ClassVar[tuple[str, ...]] = ("rules",)
    added_by: ClassVar[tuple[str, ...]] = ("rules",)
    file_options: ClassVar[tuple[str, ...]] = ("rules",)

    def __post_init__(self) -> None:
        rules: Any = self.rules
        if not isinstance(rules, tuple):
            # callmark.toml may contain the list itself: [[evaluators.policy.rules]]
            force_setattr(self, "rules", read_rules({"rules": rules} if isinstance(rules, list) else rules))

    def tool_patterns(self) -> dict[str, tuple[str, ...]]:
        """Return the globs of the tools that each rule is about, by its id: without any such tool, it can never be violated."""
        return {rule.id: rule.tools for rule in self.rules}

    def evaluate(self, attempt: Attempt) -> Result:
        has_transcript = attempt.prediction is not None and bool(attempt.prediction.transcript)
        rules = [rule for rule in self.rules if has_transcript or not rule.needs_transcript]
        if not rules:
            return Result({"followed": None, "rules": None})
        conversation = _conversation(attempt)
        violations = [list(islice(_violations(rule, conversation), _MAX_NOTES)) for rule in rules]
        kept = sum(not found for found in violations)
        same_calls = len(conversation.calls) == len(attempt.actual)  # otherwise it is unknown which of the actual calls it is
        notes = [
            Note(
                "policy_violation",
                f"{violation.rule.id} ({violation.rule.says.rstrip('.')}): {violation.description}",
                actual_index=violation.call if same_calls else None,
                message=violation.message,
            )
            for found in violations
            for violation in found
        ]
        return Result({"followed": float(kept == len(rules)), "rules": kept / len(rules)}, notes=tuple(notes))


class _Conversation(Struct, frozen=True):
    """The calls in order with their results, the message of each call (None without a transcript), and the user's texts by message."""

    calls: tuple[CallWithResult, ...]
    messages: tuple[int | None, ...]
    user_texts: tuple[tuple[int, str], ...] = ()

    def name(self, call: int) -> str:
        return self.calls[call].call.name

    def last_user_text(self, call: int) -> str | None:
        """Return the user's last message before a call; None if there is none."""
        message = self.messages[call]
        before = 0 if message is None else bisect_left(self.user_texts, message, key=lambda indexed: indexed[0])
        return self.user_texts[before - 1][1] if before else None


def _conversation(attempt: Attempt) -> _Conversation:
    transcript = attempt.prediction.transcript if attempt.prediction is not None else ()
    if transcript:
        return _read_transcript(transcript)
    return _Conversation(tuple(map(CallWithResult, attempt.actual)), (None,) * len(attempt.actual))


def _read_transcript(transcript: Sequence[Message]) -> _Conversation:
    results = match_results(transcript).by_call
    places = [(message, call) for message, turn in enumerate(transcript) for call in range(len(turn.calls))]
    return _Conversation(
        tuple(
            CallWithResult(transcript[place[0]].calls[place[1]], transcript[results[place]].text if place in results else None)
            for place in places
        ),
        tuple(message for message, _ in places),
        tuple((index, message.text) for index, message in enumerate(transcript) if message.role == "user"),
    )


def _violations(rule: Rule, conversation: _Conversation) -> Iterator[Violation]:
    """Yield the violations of a rule, in the order of the calls."""
    matching = sorted({call for pattern in rule.calls for call in last_calls(pattern, conversation.calls)})
    for call, description in _CHECKS[rule.kind](rule, conversation, matching):
        yield Violation(rule, call, conversation.messages[call], description)


_Violating = Iterator[tuple[int, str]]  # calls, each with a description of how it violates the rule


def _before(rule: Rule, conversation: _Conversation, matching: Sequence[int]) -> _Violating:
    first = min((call for pattern in rule.first for call in last_calls(pattern, conversation.calls)), default=len(conversation.calls))
    required = " or ".join(pattern.text for pattern in rule.first)
    yield from ((call, f"{conversation.name(call)} was called without an earlier {required}") for call in matching if call <= first)


def _confirmed(rule: Rule, conversation: _Conversation, matching: Sequence[int]) -> _Violating:
    confirms = cache(lambda text: is_confirmation(text, rule.words))  # many calls may follow one message
    for call in matching:
        text = conversation.last_user_text(call)
        if text is None:
            yield call, f"{conversation.name(call)} was called before any user message"
        elif not confirms(text):
            yield call, f"{conversation.name(call)} was called after {_quoted(text)}, which is not a confirmation"


def _once_per_confirmation(rule: Rule, conversation: _Conversation, matching: Sequence[int]) -> _Violating:
    confirmations = [message for message, text in conversation.user_texts if is_confirmation(text, rule.words)]
    used: dict[int, int] = {}  # the call that used each confirmation
    for call in matching:
        before = bisect_left(confirmations, conversation.messages[call] or 0)
        last = confirmations[before - 1] if before else None
        if last is None:
            yield call, f"{conversation.name(call)} was called without an earlier confirmation"
        elif last in used:
            yield (
                call,
                f"{conversation.name(call)} was called after a confirmation that was already used for {conversation.name(used[last])}",
            )
        else:
            used[last] = call


def _never(rule: Rule, conversation: _Conversation, matching: Sequence[int]) -> _Violating:
    yield from ((call, f"{conversation.name(call)} was called") for call in matching)


def _at_most(rule: Rule, conversation: _Conversation, matching: Sequence[int]) -> _Violating:
    for number, call in enumerate(matching[rule.times :], rule.times + 1):
        yield call, f"{conversation.name(call)} was call number {number} to match the rule, expected at most {rule.times}"


_CHECKS: dict[RuleKind, Callable[[Rule, _Conversation, Sequence[int]], _Violating]] = {
    "before": _before,
    "confirmed": _confirmed,
    "once_per_confirmation": _once_per_confirmation,
    "never": _never,
    "at_most": _at_most,
}


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return f'"{text}"' if len(text) <= _SHOWN else f'"{text[:_SHOWN]}…"'
