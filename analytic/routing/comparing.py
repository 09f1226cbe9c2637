"""What orders that are simpler than the best one would cost: for its table, not for the search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.routing.heuristics import (
    MOST_DESCENDED,
    best_random_shares,
    descended_word,
    in_turn,
    index_word,
    named,
    worth_a_visit,
)
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word

_MOST_AT_RANDOM = 20


class Alternative(NamedTuple):
    """An order by its name, its period (None: drawn at random), and its cost per slot."""

    order: str
    word: Word | None
    cost: float


def simple_orders(costs: SpacingCosts) -> Iterator[Alternative]:
    """Improved words (up to 12 letters), the index policy, all in turn, the best drawn at random.

    Of those worth a visit; with one of them there is nothing to compare.
    """
    chosen = worth_a_visit(costs)
    some = costs.of_some(chosen)
    if some.count == 1:
        return
    orders = {"index policy": index_word, "in turn": in_turn}
    if some.count <= MOST_DESCENDED:
        orders = {"improved words": descended_word} | orders
    for name, find in orders.items():
        word = find(some)
        yield Alternative(name, named(word, chosen), some.of(word))
    if some.count <= _MOST_AT_RANDOM:
        shares = best_random_shares(some)
        yield Alternative(f"at random: {_few(shares)}", None, some.at_random(shares))


def _few(shares: NDArray[np.floating[Any]], most: int = 6) -> str:
    """The shares of the visits as text, the first of many."""
    shown = ", ".join(f"{share:.3g}" for share in shares[:most])
    return shown if len(shares) <= most else f"{shown}, …"
