"""End states: what a conversation changed in what its tools work on, and what the expected calls would have changed.

The expected calls are carried out on a fresh copy, one after the other. Where one of them has a matcher, a value that fits it stands in for
it: one that an earlier call gave (`TKT-*` is the ticket that was just made), or the matcher's own. What such a stand-in leads to is then
compared by the matcher again. Where nothing can stand in for it, or a call is refused, it is not known what the expected calls lead to, and
that is said instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from callmark.calls.matchers import is_matcher, wrap_literal, matches
from callmark.calls.strict import NotStrict, dump, parse
from callmark.calls.values import exact
from callmark.simulation.session import State, Toolbox
from callmark.types import Call, EndStates, Tool

Changes = dict[str, dict[str, dict[str, Any] | None]]
_BY_TYPE: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_ANY_TEXT = "any"
_REFUSED = " is refused: "
_StoodIn = tuple[str, Any, Any]  # for an argument: a value, and the matcher that it stood in for


class _Unknown(Exception):  # noqa: N818 - it is what the value is
    """Nothing can stand in for a matcher."""


class Changed(Struct, frozen=True):
    """Rows that are others than before, as they are now (None: gone), and which of them were not there before."""

    rows: Changes = {}
    new: tuple[str, ...] = ()


def changes(before: State, after: State) -> Changed:
    """What differs between two states."""
    rows: Changes = {}
    new: list[str] = []
    for table in dict.fromkeys([*before, *after]):
        old, now = before.get(table, {}), after.get(table, {})
        if old is now:
            continue
        for key in dict.fromkeys([*now, *old]):
            if key not in now:
                rows.setdefault(table, {})[key] = None
            elif key not in old or not (old[key] is now[key] or exact(wrap_literal(old[key]), now[key])):
                rows.setdefault(table, {})[key] = now[key]
                if key not in old:
                    new.append(f"{table}/{key}")
    return Changed(rows, tuple(new))


async def expected_changes(expected: Sequence[Call], toolbox: Toolbox) -> EndStates:
    """What the expected calls change in a toolbox that nobody has used; the side of what was reached is left empty."""
    before = await toolbox.state()
    if before is None:
        return EndStates(unknown="the tools do not tell their state")
    tools = {tool.name.casefold(): tool for tool in toolbox.tools}
    results: list[Any] = []
    stood_in: list[_StoodIn] = []
    for call in expected:
        tool = tools.get(call.name.casefold())
        if tool is None:
            return EndStates(unknown=f"there is no tool {call.name}")
        arguments = {}
        try:
            for name, value in call.arguments.items():
                made: list[tuple[Any, Any]] = []
                arguments[name] = _value(value, f"{call.name}.{name}", _schema(tool, name), results, made)
                stood_in += [(name, *one) for one in made]
        except _Unknown as error:
            return EndStates(unknown=str(error))
        result = await toolbox.call(Call(tool.name, arguments, "expected"))
        if result.is_error:
            return EndStates(unknown=f"{Call(tool.name, arguments)}{_REFUSED}{result.text[:200]}")
        results.append(_parsed(result.text))
    after = await toolbox.state() if expected else before
    found = changes(before, after or {})
    rows = {table: {key: row and _with_matchers(row, stood_in) for key, row in keyed.items()} for table, keyed in found.rows.items()}
    return EndStates(expected=rows, new_expected=found.new)


def is_refused(expected: EndStates | None) -> bool:
    """Whether the tools refuse what is expected, so that nobody can reach it."""
    return expected is not None and _REFUSED in expected.unknown


def with_reached(expected: EndStates, before: State | None, after: State | None) -> EndStates:
    """The expected changes beside those that were made."""
    if before is None or after is None:
        return structs.replace(expected, unknown=expected.unknown or "the tools do not tell their state")
    made = changes(before, after)
    return structs.replace(expected, reached=made.rows, new_reached=made.new)


def _value(value: Any, where: str, schema: Mapping[str, Any], results: Sequence[Any], stood_in: list[tuple[Any, Any]]) -> Any:
    """The value, or one that stands in for a matcher."""
    if isinstance(value, list):
        return [_value(item, where, {}, results, stood_in) for item in value]
    if not isinstance(value, dict):
        return value
    if not is_matcher(value):
        return {key: _value(item, where, {}, results, stood_in) for key, item in value.items()}
    if "$literal" in value:
        return value["$literal"]
    given = next((one for one in _texts_in(results) if matches(value, one, exact)), None)
    if given is not None and ("$glob" in value or "$regex" in value):
        return given
    made = _own_value(value, where, schema, results, stood_in)
    stood_in.append((made, value))
    return made


def _own_value(matcher: Mapping[str, Any], where: str, schema: Mapping[str, Any], results: Sequence[Any], stood_in: list[Any]) -> Any:
    for name in ("$optional", "$approx", "$date", "$text", "$contains"):
        if name in matcher:
            return _value(matcher[name], where, schema, results, stood_in)
    if "$set" in matcher:
        return [_value(item, where, {}, results, stood_in) for item in matcher["$set"]]
    if matcher.get("$one_of"):
        return _value(matcher["$one_of"][0], where, schema, results, stood_in)
    if "$any" in matcher:
        if choices := schema.get("enum"):
            return choices[0]
        return _BY_TYPE.get(str(schema.get("type")), _ANY_TEXT)
    raise _Unknown(f"{where} is {dump(matcher)}, and no earlier result has a value that fits it")


def _schema(tool: Tool, name: str) -> Mapping[str, Any]:
    properties = tool.parameters.get("properties")
    found = properties.get(name) if isinstance(properties, dict) else None
    return found if isinstance(found, dict) else {}


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except NotStrict:
        return text


def _texts_in(results: Sequence[Any]) -> Iterator[str]:
    """Every text in the results, the latest result first; of a result that is no JSON every word."""
    for result in reversed(results):
        if isinstance(result, str):
            yield from (word.strip(".,;:!?()'\"") for word in result.split())
        else:
            yield from _strings(result)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _with_matchers(row: dict[str, Any], stood_in: Sequence[_StoodIn]) -> dict[str, Any]:
    """The row with matchers in place of what stood in for them; everything else as recorded. Where a column has the argument's name, it is
    that one: a `true` that stood in for any value makes no other `true` arbitrary.
    """

    def of(column: str, cell: Any) -> Any:
        fitting = (matcher for name, value, matcher in stood_in if (name == column or name not in row) and exact(wrap_literal(value), cell))
        return next(fitting, wrap_literal(cell))

    return {column: of(column, cell) for column, cell in row.items()}
