"""altman2000, section 4: what holds of it, and the counterexamples of what does not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from analytic.routing.multimodularity import (
    atoms_of_a_cube,
    base,
    horizon_cost,
    local_minimum,
    neighbours,
    periodic_cost,
    violations,
)

Word = tuple[int, ...]

LOSSES: dict[str, Callable[[int, int], float]] = {
    "geometric": lambda m, n: (m + 2.0) ** -n,
    "harmonic": lambda m, n: (1.0 + m) / n,
    "squares": lambda m, n: (1.0 + m) * n**2,
    "exponential": lambda m, n: math.exp((0.3 + 0.2 * m) * n),
}
"""Convex in n, decreasing and increasing."""


def test_the_base_sums_to_zero() -> None:
    for n in range(1, 7):
        vectors = base(n)
        assert len(vectors) == n + 1
        assert np.all(np.sum(vectors, axis=0) == 0)
        assert np.linalg.matrix_rank(vectors) == n
    assert base(3) == ((-1, 0, 0), (1, -1, 0), (0, 1, -1), (0, 0, 1))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_atoms_tile_the_cube(n: int) -> None:
    """n! simplices of volume 1/n! each, all different, their corners in the cube."""
    atoms = {frozenset(atom) for atom in atoms_of_a_cube(n)}
    assert len(atoms) == math.factorial(n)
    for atom in atoms:
        corners = np.array(sorted(atom))
        assert abs(np.linalg.det(corners[1:] - corners[0])) == pytest.approx(1.0)
        assert corners.min() >= 0
        assert corners.max() <= 1


def test_neighbours_are_the_corners_of_the_atoms_around() -> None:
    """2^(n+1) - 2 of them, where nothing cuts them off."""
    for n in (1, 2, 3, 4):
        assert len(list(neighbours((5,) * n, 10))) == 2 ** (n + 1) - 2
    inside = set(neighbours((0, 1, 0)))
    around = {c for atom in atoms_of_a_cube(3) if (0, 1, 0) in atom for c in atom} - {(0, 1, 0)}
    assert around <= inside


def test_theorem_4_4_is_false_for_periodic_words() -> None:
    """The counterexample of docs/errata.md in whole numbers: 37/64 < 41/64.

    f_m(n) = 2^-n, x = (2, 2, 1, 2), b_0 = -e_1 and b_3 = e_3 - e_4; here 1 stands for server 2.
    """

    def g(word: Word) -> Fraction:
        total = Fraction(0)
        for place, server in enumerate(word):
            ahead = next(k for k in range(1, 5) if word[(place + k) % 4] == server)
            total += Fraction(1, 2**ahead)
        return total / 4

    x = (1, 1, 0, 1)
    first = (0, 1, 0, 1)
    third = (1, 1, 1, 0)
    both = (0, 1, 1, 0)
    assert (g(first), g(third), g(x), g(both)) == (
        Fraction(1, 4), Fraction(21, 64), Fraction(21, 64), Fraction(5, 16),
    )  # fmt: skip
    assert g(first) + g(third) == Fraction(37, 64) < Fraction(41, 64) == g(x) + g(both)
    found = violations(periodic_cost(lambda _, n: 2.0**-n), 4)
    assert (x, 0, 3) in {each[:3] for each in found}
    assert {each.slack for each in found} == {-1 / 16}


@pytest.mark.parametrize("name", LOSSES)
def test_lemma_4_3_and_theorem_4_4_fail_from_four_slots_on(name: str) -> None:
    """Words that are rotations of each other cost the same, and stand on the two sides of (5)."""
    cost = periodic_cost(LOSSES[name])
    if name in ("geometric", "harmonic"):  # (6) has no cost for a server that is not used
        assert not any(violations(cost, n) for n in (2, 3))
    assert all(violations(cost, n) for n in (4, 5, 6))


@pytest.mark.parametrize("ages", [(1, 1), (5, 1), (2, 7)])
@pytest.mark.parametrize("name", LOSSES)
def test_the_finite_horizon_is_multimodular(name: str, ages: tuple[int, int]) -> None:
    cost = horizon_cost(LOSSES[name], ages)
    scale = max(cost(word) for word in itertools.product((0, 1), repeat=7))
    for n in range(2, 8):
        assert not violations(cost, n, tolerance=1e-13 * scale)


@pytest.mark.parametrize("server", [0, 1])
def test_each_server_alone_is_multimodular_on_the_finite_horizon(server: int) -> None:
    """The paper: "not necessarily true"."""
    part = horizon_cost(lambda m, n: LOSSES["geometric"](m, n) * (m == server))
    assert not any(violations(part, n) for n in range(2, 7))


def test_costs_that_are_not_convex_are_caught() -> None:
    """The check can fail."""
    for n in (2, 3, 4):
        assert violations(horizon_cost(lambda _, n: math.sqrt(n)), n)


@pytest.mark.by_day("ages0")
@pytest.mark.parametrize("ages", [(1, 1), (4, 2)])
def test_local_search_finds_the_global_minimum_of_the_finite_horizon(
    ages: tuple[int, int],
) -> None:
    """Theorem 4.2, from every start."""
    for name in LOSSES:
        cost = horizon_cost(LOSSES[name], ages)
        words = list(itertools.product((0, 1), repeat=6))
        least = min(map(cost, words))
        assert all(cost(local_minimum(cost, word)) == pytest.approx(least) for word in words)


def test_local_search_on_the_periodic_cost_is_observed_not_proved() -> None:
    """No counterexample up to n = 7 in twenty random pairs of servers."""
    generator = np.random.default_rng(4)
    for _ in range(20):
        h = generator.uniform(0.05, 0.95, 2)
        cost = periodic_cost(lambda m, n, h=h: float(h[m] ** n))
        words = list(itertools.product((0, 1), repeat=7))
        least = min(map(cost, words))
        ends = {local_minimum(cost, word) for word in words[::8]}
        assert all(cost(end) == pytest.approx(least) for end in ends)


def test_the_printed_counterexample_to_local_search() -> None:
    """Section 4: integer convex, not multimodular, (2, 1) a local minimum that is not global."""
    table = {
        (0, 2): -1.0, (1, 2): 2.0, (2, 2): 5.0,
        (0, 1): 2.0, (1, 1): 1.0, (2, 1): 0.0,
        (0, 0): 5.0, (1, 0): 4.0, (2, 0): 3.0,
    }  # fmt: skip
    cost = table.__getitem__
    found = {each[:3]: each.slack for each in violations(cost, 2, highest=2)}
    assert found[(1, 2), 0, 1] == -4.0  # (b_0, b_2), as printed, leaves the table
    assert local_minimum(cost, (2, 1), highest=2) == (2, 1)
    assert min(table, key=cost) == (0, 2)


def test_increasing_costs_need_the_terminal_cost() -> None:
    """Without (1) the inequality fails for ``f_m(n) = (m + 1) n²`` already with two slots."""
    loss = LOSSES["squares"]
    whole = horizon_cost(LOSSES["squares"])

    def without(word: Word) -> float:
        ages = [1, 1]
        for each in word:
            ages = [1 if m == each else age + 1 for m, age in enumerate(ages)]
        return whole(word) - loss(0, ages[0]) - loss(1, ages[1])

    assert violations(without, 2)


# --- examples and remarks of section 3 that are not as printed -----------------------------------


def test_remark_3_3_counts_one_decision_too_many() -> None:
    """A linear cost sums to ``a (T - 1 + x)`` over the T - 1 decisions of section 2."""
    slopes = (1.0, 2.5)
    ages = (3, 2)
    horizon = 7
    cost = horizon_cost(lambda m, n: slopes[m] * n, ages)
    words = itertools.product((0, 1), repeat=horizon - 1)
    paid = {round(cost(word), 9) for word in words}
    assert paid == {sum(a * (horizon - 1 + x) for a, x in zip(slopes, ages, strict=True))}
    assert paid != {sum(a * (horizon + x) for a, x in zip(slopes, ages, strict=True))}


def test_example_3_4_has_other_optima() -> None:
    """``f_2 = e^(x/2)``: server 2 every second slot is cheaper than always, not dearer."""
    cost = periodic_cost(lambda m, n: 1.0 * n if m == 0 else math.exp(0.5 * n))
    # The linear server pays 1 per slot whatever is done, also where it is not in the word.
    assert cost((0, 1)) == pytest.approx(1 + math.exp(1.0) / 2)
    assert cost((0, 1)) < 1 + cost((1,))


def test_example_3_5_needs_the_first_server_just_visited() -> None:
    """``f_1 = x², f_2 = 2 x²`` without terminal costs, T = 11: from (5, 1) always 2, at 20."""

    def best(ages: tuple[int, int]) -> tuple[tuple[int, ...], float]:
        words = itertools.product((0, 1), repeat=10)
        return min(((word, paid(word, ages)) for word in words), key=lambda each: each[1])

    def paid(word: tuple[int, ...], ages: tuple[int, int]) -> float:
        x = list(ages)
        total = 0.0
        for server in word:
            total += (server + 1) * x[server] ** 2
            x = [1 if m == server else age + 1 for m, age in enumerate(x)]
        return total

    assert best((1, 3)) == ((0,) * 10, 10.0)
    assert best((5, 1)) == ((1,) * 10, 20.0)


def test_gaps_that_are_not_all_zero_need_not_make_costs_strictly_convex() -> None:
    """Gaps 0, 1, 0, 1, …, each first half of the time: ``f(1) - f(2)`` is ``f(0) - f(1)``."""
    f = [(math.exp(-(n // 2)) + math.exp(-((n + 1) // 2))) / 2 for n in range(12)]
    bends = [f[n - 1] - 2 * f[n] + f[n + 1] for n in range(1, 11)]
    assert bends[::2] == pytest.approx([0.0] * 5, abs=1e-15)
    assert min(bends[1::2]) > 1e-3
