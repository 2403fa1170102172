"""Preference pairs as TRL reads them: `{"prompt", "chosen", "rejected", "tools"}`, each side a list of messages or a text.

Without `prompt`, both sides are whole conversations, and the messages they begin with in common are the prompt. A text may contain calls in
any text format. The chosen side is expected; the rejected side is a prediction. Two texts without a prompt raise `BadInput`, because it is
not known where the outputs begin, and so do two sides that are the same.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import explain_validation_error
from callmark.errors import BadInput
from callmark.formats.exchanges import Exchange, given_id, message_texts_of, output_prediction, read_output
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys, row_id
from callmark.types import Case, Conversation, Place, Prediction, Text

_ROW_KEYS = frozenset({"id", "prompt", "chosen", "rejected", "tools"})
_PROMPT_HINT = "Add a prompt to the row, or write both sides as lists of messages."


class _Row(Struct):
    chosen: Raw
    rejected: Raw
    prompt: Raw = Raw(b"null")
    tools: Raw = Raw(b"")
    id: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_any = msgspec.json.Decoder().decode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `chosen` and `rejected`."""
    return 0.8 if "chosen" in fields and "rejected" in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the prompt and the chosen side as a conversation."""
    return _read(row, place, context).conversation()


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case that expects the chosen side."""
    return _read(row, place, context).case()


def read_prediction(row: bytes) -> Prediction:
    """Return the rejected side as a prediction."""
    wire = _decode_row(row)
    _, _, rejected = _sides(wire)
    _, tools = ReadContext().read_tools(bytes(wire.tools))
    return output_prediction(given_id(wire.id), rejected, tools, "rejected")


def _read(row: bytes, place: Place, context: ReadContext) -> Exchange:
    wire = _decode_row(row)
    prompt, chosen, _ = _sides(wire)
    tools = context.read_tools(bytes(wire.tools))
    return Exchange(row_id(wire.id, place), prompt, read_output(chosen, tools[1], "chosen"), tools, place, row, "chosen")


def _sides(wire: _Row) -> tuple[Sequence[Text], Sequence[Text], Sequence[Text]]:
    """Return the messages of the prompt and of both outputs."""
    chosen, rejected = message_texts_of(wire.chosen, "chosen", "assistant"), message_texts_of(wire.rejected, "rejected", "assistant")
    if bytes(wire.prompt) != b"null":
        return message_texts_of(wire.prompt, "prompt", "user"), chosen, rejected
    if bytes(wire.chosen).startswith(b'"') or bytes(wire.rejected).startswith(b'"'):
        raise BadInput("prompt is missing: the two sides are strings, so callmark cannot tell where the outputs begin", _PROMPT_HINT)
    pairs = zip(chosen, rejected, strict=False)
    common = len(list(takewhile(lambda pair: _decode_any(pair[0]) == _decode_any(pair[1]), pairs)))
    if common == len(chosen) or common == len(rejected):
        raise BadInput("chosen and rejected: expected two outputs, got the same messages on both sides")
    return chosen[:common], chosen[common:], rejected[common:]


def _decode_row(row: bytes) -> _Row:
    check_utf8(row)
    try:
        return _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None


FORMAT = Format(
    "preference",
    "preference pairs",
    detect,
    read,
    read_case=read_case,
    read_prediction=read_prediction,
    leftover_keys=leftover_keys(_ROW_KEYS),
)
