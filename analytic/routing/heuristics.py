"""Good words for any number of servers or pages, without a proof that they are the best."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analytic.routing.bounds import slopes
from analytic.routing.random_visits import random_costs
from analytic.routing.spacing import SpacingCosts
from analytic.routing.two_servers import two_servers
from analytic.routing.words import Word, least_rotation
from scenarios.arrays import Array

_LONGEST = 2**14
_LONGEST_DESCENT = 160
"""Slots of a word up to which single changes are tried: each costs a pass over the word."""

MOST_DESCENDED = 12
"""Servers up to which they are tried."""

_STARTS = 40

_EDGE = 1e-6
"""Shares below it are left out where that is no dearer."""

_ROUNDING = 1e-14
"""Relative difference of two costs that is put down to rounding."""


def worth_a_visit(costs: SpacingCosts) -> list[int]:
    """All that can matter: pages without weight or changes cost nothing, visited or not.

    A server that never loses a packet costs nothing either, but takes them all: it is enough.
    """
    free = costs.table[:, 0] == 0
    if free.any() and not costs.limits.any():
        return [int(np.argmax(free))]
    return np.flatnonzero(~free).tolist() or [0]


def named(word: Word, chosen: Sequence[int]) -> Word:
    """A word of those that were chosen, by their numbers among all."""
    return tuple(chosen[each] for each in word)


def in_turn(costs: SpacingCosts) -> Word:
    """All of them, one after the other."""
    return tuple(range(costs.count))


def index_word(costs: SpacingCosts) -> Word:
    """The cheapest period that the index policy runs through.

    The policy visits the server with the least ``D_m(x) = (x + 1) e_m(x) - x e_m(x + 1)`` at its
    age x: minus its Whittle index (docs/derivations.md); for two servers that is the optimum.
    """
    sequence, closed = _closings(costs)
    return least_rotation(sequence[: int(np.argmin(closed)) + 1].tolist())


def descended_word(costs: SpacingCosts) -> Word:
    """A word that no single change makes cheaper, the best of several starts.

    Periods of the index policy, short ones and the cheapest, are improved by one letter changed,
    added or left out, or two neighbours exchanged, until nothing helps. With more than 12 servers
    only the period of the index policy is taken.
    """
    from analytic.routing.word_kernels import improved_word

    found = [index_word(costs)]
    if costs.count <= MOST_DESCENDED:
        sequence, closed = _closings(costs)
        cheapest = np.argsort(closed[:_LONGEST_DESCENT], kind="stable")[:_STARTS] + 1
        for length in sorted({*cheapest.tolist(), *range(1, _STARTS)}):
            longest = max(2 * costs.count, 3 * length // 2)
            improved = improved_word(costs.table, sequence[:length], longest)
            found.append(least_rotation(improved.tolist()))
    return shortest_of_the_cheapest(costs, found)


def paired_word(costs: SpacingCosts) -> Word | None:
    """The best block of any two servers, by the block rule.

    None where there is no rule, costs not being convex, or too many pairs, of more than 12 servers.
    """
    if not costs.is_convex or not 2 <= costs.count <= MOST_DESCENDED:
        return None
    pairs = itertools.combinations(range(costs.count), 2)
    blocks = [(two_servers(costs.of_some(pair)), pair) for pair in pairs]
    best, pair = min(blocks, key=lambda each: each[0].cost)
    return least_rotation([pair[each] for each in best.word])


def shortest_of_the_cheapest(costs: SpacingCosts, words: Sequence[Word]) -> Word:
    """The shortest of the words whose costs only rounding tells apart from the least one."""
    paid = {word: costs.of(word) for word in words}
    least = min(paid.values())
    return min((word for word, cost in paid.items() if are_alike(cost, least)), key=len)


def are_alike(cost: float, other: float) -> bool:
    """Whether the first cost is not above the other but for rounding."""
    return cost - other <= _ROUNDING * abs(other)


def _closings(costs: SpacingCosts) -> tuple[NDArray[np.int64], Array]:
    """What the index policy does in the long run, and the cost of each beginning as a period."""
    from analytic.routing.word_kernels import closing_costs, index_sequence

    window = min(max(64, 24 * costs.count), _LONGEST)
    index = np.hstack([slopes(costs.tilted), costs.limits[:, None]])
    sequence = index_sequence(index, 4 * window)[-window:]
    return sequence, closing_costs(costs.table, sequence)


def best_random_shares(costs: SpacingCosts) -> Array:
    """Shares of independent random visits, the least cost that a descent finds.

    For independent gaps and losses ``p_m`` proportional to ``1 / h_m - 1``.
    """
    from scipy.optimize import minimize

    start = np.full(costs.count, 1.0 / costs.count)
    paid, rises = random_costs(costs.table, costs.limits, start)
    if not (spread := float(np.ptp(rises))):
        return start

    def above_the_start(p: Array) -> tuple[float, Array]:
        """In units of what moving shares is worth: costs may be tiny, or differ very little."""
        shares = p / p.sum()
        now, slope = random_costs(costs.table, costs.limits, shares)
        gradient = (slope - slope @ shares) / p.sum()
        return float((now - paid).sum()) / spread, gradient / spread

    found = minimize(
        above_the_start,
        start,
        jac=True,
        bounds=[(1e-9, 1.0)] * costs.count,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    shares = found.x / found.x.sum()
    kept = np.where(shares < _EDGE, 0.0, shares)  # the least share of the search stands for none
    best: Array = min((kept / kept.sum(), shares, start), key=costs.at_random)
    return best
