"""The best probe times of several sources that share a number of probes, and natural splits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from analytic.index.optimum import NoOptimumError, Optimum, require
from analytic.probing.at_once import NoRoomError, Quota, divided_at_once
from analytic.probing.budget import Division, Grids, divided
from analytic.probing.formulas import few_cells, given_probes
from analytic.probing.grid import (
    Path,
    below_on_grid,
    best_schedule,
    default_slots,
    grid_error,
    times_of,
)
from analytic.probing.search import LARGEST_GRID, optimal_probes, rounded_down
from analytic.probing.sources import (
    WEIGHTS,
    monitor_of,
    natural_split,
    profile_of_source,
    shares,
)
from scenarios import Scenario
from scenarios.model import Monitor, present
from scenarios.sections import slots_apart
from scenarios.text import counted

_ROUNDING = 4 * float(np.finfo(float).eps)
_AS_GOOD = 1e-9
_FEW = 12
"""Sources whose probes the notes name."""

Schedules = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class BudgetSearch:
    """The best way to share probes on a grid, with bounds below it.

    Parameters
    ----------
    asked : Scenario
        Whose sources are to be probed.
    grids : Grids
    division : Division
        The best one on the grid.
    free : Division
        The best one that need not keep `at_once`.
    """

    asked: Scenario = field(repr=False)
    grids: Grids = field(repr=False)
    division: Division = field(repr=False)
    free: Division = field(repr=False)

    @property
    def monitor(self) -> Monitor:
        """Who probes the sources."""
        return monitor_of(self.asked)

    @property
    def split(self) -> list[int]:
        """Probes of each source."""
        return [len(path) for path in self.division.paths]

    @property
    def scenario(self) -> Scenario:
        """The scenario with these times in place of its policy."""
        return self.asked.with_(given_probes(self.monitor, self.times))

    @property
    def cost(self) -> float:
        """Expected cost of all sources."""
        return self.division.cost

    @cached_property
    def costs(self) -> list[float]:
        """Expected cost of each source."""
        from analytic.probing.kernels import links_cost

        return [
            links_cost(self.grids[source], np.append(0, path))
            for source, path in enumerate(self.division.paths)
        ]

    @cached_property
    def times(self) -> Schedules:
        """Probe times of each source."""
        return _times(self.grids, self.division.paths)

    @property
    def proved(self) -> bool:
        """Whether no other times on this grid cost less."""
        return self.cost <= self.division.lower_bound + _AS_GOOD * abs(self.cost)

    @property
    def gap(self) -> float:
        """How far the cost may be above the least one on this grid, in per cent of that."""
        if self.proved:
            return 0.0
        bound = self.division.lower_bound
        return 100 * (self.cost / bound - 1) if bound > 0 else math.inf

    @cached_property
    def lower_bound(self) -> float:
        """Below the cost of this many probes, however they are shared, at any times whatever.

        With a limit at one time it is a bound for the times of the grid only.

        Notes
        -----
        The best times of a source in continuous time cost at least the best ones on the grid less
        ``(n_k - 1) d_k`` (`grid_error`), with rates `below_on_grid` where breakpoints are not on
        it. Taken off the costs, d_k is a discount on each probe, and the best division at these
        costs is a bound. A spacing that is not a whole number of slots is rounded down for it. The
        grid is the one that is asked for, or that of `default_slots` for each source.
        """
        if self.monitor.asked.at_once is not None:
            return self.division.lower_bound
        total = sum(self.split)
        finer = [
            default_slots(profile, total, each.spacing)
            for profile, each in zip(self.grids.profiles, self.monitor.sources, strict=True)
        ]
        bounds = [self._bound_on([self.grids.slots] * len(finer))]
        if sum(finer) <= LARGEST_GRID:
            bounds.append(self._bound_on(finer))
        return max(0.0, *bounds)

    def _bound_on(self, slots: Sequence[int]) -> float:
        """That of a grid for each source."""
        profiles = list(map(below_on_grid, self.grids.profiles, slots))
        total = sum(self.split)
        fixed = 0.0
        discounts = []
        for profile, own in zip(profiles, slots, strict=True):
            discount = grid_error(profile, own, 2)[0]
            discounts.append(discount)
            whole = profile.between(0.0, profile.horizon)
            fixed += _ROUNDING * total * float(whole.updates * whole.importance) - discount
        apart = [
            rounded_down(each.spacing, each.horizon, own)
            for each, own in zip(self.monitor.sources, slots, strict=True)
        ]
        grids = Grids(profiles, slots)
        return divided(grids, total, apart, discounts, self.division.price).lower_bound - fixed


def best_budget(scenario: Scenario) -> BudgetSearch:
    """The best probe times of all sources, whatever the split and the policy of the file.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no slots, if there is no room for the probes, or if the rates have too
        many pieces.
    """
    grids = _grids(scenario)
    monitor = monitor_of(scenario)
    total = monitor.asked.probes or sum(len(present(each.times)) for each in monitor.sources)
    apart = _apart(monitor)
    room = sum(grids.slots // each for each in apart)
    if total > room:
        have = "slot has" if grids.slots == 1 else "slots have"
        room_for = counted(room, "probe")
        raise NoOptimumError(f"{grids.slots} {have} room for {room_for} of these sources")
    free = divided(grids, total, apart)
    quotas = [Quota(range(len(apart)), total)]
    return BudgetSearch(scenario, grids, _kept(scenario, grids, quotas, free), free)


def best_times_of_split(scenario: Scenario) -> Schedules:
    """The best probe times of each source with its share of the probes, by the split of the file.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        As `best_budget`.
    """
    grids = _grids(scenario)
    apart = _apart(monitor_of(scenario))
    each = [
        best_schedule(grids[source], present(probes), apart[source])
        for source, probes in enumerate(shares(scenario))
    ]
    cost = math.fsum(own.cost for own in each)
    free = Division([own.slots for own in each], cost, cost, 0.0)
    quotas = [Quota([source], len(own.slots)) for source, own in enumerate(each)]
    return _times(grids, _kept(scenario, grids, quotas, free).paths)


def _kept(scenario: Scenario, grids: Grids, quotas: Sequence[Quota], free: Division) -> Division:
    """The best division that keeps `at_once`, from the best one whatever the limit."""
    monitor = monitor_of(scenario)
    at_once = monitor.asked.at_once
    if at_once is None or _most_at_once(free.paths) <= at_once:
        return free
    try:
        return divided_at_once(grids, quotas, _apart(monitor), at_once, free)
    except NoRoomError as error:
        limit = f"at most {counted(at_once, 'probe')} at one time"
        raise NoOptimumError(f"{error}: {limit}") from None


def _most_at_once(paths: Sequence[Path]) -> int:
    """Probes of all sources at one time before the end."""
    used = Counter(slot for path in paths for slot in path[:-1].tolist())
    return max(used.values(), default=0)


def _grids(scenario: Scenario) -> Grids:
    monitor = monitor_of(scenario)
    slots = monitor.asked.slots
    if slots is None:
        raise NoOptimumError("needs probing.slots, the number of times that may be chosen")
    if slots > LARGEST_GRID:
        raise NoOptimumError(f"has {slots} slots; at most {LARGEST_GRID} are searched")
    require([few_cells], scenario)
    return Grids([profile_of_source(each) for each in monitor.sources], slots)


def _apart(monitor: Monitor) -> list[int]:
    slots = present(monitor.asked.slots)
    return [slots_apart(each.spacing, each.horizon, slots) for each in monitor.sources]


def _times(grids: Grids, paths: Sequence[Any]) -> Schedules:
    horizon = grids.profiles[0].horizon
    return tuple(times_of(horizon, grids.slots, path) for path in paths)


def optimal_budget(scenario: Scenario) -> Optimum:
    """The probe times of several sources with the least expected cost of all together.

    Raises
    ------
    NoOptimumError
        As `best_budget`.
    """
    search = best_budget(scenario)
    return Optimum(
        target="probes",
        cost=search.cost,
        lower_bound=search.lower_bound,
        decision={"probes": search.split, "times": [list(times) for times in search.times]},
        changes=given_probes(search.monitor, search.times),
        table=_splits(search),
        notes=list(_notes(search)),
        search=search,
        measure="obsolescence_cost",
        horizon=search.monitor.asked.horizon,
        proved=search.proved,
        gap=search.gap,
    )


def best_times(scenario: Scenario) -> Optimum:
    """The best probe times, of one source or of several that share their probes.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        As `optimal_probes` and `optimal_budget`.
    """
    monitor = scenario.model.monitor
    several = monitor is not None and monitor.is_shared
    return optimal_budget(scenario) if several else optimal_probes(scenario)


def _notes(search: BudgetSearch) -> Iterator[str]:
    """What each source gets, and what the grid can cost."""
    split = ", ".join(map(str, search.split[:_FEW])) + ", …" * (len(search.split) > _FEW)
    yield f"probes of the sources in the order of the file: {split}"
    above = search.cost - search.lower_bound
    if (limit := search.monitor.asked.at_once) is not None:
        yield (
            f"at most {limit} at one time before the end; without this limit, "
            f"as in the other rows, the best costs {search.free.cost:.6g}"
        )
        return
    slots = counted(search.grids.slots, "slot")
    cost = "costs" if search.grids.slots == 1 else "cost"
    yield f"{slots} {cost} at most {above:.3g} more than continuous time"


def _splits(search: BudgetSearch) -> list[dict[str, Any]]:
    """The optimal split and the natural ones, with the best grid times of each."""
    splits = {name: natural_split(search.asked, name) for name in WEIGHTS}
    costs = dict.fromkeys(splits, 0.0)
    apart = _apart(search.monitor)
    for source, path in enumerate(search.division.paths):
        wanted = {split[source] for split in splits.values()}
        grid = search.grids[source]
        known = {len(path): search.costs[source]}
        known |= {
            probes: best_schedule(grid, probes, apart[source]).cost
            for probes in wanted - known.keys()
        }
        for name, split in splits.items():
            costs[name] += known[split[source]]
    rows = {"optimal": (search.split, search.cost)}
    rows |= {name: (list(split), costs[name]) for name, split in splits.items()}
    least = search.cost
    return [
        {
            "split": name,
            "probes": split,
            "cost": cost,
            "above, %": 100 * (cost / least - 1) if least > 0 else 0.0,
        }
        for name, (split, cost) in rows.items()
    ]
