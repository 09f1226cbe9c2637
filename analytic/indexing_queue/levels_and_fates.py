"""Levels, active robots and rates of the fates of pages, from a stationary distribution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from scenarios.arrays import Array


class Marginals(NamedTuple):
    """Sums of a stationary distribution over the phases of patience.

    Attributes
    ----------
    phases : ndarray, shape (levels, order, service phases)
        Probabilities; those of level 0 stand in the first service phase.
    obsolete : ndarray, shape (levels, order, service phases)
        Obsolescences per unit time.
    """

    phases: Array
    obsolete: Array

    @property
    def levels(self) -> Array:
        """Fraction of time with 0, 1, … pages in the system."""
        return self.phases.sum(axis=(1, 2))


def marginals_of(chain: QueueChain, stationary: Array) -> Marginals:
    """Sums of the probabilities of all states, shape (states,), level by level."""
    shape = (chain.top + 1, chain.order, chain.service_phases)
    phases = np.zeros(shape)
    obsolete = np.zeros(shape)
    starts = chain.starts
    phases[0, :, 0] = stationary[: starts[1]]
    if chain.patience_phases == 1:
        phases[1:] = stationary[starts[1] :].reshape(phases[1:].shape)
        waiting = np.maximum(np.arange(chain.top + 1.0) - 1, 0)
        return Marginals(phases, phases * (chain.patience.exit_rates * waiting[:, None])[..., None])
    for level in range(1, chain.top + 1):
        here = stationary[starts[level] : starts[level + 1]].reshape(*shape[1:], -1)
        phases[level] = here.sum(axis=2)
        obsolete[level] = here @ chain.obsolescence[level - 1]
    return Marginals(phases, obsolete)


def level_probabilities(chain: QueueChain, stationary: Array) -> Array:
    """Fraction of time with 0, 1, … pages in the system, shape (levels,).

    Parameters
    ----------
    chain : QueueChain
    stationary : array, shape (states,)
        Its stationary distribution.
    """
    return marginals_of(chain, stationary).levels


def fate_rates(chain: QueueChain, marginals: Marginals) -> dict[str, float]:
    """Pages per unit time that are delivered, lost, obsolete and served.

    avrachenkov2011, Theorems 2 and 3: numerators and the intensity of the input flow.

    Parameters
    ----------
    chain : QueueChain
    marginals : Marginals
        Of its stationary distribution.
    """
    sizes = np.arange(chain.batch_rates.shape[1])
    batches = np.einsum("ikwm,iwm->ik", chain.batch_rates, _seen(chain, marginals))
    refused = sizes - chain.accepted
    served = marginals.phases[1:] @ chain.service.exit_rates
    return {
        "delivered": float((batches * sizes).sum()),
        "lost": float((batches * refused)[:, 1:].sum()),
        "obsolete": float(marginals.obsolete.sum()),
        "served": float(served.sum()),
    }


def mean_active(chain: QueueChain, marginals: Marginals) -> float:
    """Robots that are active, on average."""
    return float((_seen(chain, marginals) * chain.active).sum())


def mean_active_by_class(chain: QueueChain, phases: Array) -> list[float]:
    """Robots of each class that are active, on average; none where there are no classes.

    Parameters
    ----------
    chain : QueueChain
    phases : ndarray, shape (levels, order, …)
        Probabilities of levels and arrival phases.
    """
    if chain.by_class is None:
        return []
    by_phase = phases.reshape(*phases.shape[:2], -1).sum(axis=(0, 2))
    return (chain.by_class @ by_phase).tolist()


def _seen(chain: QueueChain, marginals: Marginals) -> Array:
    """Probabilities of levels and arrival phases, and of service phases where these count."""
    by_phase = chain.active.shape[2] > 1
    return marginals.phases if by_phase else marginals.phases.sum(axis=2, keepdims=True)


def levels_at_arrivals(chain: QueueChain, stationary: Array) -> Array:
    """Share of the delivered pages that find 0, 1, … pages in the system.

    The pages of a batch come one after the other: a page finds those of its own batch that have
    entered ahead of it, too.

    Parameters
    ----------
    chain : QueueChain
    stationary : ndarray, shape (states,)
        Stationary probabilities.

    Returns
    -------
    ndarray, shape (levels,)
        Zeros where no page is ever delivered.

    Notes
    -----
    Pages that find a level, per unit time, divided by all pages: the intensities of
    avrachenkov2011, Theorem 2, level by level. With Poisson deliveries of single pages at a
    constant rate it is the distribution of the level itself (PASTA).
    """
    here = _seen(chain, marginals_of(chain, stationary))
    batches = np.einsum("ikwm,iwm->ik", chain.batch_rates, here)
    arrivals = np.zeros(chain.top + 1)
    for level, rates in enumerate(batches):
        for size in range(1, len(rates)):
            entering = int(chain.accepted[level, size])
            for ahead in range(size):
                arrivals[level + min(ahead, entering)] += rates[size]
    total = arrivals.sum()
    return arrivals / total if total > 0 else arrivals
