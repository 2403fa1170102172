"""From spans with OpenTelemetry attributes to conversations, by the conventions of OpenTelemetry or OpenInference.

A span belongs to the conversation that it names, or that the nearest span around it names, or the only one that its trace names. A tool
span inside one for the same tool is the same call: an MCP client or server inside the span of the agent.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import structs

from callmark.errors import BadInput
from callmark.formats.joining import Refused, refused_row
from callmark.formats.problems import explain
from callmark.formats.traces import gen_ai, openinference
from callmark.formats.traces.conversations import build_conversations
from callmark.formats.traces.span import Ancestry, Span, lookup
from callmark.formats.traces.steps import ModelStep, Step, ToolStep
from callmark.formats.traces.thread import Count

UNKNOWN = "traces without a request to a model, a tool or an agent"
ORPHANS = "spans whose parent is missing"
LOST = "attributes and events that the exporter dropped"

ReadStep = Callable[..., Step | None]


def span_conversations(pieces: Sequence[bytes], read_span: Callable[[bytes], Iterable[Span]], count: Count) -> Iterator[bytes | Refused]:
    """Yield the conversations in the spans of a group; if they cannot be read, the group is refused."""
    try:
        spans = list({span.id: span for piece in pieces for span in read_span(piece)}.values())
        yield from (
            Refused(found, refused_row(pieces)) if isinstance(found, BadInput) else found
            for found in list(build_conversations(read_steps(spans, _reader_of, count), _group_id(spans), count))
        )
    except (ValueError, RecursionError, BadInput) as error:
        hint = error.hint if isinstance(error, BadInput) else ""
        yield Refused(BadInput(explain(b"{}", error, unit="span"), hint), refused_row(pieces))


def read_steps(spans: Sequence[Span], reader_of: Callable[[Span], ReadStep | None], count: Count) -> list[Step]:
    """Return the steps of these spans. What the spans lack is counted."""
    ancestry = Ancestry(spans)
    conversations = _conversations(spans)
    by_trace: dict[str, set[str]] = {}
    for span in spans:
        if span.id in conversations:
            by_trace.setdefault(span.trace, set()).add(conversations[span.id])
    steps: dict[str, Step] = {}
    for span in spans:
        reader = reader_of(span)
        if reader is None:
            continue
        near = next((conversations[one.id] for one in (span, *ancestry.ancestors(span)) if one.id in conversations), "")
        of_trace = by_trace.get(span.trace, set())
        conversation = near or (next(iter(of_trace)) if len(of_trace) == 1 else "")
        step = reader(span, span=span.id, conversation=conversation, start=span.start, end=span.end)
        if step is not None:
            steps[span.id] = step
            for _ in range(span.lost):
                count(LOST)
    if not steps:
        count(UNKNOWN)
        return []
    for _ in range(ancestry.orphans):
        count(ORPHANS)
    _merge_tool_spans(spans, ancestry, steps)
    return [_scoped(steps[span.id], span, ancestry, steps) for span in spans if span.id in steps]


def conversation_of(span: Span) -> str:
    """Return the conversation that a span names; empty if it names none."""
    for key in gen_ai.CONVERSATION:
        found = lookup(span.attributes, key)
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)
    return ""


def _conversations(spans: Sequence[Span]) -> dict[str, str]:
    return {span.id: found for span in spans if (found := conversation_of(span))}


def _reader_of(span: Span) -> ReadStep | None:
    if openinference.kind_of(span):
        return openinference.read_step
    return gen_ai.read_step if gen_ai.is_known(span) else None


def _merge_tool_spans(spans: Sequence[Span], ancestry: Ancestry, steps: dict[str, Step]) -> None:
    """Remove tool spans inside one for the same tool; the outer one takes over what only the inner one has."""
    for span in spans:
        inner = steps.get(span.id)
        if not isinstance(inner, ToolStep):
            continue
        for around in ancestry.ancestors(span):
            outer = steps.get(around.id)
            if isinstance(outer, ModelStep):
                break
            if isinstance(outer, ToolStep) and outer.name == inner.name:
                call, result = outer.call or inner.call, inner.result if outer.result is None else outer.result
                steps[around.id] = structs.replace(outer, call=call, result=result, call_id=outer.call_id or inner.call_id)
                del steps[span.id]
                break


def _scoped(step: Step, span: Span, ancestry: Ancestry, steps: dict[str, Step]) -> Step:
    """Return the step with the tool span that it ran inside, if any."""
    for around in ancestry.ancestors(span):
        if isinstance(steps.get(around.id), ToolStep):
            return structs.replace(step, scope=around.id)
    return step


def _group_id(spans: Sequence[Span]) -> str:
    first: Any = min(spans, key=lambda span: span.start, default=None)
    return "" if first is None else first.trace
