"""Bounds and costs of visiting orders against exact values in fractions, at rates of any size."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import analytic
from analytic.page_refresh import (
    cyclic_obsolescence,
    equal_spacing_bound,
    proportional_bound,
    schedule_bound,
)
from analytic.routing import access_costs, best_word, linear_bound
from analytic.routing.accesses import dependent_obsolescence
from analytic.routing.words import cyclic_distances
from scenarios import scenario_from
from scenarios.laws import Exponential
from scenarios.processes import Map, Poisson

ACCESSES = Poisson(rate=1.0)
ACCESS = Exponential(mean=1.0)
ROUNDING = Fraction(1, 10**15)
"""Of the exact value: what a bound may be above it."""


def stale_time(rate: Fraction, distance: int) -> Fraction:
    """``E (X_n - S)^+`` after n exponential times of mean 1, S exponential."""
    return distance - (1 - (1 / (1 + rate)) ** distance) / rate


def exact_cost(word: tuple[int, ...], rates: np.ndarray, weights: np.ndarray) -> Fraction:
    distances = cyclic_distances(word)
    total = Fraction(0)
    for page, (rate, weight) in enumerate(zip(rates.tolist(), weights.tolist(), strict=True)):
        own = distances.get(page)
        stale = [stale_time(Fraction(rate), each) for each in own] if own else [len(word)]
        total += Fraction(weight) * sum(stale)
    return total / len(word)


def drawn(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two to four pages, of rates near each other or from 1e-15 to 1e3."""
    count = int(generator.integers(2, 5))
    middle = generator.uniform(-15, 3)
    spread = generator.choice([0.3, 3.0, 18.0])
    exponents = np.clip(generator.uniform(middle - spread, middle + spread, count), -15, 3)
    rates = 10.0**exponents
    own = generator.random() < 0.5
    return rates, rates if own else 10.0 ** generator.uniform(-3, 3, count)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_no_bound_is_above_the_exact_cost_of_an_order(seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(8):
        rates, weights = drawn(generator)
        costs = access_costs(ACCESSES, rates, weights)
        pages = range(len(rates))
        words = [each for n in range(1, 6) for each in itertools.product(pages, repeat=n)]
        cheapest = min(words, key=costs.of)
        least = exact_cost(cheapest, rates, weights)
        assert Fraction(costs.of(cheapest)) == pytest.approx(least, rel=1e-14)
        found = best_word(costs, most_states=2000)
        if len(found.word) < 2000:
            exact = exact_cost(found.word, rates, weights)
            assert found.cost == pytest.approx(float(exact), rel=1e-12)
            assert not found.proved or exact <= least * (1 + ROUNDING)
            least = min(least, exact)
        bounds = [linear_bound(costs).value, found.bound, schedule_bound(rates, weights, ACCESS)]
        if weights is rates:
            bounds.append(proportional_bound(rates, ACCESS))
        assert max(map(Fraction, bounds)) <= least * (1 + ROUNDING)


def unlike(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two to four pages, of rates from 1e-300 to 1e3, hundreds of orders apart or near."""
    count = int(generator.integers(2, 5))
    middle = generator.uniform(-300, 3)
    spread = generator.choice([0.3, 3.0, 18.0, 100.0, 300.0])
    exponents = np.clip(generator.uniform(middle - spread, middle + spread, count), -300, 3)
    widest = generator.choice([0.0, 3.0, 30.0])
    rates = 10.0**exponents
    return rates, 10.0 ** generator.uniform(-widest, widest, count) if widest else rates


@pytest.mark.filterwarnings("error")
@pytest.mark.by_day("2", "4")
@pytest.mark.parametrize("seed", range(5))
def test_rates_hundreds_of_orders_apart(seed: int) -> None:
    """All bounds, and the costs that they are compared with; exact values near 0 are left out."""
    generator = np.random.default_rng(seed)
    for _ in range(25):
        rates, weights = unlike(generator)
        costs = access_costs(ACCESSES, rates, weights)
        pages = range(len(rates))
        words = [each for n in range(1, 5) for each in itertools.product(pages, repeat=n)]
        cheapest = min(words, key=costs.of)
        least = exact_cost(cheapest, rates, weights)
        bounds = [linear_bound(costs).value, schedule_bound(rates, weights, ACCESS)]
        shares = np.bincount(cheapest, minlength=len(rates)) / len(cheapest)
        bounds.append(float(weights @ equal_spacing_bound(rates, shares, ACCESS)))
        if weights is rates:
            bounds.append(proportional_bound(rates, ACCESS))
        if least > 1e-300:
            assert max(map(Fraction, bounds)) <= least * (1 + ROUNDING)
            assert Fraction(costs.of(cheapest)) == pytest.approx(least, rel=1e-14)
            found = float(weights @ cyclic_obsolescence(rates, cheapest, ACCESS))
            assert Fraction(found) == pytest.approx(least, rel=1e-14)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("policy", ["cyclic", "randomized"])
@pytest.mark.parametrize(
    ("rates", "weights"),
    [
        ([4.2021354034056534e-13, 1e-20], [1.6046358232519462, 0.011415463459973027]),
        ([1.24e-31, 1e-40, 1e-40], "change-rate"),
        ([1e-300, 2e-300], [1.0, 3.0]),
        ([1e-300, 1.0], [1e10, 1.0]),
    ],
    ids=["unequal", "unequal-own-weights", "all-tiny", "one-tiny"],
)
def test_no_predicted_bound_is_above_the_predicted_cost(
    rates: list[float], weights: list[float] | str, policy: str
) -> None:
    accessing: dict[str, object] = {"policy": "randomized", "frequencies": "uniform"}
    if policy == "cyclic":
        accessing = {"policy": "cyclic", "template": [0, 0, 0, *range(1, len(rates))]}
    access = {"erlang": {"shape": 3, "mean": 0.01}}
    robots = {"available": 1, "access_time": access, "accessing": accessing}
    pages = {"change_rates": rates, "weights": weights}
    rows = analytic.predict(scenario_from({"name": "x", "pages": pages, "robots": robots}))[0]
    found = [(row.kind, row.value) for row in rows if row.measure == "weighted_obsolescence"]
    (exact,) = [value for kind, value in found if kind == "exact"]
    bounds = [value for kind, value in found if kind == "lower bound"]
    assert exact > 0.0
    assert 0.0 < max(bounds) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("rate", [1e-15, 1e-12, 1e-6, 1.0, 1e3])
def test_five_equal_pages_attain_the_linear_bound(rate: float) -> None:
    rates = np.full(5, rate)
    exact = exact_cost((0, 1, 2, 3, 4), rates, rates)
    assert linear_bound(access_costs(ACCESSES, rates, rates)).value == pytest.approx(
        float(exact), rel=1e-15
    )


def test_rare_changes_under_dependent_accesses_keep_their_digits() -> None:
    """To first order in the rate: half of ``E X_3^2 / E X_3`` times it, here with equal gaps."""
    equal = Map(D0=[[-1.0, 0.0], [0.0, -1.0]], D1=[[0.3, 0.7], [0.6, 0.4]])
    rates = np.array([1e-13, 1.0, 2.0])
    found = dependent_obsolescence(equal, rates, [0, 1, 2])
    exact = [float(exact_cost((0, 1, 2), rates, np.eye(3)[page])) for page in range(3)]
    assert found == pytest.approx(exact, rel=1e-14)
