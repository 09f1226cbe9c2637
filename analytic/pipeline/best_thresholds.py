"""The best threshold policy end to end: all policies where they are few, else the best found.

A policy gives a number of robots for each level, not increasing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.index import conditions, page_conditions
from analytic.index.accesses import accessed_pages
from analytic.index.conditions import buffer_and_robots, buffer_of
from analytic.index.formula import is_covered
from analytic.index.optimum import NoOptimumError, Optimum, require
from analytic.machinery.arrival_process import delivery_rates
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.progress import Progress
from analytic.machinery.refusal import NoAnswerError
from analytic.pipeline.conditions import (
    PATH,
    copies_leave_together,
)
from analytic.pipeline.costs import (
    Alone,
    CostOf,
    cost_of,
    more_may_be_better,
    price_of_alone,
    prices_pages,
    require_prices,
)
from analytic.rules.free_process import runner_up
from analytic.rules.hysteresis import best_hysteresis, counts_switches
from analytic.rules.levels import thresholds_by_level
from analytic.rules.searching import (
    Policy,
    by_level,
    descended,
    threshold_count,
    threshold_policies,
    thresholds_of,
)
from analytic.rules.thresholds import (
    GAIN,
    ThresholdPolicy,
    ThresholdSearch,
    optimal_thresholds,
    threshold_optimum,
)
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.text import counted

CostsOf = Callable[[ArrayLike], Array]
"""From policies, shape (policies, levels), to their costs, shape (policies,)."""
Other = tuple[str, float] | None
"""Another criterion, and the cost of what it decides."""

_STEPS = 10**6
"""Policies times levels times kinds of pages that are evaluated together."""
_MOST_IN_TABLE = 100_000
"""Policies whose costs are all kept: a table of the best one for every list of numbers."""
_MOST_NUMBERS_IN_TABLE = 12
_MOST_WORK = 2 * 10**9
"""Policies times levels times kinds of pages that are searched: about twenty seconds."""
_MOST_SLOW = 1000
"""Policies that are evaluated one by one, all of them."""
_MOST_TRIED = 750
"""Levels times robots of those that are searched one level at a time, some milliseconds each."""
_MOST_TRIED_QUICKLY = 20_000
"""The same, where many are evaluated together."""
_STARTS = 4
"""Policies from which it starts."""
_MOST_PAIRS = 20_000
"""Pairs of numbers times thresholds that are tried."""
_MOST_CURVES = 6
"""Pairs of numbers that the figure shows."""
_THROUGH = "through the buffer: "


def end_to_end_thresholds(scenario: Scenario, cost: CostOf = cost_of) -> Optimum:
    """The best threshold policy, end to end, with 0 … available robots at each level.

    Proved where all policies are evaluated; otherwise the best that a descent from the best single
    number and the best pairs of numbers finds, one level or run of levels at a time. Where
    staleness has no price, the policy of `optimal_thresholds`; where copies of a page leave the
    buffer together, the same search by the formulas of this package.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or there are too many policies.
    """
    if counts_switches(scenario):
        return _with_hysteresis(scenario, cost)
    if not prices_pages(scenario):
        require_prices(scenario)
        return _searched(scenario) if copies_leave_together(scenario) else _by_papers(scenario)
    require([conditions.one_price_of_robots], scenario)
    _refuse_without_cost(scenario.with_("activation", None), cost)
    alone, reason = price_of_alone(scenario, _by_papers_with_none, cost)
    return _searched(scenario, alone, reason, cost)


def _with_hysteresis(scenario: Scenario, cost: CostOf) -> Optimum:
    """The best thresholds where switches have a price, or take a time."""
    if not prices_pages(scenario) and not copies_leave_together(scenario):
        require_prices(scenario)
        return best_hysteresis(scenario)
    require([conditions.one_price_of_robots], scenario)
    _refuse_without_cost(scenario.with_("activation", None), cost)
    return best_hysteresis(scenario, cost, with_none=True)


def _refuse_without_cost(scenario: Scenario, cost: CostOf) -> None:
    """Say why no policy has a cost, before any search."""
    reasons = ['admission is "complete"'] if buffer_of(scenario).admission == "complete" else []
    try:
        cost(scenario)
    except NoOptimumError as reason:
        reasons.append(str(reason).removeprefix(_THROUGH))
    if reasons:
        raise NoOptimumError(f"{_THROUGH}{'; '.join(reasons)}")


def _by_papers(scenario: Scenario) -> Optimum:
    """The best thresholds by the other prices; where they are too many, the best found."""
    if copies_leave_together(scenario):
        return _searched(scenario)
    try:
        return optimal_thresholds(scenario)
    except NoAnswerError:
        if (found := thresholds_by_level(scenario)) is not None:
            return found
        plain = scenario.with_("activation", None)
        if not is_birth_death(plain):
            raise
        search, notes = _best_by_descent(plain, evaluation_of(plain), None)
        found = replace(threshold_optimum(search, notes), proved=False, gap=None)
        _, robots = buffer_and_robots(plain)
        return runner_up(found, plain, range(robots.available + 1))


def _by_papers_with_none(scenario: Scenario) -> Optimum:
    """As `_by_papers`, but with no robot too: what it is set beside is searched from 0 on."""
    _, robots = buffer_and_robots(scenario)
    listed = {"threshold": {"robots": [robots.available, 0], "at": [0]}}
    return _by_papers(scenario.with_("activation", listed))


def _searched(
    scenario: Scenario, alone: Alone | None = None, reason: str = "", cost: CostOf = cost_of
) -> Optimum:
    """By the scenario's own prices, beside what is best by the papers', or why there is none."""
    plain = scenario.with_("activation", None)
    other = alone.short if alone else None
    evaluation = evaluation_of(plain, cost)
    buffer, robots = buffer_and_robots(scenario)
    count = threshold_count(robots.available + 1, buffer.capacity + 1)
    proved = count <= evaluation.most
    search: ThresholdSearch | BestThresholds
    if proved:
        search, notes = _best_of_all(plain, evaluation, other)
    else:
        search, notes = _best_by_descent(plain, evaluation, other)
    beside = alone.note(search.optimum.cost) if alone else reason
    notes += [beside] * bool(beside)
    notes += more_may_be_better(max(search.optimum.robots), scenario)
    return replace(threshold_optimum(search, notes), proved=proved, gap=0.0 if proved else None)


def _best_of_all(
    scenario: Scenario, evaluation: Evaluation, other: Other
) -> tuple[ThresholdSearch | BestThresholds, list[str]]:
    """Every policy; the costs of all are kept where a table of them is for people."""
    buffer, robots = buffer_and_robots(scenario)
    available = robots.available
    numbers = range(available + 1)
    levels = buffer.capacity + 1
    count = threshold_count(len(numbers), levels)
    summary = f"all {count:,} policies of 0 to {available} robots searched: none costs less"
    progress = Progress(f"{scenario.name}: thresholds, policies", count)
    few = count <= _MOST_IN_TABLE and len(numbers) <= _MOST_NUMBERS_IN_TABLE
    keeps = few or evaluation.one_by_one
    kept = []
    best: tuple[float, Policy] = (math.inf, ())
    for first in range(0, count, evaluation.at_once):
        rows = np.arange(first, min(first + evaluation.at_once, count))
        policies = threshold_policies(numbers, levels, rows)
        costs = evaluation.costs(policies)
        if keeps:
            kept.append(costs)
        least = int(np.nanargmin(np.append(costs, math.inf)))
        if least < len(costs) and costs[least] < best[0]:
            best = float(costs[least]), tuple(policies[least].tolist())
        progress.step(len(costs))
    if keeps:
        name = scenario.name, scenario.time_unit
        search = ThresholdSearch(*name, tuple(numbers), levels - 1, np.concatenate(kept), other)
        return search, [summary, *search.notes()]
    table = table_of_bests(scenario, evaluation.costs, [best[1]], few=False, other=other)
    return table, [summary, GAIN]


def _best_by_descent(
    scenario: Scenario, evaluation: Evaluation, other: Other
) -> tuple[BestThresholds, list[str]]:
    """The best of the descents from the best single number and the best pairs of numbers."""
    buffer, robots = buffer_and_robots(scenario)
    available = robots.available
    top = buffer.capacity
    few = evaluation.one_by_one
    most = _MOST_TRIED if few else _MOST_TRIED_QUICKLY
    if (top + 1) * available > most:
        many = f"{counted(top + 1, 'level')} × {counted(available, 'robot')}"
        raise NoOptimumError(f"{many}; at most {most} are searched")
    progress = Progress(f"{scenario.name}: thresholds, policies tried")

    def costs_of(given: ArrayLike) -> Array:
        """Evaluated in chunks, so that the search can be interrupted."""
        policies = np.asarray(given)
        parts = []
        for start in range(0, len(policies), evaluation.at_once):
            parts.append(evaluation.costs(policies[start : start + evaluation.at_once]))
            progress.step(len(parts[-1]))
        return np.concatenate(parts)

    pairs = pairs_of(available, top, few=few)
    singles = [(each,) * (top + 1) for each in range(1, available + 1)]
    tried = [*singles, *(two_numbers(*pair, at, top) for pair in pairs for at in range(top))]
    costs = costs_of(tried)
    order = np.argsort(costs, kind="stable")[: _STARTS - 1].tolist()
    best_single = singles[int(np.argmin(costs[:available]))]
    starts = dict.fromkeys([*(tried[each] for each in order), best_single])
    moves = [partial(changed_at, level, available) for level in range(top + 1)]
    ends = [descended(start, moves, costs_of)[0] for start in starts]
    count = threshold_count(available + 1, top + 1)
    of_how_many = f"{count:.2g}" if count < 2**63 else "over 10^18"
    summary = (
        f"best found: {progress.done:,} policies tried of {of_how_many}, from the best "
        "single numbers and pairs on, until no change of a level or a run of levels costs less; "
        "not proved"
    )
    return table_of_bests(scenario, costs_of, ends, few=few, other=other), [summary, GAIN]


def changed_at(level: int, available: int, policy: Policy) -> Iterator[Policy]:
    """Other numbers at a level: there alone, up to it from below, or from it on in its run."""
    now = policy[level]
    first = policy.index(now)
    last = len(policy) - 1 - policy[::-1].index(now)
    most = policy[first - 1] if first else available
    least = policy[last + 1] if last + 1 < len(policy) else 0
    for number in range(now + 1, most + 1):
        yield (*policy[:first], *[number] * (level + 1 - first), *policy[level + 1 :])
    for number in range(least, now):
        changed = (*policy[:level], *[number] * (last + 1 - level), *policy[last + 1 :])
        if changed[0]:
            yield changed


# --- the costs of policies ----------------------------------------------------------------------


class Evaluation(NamedTuple):
    """How the policies of a pipeline are evaluated.

    Attributes
    ----------
    costs : callable
        From policies to their costs.
    most : int
        Policies up to which all of them are searched.
    at_once : int
        Policies between two reports of progress.
    one_by_one : bool
        Whether each takes a solution of its own.
    """

    costs: CostsOf
    most: int
    at_once: int
    one_by_one: bool


def evaluation_of(scenario: Scenario, cost: CostOf = cost_of) -> Evaluation:
    """How its policies are evaluated: many together where it is a birth-death queue."""
    if not is_birth_death(scenario):

        @cache
        def paid(*robots: int) -> float:
            return cost(by_level(scenario, robots))

        def one_by_one(policies: ArrayLike) -> Array:
            return np.array([paid(*robots) for robots in np.asarray(policies).tolist()])

        return Evaluation(one_by_one, most=_MOST_SLOW, at_once=1, one_by_one=True)
    queue = birth_death(scenario)
    levels = buffer_of(scenario).capacity + 1
    steps = levels * max(len(queue.weights), 1)
    return Evaluation(
        queue.costs, most=_MOST_WORK // steps, at_once=max(_STEPS // steps, 1), one_by_one=False
    )


class BirthDeath(NamedTuple):
    """A pipeline whose level is a birth-death process.

    Attributes
    ----------
    access, service : float
        Rates of the accesses of one robot, and of the service.
    prices : ndarray, shape (4,)
        Of a lost page, of starvation, of the mean response, and of an access.
    changes, shares : ndarray, shape (kinds,)
        Change rates, and shares of the deliveries, of the pages that differ.
    weights : ndarray, shape (kinds,)
        Weights times the price of staleness.
    waits : ndarray, shape (levels, kinds)
        Probability that a page changes before its copy is indexed, delivered at each level.
    standing : float
        What is paid per unit time whatever the policy.
    """

    access: float
    service: float
    prices: Array
    changes: Array
    shares: Array
    weights: Array
    waits: Array
    standing: float

    def costs(self, policies: ArrayLike) -> Array:
        """Costs of policies: robots at each level, shape (policies, levels)."""
        from analytic.pipeline.kernels import birth_death_costs  # numba takes its time

        deliveries = self.access * np.asarray(policies, dtype=float)
        # In one order of memory each: the kernel would be compiled anew for others.
        given = [np.ascontiguousarray(each) for each in (deliveries, *self[2:-1])]
        return np.asarray(birth_death_costs(given[0], self.service, *given[1:])) + self.standing


def is_birth_death(scenario: Scenario) -> bool:
    """Whether a pipeline is one of exponential times and random pages, first come first served."""
    needed = (
        *PATH,
        conditions.pages_leave_the_queue_alone,
        page_conditions.randomized_policy,
        conditions.no_obsolescence,
        conditions.first_come_first_served,
        conditions.poisson_accesses,
        conditions.robots_alike,
        conditions.exponential_service,
        conditions.bytes_unpriced,
    )
    return is_covered(needed, scenario)


def birth_death(scenario: Scenario) -> BirthDeath:
    """The pipeline of a scenario where `is_birth_death` holds; pages that are alike as one."""
    service = present(exponential_rate(conditions.service_law(scenario)))
    buffer = conditions.buffer_of(scenario)
    access = present(delivery_rates(conditions.fleet_of(scenario)))[0]
    capacity = buffer.capacity
    pages = accessed_pages(scenario)
    mu = pages.change_rates
    weights = scenario.prices.staleness * pages.weights
    asked = (mu > 0) & (weights > 0)
    alike = np.stack([mu, pages.shares])[:, asked]
    (changes, shares), which = np.unique(alike, axis=1, return_inverse=True)
    summed: Array = np.bincount(which.ravel(), weights[asked], len(changes)).astype(float)
    missed = changes / (changes + service)
    waits = -np.expm1((np.arange(capacity + 1) + 1.0)[:, None] * np.log1p(-missed))
    costs = scenario.prices
    of_access = costs.robots / access + costs.delivery
    prices = np.array([costs.loss, costs.starvation, costs.response, of_access])
    return BirthDeath(
        access, service, prices, changes, shares, summed, waits, standing=costs.standing
    )


# --- what a search has met, as a table and a figure show it -------------------------------------


@dataclass(frozen=True)
class BestThresholds:
    """Policies that a search has met; the costs of all are not kept.

    Attributes
    ----------
    scenario : str
        Its name.
    time_unit : str
    top : int
        The highest level.
    table : tuple of ThresholdPolicy
        The best single number, the best pairs of numbers, and the best of all.
    curves : dict
        For some pairs of numbers of robots the cost at each threshold between them.
    other : tuple of str and float, optional
        Another criterion, and the cost of what it decides.
    """

    scenario: str
    time_unit: str
    top: int
    table: tuple[ThresholdPolicy, ...]
    curves: dict[tuple[int, int], Array] = field(repr=False)
    other: Other = None

    @property
    def optimum(self) -> ThresholdPolicy:
        """The policy with the least cost."""
        return min(self.table, key=lambda row: row.cost)

    def costs_against_threshold(self, robots: Sequence[int]) -> Array:
        """Cost per unit time of two numbers of robots for every threshold between them."""
        return self.curves[robots[0], robots[1]]


def pairs_of(available: int, top: int, few: bool) -> list[tuple[int, int]]:
    """Pairs of numbers of robots: all of them, or those with all robots or none."""
    every = [(more, less) for more in range(1, available + 1) for less in range(more)]
    if few:
        return [(available, 0)]
    if len(every) * top <= _MOST_PAIRS:
        return every
    return [pair for pair in every if pair[0] == available or pair[1] == 0]


def two_numbers(more: int, less: int, at: int, top: int) -> Policy:
    """One number of robots up to a level, another above it."""
    return (*[more] * (at + 1), *[less] * (top - at))


def table_of_bests(
    scenario: Scenario,
    costs: CostsOf,
    ends: Sequence[Policy],
    *,
    few: bool,
    other: Other,
) -> BestThresholds:
    """A table of the best single number, the best pairs and the ends of a search.

    Parameters
    ----------
    scenario : Scenario
    costs : callable
        From policies to their costs.
    ends : sequence of tuple of int
        The policies that the search ended with.
    few : bool
        Whether each cost takes long: then one pair of numbers is enough.
    other : tuple of str and float, optional
        Another criterion, and the cost of what it decides.
    """
    buffer, robots = buffer_and_robots(scenario)
    available = robots.available
    top = buffer.capacity
    singles = [(each,) * (top + 1) for each in range(available + 1)]
    alone = costs(singles)
    base = float(np.nanmin(alone))
    used = [thresholds_of(policy)[0] for policy in ends]
    pairs = {
        *pairs_of(available, top, few=few),
        *((each[0], each[1]) for each in used if len(each) == 2),
    }
    curves = {
        (more, less): np.append(
            costs([two_numbers(more, less, at, top) for at in range(top)]), alone[more]
        )
        for more, less in pairs
    }
    best_pairs = sorted(curves, key=lambda pair: float(curves[pair].min()))[:_MOST_CURVES]
    rows = {singles[int(np.nanargmin(alone))]: base}
    for pair in best_pairs:
        at = int(np.argmin(curves[pair]))
        policy = two_numbers(*pair, at, top) if at < top else singles[pair[0]]
        rows[policy] = float(curves[pair][at])
    rows.update(zip(ends, costs(ends).tolist(), strict=True))
    table = tuple(
        ThresholdPolicy(*thresholds_of(policy), cost, 100 * (base - cost) / base if base else 0.0)
        for policy, cost in rows.items()
    )
    shown = {pair: curves[pair] for pair in best_pairs}
    name = scenario.name, scenario.time_unit
    return BestThresholds(*name, top, table, shown, other)
