"""Robots that share one periodic list of pages, with exponential access times, always active.

Between "one fast robot in turn" and "pages at random": the more robots, the less it is in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array, eye_array, kron

from analytic.markov import stationary
from analytic.pipeline.exploring import totals
from analytic.pipeline.queues import Delays, PageQueue
from scenarios.arrays import Array


class SharedList(NamedTuple):
    """One page as r robots share a list: phases (next slot, robots that fetch the page).

    Attributes
    ----------
    robots : int
    law : ndarray, shape (slots, robots + 1)
        Stationary probabilities of the phases.
    tagged, others : csr_matrix, shape (phases, phases)
        Where a delivery leads: of a copy of the page, with the share ``h / r`` of its probability,
        and of any other page.
    """

    robots: int
    law: Array
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
    law = np.zeros((length, robots + 1))
    law[first] = stationary(around, begun)
    for slot in order[:-1]:
        law[(slot + 1) % length] = law[slot] @ steps[slot]
    return SharedList(robots, law / length, _around(came), _around(other))


def _step(after: NDArray[Any], robots: int) -> Array:
    """Zeros and ones that lead from each number of fetching robots to another."""
    leads: Array = (after[:, None] == np.arange(robots + 1)).astype(float)
    return leads


def _around(steps: Array) -> csr_matrix:
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
    return _total(queue, shared, rate, (change, change, stale))


def shared_age(queue: PageQueue, shared: SharedList, rate: float) -> float:
    """Mean age of the copy of the page in the index; inf where no robot ever fetches it.

    Parameters are those of `shared_rate`.
    """
    if not shared.law[:, 1:].any():
        return np.inf
    means = Delays(queue.service, np.ones(1)).means(queue.level, queue.phase)
    return _total(queue, shared, rate, (0.0, 1.0, means))


def _total(
    queue: PageQueue, shared: SharedList, rate: float, priced: tuple[float, float, Array]
) -> float:
    """Expected total until a copy enters: the rate at which all ends, reward, and at the entry."""
    change, reward, at_entry = priced
    states = len(queue.law)
    (phases, _) = shared.tagged.shape
    quiet = _square(queue.base, queue.lower)
    entered = _square(queue.accepted[0], queue.lower)
    has_room = queue.entering[0] > 0
    entered = diags_array(1.0 / np.where(has_room, queue.entering[0], 1.0)) @ entered
    full = diags_array(np.where(has_room, 0.0, rate))
    comes = rate * np.asarray(shared.tagged.sum(axis=1)).ravel()
    moves = kron(eye_array(phases), quiet) + kron(shared.tagged, full)
    moves = moves + kron(shared.others, rate * diags_array(1.0 * has_room) @ entered + full)
    ends = np.kron(comes, 1.0 * has_room)
    rewards = reward + np.kron(comes, has_room * at_entry)
    found = totals(csr_matrix(moves), change + ends, rewards).reshape(phases, states)
    return float(shared.law.ravel() @ found @ queue.law)


def _square(band: Array, lower: int) -> csr_matrix:
    """The square matrix of a band."""
    rows, columns = band.nonzero()
    return csr_matrix((band[rows, columns], (rows, rows + columns - lower)), shape=(len(band),) * 2)
