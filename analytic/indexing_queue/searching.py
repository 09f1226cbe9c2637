"""What all searches over numbers of robots share: which systems, which numbers, how much work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic import conditions
from analytic.arrival_process import delivery_modes, joint_order
from analytic.formula import Condition
from analytic.indexing_queue.chain import NO_TIMER, count_states
from analytic.indexing_queue.formulas import FORMULAS
from analytic.indexing_queue.policy_costs import level_rates, policy_costs
from analytic.optimum import NoOptimumError
from analytic.phase_type import PhaseLaw, as_phase_type, exponential_rate
from scenarios import Scenario
from scenarios.activation import Threshold
from scenarios.deliveries import LARGEST_ORDER, as_modes

__all__ = ["CONSTANT", "NON_INCREASING", "Family", "numbers_of", "searched", "top_level"]

Array = NDArray[np.floating[Any]]
LARGEST_SHARED = 5000
"""States of a chain up to which policies are eliminated together, level by level."""

MOST_POLICIES = 5_000_000

MOST_STATES = 100_000_000
"""States of all policies together, where each is solved by itself."""

MOST_WORK = 3 * 10**11
"""Multiplications, where policies are eliminated together: about ten minutes (measured)."""

_COVERED: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.priced,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    conditions.phase_type_timers,
    conditions.memoryless_or_ordered,
    conditions.response_known,
)
"""Conditions under which the cost of every policy is known; the file's own rule does not matter."""


@dataclass(frozen=True)
class Family:
    """A family of policies.

    Attributes
    ----------
    follows : callable
        From a count of numbers to the matrix that says which may stand below which, as for
        `policy_costs`.
    members : callable
        How many policies there are, for a count of numbers and a count of levels.
    """

    follows: Callable[[int], NDArray[np.bool_]]
    members: Callable[[int, int], int]


NON_INCREASING = Family(
    lambda count: np.triu(np.ones((count, count), dtype=bool)),
    lambda count, levels: math.comb(levels + count - 1, levels),
)
"""As many robots or fewer on the level above: thresholds."""

CONSTANT = Family(
    lambda count: np.eye(count, dtype=bool),
    lambda count, levels: count if levels else 1,
)
"""The same number at every level."""


def numbers_of(scenario: Scenario) -> tuple[int, ...]:
    """Numbers of robots that thresholds may use: 1 … available, 0 where the file's own list it."""
    assert scenario.robots is not None
    rule = scenario.activation
    lowest = 0 if isinstance(rule, Threshold) and 0 in rule.robots else 1
    return tuple(range(lowest, scenario.robots.available + 1))


def top_level(scenario: Scenario) -> int:
    """The highest level: all places taken, or more where batches enter as a whole."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    places = scenario.buffer.waiting_places + 1
    if scenario.buffer.admission != "complete" or scenario.robots.deliveries is None:
        return places
    largest: int = as_modes(scenario.robots.deliveries).shape[1] - 1
    return places + largest - 1


def searched(scenario: Scenario, numbers: Sequence[int], family: Family) -> Array:
    """The exact cost of every policy of a family.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is not looked at.
    numbers : sequence of int
        Numbers of robots, increasing.
    family : Family

    Returns
    -------
    ndarray, shape (policies,)
        In the order of the numbers at the top level, then at the level below it, and so on; NaN
        where a policy has no cost.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or there are too many policies.
    """
    uncontrolled = scenario.with_("activation", None)
    reasons = (condition(uncontrolled) for condition in _COVERED)
    reason = next((each for each in reasons if each is not None), None)
    if reason is not None:
        raise NoOptimumError(reason)
    count = family.members(len(numbers), top_level(scenario) + 1)
    if count > MOST_POLICIES:
        many = f"there are {_size(count)} policies"
        raise NoOptimumError(f"{many}; at most {MOST_POLICIES} are searched")
    if _states(scenario) <= LARGEST_SHARED:
        costs = _together(scenario, numbers, family)
    else:
        costs = _one_by_one(scenario, numbers, family, count)
    if numbers[0] == 0:  # then the first policy has no robot at any level
        costs[0] = _cost_of_none(scenario)
    return costs


def _size(number: int) -> str:
    return f"{number}" if number < 10**6 else f"{number:.2g}" if number < 2**63 else "over 10^18"


def _cost_of_none(scenario: Scenario) -> float:
    """Cost while no robot ever works: always empty, and without a response."""
    return math.nan if scenario.costs.response else scenario.costs.starvation


def _laws(scenario: Scenario) -> tuple[PhaseLaw, PhaseLaw]:
    """Service and timer as phase-type laws; a timer that is exponential has one phase."""
    assert scenario.buffer is not None
    service, law = as_phase_type(scenario.buffer.service), conditions.timers_of(scenario)
    assert service is not None
    if law is None:
        return service, NO_TIMER
    rate = exponential_rate(law)
    timer = as_phase_type(law) if rate is None else PhaseLaw(np.ones(1), np.array([[-rate]]))
    assert timer is not None
    return service, timer


def _order(scenario: Scenario) -> int:
    """Number of phases of the deliveries with all robots."""
    assert scenario.robots is not None
    if scenario.robots.deliveries is not None:
        order: int = as_modes(scenario.robots.deliveries).shape[2]
        return order
    return joint_order(scenario.robots, scenario.robots.available)


def _states(scenario: Scenario) -> int:
    """Number of states of the chain of a policy that uses all robots."""
    service, timer = _laws(scenario)
    order, phases, top = _order(scenario), len(timer.start), top_level(scenario)
    if order > LARGEST_ORDER:
        raise NoOptimumError(f"the robots have more than {LARGEST_ORDER} joint phases")
    if phases > 1 and top > 64:
        return 2**63
    return count_states(order, len(service.start), phases, top)


def _together(scenario: Scenario, numbers: Sequence[int], family: Family) -> Array:
    """All policies at once."""
    assert scenario.robots is not None
    assert scenario.buffer is not None
    work = _work(scenario, len(numbers), family)
    if work > MOST_WORK:
        allowed = f"at most {MOST_WORK:.0e} are done"
        raise NoOptimumError(f"all policies take {_size(work)} multiplications; {allowed}")
    modes = delivery_modes(scenario.robots, scenario.robots.available)
    room = scenario.buffer.waiting_places + 1, scenario.buffer.admission
    rates = level_rates(modes, numbers, _laws(scenario), room, scenario.costs)
    return policy_costs(rates, family.follows(len(numbers)))


def _work(scenario: Scenario, numbers: int, family: Family) -> int:
    """Multiplications of the elimination, level by level."""
    service, timer = _laws(scenario)
    first, phases, top = _order(scenario), len(timer.start), top_level(scenario)
    sizes = [first] + [first * len(service.start) * phases**waiting for waiting in range(top)]
    nodes = (family.members(numbers, top + 1 - level) for level in range(top + 1))
    return sum(many * size**3 for many, size in zip(nodes, sizes, strict=True))


def _one_by_one(scenario: Scenario, numbers: Sequence[int], family: Family, count: int) -> Array:
    """Each policy by the formula for its cost."""
    work = count * _states(scenario)
    if work > MOST_STATES:
        many = f"the chains of {count} policies have {_size(work)} states together"
        raise NoOptimumError(f"{many}; at most {_size(MOST_STATES)} are solved")
    policies = _members(family.follows(len(numbers)), top_level(scenario) + 1)
    costs = [_formula_cost(scenario, [numbers[index] for index in each]) for each in policies]
    return np.array(costs)


def _members(follows: NDArray[np.bool_], levels: int) -> list[tuple[int, ...]]:
    """The policies of a family in the order of `policy_costs`, each from level 0 upwards."""
    below = [np.flatnonzero(row).tolist() for row in follows]
    found: list[tuple[int, ...]] = [(number,) for number in range(len(follows))]
    for _ in range(levels - 1):
        found = [(number, *each) for each in found for number in below[each[0]]]
    return found


def _formula_cost(scenario: Scenario, robots: Sequence[int]) -> float:
    """The control cost by the formula of the index, for numbers of robots by level."""
    used = sorted(set(robots), reverse=True)
    at = [sum(each >= number for each in robots) - 1 for number in used[:-1]]
    if used[0] == 0:
        return math.nan  # no chain is needed
    policy = scenario.with_("activation", {"threshold": {"robots": used, "at": at}})
    formula = next(each for each in FORMULAS if each.quantity == "control cost")
    reason = formula.reason_against(policy)
    if reason is not None:
        raise NoOptimumError(reason)
    return next((each.value for each in formula.predict(policy)), math.nan)
