"""Conditions of formulas about pages, each with the reason where it does not hold."""

from __future__ import annotations

import math

import numpy as np

from analytic.active_robots import most_active
from analytic.arrival_process import gap_map, mean_rate
from analytic.formula import dependent, premise
from analytic.markov import closed_classes
from analytic.phase_type import exponential_rate
from analytic.transforms import mean_time
from scenarios import Scenario
from scenarios.accessing.policy import Periodic, Planned
from scenarios.accessing.randomized import Randomized
from scenarios.activation import Static, These
from scenarios.laws import Deterministic, Distribution, Exponential
from scenarios.page_data import access_shares, change_rates, page_weights
from scenarios.processes import Map, Mmpp, Poisson, Renewal

MOST_SLOTS = 2**24
"""Accesses up to which a sequence is written out."""

MOST_ENTRIES = 2**22
"""Entries of the tables for robots that share a sequence."""


def access_law(scenario: Scenario) -> Distribution | None:
    """Law of one access time, where successive times are independent; else None."""
    access = scenario.robots.access_time if scenario.robots else None
    if access is None or isinstance(access, Map | Mmpp):
        return None
    if isinstance(access, Poisson):
        return Exponential(rate=access.rate)
    return access.gap if isinstance(access, Renewal) else access


def law_between_accesses(scenario: Scenario) -> Distribution:
    """Law of the time from one delivery to the next; several robots have to be exponential."""
    law = access_law(scenario)
    robots = most_active(scenario)
    assert law is not None
    return law if robots == 1 else Exponential(mean=mean_time(law) / robots)


def time_per_access(scenario: Scenario) -> float:
    """Mean time from one access to the next; inf where it is not known or nobody works."""
    law = access_law(scenario)
    robots = most_active(scenario)
    access = scenario.robots.access_time if scenario.robots else None
    if not robots or access is None:
        return math.inf
    if law is not None:
        return mean_time(law) / robots
    matrices = gap_map(access)
    if matrices is None or len(closed_classes(matrices[0] + matrices[1])) != 1:
        return math.inf
    return 1.0 / (robots * mean_rate(np.stack(matrices)))


def pace_of_accesses(scenario: Scenario) -> tuple[Distribution | None, bool]:
    """Law of the time from one access to the next, and whether it is an approximation.

    Where those times are not independent, deliveries wait in a buffer, or several robots share a
    sequence, a constant of the same mean stands for them; None where the mean is not known. Of
    several exponential robots the times between deliveries are those of one fast robot, but not
    their order, which matters to everything but random choices.
    """
    shared = one_robot_or_memoryless if randomized_policy(scenario) is None else one_robot
    approximate = bool(no_buffer(scenario) or independent_accesses(scenario) or shared(scenario))
    mean = time_per_access(scenario)
    if not math.isfinite(mean):
        return None, True
    return (
        Deterministic(value=mean) if approximate else law_between_accesses(scenario)
    ), approximate


@premise
def has_pages(scenario: Scenario) -> str | None:
    """There are pages to access."""
    return None if scenario.pages is not None else "there are no [pages]"


@premise
def no_buffer(scenario: Scenario) -> str | None:
    """Deliveries refresh the index at once."""
    return None if scenario.buffer is None else "deliveries wait in a [buffer]"


def independent_accesses(scenario: Scenario) -> str | None:
    """Access times are independent."""
    if scenario.robots is not None and scenario.robots.access_time is None:
        return "deliveries are a joint process"
    return None if access_law(scenario) is not None else "access times are not independent"


def resolved_frequencies(scenario: Scenario) -> str | None:
    """What the policy needs is given, not to be found."""
    policy = scenario.robots.accessing if scenario.robots else None
    key = policy.unresolved if policy is not None else None
    return f"the {key} of the accessing policy are still to be found" if key else None


def some_robot_works(scenario: Scenario) -> str | None:
    """At least one robot is active."""
    return None if _fixed(scenario) and most_active(scenario) > 0 else "no robot is active"


def robots_always_work(scenario: Scenario) -> str | None:
    """A fixed number of robots is active."""
    if not _fixed(scenario):
        return "the number of active robots depends on the level"
    return some_robot_works(scenario)


def _fixed(scenario: Scenario) -> bool:
    return scenario.activation is None or isinstance(scenario.activation, Static | These)


def one_robot(scenario: Scenario) -> str | None:
    """One robot is active."""
    robots = most_active(scenario)
    return None if robots <= 1 else f"{robots} robots share the sequence of pages"


def one_robot_or_memoryless(scenario: Scenario) -> str | None:
    """One robot is active, or access times are exponential."""
    law = access_law(scenario)
    if most_active(scenario) == 1 or (law is not None and exponential_rate(law) is not None):
        return None
    return "several robots with access times that are not exponential"


def several_robots(scenario: Scenario) -> str | None:
    """Several robots share the sequence of pages."""
    return "one robot" if one_robot(scenario) is None else None


def constant_accesses(scenario: Scenario) -> str | None:
    """Access times are constant."""
    constant = isinstance(access_law(scenario), Deterministic)
    return None if constant else "access times are not constant"


@dependent
def short_rounds(scenario: Scenario) -> str | None:
    """Period times robots, for exponential ones times pages, is at most 2^22."""
    pages = scenario.pages
    robots = scenario.robots
    assert pages is not None
    assert robots is not None
    policy = robots.accessing
    assert isinstance(policy, Periodic)
    size = len(policy.cycle_of(access_shares(policy, pages))) * most_active(scenario)
    constant = constant_accesses(scenario) is None
    fits = size * (1 if constant else pages.count) <= MOST_ENTRIES
    return None if fits else "the period is too long for so many robots"


def periodic_policy(scenario: Scenario) -> str | None:
    """The accessing policy repeats a list of pages."""
    policy = scenario.robots.accessing if scenario.robots else None
    return None if isinstance(policy, Periodic) else "the accessing policy has no period"


def planned_policy(scenario: Scenario) -> str | None:
    """The accessing policy draws nothing and repeats nothing; a run has at most 2^24 accesses."""
    policy = scenario.robots.accessing if scenario.robots else None
    if isinstance(policy, Periodic) or not isinstance(policy, Planned):
        return "the accessing policy has a period, or draws its pages"
    return None if slots_of_run(scenario)[1] <= MOST_SLOTS else "the run has too many accesses"


def slots_of_run(scenario: Scenario) -> tuple[int, int]:
    """About how many accesses lie before the warm-up's end, and before the horizon."""
    time = time_per_access(scenario)
    return int(scenario.run.warmup / time), math.ceil(scenario.run.horizon / time)


def randomized_policy(scenario: Scenario) -> str | None:
    """Each access draws its page independently."""
    policy = scenario.robots.accessing if scenario.robots else None
    return None if isinstance(policy, Randomized) else "pages are not drawn independently"


def weights_as_change_rates(scenario: Scenario) -> str | None:
    """Weights are proportional to change rates."""
    return None if _are_proportional(scenario) else "weights are not proportional to change rates"


def weights_of_their_own(scenario: Scenario) -> str | None:
    """Weights are not proportional to change rates."""
    return "weights are proportional to change rates" if _are_proportional(scenario) else None


def _are_proportional(scenario: Scenario) -> bool:
    assert scenario.pages is not None
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    if not rates.any() or not weights.any():
        return False
    return bool(np.allclose(weights * rates.sum(), rates * weights.sum(), rtol=1e-14, atol=0.0))
