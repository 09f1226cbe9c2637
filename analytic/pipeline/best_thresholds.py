"""The best threshold policy end to end: all policies where they are few, else the best found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analytic.indexing_queue.thresholds import (
    ThresholdSearch,
    optimal_thresholds,
    threshold_optimum,
)
from analytic.optimum import NoOptimumError, Optimum
from analytic.pipeline.criteria import (
    Alone,
    copies_leave_together,
    cost_of,
    more_may_be_better,
    price_of_alone,
    prices_staleness,
    require_prices,
)
from analytic.pipeline.found_thresholds import (
    Costs,
    FoundThresholds,
    Other,
    found_thresholds,
    pairs_of,
    two_numbers,
)
from analytic.pipeline.level_costs import (
    BirthDeath,
    ByFormulas,
    Policy,
    birth_death,
    by_level,
    members,
    nth_policy,
    policies,
)
from analytic.pipeline.level_search import descended
from analytic.progress import Progress, followed
from analytic.refusal import NoAnswerError
from scenarios import Scenario
from scenarios.arrays import Array

_MOST_IN_TABLE = 100_000
"""Policies of which all costs are kept: a table of the best one for every list of numbers."""
_MOST_NUMBERS_IN_TABLE = 12
_MOST_WORK = 2 * 10**9
"""Policies times levels times kinds of pages that are searched: about twenty seconds."""
_MOST_SLOW = 1000
"""Policies that are evaluated one by one, all of them."""
_MOST_TRIED = 750
"""Levels times robots of those that are searched one level at a time, some milliseconds each."""
_MOST_TRIED_QUICKLY = 20_000
"""The same, where they are compiled."""
_AT_A_TIME = 500
_STARTS = 4
_GAIN = "gain: per cent of the cost of the best single number"


def end_to_end_thresholds(scenario: Scenario) -> Optimum:
    """The best threshold policy, end to end, with 0 … available robots at each level.

    Proved where all policies are evaluated; otherwise the best that a descent from the best single
    number and the best pairs of numbers finds, one level or run of levels at a time. Where
    staleness has no price, the policy of `optimal_thresholds`; where copies of a page leave the
    buffer together, the same search by the formulas of this package.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or there are too many policies.
    """
    if not prices_staleness(scenario):
        require_prices(scenario)
        return _searched(scenario) if copies_leave_together(scenario) else _by_papers(scenario)
    assert scenario.buffer is not None
    if scenario.buffer.admission == "complete":
        raise NoOptimumError('through the buffer: admission is "complete"')
    cost_of(scenario.with_("activation", None))  # why no policy has a cost, before any search
    alone, reason = price_of_alone(scenario, _by_papers_with_none)
    return _searched(scenario, alone, reason)


def _searched(scenario: Scenario, alone: Alone | None = None, reason: str = "") -> Optimum:
    """By the scenario's own prices, beside what is best by the papers', or why there is none."""
    assert scenario.robots is not None
    top = _top(scenario)
    available = scenario.robots.available
    plain = scenario.with_("activation", None)
    other = alone.short if alone else None
    simple = birth_death(plain)
    count = members(available + 1, top + 1)
    quick = simple is not None and count * (top + 1) * simple.kinds <= _MOST_WORK
    slow = simple is None and count <= _MOST_SLOW
    if simple is not None and quick:
        search, notes = _all_quickly(plain, simple, available, other)
    elif slow:
        search, notes = _all_slowly(plain, available, other)
    else:
        search, notes = _best_found(plain, simple, available, other)
    edge = more_may_be_better(max(search.optimum.robots), scenario)
    said = alone.note(search.optimum.cost) if alone else reason
    return _optimum(search, [*notes, *[said] * bool(said), *edge], quick or slow)


def _optimum(
    search: ThresholdSearch | FoundThresholds, notes: Sequence[str], proved: bool
) -> Optimum:
    """As `threshold_optimum`, with what the search has proved."""
    return replace(threshold_optimum(search, notes), proved=proved, gap=0.0 if proved else None)


def _by_papers(scenario: Scenario) -> Optimum:
    """The best thresholds by the other prices; where they are too many, the best found."""
    if copies_leave_together(scenario):
        return _searched(scenario)
    try:
        return optimal_thresholds(scenario)
    except NoAnswerError:
        plain = scenario.with_("activation", None)
        simple = birth_death(plain)
        if simple is None:
            raise
        assert scenario.robots is not None
        search, notes = _best_found(plain, simple, scenario.robots.available, None)
        return _optimum(search, notes, proved=False)


def _by_papers_with_none(scenario: Scenario) -> Optimum:
    """As `_by_papers`, but with no robot too: what it is set beside is searched from 0 on."""
    assert scenario.robots is not None
    listed = {"threshold": {"robots": [scenario.robots.available, 0], "at": [0]}}
    return _by_papers(scenario.with_("activation", listed))


_ALL = "all {:,} policies of 0 to {} robots searched: none costs less"


def _all_quickly(
    scenario: Scenario, simple: BirthDeath, available: int, other: Other
) -> tuple[ThresholdSearch | FoundThresholds, list[str]]:
    """Every policy; the costs of all are kept where a table of them is for people."""
    numbers = range(available + 1)
    top = simple.waits.shape[1] - 1
    count = members(len(numbers), top + 1)
    progress = Progress(f"{scenario.name}: thresholds, policies", count)
    keeps = count <= _MOST_IN_TABLE and len(numbers) <= _MOST_NUMBERS_IN_TABLE
    kept = []
    least = math.inf
    place = 0
    done = 0
    for costs in simple.costs_of_all(numbers):
        if keeps:
            kept.append(costs)
        if not np.isnan(costs).all() and float(np.nanmin(costs)) < least:
            least = float(np.nanmin(costs))
            place = done + int(np.nanargmin(costs))
        done += len(costs)
        progress.step(len(costs))
    said = _ALL.format(count, available)
    name = scenario.name, scenario.time_unit
    if keeps:
        search = ThresholdSearch(*name, tuple(numbers), top, np.concatenate(kept), other)
        return search, [said, *search.notes()]
    best = nth_policy(numbers, top + 1, place)
    found = found_thresholds(scenario, simple.costs, available, [best], few=False, other=other)
    return found, [said, _GAIN]


def _all_slowly(
    scenario: Scenario, available: int, other: Other
) -> tuple[ThresholdSearch, list[str]]:
    """Every policy, each by the formulas of the index."""
    numbers = tuple(range(available + 1))
    top = _top(scenario)
    count = members(len(numbers), top + 1)
    doing = f"{scenario.name}: thresholds, policies"
    every = followed(policies(numbers, top + 1), doing, count)
    costs = np.array([cost_of(by_level(scenario, each)) for each in every])
    search = ThresholdSearch(scenario.name, scenario.time_unit, numbers, top, costs, other)
    return search, [_ALL.format(count, available), *search.notes()]


def _best_found(
    scenario: Scenario, simple: BirthDeath | None, available: int, other: Other
) -> tuple[FoundThresholds, list[str]]:
    """The best of the descents from the best single number and the best pairs of numbers."""
    top = _top(scenario)
    few = simple is None
    size = (top + 1) * available
    most = _MOST_TRIED if few else _MOST_TRIED_QUICKLY
    if size > most:
        raise NoOptimumError(f"{top + 1} levels × {available} robots; at most {most} are searched")
    costs_of = ByFormulas(scenario).costs if simple is None else simple.costs
    progress = Progress(f"{scenario.name}: thresholds, policies tried")
    counted = _Counted(costs_of, 1 if few else _AT_A_TIME, progress)
    pairs = pairs_of(available, top, few=few)
    simplest = [(each,) * (top + 1) for each in range(1, available + 1)]
    tried = [*simplest, *(two_numbers(*pair, at, top) for pair in pairs for at in range(top))]
    costs = counted.costs(tried)
    order = np.argsort(costs, kind="stable")[: _STARTS - 1].tolist()
    starts = list(
        dict.fromkeys([*(tried[each] for each in order), tried[int(np.argmin(costs[:available]))]])
    )
    ends = [descended(start, available, counted.costs)[0] for start in starts]
    count = members(available + 1, top + 1)
    said = (
        f"best found: {counted.progress.done:,} policies tried of {_size(count)}, from the best "
        "single numbers and pairs on, until no change of a level or a run of levels costs less; "
        "not proved"
    )
    found = found_thresholds(scenario, counted.costs, available, ends, few=few, other=other)
    return found, [said, _GAIN]


def _size(count: int) -> str:
    return f"{count:.2g}" if count < 2**63 else "over 10^18"


class _Counted:
    """Costs of policies, some at a time so that one can stop, and how many there were."""

    def __init__(self, costs: Costs, at_a_time: int, progress: Progress) -> None:
        self._costs = costs
        self._at_a_time = at_a_time
        self.progress = progress

    def costs(self, given: Sequence[Policy]) -> Array:
        """As the function given."""
        parts = []
        for start in range(0, len(given), self._at_a_time):
            some = given[start : start + self._at_a_time]
            parts.append(self._costs(some))
            self.progress.step(len(some))
        return np.concatenate(parts)


def _top(scenario: Scenario) -> int:
    assert scenario.buffer is not None
    return scenario.buffer.waiting_places + 1
