"""The best probe times of a scenario, what is known of them, and what other policies cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from analytic.index.optimum import NoOptimumError, Optimum, require
from analytic.probing.formulas import few_cells, given_probes, probe_times
from analytic.probing.grid import (
    Schedule,
    best_schedule,
    default_slots,
    grid_error,
    grid_of,
    times_of,
)
from analytic.probing.profile import (
    Profile,
    cost_variance,
    expected_cost,
    expected_freshness,
    step_error,
)
from analytic.probing.programme import costs_up_to, improved_by_moves
from analytic.probing.refinement import Refined, refined
from analytic.probing.sources import monitor_of, profile_of_source
from scenarios import Scenario, ScenarioError
from scenarios.arrays import Array
from scenarios.model import ProbedSource, present
from scenarios.sections import ByParameter, Moves, Times, slots_apart
from scenarios.text import counted

_KEY = "probing.policy"
_POLICIES = ("uniform", "first-arrival", "threshold")
_ROUNDING = 1e-9
_LINK_ROUNDING = 4 * float(np.finfo(float).eps)
LARGEST_GRID = 10_000_000
_MOST_COMPARED = 2000

_MOST_LAYERED = 100_000_000
"""Probes times slots up to which the costs of all smaller numbers are computed: a second or two."""


@dataclass(frozen=True)
class ProbeSearch:
    """The best schedule on a grid, the local optimum near it, and the bound below both.

    Only the search on the grid has been done; `refined` and `lower_bound` are
    computed when asked for.

    Parameters
    ----------
    asked : Scenario
        Whose source is to be probed.
    source : ProbedSource
    profile : Profile
        Update rate and importance up to the horizon.
    slots : int
        Of the grid.
    apart : int
        Slots from each probe to the next, at least.
    schedule : Schedule
        The best one on the grid.
    """

    asked: Scenario = field(repr=False)
    source: ProbedSource = field(repr=False)
    profile: Profile = field(repr=False)
    slots: int
    apart: int
    schedule: Schedule = field(repr=False)

    @property
    def refine(self) -> bool | Moves:
        """What the file asks to be made of the times on the grid."""
        return monitor_of(self.asked).asked.refine

    @cached_property
    def grid_times(self) -> tuple[float, ...]:
        """The best times on the grid."""
        return times_of(self.profile.horizon, self.slots, self.schedule.slots)

    @property
    def grid_cost(self) -> float:
        """Their expected cost."""
        return self.schedule.cost

    @property
    def kept_spacing(self) -> float:
        """The least time between two probes on the grid: the minimum spacing, rounded up."""
        return self.apart * self.profile.horizon / self.slots

    @property
    def rounds_up(self) -> bool:
        """Whether the minimum spacing is not a whole number of slots."""
        spacing = self.source.spacing
        return self.kept_spacing > spacing * (1 + _ROUNDING) and spacing > 0

    @cached_property
    def refined(self) -> Refined:
        """What continuous refinement makes of the times on the grid."""
        return refined(self.profile, self.grid_times, self.source.spacing)

    @cached_property
    def moved(self) -> tuple[tuple[float, ...], int]:
        """What the moves that the file asks for make of the times on the grid, and their number."""
        moves = self.refine
        assert isinstance(moves, Moves)
        return improved_by_moves(
            self.profile,
            self.grid_times,
            self.source.spacing,
            least=moves.least_saving,
            largest=moves.largest_move,
            ratio=moves.ratio,
            smallest=moves.smallest_move,
        )

    @cached_property
    def lower_bound(self) -> float:
        """Below the expected cost of every schedule with so many probes and that spacing.

        The better one of this grid's and of that of `default_slots`, if that is not too fine.
        """
        other = default_slots(self.profile, len(self.schedule.slots), self.source.spacing)
        grids = {self.slots, other} if other <= LARGEST_GRID else {self.slots}
        return max(0.0, *(self._bound_on(slots) for slots in grids))

    def _bound_on(self, slots: int) -> float:
        """The least cost on a grid, less what the grid can cost and what rounding can.

        Where the spacing is not a whole number of slots it is rounded down, which allows more: then
        `grid_error` holds. Each link is a difference of sums up to ``Lambda(0, T) A(0, T)``.
        """
        probes = len(self.schedule.slots)
        schedule = self.schedule
        if slots != self.slots or self.rounds_up:
            apart = rounded_down(self.source.spacing, self.profile.horizon, slots)
            schedule = best_schedule(grid_of(self.profile, slots), probes, apart)
        whole = self.profile.between(0.0, self.profile.horizon)
        rounding = _LINK_ROUNDING * probes * float(whole.updates * whole.importance)
        return schedule.lower_bound - grid_error(self.profile, slots, probes)[0] - rounding

    @cached_property
    def costs_of_fewer(self) -> Array | None:
        """Least costs on the grid of 1, 2, … probes up to their number; None: too much work."""
        probes = len(self.schedule.slots)
        if probes * self.slots > _MOST_LAYERED:
            return None
        return costs_up_to(grid_of(self.profile, self.slots), probes, self.apart)

    @property
    def error(self) -> float:
        """Most by which the best schedule on the grid can be dearer than the best one of all."""
        return self.grid_cost - self.lower_bound if self.rounds_up else self._grid_error[0]

    @property
    def sharp(self) -> bool:
        """Whether that is the bound for breakpoints on the grid.

        Else it is that of Proposition 8, or, where the minimum spacing is not a whole number of
        slots, the distance to `lower_bound`.
        """
        return self._grid_error[1] and not self.rounds_up

    @property
    def _grid_error(self) -> tuple[float, bool]:
        return grid_error(self.profile, self.slots, len(self.schedule.slots))

    @property
    def times(self) -> tuple[float, ...]:
        """Those that the file asks for: `grid_times`, or by `refine` of `refined` or `moved`."""
        if isinstance(self.refine, Moves):
            return self.moved[0]
        return self.refined.times if self.refine else self.grid_times

    @property
    def scenario(self) -> Scenario:
        """The scenario with these times in place of its policy."""
        return self.asked.with_(self.changes)

    @property
    def changes(self) -> dict[str, Any]:
        """Keys and values that put these times into a scenario."""
        return given_probes(monitor_of(self.asked), [self.times])

    @property
    def cost(self) -> float:
        """Expected cost of `times`."""
        return expected_cost(self.profile, self.times)


def rounded_down(spacing: float, horizon: float, slots: int) -> int:
    """Slots from one probe to the next where the spacing may be kept a little less, at least one.

    A whole number up to rounding is whole.
    """
    return max(1, math.floor(spacing / horizon * slots * (1 + 1e-12) + 1e-9))


def best_probes(scenario: Scenario) -> ProbeSearch:
    """The best probe times for a scenario's source, number of probes and minimum spacing.

    Its `slots` and `refine` count, whatever its policy; without `slots` the grid is that of
    `default_slots`.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there is no source, if the rates have too many pieces, or if the grid is too fine.
    """
    monitor = scenario.model.monitor
    if monitor is None:
        raise NoOptimumError("there is no [source]")
    require([few_cells], scenario)
    by_times = isinstance(monitor.asked.policy, Times | ByParameter)
    probes = len(probe_times(scenario)) if by_times else present(monitor.asked.probes)
    return searched(scenario, monitor.sources[0], probes, monitor.asked.slots)


def searched(
    scenario: Scenario, source: ProbedSource, probes: int, slots: int | None
) -> ProbeSearch:
    """The best times of one of the sources on a grid, as `best_probes`."""
    profile = profile_of_source(source)
    spacing = source.spacing
    slots = slots or _roomy_slots(profile, probes, spacing)
    if slots > LARGEST_GRID:
        raise NoOptimumError(f"needs {slots} slots; at most {LARGEST_GRID} are searched")
    apart = slots_apart(spacing, profile.horizon, slots)
    if probes * apart > slots:
        rounded = apart * profile.horizon / slots
        raise NoOptimumError(
            f"a grid of {counted(slots, 'slot')} keeps probes at least {rounded:.6g} apart, "
            f"which leaves no room for {probes}; set probing.slots to more"
        )
    schedule = best_schedule(grid_of(profile, slots), probes, apart)
    return ProbeSearch(scenario, source, profile, slots, apart, schedule)


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


def optimal_probes(scenario: Scenario) -> Optimum:
    """The probe times with the least expected cost up to the horizon.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        As `best_probes`.
    """
    search = best_probes(scenario)
    rows, notes = _compared(scenario, search)
    if not search.refined.converged:
        rounds = counted(search.refined.rounds, "round")
        notes.append(f"refined: not converged after {rounds}, slack {search.refined.slack:.2g}")
    notes.append(_certificate(search))
    notes += _fewer(search)
    of_steps, _ = step_error(search.source, search.profile)
    if of_steps > 0:
        notes.append(
            "costs and bound are those of the rates in steps; with the smooth rates of the file "
            f"each of these costs changes by at most {of_steps:.3g}"
        )
    return Optimum(
        target="probes",
        cost=search.cost,
        lower_bound=search.lower_bound,
        decision={"times": list(search.times)},
        changes=search.changes,
        table=rows,
        notes=notes,
        search=search,
        horizon=search.profile.horizon,
    )


def _fewer(search: ProbeSearch) -> list[str]:
    """What the best times of fewer probes cost: one less, and each time half as many."""
    costs = search.costs_of_fewer
    if costs is None or len(costs) == 1:
        return []
    numbers = [len(costs) - 1]
    while (half := (numbers[-1] if len(numbers) > 1 else len(costs)) // 2) > 0:
        numbers.append(half)
    words = (f"{costs[count - 1]:.6g} with {count}" for count in dict.fromkeys(numbers))
    return [f"fewer probes on this grid cost {', '.join(words)}"]


def _certificate(search: ProbeSearch) -> str:
    """What the grid can cost, in words."""
    if search.rounds_up:
        spacing = search.source.spacing
        return (
            f"minimum_spacing {spacing:.6g} is not a whole number of slots: the grid keeps "
            f"{search.kept_spacing:.6g}, which costs at most {search.error:.3g} more than "
            "continuous time; other slots may cost less"
        )
    how = " (Proposition 8: a breakpoint is not on the grid; more slots cost less)"
    if search.sharp:
        how = ""
    slots = counted(search.slots, "slot")
    cost = "costs" if search.slots == 1 else "cost"
    return f"{slots} {cost} at most {search.error:.3g} more than continuous time{how}"


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
    if isinstance(search.refine, Moves):
        schedules["optimal, moved"], count = search.moved
        notes.append(
            f"moved: {counted(count, 'move')} from the best times on the grid (Algorithm 10)"
        )
    schedules["optimal, refined"] = search.refined.times
    costs = {policy: expected_cost(search.profile, each) for policy, each in schedules.items()}
    least = min(costs.values())
    rows = [
        {
            "policy": policy,
            "cost": costs[policy],
            "above, %": 100 * (costs[policy] / least - 1) if least > 0 else 0.0,
            "deviation": float(np.sqrt(cost_variance(search.profile, times))),
            "freshness": expected_freshness(search.profile, times),
        }
        for policy, times in schedules.items()
    ]
    return rows, notes
