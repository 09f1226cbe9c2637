"""The optimal rule that switches robots on one at a time and never recalls one (talim2001)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from analytic.index import conditions
from analytic.index.formula import Condition
from analytic.index.optimum import NoOptimumError, Optimum, require
from analytic.machinery.bounds import at_most
from analytic.machinery.phase_type import moment
from analytic.robot_control import scenario_queue
from analytic.robot_control.optimal_targets import MOST_GENERAL, solved, with_response
from analytic.robot_control.switched_queue import Measures, SwitchedQueue
from analytic.robot_control.target_rules import is_covered, measures_of_targets
from scenarios import Scenario
from scenarios.arrays import IntArray
from scenarios.sections import Costs

_WIDE = 1e-3
"""Relative distance of the bound below the cost from which on it is shown."""

MOST_STATES = 4_000_000
"""States, where the structure of the chain is used."""

MOST_LEVELS = 5_000
"""Levels with their service phases."""

MOST_QUOTIENT = 2_000
"""States with a price on the response, where the structure is not used: hundreds of problems."""

MOST_WORK = 2 * 10**10
"""Robots × levels², where the structure of the chain is used: 10^9 take two to five seconds."""


class Curves(NamedTuple):
    """Highest level before the event at which a robot is switched on, for 0, 1, … active robots.

    `after_service`: f_0, with 0 where never. `after_delivery`: f_1, with -1 where never; its first
    entry, without a robot that could deliver, too.
    """

    after_service: IntArray
    after_delivery: IntArray


def switching_curves(targets: IntArray, available: int) -> Curves:
    """The two switching curves of a target rule that does not increase with the level.

    Parameters
    ----------
    targets : ndarray of int, shape (capacity + 1,)
    available : int

    Notes
    -----
    talim2001, section 3: a robot is switched on iff ``f_s(r) >= q``, with q pages and r robots
    before the event. Both are one: with ``g(r) = max{q : targets[q] >= r}``,
    ``f_0(r) = min(g(r + 1) + 1, K)`` and ``f_1(r) = g(r) - 1``, or K where g(r) = K.
    """
    top = len(targets) - 1
    robots = np.arange(1, available + 1)
    highest = (targets[None, :] >= robots[:, None]).sum(axis=1) - 1
    service = np.append(np.minimum(highest + 1, top), 0)
    delivery = np.where(highest == top, top, np.maximum(highest - 1, -1))
    return Curves(service, np.insert(delivery, 0, -1))


@dataclass(frozen=True)
class SwitchingSearch(ABC):
    """The best rule of a kind that switches on one robot at a time and recalls none.

    Attributes
    ----------
    queue : SwitchedQueue
    cost : float
        Per unit time.
    lower_bound : float
        No rule that knows as much costs less.
    """

    written = "targets"
    """What the file calls the rule."""

    queue: SwitchedQueue = field(repr=False)
    cost: float
    lower_bound: float

    @property
    @abstractmethod
    def decision(self) -> list[Any]:
        """The rule as a scenario file has it."""

    @abstractmethod
    def table(self) -> Iterator[dict[str, Any]]:
        """The rule, a row for each level or state."""

    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""

    def optimum(self) -> Optimum:
        """The search as the answer to `optimize`."""
        rule = {self.written: self.decision}
        return Optimum(
            target="switching",
            cost=self.cost,
            lower_bound=self.lower_bound,
            decision=rule,
            changes={"activation": {"switching": rule}},
            table=list(self.table()),
            notes=self.notes(),
            search=self,
        )


def targets_as_written(queue: SwitchedQueue, targets: IntArray) -> list[Any]:
    """Targets as a scenario file has them: a list, or one for each phase of the service."""
    rows: list[list[int]] = queue.levels.by_phase(targets).tolist()
    return rows[0] if all(row == rows[0] for row in rows) else rows


@dataclass(frozen=True)
class TargetSearch(SwitchingSearch):
    """The best targets of robots that are alike.

    Attributes
    ----------
    targets : ndarray of int, shape (levels,)
    measures : Measures
        What the rule does in the long run.
    """

    targets: IntArray
    measures: Measures = field(repr=False)

    @property
    def rows(self) -> list[list[int]]:
        """Targets by level, a list for each phase of the service."""
        return self.queue.levels.by_phase(self.targets).tolist()

    @property
    def decision(self) -> list[Any]:
        """The targets as a scenario file has them."""
        return targets_as_written(self.queue, self.targets)

    def curves(self, phase: int = 0) -> Curves:
        """The two switching curves, in a phase of the service.

        Raises
        ------
        ValueError
            If the targets increase with the level: the rule is then no switching curve.
        """
        targets = np.array(self.rows[phase])
        if np.any(np.diff(targets) > 0):
            raise ValueError(f"the targets {targets.tolist()} increase with the level")
        return switching_curves(targets, self.queue.modes.available)

    def table(self) -> Iterator[dict[str, Any]]:
        """Targets and probability of each level."""
        levels = self.measures.levels
        for level, targets in enumerate(zip(*self.rows, strict=True)):
            row: dict[str, Any] = {"level": level}
            names = ["target"] if len(targets) == 1 else [f"phase {j}" for j in range(len(targets))]
            row |= dict(zip(names, targets, strict=True))
            yield row | ({"probability": float(levels[level])} if len(levels) else {})

    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        rule = self.measures
        active = f"{rule.fewest} to {rule.most} active robots, {rule.mean_active:.4g} on average"
        bound = f"no rule of this kind costs less than {self.lower_bound:.10g}"
        gap = (self.cost - self.lower_bound) / self.cost if self.cost > 0 else 0.0
        return active, f"{bound} ({100 * gap:.2g} % less)" if gap > _WIDE else bound


_COVERED: tuple[Condition, ...] = (
    conditions.has_buffer,
    conditions.one_server,
    conditions.no_host_spacing,
    conditions.priced,
    conditions.one_price_of_robots,
    conditions.pages_leave_the_queue_alone,
    conditions.poisson_accesses,
    conditions.robots_alike,
    conditions.phase_type_service,
    conditions.exponential_patience_or_none,
    conditions.response_known,
)


def queue_of(scenario: Scenario) -> SwitchedQueue:
    """The queue of a scenario; its [activation] is ignored.

    Raises
    ------
    NoOptimumError
        If the optimum is not known for such a system.
    """
    require(_COVERED, scenario.with_("activation", None))
    return scenario_queue.queue_of(scenario)


def check_size(queue: SwitchedQueue, costs: Costs) -> None:
    """Refuse a queue whose solution would take very long."""
    general = MOST_QUOTIENT if costs.response else MOST_GENERAL
    most = MOST_STATES if is_covered(queue) else general
    states = queue.states
    if states > most:
        raise NoOptimumError(f"its chain has {states} states, limit {most}")
    levels = queue.levels.number
    if levels > MOST_LEVELS:
        raise NoOptimumError(f"levels × service phases is {levels - 1}, limit {MOST_LEVELS}")
    work = queue.modes.available * levels**2
    if is_covered(queue) and work > MOST_WORK:
        raise NoOptimumError(f"robots × levels² is {work:.2g}, limit {MOST_WORK:.0e}")


def best_switching(scenario: Scenario) -> TargetSearch:
    """The optimal targets of a scenario.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no [costs], they have no exact value here, or the chain is too large.

    Notes
    -----
    The decision process of talim2001, section 2, on the states after a decision (corrected in
    docs/errata.md); with phase-type service the controller sees its phase. That the optimum is a
    target rule, hence a monotone switching curve, is the paper's conjecture: it is not assumed by
    the bound.
    """
    queue = queue_of(scenario)
    costs = scenario.prices
    check_size(queue, costs)
    plain = not costs.response
    best = solved(queue, queue.costs(costs)) if plain else with_response(queue, costs)
    lower = best.lower
    measures = measures_of_targets(queue, best.rule)
    cost = measures.cost(costs)
    if not plain:  # another bound: the least cost without the response, and a response without wait
        without = solved(queue, queue.costs(costs)).lower
        lower = max(lower, without + costs.response * moment(queue.levels.service, 1))
    return TargetSearch(queue, cost, at_most(cost, max(lower, 0.0)), best.rule, measures)
