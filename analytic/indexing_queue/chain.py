"""The Markov chain of the indexing queue: level, arrival phase, service phase, timer phases.

avrachenkov2011, section 3 (the Lemma on the blocks of the generator). States are ordered by level,
then by arrival phase, service phase and the phases of the waiting pages' timers in their order of
arrival. The order of the timers matters: counting the timers in each phase is another model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.phase_type import PhaseLaw

__all__ = [
    "NO_TIMER",
    "QueueChain",
    "accepted_pages",
    "controlled_chain",
    "count_states",
    "one_gone",
    "switching_chain",
    "with_clocks",
]

Array = NDArray[np.floating[Any]]

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
    """The chain and what happens in each of its states.

    Attributes
    ----------
    generator : ndarray, shape (states, states)
    level : ndarray of int, shape (states,)
        Pages in the system.
    batch_rates : ndarray, shape (largest batch + 1, states)
        Rate of deliveries of k pages at once (row 0 is not used).
    served_rate, obsolete_rate : ndarray, shape (states,)
        Service completions and obsolescences per unit time.
    active : ndarray, shape (states,)
        Active robots.
    accepted : ndarray of int, shape (levels, largest batch + 1)
        Pages of a batch that enter.
    service, timer : PhaseLaw
    order : int
        Arrival phases (or numbers of active robots).
    start : int or None
        State at time 0, where the chain has states that are never left and never reached from it.
    """

    generator: Array
    level: NDArray[np.intp]
    batch_rates: Array
    served_rate: Array
    obsolete_rate: Array
    active: Array
    accepted: NDArray[np.intp]
    service: PhaseLaw
    timer: PhaseLaw
    order: int
    start: int | None = None

    @property
    def top(self) -> int:
        """The highest level."""
        return int(self.level[-1])


def _powers(row: Array, exponent: int) -> Array:
    """Kronecker power of a row vector, shape (1, len(row) ** exponent)."""
    result: Array = np.ones((1, 1))
    for _ in range(exponent):
        result = np.kron(result, row[None, :])
    return result


def with_clocks(first: Array, timer: PhaseLaw, waiting: int) -> Array:
    """Kronecker sum of a matrix of phase changes and `waiting` timers."""
    clocks = [timer.generator] * waiting
    if len(timer.start) == 1:  # timers of one phase add up
        clocks = [timer.generator * waiting]
    total = first
    for clock in clocks:
        total = np.kron(total, np.eye(len(clock))) + np.kron(np.eye(len(total)), clock)
    return total


def one_gone(exits: Array, waiting: int) -> Array:
    """Rates at which one of `waiting` timers goes off and leaves the list.

    Shape (R^waiting, R^(waiting - 1)) for R = ``len(exits)`` phases.
    """
    timers = len(exits)
    if timers == 1:
        return exits[:, None] * waiting
    gone = np.zeros((timers**waiting, timers ** (waiting - 1)))
    for place in range(waiting):
        before, after = np.eye(timers**place), np.eye(timers ** (waiting - 1 - place))
        gone += np.kron(np.kron(before, exits[:, None]), after)
    return gone


class _Blocks:
    """Offsets of the levels in the state space, and a generator to fill block by block."""

    def __init__(self, order: int, service: PhaseLaw, timer: PhaseLaw, top: int) -> None:
        self.order, self.service, self.timer = order, service, timer
        self.sizes: list[int]
        phases, timers = len(service.start), len(timer.start)
        self.sizes = [order] + [order * phases * timers**waiting for waiting in range(top)]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.generator = np.zeros((self.starts[-1], self.starts[-1]))

    def add(self, origin: int, target: int, block: Array) -> None:
        """Add rates from one level to another."""
        rows = slice(self.starts[origin], self.starts[origin + 1])
        columns = slice(self.starts[target], self.starts[target + 1])
        self.generator[rows, columns] += block

    def inner(self, level: int) -> int:
        """States of a level per arrival phase."""
        return self.sizes[level] // self.order

    def arrival_block(self, level: int, entering: int, arrivals: Array) -> Array:
        """Block of deliveries of which `entering` pages enter, from the level upwards."""
        if entering == 0:
            return np.kron(arrivals, np.eye(self.inner(level)))
        if level == 0:
            first = self.service.start[None, :]
            return np.kron(arrivals, np.kron(first, _powers(self.timer.start, entering - 1)))
        clocks = _powers(self.timer.start, entering)
        return np.kron(np.kron(arrivals, np.eye(self.inner(level))), clocks)

    def service_block(self, level: int, phase_change: Array | None = None) -> Array:
        """Block of service completions; the timer of the page that is picked up is dropped."""
        change = np.eye(self.order) if phase_change is None else phase_change
        done = self.service.exit_rates[:, None]
        if level == 1:
            return np.kron(change, done)
        timers = len(self.timer.start)
        picked = np.kron(np.ones((timers, 1)), np.eye(timers ** (level - 2)))
        return np.kron(change, np.kron(done * self.service.start[None, :], picked))

    def obsolescence_block(self, level: int) -> Array:
        """Block of obsolescences: the timer of one waiting page goes off and leaves the list."""
        gone = one_gone(self.timer.exit_rates, level - 1)
        return np.kron(np.eye(self.order * len(self.service.start)), gone)

    def quiet_block(self, level: int, arrivals: Array) -> Array:
        """Block of changes of phases within a level."""
        if level == 0:
            return arrivals
        served = self.service.generator
        phases = np.kron(arrivals, np.eye(len(served))) + np.kron(np.eye(self.order), served)
        return with_clocks(phases, self.timer, level - 1)


def _levels(sizes: Sequence[int]) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(sizes)), sizes)


def _rates_of_events(blocks: _Blocks) -> tuple[Array, Array]:
    """Service completions and obsolescences per unit time in each state."""
    served, obsolete = [np.zeros(blocks.sizes[0])], [np.zeros(blocks.sizes[0])]
    for level in range(1, len(blocks.sizes)):
        served.append(blocks.service_block(level).sum(axis=1))
        empty = np.zeros(blocks.sizes[level])
        obsolete.append(blocks.obsolescence_block(level).sum(axis=1) if level > 1 else empty)
    return np.concatenate(served), np.concatenate(obsolete)


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
        D0, D1, … for each number of active robots; the phase is kept at a change of mode.
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
    avrachenkov2011, Lemma of section 3, in the form of the catalogue's section 2.
    """
    largest = modes.shape[1] - 1
    top = capacity + (largest - 1 if admission == "complete" else 0)
    blocks = _Blocks(modes.shape[2], service, timer, top)
    accepted = np.array(
        [
            [accepted_pages(level, batch, capacity, admission) for batch in range(largest + 1)]
            for level in range(top + 1)
        ]
    )
    rates, active = [], []
    for level in range(top + 1):
        robots = robots_at(level)
        mode = modes[robots]
        blocks.add(level, level, blocks.quiet_block(level, mode[0]))
        for batch in range(1, largest + 1):
            entering = int(accepted[level, batch])
            block = blocks.arrival_block(level, entering, mode[batch])
            blocks.add(level, level + entering, block)
        if level >= 1:
            blocks.add(level, level - 1, blocks.service_block(level))
        if level >= 2:
            blocks.add(level, level - 1, blocks.obsolescence_block(level))
        rates.append(np.repeat(mode.sum(axis=2), blocks.inner(level), axis=1))
        active.append(np.full(blocks.sizes[level], float(robots)))
    served, obsolete = _rates_of_events(blocks)
    return QueueChain(
        generator=blocks.generator,
        level=_levels(blocks.sizes),
        batch_rates=np.concatenate(rates, axis=1),
        served_rate=served,
        obsolete_rate=obsolete,
        active=np.concatenate(active),
        accepted=accepted,
        service=service,
        timer=timer,
        order=blocks.order,
    )


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
    blocks = _Blocks(available + 1, service, timer, capacity)
    counts = np.arange(available + 1.0)
    for level in range(capacity + 1):
        blocks.add(level, level, blocks.quiet_block(level, np.zeros((available + 1,) * 2)))
        after = min(level + 1, capacity)
        for phase in range(len(service.start)):
            delivered = _switched(available, targets, after, phase, step=-1) * (
                rate * counts[:, None]
            )
            blocks.add(level, after, _in_phase(blocks, level, after, phase, delivered))
            if level >= 1:
                moved = _switched(available, targets, level - 1, phase, step=0)
                blocks.add(level, level - 1, _served_into(blocks, level, phase, moved))
        if level >= 2:
            blocks.add(level, level - 1, blocks.obsolescence_block(level))
    served, obsolete = _rates_of_events(blocks)
    active = np.concatenate([np.repeat(counts, blocks.inner(i)) for i in range(capacity + 1)])
    accepted = np.array([[0, int(level < capacity)] for level in range(capacity + 1)])
    return QueueChain(
        generator=blocks.generator,
        level=_levels(blocks.sizes),
        batch_rates=np.stack([np.zeros_like(active), rate * active]),
        served_rate=served,
        obsolete_rate=obsolete,
        active=active,
        accepted=accepted,
        service=service,
        timer=timer,
        order=blocks.order,
        start=available,
    )


def _switched(
    available: int, targets: Sequence[Sequence[int]], level: int, phase: int, step: int
) -> Array:
    """Where the number of active robots goes at an event: by `step`, then up one if below target.

    Shape (available + 1, available + 1), a zero row where `step` is not possible.
    """
    row = targets[phase if len(targets) > 1 and level > 0 else 0]
    change = np.zeros((available + 1, available + 1))
    for active in range(-step, available + 1):
        left = active + step
        change[active, left + (1 if left < row[level] else 0)] = 1.0
    return change


def _in_phase(blocks: _Blocks, level: int, after: int, phase: int, change: Array) -> Array:
    """Block of deliveries after which the service is in `phase`."""
    full = blocks.arrival_block(level, after - level, change)
    return full * _is_in_phase(blocks, after, phase)


def _served_into(blocks: _Blocks, level: int, phase: int, change: Array) -> Array:
    """Block of service completions after which the next service is in `phase`."""
    if level == 1:
        return blocks.service_block(level, change) * (phase == 0)
    return blocks.service_block(level, change) * _is_in_phase(blocks, level - 1, phase)


def _is_in_phase(blocks: _Blocks, level: int, phase: int) -> Array:
    """One for each state of a level whose service phase is `phase`, as a row."""
    if level == 0:
        return np.full((1, blocks.sizes[0]), float(phase == 0))
    phases, waiting = len(blocks.service.start), len(blocks.timer.start) ** (level - 1)
    inner = np.repeat(np.arange(phases) == phase, waiting)
    return np.tile(inner, blocks.order)[None, :].astype(float)
