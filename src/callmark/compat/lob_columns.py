"""Columns, as document 004 and azure-ai-evaluation know them: what stands in one, who takes it, what a mapping points at."""

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

_LONGEST = 400  # digits of a whole number; such a one is outside double range, and Python does not convert one of thousands
_SHOWN = 60  # characters of a wrong value
_REFERENCE = re.compile(r"\$\{(data|target|outputs)\.([^{}]+)\}")
MISSING = math.nan  # how a data frame says that nothing is there
_FORM = "A column is written as ${data.expected_function_calls} or ${target.function_calls}."


def made_calls(value: Any) -> tuple[Call, ...]:
    """The calls in a column: a list in any shape or the JSON text of one; null and blank are none. What is no call is a malformed call.

    `MISSING` raises `BadInput`: no answer is not an answer without calls.
    """
    if is_missing(value):
        raise BadInput("actual_function_calls is missing, a list of calls was expected", _FORM)
    try:
        return read_calls(_decoded(value))
    except (ValueError, RecursionError):
        return (Call("", malformed="not JSON", text=scrub(value)),)


def expected_calls(value: Any) -> tuple[Call, ...]:
    """The expected calls in a column, likewise; but what is no list of calls, and a matcher that cannot be used, raise `BadInput`."""
    if is_missing(value):
        raise BadInput("expected_function_calls is missing, a list of calls was expected")
    try:
        decoded = _decoded(value)
    except (ValueError, RecursionError):
        raise BadInput(f"expected_function_calls is not JSON: {_short(value)}, a list of calls was expected") from None
    if decoded is not None and not isinstance(decoded, list | tuple | dict | Call):
        raise BadInput(f"expected_function_calls is {_short(decoded)}, a list of calls was expected")
    return read_expected_calls(decoded)


def loose(text: str | bytes) -> Any:
    """The value of a JSON text, also where it is not strict: that makes a call malformed when it is read, not the text around it."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < _LONGEST else float(digits))


def is_missing(value: Any) -> bool:
    """Whether a value is `MISSING`."""
    return isinstance(value, float) and math.isnan(value)


def taken(function: Callable[..., Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the columns that a function takes by name; all of them where it takes any."""
    parameters = _parameters(function)
    if parameters is None or any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(columns)
    names = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    return {name: value for name, value in columns.items() if name in names}


def check_target(target: Callable[..., Any], columns: Iterable[str]) -> None:
    """Raises `BadInput` where the target asks for what no row has, or cannot be called at all."""
    if not callable(target):
        raise BadInput(f"eval_target is {_short(target)}, a function was expected")
    if inspect.isclass(target):
        raise BadInput(f"eval_target is the class {target.__name__}, an object was expected: {target.__name__}()")
    known = list(columns)
    for one in _parameters(target) or ():
        if one.default is not one.empty or one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        if one.kind is one.POSITIONAL_ONLY:
            raise BadInput(f"eval_target takes {one.name!r} by position, but is called with the row's fields by name")
        if one.name not in known:
            hint = f"The rows have {', '.join(known)}."
            raise BadInput(f"eval_target takes {one.name!r}, which no row has{did_you_mean(one.name, known)}", hint)


def read_mappings(config: Mapping[str, Any] | None, evaluators: Iterable[str], columns: Iterable[str]) -> Mappings:
    """What `evaluators_config` says, checked. `default` is for every evaluator that has no entry of its own, as in azure-ai-evaluation."""
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise BadInput(f"evaluators_config is {_short(config)}, an object by evaluator was expected")
    names, known, found = [*evaluators, "default"], list(columns), {}
    for name, entry in config.items():
        where = f"evaluators_config: {name}"
        if name not in names:
            raise BadInput(f"evaluators_config: there is no evaluator called {name!r}{did_you_mean(str(name), names)}")
        if not isinstance(entry, Mapping):
            raise BadInput(f"{where} is {_short(entry)}, an object with column_mapping was expected")
        for key in entry:
            if key != "column_mapping" and not str(key).startswith("_"):  # azure keeps some of its own there
                raise BadInput(f"{where} has {key!r}, only column_mapping is known")
        given = entry.get("column_mapping") or {}
        if not isinstance(given, Mapping):
            raise BadInput(f"{where}: column_mapping is {_short(given)}, an object was expected")
        found[name] = {parameter: _reference(f"{where}: {parameter}", value, known) for parameter, value in given.items()}
    return found


def column(row: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or of a field in it (`customer.name`). Raises `KeyError` where there is none."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if not isinstance(value, Mapping):
            raise KeyError(path)
        value = value[part]
    return value


def _reference(where: str, given: Any, known: list[str]) -> tuple[str, str]:
    found = _REFERENCE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise BadInput(f"{where} is {_short(given)}, a column was expected", _FORM)
    source, path = found.groups()
    if source == "data" and path not in known and path.split(".")[0] not in known:
        raise BadInput(f"{where}: no row has {path!r}{did_you_mean(path, known)}", f"The rows have {', '.join(known)}.")
    return ("data" if source == "data" else "target"), path


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some of what is built in does not say
        return None


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return loose(value) if value.strip() else None


def _short(value: Any) -> str:
    text = scrub(repr(value)) if isinstance(value, str) else dump(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
