"""Multimodular functions of words, by which altman2000 (section 4) orders two servers.

A word is a point of ``{0, 1}^n``: 1 sends the packet to one server, 0 to the other. The theory is
here to be looked at: base, atoms, inequality (5), local search. **Theorem 4.4 is false** for the
cost (6) of a word that is repeated, which it is stated for: with ``f(n) = 2^-n`` on both servers
and n = 4, (5) fails at one point of the table (`violations`). It holds for the cost of a finite
horizon with the terminal costs (1), from any initial ages. What the paper draws from it, the form
``(1, 2, …, 2)``, is true all the same, by the block rule (`analytic.routing.two_servers`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from analytic.routing.words import Loss, Word, average_loss

Cost = Callable[[Word], float]


class Violation(NamedTuple):
    """A point and two base vectors for which (5) fails, and by how much."""

    point: Word
    first: int
    second: int
    slack: float


def base(n: int) -> tuple[Word, ...]:
    """The vectors ``b_0 = -e_1, b_i = e_i - e_(i+1), b_n = e_n``; they sum to 0.

    altman2000, section 4.

    Raises
    ------
    ValueError
        If n is not at least 1.
    """
    if n < 1:
        raise ValueError(f"words of {n} letters: must have at least 1")
    vectors = [[0] * n for _ in range(n + 1)]
    for i in range(n):
        vectors[i][i] -= 1
        vectors[i + 1][i] += 1
    return tuple(map(tuple, vectors))


def _plus(point: Sequence[int], *steps: Sequence[int]) -> Word:
    return tuple(map(sum, zip(point, *steps, strict=True)))


def _inside(point: Word, highest: int = 1) -> bool:
    return all(0 <= each <= highest for each in point)


def atoms_of_a_cube(n: int) -> Iterator[tuple[Word, ...]]:
    """The n! simplices into which the base cuts the unit cube, each by its n + 1 corners.

    Every order of b_1, …, b_n after b_0 walks around a simplex; those that stay in the cube tile it
    (altman2000, section 4).
    """
    vectors = base(n)
    origin = (0,) * n
    for order in itertools.permutations(range(n + 1)):
        steps = (vectors[i] for i in order[:-1])
        corners = list(itertools.accumulate(steps, _plus, initial=origin))
        back = [-min(corner[i] for corner in corners) for i in range(n)]
        moved = [_plus(corner, back) for corner in corners]
        if all(map(_inside, moved)) and min(moved) == moved[0]:
            yield tuple(moved)


def violations(cost: Cost, n: int, tolerance: float = 1e-12, highest: int = 1) -> list[Violation]:
    """Every failure of (5) on ``{0, …, highest}^n``, the worst first: for small n.

    ``g(x + b_i) + g(x + b_j) >= g(x) + g(x + b_i + b_j)`` wherever all four points are in the set.

    Parameters
    ----------
    cost : callable
        g.
    n : int
    tolerance : float
        How much rounding may take from either side.
    highest : int
    """
    vectors = base(n)
    found = []
    for x in itertools.product(range(highest + 1), repeat=n):
        for i, j in itertools.combinations(range(n + 1), 2):
            one = _plus(x, vectors[i])
            other = _plus(x, vectors[j])
            both = _plus(one, vectors[j])
            if all(_inside(point, highest) for point in (one, other, both)):
                slack = cost(one) + cost(other) - cost(x) - cost(both)
                if slack < -tolerance:
                    found.append(Violation(x, i, j, slack))
    return sorted(found, key=lambda each: each.slack)


def neighbours(point: Word, highest: int = 1) -> Iterator[Word]:
    """The corners of all atoms that have the point as a corner: at most ``2^(n+1) - 2``.

    ``x + sum alpha_i b_i`` with alpha in {0, 1}, within the set (altman2000, after Theorem 4.2).
    """
    vectors = base(len(point))
    for chosen in itertools.product((False, True), repeat=len(point) + 1):
        other = _plus(point, *itertools.compress(vectors, chosen))
        if other != point and _inside(other, highest):
            yield other


def local_minimum(cost: Cost, start: Word, highest: int = 1) -> Word:
    """Where a walk to the best neighbour ends: the global minimum of a multimodular function.

    altman2000, Theorem 4.2.

    Raises
    ------
    ValueError
        If the start is not a word of the letters 0 … highest.
    """
    if not start or not _inside(start, highest):
        raise ValueError(f"start {start}: must be a word of letters in 0 … {highest}")
    point = start
    while True:
        best = min(neighbours(point, highest), key=cost, default=point)
        if cost(best) >= cost(point) - 1e-15 * abs(cost(point)):
            return point
        point = best


def periodic_cost(loss: Loss) -> Cost:
    """The cost (6) of a word as a period: not multimodular."""
    return lambda word: average_loss(word, loss)


def horizon_cost(loss: Loss, ages: Sequence[int] = (1, 1)) -> Cost:
    """The cost of a word over its own length, with the terminal costs (1): multimodular.

    ``sum_t f_(a_t)(x_(a_t)) + f_0(x_0) + f_1(x_1)``, the ages x counted on from `ages` before the
    first packet (altman2000, section 2).
    """

    def cost(word: Word) -> float:
        x = list(ages)
        paid = []
        for server in word:
            paid.append(loss(server, x[server]))
            x = [1 if m == server else age + 1 for m, age in enumerate(x)]
        return sum(paid) + sum(loss(m, age) for m, age in enumerate(x))

    return cost
