"""How several sources share their probes: the least total cost on one grid, and the bound below it.

The least cost f_k(n) of n probes of source k is convex in n (`best_schedule`), so that a price on
each probe, the same for all sources, divides them. `divided` looks for the price at which the
sources together have the probes that there are: at it the best paths of all, put together, are the
optimum, for any price gives a bound,

    sum_k f_k(n_k)  >=  sum_k min_m {f_k(m) + price m} - price n    for all n_k with the sum n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analytic.probing.grid import Path, grid_of, joined
from analytic.probing.profile import Profile
from analytic.probing.sources import square_root

if TYPE_CHECKING:
    from analytic.probing.kernels import Grid

_ROUNDING = 4 * float(np.finfo(float).eps)
_KEPT_SLOTS = 4_000_000
"""Slots of all grids together up to which they are kept; else each is made when it is needed."""

_COARSER = 40
_COARSEST = 500
"""How much coarser a grid may be that gives nearly the same price, and its fewest slots."""


class Grids:
    """The grids of several sources.

    Parameters
    ----------
    profiles : sequence of Profile
    slots : int or sequence of int
        One number for all, or one for each source.
    """

    def __init__(self, profiles: Sequence[Profile], slots: int | Sequence[int]) -> None:
        self.profiles = profiles
        self.slots_of = [slots] * len(profiles) if isinstance(slots, int) else list(slots)
        self._kept: dict[int, Grid] = {}

    @property
    def slots(self) -> int:
        """The slots of each, where all have as many."""
        return self.slots_of[0]

    def __getitem__(self, source: int) -> Grid:
        if source in self._kept:
            return self._kept[source]
        made = grid_of(self.profiles[source], self.slots_of[source])
        if sum(self.slots_of) <= _KEPT_SLOTS:
            self._kept[source] = made
        return made


class Point(NamedTuple):
    """The best path of a source with this many probes, and what it costs."""

    probes: int
    cost: float
    path: Path


@dataclass(frozen=True)
class Division:
    """Paths of all sources, with this many probes together.

    Attributes
    ----------
    paths : sequence of ndarray
        Slots of the probes of each source.
    cost : float
        Of all of them, less the discounts.
    lower_bound : float
        Below that of every other choice with as many probes, to rounding errors.
    price : float
        Of a probe, at which this is best.
    """

    paths: Sequence[Path]
    cost: float
    lower_bound: float
    price: float


def divided(
    grids: Grids,
    probes: int,
    apart: Sequence[int],
    discounts: Sequence[float] | None = None,
    near: float | None = None,
) -> Division:
    """The least total cost with exactly this many probes, and how they are divided.

    Parameters
    ----------
    grids : Grids
    probes : int
        n, of all sources together, one at the end included for each. There must be room.
    apart : sequence of int
        Slots between two probes of each source, at least.
    discounts : sequence of float, optional
        Taken off the cost of a source for each of its probes.
    near : float, optional
        A price from which the search begins.
    """
    search = _Search(grids, probes, apart, discounts or [0.0] * len(apart))
    return search.run(search.first_price() if near is None else near)


class _Search:
    """The price of a probe at which the sources have this many together.

    Between the two prices at which they had too few and too many, every source has as many as at
    one of them or a number between; where these are two neighbours on its convex hull, nothing is
    left to be computed.
    """

    def __init__(
        self, grids: Grids, probes: int, apart: Sequence[int], discounts: Sequence[float]
    ) -> None:
        self._grids = grids
        self._probes = probes
        self._apart = apart
        self._discounts = discounts
        self._sources = range(len(apart))
        whole = [profile.between(0.0, profile.horizon) for profile in grids.profiles]
        self._scales = [float(each.updates * each.importance) for each in whole]
        self._fewer = [
            Point(1, float(each.cost) - discount, np.array([0, slots]))
            for each, discount, slots in zip(whole, discounts, grids.slots_of, strict=True)
        ]
        self._more: list[Point] | None = None
        self._flat: set[tuple[int, int, int]] = set()
        self._prices = [math.inf, -math.inf]
        self._stride = 1.02

    def first_price(self) -> float:
        """A price near the right one: that of a coarse grid, or of very many probes."""
        grids = self._grids
        slots = grids.slots // _COARSER
        apart = [-(-each // _COARSER) for each in self._apart]
        room = sum(slots // each for each in apart)
        if slots >= _COARSEST and 2 * self._probes <= room:
            return divided(Grids(grids.profiles, slots), self._probes, apart).price
        root = sum(map(square_root, grids.profiles))
        return (root / self._probes) ** 2 / 2 or max(self._scales) / self._probes**2 or 1.0

    def run(self, price: float) -> Division:
        """The division, from the first price on."""
        while True:
            least, most = self._at(price)
            low = sum(point.probes for point in least)
            high = sum(point.probes for point in most)
            if low <= self._probes <= high:
                return self._put_together(least, most, price)
            if low > self._probes:
                self._more, self._prices[1] = least, price
            else:
                self._fewer, self._prices[0] = most, price
            price = self._next_price(price, low, high)

    def _at(self, price: float) -> tuple[list[Point], list[Point]]:
        """Of each source the best points at a price, with the fewest and with the most probes."""
        least = []
        most = []
        for source in self._sources:
            best = self._best(source, price)
            least.append(best[0])
            most.append(best[-1])
        return least, most

    def _best(self, source: int, price: float) -> list[Point]:
        """All points known to be best at a price, by their numbers of probes."""
        known = [self._fewer[source]]
        if self._more is not None:
            known.append(self._more[source])
        if not self._is_known(source):
            known.append(self._tried(source, price))
        value = min(point.cost + price * point.probes for point in known)
        probes = max(point.probes for point in known)
        slack = _ROUNDING * (self._scales[source] + abs(price) * probes)
        best = {
            point.probes: point
            for point in known
            if point.cost + price * point.probes <= value + slack
        }
        if self._more is not None and {each.probes for each in known[:2]} <= best.keys():
            self._flat.add((source, known[0].probes, known[1].probes))
        return [best[number] for number in sorted(best)]

    def _is_known(self, source: int) -> bool:
        """Whether no point of the hull lies between those known."""
        if self._more is None:
            return False
        fewer = self._fewer[source].probes
        more = self._more[source].probes
        return more - fewer <= 1 or (source, fewer, more) in self._flat

    def _tried(self, source: int, price: float) -> Point:
        from analytic.probing.kernels import chain, links_cost

        grid = self._grids[source]
        discount = self._discounts[source]
        prices = np.full(len(grid.cost) + 1, price - discount)
        _, path = chain(grid, self._apart[source], prices)
        probes = len(path) - 1
        return Point(probes, links_cost(grid, path) - discount * probes, path)

    def _next_price(self, price: float, low: int, high: int) -> float:
        """The price to try: while the sides are far apart by the power law, else that of a chord.

        With the chords in the order of their prices, it is the one with which the probes are used
        up: at its price both its ends are as good.
        """
        if self._more is None or math.isinf(self._prices[0]):
            return self._outwards(price, low if low > self._probes else high)
        chords = [
            ((few.cost - more.cost) / (more.probes - few.probes), more.probes - few.probes)
            for few, more in zip(self._fewer, self._more, strict=True)
            if more.probes > few.probes
        ]
        few = sum(point.probes for point in self._fewer)
        more = sum(point.probes for point in self._more)
        upper, lower = self._prices
        if lower > 0 and more - few > 4 * len(self._sources):
            share = (self._probes - few) / (more - few)
            between = (upper**-0.5 + (lower**-0.5 - upper**-0.5) * share) ** -2
            if lower < between < upper:
                return float(between)
        chords.sort(reverse=True)
        given = np.cumsum([width for _, width in chords])
        return chords[int(np.searchsorted(given, self._probes - few))][0]

    def _outwards(self, price: float, found: int) -> float:
        """A price beyond the one that gave too few probes, or too many; the strides grow.

        As for one source; negative where only a spacing makes that number necessary.
        """
        scale = max(self._scales) or 1.0
        hair = _ROUNDING * scale
        self._stride **= 1.5
        power = (found / self._probes) ** 2
        if found < self._probes:
            down = min(power * 0.998, 1 / self._stride) * price
            if down > hair:
                return down
            return max(min(-hair, price * self._stride**2), -1.01 * scale)
        return max(power * 1.002, self._stride) * price if price > 0 else hair

    def _put_together(self, least: list[Point], most: list[Point], price: float) -> Division:
        left = self._probes - sum(point.probes for point in least)
        paths = []
        bound = -price * self._probes
        cost = 0.0
        for source, (few, more) in enumerate(zip(least, most, strict=True)):
            taken = min(left, more.probes - few.probes)
            left -= taken
            path = _between(few, more, few.probes + taken)
            paths.append(path[1:])
            own = self._cost(source, path, few, more)
            cost += own
            bound += min(few.cost + price * few.probes, own + price * (few.probes + taken))
        return Division(paths, cost, min(bound, cost), price)

    def _cost(self, source: int, path: Path, *known: Point) -> float:
        from analytic.probing.kernels import links_cost

        for point in known:
            if path is point.path:
                return point.cost
        probes = len(path) - 1
        return links_cost(self._grids[source], path) - self._discounts[source] * probes


def _between(few: Point, more: Point, probes: int) -> Path:
    """The path with this many probes, from two that are best at one price."""
    if probes == few.probes:
        return few.path
    return more.path if probes == more.probes else joined(few.path, more.path, probes)
