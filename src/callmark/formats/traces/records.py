"""What the formats of tracing services share: records of spans, in rows or in lists of several forms, and their conversations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import structs

from callmark.errors import BadInput
from callmark.formats.joining import Refused
from callmark.formats.traces.conversations import build_conversations
from callmark.formats.traces.span import Span
from callmark.formats.traces.spans import built_rows, group_id, read_steps
from callmark.formats.traces.steps import Step
from callmark.formats.traces.thread import Count

Record = dict[str, Any]
ReadRecord = Callable[..., Step | None]


def record_conversations(
    pieces: Sequence[bytes], span_of: Callable[[Record], Span | None], read_record: ReadRecord, count: Count
) -> Iterator[bytes | Refused]:
    """Yield the conversations in the records of a group. Records that cannot be read raise `BadInput`.

    `span_of` returns the span of a record, with its conversation as the attribute `session.id`; None for a record that is no span.
    `read_record` returns the step of a record, or None, and gets what all steps have as keywords.
    """
    records = [msgspec.json.decode(piece) for piece in pieces]
    found = [(span, record) for record in records if (span := span_of(record)) is not None]
    by_id = {span.id: record for span, record in found}
    spans = _with_conversation(list({span.id: span for span, _ in found}.values()), records, span_of)

    def reader(span: Span, /, **common: Any) -> Step | None:
        return read_record(by_id[span.id], **common)

    steps = read_steps(spans, lambda span: reader, count)
    yield from built_rows(build_conversations(steps, group_id(spans), count), pieces)


def _with_conversation(spans: Sequence[Span], records: Sequence[Record], span_of: Callable[[Record], Span | None]) -> list[Span]:
    """Give spans the conversation that a record without a span, such as that of a trace, names for their trace."""
    named = {record["trace"]: record["session"] for record in records if span_of(record) is None and record.get("session")}
    return [
        structs.replace(span, attributes={"session.id": named[span.trace]}) if span.trace in named and not span.attributes else span
        for span in spans
    ]


def objects(value: Any, where: str) -> Iterator[Record]:
    """Yield the objects of a list. Anything else raises `BadInput`."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadInput(f"{where}: expected a list of objects")
    yield from value


def text_of(record: Any, *keys: str) -> str:
    """Return the first text or number under these keys; empty if there is none."""
    for key in keys:
        found = record.get(key) if isinstance(record, dict) else None
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)
    return ""
