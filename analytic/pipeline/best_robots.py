"""The best numbers of robots, end to end: fixed, by thresholds, switched on one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic import conditions, page_conditions
from analytic.indexing_queue.fixed_robots import StaticSearch, optimal_fixed_number
from analytic.indexing_queue.searching import numbers_of
from analytic.indexing_queue.thresholds import (
    ThresholdSearch,
    optimal_thresholds,
    threshold_optimum,
)
from analytic.optimum import NoOptimumError, Optimum
from analytic.pipeline.conditions import PATH
from analytic.pipeline.formulas import COST, end_to_end_cost
from analytic.pipeline.reading import page_shares
from analytic.robot_control.switching import optimal_switching
from scenarios import Scenario
from scenarios.page_data import change_rates, page_weights

__all__ = ["end_to_end_robots", "end_to_end_switching", "end_to_end_thresholds"]

Array = NDArray[np.floating[Any]]

_MOST_POLICIES = 2_000_000
_MOST_SLOW = 1000
"""Policies that are evaluated one by one."""
_FEW_NUMBERS = 6
_MOST_COSTS = 3000
"""Rules that the search for switching targets evaluates at most."""


def prices_staleness(scenario: Scenario) -> bool:
    """Whether the cost of a scenario goes end to end."""
    return scenario.buffer is not None and scenario.costs.staleness > 0


def own_criterion(scenario: Scenario) -> tuple[Scenario, str]:
    """The scenario with the papers' criterion alone, and that criterion in words.

    The file's prices without that of staleness; where there are none, loss and starvation with
    the gamma ``(K + 2) / K`` of talim2001, Table 1.
    """
    assert scenario.buffer is not None
    others = scenario.with_("costs.staleness", 0.0)
    names = [name for name in type(scenario.costs).model_fields if getattr(others.costs, name)]
    if names:
        return others, f"{' and '.join(names)} alone"
    places = scenario.buffer.waiting_places + 1
    gamma = (places + 2) / places
    prices = {"costs.loss": 1.0, "costs.starvation": gamma}
    return others.with_(prices), f"loss and {gamma:.4g} starvation alone (talim2001)"


def _cost(scenario: Scenario) -> float:
    """The cost end to end.

    Raises
    ------
    NoOptimumError
        If it has no exact value.
    """
    reason = COST.reason_against(scenario)
    if reason is not None:
        raise NoOptimumError(f"through the buffer: {reason}")
    return end_to_end_cost(scenario)


class _Price(NamedTuple):
    """What the decision that is best by the papers' criterion costs end to end."""

    criterion: str
    decision: str
    cost: float

    def note(self, best: float) -> str:
        """In words, beside the best cost."""
        more = f"{100 * (self.cost / best - 1):.3g} % more" if best else "more"
        return f"{self.decision}, best by {self.criterion}: {self.cost:.6g}, {more}"


def _price(scenario: Scenario, optimise: Callable[[Scenario], Optimum]) -> _Price | None:
    """The decision by the papers' criterion, and its cost end to end; None where there is none."""
    plain, criterion = own_criterion(scenario)
    try:
        found = optimise(plain.with_("activation", None))
    except NoOptimumError:
        return None
    decision = ", ".join(f"{key} = {value}" for key, value in found.decision.items())
    try:
        return _Price(criterion, decision, _cost(scenario.with_(found.changes)))
    except NoOptimumError:  # no robot at all, say, which has no such cost
        return None


def end_to_end_robots(scenario: Scenario) -> Optimum:
    """The best fixed number of robots, end to end; the table has the cost of each.

    Where staleness has no price, that of `optimal_fixed_number`.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value.
    """
    if not prices_staleness(scenario):
        return optimal_fixed_number(scenario)
    assert scenario.robots is not None
    numbers = range(1, scenario.robots.available + 1)
    some = [_cost(scenario.with_("activation", {"static": each})) for each in numbers]
    costs = np.array([math.nan, *some])
    search = StaticSearch(scenario.name, scenario.time_unit, costs)
    best = float(np.nanmin(costs))
    price = _price(scenario, optimal_fixed_number)
    return Optimum(
        target="static",
        cost=best,
        lower_bound=None,
        decision={"robots": search.optimum},
        changes={"activation": {"static": search.optimum}},
        table=[
            {"robots": robots, "cost": cost, "more": 100 * (cost / best - 1) if best else 0.0}
            for robots, cost in enumerate(costs.tolist())
            if robots
        ],
        notes=["more: per cent above the best", *([price.note(best)] if price else [])],
        search=search,
    )


class _BirthDeath(NamedTuple):
    """A pipeline whose level is a birth-death process, as the compiled search reads it."""

    top: int
    access: float
    service: float
    prices: Array
    pages: Array

    def costs(self, numbers: Sequence[int]) -> Array:
        """Cost of every policy with these numbers, in the order of `ThresholdSearch`."""
        from analytic.pipeline.kernels import costs_of_all

        count = _members(len(numbers), self.top + 1)
        given = np.array(numbers, dtype=float)
        return np.asarray(costs_of_all(given, *self, count))


def _members(numbers: int, levels: int) -> int:
    return math.comb(levels + numbers - 1, levels)


def _birth_death(scenario: Scenario) -> _BirthDeath | None:
    """The pipeline of a scenario, where it is one of exponential times and random pages."""
    needed = (
        *PATH,
        conditions.pages_leave_the_queue_alone,
        page_conditions.randomized_policy,
        conditions.no_timers,
        conditions.first_come_first_served,
        conditions.poisson_accesses,
        conditions.exponential_service,
    )
    if any(condition(scenario) is not None for condition in needed):
        return None
    assert scenario.pages is not None
    access, service, places = conditions.poisson_parameters(scenario)
    costs = scenario.costs
    weights = costs.staleness * page_weights(scenario.pages)
    mu = change_rates(scenario.pages)
    pages = np.stack([mu, page_shares(scenario), np.where(mu > 0, weights, 0.0)])
    prices = np.array([costs.loss, costs.starvation, costs.response, costs.robots / access])
    return _BirthDeath(places, access, service, prices, pages)


def end_to_end_thresholds(scenario: Scenario) -> Optimum:
    """The best threshold policy, end to end.

    All policies are evaluated where there are at most two million; otherwise all with six numbers,
    then with those that the best one uses and their neighbours, until nothing is gained. Where
    staleness has no price, the policy of `optimal_thresholds`.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or there are too many policies.
    """
    if not prices_staleness(scenario):
        return optimal_thresholds(scenario)
    numbers = numbers_of(scenario)
    plain = scenario.with_("activation", None)
    simple = _birth_death(plain)
    search, notes = (
        (_slow_search(plain, numbers), ())
        if simple is None
        else _quick_search(plain, numbers, simple)
    )
    price = _price(scenario, optimal_thresholds)
    said = [price.note(search.optimum.cost)] if price else []
    return threshold_optimum(search, [*search.notes(), *notes, *said])


def _quick_search(
    scenario: Scenario, numbers: tuple[int, ...], simple: _BirthDeath
) -> tuple[ThresholdSearch, tuple[str, ...]]:
    """All policies, or those with numbers that are refined."""
    levels, name = simple.top + 1, (scenario.name, scenario.time_unit)

    def searched(chosen: tuple[int, ...]) -> ThresholdSearch:
        return ThresholdSearch(*name, chosen, simple.top, simple.costs(chosen))

    count = _members(len(numbers), levels)
    if count <= _MOST_POLICIES:
        return searched(numbers), ()
    if _members(_FEW_NUMBERS, levels) > _MOST_POLICIES:
        many = f"there are {_members(_FEW_NUMBERS, levels):.1e} policies with six numbers"
        raise NoOptimumError(f"{many}; at most {_MOST_POLICIES} are searched")
    some = np.unique(np.linspace(numbers[0], numbers[-1], _FEW_NUMBERS).round().astype(int))
    best = searched(tuple(some.tolist()))
    while True:
        following = searched(_neighbours(best.optimum.robots, numbers, levels))
        if following.optimum.cost >= best.optimum.cost * (1 - 1e-12):
            break
        best = following
    note = f"of {count:.1e} policies those of {len(best.numbers)} numbers of robots, then refined"
    return best, (note,)


def _neighbours(used: tuple[int, ...], numbers: tuple[int, ...], levels: int) -> tuple[int, ...]:
    """Numbers that a policy uses, those beside them, and halfway; as many as can be searched."""
    near = [each + step for step in (0, 1, -1, 2, -2, 4, -4) for each in used]
    chosen: list[int] = []
    for each in near:
        fits = _members(len(chosen) + 1, levels) <= _MOST_POLICIES
        if each in numbers and each not in chosen and fits:
            chosen.append(each)
    return tuple(sorted(chosen))


def _slow_search(scenario: Scenario, numbers: tuple[int, ...]) -> ThresholdSearch:
    """All policies, each by the formulas of the index."""
    assert scenario.buffer is not None
    if scenario.buffer.admission == "complete":
        raise NoOptimumError('through the buffer: admission is "complete"')
    top = scenario.buffer.waiting_places + 1
    count = _members(len(numbers), top + 1)
    if count > _MOST_SLOW:
        many = f"there are {count} policies, and times are not exponential"
        raise NoOptimumError(f"{many}; at most {_MOST_SLOW} are searched")
    costs = [_cost(_by_level(scenario, each)) for each in _policies(numbers, top + 1)]
    return ThresholdSearch(scenario.name, scenario.time_unit, numbers, top, np.array(costs))


def _policies(numbers: tuple[int, ...], levels: int) -> Iterator[tuple[int, ...]]:
    """Robots by level, non-increasing, in the order of `ThresholdSearch`."""
    if levels == 1:
        yield from ((each,) for each in numbers)
        return
    # The top level is the first to be settled: it is the last of the tuple.
    for top in range(len(numbers)):
        for below in _policies(numbers[top:], levels - 1):
            yield (*below, numbers[top])


def _by_level(scenario: Scenario, robots: Sequence[int]) -> Scenario:
    used = sorted(set(robots), reverse=True)
    at = [sum(each >= number for each in robots) - 1 for number in used[:-1]]
    return scenario.with_("activation", {"threshold": {"robots": used, "at": at}})


def end_to_end_switching(scenario: Scenario) -> Optimum:
    """Targets that no change of a single one improves, end to end.

    Searched one level at a time, from the optimum by the papers' criterion and from the best
    constant targets. Not certified: no bound is known for the cost end to end. Where staleness has
    no price, the optimum of `optimal_switching`.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the search would take too long.
    """
    if not prices_staleness(scenario):
        return optimal_switching(scenario)
    assert scenario.robots is not None
    assert scenario.buffer is not None
    levels, available = scenario.buffer.waiting_places + 2, scenario.robots.available
    if levels * available > _MOST_COSTS / 4:
        raise NoOptimumError(f"{levels} levels × {available} robots; at most 750 are searched")
    known: dict[tuple[int, ...], float] = {}

    def cost(targets: tuple[int, ...]) -> float:
        if targets not in known:
            known[targets] = _cost(_switched(scenario, targets))
        return known[targets]

    price = _price(scenario, optimal_switching)
    constant = min(range(1, available + 1), key=lambda each: cost((each,) * levels))
    starts = [(constant,) * levels, *_flat_targets(scenario)]
    best = min((_descended(start, available, cost) for start in starts), key=cost)
    rule = {"switching": {"targets": list(best)}}
    searched = f"best of {len(known)} rules; no single target can be changed for the better"
    return Optimum(
        target="switching",
        cost=cost(best),
        lower_bound=None,
        decision={"targets": list(best)},
        changes={"activation": rule},
        table=[{"level": level, "target": target} for level, target in enumerate(best)],
        notes=[searched, *([price.note(cost(best))] if price else [])],
    )


def _switched(scenario: Scenario, targets: Sequence[int]) -> Scenario:
    return scenario.with_("activation", {"switching": {"targets": list(targets)}})


def _flat_targets(scenario: Scenario) -> list[tuple[int, ...]]:
    """The optimum by the papers' criterion, where one list serves all service phases."""
    try:
        targets = optimal_switching(own_criterion(scenario)[0]).decision["targets"]
    except NoOptimumError:
        return []
    rows = targets if isinstance(targets[0], list) else [targets]
    return [tuple(max(each, int(level == 0)) for level, each in enumerate(rows[0]))]


def _descended(
    targets: tuple[int, ...], available: int, cost: Callable[[tuple[int, ...]], float]
) -> tuple[int, ...]:
    """One level at a time, until no single target can be changed for the better."""
    while True:
        before = cost(targets)
        for level in range(len(targets)):
            choices = [
                (*targets[:level], each, *targets[level + 1 :])
                for each in range(int(level == 0), available + 1)
            ]
            targets = min([targets, *choices], key=cost)
        if cost(targets) >= before * (1 - 1e-12):
            return targets
