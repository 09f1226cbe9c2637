"""Conditions on pages and their accesses, each with the reason against it; the pace of those."""

from __future__ import annotations

import math

from analytic.index.accesses import (
    MOST_SLOTS,
    access_law,
    active_accesses,
    is_planned,
    law_between_accesses,
    slots_of_long_run,
    time_per_access,
    time_per_attempt,
)
from analytic.index.conditions import (
    IN_ENVIRONMENT,
    fleet_of,
    hearing_nothing,
    never_resting,
    order_of_pages_kept,
    static_robots,
)
from analytic.index.formula import premise
from analytic.machinery.active_robots import most_active
from analytic.machinery.arrival_process import access_rate
from scenarios import Scenario
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Periodic
from scenarios.accessing.randomized import Randomized
from scenarios.laws import Deterministic, Distribution
from scenarios.processes import Map, Mmpp


def known_pace(scenario: Scenario) -> str | None:
    """The mean time of an access is known, and nothing changes it."""
    if fleet_of(scenario).environment is not None:
        return IN_ENVIRONMENT
    known = math.isfinite(time_per_attempt(scenario)) or not most_active(scenario)
    return None if known else "the mean time of an access is not known"


def pace_of_accesses(scenario: Scenario) -> tuple[Distribution | None, bool]:
    """Law of the time from one access to the next, and whether it is an approximation.

    Where those times are not independent, deliveries wait in a buffer, robots give up pages, or
    several robots share a sequence, a constant of the same mean stands for them; None where the
    mean is not known. Of several exponential robots the times between deliveries are those of one
    fast robot, but not their order, which matters to everything but random choices.
    """
    shared = one_robot_or_memoryless if randomized_policy(scenario) is None else one_robot
    unlike_theirs = (no_buffer, independent_accesses, shared, order_of_pages_kept)
    approximate = any(condition(scenario) for condition in unlike_theirs)
    mean = time_per_access(scenario)
    if not math.isfinite(mean):
        return None, True
    if approximate:
        return Deterministic(value=mean), True
    return law_between_accesses(scenario), False


@premise
def has_pages(scenario: Scenario) -> str | None:
    """There are pages to access, by robots that never rest and hear no signals of changes."""
    if scenario.model.pages is None:
        return "there are no [pages]"
    return hearing_nothing(scenario) or never_resting(scenario)


@premise
def no_buffer(scenario: Scenario) -> str | None:
    """Deliveries refresh the index at once."""
    return None if scenario.buffer is None else "deliveries wait in a [buffer]"


def independent_accesses(scenario: Scenario) -> str | None:
    """Access times are independent."""
    if scenario.robots is not None and scenario.robots.deliveries is not None:
        return "deliveries are a joint process"
    if scenario.robots is not None and scenario.robots.environment is not None:
        return IN_ENVIRONMENT
    phased = any(isinstance(gaps, Mmpp | Map) for gaps, _ in active_accesses(scenario))
    independent = scenario.robots is not None and not phased
    return None if independent else "access times are not independent"


def resolved_frequencies(scenario: Scenario) -> str | None:
    """What the policy needs is given, not to be found."""
    key = scenario.model.unresolved
    return f"the {key} of the accessing policy are still to be found" if key else None


def some_robot_works(scenario: Scenario) -> str | None:
    """At least one robot is active."""
    works = static_robots(scenario) is None and most_active(scenario) > 0
    return None if works else "no robot is active"


def robots_always_work(scenario: Scenario) -> str | None:
    """A fixed number of robots is active."""
    return static_robots(scenario) or some_robot_works(scenario)


def one_robot(scenario: Scenario) -> str | None:
    """One robot is active."""
    robots = most_active(scenario)
    return None if robots <= 1 else f"{robots} robots share the sequence of pages"


def one_robot_or_memoryless(scenario: Scenario) -> str | None:
    """One robot is active, or access times are exponential."""
    accesses = active_accesses(scenario)
    if most_active(scenario) == 1:
        return None
    if accesses and all(access_rate(access) is not None for access, _ in accesses):
        return None
    return "several robots with access times that are not exponential"


def working_robots_alike(scenario: Scenario) -> str | None:
    """All robots that work have the same access times."""
    several = len({access for access, _ in active_accesses(scenario)}) > 1
    return "robots of several classes work" if several else None


def several_robots(scenario: Scenario) -> str | None:
    """Several robots share the sequence of pages."""
    return "one robot" if one_robot(scenario) is None else None


def constant_accesses(scenario: Scenario) -> str | None:
    """Access times are constant."""
    law = access_law(scenario)
    constant = law is not None and isinstance(law.simplest, Deterministic)
    return None if constant else "access times are not constant"


def periodic_policy(scenario: Scenario) -> str | None:
    """The accessing policy repeats a list of pages."""
    return (
        None
        if isinstance(scenario.model.accessing, Periodic)
        else "the accessing policy has no period"
    )


def planned_policy(scenario: Scenario) -> str | None:
    """The accessing policy draws nothing and repeats nothing, and its long run is 2^24 slots."""
    policy = scenario.model.accessing
    if not is_planned(policy):
        return "the accessing policy has a period, or draws its pages"
    if policy.unresolved:
        return None
    if slots_of_long_run(scenario) > MOST_SLOTS:
        return "some page is accessed too seldom for the plan to be followed to its long run"
    return None


def index_policy(scenario: Scenario) -> str | None:
    """An index says which page is next: how often each is accessed depends on the window."""
    is_index = isinstance(scenario.model.accessing, IndexPolicy)
    return None if is_index else "no index says which page is next"


def randomized_policy(scenario: Scenario) -> str | None:
    """Each access draws its page independently."""
    return (
        None
        if isinstance(scenario.model.accessing, Randomized)
        else "pages are not drawn independently"
    )
