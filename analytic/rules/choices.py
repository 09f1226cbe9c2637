"""The best rule for robots of several classes that are switched on one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.optimum import Optimum, require
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.robot_modes import as_written
from analytic.robot_control.scenario_queue import (
    IN_ENVIRONMENT,
    OF_CLASSES,
    PRICED,
    prices_in,
    queue_of,
)
from analytic.robot_control.switched_queue import (
    Measures,
    SwitchedQueue,
    best_policy,
    measures_of_policy,
)
from analytic.robot_control.switching import SwitchingSearch
from analytic.rules.bound import Bound, cheapest_within, notes_of
from analytic.rules.fixed import best_fixed_number, static_optimum
from analytic.rules.of_process import BoundedProcess, Rate
from analytic.rules.targets import rewards_of
from scenarios import Scenario
from scenarios.arrays import Array, IntArray
from scenarios.choices import NO_CLASS
from scenarios.sections import Robots
from scenarios.text import quantity

_ALIKE = 1e-9
_FEW_STATES = 6
"""States up to which two rules are told apart by the states in which they differ."""


def environment_seen(scenario: Scenario) -> str | None:
    """A rule that chooses classes sees the environment, if there is one."""
    environment = scenario.robots.environment if scenario.robots else None
    if environment is None or environment.seen:
        return None
    return "the best choices are not known where robots.environment.seen = false"


def names_of_classes(robots: Robots) -> list[str]:
    """The name of each class, or its number."""
    return [each.name or f"class {index}" for index, each in enumerate(robots.classes or ())]


@dataclass(frozen=True)
class ChoiceSearch(SwitchingSearch):
    """The best choices of a class.

    Attributes
    ----------
    time_unit : str
    classes : list of str
        Their names.
    policy : ndarray of int
        Of the decision process of the queue.
    fixed : tuple or None
        The best fixed numbers of robots in words, and their cost, where they are known.
    """

    written = "choices"

    time_unit: str
    classes: list[str]
    policy: IntArray = field(repr=False)
    fixed: tuple[str, float] | None = None

    @cached_property
    def measures(self) -> Measures:
        """What the rule does in the long run."""
        return measures_of_policy(self.queue, self.policy)

    @property
    def tables(self) -> IntArray:
        """The class that is switched on, shape (service phases, levels, modes)."""
        return self.queue.levels.by_phase(self.queue.switched(self.policy))

    @property
    def decision(self) -> list[Any]:
        """The choices as a scenario file has them."""
        modes = self.queue.modes
        return as_written(self.tables, modes, tuple(size + 1 for size in modes.sizes))

    @property
    def asked(self) -> Array:
        """How often the rule is asked, in the shape of `tables`."""
        counted: Array = self.queue.levels.by_phase(self.measures.occasions).copy()
        counted[1:, 0] = 0.0  # in an empty queue there is no phase
        return counted

    def beside(self, other: ChoiceSearch) -> str:
        """The rule in words, by the states in which it chooses otherwise than another one.

        States in which neither is ever asked do not count. Where there are many others, the whole
        rule.
        """
        tables = self.tables
        differs = (tables != other.tables) & ((self.asked > 0) | (other.asked > 0))
        places = list(zip(*differs.nonzero(), strict=True))
        if not places:
            return "the rule above"
        if len(places) > _FEW_STATES:
            return f"choices = {self.decision}"
        several = len(tables) > 1
        chosen = [
            f"with {self._state(place, several=several)}: {self.name_of(int(tables[place]))}"
            for place in places
        ]
        return f"the rule above, but {'; '.join(chosen)}"

    def _state(self, place: tuple[int, int, int], *, several: bool) -> str:
        """A state in words; `several`: the service has several phases."""
        phase, level, mode = place
        numbers = self.queue.modes.active[mode].tolist()
        active = ", ".join(f"{n} {name}" for name, n in zip(self.classes, numbers, strict=True))
        of_phase = f" in phase {phase}" if several and level > 0 else ""
        around = f", in state {self._around(mode)}" if self.queue.modes.states > 1 else ""
        return f"{quantity(str(level), 'page')}{of_phase} and {active} active{around}"

    def _around(self, mode: int) -> int:
        """The state of the environment."""
        return int(mode // self.queue.modes.combinations)

    def name_of(self, choice: int) -> str:
        """The class that is switched on, in words."""
        return "nobody" if choice == NO_CLASS else self.classes[choice]

    def table(self) -> Iterator[dict[str, Any]]:
        """What the rule chooses in each state in which it is asked, and how often it is."""
        tables = self.tables
        alike = bool(np.all(tables == tables[:1]))  # one table serves all phases of the service
        counted = self.asked.sum(axis=0, keepdims=True) if alike else self.asked
        for level, phase, place in zip(*np.nonzero(np.swapaxes(counted, 0, 1) > 0), strict=True):
            active = zip(self.classes, self.queue.modes.active[place].tolist(), strict=True)
            row: dict[str, Any] = {"level": int(level)}
            row |= {} if alike else {"phase": int(phase)}
            row |= {"state": self._around(place)} if self.queue.modes.states > 1 else {}
            row |= {f"{name} active": number for name, number in active}
            row["switched on"] = self.name_of(int(tables[phase, level, place]))
            yield row | {"occasions": float(counted[phase, level, place])}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        means = zip(self.classes, self.measures.active.tolist(), strict=True)
        active = ", ".join(f"{mean:.4g} {name}" for name, mean in means)
        said = [
            f"{active} robots active on average",
            f"no rule of this kind costs less than {self.lower_bound:.10g}",
            f"occasions: how often the rule is asked in that state, per {self.time_unit}; states "
            "in which it never is are not shown",
        ]
        if self.fixed is not None:
            said.append(_compared(*self.fixed, self.cost))
        return tuple(said)


def _compared(numbers: str, fixed: float, cost: float) -> str:
    """The cost of fixed numbers beside that of the rule, in words."""
    said = f"the best fixed numbers, {numbers}, cost {fixed:.6g}"
    if fixed < cost * (1 - _ALIKE):
        return f"{said}, which is less: a rule of this kind has a robot active in an empty system"
    return f"{said}, {100 * (fixed / cost - 1):.3g} % more" if cost > 0 else said


def checked_queue(scenario: Scenario) -> SwitchedQueue:
    """The queue of a scenario, its [activation] ignored.

    Raises
    ------
    NoOptimumError
        If the optimum is not known for such a system, or the chain is too large.
    """
    plain = scenario.with_("activation", None)
    around = conditions.in_environment(scenario) is None
    of_kind = IN_ENVIRONMENT if around else OF_CLASSES
    require((*of_kind, environment_seen, *PRICED), plain)
    return queue_of(plain)


@lru_cache(maxsize=4)
def best_choices_of(scenario: Scenario) -> ChoiceSearch:
    """The best rule of a scenario whose robots are of several classes.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no [costs], they have no exact value here, or the chain is too large.
    """
    queue = checked_queue(scenario)
    best = best_policy(queue, queue.costs(prices_in(scenario)))
    _, robots = buffer_and_robots(scenario)
    return ChoiceSearch(
        time_unit=scenario.time_unit,
        classes=names_of_classes(robots),
        queue=queue,
        policy=best.rule,
        cost=best.cost,
        lower_bound=max(best.lower, 0.0),
        fixed=_best_fixed(scenario),
    )


def _best_fixed(scenario: Scenario) -> tuple[str, float] | None:
    """The best fixed numbers of robots and their cost; None where they are not known."""
    try:
        best = static_optimum(best_fixed_number(scenario.with_("activation", None)))
    except NoAnswerError:
        return None
    if best.cost is None:
        return None
    decided = best.decision.get("robots")
    return f"robots = {decided}", best.cost


def bounded_choices(
    scenario: Scenario, bounds: Sequence[Bound]
) -> tuple[ChoiceSearch, BoundedProcess]:
    """The best rule without bounds, and the decision process with them.

    Raises
    ------
    NoOptimumError
        As `best_choices_of`.
    """
    search = best_choices_of(scenario)
    queue = search.queue
    process = queue.process(queue.costs(prices_in(scenario)))
    at_once = np.zeros(len(process.option_costs))
    counted, total = zip(*(rewards_of(each, queue) for each in bounds), strict=True)
    priced, whole = (
        [Rate(queue.by_state(queue.earned(each)), at_once) for each in some]
        for some in (counted, total)
    )
    # where the search begins some robot is switched on wherever one rests
    return search, BoundedProcess(process, bounds, priced, whole, process.first[1:] - 1)


def choices_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best rule that switches on robots of several classes and keeps some bounds."""
    search, rules = bounded_choices(scenario, bounds)

    def rule(policy: IntArray) -> ChoiceSearch:
        return replace(search, policy=policy)

    def words(policy: IntArray) -> str:
        return f"choices = {rule(policy).decision}"

    found = cheapest_within(rules, bounds, words)
    single = replace(rule(found.single.rule), cost=found.single.cost, lower_bound=found.lower)
    active, _, occasions = replace(single, fixed=None).notes()

    def beside(policy: IntArray) -> str:
        return rule(policy).beside(single)

    notes = (active, *notes_of(found, bounds, beside), occasions)
    gap = 0.0 if found.proved else None
    return replace(single.optimum(), notes=notes, proved=found.proved, gap=gap)
