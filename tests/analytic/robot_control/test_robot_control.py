"""A fixed number of robots (talim2001, section 4 and (9)) against exact sums and other formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from analytic import predict
from analytic.indexing_queue import mm1k_levels
from analytic.robot_control import static_cost, static_loss_rate, static_starvation
from scenarios import Scenario, load

LOADS = [1e-100, 1e-8, 0.3, 1 - 1e-9, 1.0, 1 + 1e-9, 1.7, 5.0, 1e4, 1e100]


def exact(load: float, capacity: int) -> tuple[Fraction, Fraction]:
    """S and L / mu of M/M/1/K as printed before (9), in fractions."""
    rho = Fraction(load)
    if rho == 1:
        return Fraction(1, capacity + 1), Fraction(1, capacity + 1)
    idle = (1 - rho) / (1 - rho ** (capacity + 1))
    return idle, idle * rho ** (capacity + 1)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("capacity", [1, 2, 5, 30])
def test_starvation_and_loss_are_the_printed_fractions(load: float, capacity: int) -> None:
    """All digits, also at rho near 1 where the printed form cancels."""
    starvation, loss = exact(load, capacity)
    smallest = 1e-300
    assert static_starvation(load, capacity) == pytest.approx(
        float(starvation), rel=1e-14 * capacity, abs=smallest
    )
    assert static_loss_rate(load, capacity, 2.5) == pytest.approx(
        2.5 * float(loss), rel=1e-14 * capacity, abs=smallest
    )


@pytest.mark.parametrize("load", LOADS)
def test_the_cost_is_equation_9(load: float) -> None:
    """C = (1 - rho)(gamma + mu rho^(K+1)) / (1 - rho^(K+1)), in fractions."""
    gamma = 1.5
    mu = 0.75
    capacity = 7
    starvation, loss = exact(load, capacity)
    expected = Fraction(gamma) * starvation + Fraction(mu) * loss
    found = static_cost(load, capacity, mu, gamma)
    assert found == pytest.approx(float(expected), rel=1e-14, abs=0)


def test_at_load_one_the_cost_is_the_printed_special_case() -> None:
    """C = (gamma + mu) / (K + 1) after (9)."""
    assert static_cost(1.0, 5, 1.0, 1.4) == pytest.approx(2.4 / 6, rel=1e-15)
    assert static_starvation(1.0, 9) == pytest.approx(0.1, rel=1e-15)


def test_many_places_at_a_high_load_do_not_overflow() -> None:
    """K = 1000, rho = 5: 5^1000 is beyond a double. Nearly all surplus is lost."""
    assert static_loss_rate(5.0, 1000, 2.0) == pytest.approx(2.0 * 4.0, rel=1e-14)
    assert static_starvation(5.0, 1000) == 0.0  # 0.8 · 5^-1000
    assert static_cost(5.0, 1000, 2.0, 3.0) == pytest.approx(8.0, rel=1e-14)
    assert static_starvation(5.0, 400) == pytest.approx(4 / 5 * 5.0**-400, rel=1e-13, abs=0)


def test_many_places_at_a_low_load_never_lose() -> None:
    assert static_loss_rate(0.2, 1000, 1.0) == 0.0  # 0.8 · 0.2^1001
    assert static_starvation(0.2, 1000) == pytest.approx(0.8, rel=1e-14)


@pytest.mark.parametrize("load", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("capacity", [1, 4, 50])
def test_the_levels_of_the_queue_say_the_same(load: float, capacity: int) -> None:
    """kleinrock1975 section 3.6: S = p_0 and L = lambda p_K."""
    levels = mm1k_levels(load, capacity)
    assert static_starvation(load, capacity) == pytest.approx(levels[0], rel=1e-13, abs=0)
    assert static_loss_rate(load, capacity, 2.0) == pytest.approx(
        2.0 * load * levels[-1], rel=1e-13, abs=0
    )


@pytest.mark.parametrize("capacity", [2, 3, 5, 10, 15])
def test_the_price_at_which_load_one_is_best_is_gamma_of_k(capacity: int) -> None:
    """gamma(K) = mu (K + 2) / K: dC/drho = 0 at rho = 1 (docs/theory/fixed-robots.md).

    For K = 15 it is 17/15, not the printed 1.13, whose slope is 1.6e-3.
    """
    step = 1e-4

    def slope(gamma: float) -> float:
        below, above = (static_cost(1 + side, capacity, 1.0, gamma) for side in (-step, step))
        return (above - below) / (2 * step)

    assert abs(slope((capacity + 2) / capacity)) < 5 * step**2
    assert slope((capacity + 2) / capacity - 0.0033) > 1e-4


@pytest.mark.parametrize("gamma", [0.05, 1.0, 20.0])
def test_the_cost_has_one_minimum_in_the_load(gamma: float) -> None:
    """Unimodal in rho, since G of docs/theory/fixed-robots.md increases."""
    costs = [static_cost(10 ** (power / 40), 6, 1.0, gamma) for power in range(-120, 121)]
    best = costs.index(min(costs))
    assert all(before > after for before, after in pairwise(costs[: best + 1]))
    assert all(before < after for before, after in pairwise(costs[best:]))
    assert 0 < best < len(costs) - 1


# -- on scenarios --------------------------------------------------------------------------------


def cost_of(scenario: Scenario, source: str) -> float:
    rows = {each.measure: each.value for each in predict(scenario)[0] if each.source == source}
    return rows["control_cost"]


@pytest.mark.parametrize("loss", [0.0, 0.25, 1.0, 3.0])
def test_prices_may_be_any_multiple(loss: float) -> None:
    """C of (9) has the price 1 per lost page; another price scales both terms."""
    scenario = load("talim-static-k5").with_({"costs": {"loss": loss, "starvation": 1.4}})
    starvation, lost = exact(1.0, 5)
    expected = float(loss * lost + Fraction(1.4) * starvation)
    assert cost_of(scenario, "talim2001 (9)") == pytest.approx(expected, rel=1e-14)
    assert cost_of(scenario, "avrachenkov2011 (2)") == pytest.approx(expected, rel=1e-13)


def test_targets_that_count_down_are_machine_repair() -> None:
    """M/M/1//N as in docs/glossary.md: p_q is proportional to N! / (N - q)! (λ / μ)^q."""
    scenario = load(
        "talim-switching",
        {
            "robots.available": 3,
            "buffer.waiting_places": 2,
            "activation.switching.targets": [3, 2, 1, 0],
            "robots.access_time": {"exponential": {"rate": 0.25}},
        },
    )
    weights = [1, 3 * Fraction(1, 4), 6 * Fraction(1, 16), 6 * Fraction(1, 64)]
    rows = [each for each in predict(scenario)[0] if each.source == "talim2001 (8)"]
    levels = [each.value for each in rows if each.measure == "level_probability"]
    assert levels == pytest.approx([float(each / sum(weights)) for each in weights], rel=1e-13)


def test_no_robot_starves() -> None:
    """C(0) = gamma."""
    scenario = load("talim-static-k5").with_("activation.static", 0)
    rows = {each.measure: each.value for each in predict(scenario)[0] if "talim" in each.source}
    assert rows == {"starvation_probability": 1.0, "loss_rate": 0.0, "control_cost": 1.4}


def test_the_load_counts_the_active_robots_and_the_page_in_service() -> None:
    """n = 7 of 20 robots, K = waiting places + 1 = 5."""
    scenario = load("talim-static-k5").with_("activation.static", 7)
    rows = {each.measure: each.value for each in predict(scenario)[0] if "talim" in each.source}
    rho = 7 * Fraction(0.05)
    idle = (1 - rho) / (1 - rho**6)
    assert rows["starvation_probability"] == pytest.approx(float(idle), rel=1e-14)
    assert rows["loss_rate"] == pytest.approx(float(idle * rho**6), rel=1e-14)
    assert math.isclose(rows["control_cost"], 1.4 * float(idle) + float(idle * rho**6))
