"""Timers without memory, last come first served, push-out: pages counted as old and new.

From a stationary instant on, every page is old (delivered before) or new. New pages are alike until
their indexing ends: whether one is the page in question is drawn then. So counts are enough, where
flags on the positions would need ``2^K`` states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from analytic.indexing_queue import QueueChain
from analytic.pipeline.exploring import Explored, Move, explore, factorized, totals
from analytic.pipeline.random_pages import Slopes
from scenarios.arrays import Array

INDEXED = 1


class Handling(NamedTuple):
    """What the buffer does with waiting pages.

    Attributes
    ----------
    last_first : bool
        The newest waiting page is served next.
    lost : ndarray, shape (order, order), or None
        Rates of the deliveries that meet a full buffer and push out the oldest waiting page; None
        where the new page is lost.
    """

    last_first: bool = False
    lost: Array | None = None


class OldNewState(NamedTuple):
    """Old and new waiting pages; in service -1 nothing, 0 a new page, 1 an old one; phases."""

    old: int
    new: int
    serving: int
    arrivals: int
    phase: int

    @property
    def level(self) -> int:
        """Pages in the system."""
        return 0 if self.serving < 0 else self.old + self.new + 1


@dataclass(frozen=True, eq=False)
class OldAndNew:
    """The moves of a chain with single-phase timers.

    Attributes
    ----------
    chain : QueueChain
    handling : Handling
    """

    chain: QueueChain
    handling: Handling

    def starts(self) -> Iterator[OldNewState]:
        """All pages old, in the order of the chain's states."""
        phases = len(self.chain.service.start)
        for level in range(self.chain.top + 1):
            for arrivals in range(self.chain.order):
                for phase in range(phases if level else 1):
                    yield OldNewState(max(level - 1, 0), 0, 1 if level else -1, arrivals, phase)

    def moves(self, state: OldNewState) -> Iterator[Move]:
        """All moves from a state."""
        yield from self._deliveries(state)
        if state.level:
            yield from self._service(state)
            yield from self.dropped(state)

    def dropped(self, state: OldNewState) -> Iterator[Move]:
        """Waiting pages whose timers end."""
        theta = float(self.chain.patience.exit_rates[0])
        yield Move(theta * state.old, state._replace(old=state.old - 1))
        yield Move(theta * state.new, state._replace(new=state.new - 1))

    def _deliveries(self, state: OldNewState) -> Iterator[Move]:
        for entering, matrices in self.chain.arrivals[state.level].items():
            rates = matrices[state.phase if len(matrices) > 1 else 0][state.arrivals]
            if state.level == self.chain.top and self.handling.lost is not None:
                rates = rates - self.handling.lost[state.arrivals]
            for arrivals in np.flatnonzero(rates > 0).tolist():
                for share, after in self._entered(state, entering):
                    yield Move(rates[arrivals] * share, after._replace(arrivals=arrivals))
        if state.level == self.chain.top and self.handling.lost is not None:
            pushed = state._replace(old=state.old - 1, new=state.new + 1) if state.old else state
            for arrivals, rate in enumerate(self.handling.lost[state.arrivals].tolist()):
                yield Move(rate, pushed._replace(arrivals=arrivals))

    def _entered(self, state: OldNewState, entering: int) -> Iterator[tuple[float, OldNewState]]:
        """The state when new pages have joined; a page that finds nobody is served at once."""
        if state.level or not entering:
            yield 1.0, state._replace(new=state.new + entering)
            return
        for phase, share in enumerate(self.chain.service.start.tolist()):
            yield share, state._replace(new=entering - 1, serving=0, phase=phase)

    def _service(self, state: OldNewState) -> Iterator[Move]:
        service = self.chain.service
        turns = self.chain.turnover[state.level]
        for phase, rate in enumerate(service.generator[state.phase].tolist()):
            if phase != state.phase:
                yield Move(rate, state._replace(phase=phase))
        done = float(service.exit_rates[state.phase])
        kind = INDEXED if state.serving == 0 else 0
        for share, after in self._next(state):
            turn = turns[after.phase if len(turns) > 1 else 0][state.arrivals]
            for arrivals in np.flatnonzero(turn).tolist():
                rate = done * share * float(turn[arrivals])
                yield Move(rate, after._replace(arrivals=arrivals), kind)

    def _next(self, state: OldNewState) -> Iterator[tuple[float, OldNewState]]:
        """The state when the next page is in service."""
        if state.level == 1:
            yield 1.0, state._replace(serving=-1, phase=0)
            return
        new_next = state.new > 0 and (self.handling.last_first or not state.old)
        left = {"new": state.new - 1} if new_next else {"old": state.old - 1}
        picked = state._replace(**left, serving=0 if new_next else 1)
        for phase, share in enumerate(self.chain.service.start.tolist()):
            yield share, picked._replace(phase=phase)


def old_and_new(chain: QueueChain, handling: Handling) -> Explored:
    """The chain of old and new pages; its first states are those of the queue, all pages old.

    Parameters
    ----------
    chain : QueueChain
        With timers of a single phase, or none.
    handling : Handling

    Raises
    ------
    TooManyStatesError
        If it has more than `MOST_STATES` states.
    """
    walk = OldAndNew(chain, handling)
    return explore(walk.starts(), walk.moves, kinds=2)


def counted_rates(counted: Explored, law: Array, changes: ArrayLike, shares: ArrayLike) -> Array:
    """Obsolescence rate of every page, end to end, shape (pages,).

    Parameters
    ----------
    counted : Explored
        Of `old_and_new`.
    law : ndarray
        Stationary law of the queue.
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.

    Notes
    -----
    As `obsolescence_rates`: ``r = p z`` with ``(mu - G) z = mu 1``; G leaks with probability f
    where the indexing of a new page ends. A new page that is lost, dropped or pushed out is not
    the end: a later copy may be in the buffer.
    """
    pages = np.stack([np.asarray(changes, dtype=float), np.asarray(shares, dtype=float)], axis=1)
    kinds, which = np.unique(pages, axis=0, return_inverse=True)
    found = [_stale(counted, law, mu, f, mu) if mu else 0.0 for mu, f in kinds.tolist()]
    return np.array(found)[which.ravel()]


def counted_slopes(counted: Explored, law: Array, changes: ArrayLike, shares: ArrayLike) -> Slopes:
    """Obsolescence rates and their derivatives by the page's own share.

    Parameters are those of `counted_rates`.

    Notes
    -----
    As `obsolescence_slopes`, convex and decreasing: the marks are drawn where the indexing ends,
    whatever the buffer did before. With J the rates of those ends, the derivatives solve the same
    system, factorized once per page: ``(mu - G) z' = -J z``, ``(mu - G) z'' = -2 J z'``.
    """
    pages = np.stack([np.asarray(changes, dtype=float), np.asarray(shares, dtype=float)], axis=1)
    kinds, which = np.unique(pages, axis=0, return_inverse=True)
    found = np.array([_slopes(counted, law, *kind) for kind in kinds.tolist()])[which.ravel()]
    return Slopes(found[:, 0], found[:, 1], found[:, 2])


def _slopes(counted: Explored, law: Array, mu: float, f: float) -> tuple[float, float, float]:
    if mu == 0.0:
        return 0.0, 0.0, 0.0
    indexed = counted.rates[1]
    solve = factorized(*_leaking(counted, law, mu, f))
    stale = solve(np.full(len(counted.states), mu))
    first = -solve(indexed @ stale)
    second = -2.0 * solve(indexed @ first)
    seen = len(law)
    return float(law @ stale[:seen]), float(law @ first[:seen]), float(law @ second[:seen])


def counted_ages(counted: Explored, law: Array, shares: ArrayLike) -> Array:
    """Mean age of the copy of every page in the index, shape (pages,); inf where f = 0.

    Parameters are those of `counted_rates`.
    """
    f = np.asarray(shares, dtype=float)
    kinds, which = np.unique(f, return_inverse=True)
    found = [_stale(counted, law, 0.0, each, 1.0) if each else np.inf for each in kinds.tolist()]
    return np.array(found)[which.ravel()]


def _stale(counted: Explored, law: Array, mu: float, f: float, reward: float) -> float:
    """Mean reward until a copy is indexed or the page changes."""
    found = totals(*_leaking(counted, law, mu, f), np.full(len(counted.states), reward))
    return float(law @ found[: len(law)])


def _leaking(counted: Explored, law: Array, mu: float, f: float) -> tuple[csr_matrix, Array]:
    """The rates that stay, and those of the ends: a change, or a copy of the page is indexed."""
    plain, indexed = counted.rates
    leak = f * np.asarray(indexed.sum(axis=1)).ravel()
    leak[: len(law)] += law == 0  # states never seen need an end
    return plain + (1.0 - f) * indexed, mu + leak
