"""Match rules: compare arguments by name, in all cases (`[match]` in `callmark.toml`; docs/reference/metrics.md, section 4).

    "*.description" = {"$any" = true}
    "*.note" = {"$text" = "expected", "$ratio" = 0.8}        "expected" is replaced by the recorded value
    "book_room.guest.name" = "similar"

A pattern is `tool.argument`, where both may be globs and nested arguments are separated by dots (an array index is a step too). The first
rule whose pattern matches an argument applies. No rule applies if the expected value already has a matcher, and a rule does not apply to a
recorded value that its matcher cannot take (`$text` of a number).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from callmark.calls.argument_patterns import matches_argument, pattern_problem
from callmark.calls.matchers import SIMILAR, check_matchers, has_matcher, is_matcher
from callmark.calls.values import matched_arguments, without_defaults
from callmark.errors import BadInput
from callmark.types import Call, Tool
from callmark.wording import did_you_mean

RECORDED = "expected"  # in a rule, the recorded value
_WORDS = ("exact", "similar")
_SAMPLES = ("text", "2025-05-10", 1)  # one recorded value of each type that a matcher may need


class MatchRule(Struct, frozen=True):
    """The pattern of the arguments that a rule applies to, and the matcher that replaces their values."""

    pattern: str
    match: Any

    def applies(self, tool: str, path: Sequence[str]) -> bool:
        """Return whether the rule applies to this argument of this tool."""
        return matches_argument(self.pattern, tool, path)

    def matcher(self, value: Any) -> Any:
        """Return the matcher for a recorded value."""
        if self.match == "exact":
            return {"$literal": value}
        return {SIMILAR: value} if self.match == "similar" else _fill(self.match, value)


def read_match_rules(given: Mapping[str, Any]) -> tuple[MatchRule, ...]:
    """Return the rules of a table. A pattern without an argument and an invalid matcher raise `BadInput`."""
    rules = tuple(MatchRule(pattern, match) for pattern, match in given.items())
    for rule in rules:
        if isinstance(rule.match, dict) and rule.match and "." not in rule.pattern and not is_matcher(rule.match):
            whole = f"{rule.pattern}.{next(iter(rule.match))}"
            raise BadInput(f"match: {rule.pattern!r}: expected a rule, got a table", f"Put the whole pattern in quotes: {whole!r}.")
        if problem := pattern_problem(rule.pattern):
            raise BadInput(f"match: {problem}", "'*.note' matches the argument note of every tool.")
        if isinstance(rule.match, str):
            if rule.match not in _WORDS:
                suggestion = did_you_mean(rule.match, _WORDS)
                raise BadInput(f"match: {rule.pattern!r}: expected exact, similar or a matcher, got {rule.match!r}{suggestion}")
        elif not is_matcher(rule.match):
            raise BadInput(
                f"match: {rule.pattern!r}: expected exact, similar or a matcher, got {rule.match!r:.40}",
                "Example of a matcher: {'$any' = true}",
            )
        elif problem := _usage_problem(rule):
            raise BadInput(f"match: {problem}")
    return rules


def apply_match_rules(
    rules: Sequence[MatchRule], calls: tuple[Call, ...], touched: Counter[str], *, tools: Mapping[str, Tool] | None = None
) -> tuple[Call, ...]:
    """Return the expected calls with the rules applied, and count the arguments that each rule applies to in `touched`, by pattern.

    No rule applies to an argument whose value is equivalent to omitting it, according to the schema of its tool.
    """
    return tuple(call if call.malformed else _apply_to_call(rules, call, touched, (tools or {}).get(call.name)) for call in calls)


def _apply_to_call(rules: Sequence[MatchRule], call: Call, touched: Counter[str], tool: Tool | None) -> Call:
    arguments = without_defaults(call.arguments, tool.parameters, kept=matched_arguments(call.arguments)) if tool else call.arguments
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
    """Return why no recorded value can be used with the matcher; empty if some can."""
    problem = ""
    for sample in _SAMPLES:
        try:
            check_matchers(_fill(rule.match, sample), rule.pattern)
        except BadInput as error:
            problem = problem or str(error)
        else:
            return ""
    return problem
