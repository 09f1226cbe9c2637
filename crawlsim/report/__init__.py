"""The report: figures of a run, and one page that holds them with the verdicts.

Not imported with `analytic`, since it loads the plotting packages.
"""

from crawlsim.report.course_figures import plot_course
from crawlsim.report.optimum_figures import (
    plot_best_probes,
    plot_choices,
    plot_frequencies,
    plot_hysteresis,
    plot_rule_map,
    plot_static_costs,
    plot_switching_curves,
    plot_switching_policy,
    plot_threshold_costs,
    plot_word,
)
from crawlsim.report.page_set_figure import plot_page_set
from crawlsim.report.pages import Doubled, Entry, html
from crawlsim.report.region_figures import plot_regions
from crawlsim.report.rule_figures import plot_rule
from crawlsim.report.run_figures import (
    plot_comparison,
    plot_groups,
    plot_law,
    plot_levels,
    plot_obsolescence_rates,
    plot_probes,
    plot_shared_probes,
    plot_spacing_costs,
)

__all__ = [
    "Doubled",
    "Entry",
    "html",
    "plot_best_probes",
    "plot_choices",
    "plot_comparison",
    "plot_course",
    "plot_frequencies",
    "plot_groups",
    "plot_hysteresis",
    "plot_law",
    "plot_levels",
    "plot_obsolescence_rates",
    "plot_page_set",
    "plot_probes",
    "plot_regions",
    "plot_rule",
    "plot_rule_map",
    "plot_shared_probes",
    "plot_spacing_costs",
    "plot_static_costs",
    "plot_switching_curves",
    "plot_switching_policy",
    "plot_threshold_costs",
    "plot_word",
]
