"""Replacement of waiting copies with many pages: one page followed, the others as if independent.

The chain of labels (`analytic.pipeline.labels`) is exact for few kinds of pages. Here one page is
followed through the queue, with the place of its waiting copy; which of the other pages wait is
taken to be as random as their shares allow. Exact where all pages have the same share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.markov import stationary_sparse
from analytic.pipeline.exploring import Explored, Move, explore, totals
from scenarios.arrays import Array

_BROUGHT = 1
"""Kind of the deliveries of the page that is followed, as far as its copy stays."""
_HALVINGS = 60


class ReplacedCopies(NamedTuple):
    """Obsolescence rates, and mean ages of the copies in the index, shape (pages,)."""

    rates: Array
    ages: Array


class _Place(NamedTuple):
    """Pages in the system, and services until that of the page's waiting copy (0: none waits)."""

    level: int
    place: int


@dataclass(frozen=True, eq=False)
class _Walk:
    """One page: its share, those of the others, deliveries by level, the service rate."""

    share: float
    others: Array
    deliveries: Array
    service: float

    @cached_property
    def new(self) -> Array:
        """Share of the deliveries that are of another page none of which waits, by others waiting.

        The odds that page j waits are ``f_j x``, x such that as many wait as do: the law of a set
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

    def moves(self, state: _Place) -> Iterator[Move]:
        """All moves from a state."""
        level, place = state
        rate = float(self.deliveries[level])
        room = level < len(self.deliveries) - 1
        if room:
            others = max(level - 1, 0) - (place > 0)
            yield Move(rate * float(self.new[others]), _Place(level + 1, place))
        if place:
            yield Move(rate * self.share, state, _BROUGHT)
        elif room:
            yield Move(rate * self.share, _Place(level + 1, level), _BROUGHT)
        if level:
            yield Move(self.service, _Place(level - 1, max(place - 1, 0)))


def replacement_ages_and_rates(
    changes: ArrayLike, shares: ArrayLike, deliveries: ArrayLike, service: float
) -> ReplacedCopies:
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
    States: level, and place of the page's waiting copy. From a stationary instant on, a delivery of
    the page that finds its copy at place l makes it current there: it is indexed after l + 1
    services; one that joins, after as many services as the level says. As in `obsolescence_rates`
    ``1 - r = E exp(-mu T)``, and the mean of T is the age.
    """
    mu = np.asarray(changes, dtype=float)
    f = np.asarray(shares, dtype=float)
    rates = np.asarray(deliveries, dtype=float)
    kinds, first, which = np.unique(
        np.stack([mu, f], axis=1), axis=0, return_index=True, return_inverse=True
    )
    found = []
    for (change, share), index in zip(kinds.tolist(), first.tolist(), strict=True):
        walk = _Walk(share, np.delete(f, index), rates, service)
        found.append(_followed(explore([_Place(0, 0)], walk.moves, kinds=2), change, service))
    by_page = np.array(found)[which.ravel()]
    return ReplacedCopies(by_page[:, 0], by_page[:, 1])


def _followed(found: Explored, change: float, service: float) -> tuple[float, float]:
    """Obsolescence rate and age of the page."""
    moves = (found.rates[0] + found.rates[_BROUGHT]).tolil()
    moves.setdiag(0.0)
    moves.setdiag(-np.asarray(moves.sum(axis=1)).ravel())
    law = stationary_sparse(moves.tocsr())
    brought = np.asarray(found.rates[_BROUGHT].sum(axis=1)).ravel()
    services = np.array([1.0 + (state.place or state.level) for state in found.states])
    stale = -np.expm1(-services * np.log1p(change / service))
    rate = law @ totals(found.rates[0], change + brought, change + brought * stale)
    if not brought.any():
        return float(change > 0), np.inf
    age = law @ totals(found.rates[0], brought, 1.0 + brought * services / service)
    return (float(rate) if change else 0.0), float(age)
