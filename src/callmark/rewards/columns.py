"""Read the columns of an evaluation file, `expected_output` and `tools`, as cases.

A trainer passes one value of each column for each completion: objects, or JSON text of them. The completions of one prompt have the same
columns, so what was read is kept. A column that cannot be read raises `BadInput`: that is a fault of the dataset, not of the model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.argument_padding import unpad_calls
from callmark.formats.format import ReadContext
from callmark.formats.problems import explain
from callmark.types import Case, Place

EXPECTED, TOOLS = "expected_output", "tools"
_MAX_CACHED = 10_000  # cases
_encode = msgspec.json.Encoder().encode


class CaseReader:
    """Reads the case of a completion. `with_messages` keeps the prompt, for evaluators that look at it."""

    def __init__(self, *, with_messages: bool) -> None:
        self._with_messages = with_messages
        self._context = ReadContext()  # equal tool lists are read once
        self._cache: dict[bytes, Case] = {}

    def read(self, expected: Any, tools: Any, prompt: Any = None, *, padded: bool = False, index: int = 0) -> Case:
        """Return the case. In `padded` columns, which come from a table, nulls in argument objects are missing arguments."""
        messages = _prompt_json(prompt) if self._with_messages else b"[]"
        key = b"\0".join((messages, _json(expected), _json(tools), b"padded" if padded else b""))
        case = self._cache.get(key)
        if case is None:
            try:
                case = self._read(expected, tools, messages, padded=padded, index=index)
            except BadInput as error:
                raise BadInput(f"completion {index}: {error}", error.hint) from None
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[key] = case
        return case

    def _read(self, expected: Any, tools: Any, messages: bytes, *, padded: bool, index: int) -> Case:
        if expected is None:
            raise BadInput(f"{EXPECTED} is missing", f"The dataset needs a column {EXPECTED}, as callmark expand writes it.")
        output = _parsed(expected)
        if not isinstance(output, dict):
            raise BadInput(f"{EXPECTED}: expected an object with tool_calls, got {type(output).__name__}")
        output = {key: value for key, value in output.items() if value is not None}  # tables have the keys of all rows
        raw_tools, known = self._context.read_tools(_json(tools))
        text = _json(unpad_calls(output, known) if padded else output)
        row = b'{"id":"0","messages":' + messages + b',"expected_output":' + text + b',"tools":' + raw_tools + b"}"
        try:
            case = openai.read(row, Place("", index + 1, "item"), self._context)
        except (ValueError, RecursionError) as error:
            raise BadInput(explain(row, error)) from None
        if not isinstance(case, Case) or not case.states_expectation:
            raise BadInput(
                f"{EXPECTED} does not say what is expected", "Give the calls in tool_calls; an empty list says that no call is expected."
            )
        return case


def column_values(columns: Mapping[str, Any], name: str, count: int) -> Sequence[Any]:
    """Return the values of a column, one per completion; None for each if there is no such column. Another number raises `BadInput`."""
    values = columns.get(name)
    if values is None:
        return [None] * count
    if isinstance(values, str | Mapping) or len(values) != count:
        found = type(values).__name__ if isinstance(values, str | Mapping) else f"{len(values):,} values"
        raise BadInput(f"{name}: expected one value for each of {count:,} completions, got {found}")
    return list(values)


def _prompt_json(prompt: Any) -> bytes:
    if prompt is None:
        return b"[]"
    if isinstance(prompt, str):
        return _encode([{"role": "user", "content": prompt}])
    return _json(prompt)


def _json(value: Any) -> bytes:
    """Return JSON text of a value; a string is JSON text already."""
    if value is None:
        return b"null"
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else _dumped(value)


def _dumped(value: Any) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError):  # values of other libraries
        return dump(value).encode()


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except NotStrict as problem:
        raise BadInput(f"{EXPECTED}: expected an object or JSON text, got text that is not JSON ({problem})") from None
