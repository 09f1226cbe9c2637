"""Pages without a buffer over time, where every access takes the same time: rounds of deliveries.

All robots that are ever active are in step. A robot that is switched off at the end of a round
keeps its page for the next one, and the order of the pages goes on with the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from analytic.index.accesses import access_law, accessed_pages
from analytic.index.conditions import fleet_of
from analytic.machinery.active_robots import most_active
from analytic.machinery.transforms import exc, mean_time
from analytic.transient.pages import PageSegment, active_robots, between
from scenarios import Scenario
from scenarios.accessing.policy import Indices, Planned
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.page_data import access_shares
from scenarios.timeline import Piece

_SAME_TIME = 1e-9
"""Accesses; a round that ends within so little of a stop ends at it."""


class Rounds:
    """When the rounds end: the k-th when the robots have worked for k access times.

    Parameters
    ----------
    time : float
        What an access takes.
    """

    def __init__(self, time: float) -> None:
        self._time = time
        self._worked = 0.0
        self._done = 0

    def ends_in(self, begin: float, end: float, speed: float) -> Array:
        """The ends of the rounds in (begin, end], at a constant speed; intervals come in order."""
        before = self._worked
        self._worked += speed * (end - begin)
        first = self._done
        self._done = max(math.floor(self._worked / self._time + _SAME_TIME), first)
        if self._done == first:
            return np.empty(0)
        work = np.arange(first + 1, self._done + 1) * self._time - before
        return np.minimum(begin + np.maximum(work, 0.0) / speed, end)


class _RobotsInStep:
    """Robots whose accesses all take the same time, and their pages.

    Parameters
    ----------
    scenario : Scenario
        That meets the conditions of `analytic.transient.formulas`.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._accessed = accessed_pages(scenario)
        self._rates = self._accessed.change_rates
        self._time = mean_time(present(access_law(scenario)))
        self._robots = most_active(scenario)

    def _intervals(
        self, timeline: Sequence[Piece], stops: Sequence[float]
    ) -> Iterator[tuple[Piece, int, float, float, Array]]:
        """Between changes and stops: the settings, active robots, both ends, ends of rounds."""
        rounds = Rounds(self._time)
        for piece in timeline:
            robots = active_robots(self._robots, piece)
            for begin, end in between(piece, stops):
                yield piece, robots, begin, end, rounds.ends_in(begin, end, piece.robot_speed)


class PagesInOrder(_RobotsInStep):
    """Pages of a sequence that is the same in every replication."""

    def follow(self, timeline: Sequence[Piece], stops: Sequence[float]) -> Iterator[PageSegment]:
        """The segments between all changes and stops, one after the other."""
        policy = self._accessed.policy
        assert isinstance(policy, Planned)
        sequence = _Sequence(policy.plan(access_shares(policy, self._accessed.pages)))
        carried = sequence.take(self._robots)
        age: Array = np.zeros(len(self._rates))
        for piece, robots, begin, end, ends in self._intervals(timeline, stops):
            known = np.concatenate([carried[:robots], sequence.take(robots * len(ends))])
            delivered, carried[:robots] = np.split(known, [robots * len(ends)])
            when = np.repeat(ends, robots)
            stale_time, age = self._passed(begin, end, piece.change_factor, age, delivered, when)
            crawled = np.bincount(delivered, minlength=len(age)).astype(float)
            stale = -np.expm1(-self._rates * age)
            yield PageSegment(begin, end, stale, stale_time, crawled, piece.query_factor, robots)

    def _passed(
        self, begin: float, end: float, factor: float, age: Array, page: Indices, when: Array
    ) -> tuple[Array, Array]:
        """Time out of date in an interval, and the ages after it, of copies renewed meanwhile.

        Ages are in changes per change rate: they grow by the factor.
        """
        pages = np.arange(len(age))
        page = np.concatenate([pages, page])
        begins = np.concatenate([np.full(len(age), begin), when])
        ages = np.concatenate([age, np.zeros(len(when))])
        order = np.lexsort((begins, page))  # stable: a copy that is there comes first
        page, begins, ages = page[order], begins[order], ages[order]
        last = np.flatnonzero(np.diff(page, append=len(age)))
        ends = np.append(begins[1:], end)
        ends[last] = end
        lengths = ends - begins
        changes = self._rates[page] * factor * lengths
        grown = exc(changes) - np.expm1(-self._rates[page] * ages) * -np.expm1(-changes)
        with np.errstate(invalid="ignore", divide="ignore"):
            stale = lengths * np.where(
                changes > 0, grown / changes, -np.expm1(-self._rates[page] * ages)
            )
        total: Array = np.bincount(page, stale, len(age)).astype(float)
        return total, ages[last] + factor * lengths[last]


class PagesInRounds(_RobotsInStep):
    """Pages drawn at random by robots in step."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._hits = self._accessed.shares * (1.0 - fleet_of(scenario).failure_probability)

    def follow(self, timeline: Sequence[Piece], stops: Sequence[float]) -> Iterator[PageSegment]:
        """The segments between all changes and stops, one after the other."""
        stale = np.zeros(len(self._rates))
        for piece, robots, begin, end, ends in self._intervals(timeline, stops):
            missed = (1.0 - self._hits) ** robots
            stale_time = np.zeros(len(stale))
            for length, renewed in zip(
                np.diff([begin, *ends, end]), [*(missed for _ in ends), 1.0], strict=True
            ):
                changes = self._rates * piece.change_factor * length
                gone = -np.expm1(-changes)
                with np.errstate(invalid="ignore"):
                    grown = (exc(changes) + stale * gone) / changes
                stale_time += length * np.where(changes > 0, grown, stale)
                stale = (stale + (1.0 - stale) * gone) * renewed
            crawled = self._hits * robots * len(ends)
            yield PageSegment(begin, end, stale, stale_time, crawled, piece.query_factor, robots)


class _Sequence:
    """Pages taken from a plan at a time."""

    def __init__(self, blocks: Iterator[Indices]) -> None:
        self._blocks = blocks
        self._left: Indices = np.zeros(0, dtype=np.intp)

    def take(self, count: int) -> Indices:
        """The next pages."""
        parts = [self._left]
        found = len(self._left)
        while found < count:
            parts.append(np.asarray(next(self._blocks), dtype=np.intp))
            found += len(parts[-1])
        taken, self._left = np.split(np.concatenate(parts), [count])
        return taken.copy()
