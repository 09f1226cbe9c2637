"""Whether the gaps of a stream are of two kinds, as those within and between batches are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special

from scenarios.arrays import Array

_BINS = 2000
_ROUNDS = 2000
_SETTLED = 1e-10
_SHARES_SHORT = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
"""Where the search for two kinds begins."""

_APART = 25.0
_SURELY_APART = 13.0
_STANDARD_ERRORS = 4.5
_LONGEST_RUN = 0.4
_ERRORS_OF_RUNS = 3.0
_CLEARLY = 10.0


@dataclass(frozen=True)
class TwoKinds:
    """Two exponential laws that the gaps are drawn from, and what speaks against batches.

    Attributes
    ----------
    short, long : float
        Mean gaps of the two kinds.
    short_gaps, long_gaps : float
        How many gaps are of each kind.
    gain : float
        By how much two kinds are more likely than the best single law, by half the difference of
        the BIC: a logarithm of odds.
    doubt : str
        Why the short gaps may not lie within batches; empty where nothing speaks against that.
    """

    short: float
    long: float
    short_gaps: float
    long_gaps: float
    gain: float
    doubt: str

    @property
    def ratio(self) -> float:
        """How many times longer the long gaps are."""
        return self.long / self.short

    @property
    def threshold(self) -> float:
        """The gap at which as many batches are joined as are torn."""

        def torn_less_joined(gap: float) -> float:
            torn = self.short_gaps * float(np.exp(-gap / self.short))
            return torn + self.long_gaps * float(np.expm1(-gap / self.long))

        return float(optimize.brentq(torn_less_joined, 0.0, 50.0 * self.long))


def two_kinds(gaps: Array) -> TwoKinds | None:
    """The two kinds of gaps that are the most likely; None where one law is as likely.

    Parameters
    ----------
    gaps : ndarray
        Positive, more than a few, in their order in time.

    Notes
    -----
    A mixture of two exponential laws by the EM algorithm, against the exponential, gamma, Weibull,
    lognormal and Lomax laws, which have one peak in ln gap. All by counts of ln gap in two thousand
    cells, so that it takes as long for ten million gaps as for a thousand.

    A mixture is what a hyperexponential stream and a switching one (MMPP) have too. Its short gaps
    are taken for gaps within batches only where they are at least 25 times shorter (of few
    gaps more, by their errors), and where a run of them lasts less than 0.4 long gaps: a batch is
    over before the next one is due. In hyperexponential laws with balanced means a run lasts a
    long gap or more, and in phases of a switching process that hold many pages much longer.
    """
    if gaps.max() < _SURELY_APART * gaps.min():
        return None
    cells, counts = _cells(gaps)
    number = float(counts.sum())
    fits = [_mixture(cells, counts, share) for share in _SHARES_SHORT]
    means, shares, value = max(fits, key=lambda found: found[2])
    least = min(_criteria(cells, counts, number))
    gain = 0.5 * float(least - (3.0 * np.log(number) - 2.0 * value))
    if gain < _CLEARLY:
        return None
    short, long = means.tolist()
    short_gaps, long_gaps = (number * shares).tolist()
    found = TwoKinds(short, long, short_gaps, long_gaps, gain, "")
    return replace(found, doubt=next(_doubts(found, gaps), ""))


def _cells(gaps: Array) -> tuple[Array, Array]:
    """Gaps in the middle of cells of equal width in ln gap, and how many are in each."""
    counts, edges = np.histogram(np.log(gaps), bins=_BINS)
    middle = np.exp((edges[:-1] + edges[1:]) / 2)
    seen = counts > 0
    return middle[seen], counts[seen].astype(float)


def _mixture(cells: Array, counts: Array, share_short: float) -> tuple[Array, Array, float]:
    """Means and shares of two exponential laws, and the log-likelihood (EM)."""
    below = np.cumsum(counts) <= share_short * counts.sum()
    below[0] = True
    below[-1] = False
    means = np.array([np.average(cells[part], weights=counts[part]) for part in (below, ~below)])
    shares = np.array([share_short, 1.0 - share_short])
    value = -np.inf
    for _ in range(_ROUNDS):
        densities = shares[:, None] / means[:, None] * np.exp(-cells / means[:, None])
        whole = densities.sum(axis=0)
        before = value
        value = float(counts @ np.log(np.maximum(whole, 1e-300)))
        if value - before <= _SETTLED * abs(value):
            break
        belonging = counts * densities / np.maximum(whole, 1e-300)
        weight = belonging.sum(axis=1)
        means = belonging @ cells / np.maximum(weight, 1e-300)
        shares = weight / counts.sum()
    order = np.argsort(means)
    return means[order], shares[order], value


def _criteria(cells: Array, counts: Array, number: float) -> Iterator[float]:
    """BIC of each law with one peak in ln gap."""
    logs = np.log(cells)
    mean = float(counts @ cells / number)
    log_mean = float(counts @ logs / number)
    yield np.log(number) + 2.0 * number * (np.log(mean) + 1.0)
    for value in (
        _gamma(mean, log_mean) * number,
        _weibull(logs, counts / number) * number,
        _lognormal(logs, counts / number) * number,
        _lomax(cells, counts / number) * number,
    ):
        yield 2.0 * np.log(number) - 2.0 * value


def _gamma(mean: float, log_mean: float) -> float:
    """The largest mean log-likelihood of a gamma law."""
    gap = max(np.log(mean) - log_mean, 1e-12)
    shape = _root(lambda k: float(np.log(k) - special.digamma(k) - gap), 1e-3, 1e6)
    scale = mean / shape
    return float((shape - 1) * log_mean - shape * (1 + np.log(scale)) - special.gammaln(shape))


def _weibull(logs: Array, weights: Array) -> float:
    """The largest mean log-likelihood of a Weibull law."""
    log_mean = float(weights @ logs)
    top = float(logs.max())

    def slope(shape: float) -> float:
        powers = weights * np.exp(shape * (logs - top))
        return float(powers @ logs / powers.sum() - 1.0 / shape - log_mean)

    shape = -_root(lambda k: -slope(-k), -1e3, -1e-3)
    log_scale = top + np.log(weights @ np.exp(shape * (logs - top))) / shape
    return float(np.log(shape) - shape * log_scale + (shape - 1) * log_mean - 1.0)


def _lognormal(logs: Array, weights: Array) -> float:
    """The largest mean log-likelihood of a lognormal law."""
    log_mean = float(weights @ logs)
    variance = max(float(weights @ (logs - log_mean) ** 2), 1e-12)
    return float(-log_mean - 0.5 * (1.0 + np.log(2.0 * np.pi * variance)))


def _lomax(cells: Array, weights: Array) -> float:
    """The largest mean log-likelihood of a Pareto law from 0 on."""

    def value(log_scale: float) -> float:
        tail = float(weights @ np.log1p(cells / np.exp(log_scale)))
        return float(-log_scale - np.log(tail) - 1.0 - tail)

    ends = np.log(cells[0]) - 2.0, np.log(cells[-1]) + 5.0
    found = optimize.minimize_scalar(lambda s: -value(s), bounds=ends, method="bounded")
    return -float(found.fun)


def _root(decreasing: Callable[[float], float], low: float, high: float) -> float:
    """Where a decreasing function is 0; the nearer end where it is not within the bracket."""
    if decreasing(low) <= 0:
        return low
    if decreasing(high) >= 0:
        return high
    return float(optimize.brentq(decreasing, low, high))


def _doubts(found: TwoKinds, gaps: Array) -> Iterator[str]:
    """What speaks against batches."""
    error = float(np.sqrt(1.0 / found.short_gaps + 1.0 / found.long_gaps))
    wanted = max(_APART, _SURELY_APART * float(np.exp(_STANDARD_ERRORS * error)))
    if found.ratio < wanted:
        yield (
            f"the two kinds are {found.ratio:.3g} times apart, and of so many gaps "
            f"{wanted:.3g} would tell"
        )
    short = gaps <= found.threshold
    runs = max(int(np.count_nonzero(short[1:] & ~short[:-1])) + int(short[0]), 1)
    lasting = found.short_gaps * found.short / runs
    if lasting * np.exp(_ERRORS_OF_RUNS / np.sqrt(runs)) > _LONGEST_RUN * found.long:
        yield (
            f"{runs} runs of short gaps last {lasting:.3g} each, which is not much less than a "
            f"long gap, {found.long:.3g}: phases, rather than batches"
        )
