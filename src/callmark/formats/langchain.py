"""LangChain messages in their three forms, and LangSmith runs that hold them.

    {"type": "ai", "content", "tool_calls": [{"name", "args", "id"}], "invalid_tool_calls", …}     as `model_dump()` writes them
    {"type": "ai", "data": {…}}                                                                    as `messages_to_dict` does
    {"lc": 1, "type": "constructor", "id": […, "AIMessage"], "kwargs": {…}}                        as `dumpd` does
    {"run_type", "inputs": {"messages"}, "outputs": {"messages" | "message" | "generations"}}      a run, or a row of an exported dataset

Messages are in a list, alone or under `messages`. An invalid tool call is malformed. Calls that only the provider's own fields have
(`additional_kwargs`, content blocks) are read from there. Messages of a run that are both input and output are read once; its tools are in
`extra.invocation_params`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import call_text
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.call_lists import read_call_list
from callmark.formats.chat_rows import (
    Fields,
    Members,
    any_text,
    build_conversation,
    content_of,
    find_role,
    known_part,
    malformed_call,
    optional_text,
    other_part,
    read_list,
    read_object,
    read_objects,
    read_part_call,
    read_row,
    refuse_calls,
    result_message,
    text_part,
)
from callmark.formats.format import Format, ReadContext
from callmark.formats.json_fields import json_kind, read_text
from callmark.types import Call, Conversation, Place

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "tool",
}
_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_MESSAGE_TYPES = frozenset({*_ROLES, "chat"}) - {"function"}
_MESSAGE_KEYS = frozenset({"tool_calls", "invalid_tool_calls", "tool_call_chunks", "tool_call_id", "function_call"})
_PROVIDER_KEYS = frozenset({"tool_outputs"})  # of tools that the server ran
_ROW_KEYS = frozenset({"id", "messages", "tools"})
_RUN_KEYS = frozenset({"id", "inputs", "outputs"})
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta"})
_SERVER_BLOCKS = frozenset({"server_tool_use", "server_tool_call", "server_tool_result", "web_search_call", "web_search_tool_result"})
_THINKING_BLOCKS = frozenset({"thinking", "reasoning", "redacted_thinking", "non_standard"})
_BLOCK_METADATA = frozenset({"extras", "partial_json", "caller", "index"})


class _Signature(Struct):
    type: Any = None
    lc: Any = None
    role: Any = None
    content: Raw = Raw(b"")
    data: Raw = Raw(b"")


_decode_signatures = msgspec.json.Decoder(list[_Signature]).decode
_decode_signature = msgspec.json.Decoder(_Signature).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row, with its messages converted to the OpenAI form."""
    fields = read_row(row)
    if "inputs" in fields:
        given, returned, tools = _read_run(fields)
        found = _joined(given, returned)
    elif "messages" in fields:
        found, tools = _placed(fields["messages"], "messages"), bytes(fields.get("tools", b""))
    else:
        raise BadInput("missing key 'messages'")
    messages = [message for raw, where in found for message in _read_message(raw, where)]
    return build_conversation(messages, tools, given_id=fields.get("id"), row=row, place=place, context=context)


_PlacedMessages = list[tuple[Raw, str]]


def _placed(raw: Raw, where: str) -> _PlacedMessages:
    """Return the messages of a list, or of the only list in it, with their places."""
    items = read_list(raw, where)
    if items and json_kind(items[0]) == "[":
        if len(items) > 1:
            raise BadInput(f"{where}: expected the messages of one conversation, got {len(items)} lists")
        return _placed(items[0], f"{where}[0]")
    return [(item, f"{where}[{index}]") for index, item in enumerate(items)]


def read_run(fields: Members) -> tuple[list[bytes], list[bytes], bytes]:
    """Return the messages of a run in the OpenAI form, those of its input and those of its output, and its tools."""
    given, returned, tools = _read_run(fields)
    before, after = (
        [msgspec.json.encode(message) for raw, where in found for message in _read_message(raw, where)] for found in (given, returned)
    )
    return before, after, tools


def _read_run(fields: Members) -> tuple[_PlacedMessages, _PlacedMessages, bytes]:
    """Return the messages of a run, those of its input and those of its output, and its tools."""
    inputs = read_object(fields["inputs"], "inputs")
    outputs = read_object(fields["outputs"], "outputs") if "outputs" in fields else {}
    given: _PlacedMessages = []
    if "messages" in inputs:
        given = _placed(inputs["messages"], "inputs.messages")
    elif text := next((key for key in ("input", "question", "prompt") if key in inputs), ""):
        given = _input(inputs[text], f"inputs.{text}")
    else:
        problem = "got only text" if "prompts" in inputs else f"got {', '.join(inputs)[:80] or 'no keys'}"
        raise BadInput(f"inputs: expected messages, {problem}")
    returned = _outputs(outputs)
    return given, returned, _run_tools(fields, inputs)


def _input(raw: Raw, where: str) -> _PlacedMessages:
    if json_kind(raw) == "[":
        return _placed(raw, where)
    return [(Raw(msgspec.json.encode({"type": "human", "content": any_text(raw)})), where)]


def _outputs(outputs: Members) -> _PlacedMessages:
    if "messages" in outputs:
        return _placed(outputs["messages"], "outputs.messages")
    if "generations" in outputs:
        generations = read_list(outputs["generations"], "outputs.generations")
        where = "outputs.generations[0]"
        if generations and json_kind(generations[0]) == "[":
            generations, where = read_list(generations[0], where), f"{where}[0]"
        first = read_object(generations[0], where) if generations else {}
        return [(first["message"], f"{where}.message")] if "message" in first else []
    for key in ("message", "output"):
        if key in outputs:
            raw, where = outputs[key], f"outputs.{key}"
            if json_kind(raw) == "[":
                return _placed(raw, where)
            return [(raw, where)] if json_kind(raw) == "{" else [(_answer(any_text(raw)), where)]
    if "role" in outputs or ("type" in outputs and "content" in outputs):
        return [(Raw(msgspec.json.encode(outputs)), "outputs")]
    if outputs:
        texts = [key for key in outputs if json_kind(outputs[key]) == '"']
        if len(outputs) == 1 and texts:
            return [(_answer(read_text(outputs[texts[0]])), f"outputs.{texts[0]}")]
        raise BadInput(f"outputs: expected messages, message, generations or output, got {', '.join(outputs)[:80]}")
    return []


def _answer(text: str) -> Raw:
    return Raw(msgspec.json.encode({"type": "ai", "content": text}))


def _joined(given: _PlacedMessages, returned: _PlacedMessages) -> _PlacedMessages:
    """Return the input and the output; only the output if it repeats the input, as the state of a graph does."""
    return returned if _starts_with(returned, given) else [*given, *returned]


def _starts_with(messages: _PlacedMessages, start: _PlacedMessages) -> bool:
    if len(messages) < len(start):
        return False
    return all(_same_message(one, other) for (one, _), (other, _) in zip(messages, start, strict=False))


def _same_message(one: Raw, other: Raw) -> bool:
    if bytes(one) == bytes(other):
        return True
    first, second = _body(one, ""), _body(other, "")
    return first[0] == second[0] and any_text(first[1].get("content", Raw(b"null"))) == any_text(second[1].get("content", Raw(b"null")))


def _run_tools(fields: Members, inputs: Members) -> bytes:
    if "tools" in inputs:
        return bytes(inputs["tools"])
    for outer in ("extra", "metadata"):
        if outer not in fields or json_kind(fields[outer]) != "{":
            continue
        extra = read_object(fields[outer], outer)
        for holder in (extra, *(read_object(extra[key], key) for key in ("invocation_params", "options") if key in extra)):
            if "tools" in holder:
                return bytes(holder["tools"])
    return bytes(fields.get("tools", b""))


def _body(raw: Raw, where: str) -> tuple[str, Members]:
    """Return the type of a message and its fields, whichever of the three forms it has; an OpenAI message has its role as type."""
    message = read_object(raw, where)
    if "lc" in message:
        path = read_list(message.get("id", Raw(b"[]")), f"{where}.id")
        name = read_text(path[-1]) if path and json_kind(path[-1]) == '"' else ""
        plain = name.removesuffix("Chunk")
        if plain not in _CLASSES or "kwargs" not in message:
            raise BadInput(f"{where}.id: expected a LangChain message, got {scrub(name[:40])!r}")
        return _CLASSES[plain], read_object(message["kwargs"], f"{where}.kwargs")
    kind = optional_text(message, "type", where)
    if "data" in message:
        return kind, read_object(message["data"], f"{where}.data")
    return kind or optional_text(message, "role", where), message


def _read_message(raw: Raw, where: str) -> list[Fields]:
    kind, body = _body(raw, where)
    if kind == "chat":
        kind = optional_text(body, "role", where)
    role = find_role(kind, _ROLES, f"{where}.type")
    extra = read_object(body["additional_kwargs"], f"{where}.additional_kwargs") if "additional_kwargs" in body else {}
    if role == "system" and optional_text(extra, "__openai_role__", where) == "developer":
        role = "developer"
    parts, block_calls, thinking = _read_content(body, where)
    if role == "tool":
        is_error = optional_text(body, "status", where) == "error"
        content = content_of(parts) or ""
        return [result_message(content, optional_text(body, "tool_call_id", where), optional_text(body, "name", where), is_error=is_error)]
    refuse_calls(body.keys() - _MESSAGE_KEYS, where)
    calls = _read_calls(body, extra, where)
    known = {call.id for call in calls}
    calls += [call for call in block_calls if not calls or (call.id is not None and call.id not in known)]
    content = content_of(parts)
    fields: Fields = {"role": role, "content": "" if content is None and not calls else content or None}
    if calls:
        fields["tool_calls"] = [Raw(call_text(call)) for call in calls]
    if any(thinking):
        fields["reasoning_content"] = "\n".join(filter(None, thinking))
    return [fields]


def _read_calls(body: Members, extra: Members, where: str) -> list[Call]:
    """Return the calls of a message: valid and invalid ones; if there are none, those of the provider's own fields."""
    calls = [read_part_call(call, ignore=("extras",)) for call in _optional_objects(body, "tool_calls", where)]
    for index, call in enumerate(_optional_objects(body, "invalid_tool_calls", where)):
        at = f"{where}.invalid_tool_calls[{index}]"
        text = any_text(call.get("args", Raw(b"null")))
        calls.append(malformed_call(optional_text(call, "name", at), text, "invalid tool call", optional_text(call, "id", at)))
    if calls:
        return calls
    if "tool_calls" in extra:
        return list(read_call_list(extra["tool_calls"], f"{where}.additional_kwargs.tool_calls"))
    if "function_call" in extra:
        return list(read_call_list(extra["function_call"], f"{where}.additional_kwargs.function_call"))
    if "function_call" in body:
        return list(read_call_list(body["function_call"], f"{where}.function_call"))
    refuse_calls([key for key in extra.keys() - _PROVIDER_KEYS if not key.startswith("__")], f"{where}.additional_kwargs")
    return []


def _optional_objects(body: Members, key: str, where: str) -> list[Members]:
    return read_objects(body[key], f"{where}.{key}") if key in body else []


def _read_content(body: Members, where: str) -> tuple[list[Fields], list[Call], list[str]]:
    """Return the parts, the calls in content blocks, and the thinking."""
    raw = body.get("content", Raw(b'""'))
    if json_kind(raw) == '"':
        text = read_text(raw)
        return [text_part(text)] if text else [], [], []
    parts: list[Fields] = []
    calls: list[Call] = []
    thinking: list[str] = []
    for index, item in enumerate(read_list(raw, f"{where}.content")):
        at = f"{where}.content[{index}]"
        if json_kind(item) == '"':
            parts.append(text_part(read_text(item)))
            continue
        block = read_object(item, at)
        kind = optional_text(block, "type", at)
        if kind in ("text", "output_text", "input_text", "refusal") and ("text" in block or "refusal" in block):
            parts.append(text_part(optional_text(block, "text" if "text" in block else "refusal", at)))
        elif kind in _CALL_BLOCKS:
            call_id = optional_text(block, "call_id", at)
            calls.append(read_part_call(block, call_id=call_id, ignore=_BLOCK_METADATA))
        elif kind in _THINKING_BLOCKS:
            thinking.append(_thinking(block))
        elif kind in _SERVER_BLOCKS:
            parts.append(known_part(kind))
        elif kind == "json" and "json" in block:
            parts.append(text_part(any_text(block["json"])))
        else:
            parts.append(other_part(kind or "part", block, at))
    return parts, calls, thinking


def _thinking(block: Members) -> str:
    texts = [block[key] for key in ("thinking", "reasoning", "text") if key in block and json_kind(block[key]) == '"']
    return read_text(texts[0]) if texts else ""


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for LangChain messages under `messages`, and for rows with `inputs` and `outputs` of messages."""
    if "expected_output" in fields:
        return 0.0
    if "inputs" in fields and ("outputs" in fields or "run_type" in fields):
        return 0.9 if _is_run(fields) else 0.0
    return 0.9 if "messages" in fields and _are_messages(fields["messages"]) else 0.0


def _is_run(fields: Mapping[str, Raw]) -> bool:
    if "run_type" in fields:
        return True
    inputs = bytes(fields["inputs"])
    return inputs.startswith(b"{") and "messages" in _decode_fields(inputs)


def _are_messages(raw: Raw) -> bool:
    try:
        items = _decode_list(raw)
        if items and bytes(items[0]).startswith(b"["):
            items = _decode_list(items[0])
        signatures: Sequence[_Signature] = [_decode_signature(item) for item in items]
    except msgspec.MsgspecError:
        return False
    return bool(signatures) and all(map(_is_message, signatures))


def _is_message(message: _Signature) -> bool:
    if message.lc is not None:
        return True
    if message.role is not None and message.type != "chat":
        return False
    has_body = bool(bytes(message.content)) or bytes(message.data).startswith(b"{")
    return isinstance(message.type, str) and has_body and message.type not in ("message", "function_call", "reasoning")


def _leftover_keys(row: bytes) -> Iterable[str]:
    fields = read_row(row)
    return (key for key in fields if key not in (_RUN_KEYS if "inputs" in fields else _ROW_KEYS))


FORMAT = Format("langchain", "LangChain messages", detect, read, leftover_keys=_leftover_keys)
