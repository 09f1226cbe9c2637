"""The best word for given costs of visits, by whatever proves most, and what others would cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analytic.routing.bounds import linear_bound
from analytic.routing.certified import MOST_STATES, certified_word
from analytic.routing.heuristics import best_random_shares, descended_word, index_word
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


def best_word(costs: SpacingCosts, most_states: int = MOST_STATES) -> WordSearch:
    """The word of least cost, of all lengths, with a bound below every order.

    Two servers with convex costs are solved by the block rule, and proved by the linear bound; more
    of them by the graph of capped ages, as long as it has at most `most_states` states; beyond, the
    best of the index policy and of words improved change by change stands beside the bound.

    Parameters
    ----------
    costs : SpacingCosts
    most_states : int
    """
    chosen = np.flatnonzero(costs.table[:, 0] != 0).tolist() or [0]
    some = costs.of_some(chosen)
    word, bound, states = _found(some, most_states)
    cost, named = some.of(word), _named(word, chosen)
    is_proved = cost - bound <= _PROVED * max(float(np.abs(some.table[:, 0]).max()), 1e-300)
    first = Alternative("optimum" if is_proved else "best found", named, cost)
    others = [
        each._replace(word=None if each.word is None else _named(each.word, chosen))
        for each in _others(some)
    ]
    bound = min(bound, cost)
    return WordSearch(costs, named, cost, bound, is_proved, states, (first, *others))


def _named(word: Word, chosen: list[int]) -> Word:
    return tuple(chosen[each] for each in word)


def _found(costs: SpacingCosts, most_states: int) -> tuple[Word, float, int]:
    """A word, a bound, and the states of the graph behind it."""
    if costs.count == 1:
        return (0,), float(costs.of((0,))), 0
    if costs.count == 2 and costs.is_convex:
        return two_servers(costs).word, linear_bound(costs).value, 0
    found = certified_word(costs, most_states)
    words = [descended_word(costs)] if not found.is_proved(costs) else []
    words += [found.word] if found.word is not None else []
    return min(reversed(words), key=costs.of), found.bound, found.states


def _others(costs: SpacingCosts) -> Iterator[Alternative]:
    """Simpler orders, for comparison."""
    if costs.count > 1:
        for name, word in (
            ("index policy", index_word(costs)),
            ("in turn", tuple(range(costs.count))),
        ):
            yield Alternative(name, word, costs.of(word))
        if costs.count <= _MOST_AT_RANDOM:
            shares = best_random_shares(costs)
            yield Alternative("at random, best shares", None, costs.at_random(shares))


_MOST_AT_RANDOM = 20
