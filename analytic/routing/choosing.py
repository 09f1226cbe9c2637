"""The best routing of [servers], and the best visiting sequence of [pages]."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analytic.arrival_process import embedded_period, gap_map
from analytic.optimum import NoOptimumError, Optimum
from analytic.page_refresh import schedule_bound
from analytic.phase_type import as_phase_type
from analytic.routing import conditions, visits
from analytic.routing.comparing import Alternative
from analytic.routing.heuristics import are_alike
from analytic.routing.losses import gap_law
from analytic.routing.own_order import order_of_pages, order_of_servers
from analytic.routing.searching import WordSearch, best_word
from analytic.routing.spacing import SpacingCosts, loss_costs, visit_costs
from analytic.routing.words import Word, are_rotations
from scenarios import Scenario
from scenarios.page_data import change_rates, page_weights
from scenarios.processes import ArrivalProcess

ABOVE = "above the best, %"

_AS_GOOD = 1e-12
"""Relative difference of two costs up to which the notes call two orders as good."""

_NO_PER_CENT = 1e-8
"""Per cent below which a difference is rounding: of what is proved 1e-10 is."""


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
    costs = routing_costs(scenario)
    own = order_of_servers(scenario, costs)
    search = best_word(costs, known=_words(own))
    arrivals = conditions.servers_of(scenario).arrivals
    notes = _notes(search, arrivals, "arrivals", own)
    return _optimum("routing", "period", search, own, notes, "preemption_probability", _routing)


def optimal_template(scenario: Scenario) -> Optimum:
    """The visiting sequence of the least weighted obsolescence, with a bound below every one.

    For any weights, and for dependent access times; pages that are not worth a visit are left out.

    Raises
    ------
    NoOptimumError
        If there are no pages, or too many; if several robots share the sequence, their number is
        not fixed, or pages go through a buffer; or if the times between accesses have no known law.
    """
    costs = template_costs(scenario)
    arrivals = visits.accesses(scenario)
    own = order_of_pages(scenario, costs)
    floor = _smooth_bound_of_pages(scenario, arrivals)
    search = best_word(costs, floor=floor, known=_words(own))
    notes = [*_notes(search, arrivals, "access times", own), *_beside_the_smooth(search, floor)]
    return _optimum("template", "template", search, own, notes, "weighted_obsolescence", _template)


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
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
    return visit_costs(visits.accesses(scenario), rates, weights)


def _smooth_bound_of_pages(scenario: Scenario, arrivals: ArrivalProcess) -> float:
    """coffman1998 (7) at its optimum; none for access times that depend on each other."""
    law = gap_law(arrivals)
    if law is None or scenario.pages is None:
        return -math.inf
    rates = change_rates(scenario.pages)
    weights = page_weights(scenario.pages)
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
    own: Alternative | None,
    notes: Iterable[str],
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
        table=list(_rows(search, own, key)),
        notes=list(notes),
        proved=search.proved,
        gap=search.gap,
        search=search,
        measure=measure,
    )


def _words(own: Alternative | None) -> tuple[Word, ...]:
    return () if own is None or own.word is None else (own.word,)


def _rows(search: WordSearch, own: Alternative | None, key: str) -> Iterator[dict[str, Any]]:
    """The best, the order of the file where it has one, and simpler orders."""
    first, *others = search.alternatives
    for each in (first, *([own] if own else []), *others):
        word = None if each.word is None else list(each.word)
        above = _per_cent_above(each.cost, search.cost)
        yield {"order": each.order, key: word, "cost": each.cost, ABOVE: above}


def _per_cent_above(cost: float, best: float) -> float | None:
    """0 where it is rounding; None of a best that costs nothing."""
    if are_alike(cost, best) and are_alike(best, cost):
        return 0.0
    if not best:
        return None
    above = 100 * (cost / best - 1)
    return 0.0 if abs(above) < _NO_PER_CENT else above


def _notes(
    search: WordSearch, arrivals: ArrivalProcess, gaps: str, own: Alternative | None
) -> Iterator[str]:
    """What was proved, how, and what a single run would not show."""
    states = f" ({search.states:,} states of capped ages)" if search.states else ""
    if search.proved:
        yield f"proved: no open-loop order costs less{states}"
    else:
        most = f"at most {search.gap:.3g} % above it"
        yield f"not proved to be the best, {most}: {search.unproved}"
    yield from _beside_the_own(search, own)
    if not search.cost:
        yield "the best order costs 0: nothing is so many per cent above it"
    idle = sorted(set(range(search.costs.count)) - set(search.word))
    if idle:
        never = "never used" if search.costs.subject == "server" else "never visited"
        yield f"{never}: {_some(idle)}"
    matrices = None if gap_law(arrivals) else gap_map(arrivals)
    period = 1 if matrices is None else embedded_period(*matrices)
    if math.gcd(period, len(search.word)) > 1:
        yield (
            f"{gaps} of period {period} lock in step with a word of {len(search.word)}: costs are "
            "means over all starts, one run has another"
        )


def _beside_the_own(search: WordSearch, own: Alternative | None) -> Iterator[str]:
    """Whether the order of the file is as good."""
    if own is None or own.word is None:
        return
    rounding = _AS_GOOD * abs(search.cost)
    if are_rotations(own.word, search.word):
        yield "the file has this order already"
    elif abs(own.cost - search.cost) <= rounding:
        yield f"as good to {_AS_GOOD:g}: the order of the file, {_some(own.word)}"


def _beside_the_smooth(search: WordSearch, floor: float) -> Iterator[str]:
    """Coffman's bound, as if visits could be evenly spaced at any distance."""
    if floor > 0:
        above = _per_cent_above(search.cost, floor)
        said = f"the cost is {above:.3g} % above it" if above else "attained"
        yield f"bound of coffman1998 (7): {floor:.6g}, {said}"


def _some(numbers: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown}, … {len(numbers)} in all"
