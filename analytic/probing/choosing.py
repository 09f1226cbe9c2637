"""The best probe times of a scenario, what is known of them, and what other policies cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analytic.optimum import NoOptimumError, Optimum
from analytic.probing.certificate import default_slots, grid_error
from analytic.probing.costs import cost_variance, expected_cost, expected_freshness
from analytic.probing.formulas import few_cells, probe_times, profile_of
from analytic.probing.intervals import Profile
from analytic.probing.refinement import Refined, refined
from analytic.probing.schedules import best_schedule, grid_of, times_of
from scenarios import Scenario, ScenarioError
from scenarios.sections import Probing, Times, slots_apart

__all__ = ["ProbeSearch", "best_probes", "optimal_probes"]

_KEY = "probing.policy"
_POLICIES = ("uniform", "first-arrival", "threshold")
_LARGEST_GRID = 10_000_000
_MOST_COMPARED = 2000


@dataclass(frozen=True)
class ProbeSearch:
    """The best schedule on a grid, the local optimum near it, and the bound below both.

    Attributes
    ----------
    profile : Profile
        Update rate and importance up to the horizon.
    slots : int
        Of the grid.
    grid_times : tuple of float
        The best ones on the grid.
    grid_cost : float
        Their expected cost.
    refined : Refined
        The local optimum in continuous time that is reached from them.
    error : float
        Most by which the best schedule on the grid can be dearer than the best one of all.
    sharp : bool
        Whether that is the bound for breakpoints on the grid, not that of Proposition 8.
    lower_bound : float
        Below the expected cost of every schedule with so many probes and that spacing; the better
        one of this grid's and of that of `default_slots`.
    times : tuple of float
        Those that the file asks for: `grid_times`, or with `refine` those of `refined`.
    scenario : Scenario
        With these times in place of its policy.
    """

    profile: Profile = field(repr=False)
    slots: int
    grid_times: tuple[float, ...] = field(repr=False)
    grid_cost: float
    refined: Refined = field(repr=False)
    error: float
    sharp: bool
    lower_bound: float
    times: tuple[float, ...] = field(repr=False)
    scenario: Scenario = field(repr=False)

    @property
    def cost(self) -> float:
        """Expected cost of `times`."""
        return expected_cost(self.profile, self.times)


def best_probes(scenario: Scenario) -> ProbeSearch:
    """The best probe times for a scenario's source, number of probes and minimum spacing.

    Its `slots` and `refine` count, whatever its policy; without `slots` the grid is that of
    `default_slots`.

    Raises
    ------
    NoOptimumError
        If there is no source, if the rates have too many pieces, or if the grid is too fine.
    """
    probing = _probing_of(scenario)
    profile, probes, spacing = profile_of(scenario), _count(probing), probing.minimum_spacing
    slots = probing.slots or default_slots(profile, probes, spacing)
    if slots > _LARGEST_GRID:
        raise NoOptimumError(f"{slots} slots; at most {_LARGEST_GRID} are searched")
    apart = slots_apart(spacing, profile.horizon, slots)
    if probes * apart > slots:
        raise NoOptimumError(f"{slots} slots have no room for {probes} probes {apart} slots apart")
    found = best_schedule(grid_of(profile, slots), probes, apart)
    grid_times = times_of(profile.horizon, slots, found.slots)
    near = refined(profile, grid_times, spacing)
    error, sharp = grid_error(profile, slots, probes)
    finer = default_slots(profile, probes, spacing)
    times = near.times if probing.refine else grid_times
    return ProbeSearch(
        profile=profile,
        slots=slots,
        grid_times=grid_times,
        grid_cost=found.cost,
        refined=near,
        error=error,
        sharp=sharp,
        lower_bound=max(_bound(profile, probes, spacing, each) for each in (slots, finer)),
        times=times,
        scenario=scenario.with_(_KEY, {"times": list(times)}),
    )


def _bound(profile: Profile, probes: int, spacing: float, slots: int) -> float:
    """Below every schedule in continuous time: what the grid says of it.

    The spacing is rounded down to whole slots, where `grid_error` holds and more is allowed.
    """
    apart = max(1, math.floor(spacing / profile.horizon * slots * (1 + 1e-12) + 1e-9))
    best = best_schedule(grid_of(profile, slots), probes, apart)
    return max(best.lower_bound - grid_error(profile, slots, probes)[0], 0.0)


def _probing_of(scenario: Scenario) -> Probing:
    if scenario.probing is None:
        raise NoOptimumError("there is no [source]")
    if (reason := few_cells(scenario)) is not None:
        raise NoOptimumError(reason)
    return scenario.probing


def _count(probing: Probing) -> int:
    if probing.probes is not None:
        return probing.probes
    assert isinstance(probing.policy, Times)
    return len(probing.policy.root)


def optimal_probes(scenario: Scenario) -> Optimum:
    """The probe times with the least expected cost up to the horizon.

    Raises
    ------
    NoOptimumError
        As `best_probes`.
    """
    search = best_probes(scenario)
    rows, notes = _compared(scenario, search)
    return Optimum(
        target="probes",
        cost=search.cost,
        lower_bound=search.lower_bound,
        decision={"times": list(search.times)},
        changes={_KEY: {"times": list(search.times)}},
        table=rows,
        notes=[*notes, _certificate(search)],
        search=search,
        horizon=search.profile.horizon,
    )


def _certificate(search: ProbeSearch) -> str:
    """What the grid can cost, in words."""
    how = "" if search.sharp else " (Proposition 8: a breakpoint is not on the grid)"
    return f"{search.slots} slots cost at most {search.error:.3g} more than continuous time{how}"


def _compared(scenario: Scenario, search: ProbeSearch) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for each policy, and why some have none."""
    schedules: dict[str, tuple[float, ...]] = {}
    notes = []
    for policy in _POLICIES if len(search.times) <= _MOST_COMPARED else ():
        asked = {_KEY: policy, "probing.probes": len(search.times)}
        try:
            schedules[policy] = probe_times(scenario.with_(asked))
        except ScenarioError as error:
            notes.append(f"{policy}: {error.allowed}")
    schedules["optimal on the grid"] = search.grid_times
    schedules["optimal, refined"] = search.refined.times
    return list(_rows(search.profile, schedules)), notes


def _rows(profile: Profile, schedules: dict[str, tuple[float, ...]]) -> Iterator[dict[str, Any]]:
    costs = {policy: expected_cost(profile, times) for policy, times in schedules.items()}
    least = min(costs.values())
    for policy, times in schedules.items():
        yield {
            "policy": policy,
            "cost": costs[policy],
            "above, %": 100 * (costs[policy] / least - 1) if least > 0 else 0.0,
            "deviation": float(np.sqrt(cost_variance(profile, times))),
            "freshness": expected_freshness(profile, times),
        }
