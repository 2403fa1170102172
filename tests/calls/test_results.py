import pytest

from callmark.calls.results import match_results
from callmark.types import Call, Message


def calling(*calls: tuple[str, str | None]) -> Message:
    return Message("assistant", calls=tuple(Call(name, {}, call_id) for name, call_id in calls))


def answer(call_id: str | None = None, name: str | None = None) -> Message:
    return Message("tool", "ok", (), call_id, name)


@pytest.mark.parametrize(
    "messages, of, orphans, left_open",
    [
        ([], {}, [], []),
        ([calling(("a", "1")), answer("1")], {(0, 0): 1}, [], []),
        ([calling(("a", "1"), ("b", "2")), answer("2"), answer("1")], {(0, 1): 1, (0, 0): 2}, [], []),
        ([calling(("a", "1")), answer("9")], {}, [1], [(0, 0)]),
        ([answer("1")], {}, [0], []),
        ([calling(("a", "1")), answer("1"), answer("1")], {(0, 0): 1}, [2], []),
        # the same id again: each result goes to the latest open call that has it
        ([calling(("a", "1")), answer("1"), calling(("a", "1")), answer("1")], {(0, 0): 1, (2, 0): 3}, [], []),
        # no ids: by name, in order
        ([calling(("a", None), ("b", None)), answer(None, "b"), answer(None, "a")], {(0, 1): 1, (0, 0): 2}, [], []),
        ([calling(("a", None), ("a", None)), answer(), answer()], {(0, 0): 1, (0, 1): 2}, [], []),
        ([calling(("a", None)), answer(None, "b")], {}, [1], [(0, 0)]),
    ],
)
def test_results_find_their_calls(
    messages: list[Message], of: dict[tuple[int, int], int], orphans: list[int], left_open: list[tuple[int, int]]
) -> None:
    found = match_results(messages)
    assert (found.by_call, found.orphans, found.open) == (of, orphans, left_open)
