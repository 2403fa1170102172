"""Do 95% intervals cover the true value in 93% to 97% of runs, and is the false-positive rate of comparisons between 4% and 6%?

Simulates runs of 100 conversations with 2 to 9 decision points each, a pass rate between .5 and .95, and an intra-class correlation between
0 and .5. A wrong prediction scores .5 or 0, with equal probability.

  rate        coverage of the interval of call.pass (Wilson on the effective sample size)
  mean        coverage of the interval of call.score (bootstrap, corrected for bias and skew)
  difference  coverage of the interval of the difference in call.score to a run that is worse by .05 (bootstrap)
  p < .05     how often two runs of the same model differ significantly

python benchmarks/intervals.py [--repetitions 2000] [--jobs 2] [--seed 1]

A share fails if it is out of bounds by more than its own 95% sampling error. The total over all settings has no such tolerance.
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
COVERAGE, FALSE_POSITIVES = (0.93, 0.97), (0.04, 0.06)
BOUNDS = {"rate": COVERAGE, "mean": COVERAGE, "difference": COVERAGE, "p < .05": FALSE_POSITIVES}

Numbers = NDArray[numpy.float64]


class Simulation:
    """Random runs of one setting."""

    def __init__(self, rate: float, correlation: float, seed: int) -> None:
        self.rate, self.correlation = rate, correlation
        self._random = numpy.random.default_rng([seed, round(1000 * rate), round(1000 * correlation)])

    def repetition(self) -> dict[str, bool]:
        """Simulate a run, a worse run and a second run of the same model, and return which statements hold."""
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
        """Return the pass probability of each conversation, from a beta-binomial model of the correlation."""
        if not self.correlation:
            return numpy.full(CONVERSATIONS, rate)
        strength = 1 / self.correlation - 1
        return self._random.beta(rate * strength, (1 - rate) * strength, CONVERSATIONS)

    def _run(self, chances: Numbers, sizes: NDArray[numpy.int64]) -> Numbers:
        right = self._random.random(sizes.sum()) < numpy.repeat(chances, sizes)
        return numpy.where(right, 1.0, self._random.integers(0, 2, len(right)) / 2)


def score(rate: float) -> float:
    """Return the expected score at a pass rate."""
    return rate + (1 - rate) / 4


def clusters(values: Numbers, sizes: NDArray[numpy.int64]) -> Clusters:
    sums = numpy.bincount(numpy.repeat(numpy.arange(len(sizes)), sizes), values)
    return Counter(zip(sums.tolist(), sizes.tolist(), strict=True))


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def measured(setting: tuple[float, float, int, int]) -> Counter[str]:
    """Return how often each statement holds."""
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
            verdicts = [verdict(found[name] / repetitions, bounds, repetitions) for name, bounds in BOUNDS.items()]
            missed += sum(text.endswith("!") for text in verdicts)
            print(f"  {rate:4}  {correlation:11}  " + "  ".join(f"{text:>12}" for text in verdicts), flush=True)
    number = options.repetitions * len(settings)
    verdicts = [verdict(total[name] / number, bounds, None) for name, bounds in BOUNDS.items()]
    missed += sum(text.endswith("!") for text in verdicts)
    print(f"  {'all':17}  " + "  ".join(f"{text:>12}" for text in verdicts))
    bounds = ", ".join(f"{name} {low:.0%}-{high:.0%}" for name, (low, high) in BOUNDS.items())
    print(f"{bounds}: {f'FAILED {missed} times (!)' if missed else 'ok'}   {time.perf_counter() - began:.0f} s")
    return 1 if missed else 0


def verdict(share: float, bounds: tuple[float, float], repetitions: int | None) -> str:
    """Return the share, marked with `!` if it is out of bounds; with `repetitions`, by more than its sampling error."""
    error = 1.96 * sqrt(share * (1 - share) / repetitions) if repetitions else 0.0
    return f"{share:.1%} " if bounds[0] - error <= share <= bounds[1] + error else f"{share:.1%}!"


if __name__ == "__main__":
    sys.exit(main())
