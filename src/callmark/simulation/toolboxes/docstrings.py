"""Parse a docstring into description and parameters, in the style of Google, NumPy or Sphinx."""

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent

from msgspec import Struct

_PARAMETERS = frozenset({"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"})
_OTHER_SECTIONS = frozenset(
    {"attributes", "example", "examples", "note", "notes", "raises", "references", "return", "returns", "see also", "todo"}
    | {"warning", "warnings", "warns", "yield", "yields"}
)
_SECTIONS = _PARAMETERS | _OTHER_SECTIONS
_UNDERLINE = re.compile(r"\s*-{3,}\s*")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*\s*(?::.*)?")
_FIELD = re.compile(r":\w+(?:\s[^:]*)?:")
_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")


class Docstring(Struct, frozen=True):
    """The text outside sections and fields, and the descriptions of parameters."""

    text: str = ""
    parameters: dict[str, str] = {}


def read_docstring(docstring: str | None) -> Docstring:
    """Parse a docstring. None and an empty one have neither text nor parameters; an unknown style is all text."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    text: list[str] = []
    parameters: dict[str, str] = {}
    index = 0
    while index < len(lines):
        line = lines[index].rstrip()
        if _is_underlined(lines, index):
            end = next((after for after in range(index + 2, len(lines)) if _is_underlined(lines, after)), len(lines))
            if line.lower() in _PARAMETERS:
                parameters |= _numpy_parameters(lines[index + 2 : end])
        elif line.endswith(":") and line[:-1].lower() in _SECTIONS:
            end = _indented_end(lines, index + 1)
            if line[:-1].lower() in _PARAMETERS:
                parameters |= _google_parameters(lines[index + 1 : end])
        elif _FIELD.match(line):
            end = _indented_end(lines, index + 1)
            if field := _SPHINX.match(line):
                parameters[field[1]] = _join([field[2], *lines[index + 1 : end]])
        else:
            end = index + 1
            text.append(line)
        index = end
    return Docstring("\n".join(text).strip(), {name: text_lines for name, text_lines in parameters.items() if text_lines})


def _is_underlined(lines: list[str], index: int) -> bool:
    """Return whether a NumPy section starts at that line."""
    return lines[index].rstrip().lower() in _SECTIONS and index + 1 < len(lines) and _UNDERLINE.fullmatch(lines[index + 1]) is not None


def _indented_end(lines: list[str], start: int) -> int:
    """Return the index after the indented or blank lines that begin at `start`."""
    return next((index for index in range(start, len(lines)) if lines[index].strip() and not lines[index][0].isspace()), len(lines))


def _google_parameters(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    text_lines: list[str] = []
    for head, rest in _entries(body):
        if entry := _GOOGLE.fullmatch(head):
            text_lines = found[entry[1]] = [entry[2], *rest]
        else:
            text_lines += [head, *rest]
    return {name: _join(lines) for name, lines in found.items()}


def _numpy_parameters(body: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for head, rest in _entries(body):
        if _NUMPY.fullmatch(head):
            found |= {name.strip().lstrip("*"): _join(rest) for name in head.partition(":")[0].split(",")}
    return found


def _entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each unindented line with the indented lines below it."""
    lines = dedent("\n".join(body)).splitlines()
    index = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    while index < len(lines):
        end = _indented_end(lines, index + 1)
        yield lines[index].strip(), lines[index + 1 : end]
        index = end


def _join(lines: list[str]) -> str:
    return " ".join(part for line in lines if (part := line.strip()))
