"""Cut conversations into decision points: given the conversation so far, which call comes next? (docs/reference/metrics.md, section 13)

Every call of every assistant message becomes one case. The assistant's text in the same message stays in the history, as a message
without calls. If a message has several calls, the history of case k has calls 0 to k-1 and their results, so that no two cases have the
same input and different expected calls; `parallel="together"` makes one case that expects all of them. `abstain` adds a case for each
assistant turn with text and no calls.

A conversation without calls has no cases (unless `abstain`). A malformed call is a case too, unchanged. The same input gives the same ids.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Literal

from callmark.calls.history import Histories
from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import call_text
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message, Source, SourceRow

Parallel = Literal["separate", "together"]


def expand(rows: Iterable[Conversation], *, parallel: Parallel = "separate", abstain: bool = False) -> Iterator[Case]:
    """Yield the decision points of every conversation, in order. Repeated conversation ids get the suffix `~2`, `~3`, …"""
    for row, name in with_unique_ids(rows):
        yield from decision_points(row, parallel=parallel, abstain=abstain, name=name)


def as_cases(rows: Iterable[Conversation]) -> Iterator[Case]:
    """Yield decision points unchanged, and the decision points of conversations. A scenario, and a mix of both, raise `BadInput`."""
    rest = iter(rows)
    first = next(rest, None)
    if first is None:
        return
    if not isinstance(first, Case):
        yield from expand(chain((first,), rest))
        return
    for row in chain((first,), rest):
        if not isinstance(row, Case) or row.is_scenario:
            what = "scenario" if isinstance(row, Case) else "conversation"
            raise BadInput(f"{_location(row)}expected a decision point, got the {what} {row.id!r}")
        yield row


def with_unique_ids(rows: Iterable[Conversation]) -> Iterator[tuple[Conversation, str]]:
    """Yield each conversation with a unique id: its own, with the suffix `~2`, `~3`, … if it is repeated. A case raises `BadInput`."""
    repeats: Counter[str] = Counter()
    used: set[str] = set()
    for row in rows:
        if isinstance(row, Case):
            what, commands = ("scenario", "simulate") if row.is_scenario else ("decision point", "grade or callmark run")
            hint = f"The file already contains test cases. Pass it to callmark {commands}."
            raise BadInput(f"{_location(row)}expected a conversation to cut into decision points, got the {what} {row.id!r}", hint)
        name = row.id
        while name in used:
            repeats[row.id] += 1
            name = f"{row.id}~{repeats[row.id] + 1}"
        used.add(name)
        yield row, name


def _location(row: Conversation) -> str:
    return f"{row.place}: " if row.place else ""


def decision_points(
    conversation: Conversation, *, parallel: Parallel = "separate", abstain: bool = False, name: str | None = None
) -> Iterator[Case]:
    """Yield the decision points of one conversation. `name` replaces its id."""
    histories = Histories(conversation)
    for point in cut(histories, parallel=parallel, abstain=abstain, name=name):
        yield histories.complete(point)


def cut(histories: Histories, *, parallel: Parallel = "separate", abstain: bool = False, name: str | None = None) -> Iterator[Case]:
    """Yield the decision points of one conversation without their messages and tools, which `Histories.complete` adds."""
    conversation = histories.conversation
    messages = conversation.messages
    name = conversation.id if name is None else name
    for index, message in enumerate(messages):
        if message.calls:
            calls = histories.call_texts(index)
            if len(calls) == 1 or parallel == "together":
                source = Source(name, index, 0 if len(calls) == 1 else None)
                yield _point(conversation, f"{name}:{index}", source, message.calls, calls)
                continue
            for place, call in enumerate(message.calls):
                yield _point(conversation, f"{name}:{index}.{place}", Source(name, index, place), (call,), calls[place : place + 1])
        elif abstain and _is_abstention(messages, index):
            yield _point(conversation, f"{name}:{index}", Source(name, index), (), ())


def _point(conversation: Conversation, name: str, source: Source, expected: tuple[Call, ...], expected_texts: Sequence[bytes]) -> Case:
    joined = expected_texts[0] if len(expected_texts) == 1 else b"".join(expected_texts)
    if b"$" in joined or b"u0024" in joined:
        wrapped = tuple(map(_wrap_literals, expected))
        expected_texts = [
            text if call is recorded else call_text(call) for call, recorded, text in zip(wrapped, expected, expected_texts, strict=True)
        ]
        expected = wrapped
    original = SourceRow(expected=expected, expected_texts=expected_texts, conversation=conversation)
    return Case(name, place=conversation.place, original=original, expected=expected, source=source)


def _is_abstention(messages: tuple[Message, ...], index: int) -> bool:
    """Return whether an assistant turn with text and no calls begins at `index`. A turn ends at a message of another role."""
    if messages[index].role != "assistant" or (index and messages[index - 1].role == "assistant"):
        return False
    following = (messages[at] for at in range(index, len(messages)))
    turn = list(takewhile(lambda message: message.role == "assistant", following))
    return any(message.text for message in turn) and not any(message.calls for message in turn)


def _wrap_literals(call: Call) -> Call:
    """Return a recorded call as an expected call: values that look like matchers are wrapped in `$literal`."""
    arguments = {key: wrap_literal(value) for key, value in call.arguments.items()}
    return call if arguments == call.arguments else Call(call.name, arguments, call.id)
