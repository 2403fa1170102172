"""JSON values inside a text, such as the tools in a system prompt."""

import json
from collections.abc import Iterator
from typing import Any, Literal

_MAX_ATTEMPTS = 16  # each costs as much as the rest of the text

_raw_decode = json.JSONDecoder().raw_decode


def embedded_values(text: str, opening: Literal["[", "{"]) -> Iterator[Any]:
    """Yield the JSON lists or objects in a text, from left to right. After 16 brackets that open no JSON value, nothing more is found."""
    at, failed = text.find(opening), 0
    while at >= 0 and failed < _MAX_ATTEMPTS:
        try:
            value, end = _raw_decode(text, at)
        except (ValueError, RecursionError):
            failed += 1
            end = at + 1
        else:
            yield value
        at = text.find(opening, end)
