"""Explain why a row cannot be read: `not valid JSON: the row ends at column 4,096 inside a string`."""

import json

import msgspec

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput

_MAX_SHOWN = 20  # characters of an excerpt


def explain(row: bytes, error: Exception) -> str:
    """Return the explanation of an error that was raised while reading a row."""
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply to read (the limit is about 1,000 levels)"
    if isinstance(error, UnicodeDecodeError):
        return f"not valid UTF-8: byte 0x{row[error.start]:02x} at column {error.start + 1:,}"
    if isinstance(error, msgspec.ValidationError):
        return explain_validation_error(str(error))
    return _explain_json(row, error)


def _explain_json(row: bytes, error: Exception) -> str:
    text = row.decode("utf-8", "replace").rstrip("\r\n")
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        if problem.msg.startswith("Unterminated"):
            return f"not valid JSON: the row ends at column {len(text):,} inside a string"
        if problem.pos >= len(text):
            return f"not valid JSON: the row ends at column {len(text):,}, before it is complete"
        if problem.msg.startswith("Extra data"):
            return f"not valid JSON: extra text {excerpt(text, problem.pos)} at column {problem.pos + 1:,}, after the end of the value"
        return f"not valid JSON: unexpected {excerpt(text, problem.pos)} at column {problem.pos + 1:,} ({problem.msg.lower()})"
    except ValueError as problem:
        return str(problem)
    except RecursionError:
        pass
    return f"not valid JSON: {error}"


def excerpt(text: str, at: int) -> str:
    """Return the text from `at` on, quoted and shortened."""
    rest = text[at : at + _MAX_SHOWN]
    return repr(rest) + ("…" if len(text) > at + _MAX_SHOWN else "")


def _refuse(name: str) -> object:
    raise ValueError(f"not valid JSON: {name} is not a JSON value")
