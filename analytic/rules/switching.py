"""The best rule that switches robots on one at a time: targets, or choices of a class."""

from __future__ import annotations

from collections.abc import Sequence

from analytic.index import conditions
from analytic.index.optimum import Optimum
from analytic.robot_control.switching import best_switching
from analytic.rules.bound import Bound
from analytic.rules.choices import best_choices_of, choices_within
from analytic.rules.environment import best_targets_in_environment
from analytic.rules.targets import targets_within
from scenarios import Scenario


def optimal_switching(scenario: Scenario) -> Optimum:
    """The optimal targets, or the optimal choices of a class; the table has each level or state.

    Raises
    ------
    NoOptimumError
        As `best_switching`, `best_targets_in_environment` or `best_choices_of`.
    """
    if scenario.robots is not None and conditions.robots_unlike(scenario) is None:
        return best_choices_of(scenario).optimum()
    if conditions.in_environment(scenario) is None:
        return best_targets_in_environment(scenario).optimum()
    return best_switching(scenario).optimum()


def switching_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best rule that switches one robot on at a time and keeps some bounds."""
    if scenario.robots is not None and conditions.robots_unlike(scenario) is None:
        return choices_within(scenario, bounds)
    return targets_within(scenario, bounds)
