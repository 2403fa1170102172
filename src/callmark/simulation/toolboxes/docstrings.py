"""A docstring taken apart: what a function does, and what each of its parameters is, in Google's, NumPy's or Sphinx's style."""

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent

from msgspec import Struct

_PARAMETERS = frozenset({"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"})
_OTHERS = frozenset(
    {"attributes", "example", "examples", "note", "notes", "raises", "references", "return", "returns", "see also", "todo"}
    | {"warning", "warnings", "warns", "yield", "yields"}
)
_SECTIONS = _PARAMETERS | _OTHERS
_UNDERLINE = re.compile(r"\s*-{3,}\s*")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*\s*(?::.*)?")
_FIELD = re.compile(r":\w+(?:\s[^:]*)?:")
_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")


class Docstring(Struct, frozen=True):
    """`text` is everything outside of sections and fields. Parameters that nothing is said of are not there."""

    text: str = ""
    parameters: dict[str, str] = {}


def read_docstring(docstring: str | None) -> Docstring:
    """Nothing for None and for an empty one; whatever is in no known style is text."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    text: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        if _is_underlined(lines, at):
            end = next((after for after in range(at + 2, len(lines)) if _is_underlined(lines, after)), len(lines))
            if line.lower() in _PARAMETERS:
                parameters |= _numpy(lines[at + 2 : end])
        elif line.endswith(":") and line[:-1].lower() in _SECTIONS:
            end = _indented(lines, at + 1)
            if line[:-1].lower() in _PARAMETERS:
                parameters |= _google(lines[at + 1 : end])
        elif _FIELD.match(line):
            end = _indented(lines, at + 1)
            if field := _SPHINX.match(line):
                parameters[field[1]] = _joined([field[2], *lines[at + 1 : end]])
        else:
            end = at + 1
            text.append(line)
        at = end
    return Docstring("\n".join(text).strip(), {name: said for name, said in parameters.items() if said})


def _is_underlined(lines: list[str], at: int) -> bool:
    """Whether a section of NumPy's begins there."""
    return lines[at].rstrip().lower() in _SECTIONS and at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1]) is not None


def _indented(lines: list[str], start: int) -> int:
    """Where the lines end that are indented, or blank."""
    return next((at for at in range(start, len(lines)) if lines[at].strip() and not lines[at][0].isspace()), len(lines))


def _google(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    said: list[str] = []
    for head, rest in _entries(body):
        if entry := _GOOGLE.fullmatch(head):
            said = found[entry[1]] = [entry[2], *rest]
        else:
            said += [head, *rest]
    return {name: _joined(lines) for name, lines in found.items()}


def _numpy(body: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for head, rest in _entries(body):
        if _NUMPY.fullmatch(head):
            found |= {name.strip().lstrip("*"): _joined(rest) for name in head.partition(":")[0].split(",")}
    return found


def _entries(body: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each line at the margin, with the indented ones under it."""
    lines = dedent("\n".join(body)).splitlines()
    at = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    while at < len(lines):
        end = _indented(lines, at + 1)
        yield lines[at].strip(), lines[at + 1 : end]
        at = end


def _joined(lines: list[str]) -> str:
    return " ".join(part for line in lines if (part := line.strip()))
