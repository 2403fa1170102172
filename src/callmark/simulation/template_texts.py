"""Parse and fill template texts: `{ticket.title}` is a field, `{{` and `}}` are literal braces.

A filled-in value is never interpreted: its braces are not fields, a star is not a glob, an object is not a matcher.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from callmark.calls.expected import escape_globs
from callmark.calls.matchers import has_matcher, is_matcher
from callmark.calls.strict import dump
from callmark.errors import BadInput

Target = Literal["text", "argument", "matcher", "$glob", "$regex"]  # where a filled text is used
_WILDCARDS = "*?"


class Field(NamedTuple):
    """A field: `{ticket.title}`, or `{opening}` without a column."""

    name: str
    column: str

    def __str__(self) -> str:
        return f"{{{self.name}.{self.column}}}" if self.column else f"{{{self.name}}}"


@lru_cache(maxsize=4096)
def parse_template(text: str) -> tuple[str | Field, ...]:
    """Split a text into literals and fields. An unbalanced brace raises `BadInput`."""
    parts: list[str | Field] = []
    literal = ""
    index = 0
    while index < len(text):
        character = text[index]
        if character not in "{}":
            literal += character
        elif text.startswith(character * 2, index):
            literal += character
            index += 1
        else:
            end = text.find("}", index)
            if character == "}" or end < 0 or "{" in text[index + 1 : end]:
                raise BadInput(f"unmatched {character} in {text[index : index + 30]!r}", "Write {{ and }} for literal braces.")
            name, _, column = text[index + 1 : end].partition(".")
            parts += [literal, Field(name.strip(), column.strip())] if literal else [Field(name.strip(), column.strip())]
            literal, index = "", end
        index += 1
    return (*parts, literal) if literal or not parts else tuple(parts)


def fields(text: str) -> list[Field]:
    """Return the fields of a text."""
    return [part for part in parse_template(text) if isinstance(part, Field)]


def iterate_texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in a value with its path; keys are left out."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from iterate_texts(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from iterate_texts(item, f"{path}[{index}]")


def as_text(value: Any) -> str:
    """Return a value for use inside a text: a string unchanged, null as empty, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else dump(value)


class TemplateFiller:
    """Fills fields with columns of rows and with chosen variants. Every field must be among them."""

    def __init__(self, rows: Mapping[str, Mapping[str, Any]], variants: Mapping[str, Any]) -> None:
        self._rows = rows
        self._variants = variants

    def __call__(self, value: Any, target: Target = "text") -> Any:
        """Return the value with all its texts filled and escaped for the target.

        A value that a pattern cannot contain raises `BadInput`.
        """
        if isinstance(value, str):
            return self._fill(value, target)
        if isinstance(value, list):
            return [self(item, target) for item in value]
        if isinstance(value, dict):
            return {key: self(item, _inner_target(key, target, matcher=is_matcher(value))) for key, item in value.items()}
        return value

    def _fill(self, text: str, target: Target) -> Any:
        parts = parse_template(text)
        if len(parts) == 1 and isinstance(parts[0], Field):
            return self._value(parts[0], target)
        literal = "".join(part for part in parts if isinstance(part, str))
        is_glob = target == "$glob" or (target == "argument" and "*" in literal and not any(map(str.isspace, literal)))
        field_target: Target = "$glob" if is_glob else "$regex" if target == "$regex" else "text"
        filled = "".join(part if isinstance(part, str) else as_text(self._value(part, field_target)) for part in parts)
        if target != "argument":
            return filled
        if is_glob:
            return filled if not any(map(str.isspace, filled)) else {"$glob": filled, "$case": False}
        return escape_globs(filled) if len(parts) > 1 else filled

    def _value(self, field: Field, target: Target) -> Any:
        return _escape_value(self._rows[field.name][field.column], target) if field.column else self(self._variants[field.name], target)


def _inner_target(key: Any, target: Target, *, matcher: bool) -> Target:
    if target == "text" or not matcher:
        return target
    return "text" if key == "$literal" else key if key in ("$glob", "$regex") else "matcher"


def _escape_value(value: Any, target: Target) -> Any:
    """Return a value from a row, escaped so that the target reads it literally."""
    if target == "$regex":
        import re2

        return re2.escape(as_text(value))
    if target == "$glob":
        if any(character in as_text(value) for character in _WILDCARDS):
            raise BadInput(f"{as_text(value)[:40]!r} contains a wildcard (* or ?) and cannot be part of a glob", "Use $regex instead.")
        return as_text(value)
    if isinstance(value, str):
        return escape_globs(value) if target == "argument" else value
    if target != "text" and (has_matcher(value) or (target == "argument" and escape_globs(value) != value)):
        return {"$literal": value}
    return value
