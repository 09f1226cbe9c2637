"""Servers that take waiting pages in batches: the chain of what waits and of what is in service.

A state says how many pages wait, the phase of the deliveries, and for each busy server the size of
its batch and the phase of its service; servers are alike. Obsolescence timers are exponential.
The bulk service rule is that of neuts1967, as derived in docs/theory/indexing-queue.md, "Batches".

The same chain is that of an indexer that rests while pages wait, and of pages that come back where
they found no room: `analytic.indexing_queue.rests`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.formula import dependent
from analytic.indexing_queue.chain import accepted_pages
from analytic.indexing_queue.measures import (
    UNCHANGED,
    KnownLevels,
    all_rows,
    limited_robots_at,
    service_and_patience,
    size_of,
)
from analytic.indexing_queue.sojourns import (
    Ends,
    Row,
    moment_rows,
    shares_by_class,
    with_service,
)
from analytic.machinery.absorbing import AbsorbingChain
from analytic.machinery.active_robots import numbers_in_use
from analytic.machinery.arrival_process import delivery_modes
from analytic.machinery.phase_type import PhaseLaw, moment
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.state_space import MOST_STATES, Move, explore
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Jobs = tuple[tuple[int, int], ...]
"""Size and phase of the batch of each busy server, ascending."""

_ONWARD, _TAKEN, _OBSOLETE = range(3)

AT_WORK, IDLE, AWAY, SETTING_UP = range(4)


class Doing(NamedTuple):
    """What an indexer does that may rest, and the phase of its vacation or set-up."""

    what: int
    phase: int = 0


class Rests(NamedTuple):
    """When a single indexer, which finds no page, rests.

    Attributes
    ----------
    vacation : PhaseLaw or None
        How long it is away, again and again until enough pages wait; None: it is idle until then.
    resume_at : int
        So many are enough.
    set_up : PhaseLaw or None
        How long it then sets up; None: no time.
    """

    vacation: PhaseLaw | None
    resume_at: int
    set_up: PhaseLaw | None

    def law(self, what: int) -> PhaseLaw | None:
        """That of what goes on."""
        return {AWAY: self.vacation, SETTING_UP: self.set_up}.get(what)


class Retrials(NamedTuple):
    """Pages that find no room try again at a rate each, so many of them at most."""

    rate: float
    most: int


class BatchState(NamedTuple):
    """Pages that wait, the phase of the deliveries, what the servers do, and pages in orbit."""

    waiting: int
    arrivals: int
    jobs: Jobs
    doing: Doing = Doing(AT_WORK)
    orbit: int = 0

    @property
    def level(self) -> int:
        """Pages in the system."""
        return self.waiting + sum(size for size, _ in self.jobs)


class FollowedPage(NamedTuple):
    """A waiting page: the pages ahead of it, and the state, itself included."""

    ahead: int
    queue: BatchState


class _Event(NamedTuple):
    """A rate, the pages that come, enter, are lost and are taken then, and the state afterwards."""

    rate: float
    delivered: int
    entering: int
    lost: int
    taken: int
    after: BatchState


def count_batch_states(
    order: int, phases: int, servers: int, most: int, least: int, longest: int
) -> int:
    """Number of states at most, without building anything.

    Parameters
    ----------
    order, phases : int
        Phases of the deliveries, and of a service.
    servers, most, least : int
    longest : int
        The most pages that wait.
    """
    busy = [math.comb(most * phases + number - 1, number) for number in range(servers + 1)]
    return order * ((longest + 1) * busy[-1] + least * sum(busy[:-1]))


@dataclass(frozen=True, eq=False)
class BatchChain:
    """The chain of servers that take batches.

    Attributes
    ----------
    modes : ndarray, shape (robots + 1, largest delivery + 1, order, order)
        As in `analytic.indexing_queue.chain.controlled_chain`.
    robots_at : callable
        Active robots at a level.
    service : PhaseLaw
        Of a batch.
    servers, most, least : int
    capacity : int
        Waiting places and ``servers * most``.
    admission : {"partial", "reject", "complete"}
    obsolescence : float
        Rate at which each waiting page becomes obsolete; 0: never.
    is_sized : bool
        Whether a state says how large each batch is; else all sizes are 0, and so are the pages
        in service for the levels: that will do where robots do not follow the level.
    rests : Rests or None
        Of the only server, which takes one page at a time; None: it never rests.
    retrials : Retrials or None
        None: pages that find no room are lost.
    """

    modes: Array
    robots_at: Callable[[int], int]
    service: PhaseLaw
    servers: int
    most: int
    least: int
    capacity: int
    admission: str
    obsolescence: float
    is_sized: bool = True
    rests: Rests | None = None
    retrials: Retrials | None = None

    def begun(self, waiting: int, jobs: Jobs) -> tuple[int, list[tuple[float, Jobs]]]:
        """What free servers take of the pages that wait: how many, and the jobs afterwards."""
        taken = 0
        after = [(1.0, jobs)]
        for _ in range(self.servers - len(jobs)):
            if waiting - taken < self.least:
                break
            size = min(waiting - taken, self.most)
            taken += size
            kept = size if self.is_sized else 0
            after = [
                (share * each, tuple(sorted((*busy, (kept, phase)))))
                for share, busy in after
                for phase, each in enumerate(self.service.start.tolist())
                if each > 0
            ]
        return taken, after

    def settled(self, state: BatchState) -> list[tuple[float, int, BatchState]]:
        """What free servers then do: probabilities, pages that are taken, and states."""
        if self.rests is not None:
            return self._decided(self.rests, state)
        return self._at_work(state)

    def _at_work(self, state: BatchState) -> list[tuple[float, int, BatchState]]:
        taken, after = self.begun(state.waiting, state.jobs)
        left = state._replace(waiting=state.waiting - taken)
        return [(share, taken, left._replace(jobs=jobs)) for share, jobs in after]

    def _decided(self, rests: Rests, state: BatchState) -> list[tuple[float, int, BatchState]]:
        """The same of an indexer that rests; a service, a vacation or a set-up goes on."""
        if state.jobs or state.doing.what in (AWAY, SETTING_UP):
            return [(1.0, 0, state)]
        if state.doing.what == IDLE:
            return self._back(rests, state)
        return self._at_work(state) if state.waiting else _begun(state, AWAY, IDLE, rests.vacation)

    def _back(self, rests: Rests, state: BatchState) -> list[tuple[float, int, BatchState]]:
        """What an indexer does that is idle, or comes back from a vacation."""
        if state.waiting < rests.resume_at:
            return _begun(state, AWAY, IDLE, rests.vacation)
        if rests.set_up is None:
            return self._at_work(state._replace(doing=Doing(AT_WORK)))
        return _begun(state, SETTING_UP, AT_WORK, rests.set_up)

    def events(self, state: BatchState) -> Iterator[_Event]:
        """All that may happen in a state but that a page becomes obsolete."""
        yield from self.entries(state)
        yield from self.progress(state)

    def entries(self, state: BatchState) -> Iterator[_Event]:
        """Pages that come, or come back, and changes of the phase of the deliveries."""
        yield from self.deliveries(state)
        if self.retrials is not None and state.orbit and self._entering(state, 1):
            filled = state._replace(waiting=state.waiting + 1, orbit=state.orbit - 1)
            yield from self._then_taken(state.orbit * self.retrials.rate, (0, 1, 0), filled)

    def _entering(self, state: BatchState, pages: int) -> int:
        """Pages of a delivery that find room."""
        taken = state.waiting + len(state.jobs) * self.most
        return accepted_pages(taken, pages, self.capacity, self.admission)

    def progress(self, state: BatchState) -> Iterator[_Event]:
        """What the servers do: services that end, and rests."""
        yield from self.services(state)
        law = self.rests.law(state.doing.what) if self.rests else None
        if law is None or self.rests is None:
            return
        what, phase = state.doing
        for other, rate in enumerate(law.generator[phase].tolist()):
            if other != phase and rate > 0:
                yield _Event(rate, 0, 0, 0, 0, state._replace(doing=Doing(what, other)))
        there = state._replace(doing=Doing(AT_WORK))
        found = self._back(self.rests, state) if what == AWAY else self._decided(self.rests, there)
        for share, taken, after in found:
            if after != state:  # away again
                yield _Event(float(law.exit_rates[phase]) * share, 0, 0, 0, taken, after)

    def services(self, state: BatchState) -> Iterator[_Event]:
        """Services that end, and changes of their phases."""
        exits = self.service.exit_rates.tolist()
        for place, (size, phase) in enumerate(state.jobs):
            others = (*state.jobs[:place], *state.jobs[place + 1 :])
            yield from self._then_taken(exits[phase], (0, 0, 0), state._replace(jobs=others))
            for other, rate in enumerate(self.service.generator[phase].tolist()):
                if other != phase and rate > 0:
                    jobs = tuple(sorted((*others, (size, other))))
                    yield _Event(rate, 0, 0, 0, 0, state._replace(jobs=jobs))

    def deliveries(self, state: BatchState) -> Iterator[_Event]:
        """Pages that come, and changes of the phase of the deliveries."""
        for delivered, arrivals, rate in self._rates(self.robots_at(state.level), state.arrivals):
            entering = self._entering(state, delivered)
            room = self.retrials.most - state.orbit if self.retrials else 0
            kept = min(delivered - entering, room)
            filled = state._replace(
                waiting=state.waiting + entering, arrivals=arrivals, orbit=state.orbit + kept
            )
            pages = delivered, entering, delivered - entering - kept
            yield from self._then_taken(rate, pages, filled)

    @cached_property
    def _rates(self) -> Callable[[int, int], list[tuple[int, int, float]]]:
        @cache
        def rates(active: int, phase: int) -> list[tuple[int, int, float]]:
            into = self.modes[active, :, phase]
            return [
                (pages, after, float(into[pages, after]))
                for pages, after in np.argwhere(into > 0).tolist()
                if pages > 0 or after != phase
            ]

        return rates

    def _then_taken(
        self, rate: float, pages: tuple[int, int, int], state: BatchState
    ) -> Iterator[_Event]:
        for share, taken, after in self.settled(state):
            yield _Event(rate * share, *pages, taken, after)

    def moves(self, state: BatchState) -> Iterator[Move]:
        """All moves from a state."""
        for event in self.events(state):
            yield Move(event.rate, event.after)
        if state.waiting:
            gone = state._replace(waiting=state.waiting - 1)
            yield Move(state.waiting * self.obsolescence, gone)


def _begun(
    state: BatchState, what: int, otherwise: int, law: PhaseLaw | None
) -> list[tuple[float, int, BatchState]]:
    """States in which something begins that takes a time of a law; without one: otherwise."""
    if law is None:
        return [(1.0, 0, state._replace(doing=Doing(otherwise)))]
    return [
        (share, 0, state._replace(doing=Doing(what, phase)))
        for phase, share in enumerate(law.start.tolist())
        if share > 0
    ]


class SolvedBatches(NamedTuple):
    """A chain, the rates between its states, and their stationary probabilities."""

    chain: BatchChain
    rates: csr_matrix
    probabilities: dict[BatchState, float]


def solve_batches(chain: BatchChain) -> SolvedBatches:
    """The stationary distribution of servers that take batches.

    Raises
    ------
    NoAnswerError
        If there are too many states.
    ValueError
        If there are several closed classes.
    """
    start = [
        after
        for phase in range(chain.modes.shape[2])
        for _, _, after in chain.settled(BatchState(0, phase, ()))
    ]
    explored = explore(start, chain.moves)
    found = np.maximum(explored.stationary(), 0.0).tolist()
    return SolvedBatches(chain, explored.rates[0], dict(zip(explored.states, found, strict=True)))


def batch_rates(solved: SolvedBatches) -> dict[str, float]:
    """Pages per unit time that are delivered, lost, obsolete and served, and batches that end.

    In the long run as many are served as are taken. Also the mean numbers of "waiting" pages, of
    servers with a batch, "busy", of pages in "orbit" and of active "robots", the share of time of
    "set_ups", pages that find no room per unit time, "blocked", and how often an indexer that rests
    has "resumed".
    """
    chain = solved.chain
    exits = chain.service.exit_rates.tolist()
    names = "delivered", "lost", "obsolete", "served", "batches", "waiting", "busy", "robots"
    rates = dict.fromkeys((*names, "orbit", "set_ups", "blocked", "resumed"), 0.0)
    for state, share in solved.probabilities.items():
        rates["waiting"] += share * state.waiting
        rates["orbit"] += share * state.orbit
        rates["set_ups"] += share * (state.doing.what == SETTING_UP)
        rested = state.doing.what in (IDLE, AWAY)
        rates["busy"] += share * len(state.jobs)
        rates["robots"] += share * chain.robots_at(state.level)
        rates["batches"] += share * math.fsum(exits[phase] for _, phase in state.jobs)
        for event in chain.events(state):
            rates["delivered"] += share * event.rate * event.delivered
            rates["lost"] += share * event.rate * event.lost
            rates["blocked"] += share * event.rate * max(event.delivered - event.entering, 0)
            is_back = rested and event.after.doing.what in (SETTING_UP, AT_WORK)
            rates["resumed"] += share * event.rate * is_back
            rates["served"] += share * event.rate * event.taken
    return rates | {"obsolete": rates["waiting"] * chain.obsolescence}


def batch_levels(solved: SolvedBatches) -> Array:
    """Fraction of time with 0, 1, … pages in the system, of a chain with sizes."""
    top = max(solved.chain.capacity, *(state.level for state in solved.probabilities))
    levels = np.zeros(top + 1)
    for state, share in solved.probabilities.items():
        levels[state.level] += share
    return levels


class _Entries(NamedTuple):
    """Pages that enter per unit time: those that a server takes at once, and the others."""

    at_once: float
    waiting: dict[FollowedPage, float]


@dataclass(frozen=True, eq=False)
class _Followed:
    """The moves of a waiting page, first come first served."""

    chain: BatchChain

    def is_last(self, queue: BatchState) -> bool:
        """Whether nothing behind the page matters: servers do not wait for more."""
        rests = self.chain.rests
        awaited = rests is not None and rests.resume_at > 1 and queue.doing.what in (IDLE, AWAY)
        return self.chain.least == 1 and not awaited

    def seen(self, ahead: int, queue: BatchState) -> FollowedPage:
        """The page, and what matters to it."""
        if self.is_last(queue):
            jobs = tuple((1, phase) for _, phase in sorted(queue.jobs, key=lambda job: job[1]))
            return FollowedPage(ahead, BatchState(ahead + 1, 0, jobs, queue.doing))
        return FollowedPage(ahead, queue)

    def moves(self, page: FollowedPage) -> Iterator[Move]:
        """All moves from a state: taken, obsolete, or it waits on."""
        ahead, queue = page
        events = self.chain.progress if self.is_last(queue) else self.chain.events
        for event in events(queue):
            if ahead < event.taken:
                yield Move(event.rate, page, _TAKEN)
            else:
                yield Move(event.rate, self.seen(ahead - event.taken, event.after))
        theta = self.chain.obsolescence
        gone = queue._replace(waiting=queue.waiting - 1)
        yield Move(theta, page, _OBSOLETE)
        yield Move(theta * ahead, self.seen(ahead - 1, gone))
        yield Move(theta * (queue.waiting - 1 - ahead), self.seen(ahead, gone))

    def entries(self, solved: SolvedBatches) -> _Entries:
        """Pages that enter per unit time."""
        at_once = 0.0
        waiting: dict[FollowedPage, float] = defaultdict(float)
        for state, share in solved.probabilities.items():
            for event in self.chain.entries(state) if share > 0 else ():
                for ahead in range(state.waiting, state.waiting + event.entering):
                    flow = share * event.rate
                    if ahead < event.taken:
                        at_once += flow
                    else:
                        waiting[self.seen(ahead - event.taken, event.after)] += flow
        return _Entries(at_once, waiting)


def _waits(solved: SolvedBatches) -> tuple[float, AbsorbingChain | None]:
    """Pages per unit time that do not wait, and the chain of one that does; None: no page does."""
    followed = _Followed(solved.chain)
    at_once, waiting = followed.entries(solved)
    if not waiting:
        return at_once, None
    explored = explore(waiting, followed.moves, kinds=3)
    return at_once, explored.absorbed(np.array(list(waiting.values())))


def sojourn_moments_of_batches(solved: SolvedBatches) -> Iterator[Row]:
    """First and second moments of the time from entry to end, first come first served.

    A waiting page is followed with the pages ahead of it and, where servers wait for more pages,
    with all that comes. The service of its batch is an independent one.

    Raises
    ------
    NoAnswerError
        If the chain of a waiting page has too many states.
    """
    at_once, chain = _waits(solved)
    waits = np.zeros((2, 3)) if chain is None else chain.moments(2).T
    return moment_rows(with_service(waits, at_once, solved.chain.service))


def sojourn_quantiles_of_batches(
    solved: SolvedBatches, shares: Sequence[float]
) -> dict[str, Array]:
    """Least time t with ``P(V <= t) >= q``, V the sojourn time first come first served, by class.

    Parameters
    ----------
    solved : SolvedBatches
    shares : sequence of float
        q, between 0 and 1.

    Raises
    ------
    NoAnswerError
        If the chain of a waiting page has too many states, or jumps too often.
    """
    at_once, waits = _waits(solved)
    service = solved.chain.service
    own = scipy.sparse.csr_matrix(service.generator - np.diag(np.diag(service.generator)))
    start = at_once * service.start
    ends = np.stack([service.exit_rates, np.zeros(len(service.start))], axis=1)
    tagged = AbsorbingChain(start, own, ends)
    if waits is not None:
        taken, obsolete = waits.ends.T
        begins = np.outer(taken, service.start)
        left = scipy.sparse.csr_matrix((len(start), len(taken)))
        moves = scipy.sparse.bmat([[waits.moves, begins], [left, own]]).tocsr()
        waiting = np.stack([np.zeros(len(taken)), obsolete], axis=1)
        tagged = AbsorbingChain(
            np.concatenate([waits.start, start]), moves, np.concatenate([waiting, ends])
        )
    fates = batch_rates(solved)
    pages = Ends(fates["served"], fates["obsolete"])
    return tagged.quantiles(lambda ended: shares_by_class(ended, pages, fates), shares)


# --- of a scenario ----------------------------------------------------------------------------


def batch_chain_of(scenario: Scenario) -> BatchChain:
    """The chain of a scenario that meets the conditions of its formulas."""
    queue, _ = buffer_and_robots(scenario)
    batch = present(queue.batch)
    return BatchChain(
        modes=delivery_modes(conditions.fleet_of(scenario), numbers_in_use(scenario)),
        robots_at=limited_robots_at(scenario, UNCHANGED),
        service=service_and_patience(scenario)[0],
        servers=queue.servers,
        most=batch.most,
        least=batch.least,
        capacity=queue.capacity,
        admission=queue.admission,
        obsolescence=conditions.timer_rate(scenario),
        is_sized=sizes_fit(scenario) is None,
    )


@Remembered
def solution_of_batches(scenario: Scenario) -> SolvedBatches:
    """The chain of a scenario, solved.

    Raises
    ------
    NoAnswerError
        If the steady state is not unique.
    """
    try:
        return solve_batches(batch_chain_of(scenario))
    except ValueError as failure:
        raise NoAnswerError(f"its chain has no unique steady state: {failure}") from None


def measures_of_batches(scenario: Scenario) -> Iterator[Row]:
    """All measures but those of single pages, of servers that take batches."""
    return rows_of(scenario, solution_of_batches(scenario), None)


def sojourns_of_batches(scenario: Scenario) -> Iterator[Row]:
    """The same with sojourn times by class of pages, first come first served."""
    solved = solution_of_batches(scenario)
    return rows_of(scenario, solved, list(sojourn_moments_of_batches(solved)))


def rows_of(scenario: Scenario, solved: SolvedBatches, sojourns: list[Row] | None) -> Iterator[Row]:
    """All measures of a solution but those of single pages, with sojourn times by class if known.

    Parameters
    ----------
    scenario : Scenario
        For its prices.
    solved : SolvedBatches
    sojourns : list of rows or None
    """
    rates = batch_rates(solved)
    chain = solved.chain
    empty = math.fsum(
        p for state, p in solved.probabilities.items() if not state.waiting + len(state.jobs)
    )
    mean = rates["waiting"] + rates["served"] * moment(chain.service, 1)
    robots = rates["robots"], list[float]()
    yield from all_rows(KnownLevels(empty, mean), robots, rates, scenario.prices, sojourns)
    queue = conditions.buffer_of(scenario)
    if queue.servers_named or queue.gathers is not None:
        yield "idle_indexers", None, 1 - rates["busy"] / chain.servers
    if rates["batches"] > 0 and queue.batch is not None:
        yield "mean_batch", None, rates["served"] / rates["batches"]
    if chain.rests is not None:
        yield "resume_rate", None, rates["resumed"]
        yield "set_up_share", None, rates["set_ups"]
    if chain.retrials is not None:
        yield "mean_in_orbit", None, rates["orbit"]
        if rates["delivered"] > 0:
            yield "blocking_probability", None, rates["blocked"] / rates["delivered"]


def levels_of_batches(scenario: Scenario) -> Iterator[Row]:
    """The level probabilities, which take the sizes of the batches."""
    for level, share in enumerate(batch_levels(solution_of_batches(scenario)).tolist()):
        yield "level_probability", level, share


def quantiles_of_batches(scenario: Scenario, shares: Sequence[float]) -> dict[str, Array]:
    """Quantiles of the sojourn time by class of pages."""
    return sojourn_quantiles_of_batches(solution_of_batches(scenario), shares)


def _states_of_batches(scenario: Scenario, most: int) -> int:
    """States at most, with so many sizes of a batch."""
    queue, _ = buffer_and_robots(scenario)
    batch = present(queue.batch)
    order, phases, _, top = size_of(scenario)
    longest = top - queue.servers * batch.most
    return count_batch_states(order, phases, queue.servers, most, batch.least, longest)


@dependent
def sizes_fit(scenario: Scenario) -> str | None:
    """The chain with the sizes of the batches has at most 60 000 states."""
    states = _states_of_batches(scenario, present(conditions.buffer_of(scenario).batch).most)
    if states <= MOST_STATES:
        return None
    return f"its chain with the sizes of batches has {states} states, limit {MOST_STATES}"


@dependent
def batches_fit(scenario: Scenario) -> str | None:
    """So has the chain of batches, without their sizes if robots do not follow the level."""
    if conditions.static_robots(scenario) is not None or sizes_fit(scenario) is None:
        return sizes_fit(scenario)
    states = _states_of_batches(scenario, 1)
    return None if states <= MOST_STATES else f"its chain has {states} states, limit {MOST_STATES}"


@dependent
def batches_solved(scenario: Scenario) -> str | None:
    """The steady state is unique."""
    solution_of_batches(scenario)
    return None


@dependent
def page_of_batches_fits(scenario: Scenario) -> str | None:
    """A waiting page can be followed with all that matters to it."""
    sojourn_moments_of_batches(solution_of_batches(scenario))
    return None


@dependent
def response_of_batches_fits(scenario: Scenario) -> str | None:
    """A waiting page can be followed, where the response has a price."""
    return page_of_batches_fits(scenario) if scenario.prices.response else None


BATCHES = (
    conditions.has_buffer_of_batches,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.not_switching,
    conditions.taken_by_number,
    conditions.service_of_batch_alike,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    conditions.exponential_patience_or_none,
    batches_fit,
    batches_solved,
)
"""Conditions of servers that take batches."""
