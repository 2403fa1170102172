"""Columns of the LOB evaluation and of azure-ai-evaluation: read their values, pass them to functions, map them."""

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callmark.calls.expected import read_expected_calls
from callmark.calls.shapes import read_calls
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.types import Call
from callmark.wording import did_you_mean

Mappings = dict[str, dict[str, tuple[str, str]]]  # by evaluator, by parameter: (`data` or `target`, column)

_MOST_DIGITS = 400  # longer integers exceed the range of a double, and Python refuses to convert thousands of digits
_SHOWN = 60  # characters of a value in a message
_REFERENCE = re.compile(r"\$\{(data|target|outputs)\.([^{}]+)\}")
MISSING = math.nan  # a missing value in a data frame
_FORM = "Write a column as ${data.expected_function_calls} or ${target.function_calls}."


def actual_calls(value: Any) -> tuple[Call, ...]:
    """Return the calls in a column: a list in any shape, or its JSON text. Null and blank mean no calls; anything else is malformed.

    `MISSING` raises `BadInput`: a missing prediction is not a prediction without calls.
    """
    if is_missing(value):
        raise BadInput("actual_function_calls is missing", _FORM)
    try:
        return read_calls(_decode(value))
    except (ValueError, RecursionError):
        return (Call("", malformed="not JSON", text=scrub(value)),)


def expected_calls(value: Any) -> tuple[Call, ...]:
    """Return the expected calls in a column. Anything but a list of calls, and an invalid matcher, raise `BadInput`."""
    return read_expected_calls(_decode_expected(value))


def plain_calls(value: Any) -> tuple[Call, ...]:
    """Return the expected calls in a column without matchers: `TKT-*` is a plain text. Anything but a list of calls raises `BadInput`."""
    return read_calls(_decode_expected(value))


def _decode_expected(value: Any) -> Any:
    if is_missing(value):
        raise BadInput("expected_function_calls is missing")
    try:
        decoded = _decode(value)
    except (ValueError, RecursionError):
        raise BadInput(f"expected_function_calls is not valid JSON: expected a list of calls, got {_short(value)}") from None
    if decoded is not None and not isinstance(decoded, list | tuple | dict | Call):
        raise BadInput(f"expected_function_calls: expected a list of calls, got {_short(decoded)}")
    return decoded


def decode_loosely(text: str | bytes) -> Any:
    """Decode JSON that may not be strict: a non-strict value makes its call malformed, not the whole text."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < _MOST_DIGITS else float(digits))


def is_missing(value: Any) -> bool:
    """Return whether a value is `MISSING`."""
    return isinstance(value, float) and math.isnan(value)


def accepted_columns(function: Callable[..., Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a function accepts by name; all columns if it has `**kwargs`."""
    parameters = _parameters(function)
    if parameters is None or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(columns)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = {parameter.name for parameter in parameters if parameter.kind in by_name}
    return {name: value for name, value in columns.items() if name in names}


def check_target(target: Callable[..., Any], columns: Iterable[str]) -> None:
    """Raise `BadInput` if the target requires a column that no row has, or cannot be called at all."""
    if not callable(target):
        raise BadInput(f"eval_target: expected a function, got {_short(target)}")
    if inspect.isclass(target):
        raise BadInput(f"eval_target: expected an instance, {target.__name__}(), got the class {target.__name__}")
    known = list(columns)
    for parameter in _parameters(target) or ():
        if parameter.default is not parameter.empty or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise BadInput(f"eval_target: parameter {parameter.name!r} is positional-only, but rows are passed as keyword arguments")
        if parameter.name not in known:
            hint = f"The rows have {', '.join(known)}."
            raise BadInput(f"eval_target: no row has {parameter.name!r}{did_you_mean(parameter.name, known)}", hint)


def read_mappings(config: Mapping[str, Any] | None, evaluators: Iterable[str], columns: Iterable[str]) -> Mappings:
    """Return the column mappings of `evaluators_config`. `default` is for evaluators without an entry, as in azure-ai-evaluation."""
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise BadInput(f"evaluators_config: expected an object by evaluator, got {_short(config)}")
    names, known, mappings = [*evaluators, "default"], list(columns), {}
    for name, entry in config.items():
        where = f"evaluators_config: {name}"
        if name not in names:
            raise BadInput(
                f"evaluators_config: unknown evaluator {name!r}{did_you_mean(str(name), names)}", f"Evaluators: {', '.join(names)}."
            )
        if not isinstance(entry, Mapping):
            raise BadInput(f"{where}: expected an object with column_mapping, got {_short(entry)}")
        for key in entry:
            if key != "column_mapping" and not str(key).startswith("_"):  # azure-ai-evaluation adds private keys
                raise BadInput(f"{where}: unknown key {key!r}; expected column_mapping")
        mapping = entry.get("column_mapping") or {}
        if not isinstance(mapping, Mapping):
            raise BadInput(f"{where}: column_mapping: expected an object, got {_short(mapping)}")
        mappings[name] = {parameter: _read_reference(f"{where}: {parameter}", value, known) for parameter, value in mapping.items()}
    return mappings


def column_value(row: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a field in it (`customer.name`); raise `KeyError` if there is none."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if not isinstance(value, Mapping):
            raise KeyError(path)
        value = value[part]
    return value


def _read_reference(where: str, text: Any, known: list[str]) -> tuple[str, str]:
    match = _REFERENCE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise BadInput(f"{where}: expected a column, got {_short(text)}", _FORM)
    source, path = match.groups()
    if source == "data" and path not in known and path.split(".")[0] not in known:
        raise BadInput(f"{where}: no row has {path!r}{did_you_mean(path, known)}", f"The rows have {', '.join(known)}.")
    return ("data" if source == "data" else "target"), path


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return None


def _decode(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return decode_loosely(value) if value.strip() else None


def _short(value: Any) -> str:
    text = scrub(repr(value)) if isinstance(value, str) else dump(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
