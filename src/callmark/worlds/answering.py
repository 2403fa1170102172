"""How a demo's world answers a call that a model made: with data, or with a sentence that says what was wrong."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from callmark.types import Tool

MOST_CHARACTERS = 2000
_MOST_SHOWN = 80
SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character: JSON can carry it, a database cannot


class Refused(Exception):  # noqa: N818 - it is what happened
    """It is not done, and nothing was changed; the sentence says what was found and what was expected."""


class Answer(NamedTuple):
    """What came of a call: what the tool gave, or the sentence of a refusal."""

    text: str
    is_error: bool = False


def checked(tool: Tool, arguments: Mapping[str, Any], *, may_be_empty: tuple[str, ...] = ()) -> dict[str, Any]:
    """The arguments as the tool's schema wants them: texts and lists of texts, of a sane length. What is null counts as not given.

    An argument that is unknown, missing, empty or of another type raises `Refused`.
    """
    known: dict[str, Any] = tool.parameters["properties"]
    given = {key: value for key, value in arguments.items() if value is not None}
    for key, value in given.items():
        if key not in known:
            raise Refused(f"{shown(key)} is no argument of {tool.name}, it takes {', '.join(known) or 'none'}")
        if known[key]["type"] == "array":
            _check_list(key, value)
        else:
            _check_text(key, value, empty=key in may_be_empty)
        if "enum" in known[key] and value not in known[key]["enum"]:
            raise Refused(f"{key} is {shown(value)}, one of {', '.join(known[key]['enum'])} was expected")
    required: list[str] = tool.parameters["required"]
    missing = [key for key in required if key not in given]
    if missing:
        raise Refused(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing, {tool.name} needs {', '.join(required)}")
    return given


def shown(value: object) -> str:
    """The value as JSON, cut to what fits into a sentence."""
    begin = value[: _MOST_SHOWN + 1] if isinstance(value, str | list) else value
    try:
        text = json.dumps(begin, ensure_ascii=False, default=str)
    except RecursionError:
        return "nested too deeply"
    text = text if not SURROGATE.search(text) else json.dumps(begin, default=str)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _check_list(key: str, value: object) -> None:
    if not isinstance(value, list) or not value:
        raise Refused(f"{key} is {shown(value)}, a list with at least one text was expected")
    for one in value:
        _check_text(f"an entry of {key}", one)


def _check_text(key: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str) or not (empty or value.strip()) or SURROGATE.search(value):
        raise Refused(f"{key} is {shown(value)}, a text was expected")
    if len(value) > MOST_CHARACTERS:
        raise Refused(f"{key} has {len(value):,} characters, at most {MOST_CHARACTERS:,} are taken")
