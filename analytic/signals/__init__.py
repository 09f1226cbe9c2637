"""Signals that a page may have changed: what one is worth, and how fresh an index can be."""

from analytic.signals.cycles import Cycles, crawl_values, cycles_at, signal_worths
from analytic.signals.formulas import (
    FORMULAS,
    due_cycles,
    least_obsolescence,
    level_obsolescence,
)
from analytic.signals.levels import Levels, best_levels
from analytic.signals.optimum import optimal_signal_levels

__all__ = [
    "FORMULAS",
    "Cycles",
    "Levels",
    "best_levels",
    "crawl_values",
    "cycles_at",
    "due_cycles",
    "least_obsolescence",
    "level_obsolescence",
    "optimal_signal_levels",
    "signal_worths",
]
