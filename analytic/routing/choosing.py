"""The best routing of [servers], and the best visiting sequence of [pages]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analytic.arrival_process import embedded_period, gap_map
from analytic.optimum import NoOptimumError, Optimum
from analytic.page_refresh import schedule_bound
from analytic.phase_type import as_phase_type
from analytic.routing import conditions, visits
from analytic.routing.losses import gap_law
from analytic.routing.searching import WordSearch, best_word
from analytic.routing.spacing import SpacingCosts, loss_costs, visit_costs
from scenarios import Scenario
from scenarios.page_data import change_rates, page_weights
from scenarios.processes import ArrivalProcess

__all__ = ["optimal_routing", "optimal_template", "routing_costs", "template_costs"]


ABOVE = "above the best, %"


def optimal_routing(scenario: Scenario) -> Optimum:
    """The order of servers that loses the fewest packets, with a bound below every open-loop rule.

    The cost is the fraction of all packets that is lost.

    Raises
    ------
    NoOptimumError
        If there are no servers, if they are too many, or if the loss of a packet does not depend on
        its distance to the next one alone (services of a general law, or not exponential ones
        under the non-preemptive discipline).
    """
    search = best_word(routing_costs(scenario))
    arrivals = conditions.servers_of(scenario).arrivals
    return _optimum("routing", "period", search, arrivals, "preemption_probability", _routing)


def optimal_template(scenario: Scenario) -> Optimum:
    """The visiting sequence of the least weighted obsolescence, with a bound below every one.

    For any weights, and for dependent access times; pages that are not worth a visit are left out.

    Raises
    ------
    NoOptimumError
        If there are no pages, or too many; if several robots share the sequence, their number is
        not fixed, or pages go through a buffer; or if the times between accesses have no known law.
    """
    costs, arrivals = template_costs(scenario), visits.accesses(scenario)
    search = best_word(costs, floor=_smooth_bound_of_pages(scenario, arrivals))
    return _optimum("template", "template", search, arrivals, "weighted_obsolescence", _template)


def routing_costs(scenario: Scenario) -> SpacingCosts:
    """What packets cost by their distances, for any routing of the scenario's servers.

    Raises
    ------
    NoOptimumError
        As `optimal_routing`.
    """
    _require(scenario, (conditions.has_servers, conditions.all_losses_by_distance))
    servers = conditions.servers_of(scenario)
    laws = [as_phase_type(law) for law in servers.laws]
    return loss_costs(servers.arrivals, [law for law in laws if law is not None])


def template_costs(scenario: Scenario) -> SpacingCosts:
    """What visits cost by their distances, for any order of the scenario's pages.

    Raises
    ------
    NoOptimumError
        As `optimal_template`.
    """
    _require(scenario, visits.OPEN_LOOP)
    assert scenario.pages is not None
    if (pages := scenario.pages.count) > (most := conditions.MOST_SERVERS):
        allowed = f'at most {most} are ordered; policy = "whittle" needs no template'
        raise NoOptimumError(f"{pages} pages; {allowed}")
    rates, weights = change_rates(scenario.pages), page_weights(scenario.pages)
    return visit_costs(visits.accesses(scenario), rates, weights)


def _smooth_bound_of_pages(scenario: Scenario, arrivals: ArrivalProcess) -> float:
    """coffman1998 (7) at its optimum; none for access times that depend on each other."""
    law = gap_law(arrivals)
    if law is None or scenario.pages is None:
        return -math.inf
    rates, weights = change_rates(scenario.pages), page_weights(scenario.pages)
    return schedule_bound(rates, weights, law) if np.any(rates * weights > 0) else -math.inf


def _require(scenario: Scenario, needed: Sequence[Any]) -> None:
    for condition in needed:
        if (reason := condition(scenario)) is not None:
            raise NoOptimumError(reason)


def _routing(word: Sequence[int]) -> Mapping[str, Any]:
    return {"servers.routing": {"period": list(word)}}


def _template(word: Sequence[int]) -> Mapping[str, Any]:
    return {"robots.accessing": {"policy": "cyclic", "template": list(word)}}


def _optimum(
    target: str,
    key: str,
    search: WordSearch,
    arrivals: ArrivalProcess,
    measure: str,
    changes: Any,
) -> Optimum:
    word = list(search.word)
    return Optimum(
        target=target,
        cost=search.cost,
        lower_bound=search.bound,
        decision={key: word},
        changes=changes(word),
        table=list(_rows(search, key)),
        notes=list(_notes(search, arrivals, "access times" if key == "template" else "arrivals")),
        proved=search.proved,
        gap=search.gap,
        search=search,
        measure=measure,
    )


def _rows(search: WordSearch, key: str) -> Iterator[dict[str, Any]]:
    for each in search.alternatives:
        word = None if each.word is None else list(each.word)
        above = _per_cent_above(each.cost, search.cost)
        yield {"order": each.order, key: word, "cost": each.cost, ABOVE: above}


def _per_cent_above(cost: float, best: float) -> float | None:
    """None where a percentage says nothing: above 1000 %, or of nothing."""
    if not best or cost > 11 * best:
        return None
    return 100 * (cost / best - 1)


def _notes(search: WordSearch, arrivals: ArrivalProcess, gaps: str) -> Iterator[str]:
    """What was proved, how, and what a single run would not show."""
    states = f" ({search.states:,} states of capped ages)" if search.states else ""
    if search.proved:
        yield f"proved: no open-loop order costs less{states}"
    else:
        yield (f"not proved to be the best, at most {search.gap:.3g} % above it: {search.unproved}")
    idle = sorted(set(range(search.costs.count)) - set(search.word))
    if idle:
        yield f"never visited: {_some(idle)}"
    matrices = None if gap_law(arrivals) else gap_map(arrivals)
    own = 1 if matrices is None else embedded_period(*matrices)
    if math.gcd(own, len(search.word)) > 1:
        yield (
            f"{gaps} of period {own} lock in step with a word of {len(search.word)}: costs are "
            "means over all starts, one run has another"
        )


def _some(numbers: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown}, … {len(numbers)} in all"
