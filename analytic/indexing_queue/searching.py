"""What all searches over numbers of robots share: which systems, which numbers, how much work."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from analytic import conditions
from analytic.arrival_process import delivery_modes
from analytic.formula import Condition, obstacles
from analytic.indexing_queue.chain import controlled_chain
from analytic.indexing_queue.formulas import FORMULAS
from analytic.indexing_queue.policy_costs import level_rates, policy_costs
from analytic.indexing_queue.solved import chain_of, laws_of, size_of
from analytic.indexing_queue.unlike_robots import (
    MOST_SETS,
    BestSets,
    best_sets,
    distinct_sets,
)
from analytic.optimum import NoOptimumError
from scenarios import Scenario
from scenarios.activation import Threshold
from scenarios.arrays import Array
from scenarios.deliveries import Independent, Marked, alone, as_modes, order_of

MOST_POLICIES = 5_000_000

LONGEST = 900.0
"""Seconds that a search may take, about."""

PATIENCE = 5.0
"""Seconds from which on one is told beforehand."""

_LOG = logging.getLogger(__name__)

_COVERED: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.no_host_spacing,
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
    return size_of(scenario.with_("activation", None))[3]


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
    reason = "; ".join(obstacles(_COVERED, uncontrolled))
    if reason:
        raise NoOptimumError(reason)
    count = family.members(len(numbers), top_level(scenario) + 1)
    if count > MOST_POLICIES:
        many = f"there are {_size(count)} policies"
        raise NoOptimumError(f"{many}; at most {MOST_POLICIES} are searched")
    order, phases, timers, top = size_of(uncontrolled)
    waiting = range(top)
    sizes = [float(order), *(float(order * phases * timers ** min(n, 60)) for n in waiting)]
    together = seconds_together(sizes, len(numbers), family)
    alone = seconds_alone(sizes, count)
    seconds = min(together, alone)
    if seconds > LONGEST:
        long = f"all {count} policies take about {seconds / 60:.2g} minutes"
        raise NoOptimumError(f"{long}; at most {LONGEST / 60:.0f} are spent")
    if seconds > PATIENCE:
        _LOG.info("%s: about %.0f s for %s policies", scenario.name, seconds, count)
    if together <= alone:
        costs = _together(uncontrolled, numbers, family)
    else:
        costs = _one_by_one(uncontrolled, numbers, family)
    if numbers[0] == 0:  # then the first policy has no robot at any level
        costs[0] = _cost_of_none(scenario)
    return costs


def cheapest_sets(scenario: Scenario, kinds: list[list[int]]) -> BestSets:
    """The cheapest robots of each number, of an independent or marked process.

    Robots that are not chosen run on unheard, so that their phases do not matter.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the sets take too long.
    """
    uncontrolled = scenario.with_("activation", None)
    reasons = (condition(uncontrolled) for condition in _COVERED)
    if (reason := next((each for each in reasons if each is not None), None)) is not None:
        raise NoOptimumError(reason)
    assert scenario.buffer is not None
    assert scenario.robots is not None
    deliveries = scenario.robots.deliveries
    assert isinstance(deliveries, Independent | Marked)
    service, timer = laws_of(uncontrolled)
    _, phases, timers, top = size_of(uncontrolled)
    room = scenario.buffer.waiting_places + 1, scenario.buffer.admission

    sizes = phases * timers ** np.minimum(np.arange(top), 60.0)

    def seconds(chosen: tuple[int, ...]) -> float:
        order = order_of(deliveries, chosen)
        return seconds_together([float(order), *(order * sizes).tolist()], 1, CONSTANT)

    some = islice(distinct_sets(kinds), MOST_SETS)
    if (whole := sum(map(seconds, some))) > LONGEST:
        long = f"the sets of robots take about {whole / 60:.2g} minutes"
        raise NoOptimumError(f"{long}; at most {LONGEST / 60:.0f} are spent")

    def cost(chosen: tuple[int, ...]) -> float:
        if not chosen:
            return _cost_of_none(scenario)
        modes = as_modes(alone(deliveries, chosen))
        chain = controlled_chain(modes, _always(len(chosen)), service, timer, *room)
        return float(policy_costs(level_rates([chain], scenario.costs), CONSTANT.follows(1))[0])

    return best_sets(kinds, cost, f"{scenario.name}: sets of robots")


def _size(number: int) -> str:
    return f"{number}" if number < 10**6 else f"{number:.2g}" if number < 2**63 else "over 10^18"


def _cost_of_none(scenario: Scenario) -> float:
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


def seconds_alone(sizes: Sequence[float], count: int) -> float:
    """About how long the policies take, each by the formula of the index: measured."""
    return count * (0.05 + 3e-6 * sum(sizes))


def _together(scenario: Scenario, numbers: Sequence[int], family: Family) -> Array:
    """All policies at once."""
    assert scenario.robots is not None
    assert scenario.buffer is not None
    chain = chain_of(scenario)
    modes = delivery_modes(scenario.robots, scenario.robots.available)
    room = scenario.buffer.waiting_places + 1, scenario.buffer.admission
    chains = [
        controlled_chain(modes, _always(robots), chain.service, chain.timer, *room)
        for robots in numbers
    ]
    return policy_costs(level_rates(chains, scenario.costs), family.follows(len(numbers)))


def _always(robots: int) -> Callable[[int], int]:
    """The same number at every level."""
    return lambda _: robots


def _one_by_one(scenario: Scenario, numbers: Sequence[int], family: Family) -> Array:
    """Each policy by the formula for its cost."""
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
