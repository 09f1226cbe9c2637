"""The queue of avrachenkov2011 event by event, from its words: slow, obvious, without its formulas.

The robots deliver as one marked process (third interpretation). Each waiting page carries the phase
of its own timer, in the order of arrival; the states are found by walking from the empty system.
Nothing of `analytic` is used, so that both can only be wrong independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm

from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Exponential, Hyperexponential


class State(NamedTuple):
    """Phase of the deliveries, of the service (-1: idle), of each timer, the oldest first."""

    deliveries: int
    service: int
    timers: tuple[int, ...]

    @property
    def level(self) -> int:
        """Pages in the system."""
        return 0 if self.service < 0 else 1 + len(self.timers)


class Event(NamedTuple):
    """Its rate, the state after it, the pages delivered, and what becomes of a page."""

    rate: float
    after: State
    delivered: int = 0
    fate: str = ""


Followed = tuple[int, tuple[int, ...]]


class Move(NamedTuple):
    """Its rate, the phases after it, what becomes of a page, and which timer ran out."""

    rate: float
    service: int
    timers: tuple[int, ...]
    fate: str = ""
    place: int = -1


class Law(NamedTuple):
    """A phase-type time: first phases, rates between phases, rates of its end."""

    start: Array
    rates: Array
    ends: Array


def law_of(law: Any) -> Law:
    """The phases of a law as a scenario writes it: exponential, hyperexponential, phase-type."""
    if isinstance(law, Exponential):
        rate = law.rate or 1.0 / (law.mean or 0.0)
        return Law(np.ones(1), np.zeros((1, 1)), np.array([rate]))
    if isinstance(law, Hyperexponential):
        count = len(law.rates)
        return Law(np.array(law.probabilities), np.zeros((count, count)), np.array(law.rates))
    rates = np.array(law.T)
    ends = -rates.sum(axis=1)
    np.fill_diagonal(rates, 0.0)
    return Law(np.array(law.alpha), rates, ends)


class QueueByEvents:
    """One scenario with marked deliveries, thresholds and partial admission."""

    def __init__(self, scenario: Scenario) -> None:
        buffer: Any = scenario.buffer
        robots: Any = scenario.robots
        self.rule: Any = scenario.activation
        self.capacity: int = buffer.waiting_places + 1
        self.service = law_of(buffer.service)
        self.timer = law_of(buffer.obsolescence)
        self.unmarked = np.array(robots.deliveries.root.D0)
        self.marked = [np.array(batches) for batches in robots.deliveries.root.robots]

    def active(self, level: int) -> int:
        """Robots active: the first number up to the first threshold, the next up to the next."""
        limits: tuple[float, ...] = (*self.rule.at, inf)
        numbers: tuple[int, ...] = self.rule.robots
        return next(n for n, limit in zip(numbers, limits, strict=True) if level <= limit)

    def events(self, state: State) -> Iterator[Event]:
        """All that can happen next."""
        yield from self._of_deliveries(state)
        if state.service >= 0:
            for move in self._moves(state.service, state.timers):
                after = state._replace(service=move.service, timers=move.timers)
                yield Event(move.rate, after, fate=move.fate)

    def _of_deliveries(self, state: State) -> Iterator[Event]:
        heard = self.active(state.level)
        for after, rate in enumerate(self.unmarked[state.deliveries]):
            if after != state.deliveries:
                yield Event(float(rate), state._replace(deliveries=after))
        for robot, batches in enumerate(self.marked):
            for pages, matrix in enumerate(batches, start=1):
                for after, rate in enumerate(matrix[state.deliveries]):
                    moved = state._replace(deliveries=after)
                    if robot >= heard:
                        yield Event(float(rate), moved)
                        continue
                    for share, entered in self._entered(moved, pages):
                        yield Event(float(rate) * share, entered, pages)

    def _entered(self, state: State, pages: int) -> Iterator[tuple[float, State]]:
        """The states after a batch with their probabilities: first phases are drawn."""
        if state.service < 0:
            for phase, share in enumerate(self.service.start):
                served = state._replace(service=phase)
                for draw, entered in self._entered(served, pages - 1):
                    yield float(share) * draw, entered
            return
        fitting = min(pages, self.capacity - state.level)
        for drawn in product(range(len(self.timer.start)), repeat=fitting):
            share = prod(float(self.timer.start[phase]) for phase in drawn)
            yield share, state._replace(timers=state.timers + drawn)

    def _moves(self, service: int, timers: tuple[int, ...]) -> Iterator[Move]:
        """What happens to the pages in the system, whatever the robots do."""
        for after, rate in enumerate(self.service.rates[service]):
            yield Move(float(rate), after, timers)
        end = float(self.service.ends[service])
        if timers:
            for phase, share in enumerate(self.service.start):
                yield Move(end * float(share), phase, timers[1:], "served")
        else:
            yield Move(end, -1, (), "served")
        for place, phase in enumerate(timers):
            before, behind = timers[:place], timers[place + 1 :]
            for after, rate in enumerate(self.timer.rates[phase]):
                yield Move(float(rate), service, (*before, after, *behind))
            yield Move(float(self.timer.ends[phase]), service, before + behind, "obsolete", place)

    @cached_property
    def states(self) -> list[State]:
        """All states, by level and then in the order of their phases."""
        found = {State(0, -1, ())}
        new = [*found]
        while new:
            state = new.pop()
            reached = {event.after for event in self.events(state) if event.rate > 0} - found
            found |= reached
            new += reached
        return sorted(found, key=lambda state: (state.level, state))

    @cached_property
    def rates(self) -> Array:
        """Rates between all states; on the diagonal what makes the rows sum to zero."""
        place = {state: index for index, state in enumerate(self.states)}
        rates = np.zeros((len(place), len(place)))
        for state, index in place.items():
            for event in self.events(state):
                if event.rate > 0:
                    rates[index, place[event.after]] += event.rate
        np.fill_diagonal(rates, 0.0)
        result: Array = rates - np.diag(rates.sum(axis=1))
        return result

    @cached_property
    def stationary(self) -> Array:
        """Probabilities in balance, of all states, that sum to one."""
        balance = self.rates.T.copy()
        balance[0] = 1.0
        one = np.zeros(len(balance))
        one[0] = 1.0
        result: Array = np.linalg.solve(balance, one)
        return result

    @cached_property
    def happening(self) -> list[tuple[float, State, Event]]:
        """Each event with the state before it, and how often it happens per unit time."""
        return [
            (float(share) * event.rate, state, event)
            for share, state in zip(self.stationary, self.states, strict=True)
            for event in self.events(state)
        ]

    @property
    def levels(self) -> Array:
        """Fraction of time with 0, 1, … pages in the system."""
        levels = np.zeros(self.capacity + 1)
        for share, state in zip(self.stationary, self.states, strict=True):
            levels[state.level] += share
        return levels

    def pages(self, fate: str) -> float:
        """Pages per unit time that are delivered, lost, or end in another way."""
        if fate == "delivered":
            return sum(often * event.delivered for often, _, event in self.happening)
        if fate == "lost":
            return sum(
                often * max(state.level + event.delivered - self.capacity, 0)
                for often, state, event in self.happening
            )
        return sum(often for often, _, event in self.happening if event.fate == fate)

    @property
    def mean_active(self) -> float:
        """Active robots on average."""
        return float(sum(p * self.active(level) for level, p in enumerate(self.levels)))

    # -- one page followed to its end ------------------------------------------------------------

    @cached_property
    def _followed(self) -> tuple[dict[Followed, int], Array, Array]:
        """States of a followed page, the rates of leaving and reaching them, and of its two ends.

        Its state is the phase of the service and the timers up to its own; none while it is served.
        """
        found = [
            (service, timers)
            for waiting in range(self.capacity)
            for timers in product(range(len(self.timer.start)), repeat=waiting)
            for service in range(len(self.service.start))
        ]
        place = {state: index for index, state in enumerate(found)}
        leaving = np.zeros((len(found), len(found)))
        ends = np.zeros((len(found), 2))
        for (service, timers), index in place.items():
            for move in self._moves(service, timers):
                leaving[index, index] += move.rate
                if move.fate == "served" and not timers:
                    ends[index, 0] += move.rate
                elif move.fate == "obsolete" and move.place == len(timers) - 1:
                    ends[index, 1] += move.rate
                else:
                    leaving[index, place[move.service, move.timers]] -= move.rate
        return place, leaving, ends

    def followed(self, s: float = 0.0, times: int = 1) -> Callable[[Followed], Array]:
        """From a state to ``E V^(times - 1) exp(-s V)`` of a page served, and of one obsolete."""
        place, leaving, ends = self._followed
        for _ in range(times):
            ends = np.linalg.solve(leaving + s * np.eye(len(leaving)), ends)
        return lambda state: ends[place[state]]

    def ended_by(self, time: float) -> Callable[[Followed], Array]:
        """From a state to the probabilities of being served, or obsolete, by a time."""
        place, leaving, ends = self._followed
        later = np.eye(len(leaving)) - expm(-leaving * time)
        ended = later @ np.linalg.solve(leaving, ends)
        return lambda state: ended[place[state]]

    def entering(
        self, value: Callable[[Followed], Array], level: int | None = None, batch: int | None = None
    ) -> Array:
        """Values of the pages that enter, summed per unit time: of all, or of one kind of batch."""
        total = np.zeros(2)
        for often, before, event in self.happening:
            met = level is None or (before.level, event.delivered) == (level, batch)
            if event.delivered and met:
                for position in range(before.level, event.after.level):
                    timers = event.after.timers[:position]
                    total += often * value((event.after.service, timers))
        return total
