"""Several sources, of which only a limited number may be probed at one time of the grid.

Each source takes a path through the grid. What ties them together is the number of probes, and the
room that each time has. Whole paths in any mixture, at least cost, are a linear programme whose
value is the best Lagrangian bound: a price on each probe, and one on each time that too many want.
`divided_at_once` solves it by column generation: the best paths at the prices so far are added
until none helps. Then one path of each source is chosen among those found; where this costs more
than the bound, among all links that a better choice could have, which are those on a path within
that difference of the best one at the prices (reduced costs).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analytic.probing.budget import Division, Grids
from analytic.probing.grid import Path

if TYPE_CHECKING:
    from analytic.probing.kernels import Grid

Array = Any

_TOTAL = 1e4
"""What all costs are scaled to, so that the tolerances of the solver, 1e-7, are far below them."""
_SHORT = 1e3
"""Price of a missing probe, as a multiple of all that can be lost."""
_TINY = 1e-10
_MOST_WORK = 60_000_000
"""Columns times rows of all programmes together, after which the bound so far is taken."""
_MOST_KEPT = 0.9
_STEP = 0.1
"""Most of the best prices so far in those at which paths are looked for, and how it changes."""
_MOST_STEPS = 300_000_000
"""Links of all sources together up to which they are looked at one by one."""
_MOST_LINKS = 50_000
"""Links up to which a choice among them is searched."""
_MOST_NODES = 20_000
_INFEASIBLE = 2


class Quota(NamedTuple):
    """So many probes, exactly, for some of the sources together."""

    sources: Sequence[int]
    probes: int


class NoRoomError(ValueError):
    """No times on the grid keep the limit."""


class _Prices(NamedTuple):
    """What a probe costs more: by the quota of its source, and by its time."""

    of_quota: Array
    of_time: Array

    def charges(self, quota: int) -> Array:
        """Of the links of a source, by the time at which they begin."""
        return self.of_time - self.of_quota[quota]

    def towards(self, other: _Prices, share: float) -> _Prices:
        """So far on the way to others."""
        return _Prices(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


class _Solved(NamedTuple):
    """A programme's value, its prices, the probes that it lacks, and its columns times rows."""

    value: float
    prices: _Prices
    short: float
    work: int


def divided_at_once(
    grids: Grids,
    quotas: Sequence[Quota],
    apart: Sequence[int],
    at_once: int,
    free: Division,
) -> Division:
    """The least total cost with at most this many probes at one time before the end.

    Parameters
    ----------
    grids : Grids
    quotas : sequence of Quota
        Of which each source has one.
    apart : sequence of int
        Slots between two probes of each source, at least.
    at_once : int
        b, not counting the probes at the end.
    free : Division
        The best one without this limit.

    Raises
    ------
    NoRoomError
        If no times keep the limit.

    Notes
    -----
    `Division.lower_bound` is the better one of the Lagrangian bound and of that of the search
    among the links, with which the two usually agree.
    """
    return _Search(grids, quotas, apart, at_once).run(free)


class _Search:
    """The paths found so far, the best bound and its prices, and the best choice; costs scaled."""

    def __init__(
        self, grids: Grids, quotas: Sequence[Quota], apart: Sequence[int], at_once: int
    ) -> None:
        self._grids = grids
        self._quotas = quotas
        self._apart = apart
        self._at_once = at_once
        self._quota_of = {
            source: index for index, quota in enumerate(quotas) for source in quota.sources
        }
        self._scale = 1.0
        self._columns: dict[tuple[int, bytes], tuple[int, Path, float]] = {}
        self._best: tuple[float, list[Path]] = (math.inf, [])
        self._bound = -math.inf
        self._prices = _Prices(np.zeros(len(quotas)), np.zeros(grids.slots + 1))

    def run(self, free: Division) -> Division:
        self._scale = _TOTAL / free.cost if free.cost > 0 else 1.0
        end = np.array([self._grids.slots])
        for source, path in enumerate(free.paths):
            self._add(source, end)
            self._add(source, path)
        moved = moved_apart(free.paths, self._apart, self._at_once)
        if moved is not None:
            for source, path in enumerate(moved):
                self._add(source, path)
            self._offer(moved)
        of_quota = np.full(len(self._quotas), -free.price * self._scale)
        self._price_out(_Prices(of_quota, np.zeros(self._grids.slots + 1)))
        ended = self._generate()
        if ended or not self._best[1]:
            self._choose_among_columns()
        if ended and not self._is_proved():
            self._choose_among_links()
        cost, paths = self._best
        if not paths:
            raise NoRoomError("no times were found that keep the limit")
        bound = min(self._bound / self._scale, cost)
        return Division(paths, cost, bound, -float(self._prices.of_quota[0]) / self._scale)

    def _is_proved(self) -> bool:
        return self._best[0] * self._scale <= self._bound + _TINY * _TOTAL

    def _cost(self, source: int, path: Path) -> float:
        from analytic.probing.kernels import links_cost

        return links_cost(self._grids[source], np.append(0, path))

    def _add(self, source: int, path: Path) -> bool:
        """Whether the path, without the 0, is a new one."""
        key = (source, path.tobytes())
        if key in self._columns:
            return False
        self._columns[key] = (source, path, self._cost(source, path) * self._scale)
        return True

    def _offer(self, paths: list[Path]) -> None:
        """Keep a choice that keeps the limit, if it is the cheapest so far."""
        cost = math.fsum(self._cost(source, path) for source, path in enumerate(paths))
        if cost < self._best[0]:
            self._best = (cost, paths)

    def _generate(self) -> bool:
        """Add the best paths at the prices of those so far; whether none helps any more.

        Where that is too much work, the choice among them would be, too.

        The prices of the programme leap while it knows few paths; the paths are therefore looked
        for near the prices with the best bound first (Wentges 1997).
        """
        kept = _MOST_KEPT
        ended = False
        work = 0
        while work < _MOST_WORK:
            solved = self._solved()
            work += solved.work
            if self._bound >= solved.value - _TINY * _TOTAL:
                ended = True
                break
            bound = self._bound
            near = self._prices.towards(solved.prices, 1 - kept)
            if not (self._price_out(near) or self._price_out(solved.prices)):
                ended = True
                break
            kept += _STEP if self._bound == bound else -_STEP
            kept = min(max(kept, 0.0), _MOST_KEPT)
        if ended and solved.short > _TINY * _TOTAL and not self._best[1]:
            raise NoRoomError("no times keep the limit")
        return ended

    def _solved(self) -> _Solved:
        """The least cost of a mixture of the paths so far, and its prices."""
        from scipy.optimize import linprog

        costs, equal, counts, room, times = self._programme()
        limits = np.full(len(times), self._at_once)
        solved = linprog(
            costs,
            A_ub=room,
            b_ub=limits,
            A_eq=equal,
            b_eq=counts,
            method="highs-ds",
            options={"presolve": False},
        )
        of_time = np.zeros(self._grids.slots + 1)
        if len(times):
            of_time[times] = np.maximum(-solved.ineqlin.marginals, 0.0)
        prices = _Prices(solved.eqlin.marginals[len(self._apart) :], of_time)
        work = len(costs) * (len(times) + len(counts))
        return _Solved(solved.fun, prices, solved.x[-len(self._quotas) :].max(), work)

    def _price_out(self, prices: _Prices) -> bool:
        """Whether a best path at these prices is a new one; their bound is kept if it is better."""
        found = [self._best_path(source, prices) for source in range(len(self._apart))]
        value = math.fsum(value for value, _ in found) - self._at_once * math.fsum(prices.of_time)
        probes = [quota.probes for quota in self._quotas]
        value += float(prices.of_quota @ probes) - self._rounding(prices)
        better = value > self._bound
        if better:
            self._bound, self._prices = value, prices
        new = [self._add(source, path) for source, (_, path) in enumerate(found)]
        return any(new) or better

    def _rounding(self, prices: _Prices) -> float:
        """What rounding may have added to a bound: errors that grow as the root of their number."""
        probes = sum(quota.probes for quota in self._quotas)
        largest = _TOTAL + float(np.abs(prices.of_quota).max()) + float(prices.of_time.max())
        return 4 * float(np.finfo(float).eps) * largest * math.sqrt(probes)

    def _best_path(self, source: int, prices: _Prices) -> tuple[float, Path]:
        """The least priced cost of a source, and its path without the 0."""
        path = self._chain(source, prices)[1]
        charges = prices.charges(self._quota_of[source])
        cost = self._cost(source, path[1:]) * self._scale + math.fsum(charges[path[:-1]])
        return cost, path[1:]

    def _chain(self, source: int, prices: _Prices) -> tuple[Array, Path]:
        """Least priced costs from each time to the end, not scaled, and the path from 0."""
        from analytic.probing.kernels import chain

        charges = prices.charges(self._quota_of[source]) / self._scale
        return chain(self._grids[source], self._apart[source], charges)

    def _programme(self) -> tuple[Array, Any, Array, Any, Array]:
        """Costs, rows of the sources and quotas, their right sides, rows of the times wanted."""
        from scipy.sparse import csr_array

        columns = list(self._columns.values())
        sources, quotas = len(self._apart), len(self._quotas)
        owners = np.array([source for source, _, _ in columns])
        sizes = np.array([len(path) for _, path, _ in columns])
        count = len(columns)
        rows = np.concatenate(
            [owners, sources + np.array([self._quota_of[k] for k in owners.tolist()])]
        )
        rows = np.append(rows, sources + np.arange(quotas))
        places = np.concatenate([np.arange(count), np.arange(count), count + np.arange(quotas)])
        entries = np.concatenate([np.ones(count), sizes, np.ones(quotas)])
        equal = csr_array((entries, (rows, places)), shape=(sources + quotas, count + quotas))
        counts = np.append(np.ones(sources), [quota.probes for quota in self._quotas])
        costs = np.append([cost for _, _, cost in columns], np.full(quotas, _SHORT * _TOTAL))

        taken = np.concatenate([path[:-1] for _, path, _ in columns])
        column = np.repeat(np.arange(count), sizes - 1)
        owner = owners[column]
        wanted = Counter(time for time, _ in set(zip(taken.tolist(), owner.tolist(), strict=True)))
        times = np.array(sorted(j for j, users in wanted.items() if users > self._at_once), int)
        in_rows = np.isin(taken, times)
        rows = np.searchsorted(times, taken[in_rows])
        entries = np.ones(len(rows))
        room = csr_array((entries, (rows, column[in_rows])), shape=(len(times), count + quotas))
        return costs, equal, counts, room, times

    def _choose_among_columns(self) -> None:
        """One of the paths found for each source, at least cost."""
        costs, equal, counts, room, times = self._programme()
        columns = list(self._columns.values())
        paths = slice(len(columns))  # without the probes that are missing
        limits = np.full(len(times), self._at_once)
        chosen, _, _ = _whole(costs[paths], equal[:, paths], counts, room[:, paths], limits)
        if chosen is not None:
            taken = {columns[index][0]: columns[index][1] for index in chosen.tolist()}
            self._offer([taken[source] for source in range(len(self._apart))])

    def _choose_among_links(self) -> None:
        """The best choice of links whose reduced costs are within the difference to the bound."""
        from scipy.sparse import csr_array

        slots = self._grids.slots
        if len(self._apart) * slots**2 > 2 * _MOST_STEPS:
            return
        slack = self._best[0] * self._scale - self._bound + _TINY * _TOTAL
        links = [self._links(source, slack / self._scale) for source in range(len(self._apart))]
        sizes = [len(costs) for _, _, costs in links]
        if sum(sizes) > _MOST_LINKS:
            return
        owner = np.repeat(np.arange(len(links)), sizes)
        begin, end, costs = (np.concatenate(parts) for parts in zip(*links, strict=True))
        index = np.arange(len(costs))
        quota = np.array([self._quota_of[k] for k in range(len(links))])[owner]
        nodes = len(links) * (slots + 1)
        rows = np.concatenate(
            [owner * (slots + 1) + begin, owner * (slots + 1) + end, nodes + quota]
        )
        signs = np.concatenate([np.ones(len(costs)), -np.ones(len(costs)), np.ones(len(costs))])
        equal = csr_array(
            (signs, (rows, np.tile(index, 3))), shape=(nodes + len(self._quotas), len(costs))
        )
        counts = np.zeros(nodes + len(self._quotas))
        counts[np.arange(len(links)) * (slots + 1)] = 1
        counts[np.arange(len(links)) * (slots + 1) + slots] = -1
        counts[nodes:] = [quota.probes for quota in self._quotas]
        inner = end < slots
        room = csr_array(
            (np.ones(inner.sum()), (end[inner], index[inner])), shape=(slots, len(costs))
        )
        limits = np.full(slots, self._at_once)
        chosen, bound, feasible = _whole(costs * self._scale, equal, counts, room, limits)
        if not feasible and not self._best[1]:
            raise NoRoomError("no times keep the limit")
        if chosen is not None:
            self._offer([np.sort(end[chosen[owner[chosen] == k]]) for k in range(len(links))])
        self._bound = max(self._bound, min(bound, self._bound + slack) - _TINY * _TOTAL)

    def _links(self, source: int, slack: float) -> tuple[Array, Array, Array]:
        """Where the links begin and end that a path within `slack` of the best has; their costs."""
        grid: Grid = self._grids[source]
        least, _ = self._chain(source, self._prices)
        charges = self._prices.charges(self._quota_of[source]) / self._scale
        slots = len(grid.cost)
        so_far = np.full(slots + 1, np.inf)
        so_far[0] = 0.0
        begins, ends, costs = [], [], []
        for i in range(slots):
            first = i + self._apart[source]
            if first > slots or so_far[i] == np.inf:
                continue
            own = grid.U[first:] - grid.U[i] - grid.L[i] * (grid.A[first:] - grid.A[i])
            through = so_far[i] + charges[i] + own
            so_far[first:] = np.minimum(so_far[first:], through)
            kept = np.flatnonzero(through + least[first:] <= least[0] + slack)
            begins.append(np.full(len(kept), i))
            ends.append(first + kept)
            costs.append(own[kept])
        return np.concatenate(begins), np.concatenate(ends), np.concatenate(costs)


def moved_apart(paths: Sequence[Path], apart: Sequence[int], at_once: int) -> list[Path] | None:
    """The paths with probes moved to the nearest times that have room; None where there is none.

    Parameters
    ----------
    paths : sequence of ndarray
        Slots of the probes of each source, the last one at the end.
    apart : sequence of int
        Slots between two probes of each source, at least.
    at_once : int
        Most probes at one time before the end.
    """
    moved = [path.copy() for path in paths]
    used = Counter(slot for path in moved for slot in path[:-1].tolist())
    for source, path in enumerate(moved):
        spacing = apart[source]
        for k in range(len(path) - 1):
            slot = int(path[k])
            if used[slot] <= at_once:
                continue
            low = (int(path[k - 1]) if k else 0) + spacing
            high = int(path[k + 1]) - spacing
            free = _nearest(slot, low, high, used, at_once)
            if free is None:
                return None
            used[slot] -= 1
            used[free] += 1
            path[k] = free
    return moved


def _nearest(slot: int, low: int, high: int, used: Counter[int], at_once: int) -> int | None:
    for distance in range(1, max(slot - low, high - slot) + 1):
        for near in (slot - distance, slot + distance):
            if low <= near <= high and used[near] < at_once:
                return near
    return None


def _whole(
    costs: Array, equal: Any, counts: Array, room: Any, limits: Array
) -> tuple[Array | None, float, bool]:
    """What to take, wholly or not at all, a bound below its cost, and whether that can be."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = [LinearConstraint(equal, counts, counts)]
    if room.shape[0]:
        rows.append(LinearConstraint(room, ub=limits))
    solved = milp(
        costs,
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, 1),
        constraints=rows,
        options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
    )
    bound = -math.inf if solved.mip_dual_bound is None else float(solved.mip_dual_bound)
    chosen = None if solved.x is None else np.flatnonzero(solved.x > 0.5)
    return chosen, bound, solved.status != _INFEASIBLE
