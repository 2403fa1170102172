"""Cutting a conversation into decision points: given the talk so far, which call comes next? (docs/metrics.md, section 13)

Every call of every assistant message becomes one case. What the assistant said in the same message stays in the history, as a
message without calls. Of several calls in one message, case k has calls 0 to k-1 and their results in its history, so that no two
cases ask the same question and want different answers; `parallel="together"` makes one case that expects them all. `abstain` adds a
case for each assistant turn that says something and calls nothing.

A conversation without calls gives no case (unless `abstain`). A malformed call gives one, as it stands. The same input gives the same ids.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Literal

from callmark.calls.matchers import literal
from callmark.calls.messages import call_text, call_texts, keep_calls, message_texts
from callmark.calls.results import Results, match_results
from callmark.errors import BadInput
from callmark.types import Call, Case, Conversation, Message, Source, SourceRow, Text

Parallel = Literal["apart", "together"]


def expand(rows: Iterable[Conversation], *, parallel: Parallel = "apart", abstain: bool = False) -> Iterator[Case]:
    """The decision points of every conversation, in order. A repeated conversation id is told apart by `~2`, `~3`, …"""
    for row, name in named(rows):
        yield from decision_points(row, parallel=parallel, abstain=abstain, name=name)


def cases_of(rows: Iterable[Conversation]) -> Iterator[Case]:
    """Decision points as they are, conversations cut into theirs; a scenario, and a mixture of both, raise `BadInput`."""
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
            raise BadInput(f"{row.place}: {row.id} is a {what}, a decision point was expected")
        yield row


def named(rows: Iterable[Conversation]) -> Iterator[tuple[Conversation, str]]:
    """Each conversation with a name of its own: its id, told apart by `~2`, `~3`, … where it was there before. A case raises `BadInput`."""
    repeats: Counter[str] = Counter()
    used: set[str] = set()
    for row in rows:
        if isinstance(row, Case):
            where = f"{row.place}: " if row.place else ""
            what = "a scenario, which is taken as a whole" if row.is_scenario else "a decision point already"
            raise BadInput(f"{where}{row.id} is {what}: only conversations can be cut into decision points")
        name = row.id
        while name in used:
            repeats[row.id] += 1
            name = f"{row.id}~{repeats[row.id] + 1}"
        used.add(name)
        yield row, name


def decision_points(
    conversation: Conversation, *, parallel: Parallel = "apart", abstain: bool = False, name: str | None = None
) -> Iterator[Case]:
    """The decision points of one conversation; `name` stands for its id."""
    messages = conversation.messages
    name = conversation.id if name is None else name
    texts: Sequence[Text] | None = None
    results: Results | None = None
    known = conversation.original.openai_calls and conversation.original.messages is messages
    for index, message in enumerate(messages):
        if message.calls:
            texts = message_texts(conversation) if texts is None else texts
            calls = call_texts(message, texts[index], openai=known)
            if len(calls) == 1 or parallel == "together":
                source = Source(name, index, 0 if len(calls) == 1 else None)
                yield _case(conversation, f"{name}:{index}", source, _cut(messages, texts, index), message.calls, calls)
                continue
            results = results or match_results(messages)
            for place, call in enumerate(message.calls):
                answers = sorted(results.of[(index, before)] for before in range(place) if (index, before) in results.of)
                cut = _cut(messages, texts, index, calls[:place], answers)
                yield _case(conversation, f"{name}:{index}.{place}", Source(name, index, place), cut, (call,), calls[place : place + 1])
        elif abstain and _abstains(messages, index):
            texts = message_texts(conversation) if texts is None else texts
            yield _case(conversation, f"{name}:{index}", Source(name, index), (messages[:index], texts[:index]), (), ())


Cut = tuple[tuple[Message, ...], Sequence[Text]]  # a history: its messages, and the JSON of each


def _case(conversation: Conversation, name: str, source: Source, cut: Cut, expected: tuple[Call, ...], gold: Sequence[bytes]) -> Case:
    messages, texts = cut
    if b"$" in (joined := b"".join(gold)) or b"u0024" in joined:
        wrapped = tuple(map(_gold, expected))
        gold = [text if call is made else call_text(call) for call, made, text in zip(wrapped, expected, gold, strict=True)]
        expected = wrapped
    original = conversation.original
    return Case(
        name,
        messages,
        conversation.tools,
        conversation.place,
        SourceRow(messages, original.tools, b"", b"", texts, original.raw_tools, False, expected, gold),
        expected=expected,
        source=source,
    )


def _cut(messages: tuple[Message, ...], texts: Sequence[Text], index: int, kept: Sequence[bytes] = (), answers: Sequence[int] = ()) -> Cut:
    """Everything before a call: the messages before its own, what that one says, the calls of it that are kept and their answers."""
    message = messages[index]
    if not kept and not message.text:
        return messages[:index], texts[:index]
    spoken = Message(message.role, message.text, message.calls[: len(kept)], None, message.name)
    own_text = keep_calls(texts[index], kept)
    return (*messages[:index], spoken, *(messages[at] for at in answers)), [*texts[:index], own_text, *(texts[at] for at in answers)]


def _abstains(messages: tuple[Message, ...], index: int) -> bool:
    """Whether an assistant turn begins at `index` that says something and calls nothing until someone else speaks."""
    if messages[index].role != "assistant" or (index and messages[index - 1].role == "assistant"):
        return False
    turn = list(takewhile(lambda message: message.role == "assistant", messages[index:]))
    return any(message.text for message in turn) and not any(message.calls for message in turn)


def _gold(call: Call) -> Call:
    """The call as ground truth. A recorded value that looks like a matcher is not one: it is wrapped in `$literal`."""
    arguments = {key: literal(value) for key, value in call.arguments.items()}
    return call if arguments == call.arguments else Call(call.name, arguments, call.id)
