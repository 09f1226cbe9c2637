"""The best word for given costs of visits, by whatever proves most, and what others would cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.routing.bounds import is_attained, linear_bound
from analytic.routing.certified import MOST_STATES, certified_word
from analytic.routing.heuristics import (
    are_alike,
    best_random_shares,
    descended_word,
    index_word,
    paired_word,
    shortest_of_the_cheapest,
)
from analytic.routing.spacing import SpacingCosts
from analytic.routing.two_servers import MOST_LETTERS, two_servers
from analytic.routing.words import Word

__all__ = ["Alternative", "WordSearch", "best_word"]


class Alternative(NamedTuple):
    """An order by its name, its period (None: drawn at random), and its cost per slot."""

    order: str
    word: Word | None
    cost: float


@dataclass(frozen=True, slots=True)
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
    alternatives : tuple of Alternative
        The word itself first.
    unproved : str
        Why there is no proof; empty where there is one.
    """

    costs: SpacingCosts
    word: Word
    cost: float
    bound: float
    proved: bool
    states: int
    alternatives: tuple[Alternative, ...]
    unproved: str = ""

    @property
    def gap(self) -> float:
        """How far the cost is above the bound, in per cent of the bound; inf above a bound of 0."""
        if self.proved:
            return 0.0
        return 100 * (self.cost / self.bound - 1) if self.bound > 0 else math.inf

    def __repr__(self) -> str:
        said = "proved" if self.proved else f"at most {self.gap:.3g} % above the best"
        period = f"{len(self.word)} slots of {self.costs.count} servers or pages"
        return f"WordSearch({period}, cost={self.cost:.10g}, {said})"


def best_word(
    costs: SpacingCosts, most_states: int = MOST_STATES, floor: float = -math.inf
) -> WordSearch:
    """The word of least cost, of all lengths, with a bound below every order.

    Two servers with convex costs are solved by the block rule, which is its own proof. With more of
    them simple orders are compared with the linear bound first; where none attains it, with the
    graph of capped ages, as long as it has at most `most_states` states; beyond, the best of the
    index policy and of words improved change by change stands beside the bound. Of words that only
    rounding tells apart the one that visits all in turn is taken.

    Parameters
    ----------
    costs : SpacingCosts
    most_states : int
    floor : float
        Another bound below every order, such as `analytic.page_refresh.schedule_bound`.
    """
    chosen = _worth_a_visit(costs)
    some = costs.of_some(chosen)
    found = _found(some, most_states, floor)
    in_turn = _in_turn(some)
    word = in_turn if are_alike(some, some.of(in_turn), some.of(found.word)) else found.word
    cost, named = some.of(word), _named(word, chosen)
    is_proved = is_attained(some, cost, found.bound)
    first = Alternative("optimum" if is_proved else "best found", named, cost)
    others = [
        each._replace(word=None if each.word is None else _named(each.word, chosen))
        for each in _others(some)
    ]
    reason = "" if is_proved else found.unproved
    bound = min(found.bound, cost)  # above it by rounding only
    return WordSearch(costs, named, cost, bound, is_proved, found.states, (first, *others), reason)


class _Found(NamedTuple):
    """A word, a bound, the states of the graph behind it, and why it may not be proved."""

    word: Word
    bound: float
    states: int = 0
    unproved: str = ""


def _worth_a_visit(costs: SpacingCosts) -> list[int]:
    """All that can matter: pages without weight or changes cost nothing, visited or not.

    A server that never loses a packet costs nothing either, but takes them all: it is enough.
    """
    free = costs.table[:, 0] == 0
    if free.any() and not costs.limits.any():
        return [int(np.argmax(free))]
    return np.flatnonzero(~free).tolist() or [0]


def _named(word: Word, chosen: list[int]) -> Word:
    return tuple(chosen[each] for each in word)


def _in_turn(costs: SpacingCosts) -> Word:
    return tuple(range(costs.count))


def _found(costs: SpacingCosts, most_states: int, floor: float) -> _Found:
    if costs.count == 1:
        return _Found((0,), costs.of((0,)))
    if costs.count == 2 and costs.is_convex:
        return _of_two(costs)
    bound = max(linear_bound(costs).value, floor)
    words = []
    for simple in (_in_turn, index_word, descended_word):
        words.append(simple(costs))
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
    return _Found(block.word, block.bound, unproved=reason)


def _others(costs: SpacingCosts) -> Iterator[Alternative]:
    """Simpler orders, for comparison."""
    if costs.count > 1:
        for name, word in (
            ("index policy", index_word(costs)),
            ("in turn", _in_turn(costs)),
        ):
            yield Alternative(name, word, costs.of(word))
        if costs.count <= _MOST_AT_RANDOM:
            shares = best_random_shares(costs)
            yield Alternative(f"at random: {_few(shares)}", None, costs.at_random(shares))


def _few(shares: NDArray[np.floating[Any]], most: int = 6) -> str:
    """The shares of the visits as text, the first of many."""
    shown = ", ".join(f"{share:.3g}" for share in shares[:most])
    return shown if len(shares) <= most else f"{shown}, …"


_MOST_AT_RANDOM = 20
