"""Signals that a page may have changed: what one is worth, and how fresh an index can be."""

from analytic.signals.cycles import Cycles, crawl_values, cycles_at, signal_worths
from analytic.signals.levels import Levels, best_levels

__all__ = ["Cycles", "Levels", "best_levels", "crawl_values", "cycles_at", "signal_worths"]
