"""Deliveries of a crawler from their timestamps: batches, and the process of the batches.

The steps are those of avrachenkov2011, section 7: gaps; stops left out; short gaps join pages to
batches; sizes of the batches; mean, variance and correlations of the gaps between batches; a
process of order two. Sizes are then drawn independently of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.fitting.batches import Batches
from crawlsim.fitting.fit_quality import quality_words
from crawlsim.fitting.gap_parameters import (
    FEWEST_GAPS,
    gap_parameters,
    is_chance,
    lag_correlations,
)
from crawlsim.fitting.intervals import Parameter, shares_by_mid_p
from crawlsim.fitting.modulated import fit_modulated, likelihood_of
from crawlsim.fitting.order_two import (
    Process,
    correlation_bound,
    gap_moments,
    map_of_order_two,
)
from crawlsim.fitting.service_times import FEWEST, MOST_PHASES, SizeFit, fit_sizes
from crawlsim.fitting.stretches import Estimate, of_stretches
from scenarios.arrays import Array

_STRETCHES = 10
_MET = 1e-6
_NEARER = tuple(0.5**halving for halving in range(1, 11))
_LARGEST_BATCH = 200
_CLEARLY = 10.0
_HEAVY = 0.3
MOST_GAPS = 200_000

INDEPENDENT = ("poisson", "renewal")
"""Processes whose gaps do not depend on one another."""


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
    law = fit_sizes(gaps)
    tried = {"poisson": _poisson(gaps), "renewal": _renewal(law)}
    by_moments, notes = _by_moments(gaps, float(correlations[0]))
    if by_moments is not None:
        tried["map"] = Tried(by_moments, likelihood_of(gaps, by_moments), 4)
    likelihood = likelihood_of(gaps, modulated.process)
    tried["mmpp"] = Tried(modulated.process, likelihood, 4)
    moments = gap_parameters(gaps)
    chosen = wanted or _least(tried, len(gaps), is_chance(moments, len(gaps)))
    if chosen not in tried:
        raise ValueError(f"there is no {chosen} with these gaps; {notes[0]}")
    if chosen != "map":
        notes = [f"of the MAP, which is not taken: {note}" for note in notes]
    parameters = (*moments, *batch_parameters(batches.sizes))
    parameters += modulated.parameters if chosen == "mmpp" else ()
    if chosen == "renewal" and law.quality.poor:
        notes.append(quality_words(law.quality, MOST_PHASES).removesuffix("."))
    notes += _doubts(batches, moments)
    return DeliveryFit(batches, correlations, tried, chosen, parameters, tuple(notes))


def _least(tried: Mapping[str, Tried], gaps: int, chance: bool) -> str:
    """The process with the least BIC; a correlated one for no correlation only if clearly less.

    Notes
    -----
    Ten is what Kass and Raftery (1995) call very strong.
    """
    by_name = {name: each.criterion(gaps) for name, each in tried.items()}
    least = min(by_name, key=lambda name: by_name[name])
    independent = min(INDEPENDENT, key=lambda name: by_name[name])
    if chance and by_name[independent] < by_name[least] + _CLEARLY:
        return independent
    return least


def _stretches(gaps: Array) -> Array:
    """The gaps; of more than 200,000 twenty stretches that have as many together."""
    if len(gaps) <= MOST_GAPS:
        return gaps
    return np.concatenate([part[: MOST_GAPS // 20] for part in np.array_split(gaps, 20)])


def _poisson(gaps: Array) -> Tried:
    rate = 1.0 / float(gaps.mean())
    process = Process(np.array([[-rate]]), np.array([[rate]]))
    return Tried(process, len(gaps) * (np.log(rate) - 1.0), 1)


def _renewal(law: SizeFit) -> Tried:
    """Independent gaps of the best law."""
    best = law.best
    alpha, steps = best.law.phases()
    process = Process(steps, np.outer(-steps.sum(axis=1), alpha))
    return Tried(process, best.log_likelihood, best.parameters)


def _by_moments(gaps: Array, correlation: float) -> tuple[Process | None, list[str]]:
    """The MAP with the moments, or the nearest that there is, and notes on what is not met."""
    mean = float(gaps.mean())
    variation = float(gaps.var() / gaps.mean() ** 2)
    third = float((gaps**3).mean())
    made, notes = _nearest_correlation(mean, variation, correlation, third)
    if made is not None:
        has = gap_moments(made)[2]
        if abs(has / third - 1.0) > _MET:
            notes.append(
                f"the MAP has the third moment {has:.4g} instead of {third:.4g}, the nearest that "
                "goes with the others"
            )
    return made, notes


def _nearest_correlation(
    mean: float, variation: float, correlation: float, third: float
) -> tuple[Process | None, list[str]]:
    """The MAP with the correlation; with the nearest feasible one, and a note, else."""
    try:
        return map_of_order_two(mean, variation, correlation, third), []
    except ValueError as error:
        notes = [str(error)]
    bound = correlation_bound(variation)
    correlation = float(np.clip(correlation, -bound, bound))
    found = None
    share = 0.0
    for step in _NEARER:
        try:
            found = map_of_order_two(mean, variation, (share + step) * correlation, third)
        except ValueError:
            continue
        share += step
    if found is None:
        return _uncorrelated(mean, variation, third, notes)
    return found, [*notes, f"the MAP has the lag correlation {share * correlation:.4g} instead"]


def _uncorrelated(
    mean: float, variation: float, third: float, notes: list[str]
) -> tuple[Process | None, list[str]]:
    """The MAP without correlation, where there is one."""
    try:
        made = map_of_order_two(mean, variation, 0.0, third)
    except ValueError:
        return None, notes
    return made, [*notes, "the MAP has no lag correlation instead"]


def _parameter(name: str, found: Estimate) -> Parameter:
    return Parameter(name, None, found.value, found.low, found.high, found.error)


def batch_parameters(sizes: NDArray[np.int64]) -> list[Parameter]:
    """Mean size, with an interval from 200 batches on, and the probability of each size seen."""
    if sizes.max() == 1:
        return []
    counts = np.bincount(sizes)
    seen = np.flatnonzero(counts)
    ends = shares_by_mid_p(counts[seen], len(sizes))
    shares = zip(seen.tolist(), (counts[seen] / len(sizes)).tolist(), *ends, strict=True)
    found = [
        Parameter("batch_size_probability", size, share, float(left), float(right))
        for size, share, left, right in shares
    ]
    return [_mean_size(sizes.astype(float)), *found]


def _mean_size(sizes: Array) -> Parameter:
    if len(sizes) < FEWEST or sizes.min() == sizes.max():
        return Parameter("mean_batch_size", None, float(sizes.mean()), np.nan, np.nan)
    return _parameter("mean_batch_size", of_stretches((sizes,), lambda m: float(m[0]), _STRETCHES))


def _doubts(batches: Batches, moments: Sequence[Parameter]) -> list[str]:
    """Why there are no intervals of moments, or which of them covers less than it says."""
    found = []
    if len(batches.gaps) < FEWEST_GAPS:
        found.append(
            f"mean, variation and lag correlation of the gaps have no intervals: fewer than "
            f"{FEWEST_GAPS} gaps do not tell how far apart they depend on one another"
        )
    if len(batches.sizes) < FEWEST and batches.sizes.max() > 1:
        found.append(
            f"the mean batch size has no interval: fewer than {FEWEST} batches do not tell how "
            "skewed the sizes are"
        )
    variation = next(each for each in moments if each.name.startswith("squared"))
    share = float(batches.gaps.max() ** 4 / (batches.gaps**4).sum())
    if not np.isnan(variation.low) and share > _HEAVY:
        found.append(
            f"one gap makes {share:.0%} of the sum of fourth powers, on which the interval of the "
            "variation rests: of such gaps it covers about 0.9"
        )
    return found


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
