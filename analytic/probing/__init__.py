"""When to probe a source whose updates and importance vary in time (eckstein2005)."""

from analytic.probing.costs import (
    actual_cost,
    cost_variance,
    expected_cost,
    expected_freshness,
)
from analytic.probing.formulas import FORMULAS, probe_times, profile_of
from analytic.probing.intervals import Interval, Profile, cell, join
from analytic.probing.policies import first_arrival_times, threshold_times, uniform_times

__all__ = [
    "FORMULAS",
    "Interval",
    "Profile",
    "actual_cost",
    "cell",
    "cost_variance",
    "expected_cost",
    "expected_freshness",
    "first_arrival_times",
    "join",
    "probe_times",
    "profile_of",
    "threshold_times",
    "uniform_times",
]
