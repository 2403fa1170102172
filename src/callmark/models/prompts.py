"""What a model is asked: the body of a chat completion request.

Messages and tools go out as they stood, unknown keys and all; they are joined, not read and written again. Only calls that are not in
OpenAI's form, or have no id, are written anew, because servers refuse them.

For a model without tool calling (`tools_in_prompt`) the tools are described in the system message, and the calls and results of the talk
are told as text. `free`: it may say what it likes, and calls in <tool_call> tags. `constrained`: the server is asked to let it say nothing
but one call, or `{"reply": "…"}` where none is due; `read_constrained` reads that.
"""

import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from callmark.calls.messages import RESULT_ROLES, call_text, keep_calls, message_text, message_texts
from callmark.calls.parsing import Parsed, parse_calls
from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, decode, dump, is_strict, parse, scrub
from callmark.calls.toolsets import read_tools, tools_text
from callmark.errors import BadInput
from callmark.models.model import ModelSettings
from callmark.types import Call, Case, Message, Text, Tool

_ABOUT_TOOLS = ("tool_choice", "parallel_tool_calls")  # servers refuse them where there are no tools
_TAKEN = {
    "model": "name it with --model",
    "messages": "they are the case's own",
    "tools": "they are the case's own",
    "stream": "an answer is always read whole",
    "n": "--trials asks several times",
}
_SECRET = re.compile(
    r"(?:^|_)(?:api_?key|auth|authorization|authentication|bearer|secret|password|credentials?|(?:access|auth|api)_?token)(?:$|_)|^(?:key|token)$"
)
_LOOKS_SECRET = re.compile(r"\s*(?:bearer\s|sk-\S{16})", re.IGNORECASE)

# The call comes last, and words of the talk stay words: a small model says what it saw last, and most often.
_FREE = """To call a tool, answer with its name and its arguments as JSON, one line for each call:
<tool_call>{"name": "the tool", "arguments": {"its parameter": "value"}}</tool_call>"""
_FREE_WORDS = "When no call is due, answer in plain words."
_BARE = """To call a tool, give its name and its arguments:
{"name": "the tool", "arguments": {"its parameter": "value"}}"""
_BARE_ONLY = "Answer with one JSON object and nothing else."
_BARE_WORDS = 'When no call is due: {"reply": "what you say to the user"}'

_REPLY = re.compile(r'\s*+(?:```\w*+\s*+)?\{\s*+"reply"\s*+:\s*+(".*)', re.DOTALL)
_STRING_END = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)

_KNOWN_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_ANY = {"type": ["string", "number", "boolean", "object", "array", "null"]}  # an empty schema is an object to some grammars
_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
_DEEPEST_SCHEMA = 12
_LARGEST_SCHEMA = 5_000  # parts of all tools together, after every reference has been followed
_MOST_ITEMS = 64
_LONGEST_NUMBER = 1 << 53


class _Function(Struct, gc=False):
    name: str
    arguments: str


class _AskableCall(Struct, gc=False):
    id: str
    type: Literal["function"]
    function: _Function


class _Askable(Struct, gc=False):
    """A message with calls that every server takes."""

    tool_calls: list[_AskableCall]


_decode_askable = msgspec.json.Decoder(_Askable).decode


def request_body(case: Case, name: str, settings: ModelSettings) -> bytes:
    """The JSON of the request that asks the model `name` for the next step of a case.

    Without tools there is neither `tools` nor `tool_choice` in it. A case without messages (a scenario has none) raises `BadInput`, and so
    does one that was made in Python and cannot be written as JSON, or a parameter that `check_params` refuses.
    """
    if not case.messages:
        raise BadInput(f"{scrub(case.id)} has no messages, so there is nothing to ask")
    count = len(case.messages) - dropped_trailing(case, settings)
    if settings.tools_in_prompt in ("free", "constrained"):
        return _body_in_prompt(case, name, settings, count)
    tools = tools_text(case) if case.tools else b""
    made = case.original.messages is not case.messages or case.original.tools is not case.tools
    try:
        body = b'{"model":%b,"messages":[%b]%b%b}' % (
            dump(scrub(name)).encode(),
            b",".join(_askable_texts(case)[:count]),
            b',"tools":' + tools if tools else b"",
            _parameters(settings, {}, tools=bool(tools)),
        )
        if made:
            decode(body)
    except (ValueError, RecursionError):
        raise BadInput(f"{scrub(case.id)} holds something that JSON has no word for, so no model can be asked") from None
    return body


def dropped_trailing(case: Case, settings: ModelSettings) -> int:
    """How many assistant messages at the very end are not sent: many servers refuse a prompt that ends in one, or go on writing it.

    None is dropped where nothing would be left.
    """
    if settings.trailing_assistant == "keep":
        return 0
    return next((after for after, message in enumerate(reversed(case.messages)) if message.role != "assistant"), 0)


def check_params(params: dict[str, Any]) -> None:
    """Raises `BadInput` for a parameter that is callmark's own to set, holds what JSON has no word for, or looks like a key."""
    for name in params:
        if name in _TAKEN:
            raise BadInput(f"the parameter {name} cannot be set", _TAKEN[name])
    if secret := _secret(params):
        raise BadInput(
            f"the parameter {scrub(secret)} looks like a key, and parameters are recorded", "name the variable that holds it: api_key_env"
        )
    try:
        msgspec.json.encode(params)
        writable = is_strict(params)
    except (TypeError, ValueError, RecursionError):
        writable = False
    if not writable:
        raise BadInput("a parameter holds something that JSON has no word for, such as NaN")


def read_constrained(text: str, names: Container[str] = ()) -> Parsed:
    """What a `constrained` model said: `{"reply": "…"}` is text without calls, also where it was cut off; all else is read for calls.

    `names`, the tools that are known, help where the server let it say anything.
    """
    if found := _REPLY.match(text):
        return Parsed((), _reply(found[1]))
    thought = parse_calls(text, "hermes")
    if thought.thinking and not thought.calls and (found := _REPLY.match(thought.text)):
        return Parsed((), _reply(found[1]), thought.thinking)
    return parse_calls(text, "auto", names=names)


def _reply(quoted: str) -> str:
    """The text of a JSON string; of one that was cut off as much as there is."""
    whole = _STRING_END.match(quoted)
    text = whole[0] if whole else quoted.rstrip("\\") + '"'
    try:
        return str(parse(text))
    except NotStrict:
        return scrub(text[1:-1])


# Parameters


def _parameters(settings: ModelSettings, fields: dict[str, Any], *, tools: bool) -> bytes:
    """`,"temperature":0,…`: what the settings say and then `fields`; a parameter goes before the setting of the same name."""
    if tools and settings.tool_choice is not None:
        fields["tool_choice"] = settings.tool_choice
    if settings.temperature is not None:
        if not isfinite(settings.temperature):
            raise BadInput(f"the temperature is {settings.temperature}, a finite number was expected")
        fields["temperature"] = settings.temperature
    if settings.params:
        check_params(settings.params)
        fields.update(settings.params)
        if not tools:
            for key in _ABOUT_TOOLS:
                fields.pop(key, None)
    return b"," + dump(fields)[1:-1].encode() if fields else b""


def _secret(value: Any) -> str:
    """The first key, at any depth, that by its name or its value holds a secret; empty where none does."""
    rest: list[tuple[str, Any]] = [("", value)]
    for name, item in rest:  # grows while it is gone over
        if len(rest) > _LARGEST_SCHEMA:
            break
        if isinstance(item, dict):
            rest.extend((str(key), inner) for key, inner in item.items())
        elif isinstance(item, list):
            rest.extend((name, inner) for inner in item)
        if name and (_names_a_secret(name) or (item.__class__ is str and _LOOKS_SECRET.match(item))):
            return name
    return ""


@lru_cache(maxsize=256)
def _names_a_secret(name: str) -> bool:
    return _SECRET.search(name.lower().replace("-", "_")) is not None


# Messages as they stood


def _askable_texts(case: Case) -> Sequence[Text]:
    """The JSON of each message: as it stood, or with every call in OpenAI's form and with an id, where one was not."""
    texts = message_texts(case)
    messages = case.messages
    for index, message in enumerate(messages):
        if message.calls:
            try:
                if len(_decode_askable(texts[index]).tool_calls) == len(message.calls):
                    continue
            except (ValueError, RecursionError):
                pass
            return _mended_texts(messages, texts)
        if message.tool_call_id is None and message.role in RESULT_ROLES:
            return _mended_texts(messages, texts)
    return texts


def _mended_texts(messages: Sequence[Message], texts: Sequence[Text]) -> Sequence[Text]:
    results = match_results(messages).of
    answers = {answer: at for at, answer in results.items()}
    mended = list(texts)
    for index, message in enumerate(messages):
        if message.calls:
            calls = [structs.replace(call, id=_call_id(call, index, place)) for place, call in enumerate(message.calls)]
            mended[index] = keep_calls(texts[index], [call_text(call) for call in calls])
        elif index in answers:
            asked, place = answers[index]
            call_id = _call_id(messages[asked].calls[place], asked, place)
            mended[index] = message_text(Message("tool", message.text, (), call_id, message.name))
    return mended


def _call_id(call: Call, index: int, place: int) -> str:
    return call.id or f"call_{index}_{place}"


# Tools and calls as text


def _body_in_prompt(case: Case, name: str, settings: ModelSettings, count: int) -> bytes:
    bare = settings.tools_in_prompt == "constrained"
    choice = settings.params.get("tool_choice", settings.tool_choice)
    offer = _offer(tools_text(case), _chosen(choice), bare) if case.tools and choice != "none" else None
    messages = _told(case.messages[:count], offer.instructions if offer else "", bare=bare)
    fields: dict[str, Any] = {}
    if offer and offer.schema:
        fields["response_format"] = offer.schema
    return b'{"model":%b,"messages":%b%b}' % (
        dump(scrub(name)).encode(),
        dump(messages).encode(),
        _parameters(settings, fields, tools=False),
    )


def _told(messages: Sequence[Message], instructions: str, *, bare: bool) -> list[dict[str, str]]:
    """Messages of system, user and assistant with nothing but text; neighbours of one role are one message, empty ones are none."""
    told: list[tuple[str, list[str]]] = []
    for message in messages:
        role, text = _as_text(message, bare=bare)
        if not text:
            continue
        if not told or told[-1][0] != role:
            told.append((role, []))
        told[-1][1].append(text)
    if instructions:
        first = next((parts for role, parts in told if role == "system"), None)
        if first is None:
            told.insert(0, ("system", [instructions]))
        else:
            first.append(instructions)
    return [{"role": role, "content": "\n\n".join(parts)} for role, parts in told] or [{"role": "user", "content": ""}]


def _as_text(message: Message, *, bare: bool) -> tuple[str, str]:
    text = scrub(message.text)
    if message.role in RESULT_ROLES:
        return "user", f"<tool_response>\n{text}\n</tool_response>"
    if message.role != "assistant":
        return "system" if message.role in ("system", "developer") else "user", text
    calls = [_call_as_text(call) for call in message.calls]
    return "assistant", "\n".join([*([text] if text else []), *(calls if bare else [f"<tool_call>{call}</tool_call>" for call in calls])])


def _call_as_text(call: Call) -> str:
    return scrub(call.text) if call.malformed else dump({"name": call.name, "arguments": call.arguments})


class _Offer(Struct, frozen=True):
    instructions: str
    schema: dict[str, Any]  # the response format; empty where none is asked for


def _chosen(choice: Any) -> str:
    """What a tool choice demands: nothing (""), any call ("required"), or a call of the tool of that name."""
    if isinstance(choice, dict):
        function = choice.get("function", choice)
        name = function.get("name") if isinstance(function, dict) else None
        return name if isinstance(name, str) else "required"
    return "required" if choice in ("required", "any") else ""


@lru_cache(maxsize=64)
def _offer(tools_json: bytes, chosen: str, bare: bool) -> _Offer:
    """The tools of a case as instructions and, where the answer is to be bare JSON, as its schema."""
    try:
        tools = read_tools(parse(tools_json))
    except NotStrict as problem:
        raise BadInput(f"the tools cannot be written into the prompt: {problem}") from None
    tools = tuple(tool for tool in tools if tool.name == chosen) or tools
    left = [_LARGEST_SCHEMA]
    schemas = [_arguments(tool.parameters, left) for tool in tools]
    listed = "\n".join(line for tool, schema in zip(tools, schemas, strict=True) for line in _lines(tool, schema))
    words = [] if chosen else [_BARE_WORDS if bare else _FREE_WORDS]
    how = " ".join([*([_BARE_ONLY] if bare else []), *words])
    instructions = f"# Tools\n\n{listed}\n\n" + "\n".join(part for part in (how, _BARE if bare else _FREE) if part)
    if not bare:
        return _Offer(instructions, {})
    calls = [_exactly(name={"const": tool.name}, arguments=schema) for tool, schema in zip(tools, schemas, strict=True)]
    answer = {"anyOf": [*calls, *([] if chosen else [_exactly(reply={"type": "string"})])]}
    return _Offer(instructions, {"type": "json_schema", "json_schema": {"name": "call", "schema": answer}})


def _exactly(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _lines(tool: Tool, schema: dict[str, Any]) -> Iterator[str]:
    """`book(room: string, nights?: integer): Book a room` and a line for each parameter that is described."""
    said = " ".join(tool.description.split())
    yield f"- {tool.name}({_parts(schema)})" + (f": {said}" if said else "")
    for path, inner in _described(schema, ""):
        yield f"    {path}: {' '.join(inner.split())}"


def _parts(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    return ", ".join(f"{key}{'' if key in required else '?'}: {_type(inner)}" for key, inner in schema.get("properties", {}).items())


def _described(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for key, inner in schema.get("properties", {}).items():
        at = f"{path}{key}"
        if inner.get("description"):
            yield at, inner["description"]
        yield from _described(inner, f"{at}.")
        yield from _described(inner.get("items", {}), f"{at}[].")


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(dump(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(inner) for inner in schema["anyOf"]))
    if isinstance(schema["type"], list):
        return "any"
    match schema["type"]:
        case "object" if schema.get("properties"):
            return f"{{{_parts(schema)}}}"
        case "array":
            inner = _type(schema["items"]) if "items" in schema else "any"
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
    return str(schema.get("format", schema["type"]))


# Schemas that a grammar can be made of


def _simple(schema: Any, root: dict[str, Any], left: list[int], within: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON Schema with nothing in it but what every grammar knows: references followed, patterns and lengths left out.

    It admits all that the schema admits, apart from arguments that the schema does not name. What cannot be understood, refers to
    elsewhere or to what it stands in, nests too deep or is too large is anything at all. `within` are the references followed so far, a
    blank for each level without one.
    """
    left[0] -= 1
    if not isinstance(schema, dict) or len(within) > _DEEPEST_SCHEMA or left[0] < 0:
        return _ANY
    schema, followed = _merged(schema, root, within)
    within = (*within, *followed) if followed else (*within, "")
    simple: dict[str, Any] = {}
    if isinstance(schema.get("description"), str):
        simple["description"] = schema["description"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {**simple, "enum": schema["enum"]}
    if "const" in schema:
        return {**simple, "enum": [schema["const"]]}
    kinds = _kinds(schema)
    options = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list) and schema[key]), None)
    if options and "properties" not in schema:
        return {**simple, "anyOf": [_simple(option, root, left, within) for option in options]}
    if len(kinds) > 1:
        return {**simple, "anyOf": [_simple({**schema, "type": kind, "description": None}, root, left, within) for kind in kinds]}
    if not kinds:
        return {**simple, **_ANY}
    simple["type"] = kinds[0]
    match kinds[0]:
        case "object":
            simple.update(_object(schema, root, left, within))
        case "array":
            if isinstance(schema.get("items"), dict):
                simple["items"] = _simple(schema["items"], root, left, within)
            simple.update({key: schema[key] for key in ("minItems", "maxItems") if _whole(schema.get(key), 0, _MOST_ITEMS)})
        case "string" if isinstance(schema.get("format"), str) and schema["format"] in _FORMATS:
            simple["format"] = schema["format"]
        case "integer":
            limits = ("minimum", "maximum")
            simple.update({key: schema[key] for key in limits if _whole(schema.get(key), -_LONGEST_NUMBER, _LONGEST_NUMBER)})
    return simple


def _arguments(parameters: dict[str, Any], left: list[int]) -> dict[str, Any]:
    """The schema of a tool's arguments, which are an object whatever the tool says."""
    simple = _simple(parameters, parameters, left)
    return simple if simple.get("type") == "object" else {"type": "object"}


def _object(schema: dict[str, Any], root: dict[str, Any], left: list[int], within: tuple[str, ...]) -> dict[str, Any]:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(properties, dict) or (not properties and more):
        return {}
    required = schema.get("required")
    return {
        "properties": {key: _simple(inner, root, left, within) for key, inner in properties.items()},
        "required": [key for key in properties if isinstance(required, list) and key in required],
        "additionalProperties": bool(more),
    }


def _kinds(schema: dict[str, Any]) -> list[str]:
    """The types that a schema says or shows; none where it does not."""
    said = schema.get("type")
    kinds = [kind for kind in _KNOWN_TYPES if kind == said or (isinstance(said, list) and kind in said)]
    if kinds or said is not None:
        return kinds
    return ["object"] if isinstance(schema.get("properties"), dict) else ["array"] if isinstance(schema.get("items"), dict) else []


def _merged(schema: dict[str, Any], root: dict[str, Any], within: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """The schema with what it refers to, and all that it must be at once, in one; and the references that were followed for it."""
    followed: list[str] = []
    parts: list[dict[str, Any]] = []
    rest: list[Any] = [schema]
    while rest and len(parts) < _DEEPEST_SCHEMA:
        part = rest.pop(0)
        if not isinstance(part, dict):
            continue
        parts.append(part)
        reference = part.get("$ref")
        if isinstance(reference, str) and reference not in within and reference not in followed:
            followed.append(reference)
            rest.append(_referred(reference, root))
        if isinstance(part.get("allOf"), list):
            rest.extend(part["allOf"])
    if len(parts) == 1:
        return schema, followed
    merged: dict[str, Any] = {}
    for part in reversed(parts):
        properties = {**_dict(merged, "properties"), **_dict(part, "properties")}
        required = [*_list(merged, "required"), *_list(part, "required")]
        merged = {**merged, **part, **({"properties": properties} if properties else {}), **({"required": required} if required else {})}
    return merged, followed


def _referred(reference: str, root: dict[str, Any]) -> Any:
    """What `#/$defs/name` stands for; None where there is no such place in the tool's own schema."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found


def _dict(schema: dict[str, Any], key: str) -> dict[str, Any]:
    return schema[key] if isinstance(schema.get(key), dict) else {}


def _list(schema: dict[str, Any], key: str) -> list[Any]:
    return schema[key] if isinstance(schema.get(key), list) else []


def _whole(value: Any, least: int, most: int) -> bool:
    return value.__class__ is int and least <= value <= most
