"""One robot with access times of any law, and robots that share a periodic list of pages.

One robot follows a list, or draws its pages; its queue is solved at its deliveries. Robots with
exponential access times that share a list lie between "one fast robot in turn" and "pages at
random": the more robots, the less it is in turn.

Notation of the docstrings: X an access time, G the generator of the queue without deliveries, A the
map of a delivery (0 or 1), ``E = E exp(G X)``, ``H = E exp((G - mu) X)``, ``h = E exp(-mu X)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from analytic.index.accesses import accessed_pages, time_per_access
from analytic.index.formula import dependent
from analytic.indexing_queue.measures import size_of
from analytic.indexing_queue.one_robot import DeliveredQueue, queue_of_one_robot
from analytic.machinery.absorbing import total_rewards
from analytic.machinery.active_robots import most_active
from analytic.machinery.markov import stationary
from analytic.machinery.state_space import MOST_STATES
from analytic.machinery.transforms import (
    complement,
    exc,
    excess,
    log_transform,
    matrix_transform,
    mean_time,
    moments,
    time_weighted_transform,
)
from analytic.pipeline.conditions import (
    MOST_SOLUTIONS,
    MOST_WORK,
    by_kind,
)
from analytic.pipeline.random_pages import (
    Delays,
    Freshness,
    PageQueue,
    Slopes,
    queue_of_pages,
)
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.arrays import Array


@dataclass(frozen=True, eq=False)
class _Seen:
    """A queue as a page sees it: of change rate mu, or (in brackets) with an age.

    Attributes
    ----------
    missed : ndarray, shape (states,)
        Probability of a change before the next delivery, from just after one (mean time until it).
    apart : ndarray, shape (states, states)
        The queue just before the next delivery, from just after one, without a change.
    until : ndarray, shape (states,)
        Distribution of the queue just before the next delivery, from a stationary instant, without
        a change.
    first : float
        Probability of a change before that delivery (mean time until it).
    stale : ndarray, shape (states,)
        Probability of a change before a copy that enters is indexed (mean time until then).
    """

    missed: Array
    apart: Array
    until: Array
    first: float
    stale: Array

    def delivering(self, heard: Array) -> _Seen:
        """The same with accesses that deliver with some probabilities, and else change nothing.

        The quantities given are those until the next access, from just after one.
        """
        if np.all(heard == 1.0):
            return self
        skipped = self.until * (1.0 - heard)
        system = scipy.linalg.lu_factor(np.eye(len(heard)) - self.apart * (1.0 - heard))
        missed = scipy.linalg.lu_solve(system, self.missed)
        apart = scipy.linalg.lu_solve(system, self.apart * heard)
        return _Seen(
            missed=missed,
            apart=apart,
            until=self.until * heard + skipped @ apart,
            first=self.first + float(skipped @ missed),
            stale=self.stale,
        )


def _seen(queue: DeliveredQueue, mu: float) -> _Seen:
    apart = _apart(queue, mu)
    until, first = seen_until_access(queue, mu, apart)
    return _Seen(
        missed=np.full(len(queue.after), float(complement(queue.access, mu))),
        apart=apart,
        until=until,
        first=first,
        stale=Delays(queue.chain.service, np.array([mu])).stale(*queue.found)[0],
    ).delivering(queue.heard)


def _apart(queue: DeliveredQueue, mu: float) -> Array:
    return matrix_transform(queue.access, queue.generator - mu * np.eye(len(queue.after)))


def seen_until_access(
    queue: DeliveredQueue, mu: float, apart: Array | None = None
) -> tuple[Array, float]:
    """What a stationary instant sees of a page until the next access.

    Parameters
    ----------
    queue : DeliveredQueue
    mu : float
        Change rate.
    apart : ndarray, optional
        ``E exp((G - mu) X)``, where it is known.

    Returns
    -------
    until : ndarray, shape (states,)
        Distribution of the queue just before that access, without a change.
    first : float
        Probability of a change before.
    """
    q = mu * mean_time(queue.access)
    exponent = float(log_transform(queue.access, mu))
    without = queue.after @ (queue.reached - (_apart(queue, mu) if apart is None else apart))
    return without / q, (float(excess(queue.access, mu)) + float(exc(exponent))) / q


def has_variance(queue: DeliveredQueue) -> bool:
    """Whether the variance of the access times is finite; else no age has a mean."""
    return math.isfinite(moments(queue.access)[1])


def _aged(queue: DeliveredQueue) -> _Seen:
    """The same with times in place of probabilities: the derivatives by mu at 0."""
    until, first = aged_until_access(queue)
    return _Seen(
        missed=np.full(len(queue.after), mean_time(queue.access)),
        apart=queue.reached,
        until=until,
        first=first,
        stale=Delays(queue.chain.service, np.ones(1)).means(*queue.found),
    ).delivering(queue.heard)


def aged_until_access(queue: DeliveredQueue) -> tuple[Array, float]:
    """The queue just before the access after a stationary instant, and the mean time until then."""
    mean, second = moments(queue.access)
    until = queue.after @ time_weighted_transform(queue.access, queue.generator) / mean
    return until, second / (2.0 * mean)


def listed_rate(queue: DeliveredQueue, slots: NDArray[np.bool_], change: float) -> float:
    """Obsolescence rate, end to end, of a page that has some slots of a periodic list.

    Parameters
    ----------
    queue : DeliveredQueue
    slots : ndarray of bool, shape (slots,)
        Where the list has the page.
    change : float
        Change rate mu.

    Notes
    -----
    With s_j the probability, just before the delivery of slot j, that no copy delivered from then
    on is indexed before the page changes:

        s_j = 1 - y where the copy enters,  (1 - h) + H s_(j+1) where it is lost,
        s_j = (1 - h) + A H s_(j+1)         at the slots of other pages,
        r = 1 - (1 - h) / (mu E X) + p (E - H) s / (mu E X)  with the mean s over the slots.

    p is the distribution just after a delivery: level and slot are independent, for so are the
    access times. Only the values at the full queue depend on what follows: as many unknowns per
    access as the service has phases.
    """
    if change == 0.0 or not slots.any():
        return float(change > 0.0)
    return _listed(queue, slots, _seen(queue, change))


def listed_age(queue: DeliveredQueue, slots: NDArray[np.bool_]) -> float:
    """Mean age of the copy in the index, of a page that has some slots of a periodic list.

    Parameters are those of `listed_rate`; inf where the list does not have the page.

    Notes
    -----
    The mean of the time of which `listed_rate` has the transform: the same equations with times in
    place of probabilities, ``E X² / (2 E X) + p E[X exp(G X)] t / E X`` with the mean t over the
    slots.
    """
    return _listed(queue, slots, _aged(queue)) if slots.any() and has_variance(queue) else np.inf


def _listed(queue: DeliveredQueue, slots: NDArray[np.bool_], seen: _Seen) -> float:
    """Once around the list with unknown values at the full queue, and once more with those."""
    order = np.roll(np.arange(len(slots)), -int(np.flatnonzero(slots)[0]))[::-1]
    size = len(queue.after)
    full = np.flatnonzero((queue.heard > 0) & (queue.room == 0))
    unknown = np.zeros((size, len(full) + 1))
    unknown[full, np.arange(len(full))] = 1.0
    values, _ = _around(queue, seen, slots[order], unknown)
    ends = values[full]
    unknown[full, -1] = np.linalg.solve(np.eye(len(full)) - ends[:, :-1], ends[:, -1])
    _, total = _around(queue, seen, slots[order], unknown[:, -1:])
    return seen.first + float(seen.until @ total[:, -1]) / len(slots)


def _around(
    queue: DeliveredQueue, seen: _Seen, slots: NDArray[np.bool_], at_full: Array
) -> tuple[Array, Array]:
    """From the values at the full queue at an access, slot by slot back to it, and their sum.

    The last column is affine, the others are linear.
    """
    constant = np.zeros(at_full.shape[1])
    constant[-1] = 1.0
    entered = np.outer(seen.stale * queue.room, constant)
    lost = 1.0 - queue.room[:, None]
    values: Array = entered + at_full
    total = np.zeros_like(at_full)
    for has_page in slots:
        waited = np.outer(seen.missed, constant) + seen.apart @ values
        values = lost * waited + (entered if has_page else queue.enters @ waited)
        total += values
    return values, total


def random_slopes(queue: DeliveredQueue, changes: ArrayLike, shares: ArrayLike) -> Slopes:
    """Obsolescence rates, end to end, of pages that each delivery brings with a probability.

    And their derivatives by the page's own share.

    Parameters
    ----------
    queue : DeliveredQueue
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.

    Notes
    -----
    As `listed_rate`, with one value for all slots: ``s = f (1 - y) + (1 - f) ((1 - h) + A H s)``
    where a copy would enter, ``s = (1 - h) + H s`` where all is lost. Of this system ``B s = …``
    the derivatives are ``B s' = (1 - y) - (1 - h) - A H s`` and ``B s'' = -2 A H s'`` where a copy
    would enter, 0 on the right where all is lost.
    """

    def slopes(change: float, share: float) -> tuple[float, float, float]:
        if change == 0.0:
            return 0.0, 0.0, 0.0
        rate, first, second = _random(queue, share, _seen(queue, change))
        # never fetched: without the last digit of a solution
        return rate if share else 1.0, first, second

    return Slopes(*by_kind(slopes, changes, shares).T)


def random_age(queue: DeliveredQueue, share: float) -> float:
    """Mean age of the copy in the index, of a page that each delivery brings with a probability.

    Parameters are those of `random_slopes`; inf where the probability is 0. As `listed_age`.
    """
    return _random(queue, share, _aged(queue))[0] if share and has_variance(queue) else np.inf


def _random(queue: DeliveredQueue, share: float, seen: _Seen) -> tuple[float, float, float]:
    """What is seen of a page, and its first two derivatives by its share."""
    room = queue.room
    other = queue.enters @ seen.apart
    others_missed = queue.enters @ seen.missed
    lost = 1.0 - room
    moved = (1.0 - share) * other + lost[:, None] * seen.apart
    constant = share * room * seen.stale + (1.0 - share) * others_missed + lost * seen.missed
    inverse = scipy.linalg.lu_factor(np.eye(len(room)) - moved)
    values = scipy.linalg.lu_solve(inverse, constant)
    first = scipy.linalg.lu_solve(inverse, room * seen.stale - others_missed - other @ values)
    second = scipy.linalg.lu_solve(inverse, -2.0 * (other @ first))
    until = seen.until
    return seen.first + float(until @ values), float(until @ first), float(until @ second)


# --- robots that share a list ------------------------------------------------------------------


class SharedList(NamedTuple):
    """One page as r robots share a list: phases (next slot, robots that fetch the page).

    Attributes
    ----------
    phases : ndarray, shape (slots, robots + 1)
        Their stationary probabilities.
    tagged, others : csr_matrix, shape (phases, phases)
        Where a delivery leads: of a copy of the page, with the share ``h / r`` of its probability,
        and of any other page.
    """

    phases: Array
    tagged: scipy.sparse.csr_matrix
    others: scipy.sparse.csr_matrix


def fetching(slots: NDArray[np.bool_], robots: int) -> SharedList:
    """The phases of one page.

    Parameters
    ----------
    slots : ndarray of bool, shape (slots,)
        Where the list has the page.
    robots : int

    Notes
    -----
    At a delivery every robot is equally likely to be the one: with h of r robots fetching the page
    a copy comes with probability h / r; that robot takes the next slot. The start is the slot r,
    with the copies in the first r slots being fetched. What is found at a stationary instant is
    independent of the queue, for the times of deliveries tell nothing about who delivered.
    """
    length = len(slots)
    held = np.arange(robots + 1)
    taken = slots.astype(int).tolist()
    share = (held / robots)[:, None]
    came = np.stack([_step(held - 1 + more, robots) * share for more in taken])
    other = np.stack([_step(held + more, robots) * (1.0 - share) for more in taken])
    steps = came + other
    first = robots % length
    order = [(first + k) % length for k in range(length)]
    around = np.linalg.multi_dot([np.eye(robots + 1), *steps[order], np.eye(robots + 1)])
    begun = sum(bool(slots[k % length]) for k in range(robots))
    phases = np.zeros((length, robots + 1))
    phases[first] = stationary(around, begun)
    for slot in order[:-1]:
        phases[(slot + 1) % length] = phases[slot] @ steps[slot]
    return SharedList(phases / length, _next_slot(came), _next_slot(other))


def _step(after: NDArray[Any], robots: int) -> Array:
    """Zeros and ones that lead from each number of fetching robots to another."""
    return (after[:, None] == np.arange(robots + 1)).astype(float)


def _next_slot(steps: Array) -> scipy.sparse.csr_matrix:
    """From each slot to the next one, the last to the first."""
    length, size = steps.shape[:2]
    slot, held, after = steps.nonzero()
    rows = slot * size + held
    columns = (slot + 1) % length * size + after
    shape = (length * size, length * size)
    return scipy.sparse.csr_matrix((steps[slot, held, after], (rows, columns)), shape=shape)


def shared_rate(queue: PageQueue, shared: SharedList, rate: float, change: float) -> float:
    """Obsolescence rate of one page, end to end.

    Parameters
    ----------
    queue : PageQueue
        Fed by single deliveries at a constant rate.
    shared : SharedList
    rate : float
        Deliveries per unit time of all robots together.
    change : float
        Change rate mu of the page.

    Notes
    -----
    As `obsolescence_rates`, with the part of the deliveries that bring the page in place of f A:
    the phase says how many robots fetch it.
    """
    if change == 0.0:
        return 0.0
    stale = Delays(queue.service, np.array([change])).stale(queue.level, queue.phase)[0]
    return _total(queue, shared, rate, change=change, reward=change, at_entry=stale)


def shared_age(queue: PageQueue, shared: SharedList, rate: float) -> float:
    """Mean age of the copy of the page in the index; inf where no robot ever fetches it.

    Parameters are those of `shared_rate`.
    """
    if not shared.phases[:, 1:].any():
        return np.inf
    means = Delays(queue.service, np.ones(1)).means(queue.level, queue.phase)
    return _total(queue, shared, rate, change=0.0, reward=1.0, at_entry=means)


def _total(
    queue: PageQueue,
    shared: SharedList,
    rate: float,
    *,
    change: float,
    reward: float,
    at_entry: Array,
) -> float:
    """Expected total until a change or the entry of a copy: reward per unit time, and on entry."""
    phases = shared.phases.size
    states = len(queue.stationary)
    entering = queue.entering[0]
    has_room = entering > 0
    entered = scipy.sparse.diags_array(1.0 / np.where(has_room, entering, 1.0)) @ queue.moves(1)
    full = scipy.sparse.diags_array(np.where(has_room, 0.0, rate))
    comes = rate * np.asarray(shared.tagged.sum(axis=1)).ravel()
    moves = scipy.sparse.kron(scipy.sparse.eye_array(phases), queue.moves(0)) + scipy.sparse.kron(
        shared.tagged, full
    )
    moves = moves + scipy.sparse.kron(
        shared.others, rate * scipy.sparse.diags_array(1.0 * has_room) @ entered + full
    )
    ends = np.kron(comes, 1.0 * has_room)
    rewards = reward + np.kron(comes, has_room * at_entry)
    totals = total_rewards(scipy.sparse.csr_matrix(moves), change + ends)(rewards).reshape(
        phases, states
    )
    return float(shared.phases.ravel() @ totals @ queue.stationary)


# --- of a scenario ----------------------------------------------------------------------------


def cycle_of(scenario: Scenario) -> NDArray[np.intp]:
    """The pages of a periodic list in their order; empty where each access draws its page."""
    pages = accessed_pages(scenario)
    if isinstance(pages.policy, Periodic):
        return pages.policy.cycle_of(pages.shares)
    return np.zeros(0, dtype=np.intp)


@dependent
def one_fits(scenario: Scenario) -> str | None:
    """The chain at deliveries is small enough."""
    _, phases, _, top = size_of(scenario)
    size = 1 + phases * top
    slots = max(len(cycle_of(scenario)), 1)
    work = accessed_pages(scenario).pages.count * (30 * size**3 + slots * 4 * size**2)
    return None if work <= MOST_WORK else f"its pages need {work:.0e} multiplications, limit 2e10"


def freshness_of_one_robot(scenario: Scenario) -> Freshness:
    """Of pages that one robot follows in a period, or draws."""
    queue = queue_of_one_robot(scenario)
    pages = accessed_pages(scenario)
    cycle = cycle_of(scenario)
    if not len(cycle):
        return Freshness(
            rates=lambda: random_slopes(queue, pages.change_rates, pages.shares).rates,
            ages=lambda: by_kind(partial(random_age, queue), pages.shares),
            slopes=partial(random_slopes, queue),
        )
    slots = [cycle == page for page in range(pages.pages.count)]
    listed = list(zip(slots, pages.change_rates.tolist(), strict=True))
    return Freshness(
        rates=lambda: np.array([listed_rate(queue, each, change) for each, change in listed]),
        ages=lambda: np.array([listed_age(queue, each) for each in slots]),
    )


@dependent
def shared_fits(scenario: Scenario) -> str | None:
    """The chain of slots, fetching robots and queue is small enough."""
    _, phases, _, top = size_of(scenario)
    states = len(cycle_of(scenario)) * (most_active(scenario) + 1) * (1 + phases * top)
    pages = accessed_pages(scenario).pages.count
    if states > MOST_STATES:
        return f"its chain of slots and robots has {states} states, limit {MOST_STATES}"
    if states * pages > MOST_SOLUTIONS:
        return f"{states} states for each of {pages} pages take too long"
    return None


def freshness_on_shared_list(scenario: Scenario) -> Freshness:
    """Of pages on a list that robots share."""
    queue = queue_of_pages(scenario)
    rate = 1.0 / time_per_access(scenario)
    robots = most_active(scenario)
    cycle = cycle_of(scenario)
    pages = accessed_pages(scenario)
    lists = [fetching(cycle == page, robots) for page in range(pages.pages.count)]
    listed = list(zip(lists, pages.change_rates.tolist(), strict=True))
    return Freshness(
        rates=lambda: np.array([shared_rate(queue, each, rate, change) for each, change in listed]),
        ages=lambda: np.array([shared_age(queue, each, rate) for each in lists]),
    )
