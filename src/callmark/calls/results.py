"""Which result answers which call.

A result names its call by `tool_call_id`. Where either has no id, it answers the first open call of that name (any name, if it
has none) in the latest message that has one. What answers nothing is an orphan; what nothing answers is open.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.types import Call, Message

At = tuple[int, int]  # index of the message, index of the call in it


class MatchedResults(Struct, frozen=True):
    """`of[(message, call)]` is the index of the message with its result. `orphans` are indexes of messages, `open` of calls."""

    of: dict[At, int]
    orphans: list[int]
    open: list[At]


def match_results(messages: Sequence[Message]) -> MatchedResults:
    """Pair every result with its call. Empty lists for no messages; a repeated id goes to the latest open call that has it."""
    waiting = _Waiting()
    orphans: list[int] = []
    calls: list[At] = []
    for index, message in enumerate(messages):
        if message.calls:
            calls += ((index, place) for place in range(len(message.calls)))
            waiting.add(index, message.calls)
        elif message.role in RESULT_ROLES and not waiting.answer(message, index):
            orphans.append(index)
    return MatchedResults(waiting.of, orphans, [at for at in calls if at not in waiting.of])


class _Waiting:
    """Open calls by everything they can be asked for by: the latest message last, in it the first call last, so that `pop` finds it."""

    def __init__(self) -> None:
        self.of: dict[At, int] = {}
        self._stacks: dict[tuple[str, str | None], list[At]] = {}

    def add(self, index: int, calls: Sequence[Call]) -> None:
        for place in range(len(calls) - 1, -1, -1):
            call = calls[place]
            keys: list[tuple[str, str | None]] = [("call", call.name), ("call", None)]
            keys += [("id", call.id)] if call.id is not None else [("no id", call.name), ("no id", None)]
            for key in keys:
                self._stacks.setdefault(key, []).append((index, place))

    def answer(self, result: Message, index: int) -> bool:
        """Close the call that the result answers; False when there is none."""
        if result.tool_call_id is None:
            found = self._latest([("call", result.name)])
        else:
            found = self._latest([("id", result.tool_call_id), ("no id", result.name)])
        if found is None:
            return False
        self.of[found] = index
        return True

    def _latest(self, keys: Iterable[tuple[str, str | None]]) -> At | None:
        best: At | None = None
        for key in keys:
            stack = self._stacks.get(key, [])
            while stack and stack[-1] in self.of:
                stack.pop()
            if stack and (best is None or (stack[-1][0], -stack[-1][1]) > (best[0], -best[1])):
                best = stack[-1]
        return best
