"""Obsolescence timers, last come first served, push-out: pages counted as old and new.

From a stationary instant on, every page is old (delivered before) or new. New pages are alike until
their indexing ends: whether one is the page in question is drawn then. So counts are enough, where
flags on the positions would need ``2^K`` states. Timers with several phases are followed for every
waiting page, in order, which suits small buffers. With patience of other laws pages are dropped at
mean rates that depend on how many wait, which is an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analytic.index.accesses import accessed_pages
from analytic.index.conditions import discipline_of
from analytic.index.formula import dependent
from analytic.indexing_queue import QueueChain, chain_of, solve_chain
from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    controlled_chain,
    next_in_line,
    service_moves,
    settled_moves,
)
from analytic.indexing_queue.impatience import timer_points
from analytic.indexing_queue.measures import size_of
from analytic.indexing_queue.unordered_sojourns import delivery_moves, pushed_out
from analytic.machinery.absorbing import total_rewards
from analytic.machinery.markov import birth_death
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.state_space import (
    MOST_STATES,
    Explored,
    Move,
    explore,
)
from analytic.pipeline.conditions import (
    MOST_SOLUTIONS,
    by_kind,
    kinds_of_pages,
)
from analytic.pipeline.random_pages import Freshness, RatesAndAges, Slopes
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.model import ServiceOrder

INDEXED = 1
"""Kind of the moves at which the indexing of a new page ends."""

_PANELS = 6_000


class OldNewState(NamedTuple):
    """Old and new waiting pages; in service -1 nothing, 0 a new page, 1 an old one; phases.

    Attributes
    ----------
    patience : tuple of int
        Phases of the patience of the waiting pages, the oldest first; empty where it has a single
        phase.
    """

    old: int
    new: int
    serving: int
    arrivals: int
    phase: int
    patience: tuple[int, ...] = ()

    @property
    def level(self) -> int:
        """Pages in the system."""
        return 0 if self.serving < 0 else self.old + self.new + 1


@dataclass(frozen=True, eq=False)
class OldAndNew:
    """The moves of a chain whose pages are old or new.

    Attributes
    ----------
    chain : QueueChain
    order : ServiceOrder
    pushing : ndarray, shape (order, order), or None
        Rates of the deliveries that push out a page when the buffer is full.
    """

    chain: QueueChain
    order: ServiceOrder
    pushing: Array | None

    def starts(self) -> Iterator[OldNewState]:
        """All pages old, in the order of the chain's states."""
        phases = len(self.chain.service.start)
        page_phases = len(self.chain.patience.start)
        for level in range(self.chain.top + 1):
            waiting = max(level - 1, 0)
            serving = 1 if level else -1
            inner = product(range(self.chain.order), range(phases if level else 1))
            for arrivals, phase in inner:
                for each in product(range(page_phases), repeat=waiting if page_phases > 1 else 0):
                    yield OldNewState(waiting, 0, serving, arrivals, phase, each)

    def moves(self, state: OldNewState) -> Iterator[Move]:
        """All moves from a state."""
        pushed = state._replace(old=state.old - 1, new=state.new + 1) if state.old else state
        entered = partial(self._entered, state)
        yield from delivery_moves(self.chain, self.pushing, state, entered, (pushed, 0))
        if state.level:
            ended = INDEXED if state.serving == 0 else 0
            yield from service_moves(self.chain, state, self._next(state), ended)
            yield from self.dropped(state)

    def dropped(self, state: OldNewState) -> Iterator[Move]:
        """Timers end, or change phase."""
        patience = self.chain.patience
        if len(patience.start) == 1:
            theta = float(patience.exit_rates[0])
            old = Move(theta * state.old, state._replace(old=state.old - 1))
            new = Move(theta * state.new, state._replace(new=state.new - 1))
            yield from settled_moves(self.chain, (each for each in (old, new) if each.rate))
            return
        for ahead, phase in enumerate(state.patience):
            before = state.patience[:ahead]
            behind = state.patience[ahead + 1 :]
            for after, rate in enumerate(patience.generator[phase].tolist()):
                if after != phase:
                    yield Move(rate, state._replace(patience=(*before, after, *behind)))
            is_old = ahead < state.old
            left = state._replace(
                old=state.old - is_old, new=state.new - (not is_old), patience=before + behind
            )
            yield from settled_moves(self.chain, [Move(float(patience.exit_rates[phase]), left)])

    def _entered(self, state: OldNewState, entering: int) -> Iterator[tuple[float, OldNewState]]:
        """The state when new pages have joined; a page that finds nobody is served at once."""
        if not entering:
            yield 1.0, state
            return
        begun = [(1.0, state)]
        waiting = entering
        if not state.level:
            begun = [
                (share, state._replace(serving=0, phase=phase))
                for phase, share in phases_drawn(self.chain.service.start)
            ]
            waiting = entering - 1
        start = self.chain.patience.start
        drawn = list(product(phases_drawn(start), repeat=waiting if len(start) > 1 else 0))
        for share, after in begun:
            for draws in drawn:
                phases = after.patience + tuple(phase for phase, _ in draws)
                joined = after._replace(new=after.new + waiting, patience=phases)
                yield share * math.prod(each for _, each in draws), joined

    def _next(self, state: OldNewState) -> Iterator[tuple[float, OldNewState]]:
        """The state when the next page is in service."""
        if state.level == 1:
            yield 1.0, state._replace(serving=-1, phase=0)
            return
        new_next = next_in_line(self.order, state.old + state.new) >= state.old
        picked = state._replace(
            old=state.old - (not new_next),
            new=state.new - new_next,
            serving=0 if new_next else 1,
            patience=state.patience[1:],
        )
        for phase, share in phases_drawn(self.chain.service.start):
            yield share, picked._replace(phase=phase)


def phases_drawn(start: Array) -> list[tuple[int, float]]:
    """Phases that a law can begin with, and their probabilities."""
    return [(each, float(start[each])) for each in np.flatnonzero(start).tolist()]


def old_and_new(
    chain: QueueChain,
    order: ServiceOrder = ServiceOrder.OLDEST_FIRST,
    pushing: Array | None = None,
) -> Explored:
    """The chain of old and new pages; its first states are those of the queue, all pages old.

    Parameters
    ----------
    chain : QueueChain
    order, pushing
        As in `OldAndNew`.

    Raises
    ------
    NoAnswerError
        If it has more than `MOST_STATES` states.
    ValueError
        If timers have several phases, and pages leave the buffer otherwise than in their order.
    """
    ordered = order is ServiceOrder.OLDEST_FIRST and pushing is None
    if len(chain.patience.start) > 1 and not ordered:
        raise ValueError("timers with several phases need first come first served, no push-out")
    walk = OldAndNew(chain, order, pushing)
    return explore(walk.starts(), walk.moves, kinds=2)


def counted_slopes(
    counted: Explored, stationary: Array, changes: ArrayLike, shares: ArrayLike
) -> Slopes:
    """Obsolescence rates of all pages, end to end, and their derivatives by the page's own share.

    Parameters
    ----------
    counted : Explored
        Of `old_and_new`.
    stationary : ndarray
        Stationary probabilities of the queue.
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.

    Notes
    -----
    As `obsolescence_rates`: ``r = p z`` with ``(mu - G) z = mu 1``; G leaks with probability f
    where the indexing of a new page ends. A new page that is lost, dropped or pushed out is not
    the end: a later copy may be in the buffer. As `obsolescence_slopes`, convex and decreasing: the
    marks are drawn where the indexing ends, whatever the buffer did before. With J the rates of
    those ends, the derivatives solve the same system, factorized once per page:
    ``(mu - G) z' = -J z``, ``(mu - G) z'' = -2 J z'``.
    """
    indexed = counted.rates[INDEXED]
    seen = len(stationary)

    def slopes(mu: float, f: float) -> list[float]:
        if mu == 0.0:
            return [0.0, 0.0, 0.0]
        solve = total_rewards(*_leaking(counted, stationary, mu, f))
        stale = solve(np.full(len(counted.states), mu))
        first = -solve(indexed @ stale)
        second = -2.0 * solve(indexed @ first)
        return [float(stationary @ each[:seen]) for each in (stale, first, second)]

    return Slopes(*by_kind(slopes, changes, shares).T)


def counted_ages(counted: Explored, stationary: Array, shares: ArrayLike) -> Array:
    """Mean age of the copy of every page in the index, shape (pages,); inf where f = 0.

    Parameters are those of `counted_slopes`.
    """

    def age(f: float) -> float:
        if f == 0.0:
            return math.inf
        solve = total_rewards(*_leaking(counted, stationary, 0.0, f))
        return float(stationary @ solve(np.ones(len(counted.states)))[: len(stationary)])

    return by_kind(age, shares)


def _leaking(
    counted: Explored, stationary: Array, mu: float, f: float
) -> tuple[scipy.sparse.csr_matrix, Array]:
    """The rates that stay, and those of the ends: a change, or a copy of the page is indexed."""
    plain, indexed = counted.rates
    leak = f * np.asarray(indexed.sum(axis=1)).ravel()
    leak[: len(stationary)] += stationary == 0  # states that are never seen need an end
    return plain + (1.0 - f) * indexed, mu + leak


# --- of a scenario ----------------------------------------------------------------------------


@dependent
def counts_fit(scenario: Scenario) -> str | None:
    """The chain of old and new pages is small enough."""
    order, phases, patience, top = size_of(scenario)
    levels = range(1, top + 1)
    states = order * (1 + phases * sum(2 * n * min(patience ** (n - 1), 10**9) for n in levels))
    if states > MOST_STATES:
        return f"its old and new pages have up to {states} states, limit {MOST_STATES}"
    if states * kinds_of_pages(scenario) > MOST_SOLUTIONS:
        return (
            f"{states} states for each of {kinds_of_pages(scenario)} kinds of pages take too long"
        )
    return None


@lru_cache(maxsize=4)
def _counted(scenario: Scenario) -> tuple[Explored, Array]:
    """Old and new pages of a scenario, and the stationary distribution of its queue."""
    chain = chain_of(scenario)
    counted = old_and_new(chain, discipline_of(scenario).order, pushed_out(scenario))
    return counted, solve_chain(chain).stationary


def freshness_by_counts(scenario: Scenario) -> Freshness:
    """By old and new pages, for any shares of the deliveries."""
    counted = _counted(scenario)
    pages = accessed_pages(scenario)
    return Freshness(
        rates=lambda: counted_slopes(*counted, pages.change_rates, pages.shares).rates,
        ages=lambda: counted_ages(*counted, pages.shares),
        slopes=partial(counted_slopes, *counted),
    )


# --- obsolescence timers of any law -------------------------------------------------------------


class DropRates(NamedTuple):
    """Rates at which waiting pages are dropped, by the number that waits.

    Attributes
    ----------
    oldest, other : ndarray, shape (waiting + 1,)
        Of the page that has waited longest, and of each of the others.
    """

    oldest: Array
    other: Array

    @property
    def total(self) -> Array:
        """Of all waiting pages together."""
        return self.oldest + self.other * np.maximum(np.arange(len(self.other)) - 1.0, 0.0)


def drop_rates(law: Distribution, service: float, waiting: int) -> DropRates:
    """Mean rates at which waiting pages are dropped, given how many wait.

    Parameters
    ----------
    law : Distribution
        Of the patience.
    service : float
        Rate s of the exponential service.
    waiting : int
        Places.

    Notes
    -----
    With w waiting pages, of ages ``x_1 > … > x_w``, the stationary density is the product
    ``exp(-s x_1) (1 - G(x_1)) … (1 - G(x_w))`` times the delivery rates below that level, whatever
    these are (Brandt and Brandt, 1999, with one server). Integrated over the younger ones,
    ``W_w = ∫ exp(-s x) (1 - G(x)) F(x)^(w-1) / (w-1)! dx`` with ``F(x) = ∫_0^x (1 - G)``. The flow
    between levels gives the rate of all drops, ``W_(w-1) / W_w - s``; by parts that of the oldest
    page is ``V_w / W_w - s``, V as W with ``(1 - G)² F^(w-2) / (w-2)!``.
    The others share the rest evenly.
    """
    at = timer_points(law, service, waiting)
    seen = at.alive > 0.0
    x, width = at.times[seen], at.weights[seen]
    log_alive = np.log(np.maximum(at.alive[seen], np.finfo(float).tiny))
    log_below = np.log(at.below[seen])

    def integral(power: int, squared: bool) -> float:
        exponents = (
            (1 + squared) * log_alive
            + power * log_below
            - service * x
            - scipy.special.gammaln(power + 1)
        )
        largest = float(exponents.max())
        return largest + float(np.log(np.exp(exponents - largest) @ width))

    waits = [0.0] + [integral(each, False) for each in range(waiting)]
    oldest = np.zeros(waiting + 1)
    other = np.zeros(waiting + 1)
    for each in range(1, waiting + 1):
        total = max(float(np.exp(waits[each - 1] - waits[each])) - service, 0.0)
        if each == 1:
            oldest[each] = total
            continue
        first = float(np.exp(integral(each - 2, True) - waits[each])) - service
        oldest[each] = min(max(first, 0.0), total)
        other[each] = (total - oldest[each]) / (each - 1)
    return DropRates(oldest, other)


def level_probabilities(deliveries: ArrayLike, service: float, drops: DropRates) -> Array:
    """Stationary distribution of the level, shape (places + 1,); exact for patience of any law.

    Parameters
    ----------
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level; those at the top are lost.
    service : float
    drops : DropRates
    """
    births = np.asarray(deliveries, dtype=float)[:-1]
    return birth_death(births.tolist(), (service + drops.total).tolist())


@dataclass(frozen=True, eq=False)
class _DroppedByNumber(OldAndNew):
    """Old and new pages; the oldest waiting page is dropped at a rate of its own."""

    drops: DropRates

    def dropped(self, state: OldNewState) -> Iterator[Move]:
        """Waiting pages, at the mean rates of their number."""
        waiting = state.old + state.new
        if not waiting:
            return
        first = float(self.drops.oldest[waiting])
        other = float(self.drops.other[waiting])
        old = state.old * other
        new = state.new * other
        if state.old:
            old += first - other
        else:
            new += first - other
        yield Move(old, state._replace(old=state.old - 1))
        yield Move(new, state._replace(new=state.new - 1))


def patience_rates_and_ages(
    changes: ArrayLike,
    shares: ArrayLike,
    deliveries: ArrayLike,
    service: float,
    drops: DropRates,
) -> RatesAndAges:
    """Obsolescence rates and ages with patience of any law; approximately.

    Parameters
    ----------
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.
    deliveries : array_like, shape (places + 1,)
        Poisson rates of all deliveries by level.
    service : float
        Rate s of the exponential service.
    drops : DropRates
        Of `drop_rates`.

    Notes
    -----
    As `counted_slopes`, and as exact for exponential patience. Others remember how long a page has
    waited; here only how many wait and which of them is the oldest.
    """
    rates = np.asarray(deliveries, dtype=float)
    top = len(rates) - 1
    modes = np.stack([-rates, rates], axis=1)[:, :, None, None]
    law = PhaseLaw(np.array([1.0]), np.array([[-service]]))
    chain = controlled_chain(
        modes, lambda level: min(level, top), law, UNLIMITED_PATIENCE, top, "partial"
    )
    walk = _DroppedByNumber(chain, ServiceOrder.OLDEST_FIRST, pushing=None, drops=drops)
    counted = explore(walk.starts(), walk.moves, kinds=2)
    stationary = level_probabilities(deliveries, service, drops)
    return RatesAndAges(
        counted_slopes(counted, stationary, changes, shares).rates,
        counted_ages(counted, stationary, shares),
    )
