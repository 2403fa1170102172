"""Evaluator `policy`: did the agent keep to the rules? (policy_rules.py says how they are written)

    policy.kept    1 when no rule is broken, else 0
    policy.rules   rules that are kept / rules

Calls count whatever came of them. Without a transcript only rules are looked at that calls alone can break; where none is left there are no
numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import ClassVar

from msgspec import Struct

from callmark.calls.agreement import is_yes
from callmark.calls.results import match_results
from callmark.calls.sequence import Answered, Pattern, Step, find
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.policy_rules import Kind, Rule
from callmark.types import Message, Metrics, Note

_MOST_NOTED = 20  # places of one conversation at which a rule is said to be broken
_SHOWN = 80  # characters of what was said
_ANY = Step("*")


class Violation(Struct, frozen=True):
    """A rule that was broken: by which of the calls, in which message (None where there is no transcript), and how."""

    rule: Rule
    call: int
    message: int | None
    how: str


class PolicyEvaluator(Struct, frozen=True):
    name: ClassVar[str] = "policy"
    metrics: ClassVar[tuple[str, ...]] = ("kept", "rules")
    rules: tuple[Rule, ...] = ()

    def __call__(self, attempt: Attempt) -> Metrics:
        rules = self._judged(attempt)
        if not rules:
            return {}
        talk = _talk(attempt)
        kept = sum(not any(_broken(rule, talk)) for rule in rules)
        return {"kept": float(kept == len(rules)), "rules": kept / len(rules)}

    def notes(self, attempt: Attempt) -> list[Note]:
        """A note for each place at which a rule was broken."""
        talk = _talk(attempt)
        same = len(talk.calls) == len(attempt.actual)  # else it is not known which of the calls made it is
        return [
            Note(
                "policy_violation",
                f"{found.rule.id}: {found.rule.says.rstrip('.')}: {found.how}",
                actual_index=found.call if same else None,
                message=found.message,
            )
            for rule in self._judged(attempt)
            for found in islice(_broken(rule, talk), _MOST_NOTED)
        ]

    def _judged(self, attempt: Attempt) -> list[Rule]:
        told = attempt.prediction is not None and bool(attempt.prediction.transcript)
        return [rule for rule in self.rules if told or not rule.needs_transcript]


class _Talk(Struct, frozen=True):
    """The calls in order, each with its result and the message that it stands in; and what the user said, by message."""

    calls: tuple[Answered, ...]
    messages: tuple[int | None, ...]
    said: tuple[tuple[int, str], ...] = ()


def _talk(attempt: Attempt) -> _Talk:
    transcript = attempt.prediction.transcript if attempt.prediction is not None else ()
    if transcript:
        return _talk_of(transcript)
    return _Talk(tuple(map(Answered, attempt.actual)), (None,) * len(attempt.actual))


def _talk_of(transcript: Sequence[Message]) -> _Talk:
    results = match_results(transcript).of
    places = [(index, place) for index, message in enumerate(transcript) for place in range(len(message.calls))]
    return _Talk(
        tuple(Answered(transcript[at[0]].calls[at[1]], transcript[results[at]].text if at in results else None) for at in places),
        tuple(index for index, _ in places),
        tuple((index, message.text) for index, message in enumerate(transcript) if message.role == "user"),
    )


def _broken(rule: Rule, talk: _Talk) -> Iterator[Violation]:
    """The places at which a rule is broken, in order."""
    fitting = sorted({index for pattern in rule.calls for index in _last_steps(pattern, talk.calls)})
    for index, how in _HOW[rule.kind](rule, talk, fitting):
        yield Violation(rule, index, talk.messages[index], how)


Places = Iterator[tuple[int, str]]  # calls, each with how it breaks the rule


def _before(rule: Rule, talk: _Talk, fitting: Sequence[int]) -> Places:
    first = min((index for pattern in rule.first for index in _last_steps(pattern, talk.calls)), default=len(talk.calls))
    wanted = " or ".join(pattern.text for pattern in rule.first)
    yield from ((index, f"{_name(talk, index)} was called, and no {wanted} before it") for index in fitting if index <= first)


def _confirmed(rule: Rule, talk: _Talk, fitting: Sequence[int]) -> Places:
    for index in fitting:
        said = _last_said(talk, index)
        if said is None:
            yield index, f"{_name(talk, index)} was called before the user said anything"
        elif not is_yes(said[1], rule.words):
            yield index, f"{_name(talk, index)} was called when the user had said {_quoted(said[1])}"


def _once_per_confirmation(rule: Rule, talk: _Talk, fitting: Sequence[int]) -> Places:
    yeses = [at for at, text in talk.said if is_yes(text, rule.words)]
    used: dict[int, int] = {}  # by which call
    for index in fitting:
        yes = max((at for at in yeses if at < (talk.messages[index] or 0)), default=None)
        if yes is None:
            yield index, f"{_name(talk, index)} was called, and no yes before it"
        elif yes in used:
            yield index, f"{_name(talk, index)} was called, and the yes before it was for {_name(talk, used[yes])}"
        else:
            used[yes] = index


def _never(rule: Rule, talk: _Talk, fitting: Sequence[int]) -> Places:
    yield from ((index, f"{_name(talk, index)} was called") for index in fitting)


def _at_most(rule: Rule, talk: _Talk, fitting: Sequence[int]) -> Places:
    for number, index in enumerate(fitting[rule.times :], rule.times + 1):
        yield index, f"{_name(talk, index)} was call number {number}, at most {rule.times} were allowed"


_HOW: dict[Kind, Callable[[Rule, _Talk, Sequence[int]], Places]] = {
    "before": _before,
    "confirmed": _confirmed,
    "once_per_confirmation": _once_per_confirmation,
    "never": _never,
    "at_most": _at_most,
}


def _last_steps(pattern: Pattern, calls: Sequence[Answered]) -> list[int]:
    """The calls at which a pattern ends, beginning at any call."""
    ends = [index for index, call in enumerate(calls) if find(Pattern(pattern.text, pattern.steps[:1]), (call,))]
    for step in pattern.steps[1:]:
        pair = Pattern(pattern.text, (_ANY, Step(step.name, step.arguments, "next")))
        looks_back = any(wanted.kind == "result" for _, wanted in step.arguments)

        def follows(index: int, before: Sequence[int], pair: Pattern = pair) -> bool:
            return any(find(pair, (calls[other], calls[index])) for other in before)

        candidates = range(ends[0] + 1, len(calls)) if ends else range(0)
        known = frozenset(ends)
        if step.gap == "next":
            ends = [index for index in candidates if index - 1 in known and follows(index, (index - 1,))]
        elif looks_back:
            ends = [index for index in candidates if follows(index, [other for other in ends if other < index])]
        else:
            ends = [index for index in candidates if follows(index, ends[:1])]
    return ends


def _last_said(talk: _Talk, index: int) -> tuple[int, str] | None:
    message = talk.messages[index]
    return None if message is None else max(((at, text) for at, text in talk.said if at < message), default=None)


def _name(talk: _Talk, index: int) -> str:
    return talk.calls[index].call.name


def _quoted(said: str) -> str:
    text = " ".join(said.split())
    return f'"{text}"' if len(text) <= _SHOWN else f'"{text[:_SHOWN]}…"'
