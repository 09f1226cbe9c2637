"""Orders of servers or pages: the best one of two, good ones of any number, and simple ones.

The block rule solves two servers or pages exactly. Of more than two the index policy and words
improved change by change come without a proof that no order is better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.routing.bounds import slopes
from analytic.routing.spacing import SpacingCosts, random_costs
from analytic.routing.words import Word, least_rotation
from scenarios.arrays import Array

MOST_LETTERS = 100_000
"""Slots of the longest block that is written out."""

_FARTHEST = 2**50
"""Distances up to which a block is sought; 1 / n is far below rounding there."""

_LONGEST = 2**14
"""Slots along which the index policy is followed."""

_LONGEST_DESCENT = 160
"""Slots of a word up to which single changes are tried: each costs a pass over the word."""

_MOST_DESCENDED = 12
"""Servers up to which they are tried."""

_STARTS = 40

_MOST_AT_RANDOM = 20
"""Servers up to which the best random choices are sought."""

_LEAST_SHARE = 1e-6
"""Shares below it are left out where that costs no more."""

_NOTHING = 1e-12
"""Of a cost: a smaller difference is rounding."""

_ROUNDING = 1e-14
"""Relative difference of two costs that is put down to rounding."""


class TwoServers(NamedTuple):
    """What the block rule says.

    Attributes
    ----------
    word : tuple of int
        The best word; with a longer block than 100,000 slots the best of those that are not.
    cost : float
        Of the word, per slot.
    length : int or None
        Of the best block, however long; None: one server only.
    bound : float
        Cost of the best block, which no order is below.
    """

    word: Word
    cost: float
    length: int | None
    bound: float


def block_length(rare: ArrayLike, limit: float, often: ArrayLike) -> int | None:
    """The length n of the best block ``(1, 2, …, 2)``; None if server 1 is best never used.

    Parameters
    ----------
    rare : array_like
        ``e_1(1), e_1(2), …``, convex.
    limit : float
        C_1, to which they tend.
    often : array_like
        ``e_2(1), e_2(2)``, at least.

    Returns
    -------
    int or None
        The least n >= 2 with ``D_1(n) <= 2 e_2(1) - e_2(2)``; there is none where C_1 is not below
        that, which is also said where the given distances do not reach it.

    Notes
    -----
    Proof in docs/derivations.md: blocks cost ``e_1(n) + e_2(2) + (n - 2) e_2(1)`` whatever stands
    beside them, so that one length is best; any stationary arrivals. It replaces the proof
    by Theorem 4.4, which is false for the periodic cost (`analytic.routing.multimodularity`).
    """
    first, second = (float(each) for each in np.asarray(often, dtype=float)[:2])
    threshold = 2 * first - second
    if limit >= threshold:
        return None
    reached = slopes(rare)[0, 1:] <= threshold  # D(2), D(3), …
    return int(np.argmax(reached)) + 2 if reached.any() else None


def two_servers(costs: SpacingCosts) -> TwoServers:
    """The best word of two servers or pages, for any stationary arrivals.

    Parameters
    ----------
    costs : SpacingCosts
        Convex, of two servers.

    Raises
    ------
    ValueError
        If there are not two, or their costs are not convex in the distance.
    """
    if costs.count != 2:
        raise ValueError(f"costs of {costs.count} servers; must be of 2")
    if not costs.is_convex:
        raise ValueError("costs are not convex in the distance")
    return min((_with_rare(costs, rare) for rare in (0, 1)), key=lambda each: each.bound)


def _with_rare(costs: SpacingCosts, rare: int) -> TwoServers:
    """The best block with one of the two as the server that is accessed once."""
    often = 1 - rare
    length = block_length(costs.tilted[rare], _limit(costs, rare), costs.tilted[often])
    if length is None and costs.beyond:
        length = _length_beyond(costs, rare)
    best = _block_cost(costs, rare, length)
    if length is None or length <= MOST_LETTERS:
        return TwoServers(_block(rare, length), best, length, best)
    shown = min((None, MOST_LETTERS), key=lambda each: _block_cost(costs, rare, each))
    return TwoServers(_block(rare, shown), _block_cost(costs, rare, shown), length, best)


def _limit(costs: SpacingCosts, server: int) -> float:
    """Limit of e; of a cost that grows without bound that of the table is none."""
    return -math.inf if server in costs.needed else float(costs.limits[server])


def _block(rare: int, length: int | None) -> Word:
    """The block from where it is the first in alphabetical order."""
    often = 1 - rare
    return (often,) if length is None else tuple(sorted((rare, *(length - 1) * (often,))))


def _block_cost(costs: SpacingCosts, rare: int, length: int | None) -> float:
    """Cost per slot: ``(e_1(n) + e_2(2) + (n - 2) e_2(1)) / n``, of pages with g in place of e."""
    once = costs.between(1 - rare, 1)
    twice = costs.between(1 - rare, 2)
    if length is None:
        return costs.of((1 - rare,))
    return costs.outside + (costs.between(rare, length) + twice + (length - 2) * once) / length


def _length_beyond(costs: SpacingCosts, rare: int) -> int | None:
    """The length of the best block that is longer than the table; None if there is none.

    D_1 never increases, so that it is bracketed by doubling and found by halving.
    """
    threshold = 2 * costs.between(1 - rare, 1) - costs.between(1 - rare, 2)
    if _limit(costs, rare) >= threshold:
        return None

    def is_reached(n: int) -> bool:
        here = costs.entry(rare, n)
        after = costs.entry(rare, n + 1)
        return here + n * (here - after) <= threshold

    low = costs.longest - 1
    high = costs.longest
    while not is_reached(high):
        low = high
        high = 2 * high
        if high > _FARTHEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


def worth_an_access(costs: SpacingCosts) -> list[int]:
    """All that matter for the order; the others are best never accessed.

    A server that never costs anything takes all accesses where no access to another can cost less
    than nothing. It is worth none where another in its place never costs more: where
    ``e(a) + e(b) <= e(a + b)``, which for convex costs ``2 e(1) <= e(2)`` says (all pages). Else
    one that is free is enough.
    """
    free = (costs.table[:, 0] == 0) & (costs.limits == 0)
    if not free.any():
        return list(range(costs.count))
    first = int(np.argmax(free))
    if not np.any(costs.limits < 0):
        return [first]
    others = np.flatnonzero(~free).tolist()
    begin = np.hstack([costs.table, costs.limits[:, None]])[others, :2]
    in_place = 2 * begin[:, 0] - begin[:, 1] <= _NOTHING * np.abs(begin[:, 0])
    return others if costs.is_convex and in_place.any() else sorted([first, *others])


def named(word: Word, chosen: Sequence[int]) -> Word:
    """A word of those that were chosen, by their numbers among all."""
    return tuple(chosen[each] for each in word)


def in_turn(costs: SpacingCosts) -> Word:
    """All of them, one after the other."""
    return tuple(range(costs.count))


def index_word(costs: SpacingCosts) -> Word:
    """The cheapest period that the index policy runs through.

    The policy accesses the server with the least ``D_m(x) = (x + 1) e_m(x) - x e_m(x + 1)`` at its
    age x: minus its Whittle index (docs/derivations.md); for two servers that is the optimum.

    Parameters
    ----------
    costs : SpacingCosts
        What an access costs by its distance from the next one.
    """
    sequence, closed = _closings(costs)
    return least_rotation(sequence[: int(np.argmin(closed)) + 1].tolist())


def descended_word(costs: SpacingCosts) -> Word:
    """A word that no single change makes cheaper, the best of several starts.

    Periods of the index policy, short ones and the cheapest, are improved by one letter changed,
    added or left out, or two neighbours exchanged, until nothing helps. With more than 12 servers
    only the period of the index policy is taken.

    Parameters
    ----------
    costs : SpacingCosts
        What an access costs by its distance from the next one.
    """
    from analytic.routing.kernels import improved_word

    words = [index_word(costs)]
    if costs.count <= _MOST_DESCENDED:
        sequence, closed = _closings(costs)
        cheapest = np.argsort(closed[:_LONGEST_DESCENT], kind="stable")[:_STARTS] + 1
        for length in sorted({*cheapest.tolist(), *range(1, _STARTS)}):
            longest = max(2 * costs.count, 3 * length // 2)
            improved = improved_word(costs.table, sequence[:length], longest)
            words.append(least_rotation(improved.tolist()))
    return shortest_of_the_cheapest(costs, words)


def paired_word(costs: SpacingCosts) -> Word | None:
    """The best block of any two servers, by the block rule.

    None where there is no rule, costs not being convex, or too many pairs, of more than 12 servers.
    """
    if not costs.is_convex or not 2 <= costs.count <= _MOST_DESCENDED:
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
    from analytic.routing.kernels import closing_costs, index_sequence

    window = min(max(64, 24 * costs.count), _LONGEST)
    index = np.hstack([slopes(costs.tilted), costs.limits[:, None]])
    sequence = index_sequence(index, 4 * window)[-window:]
    return sequence, closing_costs(costs.table, sequence)


def best_random_shares(costs: SpacingCosts) -> Array:
    """Shares of independent random accesses of the least cost that a descent finds.

    For independent gaps and losses ``p_m`` proportional to ``1 / h_m - 1``.

    Parameters
    ----------
    costs : SpacingCosts
        What an access costs by its distance from the next one.
    """
    from scipy.optimize import minimize

    start = np.full(costs.count, 1.0 / costs.count)
    if costs.drawn:
        return _best_drawn_shares(costs, start)
    paid, rises = random_costs(costs.table, costs.limits, start)
    if not (spread := float(np.ptp(rises))):
        return start

    def above_the_start(p: Array) -> tuple[float, Array]:
        """In units of what a change of shares gains: costs may be tiny, or hardly differ."""
        shares = p / p.sum()
        now, slope = random_costs(costs.table, costs.limits, shares)
        gradient = (slope - slope @ shares) / p.sum()
        return float((now - paid).sum()) / spread, gradient / spread

    solution = minimize(
        above_the_start,
        start,
        jac=True,
        bounds=[(1e-9, 1.0)] * costs.count,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return _cheapest_shares(costs, solution.x / solution.x.sum(), start)


def _best_drawn_shares(costs: SpacingCosts, start: Array) -> Array:
    """The same for costs that are known exactly, and not their derivatives."""
    from scipy.optimize import minimize

    evenly = costs.at_random(start)

    def relative(p: Array) -> float:
        return costs.at_random(p / p.sum()) / evenly

    if not evenly:
        return start
    bounds = [(_LEAST_SHARE / 2, 1.0)] * costs.count
    solution = minimize(relative, start, bounds=bounds, method="L-BFGS-B")
    return _cheapest_shares(costs, solution.x / solution.x.sum(), start)


def _cheapest_shares(costs: SpacingCosts, shares: Array, start: Array) -> Array:
    """The shares that a search found, without those that stand for none where that costs no more.

    Or those that it began with, where it found nothing.
    """
    kept = np.where(shares < _LEAST_SHARE, 0.0, shares)
    return min((kept / kept.sum(), shares, start), key=costs.at_random)


class Alternative(NamedTuple):
    """An order by its name, its period (None: drawn at random), and its cost per slot."""

    order: str
    word: Word | None
    cost: float


def simple_orders(costs: SpacingCosts) -> Iterator[Alternative]:
    """Improved words (up to 12 letters), the index policy, all in turn, the best drawn at random.

    Of those worth an access; with one of them there is nothing to compare.
    """
    chosen = worth_an_access(costs)
    some = costs.of_some(chosen)
    if some.count == 1:
        return
    orders = {"index policy": index_word, "in turn": in_turn}
    if some.count <= _MOST_DESCENDED:
        orders = {"improved words": descended_word} | orders
    for name, find in orders.items():
        word = find(some)
        yield Alternative(name, named(word, chosen), some.of(word))
    if some.count <= _MOST_AT_RANDOM:
        shares = best_random_shares(some)
        first = ", ".join(f"{share:.3g}" for share in shares[:6]) + ", …" * (len(shares) > 6)
        yield Alternative(f"at random: {first}", None, some.at_random(shares))
