"""Several servers: the chain of level, phase of the robots and phases of the busy servers.

Servers are alike, so that only how many of them are in each phase matters. Obsolescence timers are
exponential. With one server it is the chain of `analytic.indexing_queue.chain`; its factors that
do not speak of the servers (deliveries, admission, numbers of robots) are used as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations_with_replacement

import numpy as np
import scipy

from analytic.indexing_queue.chain import Entries, QueueChain, add_blocks, entries_of, kron
from analytic.indexing_queue.sojourns import (
    FACTORIALS,
    Ends,
    Row,
    moment_rows,
    shares_by_class,
    then_served,
    with_service,
)
from analytic.machinery.absorbing import AbsorbingChain, DenseStages, ends_by_stage
from analytic.machinery.markov import Band, stationary_banded, until_exit
from scenarios.arrays import Array

Busy = tuple[int, ...]
"""The phase of each busy server, ascending."""


def count_phases(busy: int, phases: int) -> int:
    """Number of ways in which this many busy servers can be in phases: multisets."""
    return math.comb(busy + phases - 1, busy)


def size_of_servers(order: int, phases: int, servers: int, top: int) -> tuple[int, int]:
    """States of the chain, and diagonals of the band on one side, without building anything."""
    sizes = [order * count_phases(min(level, servers), phases) for level in range(top + 1)]
    return sum(sizes), 2 * max(sizes)


@dataclass(frozen=True)
class ServersChain:
    """The chain of several servers.

    Attributes
    ----------
    deliveries : QueueChain
        With the capacity of the whole buffer: its deliveries, admission and active robots, and its
        service law; the rest of it is not used.
    servers : int
    obsolescence : float
        Rate at which each waiting page becomes obsolete; 0: never.
    working : int, optional
        Of the busy servers at most so many work, those that began first; the services must be
        exponential then.
    """

    deliveries: QueueChain
    servers: int
    obsolescence: float
    working: int | None = None

    @cached_property
    def busy(self) -> list[list[Busy]]:
        """The states of the servers while 0, 1, … of them are busy."""
        phases = range(self.deliveries.service_phases)
        every = range(min(self.servers, self.deliveries.top) + 1)
        return [list(combinations_with_replacement(phases, number)) for number in every]

    @cached_property
    def places(self) -> list[dict[Busy, int]]:
        """Where each state of the servers stands in its list of `busy`."""
        return [{state: place for place, state in enumerate(states)} for states in self.busy]

    @cached_property
    def begun(self) -> list[Array]:
        """Probabilities of the states with one more busy server, by those before."""
        return [self._matrix(number, self._begins(number)) for number in range(len(self.busy) - 1)]

    @cached_property
    def ended(self) -> list[Array]:
        """Rates of services that end and leave their server free; entry 0 is empty."""
        none = np.zeros((1, 0))
        return [none, *(self._matrix(n, self._ends(n), step=-1) for n in range(1, len(self.busy)))]

    @cached_property
    def within(self) -> list[Array]:
        """Rates at which the phase of one of the busy servers changes."""
        return [self._matrix(n, self._changes(n), step=0) for n in range(len(self.busy))]

    def _matrix(
        self, number: int, moves: Iterator[tuple[Busy, Busy, float]], step: int = 1
    ) -> Array:
        matrix = np.zeros((len(self.busy[number]), len(self.busy[number + step])))
        for before, after, rate in moves:
            row = self.places[number][before]
            matrix[row, self.places[number + step][tuple(sorted(after))]] += rate
        return matrix

    def _begins(self, number: int) -> Iterator[tuple[Busy, Busy, float]]:
        for state in self.busy[number]:
            for phase, share in enumerate(self.deliveries.service.start.tolist()):
                yield state, (*state, phase), share

    def _ends(self, number: int) -> Iterator[tuple[Busy, Busy, float]]:
        exits = self.deliveries.service.exit_rates.tolist()
        for state in self.busy[number]:
            for server, phase in enumerate(state[: self.working]):
                yield state, (*state[:server], *state[server + 1 :]), exits[phase]

    def _changes(self, number: int) -> Iterator[tuple[Busy, Busy, float]]:
        generator = self.deliveries.service.generator
        for state in self.busy[number]:
            for server, phase in enumerate(state):
                for other in range(len(generator)):
                    if other != phase:
                        after = (*state[:server], other, *state[server + 1 :])
                        yield state, after, float(generator[phase, other])

    def begin(self, number: int, pages: int) -> Array:
        """Probabilities of the states after this many services have begun."""
        result = np.eye(len(self.busy[number]))
        for more in range(pages):
            result = result @ self.begun[number + more]
        return result

    @property
    def handed_on(self) -> Array:
        """Rates of services that end while pages wait: the server begins the next one's."""
        return self.ended[self.servers] @ self.begun[self.servers - 1]

    def waiting(self, level: int) -> int:
        """Pages that wait at a level."""
        return max(level - self.servers, 0)

    def blocks(self) -> Iterator[tuple[int, int, Array]]:
        """Rates (from level, to level, block); by arrival phase, then state of the servers."""
        chain = self.deliveries
        for level, moves in enumerate(chain.arrivals):
            number = min(level, self.servers)
            here = np.eye(len(self.busy[number]))
            for entering, matrices in moves.items():
                started = self.begin(number, min(entering, self.servers - number))
                yield level, level + entering, kron(matrices[0], started)
            if level == 0:
                continue
            yield level, level, kron(np.eye(chain.order), self.within[number])
            waiting = self.waiting(level)
            served = self.handed_on if waiting else self.ended[number]
            yield level, level - 1, kron(chain.turnover[level][0], served)
            if waiting and self.obsolescence:
                gone = waiting * self.obsolescence * here
                phases = np.eye(chain.order)
                if chain.settled is not None:
                    phases = phases[chain.settled[level - 1]]
                yield level, level - 1, kron(phases, gone)

    @cached_property
    def starts(self) -> list[int]:
        """First state of each level, and the number of states."""
        levels = range(self.deliveries.top + 1)
        sizes = [self.deliveries.order * len(self.busy[min(n, self.servers)]) for n in levels]
        return list(accumulate(sizes, initial=0))


def server_entries(chain: ServersChain) -> Entries:
    """Rates between all states, entry by entry."""
    return entries_of(chain.blocks(), chain.starts)


def solve_servers(chain: ServersChain) -> list[Array]:
    """Stationary probabilities by level, each of shape (arrival phases, states of the servers).

    By state reduction within the band of neighbouring levels: nothing is subtracted.

    Raises
    ------
    ValueError
        If there are several closed classes.
    """
    starts = chain.starts
    blocks = list(chain.blocks())
    lower = max((starts[o + 1] - 1 - starts[t] for o, t, _ in blocks), default=0)
    upper = max((starts[t + 1] - 1 - starts[o] for o, t, _ in blocks), default=0)
    band = Band(starts[-1], lower, upper)
    add_blocks(band.rates, blocks, starts)
    start = chain.deliveries.start
    return by_level(chain, stationary_banded(band, chain.deliveries.order, start))


def by_level(chain: ServersChain, probabilities: Array) -> list[Array]:
    """Probabilities of all states, by level, as of `solve_servers`."""
    parts = np.split(probabilities, chain.starts[1:-1])
    return [part.reshape(chain.deliveries.order, -1) for part in parts]


def departures(chain: ServersChain, stationary: list[Array]) -> Array:
    """Pages that leave each level per unit time, served or obsolete, shape (levels, order)."""
    return np.stack(
        [
            each @ chain.ended[min(level, chain.servers)].sum(axis=1)
            + chain.obsolescence * chain.waiting(level) * each.sum(axis=1)
            for level, each in enumerate(stationary)
        ]
    )


def rates_of_fates(chain: ServersChain, stationary: list[Array]) -> dict[str, float]:
    """Pages per unit time that are delivered, lost, obsolete and served."""
    deliveries = chain.deliveries
    sizes = np.arange(deliveries.batch_rates.shape[1])
    phases = np.array([each.sum(axis=1) for each in stationary])
    batches = np.einsum("ikw,iw->ik", deliveries.batch_rates[..., 0], phases)
    levels = phases.sum(axis=1)
    waiting = np.array([chain.waiting(level) for level in range(len(levels))])
    served = math.fsum(
        float((each @ chain.ended[min(level, chain.servers)]).sum())
        for level, each in enumerate(stationary)
    )
    return {
        "delivered": float((batches * sizes).sum()),
        "lost": float((batches * (sizes - deliveries.accepted))[:, 1:].sum()),
        "obsolete": chain.obsolescence * float(levels @ waiting),
        "served": served,
    }


def entering_pages(chain: ServersChain, stationary: list[Array]) -> tuple[float, list[Array]]:
    """Pages per unit time that find a server free, and those that wait.

    The latter by the number of waiting pages ahead of them and the state of the servers.
    """
    deliveries = chain.deliveries
    longest = chain.waiting(deliveries.top)
    waiting: list[Array] = [np.zeros(len(chain.busy[-1])) for _ in range(longest)]
    at_once = 0.0
    for level, here in enumerate(stationary):
        number = min(level, chain.servers)
        flows = deliveries.batch_rates[level, ..., 0] @ here
        accepted = deliveries.accepted[level]
        for place in range(int(accepted[1:].max(initial=0))):  # of a page in its batch
            flow = flows[1:][accepted[1:] > place].sum(axis=0)
            ahead = level + place - chain.servers
            if ahead < 0:
                at_once += float(flow.sum())
            else:
                waiting[ahead] += flow @ chain.begin(number, chain.servers - number)
    return at_once, waiting


def _waits(chain: ServersChain, entering: list[Array]) -> Array:
    """Moments of the waits, served and obsolete, as `moment_rows` takes them."""
    within = chain.within[-1]
    handed_on = chain.handed_on
    ends = chain.ended[-1].sum(axis=1)
    theta = chain.obsolescence
    each = np.eye(len(within))

    def closer(place: int) -> Array:
        return handed_on + theta * place * each

    def times(place: int) -> Array:
        leaving = ends + theta * place
        return until_exit(within[None].copy(), leaving[None], each[None])[0]

    def ends_at(place: int, spent: Array) -> tuple[float, float]:
        return float(spent @ ends) if place == 1 else 0.0, float(theta * spent.sum())

    powers = ends_by_stage(DenseStages(closer, times), ends_at, entering, 3)
    return powers.T * FACTORIALS


def sojourn_moments_of_servers(chain: ServersChain, stationary: list[Array]) -> Iterator[Row]:
    """First and second moments of the time from entry to end, first come first served.

    A waiting page is followed with the pages ahead of it and the states of all servers, which are
    busy: a service moves it up, an obsolescence ahead of it too. Once its own service begins, that
    is an independent one. Classes as in `analytic.indexing_queue.sojourns`.
    """
    at_once, entering = entering_pages(chain, stationary)
    waits = _waits(chain, entering)
    return moment_rows(with_service(waits, at_once, chain.deliveries.service))


def sojourn_quantiles_of_servers(
    chain: ServersChain, stationary: list[Array], shares: Sequence[float]
) -> dict[str, Array]:
    """Least time t with ``P(V <= t) >= q``, V the sojourn time first come first served, by class.

    Parameters
    ----------
    chain : ServersChain
    stationary : list of ndarray
        Probabilities by level of what is there, of `solve_servers`, or at accesses.
    shares : sequence of float
        q, between 0 and 1.

    Returns
    -------
    dict of ndarray, shape of `shares`
        As `analytic.indexing_queue.sojourn_quantiles`.

    Raises
    ------
    NoAnswerError
        If the page may make a million jumps and more before it ends.
    """
    fates = rates_of_fates(chain, stationary)
    at_once, entering = entering_pages(chain, stationary)
    ended = with_service(_waits(chain, entering), at_once, chain.deliveries.service)
    pages = Ends(*ended[:, 0])
    tagged = _tagged_page(chain, stationary)
    return tagged.quantiles(lambda ended: shares_by_class(ended, pages, fates), shares)


def _tagged_page(chain: ServersChain, stationary: list[Array]) -> AbsorbingChain:
    """A page followed through the places where it waits, and then through its own service."""
    at_once, entering = entering_pages(chain, stationary)
    within = chain.within[-1]
    size = len(within)
    own = size * len(entering)
    ends = np.zeros((own, 2))
    ends[:, 1] = chain.obsolescence
    moves = scipy.sparse.lil_matrix((own, own))
    for ahead in range(len(entering)):
        here = slice(ahead * size, (ahead + 1) * size)
        moves[here, here] = within
        if ahead:
            closer = chain.handed_on + chain.obsolescence * ahead * np.eye(size)
            moves[here, (ahead - 1) * size : ahead * size] = closer
        else:
            ends[here, 0] = chain.ended[-1].sum(axis=1)
    waits = AbsorbingChain(np.concatenate([np.zeros(0), *entering]), moves.tocsr(), ends)
    return then_served(waits, at_once, chain.deliveries.service)


def idle_servers(levels: Array, servers: int) -> float:
    """Mean share of the servers without a page, from the level probabilities."""
    idle = np.maximum(servers - np.arange(len(levels)), 0)
    return float(levels @ idle) / servers
