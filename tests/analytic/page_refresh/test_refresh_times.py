"""How long a change stays unseen: quantiles against integrals, chains and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.stats import gamma

import sim
from analytic import check_scenario, predict
from analytic.page_refresh.formulas import gaps_of_plan
from analytic.page_refresh.refresh_times import (
    Gaps,
    quantiles,
    unseen_between,
    unseen_between_draws,
)
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.laws import Deterministic, Erlang, Exponential, Gamma

MEAN, QUANTILE = "time_to_refresh", "time_to_refresh_quantile"

PAGES: dict[str, Any] = {
    "name": "refreshed",
    "pages": {"change_rates": [0.3, 0.2, 0.1, 0.0], "refresh_quantiles": [0.5, 0.9]},
    "robots": {
        "available": 1,
        "access_time": {"erlang": {"shape": 2, "mean": 0.5}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 0, 2, 0, 3]},
    },
    "run": {"horizon": 10000.0, "warmup": 200.0, "replications": 20},
}
DRAWN = {"policy": "randomized", "frequencies": [0.4, 0.3, 0.2, 0.1]}
CONSTANT = {"deterministic": {"value": 0.5}}
EXPONENTIAL = {"exponential": {"mean": 0.5}}


def pages(changes: dict[str, Any] | None = None) -> Scenario:
    return scenario_from(PAGES).with_(changes or {})


def one_gap(mu: float, accesses: float, away: float = 0.0) -> Gaps:
    return Gaps(np.array([0]), np.ones(1), np.array([mu]), np.array([accesses]), away=away)


@pytest.mark.parametrize("time", [0.0, 0.3, 2.0, 6.0])
@pytest.mark.parametrize("away", [0.0, 1.5])
@pytest.mark.parametrize("mu", [1e-7, 0.4, 30.0])
@pytest.mark.parametrize(
    ("law", "accesses"),
    [(Exponential(mean=0.7), 1), (Erlang(shape=3, mean=0.5), 4), (Gamma(shape=0.6, mean=2.0), 2)],
    ids=["exponential", "erlang", "gamma"],
)
def test_gamma_gaps_bring_what_the_integral_says(
    law: Any, accesses: int, mu: float, away: float, time: float
) -> None:
    shape = law.shape_parameter if not isinstance(law, Exponential) else 1.0
    scale = (0.7 if isinstance(law, Exponential) else law.mean) / shape
    total = gamma(accesses * shape, scale=scale)
    start = max(time - away, 0.0)
    expected, _ = quad(
        lambda gap: -np.expm1(-mu * (gap + away - time)) * total.pdf(gap),
        start,
        start + total.mean() + 40.0 * total.std(),
        points=[start + total.mean()],
        limit=400,
        epsabs=0.0,
        epsrel=1e-9,
    )
    unseen = unseen_between(one_gap(mu, accesses, away), law, 1)
    assert unseen(np.array([time]))[0] == pytest.approx(expected, rel=2e-6, abs=1e-15)


def test_constant_gaps_bring_what_is_left_of_them() -> None:
    unseen = unseen_between(one_gap(0.4, 6, away=1.0), Deterministic(value=0.5), 1)
    assert unseen(np.array([1.5]))[0] == pytest.approx(1.0 - np.exp(-0.4 * 2.5), rel=1e-14)
    assert unseen(np.array([4.0]))[0] == 0.0


def test_draws_of_constant_accesses_are_summed_to_their_end() -> None:
    shares, mu, access = np.array([0.3, 0.01]), np.array([0.8, 0.02]), 0.5
    unseen = unseen_between_draws(shares, mu, access)
    number = np.arange(1, 6000)[:, None]
    for time in (0.0, 0.2, 0.5, 7.3):
        left = np.maximum(number * access - time, 0.0)
        terms = shares * (1.0 - shares) ** (number - 1) * -np.expm1(-mu * left)
        expected = shares / access * terms.sum(axis=0)
        assert unseen(np.full(2, time)) == pytest.approx(expected, rel=1e-12)


def test_a_plan_is_cut_into_the_gaps_that_end_in_it() -> None:
    page, distance, slots = gaps_of_plan(2, np.array([0, 1, 0, 0, 2]))
    gaps = sorted(zip(page.tolist(), distance.tolist(), strict=True))
    assert (gaps, slots) == ([(0, 1.0), (0, 2.0), (2, 5.0)], 3)


def test_a_page_that_is_never_fetched_has_no_quantile() -> None:
    unseen = unseen_between_draws(np.array([1.0, 0.0]), np.array([0.2, 0.2]), 1.0)
    of_all, of_each = quantiles(unseen, 2, [0.5])
    assert of_each[0] == pytest.approx(of_all)
    assert np.isnan(of_each[1, 0])


@pytest.mark.parametrize(
    ("changes", "exact"),
    [
        ({}, True),
        ({"robots.access_time": CONSTANT}, True),
        ({"robots.accessing": DRAWN, "robots.access_time": CONSTANT}, True),
        ({"robots.accessing": DRAWN, "robots.access_time": EXPONENTIAL}, True),
        (
            {
                "robots.available": 2,
                "robots.accessing": DRAWN,
                "robots.access_time": EXPONENTIAL,
                "robots.failure": {"probability": 0.3, "retries": 1},
            },
            True,
        ),
        ({"robots.accessing": {"policy": "golden-ratio", "frequencies": "uniform"}}, True),
        ({"robots.accessing": {"policy": "due", "intervals": [1.0, 2.0, 0.5, 4.0]}}, False),
        (
            {
                "robots.available": 4,
                "robots.accessing": {"policy": "due", "intervals": [1.0, 2.0, 0.5, 4.0]},
            },
            True,
        ),
        (
            {
                "robots.available": 2,
                "robots.access_time": EXPONENTIAL,
                "robots.accessing": {"policy": "due", "intervals": [1.0, 2.0, 0.5, 4.0]},
            },
            True,
        ),
        ({"robots.accessing": DRAWN}, False),
        ({"robots.available": 2, "robots.access_time": EXPONENTIAL}, False),
        ({"robots.failure.probability": 0.2, "robots.access_time": EXPONENTIAL}, False),
        ({"buffer": {"waiting_places": 3, "service": EXPONENTIAL}}, False),
        ({"index.commit_interval": 2.0}, False),
    ],
)
def test_simulation_could_have_refuted_them(changes: dict[str, Any], exact: bool) -> None:
    scenario = pages(changes)
    predictions, others = predict(scenario)
    known = {each.measure for each in predictions}
    assert (QUANTILE in known) == exact
    if not exact and scenario.model.commits is None:
        assert any(each.quantity.startswith("quantiles of the time") for each in others)
    results = sim.run(scenario, seed=5)
    rows = check_scenario(scenario, predictions, results)
    assert "disagrees" not in {row.verdict for row in rows}
    for subject in ("0.5", "2 0.9"):
        row = results.find(QUANTILE, subject)
        assert row.low < row.estimate < row.high
    if exact:
        seen = [row for row in rows if row.measure == QUANTILE]
        assert {"0.5", "0.9", "0 0.5", "2 0.9"} <= {row.subject for row in seen}
        assert all(abs(row.z) < 4.5 for row in seen)
        wrong = [
            row
            for row in seen
            if abs(0.93 * row.predicted - row.estimated) > 4.5 * row.standard_error
        ]
        assert len(wrong) > len(seen) / 2  # an error of 7 % would be seen in most of them


def test_the_closed_network_against_a_chain() -> None:
    """Three pages with exponential intervals would differ; with one page nobody is ahead."""
    away, mean, mu = 2.0, 0.8, 0.3
    scenario = pages(
        {
            "pages": {"change_rates": [mu, 0.2], "refresh_quantiles": [0.3, 0.95]},
            "robots.access_time": {"exponential": {"mean": mean}},
            "robots.accessing": {"policy": "due", "intervals": [away, 5.0]},
        }
    )
    found = {each.subject: each.value for each in predict(scenario)[0] if each.measure == QUANTILE}
    # Page 0 finds the other at the robot with probability q: then it waits for the rest of that
    # access, which is as long as a whole one. Phases: waits, is accessed.
    weights = np.array([5.0, mean])  # of page 1 in its interval, or at the robot
    q = weights[1] / weights.sum()
    generator = np.array([[-1.0 / mean, 1.0 / mean], [0.0, -1.0 / mean]])
    start = np.array([q, 1.0 - q])
    exit_rates = -generator.sum(axis=1)

    def longer(time: float) -> float:
        discount = np.linalg.solve(mu * np.eye(2) - generator, exit_rates)
        if time < away:
            return 1.0 - np.exp(-mu * (away - time)) * float(start @ discount)
        return float(start @ expm(generator * (time - away)) @ (1.0 - discount))

    for share in (0.3, 0.95):
        assert longer(found[f"0 {share}"]) / longer(0.0) == pytest.approx(1.0 - share, rel=1e-9)


def test_a_buffer_lets_changes_wait_together() -> None:
    """More changes are waited for than begin while a page is up to date; each for less."""
    scenario = pages({"buffer": {"waiting_places": 6, "service": {"exponential": {"mean": 0.48}}}})
    results = sim.run(scenario, seed=2)
    stale, waited = (results.find(measure, 0) for measure in ("obsolescence_rate", MEAN))
    alone = stale.estimate / (0.3 * (1.0 - stale.estimate))
    assert waited.high < 0.9 * alone


def test_quantiles_must_increase() -> None:
    with pytest.raises(ScenarioError, match="refresh_quantiles"):
        pages({"pages.refresh_quantiles": [0.9, 0.5]})
