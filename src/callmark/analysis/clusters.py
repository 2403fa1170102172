"""Sums of values by conversation, in little memory: in most runs the grades of a conversation are consecutive.

Where they are not, as in a shuffled dataset, the stretches of a conversation are merged in the end, by a hash of its name. Each stretch of
grades takes 16 bytes, and equal sums are stored once.

The values of a dataset can be added up in parts, each by a `PartClusterTally`, whose `statistics` are then added in order. The result is
the same to the bit as without parts: a stretch that continues in the next part is added up value by value.
"""

import sys
from array import array
from collections import Counter
from itertools import groupby
from operator import add

from msgspec import Struct

Names = tuple[str, ...]
Sums = tuple[float, ...]
Cluster = tuple[tuple[Names, Sums], ...]  # for each set of names, the sums of the values under them

_HALF = 1 << 63


class Stretch(Struct, frozen=True, array_like=True):
    """Consecutive values of one cluster under one set of names: all of them, or only their sums."""

    cluster: str
    names: Names
    values: list[Sums]


class ClusterStatistics(Struct, frozen=True, array_like=True):
    """What a part adds to the values before it.

    Attributes:
        first: The first stretch, value by value, because it may continue the last one of the part before; None for a part without values.
        name_sets: The sets of names of the other stretches.
        known: Their distinct sums, in order of appearance, with the index of their set of names.
        hashes: The hash of the cluster of each of these stretches, as 64-bit integers, little-endian.
        kinds: Their indexes into `known`, likewise.
        last: The sums of the last stretch, which may continue in the next part; None if it is also the first.
    """

    first: Stretch | None = None
    name_sets: list[Names] = []
    known: list[tuple[int, Sums]] = []
    hashes: bytes = b""
    kinds: bytes = b""
    last: Stretch | None = None


class ClusterTally:
    """Adds up values by cluster. Each addition gives the values of a set of names, mostly the same set."""

    def __init__(self) -> None:
        from xxhash import xxh3_64_intdigest

        self._hash = xxh3_64_intdigest  # Python's own hash differs between processes
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

    def hash(self, cluster: str) -> int:
        """Return a 64-bit integer for the name of a cluster, the same in every process."""
        return self._hash(cluster.encode("utf-8", "surrogatepass")) - _HALF

    def extend(self, part: ClusterStatistics) -> None:
        """Add the values of the next part."""
        if part.first is None:
            return
        for values in part.first.values:
            self.add(part.first.cluster, part.first.names, values)
        if part.last is None:
            return
        self._finish_stretch()
        kinds = [self._known.setdefault((part.name_sets[names], sums), len(self._known)) for names, sums in part.known]
        self._hashes += from_bytes(part.hashes)
        self._kinds.extend([kinds[kind] for kind in from_bytes(part.kinds)])
        self._name, self._names, self._sums = part.last.cluster, part.last.names, part.last.values[0]

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
            self._hashes.append(self.hash(self._name))
            self._kinds.append(self._known.setdefault((self._names, self._sums), len(self._known)))
            self._name = None


class PartClusterTally(ClusterTally):
    """Adds up the values of one part of a dataset."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Stretch | None = None
        self._is_first = True

    def add(self, cluster: str, names: Names, values: Sums) -> None:
        if self._is_first:
            first = self._first
            if first is None:
                first = self._first = Stretch(cluster, names, [])
            if (first.cluster, first.names) == (cluster, names):
                first.values.append(values)
                return
            self._is_first = False
        super().add(cluster, names, values)

    def statistics(self) -> ClusterStatistics:
        """Return what the values so far add to those of the parts before."""
        if self._first is None:
            return ClusterStatistics()
        name_sets: dict[Names, int] = {}
        known = [(name_sets.setdefault(names, len(name_sets)), sums) for names, sums in self._known]
        last = None if self._name is None else Stretch(self._name, self._names, [self._sums])
        return ClusterStatistics(self._first, list(name_sets), known, to_bytes(self._hashes), to_bytes(self._kinds), last)


def to_bytes(integers: "array[int]") -> bytes:
    """Return 64-bit integers as little-endian bytes."""
    return _little_endian(integers).tobytes()


def from_bytes(text: bytes) -> "array[int]":
    """Return the integers in such bytes."""
    return _little_endian(array("q", text))


def _little_endian(integers: "array[int]") -> "array[int]":
    if sys.byteorder == "little":
        return integers
    swapped = array("q", integers)
    swapped.byteswap()
    return swapped
