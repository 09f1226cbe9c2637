"""The exact distributions of a scenario, at the points at which a simulation is to be compared.

Those of sojourn times are in `analytic.indexing_queue.sojourns`, that of the busy cycle is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analytic.index.conditions import timer_of
from analytic.indexing_queue.chain import QueueChain, rate_entries
from analytic.indexing_queue.formulas import reason_against_chain, reason_against_order
from analytic.indexing_queue.levels_and_fates import levels_at_arrivals
from analytic.indexing_queue.measures import chain_of, solution_of
from analytic.indexing_queue.sojourns import (
    ends_of,
    entries,
    fastest_rate,
    sojourn_cdf,
)
from analytic.machinery.absorbing import AbsorbingChain
from analytic.machinery.active_robots import require_decided
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.law_points import LAWS, Law, LawPoints
from scenarios.scenario import require_scenario

SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""The distribution functions are compared near the times where they have these values."""

_RAREST_LEVEL = 0.001
_MOST_LEVELS = 20

_GRID = np.concatenate([[0.0], np.geomspace(1e-4, 40.0, 160)])
"""Times, in means, between which the quantiles are interpolated."""

_MOST_WORK = 2 * 10**9
"""States times jumps: some ten seconds."""

LARGEST_CYCLE_CHAIN = 3000
"""States of a chain whose cycle times are given."""

MOST_CYCLE_JUMPS = 200_000
"""Jumps up to the longest time, at the largest rate of a state."""


@dataclass(frozen=True, slots=True)
class ExactLaw:
    """A distribution function at some points.

    Parameters
    ----------
    law : Law
        What is distributed so.
    at : ndarray, shape (points,)
        Times or levels, ascending.
    predicted : ndarray, shape (points,)
        P(X <= at).
    source : str
    curve : tuple of ndarray
        Closer times, or all levels, and P(X <= them): what a figure draws.
    """

    law: Law
    at: Array
    predicted: Array
    source: str
    curve: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True)
class NoLaw:
    """A distribution that is not known exactly, and the reason.

    Parameters
    ----------
    law : Law
    reason : str
    """

    law: Law
    reason: str


def exact_laws(scenario: Scenario) -> list[ExactLaw | NoLaw]:
    """The exact distributions of sojourn times, levels at arrivals and busy cycles.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    list
        One entry for each of `scenarios.law_points.LAWS`, an `ExactLaw` or the reason why there is
        none; that of obsolete pages is left out where no page becomes obsolete. Times longer than
        the warm-up are left out: a simulation that starts empty could not have seen them in full.

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised (`analytic.resolve` decides it).
    """
    require_scenario(scenario)
    require_decided(scenario)
    reason = reason_against_chain(scenario)
    if reason is not None:
        return [NoLaw(law, reason) for law in LAWS]
    served, obsolete, level, cycle = LAWS
    return [
        *_sojourns(scenario, (served,) if timer_of(scenario) is None else (served, obsolete)),
        _levels(scenario, level),
        _cycles(scenario, cycle),
    ]


def points_of(laws: list[ExactLaw | NoLaw]) -> LawPoints:
    """What a simulation has to count for a comparison with these distributions.

    Parameters
    ----------
    laws : list of ExactLaw or NoLaw
        As `exact_laws` gives them.
    """
    at = {
        (each.law.measure, each.law.subject): tuple(each.at.tolist())
        for each in laws
        if isinstance(each, ExactLaw)
    }
    return LawPoints(
        served=at.get(("sojourn_time", "served"), ()),
        obsolete=at.get(("sojourn_time", "obsolete"), ()),
        cycle=at.get(("cycle_time", None), ()),
    )


def _sojourns(scenario: Scenario, laws: tuple[Law, ...]) -> Iterator[ExactLaw | NoLaw]:
    """Of served and obsolete pages: the tagged page."""
    reason = reason_against_order(scenario)
    if reason is not None:
        yield from (NoLaw(law, reason) for law in laws)
        return
    chain = chain_of(scenario)
    stationary = solution_of(scenario).stationary
    pages, once = ends_of(chain, entries(chain, stationary), 2)
    positions = chain.states // chain.order
    fastest = min(1e6, _MOST_WORK / positions) / fastest_rate(chain)
    for law in laws:
        name = str(law.subject)
        rate = getattr(pages, name)
        if rate <= 0:
            yield NoLaw(law, f"there are no {law.counted}")
            continue

        def cdf(times: Array, name: str = name) -> Array:
            return sojourn_cdf(chain, stationary, times)[name]

        longest = min(fastest, scenario.run.warmup)
        yield _law_of_times(
            law, cdf, getattr(once, name) / rate, longest, "avrachenkov2011 Theorem 4"
        )


def _levels(scenario: Scenario, law: Law) -> ExactLaw | NoLaw:
    """Levels below which, and above which, a page in a thousand finds the system."""
    chain = chain_of(scenario)
    shares = levels_at_arrivals(chain, solution_of(scenario).stationary)
    sums = np.cumsum(shares)
    compared = np.flatnonzero((sums > _RAREST_LEVEL) & (1 - sums > _RAREST_LEVEL))
    if len(compared) == 0:
        return NoLaw(law, "(nearly) all pages find the same number of pages, or none is delivered")
    if len(compared) > _MOST_LEVELS:
        spread = np.linspace(sums[compared[0]], sums[compared[-1]], _MOST_LEVELS)
        compared = np.unique(compared[np.searchsorted(sums[compared], spread - 1e-12)])
    source = "avrachenkov2011 Theorem 2"
    levels = np.arange(compared[-1] + 1.0)
    curve = levels, sums[: len(levels)]
    return ExactLaw(law, compared.astype(float), sums[compared], source, curve)


def _cycles(scenario: Scenario, law: Law) -> ExactLaw | NoLaw:
    """Busy cycles: the chain is followed from one arrival to an empty system to the next."""
    chain = chain_of(scenario)
    stationary = solution_of(scenario).stationary
    if chain.states > LARGEST_CYCLE_CHAIN:
        return NoLaw(law, f"the chain has {chain.states} states, more than {LARGEST_CYCLE_CHAIN}")
    cycles = _cycles_of(chain, stationary)
    rate = float(cycles.start.sum())
    if rate <= 0:
        return NoLaw(law, "the system is never empty, or nothing arrives then")
    longest = min(MOST_CYCLE_JUMPS / cycles.rate, scenario.run.warmup)
    return _law_of_times(
        law, partial(_cdf, cycles), 1 / rate, longest, "busy cycle of the chain (own)"
    )


def _law_of_times(
    law: Law, cdf: Callable[[Array], Array], mean: float, longest: float, source: str
) -> ExactLaw | NoLaw:
    """The distribution function near its quantiles, as far as the longest time allows."""
    grid = mean * _GRID[mean * _GRID <= longest]
    values = cdf(grid)
    reached = [share for share in SHARES if share <= values[-1]]
    if not reached or reached[-1] < 0.5:
        return NoLaw(law, _too_long(mean, longest))
    at = np.unique(np.interp(reached, values, grid))
    at = at[at > 0]
    shown = grid <= at[-1]
    predicted = cdf(at)
    curve = np.append(grid[shown], at[-1]), np.append(values[shown], predicted[-1])
    return ExactLaw(law, at, predicted, source, curve)


def _too_long(mean: float, longest: float) -> str:
    return (
        f"its mean is {mean:.4g}: half of the times or more are longer than {longest:.4g}, "
        "the warm-up or as far as the distribution is computed"
    )


# --- busy cycles --------------------------------------------------------------------------------


def cycle_cdf(chain: QueueChain, stationary: Array, times: ArrayLike) -> Array:
    """Distribution function ``P(C <= t)`` of the time between two arrivals to an empty system.

    Parameters
    ----------
    chain : QueueChain
        Of at most 3000 states.
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    times : array_like
        t >= 0.

    Returns
    -------
    ndarray
        Of the shape of `times`; nan where the system is never empty or never ceases to be.

    Raises
    ------
    ValueError
        If the chain is larger, or more than 200,000 jumps are expected in a time.

    Notes
    -----
    The cycle is of phase type: it begins in the state after an arrival to an empty system, in
    proportion to the rates of these arrivals (docs/distributions.md), and is absorbed by the next.
    Uniformisation, as in `sojourn_cdf`: nothing is subtracted.
    """
    points = np.asarray(times, dtype=float)
    cycles = _cycles_of(chain, stationary)
    return _cdf(cycles, points) if cycles.start.any() else np.full(points.shape, math.nan)


def _cdf(cycles: AbsorbingChain, times: Array) -> Array:
    return cycles.ended(times, MOST_CYCLE_JUMPS)[..., 0] / cycles.start.sum()


def _cycles_of(chain: QueueChain, stationary: Array) -> AbsorbingChain:
    """The chain between two arrivals to an empty system."""
    if chain.states > LARGEST_CYCLE_CHAIN:
        raise ValueError(f"{chain.states} states; must be at most {LARGEST_CYCLE_CHAIN}")
    rises, rows, columns, rates = rate_entries(chain)
    first = (rows < chain.order) & (rises > 0)
    starting = rates[first]
    ends = np.zeros(chain.states)
    np.add.at(ends, rows[first], starting)
    begins = np.zeros(chain.states)
    np.add.at(begins, columns[first], stationary[rows[first]] * starting)
    kept = ~first & (rows != columns)
    shape = chain.states, chain.states
    moves = scipy.sparse.csr_matrix((rates[kept], (rows[kept], columns[kept])), shape=shape)
    return AbsorbingChain(begins, moves, ends[:, None])
