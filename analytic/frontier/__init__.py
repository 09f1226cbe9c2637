"""Pages that fall due: what waits for the robots, how long, and how fresh the copies are."""

from analytic.frontier.best_intervals import optimal_intervals
from analytic.frontier.formulas import (
    FORMULAS,
    alone_obsolescence,
    closed_network_obsolescence,
    expected_cycles,
    with_caught_up,
)

__all__ = [
    "FORMULAS",
    "alone_obsolescence",
    "closed_network_obsolescence",
    "expected_cycles",
    "optimal_intervals",
    "with_caught_up",
]
