"""One robot with independent access times of any law, by the chain at its deliveries.

Notation of the docstrings: X an access time, G the generator of the queue without deliveries, A the
map of a delivery (0 or 1), ``E = E exp(G X)``, ``H = E exp((G - mu) X)``, ``h = E exp(-mu X)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu_factor, lu_solve

from analytic.markov import stationary
from analytic.phase_type import PhaseLaw
from analytic.pipeline.queues import Delays
from analytic.pipeline.random_pages import Slopes
from analytic.transforms import (
    complement,
    exc,
    excess,
    log_transform,
    matrix_transform,
    mean_time,
    moments,
)
from scenarios.arrays import Array
from scenarios.laws import Distribution


@dataclass(frozen=True, eq=False)
class DeliveredQueue:
    """The queue between deliveries.

    Attributes
    ----------
    service : PhaseLaw
    access : Distribution
    places : int
        K, the one in service included.
    generator : ndarray, shape (states, states)
        G.
    reached : ndarray, shape (states, states)
        E: the queue just before a delivery, given that just after the one before.
    after : ndarray, shape (states,)
        Law of the queue just after a delivery.
    """

    service: PhaseLaw
    access: Distribution
    places: int
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


def delivered_queue(service: PhaseLaw, places: int, access: Distribution) -> DeliveredQueue:
    """The queue of one robot.

    Parameters
    ----------
    service : PhaseLaw
    places : int
        K, the one in service included.
    access : Distribution
        Law of the access times.
    """
    phases = len(service.start)
    size = 1 + places * phases
    generator = np.zeros((size, size))
    for level in range(1, places + 1):
        rows = slice(1 + (level - 1) * phases, 1 + level * phases)
        generator[rows, rows] = service.generator
        done = service.exit_rates
        if level == 1:
            generator[rows, 0] = done
        else:
            generator[rows, rows.start - phases : rows.start] = np.outer(done, service.start)
    reached = matrix_transform(access, generator)
    bare = DeliveredQueue(service, access, places, generator, reached, np.zeros(size))
    return replace(bare, after=stationary(reached @ bare.delivered(np.eye(size))))


def full_probability(queue: DeliveredQueue) -> float:
    """Probability that a delivery finds all places taken: ``p E 1_full``, p just after the last."""
    return float((queue.after @ queue.reached)[-queue.phases :].sum())


def stationary_queue(queue: DeliveredQueue) -> Array:
    """Law of the queue at an arbitrary time, shape (states,).

    Notes
    -----
    What leaves a state enters another: ``pi G = (b - a) / E X``, with b the law just before a
    delivery and a that just after it. G without the empty state, which it never leaves, has an
    inverse without negative entries in ``(-G)^-1``; the empty state has the rest, absolutely exact
    but not relatively: where the queue hardly ever starves, its digits are those of 1.
    """
    before = queue.after @ queue.reached
    inner = queue.generator[1:, 1:]
    entering = (queue.after - before)[1:] / mean_time(queue.access)
    busy = np.maximum(np.linalg.solve(-inner.T, entering), 0.0)
    return np.concatenate([[1.0 - busy.sum()], busy])


_LEVELS = 5
_LARGEST_STEP = 0.02


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
        Law of the queue just before the next delivery, from a stationary instant, without a change.
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
        stale=Delays(queue.service, np.array([mu])).stale(*_places(queue))[0],
    )


def _places(queue: DeliveredQueue) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Level and phase of the service of each state."""
    level = np.concatenate([[0], np.repeat(np.arange(queue.places) + 1, queue.phases)])
    phase = np.concatenate([[0], np.tile(np.arange(queue.phases), queue.places)])
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
        stale=Delays(queue.service, np.ones(1)).means(*_places(queue)),
    )


def _time_weighted(queue: DeliveredQueue, step: float) -> Array:
    """``E X exp(G X)``, the derivative of -H at mu = 0, by Richardson's extrapolation.

    From (E - H) / mu at mu = step / 2^k: relative errors below 1e-9.
    """
    steps = [step / 2.0**level for level in range(_LEVELS)]
    eye = np.eye(len(queue.after))
    found = [
        (queue.reached - matrix_transform(queue.access, queue.generator - mu * eye)) / mu
        for mu in steps
    ]
    for order in range(1, _LEVELS):
        weight = 2.0**order
        found = [(weight * finer - coarser) / (weight - 1.0) for coarser, finer in pairwise(found)]
    return found[0]


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

    p is the law just after a delivery: level and slot are independent, the access times being so.
    Only the values at the full queue depend on what follows: as many unknowns per visit as the
    service has phases.
    """
    if change == 0.0 or not slots.any():
        return float(change > 0.0)
    return _listed(queue, slots, _seen(queue, change))


def listed_age(queue: DeliveredQueue, slots: NDArray[np.bool_]) -> float:
    """Mean age of the copy in the index, of a page that has some slots of a periodic list.

    Parameters are those of `listed_rate`; inf where the list does not have the page.

    Notes
    -----
    The mean of the time whose transform `listed_rate` finds: the same equations with times in place
    of probabilities, ``E X² / (2 E X) + p E[X exp(G X)] t / E X`` with the mean t over the slots.
    """
    return _listed(queue, slots, _aged(queue)) if slots.any() else np.inf


def _listed(queue: DeliveredQueue, slots: NDArray[np.bool_], seen: _Seen) -> float:
    order = np.roll(np.arange(len(slots)), -int(np.flatnonzero(slots)[0]))[::-1]
    size = len(queue.after)
    full = slice(len(queue.after) - queue.phases, None)
    unknown = np.zeros((size, queue.phases + 1))
    unknown[full, :-1] = np.eye(queue.phases)
    around, _ = _around(queue, seen, slots[order], unknown)
    ends = around[full]
    unknown[full, -1] = np.linalg.solve(np.eye(queue.phases) - ends[:, :-1], ends[:, -1])
    _, total = _around(queue, seen, slots[order], unknown[:, -1:])
    return seen.first + float(seen.until @ total[:, -1]) / len(slots)


def _around(
    queue: DeliveredQueue, seen: _Seen, slots: NDArray[np.bool_], values: Array
) -> tuple[Array, Array]:
    """From the values at the full queue at a visit, slot by slot back to it, and their sum.

    The last column is affine, the others are linear.
    """
    constant = np.zeros(values.shape[1])
    constant[-1] = 1.0
    full = slice(len(values) - queue.phases, None)
    entered = np.outer(seen.stale, constant)
    entered[full] = 0.0
    found: Array = entered + values
    total = np.zeros_like(values)
    for is_visit in slots:
        waited = seen.missed * constant + seen.apart @ found
        found = queue.delivered(waited)
        if is_visit:
            found = entered.copy()
            found[full] = waited[full]
        total += found
    return found, total


def random_rate(queue: DeliveredQueue, share: float, change: float) -> float:
    """Obsolescence rate, end to end, of a page that each delivery brings with a probability.

    Parameters
    ----------
    queue : DeliveredQueue
    share : float
        f.
    change : float
        Change rate mu.

    Notes
    -----
    As `listed_rate`, with one value for all slots: ``s = f (1 - y) + (1 - f) ((1 - h) + A H s)``
    where a copy would enter, ``s = (1 - h) + H s`` where all is lost.
    """
    if change == 0.0 or share == 0.0:
        return float(change > 0.0)
    return _random(queue, share, _seen(queue, change))[0]


def random_slopes(queue: DeliveredQueue, changes: ArrayLike, shares: ArrayLike) -> Slopes:
    """Obsolescence rates and their derivatives by the page's own share, one robot.

    Parameters
    ----------
    queue : DeliveredQueue
    changes, shares : array_like, shape (pages,)
        Change rates mu, and probabilities f that a delivery is of this page.

    Notes
    -----
    The system of `random_rate` once more: ``B s' = (1 - y) - (1 - h) - A H s`` and
    ``B s'' = -2 A H s'`` where a copy would enter, 0 on the right where all is lost.
    """
    pages = np.stack([np.asarray(changes, dtype=float), np.asarray(shares, dtype=float)], axis=1)
    kinds, which = np.unique(pages, axis=0, return_inverse=True)
    rows = [
        _random(queue, share, _seen(queue, change)) if change else (0.0, 0.0, 0.0)
        for change, share in kinds.tolist()
    ]
    found = np.array(rows)[which.ravel()]
    return Slopes(found[:, 0], found[:, 1], found[:, 2])


def random_age(queue: DeliveredQueue, share: float) -> float:
    """Mean age of the copy in the index, of a page that each delivery brings with a probability.

    Parameters are those of `random_rate`; inf where the probability is 0. As `listed_age`.
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
