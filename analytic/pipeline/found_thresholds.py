"""Thresholds that a search has met, as a table and a figure show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from analytic.indexing_queue.thresholds import ThresholdPolicy
from analytic.pipeline.level_costs import Policy, thresholds_of
from scenarios import Scenario
from scenarios.arrays import Array

Costs = Callable[[Sequence[Policy]], Array]
"""From policies to their costs."""
Other = tuple[str, float] | None
"""Another criterion, and the cost of what it decides."""

_MOST_PAIRS = 20_000
_MOST_CURVES = 6


@dataclass(frozen=True)
class FoundThresholds:
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
    other: tuple[str, float] | None = None

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


def found_thresholds(
    scenario: Scenario,
    costs: Costs,
    available: int,
    ends: Sequence[Policy],
    *,
    few: bool,
    other: Other,
) -> FoundThresholds:
    """A table of the best single number, the best pairs and the ends of a search.

    Parameters
    ----------
    scenario : Scenario
    costs : callable
        From policies to their costs.
    available : int
    ends : sequence of tuple of int
        The policies that the search ended with.
    few : bool
        Whether each cost takes long: then one pair of numbers is enough.
    other : tuple of str and float, optional
        Another criterion, and the cost of what it decides.
    """
    assert scenario.buffer is not None
    top = scenario.buffer.waiting_places + 1
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
    return FoundThresholds(*name, top, table, shown, other)
