"""What all searches of numbers of robots share: policies and their order, work, descent."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import cycle, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots, fleet_of
from analytic.index.formula import Condition, Formula, dependent, reason_against
from analytic.index.optimum import NoOptimumError, require
from analytic.indexing_queue.chain import QueueChain, controlled_chain
from analytic.indexing_queue.formulas import FORMULAS
from analytic.indexing_queue.measures import (
    servers_fit,
    service_and_patience,
    size_of,
)
from analytic.indexing_queue.policy_costs import level_rates, policy_costs
from analytic.indexing_queue.several_servers import (
    ServersChain,
    count_phases,
    size_of_servers,
)
from analytic.machinery.arrival_process import delivery_modes, joint_order
from analytic.machinery.refusal import NoAnswerError
from scenarios import Scenario
from scenarios.activation import Free, Levels, Threshold
from scenarios.arrays import Array, Indices
from scenarios.model import Fleet, present

MOST_POLICIES = 5_000_000

LONGEST = 900.0
"""Seconds that a search may take, about."""

ANNOUNCED = 5.0
"""Seconds from which on a search is announced."""

_GAINED = 1e-12
"""What a move of a descent must gain, relative to the cost."""

_LOG = logging.getLogger(__name__)


@dependent
def _servers_and_memory(scenario: Scenario) -> str | None:
    """Several servers need exponential access times and timers."""
    if conditions.one_server(scenario) is None:
        return None
    exponential = (
        conditions.poisson_accesses,
        conditions.exponential_patience_or_none,
        servers_fit,
    )
    reason = reason_against(exponential, scenario)
    return f"{conditions.one_server(scenario)}, and {reason}" if reason else None


COVERED: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.no_host_spacing,
    conditions.priced,
    conditions.one_price_of_robots,
    conditions.switches_not_priced,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    conditions.phase_type_patience,
    conditions.memoryless_or_ordered,
    conditions.response_known,
    _servers_and_memory,
)
"""Conditions under which the cost of every policy is known, whatever the rule of the file."""


Decision = TypeVar("Decision", bound=Hashable)

Policy = tuple[int, ...]
"""Robots at levels 0, 1, …"""


def threshold_count(numbers: int, levels: int) -> int:
    """How many threshold policies there are: lists of numbers by level that do not increase."""
    return math.comb(levels + numbers - 1, levels)


def threshold_policies(numbers: Sequence[int], levels: int, rows: ArrayLike) -> Indices:
    """Some threshold policies in the order of `policy_costs`.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of robots, increasing.
    levels : int
    rows : array_like of int, shape (policies,)
        Their positions in that order: by the number at the top level, then at the level below it,
        and so on.

    Returns
    -------
    ndarray of int, shape (policies, levels)
        Robots at levels 0, 1, …
    """
    left = np.asarray(rows, dtype=np.int64)
    chosen = np.zeros((levels, len(left)), dtype=np.intp)
    least = chosen[0]
    for level in range(levels - 1, -1, -1):
        before = _policies_before(len(numbers), level)
        left = left + before[least]
        least = np.searchsorted(before, left, side="right") - 1
        left = left - before[least]
        chosen[level] = least
    return np.array(numbers)[chosen.T]


def threshold_row(numbers: Sequence[int], robots: Sequence[int]) -> int:
    """The position of a threshold policy; the inverse of `threshold_policies`."""
    row = 0
    least = 0
    for level in range(len(robots) - 1, -1, -1):
        before = _policies_before(len(numbers), level)
        index = numbers.index(robots[level])
        row += int(before[index] - before[least])
        least = index
    return row


def _policies_before(numbers: int, level: int) -> Indices:
    """Policies of the levels up to this one that have a smaller number there, by that number."""
    each = [math.comb(level + numbers - 1 - index, level) for index in range(numbers)]
    return np.cumsum([0, *each[:-1]])


def level_policies(numbers: Sequence[int], levels: int, rows: ArrayLike) -> Indices:
    """Some rules with any number at any level, in the order of `policy_costs`.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of robots, increasing.
    levels : int
    rows : array_like of int, shape (policies,)
        Their positions in that order.

    Returns
    -------
    ndarray of int, shape (policies, levels)
        Robots at levels 0, 1, …
    """
    weights = len(numbers) ** np.arange(levels)
    chosen = np.asarray(rows)[:, None] // weights % len(numbers)
    return np.array(numbers)[chosen]


class Family(NamedTuple):
    """A family of policies.

    Attributes
    ----------
    follows : callable
        From a count of numbers to the matrix that says which may stand below which, as for
        `policy_costs`.
    members : callable
        How many policies there are, for a count of numbers and a count of levels.
    policies : callable
        All of them, robots by level in the order of `policy_costs`, for some numbers and a count of
        levels.
    """

    follows: Callable[[int], NDArray[np.bool_]]
    members: Callable[[int, int], int]
    policies: Callable[[Sequence[int], int], Indices]


NON_INCREASING = Family(
    follows=lambda count: np.triu(np.ones((count, count), dtype=bool)),
    members=threshold_count,
    policies=lambda numbers, levels: threshold_policies(
        numbers, levels, np.arange(threshold_count(len(numbers), levels))
    ),
)
"""As many robots or fewer on the level above: thresholds."""

ANY_ORDER = Family(
    follows=lambda count: np.ones((count, count), dtype=bool),
    members=lambda count, levels: count**levels,
    policies=lambda numbers, levels: level_policies(
        numbers, levels, np.arange(len(numbers) ** levels)
    ),
)
"""Any number at any level."""

CONSTANT = Family(
    follows=lambda count: np.eye(count, dtype=bool),
    members=lambda count, levels: count if levels else 1,
    policies=lambda numbers, levels: np.repeat(np.array(numbers)[:, None], levels, axis=1),
)
"""The same number at every level."""


def thresholds_of(robots: Sequence[int]) -> tuple[Policy, Policy]:
    """A policy as a file writes it: its numbers, and the thresholds between them."""
    used = tuple(sorted(set(robots), reverse=True))
    return used, thresholds_between(used, robots)


def thresholds_between(used: Sequence[int], robots: Sequence[int]) -> Policy:
    """Thresholds between some numbers, decreasing, under a policy that uses no others."""
    return tuple(sum(each >= number for each in robots) - 1 for number in used[:-1])


def by_level(scenario: Scenario, robots: Sequence[int]) -> Scenario:
    """The scenario with a policy as its activation."""
    if any(below < above for below, above in pairwise(robots)):
        return scenario.with_("activation", {"levels": list(robots)})
    used, at = thresholds_of(robots)
    return scenario.with_("activation", {"threshold": {"robots": list(used), "at": list(at)}})


def descended(
    start: Decision,
    moves: Sequence[Callable[[Decision], Iterable[Decision]]],
    costs: Callable[[Sequence[Decision]], Array],
) -> tuple[Decision, float]:
    """A local optimum: no move of any kind makes it cheaper.

    Parameters
    ----------
    start : hashable
    moves : sequence of callables
        Kinds of moves, each from a decision to those that it leads to; they are tried in turn, and
        the best of a kind is made if it gains.
    costs : callable
        From decisions to their costs; NaN where there is none.

    Returns
    -------
    hashable
    float
        Its cost.
    """
    here = start
    paid = float(costs([start])[0])
    without_gain = 0
    for move in cycle(moves):
        around = list(dict.fromkeys(move(here)))
        values = np.append(costs(around) if around else [], math.inf)
        least = int(np.nanargmin(values))
        without_gain += 1
        if values[least] < (math.inf if math.isnan(paid) else paid) * (1.0 - _GAINED):
            here = around[least]
            paid = float(values[least])
            without_gain = 0
        if without_gain == len(moves):
            break
    return here, paid


def allowed_numbers(scenario: Scenario) -> tuple[int, ...]:
    """Numbers of robots that are tried: 1 … available, and 0 where the file's own rule lists it.

    Raises
    ------
    NoOptimumError
        If there is no buffer that robots feed.
    """
    if scenario.buffer is None or scenario.robots is None:
        raise NoOptimumError("there is no [buffer]")
    rule = scenario.activation
    lists_none = isinstance(rule, Threshold | Levels | Free) and 0 in rule.robots
    return tuple(range(0 if lists_none else 1, scenario.robots.available + 1))


def require_covered(scenario: Scenario) -> None:
    """Refuse a scenario in which the cost of a policy has no exact value by a chain.

    Raises
    ------
    NoOptimumError
    """
    require(COVERED, scenario.with_("activation", None))


def uncontrolled(scenario: Scenario) -> Scenario:
    """The scenario without its [activation].

    Raises
    ------
    NoOptimumError
        If the cost of a policy has no exact value.
    """
    free = scenario.with_("activation", None)
    require(COVERED, free)
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
    free = scenario.with_("activation", None)
    if reason := reason_against(COVERED, free):
        return _costs_one_by_one(free, numbers, family, reason)
    _, phases, patience, top = size_of(free)
    try:
        order = joint_order(fleet_of(free), numbers)
    except NoAnswerError as failure:
        return _costs_one_by_one(free, numbers, family, str(failure))
    count = family.members(len(numbers), top + 1)
    if count > MOST_POLICIES:
        shown = f"{count}" if count < 10**6 else f"{count:.2g}" if count < 2**63 else "over 10^18"
        raise NoOptimumError(f"there are {shown} policies, limit {MOST_POLICIES}")
    sizes = [float(order), *(float(order * phases * patience ** min(n, 60)) for n in range(top))]
    if (servers := conditions.buffer_of(free).servers) > 1:
        sizes = [float(order * count_phases(min(n, servers), phases)) for n in range(top + 1)]
    together = seconds_together(sizes, len(numbers), family)
    if servers > 1:
        together = math.inf if free.prices.response else together
        states, width = size_of_servers(order, phases, servers, top)
        sizes = [states * (1.0 + width / 20)]
    one_by_one = count * (0.05 + 3e-6 * sum(sizes))  # by the formula of the index: measured
    seconds = min(together, one_by_one)
    check_time(seconds, f"all {count} policies take")
    if seconds > ANNOUNCED:
        _LOG.info("%s: about %.0f s for %s policies", scenario.name, seconds, count)
    if together <= one_by_one:
        costs = _together(free, numbers, family)
    else:
        policies = family.policies(numbers, top + 1).tolist()
        costs = np.array([_formula_cost(free, each) for each in policies])
    if numbers[0] == 0:  # then the first policy has no robot at any level
        costs[0] = cost_of_none(scenario)
    return costs


def _costs_one_by_one(
    scenario: Scenario, numbers: Sequence[int], family: Family, reason: str
) -> Array:
    """The same by a formula of the index for other queues; `reason` says why it is not Markov's."""
    needed = (conditions.has_buffer, conditions.no_host_spacing, conditions.one_price_of_robots)
    if reason_against(needed, scenario):
        raise NoOptimumError(reason)
    levels = conditions.buffer_of(scenario).capacity + 1
    count = family.members(len(numbers), levels)
    largest = by_level(scenario, [numbers[-1]] * levels)
    formula = _exact_cost(largest)
    if formula is None or count > MOST_POLICIES:
        raise NoOptimumError(reason)
    begun = time.perf_counter()
    formula.predict(largest)
    check_time(count * (time.perf_counter() - begun), f"all {count} policies take")
    costs = []
    for robots in family.policies(numbers, levels).tolist():
        if not any(robots):
            costs.append(cost_of_none(scenario))
            continue
        policy = by_level(scenario, robots)
        costs.append(exact_cost(policy, reason))
    return np.array(costs)


def exact_cost(policy: Scenario, reason: str) -> float:
    """The cost of a queue by a formula of the index; NaN where it has none.

    Raises
    ------
    NoOptimumError
        If no formula covers it, for this reason.
    """
    own = _exact_cost(policy)
    if own is None:
        raise NoOptimumError(reason)
    return next((each.value for each in own.predict(policy)), math.nan)


def _exact_cost(policy: Scenario) -> Formula | None:
    """The first exact formula of the control cost that covers a queue."""
    costs = (each for each in FORMULAS if each.quantity.startswith("control cost"))
    return next((each for each in costs if each.reason_against(policy) is None), None)


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
    prices = scenario.prices
    return math.nan if prices.response else prices.starvation + prices.standing


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
    fleet = present(scenario.model.fleet).as_numbered()
    chains = chains_where_always(scenario, modes_of_numbers(fleet, numbers), numbers)
    return policy_costs(level_rates(chains, scenario.prices), family.follows(len(numbers)))


def chains_where_always(
    scenario: Scenario, modes: Array, numbers: Sequence[int]
) -> Sequence[QueueChain | ServersChain]:
    """The chain of the queue under each number of robots, whatever the level.

    Parameters
    ----------
    scenario : Scenario
    modes : ndarray
        Of `modes_of_numbers`.
    numbers : sequence of int
    """
    buffer, _ = buffer_and_robots(scenario)
    laws = service_and_patience(scenario)
    chains = [
        controlled_chain(modes, always(number), *laws, buffer.capacity, buffer.admission)
        for number in numbers
    ]
    if buffer.servers == 1:
        return chains
    timer = conditions.timer_rate(scenario)
    return [ServersChain(chain, buffer.servers, timer) for chain in chains]


def modes_of_numbers(fleet: Fleet, numbers: Sequence[int]) -> Array:
    """The deliveries of every number of robots that a rule may name, as `delivery_modes`.

    Raises
    ------
    NoOptimumError
        If the robots have too many joint phases, where so many numbers are told apart.
    """
    try:
        joint_order(fleet, numbers)
    except NoAnswerError as failure:
        raise NoOptimumError(str(failure)) from None
    return delivery_modes(fleet, numbers)


def always(robots: int) -> Callable[[int], int]:
    """The same number at every level."""
    return lambda _: robots


def _formula_cost(scenario: Scenario, robots: Sequence[int]) -> float:
    """The control cost by the formula of the index, for numbers of robots by level."""
    if not any(robots):
        return math.nan  # no chain is needed
    policy = by_level(scenario, robots)
    several = conditions.several_servers(policy) is None
    quantity = "control cost with several servers" if several else "control cost"
    formula = next(each for each in FORMULAS if each.quantity == quantity)
    require(formula.conditions, policy)
    return next((each.value for each in formula.predict(policy)), math.nan)
