"""From spans with OpenTelemetry attributes to conversations, by the conventions of OpenTelemetry or OpenInference.

A span belongs to the conversation that it names, or that the nearest span around it names, or the only one that its trace names. A tool
span inside one for the same tool is the same call: an MCP client or server inside the span of the agent.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from callmark.errors import BadInput
from callmark.formats.joining import Refused, refused_row
from callmark.formats.traces import gen_ai, openinference
from callmark.formats.traces.conversations import build_conversations
from callmark.formats.traces.span import Ancestry, Span, lookup
from callmark.formats.traces.steps import ModelStep, Step, ToolStep
from callmark.formats.traces.thread import Count

UNKNOWN = "traces without a model request, a tool call or an agent run"
ORPHANS = "spans whose parent is missing"
LOST = "attributes and events that the exporter dropped"

ReadStep = Callable[..., Step | None]


def span_conversations(pieces: Sequence[bytes], read_span: Callable[[bytes], Iterable[Span]], count: Count) -> Iterator[bytes | Refused]:
    """Yield the conversations in the spans of a group. Spans that cannot be read raise `BadInput`."""
    spans = list({span.id: span for piece in pieces for span in read_span(piece)}.values())
    steps = read_steps(spans, _reader_of, count)
    yield from built_rows(build_conversations(steps, group_id(spans), count), pieces)


def built_rows(built: Iterable[bytes | BadInput], pieces: Sequence[bytes]) -> Iterator[bytes | Refused]:
    """Yield conversations, and those that are refused with the JSON of their group."""
    for found in built:
        yield Refused(found, refused_row(pieces)) if isinstance(found, BadInput) else found


def group_id(spans: Sequence[Span]) -> str:
    """Return the trace of the first span, as the id of a conversation that has no other; empty without spans."""
    return min(spans, key=lambda span: span.start).trace if spans else ""


def read_steps(spans: Sequence[Span], reader_of: Callable[[Span], ReadStep | None], count: Count) -> list[Step]:
    """Return the steps of these spans. What the spans lack is counted."""
    ancestry = Ancestry(spans)
    named = _conversations(spans)
    near = ancestry.nearest(named, with_own=True)
    by_trace: dict[str, set[str]] = {}
    for span in spans:
        if span.id in named:
            by_trace.setdefault(span.trace, set()).add(named[span.id])
    steps: dict[str, Step] = {}
    for span in spans:
        reader = reader_of(span)
        if reader is None:
            continue
        of_trace = by_trace.get(span.trace, set())
        conversation = near.get(span.id) or (next(iter(of_trace)) if len(of_trace) == 1 else "")
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
    _merge_tool_spans(ancestry, steps)
    scopes = ancestry.nearest({name: name for name, step in steps.items() if isinstance(step, ToolStep)}, with_own=False)
    return [structs.replace(steps[span.id], scope=scopes.get(span.id, "")) for span in spans if span.id in steps]


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


def _merge_tool_spans(ancestry: Ancestry, steps: dict[str, Step]) -> None:
    """Remove tool spans inside one for the same tool; the outer one takes over what only the inner one has.

    A request to a model in between means that the inner one is another call.
    """
    around = ancestry.nearest({name: name for name, step in steps.items() if isinstance(step, ToolStep | ModelStep)}, with_own=False)
    outermost: dict[str, str] = {}
    for name in [name for name, step in steps.items() if isinstance(step, ToolStep)]:
        path: list[str] = []
        current = name
        while current not in outermost:
            path.append(current)
            outer, inner = steps.get(around.get(current, "")), steps[current]
            if not (isinstance(outer, ToolStep) and isinstance(inner, ToolStep) and outer.name == inner.name):
                outermost[current] = current
                break
            current = outer.span
        for one in path:
            outermost[one] = outermost[current]
    for name, outer_name in outermost.items():
        outer, inner = steps[outer_name], steps[name]
        if name != outer_name and isinstance(outer, ToolStep) and isinstance(inner, ToolStep):
            call, result = outer.call or inner.call, inner.result if outer.result is None else outer.result
            steps[outer_name] = structs.replace(outer, call=call, result=result, call_id=outer.call_id or inner.call_id)
    for name, outer_name in outermost.items():
        if name != outer_name:
            del steps[name]
