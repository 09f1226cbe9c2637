"""The decisions of the model as small truth tables."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sim import rates, rules
from sim.laws import empirical, gamma, phase_type


@pytest.mark.parametrize(
    ("pages", "level", "capacity", "partial", "reject", "complete"),
    [
        (1, 0, 1, 1, 1, 1),
        (1, 1, 1, 0, 0, 0),
        (3, 0, 2, 2, 0, 3),
        (3, 1, 4, 3, 3, 3),
        (3, 2, 4, 2, 0, 3),
        (3, 3, 4, 1, 0, 3),
        (3, 4, 4, 0, 0, 0),
        (2, 5, 4, 0, 0, 0),  # complete admission may have gone above the capacity
    ],
)
def test_admission(
    pages: int, level: int, capacity: int, partial: int, reject: int, complete: int
) -> None:
    assert rules.admitted(pages, level, capacity, rules.PARTIAL) == partial
    assert rules.admitted(pages, level, capacity, rules.REJECT) == reject
    assert rules.admitted(pages, level, capacity, rules.COMPLETE) == complete


@pytest.mark.parametrize(
    ("robots", "at", "expected"),
    [
        # The paper's words: "four robots until the number of pages does not exceed 2".
        ((4, 1), (2,), [4, 4, 4, 1, 1]),
        # Modes 4, 3, 2, 1 at 0, 2, 2: mode 2 is never used (docs/errata.md).
        ((4, 3, 2, 1), (0, 2, 2), [4, 3, 3, 1, 1]),
        ((3, 0), (0,), [3, 0, 0, 0, 0]),
        ((3, 1), (9,), [3, 3, 3, 3, 3]),
        ((2,), (), [2, 2, 2, 2, 2]),
    ],
)
def test_threshold(robots: tuple[int, ...], at: tuple[int, ...], expected: list[int]) -> None:
    assert [rules.threshold_robots(level, robots, at) for level in range(5)] == expected


@pytest.mark.parametrize(("active", "target", "on"), [(0, 0, False), (0, 1, True), (2, 2, False)])
def test_switching(active: int, target: int, on: bool) -> None:
    assert rules.switches_on(active, target) is on


def test_ties_go_by_rank_and_then_by_index() -> None:
    ranks = [
        rules.PAGE_CHANGE,
        rules.SERVICE,
        rules.OBSOLESCENCE,
        rules.DELIVERY,
        rules.UPDATE,
        rules.QUERY,
        rules.WARMUP,
        rules.HORIZON,
    ]
    orders = [rules.tie_order(rank, index) for rank in ranks for index in (0, 1, 10**9)]
    assert orders == sorted(set(orders))
    assert max(orders) < 2**63


@pytest.mark.parametrize(
    ("uniform", "index"), [(0.0, 1), (0.249, 1), (0.25, 2), (0.999, 2), (math.nextafter(1, 0), 2)]
)
def test_pick_skips_what_has_no_probability(uniform: float, index: int) -> None:
    assert rules.pick((0.0, 0.25, 1.0, 1.0), uniform) == index


class Scripted:
    """A stream that gives what it is told, and knows what is left."""

    def __init__(self, exponentials: list[float], uniforms: list[float]) -> None:
        self.exponentials = exponentials
        self.uniforms = uniforms

    def standard_exponential(self) -> float:
        return self.exponentials.pop(0)

    def random(self) -> float:
        return self.uniforms.pop(0)


def test_a_phase_type_draw_takes_one_exponential_per_phase_and_one_uniform_per_choice() -> None:
    start = (0.5, 1.0)
    means = (2.0, 10.0)
    jumps = ((0.0, 0.25, 1.0), (0.0, 0.0, 1.0))
    stream = Scripted([1.0, 3.0], [0.1, 0.2, 0.9])
    assert phase_type.draw(stream, start, means, jumps) == 1.0 * 2.0 + 3.0 * 10.0
    assert (stream.exponentials, stream.uniforms) == ([], [])


def test_an_empirical_draw_stays_inside_for_the_largest_uniform() -> None:
    largest = math.nextafter(1, 0)
    for count in range(1, 200):
        values = tuple(float(each) for each in range(count))
        assert empirical.draw(Scripted([], [largest]), values) == count - 1


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 2.5])
def test_gamma_draws_have_their_moments(shape: float) -> None:
    """Mean and mean square of 200 000 draws, each within 5 standard errors (seed 7)."""
    stream = np.random.default_rng(7)
    draws = np.array([gamma.draw(stream, shape, 2.0) for _ in range(200_000)])
    for power, moment in ((1, 2 * shape), (2, 4 * shape * (shape + 1))):
        error = (draws**power).std() / math.sqrt(len(draws))
        assert abs((draws**power).mean() - moment) < 5 * error


def test_robots_time_weights_levels_by_their_robots() -> None:
    assert rules.time_of_robots((1.0, 2.0, 4.0), (3, 3, 1)) == 3 * 3.0 + 4.0


def test_the_place_of_a_combination_is_that_in_nested_lists() -> None:
    """Of none or one robot of the first class and none to two of the second."""
    nested = [[0, 1, 2], [3, 4, 5]]
    places = [rules.place_of((a, b), (3, 1)) for a in range(2) for b in range(3)]
    assert places == [nested[a][b] for a in range(2) for b in range(3)]


def imported_packages(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("module", [rates, rules], ids=["rates", "rules"])
def test_what_both_engines_call_needs_nothing_but_arithmetic(module: ModuleType) -> None:
    assert imported_packages(module) <= {"__future__", "math", "collections", "typing", "numpy"}
