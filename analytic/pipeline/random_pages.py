"""Freshness of the index when every delivery is of a page drawn at random, without timers.

Notation of the docstrings: page i changes at rate mu and is delivered with probability f; Q is the
generator of the queue, A its part with the accepted deliveries, p its stationary distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analytic.index import conditions
from analytic.index.accesses import accessed_pages
from analytic.index.formula import dependent
from analytic.indexing_queue import QueueChain, chain_of, solve_chain
from analytic.indexing_queue.chain import rate_entries
from analytic.indexing_queue.measures import size_of
from analytic.machinery.phase_type import PhaseLaw, moment
from analytic.pipeline.conditions import MOST_WORK, kinds_of_pages
from scenarios import Scenario
from scenarios.arrays import Array, Indices


class PageQueue(NamedTuple):
    """A queue without timers, with the deliveries apart from the other moves.

    Attributes
    ----------
    service : PhaseLaw
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    level, phase : ndarray of int, shape (states,)
        Pages in the system; phase of the service (0 where there is none).
    bands : ndarray, shape (1 + largest batch, states, width)
        Rates of the moves at which 0, 1, 2, … pages enter; lost deliveries bring none. The rate
        from i to j stands at ``j - i + lower`` in row i; the diagonal is not used.
    lower : int
    """

    service: PhaseLaw
    stationary: Array
    level: Indices
    phase: Indices
    bands: Array
    lower: int

    @property
    def entering(self) -> Array:
        """Rates of the deliveries of which 1, 2, … pages enter, shape (largest batch, states)."""
        return self.bands[1:].sum(axis=2)

    def moves(self, entering: int) -> scipy.sparse.csr_matrix:
        """Rates of the moves at which this many pages enter, shape (states, states)."""
        band = self.bands[entering]
        rows, places = band.nonzero()
        columns = rows + places - self.lower
        return scipy.sparse.csr_matrix(
            (band[rows, places], (rows, columns)), shape=(len(band), len(band))
        )


def page_queue(chain: QueueChain, stationary: Array | None = None) -> PageQueue:
    """The queue of a chain whose waiting pages have no timers.

    Parameters
    ----------
    chain : QueueChain
    stationary : ndarray, shape (states,), optional
        Its stationary distribution; solved for where it is not given.

    Raises
    ------
    ValueError
        If waiting pages have timers.
    """
    if chain.patience.exit_rates.any():
        raise ValueError(
            "waiting pages become obsolete; this queue is of pages that wait for their service"
        )
    rises, rows, columns, rates = rate_entries(chain)
    steps = columns - rows
    lower = int(-steps.min(initial=0))
    width = lower + int(steps.max(initial=0)) + 1
    bands = np.zeros((1 + int(rises.max(initial=1)), chain.states, width))
    np.add.at(bands, (np.maximum(rises, 0), rows, steps + lower), rates)
    level = np.repeat(np.arange(chain.top + 1), np.diff(chain.starts))
    phase = np.where(level > 0, (np.arange(chain.states) - chain.order) % chain.service_phases, 0)
    if stationary is None:
        stationary = solve_chain(chain).stationary
    return PageQueue(chain.service, stationary, level, phase, bands, lower)


@dataclass(frozen=True, eq=False)
class Delays:
    """Transforms at some rates of the times from a delivery to the end of the indexing.

    Parameters
    ----------
    service : PhaseLaw
    rates : ndarray, shape (pages,)
        Change rates mu.
    """

    service: PhaseLaw
    rates: Array

    @property
    def missed(self) -> Array:
        """``1 - g(m) = mu (mu - S)^-1 1``: a change comes before the service ends.

        Shape (pages, phases).
        """
        phases = len(self.service.start)
        matrices = self.rates[:, None, None] * np.eye(phases) - self.service.generator
        ones = np.ones((len(self.rates), phases, 1))
        return self.rates[:, None] * np.linalg.solve(matrices, ones)[..., 0]

    def stale(self, level: Indices, phase: Indices, ahead: int = 0) -> Array:
        """Probability that a page changes before its copy is indexed, shape (pages, states).

        Parameters
        ----------
        level, phase : ndarray of int, shape (states,)
            Of the queue before the delivery.
        ahead : int
            Pages of the same batch before it.

        Notes
        -----
        ``1 - g(m) gb^n`` with ``gb = beta g``, as ``(1 - g) + g (1 - gb^n)``: nothing cancels.
        """
        missed = self.missed
        one = missed @ self.service.start
        current = missed[:, phase]
        before = np.where(level > 0, level + ahead, ahead)
        with np.errstate(divide="ignore"):
            others = -np.expm1(before * np.log1p(-np.minimum(one, 1.0))[:, None])
        first = np.where(level > 0, current, one[:, None])
        return np.where(before > 0, first + (1.0 - first) * others, first)

    def means(self, level: Indices, phase: Indices, ahead: int = 0) -> Array:
        """Mean time until the copy is indexed, shape (states,)."""
        ones = np.ones(len(self.service.start))
        left = np.linalg.solve(-self.service.generator, ones)
        mean = moment(self.service, 1)
        first = np.where(level > 0, left[phase], mean)
        return first + mean * np.where(level > 0, level + ahead, ahead)


class Slopes(NamedTuple):
    """Obsolescence rates, and their first and second derivatives by the shares, shape (pages,)."""

    rates: Array
    first: Array
    second: Array


class RatesAndAges(NamedTuple):
    """Obsolescence rates of the pages, and mean ages of their copies, inf where never fetched."""

    rates: Array
    ages: Array


SlopesOf = Callable[[Array, Array], Slopes]
"""From change rates and shares to obsolescence rates and their derivatives by the shares."""


class Freshness(NamedTuple):
    """What an exact method knows of the pages of a scenario, each part computed when asked for.

    Attributes
    ----------
    rates : callable
        Obsolescence rate of each page, shape (pages,).
    ages : callable
        Mean age of each page's copy in the index, shape (pages,); inf where it is never fetched,
        nan where it is not known.
    slopes : callable, optional
        Of pages drawn at random, for any of their shares; None where the rate of a page depends on
        the shares of others.
    """

    rates: Callable[[], Array]
    ages: Callable[[], Array]
    slopes: SlopesOf | None = None


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
    return _rates_and_slopes(queue, changes, shares, 1)[:, 0]


def obsolescence_slopes(queue: PageQueue, changes: ArrayLike, shares: ArrayLike) -> Slopes:
    """Obsolescence rates and their derivatives by the page's own share.

    Parameters are those of `obsolescence_rates`.

    Notes
    -----
    ``r = E (1 - f)^N`` with N the copies of any page that are indexed in time, whatever their
    marks: convex and decreasing in f, and independent of the other shares. The derivatives solve
    the same system: ``(mu - Q + f A) z' = A 1 (1 - y) - A z``, ``(mu - Q + f A) z'' = -2 A z'``.
    """
    return Slopes(*_rates_and_slopes(queue, changes, shares, 3).T)


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
    ages: Array = np.full(len(f), np.inf)
    fetched = f > 0
    if fetched.any() and queue.entering.any():
        means = Delays(queue.service, np.ones(1)).means
        none = np.zeros(np.count_nonzero(fetched))
        ages[fetched] = _until_fresh(queue, none, f[fetched], none + 1.0, means, 1)[:, 0]
    return ages[which.ravel()]


def _rates_and_slopes(
    queue: PageQueue, changes: ArrayLike, shares: ArrayLike, orders: int
) -> Array:
    """Rates and derivatives by page, each kind of page solved once, shape (pages, orders)."""
    pages = np.stack([np.asarray(changes, dtype=float), np.asarray(shares, dtype=float)], axis=1)
    kinds, which = np.unique(pages, axis=0, return_inverse=True)
    result = np.zeros((len(kinds), orders))
    moving = kinds[:, 0] > 0
    if moving.any():
        mu, f = kinds[moving].T
        stale = Delays(queue.service, mu).stale
        result[moving] = _until_fresh(queue, mu, f, mu, stale, orders)
    return result[which.ravel()]


def _until_fresh(
    queue: PageQueue,
    mu: Array,
    f: Array,
    rewards: Array,
    at_entry: Callable[[Indices, Indices, int], Array],
    orders: int,
) -> Array:
    """Expected totals until a change or the entry of a copy, and their derivatives by f.

    Of rewards per unit time, and of one at the entry, which depends on the level and the phase of
    the service before the delivery and on the pages ahead in its batch; shape (pages, orders).
    """
    from analytic.pipeline.kernels import total_rewards  # numba takes its time

    entering = queue.entering
    totals = np.zeros((orders, len(f), len(queue.stationary)))
    totals[0] = rewards[:, None]
    for ahead in range(len(entering)):
        reward = at_entry(queue.level, queue.phase, ahead) * entering[ahead:].sum(axis=0)
        totals += _first_of_batch(f, ahead)[:orders, :, None] * reward
    exits = mu[:, None] + _tagged(f, len(entering)) @ entering
    exits += (mu == 0.0)[:, None] & (queue.stationary == 0.0)  # never seen, but need an end
    total_rewards(queue.bands, queue.lower, _misses(f, len(entering)), exits, totals)
    return (totals @ queue.stationary).T


def _misses(f: Array, largest: int) -> Array:
    """``(1 - f)^k`` for k from 0 on, and its derivatives, shape (3, pages, largest batch + 1)."""
    powers = np.vander(1.0 - f, largest + 1, increasing=True)
    k = np.arange(1.0, largest + 1)
    misses = np.zeros((3, *powers.shape))
    misses[0] = powers
    misses[1, :, 1:] = -k * powers[:, :-1]
    misses[2, :, 2:] = k[1:] * k[:-1] * powers[:, :-2]
    return misses


def _tagged(f: Array, largest: int) -> Array:
    """Probability that a batch of 1, 2, … pages has the page, shape (pages, batches)."""
    with np.errstate(divide="ignore"):
        rest = -np.expm1(np.arange(2, largest + 1) * np.log1p(-f)[:, None])
    return np.concatenate([f[:, None], rest], axis=1)


def _first_of_batch(f: Array, ahead: int) -> Array:
    """``(1 - f)^j f`` with j pages ahead, and its derivatives, shape (3, pages)."""
    j = float(ahead)
    miss = 1.0 - f
    first = miss ** max(j - 1, 0.0) if j else np.zeros_like(f)
    second = miss ** max(j - 2, 0.0) if j > 1 else np.zeros_like(f)
    return np.stack(
        [
            miss**j * f,
            miss**j - j * f * first,
            -2.0 * j * first + j * (j - 1) * f * second,
        ]
    )


def single_place_rates(
    changes: ArrayLike, shares: ArrayLike, deliveries: float, service: float
) -> Array:
    """Obsolescence rate, end to end, where no page can wait, shape (pages,).

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : float
        Poisson rate L of all deliveries.
    service : float
        Rate s of the exponential service.

    Notes
    -----
    ``1 - r = (s x0 + L x1) / (s + L)`` with ``x0 = L f y / (mu + L - L (1 - f) y)``, ``x1 = y x0``,
    ``y = s / (s + mu)``: the linear system of `obsolescence_rates` with two states. Written for r,
    so that nothing cancels.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    missed = mu / (service + mu)
    y = service / (service + mu)
    denominator = mu + deliveries * (missed + f * y)
    with np.errstate(invalid="ignore"):
        stale0 = np.where(mu > 0, (mu + deliveries * missed) / denominator, 0.0)
    stale1 = missed + y * stale0
    return (service * stale0 + deliveries * stale1) / (service + deliveries)


# --- of a scenario ----------------------------------------------------------------------------


@lru_cache(maxsize=4)
def queue_of_pages(scenario: Scenario) -> PageQueue:
    """The queue of a scenario without timers, as its pages see it.

    Parameters
    ----------
    scenario : Scenario
    """
    return page_queue(chain_of(scenario))


@dependent
def band_is_solved(scenario: Scenario) -> str | None:
    """The systems of its pages need at most 2·10^10 multiplications."""
    order, phases, _, top = size_of(scenario)
    work = kinds_of_pages(scenario) * order * phases * top * (2 * order * phases) ** 2
    return None if work <= MOST_WORK else f"its pages need {work:.0e} multiplications, limit 2e10"


def freshness_of_random_pages(scenario: Scenario) -> Freshness:
    """Of pages that are drawn at random and wait for their service."""
    queue = queue_of_pages(scenario)
    pages = accessed_pages(scenario)
    return Freshness(
        rates=lambda: obsolescence_rates(queue, pages.change_rates, pages.shares),
        ages=lambda: index_ages(queue, pages.shares),
        slopes=partial(obsolescence_slopes, queue),
    )


def rates_without_waiting(scenario: Scenario) -> Array:
    """Obsolescence rate of each page where none can wait, in closed form."""
    deliveries, service = conditions.poisson_parameters(scenario)
    pages = accessed_pages(scenario)
    return single_place_rates(pages.change_rates, pages.shares, float(deliveries[0]), service)
