"""Show expected values and calls as people wrote them."""

from typing import Any

from callmark.calls.matchers import CONTAINER_TYPES, recorded_value
from callmark.calls.strict import dump
from callmark.types import Call


def show_expected(value: Any) -> str:
    """Return an expected value for display: a case-insensitive glob as the bare pattern (`TKT-*`), anything else as JSON.

    Scenario files write such globs as bare patterns. Inside objects and lists they are shown in the same way.
    """
    return _show(recorded_value(value))


def show_expected_call(call: Call) -> str:
    """Return an expected call as code, with its values for display: `create_ticket(id=TKT-*)`."""
    if call.malformed or not any(value.__class__ in CONTAINER_TYPES for value in call.arguments.values()):
        return str(call)
    shown = []
    for key, value in call.arguments.items():
        recorded = recorded_value(value)
        shown.append(f"{key}={_show(recorded)}" if _contains_glob(recorded) else str(Call("", {key: recorded}))[1:-1])
    return f"{call.name}({', '.join(shown)})"


def _show(value: Any) -> str:
    if _is_ignore_case_glob(value):
        return str(value["$glob"])
    if not _contains_glob(value):
        return dump(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{dump(key)}: {_show(item)}' for key, item in value.items())}}}"
    return f"[{', '.join(map(_show, value))}]"


def _is_ignore_case_glob(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 2 and value.get("$case") is False and isinstance(value.get("$glob"), str)


def _contains_glob(value: Any) -> bool:
    if value.__class__ not in CONTAINER_TYPES:
        return False
    return _is_ignore_case_glob(value) or any(map(_contains_glob, value.values() if isinstance(value, dict) else value))
