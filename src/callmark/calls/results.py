"""Which result answers which call.

A result names its call by `tool_call_id`. Where either has no id, it answers the first open call of that name (any name, if it
has none) in the latest message that has one. What answers nothing is an orphan; what nothing answers is open.
"""

from collections.abc import Sequence

from msgspec import Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.types import Call, Message

At = tuple[int, int]  # index of the message, index of the call in it


class Results(Struct, frozen=True):
    """`of[(message, call)]` is the index of the message with its result. `orphans` are indexes of messages, `open` of calls."""

    of: dict[At, int]
    orphans: list[int]
    open: list[At]


def match_results(messages: Sequence[Message]) -> Results:
    """Pair every result with its call. Empty lists for no messages; a repeated id goes to the latest open call that has it."""
    of: dict[At, int] = {}
    orphans: list[int] = []
    waiting: list[tuple[At, Call]] = []  # in order of the calls
    for index, message in enumerate(messages):
        if message.calls:
            waiting.extend(((index, place), call) for place, call in enumerate(message.calls))
        elif message.role in RESULT_ROLES:
            answered = _answered(message, waiting)
            if answered is None:
                orphans.append(index)
            else:
                of[waiting.pop(answered)[0]] = index
    return Results(of, orphans, [at for at, _ in waiting])


def _answered(result: Message, waiting: Sequence[tuple[At, Call]]) -> int | None:
    """The index in `waiting` of the call that the result answers: the latest message's, in it the first."""
    best: int | None = None
    for index in range(len(waiting) - 1, -1, -1):
        (message, _), call = waiting[index]
        if best is not None and message != waiting[best][0][0]:
            break
        if result.tool_call_id is not None and call.id is not None:
            fits = call.id == result.tool_call_id
        else:
            fits = result.name is None or call.name == result.name
        if fits:
            best = index
    return best
