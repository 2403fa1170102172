"""Ids for calls and results that have none, where a dialect cannot do without."""

from collections.abc import Iterator, Sequence
from itertools import count

from msgspec import Struct, structs

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.results import match_results
from callmark.types import Message


class Identified(Struct, frozen=True):
    """Messages in which every call and every result has an id. `told_apart` says that by these ids each result answers the call that it
    answered before, which ids that stand twice can make impossible.
    """

    messages: tuple[Message, ...]
    told_apart: bool = True


def with_ids(messages: tuple[Message, ...], form: str) -> Identified:
    """The messages with an id for each call and result that had none: the same messages, the same ids.

    A result gets the id of the call that it answers, a call that of its result, and else it is made up: `form` with the next number,
    one that stands nowhere else in the messages. Nothing is changed where every id is there.
    """
    if all(_has_ids(message) for message in messages):
        return Identified(messages)
    found = match_results(messages)
    fresh = made_up(messages, form)
    ids: dict[tuple[int, int], str] = {}
    for index, message in enumerate(messages):
        for place, call in enumerate(message.calls):
            answer = found.of.get((index, place))
            given = call.id if call.id is not None or answer is None else messages[answer].tool_call_id
            ids[index, place] = given if given is not None else next(fresh)
    of = {result: ids[at] for at, result in found.of.items()}
    filled = tuple([_filled(index, message, ids, of, fresh) for index, message in enumerate(messages)])
    return Identified(filled, match_results(filled).of == found.of)


def made_up(messages: Sequence[Message], form: str) -> Iterator[str]:
    """Ids that no call and no result has: `form` with 1, 2, …"""
    taken = {call.id for message in messages for call in message.calls} | {message.tool_call_id for message in messages}
    return (made for number in count(1) if (made := form.format(number)) not in taken)


def _has_ids(message: Message) -> bool:
    if message.role in RESULT_ROLES and message.tool_call_id is None:
        return False
    return None not in [call.id for call in message.calls]


def _filled(index: int, message: Message, ids: dict[tuple[int, int], str], of: dict[int, str], fresh: Iterator[str]) -> Message:
    if message.calls:
        calls = tuple([structs.replace(call, id=ids[index, place]) for place, call in enumerate(message.calls)])
        message = structs.replace(message, calls=calls)
    if message.role in RESULT_ROLES and message.tool_call_id is None:
        message = structs.replace(message, tool_call_id=of[index] if index in of else next(fresh))
    return message
