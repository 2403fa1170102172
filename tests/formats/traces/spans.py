"""Build OTLP rows by hand, and take recorded ones apart: for tests of traces."""

import gzip
import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from tests.formats.package_fixtures import FIXTURES

RECORDED = FIXTURES / "otlp_conversations.jsonl.gz"
SpanRow = dict[str, Any]


def recorded_spans() -> list[SpanRow]:
    """Return the spans of the fifty recorded conversations."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        requests = [json.loads(line) for line in lines]
    return [
        span for request in requests for resource in request["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]
    ]


def requests(spans: Sequence[SpanRow], *, size: int = 7) -> list[dict[str, Any]]:
    """Return requests with these spans, in their order."""
    return [{"resourceSpans": [{"scopeSpans": [{"spans": spans[at : at + size]}]}]} for at in range(0, len(spans), size)]


def shuffled(spans: Iterable[SpanRow], seed: int) -> list[SpanRow]:
    found = list(spans)
    random.Random(seed).shuffle(found)
    return found


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}} for key, value in values.items()]


def span(own: str, parent: str = "", start: int = 1, trace: str = "t", **values: Any) -> SpanRow:
    """Return a span of one second; `values` are its attributes, with `__` for a dot."""
    return {
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent,
        "name": own,
        "startTimeUnixNano": str(start * 10**9),
        "endTimeUnixNano": str((start + 1) * 10**9 - 1),
        "attributes": attributes({key.replace("__", "."): value for key, value in values.items()}),
    }


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def called(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    part = {"type": "tool_call", "name": name, "arguments": arguments, **({"id": call_id} if call_id else {})}
    return {"role": "assistant", "parts": [part]}


def result(text: str, call_id: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "response": text, **({"id": call_id} if call_id else {})}]}


def chat(own: str, given: Any, returned: Any, start: int = 1, parent: str = "", trace: str = "t", **values: Any) -> SpanRow:
    """Return the span of a request to a model; None for content that was not captured."""
    content = {
        key: value for key, value in (("gen_ai__input__messages", given), ("gen_ai__output__messages", returned)) if value is not None
    }
    return span(own, parent, start, trace, gen_ai__operation__name="chat", gen_ai__request__model="m", **content, **values)


def tool(own: str, name: str, arguments: Any, returned: Any, start: int, parent: str = "", trace: str = "t", **values: Any) -> SpanRow:
    """Return the span of a tool; None for what was not captured."""
    content = {
        key: value
        for key, value in (("gen_ai__tool__call__arguments", arguments), ("gen_ai__tool__call__result", returned))
        if value is not None
    }
    return span(own, parent, start, trace, gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, **content, **values)
