"""Approximations by independence: of losses and delays, and of the copies of other pages.

The decomposition takes the losses of accesses, and the delays of those that succeed, to be
independent. With page-change dropping and replacement of many pages one page is followed, and the
copies of the others are taken to be independent; `analytic.pipeline.dropping_and_replacement` is
exact for few kinds of pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.machinery.absorbing import AbsorbingChain
from analytic.machinery.markov import birth_death
from analytic.machinery.state_space import Explored, Move, explore
from analytic.machinery.transforms import log_transform, mean_time, moments
from analytic.page_refresh import randomized_obsolescence, slot_distances
from analytic.pipeline.conditions import by_kind
from analytic.pipeline.random_pages import RatesAndAges
from scenarios.arrays import Array
from scenarios.laws import Distribution

_BROUGHT = 1
"""Kind of the deliveries of the page that is followed, as far as its copy stays."""
_HALVINGS = 60


def thinned_randomized(
    changes: ArrayLike, shares: ArrayLike, law: Distribution, lost: float
) -> Array:
    """Obsolescence rate of an index without a buffer that loses accesses, pages at random.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu and access frequencies f.
    law : Distribution
        Law of the time from one access to the next.
    lost : float
        Probability that an access fails, independently.

    Notes
    -----
    coffman1998, Lemma 4.1, with ``f (1 - lost)`` in place of f.
    """
    kept = np.asarray(shares, dtype=float) * (1.0 - lost)
    return randomized_obsolescence(changes, kept, law)


def thinned_cyclic(changes: ArrayLike, cycle: ArrayLike, law: Distribution, lost: float) -> Array:
    """Obsolescence rate of an index without a buffer that loses accesses, pages in a period.

    Parameters
    ----------
    changes : array_like, shape (pages,)
        Change rates mu.
    cycle : array_like of int, shape (slots,)
    law : Distribution
        Law of the time from one access to the next.
    lost : float
        Probability that an access fails, independently.

    Notes
    -----
    ``1 - r = sum_k (1 - h^d_k) v_(k+1) / (slots q)`` with ``v_k = (1 - p) + p h^d_k v_(k+1)``: v is
    the probability that a successful access comes before the change.
    """
    mu = np.asarray(changes, dtype=float)
    page, distance = slot_distances(cycle, len(mu))
    exponent = log_transform(law, mu)
    slots = len(page)
    rates = np.where(mu > 0, 1.0, 0.0)
    for each in np.unique(page[mu[page] > 0]).tolist():
        survived = np.exp(-exponent[each] * distance[page == each])
        values = _around(np.full(len(survived), 1.0 - lost), lost * survived)
        fresh = float((1.0 - survived) @ np.roll(values, -1))
        rates[each] = 1.0 - fresh / (slots * mu[each] * mean_time(law))
    return rates


def thinned_ages(
    shares: ArrayLike, law: Distribution, lost: float, cycle: ArrayLike | None = None
) -> Array:
    """Mean age of the copies in such an index, shape (pages,); inf where a page is never fetched.

    Parameters
    ----------
    shares : array_like, shape (pages,)
        Access frequencies f.
    law : Distribution
        Law of the time X from one access to the next.
    lost : float
        Probability that an access fails, independently.
    cycle : array_like of int, shape (slots,), optional
        The pages in their order; without, each access draws its page.

    Notes
    -----
    From a stationary instant to the next access ``E X² / (2 E X)``; then to the first success:
    a geometric number of times, or of the distances in the period.
    """
    mean, second = moments(law)
    f = np.asarray(shares, dtype=float)
    if cycle is None:
        with np.errstate(divide="ignore"):
            further: Array = mean * (1.0 / (f * (1.0 - lost)) - 1.0)
        return second / (2.0 * mean) + further
    page, distance = slot_distances(cycle, len(f))
    slots = len(page)
    ages = np.full(len(f), np.inf)
    for each in np.unique(page).tolist():
        gaps = distance[page == each].astype(float)
        waits = _around(lost * mean * gaps, np.full(len(gaps), lost))
        seconds = gaps * (second - mean**2) + (mean * gaps) ** 2
        inside = float((gaps / slots) @ np.roll(waits, -1))
        ages[each] = float(seconds.sum()) / (2.0 * mean * slots) + inside
    return ages


def _around(constants: Array, factors: Array) -> Array:
    """The solution of ``v_k = constants_k + factors_k v_(k+1)`` around a period."""
    value = 0.0
    product = 1.0
    steps = list(zip(constants[::-1].tolist(), factors[::-1].tolist(), strict=True))
    for constant, factor in steps:
        value = constant + factor * value
        product = product * factor
    value = value / (1.0 - product)
    values = []
    for constant, factor in steps:
        value = constant + factor * value
        values.append(value)
    return np.array(values[::-1])


def decomposed(thinned: ArrayLike, discount: ArrayLike) -> Array:
    """Obsolescence rates by the decomposition into losses and delays.

    ``1 - r = E exp(-mu W) (1 - r^p)``: as if each access failed independently, and each success
    were indexed after an independent delay W.

    Parameters
    ----------
    thinned : array_like, shape (pages,)
        Obsolescence rates r^p of an index without a buffer that loses accesses.
    discount : array_like, shape (pages,)
        Transforms ``E exp(-mu W)`` of the sojourn of served pages.
    """
    return 1.0 - np.asarray(discount) * (1.0 - np.asarray(thinned))


def dropped_independently(
    changes: ArrayLike, shares: ArrayLike, deliveries: ArrayLike, service: float
) -> Array:
    """Obsolescence rates where waiting copies are dropped when their page changes; approximately.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level.
    service : float
        Rate s of the exponential service.

    Notes
    -----
    All other waiting copies drop out independently at the rate ``theta = sum f mu``; copies of one
    page really leave together, which matters for few pages.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    rates = np.asarray(deliveries, dtype=float)
    top = len(rates) - 1
    others = np.maximum(np.arange(top + 1) - 1.0, 0.0)
    falls = np.where(np.arange(top + 1) > 0, service + others * float(f @ mu), 0.0)
    stationary = birth_death(rates[:-1].tolist(), falls[1:].tolist())
    entering = np.append(rates[:-1], 0.0)
    ahead = np.append(falls[1], falls[1:-1])  # a waiting copy is not among those before it
    obsolescence = np.zeros(len(mu))
    for page in np.flatnonzero(mu).tolist():
        # The linear system of `obsolescence_rates`, with a sequence number that falls faster.
        indexed = np.append(np.cumprod(ahead / (mu[page] + ahead)), 0.0)
        system = (
            np.diag(mu[page] + falls + entering)
            - np.diag(falls[1:], -1)
            - np.diag((1.0 - f[page]) * entering[:-1], 1)
        )
        rewards = mu[page] + f[page] * entering * (1.0 - indexed)
        obsolescence[page] = stationary @ np.linalg.solve(system, rewards)
    return obsolescence


class _CopyState(NamedTuple):
    """Pages in the system; services until that of the page's waiting copy, 0 where none waits."""

    level: int
    until: int


@dataclass(frozen=True, eq=False)
class _Followed:
    """One page: its share, those of the others, deliveries by level, the service rate."""

    share: float
    others: Array
    deliveries: Array
    service: float

    @cached_property
    def new(self) -> Array:
        """Share of the deliveries that are of another page none of which waits, by others waiting.

        The odds that page j waits are ``f_j x``, x such that as many wait as do: as in a random set
        of that size whose probability is proportional to the product of its shares.
        """
        counts = np.arange(len(self.deliveries))
        return np.array([self._new(count) for count in counts.tolist()])

    def _new(self, waiting: int) -> float:
        present = self.others[self.others > 0]
        if waiting >= len(present):
            return 0.0
        if waiting == 0:
            return float(present.sum())
        low = -50.0
        high = 50.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            odds = present * np.exp(middle) / present.mean()
            low, high = (middle, high) if (odds / (1 + odds)).sum() < waiting else (low, middle)
        return float((present / (1 + odds)).sum())

    def moves(self, state: _CopyState) -> Iterator[Move]:
        """All moves from a state."""
        level, until = state
        rate = float(self.deliveries[level])
        room = level < len(self.deliveries) - 1
        if room:
            others = max(level - 1, 0) - (until > 0)
            yield Move(rate * float(self.new[others]), _CopyState(level + 1, until))
        if until:
            yield Move(rate * self.share, state, _BROUGHT)
        elif room:
            yield Move(rate * self.share, _CopyState(level + 1, level), _BROUGHT)
        if level:
            yield Move(self.service, _CopyState(level - 1, max(until - 1, 0)))


def replacement_rates_and_ages(
    changes: ArrayLike, shares: ArrayLike, deliveries: ArrayLike, service: float
) -> RatesAndAges:
    """Staleness where a newer copy takes the place of its waiting older one; approximately.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level.
    service : float
        Rate s of the exponential service.

    Notes
    -----
    States: level, and services until that of the page's waiting copy. From a stationary instant on,
    a delivery of the page that finds its copy with l services before it makes it current there: it
    is indexed after l + 1 services; one that joins, after as many services as the level says. As in
    `obsolescence_rates` ``1 - r = E exp(-mu T)``, and the mean of T is the age.
    """
    f = np.asarray(shares, dtype=float)
    rates = np.asarray(deliveries, dtype=float)

    def rate_and_age(change: float, share: float) -> tuple[float, float]:
        others = np.delete(f, np.flatnonzero(f == share)[0])
        walk = _Followed(share, others, rates, service)
        explored = explore([_CopyState(0, 0)], walk.moves, kinds=2)
        return _rate_and_age(explored, change, service)

    return RatesAndAges(*by_kind(rate_and_age, changes, f).T)


def _rate_and_age(explored: Explored, change: float, service: float) -> tuple[float, float]:
    """Obsolescence rate of the page, and mean age of its copy in the index."""
    stationary = explored.stationary()
    brought = np.asarray(explored.rates[_BROUGHT].sum(axis=1)).ravel()
    if not brought.any():
        return float(change > 0), np.inf
    moves = explored.rates[0]
    services = np.array([1.0 + (state.until or state.level) for state in explored.states])
    age = AbsorbingChain(stationary, moves, brought[:, None]).total(
        1.0 + brought * services / service
    )
    if change == 0.0:
        return 0.0, age
    stale = -np.expm1(-services * np.log1p(change / service))
    ended = AbsorbingChain(stationary, moves, change + brought[:, None])
    return ended.total(change + brought * stale), age
