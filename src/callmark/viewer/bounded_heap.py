"""What is kept when there is not room for everything: the worst first."""

import heapq


class BoundedHeap:
    """Pieces up to a number of bytes: those with the lowest scores, of equal ones those that came first. A piece that alone is larger than
    the room there is, is left out.
    """

    def __init__(self, most: int) -> None:
        self.pieces: dict[str, bytes] = {}  # by their keys, in no order that means anything
        self.seen = 0
        self._most = most
        self._size = 0
        self._full = False  # whether something had to go
        self._best: list[tuple[float, int, str]] = []  # a heap: what goes first when room is needed

    def wants(self, score: float) -> bool:
        """Whether a further piece of that score could be kept: if not, it need not be made."""
        return not self._full or (bool(self._best) and -self._best[0][0] > score)

    def pass_over(self) -> None:
        """Count a piece that was not made."""
        self.seen += 1

    def add(self, key: str, score: float, piece: bytes) -> None:
        """Offer a piece; a key is offered once."""
        self.seen += 1
        if len(piece) > self._most:
            return
        self.pieces[key] = piece
        self._size += len(piece)
        heapq.heappush(self._best, (-score, -self.seen, key))
        while self._size > self._most:
            self._full = True
            _, _, dropped = heapq.heappop(self._best)
            self._size -= len(self.pieces.pop(dropped))

    @property
    def left_out(self) -> int:
        return self.seen - len(self.pieces)
