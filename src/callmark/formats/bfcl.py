"""The Berkeley Function Calling Leaderboard, v3 and v4: `{"id", "question", "function", "ground_truth"}`.

    question       a list of turns, each a list of messages
    function       the tools, with types of Python, Java or JavaScript
    ground_truth   for a single turn: [{NAME: {PARAMETER: [values that are right]}}], "" among them if it may be left out;
                   for several turns: for each turn a list of calls as code

The leaderboard's own files have the ground truth in `possible_answer/`, and the tools of several turns in `multi_turn_func_doc/`:
`bfcl_files.py` joins them. A single turn is a case. Its expected calls are matchers, so that every evaluator works; the evaluator `bfcl`
uses the ground truth itself, which is in the data of the case. Several turns are a conversation, and a scenario with all calls where cases
are needed. Relevance expects a call of any of the tools, irrelevance none. Memory and web search have answers instead of calls, and raise
`BadInput`; so does ground truth that is missing. An empty list of accepted values is met by no value.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.bfcl_code import NotCallsError, read_value
from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import ABSENT, explain_validation_error, read_messages
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats.exchanges import build_conversation, call_message
from callmark.formats.format import Format, ReadContext, ToolList, check_utf8, row_id
from callmark.formats.python_schemas import json_schema_tools
from callmark.types import Call, Case, Conversation, Place, SourceRow

_CATEGORY = re.compile(r"(.+?)_\d+(?:-\d+)*(?:-[a-z]\w*-\d+)?$")
_AGENTIC = ("memory", "web_search")
_NO_ANSWERS = ("relevance", "chatable")  # irrelevance is one of them
_HINT = "The leaderboard keeps it in possible_answer/, in a file of the same name beside the questions."
_OBJECTS = frozenset({"dict", "HashMap"})
_LISTS = frozenset({"array", "tuple", "Array", "ArrayList"})


class _Row(Struct):
    id: Any
    question: list[list[Raw]]
    function: Any = None
    ground_truth: Raw = ABSENT

    @property
    def is_answered(self) -> bool:
        return self.ground_truth is not ABSENT and bytes(self.ground_truth) != b"null"


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `question` and the tools of the leaderboard, or the classes that have them."""
    is_question = bytes(fields.get("question", b"")).startswith(b"[")
    return 0.9 if is_question and ("function" in fields or "involved_classes" in fields) else 0.0


def category_of(name: str) -> str:
    """Return the category in the id of a row, such as `live_simple` of `live_simple_12-3-0`; empty if there is none."""
    found = _CATEGORY.match(name)
    return found[1] if found else ""


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the case of a single turn, and the conversation of several turns."""
    wire = _read_row(row, place)
    tools = context.read_tools(json_schema_tools(wire.function, where="function"))
    return _conversation(wire, tools, row, place) if _has_turns(wire) else _case(wire, tools, row, place)


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case of a single turn; of several turns, the scenario that expects the calls of all turns."""
    wire = _read_row(row, place)
    tools = context.read_tools(json_schema_tools(wire.function, where="function"))
    if not _has_turns(wire):
        return _case(wire, tools, row, place)
    whole = _conversation(wire, tools, row, place)
    said = "\n".join(message.text for message in whole.messages if message.role == "user" and message.text)
    return Case(wire.id, (), tools[1], place, whole.original, expected=tuple(map(_literal, whole.calls)), instructions=said)


def _read_row(row: bytes, place: Place) -> _Row:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    wire.id = row_id(wire.id, place)
    category = category_of(wire.id)
    if category.startswith(_AGENTIC):
        raise BadInput(f"id: {category}: its ground truth is a text answer, not calls, so there is nothing to compare")
    if not wire.is_answered and not any(word in category for word in _NO_ANSWERS):
        raise BadInput("ground_truth: missing", _HINT)
    return wire


def _has_turns(wire: _Row) -> bool:
    return len(wire.question) != 1 or category_of(wire.id).startswith("multi_turn")


def _case(wire: _Row, tools: ToolList, row: bytes, place: Place) -> Case:
    texts = wire.question[0]
    messages = read_messages(b"[" + b",".join(map(bytes, texts)) + b"]", "question[0]")
    category = category_of(wire.id)
    functions = wire.function if isinstance(wire.function, list) else [wire.function]
    data = {"category": category, "function": functions, "ground_truth": []}
    alternatives: tuple[tuple[Call, ...], ...] = ()
    if not wire.is_answered:
        any_calls = () if "irrelevance" in category or "relevance" not in category else tuple(map(_any_call, functions))
        expected, alternatives = any_calls[:1], tuple((call,) for call in any_calls[1:])
    else:
        answers = _parse(wire.ground_truth)
        data["ground_truth"] = answers
        expected = tuple(_expected_call(answer, functions, f"ground_truth[{index}]") for index, answer in enumerate(_list(answers)))
    original = SourceRow(messages, tools[1], row, b"", texts, tools[0], expected=expected)
    return Case(wire.id, messages, tools[1], place, original, expected=expected, alternatives=alternatives, data={"bfcl": data})


def _conversation(wire: _Row, tools: ToolList, row: bytes, place: Place) -> Conversation:
    turns = _list(_parse(wire.ground_truth)) if wire.is_answered else []
    if len(turns) != len(wire.question):
        raise BadInput(f"ground_truth: expected calls for {len(wire.question)} turns, got {len(turns)}", _HINT)
    parameters = {tool.name: list(tool.parameters.get("properties") or ()) for tool in tools[1]}
    texts: list[bytes | Raw] = []
    for index, (messages, calls) in enumerate(zip(wire.question, turns, strict=True)):
        texts += messages
        if calls:
            read = [_code_call(code, parameters, f"ground_truth[{index}]") for code in _list(calls)]
            texts.append(call_message(read))
    return build_conversation(wire.id, texts, tools, place, row)


def _parse(text: Raw) -> Any:
    try:
        return parse(bytes(text))
    except NotStrict as problem:
        raise BadInput(f"ground_truth: {problem}") from None


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise BadInput(f"ground_truth: expected a list, got {dump(value)[:40]}")


def _expected_call(answer: Any, functions: Sequence[Any], where: str) -> Call:
    """Return the expected call of an answer, with a matcher for each parameter that has several accepted values or may be left out."""
    if not isinstance(answer, dict) or len(answer) != 1 or not all(isinstance(values, dict) for values in answer.values()):
        raise BadInput(f"{where}: expected {{NAME: {{PARAMETER: [values]}}}}, got {dump(answer)[:60]}")
    [(name, parameters)] = answer.items()
    function = next((each for each in functions if isinstance(each, dict) and each.get("name") == name), {})
    schemas = (function.get("parameters") or {}).get("properties") or {}
    return Call(name, {key: _expected_value(values, schemas.get(key), f"{where}.{name}.{key}") for key, values in parameters.items()})


def _expected_value(values: Any, schema: Any, where: str) -> Any:
    if not isinstance(values, list):
        raise BadInput(f"{where}: expected a list of accepted values, got {dump(values)[:60]}")
    if not values:
        return {"$not": {"$any": True}}
    schema = schema if isinstance(schema, dict) else {}
    choices = [_accepted_value(value, schema, where) for value in values if value != ""]
    right = choices[0] if len(choices) == 1 else {"$one_of": choices} if choices else ""
    return {"$optional": right} if "" in values else right


def _accepted_value(value: Any, schema: Mapping[str, Any], where: str) -> Any:
    """Return an accepted value. Objects have a list of accepted values for each of their keys, in lists of objects too."""
    kind, items = schema.get("type"), schema.get("items")
    if kind in _OBJECTS and isinstance(value, dict) and all(isinstance(inner, list) for inner in value.values()):
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        return {key: _member(inner, known.get(key), f"{where}.{key}") for key, inner in value.items()}
    if kind in _LISTS and isinstance(value, list) and isinstance(items, dict) and items.get("type") in _OBJECTS:
        return [_accepted_value(item, items, where) for item in value]
    return wrap_literal(value)


def _member(values: list[Any], schema: Any, where: str) -> Any:
    found = _expected_value(values, schema, where)
    return found["$optional"] if isinstance(found, dict) and "$optional" in found and len(values) == 1 else found


def _any_call(function: Any) -> Call:
    """Return a call of a tool with any arguments."""
    schemas = (function.get("parameters") or {}).get("properties") or {}
    return Call(function["name"], {name: {"$optional": {"$any": True}} for name in schemas})


def _code_call(code: Any, parameters: Mapping[str, Sequence[str]], where: str) -> Call:
    """Return a call written as code. Its positional arguments are those of the parameters, in order."""
    try:
        body = ast.parse(code, mode="eval").body if isinstance(code, str) and len(code) < 10_000 else None
        if not isinstance(body, ast.Call) or not isinstance(body.func, ast.Name):
            raise NotCallsError("not a call")
        names = parameters.get(body.func.id, ())
        if len(body.args) > len(names):
            raise NotCallsError(f"{body.func.id} has no parameters for positional arguments")
        positional = zip(names, map(read_value, body.args), strict=False)
        named = ((word.arg, read_value(word.value)) for word in body.keywords if word.arg)
        return Call(body.func.id, plain_arguments({**dict(positional), **dict(named)}))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise BadInput(f"{where}: expected calls as code, got {dump(code)[:60]} ({error})") from None


def plain_arguments(arguments: Mapping[Any, Any]) -> dict[str, Any]:
    """Return Python values as JSON values: tuples are lists, and what JSON does not have is text."""
    return {str(key): _plain(value) for key, value in arguments.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return plain_arguments(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _literal(call: Call) -> Call:
    return Call(call.name, {key: wrap_literal(value) for key, value in call.arguments.items()}, call.id, call.malformed, call.text)


FORMAT = Format("bfcl", "Berkeley Function Calling Leaderboard", detect, read, read_case=read_case)
