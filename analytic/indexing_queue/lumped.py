"""The chain of level, arrival phase and service phase, given how often pages become obsolete.

With exponential timers it is the whole chain. Otherwise the phases of the timers enter it through
the rate of obsolescence alone, and it is exact once that rate is (docs/derivations.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_matrix

from analytic.indexing_queue.chain import NO_TIMER, QueueChain
from analytic.indexing_queue.generator import rate_blocks
from analytic.markov import Band, closed_classes, stationary_banded
from scenarios.arrays import Array


def _largest_step(chain: QueueChain) -> int:
    """Most pages that enter at once, at least 1."""
    return max(1, *(max(moves, default=0) for moves in chain.arrivals))


def _widths(chain: QueueChain) -> tuple[int, int]:
    """Places below and above the diagonal that the rates need."""
    largest = _largest_step(chain)
    inner = chain.order * len(chain.service.start)
    return 2 * inner - 1, (largest + 1) * inner - 1


def elimination_work(chain: QueueChain) -> int:
    """Multiplications that `stationary_phases` takes."""
    lower, upper = _widths(chain)
    states: int = chain.order * (1 + len(chain.service.start) * chain.top)
    return states * lower * upper


def phase_rates(chain: QueueChain, stale: Array | None = None) -> Band:
    """Rates between the states of level, arrival and service phase.

    Parameters
    ----------
    chain : QueueChain
    stale : ndarray, shape (levels, order, service phases), optional
        Obsolescences per unit time while the chain is there; none if left out.
    """
    timerless = replace(chain, timer=NO_TIMER)
    starts = timerless.starts
    band = Band(int(starts[-1]), *_widths(chain))
    rates = band.rates
    for origin, target, block in rate_blocks(timerless):
        rows = slice(starts[origin], starts[origin + 1])
        rates[rows, starts[target] : starts[target + 1]] += block
    return band if stale is None else with_obsolescence(chain, band, stale)


def with_obsolescence(chain: QueueChain, band: Band, stale: Array) -> Band:
    """A copy of the rates of `phase_rates` with those of obsolescence added."""
    complete = band.copy()
    inner = chain.order * len(chain.service.start)
    late = np.arange(chain.order + inner, complete.states)
    complete.rates[late, late - inner] += stale[2:].ravel()
    return complete


def stationary_phases(chain: QueueChain, band: Band) -> Array:
    """Probabilities of level, arrival phase and service phase, given the rates between them.

    Returns
    -------
    ndarray, shape (levels, order, service phases)
        Those of level 0 stand in the first service phase.
    """
    return _by_level(chain, stationary_banded(band.copy(), chain.order, chain.start))


def _by_level(chain: QueueChain, law: Array) -> Array:
    order = chain.order
    phases = len(chain.service.start)
    result = np.zeros((chain.top + 1, order, phases))
    result[0, :, 0] = law[:order]
    result[1:] = law[order:].reshape(chain.top, order, phases)
    return result


def stationary_levels(chain: QueueChain, phases: Array, stale: Array) -> Array:
    """Probabilities of the levels, given those of the phases at each level.

    Parameters
    ----------
    chain : QueueChain
    phases : ndarray, shape (levels, order, service phases)
        Probabilities up to a factor for each level.
    stale : ndarray, shape (levels, order, service phases)
        Obsolescences per unit time while the chain is there.
    """
    largest = _largest_step(chain)
    band = Band(chain.top + 1, 1, largest)
    rates = band.rates
    even = 1.0 / phases[0].size
    for level, moves in enumerate(chain.arrivals):
        total = phases[level].sum()
        shares = phases[level] / total if total > 0 else np.full(phases[level].shape, even)
        if level >= 1:
            down = shares @ chain.service.exit_rates
            rates[level, level - 1] = down.sum() + float((shares * stale[level]).sum())
        for entering, matrices in moves.items():
            if entering > 0:
                out = matrices.sum(axis=2)
                drawn = shares[:, :1] * chain.service.start if level == 0 else shares
                rates[level, level + entering] += float((out.T * drawn).sum())
    return stationary_banded(band)


def closed_class_count(chain: QueueChain) -> int:
    """Closed classes of the whole chain, from the smaller one.

    From every state pages can be served until the system is empty, so that each closed class has
    a state of level 0; and a waiting page can become obsolete in every phase of its timer, after
    some time, if it can in one. So the two chains reach the same states of level 0.
    """
    timerless = replace(chain, timer=NO_TIMER)
    starts = timerless.starts
    rows = []
    columns = []
    rates = []
    for origin, target, block in rate_blocks(timerless):
        here, there = np.nonzero(block > 0)
        rows.append(here + starts[origin])
        columns.append(there + starts[target])
        rates.append(block[here, there])
    if chain.timer.exit_rates.any() and chain.top >= 2:
        late = np.arange(starts[2], starts[-1])
        rows.append(late)
        columns.append(late - (starts[2] - starts[1]))
        rates.append(np.ones(len(late)))
    triplets = np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns))
    matrix = coo_matrix(triplets, shape=(int(starts[-1]),) * 2).tocsr()
    return len(closed_classes(matrix, chain.start))
