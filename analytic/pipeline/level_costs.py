"""Costs end to end of policies that give a number of robots for each level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from analytic import conditions, page_conditions
from analytic.pipeline.conditions import PATH
from analytic.pipeline.criteria import cost_of
from analytic.pipeline.reading import page_shares
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.page_data import change_rates, page_weights

Policy = tuple[int, ...]
"""Robots at levels 0, 1, …, not increasing."""

_STEPS = 3 * 10**7
"""Policies times levels times pages between two words of a search: some tenths of a second."""


def members(numbers: int, levels: int) -> int:
    """How many policies there are."""
    return math.comb(levels + numbers - 1, levels)


def policies(numbers: Sequence[int], levels: int) -> Iterator[Policy]:
    """All policies in the order of `ThresholdSearch`."""
    if levels == 1:
        yield from ((each,) for each in numbers)
        return
    # The top level is the first to be settled: it is the last of the tuple.
    for top in range(len(numbers)):
        for below in policies(numbers[top:], levels - 1):
            yield (*below, numbers[top])


def nth_policy(numbers: Sequence[int], levels: int, place: int) -> Policy:
    """The policy at a place in the order of `policies`."""
    found: Policy = ()
    first = 0
    for below in range(levels - 1, -1, -1):
        while place >= (count := members(len(numbers) - first, below) if below else 1):
            place = place - count
            first = first + 1
        found = (numbers[first], *found)
    return found


class BirthDeath(NamedTuple):
    """A pipeline whose level is a birth-death process, as the compiled search reads it."""

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
        conditions.no_timers,
        conditions.first_come_first_served,
        conditions.poisson_accesses,
        conditions.exponential_service,
    )
    if any(condition(scenario) is not None for condition in needed):
        return None
    access, service, places = conditions.poisson_parameters(scenario)
    costs = scenario.costs
    prices = np.array([costs.loss, costs.starvation, costs.response, costs.robots / access])
    pages = _kinds(scenario)
    missed = pages[0] / (pages[0] + service)
    waits = -np.expm1(np.log1p(-missed)[:, None] * (np.arange(places + 1) + 1.0))
    return BirthDeath(access, service, prices, pages, waits)


def _kinds(scenario: Scenario) -> Array:
    """Change rates, shares and prices of staleness of pages that differ, shape (3, kinds)."""
    assert scenario.pages is not None
    mu = change_rates(scenario.pages)
    weights = scenario.costs.staleness * page_weights(scenario.pages)
    asked = (mu > 0) & (weights > 0)
    pages = np.stack([mu, page_shares(scenario)])[:, asked]
    kinds, which = np.unique(pages, axis=1, return_inverse=True)
    summed = np.bincount(which.ravel(), weights[asked], kinds.shape[1])
    return np.concatenate([kinds, summed[None]])


class ByFormulas:
    """Costs of the policies of any pipeline, one by one, each once."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.known: dict[Policy, float] = {}

    def costs(self, given: Sequence[Policy]) -> Array:
        """Cost of some policies, shape (policies,)."""
        for each in given:
            if each not in self.known:
                self.known[each] = cost_of(by_level(self.scenario, each))
        return np.array([self.known[each] for each in given])


def by_level(scenario: Scenario, robots: Policy) -> Scenario:
    """The scenario with a policy in place."""
    used, at = thresholds_of(robots)
    return scenario.with_("activation", {"threshold": {"robots": list(used), "at": list(at)}})


def thresholds_of(robots: Policy) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A policy as a file writes it: its numbers, and the thresholds between them."""
    used = tuple(sorted(set(robots), reverse=True))
    return used, tuple(sum(each >= number for each in robots) - 1 for number in used[:-1])
