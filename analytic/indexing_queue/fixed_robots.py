"""The best fixed number of robots for the indexing queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from analytic.indexing_queue.searching import CONSTANT, cheapest_sets, searched
from analytic.indexing_queue.unlike_robots import BestSets, kinds_of_robots
from analytic.optimum import NoOptimumError, Optimum
from scenarios import Scenario
from scenarios.arrays import Array

if TYPE_CHECKING:
    import pandas as pd


_ALIKE = 1e-12
_TOGETHER = 256


@dataclass(frozen=True)
class StaticSearch:
    """The cost of every fixed number of robots.

    Attributes
    ----------
    scenario : str
        Its name.
    time_unit : str
    costs : ndarray, shape (available + 1,)
        Per unit time with 0, 1, … robots; NaN where there is none.
    other : tuple of str, float and int, optional
        Another criterion, the cost of what it decides, and that number of robots.
    best : BestSets, optional
        Where robots are not alike: the best ones of each number, whose costs these are.
    """

    scenario: str
    time_unit: str
    costs: Array = field(repr=False)
    other: tuple[str, float, int] | None = None
    best: BestSets | None = field(default=None, repr=False)

    @property
    def optimum(self) -> int:
        """The number with the least cost, the smallest of several."""
        least = float(np.nanmin(self.costs))
        return int(np.argmax(self.costs <= least + _ALIKE * abs(least)))

    @property
    def decision(self) -> dict[str, Any]:
        """The best number, or the best robots where they are not alike."""
        if self.best is None:
            return {"robots": self.optimum}
        return {"these": list(self.best.sets[self.optimum])}

    @property
    def changes(self) -> dict[str, Any]:
        """The decision as it stands in a scenario file."""
        rule = {"static": self.optimum} if self.best is None else self.decision
        return {"activation": rule}

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out of the search."""
        return self.best is None or self.best.is_complete

    def rows(self) -> Iterator[dict[str, Any]]:
        """Number of robots, the best ones where they are not alike, and cost."""
        for robots, cost in enumerate(self.costs.tolist()):
            these = {} if self.best is None else {"these": list(self.best.sets[robots])}
            yield {"robots": robots, **these, "cost": cost}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the rows should know."""
        return (*self._of_none(), *self._of_sets())

    def _of_none(self) -> Iterator[str]:
        if np.isnan(self.costs[0]):
            reason = "no cost, for the response has a price and nothing is ever served"
            yield f"0 robots: {reason}"

    def _of_sets(self) -> Iterator[str]:
        if self.best is None:
            return
        if self.best.is_complete:
            yield f"the best of all {self.best.distinct:,} different sets of robots"
        else:
            yield (
                f"not proved to be the best: {self.best.tried:,} of "
                f"{_counted(self.best.distinct)} different sets were tried, by adding a robot, "
                "leaving one out or exchanging two while that helped"
            )

    def to_frame(self) -> pd.DataFrame:
        """Number of robots and cost as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))


def best_fixed_number(scenario: Scenario) -> StaticSearch:
    """The cost of each fixed number of robots, from 0 to all that are available.

    Where the robots of an independent or marked process are not alike, that of the best ones of
    each number.

    Raises
    ------
    NoOptimumError
        If there are no [costs], they have no exact value here, or there are too many numbers.

    Notes
    -----
    The static problem of talim2001, section 4, for every queue of avrachenkov2011, section 3.
    """
    if scenario.buffer is None or scenario.robots is None:
        raise NoOptimumError("there is no [buffer]")
    if (kinds := kinds_of_robots(scenario)) and len(kinds) > 1:
        best = cheapest_sets(scenario, kinds)
        return StaticSearch(
            scenario.name, scenario.time_unit, with_some_cost(np.array(best.costs)), best=best
        )
    every = range(scenario.robots.available + 1)
    parts = [every[start : start + _TOGETHER] for start in range(0, len(every), _TOGETHER)]
    costs = np.concatenate([searched(scenario, part, CONSTANT) for part in parts])
    return StaticSearch(scenario.name, scenario.time_unit, with_some_cost(costs))


def with_some_cost(costs: Array) -> Array:
    """The costs of all numbers.

    Raises
    ------
    NoOptimumError
        If none has one.
    """
    if np.isnan(costs).all():
        why = "nothing is served, or no steady state is unique"
        raise NoOptimumError(f"no number has a cost: {why}")
    return costs


def _counted(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{number:.1e}"


def optimal_fixed_number(scenario: Scenario) -> Optimum:
    """The best fixed number of robots; the table has the cost of each.

    Raises
    ------
    NoOptimumError
        As `best_fixed_number`.
    """
    search = best_fixed_number(scenario)
    return Optimum(
        target="static",
        cost=float(search.costs[search.optimum]),
        lower_bound=None,
        decision=search.decision,
        changes=search.changes,
        table=list(search.rows()),
        notes=search.notes(),
        search=search,
        proved=None if search.best is None else search.is_complete,
        gap=0.0 if search.best is not None and search.is_complete else None,
    )
