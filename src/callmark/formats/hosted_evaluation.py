"""Output items and step files of hosted evaluations: `{"item" | "datasource_item", "sample"}`, an item with the output of a model for it.

The item is a row in another format, such as a decision point or an item with a reference answer. As a conversation, a row is the messages
of the item and what the model said, so that several outputs for one item differ; as a case, it is the item. `grade` also reads the outputs
as predictions. An item in an unknown format, and one whose rows are not cases, raise `BadInput`.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, structs

from callmark.calls.messages import message_texts
from callmark.calls.toolsets import tools_text
from callmark.errors import BadInput
from callmark.formats.detect import detect_format
from callmark.formats.exchanges import build_conversation, call_message, text_message
from callmark.formats.format import Format, ReadContext, check_utf8
from callmark.formats.json_fields import decode_fields, text_field
from callmark.formats.responses import read_response
from callmark.types import Case, Conversation, Place

_ITEM_KEYS = ("item", "datasource_item")


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with an item and a sample, both objects."""
    has_sample = bytes(fields.get("sample", b"")).startswith(b"{")
    return 0.95 if has_sample and any(bytes(fields.get(key, b"")).startswith(b"{") for key in _ITEM_KEYS) else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the messages of the item, followed by the output."""
    fields = _decode_row(row)
    item = _read_item(fields, place, context)
    response = read_response(decode_fields(fields["sample"]))
    found = response.prediction if response is not None else None
    texts = [*message_texts(item)]
    if found is not None and (found.calls or found.text):
        texts.append(call_message(found.calls, found.text) if found.calls else text_message("assistant", found.text))
    name = text_field(fields, "id") or f"{item.id}-row-{place.number}"
    return build_conversation(name, texts, (tools_text(item), item.tools), place, row)


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the case that the item is."""
    item = _read_item(_decode_row(row), place, context)
    if not isinstance(item, Case):
        raise BadInput("item: expected a case with expected calls, got a conversation")
    return structs.replace(item, original=structs.replace(item.original, row=row))


def _decode_row(row: bytes) -> Mapping[str, Raw]:
    check_utf8(row)
    fields = decode_fields(row)
    if not bytes(fields.get("sample", b"")).startswith(b"{"):
        raise BadInput("sample: expected an object with the output of the model")
    return fields


def _read_item(fields: Mapping[str, Raw], place: Place, context: ReadContext) -> Conversation:
    key = next((key for key in _ITEM_KEYS if bytes(fields.get(key, b"")).startswith(b"{")), None)
    if key is None:
        raise BadInput("item: expected an object with the input of the model")
    text = bytes(fields[key])
    try:
        return detect_format(text).reader(cases=True)(text, place, context)
    except BadInput as error:
        raise BadInput(f"{key}: {error}", error.hint) from None
    except msgspec.ValidationError as error:
        raise BadInput(f"{key}: {error}") from None


FORMAT = Format("hosted-evaluation", "hosted evaluation outputs", detect, read, read_case=read_case, has_predictions=True)
