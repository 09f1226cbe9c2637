"""Robots that follow a list, or one that draws its pages, before waiting pages that have timers.

The first copy of a page that is delivered after an instant may be dropped while a later one is
indexed. So every copy is followed that is delivered from then on: each waiting page has a mark,
whether it is such a copy, beside the phase of its timer. When the service of a marked page begins
the rest is known. With n waiting pages there are ``2^n`` marks: this is for small buffers.

One robot with access times X of any law is followed from access to access. The queue between them,
with the generator G, is uniformised at a rate L: with steps ``U = I + G / L`` and N the number of
Poisson events of the rate ``L + mu`` during an access,
``E e^{(G - mu) X} = Σ P(N = k) (L / (L + mu))^k U^k``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from scipy.sparse import csr_matrix, diags_array, eye_array, kron

from analytic.index import page_conditions
from analytic.index.formula import dependent
from analytic.index.page_conditions import accessed_pages
from analytic.indexing_queue import QueueChain, chain_of, solve_chain
from analytic.indexing_queue.chain import rate_entries
from analytic.indexing_queue.measures import size_of
from analytic.indexing_queue.one_robot import DeliveredQueue, queue_of_one_robot
from analytic.machinery.absorbing import total_rewards
from analytic.machinery.active_robots import most_active
from analytic.machinery.phase_type import PhaseLaw, moment
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.state_space import MOST_STATES
from analytic.machinery.transforms import complement, mean_time, poisson_counts
from analytic.pipeline.conditions import MOST_SOLUTIONS
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
from scenarios.arrays import Array, Indices
from scenarios.laws import Distribution

_MOST_STEPS = 2**17
_MOST_WORK = 10**10
"""Products of sparse matrices and vectors over all pages: half a minute."""

_ROUNDS = 20
"""Times around the list in which its values are usually found."""

_NEGLIGIBLE = 1e-17
_LEFT = 1e-15
_ACCURACY = 1e-13


class MarkedQueue(NamedTuple):
    """A queue whose waiting pages may be marked, with the deliveries apart from the other moves.

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
    unmarked : ndarray of int
        The states without a mark, in the order of those of the chain.
    """

    service: PhaseLaw
    silent: csr_matrix
    begun: Array
    others: csr_matrix
    marked: csr_matrix
    at_once: Array
    unmarked: Indices


def marked_queue(chain: QueueChain, rate: float = 1.0) -> MarkedQueue:
    """The queue of a chain with marks.

    Parameters
    ----------
    chain : QueueChain
        First come first served, with single deliveries that have no phase.
    rate : float
        Of its deliveries.

    Notes
    -----
    A mark is a phase more of a timer, kept until the page leaves.
    """
    phases = chain.patience_phases
    plain = replace(chain, patience=_with_marks(chain.patience, np.array([1.0, 0.0])))
    service = chain.service
    endless = PhaseLaw(service.start, service.generator + np.diag(service.exit_rates))
    rises, rows, columns, rates = rate_entries(replace(plain, service=endless))
    kept = (rises <= 0) & (rows != columns)
    other = rises > 0
    for_ever = PhaseLaw(plain.patience.start, np.zeros_like(plain.patience.generator))
    ends = rate_entries(replace(plain, patience=for_ever, arrivals=({},) * (chain.top + 1)))
    done = ends.rises == -1
    starts = plain.starts
    level = np.repeat(np.arange(chain.top + 1), np.diff(starts))
    states = np.arange(plain.states)
    oldest = np.maximum((2 * phases) ** np.maximum(level - 2, 0), 1)
    is_marked = (level > 1) & ((states - starts[level]) // oldest % (2 * phases) >= phases)
    begins = done & is_marked[ends.rows]
    goes_on = done & ~is_marked[ends.rows]
    own = rate_entries(replace(chain, patience=_with_marks(chain.patience, np.array([0.0, 1.0]))))
    joins = (own.rises > 0) & (level[own.rows] > 0)

    def matrix(rows: Indices, columns: Indices, rates: Array) -> csr_matrix:
        return csr_matrix((rates, (rows, columns)), shape=(len(states), len(states)))

    others = matrix(rows[other], columns[other], rates[other] / rate)
    return MarkedQueue(
        service=service,
        silent=matrix(rows[kept], columns[kept], rates[kept])
        + matrix(ends.rows[goes_on], ends.columns[goes_on], ends.rates[goes_on]),
        begun=np.bincount(ends.rows[begins], ends.rates[begins], len(states)).astype(float),
        others=others,
        marked=matrix(own.rows[joins], own.columns[joins], own.rates[joins] / rate),
        at_once=np.where(level == 0, _room(others), 0.0),
        unmarked=_unmarked(chain, starts),
    )


def _with_marks(law: PhaseLaw, mark: Array) -> PhaseLaw:
    return PhaseLaw(np.kron(mark, law.start), np.kron(np.eye(2), law.generator))


def _unmarked(chain: QueueChain, starts: Indices) -> Indices:
    phases = np.arange(chain.patience_phases)
    timers = np.zeros(1, dtype=np.intp)
    found = [timers]
    for level in range(1, chain.top + 1):
        if level > 1:
            timers = (timers[:, None] * 2 * len(phases) + phases).ravel()
        served = np.arange(chain.service_phases) * (2 * len(phases)) ** (level - 1)
        found.append(starts[level] + (served[:, None] + timers).ravel())
    return np.concatenate(found)


def _room(others: csr_matrix) -> Array:
    """1 where a delivery enters."""
    return np.asarray(others.sum(axis=1)).ravel().round()


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

    step: csr_matrix
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
    step = csr_matrix(queue.silent / rate + diags_array(1.0 - out / rate))
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
) -> float:
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

    Notes
    -----
    With u_j the probability, just before the access of slot j, of a change before the service of a
    marked page has ended, and a_j the same just after it,

        a_j = E ∫_0^X e^{(G - mu) t} dt (mu 1 + b (1 - y)) + E e^{(G - mu) X} u_(j+1),
        u_j = f_j (M a_j + o (1 - y)) + (1 - f_j) A a_j  where a page enters,  a_j  elsewhere;

    b are the rates at which such services begin, y is the transform of a service, M and A say where
    deliveries lead, and o is 1 at the empty system. docs/theory/through-the-buffer.md.
    """
    if change == 0.0 or not shares.any():
        return float(change > 0.0)
    until, first = seen_until_access(delivered, change)
    followed = _changing(queue.service, change)
    return first + float(until @ _around(delivered, queue, steps, shares, followed))


def marked_age(delivered: DeliveredQueue, queue: MarkedQueue, steps: Steps, shares: Array) -> float:
    """Mean age of the copy in the index; as `marked_rate`, with times in place of probabilities."""
    if not shares.any() or not has_variance(delivered):
        return np.inf
    until, first = aged_until_access(delivered)
    followed = _ageing(queue.service)
    return first + float(until @ _around(delivered, queue, steps, shares, followed))


def _around(
    delivered: DeliveredQueue,
    queue: MarkedQueue,
    steps: Steps,
    shares: Array,
    followed: _Followed,
) -> Array:
    """What is to come just before an access without a mark, in the mean over the slots."""
    during, at_end = _over_access(delivered.access, steps, followed.change)
    heard = 1.0 - delivered.failure
    stays = 1.0 - heard * _room(queue.others)
    missed = during(followed.reward + queue.begun * followed.indexing)
    at_once = queue.at_once * followed.indexing

    def rounded(values: Array, given: float) -> tuple[Array, Array]:
        """Once around the list; `given` is 1, or 0 for the part that is linear in the values."""
        total = np.zeros_like(values)
        for share in shares[::-1].tolist():
            after = given * missed + at_end(values)
            values = stays * after
            if share:
                values += heard * share * (queue.marked @ after + given * at_once)
            if share < 1.0:
                values += heard * (1.0 - share) * (queue.others @ after)
            total += values
        return values, total / len(shares)

    size = len(stays)
    system = scipy.sparse.linalg.LinearOperator(
        (size, size), lambda values: values - rounded(values, 0.0)[0], dtype=float
    )
    start, _ = rounded(np.zeros(size), 1.0)
    found, failed = scipy.sparse.linalg.gmres(
        system, start, x0=start, rtol=_ACCURACY, atol=0.0, restart=min(size, 100), maxiter=20
    )
    if failed:
        raise NoAnswerError("what is to come before an access was not found in 2000 rounds")
    return rounded(found, 1.0)[1][queue.unmarked]


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

        return of

    return over(kept * more / rate, spent), over(kept * exactly, 1.0 - missed)


# --- robots that share a list -------------------------------------------------------------------


def shared_marked(
    queue: MarkedQueue, stationary: Array, shared: SharedList, rate: float, followed: _Followed
) -> float:
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

    Notes
    -----
    As `periodic_lists.shared_rate`, with the marks; it ends when the service of a marked page
    begins.
    """
    room = _room(queue.others)
    lost = diags_array(rate * (1.0 - room))
    moves = kron(eye_array(shared.phases.size), queue.silent)
    moves = moves + kron(shared.tagged, rate * queue.marked + lost)
    moves = moves + kron(shared.others, rate * queue.others + lost)
    comes = rate * np.asarray(shared.tagged.sum(axis=1)).ravel()
    begins = np.kron(np.ones_like(comes), queue.begun) + np.kron(comes, queue.at_once)
    solve = total_rewards(csr_matrix(moves), followed.change + begins)
    totals = solve(followed.reward + begins * followed.indexing)
    by_phase = totals.reshape(shared.phases.size, -1)[:, queue.unmarked]
    return float(shared.phases.ravel() @ by_phase @ stationary)


# --- of a scenario ------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _of_one_robot(scenario: Scenario) -> tuple[DeliveredQueue, MarkedQueue, Steps]:
    delivered = queue_of_one_robot(scenario)
    queue = marked_queue(delivered.chain)
    return delivered, queue, steps_of(queue)


def _marked_states(scenario: Scenario) -> int:
    _, phases, timers, top = size_of(scenario)
    return 1 + phases * sum((2 * timers) ** waiting for waiting in range(top))


def _few_states(scenario: Scenario, more: int = 1) -> str | None:
    states = more * _marked_states(scenario)
    if states <= MOST_STATES:
        return None
    return f"which waiting pages are of one page are {states:.3g} states, limit {MOST_STATES}"


@dependent
def marks_fit(scenario: Scenario) -> str | None:
    """The chain of which waiting pages are of one page is small enough."""
    if reason := _few_states(scenario):
        return reason
    delivered, _, steps = _of_one_robot(scenario)
    jumps = steps.rate * mean_time(delivered.access)
    each = min(steps.settled, 10.0 * jumps + 64.0) * steps.step.nnz
    work = len(_shares_of_pages(scenario)) * max(len(cycle_of(scenario)), 1) * _ROUNDS * each
    return None if work <= _MOST_WORK else f"its pages need {work:.0e} products, limit 1e10"


def _shares_of_pages(scenario: Scenario) -> list[Array]:
    """Probability that an access is of each page, slot by slot."""
    cycle = cycle_of(scenario)
    pages = accessed_pages(scenario)
    if not len(cycle):
        return list(pages.shares[:, None])
    return [(cycle == page).astype(float) for page in range(pages.pages.count)]


def freshness_of_marked(scenario: Scenario) -> Freshness:
    """Of pages that one robot follows in a period, or draws; waiting pages have timers."""
    parts = _of_one_robot(scenario)
    shares = _shares_of_pages(scenario)
    changes = accessed_pages(scenario).change_rates.tolist()
    return Freshness(
        rates=lambda: np.array(
            [marked_rate(*parts, own, mu) for own, mu in zip(shares, changes, strict=True)]
        ),
        ages=lambda: np.array([marked_age(*parts, own) for own in shares]),
    )


@dependent
def shared_marks_fit(scenario: Scenario) -> str | None:
    """The chain of slots, fetching robots and waiting pages of one page is small enough."""
    more = len(cycle_of(scenario)) * (most_active(scenario) + 1)
    if reason := _few_states(scenario, more):
        return reason
    states = more * _marked_states(scenario) * accessed_pages(scenario).pages.count
    return None if states <= MOST_SOLUTIONS else f"{states} states of all pages take too long"


def freshness_of_shared_marked(scenario: Scenario) -> Freshness:
    """Of pages on a list that robots share; waiting pages have timers."""
    chain = chain_of(scenario)
    rate = 1.0 / page_conditions.time_per_access(scenario)
    robots = most_active(scenario)
    cycle = cycle_of(scenario)
    queue = marked_queue(chain, rate)
    stationary = solve_chain(chain).stationary
    pages = accessed_pages(scenario)
    lists = [fetching(cycle == page, robots) for page in range(pages.pages.count)]

    def rate_of(shared: SharedList, change: float) -> float:
        if change == 0.0:
            return 0.0
        return shared_marked(queue, stationary, shared, rate, _changing(queue.service, change))

    def age_of(shared: SharedList) -> float:
        if not shared.phases[:, 1:].any():
            return np.inf
        return shared_marked(queue, stationary, shared, rate, _ageing(queue.service))

    changes = pages.change_rates.tolist()
    return Freshness(
        rates=lambda: np.array([rate_of(*each) for each in zip(lists, changes, strict=True)]),
        ages=lambda: np.array([age_of(each) for each in lists]),
    )
