"""Stationary law of a large chain: symmetric Gauss-Seidel with aggregation, without a matrix.

Passes over the states, down and up the levels in turn (`kernels`), and between them the small
chain of `lumped`, which sets the probabilities of level, arrival phase and service phase right.
"""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.lumped import (
    elimination_work,
    phase_rates,
    stationary_levels,
    stationary_phases,
    with_obsolescence,
)
from analytic.indexing_queue.marginals import marginals_of
from analytic.indexing_queue.tables import mean_profile, tables_of, working_space
from analytic.markov import Band
from analytic.progress import Progress
from analytic.refusal import NoAnswerError
from scenarios.arrays import Array

LARGEST_COARSE = 5 * 10**7
"""Multiplications up to which the arrival and service phases are kept in the small chain."""

PATIENCE = 5.0
"""Seconds from which on one is told beforehand."""

MOST_PASSES = 2000
MOST_WORK = 2 * 10**9
"""States times passes: about a quarter of an hour."""
TOLERANCE = 1e-12
ROUNDING = 1e-14
"""Relative changes of this size say no more about the convergence."""

_LOG = logging.getLogger(__name__)


class NotConvergedError(NoAnswerError):
    """The iteration did not reach its tolerance; there is no answer."""


class Iterated(NamedTuple):
    """A stationary law, and how it was reached.

    Attributes
    ----------
    law : ndarray, shape (states,)
    passes : int
        Passes over the states.
    residual : float
        Largest difference of the flows into and out of a state, relative to the largest flow.
    error : float
        Estimate of the largest relative error of a probability, from the last changes and the
        factor by which they shrink.
    """

    law: Array
    passes: int
    residual: float
    error: float


def seconds_needed(chain: QueueChain) -> float:
    """About how long `iterate` takes, once it is compiled: measured on one core, to a factor of 2.

    The inverses of the blocks, the products with them, and what each state takes besides. A heavy
    load can take ten times as many passes.
    """
    inner = chain.order * len(chain.service.start)
    timers = len(chain.timer.start)
    levels = range(1, chain.top + 1)
    blocks: int = sum(level ** (timers - 1) for level in levels)
    products = 1e-9 * blocks * inner**3 + 2.4e-7 * chain.states * inner
    return products + 1.5e-6 * chain.states * min(inner, 5)


def iterate(chain: QueueChain, tolerance: float = TOLERANCE) -> Iterated:
    """Stationary law of a chain with one closed class.

    Parameters
    ----------
    chain : QueueChain
    tolerance : float
        Estimated relative error of each probability.

    Raises
    ------
    NotConvergedError
        If the tolerance is not reached within `MOST_PASSES` passes and `MOST_WORK`.

    Notes
    -----
    Given level, arrival and service phase, only the total rate of
    obsolescence depends on the timers; so the small chain is exact up to that number
    (docs/derivations.md, "Large chains").
    """
    from analytic.indexing_queue.kernels import imbalance, sweep

    if (seconds := seconds_needed(chain)) > PATIENCE:
        _LOG.info("solving a chain of %s states, about %.0f s", chain.states, seconds)
    small = elimination_work(chain) <= LARGEST_COARSE
    rates = phase_rates(chain) if small else None
    # without waiting pages there are no timers, and the small chain alone is right
    tables = tables_of(chain, 2 if small else 0)
    law = _first_guess(chain, rates)
    times = _block_times(tables)
    work = working_space(chain)
    history: list[float] = []
    errors: list[float] = []
    most = max(min(MOST_PASSES, MOST_WORK // chain.states), 1)
    progress = Progress(f"chain of {chain.states:,} states, passes")
    while len(history) < most:
        history.append(sweep(tables, law, times, work, len(history) % 2 == 1))
        _set_right(chain, rates, law)
        errors.append(_error(history))
        progress.step()
        if max(errors[-2:]) <= tolerance and abs(law.sum() - 1) < 1e-9:
            flow, spare, _ = work
            left = imbalance(tables, law, (flow, spare, np.empty_like(flow)))
            return Iterated(law, len(history), left, max(errors[-2:]))
    raise NotConvergedError(f"{most} passes left a relative error of {errors[-1]:.1e}")


def _error(history: list[float]) -> float:
    """What is still missing if the changes go on shrinking as they did, at least the last one."""
    if len(history) < 5:
        return np.inf
    last = history[-1]
    if last <= ROUNDING:
        return ROUNDING
    factor = max((last / history[-5]) ** 0.25, (last / history[-3]) ** 0.5, 0.5)
    return last * factor / (1 - factor) if factor < 1 else np.inf


def _mean_stale(chain: QueueChain) -> Array:
    """Rates of obsolescence with all timers in such phases."""
    waiting = np.maximum(np.arange(chain.top + 1.0) - 1, 0)
    shape = (1, chain.order, len(chain.service.start))
    each = float(mean_profile(chain) @ chain.timer.exit_rates)
    rates: Array = (waiting * each)[:, None, None] * np.ones(shape)
    return rates


def _first_guess(chain: QueueChain, rates: Band | None) -> Array:
    """All timers in the phases of a time at random, independent of everything else."""
    stale = _mean_stale(chain)
    profile = mean_profile(chain)
    phases = _coarse(chain, rates, np.full(stale.shape, 1.0 / stale[0].size), stale)
    law = np.empty(chain.states)
    starts = chain.starts
    timers = np.ones(1)
    law[: starts[1]] = phases[0, :, 0]
    for level in range(1, chain.top + 1):
        law[starts[level] : starts[level + 1]] = np.multiply.outer(phases[level], timers).ravel()
        timers = np.multiply.outer(timers, profile).ravel()
    return law


def _coarse(chain: QueueChain, rates: Band | None, phases: Array, stale: Array) -> Array:
    """Probabilities of level and phases: without `rates` between these, of the level alone.

    `stale` are rates of obsolescence; `phases` are used up to a factor for each level.
    """
    if rates is not None:
        return stationary_phases(chain, with_obsolescence(chain, rates, stale))
    levels = stationary_levels(chain, phases, stale)
    totals = phases.sum(axis=(1, 2))
    factors = np.divide(levels, totals, out=np.zeros_like(levels), where=totals > 0)
    scaled: Array = phases * factors[:, None, None]
    return scaled


def _set_right(chain: QueueChain, rates: Band | None, law: Array) -> None:
    """Scale the law, in place, to the probabilities of level and phases that its timers imply."""
    found = marginals_of(chain, law)
    here = found.phases > 0
    stale = np.divide(found.stale, found.phases, out=_mean_stale(chain), where=here)
    right = _coarse(chain, rates, found.phases, stale)
    factors = np.divide(right, found.phases, out=np.zeros_like(right), where=here)
    starts = chain.starts
    law[: starts[1]] *= factors[0, :, 0]
    for level in range(1, chain.top + 1):
        rows = law[starts[level] : starts[level + 1]].reshape(factors[level].size, -1)
        rows *= factors[level].reshape(-1, 1)


def _block_times(tables: Any) -> Array:
    """The mean times of all levels, of `kernels.block_times`."""
    from analytic.indexing_queue.kernels import block_times

    times = np.zeros(int(tables.blocks[-1]))
    for level, (first, last) in enumerate(pairwise(tables.blocks)):
        groups = tables.order * (tables.phases if level > 0 else 1)
        mine = times[first:last].reshape(-1, groups, groups)
        block_times(tables, level, max(level - 1, 0), 0.0, mine)
    return times
