"""Filter rows by rules, each of which keeps or rejects a row.

An empty conversation has no calls, so it is consistent and grounded. A case is filtered as if the assistant had made the expected calls, as
in `lint`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from callmark.calls.globs import matches_glob
from callmark.calls.sequence import calls_with_results, find_pattern, read_pattern
from callmark.calls.values import exact
from callmark.data.hallucinated import hallucinated_values
from callmark.data.lint import lint_row
from callmark.types import Conversation


class FilterRule(Struct, frozen=True):
    """A rule: its name, which is the option of the command, and the function that decides whether to keep a row."""

    name: str
    keeps: Callable[[Conversation], bool]


class FilterCounts(Struct):
    """The number of rows read, of rows that each rule keeps by itself, and of rows that all rules keep."""

    rows: int
    kept_by_rule: dict[str, int]
    kept: int


def require(pattern: str) -> FilterRule:
    """Keep rows in which the sequence pattern is found."""
    required = read_pattern(pattern)
    return FilterRule(f"require {pattern}", lambda row: find_pattern(required, calls_with_results(row.whole())) is not None)


def forbid(pattern: str) -> FilterRule:
    """Keep rows in which the sequence pattern is not found."""
    forbidden = read_pattern(pattern)
    return FilterRule(f"forbid {pattern}", lambda row: find_pattern(forbidden, calls_with_results(row.whole())) is None)


def consistent(argument: str) -> FilterRule:
    """Keep rows in which all calls with this argument have the same value."""

    def keeps(row: Conversation) -> bool:
        values = [call.arguments[argument] for call in row.whole().calls if argument in call.arguments]
        return all(exact(values[0], value) for value in values[1:])

    return FilterRule(f"consistent {argument}", keeps)


def grounded(ignore: Sequence[str] = ()) -> FilterRule:
    """Keep rows without hallucinated argument values. `ignore` are patterns of arguments that need no source (`tool.argument`)."""
    return FilterRule("grounded", lambda row: not hallucinated_values(row, ignore=ignore))


def clean() -> FilterRule:
    """Keep rows without lint errors."""
    return FilterRule("clean", lambda row: all(finding.severity != "error" for finding in lint_row(row)))


def calls_between(minimum: int | None, maximum: int | None) -> list[FilterRule]:
    """Keep rows by their number of calls. None means no limit."""
    return _between("calls", minimum, maximum, lambda row: len(row.whole().calls))


def messages_between(minimum: int | None, maximum: int | None) -> list[FilterRule]:
    """Keep rows by their number of messages. None means no limit."""
    return _between("messages", minimum, maximum, lambda row: len(row.messages))


def uses_tool(glob: str) -> FilterRule:
    """Keep rows that call a tool whose name matches the glob."""
    return FilterRule(f"tool {glob}", lambda row: any(matches_glob(glob, call.name) for call in row.whole().calls))


def avoids_tool(glob: str) -> FilterRule:
    """Keep rows that do not call a tool whose name matches the glob."""
    return FilterRule(f"no-tool {glob}", lambda row: not any(matches_glob(glob, call.name) for call in row.whole().calls))


def apply_rules(rows: Iterable[Conversation], rules: Sequence[FilterRule]) -> Iterator[tuple[Conversation, list[str], FilterCounts]]:
    """Yield each row with the names of the rules that reject it (none if it is kept), and the counts so far."""
    rules = list({rule.name: rule for rule in rules}.values())  # duplicate rules count once
    counts = FilterCounts(0, {rule.name: 0 for rule in rules}, 0)
    for row in rows:
        counts.rows += 1
        failed = []
        for rule in rules:
            if rule.keeps(row):
                counts.kept_by_rule[rule.name] += 1
            else:
                failed.append(rule.name)
        counts.kept += not failed
        yield row, failed, counts


def _between(unit: str, minimum: int | None, maximum: int | None, count: Callable[[Conversation], int]) -> list[FilterRule]:
    rules = []
    if minimum is not None:
        rules.append(FilterRule(f"min-{unit} {minimum}", lambda row: count(row) >= minimum))
    if maximum is not None:
        rules.append(FilterRule(f"max-{unit} {maximum}", lambda row: count(row) <= maximum))
    return rules
