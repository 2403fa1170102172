"""Explain why a row cannot be read, for the person who made the file: `the row is not JSON, it ends at column 4,096 …`."""

import json

import msgspec

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput

_MAX_SHOWN = 20  # characters of the broken text


def explain(row: bytes, error: Exception) -> str:
    """Return what an error means that was raised while the row was read."""
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, RecursionError):
        return "the row nests too deep to be read (about 1,000 levels is the most)"
    if isinstance(error, UnicodeDecodeError):
        return f"the row is not UTF-8 text, byte 0x{row[error.start]:02x} at column {error.start + 1:,}"
    if isinstance(error, msgspec.ValidationError):
        return explain_validation_error(str(error))
    return _explain_json(row, error)


def _explain_json(row: bytes, error: Exception) -> str:
    text = row.decode("utf-8", "replace").rstrip("\r\n")
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        if problem.msg.startswith("Unterminated"):
            return f"the row is not JSON, it ends at column {len(text):,} inside a string"
        if problem.pos >= len(text):
            return f"the row is not JSON, it ends at column {len(text):,} before it is complete"
        if problem.msg.startswith("Extra data"):
            return f"the row is JSON up to column {problem.pos:,}, but then goes on with {_excerpt(text, problem.pos)}"
        return f"the row is not JSON, at column {problem.pos + 1:,} stands {_excerpt(text, problem.pos)} ({problem.msg.lower()})"
    except ValueError as problem:
        return str(problem)
    except RecursionError:
        pass
    return f"the row is not JSON: {error}"


def _excerpt(text: str, at: int) -> str:
    rest = text[at : at + _MAX_SHOWN]
    return repr(rest) + ("…" if len(text) > at + _MAX_SHOWN else "")


def _refuse(name: str) -> object:
    raise ValueError(f"the row is not JSON: {name} is not a JSON value")
