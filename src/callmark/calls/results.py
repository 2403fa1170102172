"""Match tool results to calls.

A result names its call by `tool_call_id`. If either has no id, the result belongs to the first open call with the same name (any name, if
the result has none) in the latest message that has one. A result without a call is an orphan; a call without a result is open.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from callmark.calls.messages import RESULT_ROLES
from callmark.types import Call, Message

CallIndex = tuple[int, int]  # index of the message, index of the call in it


class MatchedResults(Struct, frozen=True):
    """Results by call: `by_call[(message, call)]` is the index of the result. `orphans` are message indexes, `open` call indexes."""

    by_call: dict[CallIndex, int]
    orphans: list[int]
    open: list[CallIndex]


def match_results(messages: Sequence[Message]) -> MatchedResults:
    """Match every result to its call. A repeated id belongs to the latest open call with that id."""
    open_calls = _OpenCalls()
    orphans: list[int] = []
    calls: list[CallIndex] = []
    for index, message in enumerate(messages):
        if message.calls:
            calls += ((index, place) for place in range(len(message.calls)))
            open_calls.add(index, message.calls)
        elif message.role in RESULT_ROLES and not open_calls.close(message, index):
            orphans.append(index)
    return MatchedResults(open_calls.result_of, orphans, [at for at in calls if at not in open_calls.result_of])


class _OpenCalls:
    """Open calls by id and by name. The latest message comes last, and within it the first call comes last, so that `pop` finds it."""

    def __init__(self) -> None:
        self.result_of: dict[CallIndex, int] = {}
        self._stacks: dict[tuple[str, str | None], list[CallIndex]] = {}

    def add(self, index: int, calls: Sequence[Call]) -> None:
        for place in range(len(calls) - 1, -1, -1):
            call = calls[place]
            keys: list[tuple[str, str | None]] = [("call", call.name), ("call", None)]
            keys += [("id", call.id)] if call.id is not None else [("no id", call.name), ("no id", None)]
            for key in keys:
                self._stacks.setdefault(key, []).append((index, place))

    def close(self, result: Message, index: int) -> bool:
        """Close the call that the result belongs to, and return whether there is one."""
        if result.tool_call_id is None:
            found = self._latest([("call", result.name)])
        else:
            found = self._latest([("id", result.tool_call_id), ("no id", result.name)])
        if found is None:
            return False
        self.result_of[found] = index
        return True

    def _latest(self, keys: Iterable[tuple[str, str | None]]) -> CallIndex | None:
        best: CallIndex | None = None
        for key in keys:
            stack = self._stacks.get(key, [])
            while stack and stack[-1] in self.result_of:
                stack.pop()
            if stack and (best is None or (stack[-1][0], -stack[-1][1]) > (best[0], -best[1])):
                best = stack[-1]
        return best
