"""The best targets of robots in a common environment, and what it is worth to see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from analytic.index.conditions import buffer_and_robots
from analytic.index.optimum import Best, require
from analytic.machinery.bounds import at_most
from analytic.machinery.robot_modes import as_written
from analytic.robot_control.scenario_queue import (
    IN_ENVIRONMENT,
    PRICED,
    queue_of,
)
from analytic.robot_control.switched_queue import (
    Measures,
    Rewards,
    SwitchedQueue,
    best_policy,
    measures_of_policy,
)
from analytic.robot_control.switching import SwitchingSearch
from analytic.rules.unseen import (
    best_unseen,
    number_of_lists,
    too_many_lists,
)
from scenarios import Scenario
from scenarios.arrays import IntArray

_AT_ONCE = (10**5, 10**8)
"""Lists, and lists × (states of a level)³, up to which the best one is found beside the targets by
state: a second."""


def best_seen(queue: SwitchedQueue, costs: Rewards) -> Best[IntArray]:
    """The best targets for each state of the environment, and a bound below every rule.

    Should the optimum be no target rule, the targets are those up to which it switches on without a
    gap, with their own cost; the bound is that of the optimum.
    """
    best = best_policy(queue, costs)
    targets = queue.targets(best.rule)
    policy = queue.towards(targets)
    own = np.array_equal(policy, best.rule)
    cost = best.cost if own else queue.gain(policy, costs)
    return Best(targets, cost, at_most(cost, max(best.lower, 0.0)))


@dataclass(frozen=True)
class EnvironmentSearch(SwitchingSearch):
    """The best targets for each state of the environment, and for all of them.

    Attributes
    ----------
    time_unit : str
    sees : bool
        Whether the rule of the scenario sees the environment.
    seen : Best
    unseen : Best or None
        None where it was not searched for.
    """

    time_unit: str
    sees: bool
    seen: Best[IntArray]
    unseen: Best[IntArray] | None

    @property
    def targets(self) -> IntArray:
        """The best targets of the rule that the scenario allows, shape (states, levels)."""
        if self.sees or self.unseen is None:
            return self.seen.rule
        return np.tile(self.unseen.rule, (len(self.seen.rule), 1))

    @property
    def measures(self) -> Measures:
        """What it does in the long run."""
        return measures_of_policy(self.queue, self.queue.towards(self.targets))

    @property
    def decision(self) -> list[Any]:
        """The targets as a scenario file has them."""
        targets = self.queue.levels.by_phase(self.targets.T)
        return as_written(targets, self.queue.modes, ())

    @property
    def rows(self) -> list[tuple[str, IntArray]]:
        """Targets by level: of each state of the environment and phase where seen, and unseen."""
        by_phase = self.queue.levels.by_phase(self.seen.rule.T)
        states, phases = range(by_phase.shape[2]), range(len(by_phase))
        named = [
            (f"seen, state {e}" + (f", phase {j}" if len(by_phase) > 1 else ""), by_phase[j, :, e])
            for e in states
            for j in phases
        ]
        return named if self.unseen is None else [*named, ("unseen", self.unseen.rule)]

    def table(self) -> Iterator[dict[str, Any]]:
        """Targets of each level by state and unseen, and its probability under the decision."""
        for level, probability in enumerate(self.measures.levels.tolist()):
            targets = {name: int(row[level]) for name, row in self.rows}
            yield {"level": level} | targets | {"probability": probability}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        bound = f"no rule that sees the environment costs less than {self.lower_bound:.10g}"
        active = f"{self.measures.active.sum():.4g} active robots on average"
        if self.unseen is None:
            reason = too_many_lists(self.queue)
            if reason is None:
                lists = f"{number_of_lists(self.queue):,} lists of targets"
                reason = f"there are {lists}; robots.environment.seen = false compares them"
            return active, bound, f"what seeing is worth was not computed: {reason}"
        saved = max(self.unseen.cost - self.seen.cost, 0.0)
        share = 100 * saved / self.unseen.cost if self.unseen.cost else 0.0
        worth = f"seeing the environment is worth {saved:.6g} per {self.time_unit}, {share:.3g} %"
        costs = f"seen {self.seen.cost:.10g}, unseen {self.unseen.cost:.10g}"
        best = f"unseen: the best of all {number_of_lists(self.queue):,} lists of targets"
        return active, bound, f"{worth} of the cost unseen ({costs})", best


@lru_cache(maxsize=4)
def best_targets_in_environment(scenario: Scenario) -> EnvironmentSearch:
    """The best targets of a scenario whose robots have a common environment.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no [costs], they have no exact value here, the chain is too large, or there are
        too many lists to be compared.
    """
    require(IN_ENVIRONMENT + PRICED, scenario.with_("activation", None))
    queue = queue_of(scenario)
    costs = queue.costs(scenario.prices)
    _, robots = buffer_and_robots(scenario)
    sees = robots.environment is not None and robots.environment.seen
    at_once = too_many_lists(queue, *_AT_ONCE) is None
    unseen = best_unseen(queue, costs) if at_once or not sees else None
    seen = best_seen(queue, costs)
    cost = seen.cost if sees or unseen is None else unseen.cost
    return EnvironmentSearch(queue, cost, seen.lower, scenario.time_unit, sees, seen, unseen)
