"""How stale the index is when every delivery is of a page drawn at random, without timers.

Notation of the docstrings: page i changes at rate mu and is delivered with probability f; Q is the
generator of the queue, A its part with the accepted deliveries, p its stationary law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.pipeline.queues import Delays, PageQueue
from scenarios.arrays import Array


class Slopes(NamedTuple):
    """Obsolescence rates, and their first and second derivatives by the shares, shape (pages,)."""

    rates: Array
    first: Array
    second: Array


def obsolescence_rates(queue: PageQueue, changes: ArrayLike, shares: ArrayLike) -> Array:
    """Obsolescence rate of every page, end to end, shape (pages,).

    Parameters
    ----------
    queue : PageQueue
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.

    Notes
    -----
    Looked at from a stationary instant back in time, the last change was A ~ exp(mu) ago, and A is
    independent of the queue; the index is current iff a copy delivered after that change has been
    indexed by now: ``1 - r = E exp(-mu T)``, T the time from a stationary instant to the first end
    of the indexing of a copy delivered after it. Without timers, first come first served, the
    earliest accepted copy is the one that matters, and what is delivered later does not matter to
    it. Hence ``r = p z`` with

        (mu - Q + f A) z = mu 1 + f A 1 (1 - y),

    y(n, m) = g(m) gb^n the transform at mu of the time to the end of its indexing; of a batch of k
    that enter, page j is the first of its kind with probability ``(1 - f)^(j-1) f``. All terms are
    positive, and so are those of the elimination: rates of 1e-6 keep their digits. A page that is
    never delivered is stale from its first change on, one that never changes never is.
    """
    return _by_kind(queue, changes, shares, 1)[:, 0]


def obsolescence_slopes(queue: PageQueue, changes: ArrayLike, shares: ArrayLike) -> Slopes:
    """Obsolescence rates and their derivatives by the page's own share.

    Parameters are those of `obsolescence_rates`.

    Notes
    -----
    ``r = E (1 - f)^N`` with N the copies of any page that are indexed in time, whatever their
    marks: convex and decreasing in f, and independent of the other shares. The derivatives solve
    the same system: ``(mu - Q + f A) z' = A 1 (1 - y) - A z``, ``(mu - Q + f A) z'' = -2 A z'``.
    """
    found = _by_kind(queue, changes, shares, 3)
    return Slopes(found[:, 0], found[:, 1], found[:, 2])


def index_ages(queue: PageQueue, shares: ArrayLike) -> Array:
    """Mean age of the copy of every page in the index, shape (pages,); inf where f = 0.

    Parameters
    ----------
    queue : PageQueue
    shares : array_like, shape (pages,)

    Notes
    -----
    The mean of T of `obsolescence_rates`: ``(-Q + f A) t = 1 + f A d``, d the mean time from a
    delivery to the end of its indexing.
    """
    f, which = np.unique(np.asarray(shares, dtype=float), return_inverse=True)
    asked = f > 0
    ages: Array = np.full(len(f), np.inf)
    if asked.any() and queue.entering.any():
        ages[asked] = _ages(queue, f[asked])
    by_page: Array = ages[which.ravel()]
    return by_page


def _ages(queue: PageQueue, f: Array) -> Array:
    delays = Delays(queue.service, np.ones(1))
    entering = queue.entering
    misses = _misses(f, len(queue.accepted))
    rewards = np.ones((len(f), 1, len(queue.law)))
    for ahead in range(len(entering)):
        mean = delays.means(queue.level, queue.phase, ahead)
        first = (f * (1.0 - f) ** ahead)[:, None]
        rewards[:, 0] += first * entering[ahead:].sum(axis=0) * mean
    exits = _tagged(f, len(entering)) @ entering + (queue.law == 0)  # states never seen need an end
    return _totals(queue, exits, misses, rewards)[:, 0]


def _by_kind(queue: PageQueue, changes: ArrayLike, shares: ArrayLike, orders: int) -> Array:
    """Rates and derivatives by page, each kind of page solved once, shape (pages, orders)."""
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    kinds, which = np.unique(np.stack([mu, f], axis=1), axis=0, return_inverse=True)
    found = np.zeros((len(kinds), orders))
    moving = kinds[:, 0] > 0
    if moving.any():
        found[moving] = _solved(queue, kinds[moving, 0], kinds[moving, 1], orders)
    result: Array = found[which.ravel()]
    return result


def _solved(queue: PageQueue, mu: Array, f: Array, orders: int) -> Array:
    delays = Delays(queue.service, mu)
    entering = queue.entering
    misses = _misses(f, len(queue.accepted))
    rewards = np.zeros((len(mu), orders, len(queue.law)))
    rewards[:, 0] = mu[:, None]
    for ahead in range(len(entering)):
        stale = delays.stale(queue.level, queue.phase, ahead) * entering[ahead:].sum(axis=0)
        for order, first in enumerate(_first_of_batch(f, ahead)[:orders]):
            rewards[:, order] += first[:, None] * stale
    return _totals(queue, mu[:, None] + _tagged(f, len(entering)) @ entering, misses, rewards)


def _totals(queue: PageQueue, exits: Array, misses: Array, rewards: Array) -> Array:
    from analytic.pipeline.kernels import totals_until_fresh

    parts = queue.base, queue.accepted, queue.lower
    result: Array = totals_until_fresh(*parts, exits, misses, rewards, queue.law)
    return result


def _misses(f: Array, largest: int) -> Array:
    """``(1 - f)^k``, minus its derivative, and its second derivative, shape (pages, 3, batches)."""
    k = np.arange(1.0, largest + 1)
    miss = 1.0 - f[:, None]
    steps = [miss**k, k * miss ** (k - 1), k * (k - 1) * miss ** np.maximum(k - 2, 0.0)]
    return np.stack(steps, axis=1)


def _tagged(f: Array, largest: int) -> Array:
    """Probability that a batch of 1, 2, … pages has the page, shape (pages, batches)."""
    with np.errstate(divide="ignore"):
        rest = -np.expm1(np.arange(2, largest + 1) * np.log1p(-f)[:, None])
    return np.concatenate([f[:, None], rest], axis=1)


def _first_of_batch(f: Array, ahead: int) -> tuple[Array, Array, Array]:
    """``(1 - f)^j f`` with j pages ahead, and its derivatives."""
    j = float(ahead)
    miss = 1.0 - f
    first = miss ** max(j - 1, 0.0) if j else np.zeros_like(f)
    second = miss ** max(j - 2, 0.0) if j > 1 else np.zeros_like(f)
    return (
        miss**j * f,
        miss**j - j * f * first,
        -2.0 * j * first + j * (j - 1) * f * second,
    )
