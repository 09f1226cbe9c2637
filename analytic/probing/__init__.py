"""When to probe a source whose updates and importance vary in time (eckstein2005)."""

from analytic.probing.formulas import (
    FORMULAS,
    cost_variance,
    expected_cost,
    expected_freshness,
    probe_times,
    profile_of,
)
from analytic.probing.intervals import Interval, Profile, cell, join
from analytic.probing.policies import first_arrival_times, threshold_times, uniform_times

__all__ = [
    "FORMULAS",
    "Interval",
    "Profile",
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
