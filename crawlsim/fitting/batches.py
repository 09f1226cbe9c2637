"""Batches of deliveries: which pages came together, told by the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from crawlsim.fitting.gap_kinds import two_kinds
from crawlsim.fitting.words import counted
from scenarios.arrays import Array

_FEWEST = 20
_CLEAR = 0.85
_APART = float(np.log(10.0))


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


@dataclass(frozen=True)
class Cut:
    """The gap that tells pages of one batch from the next batch.

    Attributes
    ----------
    threshold : float
        0 where there is no such gap.
    sureness : str
        How sure that is, in sentences; empty where nothing looks like batches.
    """

    threshold: float
    sureness: str


_NO_CUT = Cut(0.0, "")


def batch_threshold(gaps: Array) -> float:
    """The gap that tells pages of one batch from the next batch; 0 where there is no such.

    As `batch_cut`, without the words.
    """
    return batch_cut(gaps).threshold


def batch_cut(gaps: Array) -> Cut:
    """The gap that tells pages of one batch from the next batch, and how sure that is.

    Parameters
    ----------
    gaps : ndarray
        Not negative, in their order in time. Pages at the same time are a batch in any case.

    Notes
    -----
    Two groups that lie clear of one another are told apart by their variance (`_clear_cut`). But
    gaps of an exponential law spread widely, with a standard deviation of 1.3 in ln gap, so that
    those within batches would have to be some 700 times shorter for that. From 25 times on a
    mixture of two laws tells them (`two_kinds`), with conditions that streams without batches do
    not meet.
    """
    positive = gaps[gaps > 0]
    if len(positive) < _FEWEST:
        return _NO_CUT
    clear = _clear_cut(positive)
    return _cut_of_two_kinds(positive) if clear is None else clear


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
    number = len(logs)
    sums = np.cumsum(logs)
    below = np.arange(1, number)
    means = (sums[:-1] / below, (sums[-1] - sums[:-1]) / (number - below))
    between = below * (number - below) / number**2 * (means[1] - means[0]) ** 2
    cut = int(np.argmax(between))
    apart = float(means[1][cut] - means[0][cut])
    explained = float(between[cut] / max(logs.var(), 1e-300))
    if apart < _APART or explained < _CLEAR:
        return None
    middle = float(np.exp((logs[cut] + logs[cut + 1]) / 2))
    threshold = min(middle, _balanced(np.exp(logs[: cut + 1]), np.exp(logs[cut + 1 :])))
    return Cut(
        threshold,
        f"There is no doubt that these are batches: the short gaps and the long ones are "
        f"{np.exp(apart):.3g} times apart, and that explains {explained:.0%} of the variance of ln "
        "gap, where in a stream without batches it would be about two thirds.",
    )


def _cut_of_two_kinds(gaps: Array) -> Cut:
    """The cut between two laws of gaps that overlap, or why it is in doubt."""
    found = two_kinds(gaps)
    if found is None:
        return _NO_CUT
    kinds = f"the gaps are of two kinds, of mean {found.short:.4g} and {found.long:.4g}"
    if found.doubt:
        return Cut(
            0.0,
            f"Whether pages come in batches is in doubt: {kinds}, but {found.doubt}. If the short "
            f"ones are gaps within batches, say --batch-gap {found.threshold:.3g}.",
        )
    return Cut(
        found.threshold,
        f"It is rather sure that these are batches: {kinds}, {found.ratio:.3g} times apart; two "
        f"kinds have a log-likelihood {found.gain:.4g} above that of the best single law, and runs "
        "of short gaps are soon over. It is a matter of reading all the same: batches of geometric "
        "sizes with exponential gaps and single pages with hyperexponential gaps are one and the "
        "same process. The other reading is --batch-gap 0: only pages at the same time are a "
        "batch. If you know better, --batch-gap says which gap it is.",
    )


def _balanced(short: Array, long: Array) -> float:
    """Where the long gaps below are as many as the short gaps above, means from the medians."""
    within, between = (float(np.median(gaps)) / np.log(2.0) for gaps in (short, long))

    def torn_less_joined(gap: float) -> float:
        return len(short) * float(np.exp(-gap / within)) + len(long) * float(
            np.expm1(-gap / between)
        )

    balance = float(optimize.brentq(torn_less_joined, 0.0, 50.0 * within))
    return float(max(balance, 2.0 * within))


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
    cut = batch_cut(gaps[gaps <= longest]) if threshold is None else Cut(threshold, "")
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
