"""Conditions of the formulas for pages that go through the buffer, with the reasons against."""

from __future__ import annotations

from analytic import conditions, page_conditions
from analytic.active_robots import robots_at
from analytic.formula import Condition
from analytic.phase_type import exponential_rate, phase_count
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.accessing.randomized import Randomized
from scenarios.activation import Switching, These
from scenarios.deliveries import Independent, Marked, alone, brings_pages, joint_size
from scenarios.laws import Distribution


def changes_matter_to_the_queue(scenario: Scenario) -> str | None:
    """Waiting copies are dropped when their pages change, or replaced by newer ones."""
    found = conditions.pages_leave_the_queue_alone(scenario)
    return "the queue does not depend on the pages" if found is None else None


def without_clocks(scenario: Scenario) -> str | None:
    """Waiting pages have no timers, whatever their pages do."""
    return None if conditions.timers_of(scenario) is None else "waiting pages become obsolete"


def single_phase_timers(scenario: Scenario) -> str | None:
    """Obsolescence timers, if any, are exponential."""
    return conditions.exponential_timers_or_none(scenario)


def timers_with_phases(scenario: Scenario) -> str | None:
    """Obsolescence timers are of phase type, and not exponential."""
    law = conditions.timers_of(scenario)
    if law is None or exponential_rate(law) is not None:
        return "waiting pages have no timers, or exponential ones"
    return conditions.phase_type_timers(scenario)


def served_out_of_order_or_timed(scenario: Scenario) -> str | None:
    """Exponential timers, last come first served, or push-out."""
    plain = conditions.first_come_first_served(scenario) is None
    if plain and conditions.timers_of(scenario) is None:
        return "first come first served without timers"
    return None


def one_by_one(scenario: Scenario) -> str | None:
    """Pages are delivered one by one."""
    assert scenario.robots is not None
    if scenario.robots.deliveries is None:
        return None
    largest = joint_size(scenario.robots.deliveries)[1]
    return "pages are delivered in batches" if largest > 1 else None


def pushed_one_by_one(scenario: Scenario) -> str | None:
    """Where a full buffer pushes out: single deliveries, robots that are not switched."""
    assert scenario.buffer is not None
    if scenario.buffer.when_full == "lose-new":
        return None
    if isinstance(scenario.activation, Switching):
        return "a full buffer pushes out while robots are switched on one at a time"
    return one_by_one(scenario)


def several_robots(scenario: Scenario) -> str | None:
    """Several robots share the sequence of pages."""
    return "one robot works" if page_conditions.one_robot(scenario) is None else None


def no_room_to_wait(scenario: Scenario) -> str | None:
    """There are no waiting places."""
    assert scenario.buffer is not None
    return "there are waiting places" if scenario.buffer.waiting_places else None


def listed_or_random(scenario: Scenario) -> str | None:
    """Pages come in a period, or are drawn independently."""
    policy = scenario.robots.accessing if scenario.robots else None
    known = isinstance(policy, Periodic | Randomized)
    return None if known else "the accessing policy has no period, and does not draw its pages"


def no_wait_for_markov(scenario: Scenario) -> str | None:
    """A period of pages, or random pages and access times without a Markovian form."""
    policy = scenario.robots.accessing if scenario.robots else None
    if isinstance(policy, Randomized) and conditions.markovian_accesses(scenario) is None:
        return "pages are drawn at random, access times are Markovian"
    return listed_or_random(scenario)


def no_markovian_accesses(scenario: Scenario) -> str | None:
    """Access times have no Markovian form."""
    markovian = conditions.markovian_accesses(scenario) is None
    return "access times are Markovian" if markovian else None


def some_robot_delivers(scenario: Scenario) -> str | None:
    """Robots deliver something."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    if isinstance(scenario.activation, Switching):
        return None
    at = robots_at(scenario)
    numbers = {at(level) for level in range(scenario.buffer.waiting_places + 2)}
    if not any(numbers):
        return "no robot is active"
    together = scenario.robots.deliveries
    rule = scenario.activation
    if isinstance(rule, These) and isinstance(together, Independent | Marked):
        together = alone(together, rule.root)
    if together is None or any(brings_pages(together, active) for active in numbers):
        return None
    return "nothing is ever delivered"


PATH: tuple[Condition, ...] = (
    page_conditions.has_pages,
    conditions.has_buffer,
    conditions.resolved_activation,
    page_conditions.resolved_frequencies,
    conditions.no_host_spacing,
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
        return page_conditions.law_between_accesses(scenario)
    return page_conditions.pace_of_accesses(scenario)[0]


def times_between_known(scenario: Scenario) -> bool:
    """Whether times between accesses are independent and have a known law, without a buffer."""
    return (
        page_conditions.robots_always_work(scenario) is None
        and page_conditions.independent_accesses(scenario) is None
        and page_conditions.one_robot_or_memoryless(scenario) is None
    )


def service_phases(scenario: Scenario) -> int:
    """Phases of the service."""
    assert scenario.buffer is not None
    phases = phase_count(scenario.buffer.service)
    assert phases is not None
    return phases
