"""Generate missing ids for calls and results, for formats that require them."""

from collections.abc import Iterator, Sequence
from itertools import count

from msgspec import Struct, structs

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.results import match_results
from callmark.types import Message


class MessagesWithIds(Struct, frozen=True):
    """Messages in which every call and every result has an id.

    `unambiguous` is False if duplicate ids make it impossible to assign every result to the same call as before.
    """

    messages: tuple[Message, ...]
    unambiguous: bool = True


def with_ids(messages: tuple[Message, ...], template: str) -> MessagesWithIds:
    """Return the messages with an id for each call and result that had none; the result is deterministic.

    A result gets the id of its call, and a call the id of its result. Other ids are generated from `template` and the next free number.
    Messages that have all ids are returned unchanged.
    """
    if all(_has_ids(message) for message in messages):
        return MessagesWithIds(messages)
    found = match_results(messages)
    fresh = generate_ids(messages, template)
    ids: dict[tuple[int, int], str] = {}
    for index, message in enumerate(messages):
        for place, call in enumerate(message.calls):
            result = found.by_call.get((index, place))
            given = call.id if call.id is not None or result is None else messages[result].tool_call_id
            ids[index, place] = given if given is not None else next(fresh)
    result_ids = {result: ids[call] for call, result in found.by_call.items()}
    filled = tuple([_fill_ids(index, message, ids, result_ids, fresh) for index, message in enumerate(messages)])
    return MessagesWithIds(filled, match_results(filled).by_call == found.by_call)


def generate_ids(messages: Sequence[Message], template: str) -> Iterator[str]:
    """Yield unused ids: `template` formatted with 1, 2, …"""
    taken = {call.id for message in messages for call in message.calls} | {message.tool_call_id for message in messages}
    return (new for number in count(1) if (new := template.format(number)) not in taken)


def _has_ids(message: Message) -> bool:
    if message.role in RESULT_ROLES and message.tool_call_id is None:
        return False
    return None not in [call.id for call in message.calls]


def _fill_ids(index: int, message: Message, ids: dict[tuple[int, int], str], result_ids: dict[int, str], fresh: Iterator[str]) -> Message:
    if message.calls:
        calls = tuple([structs.replace(call, id=ids[index, place]) for place, call in enumerate(message.calls)])
        message = structs.replace(message, calls=calls)
    if message.role in RESULT_ROLES and message.tool_call_id is None:
        message = structs.replace(message, tool_call_id=result_ids[index] if index in result_ids else next(fresh))
    return message
