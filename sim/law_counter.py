"""Counts of sojourn times, cycle times and levels at arrivals, where a run is asked for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scenarios.law_points import LawPoints
from sim import rules
from sim.tally import LawsTally


def table_of(points: LawPoints) -> NDArray[np.float64]:
    """The points of each fate and of the cycles, one row each, filled up with inf."""
    rows = {rules.SERVED: points.served, rules.OBSOLETE: points.obsolete, rules.CYCLE: points.cycle}
    table = np.full((rules.CYCLE + 1, 1 + max(map(len, rows.values()))), math.inf)
    for row, times in rows.items():
        table[row, : len(times)] = times
    return table


def laws_tally(
    points: LawPoints, counts: Sequence[Sequence[int]], levels: Sequence[int]
) -> LawsTally:
    """The tally, from the counts of all rows of the table."""
    return LawsTally(
        served=tuple(counts[rules.SERVED][: len(points.served) + 1]),
        obsolete=tuple(counts[rules.OBSOLETE][: len(points.obsolete) + 1]),
        cycle=tuple(counts[rules.CYCLE][: len(points.cycle) + 1]),
        levels=tuple(levels),
    )


class LawCounter:
    """Counts times and levels as they are seen.

    Parameters
    ----------
    points : LawPoints
    top : int
        The highest level.
    """

    def __init__(self, points: LawPoints, top: int) -> None:
        self._points = points
        self._top = top
        self._table = table_of(points).tolist()
        self._cycle_start = -1.0
        self.end_warmup()

    def end_warmup(self) -> None:
        """Forget what was counted so far, but not when the present cycle began."""
        self._counts = [[0] * len(row) for row in self._table]
        self._levels = [0] * (self._top + 1)

    def count_time(self, row: int, time: float) -> None:
        """A page has met a fate after some time, or a cycle has ended."""
        self._counts[row][rules.pick_of_many(self._table[row], time)] += 1

    def count_arrivals(self, level: int, pages: int, entering: int) -> None:
        """Pages are delivered to a level, and the first of them enter."""
        for number in range(pages):
            self._levels[level + min(number, entering)] += 1

    def count_cycle(self, now: float) -> None:
        """The system ceases to be empty."""
        if self._cycle_start >= 0:
            self.count_time(rules.CYCLE, now - self._cycle_start)
        self._cycle_start = now

    def tally(self) -> LawsTally:
        """What was counted since the end of the warm-up."""
        return laws_tally(self._points, self._counts, self._levels)
