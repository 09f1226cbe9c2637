"""Targets of the switching rule for the whole path: the best that a search finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analytic.optimum import NoOptimumError, Optimum
from analytic.pipeline.criteria import (
    cost_of,
    more_may_be_better,
    own_criterion,
    price_of_alone,
    prices_staleness,
    require_prices,
)
from analytic.progress import Progress
from analytic.refusal import NoAnswerError
from analytic.robot_control.switching import optimal_switching
from scenarios import Scenario

_MOST_RULES = 750
"""Levels times robots: of more the search would take minutes."""
_GAINED = 1e-12


@dataclass(frozen=True)
class FoundTargets:
    """The targets that a search has found, and those by the papers' criterion.

    Attributes
    ----------
    scenario : str
        Its name.
    targets : tuple of int
        Robots that are wanted at each level.
    cost : float
        Per unit time, end to end.
    other : tuple of str and float, optional
        Another criterion, and the cost of what it decides.
    other_targets : tuple of int
        Its targets; empty where they are not known.
    """

    scenario: str
    targets: tuple[int, ...]
    cost: float
    other: tuple[str, float] | None = None
    other_targets: tuple[int, ...] = ()


def end_to_end_switching(scenario: Scenario) -> Optimum:
    """Targets that no change of a single one improves, end to end.

    Searched one level at a time, from the optimum by the papers' criterion, the best constant
    targets, and two that fall in a line. Not certified: no bound is known for the cost end to end.
    Where staleness has no price, the optimum of `optimal_switching`.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or the search would take too long.
    """
    if not prices_staleness(scenario):
        require_prices(scenario)
        return optimal_switching(scenario)
    assert scenario.robots is not None
    assert scenario.buffer is not None
    levels = scenario.buffer.waiting_places + 2
    available = scenario.robots.available
    if levels * available > _MOST_RULES:
        many = f"{levels} levels × {available} robots"
        raise NoOptimumError(f"{many}; at most {_MOST_RULES} are searched")
    known: dict[tuple[int, ...], float] = {}
    progress = Progress(f"{scenario.name}: switching, rules tried")

    def cost(targets: tuple[int, ...]) -> float:
        if targets not in known:
            known[targets] = cost_of(_switched(scenario, targets))
            progress.step()
        return known[targets]

    constant = min(range(1, available + 1), key=lambda each: cost((each,) * levels))
    by_papers = _flat_targets(scenario)
    ramps = [_ramp(available, levels, last) for last in (levels - 1, max(levels // 2, 1))]
    starts = [(constant,) * levels, *by_papers, *ramps]
    best = min((_descended(start, available, cost) for start in starts), key=cost)
    alone, reason = price_of_alone(scenario, optimal_switching)
    searched = (
        f"best found: {len(known):,} rules tried; no single target can be changed for the better; "
        "not proved"
    )
    other = alone.short if alone else None
    edge = more_may_be_better(max(best), scenario)
    found = FoundTargets(scenario.name, best, cost(best), other, *by_papers[:1])
    return Optimum(
        target="switching",
        cost=found.cost,
        lower_bound=None,
        decision={"targets": list(best)},
        changes={"activation": {"switching": {"targets": list(best)}}},
        table=[{"level": level, "target": target} for level, target in enumerate(best)],
        notes=[searched, alone.note(found.cost) if alone else reason, *edge],
        search=found,
        proved=False,
    )


def _switched(scenario: Scenario, targets: Sequence[int]) -> Scenario:
    return scenario.with_("activation", {"switching": {"targets": list(targets)}})


def _flat_targets(scenario: Scenario) -> list[tuple[int, ...]]:
    """The optimum by the papers' criterion, where one list serves all service phases."""
    try:
        targets = optimal_switching(own_criterion(scenario)[0]).decision["targets"]
    except NoAnswerError:
        return []
    rows = targets if isinstance(targets[0], list) else [targets]
    return [tuple(max(each, int(level == 0)) for level, each in enumerate(rows[0]))]


def _ramp(available: int, levels: int, last: int) -> tuple[int, ...]:
    """Targets that fall in a line from all robots to none at a level."""
    return tuple(max(round(available * (1.0 - level / last)), 0) for level in range(levels))


def _descended(
    targets: tuple[int, ...], available: int, cost: Callable[[tuple[int, ...]], float]
) -> tuple[int, ...]:
    """One level at a time, until no single target can be changed for the better.

    Numbers near the present one come first: that takes a third of the rules.
    """
    near = True
    while True:
        before = cost(targets)
        for level in range(len(targets)):
            steps = (-4, -2, -1, 1, 2, 4) if near else range(-available, available + 1)
            numbers = (targets[level] + step for step in steps)
            changed = [
                (*targets[:level], each, *targets[level + 1 :])
                for each in numbers
                if int(level == 0) <= each <= available
            ]
            targets = min([targets, *changed], key=cost)
        gained = cost(targets) < before * (1.0 - _GAINED)
        if not (gained or near):
            return targets
        near = gained
