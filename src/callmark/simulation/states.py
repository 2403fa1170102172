"""End states: the rows that a conversation changed, and the rows that its expected calls change.

The expected calls are executed in order in a fresh toolbox. A matcher in an argument is replaced by a value that matches it: a value from
an earlier result (`TKT-*` is the ticket that was just created), or one derived from the matcher. In the changed rows, the matcher is put
back in place of the substitute. If no value matches, or a call returns an error, the expected end state is unknown, with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from callmark.calls.display import show_expected
from callmark.calls.matchers import is_matcher, wrap_literal
from callmark.calls.strict import NotStrict, parse
from callmark.calls.values import agrees, exact
from callmark.errors import EvaluatorError
from callmark.simulation.session import State, Toolbox
from callmark.types import Call, EndStates, Tool

ChangedRows = dict[str, dict[str, dict[str, Any] | None]]
_DEFAULT_BY_TYPE: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_ANY_TEXT = "any"
_NO_STATE = "the tools do not report their state"
_RETURNED_ERROR = " returned an error: "
_Substitution = tuple[str, Any, Any]  # argument, value, matcher that the value substitutes


class _UnknownValueError(Exception):
    """No value can be substituted for a matcher."""


class StateChanges(Struct, frozen=True):
    """Changed rows with their new content (None: deleted), and the new ones among them, as `table/key`."""

    rows: ChangedRows = {}
    new: tuple[str, ...] = ()


def changes(before: State, after: State) -> StateChanges:
    """Return the changes between two states."""
    rows: ChangedRows = {}
    new: list[str] = []
    for table in dict.fromkeys([*before, *after]):
        old_rows, new_rows = before.get(table, {}), after.get(table, {})
        if old_rows is new_rows:
            continue
        for key in dict.fromkeys([*new_rows, *old_rows]):
            if key not in new_rows:
                rows.setdefault(table, {})[key] = None
            elif key not in old_rows or not (old_rows[key] is new_rows[key] or exact(wrap_literal(old_rows[key]), new_rows[key])):
                rows.setdefault(table, {})[key] = new_rows[key]
                if key not in old_rows:
                    new.append(f"{table}/{key}")
    return StateChanges(rows, tuple(new))


async def expected_changes(expected: Sequence[Call], toolbox: Toolbox) -> EndStates:
    """Execute the expected calls in an unused toolbox and return their changes; the changes of the conversation are left empty."""
    before = await toolbox.state()
    if before is None:
        return EndStates(unknown=_NO_STATE)
    tools = {tool.name.casefold(): tool for tool in toolbox.tools}
    results: list[Any] = []
    substitutions: list[_Substitution] = []
    for call in expected:
        tool = tools.get(call.name.casefold())
        if tool is None:
            return EndStates(unknown=f"unknown tool {call.name}")
        arguments = {}
        try:
            for name, value in call.arguments.items():
                filled: list[tuple[Any, Any]] = []
                arguments[name] = _fill_matchers(value, f"{call.name}.{name}", _argument_schema(tool, name), results, filled)
                substitutions += [(name, *pair) for pair in filled]
        except _UnknownValueError as error:
            return EndStates(unknown=str(error))
        result = await toolbox.call(Call(tool.name, arguments, "expected"))
        if result.is_error:
            return EndStates(unknown=f"{Call(tool.name, arguments)}{_RETURNED_ERROR}{result.text[:200]}")
        results.append(_parse_result(result.text))
    after = await toolbox.state() if expected else before
    found = changes(before, after or {})
    rows = {
        table: {key: row and _restore_matchers(row, substitutions) for key, row in keyed.items()} for table, keyed in found.rows.items()
    }
    return EndStates(expected=rows, new_expected=found.new)


def is_unreachable(expected: EndStates | None) -> bool:
    """Return whether an expected call returned an error, so that no agent can reach the expected end state."""
    return expected is not None and _RETURNED_ERROR in expected.unknown


def with_reached(expected: EndStates, before: State | None, after: State | None) -> EndStates:
    """Return the expected changes, with the changes between two states of the conversation added."""
    if before is None or after is None:
        return structs.replace(expected, unknown=expected.unknown or _NO_STATE)
    reached = changes(before, after)
    return structs.replace(expected, reached=reached.rows, new_reached=reached.new)


def _fill_matchers(value: Any, where: str, schema: Mapping[str, Any], results: Sequence[Any], substitutions: list[tuple[Any, Any]]) -> Any:
    """Return a value with matchers substituted, and record the substitutions."""
    if isinstance(value, list):
        return [_fill_matchers(item, where, {}, results, substitutions) for item in value]
    if not isinstance(value, dict):
        return value
    if not is_matcher(value):
        return {key: _fill_matchers(item, where, {}, results, substitutions) for key, item in value.items()}
    if "$literal" in value:
        return value["$literal"]
    if "$glob" in value or "$regex" in value:
        from_result = next((text for text in _texts_of_results(results) if _agrees(value, text)), None)
        if from_result is not None:
            return from_result
    filled = _example_value(value, where, schema, results, substitutions)
    substitutions.append((filled, value))
    return filled


def _agrees(matcher: Mapping[str, Any], text: str) -> bool:
    try:
        return agrees(matcher, text)
    except EvaluatorError:  # a pattern that takes too long with this text
        return False


def _example_value(
    matcher: Mapping[str, Any], where: str, schema: Mapping[str, Any], results: Sequence[Any], substitutions: list[Any]
) -> Any:
    for name in ("$optional", "$approx", "$date", "$text", "$contains"):
        if name in matcher:
            return _fill_matchers(matcher[name], where, schema, results, substitutions)
    if "$set" in matcher:
        return [_fill_matchers(item, where, {}, results, substitutions) for item in matcher["$set"]]
    if matcher.get("$one_of"):
        return _fill_matchers(matcher["$one_of"][0], where, schema, results, substitutions)
    if "$any" in matcher:
        if choices := schema.get("enum"):
            return choices[0]
        return _DEFAULT_BY_TYPE.get(str(schema.get("type")), _ANY_TEXT)
    raise _UnknownValueError(f"{where}: no earlier result contains a value that matches {show_expected(matcher)}")


def _argument_schema(tool: Tool, name: str) -> Mapping[str, Any]:
    properties = tool.parameters.get("properties")
    found = properties.get(name) if isinstance(properties, dict) else None
    return found if isinstance(found, dict) else {}


def _parse_result(text: str) -> Any:
    try:
        return parse(text)
    except NotStrict:
        return text


def _texts_of_results(results: Sequence[Any]) -> Iterator[str]:
    """Yield every string in the results, the latest result first; for a result that is not JSON, every word."""
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


def _restore_matchers(row: dict[str, Any], substitutions: Sequence[_Substitution]) -> dict[str, Any]:
    """Return a row with matchers in place of their substitutes.

    A substitute is restored only in the column with the argument's name, if there is one: one substituted `true` must not make every other
    `true` in the row match anything.
    """

    def restore_cell(column: str, cell: Any) -> Any:
        matchers = (
            matcher for name, value, matcher in substitutions if (name == column or name not in row) and exact(wrap_literal(value), cell)
        )
        return next(matchers, wrap_literal(cell))

    return {column: restore_cell(column, cell) for column, cell in row.items()}
