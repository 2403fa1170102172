"""Do 95 % intervals hold the truth in 93 to 97 of 100 runs, and are 4 to 6 of 100 equal pairs of runs told apart?

Runs of 100 conversations with 2 to 9 decision points each, that go right at a rate between .5 and .95 and hang together with an
intra-class correlation of 0 to .5; a wrong one is worth a half as often as nothing.

  rate        the interval of call.pass (Wilson on the effective size)
  mean        the interval of call.score (bootstrap, corrected for bias and skew)
  difference  the interval of call.score against a run that is worse by .05 in other conversations (bootstrap)
  p < .05     how often two runs of the same model, asked twice, are told apart

python benchmarks/intervals.py [--repetitions 2000] [--jobs 2] [--seed 1]

A share is refused when so many repetitions show that it is outside: when it is outside by more than their own 95 % error. All settings
together have no such allowance.
"""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import sqrt

import numpy
from numpy.typing import NDArray

from callmark.analysis.differences import LEVEL, difference, sign_flip_test
from callmark.analysis.intervals import Clusters, Interval, bootstrap, wilson

RATES, CORRELATIONS = (0.5, 0.8, 0.95), (0.0, 0.25, 0.5)
CONVERSATIONS, FEWEST, MOST = 100, 2, 9
DROP = 0.05
COVERAGE, TOLD_APART = (0.93, 0.97), (0.04, 0.06)
BOUNDS = {"rate": COVERAGE, "mean": COVERAGE, "difference": COVERAGE, "p < .05": TOLD_APART}

Numbers = NDArray[numpy.float64]


class Simulation:
    """Runs of one setting, drawn one after the other."""

    def __init__(self, rate: float, correlation: float, seed: int) -> None:
        self.rate, self.correlation = rate, correlation
        self._random = numpy.random.default_rng([seed, round(1000 * rate), round(1000 * correlation)])

    def repetition(self) -> dict[str, bool]:
        """What one more run, one that is worse, and the same model again give."""
        sizes = self._random.integers(FEWEST, MOST + 1, CONVERSATIONS)
        chances = self._chances(self.rate)
        run, again = self._run(chances, sizes), self._run(chances, sizes)
        worse = self._run(self._chances(self.rate - DROP), sizes)
        found = difference(clusters(worse - run, sizes))
        return {
            "rate": holds(wilson(clusters((run == 1).astype(float), sizes)), self.rate),
            "mean": holds(bootstrap(clusters(run, sizes)), score(self.rate)),
            "difference": found.low is not None
            and found.high is not None
            and holds((found.low, found.high), score(self.rate - DROP) - score(self.rate)),
            "p < .05": sign_flip_test(clusters(again - run, sizes)) < LEVEL,
        }

    def _chances(self, rate: float) -> Numbers:
        """How likely a point of each conversation goes right: beta-binomial, the textbook's model of such a correlation."""
        if not self.correlation:
            return numpy.full(CONVERSATIONS, rate)
        strength = 1 / self.correlation - 1
        return self._random.beta(rate * strength, (1 - rate) * strength, CONVERSATIONS)

    def _run(self, chances: Numbers, sizes: NDArray[numpy.int64]) -> Numbers:
        right = self._random.random(sizes.sum()) < numpy.repeat(chances, sizes)
        return numpy.where(right, 1.0, self._random.integers(0, 2, len(right)) / 2)


def score(rate: float) -> float:
    """The expected score at that rate."""
    return rate + (1 - rate) / 4


def clusters(values: Numbers, sizes: NDArray[numpy.int64]) -> Clusters:
    sums = numpy.bincount(numpy.repeat(numpy.arange(len(sizes)), sizes), values)
    return Counter(zip(sums.tolist(), sizes.tolist(), strict=True))


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def measured(setting: tuple[float, float, int, int]) -> Counter[str]:
    """How often each of it was so."""
    rate, correlation, repetitions, seed = setting
    simulation = Simulation(rate, correlation, seed)
    found: Counter[str] = Counter(dict.fromkeys(BOUNDS, 0))
    for _ in range(repetitions):
        found.update(simulation.repetition())
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    settings = list(product(RATES, CORRELATIONS, [options.repetitions], [options.seed]))
    print(f"{options.repetitions:,} repetitions each\n  rate  correlation  " + "  ".join(f"{name:>12}" for name in BOUNDS))
    missed = 0
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for (rate, correlation, repetitions, _), found in zip(settings, pool.map(measured, settings), strict=True):
            total += found
            told = [verdict(found[name] / repetitions, bounds, repetitions) for name, bounds in BOUNDS.items()]
            missed += sum(text.endswith("!") for text in told)
            print(f"  {rate:4}  {correlation:11}  " + "  ".join(f"{text:>12}" for text in told), flush=True)
    number = options.repetitions * len(settings)
    told = [verdict(total[name] / number, bounds, None) for name, bounds in BOUNDS.items()]
    missed += sum(text.endswith("!") for text in told)
    print(f"  {'all':17}  " + "  ".join(f"{text:>12}" for text in told))
    bounds = ", ".join(f"{name} {low:.0%}-{high:.0%}" for name, (low, high) in BOUNDS.items())
    print(f"{bounds}: {f'NOT HELD {missed} times (!)' if missed else 'held'}   {time.perf_counter() - began:.0f} s")
    return 1 if missed else 0


def verdict(share: float, bounds: tuple[float, float], repetitions: int | None) -> str:
    """The share, marked when it is outside; with `repetitions`, by more than their error."""
    error = 1.96 * sqrt(share * (1 - share) / repetitions) if repetitions else 0.0
    return f"{share:.1%} " if bounds[0] - error <= share <= bounds[1] + error else f"{share:.1%}!"


if __name__ == "__main__":
    sys.exit(main())
