"""End-to-end freshness: pages, robots and the finite buffer joined; no paper has this."""

from analytic.pipeline.closed_forms import (
    decomposed,
    page_change_rates,
    single_place_rates,
    thinned_ages,
    thinned_cyclic,
    thinned_randomized,
    unlimited_age,
    unlimited_rates,
)
from analytic.pipeline.formulas import FORMULAS, end_to_end_cost
from analytic.pipeline.label_states import LabelledRules, PageClass
from analytic.pipeline.labels import labelled_page
from analytic.pipeline.methods import METHODS, exact_method
from analytic.pipeline.old_and_new import Handling, counted_ages, counted_rates, old_and_new
from analytic.pipeline.one_robot import (
    delivered_queue,
    listed_age,
    listed_rate,
    random_age,
    random_rate,
)
from analytic.pipeline.queues import PageQueue, page_queue
from analytic.pipeline.random_pages import (
    Slopes,
    index_ages,
    obsolescence_rates,
    obsolescence_slopes,
)
from analytic.pipeline.reading import queue_of_pages
from analytic.pipeline.shared_list import SharedList, fetching, shared_age, shared_rate
from analytic.pipeline.timer_phases import timed_pages

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
    "counted_rates",
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
    "random_rate",
    "shared_age",
    "shared_rate",
    "single_place_rates",
    "thinned_ages",
    "thinned_cyclic",
    "thinned_randomized",
    "timed_pages",
    "unlimited_age",
    "unlimited_rates",
]
