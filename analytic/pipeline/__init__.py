"""End-to-end freshness: pages, robots and the finite buffer joined; no paper has this."""

from analytic.formula import Formula
from analytic.pipeline.approximations import APPROXIMATIONS
from analytic.pipeline.costs import COST, end_to_end_cost
from analytic.pipeline.dropping_and_replacement import LabelledRules, PageClass, labelled_page
from analytic.pipeline.exact_methods import EXACT, METHODS, exact_method
from analytic.pipeline.independence import (
    decomposed,
    page_change_rates,
    thinned_ages,
    thinned_cyclic,
    thinned_randomized,
)
from analytic.pipeline.periodic_lists import (
    SharedList,
    delivered_queue,
    fetching,
    listed_age,
    listed_rate,
    random_age,
    random_slopes,
    shared_age,
    shared_rate,
)
from analytic.pipeline.random_pages import (
    PageQueue,
    Slopes,
    index_ages,
    obsolescence_rates,
    obsolescence_slopes,
    page_queue,
    queue_of_pages,
    single_place_rates,
)
from analytic.pipeline.timers import Handling, counted_ages, counted_slopes, old_and_new

FORMULAS: tuple[Formula, ...] = (*EXACT, COST, *APPROXIMATIONS)
"""The index: paper, name, quantity, function, kind, conditions."""

__all__ = [
    "FORMULAS",
    "METHODS",
    "Handling",
    "LabelledRules",
    "PageClass",
    "PageQueue",
    "SharedList",
    "Slopes",
    "counted_ages",
    "counted_slopes",
    "decomposed",
    "delivered_queue",
    "end_to_end_cost",
    "exact_method",
    "fetching",
    "index_ages",
    "labelled_page",
    "listed_age",
    "listed_rate",
    "obsolescence_rates",
    "obsolescence_slopes",
    "old_and_new",
    "page_change_rates",
    "page_queue",
    "queue_of_pages",
    "random_age",
    "random_slopes",
    "shared_age",
    "shared_rate",
    "single_place_rates",
    "thinned_ages",
    "thinned_cyclic",
    "thinned_randomized",
]
