"""The report: figures of a run, and one page that holds them with the verdicts.

Not imported with `analytic`, since it loads the plotting packages.
"""

from crawlsim.report.comparison import plot_comparison
from crawlsim.report.frequencies import plot_frequencies
from crawlsim.report.laws import plot_law
from crawlsim.report.optima import (
    plot_best_probes,
    plot_static_costs,
    plot_switching_curves,
    plot_switching_policy,
    plot_threshold_costs,
)
from crawlsim.report.orders import plot_word
from crawlsim.report.page import Doubled, Entry, html
from crawlsim.report.plots import plot_levels, plot_obsolescence_rates, plot_probes

__all__ = [
    "Doubled",
    "Entry",
    "html",
    "plot_best_probes",
    "plot_comparison",
    "plot_frequencies",
    "plot_law",
    "plot_levels",
    "plot_obsolescence_rates",
    "plot_probes",
    "plot_static_costs",
    "plot_switching_curves",
    "plot_switching_policy",
    "plot_threshold_costs",
    "plot_word",
]
