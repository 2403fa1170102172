"""Which rows to keep: rules, each of which keeps a conversation or not, counted alone and together.

An empty conversation is judged like any other: it makes no calls, so it is consistent and grounded. Of a case the expected calls
are judged as if the assistant had made them (`lint` has the same view).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from callmark.calls.globs import fits_glob
from callmark.calls.provenance import origins
from callmark.calls.sequence import answered, find, read_pattern
from callmark.calls.values import exact
from callmark.data.lint import row_findings
from callmark.types import Conversation


class Rule(Struct, frozen=True):
    """How the rule was asked for, and whether it keeps a row."""

    name: str
    keeps: Callable[[Conversation], bool]


class Kept(Struct):
    """What a filter did: rows seen, rows each rule keeps alone, rows kept by all."""

    rows: int
    alone: dict[str, int]
    together: int


def require(pattern: str) -> Rule:
    """Keep a row in which the sequence pattern is found."""
    wanted = read_pattern(pattern)
    return Rule(f"require {pattern}", lambda row: find(wanted, answered(row.whole())) is not None)


def forbid(pattern: str) -> Rule:
    """Keep a row in which the sequence pattern is not found."""
    unwanted = read_pattern(pattern)
    return Rule(f"forbid {pattern}", lambda row: find(unwanted, answered(row.whole())) is None)


def consistent(argument: str) -> Rule:
    """Keep a row in which every call that gives the argument gives the same value."""

    def keeps(row: Conversation) -> bool:
        values = [call.arguments[argument] for call in row.whole().calls if argument in call.arguments]
        return all(exact(values[0], value) for value in values[1:])

    return Rule(f"consistent {argument}", keeps)


def grounded() -> Rule:
    """Keep a row in which no argument value is hallucinated."""
    return Rule("grounded", lambda row: all(origin.source is not None for origin in origins(row.whole().messages, row.tools)))


def clean() -> Rule:
    """Keep a row in which lint finds no error."""
    return Rule("clean", lambda row: all(finding.severity != "error" for finding in row_findings(row)))


def calls_between(least: int | None, most: int | None) -> list[Rule]:
    """Keep rows by their number of calls; None is no limit."""
    return _between("calls", least, most, lambda row: len(row.whole().calls))


def turns_between(least: int | None, most: int | None) -> list[Rule]:
    """Keep rows by their number of messages; None is no limit."""
    return _between("turns", least, most, lambda row: len(row.messages))


def uses_tool(glob: str) -> Rule:
    """Keep a row that calls a tool whose name fits."""
    return Rule(f"tool {glob}", lambda row: any(fits_glob(glob, call.name) for call in row.whole().calls))


def avoids_tool(glob: str) -> Rule:
    """Keep a row that calls no tool whose name fits."""
    return Rule(f"no-tool {glob}", lambda row: not any(fits_glob(glob, call.name) for call in row.whole().calls))


def judge(rows: Iterable[Conversation], rules: Sequence[Rule]) -> Iterator[tuple[Conversation, list[str], Kept]]:
    """Each row with the names of the rules that do not keep it (none: it is kept), and the running counts."""
    rules = list({rule.name: rule for rule in rules}.values())  # a rule given twice is one rule
    kept = Kept(0, {rule.name: 0 for rule in rules}, 0)
    for row in rows:
        kept.rows += 1
        failed = []
        for rule in rules:
            if rule.keeps(row):
                kept.alone[rule.name] += 1
            else:
                failed.append(rule.name)
        kept.together += not failed
        yield row, failed, kept


def _between(what: str, least: int | None, most: int | None, count: Callable[[Conversation], int]) -> list[Rule]:
    rules = []
    if least is not None:
        rules.append(Rule(f"min-{what} {least}", lambda row: count(row) >= least))
    if most is not None:
        rules.append(Rule(f"max-{what} {most}", lambda row: count(row) <= most))
    return rules
