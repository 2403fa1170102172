"""Calls as tags: a tag with the name of the tool around one tag for each parameter, as Qwen3-Coder, MiniMax and others write them.

Values are text. They are read by the schema of the tool, unless the tag itself says what they are.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from callmark.calls.schema import properties, types_fit
from callmark.calls.shapes import named_call
from callmark.calls.strict import NotStrict, parse
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import find_end, json_brackets, json_spans
from callmark.types import Call, Tool

_PYTHON_CONSTANTS = {"True": True, "False": False, "None": None}  # as templates write booleans without JSON


class XmlSyntax(Struct, frozen=True):
    """The tags of a family.

    Attributes:
        parameter: Matches the tag that opens a parameter, and white space before it. Group `key` is the name of the parameter. Group
            `kind`, if there is one, is "true" or "string" for a string and another word for JSON.
        parameter_end: Finds the end of a parameter; an empty match is where an unclosed one is cut off.
        call_end: Finds the end of the call; an empty match is where an unclosed one is cut off.
    """

    parameter: re.Pattern[str]
    parameter_end: re.Pattern[str]
    call_end: re.Pattern[str]


_BRACKETS = json_brackets("<", r"</?(?:[\w:]*+tool_call|[\w:]*+invoke|function)[=>\s]")


def read_xml_call(text: str, at: int, name: str, tools: Mapping[str, Tool], syntax: XmlSyntax) -> tuple[Call, int]:
    """Return the call whose parameters start at `at`, and where it ends.

    Arguments are closed parameters, of which the last one wins if several have the same name, or a JSON object, after which the call may be
    unclosed. Anything else is a malformed call.
    """
    arguments: str | dict[str, Any]
    span = next(json_spans(text, at, _BRACKETS), None)
    if span:
        arguments, inside = text[span[0] : span[1]], span[1]
    else:
        arguments, inside = _read_parameters(text, at, tools.get(name.strip()), syntax)
    stop, end = find_end(syntax.call_end, text, inside)
    closed = stop < end
    if span and not closed:
        stop = end = inside
    if text[inside:stop].strip() or not (span or closed):
        return malformed_call(name, "expected a JSON object or closed parameters", text[at:stop]), end
    return named_call(name.strip(), arguments, None), end


def _read_parameters(text: str, at: int, tool: Tool | None, syntax: XmlSyntax) -> tuple[dict[str, Any], int]:
    """Return the closed parameters from `at` on, and where they end."""
    values: dict[str, Any] = {}
    while opening := syntax.parameter.match(text, at):
        stop, end = find_end(syntax.parameter_end, text, opening.end())
        if stop == end:
            break
        key = opening["key"].strip()
        kind = opening.groupdict().get("kind")
        written = text[opening.end() : stop].removeprefix("\n").removesuffix("\n")
        values[key] = written if kind in ("true", "string") else read_json_or_text(written) if kind else read_value(written, key, tool)
        at = end
    return values, at


def read_value(text: str, key: str, tool: Tool | None) -> Any:
    """Return the value of a parameter that was written as text.

    Where the schema is known: JSON of a type that it admits, else the text if it admits strings, else whatever JSON it is. Where it is not
    known: JSON, unless that is a string or invalid.
    """
    value = read_json_or_text(text)
    schema = properties(tool.parameters).get(key) if tool is not None else None
    if tool is None or schema is None:
        return value
    if isinstance(value, str):
        value = _PYTHON_CONSTANTS.get(text.strip(), text)
        return value if types_fit(value, schema, tool.parameters) and not types_fit(text, schema, tool.parameters) else text
    return text if types_fit(text, schema, tool.parameters) and not types_fit(value, schema, tool.parameters) else value


def read_json_or_text(text: str) -> Any:
    """Return the value of a JSON text; the text itself if it is not JSON, or JSON of a string."""
    try:
        value = parse(text)
    except NotStrict:
        return text
    return text if isinstance(value, str) else value
