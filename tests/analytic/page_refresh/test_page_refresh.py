"""Obsolescence of pages without a buffer: hand numbers, oracles, limits, simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, getcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

import sim
from analytic import compare, overall, predict
from analytic.machinery.transforms import exc
from analytic.page_refresh import (
    crawl_rates,
    cyclic_obsolescence,
    equal_spacing_bound,
    interaccess_obsolescence,
    randomized_obsolescence,
    slot_distances,
    stale_answers,
)
from scenarios import Scenario, load, scenario_from
from scenarios.laws import Deterministic, Exponential, Gamma

getcontext().prec = 60

LAWS: dict[str, dict[str, Any]] = {
    "deterministic": {"value": 1.0},
    "exponential": {"mean": 1.0},
    "erlang": {"shape": 3, "mean": 1.0},
    "gamma": {"shape": 0.5, "mean": 1.0},
    "uniform": {"low": 0.0, "high": 2.0},
    "hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.8, 0.2]},
    "phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]},
    "empirical": {"values": [0.1, 0.4, 2.5]},
}


def system(law: str, accessing: dict[str, Any], **more: Any) -> Scenario:
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": [0.6, 0.3, 0.15]},
            "robots": {"available": 1, "access_time": {law: LAWS[law]}, "accessing": accessing},
            "clients": {"query_rate": 1.0},
            "run": {"horizon": 6000.0, "warmup": 60.0, "replications": 20, "seed": 8},
            **more,
        }
    )


def test_distances_by_hand() -> None:
    page, distance = slot_distances([0, 1, 0, 2, 0], 4)
    assert page.tolist() == [0, 0, 0, 1, 2]
    assert distance.tolist() == [2, 2, 1, 5, 5]


def test_constant_accesses_by_hand() -> None:
    """Page fetched every 2 units, rate 0.5: stale for exc(1) / 1 = e^-1 of the time."""
    rates = cyclic_obsolescence([0.5, 0.0, 1.0], [0, 1], Deterministic(value=1.0))
    assert rates.tolist() == pytest.approx([math.exp(-1), 0.0, 1.0])


def test_random_choices_with_exponential_accesses_by_hand() -> None:
    """Page i is refreshed as a Poisson process of rate f / m: r = mu / (mu + f / m)."""
    rates = randomized_obsolescence([0.5, 2.0], [0.25, 0.75], Exponential(mean=0.5))
    assert rates.tolist() == pytest.approx([0.5 / 1.0, 2.0 / 3.5])


@pytest.mark.parametrize(
    ("cycle", "says"),
    [([0, 4], "has page 4; pages are numbered 0 … 3"), ([-1], "has page -1"), ([], "is empty")],
)
def test_a_cycle_with_a_page_that_is_not_there_is_refused(cycle: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cyclic_obsolescence([1.0, 1.0, 1.0, 1.0], cycle, Exponential(mean=1.0))


@pytest.mark.parametrize("formula", [randomized_obsolescence, equal_spacing_bound])
def test_shares_of_more_than_all_accesses_are_refused(formula: Callable[..., Any]) -> None:
    law = Exponential(mean=1.0)
    with pytest.raises(ValueError, match=r"sum to at most 1, not to 1\.2"):
        formula([0.2, 0.1], [0.5, 0.7], law)
    with pytest.raises(ValueError, match="must be >= 0"):
        formula([0.2, 0.1], [-0.1, 0.7], law)
    with pytest.raises(ValueError, match="must be >= 0"):
        formula([0.2, 0.1], [math.nan, 0.7], law)
    with pytest.raises(ValueError, match="sum to at most 1"):
        crawl_rates([0.5, 0.7], law, 1)


def decimal_cyclic(mu: str, shape: int, distances: list[int]) -> float:
    """(3) as printed, with 60 digits, for Erlang access times of mean 1."""
    h = (1 + Decimal(mu) / shape) ** -shape
    total = sum(d * Decimal(mu) - (1 - h**d) for d in distances)
    return float(total / (sum(distances) * Decimal(mu)))


@pytest.mark.parametrize("mu", ["1e-12", "1e-6", "0.01", "1", "50", "1e4"])
@pytest.mark.parametrize("shape", [1, 4])
def test_digits_hold_for_tiny_and_huge_change_rates(mu: str, shape: int) -> None:
    law = Gamma(shape=float(shape), mean=1.0)
    cycle = [0, 0, 1, 1, 1]
    found = cyclic_obsolescence([float(mu), 1.0], cycle, law)[0]
    assert found == pytest.approx(decimal_cyclic(mu, shape, [1, 4]), rel=1e-12)
    h = (1 + Decimal(mu) / shape) ** -shape
    f = Decimal("0.375")
    q = Decimal(mu)
    b = 1 / h - 1
    random = randomized_obsolescence([float(mu)], [0.375], law)[0]
    assert random == pytest.approx(float(1 - f / q * b / (b + f)), rel=1e-12)


def mean_of(law: str) -> float:
    phases = LAWS["phase-type"]
    if law == "phase-type":
        inverse = np.linalg.inv(-np.array(phases["T"]))
        return float(np.array(phases["alpha"]) @ inverse.sum(axis=1))
    return 1.0


@settings(max_examples=examples(60))
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
    st.floats(1e-3, 20.0),
    st.sampled_from(sorted(LAWS)),
)
def test_the_stable_form_is_the_sum_of_lemma_3_1_over_the_slots(
    template: list[int], mu: float, law: str
) -> None:
    """Slot by slot, ``mu E Z = d q - (1 - h^d)``, from the distances of an unrolled schedule."""
    made = system(law, {"policy": "cyclic", "template": [0]}).robots
    access = made.access_time if made else None
    sample = cyclic_obsolescence(np.full(4, mu), template, access)
    unrolled = template * 3
    for page in set(template):
        slots = [i for i, each in enumerate(unrolled) if each == page]
        gaps = [b - a for a, b in pairwise(slots)][: template.count(page)]
        parts = interaccess_obsolescence(mu, gaps, access)
        cycle_time = len(template) * mean_of(law)
        assert sample[page] == pytest.approx(parts.sum() / (mu * cycle_time), rel=1e-10)


@settings(max_examples=examples(100))
@given(
    st.lists(st.integers(0, 2), min_size=3, max_size=14),
    st.floats(1e-2, 10.0),
    st.sampled_from(["deterministic", "exponential", "gamma"]),
)
def test_no_schedule_beats_the_bound_and_equal_spacing_attains_it(
    template: list[int], mu: float, law: str
) -> None:
    access = system(law, {"policy": "cyclic", "template": [0]}).robots.access_time
    shares = np.bincount(template, minlength=3) / len(template)
    rates = cyclic_obsolescence(np.full(3, mu), template, access)
    bound = equal_spacing_bound(np.full(3, mu), shares, access)
    assert np.all(rates >= bound * (1 - 1e-12))
    even = cyclic_obsolescence(np.full(3, mu), [0, 1, 2], access)
    equal = equal_spacing_bound(np.full(3, mu), np.full(3, 1 / 3), access)
    assert even == pytest.approx(equal, rel=1e-12)


def test_spreading_accesses_evenly_helps() -> None:
    """Theorem 3.2 (Schur convexity): 3 + 1 slots between two accesses are worse than 2 + 2."""
    law = Exponential(mean=1.0)
    uneven = interaccess_obsolescence(0.3, [3, 1], law).sum()
    assert uneven > interaccess_obsolescence(0.3, [2, 2], law).sum()


def test_246_equal_pages_refute_the_printed_five_per_cent() -> None:
    """Exact ratio 1.1014 (docs/errata.md); the printed bound is 2 phi² / 5 = 1.0472."""
    scenario = load("golden-ratio-246")
    rows = {(p.measure, p.kind): p.value for p in predict(scenario)[0] if p.subject is None}
    ratio = rows["weighted_obsolescence", "exact"] / (0.1 * exc(0.1) / 0.1)
    assert round(float(ratio), 4) == 1.1014
    assert ratio > 1.0472


def test_stale_answers_weigh_the_pages() -> None:
    assert stale_answers([0.2, 0.6], [3.0, 1.0]) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"robots.available": 2}, "2 robots share the sequence of pages"),
        ({"activation.static": 0}, "no robot is active"),
        (
            {"robots.access_time": {"map": {"D0": [[-1.0]], "D1": [[1.0]]}}},
            "access times are not independent",
        ),
        (
            {"robots.deliveries.modes": [{"poisson": {"rate": 1.0}}]},
            "deliveries are a joint process",
        ),
        (
            {"buffer": {"waiting_places": 2, "service": {"exponential": {"rate": 2.0}}}},
            "deliveries wait in a [buffer]",
        ),
    ],
)
def test_formulas_say_why_they_do_not_apply(changes: dict[str, Any], reason: str) -> None:
    scenario = system("erlang", {"policy": "round-robin"}).with_(changes)
    reasons = {other.source: other.reason for other in predict(scenario)[1]}
    assert reasons["coffman1998 (3)"] == reason


def test_staleness_and_robots_have_their_prices() -> None:
    """Three robots are one that is three times as fast: r = mu / (mu + 3 f / m), weights mu."""
    scenario = system("exponential", {"policy": "randomized", "frequencies": [0.5, 0.3, 0.2]})
    scenario = scenario.with_(
        {"robots.available": 3, "costs.staleness": 5.0, "costs.robots": 0.7, "clients": None}
    )
    stale = 0.6 * 0.6 / 2.1 + 0.3 * 0.3 / 1.2 + 0.15 * 0.15 / 0.75
    (cost,) = [p.value for p in predict(scenario)[0] if p.measure == "control_cost"]
    assert cost == pytest.approx(5.0 * stale + 0.7 * 3)


def verdict(simulated: Scenario, predicted: Scenario) -> str:
    assert predicted.pages is not None
    found = sim.run(simulated)
    return overall(compare(predict(predicted)[0], found, (), predicted.model.pages.weights))


POLICIES: dict[str, dict[str, Any]] = {
    "cyclic": {"policy": "cyclic", "template": [0, 1, 0, 0, 2]},
    "randomized": {"policy": "randomized", "frequencies": [0.5, 0.3, 0.2]},
    "golden-ratio": {"policy": "golden-ratio", "frequencies": [0.6, 0.25, 0.15]},
}


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_and_no_law_disagrees(policy: str, law: str) -> None:
    """Family error 1e-3, seed 8; errors of some 4 % of an obsolescence rate would be seen."""
    scenario = system(law, POLICIES[policy])
    assert verdict(scenario, scenario) != "disagrees"


@pytest.mark.statistical
@pytest.mark.parametrize(
    "error",
    [
        {"pages.change_rates": [0.6 * 1.03, 0.3 * 1.03, 0.15 * 1.03]},
        {"robots.accessing.template": [0, 0, 0, 1, 2]},
        {"robots.access_time.erlang.shape": 1},
    ],
    ids=str,
)
def test_a_planted_error_disagrees(error: dict[str, Any]) -> None:
    """Change rates + 3 %, one page of the template swapped, exponential for Erlang accesses."""
    true = system("erlang", POLICIES["cyclic"]).with_({"run.horizon": 40_000.0})
    assert verdict(true.with_(error), true) == "disagrees"


@pytest.mark.statistical
def test_a_bound_above_the_truth_disagrees() -> None:
    """The bound of a third more frequent page 0 is violated by the true schedule's page 1."""
    true = system("erlang", {"policy": "round-robin"})
    wrong = true.with_({"robots.accessing": {"policy": "cyclic", "template": [0, 1, 2, 1]}})
    bounds = [p for p in predict(true)[0] if p.kind == "lower bound" and p.measure[0] == "o"]
    assert overall(compare(bounds, sim.run(true))) != "disagrees"
    assert overall(compare(bounds, sim.run(wrong))) == "disagrees"
