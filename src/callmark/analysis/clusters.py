"""Sums of values by conversation, in little memory: in most runs the grades of a conversation are consecutive.

Where they are not, as in a shuffled dataset, the stretches of a conversation are merged in the end, by a hash of its name. Each stretch of
grades takes 16 bytes, and equal sums are stored once.
"""

from array import array
from collections import Counter
from itertools import groupby
from operator import add

Names = tuple[str, ...]
Sums = tuple[float, ...]
Cluster = tuple[tuple[Names, Sums], ...]  # for each set of names, the sums of the values under them


class ClusterTally:
    """Adds up values by cluster. Each addition gives the values of a set of names, mostly the same set."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._names: Names = ()
        self._sums: Sums = ()
        self._hashes = array("q")
        self._kinds = array("q")  # indexes into `_known`
        self._known: dict[tuple[Names, Sums], int] = {}

    def add(self, cluster: str, names: Names, values: Sums) -> None:
        """Add values to the sums of the cluster."""
        if cluster == self._name and names == self._names:
            self._sums = tuple(map(add, self._sums, values))
        else:
            self._finish_stretch()
            self._name, self._names, self._sums = cluster, names, values

    def clusters(self) -> Counter[Cluster]:
        """Return the distinct clusters and how often each occurs; an empty counter without values."""
        self._finish_stretch()
        known = list(self._known)
        single = [0] * len(known)
        several: list[list[int]] = []
        order = sorted(range(len(self._hashes)), key=self._hashes.__getitem__)
        for _, same in groupby(order, key=self._hashes.__getitem__):
            first, *others = same
            if others:
                several.append([first, *others])
            else:
                single[self._kinds[first]] += 1
        found: Counter[Cluster] = Counter({(kind,): times for kind, times in zip(known, single, strict=True) if times})
        for stretches in sorted(several):  # in order of appearance: hashes differ between processes
            merged: dict[Names, Sums] = {}
            for names, sums in (known[self._kinds[index]] for index in stretches):
                merged[names] = tuple(map(add, merged[names], sums)) if names in merged else sums
            found[tuple(merged.items())] += 1
        return found

    def _finish_stretch(self) -> None:
        if self._name is not None:
            self._hashes.append(hash(self._name))
            self._kinds.append(self._known.setdefault((self._names, self._sums), len(self._known)))
            self._name = None
