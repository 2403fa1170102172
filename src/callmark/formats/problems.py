"""Explain why a row cannot be read: `not valid JSON: the row ends at column 4,096 inside a string`."""

import json
from typing import Self

import msgspec

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput

_MAX_SHOWN = 20  # characters of an excerpt
_EXPECTED = {  # by the beginning of a message of Python's JSON parser
    "Expecting value": "expected a JSON value",
    "Expecting property name": "expected a key in double quotes",
    "Expecting ',' delimiter": "expected a comma",
    "Expecting ':' delimiter": "expected a colon",
    "Illegal trailing comma": "expected no comma before the end",
    "Invalid control character": "expected no unescaped control character",
    "Invalid \\escape": "expected a valid escape sequence",
    "Invalid \\uXXXX escape": "expected four hexadecimal digits after \\u",
}


class UnreadableRow(bytes):
    """A row that its container could not read, as far as there is one; `reason` says why."""

    reason: str

    def __new__(cls, content: bytes, reason: str) -> Self:
        row = super().__new__(cls, content)
        row.reason = reason
        return row


def refuse_unreadable(row: bytes) -> None:
    """Raise `BadInput` for a row that its container could not read."""
    if isinstance(row, UnreadableRow):
        raise BadInput(row.reason)


def explain(row: bytes, error: Exception, *, unit: str = "row") -> str:
    """Return the explanation of an error that was raised while reading a row, or another `unit`, such as a file."""
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply to read (the limit is about 1,000 levels)"
    if isinstance(error, UnicodeDecodeError):
        return f"not valid UTF-8: byte 0x{row[error.start]:02x} at column {error.start + 1:,}"
    if isinstance(error, msgspec.ValidationError):
        return explain_validation_error(str(error))
    return _explain_json(row, error, unit)


def _explain_json(row: bytes, error: Exception, unit: str) -> str:
    text = row.decode("utf-8", "replace").rstrip("\r\n")
    if not text:
        return f"not valid JSON: the {unit} is empty"
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        if problem.msg.startswith("Unterminated"):
            return f"not valid JSON: the {unit} ends at column {len(text):,} inside a string"
        if problem.pos >= len(text):
            return f"not valid JSON: the {unit} ends at column {len(text):,}, before it is complete"
        if problem.msg.startswith("Extra data"):
            return f"not valid JSON: extra text {excerpt(text, problem.pos)} at column {problem.pos + 1:,}, after the end of the value"
        return f"not valid JSON: {_problem(problem.msg)} at column {problem.pos + 1:,}, got {excerpt(text, problem.pos)}"
    except ValueError as problem:
        return str(problem)
    except RecursionError:
        pass
    return f"not valid JSON: {error}"


def _problem(message: str) -> str:
    """Return what Python's parser expected, in our words."""
    known = next((words for start, words in _EXPECTED.items() if message.startswith(start)), "")
    return known or message[:1].lower() + message[1:].removesuffix(" at")


def excerpt(text: str, at: int) -> str:
    """Return the text from `at` on, quoted and shortened."""
    rest = text[at : at + _MAX_SHOWN]
    return repr(rest) + ("…" if len(text) > at + _MAX_SHOWN else "")


def _refuse(name: str) -> object:
    raise ValueError(f"not valid JSON: {name} is not a JSON value")
