"""Visits of crawlers in use: their formulas, and the comparison in docs/."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.optimize import minimize

from experiments import crawler_comparison
from experiments.crawlers import (
    adaptive_changed_share,
    adaptive_intervals,
    harmonic_rates,
    random_visit_rates,
)

ROOT = Path(__file__).parents[2]

numbers = st.floats(1e-3, 1e3)
problems = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8).map(
    lambda pairs: (np.array(pairs)[:, 0], np.array(pairs)[:, 1])
)


@given(problems, st.floats(1e-3, 1e3))
def test_random_visits_meet_the_equations_of_azar(problem: Any, budget: float) -> None:
    """``f = (sqrt(c mu / lambda) - mu)^+`` with one lambda, and the whole budget is used."""
    rates, weights = problem
    visits = random_visit_rates(rates, weights, budget)
    assert visits.sum() == pytest.approx(budget, rel=1e-12)
    seen = visits > 0
    multiplier = (weights * rates)[seen] / (visits + rates)[seen] ** 2
    assert np.ptp(multiplier) <= 1e-9 * multiplier.max()
    assert np.all((weights / rates)[~seen] <= multiplier.max() * (1 + 1e-9))


@given(problems, st.floats(1e-6, 1e6))
def test_harmonic_visits_meet_theirs(problem: Any, budget: float) -> None:
    """``c mu / (f (f + mu))`` is one number, and every page gets some visits."""
    rates, weights = problem
    visits = harmonic_rates(rates, weights, budget)
    assert visits.sum() == pytest.approx(budget, rel=1e-12)
    assert np.all(visits > 0)
    multiplier = weights / visits * (rates / (visits + rates))
    assert np.ptp(multiplier) <= 1e-9 * multiplier.max()


def test_no_generic_solver_finds_less_harmonic_cost() -> None:
    rates = np.array([0.2, 1.0, 5.0])
    weights = np.array([1.0, 3.0, 0.5])
    budget = 2.0

    def cost(visits: np.ndarray) -> float:
        return float(weights @ np.log1p(rates / visits))

    found = minimize(
        cost,
        np.full(3, budget / 3),
        method="SLSQP",
        bounds=[(1e-6, budget)] * 3,
        constraints=[{"type": "eq", "fun": lambda visits: visits.sum() - budget}],
        options={"ftol": 1e-15},
    )
    visits = harmonic_rates(rates, weights, budget)
    assert cost(visits) == pytest.approx(found.fun, rel=1e-10)
    assert cost(random_visit_rates(rates, weights, budget) + 1e-12) > cost(visits) * 1.001


def test_pages_that_ask_for_nothing_get_no_harmonic_visits() -> None:
    assert harmonic_rates([0.0, 1.0, 1.0], [1.0, 0.0, 2.0], 3.0).tolist() == [0.0, 0.0, 3.0]
    assert harmonic_rates([0.0, 0.0], [1.0, 1.0], 3.0).tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: harmonic_rates([1.0], [math.nan], 1.0), "must be finite and >= 0"),
        (lambda: harmonic_rates([1.0], [1.0], 0.0), r"budget 0\.0 must be"),
        (lambda: random_visit_rates([1.0], [1.0], math.inf), "budget inf must be"),
        (lambda: adaptive_changed_share(0.2, 1.0), r"decrease 1\.0 between 0 and 1"),
        (lambda: adaptive_intervals(-0.1, 0.2), r"increase -0\.1 must be above 0"),
        (lambda: adaptive_intervals(0.5, 0.999), "spread too far"),
    ],
)
def test_what_is_none_is_refused(call: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_the_fixed_points_that_are_known() -> None:
    """Multiplying by 1.2 and 0.8: 0.44966; by 1.4 and 0.8: 0.60126; by 1.5 and 0.5: 0.369."""
    assert round(adaptive_changed_share(0.2, 0.2), 5) == 0.44966
    assert round(adaptive_changed_share(0.4, 0.2), 5) == 0.60126
    assert round(adaptive_changed_share(0.5, 0.5), 3) == 0.369


@pytest.mark.thorough
@settings(max_examples=examples(20))
@given(st.floats(0.05, 1.0), st.floats(0.05, 0.6))
def test_the_law_of_intervals_has_the_fixed_point(increase: float, decrease: float) -> None:
    """Exactly on any grid; and the two ways to write the obsolescence are one."""
    law = adaptive_intervals(increase, decrease)
    share = adaptive_changed_share(increase, decrease)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-13)
    assert law.changed_share == pytest.approx(share, rel=1e-11)
    assert law.obsolescence == pytest.approx(1 - share / law.changes_per_visit, rel=1e-10)
    assert law.changes_per_visit >= -math.log1p(-share)  # Jensen
    finer = adaptive_intervals(increase, decrease, 8000)
    assert law.obsolescence == pytest.approx(finer.obsolescence, rel=3e-4)


def test_the_configuration_delivered_with_nutch_visits_less_often_than_its_class() -> None:
    """Figures of docs/accessing.md: factors 0.2 and 0.2 of the class, 0.4 and 0.2 as delivered."""
    of_class = adaptive_intervals(0.2, 0.2)
    delivered = adaptive_intervals(0.4, 0.2)
    assert of_class.changes_per_visit == pytest.approx(0.6271, abs=1e-4)
    assert delivered.changes_per_visit == pytest.approx(1.0089, abs=1e-4)
    assert of_class.obsolescence == pytest.approx(0.2830, abs=1e-4)
    assert delivered.obsolescence == pytest.approx(0.4041, abs=1e-4)


def test_quick_steps_spread_the_intervals_and_slow_ones_do_not() -> None:
    """As both factors go to 1 the interval stands still where its drift is 0: 1 - e^-x = p."""
    slow = adaptive_intervals(0.002, 0.002)
    still = -math.log1p(-adaptive_changed_share(0.002, 0.002))
    assert slow.changes_per_visit == pytest.approx(still, rel=2e-3)
    assert adaptive_intervals(0.2, 0.2).changes_per_visit > 1.04 * 0.5973


def test_gamma_rates_at_equal_bandwidth() -> None:
    """Freshness known for 2000 pages, equal weights: adaptive 0.717, proportional 0.743,
    uniform 0.777, optimal 0.800."""
    rates, weights = crawler_comparison.pages("equal", 2000)
    law = adaptive_intervals(0.2, 0.2)
    budget = float(rates.sum()) / law.changes_per_visit
    assert 1 - law.obsolescence == pytest.approx(0.717, abs=5e-4)
    for name, fresh in (("proportional", 0.743), ("uniform", 0.777), ("optimal", 0.800)):
        cost = crawler_comparison.spaced_cost(
            rates, weights, getattr(crawler_comparison, name)(rates, weights, budget)
        )
        assert 1 - cost / 2000 == pytest.approx(fresh, abs=3e-3), name


@pytest.mark.thorough
@pytest.mark.statistical
def test_the_simulated_rules_are_at_their_fixed_points() -> None:
    """Twice the 95 % intervals: together they miss the truth with probability 2e-3.

    Seen would be a share 0.5 % off, an obsolescence 1 % off, and the two factors swapped.
    """
    for row in crawler_comparison.fixed_points():
        for name, error in (("changed", 0.005), ("obsolescence", 0.01)):
            found = row[f"{name}, simulated"]
            assert found.contains(row[name], 2.0), name
            assert not found.contains(row[name] * (1 + error), 2.0), name
        assert not row["changed, simulated"].contains(1 - row["changed"], 2.0)


@pytest.mark.statistical
def test_a_planted_error_of_the_rule_is_seen() -> None:
    """A crawler that shortens by 0.21 instead of 0.2."""
    rates, _ = crawler_comparison.pages("equal", 200)
    rule = crawler_comparison.Rule(0.2, 0.21)
    generator = np.random.default_rng(5)
    shares = [crawler_comparison.alone(rule, rates, 400, generator).changed for _ in range(10)]
    assert not crawler_comparison.Interval.of(shares).contains(
        adaptive_changed_share(0.2, 0.2), 2.0
    )
    assert crawler_comparison.Interval.of(shares).contains(adaptive_changed_share(0.2, 0.21), 2.0)


def test_following_intervals_by_hand() -> None:
    """Half-way to the shortest, half as long again, and never outside of the limits."""
    rule = crawler_comparison.Rule(0.5, 0.5, 1.0, 10.0, True)
    assert rule.following(np.array([3.0, 3.0, 8.0]), np.array([True, False, False])).tolist() == [
        2.0,
        4.5,
        10.0,
    ]
    plain = crawler_comparison._plain(rule)
    assert [plain(3.0, True), plain(3.0, False), plain(8.0, False)] == [2.0, 4.5, 10.0]
    assert crawler_comparison._plain(crawler_comparison.Rule(0.2, 0.2, 1.0))(1.1, True) == 1.0


def test_a_robot_without_choice_visits_its_page_at_equal_distances() -> None:
    """One page, a rule that never waits: exc(x) / x, to the error of the simulation."""
    rule = crawler_comparison.Rule(1e-9, 1e-9, 0.0, 1e-9)
    load = 0.8
    generator = np.random.default_rng(2)
    runs = [
        crawler_comparison.by_robot(rule, np.ones(1), 1 / load, 4000.0, generator)[0]
        for _ in range(10)
    ]
    found = crawler_comparison.Interval.of(runs)
    assert found.contains((load - 1 + math.exp(-load)) / load, 2.0)
    assert found.half_width < 0.01


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return {row["visits"]: row for row in crawler_comparison.table("equal", replications=3)}


@pytest.mark.nightly
@pytest.mark.statistical
def test_nothing_beats_the_optimum_and_the_page_of_the_documents_has_these_numbers(
    rows: dict[str, Any],
) -> None:
    page = (ROOT / "docs/accessing.md").read_text()
    for name, row in rows.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
        for cell, value in zip(line.split("|")[2:-1], list(row.values())[1:], strict=True):
            printed = float(cell.split("±")[0])
            if isinstance(value, float):
                assert printed == round(value, 4), name
                assert value >= 1
            else:
                assert value.contains(printed, 2.0), name
                assert value.mean + value.half_width > 1


@pytest.mark.nightly
def test_the_order_of_the_rules(rows: dict[str, Any]) -> None:
    """What the text says."""
    for load in ("load 0.1", "load 0.3", "load 1", "load 3"):
        cost = {name: row[load] for name, row in rows.items()}
        assert cost["index (whittle)"] < 1.001
        assert cost["uniform, evenly spaced"] < cost["proportional, evenly spaced"]
        assert cost["proportional, evenly spaced"] < cost["adaptive, tuned"]
        assert cost["LambdaCrawl, evenly spaced"] < 1.06
        assert cost["Azar et al., evenly spaced"] < 1.02
        assert cost["Azar et al., at random"] < cost["LambdaCrawl, at random"]


@pytest.mark.nightly
def test_the_figure_is_drawn(rows: dict[str, Any], tmp_path: Path) -> None:
    ax = crawler_comparison.draw(list(rows.values()))
    assert len(ax.get_legend().get_texts()) == 8
    ax.figure.savefig(tmp_path / "crawlers.png")
    assert (tmp_path / "crawlers.png").stat().st_size > 5000
