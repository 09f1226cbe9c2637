"""Servers at which packets may wait: the exact chain, the path by hand, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

import sim
from analytic import compare, optimize, overall, predict
from analytic.machinery.phase_type import PhaseLaw
from analytic.routing import non_preemptive_loss, random_non_preemptive_loss
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.laws import Deterministic
from scenarios.processes import Poisson, Renewal
from sim import compiled_engine, simpy_engine


def exponential(rate: float) -> PhaseLaw:
    return PhaseLaw(np.ones(1), np.array([[-rate]]))


def system(**servers: Any) -> Scenario:
    section = {
        "rates": [1.0, 2.0],
        "arrivals": {"poisson": {"rate": 1.5}},
        "routing": {"period": [0, 1, 1]},
        "discipline": "non-preemptive",
        "waiting_places": [2, 1],
        **servers,
    }
    return scenario_from({"name": "waiting", "servers": section})


@pytest.mark.parametrize("places", [0, 1, 3, 8])
def test_poisson_packets_at_random_make_a_queue_of_textbooks(places: int) -> None:
    """M/M/1 with places + 1 packets at most: (1 - r) r^K / (1 - r^(K + 1)); both its limits."""
    rate, share, load = 2.0, 0.3, 0.6 / 1.1
    top = places + 1
    known = (1 - load) * load**top / (1 - load ** (top + 1))
    found = random_non_preemptive_loss(Poisson(rate=rate), exponential(1.1), share, places)
    assert found == pytest.approx(known, rel=1e-12)
    every = non_preemptive_loss(Poisson(rate=rate), exponential(1.1), [1], places)
    load = 2.0 / 1.1
    known = (1 - load) * load**top / (1 - load ** (top + 1))
    assert every == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("distances", [[1], [3], [1, 2], [4, 1, 1]])
@pytest.mark.parametrize("places", [0, 1, 2, 5])
def test_constant_gaps_against_counted_services(distances: list[int], places: int) -> None:
    """Between two packets as many services end as a Poisson process has events, up to the level."""
    gap, rate = 0.7, 0.9
    top = places + 1
    level = np.zeros(top + 1)
    level[0] = 1.0
    lost: list[float] = []
    for _ in range(400):
        lost = []
        for distance in distances:
            lost.append(level[top])
            came = np.append(0.0, level[:top])
            came[top] += level[top]
            counts = poisson.pmf(np.arange(top + 1), rate * gap * distance)
            level = np.array(
                [sum(came[j] * counts[j - i] for j in range(i, top + 1)) for i in range(top + 1)]
            )
            level[0] += 1.0 - level.sum()
    found = non_preemptive_loss(
        Renewal(Deterministic(value=gap)), exponential(rate), distances, places
    )
    assert found == pytest.approx(np.mean(lost), rel=1e-9)


def test_more_places_lose_less() -> None:
    laws = PhaseLaw(np.array([0.7, 0.3]), np.array([[-2.0, 0.5], [0.0, -0.6]]))
    lost = [non_preemptive_loss(Poisson(rate=1.0), laws, [1, 2], places) for places in range(6)]
    assert np.all(np.diff(lost) < 0)


@pytest.mark.parametrize("simulate", [simpy_engine.simulate, compiled_engine.simulate])
def test_a_queue_by_hand(simulate: Any) -> None:
    """Packets at 1, 2, …, 7, one place, services of 2.5: which are served, which are lost.

    0 is served to 3.5, 1 waits and is served to 6, 2 is lost; 3 (at 4) waits, 4 and 5 are lost at
    5 and (the service of 1 ends first) 5 waits at 6 while 3 is served; 6 is lost.
    """
    scenario = system(
        rates=None,
        service=[{"deterministic": {"value": 2.5}}],
        arrivals={"renewal": {"deterministic": {"value": 1.0}}},
        routing={"period": [0]},
        waiting_places=1,
    ).with_({"run.horizon": 7.5, "run.warmup": 0.5})
    counted = simulate(scenario, 0, 1).servers
    assert (counted.arrived, counted.lost, counted.served) == ((7,), (3,), (2,))
    assert (counted.inside_at_start, counted.inside_at_end) == ((0,), (2,))
    assert counted.busy_time == (6.5,)


@pytest.mark.parametrize("places", [1, [0, 3], 20])
def test_both_engines_take_the_same_path(places: Any) -> None:
    scenario = system(waiting_places=places, arrivals={"poisson": {"rate": 3.0}})
    scenario = scenario.with_({"run.horizon": 300.0, "run.warmup": 10.0})
    for seed in range(3):
        first = simpy_engine.simulate(scenario, 0, seed)
        assert first == compiled_engine.simulate(scenario, 0, seed)
        assert min(first.servers.served) > 0


def test_a_chain_that_is_too_large_is_refused_with_its_size() -> None:
    """Two servers of 3 levels each, and one of 802 states."""
    assert predict(system())[0]
    large = system(waiting_places=[800, 1])
    predictions, others = predict(large)
    assert not [each for each in predictions if each.measure == "preemption_probability"]
    (mine,) = [each for each in others if each.source.endswith("waiting places")]
    assert mine.reason == "802 states of packets and phases at server 0; at most 400 are solved"


def test_no_other_loss_formula_answers_where_packets_wait() -> None:
    sources = {each.source for each in predict(system())[0]}
    assert sources == {"altman2000 section 2, waiting places"}
    sources = {each.source for each in predict(system(routing={"random": [0.4, 0.6]}))[0]}
    assert sources == {"altman2000 section 2, waiting places"}


def test_places_that_no_packet_comes_to_do_not_matter() -> None:
    only = system(routing={"period": [1]}, waiting_places=[5, 0])
    rows = {each.source: each.value for each in predict(only)[0] if each.subject == "all"}
    assert "altman2000 (6), Example 2.1" in rows
    assert "altman2000 section 2, waiting places" not in rows


def test_the_best_order_is_refused_for_losses_and_found_for_distances() -> None:
    with pytest.raises(ScenarioError, match="whether one is lost depends on all before it"):
        optimize(system(), "routing")
    by_distance = system(spacing_cost={"table": [3.0, 1.0, 0.5]})
    best = optimize(by_distance, "routing")
    assert (best.proved, best.cost) == (True, 1.0)


def test_weights_of_losses_where_packets_wait() -> None:
    rows = predict(system(weights=[3.0, 1.0]))[0]
    values = {(each.measure, each.subject): each.value for each in rows}
    each = [values["preemption_probability", server] for server in (0, 1)]
    whole = values["routing_cost", "all"]
    assert math.isclose(whole, (3 * each[0] + 2 * each[1]) / 3, rel_tol=1e-12)


@pytest.mark.thorough
@pytest.mark.statistical
def test_simulation_agrees_and_a_place_less_does_not() -> None:
    """Three shares and three rates; a false alarm in 1 of 1000 seeds, sees 2 to 4 %."""
    scenario = load("routing-waiting-places")
    results = sim.run(scenario)
    rows = [each for each in predict(scenario)[0] if each.measure == "preemption_probability"]
    assert overall(compare(rows, results)) == "agrees"
    less = scenario.with_("servers.waiting_places", [1, 1])
    rows = [each for each in predict(less)[0] if each.measure == "preemption_probability"]
    assert overall(compare(rows, results)) == "disagrees"
