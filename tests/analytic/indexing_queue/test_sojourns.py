"""Sojourn times of the indexing queue where digits are easily lost.

Expected values are in fractions, in closed form, or follow from Little's law and the levels, which
come from an elimination without a subtraction.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import gammainc

from analytic import exact_values, predict
from analytic.index.conditions import poisson_parameters
from analytic.indexing_queue import (
    NotConvergedError,
    QueueChain,
    accuracy_of,
    chain_of,
    controlled_chain,
    mm1k_levels,
    position_times,
    sojourn_cdf,
    sojourn_moments,
    sojourns,
    solve_chain,
)
from analytic.machinery.phase_type import PhaseLaw
from scenarios import Scenario, load, scenario_from
from scenarios.measures import Subject


def queue(
    places: int,
    service: dict[str, Any],
    obsolescence: dict[str, Any] | None = None,
    rate: float = 1.0,
    **others: Any,
) -> Scenario:
    """One exponential robot, one server."""
    buffer = {"waiting_places": places, "service": service}
    if obsolescence is not None:
        buffer["obsolescence"] = obsolescence
    robots = {"available": 1, "access_time": exponential(rate)}
    return scenario_from({"name": "q", "robots": robots, "buffer": buffer} | others)


def exponential(rate: float) -> dict[str, Any]:
    return {"exponential": {"rate": rate}}


def phases(alpha: list[float], T: list[list[float]]) -> dict[str, Any]:
    return {"phase-type": {"alpha": alpha, "T": T}}


def exact(scenario: Scenario) -> dict[tuple[str, Subject], float]:
    """What the chain says, which is not the only one where deliveries and services are Poisson."""
    found = [row for row in predict(scenario)[0] if not row.source.startswith("brandt1999")]
    assert {row.kind for row in found} == {"exact"}
    return {(row.measure, row.subject): row.value for row in found}


# -- nothing is subtracted -----------------------------------------------------------------------


def seldom_left(power: int) -> dict[str, Any]:
    """Two phases that go to and fro, and are left for a third one with rate 2^-power."""
    e = 2.0**-power
    return phases([1.0, 0.0, 0.0], [[-(1 + e), 1.0, e], [1.0, -1.0, 0.0], [0.0, 0.0, -1.0]])


@pytest.mark.parametrize("power", [20, 30, 40, 50])
def test_moments_of_a_service_that_hardly_ends(power: int) -> None:
    """No place to wait: moments from each phase by first steps, in fractions."""
    e = Fraction(1, 2**power)
    third = Fraction(1)
    first = (2 + e * third) / e
    second = 1 + first
    square = (2 * first + 2 * second + e * 2 * third) / e
    found = exact(queue(0, seldom_left(power)))
    assert found["sojourn_time", "served"] == pytest.approx(float(first), rel=1e-14)
    twice = found["sojourn_time_second_moment", "served"]
    assert twice == pytest.approx(float(square), rel=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("power", [20, 30, 40, 50])
def test_timers_that_hardly_go_off_keep_littles_law(power: int, places: int) -> None:
    """Accepted pages: mean level over the rate at which they end."""
    rate = exponential(2.0**-power)
    found = exact(queue(places, rate, seldom_left(power), rate=2.0**-power))
    ended = found["success_probability", None] + found["obsolescence_probability", None]
    expected = found["mean_in_system", None] / (ended * found["arrival_rate", None])
    assert found["sojourn_time", "accepted"] == pytest.approx(expected, rel=1e-13)


def test_phases_that_are_left_with_rate_2_to_the_minus_60() -> None:
    """A service of mean 2^61 or so, in a matrix that is singular to rounding."""
    e = 2.0**-60
    law = phases([0.0, 1.0, 0.0], [[-1.0, 0.0, 0.0], [e, -1.0, 1.0], [0.0, 1.0, -1.0]])
    found = exact(queue(0, law))
    assert found["sojourn_time", "served"] == pytest.approx(2.0**61, rel=1e-14)
    assert found["sojourn_time_second_moment", "served"] == pytest.approx(2.0**123, rel=1e-14)


def test_a_chain_can_be_followed_twice() -> None:
    """Elimination uses up its matrix, and the one of the first position is the chain's own."""
    law = phases([0.0, 1.0], [[-2.0, 1.0], [1.0, -1.0]])
    built = chain_of(queue(2, law, exponential(0.3)))
    probabilities = solve_chain(built).stationary
    before = built.service.generator.copy()
    first, second = (list(sojourn_moments(built, probabilities)) for _ in range(2))
    assert first == second
    assert np.array_equal(built.service.generator, before)


@pytest.mark.parametrize("rate", [1e3, 1e9, 1e15, 1e17])
def test_second_moments_of_all_pages_keep_their_digits_where_few_enter(rate: float) -> None:
    """M/M/1/1: one of 1 + rate pages enters, and is served with E S^2 = 2."""
    found = exact(queue(0, exponential(1.0), rate=rate))
    value = found["sojourn_time_second_moment", "all"]
    assert value == pytest.approx(2 / (1 + rate), rel=1e-14, abs=0)


def test_second_moments_are_zero_where_nothing_enters() -> None:
    """Batches of two pages, one place, rejected as a whole."""
    pairs = {"modes": [{"bmap": {"D": [[[-1.0]], [[0.0]], [[1.0]]]}}]}
    scenario = scenario_from(
        {
            "name": "q",
            "robots": {"available": 1, "deliveries": pairs},
            "buffer": {"waiting_places": 0, "service": exponential(1.0), "admission": "reject"},
        }
    )
    found = exact(scenario)
    assert found["loss_probability", None] == 1.0
    assert found["sojourn_time", "all"] == 0.0
    assert found["sojourn_time_second_moment", "all"] == 0.0
    assert ("sojourn_time", "accepted") not in found


@pytest.mark.nightly
def test_the_distribution_is_summed_until_the_slowest_page_has_ended() -> None:
    """Half of the pages take 0.001, the others 20: at 10 after ten thousand jumps."""
    law = {"hyperexponential": {"probabilities": [0.5, 0.5], "rates": [1000.0, 0.05]}}
    built = chain_of(queue(0, law))
    served = sojourn_cdf(built, solve_chain(built).stationary, [10.0, 100.0])["served"]
    expected = [1 - 0.5 * math.exp(-0.5), 1 - 0.5 * math.exp(-5.0)]
    assert served == pytest.approx(expected, rel=1e-12)


# -- timers whose phases change fast -------------------------------------------------------------


def fast(e: float, first: float = 0.3, second: float = 0.1) -> dict[str, Any]:
    """Two phases that change 1 / e times per unit time, and go off from each at its own rate."""
    return phases([0.5, 0.5], [[-1 / e - first, 1 / e], [1 / e, -1 / e - second]])


@pytest.mark.thorough
@pytest.mark.parametrize("rates", [(0.3, 0.1), (1e-6, 1.0)])
@pytest.mark.parametrize("e", [1e-3, 1e-6])
def test_fast_phases_leave_the_sojourn_times_exact(
    e: float, rates: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """512 states against elimination, and against exponential timers, to which they tend."""
    scenario = queue(8, exponential(1.0), fast(e, *rates), rate=0.8)
    found = exact(scenario)
    monkeypatch.setattr(sojourns, "LARGEST_DENSE", 256)
    assert found == pytest.approx(exact(scenario.with_("name", "by-elimination")), rel=1e-12, abs=0)
    mean = sum(rates) / 2
    limit = exact(queue(8, exponential(1.0), exponential(mean), rate=0.8))
    by_class = [key for key in found if key[0].startswith("sojourn_time")]
    assert len(by_class) == 8
    for key in by_class:
        assert found[key] == pytest.approx(limit[key], rel=e)


@pytest.mark.thorough
def test_fast_phases_of_ten_places() -> None:
    """2048 states by iteration: Little's law by class."""
    found = exact(queue(10, exponential(1.0), fast(1e-2), rate=0.8))
    inside = found["success_probability", None] * found["sojourn_time", "served"]
    inside += found["obsolescence_probability", None] * found["sojourn_time", "obsolete"]
    expected = found["mean_in_system", None] / found["arrival_rate", None]
    assert inside == pytest.approx(expected, rel=1e-11)


ONE = PhaseLaw(np.ones(1), -np.ones((1, 1)))
TWO = PhaseLaw(np.array([0.4, 0.6]), np.array([[-2.0, 1.0], [0.0, -1.5]]))
TIMERS = {
    "fast": ([[-1e6 - 0.3, 1e6], [1e6, -1e6 - 0.1]], ONE, 6),
    "fast-and-slow": ([[-1e6 - 1, 1e6, 1.0], [1e6, -1e6, 0.0], [1e-3, 0.0, -2e-3]], ONE, 4),
    "fast-round": ([[-1e6, 1e6, 0.0], [0.0, -1e6, 1e6], [1e6, 0.0, -1e6 - 0.5]], TWO, 3),
    "one-after-the-other": ([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, -1.0]], TWO, 4),
    "far-apart": ([[-1e3, 0.0], [0.0, -1e-3]], TWO, 6),
    "never": ([[0.0, 0.0], [0.0, 0.0]], ONE, 4),
}


def position(name: str) -> tuple[QueueChain, int]:
    """A chain, and a number of timers ahead that elimination can follow."""
    T, service, waiting = TIMERS[name]
    timer = PhaseLaw(np.eye(len(T))[0], np.array(T))
    modes = np.array([[[[0.0]], [[0.8]]]])
    built = controlled_chain(modes, lambda _: 0, service, timer, waiting + 1, "partial")
    return built, waiting


def worst_state(name: str, shift: float) -> float:
    """Largest relative error of a time, from one state and from all of them."""
    built, waiting = position(name)
    worst = 0.0
    for arriving in (np.eye(built.inner[-1])[0], np.linspace(1.0, 2.0, built.inner[-1])):
        expected = arriving @ sojourns.position_times(built, waiting + 1, shift)
        found = position_times.integrated_times(built, waiting, arriving, shift)
        reached = expected > 0
        assert not found[~reached].any()
        worst = max(worst, float(np.max(np.abs(found[reached] / expected[reached] - 1))))
    return worst


@pytest.mark.parametrize("shift", [0.0, 1e-3, 1e4])
@pytest.mark.parametrize("name", TIMERS)
def test_integrated_times_keep_the_digits_of_every_state(name: str, shift: float) -> None:
    assert worst_state(name, shift) < 1e-13


@pytest.mark.parametrize(("entry", "value"), [("FIRST", 1e-3), ("LAST", 1e-4), ("ALIASING", 1e-3)])
def test_an_integral_that_is_cut_short_would_be_seen(
    entry: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: it begins late, ends early, or is too coarse."""
    monkeypatch.setattr(position_times, "LARGEST_DEFECT", 1.0)
    monkeypatch.setattr(position_times, entry, value)
    assert max(worst_state(name, 0.0) for name in TIMERS) > 1e-12


def test_pages_that_are_lost_in_an_integral_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    built, waiting = position("fast")
    monkeypatch.setattr(position_times, "LAST", 1e-2)
    with pytest.raises(NotConvergedError, match="of the pages at position 7 leave it"):
        position_times.integrated_times(built, waiting, np.ones(built.inner[-1]), 0.0)


@pytest.mark.parametrize("price", ["response", "loss"])
def test_without_sojourn_times_all_else_is_given(
    price: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels, shares and the mean of all pages; the cost only if it does not need the others."""
    scenario = queue(8, exponential(1.0), fast(1e-3), rate=0.8, costs={price: 1.0})
    expected = exact(scenario)
    monkeypatch.setattr(position_times, "LARGEST_DEFECT", -1.0)
    broken = scenario.with_("name", "without-sojourns")
    found = exact(broken)
    reasons = [row.reason for row in predict(broken)[1]]
    missing = {key for key in expected if key[0].startswith("sojourn_time")}
    missing.remove(("sojourn_time", "all"))
    if price == "response":
        missing.add(("control_cost", None))
    assert found == {key: value for key, value in expected.items() if key not in missing}
    why = "there are no sojourn times by class: "
    assert sum(reason.startswith(why) for reason in reasons) == 1
    priced = sum(
        reason.startswith(f"[costs] prices the response time: {why}") for reason in reasons
    )
    assert priced == (price == "response")
    assert accuracy_of(broken) is not None


# -- pages that are not served in their order ------------------------------------------------------


def out_of_order(**changes: Any) -> dict[tuple[str, Any], float]:
    """What is exact of M/M/1/K at load 0.5, with other changes."""
    base = {
        "name": "out-of-order",
        "robots": {"available": 1, "access_time": {"exponential": {"rate": 0.5}}},
        "buffer": {"waiting_places": 60, "service": {"exponential": {"rate": 1.0}}},
        "run": {"horizon": 5000.0},
    }
    exact = exact_values(scenario_from(base).with_(changes))
    return {key: value for key, (value, _) in exact.items()}


def test_last_come_first_served_spreads_the_waits() -> None:
    """M/M/1: the same mean; the second moment of the wait is 1 / (1 - load) times as large."""
    rows = out_of_order(**{"buffer.discipline": "lifo"})
    assert rows["sojourn_time", "served"] == pytest.approx(2.0, rel=1e-12)
    squared_wait = 2.0 * 0.5 / (1.0 - 0.5) ** 3
    assert rows["sojourn_time_second_moment", "served"] == pytest.approx(
        squared_wait + 2.0 * 1.0 + 2.0, rel=1e-12
    )


def test_a_page_that_may_be_pushed_out_by_hand() -> None:
    """One waiting place: a page waits until the service ends, or the next delivery."""
    rows = out_of_order(**{"buffer.waiting_places": 1, "buffer.when_full": "push-out"})
    empty = 1.0 / 1.75
    leaves = 1.5
    waited = (1.0 - empty) * 1.0 / leaves
    once = empty * 1.0 + waited * (1.0 / leaves + 1.0)
    assert rows["sojourn_time", "served"] == pytest.approx(once / (empty + waited), rel=1e-12)
    twice = empty * 2.0 + waited * (2.0 / leaves**2 + 2.0 / leaves + 2.0)
    pushed = (1.0 - empty) * 0.5 / leaves
    assert rows["sojourn_time_second_moment", "accepted"] == pytest.approx(
        twice + pushed * 2.0 / leaves**2, rel=1e-12
    )


def test_the_mean_of_all_is_that_of_little_s_law() -> None:
    """With timers, bursts and push-out, last come first served."""
    bursts = {"D0": [[-4.0, 0.2], [0.1, -0.4]], "D1": [[3.8, 0.0], [0.0, 0.3]]}
    rows = out_of_order(
        **{
            "robots.access_time": {"map": bursts},
            "buffer.waiting_places": 4,
            "buffer.service": {"erlang": {"shape": 2, "mean": 0.5}},
            "buffer.discipline": "lifo",
            "buffer.when_full": "push-out",
            "buffer.obsolescence": {"exponential": {"mean": 2.0}},
        }
    )
    assert rows["sojourn_time", "accepted"] == pytest.approx(rows["sojourn_time", "all"], rel=1e-12)


def test_quantiles_of_the_queue_with_poisson_arrivals() -> None:
    """M/M/1/K: a page that finds n pages stays for n + 1 services, an Erlang time."""
    scenario = load("one-robot").with_("buffer.sojourn_quantiles", [0.1, 0.5, 0.95, 0.999])
    rows = {p.subject: p.value for p in predict(scenario)[0] if p.measure == "sojourn_quantile"}
    deliveries, service = poisson_parameters(scenario)
    capacity = len(deliveries) - 1
    levels = mm1k_levels(float(deliveries[0]) / service, capacity)
    for name, atom in (("served", 0.0), ("accepted", 0.0), ("all", levels[-1])):
        entering = levels[:-1] / levels[:-1].sum() * (1 - atom)
        for share in (0.1, 0.5, 0.95, 0.999):
            time = rows[f"{name} {share}"]
            below = atom + entering @ gammainc(np.arange(1, capacity + 1), service * time)
            assert below == pytest.approx(share, abs=1e-12) or (time == 0 and atom >= share)
