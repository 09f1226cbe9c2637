"""What a delivered page finds: the law of the level at arrivals, which see no time averages."""

from __future__ import annotations

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.marginals import marginals_of
from scenarios.arrays import Array


def levels_at_arrivals(chain: QueueChain, law: Array) -> Array:
    """Share of the delivered pages that find 0, 1, … pages in the system.

    The pages of a batch come one after the other: a page finds those of its own batch that have
    entered ahead of it, too.

    Parameters
    ----------
    chain : QueueChain
    law : ndarray, shape (states,)
        Stationary probabilities.

    Returns
    -------
    ndarray, shape (levels,)
        Zeros where no page is ever delivered.

    Notes
    -----
    Pages that find a level, per unit time, divided by all pages: the intensities of
    avrachenkov2011, Theorem 2, level by level. With Poisson deliveries of single pages at a
    constant rate it is the law of the level itself; other arrivals do not see time averages.
    """
    here = marginals_of(chain, law).phases.sum(axis=2)
    batches = np.einsum("ikw,iw->ik", chain.batch_rates, here)
    found = np.zeros(chain.top + 1)
    for level, rates in enumerate(batches):
        for size in range(1, len(rates)):
            entering = int(chain.accepted[level, size])
            for ahead in range(size):
                found[level + min(ahead, entering)] += rates[size]
    total = found.sum()
    return found / total if total > 0 else found
