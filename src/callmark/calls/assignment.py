"""The best one-to-one assignment: the Hungarian algorithm."""

from collections.abc import Sequence


def assign(weights: Sequence[Sequence[int]]) -> list[int]:
    """Return the one-to-one assignment of columns to rows with the greatest sum. There must be at least as many columns as rows.

    With potentials, on integers of any size. Ties go to the earliest columns.
    """
    rows, columns = len(weights), len(weights[0]) if weights else 0
    row_potential, column_potential = [0] * (rows + 1), [0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        shortest: list[int | None] = [None] * (columns + 1)
        before = [0] * (columns + 1)
        done = [False] * (columns + 1)
        while row_of[column]:
            done[column] = True
            current, step, nearest = row_of[column], None, 0
            costs = weights[current - 1]
            for at in range(1, columns + 1):
                if done[at]:
                    continue
                cost = -costs[at - 1] - row_potential[current] - column_potential[at]
                known = shortest[at]
                if known is None or cost < known:
                    shortest[at] = known = cost
                    before[at] = column
                if step is None or known < step:
                    step, nearest = known, at
            for at in range(columns + 1):
                if done[at]:
                    row_potential[row_of[at]] += step or 0
                    column_potential[at] -= step or 0
                else:
                    waiting = shortest[at]
                    if waiting is not None:
                        shortest[at] = waiting - (step or 0)
            column = nearest
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    chosen = [0] * rows
    for at in range(1, columns + 1):
        if row_of[at]:
            chosen[row_of[at] - 1] = at - 1
    return chosen
