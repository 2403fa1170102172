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

from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import call_text, call_texts, message_texts, replace_calls
from callmark.calls.results import MatchedResults, match_results
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message, Source, SourceRow, Text

Parallel = Literal["apart", "together"]


def expand(rows: Iterable[Conversation], *, parallel: Parallel = "apart", abstain: bool = False) -> Iterator[Case]:
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
            what = "scenario" if row.is_scenario else "decision point"
            raise BadInput(f"{_location(row)}expected a conversation to cut into decision points, got the {what} {row.id!r}")
        name = row.id
        while name in used:
            repeats[row.id] += 1
            name = f"{row.id}~{repeats[row.id] + 1}"
        used.add(name)
        yield row, name


def _location(row: Conversation) -> str:
    return f"{row.place}: " if row.place else ""


def decision_points(
    conversation: Conversation, *, parallel: Parallel = "apart", abstain: bool = False, name: str | None = None
) -> Iterator[Case]:
    """Yield the decision points of one conversation. `name` replaces its id."""
    messages = conversation.messages
    name = conversation.id if name is None else name
    texts: Sequence[Text] | None = None
    results: MatchedResults | None = None
    openai = conversation.original.openai_calls and conversation.original.messages is messages
    for index, message in enumerate(messages):
        if message.calls:
            texts = message_texts(conversation) if texts is None else texts
            calls = call_texts(message, texts[index], openai=openai)
            if len(calls) == 1 or parallel == "together":
                source = Source(name, index, 0 if len(calls) == 1 else None)
                yield _case(conversation, f"{name}:{index}", source, _history_before(messages, texts, index), message.calls, calls)
                continue
            results = results or match_results(messages)
            for place, call in enumerate(message.calls):
                results_before = sorted(results.by_call[(index, before)] for before in range(place) if (index, before) in results.by_call)
                history = _history_before(messages, texts, index, calls[:place], results_before)
                yield _case(conversation, f"{name}:{index}.{place}", Source(name, index, place), history, (call,), calls[place : place + 1])
        elif abstain and _is_abstention(messages, index):
            texts = message_texts(conversation) if texts is None else texts
            yield _case(conversation, f"{name}:{index}", Source(name, index), (messages[:index], texts[:index]), (), ())


History = tuple[tuple[Message, ...], Sequence[Text]]  # messages, and the JSON of each


def _case(
    conversation: Conversation, name: str, source: Source, history: History, expected: tuple[Call, ...], expected_texts: Sequence[bytes]
) -> Case:
    messages, texts = history
    if b"$" in (joined := b"".join(expected_texts)) or b"u0024" in joined:
        wrapped = tuple(map(_wrap_literals, expected))
        expected_texts = [
            text if call is recorded else call_text(call) for call, recorded, text in zip(wrapped, expected, expected_texts, strict=True)
        ]
        expected = wrapped
    original = conversation.original
    return Case(
        name,
        messages,
        conversation.tools,
        conversation.place,
        SourceRow(messages, original.tools, b"", b"", texts, original.raw_tools, False, expected, expected_texts),
        expected=expected,
        source=source,
    )


def _history_before(
    messages: tuple[Message, ...], texts: Sequence[Text], index: int, earlier_calls: Sequence[bytes] = (), results: Sequence[int] = ()
) -> History:
    """Return the history of a call: the messages before its own, the text and earlier calls of its own message, and their results."""
    message = messages[index]
    if not earlier_calls and not message.text:
        return messages[:index], texts[:index]
    own_message = Message(message.role, message.text, message.calls[: len(earlier_calls)], None, message.name)
    own_text = replace_calls(texts[index], earlier_calls)
    return (*messages[:index], own_message, *(messages[at] for at in results)), [*texts[:index], own_text, *(texts[at] for at in results)]


def _is_abstention(messages: tuple[Message, ...], index: int) -> bool:
    """Return whether an assistant turn with text and no calls begins at `index`. A turn ends at a message of another role."""
    if messages[index].role != "assistant" or (index and messages[index - 1].role == "assistant"):
        return False
    turn = list(takewhile(lambda message: message.role == "assistant", messages[index:]))
    return any(message.text for message in turn) and not any(message.calls for message in turn)


def _wrap_literals(call: Call) -> Call:
    """Return a recorded call as an expected call: values that look like matchers are wrapped in `$literal`."""
    arguments = {key: wrap_literal(value) for key, value in call.arguments.items()}
    return call if arguments == call.arguments else Call(call.name, arguments, call.id)
