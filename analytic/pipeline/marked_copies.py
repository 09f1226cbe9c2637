"""Robots that follow a list, or one that draws its pages, before waiting pages that have timers.

The first copy of a page that is delivered after an instant may be dropped while a later one is
indexed. So every copy is followed that is delivered from then on: each waiting page has a mark,
whether it is such a copy, beside the phase of its timer. When the service of a marked page begins
the rest is known. With n waiting pages there are ``2^n`` marks. Where these are too many, marks of
more pages than some at a time are left out, and what that can change is computed.

One robot with access times X of any law is followed from access to access. The queue between them,
with the generator G, is uniformised at a rate L: with steps ``U = I + G / L`` and N the number of
Poisson events of the rate ``L + mu`` during an access,
``E e^{(G - mu) X} = Σ P(N = k) (L / (L + mu))^k U^k``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy

from analytic.index.accesses import accessed_pages, time_per_access
from analytic.index.formula import dependent
from analytic.indexing_queue import QueueChain, chain_of, solve_chain
from analytic.indexing_queue.measures import size_of
from analytic.indexing_queue.one_robot import DeliveredQueue, queue_of_one_robot
from analytic.machinery.absorbing import total_rewards
from analytic.machinery.active_robots import most_active
from analytic.machinery.phase_type import PhaseLaw, moment
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.state_space import Move, explore
from analytic.machinery.transforms import complement, mean_time, poisson_counts
from analytic.pipeline.conditions import MOST_SOLUTIONS
from analytic.pipeline.patience import phases_drawn
from analytic.pipeline.periodic_lists import (
    SharedList,
    aged_until_access,
    cycle_of,
    fetching,
    has_variance,
    seen_until_access,
)
from analytic.pipeline.random_pages import Delays, Freshness
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution

_MOST_STEPS = 2**17
_MOST_WORK = 3 * 10**10
"""Products of sparse matrices and vectors over all pages: a minute."""

_FEW_STATES = 300
"""States up to which what an access does is one dense matrix, and all marks are tried at once."""

_ROUNDS = 20
"""Times around the list in which its values are usually found."""

_MOST_FOLLOWED = 10_000
"""States of the marks of one page."""

_MOST_SHARED = 6_000
"""The same times slots and robots: what is eliminated in a second, for each page."""

_BEGUN, _OTHERS, _MARKED, _AT_ONCE, _CROWDED = range(1, 6)
"""Kinds of moves, beside those without a delivery."""

_NEGLIGIBLE = 1e-17
_LEFT = 1e-15
_APART = 1e-8
"""Relative difference of two bounds that does not show."""

_ACCURACY = 1e-13


class MarkedState(NamedTuple):
    """Phase of the service, -1 for none; of each waiting page, the oldest first, a label.

    Attributes
    ----------
    waiting : tuple of int
        The phase of the timer; of a marked page the number of phases is added.
    """

    phase: int
    waiting: tuple[int, ...]

    @property
    def level(self) -> int:
        """Pages in the system."""
        return 0 if self.phase < 0 else len(self.waiting) + 1


class MarkedQueue(NamedTuple):
    """A queue whose waiting pages may be marked, with the deliveries apart from the other moves.

    The first states are those of the queue, without a mark.

    Attributes
    ----------
    service : PhaseLaw
    silent : csr_matrix, shape (states, states)
        Rates without deliveries; no diagonal.
    begun : ndarray, shape (states,)
        Rates at which the service of a marked page begins.
    others, marked : csr_matrix, shape (states, states)
        Where the delivery of another page leads, and that of a page that is marked; no row where
        it is lost, or not heard.
    at_once : ndarray, shape (states,)
        1 where the service of a page begins as it is delivered; then `marked` has no row.
    crowded : csr_matrix, shape (states, states)
        Where a page leads that would be marked if there were not too many marks.
    heard : ndarray, shape (states,)
        1 where robots are heard, 0 where they are not.
    """

    service: PhaseLaw
    silent: scipy.sparse.csr_matrix
    begun: Array
    others: scipy.sparse.csr_matrix
    marked: scipy.sparse.csr_matrix
    at_once: Array
    crowded: scipy.sparse.csr_matrix
    heard: Array


@dataclass(frozen=True, eq=False)
class _Marks:
    """The moves of a queue with marks.

    Attributes
    ----------
    chain : QueueChain
    most : int
        As of `marked_queue`.
    """

    chain: QueueChain
    most: int

    @property
    def phases(self) -> int:
        """Of a timer."""
        return len(self.chain.patience.start)

    def starts(self) -> Iterator[MarkedState]:
        """No page marked, in the order of the chain's states."""
        for level in range(self.chain.top + 1):
            for phase in range(self.chain.service_phases) if level else [-1]:
                for each in product(range(self.phases), repeat=max(level - 1, 0)):
                    yield MarkedState(phase, each)

    def moves(self, state: MarkedState) -> Iterator[Move]:
        """All moves from a state."""
        if state.level:
            yield from self._served(state)
            yield from self._dropped(state)
        if 1 in self.chain.arrivals[state.level]:
            yield from self._delivered(state)

    def _served(self, state: MarkedState) -> Iterator[Move]:
        service = self.chain.service
        for phase, rate in enumerate(service.generator[state.phase].tolist()):
            if phase != state.phase:
                yield Move(rate, state._replace(phase=phase))
        done = float(service.exit_rates[state.phase])
        if not state.waiting:
            yield Move(done, MarkedState(-1, ()))
        elif state.waiting[0] >= self.phases:
            yield Move(done, state, _BEGUN)
        else:
            for phase, share in phases_drawn(service.start):
                yield Move(done * share, MarkedState(phase, state.waiting[1:]))

    def _dropped(self, state: MarkedState) -> Iterator[Move]:
        """Timers end, or change phase."""
        timer = self.chain.patience
        for ahead, label in enumerate(state.waiting):
            before, behind = state.waiting[:ahead], state.waiting[ahead + 1 :]
            mark, phase = divmod(label, self.phases)
            gone = float(timer.exit_rates[phase])
            yield Move(gone, state._replace(waiting=before + behind))
            for after, rate in enumerate(timer.generator[phase].tolist()):
                if after != phase:
                    moved = (*before, mark * self.phases + after, *behind)
                    yield Move(rate, state._replace(waiting=moved))

    def _delivered(self, state: MarkedState) -> Iterator[Move]:
        if not state.level:
            yield Move(1.0, state, _AT_ONCE)
            for phase, share in phases_drawn(self.chain.service.start):
                yield Move(share, MarkedState(phase, ()), _OTHERS)
            return
        crowded = sum(label >= self.phases for label in state.waiting) == self.most
        for phase, share in phases_drawn(self.chain.patience.start):
            joined = state._replace(waiting=(*state.waiting, phase))
            own = state._replace(waiting=(*state.waiting, self.phases + phase))
            yield Move(share, joined, _OTHERS)
            yield Move(share, joined, _CROWDED) if crowded else Move(share, own, _MARKED)


def marked_queue(chain: QueueChain, most: int) -> MarkedQueue:
    """The queue of a chain with marks.

    Parameters
    ----------
    chain : QueueChain
        First come first served, with single deliveries that have no phase.
    most : int
        Waiting pages that can be marked at a time.
    """
    walk = _Marks(chain, most)
    explored = explore(walk.starts(), walk.moves, kinds=6)
    found = explored.rates
    begun, at_once = (np.asarray(found[kind].sum(axis=1)).ravel() for kind in (_BEGUN, _AT_ONCE))
    active = chain.active[:, 0, 0] > 0
    return MarkedQueue(
        service=chain.service,
        silent=found[0],
        begun=begun,
        others=found[_OTHERS],
        marked=found[_MARKED],
        at_once=at_once,
        crowded=found[_CROWDED],
        heard=np.array([float(active[state.level]) for state in explored.states]),
    )


def _room(queue: MarkedQueue) -> Array:
    """1 where a delivery enters."""
    return np.asarray(queue.others.sum(axis=1)).ravel().round()


class _Followed(NamedTuple):
    """What is followed: a page of change rate mu until it changes, or the age of its copy, mu = 0.

    Attributes
    ----------
    change : float
        mu.
    reward : float
        Per unit time: mu, or 1.
    indexing : float
        Probability of a change during a whole service, or the mean of one.
    """

    change: float
    reward: float
    indexing: float


def _changing(service: PhaseLaw, change: float) -> _Followed:
    missed = Delays(service, np.array([change])).missed[0]
    return _Followed(change, change, float(missed @ service.start))


def _ageing(service: PhaseLaw) -> _Followed:
    return _Followed(0.0, 1.0, moment(service, 1))


# --- one robot ----------------------------------------------------------------------------------


class Steps(NamedTuple):
    """The steps of a marked queue between accesses.

    Attributes
    ----------
    step : csr_matrix, shape (states, states)
        U.
    rate : float
        L, steps per unit time.
    settled : int
        Steps after which the queue is empty, or the service of a marked page has begun.
    """

    step: scipy.sparse.csr_matrix
    rate: float
    settled: int


def steps_of(queue: MarkedQueue) -> Steps:
    """The steps of a queue.

    Raises
    ------
    NoAnswerError
        If it takes more than 131,072 of them to empty.
    """
    out = np.asarray(queue.silent.sum(axis=1)).ravel() + queue.begun
    rate = float(out.max())
    step = scipy.sparse.csr_matrix(queue.silent / rate + scipy.sparse.diags_array(1.0 - out / rate))
    busy = np.append(0.0, np.ones(len(out) - 1))
    settled = 0
    while busy.max() > _NEGLIGIBLE:
        busy = step @ busy
        settled += 1
        if settled > _MOST_STEPS:
            raise NoAnswerError(f"its buffer takes more than {_MOST_STEPS} steps to empty")
    return Steps(step, rate, settled)


def marked_rate(
    delivered: DeliveredQueue, queue: MarkedQueue, steps: Steps, shares: Array, change: float
) -> Array:
    """Obsolescence rate, end to end, of a page that one robot brings; waiting pages have timers.

    Parameters
    ----------
    delivered : DeliveredQueue
    queue, steps
        Its queue with marks.
    shares : ndarray, shape (slots,)
        Probability that an access is of this page: 0 or 1 in each slot of a list; one number if
        pages are drawn.
    change : float
        Change rate mu.

    Returns
    -------
    ndarray, shape (2,)
        Between these two it lies; they are the same where every waiting page can be marked.

    Notes
    -----
    With w_j the probability, just before the access of slot j, of a change before the service of a
    marked page has ended, and a_j the same just after it,

        a_j = E ∫_0^X e^{(G - mu) t} dt (mu 1 + b (1 - y)) + E e^{(G - mu) X} w_(j+1),
        w_j = f_j (M a_j + o (1 - y)) + (1 - f_j) A a_j  where a page enters,  a_j  elsewhere;

    b are the rates at which such services begin, y is the transform of a service, M and A say where
    deliveries lead, and o is 1 at the empty system. docs/theory/through-the-buffer.md. A copy for
    which there is no mark is taken for another page, or for one that is indexed at once.
    """
    if change == 0.0 or not shares.any():
        return np.full(2, float(change > 0.0))
    until, first = seen_until_access(delivered, change)
    followed = _changing(queue.service, change)
    return first + until @ _around(delivered, queue, steps, shares, followed)[: len(until)]


def marked_age(delivered: DeliveredQueue, queue: MarkedQueue, steps: Steps, shares: Array) -> Array:
    """Mean age of the copy in the index; as `marked_rate`, with times in place of probabilities."""
    if not shares.any() or not has_variance(delivered):
        return np.full(2, np.inf)
    until, first = aged_until_access(delivered)
    followed = _ageing(queue.service)
    return first + until @ _around(delivered, queue, steps, shares, followed)[: len(until)]


def _around(
    delivered: DeliveredQueue,
    queue: MarkedQueue,
    steps: Steps,
    shares: Array,
    followed: _Followed,
) -> Array:
    """Two bounds of what is to come just before an access, in the mean over the slots."""
    during, at_end = _over_access(delivered.access, steps, followed.change)
    unheard = 1.0 - queue.heard

    def until_heard(values: Array) -> Array:
        """The same of what is to come after an access that is not heard, and brings no new page."""
        total = values
        while unheard.any() and np.abs(values).max() > _NEGLIGIBLE * np.abs(total).max():
            values = at_end(unheard * values)
            total = total + values
        return total

    heard = 1.0 - delivered.failure
    stays = 1.0 - heard * _room(queue)
    missed = until_heard(during(followed.reward + queue.begun * followed.indexing))
    at_once = queue.at_once * followed.indexing

    def rounded(
        values: Array, given: float, marked: scipy.sparse.csr_matrix
    ) -> tuple[Array, Array]:
        """Once around the list; `given` is 1, or 0 for the part that is linear in the values."""
        total = np.zeros_like(values)
        for share in shares[::-1].tolist():
            after = given * missed + until_heard(at_end(queue.heard * values))
            values = stays * after
            if share:
                values += heard * share * (marked @ after + given * at_once)
            if share < 1.0:
                values += heard * (1.0 - share) * (queue.others @ after)
            total += values
        return values, total / len(shares)

    def at_any_access(total: Array) -> Array:
        after = missed + until_heard(at_end(queue.heard * total))
        return np.where(queue.heard > 0, total, after)

    size = len(stays)
    found: Array = np.zeros(size)
    bounds = []
    for marked in (queue.marked, queue.marked + queue.crowded)[not queue.crowded.nnz :]:
        system = scipy.sparse.linalg.LinearOperator(
            (size, size),
            lambda values, marked=marked: values - rounded(values, 0.0, marked)[0],
            dtype=float,
        )
        right, _ = rounded(np.zeros(size), 1.0, marked)
        found, failed = scipy.sparse.linalg.gmres(
            system, right, x0=found, rtol=_ACCURACY, atol=0.0, restart=min(size, 100), maxiter=20
        )
        if failed:
            raise NoAnswerError("what is to come before an access was not found in 2000 rounds")
        bounds.append(at_any_access(rounded(found, 1.0, marked)[1]))
    return np.stack([bounds[0], bounds[-1]], axis=1)


def _over_access(
    access: Distribution, steps: Steps, change: float
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """``E ∫_0^X e^{(G - mu) t} dt v`` and ``E e^{(G - mu) X} v``, as functions of v.

    What is left after so many steps that the queue is empty is added at once.
    """
    rate = steps.rate + change
    count = 64
    while True:
        exactly = poisson_counts(access, rate, count)
        beyond = max(1.0 - float(exactly.sum()), 0.0)
        if beyond < _LEFT or count >= steps.settled:
            break
        count *= 2
    more = beyond + np.append(np.cumsum(exactly[:0:-1])[::-1], 0.0)
    kept = (steps.rate / rate) ** np.arange(count)
    missed = float(complement(access, change))
    spent = missed / change if change else mean_time(access)

    def over(weights: Array, total: float) -> Callable[[Array], Array]:
        left = max(total - float(weights.sum()), 0.0)

        def of(values: Array) -> Array:
            found = np.zeros_like(values)
            for weight in weights.tolist():
                found += weight * values
                values = steps.step @ values
            return found + left * values

        size = steps.step.shape[0]
        return partial(np.matmul, of(np.eye(size))) if size <= _FEW_STATES else of

    return over(kept * more / rate, spent), over(kept * exactly, 1.0 - missed)


# --- robots that share a list -------------------------------------------------------------------


def shared_marked(
    queue: MarkedQueue, stationary: Array, shared: SharedList, rate: float, followed: _Followed
) -> Array:
    """Obsolescence rate of a page, or its age, as robots share a list; waiting pages have timers.

    Parameters
    ----------
    queue : MarkedQueue
    stationary : ndarray
        Of the queue without marks.
    shared : SharedList
    rate : float
        Deliveries per unit time of all robots together.
    followed : _Followed

    Returns
    -------
    ndarray, shape (2,)
        As `marked_rate`.

    Notes
    -----
    As `periodic_lists.shared_rate`, with the marks; it ends when the service of a marked page
    begins.
    """
    lost = scipy.sparse.diags_array(rate * (1.0 - _room(queue)))
    comes = rate * np.asarray(shared.tagged.sum(axis=1)).ravel()
    begins = np.kron(np.ones_like(comes), queue.begun) + np.kron(comes, queue.at_once)
    unmoved = scipy.sparse.kron(scipy.sparse.eye_array(shared.phases.size), queue.silent)
    unmoved = unmoved + scipy.sparse.kron(shared.others, rate * queue.others + lost)
    bounds = []
    for taken_for in (0.0, 1.0)[not queue.crowded.nnz :]:
        marked = queue.marked + taken_for * queue.crowded
        crowds = (1.0 - taken_for) * np.asarray(queue.crowded.sum(axis=1)).ravel()
        moves = unmoved + scipy.sparse.kron(shared.tagged, rate * marked + lost)
        solve = total_rewards(
            scipy.sparse.csr_matrix(moves), followed.change + begins + np.kron(comes, crowds)
        )
        totals = solve(followed.reward + begins * followed.indexing)
        by_phase = totals.reshape(shared.phases.size, -1)[:, : len(stationary)]
        bounds.append(float(shared.phases.ravel() @ by_phase @ stationary))
    return np.array([bounds[0], bounds[-1]])


# --- of a scenario ------------------------------------------------------------------------------


def _numbers_of_marks(scenario: Scenario, most: int) -> list[int]:
    """How many waiting pages are to be marked at most, at first, and where that does not suffice.

    Parameters
    ----------
    scenario : Scenario
    most : int
        States that there may be.

    Raises
    ------
    NoAnswerError
        If not even one can be marked.
    """
    _, phases, timers, top = size_of(scenario)
    states = 1
    numbers = []
    for marks in range(max(top, 2)):
        places = (math.comb(waiting, marks) * timers**waiting for waiting in range(top))
        states += phases * sum(places)
        if marks and states <= most:
            numbers.append(marks)
    if not numbers:
        raise NoAnswerError("which waiting page is a copy of one page takes too many states")
    return numbers[-1:] if states <= _FEW_STATES else numbers


def _settled(bounds: Callable[[int], Array], numbers: Sequence[int]) -> float:
    """A number between two bounds, with as many marks as it takes."""
    for marks in numbers:
        low, high = bounds(marks).tolist()
        if low == high:
            return float(low)
        if high - low <= _APART * high:
            return float(low + high) / 2.0
    raise NoAnswerError(
        f"of one page more copies may wait at once than can be followed, which are {numbers[-1]}: "
        f"one of its numbers would be known to {(high - low) / high:.1e} only"
    )


def _shares_of_pages(scenario: Scenario) -> list[Array]:
    """Probability that an access is of each page, slot by slot from its own first one on."""
    cycle = cycle_of(scenario)
    pages = accessed_pages(scenario)
    if not len(cycle):
        return list(pages.shares[:, None])
    own = ((cycle == page).astype(float) for page in range(pages.pages.count))
    return [np.roll(each, -int(each.argmax())) for each in own]


@lru_cache(maxsize=8)
def _of_one_robot(scenario: Scenario, marks: int) -> tuple[DeliveredQueue, MarkedQueue, Steps]:
    delivered = queue_of_one_robot(scenario)
    queue = marked_queue(delivered.chain, marks)
    steps = steps_of(queue)
    count = min(steps.settled, 10.0 * steps.rate * mean_time(delivered.access) + 64.0)
    slots = max(len(cycle_of(scenario)), 1) * accessed_pages(scenario).pages.count
    work = float(slots) * _ROUNDS * count * steps.step.nnz
    if work > _MOST_WORK:
        raise NoAnswerError(f"its pages need {work:.0e} products, limit {_MOST_WORK:.0e}")
    return delivered, queue, steps


class _Pages(NamedTuple):
    """Rates and ages of all pages."""

    rates: Array
    ages: Array


@Remembered
def _pages_of_one_robot(scenario: Scenario) -> _Pages:
    numbers = _numbers_of_marks(scenario, _MOST_FOLLOWED)
    _of_one_robot(scenario, numbers[0])  # or its refusal, before anything is as long as the list

    @cache
    def rate_of(slots: tuple[float, ...], change: float) -> float:
        own = np.array(slots)
        return _settled(
            lambda marks: marked_rate(*_of_one_robot(scenario, marks), own, change), numbers
        )

    @cache
    def age_of(slots: tuple[float, ...]) -> float:
        own = np.array(slots)
        return _settled(lambda marks: marked_age(*_of_one_robot(scenario, marks), own), numbers)

    slots = [tuple(own.tolist()) for own in _shares_of_pages(scenario)]
    rates = map(rate_of, slots, accessed_pages(scenario).change_rates.tolist())
    return _Pages(np.array(list(rates)), np.array(list(map(age_of, slots))))


@dependent
def marks_suffice(scenario: Scenario) -> str | None:
    """So few copies of one page wait at once that they can be followed, or more hardly ever do."""
    _pages_of_one_robot(scenario)
    return None


@Remembered
def _pages_of_shared(scenario: Scenario) -> _Pages:
    chain = chain_of(scenario)
    rate = 1.0 / time_per_access(scenario)
    robots = most_active(scenario)
    cycle = cycle_of(scenario)
    pages = accessed_pages(scenario)
    solved = min(_MOST_SHARED, MOST_SOLUTIONS // pages.pages.count)
    numbers = _numbers_of_marks(scenario, solved // (len(cycle) * (robots + 1)))
    queues = cache(partial(marked_queue, chain))
    stationary = solve_chain(chain).stationary

    def of(shared: SharedList, followed: _Followed) -> float:
        return _settled(
            lambda marks: shared_marked(queues(marks), stationary, shared, rate, followed), numbers
        )

    def rate_of(shared: SharedList, change: float) -> float:
        return of(shared, _changing(chain.service, change)) if change else 0.0

    def age_of(shared: SharedList) -> float:
        return of(shared, _ageing(chain.service)) if shared.phases[:, 1:].any() else np.inf

    lists = [fetching(cycle == page, robots) for page in range(pages.pages.count)]
    changes = pages.change_rates.tolist()
    rates = [rate_of(*each) for each in zip(lists, changes, strict=True)]
    return _Pages(np.array(rates), np.array(list(map(age_of, lists))))


@dependent
def shared_marks_suffice(scenario: Scenario) -> str | None:
    """So few copies of one page wait at once that they can be followed, or more hardly ever do."""
    _pages_of_shared(scenario)
    return None


def freshness_of_marked(scenario: Scenario) -> Freshness:
    """Of pages that one robot follows in a period, or draws; waiting pages have timers."""
    found = _pages_of_one_robot(scenario)
    return Freshness(lambda: found.rates, lambda: found.ages)


def freshness_of_shared_marked(scenario: Scenario) -> Freshness:
    """Of pages on a list that robots share; waiting pages have timers."""
    found = _pages_of_shared(scenario)
    return Freshness(lambda: found.rates, lambda: found.ages)
