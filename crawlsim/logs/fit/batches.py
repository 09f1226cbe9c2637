"""Batches of deliveries: which pages came together, judged by the gaps between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from crawlsim.logs.fit.hyper_erlang import two_groups
from scenarios.arrays import Array
from scenarios.text import counted

_FEWEST = 20
_CLEAR = 0.85
_APART = float(np.log(10.0))
_BINS = 2000
_ROUNDS = 2000
_SETTLED = 1e-10
_SHARES_SHORT = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
"""Where the search for two kinds begins."""

_RATIO = 25.0
_SURE_RATIO = 13.0
_STANDARD_ERRORS = 4.5
_LONGEST_RUN = 0.4
_ERRORS_OF_RUNS = 3.0
_CLEARLY = 10.0


@dataclass(frozen=True)
class Batches:
    """Pages put together to batches.

    Attributes
    ----------
    starts : ndarray, shape (batches,)
        Time of the first page of each.
    sizes : ndarray of int, shape (batches,)
    gaps : ndarray
        From one batch to the next, stops left out.
    threshold : float
        Pages not further apart than this belong together.
    stops : int
        Gaps that were left out because they are too long.
    sureness : str
        How sure it is that pages come in such batches, in sentences; empty where nothing looks like
        batches, or the threshold was given.
    """

    starts: Array
    sizes: NDArray[np.int64]
    gaps: Array
    threshold: float
    stops: int
    sureness: str = ""

    @property
    def joined(self) -> float:
        """Share of batches that begin within the threshold of the one before, if independent."""
        return float(-np.expm1(-self.threshold / self.gaps.mean()))


class Cut(NamedTuple):
    """The gap that separates pages of one batch from the next batch.

    Attributes
    ----------
    threshold : float
        0 where there is no such gap.
    sureness : str
        How sure that is, in sentences; empty where nothing looks like batches.
    """

    threshold: float
    sureness: str = ""


def batches_of(
    times: Array, threshold: float | None = None, longest_gap: float | None = None
) -> Batches:
    """The batches in a series of timestamps.

    Parameters
    ----------
    times : ndarray
        In any order.
    threshold : float, optional
        Largest gap within a batch; default by `batch_cut`.
    longest_gap : float, optional
        Longer gaps are stops of the crawler and left out.

    Raises
    ------
    ValueError
        If fewer than twenty batches are left.
    """
    times = np.sort(times)
    gaps = np.diff(times)
    longest = np.inf if longest_gap is None else longest_gap
    cut = batch_cut(gaps[gaps <= longest]) if threshold is None else Cut(threshold)
    opening = np.flatnonzero(np.concatenate([[True], gaps > cut.threshold]))
    sizes = np.diff(np.append(opening, len(times)))
    between = np.diff(times[opening])
    kept = between <= longest
    if kept.sum() < _FEWEST:
        raise ValueError(
            f"too few gaps between batches: {int(kept.sum())} of {counted(len(opening), 'batch')}; "
            f"at least {_FEWEST} are needed"
        )
    stops = int((~kept).sum())
    return Batches(times[opening], sizes, between[kept], cut.threshold, stops, cut.sureness)


def batch_cut(gaps: Array) -> Cut:
    """The gap that separates one batch from the next, and how sure that is.

    Parameters
    ----------
    gaps : ndarray
        Not negative, in their order in time. Pages at the same time are a batch in any case.

    Notes
    -----
    Two groups that lie clear of one another are told apart by their variance (`_clear_cut`). But
    gaps of an exponential law spread widely, with a standard deviation of 1.3 in ln gap, so that
    those within batches would have to be some 700 times shorter for that. From 25 times on a
    mixture of two laws finds them (`_overlapping_cut`), with conditions that streams without
    batches do not meet.
    """
    positive = gaps[gaps > 0]
    if len(positive) < _FEWEST:
        return Cut(0.0)
    return _clear_cut(positive) or _overlapping_cut(positive)


def _clear_cut(gaps: Array) -> Cut | None:
    """The cut between two groups that lie clear of one another; None where there are none.

    Notes
    -----
    The cut of ln gap that leaves the least variance within both sides (Otsu 1979). It counts where
    it explains 85 % of the variance, of exponential gaps it explains about two thirds, and where
    the two sides are a factor of ten apart. That cut lies half way in the logarithm and joins
    batches that come soon after one another; the gap is where as many batches are joined as are
    torn, with exponential gaps on both sides, so that the mean size of a batch is right.
    """
    logs = np.sort(np.log(gaps))
    cut, apart, between = two_groups(logs, np.ones(len(logs)))
    explained = float(between / max(logs.var(), 1e-300))
    if apart < _APART or explained < _CLEAR:
        return None
    middle = float(np.exp((logs[cut - 1] + logs[cut]) / 2))
    short = np.exp(logs[:cut])
    long = np.exp(logs[cut:])
    within, between_batches = (float(np.median(part)) / np.log(2.0) for part in (short, long))
    even = _even_cut(len(short), within, len(long), between_batches, highest=50.0 * within)
    threshold = min(middle, max(even, 2.0 * within))
    return Cut(
        threshold,
        f"There is no doubt that these are batches: the short gaps and the long ones are "
        f"{np.exp(apart):.3g} times apart, and that explains {explained:.0%} of the variance of ln "
        "gap, where in a stream without batches it would be about two thirds.",
    )


def _overlapping_cut(gaps: Array) -> Cut:
    """The cut between two exponential laws of gaps that overlap, or why it is in doubt.

    Notes
    -----
    A mixture of two exponential laws by the EM algorithm, against the exponential, gamma, Weibull,
    lognormal and Lomax laws, which have one peak in ln gap. All by counts of ln gap in two thousand
    cells, so that it takes as long for ten million gaps as for a thousand.

    Hyperexponential and switching (MMPP) streams are such mixtures too. Short gaps are taken for
    gaps within batches only where they are at least 25 times shorter (of few gaps more, by their
    errors), and where a run of them lasts less than 0.4 long gaps: a batch is over before the next
    one is due. In hyperexponential laws with balanced means a run lasts a long gap or more, and in
    phases of a switching process that hold many pages much longer.
    """
    if gaps.max() < _SURE_RATIO * gaps.min():
        return Cut(0.0)
    cells, counts = _cells(gaps)
    number = float(counts.sum())
    mixtures = [_mixture(cells, counts, share) for share in _SHARES_SHORT]
    means, shares, value = max(mixtures, key=lambda each: each[2])
    single = min(_criteria(cells, counts, number))
    gain = 0.5 * float(single - (3.0 * np.log(number) - 2.0 * value))
    if gain < _CLEARLY:
        return Cut(0.0)
    short, long = means.tolist()
    short_gaps, long_gaps = (number * shares).tolist()
    threshold = _even_cut(short_gaps, short, long_gaps, long, highest=50.0 * long)
    ratio = long / short
    error = float(np.sqrt(1.0 / short_gaps + 1.0 / long_gaps))
    wanted = max(_RATIO, _SURE_RATIO * float(np.exp(_STANDARD_ERRORS * error)))
    within = gaps <= threshold
    runs = max(int(np.count_nonzero(within[1:] & ~within[:-1])) + int(within[0]), 1)
    lasting = short_gaps * short / runs
    doubt = ""
    if ratio < wanted:
        doubt = (
            f"the two kinds are {ratio:.3g} times apart, and with this many gaps {wanted:.3g} are "
            "needed to tell"
        )
    elif lasting * np.exp(_ERRORS_OF_RUNS / np.sqrt(runs)) > _LONGEST_RUN * long:
        doubt = (
            f"{runs} runs of short gaps last {lasting:.3g} each, which is not much less than a "
            f"long gap, {long:.3g}: phases rather than batches"
        )
    kinds = f"the gaps are of two kinds, of mean {short:.4g} and {long:.4g}"
    if doubt:
        return Cut(
            0.0,
            f"Whether pages come in batches is in doubt: {kinds}, but {doubt}. If the short ones "
            f"are gaps within batches, say --batch-gap {threshold:.3g}.",
        )
    return Cut(
        threshold,
        f"It is fairly certain that these are batches: {kinds}, {ratio:.3g} times apart; two kinds "
        f"have a log-likelihood {gain:.4g} above that of the best single law, and runs of short "
        "gaps are soon over. It is still a matter of reading: batches of geometric sizes with "
        "exponential gaps and single pages with hyperexponential gaps are one and the same "
        "process. The other reading is --batch-gap 0: only pages at the same time are a batch. If "
        "you know better, --batch-gap says which gap it is.",
    )


def _even_cut(
    short_gaps: float, short: float, long_gaps: float, long: float, highest: float
) -> float:
    """The gap at which as many batches are joined as are torn, of two exponential laws."""

    def torn_less_joined(gap: float) -> float:
        torn = short_gaps * float(np.exp(-gap / short))
        return torn + long_gaps * float(np.expm1(-gap / long))

    return float(optimize.brentq(torn_less_joined, 0.0, highest))


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
    """BIC of each law with one peak in ln gap, by its largest mean log-likelihood."""
    logs = np.log(cells)
    weights = counts / number
    mean = float(counts @ cells / number)
    log_mean = float(counts @ logs / number)
    yield np.log(number) + 2.0 * number * (np.log(mean) + 1.0)
    for value in (
        _gamma(mean, log_mean),
        _weibull(logs, weights),
        _lognormal(logs, weights),
        _lomax(cells, weights),
    ):
        yield 2.0 * np.log(number) - 2.0 * (value * number)


def _gamma(mean: float, log_mean: float) -> float:
    gap = max(np.log(mean) - log_mean, 1e-12)
    shape = _root(lambda k: float(np.log(k) - special.digamma(k) - gap), 1e-3, 1e6)
    scale = mean / shape
    return float((shape - 1) * log_mean - shape * (1 + np.log(scale)) - special.gammaln(shape))


def _weibull(logs: Array, weights: Array) -> float:
    log_mean = float(weights @ logs)
    top = float(logs.max())

    def slope(shape: float) -> float:
        powers = weights * np.exp(shape * (logs - top))
        return float(powers @ logs / powers.sum() - 1.0 / shape - log_mean)

    shape = _root(lambda k: -slope(k), 1e-3, 1e3)
    log_scale = top + np.log(weights @ np.exp(shape * (logs - top))) / shape
    return float(np.log(shape) - shape * log_scale + (shape - 1) * log_mean - 1.0)


def _lognormal(logs: Array, weights: Array) -> float:
    log_mean = float(weights @ logs)
    variance = max(float(weights @ (logs - log_mean) ** 2), 1e-12)
    return float(-log_mean - 0.5 * (1.0 + np.log(2.0 * np.pi * variance)))


def _lomax(cells: Array, weights: Array) -> float:
    def loss(log_scale: float) -> float:
        tail = float(weights @ np.log1p(cells / np.exp(log_scale)))
        return -float(-log_scale - np.log(tail) - 1.0 - tail)

    ends = np.log(cells[0]) - 2.0, np.log(cells[-1]) + 5.0
    return -float(optimize.minimize_scalar(loss, bounds=ends, method="bounded").fun)


def _root(decreasing: Callable[[float], float], low: float, high: float) -> float:
    """Where a decreasing function is 0; the nearer end where it is not within the bracket."""
    if decreasing(low) <= 0:
        return low
    if decreasing(high) >= 0:
        return high
    return float(optimize.brentq(decreasing, low, high))
