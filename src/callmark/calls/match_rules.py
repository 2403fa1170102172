"""Rules for many cases at once: how an argument is compared, by its name (`[match]` in `callmark.toml`; docs/metrics.md, section 4).

    "*.description" = {"$any" = true}
    "*.note" = {"$text" = "expected", "$ratio" = 0.8}        "expected" stands for the recorded value
    "book_room.guest.name" = "similar"

A pattern is `tool.argument`, globs, nested with dots (the index in an array is a step too). The first rule whose pattern matches an
argument counts. Where the record itself has a matcher, no rule applies; nor does one that cannot hold the recorded value (`$text` of a
number).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from callmark.calls.globs import matches_glob
from callmark.calls.matchers import SIMILAR, check_matchers, has_matcher, is_matcher
from callmark.calls.values import without_defaults
from callmark.errors import BadInput
from callmark.types import Call, Tool
from callmark.wording import did_you_mean

RECORDED = "expected"  # in a rule, the recorded value
_WORDS = ("exact", "similar")
_SAMPLES = ("text", "2025-05-10", 1)  # recorded values of every kind that a matcher may need


class MatchRule(Struct, frozen=True):
    """A rule: the pattern of its arguments, and the matcher that replaces their values."""

    pattern: str
    match: Any

    def applies(self, tool: str, path: Sequence[str]) -> bool:
        """Return whether the rule is for this argument of this tool, whose name may have dots of its own."""
        steps = self.pattern.split(".")
        at = len(steps) - len(path)
        return (
            at > 0
            and matches_glob(".".join(steps[:at]), tool)
            and all(matches_glob(step, name) for step, name in zip(steps[at:], path, strict=True))
        )

    def matcher(self, value: Any) -> Any:
        """Return the matcher for a recorded value."""
        if self.match == "exact":
            return {"$literal": value}
        return {SIMILAR: value} if self.match == "similar" else _fill(self.match, value)


def read_match_rules(given: Mapping[str, Any]) -> tuple[MatchRule, ...]:
    """Return the rules of a table. A pattern without an argument and a matcher that could never be used raise `BadInput`."""
    rules = tuple(MatchRule(pattern, match) for pattern, match in given.items())
    for rule in rules:
        if isinstance(rule.match, dict) and rule.match and "." not in rule.pattern and not is_matcher(rule.match):
            whole = f"{rule.pattern}.{next(iter(rule.match))}"
            raise BadInput(f"match: {rule.pattern!r} is a table, a rule was expected", f"Put the whole pattern in quotes: {whole!r}.")
        if not all(rule.pattern.split(".")) or "." not in rule.pattern:
            raise BadInput(
                f"match: the pattern {rule.pattern!r} names no argument, 'tool.argument' was expected", "'*.note' is the note of any tool."
            )
        if isinstance(rule.match, str):
            if rule.match not in _WORDS:
                raise BadInput(
                    f"match: {rule.pattern!r} is {rule.match!r}, exact, similar or a matcher was expected{did_you_mean(rule.match, _WORDS)}"
                )
        elif not is_matcher(rule.match):
            raise BadInput(f"match: {rule.pattern!r} is neither exact nor similar nor a matcher such as {{'$any' = true}}")
        elif problem := _usage_problem(rule):
            raise BadInput(f"match: {problem}")
    return rules


def apply_match_rules(
    rules: Sequence[MatchRule], calls: tuple[Call, ...], touched: Counter[str], *, tools: Mapping[str, Tool] | None = None
) -> tuple[Call, ...]:
    """Return the expected calls with the rules applied, and add the number of arguments that each rule touches to `touched`, by pattern.

    No rule applies to an argument that equals being left out by the schema of its tool.
    """
    return tuple(call if call.malformed else _apply_to_call(rules, call, touched, (tools or {}).get(call.name)) for call in calls)


def _apply_to_call(rules: Sequence[MatchRule], call: Call, touched: Counter[str], tool: Tool | None) -> Call:
    arguments = without_defaults(call.arguments, tool.parameters, matchers=True) if tool else call.arguments
    changed = _apply_to_value(rules, call.name, (), dict(arguments), touched)
    return Call(call.name, {key: changed.get(key, value) for key, value in call.arguments.items()}, call.id)


def _apply_to_value(rules: Sequence[MatchRule], tool: str, path: tuple[str, ...], value: Any, touched: Counter[str]) -> Any:
    if path and is_matcher(value):
        return value
    if path and not has_matcher(value):
        rule = next((rule for rule in rules if rule.applies(tool, path)), None)
        if rule is not None and _is_usable(matcher := rule.matcher(value)):
            touched[rule.pattern] += 1
            return matcher
    if isinstance(value, dict):
        return {key: _apply_to_value(rules, tool, (*path, key), item, touched) for key, item in value.items()}
    if isinstance(value, list):
        return [_apply_to_value(rules, tool, (*path, str(index)), item, touched) for index, item in enumerate(value)]
    return value


def _fill(match: Any, value: Any) -> Any:
    if isinstance(match, dict):
        return {key: _fill(item, value) for key, item in match.items()}
    if isinstance(match, list):
        return [_fill(item, value) for item in match]
    return value if match == RECORDED else match


def _is_usable(matcher: Any) -> bool:
    try:
        check_matchers(matcher if SIMILAR not in matcher else None)
    except BadInput:
        return False
    return True


def _usage_problem(rule: MatchRule) -> str:
    """Return why the matcher can be used with no recorded value at all; empty where it can."""
    problem = ""
    for sample in _SAMPLES:
        try:
            check_matchers(_fill(rule.match, sample), rule.pattern)
        except BadInput as error:
            problem = problem or str(error)
        else:
            return ""
    return problem
