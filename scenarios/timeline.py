"""The timeline of a scenario: stretches of constant settings, and the times of observation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from scenarios.arrays import Array
from scenarios.interventions import FACTORS, LIMITS, Intervention
from scenarios.sections import Run


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch (begin, end] of time in which the same settings are in force.

    Attributes
    ----------
    begin, end : float
    robots : int or None
        At most this many robots are active; None: no limit.
    indexers : int or None
        So many indexers work, fewer than there are; None: all, or none at a service speed of 0.
    robot_speed, service_speed, change_factor, query_factor : float
        Factors, 1 where nothing is changed.
    """

    begin: float
    end: float
    robots: int | None = None
    indexers: int | None = None
    robot_speed: float = 1.0
    service_speed: float = 1.0
    change_factor: float = 1.0
    query_factor: float = 1.0

    def continued_by(self, other: Piece) -> bool:
        """Whether another piece has the same settings."""
        return replace(other, begin=self.begin, end=self.end) == self


@dataclass(frozen=True)
class Timeline:
    """What interventions make of a run, from its start to its horizon.

    Attributes
    ----------
    interventions : tuple of Intervention
        As the file gives them.
    horizon : float
    indexers : int
        Of the system without interventions.
    """

    interventions: tuple[Intervention, ...]
    horizon: float
    indexers: int = 1

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the run."""
        return self.between(0.0, self.horizon)

    def between(self, start: float, end: float) -> tuple[Piece, ...]:
        """Consecutive pieces that cover (start, end], neighbours with the same settings joined.

        A change at a time comes after every other event at that time, so that each piece holds its
        end, and not its beginning.
        """
        return _pieces(self.interventions, self.indexers, start, end)

    @property
    def begins(self) -> tuple[float, ...]:
        """When each intervention begins for the first time."""
        return tuple(each.at for each in self.interventions)

    @property
    def periods(self) -> tuple[float | None, ...]:
        """After how long each intervention repeats; None where it does not."""
        return tuple(each.every for each in self.interventions)

    @property
    def limits(self) -> frozenset[int]:
        """Limits of the active robots."""
        return frozenset(each.robots for each in self.interventions if each.robots is not None)

    @property
    def last_change(self) -> float | None:
        """When the last intervention begins or ends; None where there is none, or one repeats."""
        if any(self.periods):
            return None
        return max((each.until or each.at for each in self.interventions), default=None)

    @property
    def end(self) -> float | None:
        """When the last intervention ends; None where there is none, or one goes on or repeats."""
        return self.last_change if all(each.until for each in self.interventions) else None


@lru_cache(maxsize=8)
def _pieces(
    interventions: tuple[Intervention, ...], indexers: int, start: float, end: float
) -> tuple[Piece, ...]:
    changes = sorted(
        change for index, each in enumerate(interventions) for change in _changes(each, index, end)
    )
    breaks = sorted({start, end, *(time for time, _, _ in changes if start < time < end)})
    in_force: set[int] = set()
    found: list[Piece] = []
    done = 0
    for begin, until in pairwise(breaks):
        while done < len(changes) and changes[done][0] <= begin:
            _, begins, index = changes[done]
            (in_force.add if begins else in_force.discard)(index)
            done += 1
        each_in_force = [interventions[each] for each in sorted(in_force)]
        piece = _settings(begin, until, each_in_force, indexers)
        if found and found[-1].continued_by(piece):
            found[-1] = replace(found[-1], end=until)
        else:
            found.append(piece)
    return tuple(found)


def _changes(given: Intervention, index: int, end: float) -> Iterator[tuple[float, bool, int]]:
    """When an intervention begins (True) and ends (False) before `end`, with its number."""
    repeats = given.every is not None and not given.is_for_good
    every = given.every if repeats and given.every else math.inf
    last = max(0, math.floor((end - given.at) / every) + 1)
    for k in range(last + 1):
        shift = k * every if k else 0.0
        yield given.at + shift, True, index
        if given.until is not None and not given.is_for_good:
            yield given.until + shift, False, index


def _settings(begin: float, end: float, in_force: list[Intervention], indexers: int) -> Piece:
    effects = [each.given() for each in in_force]
    robots, working = (
        min((each[name] for each in effects if name in each), default=None) for name in LIMITS
    )
    factors = {
        name: math.prod((each[name] for each in effects if name in each), start=1.0)
        for name in FACTORS
    }
    if working == 0:
        factors["service_speed"] = 0.0
    some = working if working and working < indexers else None
    return Piece(begin, end, robots, some, **factors)


def observation_times(run: Run) -> Array:
    """Times at which the course is observed: the products j times `observe`, up to the horizon.

    Returns
    -------
    ndarray, shape (times,)
        Empty where nothing is observed.
    """
    if run.observe is None:
        return np.empty(0)
    times = np.arange(1, run.horizon / run.observe + 2) * run.observe
    return times[times <= run.horizon]
