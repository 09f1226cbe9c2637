"""When to probe a source whose updates and importance vary in time (eckstein2005).

`profile` has what lies between two probes and what schedules cost, `policies` those with one
parameter, `grid` the best times on a grid and how good a grid is, `refinement` the local optimum in
continuous time, `programme` the algorithms of the paper, `search` all of it for a scenario with one
source. Of several sources `sources` looks at each alone, `budget` divides the probes among them,
and `shared` does so for a scenario. `formulas` is the index.
"""

from analytic.probing.formulas import (
    FORMULAS,
    STATEMENTS,
    given_probes,
    probe_times,
    profile_of,
    times_of_each,
)
from analytic.probing.grid import (
    Schedule,
    best_schedule,
    breaks_on_grid,
    default_slots,
    grid_error,
    grid_of,
    times_of,
)
from analytic.probing.policies import (
    first_arrival_times,
    first_arrival_times_at,
    threshold_times,
    threshold_times_at,
    uniform_times,
    uniform_times_at,
)
from analytic.probing.profile import (
    Interval,
    Profile,
    actual_cost,
    cell,
    cost_variance,
    expected_cost,
    expected_freshness,
    join,
)
from analytic.probing.refinement import Refined, refined, slack
from analytic.probing.search import ProbeSearch, best_probes, optimal_probes
from analytic.probing.shared import BudgetSearch, best_budget, best_times, best_times_of_split
from analytic.probing.sources import natural_split

__all__ = [
    "FORMULAS",
    "STATEMENTS",
    "BudgetSearch",
    "Interval",
    "ProbeSearch",
    "Profile",
    "Refined",
    "Schedule",
    "actual_cost",
    "best_budget",
    "best_probes",
    "best_schedule",
    "best_times",
    "best_times_of_split",
    "breaks_on_grid",
    "cell",
    "cost_variance",
    "default_slots",
    "expected_cost",
    "expected_freshness",
    "first_arrival_times",
    "first_arrival_times_at",
    "given_probes",
    "grid_error",
    "grid_of",
    "join",
    "natural_split",
    "optimal_probes",
    "probe_times",
    "profile_of",
    "refined",
    "slack",
    "threshold_times",
    "threshold_times_at",
    "times_of",
    "times_of_each",
    "uniform_times",
    "uniform_times_at",
]
