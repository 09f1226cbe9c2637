"""The best numbers of robots by level, arrival phase and service phase, beside simpler rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analytic.index import conditions
from analytic.index.optimum import Best, NoOptimumError, Optimum, require
from analytic.indexing_queue.measures import size_of
from analytic.machinery.bounds import at_most
from analytic.machinery.transforms import mean_time
from analytic.rules.bound import Bound, cheapest_within, level_counts, notes_of
from analytic.rules.free_process import (
    AS_GOOD,
    FreeRule,
    QueueProcess,
    best_free_rule,
    queue_process,
    said_more,
)
from analytic.rules.levels import RuleMap, Rung, best_levels, simpler_rules
from analytic.rules.of_process import BoundedProcess, Rate
from analytic.rules.searching import allowed_numbers
from scenarios import Scenario
from scenarios.arrays import IntArray
from scenarios.service_phases import seen_phases


def optimal_free(scenario: Scenario) -> Optimum:
    """The best rule of level, arrival phase and service phase; the table has its numbers.

    Raises
    ------
    NoOptimumError
        If its cost has no exact value here, or a file cannot say which phases the rule looks at.
    """
    numbers = allowed_numbers(scenario)
    best = best_free_rule(scenario, numbers)
    require([unwritten], scenario)
    simpler = _simpler(scenario, numbers, best)
    proved = best.cost - best.lower <= AS_GOOD * max(1.0, abs(best.cost))
    notes = [_beside(each, best.cost) for each in simpler]
    return _optimum(best, simpler, notes, proved)


def _optimum(
    best: Best[FreeRule], simpler: Sequence[Rung], notes: Sequence[str], proved: bool | None
) -> Optimum:
    decision = {"free": [level.tolist() for level in best.rule]}
    return Optimum(
        target="free",
        cost=best.cost,
        lower_bound=at_most(best.cost, best.lower),
        decision=decision,
        changes={"activation": decision},
        table=list(free_rows(best)),
        notes=notes,
        search=rule_map(simpler, best),
        proved=proved,
        gap=0.0 if proved else None,
    )


def unwritten(scenario: Scenario) -> str | None:
    """Why a scenario file has no words for a rule of the phases of this system."""
    if conditions.in_environment(scenario) is None:
        return "free switching does not go with robots.environment"
    if reason := conditions.one_server(scenario):
        return reason
    order, phases, _, _ = size_of(scenario.with_("activation", None))
    assert scenario.robots is not None
    if order > 1 and scenario.robots.deliveries is None:
        return "access times have phases, which a rule sees of robots.deliveries only"
    seen = seen_phases(conditions.buffer_of(scenario).service)
    if phases != (1 if seen is None else len(seen.alpha)):
        return "a rule sees the phases of phase-type, hyperexponential and Erlang services only"
    return None


def _simpler(scenario: Scenario, numbers: Sequence[int], best: Best[FreeRule]) -> list[Rung]:
    """The best rules of other kinds, of which the costs are known."""
    rungs = simpler_rules(scenario, numbers)
    try:
        found = best_levels(scenario, numbers, best, [each.levels for each in rungs if each.levels])
    except NoOptimumError:
        return rungs
    return [*rungs, Rung("numbers by level", found.robots, found.cost)]


def _beside(rung: Rung, least: float) -> str:
    """What a simpler rule costs more, in words."""
    words = {"one number": "the best single number", "thresholds": "the best thresholds"}
    name = words.get(rung.rule, f"the best {rung.rule}")
    plural = "" if rung.rule != "one number" else "s"
    costs = f"{name} cost{plural} {rung.cost:.6g}"
    if rung.cost - least <= AS_GOOD * abs(least):
        return f"{costs}, the same"
    return f"{costs}, {said_more(rung.cost, least)} more"


def free_rows(best: Best[FreeRule]) -> Iterator[dict[str, Any]]:
    """The table: a row for each level and arrival phase."""
    for level, numbers in enumerate(best.rule):
        for phase, row in enumerate(numbers.tolist()):
            yield {"level": level, "arrival phase": phase, "robots by service phase": row}


def rule_map(simpler: Sequence[Rung], best: Best[FreeRule]) -> RuleMap:
    """The thresholds and the numbers of each phase, a row each."""
    order, phases = best.rule[-1].shape
    rows = [(each.rule, each.levels) for each in simpler if each.rule == "thresholds"]
    for phase in range(order):
        for service in range(phases):
            by_level = tuple(
                int(np.broadcast_to(level, (order, phases))[phase, service]) for level in best.rule
            )
            rows.append((_name(phase, service, order, phases), by_level))
    return RuleMap(tuple((name, levels) for name, levels in rows if levels is not None))


def _name(phase: int, service: int, order: int, phases: int) -> str:
    """The phases of a row, those that there is only one of left out."""
    parts = [f"arrivals {phase}"] * (order > 1) + [f"service {service}"] * (phases > 1)
    return ", ".join(parts) or "the best rule"


# --- beside a bound ------------------------------------------------------------------------------

_PRICES = ("loss", "obsolescence", "starvation", "robots")


def rates_of(scenario: Scenario, numbers: Sequence[int]) -> dict[str, Rate]:
    """What is counted per unit time in each state with each number of robots, by its name.

    Also "time", of which one unit passes per unit time, "delivered" and "entered".
    """
    every: dict[str, Rate] = {}
    for price in _PRICES:
        process = queue_process(scenario.with_("costs", {price: 1.0}), numbers).process
        every[price] = Rate(process.costs, process.option_costs)
    pace = process.decisions.diagonal()
    every["time"] = Rate(np.zeros(len(pace)), np.repeat(1.0 / pace, len(numbers)))
    busy = every["time"].plus(-1.0, every["starvation"])
    nothing = busy.plus(-1.0, busy)
    if conditions.timer_of(scenario) is None:
        every["obsolescence"] = nothing
    every["served"] = nothing.plus(1.0 / mean_time(conditions.service_law(scenario)), busy)
    ended = every["loss"].plus(1.0, every["obsolescence"])
    every["delivered"] = ended.plus(1.0, every["served"])
    every["entered"] = every["delivered"].plus(-1.0, every["loss"])
    return every


def bounded_free(
    scenario: Scenario, numbers: Sequence[int], bounds: Sequence[Bound]
) -> tuple[QueueProcess, BoundedProcess]:
    """The queue as a decision process of level and phases, with bounds.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is ignored.
    numbers : sequence of int
        Numbers of robots that may be active, increasing.
    bounds : sequence of Bound

    Raises
    ------
    NoOptimumError
        If costs have no exact value here, or the chain is too large.

    Notes
    -----
    The rate of pages indexed is that of a busy server, 1 / (mean service): an identity in the long
    run, so that it holds for means under any rule.
    """
    queue = queue_process(scenario, numbers)
    rates = rates_of(scenario, numbers)
    levels = np.repeat(np.arange(queue.top + 1), queue.sizes)

    def counted(bound: Bound) -> Rate:
        at_levels = level_counts(bound.rate, levels)
        if at_levels is None or bound.rate in rates:
            return rates[bound.rate]
        return Rate(at_levels, np.zeros(len(queue.process.option_costs)))

    of_each = [counted(bound) for bound in bounds]
    totals = [rates[bound.per] for bound in bounds]
    return queue, BoundedProcess(queue.process, bounds, of_each, totals)


def free_within(scenario: Scenario, bounds: Sequence[Bound]) -> Optimum:
    """The best rule of level and phases that keeps some bounds."""
    numbers = allowed_numbers(scenario)
    require([unwritten], scenario)
    queue, rules = bounded_free(scenario, numbers, bounds)

    def words(policy: IntArray) -> str:
        return f"free = {[level.tolist() for level in queue.rule(policy)]}"

    found = cheapest_within(rules, bounds, words)
    best = Best(queue.rule(found.single.rule), found.single.cost, found.lower)
    return _optimum(best, [], notes_of(found, bounds, words), found.proved)
