"""The format of DeepFabric 4: OpenAI messages and tools, plus metadata about the conversation.

    {"messages": […], "tools": […], "question": "…", "final_answer": "…", "metadata": {…},
     "reasoning": {"style", "content"}, "tool_context": {"executions": […]}, "agent_context": {…}, "structured_data": {…}}

Reads messages and tools (`tool_context.available_tools` in older files); the executions repeat the calls of the messages. The id of a row
is `metadata.id`, because rows must not have other keys.

A message has one of four roles (system, user, assistant, tool), text, calls and an id of nine letters or digits. Everything else is stored
in `metadata.callmark` and read back from there:

    ids       [generated, original]: the id in the messages, and the one it replaces (null if there was none)
    messages  {"message": index, …}: extra fields of a message: `role` (developer), `name`, `is_error`, `content` that is not text, …

The arguments of a malformed call are its text.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.messages import ABSENT, message_texts, read_messages
from callmark.calls.strict import dump, scrub
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats import openai
from callmark.formats.call_ids import generate_ids
from callmark.formats.extra_fields import ExtraFields, extra_fields
from callmark.formats.format import Format, ReadContext, row_id
from callmark.types import Case, Conversation, Message, Place, SourceRow
from callmark.wording import pluralize

CALL_ID = re.compile("[a-zA-Z0-9]{9}")

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
_OWN_KEYS = frozenset({"role", "tool_calls", "function_call", "tool_call_id"})  # fields of the message itself, never extra fields
_DEVELOPER = b'"developer"'


class _CallmarkMetadata(Struct):
    ids: list[tuple[str, str | None]] = []
    messages: list[dict[str, Raw]] = []


class _Metadata(Struct):
    id: Any = None
    callmark: _CallmarkMetadata | None = None


class _ToolContext(Struct):
    executions: list[Raw] | None = None
    available_tools: Raw = ABSENT


class _Row(Struct):
    metadata: Raw = ABSENT
    tool_context: _ToolContext | None = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_metadata = msgspec.json.Decoder(_Metadata).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_calls = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_any = msgspec.json.Decoder().decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
_ROW_KEYS = frozenset({"id", "messages", "tools", "question", "final_answer"})


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the conversation in a row. If all calls are in `tool_context`, raise `BadInput`: they would be lost."""
    conversation = openai.read(row, place, context)
    wire = _decode(row)
    metadata = _read_metadata(wire.metadata)
    found = conversation if metadata.id is None else structs.replace(conversation, id=row_id(metadata.id, place))
    if metadata.callmark is not None:
        found = _restore(found, metadata.callmark)
    if wire.tool_context is None:
        return found
    if wire.tool_context.executions and not found.calls:
        found_calls = pluralize(len(wire.tool_context.executions), "call")
        raise BadInput(f"tool_context.executions: found {found_calls}, but the messages contain none")
    if found.tools is context.default_tools[1] and bytes(wire.tool_context.available_tools) not in (b"", b"null", b"[]"):
        raw_tools, tools = context.read_tools(bytes(wire.tool_context.available_tools))
        found = structs.replace(found, tools=tools, original=structs.replace(found.original, tools=tools, raw_tools=raw_tools))
    return found


def write(conversation: Conversation) -> bytes:
    """Return one line in this format; no call, id or result is lost. A case, and a message with an unsupported role, raise `BadInput`."""
    if isinstance(conversation, Case):
        raise BadInput(f"{conversation.id}: a case cannot be written in the DeepFabric format, which has no field for expected calls")
    ids = _CallIds(conversation.messages)
    messages: list[dict[str, Any]] = []
    extra: list[dict[str, Any]] = []
    for index, (message, fields_of_message) in enumerate(zip(conversation.messages, extra_fields(conversation), strict=True)):
        if message.role not in _ROLES:
            known = "system, user, assistant or tool"
            raise BadInput(f"{conversation.id}: messages[{index}].role: DeepFabric expects {known}, got {message.role!r}")
        messages.append(_message_fields(message, ids))
        if extra_of_message := _message_extra(message, fields_of_message):
            if "message" in extra_of_message:
                raise BadInput(f"{conversation.id}: messages[{index}]: the key 'message' cannot be stored in metadata.callmark")
            extra.append({"message": index, **extra_of_message})
    own: dict[str, Any] = {}
    if ids.replaced:
        own["ids"] = ids.replaced
    if extra:
        own["messages"] = extra
    fields: dict[str, Any] = {"messages": messages, "metadata": {"id": conversation.id, **({"callmark": own} if own else {})}}
    if conversation.tools:
        fields["tools"] = Raw(tools_text(conversation))
    last = conversation.messages[-1] if conversation.messages else Message("")
    fields["question"] = next((scrub(message.text) for message in conversation.messages if message.role == "user"), "")
    fields["final_answer"] = scrub(last.text) if last.role == "assistant" and not last.calls else ""
    return _encode(fields)


class _CallIds:
    """Ids that fit the format: valid ids are kept, and new ones are generated for invalid and missing ids."""

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.replaced: list[tuple[str, str | None]] = []
        self._fresh = generate_ids(messages, "c{:08d}")
        self._replacements: dict[str, str] = {}

    def fit(self, given: str | None) -> str:
        """Return the id itself if it fits, otherwise its replacement."""
        if given is not None and CALL_ID.fullmatch(given):
            return given
        if given is None or given not in self._replacements:
            generated = next(self._fresh)
            self.replaced.append((generated, given))
            if given is None:
                return generated
            self._replacements[given] = generated
        return self._replacements[given]


def _message_fields(message: Message, ids: _CallIds) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": _ROLES[message.role], "content": scrub(message.text)}
    if message.calls:
        fields["tool_calls"] = [
            {
                "id": ids.fit(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": call.text if call.malformed else dump(call.arguments)},
            }
            for call in message.calls
        ]
    if message.tool_call_id is not None:
        fields["tool_call_id"] = ids.fit(message.tool_call_id)
    return fields


def _message_extra(message: Message, extra: ExtraFields) -> dict[str, Any]:
    """Return the fields of a message that the format has no place for."""
    fields: dict[str, Any] = {"role": message.role} if message.role == "developer" else {}
    if message.name is not None:
        fields["name"] = message.name
    return fields | extra


def _restore(conversation: Conversation, metadata: _CallmarkMetadata) -> Conversation:
    """Return the conversation with its original ids and extra fields. Entries for missing messages are ignored."""
    original_ids = dict(metadata.ids)
    extra: dict[int, dict[str, Raw]] = {}
    for fields in metadata.messages:
        index = _decode_any(fields.pop("message", Raw(b"null")))
        if isinstance(index, int):
            extra[index] = {key: value for key, value in fields.items() if key not in _OWN_KEYS}
            if bytes(fields.get("role", b"")) == _DEVELOPER:
                extra[index]["role"] = fields["role"]
    texts = [_restore_message(bytes(text), original_ids, extra.get(index, {})) for index, text in enumerate(message_texts(conversation))]
    messages = read_messages(b"[" + b",".join(texts) + b"]")
    original = conversation.original
    return structs.replace(
        conversation,
        messages=messages,
        original=SourceRow(messages, original.tools, original.row, b"", texts, original.raw_tools),
    )


def _restore_message(text: bytes, original_ids: Mapping[str, str | None], extra: Mapping[str, Raw]) -> bytes:
    fields: dict[str, Any] = _decode_fields(text)
    _restore_id(fields, "tool_call_id", original_ids)
    if "tool_calls" in fields and bytes(fields["tool_calls"]).startswith(b"["):
        calls: list[dict[str, Any]] = [*_decode_calls(fields["tool_calls"])]
        for call in calls:
            _restore_id(call, "id", original_ids)
        fields["tool_calls"] = calls
    return _encode({**fields, **extra})


def _restore_id(fields: dict[str, Any], key: str, original_ids: Mapping[str, str | None]) -> None:
    if key in fields and bytes(fields[key]).startswith(b'"'):
        given = _decode_any(fields[key])
        if given in original_ids:
            fields[key] = original_ids[given]
            if original_ids[given] is None:
                del fields[key]


def _read_metadata(text: Raw) -> _Metadata:
    """Return the metadata fields that are used here. Metadata of any other type is ignored."""
    try:
        return _decode_metadata(text) if text is not ABSENT else _Metadata()
    except msgspec.ValidationError:
        return _Metadata()


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with messages and a key that only DeepFabric writes."""
    if "messages" not in fields or "expected_output" in fields:
        return 0.0
    own = "tool_context" in fields or "agent_context" in fields or ("question" in fields and "final_answer" in fields)
    return 0.9 if own else 0.0


def _leftover_keys(row: bytes) -> Iterable[str]:
    """Return the keys that other formats have no field for. Metadata with only an id and callmark's own data is not one of them."""
    fields = _decode_fields(row)
    if _is_own_metadata(fields.get("metadata", Raw(b"null"))):
        fields.pop("metadata", None)
    return (key for key, value in fields.items() if key not in _ROW_KEYS and bytes(value) != b"null")


def _is_own_metadata(metadata: Raw) -> bool:
    try:
        return _decode_object(metadata).keys() <= {"id", "callmark"}
    except msgspec.ValidationError:
        return False


FORMAT = Format("deepfabric", "DeepFabric", detect, read, write, leftover_keys=_leftover_keys, needs_call_ids=True, call_id_pattern=CALL_ID)
