"""The Markov chain of the indexing queue: level, arrival phase, service phase, timer phases.

avrachenkov2011, section 3 (the Lemma on the blocks of the generator). States are ordered by level,
then by arrival phase, service phase and the phases of the waiting pages' timers in their order of
arrival. The order of the timers matters: counting the timers in each phase is another model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytic.phase_type import PhaseLaw
from scenarios.arrays import Array

Moves = dict[int, Array]

NO_TIMER = PhaseLaw(np.ones(1), np.zeros((1, 1)))
"""A timer that never goes off: one phase without exit."""


def accepted_pages(level: int, batch: int, capacity: int, admission: str) -> int:
    """Pages of a batch that enter when it meets `level` pages.

    Parameters
    ----------
    level, batch : int
    capacity : int
        Places, the one in service included.
    admission : {"partial", "reject", "complete"}

    Notes
    -----
    avrachenkov2011, section 2: partial admission, complete rejection, complete admission.
    """
    if admission == "partial":
        return max(min(batch, capacity - level), 0)
    if admission == "reject":
        return batch if level + batch <= capacity else 0
    return batch if level < capacity else 0


def count_states(order: int, service_phases: int, timer_phases: int, top: int) -> int:
    """Number of states: ``W (1 + M (1 + R + … + R^(top - 1)))``.

    avrachenkov2011, section 3; for one timer phase ``W (1 + M top)``.
    """
    waiting: int = sum(timer_phases**places for places in range(top))
    return order * (1 + service_phases * waiting)


@dataclass(frozen=True)
class QueueChain:
    """The chain in the factors of its Kronecker products; no matrix over its states.

    Attributes
    ----------
    arrivals : tuple of dict, one per level
        By the number of pages that enter, the rates from arrival phase to arrival phase, shape
        (phases, order, order): one matrix for each service phase after the event, or a single one
        where that does not matter. Entry 0 holds what changes the phase only, refused batches
        included; its diagonal is zero.
    turnover : tuple of ndarray, one per level
        Arrival phases after a service completion at that level (from level 1 on), given those
        before, shape (phases, order, order) in the same sense.
    batch_rates : ndarray, shape (levels, largest batch + 1, order)
        Rate of deliveries of k pages at once, by level and arrival phase (k = 0 is not used).
    active : ndarray, shape (levels, order)
        Active robots.
    accepted : ndarray of int, shape (levels, largest batch + 1)
        Pages of a batch that enter.
    service, timer : PhaseLaw
    start : int or None
        State at time 0, where the chain has states that are never left and never reached from it.
    """

    arrivals: tuple[Moves, ...]
    turnover: tuple[Array, ...]
    batch_rates: Array
    active: Array
    accepted: NDArray[np.intp]
    service: PhaseLaw
    timer: PhaseLaw
    start: int | None = None

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.arrivals) - 1

    @property
    def order(self) -> int:
        """Arrival phases (or numbers of active robots)."""
        return int(self.active.shape[1])

    @property
    def inner(self) -> tuple[int, ...]:
        """States of each level per arrival phase: ``1, M, M R, M R^2, …``."""
        phases = len(self.service.start)
        timers = len(self.timer.start)
        return (1, *(phases * timers**waiting for waiting in range(self.top)))

    @property
    def starts(self) -> NDArray[np.int64]:
        """First state of each level, and the number of states, shape (levels + 1,)."""
        sizes = self.order * np.array(self.inner, dtype=np.int64)
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def states(self) -> int:
        """Number of states."""
        return count_states(self.order, len(self.service.start), len(self.timer.start), self.top)


def controlled_chain(
    modes: Array,
    robots_at: Callable[[int], int],
    service: PhaseLaw,
    timer: PhaseLaw,
    capacity: int,
    admission: str,
) -> QueueChain:
    """The chain under a number of active robots that depends on the level (static, threshold).

    Parameters
    ----------
    modes : ndarray, shape (robots + 1, largest batch + 1, order, order)
        D0, D1, … for each number of active robots; the phase is kept at a change of mode. The
        diagonal of D0 is not used.
    robots_at : callable
        Active robots at a level.
    service, timer : PhaseLaw
        Laws of the service, and of the obsolescence of a waiting page (`NO_TIMER`: never).
    capacity : int
        Places, the one in service included.
    admission : {"partial", "reject", "complete"}
        Levels reach ``capacity + largest batch - 1`` under "complete".

    Notes
    -----
    avrachenkov2011, Lemma of section 3, as derived in docs/derivations.md.
    """
    largest = modes.shape[1] - 1
    order = modes.shape[2]
    top = capacity + (largest - 1 if admission == "complete" else 0)
    accepted = np.array(
        [
            [accepted_pages(level, batch, capacity, admission) for batch in range(largest + 1)]
            for level in range(top + 1)
        ]
    )
    robots = [robots_at(level) for level in range(top + 1)]
    delivered = modes.sum(axis=3)
    alike = {
        (active, entering.tobytes()): _moves(modes[active], entering)
        for active, entering in zip(robots, accepted, strict=True)
    }
    return QueueChain(
        arrivals=tuple(
            alike[active, entering.tobytes()]
            for active, entering in zip(robots, accepted, strict=True)
        ),
        turnover=(np.eye(order)[None],) * (top + 1),
        batch_rates=delivered[robots],
        active=np.repeat(np.array(robots, dtype=float)[:, None], order, axis=1),
        accepted=accepted,
        service=service,
        timer=timer,
    )


def _moves(mode: Array, accepted: NDArray[np.intp]) -> Moves:
    """Rates from arrival phase to arrival phase, by the number of pages that enter."""
    moves: Moves = {}
    for batch, entering in enumerate(accepted.tolist()):
        moves[entering] = moves.get(entering, 0.0) + mode[batch][None]
    return _without_stays(moves)


def _without_stays(moves: Moves) -> Moves:
    """The same without what changes nothing, and without matrices of zeros."""
    if 0 in moves:
        moves[0] = moves[0] * (1 - np.eye(moves[0].shape[1]))
    return {entering: matrices for entering, matrices in moves.items() if matrices.any()}


def switching_chain(
    rate: float,
    available: int,
    targets: Sequence[Sequence[int]],
    service: PhaseLaw,
    timer: PhaseLaw,
    capacity: int,
) -> QueueChain:
    """The chain under rate-limited switching; the arrival phase is the number of active robots.

    Parameters
    ----------
    rate : float
        Accesses per unit time of one active robot.
    available : int
    targets : sequence of sequence of int
        Targets by level, one row per service phase, or a single row.
    service, timer : PhaseLaw
    capacity : int
        Places, the one in service included.

    Notes
    -----
    talim2001, section 2: a robot is switched off by its delivery; then, and at a service
    completion, one robot is switched on if fewer are active than the target after the event.
    """
    counts = np.arange(available + 1.0)
    levels = range(capacity + 1)

    def switched(level: int, step: int) -> Array:
        rows = targets if level > 0 else targets[:1]
        return np.stack([_switched(available, row[level], step) for row in rows])

    def delivered(level: int) -> Moves:
        after = min(level + 1, capacity)
        return {after - level: rate * counts[:, None] * switched(after, step=-1)}

    pages = np.stack([np.zeros_like(counts), rate * counts])
    return QueueChain(
        arrivals=tuple(_without_stays(delivered(level)) for level in levels),
        turnover=tuple(switched(max(level - 1, 0), step=0) for level in levels),
        batch_rates=np.repeat(pages[None], capacity + 1, axis=0),
        active=np.repeat(counts[None], capacity + 1, axis=0),
        accepted=np.array([[0, int(level < capacity)] for level in levels]),
        service=service,
        timer=timer,
        start=available,
    )


def _switched(available: int, target: int, step: int) -> Array:
    """Where the number of active robots goes at an event: by `step`, then up one if below target.

    Shape (available + 1, available + 1), a zero row where `step` is not possible.
    """
    change = np.zeros((available + 1, available + 1))
    for active in range(-step, available + 1):
        left = active + step
        change[active, left + (1 if left < target else 0)] = 1.0
    return change
