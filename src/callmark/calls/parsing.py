"""Calls, parsed out of the raw text of a model (`--parse`).

    hermes    <tool_call>{"name", "arguments"}</tool_call>, also a list of them
              <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>, <function=NAME>{json}</function>
    mistral   [TOOL_CALLS] [{"name", "arguments"}], [TOOL_CALLS]name[CALL_ID]id[ARGS]{json}
    llama3    <|python_tag|>{"name", "parameters"}; {"name", "parameters"}, or the JSON alone, or <function=NAME>{json}</function>
    pythonic  [f(a=1, b="x"), g()] or f(a=1)
    json      an object or a list of calls, bare or in ``` fences, with text around it
    auto      the first of these, in this order, that finds a call

What stands in the place of a call and is none is kept as a malformed one, with its text, and its name if one can be found. Where a
JSON text ends is for its own brackets to say, before any tag that may stand in one of its strings. Nothing is evaluated, nothing
raises, and every text is read in time linear in its length: what a scan has gone over is never scanned again.
"""

import json
import re
import warnings
from collections.abc import Callable, Container, Iterator
from typing import Any, Literal

from msgspec import Struct

from callmark.calls.code import CODE_STRING, malformed_code, read_code_call
from callmark.calls.shapes import named_call, read_call
from callmark.calls.strict import DEEPEST, NotStrict, parse, scrub
from callmark.types import Call

Dialect = Literal["auto", "hermes", "mistral", "llama3", "pythonic", "json"]

_LEVELS_AROUND = 2  # of a call around its arguments
_FIRST_PIECE, _LONGEST_WORD = 1024, 16  # of a JSON text that is tried for its end; of what a cut can leave unreadable: -Infinity, \\ud83d
_ENDINGS = ("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end_of_text|>", "<|endoftext|>", "</s>")

_Read = Callable[[str, re.Match[str]], tuple[list[Call] | None, int]]


def _marks(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<think><think(?:ing)?>)|(?P<thought></think(?:ing)?>)|{pattern}", re.MULTILINE)


_FUNCTION = r"(?:(?:<tool_call>|<\|python_tag\|>)\s*+)?(?P<function><function=(?P<name>[^<>\n]*+)>?)"
_FENCE = r"```\w*+\s*+"
_HERMES = _marks(rf"{_FUNCTION}|<tool_call>")
_MISTRAL = _marks(r"\[TOOL_CALLS\]")
_LLAMA = _marks(rf"{_FUNCTION}|<\|python_tag\|>")
_JSON = _marks(rf'(?:{_FENCE})?(?:\[\s*+)?(?P<value>\{{)\s*+"')
_CODE = _marks(rf"(?P<place>{_FENCE}(?:\[\s*+)?|^[ \t]*+(?:\[\s*+)?|[\[,;]\s*+)?(?<![\w.-])(?P<name>[^\W\d][\w.-]*+)\(")
_NOTHING = _marks("(?!)")

_TAG_END = re.compile(r"</tool_call>|(?=<tool_call>|<function=)")
_FUNCTION_END = re.compile(r"</function>|(?=<function=|</?tool_call>)")
_MISTRAL_END = re.compile(r"(?=\[TOOL_CALLS\])")
_LLAMA_END = re.compile(r"(?=<\|python_tag\|>)")

_PARAMETER = re.compile(r"\s*+<parameter=([^<>\n]*+)>")
_PARAMETER_END = re.compile(r"</parameter>|(?=<(?:parameter|function)=|</function>)")
_NAMED = re.compile(r"\s*+([^\s\[\]{}]++)\s*+(?:\[CALL_ID\]\s*+([^\s\[\]{}]*+)\s*+)?(?:\[ARGS\]\s*+|(?=\{))")
_NEXT_OBJECT = re.compile(r"[\s,;\[\]]*+\{")
_EXTRA_BRACES = re.compile(r"(?:\s*+\})++")
_LIST_END = re.compile(r"\s*+(?:,\s*+)?\]")
_TAG_CLOSED = re.compile(r"\s*+</tool_call>")
_FENCE_CLOSED = re.compile(r"\s*+```")
_NAME = re.compile(r"""["'](?:name|functionName)["']\s*+:\s*+["']([^"'\\]++)["']""")
_HAS_NAME = re.compile(r"""["'](?:name|functionName)["']""")
_SURELY = re.compile(r'"(?:arguments|parameters|input|kwargs)"\s*+:|\A\{\s*+"(?:name|functionName)"\s*+:\s*+"[^"]*+"\s*+\}\Z')
_BEGINS_AS_CODE = re.compile(r"""[\w.-]++\(\s*+(?:[)"'\d\[{-]|\w++\s*+=)""")


def _json_brackets(first: str, end: str) -> re.Pattern[str]:
    """A string, a bracket that opens, one that closes, or the mark, with this first character, that ends them all, strings too."""
    return re.compile(rf'({end})|"(?:[^"\\{first}]|(?!{end}){first}|\\.)*+"?|([{{\[])|([}}\]])', re.DOTALL)


_IN_TAG = _json_brackets("<", r"</?tool_call>|</?function[=>]")
_IN_MISTRAL = _json_brackets(r"\[", r"\[TOOL_CALLS\]")
_IN_LLAMA = _json_brackets("<", r"<\|python_tag\|>")
_IN_FENCE = _json_brackets("`", "```")
# no mark ends code, so its first group never matches
_IN_CODE = re.compile(rf"(?!)(.)|{CODE_STRING}|([({{\[])|([)}}\]])", re.DOTALL)

_decode = json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode  # tells where a value ends, not what it is


class Parsed(Struct, frozen=True):
    """What a model's text holds: the calls in order, what was said outside them, what was thought."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""


def parse_calls(text: str, dialect: Dialect = "auto", *, names: Container[str] = ()) -> Parsed:
    """The calls of a model's text, in order; repeated calls are repeated.

    An empty text and plain prose give no calls. An unclosed tag, cut or broken JSON, a positional argument give a malformed call.
    A closed <think> is set aside wherever it stands outside a call, an unclosed one where it opens the text; what stands before a
    </think> that nothing opened was thought too. The marks that end a turn (`<|im_end|>`) are dropped. `names`, the tools that
    are known, only helps `auto`: it takes `f(a=1)` within prose for a call where f is among them.
    """
    text = _without_endings(text)
    match dialect:
        case "hermes":
            return _scan(text, _HERMES, _tag)
        case "mistral":
            return _scan(text, _MISTRAL, _mistral)
        case "llama3":
            found = _scan(text, _LLAMA, _python_tag)
            return found if found.calls else _scan(text, _JSON, _bare(None))
        case "json":
            return _scan(text, _JSON, _bare(None))
        case "pythonic":
            return _scan_code(text, None)
    return _auto(text, names)


def _auto(text: str, names: Container[str]) -> Parsed:
    tried: tuple[tuple[tuple[str, ...], re.Pattern[str], _Read], ...] = (
        (("<tool_call>", "<function="), _HERMES, _tag),
        (("[TOOL_CALLS]",), _MISTRAL, _mistral),
        (("<|python_tag|>",), _LLAMA, _python_tag),
        (("{",), _JSON, _bare(names)),
    )
    for needed, marks, read in tried:
        if any(mark in text for mark in needed):
            found = _scan(text, marks, read)
            if found.calls:
                return found
    return _whole_code(text) or _scan_code(text, names)


def _scan(text: str, marks: re.Pattern[str], read: _Read) -> Parsed:
    """Goes from mark to mark. `read` gives the calls at one and where they end, or None and where to go on when it is only text."""
    calls: list[Call] = []
    said: list[str] = []
    thinking: list[str] = []
    last = {tag: text.rfind(tag) for tag in ("</think>", "</thinking>")}
    kept = at = 0
    while mark := marks.search(text, at):
        start, at = mark.span()
        if mark["think"]:
            closing = f"</{mark[0][1:]}"
            stop = text.find(closing, at) if last[closing] >= at else len(text) if start == 0 else -1
            if stop >= 0:
                said.append(text[kept:start])
                thinking.append(text[at:stop])
                kept = at = min(stop + len(closing), len(text))
        elif mark["thought"]:
            if not calls and not thinking:  # the prompt had opened it
                thinking.append(text[:start])
                kept = at
        else:
            found, at = read(text, mark)
            if found is not None:
                said.append(text[kept:start])
                calls.extend(found)
                kept = at
    return Parsed(tuple(calls), _joined([*said, text[kept:]]), _joined(thinking))


def _tag(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """The calls of one <tool_call> or <function=…>. An unclosed one ends with its JSON; without any, where the next one opens."""
    if mark["function"]:
        return _function(text, mark)
    spans = list(_objects(text, mark.end(), _IN_TAG))
    at = _skip(_LIST_END, text, spans[-1][1]) if spans else mark.end()
    stop, end = _next(_TAG_END, text, at)
    if not spans:
        return [_call(text[at:stop])], end
    if stop == end:
        return _calls(text, spans), at
    if text[at:stop].strip():
        spans[-1] = (spans[-1][0], stop)  # what trails makes the last one malformed
    return _calls(text, spans), end


def _function(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """The call of one <function=NAME>. Its arguments are a JSON object, whose end is enough, or a <parameter=KEY> each, all closed."""
    arguments: str | dict[str, Any]
    span = next(_objects(text, mark.end(), _IN_TAG), None)
    if span:
        arguments, at = text[span[0] : span[1]], span[1]
    else:
        arguments, at = _parameters(text, mark.end())
    stop, end = _next(_FUNCTION_END, text, at)
    closed = stop < end
    if span and not closed:
        stop = end = at
    if text[at:stop].strip() or not (span or closed):
        call = malformed_code(mark["name"], "neither a JSON object nor closed parameters", text[mark.end() : stop])
    else:
        call = named_call(mark["name"].strip(), arguments, None)
    return [call], _skip(_TAG_CLOSED, text, end)


def _parameters(text: str, at: int) -> tuple[dict[str, Any], int]:
    """The closed parameters from `at` on, and where they end. Of a repeated one the last counts."""
    values: dict[str, Any] = {}
    while opening := _PARAMETER.match(text, at):
        stop, end = _next(_PARAMETER_END, text, opening.end())
        if stop == end:
            break
        values[opening[1].strip()] = _value(text[opening.end() : stop].removeprefix("\n").removesuffix("\n"))
        at = end
    return values, at


def _value(text: str) -> Any:
    try:
        value = parse(text)
    except NotStrict:
        return text
    return text if isinstance(value, str) else value


def _mistral(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """The calls after one [TOOL_CALLS]; none for an empty list."""
    if spans := list(_objects(text, mark.end(), _IN_MISTRAL)):
        return _calls(text, spans), _skip(_LIST_END, text, spans[-1][1])
    calls: list[Call] = []
    at = mark.end()
    while named := _NAMED.match(text, at):
        start = named.end()
        if text.startswith("{", start):
            at = next(_objects(text, start, _IN_MISTRAL))[1]
        else:
            at = _next(_MISTRAL_END, text, start)[0]
        calls.append(named_call(named[1], text[start:at].strip(), scrub(named[2]) if named[2] else None))
    if calls:
        return calls, at
    stop = _next(_MISTRAL_END, text, at)[0]
    inside = text[at:stop].strip()
    return [] if inside == "[]" else [_call(inside)], stop


def _python_tag(text: str, mark: re.Match[str]) -> tuple[list[Call], int]:
    """The calls after one <|python_tag|>: JSON, else code."""
    if mark["function"]:
        return _function(text, mark)
    if spans := list(_objects(text, mark.end(), _IN_LLAMA)):
        return _calls(text, spans), _skip(_LIST_END, text, spans[-1][1])
    stop = _next(_LLAMA_END, text, mark.end())[0]
    inside = text[mark.end() : stop].strip()
    code = _whole_code(inside)
    return list(code.calls) if code else [_call(inside)], stop


def _bare(names: Container[str] | None) -> _Read:
    """Reads the JSON calls that stand at a bracket, up to the first object that is none; without any, the object is text."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        calls: list[Call] = []
        at = mark.start("value")
        for start, stop in _objects(text, at, _IN_FENCE):
            call = _bare_call(text[start:stop], names)
            if call is None:
                at = at if calls else stop
                break
            calls.append(call)
            at = stop
        if not calls:
            return None, at
        at = _skip(_LIST_END, text, at)
        return calls, _skip(_FENCE_CLOSED, text, at) if mark[0].startswith("`") else at

    return read


def _bare_call(text: str, names: Container[str] | None) -> Call | None:
    """The call of a bare JSON object, broken or not; None when it has no name.

    Data has names too: where `names` are given, an object with neither arguments nor a name among them is a call only if it says
    nothing but its name.
    """
    if not _HAS_NAME.search(text):
        return None
    call = _call(text)
    return call if call.name and (names is None or call.name in names or _SURELY.search(text)) else None


def _scan_code(text: str, names: Container[str] | None) -> Parsed:
    """The calls that are written as code: of any name, or of one of these."""
    if "(" not in text:
        return _scan(text, _NOTHING, _code(names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own about "\d"
        return _scan(text, _CODE, _code(names))


def _whole_code(text: str) -> Parsed | None:
    """The calls of a text that is nothing but calls as code; None when it is anything else, such as `Note(this one)`."""
    found = _scan_code(text, None)
    if not found.calls or found.text.strip("[],;`\n "):
        return None
    alike = any(not call.malformed or _BEGINS_AS_CODE.match(call.text) for call in found.calls)
    return Parsed(found.calls, "", found.thinking) if alike else None


def _code(names: Container[str] | None) -> _Read:
    """Reads one call as code. An unclosed one goes to the end; a closed one that is malformed, such as `item(s)`, is text in mid-prose."""

    def read(text: str, mark: re.Match[str]) -> tuple[list[Call] | None, int]:
        if names is not None and mark["name"] not in names:
            return None, mark.end()
        stop, closed = _balanced(_IN_CODE, text, mark.end() - 1)
        call = read_code_call(mark["name"], text[mark.start("name") : stop])
        if call.malformed and closed and mark["place"] is None:
            return None, stop
        return [call], _skip(_FENCE_CLOSED, text, _skip(_LIST_END, text, stop))

    return read


def _objects(text: str, at: int, brackets: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where each JSON object starts and ends of those that stand from `at` on, alone, one after the other or in lists.

    A broken one ends with its brackets; where they do not close, at the mark that ends them all.
    """
    while opening := _NEXT_OBJECT.match(text, at):
        start = opening.end() - 1
        end = _json_end(text, start)
        at = _balanced(brackets, text, start)[0] if end is None else _skip(_EXTRA_BRACES, text, end)
        yield start, at


def _json_end(text: str, start: int) -> int | None:
    """Where the JSON value ends; None when it is broken. Decoded in growing pieces, as a refusal costs the length of what was given."""
    size = _FIRST_PIECE
    while True:
        piece = text[start : start + size]
        try:
            return start + int(_decode(piece)[1])
        except json.JSONDecodeError as problem:
            cut = problem.pos > len(piece) - _LONGEST_WORD or problem.msg.startswith("Unterminated")
            if not cut or start + size >= len(text):
                return None
        except RecursionError:
            return None
        size *= 4


def _balanced(brackets: re.Pattern[str], text: str, start: int) -> tuple[int, bool]:
    """Where the bracket at `start` is closed, and True; where it is not, the mark that ends it or the end of the text, and False."""
    depth = 0
    for found in brackets.finditer(text, start):
        if found[2]:
            depth += 1
        elif found[3]:
            depth -= 1
            if not depth:
                return found.end(), True
        elif found[1]:
            return found.start(), False
    return len(text), False


def _calls(text: str, spans: list[tuple[int, int]]) -> list[Call]:
    return [_call(text[start:stop]) for start, stop in spans]


def _call(text: str) -> Call:
    """The call that a JSON text stands for; malformed where it is none, with the name that a laxer reader finds."""
    text = text.strip()
    if not text:
        return Call("", malformed="nothing where a call was opened")
    try:
        return read_call(_with_arguments(parse(text, deepest=DEEPEST + _LEVELS_AROUND)))
    except NotStrict as problem:
        reason = f"arguments: {problem}"
    try:
        call = read_call(json.loads(text))
    except (ValueError, RecursionError):
        found = _NAME.search(text)
        return malformed_code(found[1] if found else "", reason, text)
    return Call(call.name, {}, call.id, call.malformed or reason, scrub(text))


def _with_arguments(value: Any) -> Any:
    """The value with Llama's `parameters` under the name that every other shape has."""
    if not isinstance(value, dict):
        return value
    for key in ("function", "tool"):
        if isinstance(value.get(key), dict):
            return {**value, key: _with_arguments(value[key])}
    if "parameters" in value and not value.keys() & {"arguments", "input", "kwargs"}:
        return {**value, "arguments": value["parameters"]}
    return value


def _next(pattern: re.Pattern[str], text: str, at: int) -> tuple[int, int]:
    """Where a pattern next stands, the end of the text when it does not; as long as nothing for that and for a mere lookahead."""
    found = pattern.search(text, at)
    return found.span() if found else (len(text), len(text))


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _without_endings(text: str) -> str:
    """The text, stripped, without the marks that end a turn."""
    text = text.strip()
    end = len(text)
    while ending := next((mark for mark in _ENDINGS if text.endswith(mark, 0, end)), None):
        end -= len(ending)
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _joined(pieces: list[str]) -> str:
    return scrub("\n".join(piece for piece in map(str.strip, pieces) if piece))
