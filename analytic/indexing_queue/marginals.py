"""The chain without the phases of patience: level, arrival phase and service phase.

The phases of patience enter it through the rates of obsolescence alone, and it is exact once these
are (docs/theory/indexing-queue.md); with exponential patience it is the whole chain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    QueueChain,
    rate_blocks,
    rate_entries,
)
from analytic.machinery.markov import Band, closed_classes, rate_matrix, stationary_banded
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
        result: Array = self.phases.sum(axis=(1, 2))
        return result


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
        obsolete[level] = here @ _sums_over_pages(chain.patience.exit_rates, level - 1)
    return Marginals(phases, obsolete)


def _sums_over_pages(rates: Array, waiting: int) -> Array:
    """Sum of a rate of each waiting page's patience phase, shape (phases^waiting,)."""
    total = np.zeros(1)
    for _ in range(waiting):
        total = (total[:, None] + rates).ravel()
    return total


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
    means: list[float] = (chain.by_class @ by_phase).tolist()
    return means


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


def mean_profile(chain: QueueChain) -> Array:
    """Probabilities of the phases of patience at a random moment of a page's patience."""
    start, generator = chain.patience
    if len(start) == 1:
        return np.ones(1)
    spent = np.maximum(np.linalg.solve(-generator.T, start), 0.0)
    profile: Array = spent / spent.sum()
    return profile


def _largest_step(chain: QueueChain) -> int:
    """Most pages that enter at once, at least 1."""
    return max(1, *(max(moves, default=0) for moves in chain.arrivals))


def _widths(chain: QueueChain) -> tuple[int, int]:
    """Entries below and above the diagonal that the rates need."""
    inner = chain.order * chain.service_phases
    return 2 * inner - 1, (_largest_step(chain) + 1) * inner - 1


def elimination_work(chain: QueueChain) -> int:
    """Multiplications that `stationary_phases` needs."""
    lower, upper = _widths(chain)
    states = chain.order * (1 + chain.service_phases * chain.top)
    return states * lower * upper


def phase_rates(chain: QueueChain) -> Band:
    """Rates between the states of level, arrival and service phase, obsolescences apart."""
    patient = replace(chain, patience=UNLIMITED_PATIENCE)
    starts = patient.starts
    band = Band(int(starts[-1]), *_widths(chain))
    rates = band.rates
    for origin, target, block in rate_blocks(patient):
        rows = slice(starts[origin], starts[origin + 1])
        rates[rows, starts[target] : starts[target + 1]] += block
    return band


def with_obsolescence(chain: QueueChain, band: Band, obsolete: Array) -> Band:
    """A copy of the rates of `phase_rates` with those of obsolescence added.

    `obsolete` has shape (levels, order, service phases): obsolescences per unit time while the
    chain is there.
    """
    complete = band.copy()
    inner = chain.order * chain.service_phases
    waiting = np.arange(chain.order + inner, complete.states)
    complete.rates[waiting, waiting - inner] += obsolete[2:].ravel()
    return complete


def stationary_phases(chain: QueueChain, band: Band) -> Array:
    """Probabilities of level, arrival phase and service phase, given the rates between them.

    Returns
    -------
    ndarray, shape (levels, order, service phases)
        Those of level 0 stand in the first service phase.
    """
    stationary = stationary_banded(band.copy(), chain.order, chain.start)
    phases = np.zeros((chain.top + 1, chain.order, chain.service_phases))
    phases[0, :, 0] = stationary[: chain.order]
    phases[1:] = stationary[chain.order :].reshape(phases[1:].shape)
    return phases


def stationary_levels(chain: QueueChain, phases: Array, obsolete: Array) -> Array:
    """Probabilities of the levels, given those of the phases at each level.

    Parameters
    ----------
    chain : QueueChain
    phases : ndarray, shape (levels, order, service phases)
        Probabilities up to a factor for each level.
    obsolete : ndarray, shape (levels, order, service phases)
        Obsolescences per unit time while the chain is there.
    """
    band = Band(chain.top + 1, 1, _largest_step(chain))
    rates = band.rates
    even = 1.0 / phases[0].size
    for level, moves in enumerate(chain.arrivals):
        total = phases[level].sum()
        shares = phases[level] / total if total > 0 else np.full(phases[level].shape, even)
        if level >= 1:
            down = shares @ chain.service.exit_rates
            rates[level, level - 1] = down.sum() + float((shares * obsolete[level]).sum())
        for entering, matrices in moves.items():
            if entering > 0:
                out = matrices.sum(axis=2)
                drawn = shares[:, :1] * chain.service.start if level == 0 else shares
                rates[level, level + entering] += float((out.T * drawn).sum())
    return stationary_banded(band)


def closed_class_count(chain: QueueChain) -> int:
    """Number of closed classes of the whole chain, found on the smaller one.

    From every state pages can be served until the system is empty, so that each closed class has
    a state of level 0; and a waiting page can become obsolete in every phase of its patience, after
    some time, if it can in one. So the two chains reach the same states of level 0.
    """
    patient = replace(chain, patience=UNLIMITED_PATIENCE)
    _, rows, columns, rates = rate_entries(patient)
    if chain.patience.exit_rates.any() and chain.top >= 2:
        leaving = np.arange(patient.starts[2], patient.states)
        below = leaving - (patient.starts[2] - patient.starts[1])
        rows = np.append(rows, leaving)
        columns = np.append(columns, below)
        rates = np.append(rates, np.ones(len(leaving)))
    return len(closed_classes(rate_matrix(rows, columns, rates, patient.states), chain.start))
