"""Order and completeness of two lists of calls, given which of them match (docs/reference/metrics.md, section 19).

Matches are integers used as sets of bits, so that lists of thousands of calls take little time: bit k of a row is set if the actual call k
matches that expected call, bit k of a column if the expected call k matches that actual call. Any relation is allowed: with matchers, one
actual call may match several different expected calls.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from callmark.types import Edges

MAX_DEPENDENT = 200  # calls with a dependency up to which the best matching is searched for
MAX_WORK = 2_000_000  # of that search: matchings tried, each counted as the calls on both sides


class Matches(Struct, frozen=True):
    """Which calls match: a row for each expected call, a column for each actual call.

    `limited` means that too many calls have one name, so that only identical calls match.
    """

    rows: list[int]
    columns: list[int]
    limited: bool = False


class RespectedEdges(Struct, frozen=True):
    """How many edges the best matching respects. `limited` means that the search ended early, and another matching may respect more."""

    count: int
    limited: bool = False


def maximum_matching(rows: Sequence[int]) -> list[int | None]:
    """Return a maximum one-to-one matching: for each expected call, the index of its actual call, or None. Early calls come first.

    Augmenting paths. What a failed search has visited cannot be part of a later path, and is removed.
    """
    partner: list[int | None] = [None] * len(rows)
    owner: dict[int, int] = {}
    free = usable = _union(rows)
    for row, candidates in enumerate(rows):
        if direct := candidates & free:
            column = _lowest(direct)
            partner[row], owner[column] = column, row
            free ^= 1 << column
            continue
        found, visited = _augment(row, rows, partner, owner, free, usable)
        if found is None:
            usable &= ~visited
            free &= usable
        else:
            free ^= 1 << found
    return partner


def _augment(
    row: int, rows: Sequence[int], partner: list[int | None], owner: dict[int, int], free: int, usable: int
) -> tuple[int | None, int]:
    """Match one more expected call by moving others. Returns the free actual call that it ends at (None: impossible), and all visited."""
    came_from: dict[int, int] = {}
    visited = 0
    queue = [row]
    for current in queue:
        new = rows[current] & usable & ~visited
        visited |= new
        if ends := new & free:
            column = last = _lowest(ends)
            while True:
                before, partner[current] = partner[current], column
                owner[column] = current
                if before is None:
                    return last, visited
                column, current = before, came_from[before]
        for column in _bits(new):
            came_from[column] = current
            queue.append(owner[column])
    return None, visited


def longest_common_subsequence(matches: Matches) -> int:
    """Return the length of the longest common subsequence: the most matches that are in the same order on both sides.

    The bit-parallel form of the usual table: a zero bit marks a row in which the length grows.
    """
    everything = (1 << len(matches.rows)) - 1
    state = everything
    for column in matches.columns:
        found = state & column
        state = ((state + found) | (state - found)) & everything
    return len(matches.rows) - state.bit_count()


def respected_edges(rows: Sequence[int], edges: Edges) -> RespectedEdges:
    """Return how many edges are respected in the maximum matching that respects most: both calls matched, the first before the second.

    Repeated edges count once each time they are given. The search is exhaustive up to `MAX_DEPENDENT` calls with an edge and `MAX_WORK`.
    """
    if not edges:
        return RespectedEdges(0)
    return _EdgeSearch(rows, edges).run()


class _EdgeSearch:
    """Depth-first search over the partners of the calls that have an edge. A branch is left if it cannot be part of a maximum matching, or
    cannot respect more edges than the best matching so far.
    """

    def __init__(self, rows: Sequence[int], edges: Edges) -> None:
        self._rows = rows
        self._edges = edges
        first = maximum_matching(rows)
        self._size = sum(column is not None for column in first)
        self._order, self._before = _predecessors_first(edges)
        self._chosen: dict[int, int | None] = {}
        self._free = _union(rows)
        self._best = sum(_in_order(first[source], first[target]) for source, target in edges)
        self._bound = self._possible()
        self._work = MAX_WORK

    def run(self) -> RespectedEdges:
        if self._best < self._bound and len(self._order) > MAX_DEPENDENT:
            return RespectedEdges(self._best, limited=True)
        if self._best < self._bound:
            self._search(0)
        return RespectedEdges(self._best, limited=self._work <= 0 and self._best < self._bound)

    def _search(self, depth: int) -> None:
        if depth == len(self._order):
            self._best = max(self._best, self._possible())
            return
        row = self._order[depth]
        for column in self._partners(row):
            if self._best >= self._bound or self._work <= 0:
                return
            self._choose(row, column)
            if self._possible() > self._best and self._completes():
                self._search(depth + 1)
            self._undo(row)

    def _partners(self, row: int) -> Iterator[int | None]:
        """Yield the free partners of a call, those after its predecessors first, and None if a maximum matching may leave it out."""
        candidates = self._rows[row] & self._free
        earliest = max((found for source in self._before[row] if (found := self._chosen.get(source)) is not None), default=-1) + 1
        later = candidates >> earliest << earliest
        yield from _bits(later)
        yield from _bits(candidates ^ later)
        if self._size < len(self._rows):
            yield None

    def _choose(self, row: int, column: int | None) -> None:
        self._chosen[row] = column
        if column is not None:
            self._free ^= 1 << column

    def _undo(self, row: int) -> None:
        column = self._chosen.pop(row)
        if column is not None:
            self._free ^= 1 << column

    def _completes(self) -> bool:
        """Return whether the choices so far are part of a maximum matching."""
        rest = [candidates & self._free for row, candidates in enumerate(self._rows) if row not in self._chosen]
        self._work -= len(self._rows) + self._free.bit_length()
        matched = sum(column is not None for column in self._chosen.values())
        return matched + sum(column is not None for column in maximum_matching(rest)) == self._size

    def _possible(self) -> int:
        """Return how many edges can be respected at most, given the choices so far."""
        return sum(self._can_respect(source, target) for source, target in self._edges)

    def _can_respect(self, source: int, target: int) -> bool:
        earliest, latest = self._chosen.get(source, -1), self._chosen.get(target, -1)
        if earliest == -1:
            candidates = self._rows[source] & self._free
            earliest = _lowest(candidates) if candidates else None
        if latest == -1:
            candidates = self._rows[target] & self._free
            latest = candidates.bit_length() - 1 if candidates else None
        return _in_order(earliest, latest)


def _predecessors_first(edges: Edges) -> tuple[list[int], dict[int, list[int]]]:
    """Return the calls that have an edge, each after its predecessors if there is no cycle, and the predecessors of each."""
    before: dict[int, list[int]] = {row: [] for row in sorted({row for edge in edges for row in edge})}
    after: dict[int, list[int]] = {row: [] for row in before}
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    waiting = {row: len(sources) for row, sources in before.items()}
    ready = [row for row in before if not waiting[row]]
    for row in ready:  # which grows
        for target in after[row]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    placed = set(ready)
    return [*ready, *(row for row in before if row not in placed)], before


def _in_order(first: int | None, second: int | None) -> bool:
    return first is not None and second is not None and first < second


def _union(rows: Sequence[int]) -> int:
    found = 0
    for candidates in rows:
        found |= candidates
    return found


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> Iterator[int]:
    while bits:
        yield _lowest(bits)
        bits &= bits - 1
