"""Which exact method covers a scenario, and what it gives: one row per method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from analytic import conditions, page_conditions
from analytic.formula import Condition, dependent, fails_a_premise, is_covered, obstacles
from analytic.indexing_queue.measures import converged, fits_in_memory, one_closed_class, size_of
from analytic.pipeline import conditions as own
from analytic.pipeline.labels import labelled_page
from analytic.pipeline.listed import (
    ages_of_one_robot,
    ages_on_shared_list,
    one_fits,
    rates_of_one_robot,
    rates_on_shared_list,
    shared_fits,
)
from analytic.pipeline.old_and_new import counted_rates
from analytic.pipeline.one_robot import listed_rate
from analytic.pipeline.random_pages import index_ages, obsolescence_rates
from analytic.pipeline.reading import (
    MOST_WORK,
    kinds_of_pages,
    page_changes,
    page_shares,
    queue_of_pages,
)
from analytic.pipeline.shared_list import shared_rate
from analytic.pipeline.timer_phases import timed_pages
from analytic.pipeline.walked import (
    ages_by_counts,
    ages_by_labels,
    ages_by_timers,
    counts_fit,
    labels_fit,
    rates_by_counts,
    rates_by_labels,
    rates_by_timers,
)
from scenarios import Scenario
from scenarios.arrays import Array


@dataclass(frozen=True)
class Method:
    """An exact method.

    Attributes
    ----------
    number, quantity : str
        As in the index of formulas.
    function : callable
        The mathematics.
    conditions : tuple of callables
    rates : callable
        From a scenario to the obsolescence rate of each page.
    ages : callable, optional
        From a scenario to the mean age of each page's copy in the index.
    """

    number: str
    quantity: str
    function: Callable[..., Any]
    conditions: tuple[Condition, ...]
    rates: Callable[[Scenario], Array]
    ages: Callable[[Scenario], Array] | None = None


@dependent
def _band_is_solved(scenario: Scenario) -> str | None:
    """The pages' systems take at most 2·10^10 products."""
    order, phases, _, top = size_of(scenario)
    work = kinds_of_pages(scenario) * order * phases * top * (2 * order * phases) ** 2
    return None if work <= MOST_WORK else f"its pages take {work:.0e} products; they may take 2e10"


def _random(scenario: Scenario) -> Array:
    queue = queue_of_pages(scenario)
    return obsolescence_rates(queue, page_changes(scenario), page_shares(scenario))


def _random_ages(scenario: Scenario) -> Array:
    return index_ages(queue_of_pages(scenario), page_shares(scenario))


_QUEUE = (*own.MARKOVIAN, fits_in_memory, one_closed_class)
_ALONE = (*own.PATH, conditions.pages_leave_the_queue_alone)
_RANDOM = (*_ALONE, page_conditions.randomized_policy)
_PLAIN = (conditions.no_timers, conditions.first_come_first_served)

METHODS: tuple[Method, ...] = (
    Method(
        "(1)",
        "obsolescence rates of pages drawn at random, through the buffer",
        obsolescence_rates,
        (*_RANDOM, *_PLAIN, *_QUEUE, _band_is_solved),
        _random,
        _random_ages,
    ),
    Method(
        "(2)",
        "the same rates with exponential timers, last come first served, push-out",
        counted_rates,
        (
            *_RANDOM,
            own.served_out_of_order_or_timed,
            own.single_phase_timers,
            own.pushed_one_by_one,
            *_QUEUE,
            counts_fit,
        ),
        rates_by_counts,
        ages_by_counts,
    ),
    Method(
        "(3)",
        "the same rates with timers of phase type, small buffers",
        timed_pages,
        (
            *_RANDOM,
            own.timers_with_phases,
            conditions.first_come_first_served,
            *_QUEUE,
            counts_fit,
            converged,
        ),
        rates_by_timers,
        ages_by_timers,
    ),
    Method(
        "(4)",
        "the same rates with page-change dropping or replacement, few kinds of pages",
        labelled_page,
        (
            *own.PATH,
            page_conditions.randomized_policy,
            own.changes_matter_to_the_queue,
            own.without_clocks,
            conditions.not_switching,
            *own.MARKOVIAN,
            own.one_by_one,
            fits_in_memory,
            one_closed_class,
            labels_fit,
        ),
        rates_by_labels,
        ages_by_labels,
    ),
    Method(
        "(5)",
        "obsolescence rates of a periodic list that robots share, through the buffer",
        shared_rate,
        (
            *_ALONE,
            page_conditions.periodic_policy,
            page_conditions.robots_always_work,
            conditions.poisson_accesses,
            own.several_robots,
            *_PLAIN,
            *_QUEUE,
            shared_fits,
        ),
        rates_on_shared_list,
        ages_on_shared_list,
    ),
    Method(
        "(6)",
        "obsolescence rates with one robot and access times of any law, through the buffer",
        listed_rate,
        (
            *_ALONE,
            page_conditions.robots_always_work,
            page_conditions.independent_accesses,
            page_conditions.one_robot,
            own.no_wait_for_markov,
            *_PLAIN,
            conditions.phase_type_service,
            one_fits,
        ),
        rates_of_one_robot,
        ages_of_one_robot,
    ),
)
"""Every exact method for the whole path; no scenario is covered by two."""


def exact_method(scenario: Scenario) -> Method | None:
    """The method that covers a scenario, or None."""
    for method in METHODS:
        if is_covered(method.conditions, scenario):
            return method
    return None


def nearest_reason(scenario: Scenario) -> str:
    """Why no method covers a scenario: all that stands against the one that lacks the least."""
    found = []
    for method in METHODS:
        reasons = tuple(obstacles(method.conditions, scenario))
        found.append((fails_a_premise(method.conditions, scenario), len(reasons), reasons))
    return "; ".join(min(found)[2])
