"""The blocks of Anthropic's messages: what reading and writing them share."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from callmark.errors import BadInput

Fields = dict[str, Any]

MADE_UP = "id_made_up"  # of a block whose id would join a result to another call than its own: it is no id when it is read
OF_TEXT = frozenset({"type", "text", "cache_control", "citations"})
THOUGHTS = frozenset({"thinking", "redacted_thinking"})

_decode_text = msgspec.json.Decoder(str).decode


def kind_of(block: Mapping[str, Any], where: str) -> str:
    """The block's type. One that has none, or is a text and has no text, raises `BadInput`."""
    try:
        kind = _decode_text(block["type"])
    except (KeyError, msgspec.ValidationError):
        raise BadInput(f"{where} has no type") from None
    if kind == "text" and not bytes(block.get("text", b"")).startswith(b'"'):
        raise BadInput(f"{where} has no text")
    return kind


def is_kind(block: Mapping[str, Any], kinds: frozenset[str]) -> bool:
    """Whether it is a whole block of one of these types."""
    try:
        return kind_of(block, "") in kinds
    except BadInput:
        return False


def text_block(text: str | Raw) -> Fields:
    return {"type": "text", "text": text}
