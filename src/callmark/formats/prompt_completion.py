"""Prompts and completions for supervised fine-tuning, as TRL reads them: `{"prompt", "completion", "tools"}`, each messages or a text.

A completion that is a text, or a message of plain text, may contain calls in any text format. As a case, the prompt expects the calls of
the completion. A row of unpaired preference data whose `label` is false raises `BadInput`: its completion is not what is expected.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, message_texts_of, read_output
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.types import Case, Conversation, Place

_ROW_KEYS = frozenset({"id", "prompt", "completion", "tools", "label"})


class _Row(Struct):
    prompt: Raw
    completion: Raw
    tools: Raw = Raw(b"")
    label: Any = None
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `prompt` and `completion`."""
    return 0.7 if "prompt" in fields and "completion" in fields and "messages" not in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the prompt and the completion as a conversation."""
    return _read(row, place, context).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case that expects the completion."""
    return _read(row, place, context).case()


def _read(row: bytes, place: Place, context: ReadContext) -> Exchange:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    if wire.label is False or wire.label == 0:
        raise BadInput("label: expected a completion to learn from, got false: it is an example of what not to do")
    tools = context.read_tools(bytes(wire.tools))
    output = read_output(message_texts_of(wire.completion, "completion", "assistant"), tools[1], "completion")
    prompt = message_texts_of(wire.prompt, "prompt", "user")
    return Exchange(row_id(wire.id, place), prompt, output, tools, place, row, "completion")


FORMAT = Format("prompt-completion", "prompts and completions", detect, read, read_case=read_case, leftover_keys=leftover_keys(_ROW_KEYS))
