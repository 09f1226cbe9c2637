"""The best frequencies against a generic solver, and against 60 digits from end to end."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import sim
from analytic import check_scenario, predict, resolve
from analytic.machinery.transforms import log_transform, mean_time, transform
from analytic.page_refresh import (
    best_random_shares,
    best_shares,
    cyclic_obsolescence,
    equal_spacing_bound,
    erlang_two,
    optimum,
    randomized_obsolescence,
    schedule_bound,
)
from scenarios import scenario_from
from scenarios.laws import (
    Deterministic,
    Exponential,
    Gamma,
    Hyperexponential,
    Uniform,
)

LAWS = [
    Deterministic(value=1.0),
    Exponential(mean=0.5),
    Gamma(shape=2.0, mean=1.0),
    Uniform(low=0.0, high=3.0),
    Hyperexponential(probabilities=(0.9, 0.1), rates=(1.8, 0.2)),
]
DIGITS = 60

exponents = st.floats(-2.0, 1.0)
problems = st.lists(st.tuples(exponents, exponents), min_size=2, max_size=8).map(
    lambda pairs: tuple(10 ** np.array(pairs).T)
)


def generic(cost: Any, gradient: Any, pages: int) -> float:
    """The least cost on the simplex that SLSQP finds, given the gradient.

    From equal shares first; then from half-way between these and what was found, since its line
    search now and then stops on the way, until it finds nothing better.
    """
    equal = np.full(pages, 1 / pages)
    scale = cost(equal)

    def feasible(share: np.ndarray) -> np.ndarray:
        kept = np.clip(share, 0.0, None)
        return kept / max(kept.sum(), 1.0)

    def found_from(start: np.ndarray) -> np.ndarray:
        found = minimize(
            lambda share: cost(feasible(share)) / scale,
            start,
            jac=lambda share: gradient(np.clip(share, 1e-300, 1.0)) / scale,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * pages,
            constraints=[
                {"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(len(x))}
            ],
            options={"ftol": 1e-16, "maxiter": 2000},
        )
        share = np.clip(found.x, 0.0, None)
        return np.asarray(share / share.sum())

    best = found_from(equal)
    for part in (0.5, 0.1, 0.01):
        again = found_from((1 - part) * best + part * equal)
        best = min(best, again, key=cost)
    return float(cost(best))


def spaced(rates: Any, weights: Any, law: Any) -> tuple[Any, Any]:
    """The cost of (7) and its gradient ``-(c / q) P(2, l / x)``."""
    exponent = log_transform(law, rates)
    q = rates * mean_time(law)

    def cost(share: np.ndarray) -> float:
        return float(weights @ equal_spacing_bound(rates, share, law))

    def gradient(share: np.ndarray) -> np.ndarray:
        return -weights / q * erlang_two(np.minimum(exponent / share, 700.0))

    return cost, gradient


def at_random(rates: Any, weights: Any, law: Any) -> tuple[Any, Any]:
    """The cost of Lemma 4.1 and its gradient ``-(c / q) (b / (b + x))²``."""
    b = 1 / transform(law, rates) - 1
    q = rates * mean_time(law)

    def cost(share: np.ndarray) -> float:
        return float(weights @ randomized_obsolescence(rates, share, law))

    return cost, lambda share: -weights / q * (b / (b + share)) ** 2


@pytest.mark.thorough
@given(problems, st.sampled_from(LAWS))
def test_the_optimum_is_that_of_a_generic_solver(problem: Any, law: Any) -> None:
    """(7) and (12)-(15), both ways to 1e-10; many of the frequencies are 0."""
    rates, weights = problem
    for find, costs in ((best_shares, spaced), (best_random_shares, at_random)):
        cost, gradient = costs(rates, weights, law)
        found = cost(find(rates, weights, law))
        assert generic(cost, gradient, len(rates)) == pytest.approx(found, rel=1e-10)


@pytest.mark.thorough
def test_the_problems_have_frequencies_of_zero_and_a_wrong_one_is_seen() -> None:
    """Of 200 random problems; shares 1 % off are told from the optimum by the same check."""
    generator = np.random.default_rng(6)
    zeros = 0
    for number in range(200):
        rates, weights = 10 ** generator.uniform(-1, 0, size=(2, 5))
        law = LAWS[number % len(LAWS)]
        shares = best_shares(rates, weights, law)
        zeros += int((shares == 0).any())
        cost, gradient = spaced(rates, weights, law)
        least = generic(cost, gradient, 5)
        assert least == pytest.approx(cost(shares), rel=1e-10)
        if (shares > 0.05).sum() > 1:
            first, second = np.flatnonzero(shares > 0.05)[:2]
            moved = shares.copy()
            moved[[first, second]] += [0.01 * shares[first], -0.01 * shares[first]]
            assert cost(moved) > least * (1 + 1e-10)
    assert 50 < zeros < 190


def certificate(rates: Any, weights: Any, law: Any, shares: Any) -> None:
    """``w P(2, l / x)`` is one number over the visited pages, and no other page's w is above it."""
    seen = shares > 0
    w = weights / rates
    multiplier = w[seen] * erlang_two(log_transform(law, rates[seen]) / shares[seen])
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert np.ptp(multiplier) <= 1e-9 * multiplier.max()
    assert np.all(w[~seen] <= multiplier.max() * (1 + 1e-9))


@pytest.mark.parametrize("spread", [0.3, 2.5])
@pytest.mark.parametrize("pages", [1, 8191, 8192, 100_000])
def test_one_page_to_a_hundred_thousand_meet_the_equations(pages: int, spread: float) -> None:
    """Above 8192 pages the search starts from a sample of them."""
    generator = np.random.default_rng(pages)
    rates = generator.lognormal(0.0, spread, size=pages) / pages
    weights = generator.random(pages)
    shares = best_shares(rates, weights, LAWS[2])
    certificate(rates, weights, LAWS[2], shares)
    bound = schedule_bound(rates, weights, LAWS[2])
    assert 0 < bound < float(weights.sum())


def test_a_sample_without_any_page_that_is_worth_a_visit_does_no_harm() -> None:
    """The few pages that matter are not among the sampled ones."""
    rates = np.full(10_000, 1e-4)
    weights = np.full(10_000, 1e-9)
    weights[1::160] = 1.0
    shares = best_shares(rates, weights, LAWS[1])
    certificate(rates, weights, LAWS[1], shares)
    assert np.flatnonzero(shares).tolist() == list(range(1, 10_000, 160))


@pytest.mark.by_day(
    besides=(
        "20000-0.0",
        "20000-1e-14",
        "20000--1e-14",
        "20000-1e-11",
        "20000-1e-08",
        "20000-1e-16",
        "20000--1e-16",
        "20000--1e-11",
    )
)
@pytest.mark.parametrize("offset", [0.0, 1e-16, -1e-16, 1e-14, -1e-14, 1e-11, -1e-11, 1e-8])
@pytest.mark.parametrize("count", [3, 20_000])
def test_a_page_on_the_edge_of_being_visited(offset: float, count: int) -> None:
    """Its w is the multiplier of the others, nearly: its share jumps from 0 there."""
    generator = np.random.default_rng(count)
    rates = generator.gamma(1.0, size=count) / count
    weights = generator.random(count)
    law = LAWS[1]
    shares = best_shares(rates, weights, law)
    best = int(np.argmax(shares))
    multiplier = weights[best] / rates[best]
    multiplier *= float(erlang_two(log_transform(law, rates[best]) / shares[best]))
    rates = np.append(rates, 0.3)
    weights = np.append(weights, 0.3 * multiplier * (1 + offset))
    found = best_shares(rates, weights, law)
    certificate(rates, weights, law, found)
    assert found[:-1] == pytest.approx(shares * (1 - found[-1]), rel=1e-6, abs=1e-9)
    assert 0 <= found[-1] < 0.02


def decimal_obsolescence(mu: Decimal, share: Decimal, shape: int) -> dict[str, Decimal]:
    """Theorem 3.3 and Lemma 4.1 as printed, for Erlang access times of mean 1."""
    h = (1 + mu / shape) ** -shape
    b = 1 / h - 1
    return {
        "bound": 1 - (share / mu) * (1 - (h.ln() / share).exp()),
        "random": 1 - (share / mu) * b / (b + share),
    }


@pytest.mark.parametrize("mu", ["1e-12", "1e-9", "1e-5", "0.01", "1", "30", "1e3", "1e4"])
@pytest.mark.parametrize("pages", [1, 3, 1000, 100_000])
@pytest.mark.parametrize("shape", [1, 4])
def test_no_digit_is_lost(mu: str, pages: int, shape: int) -> None:
    """Bound and random choices at a share of 1 / N, against 60 digits."""
    law = Gamma(shape=float(shape), mean=1.0)
    share = Decimal(1) / pages
    with localcontext() as context:
        context.prec = DIGITS
        exact = decimal_obsolescence(Decimal(mu), share, shape)
    rates = [float(mu)]
    shares = [1.0 / pages]
    bound, random = (
        formula(rates, shares, law)[0] for formula in (equal_spacing_bound, randomized_obsolescence)
    )
    assert bound == pytest.approx(float(exact["bound"]), rel=2e-13)
    assert random == pytest.approx(float(exact["random"]), rel=2e-13)


@pytest.mark.by_day(besides=("100000-1e-12", "100000-1e-6", "100000-1", "100000-1e4"))
@pytest.mark.parametrize("mu", ["1e-12", "1e-6", "1", "1e4"])
@pytest.mark.parametrize("pages", [1, 100, 100_000])
def test_a_round_over_all_pages_keeps_its_digits(mu: str, pages: int) -> None:
    """(3) in turn: distance N for everyone, against 60 digits."""
    law = Exponential(mean=1.0)
    found = cyclic_obsolescence(np.full(pages, float(mu)), np.arange(pages), law)
    with localcontext() as context:
        context.prec = DIGITS
        q = Decimal(mu)
        h = 1 / (1 + Decimal(mu))
        exact = 1 - (1 - h**pages) / (pages * q)
    assert found == pytest.approx(np.full(pages, float(exact)), rel=2e-13)


def decimal_best(rates: list[Decimal], weights: list[Decimal]) -> list[Decimal]:
    """Frequencies of (7) for constant access times of 1, by two nested bisections."""

    def gain(u: Decimal) -> Decimal:
        return 1 - (1 + u) * (-u).exp() if u > Decimal("1e-15") else u * u / 2

    def inverse(p: Decimal) -> Decimal:
        low = Decimal(0)
        high = Decimal(1)
        while gain(high) < p:
            high *= 2
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (middle, high) if gain(middle) < p else (low, middle)
        return high

    w = [weight / rate for weight, rate in zip(weights, rates, strict=True)]
    low = Decimal(0)
    high = max(w)
    for _ in range(150):
        bound = (low + high) / 2
        shares = [
            rate / inverse(bound / each) if each > bound else Decimal(0)
            for rate, each in zip(rates, w, strict=True)
        ]
        low, high = (bound, high) if sum(shares) > 1 else (low, bound)
    return shares


@pytest.mark.thorough
@pytest.mark.parametrize("scale", ["1e-12", "1e-6", "0.5", "20"])
def test_the_best_frequencies_have_twelve_digits(scale: str) -> None:
    """Five pages, one of them not worth a visit; nested bisections with 60 digits."""
    factors = ["1", "3", "0.2", "7", "2"]
    weights = ["1", "2", "0.7", "3", "1e-7"]
    with localcontext() as context:
        context.prec = DIGITS
        rates = [Decimal(scale) * Decimal(each) for each in factors]
        exact = decimal_best(rates, [Decimal(each) for each in weights])
    found = best_shares([float(r) for r in rates], [float(c) for c in weights], LAWS[0])
    assert found == pytest.approx([float(each) for each in exact], rel=1e-12, abs=1e-300)
    assert (found[-1] == 0) == (exact[-1] == 0)


@pytest.mark.parametrize(("rates", "weights"), [([1.0, 2.0], [1.0]), ([], []), ([[1.0]], [[1.0]])])
def test_pages_without_a_weight_each_are_refused(rates: Any, weights: Any) -> None:
    for function in (best_shares, best_random_shares, schedule_bound):
        with pytest.raises(ValueError, match="as many as the pages"):
            function(rates, weights, Deterministic(value=1.0))


def test_a_bound_is_below_the_cost_of_the_very_sequence_however_long() -> None:
    """Whittle in turn among 57 pages: distances are equal, so that the bound is nearly the cost."""
    scenario = resolve(
        scenario_from(
            {
                "name": "pages",
                "pages": {
                    "change_rates": {"zipf": {"pages": 60, "exponent": 1.0, "total": 2.0}},
                    "weights": "uniform",
                },
                "robots": {
                    "available": 1,
                    "access_time": {"deterministic": {"value": 1.0}},
                    "accessing": {"policy": "whittle"},
                },
                "run": {"horizon": 1e6, "warmup": 250_000.0},
            }
        )
    )
    found = {
        row.source: row.value
        for row in predict(scenario)[0]
        if row.measure == "weighted_obsolescence"
    }
    assert found["coffman1998 Theorem 3.3"] < found["coffman1998 (3), slot by slot"]
    assert found["coffman1998 Theorem 3.3"] > 0.99 * found["coffman1998 (3), slot by slot"]


def two_page_optimum(rates: tuple[float, float], weights: tuple[float, float]) -> float:
    """Least cost of two pages at constant access times, by search over the share of the first."""
    mu = np.array(rates)
    c = np.array(weights)

    def cost(share: float) -> float:
        return float(c @ equal_spacing_bound(mu, [share, 1.0 - share], Deterministic(value=1.0)))

    grid = np.concatenate([np.logspace(-14, -1, 400), np.linspace(0.1, 0.9, 400)])
    grid = np.unique(np.concatenate([[0.0], grid, 1.0 - grid, [1.0]]))
    costs = np.array([cost(share) for share in grid])
    best = int(costs.argmin())
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-15})
    return min(float(found.fun), float(costs[best]))


@pytest.mark.by_day(every=8)
@pytest.mark.parametrize("often", [38.0, 40.0, 45.0, 50.0, 100.0, 700.0, 7554.0, 1e4])
@pytest.mark.parametrize("rarely", [1e-2, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.3)])
def test_pages_that_always_change_are_not_given_up_for_nothing(
    often: float, rarely: float, weights: tuple[float, float]
) -> None:
    """Their index is that of the multiplier to the last bit, which does not tell their share."""
    rates = (often, rarely)
    law = Deterministic(value=1.0)
    shares = best_shares(rates, weights, law)
    mine = float(np.array(weights) @ equal_spacing_bound(rates, shares, law))
    least = two_page_optimum(rates, weights)
    assert shares.sum() == pytest.approx(1.0, abs=1e-14)
    assert mine <= least * (1 + 1e-10)
    assert schedule_bound(rates, weights, law) <= least * (1 + 1e-12)


@pytest.mark.thorough
def test_busy_pages_beside_quiet_ones_in_numbers() -> None:
    """Random systems with loads up to 1e4: no generic search around the optimum finds less."""
    generator = np.random.default_rng(8)
    law = Deterministic(value=1.0)
    for _ in range(200):
        count = int(generator.integers(2, 6))
        rates = 10.0 ** generator.uniform(-12, 4, size=count)
        weights = generator.random(count) + 0.01
        shares = best_shares(rates, weights, law)
        cost = float(weights @ equal_spacing_bound(rates, shares, law))
        for _ in range(60):
            one, other = generator.choice(count, 2, replace=False)
            moved = shares.copy()
            step = moved[one] * generator.choice([1.0, 0.5, 1e-2, 1e-4])
            moved[one] -= step
            moved[other] += step
            moved = np.clip(moved, 0.0, None)
            tried = float(weights @ equal_spacing_bound(rates, moved / moved.sum(), law))
            assert tried >= cost * (1 - 1e-12)


def test_shares_that_miss_one_are_never_scaled_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimum, "_low_enough", lambda low, *_: low)
    with pytest.raises(ArithmeticError, match="beside the optimum"):
        best_shares([45.0, 1e-4], [1.0, 1.0], Deterministic(value=1.0))


@pytest.mark.parametrize("policy", ["whittle", "deficit", "deadline", "billiard", "crawl-value"])
@pytest.mark.parametrize("accesses", [30, 100, 1000])
def test_no_bound_is_above_the_cost_of_a_short_run(policy: str, accesses: int) -> None:
    """Copies are as good as new at the start of a window; in a short one that counts."""
    accessing = {"policy": policy}
    if policy not in ("whittle", "crawl-value"):
        accessing["frequencies"] = "optimal"
    for weights in ("uniform", "change-rate"):
        scenario = scenario_from(
            {
                "name": "short",
                "pages": {
                    "change_rates": {"zipf": {"pages": 40, "exponent": 1.0, "total": 3.0}},
                    "weights": weights,
                },
                "robots": {
                    "available": 1,
                    "access_time": {"exponential": {"mean": 1.0}},
                    "accessing": accessing,
                },
                "run": {"horizon": accesses + 60.0, "warmup": 60.0},
            }
        )
        rows = [r for r in predict(resolve(scenario))[0] if r.measure == "weighted_obsolescence"]
        (exact,) = [row.value for row in rows if row.kind == "exact"]
        bounds = [row.value for row in rows if row.kind == "lower bound"]
        assert len(bounds) >= 2
        assert max(bounds) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("policy", ["deficit", "balanced", "deadline", "billiard"])
def test_what_a_plan_gives_in_the_long_run_does_not_depend_on_the_window(policy: str) -> None:
    """The share of page 1 was 0.07 in a window of 330 accesses, of which the file gives 0.0677."""
    frequencies = [0.1313, 0.0677, 0.2885, 0.3825, 0.13]
    scenario = scenario_from(
        {
            "name": "plan",
            "pages": {"change_rates": [0.3, 0.1, 0.3, 0.04, 0.4]},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": policy, "frequencies": frequencies},
            },
        }
    )
    answers = []
    for horizon in (130.0, 330.0, 100_030.0):
        shown = scenario.with_({"run.horizon": horizon, "run.warmup": 30.0})
        rows, _ = predict(shown)
        answers.append([(row.measure, row.subject, row.value) for row in rows])
    assert answers[0] == answers[1] == answers[2]
    shares = {
        subject: value for measure, subject, value in answers[0] if measure == "crawl_frequency"
    }
    assert [shares[page] for page in range(5)] == pytest.approx(frequencies, rel=1e-12)
    short = scenario.with_({"run.horizon": 330.0, "run.warmup": 30.0, "run.replications": 10})
    long = scenario.with_({"run.horizon": 20_000.0, "run.warmup": 30.0, "run.replications": 10})
    for run, allowed in ((short, {"agrees", "inconclusive"}), (long, {"agrees"})):
        rows = check_scenario(run, predict(run)[0], sim.run(run))
        assert {row.verdict for row in rows if row.measure == "crawl_frequency"} <= allowed
        assert "disagrees" not in {row.verdict for row in rows}
