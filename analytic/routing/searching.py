"""The best word for given costs of visits, by whatever proves most, and what others would cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.routing.bounds import linear_bound
from analytic.routing.certified import MOST_STATES, certified_word
from analytic.routing.heuristics import (
    ROUNDING,
    best_random_shares,
    descended_word,
    index_word,
    shortest_of_the_cheapest,
)
from analytic.routing.spacing import SpacingCosts
from analytic.routing.two_servers import two_servers
from analytic.routing.words import Word

__all__ = ["Alternative", "WordSearch", "best_word"]

_PROVED = 1e-12
"""Distance of cost and bound, relatively to the dearest visit, that is put down to rounding."""


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
    """

    costs: SpacingCosts
    word: Word
    cost: float
    bound: float
    proved: bool
    states: int
    alternatives: tuple[Alternative, ...]

    @property
    def gap(self) -> float:
        """How far the cost is above the bound, in per cent of the bound."""
        return 0.0 if self.proved else 100 * (self.cost / self.bound - 1)

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
    word, bound, states = _found(some, most_states, floor)
    scale = max(float(np.abs(some.table[:, 0]).max()), 1e-300)
    word = _in_turn_if_as_good(some, word, scale)
    cost, named = some.of(word), _named(word, chosen)
    is_proved = cost - bound <= _PROVED * scale
    first = Alternative("optimum" if is_proved else "best found", named, cost)
    others = [
        each._replace(word=None if each.word is None else _named(each.word, chosen))
        for each in _others(some)
    ]
    bound = min(bound, cost)
    return WordSearch(costs, named, cost, bound, is_proved, states, (first, *others))


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


def _in_turn_if_as_good(costs: SpacingCosts, word: Word, scale: float) -> Word:
    in_turn = _in_turn(costs)
    tie = costs.of(in_turn) - costs.of(word) <= ROUNDING * scale
    return in_turn if tie else word


def _in_turn(costs: SpacingCosts) -> Word:
    return tuple(range(costs.count))


def _found(costs: SpacingCosts, most_states: int, floor: float) -> tuple[Word, float, int]:
    """A word, a bound, and the states of the graph behind it."""
    if costs.count == 1:
        return (0,), float(costs.of((0,))), 0
    if costs.count == 2 and costs.is_convex:
        block = two_servers(costs)
        return block.word, block.bound, 0
    bound = max(linear_bound(costs).value, floor)
    enough = bound + _PROVED * float(np.abs(costs.table[:, 0]).max())
    words = []
    for simple in (_in_turn, index_word, descended_word):
        words.append(simple(costs))
        if costs.of(words[-1]) <= enough:
            return words[-1], bound, 0
    found = certified_word(costs, most_states)
    words += [found.word] if found.word is not None else []
    return shortest_of_the_cheapest(costs, words[::-1]), max(found.bound, bound), found.states


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
