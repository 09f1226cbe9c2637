"""From tallies to results with standard errors."""

from sim.estimates.jackknife import (
    estimates_of,
    jackknife_error,
    measures_of,
    results_from,
    t_quantile,
)
from sim.estimates.totals import Totals

__all__ = [
    "Totals",
    "estimates_of",
    "jackknife_error",
    "measures_of",
    "results_from",
    "t_quantile",
]
