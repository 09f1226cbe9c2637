"""What the formulas for pages that go through the buffer need, and read off a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analytic.index import conditions, page_conditions
from analytic.index.accesses import accessed_pages, law_between_accesses
from analytic.index.conditions import buffer_of
from analytic.index.formula import Condition
from analytic.machinery.active_robots import robots_at
from analytic.machinery.phase_type import exponential_rate
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.accessing.randomized import Randomized
from scenarios.activation import Switching, These
from scenarios.arrays import Array
from scenarios.deliveries import Independent, Marked, alone, brings_pages
from scenarios.laws import Distribution

MOST_WORK = 2 * 10**10
"""Multiplications: those of about ten seconds."""
MOST_SOLUTIONS = 3 * 10**6
"""States times kinds of pages, where each takes a sparse elimination: those of about a minute."""


def kinds_of_pages(scenario: Scenario) -> int:
    """Pages that differ in change rate or share."""
    return len(accessed_pages(scenario).kinds.counts)


def by_kind(value: Callable[..., Any], *columns: ArrayLike) -> Array:
    """A value of each page, computed once for pages that are alike.

    Parameters
    ----------
    value : callable
        From the numbers of one page to a number, or to several.
    columns : array_like, shape (pages,)
        Change rates, say, and shares.

    Returns
    -------
    ndarray, shape (pages,) or (pages, numbers)
    """
    pages = np.stack([np.asarray(each, dtype=float) for each in columns], axis=1)
    kinds, which = np.unique(pages, axis=0, return_inverse=True)
    return np.array([value(*kind) for kind in kinds.tolist()])[which.ravel()]


# --- the buffer -------------------------------------------------------------------------------


def changes_matter_to_the_queue(scenario: Scenario) -> str | None:
    """Waiting copies are dropped when their pages change, or replaced by newer ones."""
    discipline = conditions.discipline_of(scenario)
    if not (discipline.drops_changed or discipline.replaces):
        return "the queue does not depend on the pages"
    return conditions.served_by_time_of_entry(scenario)


def copies_leave_together(scenario: Scenario) -> bool:
    """Whether a scenario has a buffer whose queue depends on which pages wait in it."""
    return scenario.buffer is not None and changes_matter_to_the_queue(scenario) is None


def no_patience(scenario: Scenario) -> str | None:
    """Waiting pages have no timers, whatever their pages do."""
    return None if conditions.timer_of(scenario) is None else "waiting pages become obsolete"


def patience_not_exponential(scenario: Scenario) -> str | None:
    """Waiting pages have obsolescence timers that are not exponential."""
    law = conditions.timer_of(scenario)
    if law is None or exponential_rate(law) is not None:
        return "waiting pages have no timers, or exponential ones"
    return None


def phase_type_timers(scenario: Scenario) -> str | None:
    """Waiting pages have obsolescence timers, of phase type."""
    if no_patience(scenario) is None:
        return "waiting pages have no timers"
    return conditions.phase_type_patience(scenario)


def patience_with_phases(scenario: Scenario) -> str | None:
    """Obsolescence timers are of phase type, and not exponential."""
    return patience_not_exponential(scenario) or conditions.phase_type_patience(scenario)


def served_out_of_order_or_with_patience(scenario: Scenario) -> str | None:
    """Exponential timers, last come first served, or push-out."""
    plain = conditions.first_come_first_served(scenario) is None
    if plain and conditions.timer_of(scenario) is None:
        return "first come first served without timers"
    return None


# --- the robots -------------------------------------------------------------------------------


def several_robots(scenario: Scenario) -> str | None:
    """Several robots share the sequence of pages."""
    return "one robot works" if page_conditions.one_robot(scenario) is None else None


def listed_or_random(scenario: Scenario) -> str | None:
    """Pages come in a period, or are drawn independently."""
    policy = accessed_pages(scenario).policy
    known = isinstance(policy, Periodic | Randomized)
    return None if known else "the accessing policy has no period, and does not draw its pages"


def listed_or_not_markovian(scenario: Scenario) -> str | None:
    """A period of pages, or random pages and access times without a Markovian form."""
    drawn = isinstance(accessed_pages(scenario).policy, Randomized)
    if drawn and conditions.markovian_accesses(scenario) is None:
        return "pages are drawn at random, access times are Markovian"
    return listed_or_random(scenario)


def some_robot_delivers(scenario: Scenario) -> str | None:
    """Robots deliver something."""
    if isinstance(scenario.activation, Switching):
        return None
    if (given := scenario.model.hysteresis) is not None:
        numbers = set(given.robots)
    else:
        at = robots_at(scenario)
        numbers = {at(level) for level in range(buffer_of(scenario).capacity + 1)}
    if not any(numbers):
        return "no robot is active"
    together = accessed_pages(scenario).robots.deliveries
    rule = scenario.activation
    if isinstance(rule, These) and isinstance(together, Independent | Marked):
        together = alone(together, rule.root)
    if together is None or any(brings_pages(together, active) for active in numbers):
        return None
    return "nothing is ever delivered"


PATH: tuple[Condition, ...] = (
    page_conditions.has_pages,
    conditions.has_buffer,
    conditions.one_server,
    conditions.resolved_activation,
    conditions.phases_unseen,
    page_conditions.resolved_frequencies,
    conditions.no_host_spacing,
    conditions.services_alike,
    conditions.order_of_pages_kept,
    some_robot_delivers,
)
"""Conditions of every formula for pages that go through the buffer."""

MARKOVIAN: tuple[Condition, ...] = (
    conditions.markovian_accesses,
    conditions.phase_type_service,
)


def law_without_buffer(scenario: Scenario) -> Distribution | None:
    """Law of the time from one access to the next, as if there were no buffer; None: not known.

    Where those times are not independent a constant of the same mean stands for them.
    """
    if times_between_known(scenario):
        return law_between_accesses(scenario)
    return page_conditions.pace_of_accesses(scenario)[0]


def times_between_known(scenario: Scenario) -> bool:
    """Whether times between accesses are independent and have a known law, without a buffer."""
    return (
        page_conditions.robots_always_work(scenario) is None
        and page_conditions.independent_accesses(scenario) is None
        and page_conditions.one_robot_or_memoryless(scenario) is None
    )
