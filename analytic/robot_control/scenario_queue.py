"""The queue of a scenario whose robots are switched on one at a time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.formula import Condition, dependent
from analytic.machinery.arrival_process import rates_at_speed_one
from analytic.machinery.phase_type import PhaseLaw, as_phase_type, exponential_rate
from analytic.machinery.robot_modes import choices_by_mode, modes_of
from analytic.robot_control.switched_queue import (
    Levels,
    Measures,
    SwitchedQueue,
    measures_of_policy,
)
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.model import present
from scenarios.sections import Costs

MOST_STATES = 20_000
"""States of the chain up to which the best rule is searched: several seconds."""

OF_CLASSES: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.robots_unlike,
    conditions.one_server,
    conditions.no_host_spacing,
    conditions.pages_leave_the_queue_alone,
    conditions.poisson_accesses,
    conditions.phase_type_service,
    conditions.exponential_patience_or_none,
)
"""Conditions under which a rule of level and active robots of each class makes a chain of these."""

IN_ENVIRONMENT: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.in_environment,
    conditions.one_server,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    conditions.exponential_patience_or_none,
)
"""Conditions under which a rule that sees the environment, too, makes a chain of these."""


def response_unpriced(scenario: Scenario) -> str | None:
    """[costs] does not price the response time."""
    if not scenario.prices.response:
        return None
    around = conditions.in_environment(scenario) is None
    whose = "in an environment" if around else "of several classes"
    return f"[costs] prices the response time of robots {whose}"


def queue_of(scenario: Scenario, tables: int = 1) -> SwitchedQueue:
    """The queue of a scenario that meets the conditions; its [activation] is ignored.

    Parameters
    ----------
    scenario : Scenario
    tables : int
        That a rule has for the phases of the service. An exponential service has one phase, however
        it is written, unless there are several.
    """
    buffer, robots = buffer_and_robots(scenario)
    service_law = conditions.service_law(scenario)
    rate = exponential_rate(service_law) if tables == 1 else None
    service = PhaseLaw(np.ones(1), np.array([[-rate]])) if rate else as_phase_type(service_law)
    rates = present(rates_at_speed_one(conditions.fleet_of(scenario)))
    levels = Levels(present(service), conditions.timer_rate(scenario), buffer.capacity)
    return SwitchedQueue(levels, modes_of(robots, rates))


def prices_in(scenario: Scenario) -> Costs:
    """The prices while robots are switched, whatever the [activation] of the scenario."""
    given = scenario.costs.robots
    prices = scenario.prices
    if not isinstance(given, tuple):
        return prices
    return prices.model_copy(update={"robots": 0.0, "by_class": given})


@lru_cache(maxsize=8)
def measures_in(scenario: Scenario) -> Measures:
    """Measures of the rule of a scenario with switching.

    Raises
    ------
    NoAnswerError
        If the chain does not forget where it started.
    """
    _, robots = buffer_and_robots(scenario)
    assert isinstance(scenario.activation, Switching)
    choices = choices_by_mode(robots, scenario.activation)
    queue = queue_of(scenario, len(choices))
    return measures_of_policy(queue, queue.policy(queue.levels.spread(choices)))


@dependent
def chain_fits(scenario: Scenario) -> str | None:
    """The chain of levels, active robots of each class and environment has at most 20000 states."""
    states = queue_of(scenario).states
    return None if states <= MOST_STATES else f"its chain has {states} states, limit {MOST_STATES}"


PRICED: tuple[Condition, ...] = (conditions.priced, response_unpriced, chain_fits)
"""Further conditions under which the best rule is known."""


@dependent
def settles(scenario: Scenario) -> str | None:
    """The chain forgets where it started."""
    measures_in(scenario)  # a refusal is the reason
    return None
