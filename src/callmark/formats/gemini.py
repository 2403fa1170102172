"""The format of the Gemini API: `{"systemInstruction": {…}, "contents": [{"role", "parts"}], "tools": [{"functionDeclarations": […]}]}`.

    parts     text, functionCall {id, name, args}, functionResponse {id, name, response}, inlineData, …; text with `thought` is thinking
    tools     schemas with types in upper case (`STRING`), or a JSON Schema under `parametersJsonSchema`
    config    may hold `systemInstruction` and `tools`, as in the SDK

Keys are in camelCase or in snake_case. Results usually have no id: then they belong to the open calls by name.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.formats.chat_rows import (
    Fields,
    Members,
    Turn,
    any_text,
    build_conversation,
    content_of,
    find_role,
    known_part,
    malformed_call,
    optional_text,
    other_part,
    read_object,
    read_objects,
    read_part_call,
    read_row,
    refuse_calls,
    result_message,
    text_part,
    without_nulls,
)
from callmark.formats.format import Format, ReadContext
from callmark.formats.json_fields import json_kind, read_text, read_value
from callmark.types import Call, Conversation, Place

_ROLES = {"user": "user", "model": "assistant", "function": "tool", "tool": "tool", "system": "system"}
_ROW_KEYS = frozenset({"id", "contents", "tools", "systemInstruction", "system_instruction", "config"})
_PART_KEYS = {  # what a part is, by the key that it has
    "functionCall": "call",
    "function_call": "call",
    "functionResponse": "result",
    "function_response": "result",
    "text": "text",
}
_ANNOTATIONS = frozenset(
    {"thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata", "videoMetadata", "video_metadata"}
)
_SERVER_PARTS = frozenset({"executableCode", "executable_code", "codeExecutionResult", "code_execution_result"})  # ran on the server
_PARTIAL_KEYS = frozenset({"partialArgs", "partial_args", "willContinue", "will_continue"})
_RESULT_KEYS = ("result", "output", "content")  # under which a text result is wrapped
_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_SCHEMA_KEYS = {
    "any_of": "anyOf",
    "additional_properties": "additionalProperties",
    "defs": "$defs",
    "ref": "$ref",
    "max_items": "maxItems",
    "min_items": "minItems",
    "max_length": "maxLength",
    "min_length": "minLength",
    "max_properties": "maxProperties",
    "min_properties": "minProperties",
    "property_ordering": "propertyOrdering",
}
_SCHEMA_MAPS = frozenset({"properties", "$defs"})
_DATA_KEYS = frozenset({"enum", "default", "example", "required"})


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI form."""
    fields = read_row(row)
    if "contents" not in fields:
        raise BadInput("contents is missing")
    config = read_object(fields["config"], "config") if "config" in fields else {}
    messages: list[Fields] = []
    given = [(source[key], key) for source in (fields, config) for key in ("systemInstruction", "system_instruction") if key in source]
    messages += [{"role": "system", "content": prompt} for raw, key in given if (prompt := _instruction(raw, key))]
    if json_kind(fields["contents"]) == '"':
        messages.append({"role": "user", "content": read_text(fields["contents"])})
    else:
        for index, content in enumerate(read_objects(fields["contents"], "contents")):
            messages += _read_content(content, f"contents[{index}]")
    tools = fields.get("tools", config.get("tools", Raw(b"[]")))
    return build_conversation(messages, _openai_tools(tools), given_id=fields.get("id"), row=row, place=place, context=context)


def _instruction(raw: Raw, where: str) -> Any:
    if json_kind(raw) == '"':
        return read_text(raw)
    parts = read_objects(raw, where) if json_kind(raw) == "[" else _parts(read_object(raw, where), where)
    return content_of([_plain_part(part, f"{where}.parts[{index}]") for index, part in enumerate(parts)])


def _parts(content: Members, where: str) -> list[Members]:
    return read_objects(content["parts"], f"{where}.parts") if "parts" in content else []


def _read_content(content: Members, where: str) -> list[Fields]:
    """Convert one content: its results, and the text and calls before, between and after them."""
    role = find_role(optional_text(content, "role", where) or "user", _ROLES, f"{where}.role")
    refuse_calls(content, where)
    turn = Turn("user" if role == "tool" else role)
    for number, part in enumerate(_parts(content, where)):
        at = f"{where}.parts[{number}]"
        kind = next((_PART_KEYS[key] for key in part if key in _PART_KEYS), "other")
        if kind == "call":
            turn.calls.append(_read_call(part, at))
        elif kind == "result":
            turn.add_result(_read_result(part, at))
        elif kind == "text" and bytes(part.get("thought", b"")) == b"true":
            turn.thinking.append(optional_text(part, "text", at))
        else:
            turn.parts.append(_plain_part(part, at))
    return turn.messages()


def _plain_part(part: Members, where: str) -> Fields:
    if "text" in part:
        refuse_calls(part.keys() - _ANNOTATIONS - {"text"}, where)
        return text_part(optional_text(part, "text", where))
    own = {key: value for key, value in part.items() if key not in _ANNOTATIONS}
    kind = next(iter(own), "part")
    return known_part(kind) if kind in _SERVER_PARTS else other_part(kind, own, where)


def _read_call(part: Members, where: str) -> Call:
    key = "functionCall" if "functionCall" in part else "function_call"
    call = read_object(part[key], f"{where}.{key}")
    if partial := next((name for name in _PARTIAL_KEYS if name in call and bytes(call[name]) not in (b"false", b"[]")), ""):
        return malformed_call(any_text(call.get("name", Raw(b"null"))), dump(read_value(part[key])), f"incomplete ({partial})")
    return read_part_call(call, ignore=_PARTIAL_KEYS)


def _read_result(part: Members, where: str) -> Fields:
    key = "functionResponse" if "functionResponse" in part else "function_response"
    result = read_object(part[key], f"{where}.{key}")
    value = read_value(result["response"]) if "response" in result else None
    is_error = isinstance(value, dict) and "error" in value
    if isinstance(value, dict) and len(value) == 1:
        [(wrapper, inner)] = value.items()
        value = inner if wrapper in _RESULT_KEYS and isinstance(inner, str) else value
    text = value if isinstance(value, str) else "" if value is None else dump(value)
    return result_message(text, optional_text(result, "id", where), optional_text(result, "name", where), is_error=is_error)


def _openai_tools(raw: Raw) -> bytes:
    """Return the declared functions in the OpenAI form; tools of the server, such as a search, are left out."""
    value = read_value(raw)
    value = read_value(value.encode()) if isinstance(value, str) else value
    tools = value if isinstance(value, list) else [value]
    found: list[Any] = []
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise BadInput(f"tools[{index}]: expected an object")
        if "function" in tool or "name" in tool:  # not Gemini's form: the reader of tool lists knows it or refuses it
            found.append(tool)
            continue
        declarations = tool.get("functionDeclarations") or tool.get("function_declarations") or []
        if not isinstance(declarations, list):
            raise BadInput(f"tools[{index}].functionDeclarations: expected a list")
        found += [_openai_tool(declaration) for declaration in declarations]
    return dump(found).encode()


def _openai_tool(declaration: Any) -> Any:
    if not isinstance(declaration, dict):
        return declaration
    schema = next(
        (declaration[key] for key in ("parametersJsonSchema", "parameters_json_schema") if declaration.get(key) is not None), None
    )
    if schema is None:
        schema = _json_schema(declaration.get("parameters") or {})
    function = {"name": declaration.get("name"), "description": declaration.get("description"), "parameters": schema}
    return {"type": "function", "function": function}


def _json_schema(schema: Any) -> Any:
    """Return one of Gemini's schemas as a JSON Schema: types in lower case, keys in camelCase, no nulls."""
    if isinstance(schema, list):
        return [_json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    converted: dict[str, Any] = {}
    for given, inner in schema.items():
        key = str(_SCHEMA_KEYS.get(given, given))
        if inner is None or (key == "type" and inner == "TYPE_UNSPECIFIED"):
            continue
        if key == "type" and inner in _TYPES:
            converted[key] = inner.lower()
        elif key in _SCHEMA_MAPS and isinstance(inner, dict):
            converted[key] = {name: _json_schema(one) for name, one in inner.items()}
        else:
            converted[key] = inner if key in _DATA_KEYS else _json_schema(inner)
    return converted


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `contents`, a string or a list of objects with parts."""
    contents = bytes(fields.get("contents", b""))
    return 0.9 if contents.startswith((b"[", b'"')) and "messages" not in fields else 0.0


def _leftover_keys(row: bytes) -> Iterable[str]:
    return (key for key in without_nulls(read_row(row)) if key not in _ROW_KEYS)


FORMAT = Format("gemini", "Gemini contents", detect, read, leftover_keys=_leftover_keys)
