"""The best thresholds on the level at which robots are switched (avrachenkov2011, sections 4, 7).

Of the target "threshold" this is the case without a price of staleness; `end_to_end_thresholds`
of `pipeline.best_thresholds` is asked first.

A policy is a list of numbers of robots, strictly decreasing, with a non-decreasing list of
thresholds, one shorter. Every policy is evaluated. Several lists can describe one policy, since a
number between equal thresholds is never active: what is compared is the number at each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from analytic.index.optimum import NoOptimumError, Optimum
from analytic.indexing_queue.measures import top_level
from analytic.rules.bound import Bound
from analytic.rules.free_process import runner_up
from analytic.rules.hysteresis import counts_switches
from analytic.rules.listed import compare
from analytic.rules.searching import (
    NON_INCREASING,
    all_costs,
    allowed_numbers,
    threshold_policies,
    threshold_row,
    thresholds_between,
    thresholds_of,
)
from scenarios import Scenario
from scenarios.arrays import Array

if TYPE_CHECKING:
    import pandas as pd


_ALIKE = 1e-12
"""Costs that differ by less, relatively, are the same: what is left is rounding."""

GAIN = "gain: per cent of the cost of the best single number"
"""What the last column of the table is."""

_MOST_NUMBERS = 62
"""A set of numbers is held as the bits of one integer."""


class ThresholdPolicy(NamedTuple):
    """Numbers of robots, the thresholds between them, and the cost per unit time.

    `gain` is what it saves, in per cent of the cost of the best single number.
    """

    robots: tuple[int, ...]
    at: tuple[int, ...]
    cost: float
    gain: float


@dataclass(frozen=True)
class ThresholdSearch:
    """The cost of every threshold policy of a scenario.

    Attributes
    ----------
    scenario : str
        Its name.
    time_unit : str
    numbers : tuple of int
        Numbers of robots that were allowed, increasing.
    top : int
        The highest level: at this threshold the robots are never switched.
    costs : ndarray, shape (policies,)
        Per unit time, in the order of the numbers at the top level, then at the level below it,
        and so on; NaN where a policy has no cost.
    other : tuple of str and float, optional
        Another criterion, and the cost of what it decides.
    """

    scenario: str
    time_unit: str
    numbers: tuple[int, ...]
    top: int
    costs: Array = field(repr=False)
    other: tuple[str, float] | None = None

    @property
    def undefined(self) -> int:
        """Policies without a cost: nothing is served though the response has a price, or the
        chain does not forget where it started.
        """
        return int(np.isnan(self.costs).sum())

    @cached_property
    def table(self) -> tuple[ThresholdPolicy, ...]:
        """The best policy for every list of numbers that can all be used.

        Shorter lists first, then larger numbers. The form of avrachenkov2011, Table 1.
        """
        best = {used: row for used, row in self._best_by_set().items() if row >= 0}
        single = [self.costs[row] for used, row in best.items() if len(used) == 1]
        base = float(min(single, default=nan))
        policies = threshold_policies(self.numbers, self.top + 1, list(best.values())).tolist()
        rows = []
        for (used, row), by_level in zip(best.items(), policies, strict=True):
            cost = float(self.costs[row])
            gain = 100 * (base - cost) / base if base else nan
            rows.append(ThresholdPolicy(used, thresholds_between(used, by_level), cost, gain))
        return tuple(sorted(rows, key=lambda row: (len(row.robots), [-n for n in row.robots])))

    @cached_property
    def optimum(self) -> ThresholdPolicy:
        """The policy with the least cost; of those with equal cost the shortest list.

        Of lists of one length the one with the smaller numbers, then with the lower thresholds.
        """
        least = min(row.cost for row in self.table)
        alike = [row for row in self.table if row.cost <= least + _ALIKE * abs(least)]
        return min(alike, key=lambda row: (len(row.robots), row.robots, row.at))

    def cost_of(self, robots: Sequence[int], at: Sequence[int]) -> float:
        """The cost per unit time of one policy, as a scenario file would write it.

        Raises
        ------
        ValueError
            If the lists are not a threshold policy, use a number that was not allowed, or a
            threshold above the highest level.
        """
        if not set(robots) <= set(self.numbers) or any(a <= b for a, b in pairwise(robots)):
            raise ValueError(f"robots {robots} must decrease and be among {self.numbers}")
        if len(at) != len(robots) - 1 or min(at, default=0) < 0 or list(at) != sorted(at):
            raise ValueError(f"at {at} must not decrease, and be one shorter than {robots}")
        if max(at, default=0) > self.top:
            raise ValueError(f"at {at} must be at most the highest level, {self.top}")
        by_level = [robots[sum(level > one for one in at)] for level in range(self.top + 1)]
        return float(self.costs[threshold_row(self.numbers, by_level)])

    def robots_by_level(self, row: int) -> tuple[int, ...]:
        """Robots at levels 0, 1, … under the policy whose cost stands there."""
        (policy,) = threshold_policies(self.numbers, self.top + 1, [row]).tolist()
        return tuple(policy)

    def costs_against_threshold(self, robots: Sequence[int]) -> Array:
        """Cost per unit time of two numbers of robots for every threshold between them.

        Parameters
        ----------
        robots : sequence of two int
            Decreasing.

        Returns
        -------
        ndarray, shape (levels,)
            For thresholds 0, 1, …; the last one is that of the first number alone.
        """
        return np.array([self.cost_of(robots, [at]) for at in range(self.top + 1)])

    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        have = "has" if self.undefined == 1 else "have"
        without = f"{self.undefined} of {len(self.costs)} policies {have} no cost"
        return (GAIN, without) if self.undefined else (GAIN,)

    def to_frame(self) -> pd.DataFrame:
        """The table as a DataFrame: robots, at, cost, gain."""
        import pandas as pd

        return pd.DataFrame(self.table, columns=ThresholdPolicy._fields)

    def _best_by_set(self) -> dict[tuple[int, ...], int]:
        """Row of the best policy for every set of numbers that some policy uses in full.

        -1 where no policy has a cost. A policy with fewer numbers belongs to a set that adds some
        below its largest, which is the one of the empty system.
        """
        best: dict[tuple[int, ...], int] = {}
        for used, in_full in sorted(self._best_in_full().items(), key=lambda item: len(item[0])):
            fewer = (used[:index] + used[index + 1 :] for index in range(1, len(used)))
            candidates = [best[each] for each in fewer] + [in_full]
            known = [row for row in candidates if row >= 0]
            least = min((self.costs[row] for row in known), default=nan)
            alike = [row for row in known if self.costs[row] <= least + _ALIKE * abs(least)]
            best[used] = alike[0] if alike else -1
        return best

    def _best_in_full(self) -> dict[tuple[int, ...], int]:
        """Row of the best policy for every set of numbers, all of them used; -1 if none has a cost.

        Of equal costs the first row: fewer robots at the highest levels.
        """
        masks = _used_numbers(len(self.numbers), self.top + 1)
        order = np.argsort(masks, kind="stable")
        edges = np.flatnonzero(np.diff(masks[order])) + 1
        best = {}
        for rows in np.split(order, edges):
            costs = self.costs[rows]
            known = ~np.isnan(self.costs[rows])
            least = costs[known].min() if known.any() else nan
            alike = rows[costs <= least + _ALIKE * abs(least)]
            mask = int(masks[rows[0]])
            numbers = tuple(n for i, n in enumerate(self.numbers) if mask >> i & 1)[::-1]
            best[numbers] = int(alike[0]) if len(alike) else -1
        return best


def _used_numbers(count: int, levels: int) -> NDArray[np.int64]:
    """The numbers that each policy uses, as bits, in the order of `policy_costs`."""
    follows = NON_INCREASING.follows(count)
    lowest = np.arange(count)
    used = np.int64(1) << lowest
    for _ in range(levels - 1):
        parent, lowest = np.nonzero(follows[lowest])
        used = used[parent] | (np.int64(1) << lowest)
    return used


def best_thresholds(scenario: Scenario) -> ThresholdSearch:
    """The cost of every threshold policy: all numbers of robots, all thresholds up to the top.

    Numbers 1 … available, and 0 where the scenario's own thresholds list it; whatever else its
    [activation] says.

    Raises
    ------
    NoOptimumError
        If there are no [costs], they have no exact value here, or there are too many policies.

    Notes
    -----
    avrachenkov2011, section 4: the cost (2) for all subsets of the modes and all thresholds. Exact,
    by the block elimination of its section 3 with the work shared among the policies that agree
    from some level upwards (`analytic.indexing_queue.policy_costs`).
    """
    numbers = allowed_numbers(scenario)
    if len(numbers) > _MOST_NUMBERS:
        raise NoOptimumError(f"there are {len(numbers)} numbers of robots, limit {_MOST_NUMBERS}")
    costs = all_costs(scenario, numbers, NON_INCREASING)
    if np.isnan(costs).all():
        why = "nothing is served, or the steady state is not unique"
        raise NoOptimumError(f"no policy has a cost: {why}")
    top = top_level(scenario)
    return ThresholdSearch(scenario.name, scenario.time_unit, numbers, top, costs)


def optimal_thresholds(scenario: Scenario) -> Optimum:
    """The best threshold policy; the table has the best one for every list of numbers.

    Its lower bound is that of all rules that switch robots freely by level and phases.

    Raises
    ------
    NoOptimumError
        As `best_thresholds`.
    """
    search = best_thresholds(scenario)
    notes = search.notes()
    if search.numbers[0] > 0:
        priced = ", or with [costs] staleness" if scenario.model.pages else ""
        least = "at least one robot at every level, as in avrachenkov2011"
        notes = (f"{least}; none is tried where the file's own rule lists 0{priced}", *notes)
    return runner_up(threshold_optimum(search, notes), scenario, search.numbers)


class Searched(Protocol):
    """A search of thresholds, of whatever kind: its optimum, and the rows of its table."""

    @property
    def optimum(self) -> ThresholdPolicy:
        """The cheapest policy."""
        ...

    @property
    def table(self) -> tuple[ThresholdPolicy, ...]:
        """The policies to show."""
        ...


def threshold_optimum(search: Searched, notes: Sequence[str]) -> Optimum:
    """The optimum of a search of thresholds, as every optimiser returns it."""
    best = search.optimum
    rule = {"robots": list(best.robots), "at": list(best.at)}
    return Optimum(
        target="threshold",
        cost=best.cost,
        decision=rule,
        changes={"activation": {"threshold": rule}},
        table=[row._asdict() for row in search.table],
        notes=notes,
        search=search,
    )


def thresholds_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best thresholds that keep some bounds."""
    if counts_switches(scenario):
        raise NoOptimumError("a bound does not go with switches that have a price or take a time")
    search = best_thresholds(scenario)

    def words(rule: int) -> str:
        used, at = thresholds_of(search.robots_by_level(rule))
        return f"robots = {list(used)}, at = {list(at)}"

    def costs_of(one: Scenario) -> Array:
        return all_costs(one, search.numbers, NON_INCREASING)

    def rule_of(rule: int) -> dict[str, Any]:
        used, at = thresholds_of(search.robots_by_level(rule))
        return {"threshold": {"robots": list(used), "at": list(at)}}

    compared = compare(scenario, search.costs, costs_of, rule_of, bounds, words)
    optimum = threshold_optimum(replace(search, costs=compared.rules.kept), ())
    keeps = "it" if len(bounds) == 1 else "them"
    gain = f"gain: per cent of the cost of the best single number that keeps {keeps}"
    return replace(optimum, lower_bound=compared.bound, notes=(*compared.notes, gain))
