"""Deciding early: looks at a growing number of conversations, with wider intervals at earlier ones (docs/reference/metrics.md, section 11).

The looks are fixed in advance, at equal numbers of conversations in random order. At look k of L, intervals use z = C·√(L/k), and p-values
are compared with the level of that z (O'Brien-Fleming), so that all looks together are wrong at most 5% of the time. Looks before 20
conversations are skipped; they still count in L and k.
"""

from math import ceil, sqrt
from statistics import NormalDist
from typing import Literal, get_args

from msgspec import Struct

from callmark.analysis.differences import Difference, difference, is_beyond_noise
from callmark.analysis.intervals import Clusters, Interval, mean_interval
from callmark.errors import BadInput

LookCount = Literal[2, 3, 4, 5, 8, 10, 20]
DEFAULT_LOOKS: LookCount = 10
MIN_CONVERSATIONS = 20
FLIPS = 100_000

_CRITICAL: dict[int, float] = {2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040, 8: 2.072, 10: 2.087, 20: 2.126}


class Look(Struct, frozen=True):
    """One look: its number k of L, the number of conversations it is taken at, and the z of its intervals."""

    number: int
    of: int
    conversations: int
    z: float

    @property
    def level(self) -> float:
        """The p-value below which a difference counts at this look."""
        return 2 * (1 - NormalDist().cdf(self.z))


def plan_looks(conversations: int, looks: int = DEFAULT_LOOKS) -> list[Look]:
    """Return the looks at a dataset of that many conversations, the last one at all of them; skipped looks are not in the list.

    A number of looks without a critical value raises `BadInput`.
    """
    if looks not in _CRITICAL:
        raise BadInput(f"--looks: expected one of {', '.join(map(str, get_args(LookCount)))}, got {looks}")
    planned = [
        Look(number, looks, ceil(conversations * number / looks), _CRITICAL[looks] * sqrt(looks / number)) for number in range(1, looks + 1)
    ]
    return [look for look in planned if look.conversations >= MIN_CONVERSATIONS]


def compare_at(look: Look, clusters: Clusters, *, bounded: bool = True) -> tuple[Difference, bool]:
    """Return the difference at a look, and whether it decides the comparison: its p-value is low, and 0 is outside its interval."""
    found = difference(clusters, bounded=bounded, z=look.z, flips=FLIPS)
    return found, is_beyond_noise(found.p, (found.low, found.high), level=look.level)


def check_threshold_at(look: Look, clusters: Clusters, threshold: float) -> tuple[Interval | None, bool]:
    """Return the interval of a mean at a look, and whether it decides a gate: the threshold is outside the interval."""
    interval = mean_interval(clusters, z=look.z)
    return interval, interval is not None and not interval[0] <= threshold <= interval[1]
