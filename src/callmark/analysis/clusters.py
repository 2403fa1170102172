"""Values added up by conversation, in memory that hardly grows with them: the grades of a conversation stand together in most runs.

A conversation that comes again, as in a shuffled dataset, is put together with what it had. It is known by a hash of its name, so that 16
bytes are kept of each stretch of grades, and the sums of those that are alike once.
"""

from array import array
from collections import Counter
from operator import add

Names = tuple[str, ...]
Sums = tuple[float, ...]
Cluster = tuple[tuple[Names, Sums], ...]  # for each set of names that its values come under, their sums


class ClusterTally:
    """Takes values one by one, each time those of some names; mostly of the same."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._names: Names = ()
        self._sums: Sums = ()
        self._hashes = array("q")
        self._kinds = array("q")  # places in `_known`
        self._known: dict[tuple[Names, Sums], int] = {}

    def add(self, cluster: str, names: Names, values: Sums) -> None:
        """Add these values to those of the cluster."""
        if cluster == self._name and names == self._names:
            self._sums = tuple(map(add, self._sums, values))
        else:
            self._end()
            self._name, self._names, self._sums = cluster, names, values

    def clusters(self) -> Counter[Cluster]:
        """The clusters, and how many are alike; nothing where no value was added."""
        self._end()
        if not self._hashes:
            return Counter()
        import numpy

        hashes, kinds, known = numpy.array(self._hashes), numpy.array(self._kinds), list(self._known)
        order = numpy.argsort(hashes, kind="stable")
        begins = numpy.flatnonzero(numpy.diff(hashes[order], prepend=~hashes[order[:1]]))  # of the stretches of one cluster
        lengths = numpy.diff(begins, append=len(order))
        alone = numpy.bincount(kinds[order[begins[lengths == 1]]], minlength=len(known))
        found: Counter[Cluster] = Counter({(kind,): times for kind, times in zip(known, alone.tolist(), strict=True) if times})
        several = numpy.flatnonzero(lengths > 1)
        for place in several[numpy.argsort(order[begins[several]])].tolist():  # as they first came: hashes are others in every process
            together: dict[Names, Sums] = {}
            for kind in kinds[order[begins[place] : begins[place] + lengths[place]]].tolist():
                names, sums = known[kind]
                together[names] = tuple(map(add, together[names], sums)) if names in together else sums
            found[tuple(together.items())] += 1
        return found

    def _end(self) -> None:
        if self._name is not None:
            self._hashes.append(hash(self._name))
            self._kinds.append(self._known.setdefault((self._names, self._sums), len(self._known)))
            self._name = None
