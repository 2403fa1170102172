"""What somebody waits for goes before what can wait: threads share one interpreter, and two that count take each other's time."""

from collections.abc import Iterable, Iterator
from threading import Condition
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")
_AT_ONCE = 100  # items


class PriorityGate:
    """As a context manager: somebody waits for this. Whoever does what can wait does it `beside`."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waited_for = 0

    def __enter__(self) -> Self:
        with self._changed:
            self._waited_for += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._changed:
            self._waited_for -= 1
            self._changed.notify_all()

    def beside(self, items: Iterable[T]) -> Iterator[T]:
        """The items, giving way after every few of them."""
        for count, item in enumerate(items):
            yield item
            if count % _AT_ONCE == 0:
                self.give_way()

    def give_way(self) -> None:
        """Come back when nobody waits for anything; at once where that is so."""
        if self._waited_for:
            with self._changed:
                self._changed.wait_for(lambda: not self._waited_for)
