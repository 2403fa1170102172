"""The texts of a template: `{ticket.title}` is a field, `{{` and `}}` are braces, everything else stands for itself.

What is put in place of a field is never read again: braces in it are no field, a star in it no glob, an object of it no matcher.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from callmark.calls.expected import escape_globs
from callmark.calls.matchers import has_matcher, is_matcher
from callmark.calls.strict import dump
from callmark.errors import BadInput

Reader = Literal["text", "argument", "matcher", "$glob", "$regex"]  # who will read what was filled in
_WILD = "*?"


class Field(NamedTuple):
    """`{ticket.title}`, or `{opening}`, which has no column."""

    name: str
    column: str

    def __str__(self) -> str:
        return f"{{{self.name}.{self.column}}}" if self.column else f"{{{self.name}}}"


@lru_cache(maxsize=4096)
def pieces(text: str) -> tuple[str | Field, ...]:
    """The text cut into what stands for itself and fields. A brace without its other one raises `BadInput`."""
    found: list[str | Field] = []
    own = ""
    at = 0
    while at < len(text):
        letter = text[at]
        if letter not in "{}":
            own += letter
        elif text.startswith(letter * 2, at):
            own += letter
            at += 1
        else:
            end = text.find("}", at)
            if letter == "}" or end < 0 or "{" in text[at + 1 : end]:
                raise BadInput(f"a brace is not {'closed' if letter == '{' else 'opened'}: {text[at : at + 30]!r}", "{{ and }} are braces.")
            name, _, column = text[at + 1 : end].partition(".")
            found += [own, Field(name.strip(), column.strip())] if own else [Field(name.strip(), column.strip())]
            own, at = "", end
        at += 1
    return (*found, own) if own or not found else tuple(found)


def fields(text: str) -> list[Field]:
    """The fields of a text."""
    return [piece for piece in pieces(text) if isinstance(piece, Field)]


def each_text(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a value, keys left aside, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from each_text(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from each_text(item, f"{path}[{index}]")


def as_text(value: Any) -> str:
    """The value inside a text: itself, or its JSON; nothing for null."""
    return value if isinstance(value, str) else "" if value is None else dump(value)


class Filling:
    """Puts the columns of rows and the drawn wordings in place of the fields. Every field must be known to be among them."""

    def __init__(self, rows: Mapping[str, Mapping[str, Any]], wordings: Mapping[str, Any]) -> None:
        self._rows = rows
        self._wordings = wordings

    def __call__(self, value: Any, reader: Reader = "text") -> Any:
        """The value with all its texts filled in, so that `reader` takes what came out of rows for what it is. A value that cannot be put
        into a pattern raises `BadInput`.
        """
        if isinstance(value, str):
            return self._filled(value, reader)
        if isinstance(value, list):
            return [self(item, reader) for item in value]
        if isinstance(value, dict):
            return {key: self(item, _reader(key, reader, matcher=is_matcher(value))) for key, item in value.items()}
        return value

    def _filled(self, text: str, reader: Reader) -> Any:
        found = pieces(text)
        if len(found) == 1 and isinstance(found[0], Field):
            return self._value(found[0], reader)
        own = "".join(piece for piece in found if isinstance(piece, str))
        as_glob = reader == "$glob" or (reader == "argument" and "*" in own and not any(map(str.isspace, own)))
        inner: Reader = "$glob" if as_glob else "$regex" if reader == "$regex" else "text"
        filled = "".join(piece if isinstance(piece, str) else as_text(self._value(piece, inner)) for piece in found)
        if reader != "argument":
            return filled
        if as_glob:
            return filled if not any(map(str.isspace, filled)) else {"$glob": filled, "$case": False}
        return escape_globs(filled) if len(found) > 1 else filled

    def _value(self, field: Field, reader: Reader) -> Any:
        return _taken(self._rows[field.name][field.column], reader) if field.column else self(self._wordings[field.name], reader)


def _reader(key: Any, reader: Reader, *, matcher: bool) -> Reader:
    if reader == "text" or not matcher:
        return reader
    return "text" if key == "$literal" else key if key in ("$glob", "$regex") else "matcher"


def _taken(value: Any, reader: Reader) -> Any:
    """A value of a row, said so that its reader finds nothing in it but the value."""
    if reader == "$regex":
        import re2

        return re2.escape(as_text(value))
    if reader == "$glob":
        if any(letter in as_text(value) for letter in _WILD):
            raise BadInput(f"{as_text(value)[:40]!r} has a * or ? of its own and cannot be put into a glob", "$regex takes any text.")
        return as_text(value)
    if isinstance(value, str):
        return escape_globs(value) if reader == "argument" else value
    if reader != "text" and (has_matcher(value) or (reader == "argument" and escape_globs(value) != value)):
        return {"$literal": value}
    return value
