"""Deliveries of a crawler from their timestamps: batches, and the process of the batches.

The steps are those of avrachenkov2011, section 7: gaps; stops left out; short gaps join pages to
batches; sizes of the batches; mean, variance and correlations of the gaps between batches; a
process of order two. Sizes are then drawn independently of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.intervals import Parameter, jackknife, shares_of_trials
from analytic.fitting.modulated import fit_modulated, likelihood_of
from analytic.fitting.order_two import Process, correlation_bound, map_of_order_two
from analytic.fitting.service_times import fit_sizes

__all__ = [
    "MOST_GAPS",
    "Batches",
    "DeliveryFit",
    "Tried",
    "batch_parameters",
    "batch_process",
    "batch_threshold",
    "batches_of",
    "fit_deliveries",
    "gap_parameters",
    "lag_correlations",
]

Array = NDArray[np.float64]

_LAGS = 6
_BLOCKS = 40
_FEWEST = 20
_CLEAR = 0.85
_APART = float(np.log(10.0))
_LARGEST_BATCH = 200
MOST_GAPS = 200_000


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
    """

    starts: Array
    sizes: NDArray[np.int64]
    gaps: Array
    threshold: float
    stops: int


def batch_threshold(gaps: Array) -> float:
    """The gap that tells pages of one batch from the next batch; 0 where there is no such.

    Parameters
    ----------
    gaps : ndarray
        Not negative.

    Notes
    -----
    The cut of ln gap that leaves the least variance within both sides (Otsu 1979). It counts where
    it explains 85 % of the variance, of exponential gaps it explains about two thirds, and where
    the two sides are a factor of ten apart. Pages at the same time are a batch in any case.
    """
    logs = np.sort(np.log(gaps[gaps > 0]))
    number = len(logs)
    if number < _FEWEST:
        return 0.0
    sums = np.cumsum(logs)
    below = np.arange(1, number)
    means = (sums[:-1] / below, (sums[-1] - sums[:-1]) / (number - below))
    between = below * (number - below) / number**2 * (means[1] - means[0]) ** 2
    cut = int(np.argmax(between))
    apart = means[1][cut] - means[0][cut]
    if apart < _APART or between[cut] < _CLEAR * logs.var():
        return 0.0
    return float(np.exp((logs[cut] + logs[cut + 1]) / 2))


def batches_of(
    times: Array, threshold: float | None = None, longest_gap: float | None = None
) -> Batches:
    """The batches in a series of timestamps.

    Parameters
    ----------
    times : ndarray
        In any order.
    threshold : float, optional
        Largest gap within a batch; default by `batch_threshold`.
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
    cut = batch_threshold(gaps[gaps <= longest]) if threshold is None else threshold
    opening = np.flatnonzero(np.concatenate([[True], gaps > cut]))
    sizes = np.diff(np.append(opening, len(times)))
    between = np.diff(times[opening])
    kept = between <= longest
    if kept.sum() < _FEWEST:
        raise ValueError(f"{len(opening)} batches are too few; at least {_FEWEST + 1} are needed")
    return Batches(times[opening], sizes, between[kept], cut, int((~kept).sum()))


def lag_correlations(gaps: Array, lags: int = _LAGS) -> Array:
    """Correlations of gaps 1, 2, … apart, shape (lags,)."""
    centred = gaps - gaps.mean()
    variance = centred @ centred
    return np.array([centred[lag:] @ centred[:-lag] / variance for lag in range(1, lags + 1)])


@dataclass(frozen=True)
class Tried:
    """A process that was fitted to the gaps.

    Attributes
    ----------
    process : Process
    log_likelihood : float
        Of the gaps in their order.
    parameters : int
        Numbers that were chosen.
    """

    process: Process
    log_likelihood: float
    parameters: int

    def criterion(self, gaps: int) -> float:
        """BIC, ``parameters ln n - 2 log-likelihood``; less is better."""
        return float(self.parameters * np.log(gaps) - 2 * self.log_likelihood)


@dataclass(frozen=True)
class DeliveryFit:
    """Batches and the processes fitted to the gaps between them.

    Attributes
    ----------
    batches : Batches
    correlations : ndarray, shape (lags,)
    tried : mapping
        "poisson", "renewal", "map" and "mmpp", as far as there are such.
    chosen : str
        That with the least BIC, or the one that was asked for.
    parameters : tuple of Parameter
    notes : tuple of str
        What could not be met.
    """

    batches: Batches
    correlations: Array
    tried: Mapping[str, Tried]
    chosen: str
    parameters: tuple[Parameter, ...]
    notes: tuple[str, ...]

    @property
    def process(self) -> Process:
        """The chosen process of the batches."""
        return self.tried[self.chosen].process


def fit_deliveries(batches: Batches, wanted: str | None = None) -> DeliveryFit:
    """Processes for the gaps between batches: independent gaps, and two of order two.

    Parameters
    ----------
    batches : Batches
    wanted : {"poisson", "renewal", "map", "mmpp"}, optional
        Which one to take; default the one with the least BIC.

    Raises
    ------
    ValueError
        If there is no process of the wanted kind.
    """
    gaps = batches.gaps
    correlations = lag_correlations(gaps)
    modulated = fit_modulated(_stretches(gaps))
    tried = {"poisson": _poisson(gaps), "renewal": _renewal(gaps)}
    by_moments, notes = _by_moments(gaps, float(correlations[0]))
    if by_moments is not None:
        tried["map"] = Tried(by_moments, likelihood_of(gaps, by_moments), 4)
    likelihood = likelihood_of(gaps, modulated.process)
    tried["mmpp"] = Tried(modulated.process, likelihood, 4)
    chosen = wanted or min(tried, key=lambda name: tried[name].criterion(len(gaps)))
    if chosen not in tried:
        raise ValueError(f"there is no {chosen} with these gaps; {notes[0]}")
    parameters = (*gap_parameters(gaps), *batch_parameters(batches.sizes))
    parameters += modulated.parameters if chosen == "mmpp" else ()
    return DeliveryFit(batches, correlations, tried, chosen, parameters, tuple(notes))


def _stretches(gaps: Array) -> Array:
    """The gaps; of more than 200,000 twenty stretches that have as many together."""
    if len(gaps) <= MOST_GAPS:
        return gaps
    return np.concatenate([part[: MOST_GAPS // 20] for part in np.array_split(gaps, 20)])


def _poisson(gaps: Array) -> Tried:
    rate = 1.0 / float(gaps.mean())
    process = Process(np.array([[-rate]]), np.array([[rate]]))
    return Tried(process, len(gaps) * (np.log(rate) - 1.0), 1)


def _renewal(gaps: Array) -> Tried:
    """Independent gaps of the best law."""
    best = fit_sizes(gaps).best
    alpha, steps = best.law.phases()
    process = Process(steps, np.outer(-steps.sum(axis=1), alpha))
    return Tried(process, best.log_likelihood, best.parameters)


def _by_moments(gaps: Array, correlation: float) -> tuple[Process | None, list[str]]:
    """The MAP with the moments; with the nearest feasible correlation, and a note, else."""
    notes: list[str] = []
    mean, variation = float(gaps.mean()), float(gaps.var() / gaps.mean() ** 2)
    third = float((gaps**3).mean())
    bound = correlation_bound(variation)
    for wanted in (correlation, float(np.clip(correlation, -bound, bound)) * 0.999, 0.0):
        try:
            made = map_of_order_two(mean, variation, wanted, third)
        except ValueError as error:
            notes = notes or [str(error)]
            continue
        if notes:
            notes.append(f"the MAP has the lag correlation {wanted:.6g} instead")
        return made, notes
    return None, notes


def gap_parameters(gaps: Array) -> list[Parameter]:
    """Mean, variation and lag correlation of the gaps, by the jackknife over forty stretches."""
    blocks = min(_BLOCKS, len(gaps) // 5)
    mean = float(gaps.mean())
    now, then = gaps[:-1] / mean, gaps[1:] / mean
    averaged = (now, then, now**2, now * then)
    found = {
        "mean_gap": lambda m: mean * float(m[0]),
        "gap_variation": lambda m: float(m[2] / m[0] ** 2 - 1.0),
        "lag_correlation": lambda m: float((m[3] - m[0] * m[1]) / (m[2] - m[0] ** 2)),
    }
    rows = ((name, jackknife(averaged, statistic, blocks)) for name, statistic in found.items())
    return [
        Parameter(name, None, value, low, high, error) for name, (value, error, low, high) in rows
    ]


def batch_parameters(sizes: NDArray[np.int64]) -> list[Parameter]:
    """Mean size, and the probability of each size that was seen."""
    if sizes.max() == 1:
        return []
    blocks = min(_BLOCKS, len(sizes) // 5)
    mean, error, low, high = jackknife([sizes.astype(float)], lambda m: float(m[0]), blocks)
    counts = np.bincount(sizes)
    seen = np.flatnonzero(counts)
    shares = zip(seen.tolist(), *shares_of_trials(counts[seen], len(sizes)), strict=True)
    found = [
        Parameter("batch_size_probability", size, float(share), float(left), float(right))
        for size, share, left, right in shares
    ]
    return [Parameter("mean_batch_size", None, mean, low, high, error), *found]


def batch_process(process: Process, sizes: NDArray[np.int64]) -> dict[str, Any]:
    """The process with its batches, as a scenario file has it.

    Parameters
    ----------
    process : Process
    sizes : ndarray of int
        Of the batches seen; D_k is the share of size k, times D1.

    Raises
    ------
    ValueError
        If a batch is larger than 200 pages: the matrices would not be usable.
    """
    largest = int(sizes.max())
    if largest > _LARGEST_BATCH:
        raise ValueError(
            f"a batch has {largest} pages, more than {_LARGEST_BATCH}; give a smaller --batch-gap"
        )
    if largest == 1:
        return process.entry()
    shares = np.bincount(sizes, minlength=largest + 1)[1:] / len(sizes)
    matrices = [process.D0, *(share * process.D1 for share in shares)]
    return {"bmap": {"D": [matrix.tolist() for matrix in matrices]}}
