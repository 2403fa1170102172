"""Do 95% intervals cover the true value, and do comparisons find differences only where there are some?

Simulates runs of 5 to 500 conversations, of 1, 3, 1-5, 1-20 or 1-or-20 cases each, with a true mean between .5 and .99, an intra-class
correlation between 0 and .6 (beta-binomial), and scores that are 0 or 1; 0, .5 or 1; or continuous: 4,320 cells. Reported are

  coverage          of the interval of a mean: at most 1% of the cells below .93, none below .89; no interval of zero width
  false positives   of a comparison of two runs with the same true mean, whose conversations have the same or independent pass rates: at
                    most 5% in every cell; cells above are simulated again, with four times as many runs each time
  deciding early    false positives of ten looks together, for 50 to 500 conversations: at most 5%, as above
  power             how often a difference of .05 and of .1 is found

Intervals and p-values are computed by `interval_arrays`, which is compared with the product in every cell; p-values for the runs whose
interval excludes 0, in cells where these are too many.

    python benchmarks/intervals.py [--repetitions 2000] [--jobs 2] [--seed 1] [--every 1] [--part 0]

`--every 10` simulates every tenth cell; with `--part 1` to `--part 9` the other cells, without deciding early and power.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from math import ceil, sqrt
from typing import Literal, NamedTuple

import numpy

from callmark.analysis.differences import FLIPS as RUN_FLIPS
from callmark.analysis.differences import sign_flip_test
from callmark.analysis.intervals import LEVEL
from callmark.analysis.sequential import FLIPS, plan_looks
from interval_arrays import Numbers, check, difference_intervals, mean_intervals, sign_flip_tests

Scores = Literal["0, 1", "0, .5, 1", "continuous"]

CONVERSATIONS = (5, 8, 12, 20, 30, 50, 100, 500)
SIZES = ("1", "3", "1-5", "1-20", "1 or 20")
MEANS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
SCORES: tuple[Scores, ...] = ("0, 1", "0, .5, 1", "continuous")
WRONG_SCORE = {"0, 1": 0.0, "0, .5, 1": 0.25, "continuous": 0.5}  # the mean score of a wrong case
LOW_COVERAGE, LEAST_COVERAGE, MAX_LOW_SHARE = 0.93, 0.89, 0.01
EARLY_CONVERSATIONS = (50, 100, 200, 500)
SAME_LAW = 1e-7  # distance between the ends computed here and by the product
RATES = ("same", "independent")  # pass rates of the conversations in the two runs of a comparison
AGAIN = (4, 16, 64)  # times as many runs for the cells that have had too many false positives so far
CHECKED = 3  # runs of a cell for which they are compared


class Cell(NamedTuple):
    """The setting of a simulation."""

    conversations: int
    sizes: str
    mean: float
    correlation: float
    scores: Scores


Job = tuple[Cell, int, int]  # with the number of runs and the seed


class Outcome(NamedTuple):
    """What was found in a cell: coverage, the smallest width, and false positives for the same and for independent pass rates."""

    coverage: float
    width: float
    positives: tuple[float, float]
    distance: float


class Simulation:
    """Random runs of one cell; all arrays have the shape (repetitions, conversations)."""

    def __init__(self, cell: Cell, repetitions: int, seed: int) -> None:
        self.cell, self.shape = cell, (repetitions, cell.conversations)
        key = [seed, cell.conversations, SIZES.index(cell.sizes), round(1000 * cell.mean), round(1000 * cell.correlation)]
        self.random = numpy.random.default_rng([*key, SCORES.index(cell.scores)])
        self.sizes = self._draw_sizes()

    def _draw_sizes(self) -> Numbers:
        match self.cell.sizes:
            case "1-5":
                return self.random.integers(1, 6, self.shape).astype(float)
            case "1-20":
                return self.random.integers(1, 21, self.shape).astype(float)
            case "1 or 20":
                return self.random.choice([1.0, 20.0], self.shape)
            case fixed:
                return numpy.full(self.shape, float(fixed))

    def pass_rates(self, mean: float | None = None) -> Numbers:
        """Return the pass rate of each conversation such that the mean score is `mean`."""
        wrong = WRONG_SCORE[self.cell.scores]
        rate = ((self.cell.mean if mean is None else mean) - wrong) / (1 - wrong)
        if not self.cell.correlation or rate in (0, 1):
            return numpy.full(self.shape, rate)
        strength = 1 / self.cell.correlation - 1
        return self.random.beta(rate * strength, (1 - rate) * strength, self.shape)

    def sums(self, pass_rates: Numbers) -> Numbers:
        """Return the sum of the scores of each conversation in a run."""
        right = self.random.binomial(self.sizes.astype(int), pass_rates)
        wrong = self.sizes.astype(int) - right
        match self.cell.scores:
            case "0, 1":
                return right.astype(float)
            case "0, .5, 1":
                return right + 0.5 * self.random.binomial(wrong, 0.5)
        total = right.astype(float)
        for case in range(int(wrong.max(initial=0))):
            total += numpy.where(wrong > case, self.random.random(self.shape), 0)
        return total


def measure(job: Job) -> Outcome:
    """Return coverage and false positives of one cell."""
    cell, repetitions, seed = job
    simulation = Simulation(cell, repetitions, seed)
    sums = simulation.sums(simulation.pass_rates())
    low, high = mean_intervals(sums, simulation.sizes)
    coverage = float(((low <= cell.mean) & (cell.mean <= high)).mean())
    distance = check(sums[:CHECKED], simulation.sizes[:CHECKED], differences=False)
    distance = max(distance, check(_differences(simulation, "same")[:CHECKED], simulation.sizes[:CHECKED], differences=True))
    same, independent = (_false_positives(_differences(simulation, name), simulation.sizes) for name in RATES)
    return Outcome(coverage, float((high - low).min()), (same, independent), distance)


def measure_positives(job: Job, *, rates: str) -> float:
    """Return the false positives of one cell."""
    cell, repetitions, seed = job
    simulation = Simulation(cell, repetitions, seed)
    return _false_positives(_differences(simulation, rates), simulation.sizes)


def _differences(simulation: Simulation, rates: str) -> Numbers:
    """Return the differences between two runs with the same true mean, whose conversations have the same or independent pass rates."""
    first = simulation.pass_rates()
    return simulation.sums(first if rates == "same" else simulation.pass_rates()) - simulation.sums(first)


def _false_positives(differences: Numbers, sizes: Numbers) -> float:
    """Return the share of runs whose difference is beyond noise; an upper limit, by the interval alone, where that is low enough."""
    low, high = difference_intervals(differences, sizes)
    excluded = numpy.flatnonzero((low > 0) | (high < 0))
    share = len(excluded) / len(differences)
    if share <= LEVEL - 0.005:
        return share
    ps = sign_flip_tests(differences[excluded], sizes[excluded], flips=RUN_FLIPS, seed=len(excluded))
    for run, p in list(zip(excluded, ps, strict=True))[:CHECKED]:
        product = p_value(differences[run], sizes[run])
        assert abs(product - p) <= 5 * sqrt(2 * (p * (1 - p) + 1 / RUN_FLIPS) / RUN_FLIPS), (product, p)
    return float((ps < LEVEL).sum()) / len(differences)


def p_value(differences: Numbers, sizes: Numbers, *, flips: int = 10_000) -> float:
    """Return the p-value of a difference."""
    rounded = numpy.round(differences, 9)
    return sign_flip_test(Counter(zip(rounded.tolist(), sizes.astype(int).tolist(), strict=True)), flips=flips)


def measure_looks(job: Job) -> float:
    """Return how often any look finds a difference between two runs with the same true mean."""
    cell, repetitions, seed = job
    simulation = Simulation(cell, repetitions, seed)
    differences = simulation.sums(simulation.pass_rates()) - simulation.sums(simulation.pass_rates())
    decided = numpy.zeros(repetitions, bool)
    for look in plan_looks(cell.conversations):
        part, sizes = differences[:, : look.conversations], simulation.sizes[:, : look.conversations]
        low, high = difference_intervals(part, sizes, z=look.z)
        for run in numpy.flatnonzero(((low > 0) | (high < 0)) & ~decided):
            decided[run] = p_value(part[run], sizes[run], flips=FLIPS) < look.level
    return float(decided.mean())


def measure_power(job: tuple[Cell, float, int, int]) -> float:
    """Return how often a difference to a run that is worse by `drop` is found."""
    cell, drop, repetitions, seed = job
    simulation = Simulation(cell, repetitions, seed)
    differences = simulation.sums(simulation.pass_rates(cell.mean - drop)) - simulation.sums(simulation.pass_rates())
    low, high = difference_intervals(differences, simulation.sizes)
    excluded = numpy.flatnonzero((low > 0) | (high < 0))
    return sum(p_value(differences[run], simulation.sizes[run]) < LEVEL for run in excluded) / repetitions


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="simulate every n-th cell only")
    parser.add_argument("--part", type=int, default=0, help="of --every, the first cell")
    options = parser.parse_args()
    began = time.perf_counter()
    cells = [Cell(*values) for values in product(CONVERSATIONS, SIZES, MEANS, CORRELATIONS, SCORES)][options.part :: options.every]
    early = [Cell(*values) for values in product(EARLY_CONVERSATIONS, ("1", "1-5"), (0.5, 0.9), (0.0, 0.3), SCORES[:2])]
    powered = [
        (Cell(*values), drop) for drop in (0.05, 0.1) for values in product((30, 100, 500), ("1", "1-5"), (0.7, 0.9), (0.1,), SCORES[:1])
    ]
    fixed = (options.repetitions, options.seed)
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(measure, [(cell, *fixed) for cell in cells], chunksize=8))
        failed = report_coverage(cells, outcomes, options.repetitions)
        for index, name in enumerate(RATES):
            shares = [outcome.positives[index] for outcome in outcomes]
            report_positives(f"false positives, {name} pass rates, {len(cells):,} cells", cells, shares)
            failed += has_excess(pool, cells, shares, partial(measure_positives, rates=name), *fixed)
        if options.part:
            return finish(failed, began)
        early = early[:: ceil(options.every / 4)]
        shares = list(pool.map(measure_looks, [(cell, *fixed) for cell in early]))
        report_positives(f"deciding early, ten looks, {len(early)} cells", early, shares)
        failed += has_excess(pool, early, shares, measure_looks, *fixed)
        power = list(pool.map(measure_power, [(cell, drop, min(options.repetitions, 500), options.seed) for cell, drop in powered]))
    for (cell, drop), share in zip(powered, power, strict=True):
        print(f"power: {cell.conversations:3} conversations of {cell.sizes:>3}, mean {cell.mean:g}, drop of {drop:g}: {share:.2f}")
    return finish(failed, began)


def has_excess(
    pool: ProcessPoolExecutor, cells: list[Cell], shares: list[float], measure: Callable[[Job], float], repetitions: int, seed: int
) -> bool:
    """Simulate cells with too many false positives again, with more runs each time, and return whether one of them still has too many."""
    most = 0.0
    for times in AGAIN:
        cells = [cell for cell, share in zip(cells, shares, strict=True) if share > LEVEL]
        if not cells:
            return False
        jobs = [(cell, repetitions, seed + turn) for cell in cells for turn in range(1, times + 1)]
        found = list(pool.map(measure, jobs))
        shares = [sum(found[at : at + times]) / times for at in range(0, len(found), times)]
        most = report_positives(f"  {len(cells)} cells above {LEVEL:.0%}, with {times} times as many runs", cells, shares)
    return most > LEVEL + sampling_error(AGAIN[-1] * repetitions)


def finish(failed: int, began: float) -> int:
    """Print the verdict and return the exit status."""
    print(f"{'FAILED' if failed else 'ok'}   {time.perf_counter() - began:.0f} s", flush=True)
    return 1 if failed else 0


def report_coverage(cells: list[Cell], outcomes: list[Outcome], repetitions: int) -> int:
    """Print the coverage and return the number of failed conditions."""
    below = [(outcome.coverage, cell) for cell, outcome in zip(cells, outcomes, strict=True) if outcome.coverage < LOW_COVERAGE]
    least, worst = min((outcome.coverage, cell) for cell, outcome in zip(cells, outcomes, strict=True))
    distance, width = max(outcome.distance for outcome in outcomes), min(outcome.width for outcome in outcomes)
    share = len(below) / len(cells)
    print(
        f"{len(cells):,} cells of {repetitions:,} runs; product and arrays differ by at most {distance:.1g}; smallest width {width:.3g}",
        flush=True,
    )
    print(f"coverage: {len(below)} cells ({share:.2%}) below {LOW_COVERAGE}; the smallest is {least:.3f} ({describe(worst)})")
    return (share > MAX_LOW_SHARE) + (least < LEAST_COVERAGE) + (distance > SAME_LAW) + (width <= 0)


def report_positives(title: str, cells: list[Cell], shares: list[float]) -> float:
    """Print the false positives of some cells, and return the largest."""
    most, worst = max(zip(shares, cells, strict=True))
    print(f"{title}: mean {sum(shares) / len(shares):.2%}, most {most:.2%} ({describe(worst)})", flush=True)
    return most


def sampling_error(repetitions: int) -> float:
    """Return two standard errors of a share of false positives that is 5%."""
    return 2 * sqrt(LEVEL * (1 - LEVEL) / repetitions)


def describe(cell: Cell) -> str:
    return f"{cell.conversations} conversations of {cell.sizes}, mean {cell.mean:g}, correlation {cell.correlation:g}, scores {cell.scores}"


if __name__ == "__main__":
    sys.exit(main())
