"""What the readers of chat formats share: rows to messages in the OpenAI form, and the refusal of what they do not know.

A reader walks over the messages and parts of a row, whose values are still JSON, and yields the fields of each message in the OpenAI form.
A role that is not known, and a part that is not known and may be a call, raise `BadInput` that names the place; any other part that is not
text stays a part of the content.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, structs

from callmark.calls.messages import call_text, read_messages
from callmark.calls.shapes import read_call_text
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.formats.format import ReadContext, check_utf8, row_id
from callmark.formats.json_fields import json_kind, read_text, read_value, wrong_type
from callmark.types import Call, Conversation, Place, SourceRow

Fields = dict[str, Any]  # a message or a part in the OpenAI form
Members = dict[str, Raw]  # an object of a row, without the members that are null

_CALL_WORDS = ("tool", "function", "call")
_MAX_SHOWN = 40  # characters of a role or type in a message
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


def read_row(row: bytes) -> Members:
    """Return the members of a row that are not null."""
    check_utf8(row)
    return without_nulls(_decode_members(row))


def without_nulls(members: Mapping[str, Raw]) -> Members:
    """Return the members that are not null: files that come from tables have all keys everywhere."""
    return {key: value for key, value in members.items() if bytes(value) != b"null"}


def read_object(raw: Raw | bytes, where: str) -> Members:
    """Return the members of an object that are not null. Anything else raises `BadInput`."""
    if json_kind(raw) != "{":
        raise wrong_type(raw, where, "an object")
    return without_nulls(_decode_members(raw))


def read_objects(raw: Raw | bytes, where: str) -> list[Members]:
    """Return the objects of a list. Anything else raises `BadInput`."""
    return [read_object(item, f"{where}[{index}]") for index, item in enumerate(read_list(raw, where))]


def read_list(raw: Raw | bytes, where: str) -> list[Raw]:
    """Return the items of a list. Anything else raises `BadInput`."""
    if json_kind(raw) != "[":
        raise wrong_type(raw, where, "a list")
    return _decode_list(raw)


def optional_text(members: Mapping[str, Raw], key: str, where: str) -> str:
    """Return the string under a key; empty if it is missing. Anything else raises `BadInput`."""
    if key not in members:
        return ""
    if json_kind(members[key]) != '"':
        raise wrong_type(members[key], f"{where}.{key}" if where else key, "a string")
    return read_text(members[key])


def any_text(raw: Raw | bytes) -> str:
    """Return a string as it is, null as no text, and any other value as JSON."""
    value = read_value(raw)
    return value if isinstance(value, str) else "" if value is None else dump(value)


def find_role(given: str, roles: Mapping[str, str], where: str) -> str:
    """Return the OpenAI role for a role of the format. Another role raises `BadInput`."""
    if given in roles:
        return roles[given]
    expected = ", ".join(roles)
    if not given:
        raise BadInput(f"{where} is missing: expected {expected}")
    raise BadInput(f"{where}: unknown role {scrub(given[:_MAX_SHOWN])!r}: expected {expected}")


def text_part(text: str) -> Fields:
    return {"type": "text", "text": text}


def refuse_calls(words: Iterable[str], where: str) -> None:
    """Raise `BadInput` if one of these types or keys, which the format does not define, speaks of a tool, a function or a call."""
    for word in words:
        if any(known in word.lower() for known in _CALL_WORDS):
            name = scrub(word[:_MAX_SHOWN])
            raise BadInput(f"{where}: unknown key or type {name!r}, which may hold a tool call", "If it is in another format, pass --from.")


def other_part(kind: str, part: Mapping[str, Any], where: str) -> Fields:
    """Return a part that is not text, with its type. If it may be a call, raise `BadInput`."""
    refuse_calls((kind, *part), where)
    return {**part, "type": kind}


def known_part(kind: str) -> Fields:
    """Return a part that is known and not a call of a listed tool, such as a search that the server ran. It is shown as `[kind]`."""
    return text_part(f"[{kind}]")


def content_of(parts: Sequence[Fields]) -> Any:
    """Return the content for these parts: a string for one text, null for none, otherwise the parts."""
    if not parts:
        return None
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else list(parts)


class Turn:
    """Collects what one speaker says. Results end a message: the text and calls before, between and after them are separate messages.

    Within a message, text comes before calls.
    """

    def __init__(self, role: str) -> None:
        self.role = role
        self.parts: list[Fields] = []
        self.calls: list[Call] = []
        self.thinking: list[str] = []
        self.has_results = False
        self._messages: list[Fields] = []

    def add_result(self, result: Fields) -> None:
        """Add a result, after what was collected."""
        self.finish_message()
        self.has_results = True
        self._messages.append(result)

    def finish_message(self) -> None:
        """Make a message of what was collected; none if there is nothing."""
        if not (self.parts or self.calls or self.thinking):
            return
        content = content_of(self.parts)
        fields: Fields = {"role": self.role, "content": "" if content is None and not self.calls else content}
        if self.calls:
            fields["tool_calls"] = [Raw(call_text(call)) for call in self.calls]
        if any(self.thinking):
            fields["reasoning_content"] = "\n".join(filter(None, self.thinking))
        self._messages.append(fields)
        self.parts, self.calls, self.thinking = [], [], []

    def messages(self) -> list[Fields]:
        """Return all messages; one without text if nothing was collected."""
        self.finish_message()
        return self._messages or [{"role": self.role, "content": ""}]


def result_message(text: Any, call_id: str, name: str = "", *, is_error: bool = False) -> Fields:
    """Return the result of a call. Without an id, it belongs to the first open call of that name."""
    fields: Fields = {"role": "tool", "content": text}
    if call_id:
        fields["tool_call_id"] = call_id
    if name:
        fields["name"] = name
    return fields | ({"is_error": True} if is_error else {})


def read_part_call(part: Mapping[str, Raw], *, call_id: str = "", ignore: Iterable[str] = (), **replaced: str) -> Call:
    """Return the call in a part, by the rules for call objects.

    `ignore` are keys that the format defines and that are neither name nor arguments; `replaced` sets strings, such as the `name`.
    """
    members = {key: value for key, value in part.items() if key not in ignore}
    call = read_call_text(_encode({**members, **replaced}))
    return structs.replace(call, id=call_id or call.id)


def malformed_call(name: str, text: str, reason: str, call_id: str = "") -> Call:
    """Return a call that the framework itself has marked as broken. Its text never reads as well-formed arguments."""
    text = scrub(text)
    readable = text.lstrip().startswith("{") or not text.strip()
    return Call(scrub(name), {}, call_id or None, reason, f"{reason}: {text}" if readable else text)


def build_conversation(
    messages: Sequence[Fields], tools: bytes, *, given_id: Raw | None, row: bytes, place: Place, context: ReadContext
) -> Conversation:
    """Return the conversation of these messages. `tools` is the JSON of a tool list in any shape; empty for none."""
    texts = [_encode(message) for message in messages]
    built = read_messages(b"[" + b",".join(texts) + b"]")
    raw_tools, read_tools = context.read_tools(tools)
    name = row_id(None if given_id is None else read_value(given_id), place)
    return Conversation(name, built, read_tools, place, SourceRow(built, read_tools, row, b"", texts, raw_tools))
