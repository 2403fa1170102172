"""Run requests that a reader waits for before background work: threads share one interpreter and slow each other down."""

from collections.abc import Iterable, Iterator
from threading import Condition
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")
_ITEMS_BETWEEN_PAUSES = 100


class PriorityGate:
    """A context manager around urgent work. Background work iterates with `in_background`, or calls `wait_until_idle`."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._urgent = 0  # urgent tasks in progress

    def __enter__(self) -> Self:
        with self._changed:
            self._urgent += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._changed:
            self._urgent -= 1
            self._changed.notify_all()

    def in_background(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, pausing between them while urgent work is in progress."""
        for count, item in enumerate(items):
            yield item
            if count % _ITEMS_BETWEEN_PAUSES == 0:
                self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Return when no urgent work is in progress."""
        if self._urgent:
            with self._changed:
                self._changed.wait_for(lambda: not self._urgent)
