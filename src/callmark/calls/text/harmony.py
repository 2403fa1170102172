"""Harmony (gpt-oss): messages with a channel and a recipient.

    <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{json}<|call|>
    <|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>{json}<|call|>
    commentary to=functions.NAME json{json}                                 decoded without the special tokens

A message to a recipient is a call, in every channel. Messages without one are text, or thinking in the analysis channel.
"""

import re
from collections.abc import Mapping

from callmark.calls.text.named_json import NamedJson
from callmark.calls.text.python_code import malformed_call
from callmark.calls.text.scan import code_end, find_end, join_pieces, json_brackets
from callmark.calls.text.text_format import ParsedText, TextFormat
from callmark.types import Call, Tool

_ENDS = r"<\|(?:call|end|return)\|>"
_STARTS = r"<\|(?:start|channel)\|>"
_HEADER = r"(?:<\|start\|>|<\|channel\|>|\A\s*+to=)(?:[^<\n]|<\|(?:channel|constrain)\|>){0,300}+(?P<message><\|message\|>|\Z)"
_PLAIN = (
    r"(?:(?:\A|assistant|\b)(?:analysis|commentary|final))\s*+to=functions\.(?P<name>[\w.-]+?)"
    r"(?:[ \t]*+<\|constrain\|>)?[ \t]*+(?:json|code)?\s*+(?=\{)"
)
_MARKS = re.compile(rf"(?P<header>{_HEADER})|(?P<plain>{_PLAIN})|(?P<code>`++)")
_RECIPIENT = re.compile(r"\bto=([^\s<>={}]++)")
_CHANNEL = re.compile(r"<\|channel\|>\s*+(\w++)")
_CONTENT_END = re.compile(rf"{_ENDS}|(?={_STARTS})")
_NOT_TOOLS = frozenset({"user", "assistant", "all", "system", "developer"})
_ARGUMENTS = NamedJson(_ENDS, _STARTS, json_brackets("<", rf"{_ENDS}|{_STARTS}"))


def parse_harmony(text: str, tools: Mapping[str, Tool]) -> ParsedText:
    """Return the calls, whether or not their tools are known. Text outside messages is text."""
    calls: list[Call] = []
    outside: list[str] = []
    thinking: list[str] = []
    never_closed: set[str] = set()
    text_start = at = 0
    while mark := _MARKS.search(text, at):
        at = mark.end()
        if mark["code"]:
            at = code_end(text, mark, never_closed)
            continue
        name = mark["name"] or _read_recipient(mark["header"])
        before = text[text_start : mark.start()]
        if mark["plain"]:
            is_thinking = not calls and before.lstrip().startswith("analysis")
            (thinking if is_thinking else outside).append(before.lstrip().removeprefix("analysis") if is_thinking else before)
        elif mark["message"] or name:
            outside.append(before)
        else:  # prose about the tokens
            continue
        if name and mark["message"] == "":
            calls.append(malformed_call(name, "arguments: truncated", mark["header"]))
        elif name:
            call, at = _ARGUMENTS.read(text, at, name)
            calls.append(call)
        else:
            stop, end = find_end(_CONTENT_END, text, at)
            (thinking if _is_analysis(mark["header"]) else outside).append(text[at:stop])
            at = end
        text_start = at
    outside.append(text[text_start:])
    return ParsedText(tuple(calls), join_pieces(outside), join_pieces(thinking))


def _read_recipient(header: str) -> str:
    """Return the tool that a message is sent to; empty if it is not sent to a tool."""
    found = _RECIPIENT.search(header)
    return "" if found is None or found[1] in _NOT_TOOLS else found[1].removeprefix("functions.")


def _is_analysis(header: str) -> bool:
    channel = _CHANNEL.search(header)
    return channel is not None and channel[1] == "analysis"


FORMAT = TextFormat("harmony", "gpt-oss", parse_harmony, ("<|channel|>", "<|start|>", "<|message|>", "to=functions."))
