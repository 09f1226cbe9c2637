"""The best fixed number of robots for the indexing queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.searching import CONSTANT, searched
from analytic.optimum import NoOptimumError, Optimum
from scenarios import Scenario

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StaticSearch", "best_fixed_number", "optimal_fixed_number"]

Array = NDArray[np.floating[Any]]

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
    """

    scenario: str
    time_unit: str
    costs: Array = field(repr=False)
    other: tuple[str, float, int] | None = None

    @property
    def optimum(self) -> int:
        """The number with the least cost, the smallest of several."""
        least = float(np.nanmin(self.costs))
        return int(np.argmax(self.costs <= least + _ALIKE * abs(least)))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Number of robots and cost."""
        for robots, cost in enumerate(self.costs.tolist()):
            yield {"robots": robots, "cost": cost}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the rows should know."""
        reason = "no cost, for the response has a price and nothing is ever served"
        return (f"0 robots: {reason}",) if np.isnan(self.costs[0]) else ()

    def to_frame(self) -> pd.DataFrame:
        """Number of robots and cost as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))


def best_fixed_number(scenario: Scenario) -> StaticSearch:
    """The cost of each fixed number of robots, from 0 to all that are available.

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
    every = range(scenario.robots.available + 1)
    parts = [every[start : start + _TOGETHER] for start in range(0, len(every), _TOGETHER)]
    costs = np.concatenate([searched(scenario, part, CONSTANT) for part in parts])
    if np.isnan(costs).all():
        why = "nothing is served, or no steady state is unique"
        raise NoOptimumError(f"no number has a cost: {why}")
    return StaticSearch(scenario.name, scenario.time_unit, costs)


def optimal_fixed_number(scenario: Scenario) -> Optimum:
    """The best fixed number of robots; the table has the cost of each.

    Raises
    ------
    NoOptimumError
        As `best_fixed_number`.
    """
    search = best_fixed_number(scenario)
    robots = search.optimum
    return Optimum(
        target="static",
        cost=float(search.costs[robots]),
        lower_bound=None,
        decision={"robots": robots},
        changes={"activation": {"static": robots}},
        table=list(search.rows()),
        notes=search.notes(),
        search=search,
    )
