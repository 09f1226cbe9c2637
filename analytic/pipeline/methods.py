"""Which exact method covers a scenario, and what it gives: one row per method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic import conditions, page_conditions
from analytic.active_robots import most_active, robots_at
from analytic.arrival_process import access_rate, delivery_modes
from analytic.formula import Condition
from analytic.indexing_queue import QueueChain, chain_of, solve_chain
from analytic.indexing_queue.chain import NO_TIMER, controlled_chain
from analytic.indexing_queue.solved import converged, fits_in_memory, one_closed_class, size_of
from analytic.phase_type import as_phase_type
from analytic.pipeline import conditions as own
from analytic.pipeline.exploring import MOST_STATES, TooManyStatesError
from analytic.pipeline.labels import (
    MOST_LABELLED,
    LabelledRules,
    PageClass,
    labelled_levels_and_rate,
)
from analytic.pipeline.old_and_new import Handling, counted_ages, counted_rates, old_and_new
from analytic.pipeline.one_robot import delivered_queue, listed_rate, random_rate
from analytic.pipeline.queues import PageQueue, page_queue
from analytic.pipeline.random_pages import index_ages, obsolescence_rates
from analytic.pipeline.shared_list import fetching, shared_age, shared_rate
from analytic.pipeline.timer_phases import timed_pages
from scenarios import Scenario
from scenarios.accessing import Randomized
from scenarios.accessing.policy import Periodic
from scenarios.page_data import access_shares, change_rates

__all__ = ["METHODS", "Method", "exact_method", "labelled", "page_shares", "queue_of_pages"]

Array = NDArray[np.floating[Any]]

_MOST_WORK = 2 * 10**10
"""Products: those of about ten seconds."""
_MOST_SOLUTIONS = 3 * 10**6
"""States times kinds of pages, where each takes a sparse elimination: those of about a minute."""


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


def page_shares(scenario: Scenario) -> Array:
    """Share of the accesses of each page, shape (pages,)."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    assert scenario.robots.accessing is not None
    return access_shares(scenario.robots.accessing, scenario.pages)


def _changes(scenario: Scenario) -> Array:
    assert scenario.pages is not None
    return change_rates(scenario.pages)


def _kinds(scenario: Scenario) -> int:
    """Pages that differ in change rate or share."""
    pages = np.stack([_changes(scenario), page_shares(scenario)], axis=1)
    return len(np.unique(pages, axis=0))


# --- (1) random pages, no timers --------------------------------------------------------------


@lru_cache(maxsize=4)
def queue_of_pages(scenario: Scenario) -> PageQueue:
    """The queue of a scenario that meets the conditions of (1)."""
    return page_queue(chain_of(scenario))


def _band_is_solved(scenario: Scenario) -> str | None:
    """The pages' systems take at most 2·10^10 products."""
    order, phases, _, top = size_of(scenario)
    work = _kinds(scenario) * order * phases * top * (2 * order * phases) ** 2
    return None if work <= _MOST_WORK else f"its pages take {work:.0e} products; they may take 2e10"


def _random(scenario: Scenario) -> Array:
    queue = queue_of_pages(scenario)
    return obsolescence_rates(queue, _changes(scenario), page_shares(scenario))


def _random_ages(scenario: Scenario) -> Array:
    return index_ages(queue_of_pages(scenario), page_shares(scenario))


# --- (2), (3) old and new pages ----------------------------------------------------------------


def handling_of(scenario: Scenario) -> Handling:
    """What the buffer of a scenario does with waiting pages."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    lost = None
    if scenario.buffer.when_full == "push-out" and scenario.buffer.waiting_places:
        robots = robots_at(scenario)(scenario.buffer.waiting_places + 1)
        lost = delivery_modes(scenario.robots, max(most_active(scenario), 1))[robots, 1]
    return Handling(scenario.buffer.discipline == "lifo", lost)


def _counts_fit(scenario: Scenario) -> str | None:
    """The chain of old and new pages is small enough."""
    order, phases, timers, top = size_of(scenario)
    levels = range(1, top + 1)
    states = order * (1 + phases * sum(2 * n * min(timers ** (n - 1), 10**9) for n in levels))
    if states > MOST_STATES:
        return f"its old and new pages have up to {states} states; they may have {MOST_STATES}"
    if states * _kinds(scenario) > _MOST_SOLUTIONS:
        return f"{states} states for each of {_kinds(scenario)} kinds of pages take too long"
    return None


def _counted(scenario: Scenario) -> Array:
    chain, law = _chain_and_law(scenario)
    counted = old_and_new(chain, handling_of(scenario))
    return counted_rates(counted, law, _changes(scenario), page_shares(scenario))


def _counted_ages(scenario: Scenario) -> Array:
    chain, law = _chain_and_law(scenario)
    return counted_ages(old_and_new(chain, handling_of(scenario)), law, page_shares(scenario))


def _timed(scenario: Scenario) -> Array:
    chain, law = _chain_and_law(scenario)
    return counted_rates(timed_pages(chain), law, _changes(scenario), page_shares(scenario))


def _timed_ages(scenario: Scenario) -> Array:
    chain, law = _chain_and_law(scenario)
    return counted_ages(timed_pages(chain), law, page_shares(scenario))


@lru_cache(maxsize=4)
def _chain_and_law(scenario: Scenario) -> tuple[QueueChain, Array]:
    chain = chain_of(scenario)
    return chain, solve_chain(chain).law


# --- (4) labels -------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def labelled(scenario: Scenario) -> tuple[Array, Array] | str:
    """Probabilities of the levels and obsolescence rates by page, or why they are not found."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    service = as_phase_type(scenario.buffer.service)
    assert service is not None
    top, at = scenario.buffer.waiting_places + 1, robots_at(scenario)
    modes = delivery_modes(scenario.robots, max(most_active(scenario), 1))
    chain = controlled_chain(modes, at, service, NO_TIMER, top, "partial")
    deliveries = tuple(modes[at(level), 1] for level in range(top + 1))
    pages = np.stack([_changes(scenario), page_shares(scenario)], axis=1)
    kinds, which, counts = np.unique(pages, axis=0, return_inverse=True, return_counts=True)
    if float(len(kinds)) ** max(top - 2, 0) > MOST_LABELLED:
        return f"its {len(kinds)} kinds of pages have too many orders in the buffer"
    classes = tuple(
        PageClass(count, *kind) for count, kind in zip(counts.tolist(), kinds.tolist(), strict=True)
    )
    rules = _rules(scenario)
    try:
        found = [
            labelled_levels_and_rate(chain, deliveries, classes, kind, rules)
            for kind in range(len(classes))
        ]
    except TooManyStatesError as failure:
        return str(failure)
    return found[0][0], np.array([rate for _, rate in found])[which.ravel()]


def _rules(scenario: Scenario) -> LabelledRules:
    assert scenario.buffer is not None
    buffer = scenario.buffer
    return LabelledRules(
        drops_changed=buffer.obsolescence == "page-change",
        replaces=buffer.replace_older_copy,
        last_first=buffer.discipline == "lifo",
        pushes_out=buffer.when_full == "push-out",
    )


def _labels_fit(scenario: Scenario) -> str | None:
    """The chain of the labels of waiting pages has at most 20 000 states."""
    found = labelled(scenario)
    return found if isinstance(found, str) else None


def _labelled_rates(scenario: Scenario) -> Array:
    found = labelled(scenario)
    assert not isinstance(found, str)
    return found[1]


# --- (5), (6) periodic lists --------------------------------------------------------------------


def _cycle(scenario: Scenario) -> NDArray[np.intp]:
    assert scenario.robots is not None
    policy = scenario.robots.accessing
    assert isinstance(policy, Periodic)
    return policy.cycle_of(page_shares(scenario))


def _shared_fits(scenario: Scenario) -> str | None:
    """The chain of slots, fetching robots and queue is small enough."""
    _, phases, _, top = size_of(scenario)
    states = len(_cycle(scenario)) * (most_active(scenario) + 1) * (1 + phases * top)
    pages = len(_changes(scenario))
    if states > MOST_STATES:
        return f"its chain of slots and robots has {states} states; it may have {MOST_STATES}"
    if states * pages > _MOST_SOLUTIONS:
        return f"{states} states for each of {pages} pages take too long"
    return None


def _shared_rate_of_all(scenario: Scenario) -> tuple[float, int]:
    assert scenario.robots is not None
    assert scenario.robots.access_time is not None
    robots, rate = most_active(scenario), access_rate(scenario.robots.access_time)
    assert rate is not None
    return robots * rate, robots


def _shared(scenario: Scenario) -> Array:
    queue, cycle = queue_of_pages(scenario), _cycle(scenario)
    rate, robots = _shared_rate_of_all(scenario)
    return np.array(
        [
            shared_rate(queue, fetching(cycle == page, robots), rate, change)
            for page, change in enumerate(_changes(scenario).tolist())
        ]
    )


def _shared_ages(scenario: Scenario) -> Array:
    queue, cycle = queue_of_pages(scenario), _cycle(scenario)
    rate, robots = _shared_rate_of_all(scenario)
    pages = range(len(_changes(scenario)))
    return np.array([shared_age(queue, fetching(cycle == page, robots), rate) for page in pages])


def _one_fits(scenario: Scenario) -> str | None:
    """The chain at deliveries is small enough."""
    assert scenario.buffer is not None
    size = 1 + own.service_phases(scenario) * (scenario.buffer.waiting_places + 1)
    slots = 1 if _is_random(scenario) else len(_cycle(scenario))
    work = len(_changes(scenario)) * (30 * size**3 + slots * 4 * size**2)
    return None if work <= _MOST_WORK else f"its pages take {work:.0e} products; they may take 2e10"


def _is_random(scenario: Scenario) -> bool:
    return scenario.robots is not None and isinstance(scenario.robots.accessing, Randomized)


def _one(scenario: Scenario) -> Array:
    assert scenario.buffer is not None
    service = as_phase_type(scenario.buffer.service)
    access = page_conditions.access_law(scenario)
    assert service is not None
    assert access is not None
    queue = delivered_queue(service, scenario.buffer.waiting_places + 1, access)
    pages = enumerate(_changes(scenario).tolist())
    if _is_random(scenario):
        shares = page_shares(scenario).tolist()
        return np.array([random_rate(queue, shares[page], change) for page, change in pages])
    cycle = _cycle(scenario)
    return np.array([listed_rate(queue, cycle == page, change) for page, change in pages])


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
        "the same with exponential timers, last come first served, push-out",
        counted_rates,
        (
            *_RANDOM,
            own.served_out_of_order_or_timed,
            own.single_phase_timers,
            own.pushed_one_by_one,
            *_QUEUE,
            _counts_fit,
        ),
        _counted,
        _counted_ages,
    ),
    Method(
        "(3)",
        "the same with timers of phase type, small buffers",
        timed_pages,
        (
            *_RANDOM,
            own.timers_with_phases,
            conditions.first_come_first_served,
            *_QUEUE,
            _counts_fit,
            converged,
        ),
        _timed,
        _timed_ages,
    ),
    Method(
        "(4)",
        "the same with page-change dropping or replacement of older copies, few kinds of pages",
        labelled_levels_and_rate,
        (
            *own.PATH,
            page_conditions.randomized_policy,
            own.changes_matter_to_the_queue,
            own.without_clocks,
            conditions.not_switching,
            *own.MARKOVIAN,
            own.one_by_one,
            _labels_fit,
        ),
        _labelled_rates,
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
            _shared_fits,
        ),
        _shared,
        _shared_ages,
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
            _one_fits,
        ),
        _one,
    ),
)
"""Every exact method for the whole path; no scenario is covered by two."""


def exact_method(scenario: Scenario) -> Method | None:
    """The method that covers a scenario, or None."""
    for method in METHODS:
        if all(condition(scenario) is None for condition in method.conditions):
            return method
    return None
