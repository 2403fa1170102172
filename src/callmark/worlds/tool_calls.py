"""Tool calls in a world: argument validation, with errors that tell a model what is wrong."""

import json
import re
from collections.abc import Mapping
from typing import Any

from callmark import Tool

MAX_CHARACTERS = 2000
_MAX_QUOTED = 80
SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character: valid in JSON, not in a database


class ToolError(Exception):
    """A tool refuses a call and changes nothing. The sentence says what was found and what was expected."""


def validate_arguments(tool: Tool, arguments: Mapping[str, Any], *, may_be_empty: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the arguments without nulls, which count as missing.

    An argument that is unknown, missing, empty, too long or of another type than in the tool's schema raises `ToolError`. Schemas have only
    strings and lists of strings.
    """
    known: dict[str, Any] = tool.parameters["properties"]
    given = {key: value for key, value in arguments.items() if value is not None}
    for key, value in given.items():
        if key not in known:
            raise ToolError(f"{quote_value(key)} is not an argument of {tool.name}; expected {', '.join(known) or 'no arguments'}")
        if known[key]["type"] == "array":
            _check_list(key, value)
        else:
            _check_text(key, value, empty=key in may_be_empty)
        if "enum" in known[key] and value not in known[key]["enum"]:
            raise ToolError(f"{key}: expected one of {', '.join(known[key]['enum'])}; got {quote_value(value)}")
    required: list[str] = tool.parameters["required"]
    missing = [key for key in required if key not in given]
    if missing:
        raise ToolError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; {tool.name} needs {', '.join(required)}")
    return given


def quote_value(value: object) -> str:
    """Return the value as JSON, truncated to fit into a sentence. Works for any value, however large, deep or malformed."""
    begin = value[: _MAX_QUOTED + 1] if isinstance(value, str | list) else value
    try:
        text = json.dumps(begin, ensure_ascii=False, default=str)
    except RecursionError:
        return "nested too deeply"
    text = text if not SURROGATE.search(text) else json.dumps(begin, default=str)
    return text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…"


def _check_list(key: str, value: object) -> None:
    if not isinstance(value, list) or not value:
        raise ToolError(f"{key}: expected a list of at least one string, got {quote_value(value)}")
    for entry in value:
        _check_text(f"an entry of {key}", entry)


def _check_text(key: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str) or not (empty or value.strip()) or SURROGATE.search(value):
        raise ToolError(f"{key}: expected a non-empty string, got {quote_value(value)}")
    if len(value) > MAX_CHARACTERS:
        raise ToolError(f"{key}: expected at most {MAX_CHARACTERS:,} characters, got {len(value):,}")
