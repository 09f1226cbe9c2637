"""Sojourn times under last come first served, and with push-out.

Then what is delivered later matters to a page: it is followed together with the number of waiting
pages that are older, and of those that are newer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots, buffer_of, discipline_of, fleet_of
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.chain import (
    QueueChain,
    next_in_line,
    service_moves,
    settled_moves,
)
from analytic.indexing_queue.hysteresis import deliveries_by_control
from analytic.indexing_queue.levels_and_fates import fate_rates, marginals_of
from analytic.indexing_queue.measures import chain_of, size_of, solution_of
from analytic.indexing_queue.sojourns import Row, moment_rows, then_served, with_service
from analytic.machinery.absorbing import AbsorbingChain
from analytic.machinery.active_robots import numbers_in_use, remembering, robots_at
from analytic.machinery.arrival_process import delivery_modes
from analytic.machinery.state_space import MOST_STATES, Move, explore
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.arrays import Array
from scenarios.deliveries import joint_size
from scenarios.model import ServiceOrder

SERVED, OBSOLETE, LOST = 1, 2, 3
"""Kinds of the moves at which a page waits no longer: its service starts, it is dropped, or it is
pushed out or replaced."""


def pushed_out(scenario: Scenario) -> Array | None:
    """Rates of the deliveries that push out the oldest waiting page; None where none does."""
    buffer = buffer_of(scenario)
    if not discipline_of(scenario).pushes_out_oldest or not buffer.waiting_places:
        return None
    modes = delivery_modes(fleet_of(scenario), numbers_in_use(scenario))
    if (given := remembering(scenario)) is not None:
        return deliveries_by_control(modes, given)
    return modes[robots_at(scenario)(buffer.capacity), 1]


class WaitingPage(NamedTuple):
    """Waiting pages that are older and newer than one that waits; phases."""

    older: int
    newer: int
    arrivals: int
    phase: int

    @property
    def level(self) -> int:
        """Pages in the system."""
        return self.older + self.newer + 2


def delivery_moves(
    chain: QueueChain,
    pushing: Array | None,
    state: Any,
    entered: Callable[[int], Iterable[tuple[float, Any]]],
    pushed: tuple[Any, int],
) -> Iterator[Move]:
    """Deliveries that enter, are lost, or push out the oldest waiting page.

    Parameters
    ----------
    chain : QueueChain
    pushing : ndarray, shape (order, order), or None
        Rates of the deliveries that push out a page when the buffer is full (`pushed_out`).
    state : NamedTuple
        With the `level`, the phase of the `arrivals`, and the `phase` of the service.
    entered : callable
        From a number of pages to the states when this many have joined, and their probabilities.
    pushed : tuple
        The state when a page has pushed out another, and the kind of that move.
    """
    if state.level < chain.top:
        pushing = None
    for entering, matrices in chain.arrivals[state.level].items():
        rates = matrices[state.phase if len(matrices) > 1 else 0][state.arrivals]
        if pushing is not None:
            rates = rates - pushing[state.arrivals]
        for arrivals in np.flatnonzero(rates > 0).tolist():
            for share, after in entered(entering):
                yield Move(float(rates[arrivals]) * share, after._replace(arrivals=arrivals))
    if pushing is not None:
        after, kind = pushed
        for arrivals, rate in enumerate(pushing[state.arrivals].tolist()):
            yield Move(rate, after._replace(arrivals=arrivals), kind)


@dataclass(frozen=True, eq=False)
class _Followed:
    """The moves of a waiting page; timers are exponential."""

    chain: QueueChain
    order: ServiceOrder
    pushing: Array | None

    def moves(self, state: WaitingPage) -> Iterator[Move]:
        """All moves from a state."""
        yield from delivery_moves(
            self.chain,
            self.pushing,
            state,
            lambda pages: [(1.0, state._replace(newer=state.newer + pages))],
            self._pushed(state),
        )
        yield from self._services(state)
        theta = float(self.chain.patience.exit_rates[0])
        fewer = [
            Move(theta * state.older, state._replace(older=state.older - 1)),
            Move(theta * state.newer, state._replace(newer=state.newer - 1)),
        ]
        yield from settled_moves(self.chain, (each for each in fewer if each.rate))
        yield Move(theta, state, OBSOLETE)

    def _pushed(self, state: WaitingPage) -> tuple[WaitingPage, int]:
        if not state.older:
            return state, LOST
        return state._replace(older=state.older - 1, newer=state.newer + 1), 0

    def _services(self, state: WaitingPage) -> Iterator[Move]:
        """The next page is a newer one, an older one, or the page itself."""
        place = next_in_line(self.order, state.older + 1 + state.newer)
        if place == state.older:
            return service_moves(self.chain, state, [(1.0, state)], SERVED)
        older = place < state.older
        left = state._replace(older=state.older - older, newer=state.newer - (not older))
        draws = enumerate(self.chain.service.start.tolist())
        following = [(share, left._replace(phase=phase)) for phase, share in draws]
        return service_moves(self.chain, state, following)


class _Entries(NamedTuple):
    """Pages that enter per unit time: those that are served at once, and the others."""

    at_once: float
    waiting: Counter[WaitingPage]


def _entries(chain: QueueChain, pushing: Array | None, stationary: Array) -> _Entries:
    at_once = 0.0
    waiting: Counter[WaitingPage] = Counter()
    shape = chain.service_phases, chain.order, chain.order

    def joined(older: int, newer: int, flow: Array) -> None:
        for arrivals, phase in np.argwhere(flow > 0).tolist():
            waiting[WaitingPage(older, newer, arrivals, phase)] += flow[arrivals, phase]

    for level, moves in enumerate(chain.arrivals):
        here = stationary[chain.starts[level] : chain.starts[level + 1]].reshape(chain.order, -1)
        found = here if level else here * chain.service.start
        for pages, matrices in moves.items():
            flow = np.einsum("wm,mwv->vm", found, np.broadcast_to(matrices, shape))
            served = 1 if level == 0 and pages else 0
            at_once += served * float(flow.sum())
            for ahead in range(served, pages):
                joined(max(level - 1, 0) + ahead - served, pages - 1 - ahead, flow)
    if pushing is not None:
        joined(chain.top - 2, 0, pushing.T @ found)
    return _Entries(at_once, waiting)


def unordered_sojourns(
    chain: QueueChain,
    stationary: Array,
    delivered: float,
    *,
    order: ServiceOrder,
    pushing: Array | None,
) -> Iterator[Row]:
    """First and second moments of the time from entry to end, by class of pages.

    Parameters
    ----------
    chain : QueueChain
        With exponential patience, or none.
    stationary : ndarray, shape (states,)
        Stationary probabilities.
    delivered : float
        Pages delivered per unit time.
    order : ServiceOrder
    pushing : ndarray, shape (order, order), or None
        Rates of the deliveries that push out a page when the buffer is full (`pushed_out`).

    Raises
    ------
    NoAnswerError
        If the chain of a waiting page has too many states.

    Notes
    -----
    Of a waiting page: with T the rates that keep it waiting and t those of one of its ends, the
    moments ``E[W^k; end]`` are ``(-T)^-1 t``, ``(-T)^-2 t`` and ``2 (-T)^-3 t``. A page that is
    served has its service after that, whatever came before. A page that is pushed out has entered.
    """
    at_once, waits = _waits(chain, stationary, order, pushing)
    moments = waits.moments(2).T if waits.start.size else np.zeros((3, 3))
    return moment_rows(with_service(moments, at_once, chain.service), delivered)


def _waits(
    chain: QueueChain, stationary: Array, order: ServiceOrder, pushing: Array | None
) -> tuple[float, AbsorbingChain]:
    """Pages per unit time that are served at once, and the chain of those that wait."""
    at_once, waiting = _entries(chain, pushing, stationary)
    explored = explore(waiting, _Followed(chain, order, pushing).moves, kinds=4)
    return at_once, explored.absorbed(np.array(list(waiting.values())))


def unordered_quantiles(
    chain: QueueChain,
    stationary: Array,
    delivered: float,
    shares: Sequence[float],
    *,
    order: ServiceOrder,
    pushing: Array | None,
) -> dict[str, Array]:
    """Quantiles of the time from entry to end, by class of pages.

    Parameters
    ----------
    chain, stationary, delivered, order, pushing
        As of `unordered_sojourns`.
    shares : sequence of float
        Between 0 and 1.

    Returns
    -------
    dict of ndarray, shape of `shares`
        Classes without pages are left out. That of "all" is 0 up to the share that does not enter.

    Raises
    ------
    NoAnswerError
        As there, or if the page may make a million jumps and more before it ends.
    """
    at_once, waits = _waits(chain, stationary, order, pushing)
    page = then_served(waits, at_once, chain.service)
    every = page.start.sum()
    served, obsolete, _ = page.moments(0)[0]

    def by_class(ended: Array) -> dict[str, Array]:
        found = {"accepted": ended.sum() / every} if every > 0 else {}
        if served > 0:
            found["served"] = ended[0] / served
        if obsolete > 0:
            found["obsolete"] = ended[1] / obsolete
        if delivered > 0:
            found["all"] = 1.0 - (every - ended.sum()) / delivered
        return found

    return page.quantiles(by_class, shares)


# --- of a scenario ----------------------------------------------------------------------------


def one_by_one(scenario: Scenario) -> str | None:
    """Pages are delivered one by one."""
    _, robots = buffer_and_robots(scenario)
    batches = robots.deliveries is not None and joint_size(robots.deliveries)[1] > 1
    return "pages are delivered in batches" if batches else None


def pushed_one_by_one(scenario: Scenario) -> str | None:
    """Where a full buffer pushes out, pages come one by one and activation is not switching."""
    if conditions.nothing_pushed_out(scenario) is None:
        return None
    if isinstance(scenario.activation, Switching):
        return "a full buffer pushes out while robots are switched on one at a time"
    return one_by_one(scenario)


def out_of_order(scenario: Scenario) -> str | None:
    """Last come first served, or a full buffer pushes out."""
    if conditions.first_come_first_served(scenario) is None:
        return "first come first served, nothing pushed out"
    return conditions.served_by_time_of_entry(scenario)


@dependent
def waiting_page_fits(scenario: Scenario) -> str | None:
    """The chain of a waiting page is small enough."""
    order, phases, _, top = size_of(scenario)
    states = order * phases * top * (top - 1) // 2
    if states <= MOST_STATES:
        return None
    return f"the chain of a waiting page has {states} states, limit {MOST_STATES}"


def sojourns_out_of_order(scenario: Scenario) -> Values:
    """Sojourn times by class of a scenario whose pages are not served in their order."""
    order = discipline_of(scenario).order
    return unordered_sojourns(*_solved(scenario), order=order, pushing=pushed_out(scenario))


def quantiles_out_of_order(scenario: Scenario, shares: Sequence[float]) -> dict[str, Array]:
    """Quantiles of these."""
    order = discipline_of(scenario).order
    pushing = pushed_out(scenario)
    return unordered_quantiles(*_solved(scenario), shares, order=order, pushing=pushing)


def _solved(scenario: Scenario) -> tuple[QueueChain, Array, float]:
    """The chain, its stationary probabilities, and pages delivered per unit time."""
    chain = chain_of(scenario)
    stationary = solution_of(scenario).stationary
    return chain, stationary, fate_rates(chain, marginals_of(chain, stationary))["delivered"]
