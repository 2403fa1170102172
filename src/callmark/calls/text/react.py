"""ReAct: `Action: NAME` and `Action Input: {json}` on lines of their own, after a `Thought:`; or one JSON object after `Action:`.

"Action:" is an English word, so an action counts only with an input, and only if it is a known tool or no tool is known. The input may be
plain text if the tool has one parameter. What the model makes up after `Observation:` is not read.
"""

import re
from collections.abc import Mapping

from callmark.calls.schema import properties
from callmark.calls.shapes import named_call
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import (
    FENCE_CLOSED,
    compile_marks,
    find_end,
    join_pieces,
    json_brackets,
    json_spans,
    read_json_call,
    scan,
    skip,
)
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_LABEL = r"[ \t]*+(?:\*\*)?{}(?:\*\*)?[ \t]*+:(?:\*\*)?[ \t]*+"
_ACTION, _INPUT = _LABEL.format("Action"), _LABEL.format("Action Input")
_FENCE = r"(?:\s*+```(?:json)?\s*+)?"
_MARKS = compile_marks(
    rf"^{_ACTION}(?:[`\"'\[]?(?P<name>[^\W\d][\w.:-]*+)[`\"'\]]?[ \t]*+(?:\n\s*+(?P<input>{_INPUT}){_FENCE}|(?P<end>\s*+\Z))"
    rf"|\s*+(?P<fence>{_FENCE})\[?\s*+(?P<object>\{{)(?=\s*+\"))"
)
_END = re.compile(r"\n\s*+(?=(?:\*\*)?(?:Observation|Thought|Action|Final Answer)(?:\*\*)?[ \t]*+:)|\n```")
_OBSERVATION = re.compile(r"^[ \t]*+(?:\*\*)?Observation(?:\*\*)?[ \t]*+:", re.MULTILINE)
_THOUGHT = re.compile(r"^[ \t]*+(?:\*\*)?Thought(?:\*\*)?[ \t]*+:(?:\*\*)?", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*+(?:\*\*)?(?:Final )?Answer(?:\*\*)?[ \t]*+:(?:\*\*)?", re.MULTILINE)
_BRACKETS = json_brackets("\\n", r"\n(?:Observation|Thought|Action)[ \t]*+:|```")
_FINAL = "Final Answer"
_NO_MARKS = compile_marks("(?!)")


def parse_react(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls up to the first observation, of known tools; of all, if no tool is known."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if mark["object"]:
            start, stop = next(json_spans(text, mark.start("object"), _BRACKETS))
            call = read_json_call(text[start:stop])
            is_call = call.name in tools if tools else bool(call.name) and call.name != _FINAL and '"action' in text[start:stop]
            return ([call], skip(FENCE_CLOSED, text, stop)) if is_call else (None, stop)
        name = mark["name"]
        if (tools and name not in tools) or (mark["input"] is None and (name not in tools or not _THOUGHT.search(text))):
            return None, mark.end("name")
        if mark["input"] is None:
            return [malformed_call(name, "arguments: no Action Input", mark[0])], mark.end()
        call, end = _read_input(text, mark.end(), name, tools.get(name))
        return [call], skip(FENCE_CLOSED, text, end)

    observation = _OBSERVATION.search(text)
    parsed = scan(text[: observation.start()] if observation else text, _MARKS, read, is_marked=False)
    if parsed.calls:
        return _set_thoughts_aside(parsed)
    return scan(text, _NO_MARKS, read) if observation else parsed


def _read_input(text: str, at: int, name: str, tool: Tool | None) -> tuple[Call, int]:
    """Return the call with its input, and where that ends: a JSON object, or text up to the next label."""
    if text.startswith("{", at):
        start, stop = next(json_spans(text, at, _BRACKETS))
        return named_call(name, text[start:stop], None), stop
    stop, _ = find_end(_END, text, at)
    written = text[at:stop].strip()
    parameters = list(properties(tool.parameters)) if tool else []
    if len(parameters) == 1 and written:
        return named_call(name, {parameters[0]: written.strip("\"'")}, None), stop
    if written in ("", "None", "null", "N/A"):
        return named_call(name, {}, None), stop
    return named_call(name, written, None) if not written.startswith("{") else malformed_call(name, "arguments", written), stop


def _set_thoughts_aside(parsed: ParsedText) -> ParsedText:
    """Return the parsed text with its thoughts as thinking. What follows an answer's label is text."""
    answer = _ANSWER.search(parsed.text)
    before, after = (parsed.text[: answer.start()], parsed.text[answer.end() :]) if answer else (parsed.text, "")
    if not _THOUGHT.search(before):
        return parsed
    thoughts = _THOUGHT.split(before)
    return ParsedText(parsed.calls, join_pieces([thoughts[0], after]), join_pieces([parsed.thinking, *thoughts[1:]]))


FORMAT = TextFormat("react", "ReAct prompts", parse_react, ("Action",), is_marked=False)
