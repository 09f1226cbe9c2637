"""From tallies to results with standard errors."""

from sim.estimates.controls import controlled
from sim.estimates.jackknife import estimates_of, jackknife_error, t_quantile
from sim.estimates.outcome import results_from
from sim.estimates.totals import Totals

__all__ = [
    "Totals",
    "controlled",
    "estimates_of",
    "jackknife_error",
    "results_from",
    "t_quantile",
]
