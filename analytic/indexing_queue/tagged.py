"""A page followed from its entry to its end: the moments of its sojourn time.

avrachenkov2011, Theorem 4 and Corollary 1, as derived in docs/derivations.md. The state
is the page's position, the phase of the service, and the phases of the timers of the pages ahead
and of its own. What happens behind the page, and to the robots, does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.generator import one_gone, with_clocks
from analytic.indexing_queue.phase_times import integrated_times
from analytic.indexing_queue.tables import tables_of, working_space
from analytic.markov import until_exit
from scenarios.arrays import Array
from scenarios.measures import Subject

Row = tuple[str, Subject, float]

LARGEST_DENSE = 200
"""States of a position up to which it is solved with a dense matrix."""

MOST_PASSES = 300
"""Passes of Gauss-Seidel within a position; more are needed where phases change much faster than
pages move up. The integral takes about as long as that."""

ROUNDING = 1e-15
"""Relative changes of this size are rounding."""

CLASSES = ("served", "obsolete", "accepted")


class Ends(NamedTuple):
    """Rates at which a page ends, in sum over some vector of states."""

    served: float
    obsolete: float

    @property
    def accepted(self) -> float:
        """Both."""
        return self.served + self.obsolete


def entries(chain: QueueChain, law: Array) -> list[Array]:
    """Pages that enter per unit time, by their position and the phases ahead of them.

    Entry p is a vector over (service phase, timer phases of the pages ahead, own timer phase) of
    a page that enters at position p + 1 counted from the server.
    """
    gamma = chain.timer.start
    phases = len(chain.service.start)
    timers = len(chain.timer.start)
    found = [np.zeros(phases * timers**waiting) for waiting in range(chain.top)]
    starts = chain.starts
    for level in range(chain.top + 1):
        here = law[starts[level] : starts[level + 1]].reshape(chain.order, -1)
        flows = chain.batch_rates[level] @ here
        accepted = chain.accepted[level]
        for place in range(int(accepted[1:].max(initial=0))):
            ahead = flows[1:][accepted[1:] > place].sum(axis=0)
            if level == 0:
                ahead = np.kron(ahead, chain.service.start)
            for _ in range(place + (level > 0)):
                ahead = np.kron(ahead, gamma)
            found[level + place] += ahead
    return found


def followed(chain: QueueChain) -> QueueChain:
    """The chain of the positions: one arrival phase, no arrivals."""
    empty = np.zeros((chain.top + 1, 1))
    return replace(
        chain,
        arrivals=({},) * (chain.top + 1),
        turnover=(np.ones((1, 1, 1)),) * (chain.top + 1),
        batch_rates=empty[:, None, :],
        active=empty,
    )


def ends_of(chain: QueueChain, entries: list[Array], powers: int, shift: float = 0.0) -> list[Ends]:
    """``a (sI - T)^-k t`` for k = 1 … powers: with T the moves of the page, t its ends.

    Parameters
    ----------
    chain : QueueChain
    entries : list of ndarray
        a, of `entries`.
    powers : int
    shift : float
        s, one more rate out of every state, >= 0.

    Returns
    -------
    list of Ends
        One for each power.

    Raises
    ------
    NotConvergedError
        If the integral over the time at a position of a large chain loses pages.

    Notes
    -----
    Row vectors, from the last position to the first. Only sums and products of what is not
    negative; each position is needed for the next one only.
    """
    positions = _positions(chain, shift)
    above: list[Array | None] = [None] * powers
    ends = np.zeros((powers, 2))
    for position in range(chain.top, 0, -1):
        flow = entries[position - 1]
        for power in range(powers):
            later = above[power]
            arriving = flow.copy() if later is None else flow + positions.passed(position, later)
            flow = positions.spent(position, arriving)
            above[power] = flow
            ends[power] += ends_at(chain, position, flow)
    return [Ends(*map(float, row)) for row in ends]


def ends_at(chain: QueueChain, position: int, spent: Array) -> tuple[float, float]:
    """Services and obsolescences of the page itself, while it is at a position."""
    if position == 1:
        return float(spent @ chain.service.exit_rates), 0.0
    own = chain.timer.exit_rates
    return 0.0, float(spent.reshape(-1, len(own)).sum(axis=0) @ own)


def _positions(chain: QueueChain, shift: float) -> _Small | _Large:
    largest = len(chain.service.start) * len(chain.timer.start) ** max(chain.top - 1, 0)
    return _Small(chain, shift) if largest <= LARGEST_DENSE else _Large(chain, shift)


class _Small:
    """The positions of a small chain, with dense matrices."""

    def __init__(self, chain: QueueChain, shift: float) -> None:
        self.service = chain.service
        self.timer = chain.timer
        self.shift = shift
        self._known: tuple[int, Array] = (0, np.zeros((0, 0)))

    def passed(self, position: int, above: Array) -> Array:
        """What a vector at the next position passes on to this one."""
        timers = len(self.timer.start)
        phases = len(self.service.start)
        ahead = timers ** (position - 1)
        picked_up = self.service.exit_rates[:, None] * self.service.start[None, :]
        each = above.reshape(phases, timers, ahead).sum(axis=1)
        flow: Array = (picked_up.T @ each).ravel()
        if position > 1:
            gone = one_gone(self.timer.exit_rates, position - 1)
            others = above.reshape(phases, timers ** (position - 1), timers)
            flow += np.einsum("mat,ab->mbt", others, gone).ravel()
        return flow

    def spent(self, position: int, arriving: Array) -> Array:
        """Time spent at a position by what arrives there."""
        if self._known[0] != position:
            self._known = position, self._mean_times(position)
        spent: Array = arriving @ self._known[1]
        return spent

    def _mean_times(self, position: int) -> Array:
        """Mean time in each state of a position from each start; nothing is subtracted."""
        within = with_clocks(self.service.generator, self.timer, position - 1)
        ends = np.repeat(self.service.exit_rates, len(within) // len(self.service.start))
        if position > 1:
            gone = one_gone(self.timer.exit_rates, position - 1).sum(axis=1)
            ends = ends + np.tile(gone, len(within) // len(gone))
        moves = within[None].copy()
        ends = (ends + self.shift)[None]
        (times,) = until_exit(moves, ends, np.eye(len(within))[None])
        found: Array = times
        return found


class _Large:
    """The same without matrices, by the passes of `kernels`."""

    def __init__(self, chain: QueueChain, shift: float) -> None:
        self.chain = followed(chain)
        self.shift = shift
        self.tables, self.work = tables_of(self.chain), working_space(self.chain)
        self.slow = False

    def passed(self, position: int, above: Array) -> Array:
        """What a vector at the next position passes on to this one."""
        from analytic.indexing_queue.kernels import from_above

        flow = np.zeros(self.chain.inner[position])
        from_above(self.tables, above, position, 1, flow, self.work[1])
        return flow

    def spent(self, position: int, arriving: Array) -> Array:
        """Time spent at a position by what arrives there."""
        if not self.slow:
            here = self._relaxed(position, arriving)
            if here is not None:
                return here
            self.slow = True
        return integrated_times(self.chain, position - 1, arriving, self.shift)

    def _relaxed(self, position: int, arriving: Array) -> Array | None:
        """The same by Gauss-Seidel; None if phases go to and fro too fast for it."""
        from analytic.indexing_queue.kernels import block_times, number_timers, relax

        code = self.work[2]
        waiting = position - 1
        timers = len(self.chain.timer.start)
        phases = len(self.chain.service.start)
        times = np.zeros((position ** (timers - 1), phases, phases))
        block_times(self.tables, position, waiting, self.shift, times)
        number_timers(timers, position, timers**waiting, code)
        here = np.zeros(self.chain.inner[position])
        for count in range(MOST_PASSES):
            if relax(self.tables, here, arriving, times, code, count % 2 == 0) <= ROUNDING:
                return here
        return None


def sojourn_moments(chain: QueueChain, law: Array) -> Iterator[Row]:
    """First and second moments of the time from entry to end, by class of pages.

    avrachenkov2011, Theorem 4 and Corollary 1, as derived in docs/derivations.md.
    "accepted" are all pages that enter; classes without pages are left out.
    """
    pages, once, twice = ends_of(chain, entries(chain, law), 3)
    for name in CLASSES:
        rate = getattr(pages, name)
        if rate > 0:
            yield "sojourn_time", name, getattr(once, name) / rate
            yield "sojourn_time_second_moment", name, 2 * getattr(twice, name) / rate
