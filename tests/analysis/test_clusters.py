"""Values added up by conversation."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from callmark.analysis.clusters import ClusterTally

NAMES = ("x",)


def sums(tally: ClusterTally) -> Counter[tuple[float, ...]]:
    """Those of clusters whose values are all of the same names."""
    return Counter({cluster[0][1]: times for cluster, times in tally.clusters().items() if len(cluster) == 1})


def test_no_values_give_no_cluster() -> None:
    assert ClusterTally().clusters() == Counter()


def test_recurring_cluster_is_merged() -> None:
    tally = ClusterTally()
    for cluster, value in (("a", 1.0), ("a", 0.5), ("b", 0.0), ("a", 1.0), ("c", 2.5), ("b", 0.0)):
        tally.add(cluster, NAMES, (value, 1.0))
    assert sums(tally) == {(2.5, 3.0): 1, (0.0, 2.0): 1, (2.5, 1.0): 1}
    assert tally.clusters().total() == 3  # asked again, the same
    tally.add("b", NAMES, (1.0, 1.0))
    assert sums(tally) == {(2.5, 3.0): 1, (1.0, 3.0): 1, (2.5, 1.0): 1}


def test_values_of_different_names_are_kept_apart() -> None:
    tally = ClusterTally()
    for names, values in ((NAMES, (1.0, 1.0)), (("x", "y"), (2.0, 3.0, 1.0)), (NAMES, (4.0, 1.0))):
        tally.add("a", names, values)
    tally.add("b", NAMES, (0.0, 1.0))
    assert tally.clusters() == {((NAMES, (5.0, 2.0)), (("x", "y"), (2.0, 3.0, 1.0))): 1, ((NAMES, (0.0, 1.0)),): 1}


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.5, 1.0])), max_size=60))
def test_order_does_not_matter(values: list[tuple[str, float]]) -> None:
    tally = ClusterTally()
    added: dict[str, tuple[float, float]] = {}
    for cluster, value in values:
        tally.add(cluster, NAMES, (value, 1.0))
        total, count = added.get(cluster, (0.0, 0.0))
        added[cluster] = (total + value, count + 1)
    assert sums(tally) == Counter(added.values())
