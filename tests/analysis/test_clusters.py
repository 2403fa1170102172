"""Values added up by conversation."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from callmark.analysis.clusters import ClusterTally


def test_nothing_added_is_no_cluster() -> None:
    assert ClusterTally().sums() == Counter()


def test_one_that_comes_again_is_put_together() -> None:
    tally = ClusterTally()
    for cluster, value in (("a", 1.0), ("a", 0.5), ("b", 0.0), ("a", 1.0), ("c", 2.5), ("b", 0.0)):
        tally.add(cluster, (value, 1.0))
    assert tally.sums() == {(2.5, 3.0): 1, (0.0, 2.0): 1, (2.5, 1.0): 1}
    assert tally.sums().total() == 3  # asked again, the same
    tally.add("b", (1.0, 1.0))
    assert tally.sums() == {(2.5, 3.0): 1, (1.0, 3.0): 1, (2.5, 1.0): 1}


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.5, 1.0])), max_size=60))
def test_the_order_does_not_matter(values: list[tuple[str, float]]) -> None:
    tally = ClusterTally()
    sums: dict[str, tuple[float, float]] = {}
    for cluster, value in values:
        tally.add(cluster, (value, 1.0))
        total, count = sums.get(cluster, (0.0, 0.0))
        sums[cluster] = (total + value, count + 1)
    assert tally.sums() == Counter(sums.values())
