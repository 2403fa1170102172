"""Content blocks of Anthropic messages: helpers shared by reading and writing."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from callmark.errors import BadInput

Fields = dict[str, Any]

GENERATED_ID = "generated_id"  # marks a block whose id was generated when writing, so that it is dropped when reading
TEXT_BLOCK_KEYS = frozenset({"type", "text", "cache_control", "citations"})
THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})

_decode_text = msgspec.json.Decoder(str).decode


def block_type(block: Mapping[str, Any], where: str) -> str:
    """Return the type of a block. A block without a type, and a text block without text, raise `BadInput`."""
    try:
        kind = _decode_text(block["type"])
    except (KeyError, msgspec.ValidationError):
        raise BadInput(f"{where}: missing key 'type'") from None
    if kind == "text" and not bytes(block.get("text", b"")).startswith(b'"'):
        raise BadInput(f"{where}: missing key 'text'")
    return kind


def is_block_type(block: Mapping[str, Any], kinds: frozenset[str]) -> bool:
    """Return whether a block is complete and of one of these types."""
    try:
        return block_type(block, "") in kinds
    except BadInput:
        return False


def text_block(text: str | Raw) -> Fields:
    """Return a text block."""
    return {"type": "text", "text": text}
