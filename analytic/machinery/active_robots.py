"""How many robots are active at a level, under a rule of the level."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from analytic.machinery.refusal import NoAnswerError
from scenarios import Scenario, ScenarioError
from scenarios.activation import Free, Levels, Optimal, Static, These, Threshold
from scenarios.model import Hysteresis


def require_decided(scenario: Scenario) -> None:
    """Refuse a scenario whose activation is still to be optimised: it is not yet a system.

    Raises
    ------
    ScenarioError
        Naming ``activation.optimal``.
    """
    rule = scenario.activation
    if isinstance(rule, Optimal):
        allowed = "is not decided; analytic.resolve(scenario) decides it"
        raise ScenarioError("activation.optimal", rule.family, allowed, scenario.name)


def remembering(scenario: Scenario) -> Hysteresis | None:
    """The rule, where the level alone does not say how many robots are active and what they do."""
    given = scenario.model.hysteresis
    return None if given is None or given.is_memoryless else given


def robots_at(scenario: Scenario) -> Callable[[int], int]:
    """Active robots as a function of the level.

    avrachenkov2011, section 2: ``robots[t]`` where ``at[t - 1] < level <= at[t]``.

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised.
    NoAnswerError
        If the number depends on phases, too, or on the levels before.
    """
    require_decided(scenario)
    assert scenario.robots is not None
    rule = scenario.activation
    if remembering(scenario) is not None:
        raise NoAnswerError("how many robots are active depends on how the level came about")
    if isinstance(rule, Threshold):
        return robots_while_it_fills(scenario)
    if isinstance(rule, Levels):
        return lambda level: rule.robots[level]
    if isinstance(rule, Free):
        if any(len({number for row in level for number in row}) > 1 for level in rule.root):
            raise NoAnswerError("the number of active robots depends on phases")
        return lambda level: rule.root[level][0][0]
    fixed = rule.robots if isinstance(rule, Static | These) else scenario.robots.available
    return lambda level: fixed  # noqa: ARG005  # a fixed number does not depend on the level


def robots_while_it_fills(scenario: Scenario) -> Callable[[int], int]:
    """Active robots at a level that is reached from below for the first time."""
    rule = scenario.activation
    if isinstance(rule, Threshold):
        return lambda level: rule.robots[bisect_left(rule.at, level)]
    return robots_at(scenario)


def most_active(scenario: Scenario) -> int:
    """Largest number of robots that are ever active: of thresholds that of the empty system."""
    rule = scenario.activation
    if isinstance(rule, Levels | Free | Threshold):
        return max(rule.robots)
    return robots_at(scenario)(0)


def numbers_in_use(scenario: Scenario) -> list[int]:
    """Numbers of active robots that there are at some level and time, in increasing order.

    The limits of interventions are among them; of robots that take a time to start those that
    deliver are meant.
    """
    rule, given = scenario.activation, scenario.model.hysteresis
    if given is not None and given.start_up is not None:
        numbers = [*range(given.robots[-1], given.robots[0] + 1)]
    elif isinstance(rule, Levels | Free | Threshold):
        numbers = [*rule.robots]
    else:
        numbers = [robots_at(scenario)(0)]
    limits = scenario.model.timeline.limits
    return sorted({*numbers, *(min(limit, number) for limit in limits for number in numbers)})
