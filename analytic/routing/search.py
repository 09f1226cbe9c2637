"""The best order of servers or pages, by whatever proves most, and what other orders would cost."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from analytic.index.accesses import access_law, accessed_pages
from analytic.index.formula import Condition
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.index.page_conditions import randomized_policy
from analytic.machinery.phase_type import as_phase_type
from analytic.page_refresh import schedule_bound
from analytic.routing import conditions
from analytic.routing.accesses import access_costs
from analytic.routing.bounds import is_attained, linear_bound
from analytic.routing.certified import MOST_STATES, certified_word
from analytic.routing.given_costs import spacing_costs
from analytic.routing.losses import arrival_period, loss_costs
from analytic.routing.orders import (
    MOST_LETTERS,
    Alternative,
    are_alike,
    descended_word,
    in_turn,
    index_word,
    named,
    paired_word,
    shortest_of_the_cheapest,
    simple_orders,
    two_servers,
    worth_an_access,
)
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word, are_rotations, primitive_length
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.sections import Period, Random
from scenarios.spacing_cost import Fading
from scenarios.text import counted

ABOVE = "above the best, %"

_FEW_STATES = 20_000
"""States of graphs that take milliseconds: they are tried before words are improved."""

_OF_THE_BASE = 1e-12
"""Of what is paid without any access: graphs have few digits of a smaller cost."""

_SECONDS = 4.5e-7
"""Per server and distance in the table, of a search without a graph."""

_PATIENCE = 3.0
"""Seconds after which a person wants to know what is going on."""

_LEAST_GAP = 1e-6
"""Per cent: a smaller gap is not worth its digits."""

_AS_GOOD = 1e-12
"""Relative difference of two costs up to which the notes call two orders as good."""

_NO_PER_CENT = 1e-8
"""Per cent below which a difference is rounding: of what is proved 1e-10 is."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class WordSearch:
    """The best word of a search, and what is known about it.

    Parameters
    ----------
    costs : SpacingCosts
    word : tuple of int
        The period, rotated to come first in alphabetical order.
    cost : float
        Its cost per slot.
    bound : float
        Below the cost of every order; equal to `cost`, but for rounding, where `proved`.
    proved : bool
        Whether no order whatever is better.
    states : int
        Of the graph of capped ages that gave the bound; 0 where there was no need for one.
    unproved : str
        Why there is no proof; empty where there is one.
    """

    costs: SpacingCosts
    word: Word
    cost: float
    bound: float
    proved: bool
    states: int
    unproved: str = ""

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The word itself, then simpler orders, which are computed when asked for."""
        first = Alternative("optimum" if self.proved else "best found", self.word, self.cost)
        return (first, *simple_orders(self.costs))

    @property
    def gap(self) -> float:
        """How far the cost may be above the least one, in per cent of the bound.

        0 where it is proved, 1e-6 at least where it is not; inf above a bound of 0.
        """
        if self.proved:
            return 0.0
        above = 100 * (self.cost / self.bound - 1) if self.bound > 0 else math.inf
        return max(above, _LEAST_GAP)

    def __repr__(self) -> str:
        said = "proved" if self.proved else f"at most {self.gap:.3g} % above the best"
        period = (
            f"{counted(len(self.word), 'slot')} of {counted(self.costs.count, self.costs.subject)}"
        )
        return f"WordSearch({period}, cost={self.cost:.10g}, {said})"


def best_word(
    costs: SpacingCosts,
    most_states: int = MOST_STATES,
    floor: float = -math.inf,
    known: Sequence[Word] = (),
) -> WordSearch:
    """The word of least cost, of any length, with a bound below every order.

    Two servers with convex costs are solved by the block rule, which is its own proof. With more of
    them simple orders are compared with the linear bound first; where none attains it, with the
    graphs of capped ages, as long as they have at most `most_states` states; beyond, the best of
    the index policy and of words improved change by change stands beside the bound. Words are
    improved only where a small graph proves nothing. Of words that only rounding tells apart the
    one that accesses all in turn is taken.

    Parameters
    ----------
    costs : SpacingCosts
    most_states : int
    floor : float
        Another bound below every order, such as `analytic.page_refresh.schedule_bound`.
    known : sequence of words
        Orders that the result must not cost more than.
    """
    if (seconds := costs.table.size * _SECONDS) > _PATIENCE:
        size = f"{costs.count:,} {costs.subject}s, costs of {costs.longest:,} distances of each"
        _LOG.info("%s: about %.0f s", size, seconds)
    chosen = worth_an_access(costs)
    some = costs.of_some(chosen)
    solution = _solution(some, most_states, floor)
    turns = in_turn(some)
    best = turns if are_alike(some.of(turns), some.of(solution.word)) else solution.word
    word = named(best, chosen)
    for other in known:
        if not are_alike(costs.of(word), costs.of(other)):
            word = tuple(other)[: primitive_length(other)]
    cost = costs.of(word)
    is_proved = is_attained(some, cost, solution.bound)
    reason = "" if is_proved else solution.unproved
    if not is_proved and abs(cost) < _OF_THE_BASE * costs.base:
        reason = f"bounds of graphs are rounding of the base, {costs.base:.6g} without any access"
    bound = min(solution.bound, cost)  # above it by rounding only
    return WordSearch(costs, word, cost, bound, is_proved, solution.states, reason)


class _Solution(NamedTuple):
    """A word, a bound, the states of the graph behind it, and why it may not be proved."""

    word: Word
    bound: float
    states: int = 0
    unproved: str = ""


def _solution(costs: SpacingCosts, most_states: int, floor: float) -> _Solution:
    if costs.count == 1:
        return _Solution((0,), costs.of((0,)))
    if costs.count == 2 and costs.is_convex:
        return _of_two(costs)
    bound = max(linear_bound(costs).value, floor)
    words = []
    for simple in (in_turn, index_word):
        words.append(simple(costs))
        if is_attained(costs, costs.of(words[-1]), bound):
            return _Solution(words[-1], bound)
    few = certified_word(costs, min(_FEW_STATES, most_states))
    if few.word is not None and few.is_proved(costs):
        return _Solution(few.word, max(few.bound, bound), few.states)
    words.append(descended_word(costs))
    if is_attained(costs, costs.of(words[-1]), bound):
        return _Solution(words[-1], bound)
    certified = certified_word(costs, most_states)
    words += [certified.word] if certified.word is not None else []
    if not certified.is_proved(costs) and (block := paired_word(costs)) is not None:
        words.append(block)
    word = shortest_of_the_cheapest(costs, words[::-1])
    return _Solution(word, max(certified.bound, bound), certified.states, certified.stopped)


def _of_two(costs: SpacingCosts) -> _Solution:
    """By the block rule, which may ask for a block that is too long to be written out."""
    block = two_servers(costs)
    length = block.length or 0
    reason = "rounding keeps the costs of the block and of the word apart"
    if length > MOST_LETTERS:
        reason = (
            f"the best order is a block of {length:,} slots, of cost {block.bound:.10g} by "
            f"the block rule; words of more than {MOST_LETTERS:,} slots are not written out"
        )
    return _Solution(block.word, block.bound, unproved=reason)


def routing_costs(scenario: Scenario) -> SpacingCosts:
    """What packets cost by their distances, for any routing of the scenario's servers.

    Their spacing costs where the file has them, otherwise their losses; with their weights.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        As `optimal_routing`.
    """
    _require(scenario, (conditions.has_servers, conditions.all_costs_by_distance))
    servers, gaps = conditions.servers_of(scenario), conditions.traffic_of(scenario).gaps
    if servers.spacing_cost is not None:
        return spacing_costs(servers, gaps)
    laws = [as_phase_type(law) for law in servers.laws]
    each = [law for law in laws if law is not None]
    return loss_costs(gaps, each, servers.weights)


def template_costs(scenario: Scenario) -> SpacingCosts:
    """What accesses cost by their distances, for any order of the scenario's pages.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        As `optimal_template`.
    """
    _require(scenario, conditions.OPEN_LOOP)
    accessed = accessed_pages(scenario)
    if accessed.pages.count > conditions.MOST_SERVERS:
        allowed = f"at most {conditions.MOST_SERVERS} are ordered"
        raise NoOptimumError(
            f'{accessed.pages.count} pages; {allowed}; policy = "whittle" needs no template'
        )
    return access_costs(conditions.accesses(scenario), accessed.change_rates, accessed.weights)


def _require(scenario: Scenario, needed: Sequence[Condition]) -> None:
    for condition in needed:
        if (reason := condition(scenario)) is not None:
            raise NoOptimumError(reason)


def optimal_routing(scenario: Scenario) -> Optimum:
    """The order of servers of least cost, with a bound below every open-loop rule.

    The cost is the fraction of all packets that is lost; with weights or spacing costs the mean
    cost of a packet.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no servers, if they are too many, or if the loss of a packet does not depend on
        its distance to the next one alone (services of a general law, or not exponential ones
        under the non-preemptive discipline).
    """
    costs = routing_costs(scenario)
    servers = conditions.servers_of(scenario)
    own = None
    if isinstance(servers.routing, Period):
        own = _own_word(servers.routing.root, costs)
    elif isinstance(servers.routing, Random):
        own = Alternative(_OWN, None, costs.at_random(servers.routing.root))
    measure = "routing_cost" if servers.is_costed else "preemption_probability"
    return _optimum(best_word(costs, known=_words(own)), own, _steps_of(scenario), measure=measure)


def _steps_of(scenario: Scenario) -> int:
    """Period of the arrivals where it makes a difference: to losses, and to what fades in time."""
    costs = conditions.servers_of(scenario).spacing_costs
    matters = not costs or any(isinstance(cost, Fading) for cost in costs)
    return arrival_period(conditions.traffic_of(scenario).gaps) if matters else 1


def optimal_template(scenario: Scenario) -> Optimum:
    """The order of accesses of the least weighted obsolescence, with a bound below every one.

    For any weights, and for dependent access times; pages not worth an access are left out.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    NoOptimumError
        If there are no pages, or too many; if several robots share the sequence, their number is
        not fixed, or pages go through a buffer; or if the times between accesses have no known law.
    """
    costs = template_costs(scenario)
    accessed = accessed_pages(scenario)
    own = None
    if accessed.policy.unresolved is None:
        if isinstance(accessed.policy, Periodic):
            own = _own_word(tuple(conditions.period_of(accessed)), costs)
        elif randomized_policy(scenario) is None:
            own = Alternative(_OWN, None, costs.at_random(accessed.shares))
    floor = smooth_bound_of_pages(scenario)
    search = best_word(costs, floor=floor, known=_words(own))
    notes = []
    if floor > 0:
        above = _per_cent_above(search.cost, floor)
        said = f"the cost is {above:.3g} % above it" if above else "attained"
        notes.append(f"bound of Coffman 1998, eq. 7: {floor:.6g}, {said}")
    return _optimum(search, own, arrival_period(conditions.accesses(scenario)), notes)


def smooth_bound_of_pages(scenario: Scenario) -> float:
    """coffman1998 (7) at its optimum, as if accesses could be evenly spaced at any distance.

    -inf for access times that depend on each other.
    """
    law = access_law(scenario)
    accessed = accessed_pages(scenario)
    if law is None or not np.any(accessed.change_rates * accessed.weights > 0):
        return -math.inf
    return schedule_bound(accessed.change_rates, accessed.weights, law)


_OWN = "as in the file"


def _own_word(word: Word, costs: SpacingCosts) -> Alternative:
    return Alternative(_OWN, word, costs.of(word))


def _words(own: Alternative | None) -> tuple[Word, ...]:
    return () if own is None or own.word is None else (own.word,)


def _optimum(
    search: WordSearch,
    own: Alternative | None,
    period: int,
    notes: Sequence[str] = (),
    measure: str = "weighted_obsolescence",
) -> Optimum:
    word = list(search.word)
    changes: dict[str, Any]
    if search.costs.subject == "server":
        target = "routing"
        key = "period"
        changes = {"servers.routing": {"period": word}}
    else:
        target = key = "template"
        changes = {"robots.accessing": {"policy": "cyclic", "template": word}}
    return Optimum(
        target=target,
        cost=search.cost,
        lower_bound=search.bound,
        decision={key: word},
        changes=changes,
        table=list(_rows(search, own, key)),
        notes=[*_notes(search, own, period), *notes],
        proved=search.proved,
        gap=search.gap,
        search=search,
        measure=measure,
    )


def _rows(search: WordSearch, own: Alternative | None, key: str) -> Iterator[dict[str, Any]]:
    """The best, the order of the file where it has one, and simpler orders."""
    first, *others = search.alternatives
    for each in (first, *([own] if own else []), *others):
        word = None if each.word is None else list(each.word)
        above = _per_cent_above(each.cost, search.cost)
        yield {"order": each.order, key: word, "cost": each.cost, ABOVE: above}


def _per_cent_above(cost: float, best: float) -> float | None:
    """0 where it is rounding; None where the best costs nothing."""
    if are_alike(cost, best) and are_alike(best, cost):
        return 0.0
    if not best:
        return None
    above = 100 * (cost / best - 1)
    return 0.0 if abs(above) < _NO_PER_CENT else above


def _notes(search: WordSearch, own: Alternative | None, period: int) -> Iterator[str]:
    """What was proved, how, and what a single run would not show."""
    is_server = search.costs.subject == "server"
    if search.proved:
        states = f" ({search.states:,} states of capped ages)" if search.states else ""
        yield f"proved: no open-loop order costs less{states}"
    else:
        most = f"at most {search.gap:.3g} % above it"
        yield f"not proved to be the best, {most}: {search.unproved}"
    if own is not None and own.word is not None:
        if are_rotations(own.word, search.word):
            yield "the file has this order already"
        elif abs(own.cost - search.cost) <= _AS_GOOD * abs(search.cost):
            yield f"as good to {_AS_GOOD:g}: the order of the file, {_first_of(own.word)}"
    if not search.cost:
        yield "the best order costs 0: percentages above it are undefined"
    if idle := sorted(set(range(search.costs.count)) - set(search.word)):
        yield f"never {'used' if is_server else 'accessed'}: {_first_of(idle)}"
    if math.gcd(period, len(search.word)) > 1:
        yield (
            f"{'arrivals' if is_server else 'access times'} of period {period} lock in step with a "
            f"word of {len(search.word)}: costs are averages over all starts, a run has one of them"
        )


def _first_of(numbers: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown}, … {len(numbers)} in all"
