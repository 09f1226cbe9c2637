"""The best probe times of a scenario, what is known of them, and what other policies cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from analytic.optimum import NoOptimumError, Optimum
from analytic.probing.certificate import default_slots, grid_error
from analytic.probing.costs import cost_variance, expected_cost, expected_freshness
from analytic.probing.formulas import few_cells, probe_times, profile_of
from analytic.probing.intervals import Profile
from analytic.probing.refinement import Refined, refined
from analytic.probing.schedules import Schedule, best_schedule, grid_of, times_of
from scenarios import Scenario, ScenarioError
from scenarios.sections import Probing, Times, slots_apart

_KEY = "probing.policy"
_POLICIES = ("uniform", "first-arrival", "threshold")
_ROUNDING = 1e-9
_LINK_ROUNDING = 4 * float(np.finfo(float).eps)
_LARGEST_GRID = 10_000_000
_MOST_COMPARED = 2000


@dataclass(frozen=True)
class ProbeSearch:
    """The best schedule on a grid, the local optimum near it, and the bound below both.

    Only the search on the grid has been done; `refined` and `lower_bound` are found when asked for.

    Attributes
    ----------
    asked : Scenario
        Whose source is to be probed.
    probing : Probing
        Its section.
    profile : Profile
        Update rate and importance up to the horizon.
    slots : int
        Of the grid.
    apart : int
        Slots from each probe to the next, at least.
    found : Schedule
        The best one on the grid.
    """

    asked: Scenario = field(repr=False)
    probing: Probing = field(repr=False)
    profile: Profile = field(repr=False)
    slots: int
    apart: int
    found: Schedule = field(repr=False)

    @cached_property
    def grid_times(self) -> tuple[float, ...]:
        """The best times on the grid."""
        return times_of(self.profile.horizon, self.slots, self.found.slots)

    @property
    def grid_cost(self) -> float:
        """Their expected cost."""
        return self.found.cost

    @property
    def kept_spacing(self) -> float:
        """The least time between two probes on the grid: the minimum spacing, rounded up."""
        return self.apart * self.profile.horizon / self.slots

    @property
    def rounds_up(self) -> bool:
        """Whether the minimum spacing is no whole number of slots."""
        spacing = self.probing.minimum_spacing
        return self.kept_spacing > spacing * (1 + _ROUNDING) and spacing > 0

    @cached_property
    def refined(self) -> Refined:
        """What continuous refinement makes of the times on the grid."""
        return refined(self.profile, self.grid_times, self.probing.minimum_spacing)

    @cached_property
    def lower_bound(self) -> float:
        """Below the expected cost of every schedule with so many probes and that spacing.

        The better one of this grid's and of that of `default_slots`, if that is not too fine.
        """
        other = default_slots(self.profile, len(self.found.slots), self.probing.minimum_spacing)
        finer = {other} - {self.slots} if other <= _LARGEST_GRID else set()
        return max(_bound(self), *(_bound_on(self, slots) for slots in finer), 0.0)

    @property
    def error(self) -> float:
        """Most by which the best schedule on the grid can be dearer than the best one of all."""
        return self.grid_cost - self.lower_bound if self.rounds_up else self._grid_error[0]

    @property
    def sharp(self) -> bool:
        """Whether that is the bound for breakpoints on the grid.

        Else it is that of Proposition 8, or, where the minimum spacing is no whole number of slots,
        the distance to `lower_bound`.
        """
        return self._grid_error[1] and not self.rounds_up

    @property
    def _grid_error(self) -> tuple[float, bool]:
        return grid_error(self.profile, self.slots, len(self.found.slots))

    @property
    def times(self) -> tuple[float, ...]:
        """Those that the file asks for: `grid_times`, or with `refine` those of `refined`."""
        return self.refined.times if self.probing.refine else self.grid_times

    @property
    def scenario(self) -> Scenario:
        """The scenario with these times in place of its policy."""
        return self.asked.with_(_KEY, {"times": list(self.times)})

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
    profile = profile_of(scenario)
    probes = _count(probing)
    spacing = probing.minimum_spacing
    slots = probing.slots or _roomy_slots(profile, probes, spacing)
    if slots > _LARGEST_GRID:
        raise NoOptimumError(f"it takes {slots} slots; at most {_LARGEST_GRID} are searched")
    apart = slots_apart(spacing, profile.horizon, slots)
    if probes * apart > slots:
        rounded = apart * profile.horizon / slots
        raise NoOptimumError(
            f"{slots} slots keep probes at least {rounded:.6g} apart, which leaves no room for "
            f"{probes}; set probing.slots to more"
        )
    found = best_schedule(grid_of(profile, slots), probes, apart)
    return ProbeSearch(scenario, probing, profile, slots, apart, found)


def _roomy_slots(profile: Profile, probes: int, spacing: float) -> int:
    """`default_slots`, or where its rounding of the spacing leaves no room, as many as do.

    Each of n probes loses less than a slot, so that n / (1 - n spacing / T) are enough; where the
    spacing leaves no choice at all, a slot per probe.
    """
    slots = default_slots(profile, probes, spacing)
    if probes * slots_apart(spacing, profile.horizon, slots) <= slots:
        return slots
    room = 1 - probes * spacing / profile.horizon
    return probes if room <= _ROUNDING else math.ceil(probes / room)


def _bound(search: ProbeSearch) -> float:
    """Below every schedule in continuous time: what the search's own grid says of it."""
    if search.rounds_up:
        return _bound_on(search, search.slots)
    return _below(search.profile, search.slots, search.found)


def _bound_on(search: ProbeSearch, slots: int) -> float:
    """The same by another grid, on which the spacing is rounded down to whole slots.

    There `grid_error` holds, and more is allowed.
    """
    profile = search.profile
    spacing = search.probing.minimum_spacing
    apart = max(1, math.floor(spacing / profile.horizon * slots * (1 + 1e-12) + 1e-9))
    found = best_schedule(grid_of(profile, slots), len(search.found.slots), apart)
    return _below(profile, slots, found)


def _below(profile: Profile, slots: int, found: Schedule) -> float:
    """The least cost on a grid, less what the grid can cost and what rounding can.

    Each link is a difference of sums up to ``Lambda(0, T) A(0, T)``.
    """
    probes = len(found.slots)
    whole = profile.between(0.0, profile.horizon)
    rounding = _LINK_ROUNDING * probes * float(whole.updates * whole.importance)
    return found.lower_bound - grid_error(profile, slots, probes)[0] - rounding


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
        notes=[*notes, *_unfinished(search.refined), _certificate(search)],
        search=search,
        horizon=search.profile.horizon,
    )


def _unfinished(near: Refined) -> list[str]:
    """That the refined schedule is no local optimum, where the work came to its bound."""
    if near.converged:
        return []
    return [f"refined: not converged after {near.rounds} rounds, slack {near.slack:.2g}"]


def _certificate(search: ProbeSearch) -> str:
    """What the grid can cost, in words."""
    if search.rounds_up:
        spacing = search.probing.minimum_spacing
        return (
            f"minimum_spacing {spacing:.6g} is no whole number of slots: the grid keeps "
            f"{search.kept_spacing:.6g}, which costs at most {search.error:.3g} more than "
            "continuous time; other slots may cost less"
        )
    how = " (Proposition 8: a breakpoint is not on the grid; more slots cost less)"
    how = "" if search.sharp else how
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
