"""The best threshold policy end to end: all policies where they are few, else the best found.

A policy gives a number of robots for each level, not increasing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from analytic import conditions, page_conditions
from analytic.conditions import buffer_of
from analytic.indexing_queue.thresholds import (
    ThresholdPolicy,
    ThresholdSearch,
    optimal_thresholds,
    threshold_optimum,
)
from analytic.optimum import NoOptimumError, Optimum
from analytic.pipeline.conditions import (
    PATH,
    capacity_of,
    copies_leave_together,
    page_changes,
    page_shares,
    robots_of,
    weights_of,
)
from analytic.pipeline.costs import (
    Alone,
    cost_of,
    more_may_be_better,
    price_of_alone,
    prices_staleness,
    require_prices,
)
from analytic.progress import Progress
from analytic.refusal import NoAnswerError
from scenarios import Scenario
from scenarios.arrays import Array

Policy = tuple[int, ...]
"""Robots at levels 0, 1, …, not increasing."""
Costs = Callable[[Sequence[Policy]], Array]
"""From policies to their costs."""
Other = tuple[str, float] | None
"""Another criterion, and the cost of what it decides."""

_STEPS = 3 * 10**7
"""Policies times levels times pages between two reports of progress: some tenths of a second."""
_MOST_IN_TABLE = 100_000
"""Policies of which all costs are kept: a table of the best one for every list of numbers."""
_MOST_NUMBERS_IN_TABLE = 12
_MOST_WORK = 2 * 10**9
"""Policies times levels times kinds of pages that are searched: about twenty seconds."""
_MOST_SLOW = 1000
"""Policies that are evaluated one by one, all of them."""
_MOST_TRIED = 750
"""Levels times robots of those that are searched one level at a time, some milliseconds each."""
_MOST_TRIED_QUICKLY = 20_000
"""The same, where they are compiled."""
_AT_A_TIME = 500
"""Policies between two reports of progress of a descent."""
_STARTS = 4
"""Policies from which it starts."""
_GAINED = 1e-12
"""What a step of it must gain, relative to the cost."""
_MOST_PAIRS = 20_000
"""Pairs of numbers times thresholds that are tried."""
_MOST_CURVES = 6
"""Pairs of numbers that the figure shows."""
_GAIN = "gain: per cent of the cost of the best single number"


def end_to_end_thresholds(scenario: Scenario) -> Optimum:
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
    if not prices_staleness(scenario):
        require_prices(scenario)
        return _searched(scenario) if copies_leave_together(scenario) else _by_papers(scenario)
    if buffer_of(scenario).admission == "complete":
        raise NoOptimumError('through the buffer: admission is "complete"')
    cost_of(scenario.with_("activation", None))  # why no policy has a cost, before any search
    alone, reason = price_of_alone(scenario, _by_papers_with_none)
    return _searched(scenario, alone, reason)


def _by_papers(scenario: Scenario) -> Optimum:
    """The best thresholds by the other prices; where they are too many, the best found."""
    if copies_leave_together(scenario):
        return _searched(scenario)
    try:
        return optimal_thresholds(scenario)
    except NoAnswerError:
        plain = scenario.with_("activation", None)
        simple = birth_death(plain)
        if simple is None:
            raise
        search, notes = _best_found(plain, simple, None)
        return replace(threshold_optimum(search, notes), proved=False, gap=None)


def _by_papers_with_none(scenario: Scenario) -> Optimum:
    """As `_by_papers`, but with no robot too: what it is set beside is searched from 0 on."""
    listed = {"threshold": {"robots": [robots_of(scenario).available, 0], "at": [0]}}
    return _by_papers(scenario.with_("activation", listed))


def _searched(scenario: Scenario, alone: Alone | None = None, reason: str = "") -> Optimum:
    """By the scenario's own prices, beside what is best by the papers', or why there is none."""
    levels = capacity_of(scenario) + 1
    plain = scenario.with_("activation", None)
    other = alone.short if alone else None
    simple = birth_death(plain)
    count = members(robots_of(scenario).available + 1, levels)
    search: ThresholdSearch | BestThresholds
    few = count <= _MOST_SLOW
    proved = few if simple is None else count * levels * simple.kinds <= _MOST_WORK
    if proved:
        search, notes = _best_of_all(plain, simple, other)
    else:
        search, notes = _best_found(plain, simple, other)
    beside = alone.note(search.optimum.cost) if alone else reason
    notes += [beside] * bool(beside)
    notes += more_may_be_better(max(search.optimum.robots), scenario)
    return replace(threshold_optimum(search, notes), proved=proved, gap=0.0 if proved else None)


def _best_of_all(
    scenario: Scenario, simple: BirthDeath | None, other: Other
) -> tuple[ThresholdSearch | BestThresholds, list[str]]:
    """Every policy; the costs of all are kept where a table of them is for people."""
    available = robots_of(scenario).available
    numbers = range(available + 1)
    top = capacity_of(scenario)
    count = members(len(numbers), top + 1)
    summary = f"all {count:,} policies of 0 to {available} robots searched: none costs less"
    progress = Progress(f"{scenario.name}: thresholds, policies", count)
    parts: Iterator[Array]
    if simple is None:
        every = policies(numbers, top + 1)
        parts = (np.array([cost_of(by_level(scenario, each))]) for each in every)
    else:
        parts = simple.costs_of_all(numbers)
    keeps = count <= _MOST_IN_TABLE and len(numbers) <= _MOST_NUMBERS_IN_TABLE
    kept = []
    least = math.inf
    best = 0
    done = 0
    for costs in parts:
        if keeps or simple is None:
            kept.append(costs)
        if not np.isnan(costs).all() and float(np.nanmin(costs)) < least:
            least = float(np.nanmin(costs))
            best = done + int(np.nanargmin(costs))
        done += len(costs)
        progress.step(len(costs))
    if kept or simple is None:
        name = scenario.name, scenario.time_unit
        search = ThresholdSearch(*name, tuple(numbers), top, np.concatenate(kept), other)
        return search, [summary, *search.notes()]
    policy = nth_policy(numbers, top + 1, best)
    table = table_of_bests(scenario, simple.costs, [policy], few=False, other=other)
    return table, [summary, _GAIN]


def _best_found(
    scenario: Scenario, simple: BirthDeath | None, other: Other
) -> tuple[BestThresholds, list[str]]:
    """The best of the descents from the best single number and the best pairs of numbers."""
    available = robots_of(scenario).available
    top = capacity_of(scenario)
    few = simple is None
    most = _MOST_TRIED if few else _MOST_TRIED_QUICKLY
    if (top + 1) * available > most:
        raise NoOptimumError(f"{top + 1} levels × {available} robots; at most {most} are searched")
    progress = Progress(f"{scenario.name}: thresholds, policies tried")
    known: dict[Policy, float] = {}

    def costs_one_by_one(given: Sequence[Policy]) -> Array:
        for each in given:
            if each not in known:
                known[each] = cost_of(by_level(scenario, each))
        return np.array([known[each] for each in given])

    def costs_of(given: Sequence[Policy]) -> Array:
        """Some at a time, so that one can stop."""
        at_a_time = 1 if few else _AT_A_TIME
        parts = []
        for start in range(0, len(given), at_a_time):
            some = given[start : start + at_a_time]
            parts.append(costs_one_by_one(some) if simple is None else simple.costs(some))
            progress.step(len(some))
        return np.concatenate(parts)

    pairs = pairs_of(available, top, few=few)
    singles = [(each,) * (top + 1) for each in range(1, available + 1)]
    tried = [*singles, *(two_numbers(*pair, at, top) for pair in pairs for at in range(top))]
    costs = costs_of(tried)
    order = np.argsort(costs, kind="stable")[: _STARTS - 1].tolist()
    best_single = singles[int(np.argmin(costs[:available]))]
    starts = dict.fromkeys([*(tried[each] for each in order), best_single])
    ends = [descended(start, available, costs_of)[0] for start in starts]
    count = members(available + 1, top + 1)
    of_how_many = f"{count:.2g}" if count < 2**63 else "over 10^18"
    summary = (
        f"best found: {progress.done:,} policies tried of {of_how_many}, from the best "
        "single numbers and pairs on, until no change of a level or a run of levels costs less; "
        "not proved"
    )
    return table_of_bests(scenario, costs_of, ends, few=few, other=other), [summary, _GAIN]


# --- policies and their costs -------------------------------------------------------------------


def members(numbers: int, levels: int) -> int:
    """How many policies there are."""
    return math.comb(levels + numbers - 1, levels)


def policies(numbers: Sequence[int], levels: int) -> Iterator[Policy]:
    """All policies in the order of `ThresholdSearch`: by the number at the top level first."""
    return (each[::-1] for each in combinations_with_replacement(numbers, levels))


def nth_policy(numbers: Sequence[int], levels: int, index: int) -> Policy:
    """The policy with an index in the order of `policies`."""
    policy: Policy = ()
    first = 0
    for below in range(levels - 1, -1, -1):
        while index >= (count := members(len(numbers) - first, below) if below else 1):
            index -= count
            first += 1
        policy = (numbers[first], *policy)
    return policy


class BirthDeath(NamedTuple):
    """A pipeline whose level is a birth-death process, as the compiled search reads it.

    Attributes
    ----------
    access, service : float
        Rates of the accesses of one robot, and of the service.
    prices : ndarray, shape (4,)
        Of a lost page, of starvation, of the mean response, and of an access.
    pages : ndarray, shape (3, kinds)
        Change rates, shares, and weights times the price of staleness.
    waits : ndarray, shape (kinds, levels)
        Probability that a page changes before its copy is indexed, delivered at each level.
    """

    access: float
    service: float
    prices: Array
    pages: Array
    waits: Array

    @property
    def kinds(self) -> int:
        """Pages that differ."""
        return max(int(self.pages.shape[1]), 1)

    def costs(self, given: Sequence[Policy]) -> Array:
        """Cost of some policies, shape (policies,)."""
        from analytic.pipeline.kernels import costs_of_policies

        robots = np.array(given, dtype=float)
        parts = self.service, self.prices, self.pages, self.waits
        return np.asarray(costs_of_policies(self.access * robots, *parts))

    def costs_of_all(self, numbers: Sequence[int]) -> Iterator[Array]:
        """Cost of all `policies` with numbers from 0 on, some at a time."""
        from analytic.pipeline.kernels import costs_of_next

        levels = self.waits.shape[1]
        rates = self.access * np.array(numbers, float)
        chosen = np.zeros(levels, dtype=np.int64)
        left = members(len(numbers), levels)
        some = max(_STEPS // (levels * self.kinds), 1)
        while left:
            parts = self.service, self.prices, self.pages, self.waits
            costs = np.asarray(costs_of_next(chosen, rates, *parts, min(some, left)))
            left -= len(costs)
            yield costs


def birth_death(scenario: Scenario) -> BirthDeath | None:
    """The pipeline of a scenario, where it is one of exponential times and random pages."""
    needed = (
        *PATH,
        conditions.pages_leave_the_queue_alone,
        page_conditions.randomized_policy,
        conditions.no_obsolescence,
        conditions.first_come_first_served,
        conditions.poisson_accesses,
        conditions.exponential_service,
    )
    if any(condition(scenario) is not None for condition in needed):
        return None
    access, service, capacity = conditions.poisson_parameters(scenario)
    costs = scenario.costs
    prices = np.array([costs.loss, costs.starvation, costs.response, costs.robots / access])
    mu = page_changes(scenario)
    weights = costs.staleness * weights_of(scenario)
    asked = (mu > 0) & (weights > 0)
    alike = np.stack([mu, page_shares(scenario)])[:, asked]
    kinds, which = np.unique(alike, axis=1, return_inverse=True)
    summed = np.bincount(which.ravel(), weights[asked], kinds.shape[1])
    missed = kinds[0] / (kinds[0] + service)
    waits = -np.expm1(np.log1p(-missed)[:, None] * (np.arange(capacity + 1) + 1.0))
    return BirthDeath(access, service, prices, np.concatenate([kinds, summed[None]]), waits)


def by_level(scenario: Scenario, robots: Policy) -> Scenario:
    """The scenario with a policy as its activation."""
    used, at = thresholds_of(robots)
    return scenario.with_("activation", {"threshold": {"robots": list(used), "at": list(at)}})


def thresholds_of(robots: Policy) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A policy as a file writes it: its numbers, and the thresholds between them."""
    used = tuple(sorted(set(robots), reverse=True))
    return used, tuple(sum(each >= number for each in robots) - 1 for number in used[:-1])


# --- descent ------------------------------------------------------------------------------------


def descended(policy: Policy, available: int, costs: Costs) -> tuple[Policy, float]:
    """A policy that no change of a level, or of one end of a run of levels, makes cheaper.

    Parameters
    ----------
    policy : tuple of int
        Robots at levels 0, 1, …, not increasing, to begin with.
    available : int
    costs : callable
        From policies to their costs.

    Returns
    -------
    tuple of int
    float
        Its cost.
    """
    best = float(costs([policy])[0])
    level = 0
    unchanged = 0
    while unchanged < len(policy):
        around = list(dict.fromkeys(_around(policy, level, available)))
        values = costs(around) if around else np.array([])
        if len(values) and not np.isnan(values).all():
            least = int(np.nanargmin(values))
            if values[least] < best * (1.0 - _GAINED):
                policy = around[least]
                best = float(values[least])
                unchanged = -1
        unchanged += 1
        level = (level + 1) % len(policy)
    return policy, best


def _around(policy: Policy, level: int, available: int) -> Iterator[Policy]:
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
    costs: Costs,
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
    available = robots_of(scenario).available
    top = capacity_of(scenario)
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
