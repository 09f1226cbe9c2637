"""Thresholds that the level passes at one place and goes back at another: level and control.

A control says how many thresholds are passed and, where robots take a time to start, how many of
those that each threshold switches on have not yet begun. It stands beside the phase of the
deliveries in the arrival phase of the chain, which an event may change together with the level
(docs/theory/indexing-queue.md, "Hysteresis").
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.chain import (
    Moves,
    QueueChain,
    admitted_by_level,
    controlled_chain,
    without_stays,
)
from analytic.indexing_queue.levels_and_fates import Marginals
from analytic.machinery.phase_type import PhaseLaw, exponential_rate
from analytic.machinery.refusal import NoAnswerError
from scenarios.arrays import Array, IntArray
from scenarios.model import Hysteresis

MOST_PHASES = 1500
"""Controls times phases of the deliveries: matrices of their square are built."""


class Control(NamedTuple):
    """Thresholds that are passed, and of the robots behind each of them those that start."""

    passed: int
    starting: tuple[int, ...]


def count_phases(given: Hysteresis, order: int) -> int:
    """Arrival phases: controls times phases of the deliveries, without a list of them.

    Raises
    ------
    NoAnswerError
        If there are too many.
    """
    sizes = [before - after for before, after in pairwise(given.robots)]
    controls = len(given.robots)
    if given.start_up is not None:
        each = (math.prod(size + 1 for size in sizes[passed:]) for passed in range(controls))
        controls = sum(each)
    if controls * order > MOST_PHASES:
        number = controls * order
        raise NoAnswerError(f"{number} phases of deliveries and start-ups, limit {MOST_PHASES}")
    return controls * order


@dataclass(frozen=True)
class Controls:
    """All controls of a rule, the one at time 0 first."""

    given: Hysteresis

    @cached_property
    def each(self) -> list[Control]:
        """The controls: those with fewer thresholds passed first, nobody starting first."""
        most = self._sizes if self.given.start_up else (0,) * len(self._sizes)
        return [
            Control(passed, (*[0] * passed, *starting))
            for passed in range(len(self.given.robots))
            for starting in product(*(range(size + 1) for size in most[passed:]))
        ]

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """Robots that each threshold switches."""
        return tuple(before - after for before, after in pairwise(self.given.robots))

    @cached_property
    def _index(self) -> dict[Control, int]:
        return {control: index for index, control in enumerate(self.each)}

    @property
    def active(self) -> IntArray:
        """Robots that are active, those that start included."""
        return np.array([self.given.robots[each.passed] for each in self.each])

    @property
    def working(self) -> IntArray:
        """Robots that deliver."""
        return self.active - np.array([sum(each.starting) for each in self.each])

    def settled(self, level: int) -> IntArray:
        """The control after an event that leaves the system at a level, by the one before."""
        return np.array([self._index[self._after(each, level)] for each in self.each])

    def _after(self, control: Control, level: int) -> Control:
        passed = control.passed
        while passed < len(self.given.at) and level > self.given.at[passed]:
            passed += 1
        while passed > 0 and level <= self.given.back[passed - 1]:
            passed -= 1
        starting = list(control.starting)
        starting[:passed] = [0] * passed
        if self.given.start_up is not None:
            starting[passed : control.passed] = self._sizes[passed : control.passed]
        return Control(passed, tuple(starting))

    @property
    def changes(self) -> Array:
        """Rates at which robots that start begin their access, from control to control."""
        rates = np.zeros((len(self.each), len(self.each)))
        for index, control in enumerate(self.each):
            for after, rate in self._begun(control):
                rates[index, self._index[after]] += rate
        return rates

    def _begun(self, control: Control) -> Iterator[tuple[Control, float]]:
        if self.given.start_up is None:
            return
        rate = exponential_rate(self.given.start_up)
        assert rate is not None
        for place, number in enumerate(control.starting):
            if number:
                fewer = list(control.starting)
                fewer[place] -= 1
                yield control._replace(starting=tuple(fewer)), number * rate


def threshold_chain(
    modes: Array,
    given: Hysteresis,
    service: PhaseLaw,
    patience: PhaseLaw,
    capacity: int,
    admission: str,
    limit: int | None = None,
) -> QueueChain:
    """The chain under thresholds whose switches are counted; parameters as `hysteresis_chain`.

    Where the level alone says who is active, the arrival phase is that of the deliveries.
    """
    if not given.is_memoryless:
        return hysteresis_chain(modes, given, service, patience, capacity, admission, limit)
    most = given.robots[0] if limit is None else limit

    def active(level: int) -> int:
        return min(given.robots[bisect_left(given.at, level)], most)

    chain = controlled_chain(modes, active, service, patience, capacity, admission)
    return replace(chain, settled=np.tile(np.arange(chain.order), (chain.top + 1, 1)))


def hysteresis_chain(
    modes: Array,
    given: Hysteresis,
    service: PhaseLaw,
    patience: PhaseLaw,
    capacity: int,
    admission: str,
    limit: int | None = None,
) -> QueueChain:
    """The chain under thresholds with a way back of their own; phases by control, then delivery.

    Parameters
    ----------
    modes : ndarray, shape (robots + 1, largest batch + 1, order, order)
        As `controlled_chain`; under a start-up those of robots with exponential accesses.
    given : Hysteresis
        With a start-up that is exponential, if any.
    service, patience, capacity, admission
        As `controlled_chain`.
    limit : int, optional
        At most so many robots are active.

    Raises
    ------
    NoAnswerError
        If there are too many controls.
    """
    order = modes.shape[2]
    count_phases(given, order)
    controls = Controls(given)
    accepted = admitted_by_level(modes, capacity, admission)
    most = given.robots[0] if limit is None else limit
    active = np.minimum(controls.active, most)
    working = np.minimum(controls.working, most)
    settled = [controls.settled(level) for level in range(len(accepted))]
    phases = np.arange(order)

    def by_phase(of_controls: IntArray) -> IntArray:
        return (of_controls[:, None] * order + phases).ravel()

    # levels with the same controls and admissions share their matrices
    @cache
    def turn(after: tuple[int, ...]) -> Array:
        return np.eye(len(active) * order)[by_phase(np.array(after))][None]

    @cache
    def moves(here: tuple[int, ...], entering: tuple[tuple[int, tuple[int, ...]], ...]) -> Moves:
        begun = controls.changes[list(here)]  # no control that cannot be there is closed
        total: Moves = {0: np.kron(begun, np.eye(order))[None]}
        for batch, (pages, after) in enumerate(entering):
            rates = modes[working[list(here)], batch]
            if batch == 0:
                rates = rates * (1 - np.eye(order))
            block = np.zeros((len(active), order, len(active), order))
            block[np.arange(len(active)), :, list(after), :] = rates
            flat = block.reshape(1, len(active) * order, -1)
            total[pages] = total.get(pages, 0.0) + flat
        return without_stays(total)

    as_tuples = [tuple(each.tolist()) for each in settled]
    delivered = modes.sum(axis=3)
    rates_here = [delivered[working[each]] for each in settled]
    return QueueChain(
        arrivals=tuple(
            moves(here, tuple((pages, as_tuples[level + pages]) for pages in entering))
            for level, (here, entering) in enumerate(zip(as_tuples, accepted.tolist(), strict=True))
        ),
        turnover=tuple(turn(as_tuples[max(level - 1, 0)]) for level in range(len(accepted))),
        batch_rates=np.stack(
            [np.moveaxis(each, 1, 0).reshape(modes.shape[1], -1) for each in rates_here]
        )[..., None],
        active=np.stack([np.repeat(active[each], order) for each in settled])[..., None].astype(
            float
        ),
        accepted=accepted,
        service=service,
        patience=patience,
        settled=np.stack([by_phase(each) for each in settled]),
    )


def switch_rate(chain: QueueChain, marginals: Marginals) -> float:
    """Robots that are switched on per unit time: by services, and where waiting pages are dropped.

    Parameters
    ----------
    chain : QueueChain
        With `settled`.
    marginals : Marginals
        Of its stationary distribution.
    """
    left = marginals.phases @ chain.service.exit_rates + marginals.obsolete.sum(axis=2)
    return switched_on(chain, left)


def switched_on(chain: QueueChain, left: Array) -> float:
    """The same, from the pages that leave each level per unit time, shape (levels, order)."""
    assert chain.settled is not None
    active = chain.active[..., 0]
    after = np.take_along_axis(active[:-1], chain.settled[:-1], axis=1)
    return float((left[1:] * np.maximum(after - active[1:], 0.0)).sum())


def deliveries_by_control(modes: Array, given: Hysteresis) -> Array:
    """Rates of the deliveries of one page in every control, before robots are switched.

    Parameters
    ----------
    modes, given
        As `hysteresis_chain`.

    Returns
    -------
    ndarray, shape (controls × order, controls × order)
    """
    parts = modes[Controls(given).working, 1]
    number, order = parts.shape[:2]
    whole = np.zeros((number, order, number, order))
    whole[np.arange(number), :, np.arange(number), :] = parts
    return whole.reshape(number * order, -1)
