"""A collection of limited size that keeps the items with the lowest scores."""

import heapq


class BoundedHeap:
    """Keeps items up to a total number of bytes: those with the lowest scores; among equal scores, the first ones.

    An item larger than the limit is dropped.
    """

    def __init__(self, max_bytes: int) -> None:
        self.items: dict[str, bytes] = {}  # by key, unordered
        self.offered = 0
        self._max_bytes = max_bytes
        self._size = 0
        self._full = False  # whether an item was dropped for lack of room
        self._heap: list[tuple[float, int, str]] = []  # the item to drop next is first

    def accepts(self, score: float) -> bool:
        """Return whether another item with that score could be kept. If not, there is no need to build it."""
        return not self._full or (bool(self._heap) and -self._heap[0][0] > score)

    def skip(self) -> None:
        """Count an item that was not built as dropped."""
        self.offered += 1

    def add(self, key: str, score: float, item: bytes) -> None:
        """Add an item. Each key may be added only once."""
        self.offered += 1
        if len(item) > self._max_bytes:
            return
        self.items[key] = item
        self._size += len(item)
        heapq.heappush(self._heap, (-score, -self.offered, key))
        while self._size > self._max_bytes:
            self._full = True
            _, _, dropped = heapq.heappop(self._heap)
            self._size -= len(self.items.pop(dropped))

    @property
    def dropped(self) -> int:
        """The number of items that were offered but not kept."""
        return self.offered - len(self.items)
