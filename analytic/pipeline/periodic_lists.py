"""One robot with access times of any law, and robots that share a periodic list of pages.

One robot follows a list, or draws its pages; its queue is solved at its deliveries. Robots with
exponential access times that share a list lie between "one fast robot in turn" and "pages at
random": the more robots, the less it is in turn.

Notation of the docstrings: X an access time, G the generator of the queue without deliveries, A the
map of a delivery (0 or 1), ``E = E exp(G X)``, ``H = E exp((G - mu) X)``, ``h = E exp(-mu X)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse import csr_matrix, diags_array, eye_array, kron

from analytic import conditions, page_conditions
from analytic.active_robots import most_active
from analytic.conditions import buffer_of
from analytic.formula import Values, dependent
from analytic.indexing_queue.measures import level_rows, service_and_patience, size_of
from analytic.markov import stationary
from analytic.page_conditions import accessed_pages
from analytic.phase_type import PhaseLaw, phase_count
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
from analytic.pipeline.state_space import MOST_STATES, total_rewards
from analytic.transforms import (
    complement,
    exc,
    excess,
    log_transform,
    matrix_transform,
    mean_time,
    moments,
)
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.arrays import Array
from scenarios.laws import Distribution

_RICHARDSON_STEPS = 5
_LARGEST_STEP = 0.02
_SMALLEST = 1e-6
"""Starvation probabilities below this are left out: their digits are lost in those of 1."""


@dataclass(frozen=True, eq=False)
class DeliveredQueue:
    """The queue between deliveries.

    Attributes
    ----------
    service : PhaseLaw
    access : Distribution
    capacity : int
        K, the page in service included.
    generator : ndarray, shape (states, states)
        G.
    reached : ndarray, shape (states, states)
        E: the queue just before a delivery, given that just after the one before.
    after : ndarray, shape (states,)
        Distribution of the queue just after a delivery.
    """

    service: PhaseLaw
    access: Distribution
    capacity: int
    generator: Array
    reached: Array
    after: Array

    @property
    def phases(self) -> int:
        """Phases of the service."""
        return len(self.service.start)

    def delivered(self, values: Array) -> Array:
        """``A values``: from the values just after a delivery those just before it."""
        rest = self.phases
        first = self.service.start @ values[1 : 1 + rest]
        result: Array = np.concatenate([first[None], values[1 + rest :], values[-rest:]])
        return result


def delivered_queue(service: PhaseLaw, capacity: int, access: Distribution) -> DeliveredQueue:
    """The queue of one robot.

    Parameters
    ----------
    service : PhaseLaw
    capacity : int
        K, the page in service included.
    access : Distribution
        Law of the access times.
    """
    phases = len(service.start)
    size = 1 + capacity * phases
    generator = np.zeros((size, size))
    for level in range(1, capacity + 1):
        rows = slice(1 + (level - 1) * phases, 1 + level * phases)
        generator[rows, rows] = service.generator
        done = service.exit_rates
        if level == 1:
            generator[rows, 0] = done
        else:
            generator[rows, rows.start - phases : rows.start] = np.outer(done, service.start)
    reached = matrix_transform(access, generator)
    bare = DeliveredQueue(service, access, capacity, generator, reached, np.zeros(size))
    return replace(bare, after=stationary(reached @ bare.delivered(np.eye(size))))


def full_probability(queue: DeliveredQueue) -> float:
    """Probability that a delivery finds the buffer full: ``p E 1_full``, p just after the last."""
    return float((queue.after @ queue.reached)[-queue.phases :].sum())


def stationary_queue(queue: DeliveredQueue) -> Array:
    """Stationary distribution of the queue at an arbitrary time, shape (states,).

    Notes
    -----
    What leaves a state enters another: ``pi G = (b - a) / E X``, with b the distribution just
    before a delivery and a that just after it. Without the empty state, which G never leaves,
    ``(-G)^-1`` has no negative entries; the empty state has the rest, absolutely exact but not
    relatively: where the queue hardly ever starves, its digits are those of 1.
    """
    before = queue.after @ queue.reached
    inner = queue.generator[1:, 1:]
    entering = (queue.after - before)[1:] / mean_time(queue.access)
    busy = np.maximum(np.linalg.solve(-inner.T, entering), 0.0)
    return np.concatenate([[1.0 - busy.sum()], busy])


@dataclass(frozen=True, eq=False)
class _Seen:
    """A queue as a page sees it: of change rate mu, or (in brackets) with an age.

    Attributes
    ----------
    missed : float
        1 - h (E X).
    apart : ndarray, shape (states, states)
        H (E).
    until : ndarray, shape (states,)
        Distribution of the queue just before the next delivery, from a stationary instant, without
        a change.
    first : float
        Probability of a change before that delivery (mean time until it).
    stale : ndarray, shape (states,)
        Probability of a change before a copy that enters is indexed (mean time until then).
    """

    missed: float
    apart: Array
    until: Array
    first: float
    stale: Array


def _seen(queue: DeliveredQueue, mu: float) -> _Seen:
    apart = matrix_transform(queue.access, queue.generator - mu * np.eye(len(queue.after)))
    q = mu * mean_time(queue.access)
    exponent = float(log_transform(queue.access, mu))
    return _Seen(
        missed=float(complement(queue.access, mu)),
        apart=apart,
        until=queue.after @ (queue.reached - apart) / q,
        first=(float(excess(queue.access, mu)) + float(exc(exponent))) / q,
        stale=Delays(queue.service, np.array([mu])).stale(*_levels_and_phases(queue))[0],
    )


def _levels_and_phases(queue: DeliveredQueue) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Level and phase of the service of each state."""
    level = np.concatenate([[0], np.repeat(np.arange(queue.capacity) + 1, queue.phases)])
    phase = np.concatenate([[0], np.tile(np.arange(queue.phases), queue.capacity)])
    return level, phase


def _aged(queue: DeliveredQueue) -> _Seen:
    """The same with times in place of probabilities: the derivatives by mu at 0."""
    mean, second = moments(queue.access)
    remaining = second / (2.0 * mean)
    return _Seen(
        missed=mean,
        apart=queue.reached,
        until=queue.after @ _time_weighted(queue, _LARGEST_STEP / remaining) / mean,
        first=remaining,
        stale=Delays(queue.service, np.ones(1)).means(*_levels_and_phases(queue)),
    )


def _time_weighted(queue: DeliveredQueue, step: float) -> Array:
    """``E X exp(G X)``, the derivative of -H at mu = 0, by Richardson's extrapolation.

    From (E - H) / mu at mu = step / 2^k: relative errors below 1e-9.
    """
    steps = [step / 2.0**level for level in range(_RICHARDSON_STEPS)]
    eye = np.eye(len(queue.after))
    slopes = [
        (queue.reached - matrix_transform(queue.access, queue.generator - mu * eye)) / mu
        for mu in steps
    ]
    for order in range(1, _RICHARDSON_STEPS):
        weight = 2.0**order
        slopes = [
            (weight * finer - coarser) / (weight - 1.0) for coarser, finer in pairwise(slopes)
        ]
    return slopes[0]


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
    return _listed(queue, slots, _aged(queue)) if slots.any() else np.inf


def _listed(queue: DeliveredQueue, slots: NDArray[np.bool_], seen: _Seen) -> float:
    """Once around the list with unknown values at the full queue, and once more with those."""
    order = np.roll(np.arange(len(slots)), -int(np.flatnonzero(slots)[0]))[::-1]
    size = len(queue.after)
    full = slice(size - queue.phases, None)
    unknown = np.zeros((size, queue.phases + 1))
    unknown[full, :-1] = np.eye(queue.phases)
    values, _ = _around(queue, seen, slots[order], unknown)
    ends = values[full]
    unknown[full, -1] = np.linalg.solve(np.eye(queue.phases) - ends[:, :-1], ends[:, -1])
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
    full = slice(len(at_full) - queue.phases, None)
    entered = np.outer(seen.stale, constant)
    entered[full] = 0.0
    values: Array = entered + at_full
    total = np.zeros_like(at_full)
    for has_page in slots:
        waited = seen.missed * constant + seen.apart @ values
        if has_page:
            values = entered.copy()
            values[full] = waited[full]
        else:
            values = queue.delivered(waited)
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
    return _random(queue, share, _aged(queue))[0] if share else np.inf


def _random(queue: DeliveredQueue, share: float, seen: _Seen) -> tuple[float, float, float]:
    """What is seen of a page, and its first two derivatives by its share."""
    size = len(queue.after)
    enters = np.arange(size) < size - queue.phases
    other = queue.delivered(seen.apart)
    moved = np.where(enters[:, None], (1.0 - share) * other, seen.apart)
    constant = np.where(enters, share * seen.stale + (1.0 - share) * seen.missed, seen.missed)
    inverse = lu_factor(np.eye(size) - moved)
    values = lu_solve(inverse, constant)
    gained = np.where(enters, seen.stale - seen.missed - other @ values, 0.0)
    first = lu_solve(inverse, gained)
    second = lu_solve(inverse, np.where(enters, -2.0 * (other @ first), 0.0))
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
    tagged: csr_matrix
    others: csr_matrix


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
    leads: Array = (after[:, None] == np.arange(robots + 1)).astype(float)
    return leads


def _next_slot(steps: Array) -> csr_matrix:
    """From each slot to the next one, the last to the first."""
    length, size = steps.shape[:2]
    slot, held, after = steps.nonzero()
    rows = slot * size + held
    columns = (slot + 1) % length * size + after
    shape = (length * size, length * size)
    return csr_matrix((steps[slot, held, after], (rows, columns)), shape=shape)


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
    entered = diags_array(1.0 / np.where(has_room, entering, 1.0)) @ queue.moves(1)
    full = diags_array(np.where(has_room, 0.0, rate))
    comes = rate * np.asarray(shared.tagged.sum(axis=1)).ravel()
    moves = kron(eye_array(phases), queue.moves(0)) + kron(shared.tagged, full)
    moves = moves + kron(shared.others, rate * diags_array(1.0 * has_room) @ entered + full)
    ends = np.kron(comes, 1.0 * has_room)
    rewards = reward + np.kron(comes, has_room * at_entry)
    totals = total_rewards(csr_matrix(moves), change + ends)(rewards).reshape(phases, states)
    return float(shared.phases.ravel() @ totals @ queue.stationary)


# --- of a scenario ----------------------------------------------------------------------------


def _cycle(scenario: Scenario) -> NDArray[np.intp]:
    """The pages of a periodic list in their order; empty where each access draws its page."""
    pages = accessed_pages(scenario)
    if isinstance(pages.policy, Periodic):
        return pages.policy.cycle_of(pages.shares)
    return np.zeros(0, dtype=np.intp)


def _states_of_one_robot(scenario: Scenario) -> int:
    buffer = buffer_of(scenario)
    return 1 + (phase_count(conditions.service_law(scenario)) or 0) * buffer.capacity


@dependent
def chain_fits(scenario: Scenario) -> str | None:
    """The chain at deliveries needs at most 2·10^10 multiplications."""
    work = 30 * _states_of_one_robot(scenario) ** 3
    return None if work <= MOST_WORK else f"its chain needs {work:.0e} multiplications, limit 2e10"


@dependent
def one_fits(scenario: Scenario) -> str | None:
    """The chain at deliveries is small enough."""
    size = _states_of_one_robot(scenario)
    slots = max(len(_cycle(scenario)), 1)
    work = accessed_pages(scenario).pages.count * (30 * size**3 + slots * 4 * size**2)
    return None if work <= MOST_WORK else f"its pages need {work:.0e} multiplications, limit 2e10"


def queue_of_one_robot(scenario: Scenario) -> DeliveredQueue:
    """The queue of a scenario with one robot, between its deliveries."""
    service, _ = service_and_patience(scenario)
    access = page_conditions.law_between_accesses(scenario)
    return delivered_queue(service, buffer_of(scenario).capacity, access)


def freshness_of_one_robot(scenario: Scenario) -> Freshness:
    """Of pages that one robot follows in a period, or draws."""
    queue = queue_of_one_robot(scenario)
    pages = accessed_pages(scenario)
    cycle = _cycle(scenario)
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


def rows_of_one_robot(scenario: Scenario) -> Values:
    """Levels, rates and shares of the queue of one robot; sojourns by Little's law."""
    queue = queue_of_one_robot(scenario)
    pace = 1.0 / mean_time(queue.access)
    lost = full_probability(queue)
    states = stationary_queue(queue)
    levels = np.append(states[0], states[1:].reshape(queue.capacity, -1).sum(axis=1))
    rates = {"delivered": pace, "lost": pace * lost, "obsolete": 0.0, "served": pace * (1.0 - lost)}
    starved = ("starvation_probability", None), ("level_probability", 0)
    for row in level_rows(levels, 1.0, rates):
        if levels[0] >= _SMALLEST or row[:2] not in starved:
            yield row


@dependent
def shared_fits(scenario: Scenario) -> str | None:
    """The chain of slots, fetching robots and queue is small enough."""
    _, phases, _, top = size_of(scenario)
    states = len(_cycle(scenario)) * (most_active(scenario) + 1) * (1 + phases * top)
    pages = accessed_pages(scenario).pages.count
    if states > MOST_STATES:
        return f"its chain of slots and robots has {states} states, limit {MOST_STATES}"
    if states * pages > MOST_SOLUTIONS:
        return f"{states} states for each of {pages} pages take too long"
    return None


def freshness_on_shared_list(scenario: Scenario) -> Freshness:
    """Of pages on a list that robots share."""
    queue = queue_of_pages(scenario)
    rate = 1.0 / page_conditions.time_per_access(scenario)
    robots = most_active(scenario)
    cycle = _cycle(scenario)
    pages = accessed_pages(scenario)
    lists = [fetching(cycle == page, robots) for page in range(pages.pages.count)]
    listed = list(zip(lists, pages.change_rates.tolist(), strict=True))
    return Freshness(
        rates=lambda: np.array([shared_rate(queue, each, rate, change) for each, change in listed]),
        ages=lambda: np.array([shared_age(queue, each, rate) for each in lists]),
    )
