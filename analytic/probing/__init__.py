"""When to probe a source whose updates and importance vary in time (eckstein2005).

`intervals` has what lies between two probes, `costs` what a schedule costs, `policies` those with
one parameter, `schedules` the best times on a grid, `certificate` how good a grid is, `refinement`
the local optimum in continuous time (by `descent`, `newton` and `lattice`), `choosing` all of it
for a scenario.
"""

from analytic.probing.certificate import breaks_on_grid, default_slots, grid_error
from analytic.probing.choosing import ProbeSearch, best_probes, optimal_probes
from analytic.probing.costs import (
    actual_cost,
    cost_variance,
    expected_cost,
    expected_freshness,
)
from analytic.probing.formulas import FORMULAS, probe_times, profile_of
from analytic.probing.intervals import Interval, Profile, cell, join
from analytic.probing.policies import first_arrival_times, threshold_times, uniform_times
from analytic.probing.refinement import Refined, improved_by_moves, refined, slack
from analytic.probing.schedules import (
    Schedule,
    best_schedule,
    grid_of,
    layered_schedule,
    paper_schedule,
    times_of,
)

__all__ = [
    "FORMULAS",
    "Interval",
    "ProbeSearch",
    "Profile",
    "Refined",
    "Schedule",
    "actual_cost",
    "best_probes",
    "best_schedule",
    "breaks_on_grid",
    "cell",
    "cost_variance",
    "default_slots",
    "expected_cost",
    "expected_freshness",
    "first_arrival_times",
    "grid_error",
    "grid_of",
    "improved_by_moves",
    "join",
    "layered_schedule",
    "optimal_probes",
    "paper_schedule",
    "probe_times",
    "profile_of",
    "refined",
    "slack",
    "threshold_times",
    "times_of",
    "uniform_times",
]
