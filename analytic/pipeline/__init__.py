"""End-to-end freshness: pages, robots and the finite buffer joined; no paper has this."""

from analytic.index.formula import Formula
from analytic.pipeline.approximations import APPROXIMATIONS
from analytic.pipeline.costs import APPROXIMATE_COST, COST
from analytic.pipeline.crawling import CRAWLING
from analytic.pipeline.dropping_and_replacement import labelled_page
from analytic.pipeline.exact_methods import EXACT, METHODS, exact_method
from analytic.pipeline.independence import decomposed, dropped_independently
from analytic.pipeline.patience import counted_slopes
from analytic.pipeline.periodic_lists import listed_rate, shared_rate
from analytic.pipeline.random_pages import obsolescence_rates, queue_of_pages, single_place_rates

FORMULAS: tuple[Formula, ...] = (
    *EXACT,
    COST,
    CRAWLING,
    *APPROXIMATIONS,
    APPROXIMATE_COST,
)

"""The index: paper, name, quantity, function, kind, conditions."""

__all__ = [
    "FORMULAS",
    "METHODS",
    "counted_slopes",
    "decomposed",
    "dropped_independently",
    "exact_method",
    "labelled_page",
    "listed_rate",
    "obsolescence_rates",
    "queue_of_pages",
    "shared_rate",
    "single_place_rates",
]
