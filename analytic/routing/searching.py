"""The best word for given costs of visits, by whatever proves most, and what others would cost."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from analytic.routing.bounds import is_attained, linear_bound
from analytic.routing.certified import MOST_STATES, certified_word
from analytic.routing.comparing import Alternative, simple_orders
from analytic.routing.heuristics import (
    are_alike,
    descended_word,
    in_turn,
    index_word,
    named,
    paired_word,
    shortest_of_the_cheapest,
    worth_a_visit,
)
from analytic.routing.spacing import SpacingCosts
from analytic.routing.two_servers import MOST_LETTERS, two_servers
from analytic.routing.words import Word, primitive_length

_FEW_STATES = 20_000
"""States of graphs that take milliseconds: they are tried before words are improved."""

_OF_THE_BASE = 1e-12
"""Of what is paid without any visit: graphs have few digits of a smaller cost."""

_SECONDS = 4.5e-7
"""Per server and distance in the table, of a search without a graph."""

_PATIENCE = 3.0
"""Seconds after which a person wants to know what goes on."""

_LOG = logging.getLogger(__name__)

_LEAST_GAP = 1e-6
"""Per cent: a smaller gap is not worth its digits."""


@dataclass(frozen=True)
class WordSearch:
    """The best word that was found, and what is known about it.

    Attributes
    ----------
    costs : SpacingCosts
    word : tuple of int
        The period, from where it is the first in alphabetical order.
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
        """The word itself, then simpler orders, which are looked for when they are asked for."""
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
        period = f"{len(self.word)} slots of {self.costs.count} {self.costs.subject}s"
        return f"WordSearch({period}, cost={self.cost:.10g}, {said})"


def best_word(
    costs: SpacingCosts,
    most_states: int = MOST_STATES,
    floor: float = -math.inf,
    known: Sequence[Word] = (),
) -> WordSearch:
    """The word of least cost, of all lengths, with a bound below every order.

    Two servers with convex costs are solved by the block rule, which is its own proof. With more of
    them simple orders are compared with the linear bound first; where none attains it, with the
    graphs of capped ages, as long as they have at most `most_states` states; beyond, the best of
    the index policy and of words improved change by change stands beside the bound. Words are
    improved only where a small graph proves nothing. Of words that only rounding tells apart the
    one that visits all in turn is taken.

    Parameters
    ----------
    costs : SpacingCosts
    most_states : int
    floor : float
        Another bound below every order, such as `analytic.page_refresh.schedule_bound`.
    known : sequence of words
        Orders that the word found must not be dearer than.
    """
    _announce(costs)
    chosen = worth_a_visit(costs)
    some = costs.of_some(chosen)
    found = _found(some, most_states, floor)
    turns = in_turn(some)
    best = turns if are_alike(some.of(turns), some.of(found.word)) else found.word
    word = _cheapest(costs, named(best, chosen), known)
    cost = costs.of(word)
    is_proved = is_attained(some, cost, found.bound)
    reason = "" if is_proved else _why(costs, cost, found.unproved)
    bound = min(found.bound, cost)  # above it by rounding only
    return WordSearch(costs, word, cost, bound, is_proved, found.states, reason)


def _announce(costs: SpacingCosts) -> None:
    """Say that many servers or pages take their time, before they do."""
    if (seconds := costs.table.size * _SECONDS) > _PATIENCE:
        size = f"{costs.count:,} {costs.subject}s, costs of {costs.longest:,} distances of each"
        _LOG.info("%s: about %.0f s", size, seconds)


def _why(costs: SpacingCosts, cost: float, unproved: str) -> str:
    """Why there is no proof; bounds of graphs that are nearly all rounding are told first."""
    if abs(cost) < _OF_THE_BASE * costs.base:
        return f"bounds of graphs are rounding of the base, {costs.base:.6g} without any visit"
    return unproved


def _cheapest(costs: SpacingCosts, word: Word, known: Sequence[Word]) -> Word:
    """The word, or a known one that is cheaper by more than rounding."""
    for other in known:
        if not are_alike(costs.of(word), costs.of(other)):
            word = tuple(other)[: primitive_length(other)]
    return word


class _Found(NamedTuple):
    """A word, a bound, the states of the graph behind it, and why it may not be proved."""

    word: Word
    bound: float
    states: int = 0
    unproved: str = ""


def _found(costs: SpacingCosts, most_states: int, floor: float) -> _Found:
    if costs.count == 1:
        return _Found((0,), costs.of((0,)))
    if costs.count == 2 and costs.is_convex:
        return _of_two(costs)
    bound = max(linear_bound(costs).value, floor)
    words = []
    for simple in (in_turn, index_word):
        words.append(simple(costs))
        if is_attained(costs, costs.of(words[-1]), bound):
            return _Found(words[-1], bound)
    few = certified_word(costs, min(_FEW_STATES, most_states))
    if few.word is not None and few.is_proved(costs):
        return _Found(few.word, max(few.bound, bound), few.states)
    words.append(descended_word(costs))
    if is_attained(costs, costs.of(words[-1]), bound):
        return _Found(words[-1], bound)
    found = certified_word(costs, most_states)
    words += [found.word] if found.word is not None else []
    if not found.is_proved(costs) and (block := paired_word(costs)) is not None:
        words.append(block)
    word = shortest_of_the_cheapest(costs, words[::-1])
    return _Found(word, max(found.bound, bound), found.states, found.stopped)


def _of_two(costs: SpacingCosts) -> _Found:
    """By the block rule; a block that is too long to be written out is told."""
    block = two_servers(costs)
    reason = (
        f"the best order is a block of {block.length or 0:,} slots, of cost {block.bound:.10g} by "
        f"the block rule; words of more than {MOST_LETTERS:,} slots are not written out"
    )
    if (block.length or 0) <= MOST_LETTERS:
        reason = "rounding keeps the costs of the block and of the word apart"
    return _Found(block.word, block.bound, unproved=reason)
