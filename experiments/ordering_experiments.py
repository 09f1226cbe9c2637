"""The ordering theorems of coffman1998, section 3, by formula and by simulation.

Run as ``python -m experiments.ordering_experiments``: prints three tables as Markdown, in a few
seconds. Each row compares two systems: the difference of their obsolescence by formula, and the
same simulated in pairs, with the same changes and coupled access times. A difference above 0 says
that the second system is out of date for longer.

1. Access times that are larger in the convex order, with equal means, make copies older (Theorem
   3.1 as it is true).
2. Access times that are larger in the increasing convex order only need not (Theorem 3.1 as it is
   printed): X + 1 leaves copies fresher than X.
3. Distances between accesses that majorise others, as many of the same sum, make copies older
   (Theorem 3.2, Schur convexity).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma as gamma_law
from scipy.stats import t as student

from analytic.machinery.transforms import mean_time, transform
from analytic.page_refresh import cyclic_obsolescence
from scenarios.laws import (
    Deterministic,
    Distribution,
    Exponential,
    Gamma,
    Hyperexponential,
    Uniform,
)

Array = NDArray[Any]
Quantile = Callable[[Array], Array]
Run = Callable[[list[int]], float]

RATE = 0.7
BATCHES = 40
SLOTS = 4096
COUNTEREXAMPLE = Hyperexponential(probabilities=(1 / 32, 31 / 32), rates=(1 / 32, 96.875))
ORDERED: tuple[tuple[str, Distribution, Quantile], ...] = (
    ("constant", Deterministic(value=1.0), np.ones_like),
    ("uniform on 0.5 to 1.5", Uniform(low=0.5, high=1.5), lambda u: 0.5 + u),
    ("uniform on 0 to 2", Uniform(low=0.0, high=2.0), lambda u: 2.0 * u),
    ("exponential", Exponential(mean=1.0), lambda u: -np.log1p(-u)),
    ("gamma of shape 1/2", Gamma(shape=0.5, mean=1.0), lambda u: gamma_law.ppf(u, 0.5, scale=2.0)),
)
"""Laws of mean 1, each larger in the convex order than the one before, and their quantiles."""
CYCLES = {"in every slot": (0,), "in slots 0, 1, 3 of 8": (0, 0, 1, 0, 1, 1, 1, 1)}
DISTANCES: tuple[tuple[int, ...], ...] = (
    (4, 4, 4, 4), (5, 4, 4, 3), (6, 4, 4, 2), (6, 6, 2, 2), (8, 4, 3, 1), (13, 1, 1, 1)
)  # fmt: skip
"""Sixteen slots, each line majorising the one before."""
LARGER = (("X + 0.1", 0.1, 1.0), ("X + 1", 1.0, 1.0), ("X + 10", 10.0, 1.0), ("2 X", 0.0, 2.0))
"""What is added to X, and by how much it is multiplied."""


@dataclass(frozen=True)
class Row:
    """One comparison: obsolescence rates of two systems by formula, and what pairs of runs say."""

    what: str
    first: float
    second: float
    difference: float
    half_width: float

    @property
    def z(self) -> float:
        """How many standard errors lie between the simulated difference and the exact one."""
        error = self.half_width / float(student.ppf(0.975, BATCHES - 1))
        return (self.difference - (self.second - self.first)) / error

    @property
    def is_seen(self) -> bool:
        """Whether the interval lies on one side of 0: that of the exact difference."""
        return (self.difference - self.half_width > 0) == (self.second > self.first) and (
            abs(self.difference) > self.half_width
        )


def majorises(larger: Sequence[int], smaller: Sequence[int]) -> bool:
    """Whether the partial sums of the largest entries are nowhere smaller, and the sums equal."""
    gap = np.cumsum(sorted(larger)[::-1]) - np.cumsum(sorted(smaller)[::-1])
    return bool(np.all(gap >= 0) and gap[-1] == 0)


def stale_share(visits: Array, rate: float, generator: np.random.Generator) -> float:
    """Fraction of the time from the first visit to the last for which a copy is out of date.

    Changes are a Poisson process along the whole time axis: a copy is out of date from the first
    change after a visit until the next visit.
    """
    expected = rate * visits[-1]
    changes = np.cumsum(
        generator.exponential(1 / rate, size=int(expected + 9 * sqrt(expected)) + 9)
    )
    following = np.append(changes, np.inf)[np.searchsorted(changes, visits[:-1], side="right")]
    stale = np.maximum(visits[1:] - following, 0.0).sum()
    return float(stale / (visits[-1] - visits[0]))


def paired(first: Run, second: Run, seed: int) -> tuple[float, float]:
    """Mean of second - first over batches with the same numbers, and its 95 % half-width."""
    differences = [second([seed, batch]) - first([seed, batch]) for batch in range(BATCHES)]
    half = float(student.ppf(0.975, BATCHES - 1) * np.std(differences, ddof=1) / sqrt(BATCHES))
    return float(np.mean(differences)), half


def run_of(quantile: Quantile, cycle: Sequence[int], slots: int, rate: float = RATE) -> Run:
    """The share of time for which page 0 of a cycle is out of date, in one batch of accesses.

    Changes and access times have streams of their own, so that two runs share their changes.
    """

    def share(seed: list[int]) -> float:
        accesses, changes = (np.random.default_rng([*seed, source]) for source in (0, 1))
        ends = np.cumsum(quantile(accesses.random(slots)))
        visited = np.flatnonzero(np.resize(cycle, slots) == 0)
        return stale_share(ends[visited], rate, changes)

    return share


def convex_order(slots: int = 4 * SLOTS) -> list[Row]:
    """Theorem 3.1 for equal means: every law against the next one in the convex order."""
    rows = []
    for visits, cycle in CYCLES.items():
        for number, (one, other) in enumerate(pairwise(ORDERED)):
            exact = [float(exact_share(law, cycle)) for _, law, _ in (one, other)]
            seen = paired(run_of(one[2], cycle, slots), run_of(other[2], cycle, slots), number)
            rows.append(Row(f"{one[0]} < {other[0]}, {visits}", *exact, *seen))
    return rows


def exact_share(law: Distribution, cycle: Sequence[int], rate: float = RATE) -> float:
    """coffman1998 (3) for page 0."""
    return float(cyclic_obsolescence([rate] * (max(cycle) + 1), cycle, law)[0])


def mixture(u: Array) -> Array:
    """Hyperexponential times from uniform numbers: which exponential, and where in it."""
    p = COUNTEREXAMPLE.probabilities[0]
    (slow, fast) = COUNTEREXAMPLE.rates
    rest = np.where(u < p, u / p, (u - p) / (1 - p))
    return -np.log1p(-rest) / np.where(u < p, slow, fast)


def shifted_share(by: float, scale: float = 1.0) -> float:
    """Obsolescence rate of one page that changes at rate 1 under access times scale X + by.

    coffman1998 (3) with a distance of 1 in every slot: ``1 - (1 - h) / m``.
    """
    h = float(transform(COUNTEREXAMPLE, scale)) * exp(-by)
    return 1.0 - (1.0 - h) / (scale * mean_time(COUNTEREXAMPLE) + by)


def larger_times(slots: int = 16 * SLOTS) -> list[Row]:
    """Theorem 3.1 as printed: X against times that are larger in the increasing convex order."""
    rows = []
    for number, (what, by, scale) in enumerate(LARGER):

        def longer(u: Array, by: float = by, scale: float = scale) -> Array:
            return scale * mixture(u) + by

        seen = paired(
            run_of(mixture, (0,), slots, 1.0), run_of(longer, (0,), slots, 1.0), 100 + number
        )
        rows.append(Row(f"X < {what}", shifted_share(0.0), shifted_share(by, scale), *seen))
    return rows


def spread_distances(visits: int = SLOTS) -> list[Row]:
    """Theorem 3.2: a page visited four times in sixteen slots, ever less evenly."""
    rows = []
    law = ORDERED[3][1]
    quantile = ORDERED[3][2]
    for number, (even, uneven) in enumerate(pairwise(DISTANCES)):
        exact = [float(exact_share(law, template(each))) for each in (even, uneven)]
        runs = [run_of(quantile, template(each), 4 * visits) for each in (even, uneven)]
        rows.append(Row(f"{even} < {uneven}", *exact, *paired(*runs, 200 + number)))
    return rows


def template(distances: Sequence[int]) -> tuple[int, ...]:
    """The cycle in which page 0 is visited at these distances, and page 1 in all other slots."""
    return tuple(page for each in distances for page in (0, *[1] * (each - 1)))


def markdown(title: str, rows: Sequence[Row]) -> str:
    """A table as Markdown below its title."""
    lines = [title, "", "| access times, or distances | first | second | difference | simulated |"]
    lines.append("|---|--:|--:|--:|--:|")
    for row in rows:
        exact = f"{row.first:.4f} | {row.second:.4f} | {row.second - row.first:+.4f}"
        lines.append(f"| {row.what} | {exact} | {row.difference:+.4f} ± {row.half_width:.4f} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    argparse.ArgumentParser(description="Ordering theorems, executed.").parse_args(arguments)
    print(markdown("Convex order, equal means", convex_order()))
    print(markdown("Larger access times, larger means", larger_times()))
    print(markdown("Majorised distances", spread_distances()))


if __name__ == "__main__":
    main()
