"""What the measures need of a stationary law: level, arrival and service phase, obsolescences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from scenarios.arrays import Array


class Marginals(NamedTuple):
    """Sums of a stationary law over the phases of the timers.

    Attributes
    ----------
    phases : ndarray, shape (levels, order, service phases)
        Probabilities; those of level 0 stand in the first service phase.
    stale : ndarray, shape (levels, order, service phases)
        Obsolescences per unit time.
    """

    phases: Array
    stale: Array

    @property
    def levels(self) -> Array:
        """Fraction of time with 0, 1, … pages in the system."""
        result: Array = self.phases.sum(axis=(1, 2))
        return result


def sums_over_timers(rates: Array, waiting: int) -> Array:
    """Sum of a rate of each waiting page's timer phase, shape (phases^waiting,)."""
    if len(rates) == 1:
        return rates * waiting
    total = np.zeros(1)
    for _ in range(waiting):
        total = (total[:, None] + rates).ravel()
    return total


def marginals_of(chain: QueueChain, law: Array) -> Marginals:
    """Sums of a law over all states, shape (states,), level by level."""
    shape = (chain.top + 1, chain.order, len(chain.service.start))
    phases = np.zeros(shape)
    stale = np.zeros(shape)
    starts = chain.starts
    exits = chain.timer.exit_rates
    phases[0, :, 0] = law[: starts[1]]
    for level in range(1, chain.top + 1):
        here = law[starts[level] : starts[level + 1]].reshape(*shape[1:], -1)
        phases[level] = here.sum(axis=2)
        stale[level] = here @ sums_over_timers(exits, level - 1)
    return Marginals(phases, stale)
