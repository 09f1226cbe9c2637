"""Rules that share out a budget: their optimality, and the limits that they keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import DAY, Limits, Worth
from scenarios import ScenarioError
from scenarios.arrays import Array


def limits(budget: float, pages: int, **others: object) -> Limits:
    free = {
        "least": 0.0,
        "most": np.inf,
        "host": np.zeros(pages, np.int64),
        "host_budgets": np.full(1, np.inf),
    }
    return Limits(budget, **(free | others))  # type: ignore[arg-type]


def known(rates: Array, visits_of_a_page: float) -> Worth:
    """The worth of visits of pages whose rates are known."""
    logs = allocation.visit_grid(visits_of_a_page)
    return Worth(logs, allocation.values_of_visits(np.eye(len(rates)), rates, logs))


def stale(visits: Array, rates: Array) -> Array:
    ratio = rates / visits
    return 1 + np.expm1(-ratio) / ratio


def test_the_harmonic_rule_is_that_of_lambdacrawl() -> None:
    """Against the root of its equation, found page by page by another method."""
    rng = np.random.default_rng(1)
    rates = rng.gamma(0.5, 2.0, 200)
    weights = rng.uniform(0.1, 3.0, 200)
    found = allocation.by_harmonic_cost(rates, weights, limits(50.0, 200))

    def visits(price: float) -> Array:
        return (-rates + np.sqrt(rates**2 + 4 * weights * rates / price)) / 2

    price = optimize.brentq(lambda each: visits(each).sum() - 50.0, 1e-6, 1e6, xtol=1e-15)
    np.testing.assert_allclose(found / 50.0, visits(price) / 50.0, rtol=0, atol=1e-10)
    assert found.sum() == pytest.approx(50.0, rel=1e-10)


def test_the_harmonic_rule_costs_least() -> None:
    rng = np.random.default_rng(2)
    rates = rng.gamma(0.5, 2.0, 40)
    weights = rng.uniform(0.5, 2.0, 40)
    best = allocation.by_harmonic_cost(rates, weights, limits(10.0, 40))

    def cost(visits: Array) -> float:
        return float(-(weights * np.log(visits / (visits + rates))).sum())

    for _ in range(200):
        other = best * np.exp(rng.normal(0, 0.1, 40))
        assert cost(other * 10.0 / other.sum()) > cost(best)


def test_visits_by_freshness_leave_the_least_stale() -> None:
    rng = np.random.default_rng(3)
    rates = np.exp(rng.normal(0, 1, 50))
    best = allocation.by_freshness(known(rates, 0.4), np.ones(50), limits(20.0, 50))
    exact = optimize.minimize(
        lambda logs: stale(np.exp(logs) * 20.0 / np.exp(logs).sum(), rates).sum(), np.log(best)
    ).fun
    assert stale(best, rates).sum() == pytest.approx(exact, rel=1e-3)
    assert stale(best, rates).sum() < 0.96 * stale(np.full(50, 0.4), rates).sum()


def test_random_visits_are_freshest_by_azars_rule() -> None:
    rng = np.random.default_rng(4)
    rates = np.exp(rng.normal(0, 1, 30))
    best = allocation.by_random_visits(rates, np.ones(30), limits(9.0, 30))

    def fresh(visits: Array) -> float:
        return float((visits / (visits + rates)).sum())

    for _ in range(200):
        other = np.maximum(best + rng.normal(0, 0.02, 30), 0)
        assert fresh(other * 9.0 / other.sum()) < fresh(best)


@given(
    seed=st.integers(0, 10_000),
    spread=st.floats(0.0, 3.0),
    tight=st.floats(1.02, 20.0),
    hosts=st.integers(1, 6),
)
def test_limits_are_kept_and_the_budget_is_spent(
    seed: int, spread: float, tight: float, hosts: int
) -> None:
    rng = np.random.default_rng(seed)
    pages = int(rng.integers(2, 60))
    rates = np.exp(rng.normal(0, spread, pages))
    budget = float(pages * rng.uniform(0.1, 10.0))
    mean = budget / pages
    host = rng.integers(0, hosts, pages)
    on_host = np.bincount(host, minlength=hosts)
    host_budgets = np.where(rng.random(hosts) < 0.5, on_host * mean * tight, np.inf)
    asked = limits(
        budget, pages, least=mean / tight, most=mean * tight, host=host, host_budgets=host_budgets
    )
    allocation.refuse_what_cannot_be(asked, np.arange(hosts).astype(object))
    for visits in (
        allocation.by_freshness(known(rates, mean), np.ones(pages), asked),
        allocation.by_harmonic_cost(rates, np.ones(pages), asked),
        allocation.in_proportion(rates, asked),
        allocation.evenly(asked),
    ):
        assert visits.sum() == pytest.approx(budget, rel=1e-6)
        assert (visits >= asked.least).all()
        assert (visits <= asked.most).all()
        assert (np.bincount(host, visits, hosts) <= host_budgets * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("others", "option", "words"),
    [
        ({"least": 1.0}, "--max", "need at least"),
        ({"most": 0.01}, "--visits", "no more often than"),
        ({"host_budgets": np.array([0.5])}, "--visits", "no more often than 43200/day"),
        ({"least": 0.01, "host_budgets": np.array([0.05])}, "--max", "the pages of h.example"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(
    others: dict[str, object], option: str, words: str
) -> None:
    with pytest.raises(ScenarioError, match=words) as caught:
        allocation.refuse_what_cannot_be(limits(1.0, 10, **others), np.array(["h.example"], object))
    assert caught.value.key == option


def test_the_least_budget_that_is_named_is_enough() -> None:
    with pytest.raises(ScenarioError) as caught:
        allocation.refuse_what_cannot_be(
            limits(1.0, 7, least=0.37), np.array(["h.example"], object)
        )
    named = float(str(caught.value).split("at least ")[1].split()[0]) / 86400
    allocation.refuse_what_cannot_be(limits(named, 7, least=0.37), np.array(["h"], object))
    assert named == pytest.approx(7 * 0.37, rel=1e-4)


def test_tiers_spend_the_budget() -> None:
    rng = np.random.default_rng(5)
    tiers = 1 / np.array([30.0, 7.0, 1.0])
    visits = np.clip(np.exp(rng.normal(-2, 1, 500)), tiers[0], tiers[-1])
    found = allocation.in_tiers(visits, tiers, limits(float(visits.sum()), len(visits)))
    assert set(np.round(1 / found).astype(int)) <= {1, 7, 30}
    assert 0 <= visits.sum() - found.sum() < 1.0
    order = np.argsort(visits)
    assert (np.diff(found[order]) >= 0).all()


FULL = {
    **allocation.RULES_OF_OTHERS,
    "delay": allocation.by_delay,
    "freshness": lambda rates, weights, kept: allocation.by_freshness(
        known(rates, 0.1 / DAY), weights, kept
    ),
}


@pytest.mark.parametrize("more", [0.0, 5e-10])
@pytest.mark.parametrize("rule", FULL)
def test_a_budget_of_all_that_the_limits_allow_is_spent(rule: str, more: float) -> None:
    """To the last bit, and beyond it by rounding: no price is low enough for that."""
    host = np.repeat([0, 1], 5)
    kept = limits(
        0.7 / DAY, 10, most=0.1 / DAY, host=host, host_budgets=np.array([0.2, np.inf]) / DAY
    )
    assert allocation.most_possible(kept) == pytest.approx(0.7 / DAY)
    kept = replace(kept, budget=0.7 / DAY * (1 + more))
    allocation.refuse_what_cannot_be(kept, np.array(["a.org", "b.org"], object))
    rates = np.linspace(0.1, 1.0, 10) / DAY
    found = FULL[rule](rates, np.linspace(1.0, 3.0, 10), kept)
    np.testing.assert_allclose(found[5:], 0.1 / DAY, rtol=1e-6)
    assert found[:5].sum() == pytest.approx(0.2 / DAY, rel=1e-6)
