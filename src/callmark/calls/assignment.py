"""The best one-to-one assignment of rows and columns, exactly and on integers of any size.

The Hungarian algorithm in phases: as many rows as possible are matched over the tight edges (those that an optimal assignment may use),
with sets of columns as the bits of numbers; then the prices change just enough for another row to be matched. Most tables need few phases.
"""

from collections.abc import Sequence

Weights = Sequence[Sequence[int]]


def assign(weights: Weights) -> list[tuple[int, int]]:
    """Return `(row, column)` for every pair of the assignment with the greatest sum, in the order of the rows.

    As many pairs as rows or columns, whichever are fewer. Of several best ones, the one with the smallest indexes: the first row gets the
    first column possible, then the second, and so on; to have no column comes last.
    """
    rows, columns = len(weights), len(weights[0]) if weights else 0
    if not rows or not columns:
        return []
    if rows <= columns:
        prices = _solve(weights)
        tight, loose = prices.tight, prices.loose
        column_of = dict(prices.column_of)
    else:
        prices = _solve(list(zip(*weights, strict=True)))
        tight, loose = _transposed(prices.tight, rows), prices.loose
        column_of = {row: column for column, row in prices.column_of.items()}
    return first_matching(tight, columns, loose, column_of)


def match(tight: Sequence[int], columns: int) -> dict[int, int]:
    """Return a largest matching, as the column of each matched row. `tight[row]` are its columns, as the bits of a number."""
    column_of: dict[int, int] = {}
    _augment(tight, column_of, {}, range(len(tight)), (1 << columns) - 1)
    return column_of


def first_matching(tight: Sequence[int], columns: int, loose: int, column_of: dict[int, int]) -> list[tuple[int, int]]:
    """Return the matching over the tight edges with the smallest indexes, given one that matches all rows or, if they are fewer, all
    columns.

    `loose` are the nodes of the larger side that may stay unmatched, as bits: columns or, if there are more rows, rows.
    """
    return _Rematching(tight, columns, loose, column_of).pairs()


def bit_indexes(bits: int) -> list[int]:
    """Return the indexes of the bits that are set, in order."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def _transposed(edges: Sequence[int], columns: int) -> list[int]:
    found = [0] * columns
    for row, bits in enumerate(edges):
        for column in bit_indexes(bits):
            found[column] |= 1 << row
    return found


class _Prices:
    """Prices of rows and columns whose sums are at least the weights, the edges where they are equal, and a matching over those."""

    def __init__(self, rows: list[int], columns: list[int], tight: list[int]) -> None:
        self.rows, self.columns, self.tight = rows, columns, tight
        self.column_of: dict[int, int] = {}
        self.row_of: dict[int, int] = {}

    @property
    def loose(self) -> int:
        """The columns that an optimal assignment may leave out."""
        return sum(1 << column for column, price in enumerate(self.columns) if not price)


def _solve(weights: Weights) -> _Prices:
    """Match every row. There must be at least as many columns as rows."""
    columns = len(weights[0])
    best = [max(row) for row in weights]
    prices = _Prices(best, [0] * columns, [_tight(row, best[index], None) for index, row in enumerate(weights)])
    free = (1 << columns) - 1
    unmatched = list(range(len(weights)))
    while True:
        free = _augment(prices.tight, prices.column_of, prices.row_of, unmatched, free)
        unmatched = [row for row in unmatched if row not in prices.column_of]
        if not unmatched:
            return prices
        _change_prices(weights, prices, unmatched, free)


def _tight(row: Sequence[int], price: int, columns: Sequence[int] | None) -> int:
    """Return the columns whose weight is the sum of the prices, as bits."""
    if columns is None:
        marks = ["1" if weight == price else "0" for weight in row]
    else:
        marks = ["1" if weight == price + other else "0" for weight, other in zip(row, columns, strict=True)]
    marks.reverse()
    return int("".join(marks), 2)


def _augment(tight: Sequence[int], column_of: dict[int, int], row_of: dict[int, int], unmatched: Sequence[int], free: int) -> int:
    """Match as many of the unmatched rows as possible, along augmenting paths, and return the columns that are still free."""
    dead = 0  # columns from which no free column can be reached until another row is matched in a way that frees one: never
    for start in unmatched:
        reached: dict[int, int] = {}  # the row from which each column was reached
        seen, rows, found = dead, [start], -1
        while rows:
            row = rows.pop()
            if here := tight[row] & free:
                found = (here & -here).bit_length() - 1
                reached[found] = row
                break
            new = tight[row] & ~seen
            seen |= new
            for column in bit_indexes(new):
                reached[column] = row
                rows.append(row_of[column])
        if found < 0:
            dead = seen
            continue
        free ^= 1 << found
        while True:  # each row on the path passes its column to the one before it
            row = reached[found]
            row_of[found] = row
            before = column_of.get(row)
            column_of[row] = found
            if before is None:
                break
            found = before
    return free


def _change_prices(weights: Weights, prices: _Prices, unmatched: Sequence[int], free: int) -> None:
    """Lower the prices of the rows that can be reached from unmatched ones, until a free column is reached (Dijkstra, from all of them)."""
    u, v = prices.rows, prices.columns
    distance: dict[int, int] = dict.fromkeys(unmatched, 0)  # of rows
    left = list(range(len(v)))  # columns without a final distance
    slack: list[int] = []
    final: dict[int, int] = {}
    pending = list(unmatched)
    while True:
        for row in pending:
            base, costs = distance[row] + u[row], weights[row]
            if slack:
                slack = [min(known, base + v[column] - costs[column]) for known, column in zip(slack, left, strict=True)]
            else:
                slack = [base + v[column] - costs[column] for column in left]
        nearest = min(slack)
        reached = [column for known, column in zip(slack, left, strict=True) if known == nearest]
        if any(free >> column & 1 for column in reached):
            break
        pending = []
        for column in reached:
            final[column] = nearest
            row = prices.row_of[column]
            distance[row] = nearest
            pending.append(row)
        left = [column for known, column in zip(slack, left, strict=True) if known > nearest]
        slack = [known for known in slack if known > nearest]
    for row, at in distance.items():
        u[row] -= nearest - at
    for column, at in final.items():
        v[column] += nearest - at
    changed_columns = any(at < nearest for at in final.values())
    for row in range(len(weights)) if changed_columns else distance:
        prices.tight[row] = _tight(weights[row], u[row], v)


class _Rematching:
    """Exchanges the columns of a matching for earlier ones, row by row, along tight edges.

    The side with fewer nodes is filled up with one node that stands for all that are missing: it is matched with every unmatched node and
    has a tight edge to every loose one.
    """

    def __init__(self, tight: Sequence[int], columns: int, loose: int, column_of: dict[int, int]) -> None:
        self._rows, self._columns = len(tight), columns
        self._tight = tight
        self._column_of = [column_of.get(row, columns) for row in range(len(tight))]
        self._row_of = [len(tight)] * columns
        for row, column in column_of.items():
            self._row_of[column] = row
        self._rows_of = _transposed(tight, columns)
        more_rows = len(tight) > columns
        self._loose_columns, loose_rows = (0, loose) if more_rows else (loose, 0)
        self._rows_of.append(loose_rows)
        self._open_rows = (1 << len(tight)) - 1
        self._open_columns = (1 << columns) - 1

    def pairs(self) -> list[tuple[int, int]]:
        for row in range(self._rows):
            self._open_rows &= ~(1 << row)
            column = self._column_of[row]
            earlier = self._tight[row] & self._open_columns & ((1 << column) - 1)
            if earlier:
                self._improve(row, column, earlier)
            if self._column_of[row] < self._columns:
                self._open_columns &= ~(1 << self._column_of[row])
        return [(row, column) for row, column in enumerate(self._column_of) if column < self._columns]

    def _improve(self, row: int, column: int, earlier: int) -> None:
        """Give the row the first of the earlier columns whose owner can move on, so that in the end somebody takes the row's column."""
        moves: dict[int, int] = {}  # the column that each row may take
        left_by: dict[int, int] = {column: row}  # the row that leaves each column
        rest, seen = [column], 0
        while rest:
            taken = rest.pop()
            for other in bit_indexes(self._rows_of[taken] & self._open_rows & ~seen):
                seen |= 1 << other
                moves[other] = taken
                if (its := self._column_of[other]) not in left_by:
                    left_by[its] = other
                    rest.append(its)
            if taken < self._columns and self._loose_columns >> taken & 1 and self._rows not in moves:
                moves[self._rows] = taken
                for free in bit_indexes(self._open_columns):
                    if self._row_of[free] == self._rows and free not in left_by:
                        left_by[free] = self._rows
                        rest.append(free)
        for better in bit_indexes(earlier):
            if self._row_of[better] in moves:
                self._shift(row, column, better, moves, left_by)
                return

    def _shift(self, row: int, column: int, better: int, moves: dict[int, int], left_by: dict[int, int]) -> None:
        owner = self._row_of[better]
        self._place(row, better)
        while True:
            taken = moves[owner]
            self._place(owner, taken)
            if taken == column:
                return
            owner = left_by[taken]

    def _place(self, row: int, column: int) -> None:
        if row < self._rows:
            self._column_of[row] = column
        if column < self._columns:
            self._row_of[column] = row
