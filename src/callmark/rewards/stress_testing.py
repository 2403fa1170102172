"""`stress`: what degenerate policies earn on the user's own cases, and what is wrong with a reward that pays them."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import isfinite
from typing import Any, Literal

import msgspec
from msgspec import Struct

from callmark.analysis.bootstrap import bootstrap
from callmark.analysis.intervals import mean_interval
from callmark.analysis.numbers import format_estimate, format_score
from callmark.calls.messages import message_texts
from callmark.calls.toolsets import read_tools, tools_text
from callmark.data.expand import expand
from callmark.errors import BadInput
from callmark.formats import Dataset, load
from callmark.formats.openai import expected_output_text
from callmark.rewards.policies import CORRECT, POLICIES, Answer, Frequencies, Policy, as_messages, as_text, can_be_made
from callmark.types import Case, Conversation
from callmark.wording import pluralize

RewardFunction = Callable[..., Sequence[float | None]]
Form = Literal["messages", "text"]
_TOLERANCE = 1e-9
_HALF = 0.5


class PolicyReward(Struct, frozen=True):
    """What one policy earns.

    Attributes:
        policy: Name of the policy.
        description: What it does.
        informed: Whether it knows the expected calls.
        mean: Mean reward of the completions that are not excluded; None if all are.
        low: Lower end of the interval of the mean, over conversations; None for fewer than five.
        high: Upper end.
        cases: Number of completions with a reward.
        excluded: Number of completions for which the reward is None.
        equal: Number of cases in which it earns at least as much as the expected calls.
    """

    policy: str
    description: str
    informed: bool
    mean: float | None
    low: float | None
    high: float | None
    cases: int
    excluded: int
    equal: int


class StressReport(Struct, frozen=True):
    """What each policy earns, and what is wrong with the reward. `print(report)` prints it as a table.

    Attributes:
        correct: What the expected calls earn.
        policies: What each degenerate policy earns.
        findings: What is wrong with the reward, as sentences; empty if nothing was found.
        cases: Number of cases.
        skipped: Number of cases that were left out: their expected calls cannot be made, because they have matchers or are malformed.
    """

    correct: PolicyReward
    policies: tuple[PolicyReward, ...]
    findings: tuple[str, ...]
    cases: int
    skipped: int = 0

    def __str__(self) -> str:
        rows = [self.correct, *self.policies]
        width = max(len(row.policy) for row in rows)
        lines = [f"{pluralize(self.cases, 'case')}" + (f", {self.skipped:,} skipped (matchers)" if self.skipped else "")]
        for row in rows:
            interval = None if row.low is None or row.high is None else (row.low, row.high)
            mean = "excluded" if row.mean is None else format_estimate(row.mean, interval)
            lines.append(
                f"  {row.policy:<{width}}  {mean:<20}  {row.description}" + (f" ({row.excluded:,} excluded)" if row.excluded else "")
            )
        lines += [f"! {finding}" for finding in self.findings] or ["No policy earns what it should not."]
        return "\n".join(line.rstrip() for line in lines)


def stress(
    reward: RewardFunction,
    cases: str | os.PathLike[str] | Dataset | Iterable[Conversation],
    *,
    tools: Any = None,
    policies: Sequence[Policy] = POLICIES,
    form: Form = "messages",
    limit: int | None = None,
) -> StressReport:
    """Measure what degenerate policies earn with a reward function, as TRL calls it: `Reward` or your own.

        print(stress(Reward(), "eval.jsonl"))

    Args:
        reward: The reward function. It gets the columns of an evaluation file: `id`, `expected_output`, `tools`.
        cases: Decision points, conversations (which are cut into decision points), or scenarios.
        tools: Tools of cases that have none, in any shape.
        policies: The policies; `POLICIES` by default.
        form: Whether a completion is a list of messages with `tool_calls`, or text in the format of Hermes.
        limit: Number of cases, starting from the first.

    Returns:
        The report. A finding is: a policy that is excluded (None), earns as much as the expected calls, or more than half of that without
        knowing them; extra calls that are free; and expected calls that do not earn more than silence.

    Raises:
        BadInput: There are no cases, or the reward does not return one number or None per completion.
    """
    given = _with_tools(_read(cases), read_tools(tools))
    usable = [case for case in islice(given, limit) if can_be_made(case)]
    if not usable:
        raise BadInput("no cases whose expected calls can be made", "Pass an evaluation file, as callmark expand writes it.")
    skipped = len(given[:limit]) - len(usable)
    frequencies = Frequencies.of(usable)
    rows = [_row(case) for case in usable]
    best = _earned(reward, CORRECT, usable, rows, frequencies, form)
    correct = _policy_reward(CORRECT, usable, best, best)
    measured = [(policy, _earned(reward, policy, usable, rows, frequencies, form)) for policy in policies]
    results = tuple(_policy_reward(policy, usable, earned, best) for policy, earned in measured)
    return StressReport(correct, results, tuple(_findings(correct, results)), len(usable), skipped)


def _read(cases: str | os.PathLike[str] | Dataset | Iterable[Conversation]) -> list[Case]:
    rows = list(load(cases, cases=True) if isinstance(cases, str | os.PathLike) else cases)
    found = [row for row in rows if isinstance(row, Case)]
    return found or list(expand(row for row in rows if not isinstance(row, Case)))


def _with_tools(cases: list[Case], tools: Any) -> list[Case]:
    return [case if case.tools or not tools else msgspec.structs.replace(case, tools=tools) for case in cases]


def _row(case: Case) -> dict[str, Any]:
    """Return the columns of a case, as an evaluation file has them."""
    decode = msgspec.json.decode
    prompt = [{"role": "user", "content": case.instructions}] if case.is_scenario else [decode(text) for text in message_texts(case)]
    return {"id": case.id, "prompt": prompt, "expected_output": decode(expected_output_text(case)), "tools": decode(tools_text(case))}


def _earned(
    reward: RewardFunction, policy: Policy, cases: Sequence[Case], rows: Sequence[dict[str, Any]], frequencies: Frequencies, form: Form
) -> list[float | None]:
    """Return the reward of a policy's completion of each case."""
    write: Callable[[Answer], Any] = as_messages if form == "messages" else as_text
    completions = [write(policy.answer(case, frequencies)) for case in cases]
    columns = {name: [row[name] for row in rows] for name in ("id", "expected_output", "tools")}
    earned = reward(prompts=[row["prompt"] for row in rows], completions=completions, **columns)
    values = list(earned) if isinstance(earned, Iterable) else []
    if len(values) != len(cases):
        raise BadInput(f"the reward function returned {len(values):,} values for {len(cases):,} completions")
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value)):
            raise BadInput(f"the reward function returned {value!r:.40}, expected a finite number or None")
    return values


def _policy_reward(policy: Policy, cases: Sequence[Case], earned: Sequence[float | None], best: Sequence[float | None]) -> PolicyReward:
    by_conversation: defaultdict[str, list[float]] = defaultdict(list)
    for case, value in zip(cases, earned, strict=True):
        if value is not None:
            by_conversation[case.source.conversation if case.source else case.id].append(float(value))
    clusters = Counter((sum(values), len(values)) for values in by_conversation.values())
    values = [value for group in by_conversation.values() for value in group]
    is_bounded = all(0 <= value <= 1 for value in values)
    low, high = ((mean_interval if is_bounded else bootstrap)(clusters) if values else None) or (None, None)
    equal = sum(
        value is not None and expected is not None and value >= expected - _TOLERANCE for value, expected in zip(earned, best, strict=True)
    )
    mean = sum(values) / len(values) if values else None
    return PolicyReward(policy.name, policy.description, policy.informed, mean, low, high, len(values), len(cases) - len(values), equal)


def _findings(correct: PolicyReward, results: Sequence[PolicyReward]) -> Iterable[str]:
    if correct.mean is None:
        yield "The expected calls are excluded (None): the reward never applies."
        return
    if correct.excluded:
        yield f"The expected calls are excluded (None) in {pluralize(correct.excluded, 'case')}."
    floor = min([result.mean for result in results if result.mean is not None], default=correct.mean)
    if results and correct.mean <= floor + _TOLERANCE:
        yield "The expected calls earn no more than the worst policy: the reward does not depend on the calls."
        return
    for result in results:
        name = result.policy
        if result.excluded:
            of = result.excluded + result.cases
            yield f"{name}: {result.excluded:,} of {of:,} completions are excluded (None), so a policy can avoid a bad reward."
        if result.mean is None:
            continue
        share = (result.mean - floor) / (correct.mean - floor)
        if result.mean >= correct.mean - _TOLERANCE:
            yield f"{name}: earns {format_score(result.mean)}, as much as the expected calls ({format_score(correct.mean)})."
        elif result.informed and _adds_calls(name) and result.equal > _HALF * result.cases:
            yield f"{name}: earns as much as the expected calls in {result.equal:,} of {result.cases:,} cases: extra calls are free."
        elif not result.informed and share > _HALF:
            yield f"{name}: earns {format_score(result.mean)} of {format_score(correct.mean)} without looking at the request."


def _adds_calls(policy: str) -> bool:
    return policy in ("correct, repeated", "correct and everything")
