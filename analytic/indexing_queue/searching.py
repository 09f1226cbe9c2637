"""What all searches over numbers of robots share: which systems, which numbers, how much work."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytic import conditions
from analytic.arrival_process import delivery_modes
from analytic.conditions import buffer_and_robots
from analytic.formula import Condition, obstacles
from analytic.indexing_queue.chain import controlled_chain
from analytic.indexing_queue.formulas import FORMULAS
from analytic.indexing_queue.measures import service_and_patience, size_of
from analytic.indexing_queue.policy_costs import level_rates, policy_costs
from analytic.optimum import NoOptimumError
from scenarios import Scenario
from scenarios.arrays import Array

MOST_POLICIES = 5_000_000

LONGEST = 900.0
"""Seconds that a search may take, about."""

ANNOUNCED = 5.0
"""Seconds from which on a search is announced."""

_LOG = logging.getLogger(__name__)

_COVERED: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.no_host_spacing,
    conditions.priced,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    conditions.phase_type_patience,
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


def uncontrolled(scenario: Scenario) -> Scenario:
    """The scenario without its [activation].

    Raises
    ------
    NoOptimumError
        If the cost of a policy has no exact value.
    """
    free = scenario.with_("activation", None)
    reason = "; ".join(obstacles(_COVERED, free))
    if reason:
        raise NoOptimumError(reason)
    return free


def all_costs(scenario: Scenario, numbers: Sequence[int], family: Family) -> Array:
    """The exact cost of every policy of a family.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is ignored.
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
    free = uncontrolled(scenario)
    order, phases, patience, top = size_of(free)
    count = family.members(len(numbers), top + 1)
    if count > MOST_POLICIES:
        shown = f"{count}" if count < 10**6 else f"{count:.2g}" if count < 2**63 else "over 10^18"
        raise NoOptimumError(f"there are {shown} policies, limit {MOST_POLICIES}")
    sizes = [float(order), *(float(order * phases * patience ** min(n, 60)) for n in range(top))]
    together = seconds_together(sizes, len(numbers), family)
    one_by_one = count * (0.05 + 3e-6 * sum(sizes))  # by the formula of the index: measured
    seconds = min(together, one_by_one)
    check_time(seconds, f"all {count} policies take")
    if seconds > ANNOUNCED:
        _LOG.info("%s: about %.0f s for %s policies", scenario.name, seconds, count)
    if together <= one_by_one:
        costs = _together(free, numbers, family)
    else:
        policies = _members(family.follows(len(numbers)), top + 1)
        costs = np.array([_formula_cost(free, [numbers[i] for i in each]) for each in policies])
    if numbers[0] == 0:  # then the first policy has no robot at any level
        costs[0] = cost_of_none(scenario)
    return costs


def check_time(seconds: float, what: str) -> None:
    """Refuse a search that would take too long; `what` takes so long.

    Raises
    ------
    NoOptimumError
    """
    if seconds > LONGEST:
        raise NoOptimumError(f"{what} about {seconds / 60:.2g} minutes, limit {LONGEST / 60:.0f}")


def cost_of_none(scenario: Scenario) -> float:
    """Cost while no robot ever works: always empty, and without a response."""
    return math.nan if scenario.costs.response else scenario.costs.starvation


def seconds_together(sizes: Sequence[float], numbers: int, family: Family) -> float:
    """About how long all policies take, eliminated together: measured on one core.

    Parameters
    ----------
    sizes : sequence of float
        States of each level.
    numbers : int
        How many numbers of robots there are.
    family : Family
    """
    nodes = (family.members(numbers, len(sizes) - level) for level in range(len(sizes)))
    work = sum(
        many * (2e-7 * size**2 + 1.5e-9 * size**3) for many, size in zip(nodes, sizes, strict=True)
    )
    return work + 1e-4 * numbers * len(sizes)


def _together(scenario: Scenario, numbers: Sequence[int], family: Family) -> Array:
    """All policies at once."""
    buffer, robots = buffer_and_robots(scenario)
    modes = delivery_modes(robots, robots.available)
    laws = service_and_patience(scenario)
    capacity = buffer.waiting_places + 1
    chains = [
        controlled_chain(modes, always(number), *laws, capacity, buffer.admission)
        for number in numbers
    ]
    return policy_costs(level_rates(chains, scenario.costs), family.follows(len(numbers)))


def always(robots: int) -> Callable[[int], int]:
    """The same number at every level."""
    return lambda _: robots


def _members(follows: NDArray[np.bool_], levels: int) -> list[tuple[int, ...]]:
    """The policies of a family in the order of `policy_costs`, each from level 0 upwards."""
    below = [np.flatnonzero(row).tolist() for row in follows]
    members: list[tuple[int, ...]] = [(number,) for number in range(len(follows))]
    for _ in range(levels - 1):
        members = [(number, *each) for each in members for number in below[each[0]]]
    return members


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
